"""What a witness is worth in the space of preferences, measured so that rounding can only weaken the claim.

u has a number for each slot and column. A preference a ≻ b of an example is met by u with the margin s_a − s_b, where
s_c = u_c·x; of an example with several, the one that is met worst counts. As in `measure.py`, each s_c has a lower and
an upper end: its terms are not more than ‖x‖·‖u_c‖ in sum (Cauchy and Schwarz), which costs no second sum. Every margin
takes the ends that hurt. All classes of the stream count for all examples, also those that came later.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff._compiled.simd.dot import element
from novikoff.certificates.measure import (
    EXAMPLES,
    FIRST_SLACK,
    HINGE,
    LARGEST,
    LOGISTIC,
    MARGIN,
    SQUARED,
    SQUARED_RADIUS,
    UNIT,
    Measured,
    fresh_sums,
    norm_up,
    result,
)
from novikoff.core.multiclass.class_scores import dots, room
from novikoff.core.multiclass.schemes import (CHOSEN, RANKED, TREE, Scheme, Wants, columns_for)
from novikoff.data.rows import Rows, first, last


@compiled
def things(
    scheme: Scheme,
    known: int,
    scores: NDArray[np.float64],
    errors: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> int:
    """The ends of the scores of what is compared, from those of the columns; how many there are."""
    if scheme.kind == TREE:
        return sum_paths(scheme, known, scores, errors, low, high)
    count = columns_for(scheme, known)
    for c in range(count):
        low[c] = scores[c] - errors[c]
        high[c] = scores[c] + errors[c]
    return count


@compiled
def sum_paths(
    scheme: Scheme,
    known: int,
    scores: NDArray[np.float64],
    errors: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> int:
    for c in range(known):
        total, error, size = 0.0, 0.0, 0.0
        start, stop = scheme.starts[c], scheme.starts[c + 1]
        for k in range(start, stop):
            total += scores[scheme.nodes[k]]
            size += abs(scores[scheme.nodes[k]])
            error += errors[scheme.nodes[k]]
        error = error * (1.0 + np.float64(stop - start) * UNIT) + size * np.float64(stop - start) * UNIT
        low[c] = total - error
        high[c] = total + error
    return known


@compiled
def between_grades(
    grades: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], count: int
) -> tuple[float, float]:
    """The lower end of the worst preference and the upper end of the best one, things of higher grade, 0, 1 or 2, being
    preferred to those of lower grade; +∞ and −∞ where there are none."""
    worst, best = np.inf, -np.inf
    for upper in range(1, 3):
        least, most, least_below, most_below = np.inf, -np.inf, np.inf, -np.inf
        for c in range(count):
            if grades[c] == upper:
                least, most = min(least, low[c]), max(most, high[c])
            elif grades[c] < upper:
                least_below, most_below = min(least_below, low[c]), max(most_below, high[c])
        worst, best = min(worst, least - most_below), max(best, most - least_below)
    return worst, best


@compiled
def ends(
    scheme: Scheme,
    wants: Wants,
    i: int,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    count: int,
    spare: NDArray[np.float64],
) -> tuple[float, float]:
    """The same for the preferences of example i: its class to all others, its labels to the threshold and that to all
    others, or those that it says."""
    if scheme.kind == RANKED:
        worst, best = np.inf, -np.inf
        for k in range(wants.starts[i], wants.starts[i + 1], 2):
            a, b = wants.members[k], wants.members[k + 1]
            worst, best = min(worst, low[a] - high[b]), max(best, high[a] - low[b])
        return worst, best
    for c in range(count):
        spare[c] = 0.0
    if scheme.kind == CHOSEN:
        spare[0] = 1.0
        for k in range(wants.starts[i], wants.starts[i + 1]):
            spare[wants.members[k] + 1] = 2.0
    else:
        spare[wants.classes[i]] = 1.0
    return between_grades(spare, low, high, count)


@compiled
def weigh_preferences(
    scheme: Scheme,
    wants: Wants,
    kept: NDArray[np.int8],
    rows: Rows,
    u: NDArray[np.float64],
    norms: NDArray[np.float64],
    bias: float,
    known: int,
    widths: NDArray[np.float64],
    desk: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Adds these rows to the sums; a 0 in `kept` leaves its row out. `desk` has five rows of room."""
    for i in range(len(kept)):
        if kept[i] == 0:
            continue
        square, largest = bias, 0.0
        start, stop = first(rows, i), last(rows, i)
        for k in range(start, stop):
            x = np.float64(element(rows.values, k))
            square += x * x
            largest = max(largest, abs(x))
        terms = np.float64(stop - start + 16)
        square *= 1.0 + terms * UNIT
        dots(rows, i, u, bias, desk[0])
        length = math.sqrt(square)
        for c in range(len(norms)):
            desk[1, c] = length * norms[c] * terms * UNIT
        count = things(scheme, known, desk[0], desk[1], desk[2], desk[3])
        low, high = ends(scheme, wants, i, desk[2], desk[3], count, desk[4])
        sums[EXAMPLES] += 1.0
        sums[SQUARED_RADIUS] = max(sums[SQUARED_RADIUS], square)
        sums[LARGEST] = max(sums[LARGEST], largest)
        if low == np.inf:
            continue
        low -= abs(low) * UNIT
        high += abs(high) * UNIT
        add_losses(low, high, widths, sums)


