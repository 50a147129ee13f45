"""What happened in a distributed run: of each round and shard what a ledger counts, and what it weighs in the mixture.

The theorems speak of Σ_n Σ_i μ_{i,n}·M_{i,n}: the mistakes of a shard count as much as its weights do.
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
    """Of one shard in one round."""

    examples: int
    mistakes: int
    updates: int
    weighted: int
    energy: float
    loss: float


class Round(NamedTuple):
    records: tuple[Record, ...]
    shares: tuple[Fraction, ...]
    """μ of each shard."""

    def mixed(self, name: str) -> Fraction:
        """Σ μ_i·(what the records have under this name), without rounding."""
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
        """Of all rounds and shards."""
        return sum(record.examples for record in self._iter_records())

    @property
    def mistakes(self) -> int:
        """Of all rounds and shards, each counted once."""
        return sum(record.mistakes for record in self._iter_records())

    @property
    def weighted(self) -> int:
        """Examples whose own weight, in the data, was not 1."""
        return sum(record.weighted for record in self._iter_records())

    def mixed(self, name: str) -> Fraction:
        """Σ μ·mistakes (or updates, energy, loss) over rounds and shards: what the theorems bound."""
        return sum((one.mixed(name) for one in self.rounds), Fraction(0))

    def shard_weights(self) -> list[Fraction]:
        """Σ_n μ_{i,n} of each shard: how often a loss on it counts."""
        return [sum((one.shares[i] for one in self.rounds), Fraction(0)) for i in range(self.shards)]

    def as_list(self) -> list[dict[str, Any]]:
        """For a file."""
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
            f" mistakes={self.mistakes}, mixed_mistakes={float(self.mixed('mistakes')):g})"
        )


def to_record(ledger: Ledger, before: Ledger | None = None) -> Record:
    """What a ledger has counted, all of it or since then."""
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
    """A ledger that has counted nothing, for a learner that has made so many steps."""
    ledger = Ledger()
    ledger.book.counts[EXAMPLES] = steps
    return ledger


def merge_ledgers(start: Ledger, shards: Sequence[Ledger]) -> Ledger:
    """One ledger of all: shard after shard, each of which began `at_step(start.examples)`. No example counts for 1 in
    the weights that are mixed: they are all noted as weighted, so that no theorem for plain runs is held to be one
    for this."""
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
    counts[FIRST_LISTED:] = 0
    counts[FIRST_LISTED : FIRST_LISTED + n_listed], counts[N_LISTED], counts[STRIDE] = times[places], n_listed, stride
    return Ledger(counters)


def _mistake_points(ledger: Ledger, mistakes: int, later: int) -> tuple[Any, Any]:
    """(number of the mistake, number of the example) as far as they are listed, in the order of the whole run."""
    times = ledger.mistake_times
    return mistakes + ledger.stride * np.arange(1, len(times) + 1), times + later
