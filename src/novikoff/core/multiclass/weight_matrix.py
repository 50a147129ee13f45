"""Many columns of weights over the same features, one for each class, pair of classes or bit of a code.

Every geometry made for one vector of weights serves a table of them: the weight of slot j in column c is number
j·across + c of its arrays. The columns of one example are scored in one go; those that are to move then move as they
would if each stood alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.simd.dot_columns import BLOCK
from novikoff._compiled.jit import compiled, compiled_reader, generic
from novikoff._compiled.simd.dot import element, put
from novikoff._compiled.simd.weight_updates import dense_steps
from novikoff.core.updaters.adagrad import REACH, AdaGrad, by_changes
from novikoff.core.updaters.additive import Additive
from novikoff.core.averaging import raised
from novikoff.core.updaters.arow import (Confident, refine, refine_all, spread)
from novikoff.core.updaters.base import (DERIVED, PER_SLOT, filled, finished, limit, move, pull, settle, update)
from novikoff.core.multiclass.schemes import Room
from novikoff.data.rows import (Column, Rows, first, last, proper, slot, squared, sum_columns)

G = TypeVar("G", bound=Any)


@compiled
def score_columns(geometry: Any, rows: Rows, i: int, across: int, columns: int, scores: NDArray[np.float64]) -> None:
    """The scores of the first so many columns for row i, bias included."""
    for c in range(columns):
        settle(geometry, Column(rows, rows.values, across, c, scores), i)
    sum_columns(rows, i, geometry.slots, across, columns, scores)
    for c in range(columns):
        scores[c] = finished(geometry, scores[c], c)


@generic
def score_all(geometry: Any, rows: Rows, i: int, across: int, columns: int, room: Room) -> None:
    """The same, into `room.scores`."""
    score_columns(geometry, rows, i, across, columns, room.scores)


class Push(NamedTuple):
    """What an example does to the columns."""

    columns: int
    whole: bool
    """Whether all columns are one long vector, and their signals one update."""
    signals: NDArray[np.float64]
    times: NDArray[np.int64]
    """Each column's step."""
    spare: NDArray[np.float64]
    """Room for two numbers a column."""
    known: int
    """How many classes there were before this example."""


@generic
def update_columns(geometry: Any, rows: Rows, i: int, across: int, push: Push) -> None:
    """Moves the weights that row i touches in every column whose signal is not 0. Signals and spare are used up."""
    move_columns(geometry, rows, i, across, push)


@compiled
def move_columns(geometry: Any, rows: Rows, i: int, across: int, push: Push) -> None:
    columns, signals, times = push.columns, push.signals, push.times
    for c in range(columns):
        if signals[c] != 0.0:
            update(geometry, Column(rows, rows.values, across, c, signals), i, signals[c], times[c])


@compiled
def next_moving(signals: NDArray[np.float64], columns: int, c: int) -> int:
    """The first column from c on that moves; the number of columns where there is none."""
    while c < columns and signals[c] == 0.0:
        c += 1
    return c


@compiled
def many(signals: NDArray[np.float64], columns: int) -> bool:
    """Whether so many columns move that it is quicker to go through all of a feature's at once."""
    moving = 0
    for c in range(columns):
        moving += signals[c] != 0.0
    return moving > 3


@update_columns.of(Additive)
def _(geometry: Additive, rows: Rows, i: int, across: int, push: Push) -> None:
    columns, signals, times = push.columns, push.signals, push.times
    if not many(signals, columns):
        c = next_moving(signals, columns, 0)
        other = next_moving(signals, columns, c + 1)
        if other < columns and next_moving(signals, columns, other + 1) == columns:
            move_two(geometry, rows, i, across, push, c, other)
        else:
            move_columns(geometry, rows, i, across, push)
        return
    for c in range(columns):
        if signals[c] != 0.0:  # a column that has learned nothing yet is at step 0, which has no length
            signals[c] = pull(geometry, signals[c], times[c])
    for k in range(first(rows, i), last(rows, i)):
        x, base = np.float64(element(rows.values, k)), slot(rows, i, k) * across
        for c in range(columns):
            put(geometry.slots, base + c, np.float64(element(geometry.slots, base + c)) + element(signals, c) * x)
    if geometry.bias != 0.0:
        for c in range(columns):
            move(geometry, c, geometry.bias, signals[c], times[c])


@compiled
def move_two(geometry: Additive, rows: Rows, i: int, across: int, push: Push, c: int, other: int) -> None:
    """The class that an example is of and the one that it was taken for, in one go."""
    mine, its = pull(geometry, push.signals[c], push.times[c]), pull(geometry, push.signals[other], push.times[other])
    for k in range(first(rows, i), last(rows, i)):
        x, base = np.float64(element(rows.values, k)), slot(rows, i, k) * across
        move(geometry, base + c, x, mine, push.times[c])
        move(geometry, base + other, x, its, push.times[other])
    if geometry.bias != 0.0:
        move(geometry, c, geometry.bias, mine, push.times[c])
        move(geometry, other, geometry.bias, its, push.times[other])


