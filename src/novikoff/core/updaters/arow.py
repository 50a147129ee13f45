"""The geometry of confidence: every weight has a variance σ_j, which starts at 1 and only shrinks, and long steps go to
weights that few examples have spoken for.

    v = Σ x_j²·σ_j,  β = 1/(v + r),  w_j += β·g·σ_j·x_j,  σ_j −= β·(σ_j·x_j)²

(w, σ) stand side by side in one array of two columns: an update touches one cache line, not two.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import compiled
from novikoff._compiled.simd.dot import element
from novikoff.core.averaging import mean, raised
from novikoff.core.updaters.base import finished, read, update
from novikoff.schema import REAL, SLOTS, Array, NotNaN, Schema
from novikoff.data.rows import (Rows, first, last, origin, slot)


class Confident(NamedTuple):
    slots: NDArray[np.floating]
    sums: NDArray[np.float64]
    """Empty where the last hypothesis predicts; otherwise see parts/averages.py."""
    bias: float
    r: float
    tail: float

    @property
    def fresh(self) -> tuple[float, float]:
        return 0.0, 1.0


def confident_schema(*, average: bool) -> Schema:
    """Return what a model file may hold of this state."""
    return Schema(
        {
            "slots": Array(REAL, SLOTS, 2, checks=[NotNaN()]),
            "sums": Array("float64", SLOTS if average else 0, checks=[NotNaN()]),
        }
    )


def confident(slots: int, kind: Any, *, bias: bool, r: float, average: bool, tail: float) -> Confident:
    empty = Confident(buffers.zeros((slots, 2), kind), buffers.zeros(slots if average else 0), float(bias), r, tail)
    empty.slots[:] = empty.fresh
    return empty


@finished.of(Confident)
def _(geometry: Confident, dot: float, j: int) -> float:
    return dot + geometry.bias * np.float64(geometry.slots[j, 0])


@compiled
def spread(geometry: Confident, rows: Any, i: int) -> float:
    """v: how uncertain the score of row i is; one term after another, the bias last."""
    v = 0.0
    for k in range(first(rows, i), last(rows, i)):
        x = np.float64(element(rows.values, k))
        v += x * x * np.float64(geometry.slots[slot(rows, i, k), 1])
    return v + geometry.bias * geometry.bias * np.float64(geometry.slots[origin(rows), 1])


@compiled
def refine(geometry: Confident, j: int, x: float, pulled: float, beta: float, past: float) -> None:
    """Moves the weight in slot j and narrows its variance; `past` is what a change is worth in the sums."""
    before, variance = np.float64(geometry.slots[j, 0]), np.float64(geometry.slots[j, 1])
    reach = variance * x
    geometry.slots[j, 0] = before + pulled * reach
    # Never below 0, but for rounding: β·σ·x² is less than 1.
    geometry.slots[j, 1] = max(0.0, variance - beta * (reach * reach))
    if len(geometry.sums) > 0:
        geometry.sums[j] += past * (np.float64(geometry.slots[j, 0]) - before)


@compiled
def refine_all(geometry: Confident, rows: Any, i: int, pulled: float, beta: float, t: int) -> None:
    past = raised(t - 1, geometry.tail)
    for k in range(first(rows, i), last(rows, i)):
        refine(geometry, slot(rows, i, k), np.float64(element(rows.values, k)), pulled, beta, past)
    if geometry.bias != 0.0:
        refine(geometry, origin(rows), geometry.bias, pulled, beta, past)


@update.of(Confident)
def _(geometry: Confident, rows: Rows, i: int, signal: float, t: int) -> None:
    beta = 1.0 / (spread(geometry, rows, i) + geometry.r)
    refine_all(geometry, rows, i, beta * signal, beta, t)


@read.of(Confident)
def _(geometry: Confident, j: int, t: int) -> float:
    w = np.float64(geometry.slots[j, 0])
    return mean(w, geometry.sums[j], t, geometry.tail) if len(geometry.sums) > 0 else w
