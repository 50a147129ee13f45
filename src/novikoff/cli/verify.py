"""Verifies a certificate: replays the learning on the data, measures the witnesses, and compares every number.

Exit code 0: the certificate agrees with the data. 1: it does not, and the differences are printed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from novikoff.cli.options.data_options import DATA_HELP
from novikoff.cli.options.run_options import DEFAULT_LIMIT_TEXT, add_max_model_memory
from novikoff.errors import InputError

EPILOG = f"""\
{DATA_HELP}

examples:
  novikoff verify spam.certificate train.svm
  novikoff verify spam.certificate train.svm --json
  novikoff verify clicks.certificate part-*.svm.gz      from a cluster: all shards, in order
  novikoff verify clicks.certificate 'part-*.svm.gz' --scheduler tcp://10.0.0.1:8786
"""
MAX_DIFFERENCES_SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("certificate", metavar="CERTIFICATE", help="a file that certify or learn wrote")
    parser.add_argument("data", nargs="+", metavar="DATA", help="the data of the certificate, in this order")
    parser.add_argument("--threads", metavar="N", type=int, help="number of parser threads")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of a Dask scheduler whose workers verify the shards"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    add_max_model_memory(parser, DEFAULT_LIMIT_TEXT)


def run(options: argparse.Namespace) -> int:
    from novikoff.certificates.data_source import FileSource
    from novikoff.certificates.verify import find_differences, parse_certificate
    from novikoff.data.formats.base import ReadOptions

    try:
        text = Path(options.certificate).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{options.certificate}: is not a certificate.") from None
    document = parse_certificate(text, options.certificate)
    about = document["data"]
    if isinstance(about, dict) and "mixing" in document:
        from novikoff.distributed.certificate import find_differences as of_shards

        with _connect(options.scheduler) as client:
            return _print_result(of_shards(document, options.data, client=client, threads=options.threads), options)
    if options.scheduler:
        raise InputError(f"{options.certificate}: is not a certificate of a cluster: leave out --scheduler.")
    if not isinstance(about, dict) or "files" not in about:
        raise InputError(f"{options.certificate}: is about arrays, not files: check it with novikoff.verify in Python.")
    reading_settings = dict(about.get("reading", {}))
    reading_settings["interactions"] = tuple(reading_settings.get("interactions", ()))
    try:
        reading_options = ReadOptions(**reading_settings, threads=options.threads)
    except TypeError as problem:
        raise InputError(
            f"{options.certificate}: its reading options are unknown to this version ({problem})."
        ) from None
    return _print_result(
        find_differences(
            document, FileSource(options.data, reading_options, about.get("positive"), document.get("shuffle"))
        ),
        options,
    )


def _connect(scheduler: str | None) -> AbstractContextManager[Any]:
    """Return a client of the scheduler; without one, shards are verified in this process, one after another."""
    if scheduler is None:
        return nullcontext()
    from novikoff.distributed.dask_executor import connect

    return connect(scheduler)


def _print_result(different: list[str], options: argparse.Namespace) -> int:
    if options.json:
        print(json.dumps({"verified": not different, "differences": different}, ensure_ascii=False))
    else:
        more = len(different) - MAX_DIFFERENCES_SHOWN
        print(
            "\n".join([*different[:MAX_DIFFERENCES_SHOWN], *([f"and {more} more"] if more > 0 else [])])
            if different
            else "verified"
        )
    return 1 if different else 0
