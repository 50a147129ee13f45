"""Writes a stream whose true concept is known: from a concept class, or the worst case of an algorithm."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from novikoff.cli import signals
from novikoff.cli.output.model_output import check_writable
from novikoff.data.synthetic.base import SyntheticStream
from novikoff.data.synthetic.concepts import CONCEPTS, BooleanStreamOptions
from novikoff.data.synthetic.worst_case import WORST_CASE_STREAMS
from novikoff.data.synthetic.writers import ROW_FORMATS, RowWriter
from novikoff.errors import InputError

EPILOG = """\
CONCEPT, and its options:
  conjunction, disjunction, xor    --relevant
  m-of-n                           --relevant --threshold       at least M of the relevant literals are true
  k-cnf                            --clauses --width            each attribute occurs once
  dnf                              --terms --width              each attribute occurs once
  and all of these                 --negated --density --drift
  linear-threshold                 --relevant --margin          numbers, ‖x‖ ≤ 1, separable by the margin without a bias
  rectangle                        --relevant                   numbers from 0 to 1
  and all of the above             --attributes --balance --noise --examples --random-state
  orthonormal                      --attributes                 the Perceptron's worst case
  irrelevant                       --attributes --relevant      bad for the Perceptron, good for Winnow
  drifting-disjunction             --attributes --relevant --drift    bad for Winnow, good for Winnow-R; 2^L attributes

Attributes are numbered from 1. In --truth, literal 3 means that attribute 3 is active, -3 that it is not.

examples:
  novikoff generate disjunction --attributes 1000 --relevant 5 > data.svm
  novikoff generate conjunction --negated --noise 0.05 --drift 3 --output data.svm --truth truth.json
  novikoff generate linear-threshold --margin 0.01 --examples 100000 | novikoff learn -
  novikoff generate irrelevant --attributes 10000 --format vw > worst.vw
"""
PROGRESS_INTERVAL_SECONDS = 1.0
"""Time between two lines of progress."""

OPTION_PARAMETERS = {
    "attributes": "n",
    "relevant": "k",
    "threshold": "m",
    "clauses": "clauses",
    "terms": "terms",
    "width": "width",
    "margin": "gamma",
    "examples": "examples",
    "density": "density",
    "balance": "balance",
    "noise": "noise",
    "drift": "drift",
    "negated": "negated",
    "random_state": "random_state",
}
"""Options, and the parameters of the functions that generate streams."""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("concept", metavar="CONCEPT", choices=[*CONCEPTS, *WORST_CASE_STREAMS], help="see below")
    for name, metavar, value_type, text in (
        ("attributes", "N", int, "number of attributes (default: 100; linear-threshold 20, rectangle 2)"),
        ("relevant", "K", int, "number of relevant attributes or literals (default: 5; xor 2, real numbers all)"),
        ("threshold", "M", int, "number of relevant literals that must be true (default: 3)"),
        ("clauses", "N", int, "number of clauses (default: 3)"),
        ("terms", "N", int, "number of terms (default: 3)"),
        ("width", "K", int, "literals per clause or term (default: 2)"),
        ("margin", "G", float, "minimum distance to the separating plane, for ‖x‖ ≤ 1 (default: 0.1)"),
        ("examples", "M", int, "number of examples (default: 1000)"),
        ("density", "P", float, "probability that an irrelevant attribute is active (default: 0.5, at most 50)"),
        ("balance", "P", _parse_balance, "share of positive examples, set by the density of literals (default:"
         " 0.5); none: relevant attributes are as dense as others"),
        ("noise", "P", float, "probability that a label is flipped (default: 0)"),
        ("drift", "C", int, "number of times that a literal is replaced (default: 0)"),
        ("random_state", "N", int, "seed of the concept and the examples (default: 0)"),
    ):  # fmt: skip
        parser.add_argument(
            f"--{name.replace('_', '-')}", metavar=metavar, type=value_type, default=argparse.SUPPRESS, help=text
        )
    parser.add_argument(
        "--negated", action="store_true", default=argparse.SUPPRESS, help="negate each literal with probability ½"
    )
    parser.add_argument(
        "--format", choices=tuple(ROW_FORMATS), default="svmlight", help="format of the examples (default: svmlight)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the examples here instead of stdout")
    parser.add_argument("--truth", metavar="FILE", help="write the true concept to this file, as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")


def run(options: argparse.Namespace) -> int:
    from novikoff.model_file import write_atomically

    stream = _build_stream(options)
    for name in filter(None, (options.output, options.truth)):
        check_writable(Path(name))
    if options.output and options.truth and Path(options.output).resolve() == Path(options.truth).resolve():
        raise InputError(f"{options.truth}: can't take both the examples and the truth: name two files.")
    with _open_output(options.output) as write:
        _write_stream(stream, RowWriter(options.format, stream.n), write, quiet=options.quiet)
    if options.truth:
        write_atomically(Path(options.truth), (json.dumps(stream.truth.as_dict()) + "\n").encode())
    return 0


def _parse_balance(text: str) -> float | None:
    return None if text == "none" else float(text)


_parse_balance.__name__ = "share"  # argparse shows it in its message


def _build_stream(options: argparse.Namespace) -> SyntheticStream:
    make: Any = (CONCEPTS | WORST_CASE_STREAMS)[options.concept]
    known = set(inspect.signature(make).parameters)
    if "more" in known:
        known |= set(BooleanStreamOptions.__annotations__)
    given = {name: getattr(options, name) for name in OPTION_PARAMETERS if name in options}
    strange = [f"--{name.replace('_', '-')}" for name in given if OPTION_PARAMETERS[name] not in known]
    if strange:
        allowed = ", ".join(
            f"--{name.replace('_', '-')}" for name, parameter in OPTION_PARAMETERS.items() if parameter in known
        )
        raise InputError(f"{options.concept} has no {' and no '.join(strange)}: its options are {allowed}.")
    stream: SyntheticStream = make(**{OPTION_PARAMETERS[name]: value for name, value in given.items()})
    return stream


@contextlib.contextmanager
def _open_output(name: str | None) -> Iterator[Callable[[bytes], object]]:
    """Yield the function that writes the text."""
    if name is None:
        yield sys.stdout.buffer.write
        return
    from novikoff.model_file import atomic_writer

    with atomic_writer(Path(name)) as write:
        yield write


def _write_stream(
    stream: SyntheticStream, text_of: RowWriter, write: Callable[[bytes], object], *, quiet: bool
) -> None:
    shown = not quiet and sys.stderr.isatty()
    began = last = time.perf_counter()
    done = size = 0
    for rows, y in stream.blocks():
        signals.raise_if_interrupted()
        text = text_of(rows, y)
        write(text)
        done, size = done + len(y), size + len(text)
        now = time.perf_counter()
        if shown and now - last >= PROGRESS_INTERVAL_SECONDS:
            last = now
            rate = size / (now - began) / 1e6
            print(f"{done:>12,} of {stream.examples:,} examples   {rate:,.0f} MB/s", file=sys.stderr)
