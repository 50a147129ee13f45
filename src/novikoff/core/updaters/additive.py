"""Additive updates, w += r_t·g·x, plain or with the mean of all hypotheses."""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import get_unchecked, set_unchecked
from novikoff.core.averaging import averaged_weight, step_power
from novikoff.core.schedules import Schedule, step_size
from novikoff.core.updaters.base import final_weight, scale_step, update_weight
from novikoff.schema import REAL, SLOTS, ArraySpec, NotNaN, Schema


class Additive(NamedTuple):
    weights: NDArray[np.floating]
    bias: float
    schedule: Schedule


class Averaged(NamedTuple):
    """Predicts with the mean of all hypotheses: see core/averaging.py."""

    weights: NDArray[np.floating]
    sums: NDArray[np.float64]
    bias: float
    schedule: Schedule
    tail: float


def additive_schema(*, average: bool) -> Schema:
    """Return the schema of this state in a model file."""
    weights = {"weights": ArraySpec(REAL, SLOTS, checks=[NotNaN()])}
    return Schema({**weights, "sums": ArraySpec("float64", SLOTS, checks=[NotNaN()])} if average else weights)


def build_additive(
    slots: int, dtype: Any, *, bias: bool, schedule: Schedule, average: bool, tail: float = 1.0
) -> Additive | Averaged:
    zeros = buffers.zeros(slots, dtype)
    if average:
        return Averaged(zeros, buffers.zeros(slots), float(bias), schedule, tail)
    return Additive(zeros, float(bias), schedule)


@scale_step.of(Additive)
def _scale_step_additive(updater: Additive, gradient: float, t: int) -> float:
    return step_size(updater.schedule, t) * gradient


@scale_step.of(Averaged)
def _scale_step_averaged(updater: Averaged, gradient: float, t: int) -> float:
    return step_size(updater.schedule, t) * gradient


@update_weight.of(Additive)
def _update_weight_additive(updater: Additive, j: int, x: float, scaled_step: float, t: int) -> None:
    set_unchecked(updater.weights, j, np.float64(get_unchecked(updater.weights, j)) + scaled_step * x)


@update_weight.of(Averaged)
def _update_weight_averaged(updater: Averaged, j: int, x: float, scaled_step: float, t: int) -> None:
    before = np.float64(get_unchecked(updater.weights, j))
    set_unchecked(updater.weights, j, before + scaled_step * x)
    change = np.float64(get_unchecked(updater.weights, j)) - before  # as it was stored, rounding included
    set_unchecked(updater.sums, j, get_unchecked(updater.sums, j) + step_power(t - 1, updater.tail) * change)


@final_weight.of(Averaged)
def _final_weight_averaged(updater: Averaged, j: int, t: int) -> float:
    return averaged_weight(np.float64(updater.weights[j]), updater.sums[j], t, updater.tail)
