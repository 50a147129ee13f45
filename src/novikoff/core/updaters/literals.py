"""Conjunctions of literals, from which those that were false on a positive example are dropped.

A conjunction over n variables begins with all 2n literals, so that nothing satisfies it. The first positive example
leaves x_j for each feature that is there and ¬x_j for each that is not. From then on a weight says what is left of the
two literals of a feature: +1 (x_j), −1 (¬x_j) or 0 (neither), and with P the number of x_j that are left,

    ½ − (how many literals x violates)  =  Σ w_j·x_j − P + ½.

Slots hold w_j + 1: a feature that was never seen, all of whose values so far were 0, then starts with ¬x_j, as it must.
`members` lists the features whose x_j is left, so that dropping costs as much as there are of them, not n.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.core.updaters.base import accepts_row, final_weight, predicted_score, score, update, values_in_range
from novikoff.data.rows import Rows, dot_and_sq_norm, end_term, first_term, weight_slot
from novikoff.schema import FEATURES, REAL, SLOTS, ArraySpec, Constraint, Entries, IndexInto, NotNaN, Schema

HAS_BEGUN, N_LEFT = 0, 1
LITERAL_DROPPED, LITERAL_HELD, LITERAL_PRESENT = 1.0, 2.0, 3.0


class Literals(NamedTuple):
    weights: NDArray[np.floating]
    members: NDArray[np.uint32]
    """Slots; as many as scalars[N_LEFT]."""
    scalars: NDArray[np.int64]
    bias: float


LITERALS_SCHEMA = Schema(
    {
        "weights": ArraySpec(REAL, SLOTS, checks=[NotNaN()]),
        "members": ArraySpec("uint32", SLOTS, checks=[IndexInto(SLOTS)]),
        "scalars": ArraySpec("int64", 2, checks=[Entries(begun=(0, 1), left=(0, FEATURES))]),
    },
    [
        Constraint(
            "no literal is left before the first positive example",
            lambda _, sizes: bool(sizes["begun"] or not sizes["left"]),
        )
    ],
)
"""The schema of this state in a model file. The first positive example appends to `members`, from `left` on."""


def build_literals(slots: int, dtype: Any) -> Literals:
    return Literals(np.zeros(slots, dtype), np.zeros(slots, np.uint32), np.zeros(2, np.int64), 1.0)


@accepts_row.of(Literals)
def _accepts_row_literals(updater: Literals, rows: Rows, i: int) -> bool:
    return values_in_range(rows, i, 1.0, 1.0)


@predicted_score.of(Literals)
def _predicted_score_literals(updater: Literals, rows: Rows, i: int, last_score: float, tie: float, t: int) -> float:
    return last_score


@score.of(Literals)
def _score_literals(updater: Literals, rows: Rows, i: int) -> tuple[float, float]:
    dot, sq_norm = dot_and_sq_norm(rows, i, updater.weights)  # of zeros and ones ‖x‖² is how many ones there are
    begun = updater.scalars[HAS_BEGUN] != 0
    return (dot - sq_norm - np.float64(updater.scalars[N_LEFT]) + 0.5 if begun else -0.5), sq_norm


@update.of(Literals)
def _update_literals(updater: Literals, rows: Rows, i: int, gradient: float, t: int) -> None:
    slots, members, scalars = updater.weights, updater.members, updater.scalars
    if scalars[HAS_BEGUN] == 0:
        for k in range(first_term(rows, i), end_term(rows, i)):
            members[scalars[N_LEFT]] = weight_slot(rows, i, k)
            slots[weight_slot(rows, i, k)] = LITERAL_HELD
            scalars[N_LEFT] += 1
        scalars[HAS_BEGUN] = 1
        return
    for k in range(first_term(rows, i), end_term(rows, i)):
        j = weight_slot(rows, i, k)
        slots[j] = LITERAL_PRESENT if slots[j] == LITERAL_HELD else LITERAL_DROPPED
    left = 0
    for k in range(scalars[N_LEFT]):
        j = members[k]
        present = slots[j] == LITERAL_PRESENT
        slots[j] = LITERAL_HELD if present else LITERAL_DROPPED
        members[left] = j
        left += present
    members[left : scalars[N_LEFT]] = 0
    scalars[N_LEFT] = left


@final_weight.of(Literals)
def _final_weight_literals(updater: Literals, j: int, t: int) -> float:
    if j > 0:
        return np.float64(updater.weights[j]) - 1.0 if updater.scalars[HAS_BEGUN] != 0 else 0.0
    return 0.5 - np.float64(updater.scalars[N_LEFT]) if updater.scalars[HAS_BEGUN] != 0 else -0.5
