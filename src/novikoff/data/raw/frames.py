"""Access to data frames of pandas and polars, Arrow tables, and sequences of raw rows, by duck typing.

None of these libraries is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from novikoff._compiled.lazy_numpy import np
from novikoff.data.names.column_names import make_names_unique
from novikoff.data.raw.values import is_missing

CELLS_PER_CHUNK = 1 << 17
"""Cells of a table that are converted at once."""
NUMERIC_DTYPE_KINDS = "biuf"


def is_list(X: Any) -> bool:
    """Return whether X is a list, or a Series or an array of Python objects or texts, but not of numbers."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "OU"
    return isinstance(X, list | tuple) or (_get_lister(X) is not None and not hasattr(X, "columns"))


def _get_lister(X: Any) -> Any:
    """Return the method that converts a Series or an Arrow array to a list."""
    return getattr(X, "to_list", None) or getattr(X, "to_pylist", None)


def list_values(X: Any) -> Any:
    if isinstance(X, list | tuple):
        return X
    return X.tolist() if isinstance(X, np.ndarray) else _get_lister(X)()


def find_first_value(X: Any) -> Any:
    """Return the first value of a list, a Series or an array that is not missing; None where there is none."""
    values = (value.as_py() if hasattr(value, "as_py") else value for value in X)
    return next((value for value in values if not is_missing(value)), None)


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame of pandas or polars, or an Arrow table or record batch."""
    return hasattr(X, "columns") and (hasattr(X, "to_dict") or hasattr(X, "to_pylist"))


def get_frame_columns(X: Any) -> list[Any]:
    """Return the names of a frame's columns; InputError where two have the same name."""
    names = list(X.schema.names if is_arrow(X) else X.columns)
    make_names_unique([str(name) for name in names], "X")
    return names


def is_arrow(X: Any) -> bool:
    return hasattr(X, "to_pylist")


def get_length(X: Any) -> int:
    return X.num_rows if is_arrow(X) else len(X)


def get_column(X: Any, k: int) -> Any:
    """Return column k in a form that pyarrow accepts."""
    if is_arrow(X):
        return X.column(k)
    if hasattr(X, "iloc"):
        return X.iloc[:, k]
    return X.to_series(k).to_arrow()


def iter_rows(X: Any) -> Iterator[dict[Any, Any]]:
    """Yield the rows as dicts, converted in chunks."""
    rows = max(1, CELLS_PER_CHUNK // max(1, len(get_frame_columns(X))))
    for start in range(0, get_length(X), rows):
        if hasattr(X, "iloc"):
            yield from X.iloc[start : start + rows].to_dict("records")
        elif is_arrow(X):
            yield from X.slice(start, rows).to_pylist()
        else:
            yield from X.slice(start, rows).to_dicts()


def is_text_column(X: Any, k: int) -> bool:
    """Return whether column k of a frame is texts or categories."""
    return classify_column(X, k) == "text"


def classify_column(X: Any, k: int) -> str:
    """Return the kind of column k of a frame: number, text, or other, such as dates and lists."""
    if hasattr(X, "iloc"):
        return _classify_pandas_column(X.iloc[:, k])
    name = str(X.schema.field(k).type if hasattr(X, "to_pylist") else X.dtypes[k]).lower()
    if name.startswith(("string", "large_string", "utf8", "large_utf8", "cat", "enum", "dictionary<values=string")):
        return "text"
    numbers = ("int", "uint", "float", "double", "halffloat", "bool", "decimal", "null")
    return "number" if name.startswith(numbers) else "other"


def _classify_pandas_column(column: Any) -> str:
    kind = getattr(column.dtype, "kind", "O")
    if kind in NUMERIC_DTYPE_KINDS:
        return "number"
    if kind != "O" or str(column.dtype) != "object":
        return "text" if kind in "OU" else "other"
    values = [value for value in column if value is not None]
    if any(isinstance(value, str) for value in values):
        return "text"
    return "number" if all(hasattr(value, "__float__") for value in values) else "other"


def sample_values(X: Any, k: int, most: int) -> list[Any]:
    """Return up to `most` values of column k, evenly spread."""
    if hasattr(X, "iloc"):
        column = X.iloc[:: max(1, len(X) // most), k]
        return list(column[:most])
    column = X.column(k) if hasattr(X, "to_pylist") else X.to_series(k)
    values = column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()
    return list(values[:: max(1, len(values) // most)][:most])
