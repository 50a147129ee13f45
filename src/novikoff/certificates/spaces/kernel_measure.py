"""Measurement of a witness u = Σ β_j·φ(x_j) on a stream, with rounding that can only weaken the claim."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.certificates.measure import (
    EXAMPLES,
    OUTWARD_TOLERANCE,
    SQUARED_RADIUS,
    WitnessMeasurement,
    init_sums,
    to_measurement,
)
from novikoff.certificates.multiclass_sample import join_rows
from novikoff.certificates.spaces.kernel_error import MACHINE_EPSILON, ValueWithError, evaluate_with_error
from novikoff.certificates.spaces.pairwise_measure import add_losses
from novikoff.data.rows import Rows, Sparse, count_rows, slice_rows
from novikoff.kernels.bytecode import compile_kernel
from novikoff.kernels.expression import Kernel, Linear
from novikoff.kernels.gram import to_canonical_sparse
from novikoff.kernels.support_set import (
    SupportSet,
    build_support_set,
    compute_gram_threaded,
    compute_sq_norms,
    pad_to_panels,
    should_use_panels,
)
from novikoff.theory.bound_declaration import Evidence

BLOCK_VALUES = 1 << 19
UNDERFLOW_ALLOWANCE = 2.0**-1000  # exceeds the sum of all underflowed products


class WitnessSupport(NamedTuple):
    """The examples in a witness."""

    rows: Sparse
    numbers: NDArray[np.int64]
    """Their numbers in the stream, from 0."""
    kept: SupportSet


class NormBounds(NamedTuple):
    """Lower and upper bound on ‖u‖."""

    low: float
    high: float


def build_support(rows: Sparse, numbers: NDArray[np.int64], features: int) -> WitnessSupport:
    panels = should_use_panels(features, len(numbers), len(rows.values))
    return WitnessSupport(rows, numbers, build_support_set(rows, features, panels=panels))


def collect_support(stream: Iterable[tuple[Rows, Any]], numbers: NDArray[np.int64], features: int) -> WitnessSupport:
    """Read the examples with these increasing numbers."""
    found, places, total = list[Rows](), list[int](), 0
    for rows, codes in stream:
        here = numbers[(numbers >= total) & (numbers < total + len(codes))]
        for number in here.tolist():
            found.append(to_canonical_sparse(slice_rows(rows, number - total, number - total + 1), features))
            places.append(number)
        total += len(codes)
    return build_support(join_rows(found), np.array(places, np.int64), features)


def evaluate_kernel(
    kernel: Kernel, supports: WitnessSupport, rows: Sparse
) -> tuple[ValueWithError, NDArray[np.float64]]:
    """Return K between each row and each support example, with errors, and ‖x‖² of the rows."""
    count, squares = len(supports.numbers), np.empty(count_rows(rows))
    compute_sq_norms(rows, squares)
    dots = np.empty((len(squares), pad_to_panels(count)))
    compute_gram_threaded(supports.kept, compile_kernel(Linear())[0], rows, squares, count, np.zeros((0, 1)), dots)
    others = supports.kept.squares[:count]
    terms = max(_max_terms(rows), _max_terms(supports.rows))
    found = evaluate_with_error(compile_kernel(kernel)[0], dots[:, :count], squares[:, None], others[None, :], terms)
    return ValueWithError(np.ascontiguousarray(found.value), np.ascontiguousarray(found.error)), squares


def evaluate_diagonal(kernel: Kernel, squares: NDArray[np.float64], terms: int) -> NDArray[np.float64]:
    """Return K(x, x), rounded up."""
    own = evaluate_with_error(compile_kernel(kernel)[0], squares, squares, squares, terms)
    return (own.value + own.error) * (1.0 + 4.0 * MACHINE_EPSILON)


@compiled
def combine(
    K: NDArray[np.float64], E: NDArray[np.float64], beta: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Write Σ β_j·K_ij of each row, and its maximum error, to `out`."""
    for i in range(len(K)):
        total, size, error = 0.0, 0.0, 0.0
        for j in range(len(beta)):
            product = beta[j] * K[i, j]
            total += product
            size += abs(product)
            error += abs(beta[j]) * E[i, j] if beta[j] != 0.0 else 0.0
        slip = (len(beta) + 8.0) * MACHINE_EPSILON
        error = (error + size * slip) * (1.0 + 2.0 * slip) + UNDERFLOW_ALLOWANCE
        known = size < math.inf and error < math.inf
        out[i, 0] = total if known else 0.0
        out[i, 1] = error if known else math.inf


