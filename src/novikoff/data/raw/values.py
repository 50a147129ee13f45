"""Values of raw rows as they are spelled in a record: numbers, categories, JSON; and which of them are missing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

NO_VALUES = ("NAType", "NaTType")
"""Types of pandas for missing values, which can't be compared."""
_QUOTED = re.compile(r'[",\r\n]')


def category(value: Any) -> str:
    """How a category is spelled; empty where it is missing.

    >>> category("nurse"), category(3), category(3.0), category(None)
    ('nurse', '3', '3', '')
    """
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    value = plain(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def number_cell(value: Any) -> str:
    """A value of a column of numbers, as it is spelled in a cell."""
    if is_missing(value):
        return ""
    value = plain(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "1" if value else "0"
    try:
        return repr(value if isinstance(value, int) else float(value))
    except (TypeError, ValueError, OverflowError):
        return quoted(str(value))  # which the parser refuses


def code(value: Any) -> Any:
    """A number in a field of categories: whole floats are spelled as integers."""
    value = plain(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def plain(value: Any) -> Any:
    """NumPy's numbers and texts as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def is_missing(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return type(value).__name__ in NO_VALUES


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def json_text(value: Any) -> str:
    """JSON of values that are not Python's own; missing ones are null."""

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
