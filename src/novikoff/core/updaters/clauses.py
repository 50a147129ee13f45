"""Conjunctions of clauses of up to k literals, from which those that were false on a positive example are dropped.

Every clause over the n variables is a feature of its own, and a k-CNF is a conjunction of such features. Clauses are
not computed as columns: the list of those that are left is gone through for each example, and grows shorter as it
learns. A literal is 2j for x_j and 2j + 1 for ¬x_j; clauses shorter than k repeat their last literal.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.errors import InputError
from novikoff.core.updaters.base import (fits, limit, score, update, within)
from novikoff.schema import FEATURES, REAL, SLOTS, Array, Entries, IndexInto, NotNaN, Schema
from novikoff.data.rows import (Rows, measure, wipe, write_out)
from novikoff.theory.boolean_bounds import clauses as how_many_clauses

MOST = 2**23  # clauses
LEFT = 0


class Clauses(NamedTuple):
    slots: NDArray[np.floating]
    """No weights: as many zeros as there are slots."""
    clauses: NDArray[np.uint32]
    """A row for each clause; those that are left come first."""
    scalars: NDArray[np.int64]
    example: NDArray[np.float64]
    """Scratch: the values of one example, zeros in between."""
    bias: float


def clauses_schema(features: int, *, k: int) -> Schema:
    """Return what a model file may hold of this state. InputError where there are too many clauses."""
    k = min(k, features)
    count = count_clauses(features, k)
    return Schema(
        {
            "slots": Array(REAL, SLOTS, checks=[NotNaN()]),
            "clauses": Array("uint32", count, k, checks=[IndexInto(FEATURES * 2)]),
            "scalars": Array("int64", 1, checks=[Entries(left=(0, count))]),
        }
    )


def count_clauses(features: int, k: int) -> int:
    """Return the number of clauses of up to k literals; InputError where they are too many."""
    count = how_many_clauses(features=features, literals=k)
    if count > MOST:
        raise InputError(f"There are {count:,} clauses of up to {k} literals over {features:,} features: too many.")
    return count


def clauses(slots: int, kind: Any, *, k: int) -> Clauses:
    features = slots - 1
    k = min(k, features)
    count = count_clauses(features, k)
    table = np.empty((count, k), np.uint32)
    start = 0
    for size in range(1, k + 1):
        variables = np.array(list(combinations(range(features), size)), np.uint32)
        signs = np.array(list(product((0, 1), repeat=size)), np.uint32)
        part = (2 * variables[:, None, :] + signs[None, :, :]).reshape(-1, size)
        table[start : start + len(part), :size] = part
        table[start : start + len(part), size:] = part[:, -1:]
        start += len(part)
    return Clauses(np.zeros(slots, kind), table, np.array([count]), np.zeros(slots), 1.0)


@compiled
def satisfied(geometry: Clauses, clause: int) -> bool:
    """Whether the example that is written out makes this clause true."""
    true = False
    for k in range(geometry.clauses.shape[1]):
        literal = np.int64(geometry.clauses[clause, k])
        true |= (geometry.example[(literal >> 1) + 1] != 0.0) != (literal & 1 == 1)
    return true


@compiled
def verdict(geometry: Clauses, rows: Rows, i: int) -> float:
    """½ − how many of the clauses that are left row i violates."""
    write_out(rows, i, geometry.example)
    violated = 0
    for clause in range(geometry.scalars[LEFT]):
        violated += not satisfied(geometry, clause)
    wipe(rows, i, geometry.example)
    return 0.5 - violated


@fits.of(Clauses)
def _(geometry: Clauses, rows: Rows, i: int) -> bool:
    return within(rows, i, 1.0, 1.0)


@score.of(Clauses)
def _(geometry: Clauses, rows: Rows, i: int) -> tuple[float, float]:
    _, square = measure(rows, i, geometry.slots)
    return (verdict(geometry, rows, i) if square < limit(geometry.slots) else 0.0), square


@update.of(Clauses)
def _(geometry: Clauses, rows: Rows, i: int, signal: float, t: int) -> None:
    write_out(rows, i, geometry.example)
    left = 0
    for clause in range(geometry.scalars[LEFT]):
        keep = satisfied(geometry, clause)
        for k in range(geometry.clauses.shape[1]):
            geometry.clauses[left, k] = geometry.clauses[clause, k]
        left += keep
    for clause in range(left, geometry.scalars[LEFT]):
        for k in range(geometry.clauses.shape[1]):
            geometry.clauses[clause, k] = 0
    geometry.scalars[LEFT] = left
    wipe(rows, i, geometry.example)
