"""Lower and upper bounds on ln n! for integers n of any length.

Small factorials are computed exactly. For large n, Stirling's series is used: its terms alternate, so the remainder
lies between 0 and the first omitted term (DLMF 5.11.1 and 5.11(ii)).
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from novikoff.theory.directed_rounding import DOWN, UP, decimal_above, decimal_below, ln_above, ln_below

MAX_COUNTED_FACTORIAL = 200
STIRLING_COEFFICIENTS = tuple(
    Fraction(*pair)
    for pair in (
        (1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156), (-3617, 122400),
        (43867, 244188), (-174611, 125400), (77683, 5796), (-236364091, 1506960),
    )
)  # fmt: skip
"""B_2k/(2k(2k−1)): the coefficients of 1/n, 1/n³, 1/n⁵ …; the last one only bounds the remainder."""


class DecimalInterval(NamedTuple):
    low: Decimal
    high: Decimal


@cache
def ln_factorial(n: int) -> DecimalInterval:
    """Return a lower and an upper bound on ln n!.

    >>> low, high = ln_factorial(1000)
    >>> round(low, 10) == round(high, 10)
    True
    >>> round(high, 6)
    Decimal('5912.128178')
    """
    if n < 2:
        return DecimalInterval(Decimal(0), Decimal(0))
    if n <= MAX_COUNTED_FACTORIAL:
        product = Fraction(math.factorial(n))
        return DecimalInterval(ln_below(product), ln_above(product))
    series = sum((term / n ** (2 * k + 1) for k, term in enumerate(STIRLING_COEFFICIENTS[:-1])), Fraction(0))
    rest = STIRLING_COEFFICIENTS[-1] / n ** (2 * len(STIRLING_COEFFICIENTS) - 1)
    low, high = sorted((series, series + rest))
    return DecimalInterval(_stirling(n, low, up=False), _stirling(n, high, up=True))


def _stirling(n: int, series: Fraction, *, up: bool) -> Decimal:
    """Return (n + ½)·ln n − n + ½·ln 2π + the series."""
    side, ln, whole = (UP, ln_above, decimal_above) if up else (DOWN, ln_below, decimal_below)
    head = side.multiply(whole(Fraction(2 * n + 1, 2)), ln(Fraction(n)))
    half_ln_two_pi = side.multiply(Decimal("0.5"), ln(2 * (_PI_HIGH if up else _PI_LOW)))
    return side.add(side.subtract(side.add(head, half_ln_two_pi), n), whole(series))


_PI_LOW = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628")
_PI_HIGH = _PI_LOW + Fraction(1, 10**70)
