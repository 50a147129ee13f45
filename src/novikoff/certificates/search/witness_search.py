"""Search for witnesses: directions u that make the bounds small. Every u gives a valid bound.

The sharper hinge bound is B = ((r + √(r² + 4L))/2)² with r = R‖u‖ and hinge loss L. The minimizer u of B also
minimizes ½‖u‖² + C·L for C = B_L/(2R²·B_a), the partial derivatives at u with a = r². This is a support vector
machine. Its C is found by alternately solving with a warm start and updating C. The solver is dual coordinate descent
(Hsieh et al. 2008). For the largest margin of separable data C increases until the margin stops growing.

The budget is a number of terms, not a time, so that the same data give the same witness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.certificates.measure import compute_margins
from novikoff.data.canonical_rows import remove_zeros
from novikoff.data.rows import Rows, Sparse, count_rows, end_term, first_term, weight_slot

MIN_PASS_TERMS = 50_000  # least cost of a pass
VIOLATION_TOLERANCE = 1e-3  # of the dual, at which solving stops


class BinarySample(NamedTuple):
    """Examples that are kept in memory, out of `total`."""

    rows: Rows
    labels: NDArray[np.int8]
    total: int

    def share(self) -> float:
        """Return the number of examples of the stream for each kept example."""
        return self.total / max(1, len(self.labels))


@compiled
def compute_sq_norms(rows: Rows, count: int, bias: float, out: NDArray[np.float64]) -> None:
    for i in range(count):
        out[i] = bias
        for k in range(first_term(rows, i), end_term(rows, i)):
            x = np.float64(get_unchecked(rows.values, k))
            out[i] += x * x


@compiled
def run_dual_pass(
    rows: Rows,
    labels: NDArray[np.int8],
    sizes: NDArray[np.float64],
    order: NDArray[np.int64],
    bias: float,
    limit: float,
    alphas: NDArray[np.float64],
    w: NDArray[np.float64],
) -> float:
    """Run one pass of dual coordinate descent on ½‖w‖² + limit·Σ max(0, 1 − y·w·x); return the largest violation."""
    worst = 0.0
    for at in range(len(order)):
        i = order[at]
        if sizes[i] == 0.0 or labels[i] == 0:
            continue
        y = np.float64(labels[i])
        dot = bias * w[0]
        for k in range(first_term(rows, i), end_term(rows, i)):
            dot += np.float64(get_unchecked(rows.values, k)) * get_unchecked(w, weight_slot(rows, i, k))
        slope = y * dot - 1.0
        old = alphas[i]
        violation = min(slope, 0.0) if old <= 0.0 else max(slope, 0.0) if old >= limit else slope
        worst = max(worst, abs(violation))
        if abs(violation) < 1e-12:
            continue
        new = min(max(old - slope / sizes[i], 0.0), limit)
        change = (new - old) * y
        if change != 0.0:
            alphas[i] = new
            w[0] += change * bias
            for k in range(first_term(rows, i), end_term(rows, i)):
                w[weight_slot(rows, i, k)] += change * np.float64(get_unchecked(rows.values, k))
    return worst


class LinearSvmSolver:
    """Linear SVM, solved repeatedly with warm starts."""

    def __init__(self, sample: BinarySample, features: int, *, bias: bool, budget: int) -> None:
        self.sample, self.bias, self.budget = sample, float(bias), budget
        count = count_rows(sample.rows)
        self.terms = max(MIN_PASS_TERMS, int(end_term(sample.rows, count - 1) - first_term(sample.rows, 0)) + count)
        self.sizes, self.alphas, self.w = np.zeros(count), np.zeros(count), np.zeros(features + 1)
        compute_sq_norms(sample.rows, count, self.bias, self.sizes)
        self.random = np.random.default_rng(0)

    def solve(self, limit: float, budget: int, small: float = VIOLATION_TOLERANCE) -> None:
        """Run passes until the violation is small or the budget of terms is used."""
        self._clip(limit)
        rows, labels = self.sample.rows, self.sample.labels
        until = self.budget - budget
        while self.budget > max(until, 0):
            order = self.random.permutation(len(self.alphas))
            worst = run_dual_pass(rows, labels, self.sizes, order, self.bias, limit, self.alphas, self.w)
            self.budget -= self.terms
            if worst < small:
                break

    def _clip(self, limit: float) -> None:
        """Scale all multipliers and w by the same factor to respect a smaller limit."""
        most = float(self.alphas.max(initial=0.0))
        if most > limit:
            self.alphas *= limit / most
            self.w *= limit / most

    def margins(self) -> NDArray[np.float64]:
        out = np.empty(len(self.alphas))
        compute_margins(self.sample.rows, self.sample.labels, self.w, self.bias, out)
        reached: NDArray[np.float64] = out[self.sample.labels != 0]
        return reached


def find_directions(sample: BinarySample, features: int, *, bias: bool, budget: int) -> dict[str, NDArray[np.float64]]:
    """Return the SVM solution for the hinge bounds, and the maximum margin if the sample is separable."""
    svm = LinearSvmSolver(sample, features, bias=bias, budget=budget)
    radius = math.sqrt(float(svm.sizes.max(initial=0.0)))
    if radius == 0.0:
        return {}
    share, limit = sample.share(), 1.0 / radius**2
    for _ in range(8):
        svm.solve(limit, budget // 16)
        r = radius * compute_norm(svm.w)
        loss = share * float(np.maximum(0.0, 1.0 - svm.margins()).sum())
        better = compute_cost(r * r, loss, radius) * share
        settled, limit = abs(better - limit) < 0.02 * limit, better
        if settled:
            break
    svm.solve(limit, budget // 3, small=VIOLATION_TOLERANCE / 10.0)
    found = {"hinge": svm.w.copy()}
    wide = find_max_margin(svm, radius)
    return found if wide is None else {**found, "margin": wide}


def compute_cost(a: float, loss: float, radius: float) -> float:
    """Return C = B_L/(2R²·B_a) for the sharper hinge bound B at a = R²‖u‖² and loss L; R is `radius`."""
    if a <= 0.0:
        return 1.0 / radius**2
    root = math.sqrt(a * a + 4.0 * a * loss)
    by_loss = 1.0 + a / root
    by_a = 0.5 * (1.0 + (a + 2.0 * loss) / root)
    return by_loss / (2.0 * radius**2 * by_a)


def compute_norm(u: NDArray[np.float64]) -> float:
    """Return ‖u‖ with a fixed order of summation; the order in BLAS depends on the number of threads."""
    return math.sqrt(float(np.square(u).sum()))


def minimize_golden_section(function: Callable[[float], float], low: float, high: float, steps: int = 60) -> float:
    """Return the minimizer of a unimodal function by golden-section search."""
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    a, b = low, high
    c, d = b - golden * (b - a), a + golden * (b - a)
    at_c, at_d = function(c), function(d)
    for _ in range(steps):
        if at_c < at_d:
            b, d, at_d = d, c, at_c
            c = b - golden * (b - a)
            at_c = function(c)
        else:
            a, c, at_c = c, d, at_d
            d = a + golden * (b - a)
            at_d = function(d)
    return (a + b) / 2.0


def find_max_margin(svm: LinearSvmSolver, radius: float) -> NDArray[np.float64] | None:
    """Return the direction of the largest margin, found with increasing limits; None where nothing separates."""
    limit, best, witness = 100.0 / radius**2, 0.0, None
    share = svm.budget // 6
    while svm.budget > 0:
        svm.solve(limit, share)
        reached, size = svm.margins(), compute_norm(svm.w)
        least = float(reached.min()) / size if size else 0.0  # w = 0: one row has both labels
        if least > best:
            grown = least > best * 1.001
            best, witness = least, svm.w / (size * least)
            if not grown:
                break
        elif best == 0.0 and limit > 1e4 / radius**2:
            return None
        limit *= 8.0
    return witness


def join_batches(parts: Sequence[tuple[Rows, NDArray[np.int8]]]) -> tuple[Sparse, NDArray[np.int8]]:
    """Concatenate batches without their zeros."""
    pieces = [remove_zeros(rows) for rows, _ in parts]
    lengths = np.concatenate([np.diff(piece.starts) for piece in pieces])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    cut = [slice(int(piece.starts[0]), int(piece.starts[-1])) for piece in pieces]
    return (
        Sparse(
            starts,
            np.concatenate([piece.indices[part] for piece, part in zip(pieces, cut, strict=True)]),
            np.concatenate([piece.values[part] for piece, part in zip(pieces, cut, strict=True)]),
        ),
        np.concatenate([labels for _, labels in parts]),
    )
