"""Certifies a model: learns its data again, searches for witnesses, and evaluates the mistake bounds.

The certificate states the number of mistakes, how many each theorem allows on this stream, and a bound for the mean
error of the hypotheses used while learning, if examples are i.i.d. Anyone who has the data can check it with `novikoff
verify`. The error of the saved model is bounded only where a theorem is about that hypothesis.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from novikoff.base.internals import build_unfitted, state_of
from novikoff.cli.options import data_options
from novikoff.cli.options.run_options import DEFAULT_LIMIT_TEXT, add_max_model_memory
from novikoff.cli.output.model_output import check_writable
from novikoff.cli.output.report_output import add_report_option, write_report
from novikoff.data.formats.base import ReadOptions
from novikoff.errors import InputError

EPILOG = f"""\
{data_options.DATA_HELP}

examples:
  novikoff certify spam.model train.svm --output spam.certificate
  novikoff certify spam.model train.svm --passes 5 --delta 0.01 --json
  novikoff certify spam.model train.svm --report spam.html
  novikoff verify spam.certificate train.svm
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("model", metavar="MODEL", help="a file that learn --save wrote")
    parser.add_argument(
        "data", nargs="+", metavar="DATA", help="the data that the model was learned from, in this order"
    )
    parser.add_argument(
        "--passes", metavar="N", type=int, default=1, help="number of passes that the model was learned in (default: 1)"
    )
    parser.add_argument("--positive-label", metavar="LABEL", help="the label that was learned against all others")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the certificate to this file")
    add_report_option(parser)
    add_certificate_options(parser)
    parser.add_argument("--json", action="store_true", help="print the certificate as one JSON object on stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    add_max_model_memory(parser, DEFAULT_LIMIT_TEXT)
    data_options.add_data_options(parser)


def add_certificate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--delta",
        metavar="P",
        type=float,
        help="δ, the probability with which bounds that assume i.i.d. examples may fail (default: 0.05)",
    )
    parser.add_argument(
        "--search-effort",
        metavar="FACTOR",
        type=float,
        help="effort of the witness search (default: 1, a few passes; below 0.1 on a sample of a long stream)",
    )


def run(options: argparse.Namespace) -> int:
    from novikoff.model_file import load_learner, to_bytes

    model = load_learner(options.model)
    for path in (options.output, options.report):
        if path:
            check_writable(path)
    if getattr(state_of(model), "holdout", None) is not None:
        raise InputError(
            f"{options.model}: rows of its data were held out, so it can't be certified on that data: learn without"
            " --holdout."
        )
    settings = getattr(state_of(model), "reading", None)
    reading_options = data_options.build_reading_options(options)
    if not data_options.matches_reading(options.data, reading_options, settings):
        reading_options = data_options.restore_reading_options(reading_options, settings)
    certificate, replayed, source = _build_certificate(model, reading_options, options.passes, options)
    if getattr(state_of(model), "slot_names", None):  # they are shown to users, but do not affect learning
        state_of(replayed).slot_names = state_of(model).slot_names
    if to_bytes(replayed) != to_bytes(model):
        raise InputError(
            f"{options.model}: was not learned from this data, in this order, in {options.passes} passes: name the same"
            " files, passes and reading options as for learn."
        )
    _write_outputs(certificate, model, source, options.output, options)
    print(certificate.as_json() if options.json else certificate)
    return 0


def write_certificate(
    model: Any, reading_options: ReadOptions, passes: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Write the certificate and the report of `learn`, from a second run; return the document of the certificate."""
    certificate, _, source = _build_certificate(model, reading_options, passes, options)
    _write_outputs(certificate, model, source, options.certificate, options)
    document: dict[str, Any] = certificate.document
    return document


def _build_certificate(
    model: Any, reading_options: ReadOptions, passes: int, options: argparse.Namespace
) -> tuple[Any, Any, Any]:
    """Return the certificate, the model that was learned again, and the data."""
    from novikoff.certificates.certificate import build_certificate
    from novikoff.certificates.data_source import FileSource

    source = FileSource(
        options.data, reading_options, options.positive_label, getattr(state_of(model), "shuffle", None)
    )
    fresh = build_unfitted(model)
    return *build_certificate(fresh, source, passes=passes, **collect_certify_settings(options)), source


def collect_certify_settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the given settings of certification."""
    given = {"delta": options.delta, "search_effort": options.search_effort}
    return {name: value for name, value in given.items() if value is not None}


def _write_outputs(certificate: Any, model: Any, source: Any, path: str | None, options: argparse.Namespace) -> None:
    from novikoff.model_file import write_atomically

    if path:
        from pathlib import Path

        write_atomically(Path(path), (certificate.as_json() + "\n").encode())
    if options.report:
        write_report(options.report, certificate, model, source, options.data)