@update_columns.of(AdaGrad)
def _(geometry: AdaGrad, rows: Rows, i: int, across: int, push: Push) -> None:
    columns, signals, times, spare = push.columns, push.signals, push.times, push.spare
    if not many(signals, columns):
        move_columns(geometry, rows, i, across, push)
        return
    reach, averaged = geometry.scalars[REACH], by_changes(geometry)
    pasts, before = spare[:columns], spare[columns : 2 * columns]
    for c in range(columns):
        pasts[c] = raised(times[c] - 1, geometry.tail) if averaged else 0.0
    for k in range(first(rows, i), last(rows, i)):
        x, base = np.float64(element(rows.values, k)), slot(rows, i, k) * across
        if averaged:
            for c in range(columns):
                before[c] = np.float64(geometry.slots[base + c, 0])
        # A step is the same whichever of its two factors is the value and whichever the signal.
        reach = max(reach, dense_steps(signals, 0, columns, geometry.slots[base - 1 :], x, geometry.rate))
        if averaged:
            for c in range(columns):
                geometry.sums[base + c] += pasts[c] * (np.float64(geometry.slots[base + c, 0]) - before[c])
    geometry.scalars[REACH] = reach
    if geometry.bias != 0.0:
        for c in range(columns):
            move(geometry, c, geometry.bias, signals[c], times[c])


@update_columns.of(Confident)
def _(geometry: Confident, rows: Rows, i: int, across: int, push: Push) -> None:
    columns, whole, signals = push.columns, push.whole, push.signals
    if whole:
        refine_whole(geometry, rows, i, across, push)
    elif many(signals, columns):
        refine_columns(geometry, rows, i, across, push)
    else:
        move_columns(geometry, rows, i, across, push)


@compiled
def refine_whole(geometry: Confident, rows: Rows, i: int, across: int, push: Push) -> None:
    """One step along x', which has (signal of c)/G·x in block c, with the signal G, the largest of all: v is the sum
    over all blocks."""
    columns, signals, times, spare = push.columns, push.signals, push.times, push.spare
    largest, v = 0.0, 0.0
    for c in range(columns):
        largest = max(largest, abs(signals[c]))
    for c in range(columns):
        if signals[c] != 0.0:
            share = signals[c] / largest
            v += share * share * spread(geometry, Column(rows, rows.values, across, c, spare), i)
    beta = 1.0 / (v + geometry.r)
    for c in range(columns):
        if signals[c] != 0.0:
            share = signals[c] / largest
            column = Column(rows, rows.values, across, c, spare)
            refine_all(geometry, column, i, beta * signals[c], beta * (share * share), times[c])


@compiled
def refine_columns(geometry: Confident, rows: Rows, i: int, across: int, push: Push) -> None:
    """Each column's own step, all of a feature's at once."""
    columns, signals, times, spare = push.columns, push.signals, push.times, push.spare
    betas, pasts = spare[:columns], spare[columns : 2 * columns]
    for c in range(columns):
        betas[c] = 0.0
        pasts[c] = raised(times[c] - 1, geometry.tail)
    for k in range(first(rows, i), last(rows, i)):
        x, base = np.float64(element(rows.values, k)), slot(rows, i, k) * across
        for c in range(columns):
            betas[c] += x * x * np.float64(geometry.slots[base + c, 1])
    for c in range(columns):
        v = betas[c] + geometry.bias * geometry.bias * np.float64(geometry.slots[c, 1])
        betas[c] = 1.0 / (v + geometry.r) if signals[c] != 0.0 else 0.0
        signals[c] *= betas[c]
    for k in range(first(rows, i), last(rows, i)):
        x, base = np.float64(element(rows.values, k)), slot(rows, i, k) * across
        for c in range(columns):
            refine(geometry, base + c, x, signals[c], betas[c], pasts[c])
    if geometry.bias != 0.0:
        for c in range(columns):
            refine(geometry, c, geometry.bias, signals[c], betas[c], pasts[c])


@compiled
def judge_columns(
    weights: NDArray[np.float64],
    rows: Rows,
    bias: float,
    across: int,
    columns: int,
    slots: int,
    largest: float,
    tidy: bool,
    out: NDArray[np.float64],
) -> int:
    """Scores of every row, `across` for each; stops at a row that is to be refused; returns how many were scored."""
    count = len(out) // across
    for i in range(count):
        if not ((tidy or proper(rows, i, slots)) and squared(rows, i) < largest):
            return i
        here = out[i * across : (i + 1) * across]
        sum_columns(rows, i, weights, across, columns, here)
        for c in range(columns):
            here[c] += bias * weights[c]
    return count


@compiled_reader
def judge_all(
    geometry: Any, rows: Rows, across: int, columns: int, slots: int, tidy: bool, room: Room, out: NDArray[np.float64]
) -> int:
    """The same with the scores that the geometry itself gives."""
    count = len(out) // across
    for i in range(count):
        if not ((tidy or proper(rows, i, slots)) and squared(rows, i) < limit(geometry.slots)):
            return i
        score_all(geometry, rows, i, across, columns, room)
        for c in range(columns):
            out[i * across + c] = room.scores[c]
    return count


def wide_enough(columns: int) -> int:
    """How wide a table for so many columns is: whole blocks."""
    return max(1, -(-columns // BLOCK)) * BLOCK


def laid_out(geometry: G, slots: int, across: int, new_slots: int, new_across: int) -> G:
    """The same weights in a table of other size: new ones are fresh, surplus ones cut off."""
    changes = {}
    for name in PER_SLOT:
        array = getattr(geometry, name, None)
        if array is not None and len(array):
            fill = getattr(geometry, "fresh", 0.0) if name == "slots" else 0.0
            rest = array.shape[1:]
            if name in DERIVED:  # room for one example, which has no columns
                changes[name] = np.zeros((new_slots, *rest), array.dtype)
                continue
            table = filled((new_slots, new_across, *rest), fill, array.dtype)
            s, a = min(slots, new_slots), min(across, new_across)
            table[:s, :a] = array.reshape(slots, across, *rest)[:s, :a]
            changes[name] = table.reshape(new_slots * new_across, *rest)
    return geometry._replace(**changes)
