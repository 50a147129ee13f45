"""Measurement of a witness in preference space, with rounding that can only weaken the claim.

u has a weight for each slot and column. u satisfies a preference a ≻ b of an example with margin s_a − s_b, where s_c
= u_c·x. The worst preference of an example counts. As in `measure.py`, each s_c has a lower and an upper end. The
absolute values of its terms sum to at most ‖x‖·‖u_c‖ (Cauchy and Schwarz), which avoids a second sum. Every margin
uses the unfavourable ends. All classes of the stream count for all examples, also those that appeared later.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.certificates.measure import (
    EXAMPLES,
    FIRST_SLACK,
    HINGE,
    LOGISTIC,
    MACHINE_EPSILON,
    MARGIN,
    MAX_ABS,
    SQUARED,
    SQUARED_RADIUS,
    WitnessMeasurement,
    init_sums,
    norm_rounded_up,
    to_measurement,
)
from novikoff.core.multiclass.class_scores import dot_classes, pad_classes
from novikoff.core.multiclass.schemes import (
    LABEL_RANKING,
    LABEL_TREE,
    THRESHOLDED_LABELS,
    Scheme,
    Targets,
    columns_needed,
)
from novikoff.data.rows import Rows, end_term, first_term


@compiled
def bound_scores(
    scheme: Scheme,
    n_classes: int,
    scores: NDArray[np.float64],
    errors: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> int:
    """Write lower and upper ends of the compared scores, from those of the columns; return their number."""
    if scheme.kind == LABEL_TREE:
        return bound_path_scores(scheme, n_classes, scores, errors, low, high)
    count = columns_needed(scheme, n_classes)
    for c in range(count):
        low[c] = scores[c] - errors[c]
        high[c] = scores[c] + errors[c]
    return count


@compiled
def bound_path_scores(
    scheme: Scheme,
    n_classes: int,
    scores: NDArray[np.float64],
    errors: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> int:
    for c in range(n_classes):
        total, error, size = 0.0, 0.0, 0.0
        start, stop = scheme.starts[c], scheme.starts[c + 1]
        for k in range(start, stop):
            total += scores[scheme.nodes[k]]
            size += abs(scores[scheme.nodes[k]])
            error += errors[scheme.nodes[k]]
        error = (
            error * (1.0 + np.float64(stop - start) * MACHINE_EPSILON)
            + size * np.float64(stop - start) * MACHINE_EPSILON
        )
        low[c] = total - error
        high[c] = total + error
    return n_classes


@compiled
def bound_grade_margins(
    grades: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], count: int
) -> tuple[float, float]:
    """Return the lower end of the worst preference and the upper end of the best one, or +∞ and −∞ without
    preferences.

    Items of higher grade, 0, 1 or 2, are preferred to those of lower grade.
    """
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
def bound_margins(
    scheme: Scheme,
    targets: Targets,
    i: int,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    count: int,
    scratch: NDArray[np.float64],
) -> tuple[float, float]:
    """Return the ends of `bound_grade_margins` for the preferences of example i.

    They are its class over all others, its labels over the threshold and that over all others, or explicit
    preferences.
    """
    if scheme.kind == LABEL_RANKING:
        worst, best = np.inf, -np.inf
        for k in range(targets.starts[i], targets.starts[i + 1], 2):
            a, b = targets.members[k], targets.members[k + 1]
            worst, best = min(worst, low[a] - high[b]), max(best, high[a] - low[b])
        return worst, best
    for c in range(count):
        scratch[c] = 0.0
    if scheme.kind == THRESHOLDED_LABELS:
        scratch[0] = 1.0
        for k in range(targets.starts[i], targets.starts[i + 1]):
            scratch[targets.members[k] + 1] = 2.0
    else:
        scratch[targets.classes[i]] = 1.0
    return bound_grade_margins(scratch, low, high, count)


@compiled
def measure_preference_rows(
    scheme: Scheme,
    targets: Targets,
    included: NDArray[np.int8],
    rows: Rows,
    u: NDArray[np.float64],
    norms: NDArray[np.float64],
    bias: float,
    n_classes: int,
    widths: NDArray[np.float64],
    workspace: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add these rows to the sums; rows with `included` 0 are skipped. `workspace` needs five rows."""
    for i in range(len(included)):
        if included[i] == 0:
            continue
        square, largest = bias, 0.0
        start, stop = first_term(rows, i), end_term(rows, i)
        for k in range(start, stop):
            x = np.float64(get_unchecked(rows.values, k))
            square += x * x
            largest = max(largest, abs(x))
        terms = np.float64(stop - start + 16)
        square *= 1.0 + terms * MACHINE_EPSILON
        dot_classes(rows, i, u, bias, workspace[0])
        length = math.sqrt(square)
        for c in range(len(norms)):
            workspace[1, c] = length * norms[c] * terms * MACHINE_EPSILON
        count = bound_scores(scheme, n_classes, workspace[0], workspace[1], workspace[2], workspace[3])
        low, high = bound_margins(scheme, targets, i, workspace[2], workspace[3], count, workspace[4])
        sums[EXAMPLES] += 1.0
        sums[SQUARED_RADIUS] = max(sums[SQUARED_RADIUS], square)
        sums[MAX_ABS] = max(sums[MAX_ABS], largest)
        if low == np.inf:
            continue
        low -= abs(low) * MACHINE_EPSILON
        high += abs(high) * MACHINE_EPSILON
        add_losses(low, high, widths, sums)


