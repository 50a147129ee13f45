"""Any hypothesis of a class of VC dimension d ≥ 1, consistent or not, on m independent examples.

Pr[some true error is more than ε above what was seen] ≤ 4·((2m)^d + 1)·e^(−mε²/8) (Vapnik and Chervonenkis 1971, with
m^d + 1 for the growth function; Abu-Mostafa, Magdon-Ismail and Lin 2012, eq. 2.12 and 2.13).
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from novikoff.theory import validation
from novikoff.theory.directed_rounding import (UP, Number, above, below, exp_above, float_above, ln_above, root_above, whole_above)


def examples(*, dimension: int, epsilon: Number, delta: Number) -> int:
    """The least m with m ≥ (8/ε²)·ln(4((2m)^d + 1)/δ).

    The right side put in for m, from m = 1 on, again and again: as it grows with m, this never passes the least m, and
    as it grows less than a third as fast there, it is soon reached.

    >>> examples(dimension=3, epsilon=0.1, delta=0.1)  # "N ≈ 30,000": the book's Example 2.6
    29300
    """
    d, gap, failed = _dimension(dimension), validation.epsilon(epsilon), validation.delta(delta)
    factor, failing = above(8 / gap**2), ln_above(1 / failed)
    found, needed = 0, 1
    while needed > found:
        found = needed
        needed = whole_above(UP.multiply(factor, UP.add(_ln_four_growth(d, found), failing)))
    return found


def error(*, dimension: int, examples: int, delta: Number) -> float:
    """ε ≤ √((8/m)·ln(4((2m)^d + 1)/δ)); 1 where that is more.

    >>> round(error(dimension=1, examples=10_000, delta=0.1), 4)
    0.1043
    """
    d, many, failed = _dimension(dimension), validation.examples(examples), validation.delta(delta)
    terms = UP.add(_ln_four_growth(d, many), ln_above(1 / failed))
    return min(1.0, float_above(root_above(UP.multiply(above(Fraction(8, many)), terms))))


def failure(*, dimension: int, examples: int, epsilon: Number) -> float:
    """δ ≤ 4((2m)^d + 1)·e^(−mε²/8); 1 where that is more.

    >>> round(failure(dimension=1, examples=20_000, epsilon=0.1), 9)
    2.222e-06
    """
    d, many, gap = _dimension(dimension), validation.examples(examples), validation.epsilon(epsilon)
    return min(1.0, float_above(exp_above(UP.subtract(_ln_four_growth(d, many), below(many * gap**2 / 8)))))


def _dimension(value: int) -> int:
    return validation.count("The VC dimension, for this bound,", value, 1)


def _ln_four_growth(d: int, many: int) -> Decimal:
    """ln(4((2m)^d + 1)), rounded up; where the power is too long to be written, by ln(a + 1) ≤ ln a + 1/a."""
    if d * (2 * many).bit_length() <= 4000:
        return ln_above(Fraction(4 * ((2 * many) ** d + 1)))
    ln = UP.multiply(d, ln_above(Fraction(2 * many)))
    return UP.add(UP.add(ln, exp_above(ln.copy_negate())), ln_above(Fraction(4)))
