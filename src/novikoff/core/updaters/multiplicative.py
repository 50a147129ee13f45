"""Multiplicative updates, w_j *= α^(g·x_j), with positive weights or with two weights per feature that balance.

The state is the exponents ℓ_j = log_α w_j, which are only ever added to: no number of updates can make them overflow,
underflow or lose what later updates need. Scores need w_j = α^ℓ_j, which is stored beside them and recomputed from ℓ_j
when ℓ_j changes: nothing drifts. For whole exponents, the only ones where x is 0 or 1, it comes from a table.

Two weights per feature, w⁺ = α^ℓ and w⁻ = α^(−ℓ), both start at 1 and are always multiplied by opposite powers: one
exponent is enough for both, and w_j stands for w⁺ − w⁻.

With negations every feature x_j has a companion 1 − x_j. Its weight is in slot n + j, and the companions of a row are
written to `mirror`, which holds 1 for each feature between two rows. This costs n operations for each row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import dense_dot_and_sq_norm, get_unchecked, set_unchecked
from novikoff.core.updaters.base import (
    accepts_row,
    add_bias,
    bias_sq_norm,
    final_bias,
    final_weight,
    scale_step,
    score,
    update,
    update_weight,
    values_in_range,
)
from novikoff.data.rows import Rows, bias_slot, dot_and_sq_norm, end_term, first_term, weight_slot
from novikoff.schema import INFINITY, REAL, SLOTS, ArraySpec, InRange, NamedSize, NotNaN, Schema

MAX_TABLE_EXPONENT = 512  # exponents up to here, of either sign, are in the table
MAX_OCTAVES = (
    100.0  # Powers from 2^−100 to 2^100 count as what they are, smaller ones as 0: beside any other they can't be
)
MAX_POWER = 2.0**MAX_OCTAVES  # seen in double precision. Larger ones count as this, for the same reason.


class Multiplicative(NamedTuple):
    weights: NDArray[np.floating]
    """(w, ℓ) side by side: an update touches one place in memory, not two."""
    sums: NDArray[np.float64]
    table: NDArray[np.float64]
    """w for the whole exponents from −MAX_TABLE_EXPONENT to MAX_TABLE_EXPONENT."""
    mirror: NDArray[np.float64]
    bias: float
    """1 always: the constant term is −θ, and the bias's weight where there is one."""
    bias_value: float
    """The value of the bias feature."""
    alpha: float
    log2_alpha: float
    """log₂ α."""
    balance: float
    """1 for w⁺ − w⁻, 0 for positive weights alone."""
    threshold: float
    elimination: float
    """1 where a demotion sets weights to 0."""
    lowest: float
    """The least exponent that a demotion leaves."""

    @property
    def fresh(self) -> tuple[float, float]:
        return 1.0 - self.balance, 0.0


MAX_EXPONENT = 1e30
"""The largest exponent in a file: so large that none is learned, and so small that no update makes it infinite."""
WITH_NEGATIONS = NamedSize("slots + features", lambda sizes: sizes["slots"] + sizes["features"])


def multiplicative_schema(*, average: bool, negations: bool = False) -> Schema:
    """Return the schema of this state in a model file. Exponents index a table, so that none may be NaN."""
    count = WITH_NEGATIONS if negations else SLOTS
    return Schema(
        {
            "weights": ArraySpec(REAL, count, 2, checks=[NotNaN(), InRange(-INFINITY, MAX_EXPONENT, column=1)]),
            "sums": ArraySpec("float64", count if average else 0, checks=[NotNaN()]),
        }
    )


def build_multiplicative(
    slots: int,
    dtype: Any,
    *,
    alpha: float,
    threshold: float,
    bias: bool,
    average: bool,
    balance: bool = False,
    elimination: bool = False,
    floor: float = 0.0,
    negations: bool = False,
) -> Multiplicative:
    features = slots - 1 if negations else 0
    empty = Multiplicative(
        weights=np.zeros((slots + features, 2), dtype),
        sums=np.zeros(slots + features if average else 0),
        table=np.zeros(2 * MAX_TABLE_EXPONENT + 1),
        mirror=np.ones(features),
        bias=1.0,
        bias_value=float(bias),
        alpha=alpha,
        log2_alpha=math.log2(alpha),
        balance=float(balance),
        threshold=threshold,
        elimination=float(elimination),
        lowest=math.log(floor) / math.log(alpha) if floor > 0.0 else -math.inf,
    )
    empty.weights[:] = empty.fresh
    empty.table[:] = [
        compute_weight.function(empty, float(exponent))
        for exponent in range(-MAX_TABLE_EXPONENT, MAX_TABLE_EXPONENT + 1)
    ]
    return empty


@compiled
def clipped_power(updater: Multiplicative, exponent: float) -> float:
    """α^exponent, as far as it counts."""
    if abs(exponent * updater.log2_alpha) >= MAX_OCTAVES:
        return MAX_POWER if exponent > 0.0 else 0.0
    return updater.alpha**exponent


@compiled
def compute_weight(updater: Multiplicative, exponent: float) -> float:
    """w for this exponent, as the table has it for whole ones."""
    if updater.balance != 0.0:
        return clipped_power(updater, exponent) - clipped_power(updater, -exponent)
    return clipped_power(updater, exponent)