@compiled
def add_losses(low: float, high: float, widths: NDArray[np.float64], sums: NDArray[np.float64]) -> None:
    """Add an example whose margins lie between these ends to the sums."""
    sums[MARGIN] = min(sums[MARGIN], low)
    sums[HINGE] += max(0.0, 1.0 - low)
    sums[LOGISTIC] += math.log1p(math.exp(-abs(low))) + max(0.0, -low)
    away = max(abs(1.0 - low), abs(1.0 - high))
    sums[SQUARED] += 0.5 * away * away
    for g in range(len(widths)):
        missing = max(0.0, widths[g] - low)
        sums[FIRST_SLACK + g] += missing * missing


@compiled
def find_worst_margins(
    scheme: Scheme,
    targets: Targets,
    included: NDArray[np.int8],
    rows: Rows,
    u: NDArray[np.float64],
    bias: float,
    n_classes: int,
    workspace: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the margin of each example's worst preference to `out`, rounded to nearest; +∞ without preferences."""
    for c in range(len(workspace[1])):
        workspace[1, c] = 0.0
    for i in range(len(included)):
        out[i] = np.inf
        if included[i] != 0:
            dot_classes(rows, i, u, bias, workspace[0])
            count = bound_scores(scheme, n_classes, workspace[0], workspace[1], workspace[2], workspace[3])
            low, _ = bound_margins(scheme, targets, i, workspace[2], workspace[3], count, workspace[4])
            out[i] = low


def pad_columns(witness: NDArray[Any], columns: int) -> NDArray[np.float64]:
    """Return a witness as [slot][column], padded as `dot_classes` needs it."""
    u = np.zeros((len(witness) // columns, pad_classes(columns)))
    u[:, :columns] = witness.reshape(-1, columns)
    return u


def allocate_workspace(columns: int) -> NDArray[np.float64]:
    """Allocate the workspace. No example compares more items than there are columns."""
    return np.zeros((5, pad_classes(columns)))


class PairwiseMeasurer:
    """Accumulator that measures witnesses in one pass."""

    def __init__(
        self,
        scheme: Any,
        columns: int,
        n_classes: int,
        *,
        bias: bool,
        witnesses: Sequence[NDArray[np.float32]],
        widths: Sequence[Sequence[float]],
    ) -> None:
        self.scheme, self.known, self.bias = scheme, n_classes, float(bias)
        self.witnesses, self.widths = witnesses, widths
        self.padded_witnesses = [pad_columns(u, columns) for u in witnesses]
        self.norms = [np.array([norm_rounded_up(part) for part in u.reshape(-1, columns).T]) for u in witnesses]
        self.sums = [init_sums(len(wanted)) for wanted in widths]
        self.workspace = allocate_workspace(columns)

    def add(self, rows: Rows, targets: Any, included: NDArray[np.int8]) -> None:
        for u, norms, wanted, sums in zip(self.padded_witnesses, self.norms, self.widths, self.sums, strict=True):
            some = np.asarray(wanted, np.float64)
            measure_preference_rows(
                self.scheme, targets, included, rows, u, norms, self.bias, self.known, some, self.workspace, sums
            )

    def build_measurements(self, stretch: float) -> list[WitnessMeasurement]:
        """Return the measurements; `stretch` is the factor of ‖x‖² in preference space."""
        found = [to_measurement(*parts) for parts in zip(self.witnesses, self.widths, self.sums, strict=True)]
        return [
            m._replace(squared_radius=m.squared_radius * stretch, margin=m.margin if m.margin < math.inf else 0.0)
            for m in found
        ]


PreferenceBatch = tuple[Rows, Any, NDArray[np.int8]]
"""Rows, targets in the encoding of the loop, and 0 for excluded rows."""


def measure_preferences(
    meter: PairwiseMeasurer, batches: Iterable[PreferenceBatch], stretch: float
) -> list[WitnessMeasurement]:
    for rows, targets, included in batches:
        meter.add(rows, targets, included)
    return meter.build_measurements(stretch)
