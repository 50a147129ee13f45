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

from novikoff.core.updaters.base import (fits, read, score, update, within)
from novikoff.schema import FEATURES, REAL, SLOTS, Array, Entries, IndexInto, NotNaN, Rule, Schema
from novikoff.data.rows import (Rows, first, last, measure, slot)

BEGUN, LEFT = 0, 1
DROPPED, HELD, HERE = 1.0, 2.0, 3.0


class Literals(NamedTuple):
    slots: NDArray[np.floating]
    members: NDArray[np.uint32]
    """Slots; as many as scalars[LEFT]."""
    scalars: NDArray[np.int64]
    bias: float


SCHEMA = Schema(
    {
        "slots": Array(REAL, SLOTS, checks=[NotNaN()]),
        "members": Array("uint32", SLOTS, checks=[IndexInto(SLOTS)]),
        "scalars": Array("int64", 2, checks=[Entries(begun=(0, 1), left=(0, FEATURES))]),
    },
    [
        Rule(
            "no literal is left before the first positive example",
            lambda _, sizes: bool(sizes["begun"] or not sizes["left"]),
        )
    ],
)
"""What a model file may hold of this state. The first positive example appends to `members`, from `left` on."""


def literals(slots: int, kind: Any) -> Literals:
    return Literals(np.zeros(slots, kind), np.zeros(slots, np.uint32), np.zeros(2, np.int64), 1.0)


@fits.of(Literals)
def _(geometry: Literals, rows: Rows, i: int) -> bool:
    return within(rows, i, 1.0, 1.0)


@score.of(Literals)
def _(geometry: Literals, rows: Rows, i: int) -> tuple[float, float]:
    dot, square = measure(rows, i, geometry.slots)  # of zeros and ones ‖x‖² is how many ones there are
    begun = geometry.scalars[BEGUN] != 0
    return (dot - square - np.float64(geometry.scalars[LEFT]) + 0.5 if begun else -0.5), square


@update.of(Literals)
def _(geometry: Literals, rows: Rows, i: int, signal: float, t: int) -> None:
    slots, members, scalars = geometry.slots, geometry.members, geometry.scalars
    if scalars[BEGUN] == 0:
        for k in range(first(rows, i), last(rows, i)):
            members[scalars[LEFT]] = slot(rows, i, k)
            slots[slot(rows, i, k)] = HELD
            scalars[LEFT] += 1
        scalars[BEGUN] = 1
        return
    for k in range(first(rows, i), last(rows, i)):
        j = slot(rows, i, k)
        slots[j] = HERE if slots[j] == HELD else DROPPED
    left = 0
    for k in range(scalars[LEFT]):
        j = members[k]
        here = slots[j] == HERE
        slots[j] = HELD if here else DROPPED
        members[left] = j
        left += here
    members[left : scalars[LEFT]] = 0
    scalars[LEFT] = left


@read.of(Literals)
def _(geometry: Literals, j: int, t: int) -> float:
    if j > 0:
        return np.float64(geometry.slots[j]) - 1.0 if geometry.scalars[BEGUN] != 0 else 0.0
    return 0.5 - np.float64(geometry.scalars[LEFT]) if geometry.scalars[BEGUN] != 0 else -0.5
