"""Text forms of raw values in a record (numbers, categories, JSON), and detection of missing values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

MISSING_TYPE_NAMES = ("NAType", "NaTType")
"""Names of pandas types for missing values, which can't be compared."""
_NEEDS_QUOTES = re.compile(r'[",\r\n]')


def format_category(value: Any) -> str:
    """Return the text of a category; empty where it is missing.

    >>> format_category("nurse"), format_category(3), format_category(3.0), format_category(None)
    ('nurse', '3', '3', '')
    """
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    value = to_python(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def format_number_cell(value: Any) -> str:
    """Return the cell for a value of a numeric column."""
    if is_missing(value):
        return ""
    value = to_python(value)
    if isinstance(value, str):
        return quote_cell(value)
    if isinstance(value, bool):
        return "1" if value else "0"
    try:
        return repr(value if isinstance(value, int) else float(value))
    except (TypeError, ValueError, OverflowError):
        return quote_cell(str(value))  # the parser reports it


def to_category_code(value: Any) -> Any:
    """Convert whole floats in a field of categories to integers."""
    value = to_python(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def to_python(value: Any) -> Any:
    """Convert NumPy scalars to Python's."""
    return value.item() if isinstance(value, np.generic) else value


def is_missing(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return type(value).__name__ in MISSING_TYPE_NAMES


def quote_cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


def unquote_cell(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def encode_utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def dump_json(value: Any) -> str:
    """Return JSON for values of other types than Python's own; missing ones become null."""

    def clean(value: Any) -> Any:
        if is_missing(value):
            return None
        if isinstance(value, Mapping):
            return {str(name): clean(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple | set):
            return [clean(inner) for inner in value]
        if hasattr(value, "tolist"):
            return clean(value.tolist())
        return value if isinstance(value, str | bool | int | float) else str(value)

    return json.dumps(clean(value), ensure_ascii=False)
