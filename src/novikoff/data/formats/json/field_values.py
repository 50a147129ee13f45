"""Values of the JSON fields with special roles that `fields.py` declares.

Strings are interpreted like the cells of a table (`csv_rows.py`): --numeric reads them as numbers. Where --missing is
given, null and the strings "", NA, N/A, NaN, null and ? are missing values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data.formats.base import MISSING_INDICATOR, MISSING_VALUES
from novikoff.data.formats.csv_rows import ABSENT, INDICATE, LEAVE_OUT, REFUSE, is_missing, parse_number_cell
from novikoff.data.formats.csv_rows import RANGE as CELL_RANGE
from novikoff.data.formats.csv_tokenizer import NO_QUOTE
from novikoff.data.formats.json.fields import (
    IS_WEIGHT,
    NO_TERM,
    ORDINARY,
    TERM,
    interpret_missing,
    interpret_string,
    is_category,
    is_left_out,
    is_weight,
    needs_weight,
)
from novikoff.data.formats.json.tokens import MISSING, NUMERIC, RANGE, WEIGHT
from novikoff.data.names.hashing import hash_bytes, hash_name


class JsonFieldRoles(NamedTuple):
    """Roles of fields, by the hashes of their paths."""

    ignored: NDArray[np.uint64]
    only: NDArray[np.uint64]
    """Fields that are ignored, and the only fields that are read, where any are named."""
    categorical: NDArray[np.uint64]
    """Fields whose numbers are categories."""
    has_weight: bool
    weight: Any
    weighs: bool
    """Whether examples must have weights; otherwise the field is skipped."""
    numeric: NDArray[np.uint64]
    missing: int
    """LEAVE_OUT, INDICATE or REFUSE."""
    indicator: NDArray[np.uint8]
    """The name of the feature for a missing value, hashed under the path of its field."""
    indicator_size: int


def build_field_roles(fmt: Any, *, weighs: bool) -> JsonFieldRoles:
    """Return the roles that the options of a format give to fields."""

    def hashes(paths: tuple[str, ...]) -> NDArray[np.uint64]:
        return np.array([hash_name(path.encode()) for path in paths], np.uint64)

    indicator = np.zeros(len(MISSING_INDICATOR) + PADDING_BYTES, np.uint8)
    indicator[: len(MISSING_INDICATOR)] = np.frombuffer(MISSING_INDICATOR, np.uint8)
    return JsonFieldRoles(
        ignored=hashes(fmt.ignore),
        only=hashes(fmt.fields_read),
        categorical=hashes(fmt.categorical),
        has_weight=fmt.weight is not None,
        weight=np.uint64(hash_name((fmt.weight or "").encode())),
        weighs=weighs,
        numeric=hashes(fmt.numeric),
        missing=MISSING_VALUES.index(fmt.missing),
        indicator=indicator,
        indicator_size=len(MISSING_INDICATOR),
    )


@is_left_out.of(JsonFieldRoles)
def _is_left_out_json_field_roles(fields: JsonFieldRoles, path: Any) -> bool:
    return contains_hash(fields.ignored, path) or (len(fields.only) > 0 and not contains_hash(fields.only, path))


@is_category.of(JsonFieldRoles)
def _is_category_json_field_roles(fields: JsonFieldRoles, path: Any) -> bool:
    return contains_hash(fields.categorical, path)


@is_weight.of(JsonFieldRoles)
def _is_weight_json_field_roles(fields: JsonFieldRoles, path: Any) -> bool:
    return bool(fields.has_weight and path == fields.weight)


@needs_weight.of(JsonFieldRoles)
def _needs_weight_json_field_roles(fields: JsonFieldRoles) -> bool:
    return fields.weighs


@interpret_missing.of(JsonFieldRoles)
def _interpret_missing_json_field_roles(fields: JsonFieldRoles, path: Any) -> tuple[int, Any, float]:
    return classify_missing(fields, path)


@interpret_string.of(JsonFieldRoles)
def _interpret_string_json_field_roles(
    fields: JsonFieldRoles, text: NDArray[np.uint8], start: int, stop: int, path: Any
) -> tuple[int, Any, float]:
    return classify_string(fields, text, start, stop, path)


@compiled
def contains_hash(hashes: NDArray[np.uint64], path: Any) -> bool:
    for j in range(len(hashes)):
        if hashes[j] == path:
            return True
    return False


@compiled_not_inlined
def classify_missing(fields: JsonFieldRoles, path: Any) -> tuple[int, Any, float]:
    if fields.has_weight and path == fields.weight:
        return (WEIGHT if fields.weighs else NO_TERM), path, 0.0
    if fields.missing == INDICATE:
        return TERM, hash_bytes(fields.indicator, 0, fields.indicator_size, path), 1.0
    return (MISSING if fields.missing == REFUSE else NO_TERM), path, 0.0


@compiled_not_inlined
def classify_string(
    fields: JsonFieldRoles, text: NDArray[np.uint8], start: int, stop: int, path: Any
) -> tuple[int, Any, float]:
    weight, numeric = fields.has_weight and path == fields.weight, contains_hash(fields.numeric, path)
    if not weight and not numeric:
        if fields.missing != LEAVE_OUT and is_missing(text, start, stop):
            return classify_missing(fields, path)
        return ORDINARY, path, 0.0
    if weight and not fields.weighs:
        return NO_TERM, path, 0.0
    reason, value = parse_number_cell(text, start, stop, NO_QUOTE)
    if reason == ABSENT:
        return classify_missing(fields, path)
    if weight:
        return (IS_WEIGHT if reason == 0 and value >= 0.0 else WEIGHT), path, value
    if reason != 0:
        return (RANGE if reason == CELL_RANGE else NUMERIC), path, 0.0
    return TERM, path, value
