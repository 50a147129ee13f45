"""The multiplicative geometry: w_j *= α^(g·x_j), in one kind of weights or in two that balance each other.

Kept are the exponents ℓ_j = log_α w_j, which only ever add up: no number of updates can make them overflow, underflow
or lose what later updates need. Scores want w_j = α^ℓ_j, so that is kept too, beside them, and made anew from ℓ_j when
ℓ_j changes: nothing drifts. For whole exponents, the only ones where x is 0 or 1, it comes from a table.

Two weights per feature, w⁺ = α^ℓ and w⁻ = α^(−ℓ), both start at 1 and are always multiplied by opposite powers: one
exponent is enough for both, and w_j stands for w⁺ − w⁻.

With negations every feature x_j has a companion 1 − x_j. Its weight is in slot n + j, and the companions of a row are
written out in `mirror`, which holds 1 for each feature between two rows. This costs n operations for each row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import compiled, generic
from novikoff._compiled.simd.dot import dense_sums, element, put
from novikoff._compiled.simd.weight_updates import dense_powers, sparse_powers
from novikoff.core.updaters.base import (bias_square, finished, fits, move, pull, read, read_constant, score, update, within)
from novikoff.schema import INFINITY, REAL, SLOTS, Array, Between, NotNaN, Schema, Size
from novikoff.data.rows import (Column, Rows, Sparse, first, last, measure, origin, slot)

WHOLE = 512  # exponents up to here, of either sign, are in the table
RANGE = 100.0  # Powers from 2^−100 to 2^100 count as what they are, smaller ones as 0: beside any other they can't be
HIGHEST = 2.0**RANGE  # seen in double precision. Larger ones count as this, for the same reason.


class Multiplicative(NamedTuple):
    slots: NDArray[np.floating]
    """(w, ℓ) side by side: an update touches one place in memory, not two."""
    sums: NDArray[np.float64]
    table: NDArray[np.float64]
    """w for the whole exponents from −WHOLE to WHOLE."""
    mirror: NDArray[np.float64]
    bias: float
    """1 always: the constant term is −θ, and the bias's weight where there is one."""
    dummy: float
    """The value of the bias feature."""
    alpha: float
    octaves: float
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
WITH_NEGATIONS = Size("slots + features", lambda sizes: sizes["slots"] + sizes["features"])


def multiplicative_schema(*, average: bool, negations: bool = False) -> Schema:
    """Return what a model file may hold of this state. Exponents index a table, so that none may be NaN."""
    count = WITH_NEGATIONS if negations else SLOTS
    return Schema(
        {
            "slots": Array(REAL, count, 2, checks=[NotNaN(), Between(-INFINITY, MAX_EXPONENT, column=1)]),
            "sums": Array("float64", count if average else 0, checks=[NotNaN()]),
        }
    )


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
    empty = Multiplicative(
        slots=np.zeros((slots + features, 2), kind),
        sums=np.zeros(slots + features if average else 0),
        table=np.zeros(2 * WHOLE + 1),
        mirror=np.ones(features),
        bias=1.0,
        dummy=float(bias),
        alpha=alpha,
        octaves=math.log2(alpha),
        balance=float(balance),
        threshold=threshold,
        elimination=float(elimination),
        lowest=math.log(floor) / math.log(alpha) if floor > 0.0 else -math.inf,
    )
    empty.slots[:] = empty.fresh
    empty.table[:] = [computed.function(empty, float(exponent)) for exponent in range(-WHOLE, WHOLE + 1)]
    return empty


@compiled
def power(geometry: Multiplicative, exponent: float) -> float:
    """α^exponent, as far as it counts."""
    if abs(exponent * geometry.octaves) >= RANGE:
        return HIGHEST if exponent > 0.0 else 0.0
    return geometry.alpha**exponent


@compiled
def computed(geometry: Multiplicative, exponent: float) -> float:
    """w for this exponent, as the table has it for whole ones."""
    if geometry.balance != 0.0:
        return power(geometry, exponent) - power(geometry, -exponent)
    return power(geometry, exponent)


