"""JSON fields with special roles: ignored, categorical, weight, numbers in strings, missing values.

Most files have none: then `field_values.py`, which handles them, is neither imported nor compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled.jit import generic
from novikoff._compiled.lazy_numpy import NDArray, np

ORDINARY, NO_TERM, TERM, IS_WEIGHT = 0, -1, -2, -3
"""Kinds of values; reasons why a value is refused are above 0."""


class NoFieldRoles(NamedTuple):
    """Takes the place of `field_values.JsonFieldRoles` where no field has a role."""

    unused: int


@generic
def is_left_out(fields: Any, path: Any) -> bool:
    """Return whether a top-level field is ignored."""
    return False


@generic
def is_category(fields: Any, path: Any) -> bool:
    """Return whether the numbers of a field are categories."""
    return False


@generic
def is_weight(fields: Any, path: Any) -> bool:
    """Return whether a field holds the weight."""
    return False


@generic
def needs_weight(fields: Any) -> bool:
    """Return whether every example must have a weight."""
    return False


@generic
def interpret_missing(fields: Any, path: Any) -> tuple[int, Any, float]:
    """Interpret a missing value; return (kind or reason, hash of its feature, value of the feature)."""
    return NO_TERM, path, 0.0


@generic
def interpret_string(fields: Any, text: NDArray[np.uint8], start: int, stop: int, path: Any) -> tuple[int, Any, float]:
    """Interpret a string; return (kind or reason, hash of its feature, value of the feature or the weight)."""
    return ORDINARY, path, 0.0