@compiled
def look_up_weight(updater: Multiplicative, exponent: float) -> float:
    """w for this exponent."""
    table_exponent: Any = np.int64(exponent) if abs(exponent) <= MAX_TABLE_EXPONENT else np.int64(0)
    return (
        get_unchecked(updater.table, table_exponent + MAX_TABLE_EXPONENT)
        if table_exponent == exponent
        else compute_weight(updater, exponent)
    )


@compiled
def write_complements(updater: Multiplicative, rows: Rows, i: int) -> float:
    """Writes row i's 1 − x_j to the mirror; returns Σ (1 − x_j)²."""
    sq_norm = np.float64(len(updater.mirror))
    for k in range(first_term(rows, i), end_term(rows, i)):
        complement = 1.0 - np.float64(get_unchecked(rows.values, k))
        set_unchecked(updater.mirror, weight_slot(rows, i, k) - 1, complement)
        sq_norm += complement * complement - 1.0
    return sq_norm


@compiled
def clear_complements(updater: Multiplicative, rows: Rows, i: int) -> None:
    for k in range(first_term(rows, i), end_term(rows, i)):
        set_unchecked(updater.mirror, weight_slot(rows, i, k) - 1, 1.0)


@score.of(Multiplicative)
def _score_multiplicative(updater: Multiplicative, rows: Rows, i: int) -> tuple[float, float]:
    dot, sq_norm = dot_and_sq_norm(rows, i, updater.weights)
    features = len(updater.mirror)
    if features > 0:
        sq_norm += write_complements(updater, rows, i)
        negated, _ = dense_dot_and_sq_norm(updater.mirror, 0, features, updater.weights[features:])
        dot += negated
        clear_complements(updater, rows, i)
    return add_bias(updater, dot, bias_slot(rows)), sq_norm + bias_sq_norm(updater)


@add_bias.of(Multiplicative)
def _add_bias_multiplicative(updater: Multiplicative, dot: float, j: int) -> float:
    return dot + (updater.bias_value * np.float64(updater.weights[j, 0]) - updater.threshold)


@accepts_row.of(Multiplicative)
def _accepts_row_multiplicative(updater: Multiplicative, rows: Rows, i: int) -> bool:
    return values_in_range(rows, i, -updater.balance, 1.0)


@scale_step.of(Multiplicative)
def _scale_step_multiplicative(updater: Multiplicative, gradient: float, t: int) -> float:
    return -math.inf if updater.elimination != 0.0 and gradient < 0.0 else gradient


@update_weight.of(Multiplicative)
def _update_weight_multiplicative(updater: Multiplicative, j: int, x: float, scaled_step: float, t: int) -> None:
    before = np.float64(updater.weights[j, 0])
    updater.weights[j, 1] = max(np.float64(updater.weights[j, 1]) + scaled_step * x, updater.lowest)
    updater.weights[j, 0] = look_up_weight(updater, np.float64(updater.weights[j, 1]))
    if len(updater.sums) > 0:  # as in `additive`: a change is part of all hypotheses from here on
        change = np.float64(updater.weights[j, 0]) - before
        updater.sums[j] += (t - 1) * change


@update.of(Multiplicative)
def _update_multiplicative(updater: Multiplicative, rows: Rows, i: int, gradient: float, t: int) -> None:
    scaled_step = scale_step(updater, gradient, t)
    for k in range(first_term(rows, i), end_term(rows, i)):
        update_weight(updater, weight_slot(rows, i, k), np.float64(get_unchecked(rows.values, k)), scaled_step, t)
    if updater.bias_value != 0.0:
        update_weight(updater, bias_slot(rows), updater.bias_value, scaled_step, t)
    features = len(updater.mirror)
    if features > 0:
        write_complements(updater, rows, i)
        for j in range(features):
            if updater.mirror[j] != 0.0:
                update_weight(updater, features + j + 1, updater.mirror[j], scaled_step, t)
        clear_complements(updater, rows, i)


@compiled
def averaged_weight(updater: Multiplicative, j: int, t: int) -> float:
    """The weight in slot j that the final hypothesis has."""
    w = np.float64(updater.weights[j, 0])
    return w - updater.sums[j] / max(t, 1) if len(updater.sums) > 0 else w


@final_weight.of(Multiplicative)
def _final_weight_multiplicative(updater: Multiplicative, j: int, t: int) -> float:
    """Σ w_j·x_j + Σ w̄_j·(1 − x_j) − θ as one linear function of x: what x_j is multiplied by."""
    features = len(updater.mirror)
    w = averaged_weight(updater, j, t)
    return w - averaged_weight(updater, features + j, t) if 0 < j <= features else w


@final_bias.of(Multiplicative)
def _final_bias_multiplicative(updater: Multiplicative, j: int, t: int) -> float:
    features = len(updater.mirror)
    constant = updater.bias_value * averaged_weight(updater, j, t) - updater.threshold
    for companion in range(features + 1, 2 * features + 1):
        constant += averaged_weight(updater, companion, t)
    return constant


@bias_sq_norm.of(Multiplicative)
def _bias_sq_norm_multiplicative(updater: Multiplicative) -> float:
    return updater.bias_value