@compiled
def add_losses(low: float, high: float, widths: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    """Of an example whose margins lie between these ends."""
    sums[MARGIN] = min(sums[MARGIN], low)
    sums[HINGE] += max(0.0, 1.0 - low)
    sums[LOGISTIC] += math.log1p(math.exp(-abs(low))) + max(0.0, -low)
    away = max(abs(1.0 - low), abs(1.0 - high))
    sums[SQUARED] += 0.5 * away * away
    for g in range(len(widths)):
        missing = max(0.0, widths[g] - low)
        sums[FIRST_SLACK + g] += missing * missing


@compiled
def worst_preferences(
    scheme: Scheme,
    wants: Wants,
    kept: NDArray[np.int8],
    rows: Rows,
    u: NDArray[np.float64],
    bias: float,
    known: int,
    desk: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """The margin of the preference that is met worst, to the nearest number: for searching, not for claims. +∞ where
    there is none."""
    for c in range(len(desk[1])):
        desk[1, c] = 0.0
    for i in range(len(kept)):
        out[i] = np.inf
        if kept[i] != 0:
            dots(rows, i, u, bias, desk[0])
            count = things(scheme, known, desk[0], desk[1], desk[2], desk[3])
            low, _ = ends(scheme, wants, i, desk[2], desk[3], count, desk[4])
            out[i] = low


def lanes(witness: NDArray[Any], columns: int) -> NDArray[np.float64]:
    """A witness as [slot][column], with room as `dots` wants it."""
    u = np.zeros((len(witness) // columns, room(columns)))
    u[:, :columns] = witness.reshape(-1, columns)
    return u


def desk_for(columns: int) -> NDArray[np.float64]:
    """There are never more things to compare than columns."""
    return np.zeros((5, room(columns)))


class Meter:
    """Measures witnesses in one pass, batch after batch."""

    def __init__(
        self,
        scheme: Any,
        columns: int,
        known: int,
        *,
        bias: bool,
        witnesses: Sequence[NDArray[np.float32]],
        widths: Sequence[Sequence[float]],
    ) -> None:
        self.scheme, self.known, self.bias = scheme, known, float(bias)
        self.witnesses, self.widths = witnesses, widths
        self.us = [lanes(u, columns) for u in witnesses]
        self.norms = [np.array([norm_up(part) for part in u.reshape(-1, columns).T]) for u in witnesses]
        self.sums = [fresh_sums(len(wanted)) for wanted in widths]
        self.desk = desk_for(columns)

    def add(self, rows: Rows, wants: Any, kept: NDArray[np.int8]) -> None:
        for u, norms, wanted, sums in zip(self.us, self.norms, self.widths, self.sums, strict=True):
            some = np.asarray(wanted, np.float64)
            weigh_preferences(self.scheme, wants, kept, rows, u, norms, self.bias, self.known, some, self.desk, sums)

    def done(self, stretch: float) -> list[Measured]:
        """`stretch` is what ‖x‖² is multiplied by in the space of preferences."""
        found = [result(*parts) for parts in zip(self.witnesses, self.widths, self.sums, strict=True)]
        return [
            m._replace(squared_radius=m.squared_radius * stretch, margin=m.margin if m.margin < math.inf else 0.0)
            for m in found
        ]


Told = tuple[Rows, Any, NDArray[np.int8]]
"""Rows, what they ask for as the loop takes it, and 0 for those that are left out."""


def measure_preferences(meter: Meter, batches: Iterable[Told], stretch: float) -> list[Measured]:
    for rows, wants, kept in batches:
        meter.add(rows, wants, kept)
    return meter.done(stretch)
