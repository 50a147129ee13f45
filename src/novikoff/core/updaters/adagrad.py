"""AdaGrad: every weight has its own step, r/√G_j, where G_j sums the squares of its gradients up to and including now.

With penalties the step is the composite one of Duchi, Hazan and Singer (2011): with ρ = r/√G_j,
w_j ← soft(w_j − ρ·g_j, ρ·l1) / (1 + ρ·l2). Between two touches ρ does not change, so that the steps a weight has missed
are made up for in closed form: with a = 1/(1 + ρ·l2), n missed steps turn |w| into aⁿ·|w| − (l1/l2)·(1 − aⁿ), stopping
at 0 (for l2 = 0: |w| − n·ρ·l1). A weight whose G_j is 0 never moved and stays 0.

The mean of all hypotheses is kept by changes where there are no penalties (core/averaging.py); with penalties the sum
of the hypotheses is made up for likewise.

(w, G) stand side by side in one array of two columns: an update touches one cache line, not two.

In the formulas above g_j is the derivative. In the code `g` is that of core/losses.py, minus the derivative, so steps
add it. Steps without penalties update eight weights at a time: _compiled/simd/weight_updates.py.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled, generic
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import get_unchecked
from novikoff._compiled.simd.weight_updates import dense_adagrad_step, sparse_adagrad_step
from novikoff.core.averaging import averaged_weight, step_power
from novikoff.core.updaters.base import (
    add_bias,
    apply_pending,
    end_step,
    final_weight,
    max_sq_norm,
    update,
    update_weight,
)
from novikoff.data.rows import (
    ColumnView,
    Rows,
    Sparse,
    bias_slot,
    end_term,
    first_term,
    row_sq_norm,
    weight_slot,
)
from novikoff.schema import INFINITY, REAL, SLOTS, ArraySpec, InRange, NotNaN, Schema

MAX_ABS_WEIGHT, N_STEPS = 0, 1


class AdaGrad(NamedTuple):
    """`seen` is empty without penalties. `sums` holds Σ (t−1)^p·δ then, with penalties Σ w_{t+1} up to step `seen`.
    `scalars` are the largest |w_j| there ever was, and the steps done."""

    weights: NDArray[np.floating]
    seen: NDArray[np.float64]
    sums: NDArray[np.float64]
    scalars: NDArray[np.float64]
    bias: float
    rate: float
    l1: float
    l2: float
    tail: float


def adagrad_schema(*, average: bool, lazy: bool) -> Schema:
    """Return the schema of this state in a model file; `lazy` says that there are penalties."""
    return Schema(
        {
            "weights": ArraySpec(REAL, SLOTS, 2, checks=[NotNaN(), InRange(0.0, INFINITY, column=1)]),
            "seen": ArraySpec("float64", SLOTS if lazy else 0, checks=[InRange(0.0, INFINITY)]),
            "sums": ArraySpec("float64", SLOTS if average else 0, checks=[NotNaN()]),
            "scalars": ArraySpec("float64", 2, checks=[InRange(0.0, INFINITY)]),
        }
    )


def build_adagrad(
    slots: int, dtype: Any, *, bias: bool, rate: float, average: bool, l1: float, l2: float, tail: float = 1.0
) -> AdaGrad:
    """Return a fresh state; `tail` is for averages without penalties."""
    lazy = l1 > 0.0 or l2 > 0.0
    return AdaGrad(
        weights=buffers.zeros((slots, 2), dtype),
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
def decayed_weight(updater: AdaGrad, j: int, missed: float) -> float:
    """Return w_j after `missed` steps that did not touch it."""
    w = np.float64(updater.weights[j, 0])
    if w == 0.0 or missed == 0.0 or (updater.l1 == 0.0 and updater.l2 == 0.0):
        return w
    rho = updater.rate / math.sqrt(np.float64(updater.weights[j, 1]))
    size = abs(w)
    if updater.l2 > 0.0:
        change = math.expm1(-missed * math.log1p(rho * updater.l2))  # aⁿ − 1, to its last digit
        size = size + change * size + updater.l1 / updater.l2 * change
    else:
        size = size - missed * rho * updater.l1
    return math.copysign(max(0.0, size), w)


@compiled
def missed_weight_sum(updater: AdaGrad, j: int, missed: float) -> float:
    """Return the sum of the hypotheses over those steps (with L2 alone)."""
    w = np.float64(updater.weights[j, 0])
    if w == 0.0 or missed == 0.0:
        return 0.0
    rho = updater.rate / math.sqrt(np.float64(updater.weights[j, 1]))
    return -w * math.expm1(-missed * math.log1p(rho * updater.l2)) / (rho * updater.l2)


@compiled
def apply_missed_steps(updater: AdaGrad, j: int) -> None:
    missed = updater.scalars[N_STEPS] - updater.seen[j]
    if len(updater.sums) > 0:
        updater.sums[j] += missed_weight_sum(updater, j, missed)
    updater.weights[j, 0] = decayed_weight(updater, j, missed)
    updater.seen[j] = updater.scalars[N_STEPS]


@apply_pending.of(AdaGrad)
def _apply_pending_ada_grad(updater: AdaGrad, rows: Rows, i: int) -> None:
    if len(updater.seen) > 0 and row_sq_norm(rows, i) < max_sq_norm(updater.weights):
        apply_missed_steps(updater, bias_slot(rows))
        for k in range(first_term(rows, i), end_term(rows, i)):
            apply_missed_steps(updater, weight_slot(rows, i, k))


@add_bias.of(AdaGrad)
def _add_bias_ada_grad(updater: AdaGrad, dot: float, j: int) -> float:
    return dot + updater.bias * np.float64(updater.weights[j, 0])


@compiled
def step_weight(slots: NDArray[np.floating], j: int, g: float, rate: float) -> float:
    """Move one weight by its gradient; return its |w|, 0 where it did not move."""
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
def averages_by_changes(updater: AdaGrad) -> bool:
    """Return whether `sums` are kept by the changes of the weights."""
    return len(updater.sums) > 0 and len(updater.seen) == 0


@compiled
def step_weight_and_sum(updater: AdaGrad, j: int, g: float, past_power: float) -> float:
    """Move one weight as `step_weight` does, and add the change times `past` to its sum."""
    before = np.float64(updater.weights[j, 0])
    max_abs = step_weight(updater.weights, j, g, updater.rate)
    updater.sums[j] += past_power * (np.float64(updater.weights[j, 0]) - before)
    return max_abs


@update_weight.of(AdaGrad)
def _update_weight_ada_grad(updater: AdaGrad, j: int, x: float, scaled_step: float, t: int) -> None:
    if averages_by_changes(updater):
        max_abs = step_weight_and_sum(updater, j, scaled_step * x, step_power(t - 1, updater.tail))
    else:
        max_abs = step_weight(updater.weights, j, scaled_step * x, updater.rate)
    updater.scalars[MAX_ABS_WEIGHT] = max(updater.scalars[MAX_ABS_WEIGHT], max_abs)


@generic
def step_row(rows: Rows, i: int, slots: NDArray[np.floating], scaled_step: float, rate: float) -> float:
    """Update the weights of all terms of row i; return the largest |w| among those that moved."""
    return dense_adagrad_step(rows.values, i * rows.width, rows.width, slots, scaled_step, rate)  # type: ignore[union-attr]


@step_row.of(Sparse)
def _step_row_sparse(rows: Sparse, i: int, slots: NDArray[np.floating], scaled_step: float, rate: float) -> float:
    return sparse_adagrad_step(
        rows.values, rows.indices, rows.starts[i], rows.starts[i + 1] - rows.starts[i], slots, scaled_step, rate
    )


@step_row.of(ColumnView)
def _step_row_column_view(
    rows: ColumnView, i: int, slots: NDArray[np.floating], scaled_step: float, rate: float
) -> float:
    max_abs = 0.0
    for k in range(first_term(rows, i), end_term(rows, i)):
        max_abs = max(
            max_abs, step_weight(slots, weight_slot(rows, i, k), scaled_step * np.float64(rows.values[k]), rate)
        )
    return max_abs


@update.of(AdaGrad)
def _update_ada_grad(updater: AdaGrad, rows: Rows, i: int, gradient: float, t: int) -> None:
    if averages_by_changes(updater):
        max_abs, past_power = 0.0, step_power(t - 1, updater.tail)
        for k in range(first_term(rows, i), end_term(rows, i)):
            g = gradient * np.float64(get_unchecked(rows.values, k))
            max_abs = max(max_abs, step_weight_and_sum(updater, weight_slot(rows, i, k), g, past_power))
    else:
        max_abs = step_row(rows, i, updater.weights, gradient, updater.rate)
    updater.scalars[MAX_ABS_WEIGHT] = max(updater.scalars[MAX_ABS_WEIGHT], max_abs)
    if updater.bias != 0.0:
        update_weight(updater, bias_slot(rows), updater.bias, gradient, t)


@end_step.of(AdaGrad)
def _end_step_ada_grad(updater: AdaGrad, t: int) -> None:
    updater.scalars[N_STEPS] = t


@final_weight.of(AdaGrad)
def _final_weight_ada_grad(updater: AdaGrad, j: int, t: int) -> float:
    if len(updater.seen) == 0:
        w = np.float64(updater.weights[j, 0])
        return averaged_weight(w, updater.sums[j], t, updater.tail) if len(updater.sums) > 0 else w
    missed = updater.scalars[N_STEPS] - updater.seen[j]
    if len(updater.sums) > 0:
        return (updater.sums[j] + missed_weight_sum(updater, j, missed)) / max(t, 1)
    return decayed_weight(updater, j, missed)
