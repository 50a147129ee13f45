"""The additive geometry with an L1 and an L2 penalty, each paid lazily: only the weights that an example touches cost.

One step on ℓ_t(w) + l1·‖w‖₁ + (l2/2)·‖w‖² is forward–backward splitting (Duchi and Singer 2009): a gradient step on the
loss, then w_j ← soft(w_j, r_t·l1) / (1 + r_t·l2), where soft pulls towards 0 and stops there. This truncates exactly at
zero and is stable for every rate.

Weights are kept as w = scale·v, so that the division costs one operation for all. In units of v the pull of step t is
r_t·l1/scale_t; `shift` is the sum of these pulls so far and seen_j its value when v_j was last brought up to date:
w_j = scale·soft(v_j, shift − seen_j). The average of the weights (with L2 only; averages of truncated weights are not
sparse) follows as in `additive`, with Σ scale_t in place of the number of steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import compiled
from novikoff._compiled.simd.dot import element, put
from novikoff.core.updaters.base import (finished, limit, move, pull, read, settle, tick)
from novikoff.core.schedules import Schedule, step_length
from novikoff.schema import REAL, SLOTS, Array, Finite, NotNaN, Rule, Schema
from novikoff.data.rows import (Rows, first, last, origin, slot, squared)

SCALE, SHIFT, AREA = 0, 1, 2
# Below, v is so large beside w that the area under the scale loses the digits that averages need.
SMALLEST_SCALE = 2.0**-20


class Decayed(NamedTuple):
    slots: NDArray[np.floating]
    seen: NDArray[np.float64]
    sums: NDArray[np.float64]
    scalars: NDArray[np.float64]
    bias: float
    schedule: Schedule
    l1: float
    l2: float


def decayed_schema(*, average: bool, l1: bool) -> Schema:
    """Return what a model file may hold of this state."""
    return Schema(
        {
            "slots": Array(REAL, SLOTS, checks=[NotNaN()]),
            "seen": Array("float64", SLOTS if l1 else 0, checks=[NotNaN()]),
            "sums": Array("float64", SLOTS if average else 0, checks=[NotNaN()]),
            "scalars": Array("float64", 3, checks=[Finite()]),
        },
        [Rule("the scale of the weights is above 0", lambda arrays, _: bool(arrays["scalars"][SCALE] > 0.0))],
    )


def decayed(slots: int, kind: Any, *, bias: bool, schedule: Schedule, average: bool, l1: float, l2: float) -> Decayed:
    return Decayed(
        slots=np.zeros(slots, kind),
        seen=np.zeros(slots if l1 > 0.0 else 0),
        sums=np.zeros(slots if average else 0),
        scalars=np.array([1.0, 0.0, 0.0]),
        bias=float(bias),
        schedule=schedule,
        l1=l1,
        l2=l2,
    )


@compiled
def soft(v: float, pull: float) -> float:
    """v pulled towards 0 by this much, but not past it."""
    return max(0.0, v - pull) if v > 0.0 else min(0.0, v + pull)


@compiled
def settle_one(geometry: Decayed, j: int) -> None:
    """Brings v_j up to date with the L1 pulls since it was last touched."""
    v = np.float64(element(geometry.slots, j))
    put(geometry.slots, j, soft(v, geometry.scalars[SHIFT] - element(geometry.seen, j)))
    put(geometry.seen, j, geometry.scalars[SHIFT])


@settle.of(Decayed)
def _(geometry: Decayed, rows: Rows, i: int) -> None:
    if geometry.l1 > 0.0 and squared(rows, i) < limit(geometry.slots):
        settle_one(geometry, origin(rows))
        for k in range(first(rows, i), last(rows, i)):
            settle_one(geometry, slot(rows, i, k))


@finished.of(Decayed)
def _(geometry: Decayed, dot: float, j: int) -> float:
    return (dot + geometry.bias * np.float64(geometry.slots[j])) * geometry.scalars[SCALE]


@pull.of(Decayed)
def _(geometry: Decayed, signal: float, t: int) -> float:
    return step_length(geometry.schedule, t) * signal / geometry.scalars[SCALE]


@move.of(Decayed)
def _(geometry: Decayed, j: int, x: float, pulled: float, t: int) -> None:
    before = np.float64(element(geometry.slots, j))
    put(geometry.slots, j, before + pulled * x)
    if len(geometry.sums) > 0:
        change = np.float64(element(geometry.slots, j)) - before
        put(geometry.sums, j, element(geometry.sums, j) + geometry.scalars[AREA] * change)


@tick.of(Decayed)
def _(geometry: Decayed, t: int) -> None:
    scalars = geometry.scalars
    r = step_length(geometry.schedule, t)
    scalars[SHIFT] += r * geometry.l1 / scalars[SCALE]
    scalars[SCALE] /= 1.0 + r * geometry.l2
    scalars[AREA] += scalars[SCALE]
    if scalars[SCALE] < SMALLEST_SCALE:
        renew(geometry)


@compiled
def renew(geometry: Decayed) -> None:
    """Multiplies the scale out, so that v, shift and area start afresh; w and the averages stay what they are."""
    scalars = geometry.scalars
    for j in range(len(geometry.slots)):
        if geometry.l1 > 0.0:
            settle_one(geometry, j)
            geometry.seen[j] = 0.0
        v = np.float64(geometry.slots[j])
        if len(geometry.sums) > 0:
            geometry.sums[j] -= scalars[AREA] * v
        geometry.slots[j] = v * scalars[SCALE]
    scalars[SCALE] = 1.0
    scalars[SHIFT] = 0.0
    scalars[AREA] = 0.0


@read.of(Decayed)
def _(geometry: Decayed, j: int, t: int) -> float:
    v = np.float64(geometry.slots[j])
    if len(geometry.sums) > 0:
        return (geometry.scalars[AREA] * v - geometry.sums[j]) / max(t, 1)
    pulled = soft(v, geometry.scalars[SHIFT] - geometry.seen[j]) if geometry.l1 > 0.0 else v
    return geometry.scalars[SCALE] * pulled
