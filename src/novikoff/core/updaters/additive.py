"""The additive geometry, w += r_t·g·x, plain or with the mean of all hypotheses."""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import element, put
from novikoff.core.averaging import mean, raised
from novikoff.core.updaters.base import (bias_square, finished, move, pull, read, score_two)
from novikoff.core.schedules import Schedule, step_length
from novikoff.schema import REAL, SLOTS, Array, NotNaN, Schema
from novikoff.data.rows import Rows, measure_two


class Additive(NamedTuple):
    slots: NDArray[np.floating]
    bias: float
    schedule: Schedule


class Averaged(NamedTuple):
    """Predicts with the mean of all hypotheses: see parts/averages.py."""

    slots: NDArray[np.floating]
    sums: NDArray[np.float64]
    bias: float
    schedule: Schedule
    tail: float


def additive_schema(*, average: bool) -> Schema:
    """Return what a model file may hold of this state."""
    slots = {"slots": Array(REAL, SLOTS, checks=[NotNaN()])}
    return Schema({**slots, "sums": Array("float64", SLOTS, checks=[NotNaN()])} if average else slots)


def additive(
    slots: int, kind: Any, *, bias: bool, schedule: Schedule, average: bool, tail: float = 1.0
) -> Additive | Averaged:
    zeros = buffers.zeros(slots, kind)
    if average:
        return Averaged(zeros, buffers.zeros(slots), float(bias), schedule, tail)
    return Additive(zeros, float(bias), schedule)


@score_two.of(Additive)
@score_two.of(Averaged)
def _(geometry: Any, rows: Rows, i: int, count: int) -> tuple[float, float, float, float, bool]:
    dot, square, next_dot, next_square, two = measure_two(rows, i, count, geometry.slots)
    s, next_s = finished(geometry, dot, 0), finished(geometry, next_dot, 0)
    return s, square + bias_square(geometry), next_s, next_square + bias_square(geometry), two


@pull.of(Additive)
def _(geometry: Additive, signal: float, t: int) -> float:
    return step_length(geometry.schedule, t) * signal


@pull.of(Averaged)
def _(geometry: Averaged, signal: float, t: int) -> float:
    return step_length(geometry.schedule, t) * signal


@move.of(Additive)
def _(geometry: Additive, j: int, x: float, pulled: float, t: int) -> None:
    put(geometry.slots, j, np.float64(element(geometry.slots, j)) + pulled * x)


@move.of(Averaged)
def _(geometry: Averaged, j: int, x: float, pulled: float, t: int) -> None:
    before = np.float64(element(geometry.slots, j))
    put(geometry.slots, j, before + pulled * x)
    change = np.float64(element(geometry.slots, j)) - before  # as it was stored, rounding included
    put(geometry.sums, j, element(geometry.sums, j) + raised(t - 1, geometry.tail) * change)


@read.of(Averaged)
def _(geometry: Averaged, j: int, t: int) -> float:
    return mean(np.float64(geometry.slots[j]), geometry.sums[j], t, geometry.tail)
