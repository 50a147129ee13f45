"""Computes sample sizes, error bounds, VC dimensions and mistake bounds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from novikoff.cli.theory import counts, sample_size, shattering

EPILOG = """\
Every answer is a sentence with the formula and its numbers, or one JSON object with --json. Numbers of examples are
rounded up, bounds of errors and probabilities outward. `novikoff theory TOPIC --help` lists the options of a topic.

exit code: 0 success; 1 negative answer (not enough examples, not shattered); 2 bad usage or bad input

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
