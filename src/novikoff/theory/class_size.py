"""Sizes of hypothesis classes: the exact number where it can be written, and always its logarithm."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from novikoff.theory import validation
from novikoff.theory.directed_rounding import UP, decimal_above, ln_above, ln_below

MAX_EXACT_BITS = 10**5
"""Bits of the largest class size that is kept as an integer."""


class ClassSize(NamedTuple):
    """The size |H| of a hypothesis class, or an upper bound on it."""

    ln: Decimal
    """ln|H|, rounded up."""
    exact: int | None
    """|H| or its bound as an integer; None where it has more than `MAX_EXACT_BITS` bits."""
    formula: str
    """|H| as a formula with its numbers, such as 3^10."""
    bound: bool = False
    """Whether the size is only an upper bound."""

    @property
    def log2(self) -> Decimal:
        """log₂|H|, rounded up."""
        if self.exact is not None and self.exact.bit_count() == 1:
            return Decimal(self.exact.bit_length() - 1)
        return UP.divide(self.ln, ln_below(Fraction(2)))

    @property
    def log10(self) -> Decimal:
        return UP.divide(self.ln, ln_below(Fraction(10)))


Hypotheses = int | ClassSize


def to_class_size(hypotheses: Any) -> ClassSize:
    """Return the size of a class from its number of hypotheses.

    >>> to_class_size(8).log2
    Decimal('3')
    """
    if isinstance(hypotheses, ClassSize):
        return hypotheses
    number = validation.check_count("|H|, the number of hypotheses,", hypotheses, 1)
    return ClassSize(_ln_rounded_up(number), number, f"{number:,}" if number.bit_length() < 200 else "|H|")


def power_size(base: int, exponent: int, formula: str = "", *, bound: bool = False) -> ClassSize:
    """Return the size base^exponent, which may be too large for memory.

    >>> power_size(3, 10).exact, round(power_size(2, 2**1000).ln.log10())
    (59049, 301)
    """
    validation.check_count("The base", base, 1)
    validation.check_count("The exponent", exponent, 0)
    written = base.bit_length() * exponent <= MAX_EXACT_BITS
    ln = UP.multiply(decimal_above(Fraction(exponent)), ln_above(Fraction(base)))
    return ClassSize(ln, base**exponent if written else None, formula or f"{base}^{exponent}", bound)


def product_size(*sizes: ClassSize, formula: str, bound: bool = False) -> ClassSize:
    """Return the size of a product of classes."""
    ln = Decimal(0)
    for size in sizes:
        ln = UP.add(ln, size.ln)
    numbers = [size.exact for size in sizes]
    exact = math.prod(n for n in numbers if n is not None) if None not in numbers else None
    return ClassSize(ln, exact, formula, bound)


def exact_size(value: int, formula: str, *, bound: bool = False) -> ClassSize:
    """Return a size that is known as an integer."""
    return ClassSize(_ln_rounded_up(value), value, formula, bound)


def _ln_rounded_up(value: int) -> Decimal:
    return ln_above(Fraction(value)) if value > 1 else Decimal(0)
