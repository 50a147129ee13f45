"""Values of the fields in `json_fields.py`.

Strings are read as the cells of a table are (`cells.py`): by --numeric as numbers; where --missing is given, the empty
string, NA, N/A, NaN, null and ? are missing values, and so is null itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._bytes import PADDING
from novikoff._jit import compiled, compiled_apart
from novikoff.stream.formats.cells import ABSENT, INDICATE, LEAVE_OUT, REFUSE, is_missing, one_number
from novikoff.stream.formats.cells import RANGE as CELL_RANGE
from novikoff.stream.formats.contract import INDICATOR
from novikoff.stream.formats.json_fields import (
    IS_WEIGHT,
    NO_TERM,
    ORDINARY,
    TERM,
    is_weight,
    missing_value,
    needs_weight,
    string_value,
)
from novikoff.stream.formats.json_tokens import MISSING, NUMERIC, RANGE, WEIGHT
from novikoff.stream.formats.records import NO_QUOTE
from novikoff.stream.hashing import hash_of, hashed
from novikoff.stream.options import MISSING_VALUES


class Fields(NamedTuple):
    """Which fields have a meaning of their own, by the hashes of their paths."""

    has_weight: bool
    weight: Any
    weighs: bool
    """Whether weights are wanted; otherwise the field is skipped."""
    numeric: NDArray[np.uint64]
    missing: int
    """LEAVE_OUT, INDICATE or REFUSE."""
    indicator: NDArray[np.uint8]
    """The name of the feature for a missing value, below that of its field."""
    indicator_size: int


def make_fields(weight: str | None, numeric: tuple[str, ...], missing: str, *, weighs: bool) -> Fields:
    """Return the fields with these paths."""
    indicator = np.zeros(len(INDICATOR) + PADDING, np.uint8)
    indicator[: len(INDICATOR)] = np.frombuffer(INDICATOR, np.uint8)
    return Fields(
        has_weight=weight is not None,
        weight=np.uint64(hashed((weight or "").encode())),
        weighs=weighs,
        numeric=np.array([hashed(path.encode()) for path in numeric], np.uint64),
        missing=MISSING_VALUES.index(missing),
        indicator=indicator,
        indicator_size=len(INDICATOR),
    )


@is_weight.of(Fields)
def _(fields: Fields, path: Any) -> bool:
    return bool(fields.has_weight and path == fields.weight)


@needs_weight.of(Fields)
def _(fields: Fields) -> bool:
    return fields.weighs


@missing_value.of(Fields)
def _(fields: Fields, path: Any) -> tuple[int, Any, float]:
    return missing_in(fields, path)


@string_value.of(Fields)
def _(fields: Fields, text: NDArray[np.uint8], start: int, stop: int, path: Any) -> tuple[int, Any, float]:
    return string_in(fields, text, start, stop, path)


@compiled
def is_numeric(fields: Fields, path: Any) -> bool:
    for j in range(len(fields.numeric)):
        if fields.numeric[j] == path:
            return True
    return False


@compiled_apart
def missing_in(fields: Fields, path: Any) -> tuple[int, Any, float]:
    if fields.has_weight and path == fields.weight:
        return (WEIGHT if fields.weighs else NO_TERM), path, 0.0
    if fields.missing == INDICATE:
        return TERM, hash_of(fields.indicator, 0, fields.indicator_size, path), 1.0
    return (MISSING if fields.missing == REFUSE else NO_TERM), path, 0.0


@compiled_apart
def string_in(fields: Fields, text: NDArray[np.uint8], start: int, stop: int, path: Any) -> tuple[int, Any, float]:
    weight, numeric = fields.has_weight and path == fields.weight, is_numeric(fields, path)
    if not weight and not numeric:
        if fields.missing != LEAVE_OUT and is_missing(text, start, stop):
            return missing_in(fields, path)
        return ORDINARY, path, 0.0
    if weight and not fields.weighs:
        return NO_TERM, path, 0.0
    reason, value = one_number(text, start, stop, NO_QUOTE)
    if reason == ABSENT:
        return missing_in(fields, path)
    if weight:
        return (IS_WEIGHT if reason == 0 and value >= 0.0 else WEIGHT), path, value
    if reason != 0:
        return (RANGE if reason == CELL_RANGE else NUMERIC), path, 0.0
    return TERM, path, value
