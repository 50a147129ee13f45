"""Mixing of weights for each updater: the delta of one shard, and the application of the combined deltas.

All shards of a round start with the same weights, so Σ μ_i·w_i = w₀ + Σ μ_i·(w_i − w₀). Shards send their deltas
w_i − w₀, which are 0 for untouched weights. Weights that no shard has touched stay bitwise unchanged. Weights with
another representation (lazily scaled, as exponents) are converted to the form in which the theorem mixes them:

    additive            w                  ‖Σ μ_i·w_i‖² ≤ Σ μ_i·‖w_i‖²
    p-norm              θ                  ‖θ‖_p² is convex
    multiplicative      ℓ = log_α w        ln Σ α^ℓ is convex: weights are mixed as geometric means, and a weight that
                                           is 0 in one shard becomes 0
    AdaGrad             w; G is summed     G is the sum over the gradients of all shards
    AROW                w; 1/σ is summed   each example adds to the confidence

Averages of all hypotheses are mixed round by round. Let a_i be the mean hypothesis of shard i in this round. The new
average combines the old one, of T₀ steps, with Σ μ_i·a_i, of the T₁ − T₀ steps of all shards. With
`sums` = Σ (t−1)^p·δ (core/averaging.py), a_i − w₀ = (T_i^p·(w_i − w₀) − (sums_i − sums₀))/(T_i^p − T₀^p).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.updaters.adagrad import MAX_ABS_WEIGHT, N_STEPS, AdaGrad, apply_missed_steps
from novikoff.core.updaters.additive import Additive, Averaged
from novikoff.core.updaters.arow import ArowState
from novikoff.core.updaters.base import state_arrays
from novikoff.core.updaters.elastic_net import L1_SHIFT, SCALE_SUM, WEIGHT_SCALE, ElasticNet, rescale
from novikoff.core.updaters.multiplicative import Multiplicative, look_up_weight
from novikoff.errors import InputError
from novikoff.linear.margin_perceptron import ROUNDING_ERROR, SQ_NORM, NormTracking
from novikoff.linear.p_norm_perceptron import PNorm, apply_link

FloatArray = NDArray[np.float64]
StepCounts = NDArray[np.int64]


class WeightDelta(NamedTuple):
    """The change of weights by one shard, or the combined change of several, by the names in the table above."""

    mixed: dict[str, FloatArray]
    """Arrays that are multiplied by μ_i and summed."""
    summed: dict[str, FloatArray]
    """Arrays that are summed."""
    largest: dict[str, FloatArray]
    """Arrays of which the maximum is taken."""


@singledispatch
def compute_delta(start: Any, end: Any, before: StepCounts, after: StepCounts) -> WeightDelta:
    """Return the delta between two updaters of the same size. `before` and `after` count the steps of each column."""
    raise InputError(f"Weights of the kind {type(start).__name__} can't be mixed.")


@singledispatch
def apply_delta(start: Any, delta: WeightDelta, before: StepCounts, after: StepCounts) -> Any:
    """Return `start` with the combined delta of all shards; `after` counts the steps of all shards."""
    raise InputError(f"Weights of the kind {type(start).__name__} can't be mixed.")


MIXABLE_UPDATERS = (Additive, Averaged, ElasticNet, AdaGrad, ArowState, NormTracking, PNorm, Multiplicative)


# --- Additive ---


@compute_delta.register(Additive)
@compute_delta.register(NormTracking)
def _compute_delta_additive(start: Any, end: Any, before: StepCounts, after: StepCounts) -> WeightDelta:
    return _additive_delta(_to_float64(end.weights) - _to_float64(start.weights))


@apply_delta.register(Additive)
def _apply_delta_additive(start: Additive, delta: WeightDelta, before: StepCounts, after: StepCounts) -> Additive:
    return start._replace(weights=_cast_like(_to_float64(start.weights) + delta.mixed["w"], start.weights))


@compute_delta.register(Averaged)
def _compute_delta_averaged(start: Averaged, end: Averaged, before: StepCounts, after: StepCounts) -> WeightDelta:
    change = _to_float64(end.weights) - _to_float64(start.weights)
    return _additive_delta(change, mean=_mean_delta(change, end.sums - start.sums, before, after, start.tail))


@apply_delta.register(Averaged)
def _apply_delta_averaged(start: Averaged, delta: WeightDelta, before: StepCounts, after: StepCounts) -> Averaged:
    weights = _cast_like(_to_float64(start.weights) + delta.mixed["w"], start.weights)
    change = _to_float64(weights) - _to_float64(start.weights)
    return start._replace(
        weights=weights, sums=_update_sums(start.sums, change, delta.mixed["mean"], before, after, start.tail)
    )


@apply_delta.register(NormTracking)
def _apply_delta_norm_tracking(
    start: NormTracking, delta: WeightDelta, before: StepCounts, after: StepCounts
) -> NormTracking:
    weights, scalars = _cast_like(_to_float64(start.weights) + delta.mixed["w"], start.weights), start.scalars.copy()
    if delta.mixed["w"].any():
        scalars[SQ_NORM], scalars[ROUNDING_ERROR] = (
            np.cumsum(np.square(_to_float64(weights)))[-1],
            0.0,
        )  # one after another
    return start._replace(weights=weights, scalars=scalars)


# --- With penalties ---


@compute_delta.register(ElasticNet)
def _compute_delta_elastic_net(
    start: ElasticNet, end: ElasticNet, before: StepCounts, after: StepCounts
) -> WeightDelta:
    first, last = _materialize_scale(start), _materialize_scale(end)
    change = _to_float64(last.weights) - _to_float64(first.weights)
    return _additive_delta(change, mean=_round_mean(first.sums - last.sums, before, after) if len(end.sums) else None)


@apply_delta.register(ElasticNet)
def _apply_delta_elastic_net(
    start: ElasticNet, delta: WeightDelta, before: StepCounts, after: StepCounts
) -> ElasticNet:
    first = _materialize_scale(start)
    weights = _cast_like(_to_float64(first.weights) + delta.mixed["w"], first.weights)
    sums = first.sums - _scale_columns(delta.mixed["mean"], after - before) if len(first.sums) else first.sums
    return first._replace(weights=weights, sums=sums)


def _materialize_scale(updater: ElasticNet) -> ElasticNet:
    """Return a copy with explicit weights, without scale and shift; its sums are −Σ w_t."""
    copies: dict[str, Any] = {name: array.copy() for name, array in state_arrays(updater).items()}
    copied = updater._replace(**copies)
    if tuple(copied.scalars[[WEIGHT_SCALE, L1_SHIFT, SCALE_SUM]]) != (1.0, 0.0, 0.0):
        rescale(copied)
    return copied


# --- Each weight with its own step ---


@compute_delta.register(AdaGrad)
def _compute_delta_ada_grad(start: AdaGrad, end: AdaGrad, before: StepCounts, after: StepCounts) -> WeightDelta:
    first, last = _with_pending_applied(start), _with_pending_applied(end)
    change = _to_float64(last.weights[:, 0]) - _to_float64(first.weights[:, 0])
    if not len(end.sums):
        mean = None
    elif len(end.seen):
        mean = _round_mean(last.sums - first.sums, before, after)
    else:
        mean = _mean_delta(change, last.sums - first.sums, before, after, start.tail)
    squares = _to_float64(last.weights[:, 1]) - _to_float64(first.weights[:, 1])
    return WeightDelta(_drop_missing(w=change, mean=mean), {"G": squares}, {"reach": end.scalars[[MAX_ABS_WEIGHT]]})


@apply_delta.register(AdaGrad)
def _apply_delta_ada_grad(start: AdaGrad, delta: WeightDelta, before: StepCounts, after: StepCounts) -> AdaGrad:
    first = _with_pending_applied(start)
    weights, sums, scalars = first.weights.copy(), first.sums, first.scalars.copy()
    weights[:, 0] = _to_float64(weights[:, 0]) + delta.mixed["w"]
    weights[:, 1] = _to_float64(weights[:, 1]) + delta.summed["G"]
    if len(sums) and len(first.seen):
        sums = sums + _scale_columns(delta.mixed["mean"], after - before)
    elif len(sums):
        change = _to_float64(weights[:, 0]) - _to_float64(first.weights[:, 0])
        sums = _update_sums(sums, change, delta.mixed["mean"], before, after, start.tail)
    scalars[MAX_ABS_WEIGHT] = max(scalars[MAX_ABS_WEIGHT], delta.largest["reach"][0])
    scalars[N_STEPS] = after.max(initial=0)
    return first._replace(weights=weights, sums=sums, scalars=scalars, seen=np.full(len(first.seen), scalars[N_STEPS]))


def _with_pending_applied(updater: AdaGrad) -> AdaGrad:
    """Return a copy in which all pending steps are applied."""
    if not len(updater.seen):
        return updater
    copied = updater._replace(weights=updater.weights.copy(), seen=updater.seen.copy(), sums=updater.sums.copy())
    apply_all_pending(copied)
    return copied


@compiled
def apply_all_pending(updater: AdaGrad) -> None:
    for j in range(len(updater.weights)):
        apply_missed_steps(updater, j)


@compute_delta.register(ArowState)
def _compute_delta_arow_state(start: ArowState, end: ArowState, before: StepCounts, after: StepCounts) -> WeightDelta:
    change = _to_float64(end.weights[:, 0]) - _to_float64(start.weights[:, 0])
    mean = _mean_delta(change, end.sums - start.sums, before, after, start.tail) if len(end.sums) else None
    with np.errstate(divide="ignore", invalid="ignore"):
        gained = 1.0 / _to_float64(end.weights[:, 1]) - 1.0 / _to_float64(start.weights[:, 1])
    gained[end.weights[:, 1] == start.weights[:, 1]] = 0.0  # also where both are 0
    return WeightDelta(_drop_missing(w=change, mean=mean), {"confidence": gained}, {})


@apply_delta.register(ArowState)
def _apply_delta_arow_state(start: ArowState, delta: WeightDelta, before: StepCounts, after: StepCounts) -> ArowState:
    weights, sums, gained = start.weights.copy(), start.sums, delta.summed["confidence"]
    weights[:, 0] = _to_float64(weights[:, 0]) + delta.mixed["w"]
    with np.errstate(divide="ignore"):
        weights[:, 1] = np.where(gained > 0.0, 1.0 / (1.0 / _to_float64(weights[:, 1]) + gained), weights[:, 1])
    if len(sums):
        change = _to_float64(weights[:, 0]) - _to_float64(start.weights[:, 0])
        sums = _update_sums(sums, change, delta.mixed["mean"], before, after, start.tail)
    return start._replace(weights=weights, sums=sums)


# --- Other links ---


@compute_delta.register(PNorm)
def _compute_delta_p_norm(start: PNorm, end: PNorm, before: StepCounts, after: StepCounts) -> WeightDelta:
    return WeightDelta({"theta": end.weights[:, 1] - start.weights[:, 1]}, {}, {"unit": end.scalars[[0]]})


@apply_delta.register(PNorm)
def _apply_delta_p_norm(start: PNorm, delta: WeightDelta, before: StepCounts, after: StepCounts) -> PNorm:
    updater = start._replace(weights=start.weights.copy(), scalars=start.scalars.copy())
    updater.weights[:, 1] += delta.mixed["theta"]
    updater.scalars[0] = max(updater.scalars[0], delta.largest["unit"][0])
    link_all(updater)
    return updater


@compiled
def link_all(updater: PNorm) -> None:
    for j in range(len(updater.weights)):
        updater.weights[j, 0] = apply_link(updater, updater.weights[j, 1])


@compute_delta.register(Multiplicative)
def _compute_delta_multiplicative(
    start: Multiplicative, end: Multiplicative, before: StepCounts, after: StepCounts
) -> WeightDelta:
    with np.errstate(invalid="ignore"):
        exponents = _to_float64(end.weights[:, 1]) - _to_float64(start.weights[:, 1])
    exponents[end.weights[:, 1] == start.weights[:, 1]] = 0.0  # also where both are −∞
    mean = None
    if len(end.sums):
        change = _to_float64(end.weights[:, 0]) - _to_float64(start.weights[:, 0])
        mean = _mean_delta(change, end.sums - start.sums, before, after, 1.0)
    return WeightDelta(_drop_missing(exponents=exponents, mean=mean), {}, {})


@apply_delta.register(Multiplicative)
def _apply_delta_multiplicative(
    start: Multiplicative, delta: WeightDelta, before: StepCounts, after: StepCounts
) -> Multiplicative:
    weights, sums = start.weights.copy(), start.sums
    add_exponents(start._replace(weights=weights), delta.mixed["exponents"])
    if len(sums):
        change = _to_float64(weights[:, 0]) - _to_float64(start.weights[:, 0])
        sums = _update_sums(sums, change, delta.mixed["mean"], before, after, 1.0)
    return start._replace(weights=weights, sums=sums)


@compiled
def add_exponents(updater: Multiplicative, exponents: FloatArray) -> None:
    """Add to the exponents, and update the weights."""
    for j in range(len(exponents)):
        if exponents[j] != 0.0:
            updater.weights[j, 1] = max(np.float64(updater.weights[j, 1]) + exponents[j], updater.lowest)
            updater.weights[j, 0] = look_up_weight(updater, np.float64(updater.weights[j, 1]))


# --- Common ---


def _additive_delta(w: FloatArray, *, mean: FloatArray | None = None) -> WeightDelta:
    return WeightDelta(_drop_missing(w=w, mean=mean), {}, {})


def _drop_missing(**arrays: FloatArray | None) -> dict[str, FloatArray]:
    return {name: array for name, array in arrays.items() if array is not None}


def _to_float64(array: NDArray[np.floating]) -> FloatArray:
    return np.asarray(array, np.float64)


def _cast_like(w: FloatArray, like: NDArray[np.floating]) -> NDArray[np.floating]:
    return w.astype(like.dtype)


def _scale_columns(array: FloatArray, by_column: NDArray[Any]) -> FloatArray:
    """Multiply the numbers of all slots by one factor for each column."""
    product: FloatArray = (array.reshape(-1, len(by_column)) * by_column).reshape(-1)
    return product


def _safe_reciprocal(by_column: FloatArray) -> FloatArray:
    """Return 1/x, and 0 for 0: a column without examples has not changed."""
    return np.divide(1.0, by_column, out=np.zeros(len(by_column)), where=by_column != 0.0)


def _round_mean(total: FloatArray, before: StepCounts, after: StepCounts) -> FloatArray:
    """Return a_i, given the sum of the hypotheses of this round."""
    return _scale_columns(total, _safe_reciprocal((after - before).astype(np.float64)))


def _mean_delta(change: FloatArray, sums: FloatArray, before: StepCounts, after: StepCounts, tail: float) -> FloatArray:
    """Return a_i − w₀, given w_i − w₀ and sums_i − sums₀."""
    end, begin = after.astype(np.float64) ** tail, before.astype(np.float64) ** tail
    return _scale_columns(_scale_columns(change, end) - sums, _safe_reciprocal(end - begin))


def _update_sums(
    sums: FloatArray, change: FloatArray, mean: FloatArray, before: StepCounts, after: StepCounts, tail: float
) -> FloatArray:
    """Return the sums of the new average: the old one combined with w₀ + Σ μ_i·(a_i − w₀) for this round's steps."""
    end, begin = after.astype(np.float64) ** tail, before.astype(np.float64) ** tail
    return sums + (_scale_columns(change, end) - _scale_columns(mean, end - begin))
