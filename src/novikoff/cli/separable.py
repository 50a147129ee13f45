"""Decides whether a hyperplane separates the positive from the negative examples, and proves the answer."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.cli import signals
from novikoff.cli.options.data_options import DATA_HELP, add_data_options, build_reading_options, open_reading
from novikoff.cli.options.run_options import DEFAULT_LIMIT_TEXT, add_max_model_memory
from novikoff.cli.output.model_output import check_writable
from novikoff.cli.output.progress import elapsed_time_printer
from novikoff.errors import InputError

EPILOG = f"""\
{DATA_HELP}

The proof is a separator with its margin, or a weighted sum of examples that is zero, but would be positive for every
separator (Gordan's theorem). It is checked in exact arithmetic before it is shown.

exit code: 0 separable (or, with --check, the proof holds); 1 not separable (the proof does not hold); 3 undecided
within the budget; 2 bad usage or bad input

examples:
  novikoff separable train.svm
  novikoff separable train.svm --no-fit-intercept --proof proof.json
  novikoff separable train.svm --check proof.json
  novikoff separable digits --positive-label 3 --json
"""
EXIT_SEPARABLE, EXIT_NOT_SEPARABLE, EXIT_UNDECIDED = 0, 1, 3
BYTES_PER_FEATURE = 250
"""Memory of the search for a separator per feature, most of it in linear programming (measured)."""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help="the examples")
    parser.add_argument(
        "--fit-intercept",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="allow hyperplanes that do not contain the origin",
    )
    parser.add_argument(
        "--passes",
        metavar="N",
        type=int,
        default=1000,
        help="maximum number of passes of the Perceptron (default: 1000)",
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        default=60.0,
        help="stop undecided after this time (default: 60 s)",
    )
    parser.add_argument("--positive-label", metavar="LABEL", help="separate this label from all others")
    parser.add_argument("--proof", metavar="FILE.json", help="write the proof to this file")
    parser.add_argument("--check", metavar="FILE.json", help="check a proof written by --proof against this data")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    add_max_model_memory(parser, DEFAULT_LIMIT_TEXT)
    add_data_options(parser)


def run(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    if options.proof:
        check_writable(Path(options.proof))
    given = _read_proof(options.check) if options.check else None
    report_progress = elapsed_time_printer(quiet=options.quiet)
    report_progress("reading")
    X, y, report = _read_examples(options)
    signals.raise_if_interrupted()
    if given is not None:
        return _check_proof(given, X, y, options)
    from novikoff.certificates.separability.decide import decide
    from novikoff.data.labels.binary_labels import BinaryLabels

    labels = None
    if options.positive_label is not None:
        others = [str(label) for label in np.unique(y) if label != options.positive_label]
        labels = BinaryLabels(others[0] if others else f"not {options.positive_label}", options.positive_label)
    how = {"fit_intercept": options.fit_intercept, "passes": options.passes, "time_limit": options.time_limit}
    proof = decide(X, y, labels, **how, tell=report_progress)
    if options.proof:
        from novikoff.model_file import write_atomically

        write_atomically(Path(options.proof), (json.dumps(proof.as_dict(), ensure_ascii=False) + "\n").encode())
    taken = time.perf_counter() - began
    if options.json:
        print(json.dumps({**proof.as_dict(), "took": taken, **report}, ensure_ascii=False))
    else:
        print("\n".join([str(proof), *([f"proof       {Path(options.proof)}"] if options.proof else [])]))
    return EXIT_UNDECIDED if proof.separable is None else EXIT_SEPARABLE if proof.separable else EXIT_NOT_SEPARABLE


def _read_examples(options: argparse.Namespace) -> tuple[Any, NDArray[Any], dict[str, Any]]:
    """Return all examples, their labels, and the report of the reader."""
    from novikoff.data.feature_limit import check_width
    from novikoff.data.read import MatrixBuilder

    reading = open_reading(options.data, build_reading_options(options), None)
    parts = MatrixBuilder(sum(os.path.getsize(t) for t in options.data if Path(t).is_file()))
    for batch in reading.batches():
        signals.raise_if_interrupted()
        before = parts.features
        parts.add(batch)
        check_width(batch, reading, lambda features: BYTES_PER_FEATURE * features, before)
    y = np.concatenate(parts.labels)
    if options.positive_label is not None:
        from novikoff.data.labels.binary_labels import merge_others

        y = merge_others(y, options.positive_label)
    return parts.matrix(parts.features), y, reading.report()


def _read_proof(name: str) -> Any:
    from novikoff.certificates.separability.proof_text import proof_from

    try:
        document = json.loads(Path(name).read_bytes())
    except ValueError as problem:
        raise InputError(f"{name}: is not JSON: {problem}. Name a file that --proof wrote.") from None
    if not isinstance(document, dict):
        raise InputError(f"{name}: is not a proof: name a file that --proof wrote.")
    return proof_from(document)


def _check_proof(proof: Any, X: Any, y: NDArray[Any], options: argparse.Namespace) -> int:
    holds = proof.check(X, y)
    about = "undecided" if proof.separable is None else "separable" if proof.separable else "not separable"
    if options.json:
        print(json.dumps({"holds": holds, "separable": proof.separable}))
    else:
        print(f"the proof holds: {about}" if holds else f"the proof does not hold for this data: it claims {about}")
    return EXIT_SEPARABLE if holds else EXIT_NOT_SEPARABLE