@compiled
def weight(geometry: Multiplicative, exponent: float) -> float:
    """w for this exponent."""
    whole: Any = np.int64(exponent) if abs(exponent) <= WHOLE else np.int64(0)
    return element(geometry.table, whole + WHOLE) if whole == exponent else computed(geometry, exponent)


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
    return finished(geometry, dot, origin(rows)), square + bias_square(geometry)


@finished.of(Multiplicative)
def _(geometry: Multiplicative, dot: float, j: int) -> float:
    return dot + (geometry.dummy * np.float64(geometry.slots[j, 0]) - geometry.threshold)


@fits.of(Multiplicative)
def _(geometry: Multiplicative, rows: Rows, i: int) -> bool:
    return within(rows, i, -geometry.balance, 1.0)


@pull.of(Multiplicative)
def _(geometry: Multiplicative, signal: float, t: int) -> float:
    return -math.inf if geometry.elimination != 0.0 and signal < 0.0 else signal


@move.of(Multiplicative)
def _(geometry: Multiplicative, j: int, x: float, pulled: float, t: int) -> None:
    before = np.float64(geometry.slots[j, 0])
    geometry.slots[j, 1] = max(np.float64(geometry.slots[j, 1]) + pulled * x, geometry.lowest)
    geometry.slots[j, 0] = weight(geometry, np.float64(geometry.slots[j, 1]))
    if len(geometry.sums) > 0:  # as in `additive`: a change is part of all hypotheses from here on
        change = np.float64(geometry.slots[j, 0]) - before
        geometry.sums[j] += (t - 1) * change


@generic
def raise_all(rows: Rows, i: int, geometry: Multiplicative, pulled: float) -> bool:
    """`move` for all terms of row i, where no average is kept; whether an exponent was not in the table."""
    width = rows.width  # type: ignore[union-attr]
    return dense_powers(rows.values, i * width, width, geometry.slots, pulled, geometry.lowest, geometry.table)


@raise_all.of(Sparse)
def _(rows: Sparse, i: int, geometry: Multiplicative, pulled: float) -> bool:
    start, count = rows.starts[i], rows.starts[i + 1] - rows.starts[i]
    return sparse_powers(
        rows.values, rows.indices, start, count, geometry.slots, pulled, geometry.lowest, geometry.table
    )


@raise_all.of(Column)
def _(rows: Column, i: int, geometry: Multiplicative, pulled: float) -> bool:
    for k in range(first(rows, i), last(rows, i)):
        move(geometry, slot(rows, i, k), np.float64(rows.values[k]), pulled, 0)
    return False


@update.of(Multiplicative)
def _(geometry: Multiplicative, rows: Rows, i: int, signal: float, t: int) -> None:
    pulled = pull(geometry, signal, t)
    if len(geometry.sums) > 0:
        for k in range(first(rows, i), last(rows, i)):
            move(geometry, slot(rows, i, k), np.float64(element(rows.values, k)), pulled, t)
    elif raise_all(rows, i, geometry, pulled):
        for k in range(first(rows, i), last(rows, i)):
            j = slot(rows, i, k)
            geometry.slots[j, 0] = weight(geometry, np.float64(geometry.slots[j, 1]))
    if geometry.dummy != 0.0:
        move(geometry, origin(rows), geometry.dummy, pulled, t)
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
    w = np.float64(geometry.slots[j, 0])
    return w - geometry.sums[j] / max(t, 1) if len(geometry.sums) > 0 else w


@read.of(Multiplicative)
def _(geometry: Multiplicative, j: int, t: int) -> float:
    """Σ w_j·x_j + Σ w̄_j·(1 − x_j) − θ as one linear function of x: what x_j is multiplied by."""
    features = len(geometry.mirror)
    w = mean(geometry, j, t)
    return w - mean(geometry, features + j, t) if 0 < j <= features else w


@read_constant.of(Multiplicative)
def _(geometry: Multiplicative, j: int, t: int) -> float:
    features = len(geometry.mirror)
    constant = geometry.dummy * mean(geometry, j, t) - geometry.threshold
    for companion in range(features + 1, 2 * features + 1):
        constant += mean(geometry, companion, t)
    return constant


@bias_square.of(Multiplicative)
def _(geometry: Multiplicative) -> float:
    return geometry.dummy