@compiled
def add_rows(
    reached: NDArray[np.float64],
    sides: NDArray[np.float64],
    own: NDArray[np.float64],
    widths: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add examples with these u·φ(x) and errors to the sums; examples of side 0 are skipped."""
    for i in range(len(sides)):
        if sides[i] != 0.0:
            middle = sides[i] * reached[i, 0]
            sums[EXAMPLES] += 1.0
            sums[SQUARED_RADIUS] = max(sums[SQUARED_RADIUS], own[i])
            low, high = middle - reached[i, 1], middle + reached[i, 1]
            add_losses(low - abs(low) * MACHINE_EPSILON, high + abs(high) * MACHINE_EPSILON, widths, sums)


def bound_norm(kernel: Kernel, supports: WitnessSupport, beta: NDArray[np.float64]) -> NormBounds:
    """Return lower and upper bounds on ‖u‖."""
    found, _ = evaluate_kernel(kernel, supports, supports.rows)
    reached = np.empty((len(beta), 2))
    combine(found.value, found.error, beta, reached)
    parts = (beta * reached[:, 0]).tolist()
    size = math.fsum(map(abs, parts))
    if not np.isfinite(reached).all():
        return NormBounds(0.0, math.inf)
    error = math.fsum((np.abs(beta) * reached[:, 1]).tolist()) + 8.0 * MACHINE_EPSILON * size + UNDERFLOW_ALLOWANCE
    square = math.fsum(parts)
    low, high = (
        max(0.0, square - error * (1.0 + OUTWARD_TOLERANCE)),
        max(0.0, square + error * (1.0 + OUTWARD_TOLERANCE)),
    )
    return NormBounds(math.sqrt(low) * (1.0 - OUTWARD_TOLERANCE), math.sqrt(high) * (1.0 + OUTWARD_TOLERANCE))


def measure_kernel_witnesses(
    kernel: Kernel,
    supports: WitnessSupport,
    betas: list[NDArray[np.float64]],
    widths: list[NDArray[np.float64]],
    stream: Iterable[tuple[Rows, Any]],
    side: Any,
    features: int,
) -> list[WitnessMeasurement]:
    """Measure all witnesses in one pass; `side(codes, k)` returns the signs of examples for witness k."""
    sums = [init_sums(len(wanted)) for wanted in widths]
    each = max(1, BLOCK_VALUES // max(1, len(supports.numbers)))
    for rows, codes in stream:
        terms = to_canonical_sparse(rows, features)
        for start in range(0, len(codes), each):
            stop = min(start + each, len(codes))
            part: Any = slice_rows(terms, start, stop)
            found, squares = evaluate_kernel(kernel, supports, part)
            own = evaluate_diagonal(kernel, squares, _max_terms(part))
            reached = np.empty((stop - start, 2))
            for k, beta in enumerate(betas):
                combine(found.value, found.error, beta, reached)
                add_rows(reached, side(codes[start:stop], k), own, widths[k], sums[k])
    none = np.zeros(0, np.float32)
    done = [to_measurement(none, wanted.tolist(), total) for wanted, total in zip(widths, sums, strict=True)]
    return [m._replace(margin=m.margin if m.examples else 0.0) for m in done]


def build_kernel_evidence(found: WitnessMeasurement, norm: NormBounds, passes: int) -> Evidence:
    """Return the evidence for `passes` passes over the stream, each number moved outward."""
    up, down = 1.0 + OUTWARD_TOLERANCE, 1.0 - OUTWARD_TOLERANCE
    usable = norm.low > 0.0

    def slack(gamma: float) -> float:
        width = min((w for w in found.slacks if w >= gamma * norm.high * down), default=None)
        return math.inf if width is None or not usable else math.sqrt(passes * found.slacks[width]) / norm.low * up

    losses = {"hinge": found.hinge, "logistic": found.logistic, "squared": found.squared}
    return Evidence(
        radius=math.sqrt(max(0.0, found.squared_radius)) * up,
        radius_p=lambda p: math.sqrt(max(0.0, found.squared_radius)) * up if p == 2.0 else math.inf,
        norm=norm.high,
        norm_q=lambda q: norm.high if q == 2.0 else math.inf,
        margin=found.margin * (down if found.margin > 0.0 else up),
        losses={name: loss * passes * up for name, loss in losses.items()},
        slack=slack,
        gammas=tuple(width / norm.high * (1.0 - 8.0 * OUTWARD_TOLERANCE) for width in found.slacks) if usable else (),
    )


def _max_terms(rows: Sparse) -> int:
    return int(np.diff(rows.starts).max(initial=0))
