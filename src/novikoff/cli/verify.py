"""Verifies a certificate: replays the learning on the data, measures the witnesses, and compares every number.

Exit code 0: everything in the certificate is as the data say. 1: something is not, and what differs is told.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from novikoff.cli.memory_options import HALF, add_max_model_memory, within_model_memory
from novikoff.cli.data_options import DATA
from novikoff.errors import InputError

EPILOG = f"""\
{DATA}

examples:
  novikoff verify spam.certificate train.svm
  novikoff verify spam.certificate train.svm --json
  novikoff verify clicks.certificate part-*.svm.gz      of a cluster: all shards, in their order
  novikoff verify clicks.certificate 'part-*.svm.gz' --scheduler tcp://10.0.0.1:8786
"""
SHOWN = 5


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("certificate", metavar="CERTIFICATE", help="a file that certify or learn wrote")
    parser.add_argument("data", nargs="+", metavar="DATA", help="the data that it is about, in this order")
    parser.add_argument("--threads", metavar="N", type=int, help="how many threads parse")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster that verifies shards where they are")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    add_max_model_memory(parser, HALF)


@within_model_memory
def run(options: argparse.Namespace) -> int:
    from novikoff.certificates.data_source import Files
    from novikoff.certificates.verify import differences, read
    from novikoff.data.options import Options

    try:
        text = Path(options.certificate).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{options.certificate}: is not a certificate.") from None
    document = read(text, options.certificate)
    about = document["data"]
    if isinstance(about, dict) and "mixing" in document:
        from novikoff.distributed.certificate import differences as of_shards

        with _cluster(options.scheduler) as client:
            return _told(of_shards(document, options.data, client=client, threads=options.threads), options)
    if options.scheduler:
        raise InputError(f"{options.certificate}: is not of a cluster: leave out --scheduler.")
    if not isinstance(about, dict) or "files" not in about:
        raise InputError(f"{options.certificate}: is about arrays, not files: check it with novikoff.verify in Python.")
    ways = dict(about.get("reading", {}))
    ways["interactions"] = tuple(ways.get("interactions", ()))
    try:
        how = Options(**ways, threads=options.threads)
    except TypeError as problem:
        raise InputError(f"{options.certificate}: its way of reading is not known here ({problem}).") from None
    return _told(
        differences(document, Files(options.data, how, about.get("positive"), document.get("shuffle"))), options
    )


def _cluster(scheduler: str | None) -> AbstractContextManager[Any]:
    """Without a scheduler one shard after another, here."""
    if scheduler is None:
        return nullcontext()
    from novikoff.distributed.dask_executor import connected

    return connected(scheduler)


def _told(different: list[str], options: argparse.Namespace) -> int:
    if options.json:
        print(json.dumps({"verified": not different, "differences": different}, ensure_ascii=False))
    else:
        more = len(different) - SHOWN
        print("\n".join([*different[:SHOWN], *([f"and {more} more"] if more > 0 else [])]) if different else "verified")
    return 1 if different else 0
