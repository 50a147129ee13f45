"""What is exactly true of a weight vector and some examples: the least margin, the radius, and roots rounded safely.

All data are floating-point numbers, that is, whole multiples of powers of two: sums and products of them are rational
numbers that can be written down. They are computed in floating point first, with a bound on the rounding, and in
rationals only where that does not decide.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.separability.signed_rows import Examples, lowest_bits
from novikoff.errors import SPARSE, needed

DIGITS = 53
SMALLEST = -1022
"""The exponent from which on down numbers lose digits."""


def least(examples: Examples, u: NDArray[np.float64]) -> Fraction:
    """min over i of sign_i·u·z_i, exactly."""
    value, error = _scores(examples, u)
    low, high = np.nextafter(value - error, -np.inf), np.nextafter(value + error, np.inf)
    low, high = np.where(error == 0.0, value, low), np.where(error == 0.0, value, high)
    near = np.flatnonzero(low <= high.min())
    sure = near[error[near] == 0.0]
    found = [Fraction(float(value[sure].min()))] if len(sure) else []
    return min([*found, *(score(examples, i, u) for i in near[error[near] > 0.0].tolist())])


def wrong(examples: Examples, u: NDArray[np.float64]) -> NDArray[np.int64]:
    """The rows with sign_i·u·z_i ≤ 0, exactly."""
    value, error = _scores(examples, u)
    unsure = np.abs(value) <= error * 1.5
    found = value <= 0.0
    for i in np.flatnonzero(unsure & (error > 0.0)).tolist():
        found[i] = score(examples, i, u) <= 0
    return np.flatnonzero(found)


def separates(examples: Examples, u: NDArray[np.float64]) -> bool:
    value, error = _scores(examples, u)
    if (value + error * 1.5 <= 0.0).any():
        return False
    unsure = np.flatnonzero(value <= error * 1.5)
    return all(score(examples, i, u) > 0 for i in unsure.tolist())


def score(examples: Examples, i: int, u: NDArray[np.float64]) -> Fraction:
    """sign_i·u·z_i, exactly."""
    return sum((value * Fraction(float(u[j])) for j, value in examples.terms(i)), Fraction(0))


def _scores(examples: Examples, u: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """sign·u·z of each row in floating point, and how far it may be off; 0 where it can't be.

    Where all products are whole multiples of 2^g and their sizes add up to less than 2^(53+g), no sum of some of them
    is rounded, in whatever order. Otherwise the usual bound holds: so many terms, each off by half a unit of its last
    place.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        value = examples.signs * (examples.matrix @ u)
        sizes = examples.sizes @ np.abs(u)
        error = (examples.longest + 4) * 2.0**-52 * sizes + (examples.longest + 1) * 2.0**-1070
    used = np.flatnonzero(u)
    grain = int((examples.grain[used] + lowest_bits(u[used])).min(initial=2**20))
    error[_unrounded(sizes, grain)] = 0.0
    strange = ~np.isfinite(value) | ~np.isfinite(error)
    value[strange], error[strange] = 0.0, np.inf
    return value, error


def _unrounded(sizes: NDArray[np.float64], grain: int) -> Any:
    if grain < SMALLEST:
        return np.zeros(len(sizes), np.bool_)
    return sizes * (1 + 2.0**-20) < math.ldexp(1.0, min(DIGITS + grain, 1023))


def largest_square(examples: Examples) -> Fraction:
    """max over i of ‖z_i‖², exactly."""
    csr_matrix = needed("scipy.sparse", "scipy", SPARSE).csr_matrix
    matrix = examples.matrix
    squares = csr_matrix((matrix.data**2, matrix.indices, matrix.indptr), matrix.shape)
    sums = np.asarray(squares.sum(axis=1)).ravel()
    if _unrounded(sums, 2 * int(examples.grain.min(initial=2**20)))[int(sums.argmax())]:
        return Fraction(float(sums.max()))
    slack = (examples.longest + 4) * 2.0**-52
    near = np.flatnonzero(sums * (1 + slack) + 2.0**-1000 >= sums.max() * (1 - slack))
    return max(sum((v * v for _, v in examples.terms(i)), Fraction(0)) for i in near.tolist())


def square(u: NDArray[np.float64]) -> Fraction:
    """‖u‖², exactly."""
    return sum((Fraction(v) ** 2 for v in u[u != 0.0].tolist()), Fraction(0))


def root_below(q: Fraction) -> float:
    """The largest floating-point number that is not above √q."""
    guess = _root(q)
    while Fraction(guess) ** 2 > q:
        guess = math.nextafter(guess, 0.0)
    while Fraction(after := math.nextafter(guess, math.inf)) ** 2 <= q:
        guess = after
    return guess


def root_above(q: Fraction) -> float:
    """The smallest floating-point number that is not below √q."""
    below = root_below(q)
    return below if Fraction(below) ** 2 == q else math.nextafter(below, math.inf)


def _root(q: Fraction) -> float:
    """√q, nearly; in whole numbers, for q itself may be too large or too small for a floating-point number."""
    shift = max(0, 128 - q.numerator.bit_length() + q.denominator.bit_length())
    shift += shift % 2
    return float(Fraction(math.isqrt((q.numerator << shift) // q.denominator), 1 << (shift // 2)))


def above(q: Fraction) -> float:
    """The smallest floating-point number that is not below q; infinity where there is none."""
    try:
        near = float(q)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= q else math.nextafter(near, math.inf)


def fits(examples: Examples, u: NDArray[np.float64]) -> bool:
    return u.shape == (examples.matrix.shape[1],) and bool(np.isfinite(u).all())


def measured(examples: Examples, u: NDArray[np.float64]) -> tuple[float, float, float] | None:
    """γ, R and (R/γ)² of a separator; None for anything else."""
    if not (fits(examples, u) and separates(examples, u)):
        return None
    gamma = least(examples, u) ** 2 / square(u)
    radius = largest_square(examples)
    return root_below(gamma), root_above(radius), above(radius / gamma)


def missed(examples: Examples, u: NDArray[np.float64]) -> tuple[int, float]:
    if not u.any():
        return examples.count, 0.0
    lowest = least(examples, u)
    return len(wrong(examples, u)), -root_above(lowest**2 / square(u)) if lowest < 0 else 0.0
