"""Exact facts about a weight vector and examples: smallest margin, radius, and safely rounded square roots.

Floats are integer multiples of powers of two, so their sums and products are rational numbers. They are computed in
floating point first, with an error bound, and in rational arithmetic only where that does not decide.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.separability.signed_rows import SignedExamples, lowest_bit_exponents
from novikoff.errors import SPARSE_MATRIX_PURPOSE, import_optional

MANTISSA_BITS = 53
MIN_NORMAL_EXPONENT = -1022
"""Exponent below which floats lose digits."""


def min_margin(examples: SignedExamples, u: NDArray[np.float64]) -> Fraction:
    """Return min over i of sign_i·u·z_i, exactly."""
    value, error = _approximate_scores(examples, u)
    low, high = np.nextafter(value - error, -np.inf), np.nextafter(value + error, np.inf)
    low, high = np.where(error == 0.0, value, low), np.where(error == 0.0, value, high)
    near = np.flatnonzero(low <= high.min())
    sure = near[error[near] == 0.0]
    found = [Fraction(float(value[sure].min()))] if len(sure) else []
    return min([*found, *(exact_score(examples, i, u) for i in near[error[near] > 0.0].tolist())])


def find_misclassified(examples: SignedExamples, u: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rows with sign_i·u·z_i ≤ 0, exactly."""
    value, error = _approximate_scores(examples, u)
    unsure = np.abs(value) <= error * 1.5
    found = value <= 0.0
    for i in np.flatnonzero(unsure & (error > 0.0)).tolist():
        found[i] = exact_score(examples, i, u) <= 0
    return np.flatnonzero(found)


def separates(examples: SignedExamples, u: NDArray[np.float64]) -> bool:
    value, error = _approximate_scores(examples, u)
    if (value + error * 1.5 <= 0.0).any():
        return False
    unsure = np.flatnonzero(value <= error * 1.5)
    return all(exact_score(examples, i, u) > 0 for i in unsure.tolist())


def exact_score(examples: SignedExamples, i: int, u: NDArray[np.float64]) -> Fraction:
    """Return sign_i·u·z_i, exactly."""
    return sum((value * Fraction(float(u[j])) for j, value in examples.terms(i)), Fraction(0))


def _approximate_scores(
    examples: SignedExamples, u: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sign·u·z of each row in floating point, and its maximum error, 0 where it is exact.

    If all products are multiples of 2^g and their absolute values sum to less than 2^(53+g), no partial sum is
    rounded, in any order. Otherwise the usual error bound holds: half a unit in the last place for each term.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        value = examples.signs * (examples.matrix @ u)
        sizes = examples.sizes @ np.abs(u)
        error = (examples.longest + 4) * 2.0**-52 * sizes + (examples.longest + 1) * 2.0**-1070
    used = np.flatnonzero(u)
    grain = int((examples.lowest_exponents[used] + lowest_bit_exponents(u[used])).min(initial=2**20))
    error[_is_exact(sizes, grain)] = 0.0
    strange = ~np.isfinite(value) | ~np.isfinite(error)
    value[strange], error[strange] = 0.0, np.inf
    return value, error


def _is_exact(sizes: NDArray[np.float64], grain: int) -> Any:
    if grain < MIN_NORMAL_EXPONENT:
        return np.zeros(len(sizes), np.bool_)
    return sizes * (1 + 2.0**-20) < math.ldexp(1.0, min(MANTISSA_BITS + grain, 1023))


def max_sq_norm(examples: SignedExamples) -> Fraction:
    """Return max over i of ‖z_i‖², exactly."""
    csr_matrix = import_optional("scipy.sparse", "scipy", SPARSE_MATRIX_PURPOSE).csr_matrix
    matrix = examples.matrix
    squares = csr_matrix((matrix.data**2, matrix.indices, matrix.indptr), matrix.shape)
    sums = np.asarray(squares.sum(axis=1)).ravel()
    if _is_exact(sums, 2 * int(examples.lowest_exponents.min(initial=2**20)))[int(sums.argmax())]:
        return Fraction(float(sums.max()))
    slack = (examples.longest + 4) * 2.0**-52
    near = np.flatnonzero(sums * (1 + slack) + 2.0**-1000 >= sums.max() * (1 - slack))
    return max(sum((v * v for _, v in examples.terms(i)), Fraction(0)) for i in near.tolist())


def exact_sq_norm(u: NDArray[np.float64]) -> Fraction:
    """Return ‖u‖², exactly."""
    return sum((Fraction(v) ** 2 for v in u[u != 0.0].tolist()), Fraction(0))


def sqrt_below(q: Fraction) -> float:
    """Return the largest float that is at most √q."""
    guess = _approximate_sqrt(q)
    while Fraction(guess) ** 2 > q:
        guess = math.nextafter(guess, 0.0)
    while Fraction(after := math.nextafter(guess, math.inf)) ** 2 <= q:
        guess = after
    return guess


def sqrt_above(q: Fraction) -> float:
    """Return the smallest float that is at least √q."""
    below = sqrt_below(q)
    return below if Fraction(below) ** 2 == q else math.nextafter(below, math.inf)


def _approximate_sqrt(q: Fraction) -> float:
    """Return approximately √q, computed in integers because q itself may exceed the range of floats."""
    shift = max(0, 128 - q.numerator.bit_length() + q.denominator.bit_length())
    shift += shift % 2
    return float(Fraction(math.isqrt((q.numerator << shift) // q.denominator), 1 << (shift // 2)))


def round_up(q: Fraction) -> float:
    """Return the smallest float that is at least q, or infinity."""
    try:
        near = float(q)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= q else math.nextafter(near, math.inf)


def has_matching_shape(examples: SignedExamples, u: NDArray[np.float64]) -> bool:
    return u.shape == (examples.matrix.shape[1],) and bool(np.isfinite(u).all())


def measure_separator(examples: SignedExamples, u: NDArray[np.float64]) -> tuple[float, float, float] | None:
    """Return γ, R and (R/γ)² of a separator; None if u does not separate."""
    if not (has_matching_shape(examples, u) and separates(examples, u)):
        return None
    gamma = min_margin(examples, u) ** 2 / exact_sq_norm(u)
    radius = max_sq_norm(examples)
    return sqrt_below(gamma), sqrt_above(radius), round_up(radius / gamma)


def count_misclassified(examples: SignedExamples, u: NDArray[np.float64]) -> tuple[int, float]:
    if not u.any():
        return examples.count, 0.0
    lowest = min_margin(examples, u)
    return len(find_misclassified(examples, u)), -sqrt_above(lowest**2 / exact_sq_norm(u)) if lowest < 0 else 0.0
