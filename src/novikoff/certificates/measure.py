"""Measurement of a witness on a stream, with rounding that can only weaken the claim.

A sum of k products in double precision, in any order, is off by at most k·2⁻⁵³·Σ|products|, plus the rounding of the
products. The code allows twice that, and computes Σ|products| beside the sum. Each y·u·x thus has a lower and an
upper end, and every result uses the unfavourable one: R and the losses are rounded up, margins down. Sums of
nonnegative numbers may be too small by a factor of count·2⁻⁵³; they are raised by twice that.

The inputs of the formulas are moved outward by another factor of 10⁻¹², which exceeds the rounding errors of the few
operations in the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.data.canonical_rows import list_sparse_blocks
from novikoff.data.rows import Rows, count_rows, end_term, first_term, weight_slot
from novikoff.theory.bound_declaration import Evidence

MACHINE_EPSILON = 2.0**-52
OUTWARD_TOLERANCE = 1e-12
EXAMPLES, SQUARED_RADIUS, MAX_ABS, MARGIN, HINGE, LOGISTIC, SQUARED, FIRST_SLACK = range(8)


class WitnessMeasurement(NamedTuple):
    """Sums over one pass, rounded outward, of the witness u."""

    witness: NDArray[np.float32]
    """u; its first number is the weight of the bias, 0 for no bias."""
    examples: int
    squared_radius: float
    largest: float
    """max‖x‖_∞ without the bias feature."""
    margin: float
    hinge: float
    logistic: float
    squared: float
    slacks: dict[float, float]
    """Σ max(0, γ·‖u‖ − y·u·x)², by γ·‖u‖."""


@compiled
def measure_rows(
    rows: Rows,
    labels: NDArray[np.int8],
    witness: NDArray[np.float64],
    bias: float,
    widths: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add these rows to the sums. Rows of label 0 are skipped; features beyond the witness have weight 0."""
    for i in range(len(labels)):
        y = np.float64(labels[i])
        if y == 0.0:
            continue
        dot, size, square, largest = bias * witness[0], abs(bias * witness[0]), bias, 0.0
        count = 8
        for k in range(first_term(rows, i), end_term(rows, i)):
            x, j = np.float64(get_unchecked(rows.values, k)), weight_slot(rows, i, k)
            count += x != 0.0  # adding zero rounds nothing
            if j < len(witness):
                product = x * get_unchecked(witness, j)
                dot += product
                size += abs(product)
            square += x * x
            largest = max(largest, abs(x))
        terms = np.float64(count)
        error = size * terms * MACHINE_EPSILON
        low, high = y * dot - error, y * dot + error
        sums[EXAMPLES] += 1.0
        sums[SQUARED_RADIUS] = max(sums[SQUARED_RADIUS], square * (1.0 + terms * MACHINE_EPSILON))
        sums[MAX_ABS] = max(sums[MAX_ABS], largest)
        sums[MARGIN] = min(sums[MARGIN], low)
        sums[HINGE] += max(0.0, 1.0 - low)
        sums[LOGISTIC] += math.log1p(math.exp(-abs(low))) + max(0.0, -low)
        away = max(abs(1.0 - low), abs(1.0 - high))
        sums[SQUARED] += 0.5 * away * away
        for g in range(len(widths)):
            missing = max(0.0, widths[g] - low)
            sums[FIRST_SLACK + g] += missing * missing


@compiled
def compute_margins(
    rows: Rows, labels: NDArray[np.int8], witness: NDArray[np.float64], bias: float, out: NDArray[np.float64]
) -> None:
    """Write y·u·x of each row to `out`, rounded to nearest: for searching, not for claims."""
    for i in range(len(labels)):
        dot = bias * witness[0]
        for k in range(first_term(rows, i), end_term(rows, i)):
            j = weight_slot(rows, i, k)
            if j < len(witness):
                dot += np.float64(get_unchecked(rows.values, k)) * get_unchecked(witness, j)
        out[i] = np.float64(labels[i]) * dot


@compiled
def max_power_sum(rows: Rows, labels: NDArray[np.int8], p: float, bias: float) -> float:
    """Return the largest Σ|x_j|^p, rounded up."""
    largest = 0.0
    for i in range(len(labels)):
        if labels[i] != 0:
            total, terms = bias, 16.0
            for k in range(first_term(rows, i), end_term(rows, i)):
                size = abs(np.float64(get_unchecked(rows.values, k)))
                total += size**p
                terms += size != 0.0
            largest = max(largest, total * (1.0 + terms * MACHINE_EPSILON))
    return largest


SignedBatch = tuple[Rows, NDArray[np.int8]]
"""Rows and their labels −1 or +1; 0 for excluded rows."""
BatchStream = Callable[[], Iterable[SignedBatch]]
"""Returns the stream from its beginning at each call."""


