"""A witness that is wide and short: of a separator, and of the widest one that was met, the numbers with the fewest
digits that cost next to nothing of the margin. Short numbers can be read, and products of them are exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.search.max_margin import maximize_margin
from novikoff.certificates.separability import exact_arithmetic
from novikoff.certificates.separability.signed_rows import SignedExamples

MIN_SQ_MARGIN_RATIO = Fraction(998, 1000)
"""How much of γ² may be given up for a witness in shorter numbers."""
ROUNDING_BITS = (2, 4, 8, 12, 16, 24, 32, 44)


def simplify_witness(examples: SignedExamples, u: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """A separator at least nearly as wide as u, which is of scaled columns; None where u is no separator."""
    found = _measure_candidates(examples, u)
    if not found:
        return None
    wide = _measure_candidates(examples, np.ldexp(maximize_margin(examples), examples.scale))
    if wide and max(gamma for gamma, _ in wide) > max(gamma for gamma, _ in found):
        found = wide
    widest = max(gamma for gamma, _ in found)
    return next(witness for gamma, witness in found if gamma >= MIN_SQ_MARGIN_RATIO * widest)


def unscale_columns(examples: SignedExamples, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same u for the columns as they are."""
    with np.errstate(over="ignore", under="ignore"):
        witness = np.ldexp(u, -examples.scale)
    return np.where(np.isfinite(witness), witness, 0.0)


def _measure_candidates(examples: SignedExamples, u: NDArray[np.float64]) -> list[tuple[Fraction, NDArray[np.float64]]]:
    """γ² of u and of u in shorter numbers, the shortest first; those that don't separate left out."""
    witnesses = [unscale_columns(examples, rounded) for rounded in (*_round_to_bits(u), u)]
    return [
        (exact_arithmetic.min_margin(examples, witness) ** 2 / exact_arithmetic.exact_sq_norm(witness), witness)
        for witness in witnesses
        if exact_arithmetic.separates(examples, witness)
    ]


def _round_to_bits(u: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """u in whole numbers of so many bits, divided by what they have in common."""
    top = int(np.frexp(np.abs(u).max())[1])
    found = []
    for bits in ROUNDING_BITS:
        numbers = np.rint(np.ldexp(u, bits - top)).astype(np.int64)
        divisor = np.gcd.reduce(numbers)
        if divisor:
            found.append((numbers // divisor).astype(np.float64))
    return found
