"""How raw rows that a model is fitted to are encoded: a data frame with texts and categories, dicts, or texts.

A column is numeric where its values are numbers or truth values, and categorical otherwise, unless `with_columns` says
otherwise. The settings that are found are those of a CSV file with these columns, or of labelled text: the model keeps
them, and takes such rows, and such files, ever after. A table has a column for the label, which rows need not have.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from novikoff.errors import DoubtfulColumnsWarning, InputError, levels_to_user
from novikoff.data.raw.frames import (NUMBER_KINDS, columns_of, first_value, is_frame, is_text_column, kind_of_column, some_values)

if TYPE_CHECKING:
    from novikoff.data.options import Options

LOOKED_AT = 1000  # rows


class RawRows(NamedTuple):
    """Rows, and what was said of their columns."""

    X: Any
    options: Options


def with_columns(
    X: Any,
    *,
    text: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    numeric: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    missing: str = "absent",
    bits: int | None = None,
    words: int | None = None,
    letters: int | None = None,
    scale: str | None = None,
) -> RawRows:
    """Return rows to be fitted, with what is said of their columns; the names are those of the command line's options.

    >>> from novikoff import Auto, with_columns
    >>> rows = [{"size": 3, "zip": 50667, "about": "red wine"}, {"size": 4, "zip": 50668, "about": "white bread"}]
    >>> model = Auto().fit(with_columns(rows, text="about", categorical="zip"), ["drink", "food"])
    >>> model.predict_one({"size": 3, "zip": 50667, "about": "some wine"})
    'drink'
    """
    from novikoff.data.options import Options, checked

    texts = _names(text)
    options = Options(
        text=",".join(texts) or None,
        categorical=_names(categorical),
        numeric=_names(numeric),
        ignore=_names(ignore),
        missing=missing,
        bits=bits,
        words=words,
        letters=letters,
        scale=scale,
    )
    return RawRows(X, checked(options))


def _names(said: str | Sequence[str]) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) else tuple(said)


def is_raw(X: Any) -> bool:
    """Whether X is rows that must be encoded, and not numbers."""
    if isinstance(X, RawRows):
        return True
    if isinstance(X, list | tuple) and X:
        first = X[0] if X[0] is not None else next((x for x in X if x is not None), None)
        return isinstance(first, str) or (isinstance(first, Mapping) and all(isinstance(name, str) for name in first))
    dtype = getattr(X, "dtype", None)
    if dtype is not None and getattr(X, "ndim", 1) == 1 and len(X) and getattr(dtype, "kind", "O") not in NUMBER_KINDS:
        return isinstance(first_value(X), str | Mapping)
    if not hasattr(X, "columns"):
        return False
    return is_frame(X) and any(is_text_column(X, k) for k in range(len(columns_of(X))))


def settle(X: Any, *, warns: bool) -> tuple[Any, dict[str, Any]]:
    """Return the rows themselves, and the settings of their encoding; `warns` of doubtful columns."""
    from novikoff.data.formats.text import Text
    from novikoff.data.options import Options

    rows, options = (X.X, X.options) if isinstance(X, RawRows) else (X, Options())
    if not is_frame(rows):
        first = first_value(rows)
        if isinstance(first, str):
            return rows, Text.settled(options, b"x\ty\n", "X").settings()
        if not isinstance(first, Mapping):
            raise InputError("Raw rows are a data frame, a list of dicts with names as keys, or a list of texts.")
    return rows, _table(rows, options, warns).settings()


def _table(rows: Any, options: Options, warns: bool) -> Any:
    from dataclasses import replace

    from novikoff.data.names.column_names import unique_names
    from novikoff.data.formats.column_survey import Column
    from novikoff.data.formats.csv import Csv
    from novikoff.data.formats.table_base import settled_columns
    from novikoff.data.raw.values import category

    if is_frame(rows):
        names = [str(name) for name in columns_of(rows)]
        numeric = [not is_text_column(rows, k) for k in range(len(names))]
        values: list[list[Any]] = [some_values(rows, k, LOOKED_AT) for k in range(len(names))]
    else:
        odd = next((k for k, row in enumerate(rows) if not isinstance(row, Mapping)), None)
        if odd is not None:
            raise InputError(f"Row {odd}: rows must all be dicts, but this one is a {type(rows[odd]).__name__}.")
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        numeric = [not any(isinstance(value, str) for value in columns[name]) for name in names]
        values = [columns[name][:: max(1, len(rows) // LOOKED_AT)][:LOOKED_AT] for name in names]
    names = list(unique_names(names, "X"))
    survey = [Column(name, tuple(category(value).encode("utf-8", "replace") for value in column))
              for name, column in zip(names, values, strict=True)]  # fmt: skip
    label = "label"
    while label in names:
        label += "_"
    survey.append(Column(label, ()))
    fields = settled_columns(
        replace(options, label=label), [*names, label], [*numeric, False], survey, "X", header=True
    )
    table = Csv(**fields)
    for c in table.features if is_frame(rows) else ():
        if kind_of_column(rows, c) == "other":
            raise InputError(
                f"Column {names[c]!r} has neither numbers nor texts: make numbers or texts of it, or leave it out by"
                f" with_columns(X, ignore={names[c]!r})."
            )
    table.opened.survey = survey
    for doubt in table.doubts(in_python=True) if warns else ():
        warnings.warn(doubt[0].upper() + doubt[1:], DoubtfulColumnsWarning, stacklevel=levels_to_user())
    return table
