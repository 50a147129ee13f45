"""Additive updates with L1 and L2 penalties, applied lazily: only the weights that an example touches cost time.

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

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import get_unchecked, set_unchecked
from novikoff.core.schedules import Schedule, step_size
from novikoff.core.updaters.base import (
    add_bias,
    apply_pending,
    end_step,
    final_weight,
    max_sq_norm,
    scale_step,
    update_weight,
)
from novikoff.data.rows import Rows, bias_slot, end_term, first_term, row_sq_norm, weight_slot
from novikoff.schema import REAL, SLOTS, ArraySpec, Constraint, Finite, NotNaN, Schema

WEIGHT_SCALE, L1_SHIFT, SCALE_SUM = 0, 1, 2
# Below, v is so large beside w that the area under the scale loses the digits that averages need.
MIN_SCALE = 2.0**-20


class ElasticNet(NamedTuple):
    weights: NDArray[np.floating]
    seen: NDArray[np.float64]
    sums: NDArray[np.float64]
    scalars: NDArray[np.float64]
    bias: float
    schedule: Schedule
    l1: float
    l2: float


def elastic_net_schema(*, average: bool, l1: bool) -> Schema:
    """Return the schema of this state in a model file."""
    return Schema(
        {
            "weights": ArraySpec(REAL, SLOTS, checks=[NotNaN()]),
            "seen": ArraySpec("float64", SLOTS if l1 else 0, checks=[NotNaN()]),
            "sums": ArraySpec("float64", SLOTS if average else 0, checks=[NotNaN()]),
            "scalars": ArraySpec("float64", 3, checks=[Finite()]),
        },
        [
            Constraint(
                "the scale of the weights is above 0", lambda arrays, _: bool(arrays["scalars"][WEIGHT_SCALE] > 0.0)
            )
        ],
    )


def build_elastic_net(
    slots: int, dtype: Any, *, bias: bool, schedule: Schedule, average: bool, l1: float, l2: float
) -> ElasticNet:
    return ElasticNet(
        weights=np.zeros(slots, dtype),
        seen=np.zeros(slots if l1 > 0.0 else 0),
        sums=np.zeros(slots if average else 0),
        scalars=np.array([1.0, 0.0, 0.0]),
        bias=float(bias),
        schedule=schedule,
        l1=l1,
        l2=l2,
    )


@compiled
def soft_threshold(v: float, threshold: float) -> float:
    """Return v moved towards 0 by this much, but not past it."""
    return max(0.0, v - threshold) if v > 0.0 else min(0.0, v + threshold)


@compiled
def apply_missed_l1(updater: ElasticNet, j: int) -> None:
    """Brings v_j up to date with the L1 pulls since it was last touched."""
    v = np.float64(get_unchecked(updater.weights, j))
    set_unchecked(updater.weights, j, soft_threshold(v, updater.scalars[L1_SHIFT] - get_unchecked(updater.seen, j)))
    set_unchecked(updater.seen, j, updater.scalars[L1_SHIFT])


@apply_pending.of(ElasticNet)
def _apply_pending_elastic_net(updater: ElasticNet, rows: Rows, i: int) -> None:
    if updater.l1 > 0.0 and row_sq_norm(rows, i) < max_sq_norm(updater.weights):
        apply_missed_l1(updater, bias_slot(rows))
        for k in range(first_term(rows, i), end_term(rows, i)):
            apply_missed_l1(updater, weight_slot(rows, i, k))


@add_bias.of(ElasticNet)
def _add_bias_elastic_net(updater: ElasticNet, dot: float, j: int) -> float:
    return (dot + updater.bias * np.float64(updater.weights[j])) * updater.scalars[WEIGHT_SCALE]


@scale_step.of(ElasticNet)
def _scale_step_elastic_net(updater: ElasticNet, gradient: float, t: int) -> float:
    return step_size(updater.schedule, t) * gradient / updater.scalars[WEIGHT_SCALE]


@update_weight.of(ElasticNet)
def _update_weight_elastic_net(updater: ElasticNet, j: int, x: float, pulled: float, t: int) -> None:
    before = np.float64(get_unchecked(updater.weights, j))
    set_unchecked(updater.weights, j, before + pulled * x)
    if len(updater.sums) > 0:
        change = np.float64(get_unchecked(updater.weights, j)) - before
        set_unchecked(updater.sums, j, get_unchecked(updater.sums, j) + updater.scalars[SCALE_SUM] * change)


@end_step.of(ElasticNet)
def _end_step_elastic_net(updater: ElasticNet, t: int) -> None:
    scalars = updater.scalars
    r = step_size(updater.schedule, t)
    scalars[L1_SHIFT] += r * updater.l1 / scalars[WEIGHT_SCALE]
    scalars[WEIGHT_SCALE] /= 1.0 + r * updater.l2
    scalars[SCALE_SUM] += scalars[WEIGHT_SCALE]
    if scalars[WEIGHT_SCALE] < MIN_SCALE:
        rescale(updater)


@compiled
def rescale(updater: ElasticNet) -> None:
    """Multiplies the scale out, so that v, shift and area start afresh; w and the averages stay what they are."""
    scalars = updater.scalars
    for j in range(len(updater.weights)):
        if updater.l1 > 0.0:
            apply_missed_l1(updater, j)
            updater.seen[j] = 0.0
        v = np.float64(updater.weights[j])
        if len(updater.sums) > 0:
            updater.sums[j] -= scalars[SCALE_SUM] * v
        updater.weights[j] = v * scalars[WEIGHT_SCALE]
    scalars[WEIGHT_SCALE] = 1.0
    scalars[L1_SHIFT] = 0.0
    scalars[SCALE_SUM] = 0.0


@final_weight.of(ElasticNet)
def _final_weight_elastic_net(updater: ElasticNet, j: int, t: int) -> float:
    v = np.float64(updater.weights[j])
    if len(updater.sums) > 0:
        return (updater.scalars[SCALE_SUM] * v - updater.sums[j]) / max(t, 1)
    pulled = soft_threshold(v, updater.scalars[L1_SHIFT] - updater.seen[j]) if updater.l1 > 0.0 else v
    return updater.scalars[WEIGHT_SCALE] * pulled
