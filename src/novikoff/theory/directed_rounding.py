"""Logarithms, roots and powers to sixty digits, each rounded to the side that keeps a statement true.

A number of examples must never come out too small, a bound on an error never too low. The decimals of Python round to a
stated side; their logarithms, exponentials and roots are off by half a unit at most, so that the next number is safe.
Nothing overflows: exponents go to 10^18.
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
"""Digits of a number of examples; more have no use."""
DECIMAL_TRAPS = [DivisionByZero, InvalidOperation]
"""What is too large becomes infinity, which is true of an upper bound."""
UP = Context(prec=PRECISION_DIGITS, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=DECIMAL_TRAPS)
DOWN = Context(prec=PRECISION_DIGITS, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=DECIMAL_TRAPS)

Number = int | float | Fraction | Decimal


def to_fraction(value: Number) -> Fraction:
    """The number that is meant: 0.3 is three tenths, and not the nearest sum of powers of two.

    >>> to_fraction(0.3)
    Fraction(3, 10)
    """
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def decimal_above(q: Fraction) -> Decimal:
    return UP.divide(_round_integer(q.numerator, UP), _round_integer(q.denominator, DOWN))


def decimal_below(q: Fraction) -> Decimal:
    return DOWN.divide(_round_integer(q.numerator, DOWN), _round_integer(q.denominator, UP))


def ln_above(q: Fraction) -> Decimal:
    """Not below ln q."""
    return UP.next_plus(UP.ln(decimal_above(q)))


def ln_below(q: Fraction) -> Decimal:
    """Not above ln q."""
    return DOWN.next_minus(DOWN.ln(decimal_below(q)))


def log2_above(q: Fraction) -> Decimal:
    ln = ln_above(q)
    return UP.divide(ln, ln_below(Fraction(2)) if ln > 0 else ln_above(Fraction(2)))


def exp_above(x: Decimal) -> Decimal:
    """Not below e^x; 0 is no probability, so that what is too small for any number is the smallest one."""
    return UP.next_plus(UP.exp(x))


def sqrt_above(x: Decimal) -> Decimal:
    return UP.next_plus(UP.sqrt(x))


def integer_above(x: Decimal) -> int:
    """The least whole number that is not below x."""
    if not x.is_finite() or x.adjusted() > MAX_EXAMPLE_DIGITS:
        raise InputError(
            f"That would be more than 10^{MAX_EXAMPLE_DIGITS:,} examples: no such number is written out; choose a"
            " smaller class."
        )
    return math.ceil(x)


def float_above(x: Decimal) -> float:
    """The least floating-point number that is not below x, both as it is and as `to_fraction` takes it; infinity
    where there is none.

    >>> float_above(Decimal("0.1")), float_above(Decimal("0.3")), float_above(Decimal("1e-400"))
    (0.1, 0.30000000000000004, 5e-324)
    """
    near = float(x)
    return near if Decimal(near) >= x and Decimal(repr(near)) >= x else math.nextafter(near, math.inf)


def float_below(x: Decimal) -> float:
    near = float(x)
    return near if Decimal(near) <= x and Decimal(repr(near)) <= x else math.nextafter(near, -math.inf)


def find_least_float(holds: Callable[[Fraction], bool]) -> float:
    """The least floating-point number from 0 to 1 for which it holds; 1 where it holds for none.

    What holds for a number must hold for all larger ones. Positive floating-point numbers are in the order of their
    bits, so that these are halved.

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
    """The largest floating-point number from 0 to 1 for which it holds; 0 where it holds for none.

    What holds for a number must hold for all smaller ones.
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
    """A whole number to sixty digits; of huge ones only the leading bits are looked at."""
    extra = abs(number).bit_length() - 4 * PRECISION_DIGITS
    if extra <= 0:
        return context.create_decimal(number)
    leading = number >> extra if context is DOWN else -(-number >> extra)
    return context.multiply(context.create_decimal(leading), _power_of_two(extra, context))


def _power_of_two(exponent: int, context: Context) -> Decimal:
    """2^e, rounded to the context's side: powers of decimals are off by one unit at most."""
    found = context.power(2, exponent)
    return context.next_plus(found) if context is UP else context.next_minus(found)
