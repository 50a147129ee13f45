"""The option --provenance: record version, time and data files of a saved model."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from novikoff.errors import InputError


def add_provenance(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--provenance",
        action="store_true",
        help="store version, time and SHA-256 of the data files in the model file, which then differs in each run",
    )


def begin_provenance(options: argparse.Namespace) -> Any:
    """Return the status of the inputs before they are read; None without the option."""
    if not options.provenance:
        return None
    if not options.save:
        raise InputError("--provenance is stored in the model file: name it with --save.")
    from novikoff.provenance import read_statuses

    return read_statuses(options.data)


def finish_provenance(options: argparse.Namespace, seen: Any) -> dict[str, Any] | None:
    """Return the record for the file; a resumed model keeps the records of the runs before."""
    if seen is None:
        return None
    from novikoff import __version__
    from novikoff.provenance import describe_run, extend

    before = None
    if options.resume:
        from novikoff.model_file import read_provenance

        before = read_provenance(options.resume)
    run, changed = describe_run(__version__, seen)
    for title in changed:
        print(f"warning: {title} changed while it was read: its digest is left out", file=sys.stderr)
    return extend(before, run)
