"""The multiplicative geometry: w_j *= α^(g·x_j), in one kind of weights or in two that balance each other.

Kept are the exponents ℓ_j = log_α w_j, which only ever add up: no number of updates can make them overflow, underflow
or lose what later updates need. Scores want w_j = α^ℓ_j, so that is kept too, beside them, and made anew from ℓ_j when
ℓ_j changes: nothing drifts. For whole exponents, the only ones where x is 0 or 1, the power comes from a table.

Two weights per feature, w⁺ = α^ℓ and w⁻ = α^(−ℓ), both start at 1 and are always multiplied by opposite powers: one
exponent is enough for both, and w_j stands for w⁺ − w⁻.

With negations every feature x_j has a companion 1 − x_j. Its weight is in slot n + j, and the companions of a row are
written out in `mirror`, which holds 1 for each feature between two rows. This costs n operations for each row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._jit import compiled
from novikoff._machine import dense_sums, element, put
from novikoff.parts.geometry import fits, move, pull, read, score, update, within
from novikoff.stream.rows import Rows, first, last, measure, slot

WHOLE = 512  # exponents up to here, of either sign, are in the table
HIGHEST = 2.0**100  # what a weight counts at most: beside it, no other is seen in double precision


class Multiplicative(NamedTuple):
    slots: NDArray[np.floating]
    logs: NDArray[np.float64]
    sums: NDArray[np.float64]
    powers: NDArray[np.float64]
    mirror: NDArray[np.float64]
    bias: float
    """1 always: the constant term is −θ, and the bias's weight where there is one."""
    dummy: float
    """The value of the bias feature."""
    alpha: float
    balance: float
    """1 for w⁺ − w⁻, 0 for positive weights alone."""
    threshold: float
    elimination: float
    """1 where a demotion sets weights to 0."""
    lowest: float
    """The least exponent that a demotion leaves."""

    @property
    def fresh(self) -> float:
        return 1.0 - self.balance


def multiplicative(
    slots: int,
    kind: Any,
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
    size = slots + features
    return Multiplicative(
        slots=np.full(size, 0.0 if balance else 1.0, kind),
        logs=np.zeros(size),
        sums=np.zeros(size if average else 0),
        powers=np.array([_power(alpha, exponent) for exponent in range(-WHOLE, WHOLE + 1)]),
        mirror=np.ones(features),
        bias=1.0,
        dummy=float(bias),
        alpha=alpha,
        balance=float(balance),
        threshold=threshold,
        elimination=float(elimination),
        lowest=math.log(floor) / math.log(alpha) if floor > 0.0 else -math.inf,
    )


def _power(alpha: float, exponent: float) -> float:
    return HIGHEST if exponent * math.log2(alpha) >= 100.0 else alpha**exponent


@compiled
def power(geometry: Multiplicative, exponent: float) -> float:
    """α^exponent, up to HIGHEST."""
    if abs(exponent) <= WHOLE:
        whole: Any = np.int64(exponent)
        if whole == exponent:
            return element(geometry.powers, whole + WHOLE)
    if exponent * math.log2(geometry.alpha) >= 100.0:
        return HIGHEST
    return geometry.alpha**exponent


@compiled
def weight(geometry: Multiplicative, exponent: float) -> float:
    """w for this exponent."""
    if geometry.balance != 0.0:
        return power(geometry, exponent) - power(geometry, -exponent)
    return power(geometry, exponent)


@compiled
def turn(geometry: Multiplicative, rows: Rows, i: int) -> float:
    """Writes row i's 1 − x_j to the mirror; returns Σ (1 − x_j)²."""
    square = np.float64(len(geometry.mirror))
    for k in range(first(rows, i), last(rows, i)):
        rest = 1.0 - np.float64(element(rows.values, k))
        put(geometry.mirror, slot(rows, i, k) - 1, rest)
        square += rest * rest - 1.0
    return square


@compiled
def turn_back(geometry: Multiplicative, rows: Rows, i: int) -> None:
    for k in range(first(rows, i), last(rows, i)):
        put(geometry.mirror, slot(rows, i, k) - 1, 1.0)


@score.of(Multiplicative)
def _(geometry: Multiplicative, rows: Rows, i: int) -> tuple[float, float]:
    dot, square = measure(rows, i, geometry.slots)
    features = len(geometry.mirror)
    if features > 0:
        square += turn(geometry, rows, i)
        negated, _ = dense_sums(geometry.mirror, 0, features, geometry.slots[features:])
        dot += negated
        turn_back(geometry, rows, i)
    constant = geometry.dummy * np.float64(geometry.slots[0]) - geometry.threshold
    return dot + constant, square + geometry.dummy


@fits.of(Multiplicative)
def _(geometry: Multiplicative, rows: Rows, i: int) -> bool:
    return within(rows, i, -geometry.balance, 1.0)


@pull.of(Multiplicative)
def _(geometry: Multiplicative, signal: float, t: int) -> float:
    return -math.inf if geometry.elimination != 0.0 and signal < 0.0 else signal


@move.of(Multiplicative)
def _(geometry: Multiplicative, j: int, x: float, pulled: float, t: int) -> None:
    exponent = max(element(geometry.logs, j) + pulled * x, geometry.lowest)
    put(geometry.logs, j, exponent)
    if len(geometry.sums) == 0:
        put(geometry.slots, j, weight(geometry, exponent))
    else:  # as in `additive`: a change is part of all hypotheses from here on
        before = np.float64(element(geometry.slots, j))
        put(geometry.slots, j, weight(geometry, exponent))
        change = np.float64(element(geometry.slots, j)) - before
        put(geometry.sums, j, element(geometry.sums, j) + (t - 1) * change)


@update.of(Multiplicative)
def _(geometry: Multiplicative, rows: Rows, i: int, signal: float, t: int) -> None:
    pulled = pull(geometry, signal, t)
    for k in range(first(rows, i), last(rows, i)):
        move(geometry, slot(rows, i, k), np.float64(element(rows.values, k)), pulled, t)
    if geometry.dummy != 0.0:
        move(geometry, 0, geometry.dummy, pulled, t)
    features = len(geometry.mirror)
    if features > 0:
        turn(geometry, rows, i)
        for j in range(features):
            if geometry.mirror[j] != 0.0:
                move(geometry, features + j + 1, geometry.mirror[j], pulled, t)
        turn_back(geometry, rows, i)


@compiled
def mean(geometry: Multiplicative, j: int, t: int) -> float:
    """The weight in slot j that the final hypothesis has."""
    w = np.float64(geometry.slots[j])
    return w - geometry.sums[j] / max(t, 1) if len(geometry.sums) > 0 else w


@read.of(Multiplicative)
def _(geometry: Multiplicative, j: int, t: int) -> float:
    """Σ w_j·x_j + Σ w̄_j·(1 − x_j) − θ as one linear function of x."""
    features = len(geometry.mirror)
    if j > 0:
        w = mean(geometry, j, t)
        return w - mean(geometry, features + j, t) if 0 < j <= features else w
    constant = geometry.dummy * mean(geometry, 0, t) - geometry.threshold
    for companion in range(features + 1, 2 * features + 1):
        constant += mean(geometry, companion, t)
    return constant
