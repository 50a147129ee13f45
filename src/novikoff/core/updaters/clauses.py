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
from novikoff.core.updaters.base import accepts_row, max_sq_norm, predicted_score, score, update, values_in_range
from novikoff.data.rows import Rows, clear_row, dot_and_sq_norm, scatter_row
from novikoff.errors import InputError
from novikoff.schema import FEATURES, REAL, SLOTS, ArraySpec, Entries, IndexInto, NotNaN, Schema
from novikoff.theory.boolean_bounds import clauses as how_many_clauses

MAX_CLAUSES = 2**23  # clauses
N_LEFT = 0


class Clauses(NamedTuple):
    weights: NDArray[np.floating]
    """No weights: as many zeros as there are slots."""
    clauses: NDArray[np.uint32]
    """A row for each clause; those that are left come first."""
    scalars: NDArray[np.int64]
    example: NDArray[np.float64]
    """Scratch: the values of one example, zeros in between."""
    bias: float


def clauses_schema(features: int, *, k: int) -> Schema:
    """Return the schema of this state in a model file. InputError where there are too many clauses."""
    k = min(k, features)
    count = count_clauses(features, k)
    return Schema(
        {
            "weights": ArraySpec(REAL, SLOTS, checks=[NotNaN()]),
            "clauses": ArraySpec("uint32", count, k, checks=[IndexInto(FEATURES * 2)]),
            "scalars": ArraySpec("int64", 1, checks=[Entries(left=(0, count))]),
        }
    )


def count_clauses(features: int, k: int) -> int:
    """Return the number of clauses of up to k literals; InputError where they are too many."""
    count = how_many_clauses(features=features, literals=k)
    if count > MAX_CLAUSES:
        raise InputError(f"There are {count:,} clauses of up to {k} literals over {features:,} features: too many.")
    return count


def build_clauses(slots: int, dtype: Any, *, k: int) -> Clauses:
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
    return Clauses(np.zeros(slots, dtype), table, np.array([count]), np.zeros(slots), 1.0)


@compiled
def is_satisfied(updater: Clauses, clause: int) -> bool:
    """Whether the example that is written out makes this clause true."""
    true = False
    for k in range(updater.clauses.shape[1]):
        literal = np.int64(updater.clauses[clause, k])
        true |= (updater.example[(literal >> 1) + 1] != 0.0) != (literal & 1 == 1)
    return true


@compiled
def score_clauses(updater: Clauses, rows: Rows, i: int) -> float:
    """½ − how many of the clauses that are left row i violates."""
    scatter_row(rows, i, updater.example)
    violated = 0
    for clause in range(updater.scalars[N_LEFT]):
        violated += not is_satisfied(updater, clause)
    clear_row(rows, i, updater.example)
    return 0.5 - violated


@accepts_row.of(Clauses)
def _accepts_row_clauses(updater: Clauses, rows: Rows, i: int) -> bool:
    return values_in_range(rows, i, 1.0, 1.0)


@predicted_score.of(Clauses)
def _predicted_score_clauses(updater: Clauses, rows: Rows, i: int, last_score: float, tie: float, t: int) -> float:
    return last_score


@score.of(Clauses)
def _score_clauses(updater: Clauses, rows: Rows, i: int) -> tuple[float, float]:
    _, sq_norm = dot_and_sq_norm(rows, i, updater.weights)
    return (score_clauses(updater, rows, i) if sq_norm < max_sq_norm(updater.weights) else 0.0), sq_norm


@update.of(Clauses)
def _update_clauses(updater: Clauses, rows: Rows, i: int, gradient: float, t: int) -> None:
    scatter_row(rows, i, updater.example)
    left = 0
    for clause in range(updater.scalars[N_LEFT]):
        keep = is_satisfied(updater, clause)
        for k in range(updater.clauses.shape[1]):
            updater.clauses[left, k] = updater.clauses[clause, k]
        left += keep
    for clause in range(left, updater.scalars[N_LEFT]):
        for k in range(updater.clauses.shape[1]):
            updater.clauses[clause, k] = 0
    updater.scalars[N_LEFT] = left
    clear_row(rows, i, updater.example)
