"""AROW updates: each weight has a variance σ_j that starts at 1 and only shrinks; weights that few examples have
updated take long steps.

    v = Σ x_j²·σ_j,  β = 1/(v + r),  w_j += β·g·σ_j·x_j,  σ_j −= β·(σ_j·x_j)²

(w, σ) stand side by side in one array of two columns: an update touches one cache line, not two.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.core.averaging import averaged_weight, step_power
from novikoff.core.updaters.base import add_bias, final_weight, update
from novikoff.data.rows import Rows, bias_slot, end_term, first_term, weight_slot
from novikoff.schema import REAL, SLOTS, ArraySpec, NotNaN, Schema


class ArowState(NamedTuple):
    weights: NDArray[np.floating]
    sums: NDArray[np.float64]
    """Empty where the last hypothesis predicts; otherwise see core/averaging.py."""
    bias: float
    r: float
    tail: float

    @property
    def fresh(self) -> tuple[float, float]:
        return 0.0, 1.0


def arow_schema(*, average: bool) -> Schema:
    """Return the schema of this state in a model file."""
    return Schema(
        {
            "weights": ArraySpec(REAL, SLOTS, 2, checks=[NotNaN()]),
            "sums": ArraySpec("float64", SLOTS if average else 0, checks=[NotNaN()]),
        }
    )


def build_arow(slots: int, dtype: Any, *, bias: bool, r: float, average: bool, tail: float) -> ArowState:
    empty = ArowState(buffers.zeros((slots, 2), dtype), buffers.zeros(slots if average else 0), float(bias), r, tail)
    empty.weights[:] = empty.fresh
    return empty


@add_bias.of(ArowState)
def _add_bias_arow_state(updater: ArowState, dot: float, j: int) -> float:
    return dot + updater.bias * np.float64(updater.weights[j, 0])


@compiled
def score_variance(updater: ArowState, rows: Any, i: int) -> float:
    """Return v, the variance of the score of row i; terms are added one after another, the bias last."""
    v = 0.0
    for k in range(first_term(rows, i), end_term(rows, i)):
        x = np.float64(get_unchecked(rows.values, k))
        v += x * x * np.float64(updater.weights[weight_slot(rows, i, k), 1])
    return v + updater.bias * updater.bias * np.float64(updater.weights[bias_slot(rows), 1])


@compiled
def update_weight_and_variance(
    updater: ArowState, j: int, x: float, scaled_step: float, beta: float, past_power: float
) -> None:
    """Moves the weight in slot j and narrows its variance; `past` is what a change is worth in the sums."""
    before, variance = np.float64(updater.weights[j, 0]), np.float64(updater.weights[j, 1])
    scaled_x = variance * x
    updater.weights[j, 0] = before + scaled_step * scaled_x
    # Never below 0, but for rounding: β·σ·x² is less than 1.
    updater.weights[j, 1] = max(0.0, variance - beta * (scaled_x * scaled_x))
    if len(updater.sums) > 0:
        updater.sums[j] += past_power * (np.float64(updater.weights[j, 0]) - before)


@compiled
def update_row(updater: ArowState, rows: Any, i: int, scaled_step: float, beta: float, t: int) -> None:
    past_power = step_power(t - 1, updater.tail)
    for k in range(first_term(rows, i), end_term(rows, i)):
        update_weight_and_variance(
            updater, weight_slot(rows, i, k), np.float64(get_unchecked(rows.values, k)), scaled_step, beta, past_power
        )
    if updater.bias != 0.0:
        update_weight_and_variance(updater, bias_slot(rows), updater.bias, scaled_step, beta, past_power)


@update.of(ArowState)
def _update_arow_state(updater: ArowState, rows: Rows, i: int, gradient: float, t: int) -> None:
    beta = 1.0 / (score_variance(updater, rows, i) + updater.r)
    update_row(updater, rows, i, beta * gradient, beta, t)


@final_weight.of(ArowState)
def _final_weight_arow_state(updater: ArowState, j: int, t: int) -> float:
    w = np.float64(updater.weights[j, 0])
    return averaged_weight(w, updater.sums[j], t, updater.tail) if len(updater.sums) > 0 else w
