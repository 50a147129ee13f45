"""The ledger of a distributed run: the counts and the mixture weight of each shard in each round.

The theorems bound Σ_n Σ_i μ_{i,n}·M_{i,n}: the mistakes of a shard count with its mixture weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from novikoff.ledger import (
    ENERGY,
    EXAMPLES,
    FIRST_LISTED,
    LOSS,
    MAX_LISTED_MISTAKES,
    MISTAKES,
    N_LISTED,
    SQUARED_RADIUS,
    STRIDE,
    UPDATES,
    WEIGHTED,
    Ledger,
)


class Record(NamedTuple):
    """The counts of one shard in one round."""

    examples: int
    mistakes: int
    updates: int
    weighted: int
    energy: float
    loss: float


class Round(NamedTuple):
    """The counts and mixture weights of one round."""

    records: tuple[Record, ...]
    shares: tuple[Fraction, ...]
    """μ of each shard."""

    def mixture_sum(self, name: str) -> Fraction:
        """Return Σ μ_i·record_i.name without rounding."""
        parts = zip(self.shares, self.records, strict=True)
        return sum((share * Fraction(getattr(record, name)) for share, record in parts), Fraction(0))


class DistributedLedger:
    """The record of a distributed run, round by round.

    >>> first = Record(examples=5, mistakes=2, updates=2, weighted=0, energy=8.0, loss=0.0)
    >>> half = (Fraction(1, 2), Fraction(1, 2))
    >>> DistributedLedger([Round((first, first._replace(mistakes=3)), half)])
    DistributedLedger(rounds=1, shards=2, examples=10, mistakes=5, mixed_mistakes=2.5)
    """

    def __init__(self, rounds: Sequence[Round] = ()) -> None:
        self.rounds = list(rounds)

    @property
    def shards(self) -> int:
        return len(self.rounds[0].records) if self.rounds else 0

    @property
    def examples(self) -> int:
        """Number of examples of all rounds and shards."""
        return sum(record.examples for record in self._iter_records())

    @property
    def mistakes(self) -> int:
        """Number of mistakes of all rounds and shards, each counted once."""
        return sum(record.mistakes for record in self._iter_records())

    @property
    def weighted(self) -> int:
        """Number of examples whose sample weight in the data is not 1."""
        return sum(record.weighted for record in self._iter_records())

    def mixture_sum(self, name: str) -> Fraction:
        """Return Σ μ·mistakes (or updates, energy, loss) over rounds and shards, which the theorems bound."""
        return sum((one.mixture_sum(name) for one in self.rounds), Fraction(0))

    def shard_weights(self) -> list[Fraction]:
        """Return Σ_n μ_{i,n} of each shard, the weight of a loss on it."""
        return [sum((one.shares[i] for one in self.rounds), Fraction(0)) for i in range(self.shards)]

    def as_list(self) -> list[dict[str, Any]]:
        """Return the rounds as JSON values, the inverse of `from_list`."""
        return [
            {
                "shards": [list(record) for record in one.records],
                "shares": [[share.numerator, share.denominator] for share in one.shares],
            }
            for one in self.rounds
        ]

    @classmethod
    def from_list(cls, listed: Sequence[dict[str, Any]]) -> DistributedLedger:
        return cls(
            [
                Round(tuple(Record(*r) for r in one["shards"]), tuple(Fraction(*share) for share in one["shares"]))
                for one in listed
            ]
        )

    def _iter_records(self) -> Iterator[Record]:
        return (record for one in self.rounds for record in one.records)

    def __repr__(self) -> str:
        return (
            f"DistributedLedger(rounds={len(self.rounds)}, shards={self.shards}, examples={self.examples},"
            f" mistakes={self.mistakes}, mixed_mistakes={float(self.mixture_sum('mistakes')):g})"
        )


def to_record(ledger: Ledger, before: Ledger | None = None) -> Record:
    """Return the counts of a ledger, in total or since `before`."""
    counts, sums = ledger.book.counts, ledger.book.sums
    old = Ledger() if before is None else before
    was, had = old.book.counts, old.book.sums
    return Record(
        examples=int(counts[EXAMPLES] - was[EXAMPLES]),
        mistakes=int(counts[MISTAKES] - was[MISTAKES]),
        updates=int(counts[UPDATES] - was[UPDATES]),
        weighted=int(counts[WEIGHTED] - was[WEIGHTED]),
        energy=float(sums[ENERGY] - had[ENERGY]),
        loss=float(sums[LOSS] - had[LOSS]),
    )


def ledger_at_step(steps: int) -> Ledger:
    """Return an empty ledger for a learner that has already made this many steps."""
    ledger = Ledger()
    ledger.book.counts[EXAMPLES] = steps
    return ledger


def merge_ledgers(start: Ledger, shards: Sequence[Ledger]) -> Ledger:
    """Merge the ledgers of shards, each of which started with `ledger_at_step(start.examples)`.

    All examples are counted as weighted, because mixing scales their effect on the weights. So no theorem for
    unweighted runs is applied to the result.
    """
    counters = start.copy().book
    counts, sums = counters.counts, counters.sums
    points = [_mistake_points(start, 0, 0)]
    for ledger in shards:
        own = ledger.book
        points.append(_mistake_points(ledger, int(counts[MISTAKES]), int(counts[EXAMPLES]) - start.examples))
        counts[EXAMPLES] += own.counts[EXAMPLES] - start.examples
        for k in (MISTAKES, UPDATES):
            counts[k] += own.counts[k]
        sums[SQUARED_RADIUS] = max(sums[SQUARED_RADIUS], own.sums[SQUARED_RADIUS])
        sums[ENERGY] += own.sums[ENERGY]
        sums[LOSS] += own.sums[LOSS]
    counts[WEIGHTED] = counts[EXAMPLES]
    stride = max(1, start.stride, *(ledger.stride for ledger in shards))
    while counts[MISTAKES] // stride >= MAX_LISTED_MISTAKES:
        stride *= 2
    n_listed = int(counts[MISTAKES]) // stride
    numbers, times = (np.concatenate(part) for part in zip(*points, strict=True))
    places = np.searchsorted(numbers, stride * np.arange(1, n_listed + 1))
    times = np.append(times, counts[EXAMPLES])
    counts[FIRST_LISTED : FIRST_LISTED + MAX_LISTED_MISTAKES] = 0
    counts[FIRST_LISTED : FIRST_LISTED + n_listed], counts[N_LISTED], counts[STRIDE] = times[places], n_listed, stride
    return Ledger(counters)


def _mistake_points(ledger: Ledger, mistakes: int, later: int) -> tuple[Any, Any]:
    """Return the numbers of the listed mistakes and of their examples, in the order of the whole run."""
    times = ledger.mistake_times
    return mistakes + ledger.stride * np.arange(1, len(times) + 1), times + later
