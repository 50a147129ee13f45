"""Text of formulas with numbers substituted, and of numbers rounded to the side that keeps statements true."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from novikoff.theory.class_size import ClassSize
from novikoff.theory.directed_rounding import UP

MAX_WRITTEN_INTEGER = 10**15
"""Largest integer that is written with all digits."""


def substitute_numbers(formula: str, numbers: Mapping[str, str]) -> str:
    """Replace each symbol of a formula. Letters inside words are not symbols.

    >>> substitute_numbers("(1/ε)·(ln|H| + ln(1/δ))", {"ε": "0.1", "ln|H|": "11", "δ": "0.05"})
    '(1/0.1)·(11 + ln(1/0.05))'
    """
    symbols = sorted(numbers, key=len, reverse=True)
    pattern = "|".join(rf"(?<![A-Za-z]){re.escape(symbol)}(?![A-Za-z])" for symbol in symbols)
    return re.sub(pattern, lambda found: numbers[found[0]], formula) if symbols else formula


def format_number(value: Any) -> str:
    """Format a number that the user gave, with all its digits."""
    if isinstance(value, ClassSize):
        return value.formula
    if isinstance(value, int):
        return format_integer(value)
    return (
        f"{value:,.0f}"
        if math.isfinite(value) and value == int(value) and abs(value) < MAX_WRITTEN_INTEGER
        else f"{value:.15g}"
    )


def format_integer(value: int) -> str:
    """Format a count. Huge ones show their first digits, rounded up.

    >>> format_integer(1234), format_integer(10**20 + 1)
    ('1,234', '1.001·10^20')
    """
    if abs(value) < MAX_WRITTEN_INTEGER:
        return f"{value:,}"
    return format_power_of_ten(UP.create_decimal(value) if value.bit_length() < 30_000 else _leading_digits(value))


def format_power_of_ten(value: Decimal) -> str:
    exponent = value.adjusted()
    digits = math.ceil(value.scaleb(3 - exponent, UP))
    if digits == 10**4:
        digits, exponent = 10**3, exponent + 1
    return f"{digits / 1000:g}·10^{exponent:,}"


def format_upper_bound(value: float) -> str:
    """Format an upper bound with four digits, rounded up.

    >>> format_upper_bound(0.099871), format_upper_bound(1.0), format_upper_bound(2.5e-7)
    ('0.09988', '1', '2.5e-07')
    """
    if value in (0.0, 1.0) or not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(repr(value))
    unit = Decimal(1).scaleb(exact.adjusted() - 3)
    return f"{float(UP.multiply(math.ceil(UP.divide(exact, unit)), unit)):g}"


def format_lower_bound(value: float) -> str:
    """Format a lower bound with four digits, rounded down."""
    if value in (0.0, 1.0) or not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(repr(value))
    unit = Decimal(1).scaleb(exact.adjusted() - 3)
    return f"{float(UP.multiply(math.floor(exact / unit), unit)):g}"


def _leading_digits(value: int) -> Decimal:
    extra = value.bit_length() - 300
    return UP.multiply(UP.create_decimal((value >> extra) + 1), UP.next_plus(UP.power(2, extra)))
