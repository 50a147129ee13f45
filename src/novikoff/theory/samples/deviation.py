"""Sample sizes for any hypothesis of a class of VC dimension d ≥ 1, consistent or not, on m independent examples.

Pr[some true error exceeds the observed one by more than ε] ≤ 4·((2m)^d + 1)·e^(−mε²/8) (Vapnik and Chervonenkis 1971,
with m^d + 1 for the growth function; Abu-Mostafa, Magdon-Ismail and Lin 2012, eq. 2.12 and 2.13).
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from novikoff.theory import validation
from novikoff.theory.directed_rounding import (
    UP,
    Number,
    decimal_above,
    decimal_below,
    exp_above,
    float_above,
    integer_above,
    ln_above,
    sqrt_above,
)


def examples(*, dimension: int, epsilon: Number, delta: Number) -> int:
    """Return the least m with m ≥ (8/ε²)·ln(4((2m)^d + 1)/δ).

    The right side is iterated from m = 1. It increases in m, so the iteration never passes the least m. Its slope
    there is below a third, so the iteration converges quickly.

    >>> examples(dimension=3, epsilon=0.1, delta=0.1)  # "N ≈ 30,000": the book's Example 2.6
    29300
    """
    d, gap, failed = _check_dimension(dimension), validation.check_epsilon(epsilon), validation.check_delta(delta)
    factor, failing = decimal_above(8 / gap**2), ln_above(1 / failed)
    found, needed = 0, 1
    while needed > found:
        found = needed
        needed = integer_above(UP.multiply(factor, UP.add(_ln_four_growth(d, found), failing)))
    return found


def error(*, dimension: int, examples: int, delta: Number) -> float:
    """Return ε = √((8/m)·ln(4((2m)^d + 1)/δ)), at most 1.

    >>> round(error(dimension=1, examples=10_000, delta=0.1), 4)
    0.1043
    """
    d, n_examples, failed = (
        _check_dimension(dimension),
        validation.check_examples(examples),
        validation.check_delta(delta),
    )
    terms = UP.add(_ln_four_growth(d, n_examples), ln_above(1 / failed))
    return min(1.0, float_above(sqrt_above(UP.multiply(decimal_above(Fraction(8, n_examples)), terms))))


def failure(*, dimension: int, examples: int, epsilon: Number) -> float:
    """Return δ = 4((2m)^d + 1)·e^(−mε²/8), at most 1.

    >>> round(failure(dimension=1, examples=20_000, epsilon=0.1), 9)
    2.222e-06
    """
    d, n_examples, gap = (
        _check_dimension(dimension),
        validation.check_examples(examples),
        validation.check_epsilon(epsilon),
    )
    return min(
        1.0, float_above(exp_above(UP.subtract(_ln_four_growth(d, n_examples), decimal_below(n_examples * gap**2 / 8))))
    )


def _check_dimension(value: int) -> int:
    return validation.check_count("The VC dimension, for this bound,", value, 1)


def _ln_four_growth(d: int, n_examples: int) -> Decimal:
    """Return ln(4((2m)^d + 1)), rounded up; for powers that are too long, by ln(a + 1) ≤ ln a + 1/a."""
    if d * (2 * n_examples).bit_length() <= 4000:
        return ln_above(Fraction(4 * ((2 * n_examples) ** d + 1)))
    ln = UP.multiply(d, ln_above(Fraction(2 * n_examples)))
    return UP.add(UP.add(ln, exp_above(ln.copy_negate())), ln_above(Fraction(4)))
