"""How many hypotheses a class has: a whole number where it can be written, and always its logarithm."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from novikoff.theory import validation
from novikoff.theory.directed_rounding import (UP, above, ln_above, ln_below)

WRITTEN = 10**5
"""Bits of the largest number of hypotheses that is kept as such."""


class Size(NamedTuple):
    """|H|, or what it does not exceed."""

    ln: Decimal
    """ln|H|, rounded up."""
    exact: int | None
    """|H| itself, or the bound itself, where it is no longer than a hundred thousand bits."""
    formula: str
    """|H| as it is counted, with its numbers: 3^10."""
    bound: bool = False
    """Whether there may be fewer."""

    @property
    def log2(self) -> Decimal:
        """log₂|H|, rounded up."""
        if self.exact is not None and self.exact.bit_count() == 1:
            return Decimal(self.exact.bit_length() - 1)
        return UP.divide(self.ln, ln_below(Fraction(2)))

    @property
    def log10(self) -> Decimal:
        return UP.divide(self.ln, ln_below(Fraction(10)))


Hypotheses = int | Size


def of(hypotheses: Any) -> Size:
    """A class of which only the number of hypotheses is told.

    >>> of(8).log2
    Decimal('3')
    """
    if isinstance(hypotheses, Size):
        return hypotheses
    number = validation.count("|H|, the number of hypotheses,", hypotheses, 1)
    return Size(_ln(number), number, f"{number:,}" if number.bit_length() < 200 else "|H|")


def power(base: int, exponent: int, formula: str = "", *, bound: bool = False) -> Size:
    """base^exponent, which need not fit into memory.

    >>> power(3, 10).exact, round(power(2, 2**1000).ln.log10())
    (59049, 301)
    """
    validation.count("The base", base, 1)
    validation.count("The exponent", exponent, 0)
    written = base.bit_length() * exponent <= WRITTEN
    ln = UP.multiply(above(Fraction(exponent)), ln_above(Fraction(base)))
    return Size(ln, base**exponent if written else None, formula or f"{base}^{exponent}", bound)


def times(*sizes: Size, formula: str, bound: bool = False) -> Size:
    """The product."""
    ln = Decimal(0)
    for size in sizes:
        ln = UP.add(ln, size.ln)
    numbers = [size.exact for size in sizes]
    exact = math.prod(n for n in numbers if n is not None) if None not in numbers else None
    return Size(ln, exact, formula, bound)


def number(value: int, formula: str, *, bound: bool = False) -> Size:
    """A number that was counted."""
    return Size(_ln(value), value, formula, bound)


def _ln(value: int) -> Decimal:
    return ln_above(Fraction(value)) if value > 1 else Decimal(0)
