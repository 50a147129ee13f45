"""Mixture weights μ of the shards in a round. They always sum to 1.

The theorems hold for any mixture weights, so the choice affects only the speed of convergence: `uniform` is the
simplest, `mistakes` prefers shards with more mistakes (McDonald, Hall and Mann 2010), `examples` prefers long shards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from novikoff.distributed.ledger import Record

MIXING_RULES: dict[str, Callable[[Record], int]] = {
    "uniform": lambda _: 1,
    "mistakes": lambda record: record.mistakes,
    "examples": lambda record: record.examples,
}


def fixed_mixture(mixing: str, shards: int) -> list[Fraction] | None:
    """Return μ if it does not depend on the results of the shards, so that mixing need not wait for them; else None."""
    return [Fraction(1, shards)] * shards if mixing == "uniform" else None


def mixture(mixing: str, records: Sequence[Record]) -> list[Fraction]:
    """Return the exact μ of each shard; uniform if all counts are 0.

    >>> one = Record(examples=10, mistakes=1, updates=1, weighted=0, energy=1.0, loss=0.0)
    >>> [str(share) for share in mixture("mistakes", [one, one._replace(mistakes=3)])]
    ['1/4', '3/4']
    """
    parts = [MIXING_RULES[mixing](record) for record in records]
    total = sum(parts)
    return [Fraction(part, total) if total else Fraction(1, len(parts)) for part in parts]
