"""Answers the questions of learning theory by computation: how many examples, what error, which dimension."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from novikoff.cli.theory import counts, sample_size, shattering

EPILOG = """\
Every answer is a sentence with its formula and the numbers put in, or one JSON object with --json. Numbers of examples
are rounded up, bounds on errors and probabilities outward. `novikoff theory TOPIC --help` says what each one takes.

exit code: 0 done; 1 the answer is no (not enough examples, not shattered); 2 bad usage or bad input

examples:
  novikoff theory consistent --class conjunctions --variables 10 --epsilon 0.1 --delta 0.05
  novikoff theory vc --class half-spaces --variables 2 --examples 5000 --delta 0.05
  novikoff theory agnostic --hypotheses 2^20 --delta 0.05 --table --plot sizes.html
  novikoff theory binomial --mistakes 3 --examples 1000 --delta 0.05
  novikoff theory size --class k-cnf --variables 20 --k 3
  novikoff theory mistakes winnow --literals 5 --features 1000
  novikoff theory shatter half-spaces --points "0,0 1,0 0,1 1,1" --plot square.html
"""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    topics = parser.add_subparsers(dest="topic", metavar="TOPIC", required=True)
    for part in (sample_size, counts, shattering):
        part.add_topics(topics)


def run(options: argparse.Namespace) -> int:
    code: int = options.answer(options)
    return code
