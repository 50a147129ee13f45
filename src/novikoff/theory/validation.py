"""Validation of the numbers that theory functions take; errors name the symbol and the allowed range."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from novikoff.errors import InputError
from novikoff.theory.directed_rounding import to_fraction


def check_epsilon(value: Any) -> Fraction:
    return _check_probability("ε, the error,", value)


def check_delta(value: Any) -> Fraction:
    return _check_probability("δ, the probability to fail,", value)


def check_examples(value: Any) -> int:
    return check_count("m, the number of examples,", value, 1)


def check_dimension(value: Any) -> int:
    return check_count("The VC dimension", value, 0)


def check_variables(value: Any) -> int:
    return check_count("n, the number of variables,", value, 1)


def check_count(what: str, value: Any, least: int, most: int | None = None) -> int:
    good = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
    if not good or (most is not None and int(value) > most):
        limit = f"from {least:,} to {most:,}" if most is not None else f"of at least {least:,}"
        raise InputError(f"{what} must be a whole number {limit}, but is {value!r}.")
    return int(value)


def _check_probability(what: str, value: Any) -> Fraction:
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or (isinstance(value, float) and not math.isfinite(value)) or not 0 < value < 1:
        raise InputError(f"{what} must be a number between 0 and 1, but is {value!r}.")
    return to_fraction(value if isinstance(value, (int, float, Fraction)) else float(value))
