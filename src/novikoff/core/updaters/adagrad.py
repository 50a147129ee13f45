"""AdaGrad: every weight has its own step, r/√G_j, where G_j sums the squares of its gradients up to and including now.

With penalties the step is the composite one of Duchi, Hazan and Singer (2011): with ρ = r/√G_j,
w_j ← soft(w_j − ρ·g_j, ρ·l1) / (1 + ρ·l2). Between two touches ρ does not change, so that the steps a weight has missed
are made up for in closed form: with a = 1/(1 + ρ·l2), n missed steps turn |w| into aⁿ·|w| − (l1/l2)·(1 − aⁿ), stopping
at 0 (for l2 = 0: |w| − n·ρ·l1). A weight whose G_j is 0 never moved and stays 0.

The mean of all hypotheses is kept by changes where there are no penalties (parts/averages.py); with penalties the sum
of the hypotheses is made up for likewise.

(w, G) stand side by side in one array of two columns: an update touches one cache line, not two.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import compiled, generic
from novikoff._compiled.simd.dot import element
from novikoff._compiled.simd.weight_updates import dense_steps, sparse_steps
from novikoff.core.averaging import mean, raised
from novikoff.core.updaters.base import (finished, limit, move, read, settle, tick, update)
from novikoff.schema import INFINITY, REAL, SLOTS, Array, Between, NotNaN, Schema
from novikoff.data.rows import (Column, Rows, Scaled, Sparse, first, last, origin, slot, squared)

REACH, STEPS = 0, 1


class AdaGrad(NamedTuple):
    """`seen` is empty without penalties. `sums` holds Σ (t−1)^p·δ then, with penalties Σ w_{t+1} up to step `seen`.
    `scalars` are the largest |w_j| there ever was, and the steps done."""

    slots: NDArray[np.floating]
    seen: NDArray[np.float64]
    sums: NDArray[np.float64]
    scalars: NDArray[np.float64]
    bias: float
    rate: float
    l1: float
    l2: float
    tail: float


def adagrad_schema(*, average: bool, lazy: bool) -> Schema:
    """Return what a model file may hold of this state; `lazy` says that there are penalties."""
    return Schema(
        {
            "slots": Array(REAL, SLOTS, 2, checks=[NotNaN(), Between(0.0, INFINITY, column=1)]),
            "seen": Array("float64", SLOTS if lazy else 0, checks=[Between(0.0, INFINITY)]),
            "sums": Array("float64", SLOTS if average else 0, checks=[NotNaN()]),
            "scalars": Array("float64", 2, checks=[Between(0.0, INFINITY)]),
        }
    )


def adagrad(
    slots: int, kind: Any, *, bias: bool, rate: float, average: bool, l1: float, l2: float, tail: float = 1.0
) -> AdaGrad:
    """`tail` is for averages without penalties."""
    lazy = l1 > 0.0 or l2 > 0.0
    return AdaGrad(
        slots=buffers.zeros((slots, 2), kind),
        seen=buffers.zeros(slots if lazy else 0),
        sums=buffers.zeros(slots if average else 0),
        scalars=buffers.zeros(2),
        bias=float(bias),
        rate=rate,
        l1=l1,
        l2=l2,
        tail=tail,
    )


@compiled
def shrunk(geometry: AdaGrad, j: int, missed: float) -> float:
    """w_j after so many steps that did not touch it."""
    w = np.float64(geometry.slots[j, 0])
    if w == 0.0 or missed == 0.0 or (geometry.l1 == 0.0 and geometry.l2 == 0.0):
        return w
    rho = geometry.rate / math.sqrt(np.float64(geometry.slots[j, 1]))
    size = abs(w)
    if geometry.l2 > 0.0:
        change = math.expm1(-missed * math.log1p(rho * geometry.l2))  # aⁿ − 1, to its last digit
        size = size + change * size + geometry.l1 / geometry.l2 * change
    else:
        size = size - missed * rho * geometry.l1
    return math.copysign(max(0.0, size), w)


@compiled
def summed(geometry: AdaGrad, j: int, missed: float) -> float:
    """What those steps add to the sum of the hypotheses (with L2 alone)."""
    w = np.float64(geometry.slots[j, 0])
    if w == 0.0 or missed == 0.0:
        return 0.0
    rho = geometry.rate / math.sqrt(np.float64(geometry.slots[j, 1]))
    return -w * math.expm1(-missed * math.log1p(rho * geometry.l2)) / (rho * geometry.l2)


@compiled
def settle_one(geometry: AdaGrad, j: int) -> None:
    missed = geometry.scalars[STEPS] - geometry.seen[j]
    if len(geometry.sums) > 0:
        geometry.sums[j] += summed(geometry, j, missed)
    geometry.slots[j, 0] = shrunk(geometry, j, missed)
    geometry.seen[j] = geometry.scalars[STEPS]


@settle.of(AdaGrad)
def _(geometry: AdaGrad, rows: Rows, i: int) -> None:
    if len(geometry.seen) > 0 and squared(rows, i) < limit(geometry.slots):
        settle_one(geometry, origin(rows))
        for k in range(first(rows, i), last(rows, i)):
            settle_one(geometry, slot(rows, i, k))


@finished.of(AdaGrad)
def _(geometry: AdaGrad, dot: float, j: int) -> float:
    return dot + geometry.bias * np.float64(geometry.slots[j, 0])


@compiled
def one_step(slots: NDArray[np.floating], j: int, g: float, rate: float) -> float:
    """Moves one weight by its gradient; returns its |w|, 0 where it did not move."""
    if g == 0.0:
        return 0.0
    slots[j, 1] = np.float64(slots[j, 1]) + g * g
    total = np.float64(slots[j, 1])
    if total == 0.0:  # the square is too small a number
        return 0.0
    w = np.float64(slots[j, 0]) + rate * g / math.sqrt(total)
    slots[j, 0] = w
    return abs(w)


@compiled
def by_changes(geometry: AdaGrad) -> bool:
    """Whether `sums` are kept by the changes of the weights."""
    return len(geometry.sums) > 0 and len(geometry.seen) == 0


@compiled
def summed_step(geometry: AdaGrad, j: int, g: float, past: float) -> float:
    """`one_step`, with the change times `past` added to the sum."""
    before = np.float64(geometry.slots[j, 0])
    reach = one_step(geometry.slots, j, g, geometry.rate)
    geometry.sums[j] += past * (np.float64(geometry.slots[j, 0]) - before)
    return reach


@move.of(AdaGrad)
def _(geometry: AdaGrad, j: int, x: float, pulled: float, t: int) -> None:
    if by_changes(geometry):
        reach = summed_step(geometry, j, pulled * x, raised(t - 1, geometry.tail))
    else:
        reach = one_step(geometry.slots, j, pulled * x, geometry.rate)
    geometry.scalars[REACH] = max(geometry.scalars[REACH], reach)


@generic
def steps(rows: Rows, i: int, slots: NDArray[np.floating], pulled: float, rate: float) -> float:
    """`move` for all terms of row i; returns the largest |w| among the weights that moved."""
    return dense_steps(rows.values, i * rows.width, rows.width, slots, pulled, rate)  # type: ignore[union-attr]


@steps.of(Sparse)
def _(rows: Sparse, i: int, slots: NDArray[np.floating], pulled: float, rate: float) -> float:
    return sparse_steps(
        rows.values, rows.indices, rows.starts[i], rows.starts[i + 1] - rows.starts[i], slots, pulled, rate
    )


@steps.of(Column)
@steps.of(Scaled)
def _(rows: Column | Scaled, i: int, slots: NDArray[np.floating], pulled: float, rate: float) -> float:
    reach = 0.0
    for k in range(first(rows, i), last(rows, i)):
        reach = max(reach, one_step(slots, slot(rows, i, k), pulled * np.float64(rows.values[k]), rate))
    return reach


@update.of(AdaGrad)
def _(geometry: AdaGrad, rows: Rows, i: int, signal: float, t: int) -> None:
    if by_changes(geometry):
        reach, past = 0.0, raised(t - 1, geometry.tail)
        for k in range(first(rows, i), last(rows, i)):
            g = signal * np.float64(element(rows.values, k))
            reach = max(reach, summed_step(geometry, slot(rows, i, k), g, past))
    else:
        reach = steps(rows, i, geometry.slots, signal, geometry.rate)
    geometry.scalars[REACH] = max(geometry.scalars[REACH], reach)
    if geometry.bias != 0.0:
        move(geometry, origin(rows), geometry.bias, signal, t)


@tick.of(AdaGrad)
def _(geometry: AdaGrad, t: int) -> None:
    geometry.scalars[STEPS] = t


@read.of(AdaGrad)
def _(geometry: AdaGrad, j: int, t: int) -> float:
    if len(geometry.seen) == 0:
        w = np.float64(geometry.slots[j, 0])
        return mean(w, geometry.sums[j], t, geometry.tail) if len(geometry.sums) > 0 else w
    missed = geometry.scalars[STEPS] - geometry.seen[j]
    if len(geometry.sums) > 0:
        return (geometry.sums[j] + summed(geometry, j, missed)) / max(t, 1)
    return shrunk(geometry, j, missed)
