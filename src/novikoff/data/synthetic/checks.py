"""Validation of the numeric settings of generated streams."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from novikoff.errors import InputError


def check_integer(what: str, value: Any, least: int, most: int | None = None) -> None:
    good = isinstance(value, Integral) and not isinstance(value, bool)
    if good and most is not None and value > most:
        raise InputError(f"{what} must be a whole number of at most {most}, but is {value!r}.")
    if not good or value < least:
        raise InputError(f"{what} must be a whole number of at least {least}, but is {value!r}.")


def check_fraction(what: str, value: Any, *, inside: bool = False) -> None:
    """Raise InputError for anything but a number from 0 to 1, with `inside` strictly between them."""
    good = isinstance(value, Real) and not isinstance(value, bool)
    if not good or not (0.0 < value < 1.0 if inside else 0.0 <= value <= 1.0):
        allowed = "between 0 and 1" if inside else "from 0 to 1"
        raise InputError(f"{what} must be a number {allowed}, but is {value!r}.")
