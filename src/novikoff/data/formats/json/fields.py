"""Fields of JSON lines that options give a meaning: left out, codes, the weight, numbers in strings, missing values.

Most files have none: then nothing of `json_field_values.py`, which reads them, is imported or compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled.jit import generic
from novikoff._compiled.lazy_numpy import NDArray, np

ORDINARY, NO_TERM, TERM, IS_WEIGHT = 0, -1, -2, -3
"""What a value is, beside the reasons why it is refused, which are above 0."""


class NoFieldRoles(NamedTuple):
    """In place of `json_field_values.Fields` where no field has a meaning of its own."""

    unused: int


@generic
def is_left_out(fields: Any, path: Any) -> bool:
    """Whether a field at the top is no feature."""
    return False


@generic
def is_category(fields: Any, path: Any) -> bool:
    """Whether the numbers of a field are categories."""
    return False


@generic
def is_weight(fields: Any, path: Any) -> bool:
    """Whether a field has the weight."""
    return False


@generic
def needs_weight(fields: Any) -> bool:
    """Whether there must be a weight."""
    return False


@generic
def interpret_missing(fields: Any, path: Any) -> tuple[int, Any, float]:
    """A missing value: (what it is, the hash of its feature, the feature's value)."""
    return NO_TERM, path, 0.0


@generic
def interpret_string(fields: Any, text: NDArray[np.uint8], start: int, stop: int, path: Any) -> tuple[int, Any, float]:
    """A string: (what it is, the hash of its feature, the feature's value or the weight)."""
    return ORDINARY, path, 0.0
