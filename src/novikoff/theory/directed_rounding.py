"""Logarithms, roots and powers with sixty digits, rounded up or down so that statements stay true.

A number of examples must never be too small, and a bound on an error never too low. Python's decimals round to a
stated side. Their logarithms, exponentials and roots are off by at most half a unit, so the neighbouring number is
safe. Exponents reach 10^18, so nothing overflows.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DivisionByZero, InvalidOperation
from fractions import Fraction

from novikoff.errors import InputError

PRECISION_DIGITS = 60
MAX_EXAMPLE_DIGITS = 10_000
"""Largest number of digits of a number of examples."""
DECIMAL_TRAPS = [DivisionByZero, InvalidOperation]
"""Traps of the decimal contexts. Overflow is not one: infinity is a valid upper bound."""
UP = Context(prec=PRECISION_DIGITS, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=DECIMAL_TRAPS)
DOWN = Context(prec=PRECISION_DIGITS, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=DECIMAL_TRAPS)

Number = int | float | Fraction | Decimal


def to_fraction(value: Number) -> Fraction:
    """Return the fraction that the decimal text of a number means: 0.3 is three tenths.

    >>> to_fraction(0.3)
    Fraction(3, 10)
    """
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def decimal_above(q: Fraction) -> Decimal:
    return UP.divide(_round_integer(q.numerator, UP), _round_integer(q.denominator, DOWN))


def decimal_below(q: Fraction) -> Decimal:
    return DOWN.divide(_round_integer(q.numerator, DOWN), _round_integer(q.denominator, UP))


def ln_above(q: Fraction) -> Decimal:
    """Return ln q, rounded up."""
    return UP.next_plus(UP.ln(decimal_above(q)))


def ln_below(q: Fraction) -> Decimal:
    """Return ln q, rounded down."""
    return DOWN.next_minus(DOWN.ln(decimal_below(q)))


def log2_above(q: Fraction) -> Decimal:
    ln = ln_above(q)
    return UP.divide(ln, ln_below(Fraction(2)) if ln > 0 else ln_above(Fraction(2)))


def exp_above(x: Decimal) -> Decimal:
    """Return e^x, rounded up. Underflow gives the smallest positive number, because 0 is not an upper bound."""
    return UP.next_plus(UP.exp(x))


def sqrt_above(x: Decimal) -> Decimal:
    return UP.next_plus(UP.sqrt(x))


def integer_above(x: Decimal) -> int:
    """Return the least integer that is at least x."""
    if not x.is_finite() or x.adjusted() > MAX_EXAMPLE_DIGITS:
        raise InputError(
            f"This takes more than 10^{MAX_EXAMPLE_DIGITS:,} examples, which is too large to write: choose a"
            " smaller class."
        )
    return math.ceil(x)


def float_above(x: Decimal) -> float:
    """Return the least float that is at least x, as a binary number and as `to_fraction` reads it; or infinity.

    >>> float_above(Decimal("0.1")), float_above(Decimal("0.3")), float_above(Decimal("1e-400"))
    (0.1, 0.30000000000000004, 5e-324)
    """
    near = float(x)
    return near if Decimal(near) >= x and Decimal(repr(near)) >= x else math.nextafter(near, math.inf)


def float_below(x: Decimal) -> float:
    near = float(x)
    return near if Decimal(near) <= x and Decimal(repr(near)) <= x else math.nextafter(near, -math.inf)


def find_least_float(holds: Callable[[Fraction], bool]) -> float:
    """Return the least float from 0 to 1 for which the predicate holds, or 1 where it holds for none.

    The predicate must be monotone: if it holds for a number, it holds for all larger ones. Positive floats have the
    order of their bits, so the search bisects the bits.

    >>> find_least_float(lambda p: 4 * p >= 1)
    0.25
    """
    low, high = 0, _BITS_OF_ONE
    while high - low > 1:
        middle = (low + high) // 2
        value = _float_from_bits(middle)
        low, high = (low, middle) if holds(min(Fraction(value), to_fraction(value))) else (middle, high)
    return _float_from_bits(high)


def find_largest_float(holds: Callable[[Fraction], bool]) -> float:
    """Return the largest float from 0 to 1 for which the predicate holds, or 0 where it holds for none.

    The predicate must be monotone: if it holds for a number, it holds for all smaller ones.
    """
    low, high = 0, _BITS_OF_ONE
    while high - low > 1:
        middle = (low + high) // 2
        value = _float_from_bits(middle)
        low, high = (middle, high) if holds(max(Fraction(value), to_fraction(value))) else (low, middle)
    return _float_from_bits(low)


_BITS_OF_ONE = 0x3FF0_0000_0000_0000


def _float_from_bits(bits: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return value


def _round_integer(number: int, context: Context) -> Decimal:
    """Return an integer as a decimal of sixty digits. Of huge integers only the leading bits are converted."""
    extra = abs(number).bit_length() - 4 * PRECISION_DIGITS
    if extra <= 0:
        return context.create_decimal(number)
    leading = number >> extra if context is DOWN else -(-number >> extra)
    return context.multiply(context.create_decimal(leading), _power_of_two(extra, context))


def _power_of_two(exponent: int, context: Context) -> Decimal:
    """Return 2^e, rounded to the side of the context. Decimal powers are off by at most one unit."""
    found = context.power(2, exponent)
    return context.next_plus(found) if context is UP else context.next_minus(found)
