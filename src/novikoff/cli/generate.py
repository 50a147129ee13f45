"""Writes a stream whose truth is known: from a concept class, or made to be the worst for an algorithm."""

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
CONCEPT, and what it may be told:
  conjunction, disjunction, xor    --relevant
  m-of-n                           --relevant --threshold       at least so many of the relevant literals
  k-cnf                            --clauses --width            no attribute comes twice
  dnf                              --terms --width              no attribute comes twice
  and all of these                 --negated --density --drift
  linear-threshold                 --relevant --margin          numbers, ‖x‖ ≤ 1, separable by the margin without a bias
  rectangle                        --relevant                   numbers from 0 to 1
  and all of the above             --attributes --balance --noise --examples --random-state
  orthonormal                      --attributes                 the Perceptron's worst case
  irrelevant                       --attributes --relevant      bad for the Perceptron, good for Winnow
  drifting-disjunction             --attributes --relevant --drift    bad for Winnow, good for Winnow-R; 2^L attributes

Attributes are numbered from 1. In the truth, literal 3 says that attribute 3 is active, -3 that it is not.

examples:
  novikoff generate disjunction --attributes 1000 --relevant 5 > data.svm
  novikoff generate conjunction --negated --noise 0.05 --drift 3 --output data.svm --truth truth.json
  novikoff generate linear-threshold --margin 0.01 --examples 100000 | novikoff learn -
  novikoff generate irrelevant --attributes 10000 --format vw > worst.vw
"""
PROGRESS_INTERVAL_SECONDS = 1.0
"""Between two lines of progress."""

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
"""Options, and what the functions that make streams call them."""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    parser.add_argument("concept", metavar="CONCEPT", choices=[*CONCEPTS, *WORST_CASE_STREAMS], help="see below")
    for name, metavar, value_type, text in (
        ("attributes", "N", int, "how many attributes there are (default: 100; linear-threshold 20, rectangle 2)"),
        ("relevant", "K", int, "how many of them, or of their literals, matter (default: 5; xor 2, real numbers all)"),
        ("threshold", "M", int, "how many of the relevant ones must be true (default: 3)"),
        ("clauses", "N", int, "how many clauses (default: 3)"),
        ("terms", "N", int, "how many terms (default: 3)"),
        ("width", "K", int, "how many literals in a clause or a term (default: 2)"),
        ("margin", "G", float, "the least distance to the separating plane, ‖x‖ being at most 1 (default: 0.1)"),
        ("examples", "M", int, "how many examples (default: 1000)"),
        ("density", "P", float, "how likely an irrelevant attribute is active (default: 0.5, at most 50 in all)"),
        ("balance", "P", _parse_balance, "the share of positive examples, by how often literals are true (default:"
         " 0.5); none: relevant attributes are as dense as others"),
        ("noise", "P", float, "how likely a label is flipped (default: 0)"),
        ("drift", "C", int, "how often a literal is dropped and another one gained (default: 0)"),
        ("random_state", "N", int, "another number gives another concept and other examples (default: 0)"),
    ):  # fmt: skip
        parser.add_argument(
            f"--{name.replace('_', '-')}", metavar=metavar, type=value_type, default=argparse.SUPPRESS, help=text
        )
    parser.add_argument(
        "--negated", action="store_true", default=argparse.SUPPRESS, help="literals may be negated, each by a coin"
    )
    parser.add_argument("--format", choices=tuple(ROW_FORMATS), default="svmlight", help="(default: svmlight)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the examples here instead of stdout")
    parser.add_argument("--truth", metavar="FILE", help="write what is known of the stream here, as JSON")
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


_parse_balance.__name__ = "share"  # what the parser calls it where it is none


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
        raise InputError(f"{options.concept} has no {' and no '.join(strange)}: it can be told {allowed}.")
    stream: SyntheticStream = make(**{OPTION_PARAMETERS[name]: value for name, value in given.items()})
    return stream


@contextlib.contextmanager
def _open_output(name: str | None) -> Iterator[Callable[[bytes], object]]:
    """Where the text goes."""
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