def measure(
    batches: Iterable[SignedBatch],
    witnesses: Sequence[NDArray[np.float32]],
    *,
    bias: bool,
    widths: Sequence[Sequence[float]],
) -> list[WitnessMeasurement]:
    """Measure all witnesses in one pass; `widths` has the γ·‖u‖ of the squared slacks for each witness."""
    sums = [init_sums(len(wanted)) for wanted in widths]
    wide = [np.asarray(u, np.float64) for u in witnesses]
    for rows, labels in batches:
        for u, wanted, total in zip(wide, widths, sums, strict=True):
            measure_rows(rows, labels, u, float(bias), np.asarray(wanted, np.float64), total)
    return [to_measurement(*parts) for parts in zip(witnesses, widths, sums, strict=True)]


def init_sums(slacks: int) -> NDArray[np.float64]:
    sums = np.zeros(FIRST_SLACK + slacks)
    sums[MARGIN] = math.inf
    return sums


def to_measurement(
    witness: NDArray[np.float32], widths: Sequence[float], sums: NDArray[np.float64]
) -> WitnessMeasurement:
    raised = 1.0 + (sums[EXAMPLES] + 64.0) * MACHINE_EPSILON
    slacks = {width: float(total * raised) for width, total in zip(widths, sums[FIRST_SLACK:], strict=True)}
    hinge, logistic, squared = (float(sums[k] * raised) for k in (HINGE, LOGISTIC, SQUARED))
    return WitnessMeasurement(
        witness=witness,
        examples=int(sums[EXAMPLES]),
        squared_radius=float(sums[SQUARED_RADIUS]),
        largest=float(sums[MAX_ABS]),
        margin=float(sums[MARGIN]),
        hinge=hinge,
        logistic=logistic,
        squared=squared,
        slacks=slacks,
    )


def norm_rounded_up(u: NDArray[np.float32], q: float = 2.0) -> float:
    """Return ‖u‖_q, rounded up."""
    sizes = np.abs(u[u != 0.0].astype(np.float64))
    if not len(sizes):
        return 0.0
    if q == math.inf:
        return float(sizes.max())
    largest = float(sizes.max())
    total = math.fsum((sizes / largest) ** q)
    return float(largest * total ** (1.0 / q) * (1.0 + OUTWARD_TOLERANCE))


def build_evidence(
    found: WitnessMeasurement, *, bias: bool, passes: int, batches: BatchStream, target: dict[str, float] | None = None
) -> Evidence:
    """Return the evidence for `passes` passes over the stream, each number moved outward."""
    up, down = 1.0 + OUTWARD_TOLERANCE, 1.0 - OUTWARD_TOLERANCE
    powers: dict[float, float] = {}

    def radius_p(p: float) -> float:
        if p == math.inf:
            return max(found.largest, float(bias)) * up
        if p not in powers:
            powers[p] = max((max_power_sum(rows, labels, p, float(bias)) for rows, labels in batches()), default=0.0)
        return float(powers[p] ** (1.0 / p)) * up

    norm = norm_rounded_up(found.witness)

    def slack(gamma: float) -> float:
        """D₂ for a γ whose width was asked for; for one a little smaller the sum for the larger is an upper bound."""
        width = min((w for w in found.slacks if w >= gamma * norm * down), default=None)
        return (
            math.inf
            if width is None or norm == 0.0
            else math.sqrt(passes * found.slacks[width]) / norm_rounded_down(norm) * up
        )

    return Evidence(
        radius=math.sqrt(found.squared_radius) * up,
        radius_p=radius_p,
        norm=norm,
        norm_q=lambda q: norm_rounded_up(found.witness, q),
        margin=found.margin * (down if found.margin > 0.0 else up),
        losses={
            "hinge": found.hinge * passes * up,
            "logistic": found.logistic * passes * up,
            "squared": found.squared * passes * up,
        },
        slack=slack,
        target=target or {},
        gammas=tuple(width / norm * (1.0 - 8.0 * OUTWARD_TOLERANCE) for width in found.slacks) if norm > 0.0 else (),
    )


def norm_rounded_down(norm: float) -> float:
    """Return a lower bound on a norm, given its upper bound from `norm_rounded_up`."""
    return norm * (1.0 - 4.0 * OUTWARD_TOLERANCE)


def canonicalize_batches(batches: Iterable[SignedBatch], features: int) -> Iterable[SignedBatch]:
    """Drop explicit zeros and sum duplicate features, as learners do."""
    for rows, labels in batches:
        for part, start in list_sparse_blocks(rows, features):
            yield part, labels[start : start + count_rows(part)]
