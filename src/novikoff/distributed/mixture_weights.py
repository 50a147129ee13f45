"""Mixture weights μ: how much each shard counts when the weights of a round are mixed. They add up to 1, always.

The theorem holds for all of them, and so the choice is one of speed: `uniform` is the plainest, `mistakes` listens to
shards that still have something to learn (McDonald, Hall and Mann 2010), `examples` to long ones.
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
    """μ where it does not depend on what shards learn: nobody need wait for their records then."""
    return [Fraction(1, shards)] * shards if mixing == "uniform" else None


def mixture(mixing: str, records: Sequence[Record]) -> list[Fraction]:
    """μ of each shard, exactly; all alike where none has anything to count for.

    >>> one = Record(examples=10, mistakes=1, updates=1, weighted=0, energy=1.0, loss=0.0)
    >>> [str(share) for share in mixture("mistakes", [one, one._replace(mistakes=3)])]
    ['1/4', '3/4']
    """
    parts = [MIXING_RULES[mixing](record) for record in records]
    total = sum(parts)
    return [Fraction(part, total) if total else Fraction(1, len(parts)) for part in parts]
