"""Inference of the encoding of raw rows that a model is fitted to: data frames, dicts or texts.

A column is numeric if its values are numbers or truth values, else categorical, unless `with_columns` overrides it. The
inferred settings are those of a CSV file with these columns, or of labelled text. The model keeps them, and takes such
rows and such files from then on. The table has a column for the label, which rows need not have.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from novikoff.data.raw.frames import (
    NUMERIC_DTYPE_KINDS,
    classify_column,
    find_first_value,
    get_frame_columns,
    is_frame,
    is_text_column,
    sample_values,
)
from novikoff.errors import DoubtfulColumnsWarning, InputError, find_user_stacklevel

if TYPE_CHECKING:
    from novikoff.data.formats.base import ReadOptions

MAX_SURVEYED_ROWS = 1000


class RawRows(NamedTuple):
    """Rows, with options for their columns."""

    X: Any
    options: ReadOptions


def with_columns(
    X: Any,
    *,
    text: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    numeric: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    missing: str = "absent",
    hash_bits: int | None = None,
    word_ngrams: int | None = None,
    char_ngrams: int | None = None,
    term_weighting: str | None = None,
) -> RawRows:
    """Attach options for columns to rows that are fitted; they are named like those of the command line.

    >>> from novikoff import Auto, with_columns
    >>> rows = [{"size": 3, "zip": 50667, "about": "red wine"}, {"size": 4, "zip": 50668, "about": "white bread"}]
    >>> model = Auto().fit(with_columns(rows, text="about", categorical="zip"), ["drink", "food"])
    >>> model.predict_one({"size": 3, "zip": 50667, "about": "some wine"})
    'drink'
    """
    from novikoff.data.formats.base import ReadOptions, check_options

    texts = _as_tuple(text)
    options = ReadOptions(
        text=",".join(texts) or None,
        categorical=_as_tuple(categorical),
        numeric=_as_tuple(numeric),
        ignore=_as_tuple(ignore),
        missing=missing,
        hash_bits=hash_bits,
        word_ngrams=word_ngrams,
        char_ngrams=char_ngrams,
        term_weighting=term_weighting,
    )
    return RawRows(X, check_options(options))


def _as_tuple(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def is_raw(X: Any) -> bool:
    """Return whether X is rows that must be encoded, not numbers."""
    if isinstance(X, RawRows):
        return True
    if isinstance(X, list | tuple) and X:
        first = X[0] if X[0] is not None else next((x for x in X if x is not None), None)
        return isinstance(first, str) or (isinstance(first, Mapping) and all(isinstance(name, str) for name in first))
    dtype = getattr(X, "dtype", None)
    if (
        dtype is not None
        and getattr(X, "ndim", 1) == 1
        and len(X)
        and getattr(dtype, "kind", "O") not in NUMERIC_DTYPE_KINDS
    ):
        return isinstance(find_first_value(X), str | Mapping)
    if not hasattr(X, "columns"):
        return False
    return is_frame(X) and any(is_text_column(X, k) for k in range(len(get_frame_columns(X))))


def infer_encoding(X: Any, *, warns: bool) -> tuple[Any, dict[str, Any]]:
    """Return the rows, and the settings of their encoding; `warns` enables warnings about doubtful columns."""
    from novikoff.data.formats.base import ReadOptions
    from novikoff.data.formats.text import Text

    rows, options = (X.X, X.options) if isinstance(X, RawRows) else (X, ReadOptions())
    if not is_frame(rows):
        first = find_first_value(rows)
        if isinstance(first, str):
            return rows, Text.from_options(options, b"x\ty\n", "X").settings()
        if not isinstance(first, Mapping):
            raise InputError("Raw rows must be a data frame, a list of dicts with names as keys, or a list of texts.")
    return rows, _infer_table(rows, options, warns).settings()


def _infer_table(rows: Any, options: ReadOptions, warns: bool) -> Any:
    from dataclasses import replace

    from novikoff.data.formats.column_survey import SurveyedColumn
    from novikoff.data.formats.csv import Csv
    from novikoff.data.formats.table_base import resolve_columns
    from novikoff.data.names.column_names import make_names_unique
    from novikoff.data.raw.values import format_category

    if is_frame(rows):
        names = [str(name) for name in get_frame_columns(rows)]
        numeric = [not is_text_column(rows, k) for k in range(len(names))]
        values: list[list[Any]] = [sample_values(rows, k, MAX_SURVEYED_ROWS) for k in range(len(names))]
    else:
        odd = next((k for k, row in enumerate(rows) if not isinstance(row, Mapping)), None)
        if odd is not None:
            raise InputError(f"Row {odd}: rows must all be dicts, got {type(rows[odd]).__name__}.")
        names = list(dict.fromkeys(name for row in rows for name in row))
        columns = {name: [row.get(name) for row in rows] for name in names}
        numeric = [not any(isinstance(value, str) for value in columns[name]) for name in names]
        values = [columns[name][:: max(1, len(rows) // MAX_SURVEYED_ROWS)][:MAX_SURVEYED_ROWS] for name in names]
    names = list(make_names_unique(names, "X"))
    survey = [SurveyedColumn(name, tuple(format_category(value).encode("utf-8", "replace") for value in column))
              for name, column in zip(names, values, strict=True)]  # fmt: skip
    label = "label"
    while label in names:
        label += "_"
    survey.append(SurveyedColumn(label, ()))
    fields = resolve_columns(
        replace(options, label=label), [*names, label], [*numeric, False], survey, "X", header=True
    )
    table = Csv(**fields)
    for c in table.features if is_frame(rows) else ():
        if classify_column(rows, c) == "other":
            raise InputError(
                f"Column {names[c]!r} has neither numbers nor texts: convert it, or leave it out by"
                f" with_columns(X, ignore={names[c]!r})."
            )
    table.opened.survey = survey
    for doubt in table.find_doubts(in_python=True) if warns else ():
        warnings.warn(doubt[0].upper() + doubt[1:], DoubtfulColumnsWarning, stacklevel=find_user_stacklevel())
    return table
