"""The option --report: a certificate as an HTML page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any


def add_report_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--report", metavar="FILE.html", help="write a page with plots and bounds to this file")


def write_report(path: str, certificate: Any, model: Any, source: Any, titles: Sequence[str]) -> None:
    """Write the page atomically."""
    from novikoff.meta.batch_estimator import BatchEstimator
    from novikoff.model_file import write_atomically

    if isinstance(model, BatchEstimator):
        from novikoff.reports import batch_certificate_page

        text = batch_certificate_page.build_page(certificate, model, titles)
    else:
        from novikoff.reports.certificate_page import build_page
        from novikoff.reports.report_data import build_report_data

        text = build_page(build_report_data(certificate, model, source, titles))
    from pathlib import Path

    write_atomically(Path(path), text.encode())
