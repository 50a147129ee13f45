"""Simplification of separators: a wide margin in numbers with few digits, which are readable and multiply exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.search.max_margin import maximize_margin
from novikoff.certificates.separability import exact_arithmetic
from novikoff.certificates.separability.signed_rows import SignedExamples

MIN_SQ_MARGIN_RATIO = Fraction(998, 1000)
"""Share of γ² that the simplified witness must keep."""
ROUNDING_BITS = (2, 4, 8, 12, 16, 24, 32, 44)


def simplify_witness(examples: SignedExamples, u: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return a separator almost as wide as u or wider, for unscaled columns; None if u does not separate.

    u is for scaled columns.
    """
    found = _measure_candidates(examples, u)
    if not found:
        return None
    wide = _measure_candidates(examples, np.ldexp(maximize_margin(examples), examples.scale))
    if wide and max(gamma for gamma, _ in wide) > max(gamma for gamma, _ in found):
        found = wide
    widest = max(gamma for gamma, _ in found)
    return next(witness for gamma, witness in found if gamma >= MIN_SQ_MARGIN_RATIO * widest)


def unscale_columns(examples: SignedExamples, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of the unscaled columns."""
    with np.errstate(over="ignore", under="ignore"):
        witness = np.ldexp(u, -examples.scale)
    return np.where(np.isfinite(witness), witness, 0.0)


def _measure_candidates(examples: SignedExamples, u: NDArray[np.float64]) -> list[tuple[Fraction, NDArray[np.float64]]]:
    """Return γ² and weights of u and its roundings that separate, those with the fewest bits first."""
    witnesses = [unscale_columns(examples, rounded) for rounded in (*_round_to_bits(u), u)]
    return [
        (exact_arithmetic.min_margin(examples, witness) ** 2 / exact_arithmetic.exact_sq_norm(witness), witness)
        for witness in witnesses
        if exact_arithmetic.separates(examples, witness)
    ]


def _round_to_bits(u: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return u rounded to integers of each number of bits, divided by their common divisor."""
    top = int(np.frexp(np.abs(u).max())[1])
    found = []
    for bits in ROUNDING_BITS:
        numbers = np.rint(np.ldexp(u, bits - top)).astype(np.int64)
        divisor = np.gcd.reduce(numbers)
        if divisor:
            found.append((numbers // divisor).astype(np.float64))
    return found
