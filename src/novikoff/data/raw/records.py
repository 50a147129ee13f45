"""Writers that turn raw rows into records of a format, for its parser. There is one for each kind of format.

The label column is ignored. Absent columns, None and NaN are missing values. A category given as a whole float, such as
3.0, is written as the integer 3. The name of a feature, such as {"job=nurse": 1}, sets that feature.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from novikoff._compiled.lazy_numpy import np
from novikoff.data import formats
from novikoff.data.feature_maps import MapSpec
from novikoff.data.formats.base import MISSING_VALUES, Format
from novikoff.data.formats.ngrams import MAX_CHAR_NGRAM, MAX_WORD_NGRAM, SCALES
from novikoff.data.names.column_names import join_names
from novikoff.data.names.hashing import MAX_HASH_BITS
from novikoff.data.raw import frames
from novikoff.data.raw.frames import (
    find_first_value,
    get_column,
    get_frame_columns,
    get_length,
    is_frame,
    is_list,
    iter_rows,
    list_values,
)
from novikoff.data.raw.values import (
    dump_json,
    encode_utf8,
    format_category,
    format_number_cell,
    is_missing,
    quote_cell,
    to_category_code,
    unquote_cell,
)
from novikoff.errors import InputError

NON_FORMAT_SETTINGS = ("feature_map", "feature_map_bits", "encoding")


class RecordWriter(ABC):
    """Base class of writers of raw rows."""

    accepts_dicts = False
    format: Format
    """The format that parses the records."""

    @abstractmethod
    def record(self, x: Any) -> Any:
        """Return one raw row, ready for `line`; None where x is not a raw row."""

    @abstractmethod
    def line(self, record: Any) -> bytes:
        """Return the record as text."""

    def accepts(self, X: Any) -> bool:
        return is_list(X) and len(X) > 0 and self.record(find_first_value(X)) is not None

    def records(self, X: Any) -> Iterator[Any]:
        for k, x in enumerate(list_values(X)):
            record = self.record(x)
            if record is None:
                raise InputError(f"Row {k}: rows must all be of one kind, got {type(x).__name__}.")
            yield record

    def check(self, features: int, chosen: MapSpec | None) -> None:
        """Raise InputError where settings are inconsistent, or don't fit a model with this number of features."""
        fmt: Any = self.format
        bits = fmt.bits_used
        for name, least, most in (
            ("hash_bits", 0, MAX_HASH_BITS),
            ("word_ngrams", 1, MAX_WORD_NGRAM),
            ("char_ngrams", 0, MAX_CHAR_NGRAM),
        ):
            value = getattr(fmt, name, None)
            if value is not None and not (type(value) is int and least <= value <= most):
                raise InputError(f"The {name} of the encoding must be from {least} to {most}, got {value!r}.")
            if value is None and name != "hash_bits" and hasattr(fmt, name):
                raise InputError(f"The {name} of the encoding must be a number.")
        for name, allowed in (("term_weighting", SCALES), ("missing", MISSING_VALUES)):
            if getattr(fmt, name, allowed[0]) not in allowed:
                raise InputError(f"The {name} of the encoding must be one of {', '.join(allowed)}.")
        if not all(2 <= len(letters) <= 3 and letters.isascii() for letters in getattr(fmt, "interactions", ())):
            raise InputError("The interactions of the encoding must be two or three letters each.")
        if bits and chosen is None and features != 1 << bits:
            raise InputError(f"An encoding with {bits} bits needs {1 << bits:,} features, got {features:,}.")
        if bits and chosen is not None and features > chosen.columns(1 << bits):
            raise InputError(f"The map of the encoding has fewer columns than there are features ({features:,}).")
        if chosen is not None and chosen.bits is not None and features != 1 << chosen.bits:
            raise InputError(f"A map with {chosen.bits} bits needs {1 << chosen.bits:,} features, got {features:,}.")

    def record_batches(self, X: Any) -> Iterator[Any] | None:
        """Return record batches with the columns of the table, where X can be read this way."""
        return None

    def arrow_format(self) -> Format:
        raise AssertionError("only tables are read from record batches")


class LineWriter(RecordWriter):
    """Writer for formats without columns: vw and svmlight."""

    def __init__(self, fmt: Format) -> None:
        self.format = fmt

    def record(self, x: Any) -> Any:
        return x if isinstance(x, str) else None

    def line(self, record: str) -> bytes:
        return encode_utf8(record.replace("\n", " ")) + b"\n"


class TextWriter(RecordWriter):
    """Writer for labelled text. A dummy label makes the text parse as in a file."""

    def __init__(self, fmt: Any) -> None:
        self.format: Any = fmt
        self.label = "x\t" if fmt.separator == "tab" else "x "

    def record(self, x: Any) -> Any:
        return x if isinstance(x, str) else None

    def line(self, record: str) -> bytes:
        # An empty line makes no record: see `encoding._check_parsed`.
        return encode_utf8(self.label + record.replace("\n", " ")) + b"\n" if record.strip(_BLANKS) else b"\n"

    def check(self, features: int, chosen: MapSpec | None) -> None:
        super().check(features, chosen)
        if self.format.separator not in ("tab", "blank"):
            raise InputError(f"The separator of the encoding must be tab or blank, but is {self.format.separator!r}.")

    def accepts(self, X: Any) -> bool:
        return super().accepts(X) or (is_frame(X) and len(get_frame_columns(X)) == 1)

    def records(self, X: Any) -> Iterator[Any]:
        if not is_frame(X):
            yield from super().records(["" if is_missing(text) else text for text in list_values(X)])
            return
        for row in iter_rows(X):
            (text,) = row.values()
            yield "" if is_missing(text) else str(text)


_BLANKS = "".join(map(chr, range(33)))


class ObjectWriter(RecordWriter):
    """Writer for JSON lines."""

    accepts_dicts = True

    def __init__(self, fmt: Format) -> None:
        self.format = fmt

    def record(self, x: Any) -> Any:
        return x if isinstance(x, str) else as_mapping(x)

    def line(self, record: Any) -> bytes:
        if isinstance(record, str):
            return encode_utf8(record.replace("\n", " ")) + b"\n"
        codes: Any = getattr(self.format, "categorical", ())
        if codes:
            record = {name: to_category_code(value) if name in codes else value for name, value in record.items()}
        try:
            text = json.dumps(record, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError):
            text = dump_json(record)
        return encode_utf8(text) + b"\n"

    def accepts(self, X: Any) -> bool:
        return super().accepts(X) or is_frame(X)

    def records(self, X: Any) -> Iterator[Any]:
        return iter_rows(X) if is_frame(X) else super().records(X)


class TableWriter(RecordWriter):
    """Writer for CSV, TSV and Parquet: comma-separated cells in the order of the columns."""

    accepts_dicts = True

    def __init__(self, fmt: Any, unknown: Callable[[Any], None]) -> None:
        csv: Any = formats.get_format_class("csv")
        fields = asdict(fmt) | {"delimiter": ","}
        # Cells are written with standard quoting and encoding, whatever the files of the model used.
        fields |= {name: usual for name, usual in (("quote", '"'), ("encoding", None)) if name in fields}
        self.format: Any = replace(fmt, **fields) if isinstance(fmt, csv) else csv(**fields)
        self.unknown = unknown
        self.places = {name: column for column, name in enumerate(fmt.names)}
        self.numeric, self.target = fmt.numeric, fmt.target
        self.texts, self.weight = getattr(fmt, "texts", ()), getattr(fmt, "weight", None)
        ignored = {self.target, self.weight, *getattr(fmt, "ignored", ())}
        self.features = frozenset(column for column in self.places.values() if column not in ignored)
        self.empty = ["1" if column == self.weight else "" for column in range(len(fmt.names))]

    def record(self, x: Any) -> Any:
        return as_mapping(x)

    def line(self, record: Mapping[str, Any]) -> bytes:
        cells, places, features = self.empty.copy(), self.places, self.features
        others = []
        for name, value in record.items():
            column = places.get(name)
            if column is None:
                others.append((name, value))
            elif column in features:
                cells[column] = self.cell(column, value)
        for name, value in others:
            self._put_feature(cells, name, value)
        return encode_utf8(",".join(cells)) + b"\n"

    def cell(self, column: int, value: Any) -> str:
        kind = type(value)
        if kind is str:
            return quote_cell(value)
        if self.numeric[column]:
            if kind is float or kind is int:
                return repr(value) if value == value else ""  # noqa: PLR0124 - NaN
            return format_number_cell(value)
        return quote_cell(format_category(value))

    def _put_feature(self, cells: list[str], name: Any, value: Any) -> None:
        """Set a feature by its name, such as job=nurse; report other keys as unknown."""
        column, text = self._feature(name)
        if column < 0:
            self.unknown(name)
        elif not is_missing(value) and value != 0:
            cell = quote_cell(text)
            if isinstance(value, str) or value != 1:
                raise InputError(f"{name!r} is a category, whose value must be 1 or 0, got {value!r}.")
            if column in self.texts:
                cell = quote_cell(f"{unquote_cell(cells[column])} {text}")
            elif cells[column] not in ("", cell):
                raise InputError(
                    f"Column {self.format.names[column]!r} takes one category per row, got a second one, {name!r}."
                )
            cells[column] = cell

    def _feature(self, name: Any) -> tuple[int, str]:
        """Return the column of a category and the category, by the feature's name; −1 for an unknown name."""
        at = name.find("=") if isinstance(name, str) else -1
        while at >= 0:
            column = self.places.get(name[:at], -1)
            if column in self.features and not self.numeric[column]:
                return column, name[at + 1 :]
            at = name.find("=", at + 1)
        return -1, ""

    def check(self, features: int, chosen: MapSpec | None) -> None:
        super().check(features, chosen)
        names, numeric, target = self.format.names, self.numeric, self.target
        fits = len(names) == len(numeric) == len(self.places) >= 2 and type(target) is int and 0 <= target < len(names)
        if not fits or not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise InputError("The columns of the encoding are inconsistent.")
        chosen_columns = [*self.texts, *self.format.ignored, *([] if self.weight is None else [self.weight])]
        if not all(type(column) is int and 0 <= column < len(names) for column in chosen_columns):
            raise InputError("The columns of the encoding are inconsistent.")
        if self.format.missing not in MISSING_VALUES or not (
            self.format.hash_bits is None or type(self.format.hash_bits) is int
        ):
            raise InputError("The settings of the encoding are not those of a table.")
        count = len(self.features)
        if self.format.hash_bits is None and chosen is None and features != count:
            raise InputError(f"The encoding has {count:,} columns of features, but there are {features:,}.")

    # --- Data frames and Arrow tables ---

    def accepts(self, X: Any) -> bool:
        return super().accepts(X) or (is_frame(X) and self._match_columns(get_frame_columns(X)) is not None)

    def _match_columns(self, columns: list[Any]) -> list[Any] | None:
        """Return the names of a frame's columns; None where they can't be matched.

        Where no name is known and all are numbers, they stand for the columns of the file in order.
        """
        named = [name if isinstance(name, str) else str(name) for name in columns]
        known = self.format.header and any(name in self.places for name in named)
        if known or any(isinstance(name, str) for name in columns):
            return named
        places = [self.format.names, self.format.feature_columns]
        return next((list(some) for some in places if len(some) == len(columns)), None)

    def _require_known_columns(self, columns: list[Any]) -> list[Any]:
        """Return the names of a frame's columns; InputError where the model knows none of them."""
        named = self._match_columns(columns)
        if named is None or not any(self._is_known(name) for name in named):
            wanted = join_names(self.format.feature_columns)
            raise InputError(
                f"The model has the columns {wanted}, but the table has none of them:"
                f" {join_names([str(name) for name in columns])}."
            )
        return named

    def _is_known(self, name: str) -> bool:
        """Return whether this is a feature column, or the name of a feature."""
        return self.places.get(name, -1) in self.features or self._feature(name)[0] >= 0

    def records(self, X: Any) -> Iterator[Any]:
        if not is_frame(X):
            return super().records(X)
        columns = self._require_known_columns(get_frame_columns(X))
        return (dict(zip(columns, row.values(), strict=True)) for row in iter_rows(X))

    def arrow_format(self) -> Any:
        kind: Any = formats.get_format_class("parquet")
        return kind(**{name: value for name, value in asdict(self.format).items() if name in _list_fields(kind)})

    def record_batches(self, X: Any) -> Iterator[Any] | None:
        if not is_frame(X) or find_spec("pyarrow") is None:
            return None
        columns = self._require_known_columns(get_frame_columns(X))
        arrow = import_module("pyarrow")
        rows = max(1, frames.CELLS_PER_CHUNK // len(self.places))
        arrays = {}
        for k, name in enumerate(columns):
            column = self.places.get(name)
            if column is None:
                if self._feature(name)[0] >= 0:
                    return None
                self.unknown(name)
            elif column in self.features:
                found = self._array(arrow, column, get_column(X, k))
                if found is None:
                    return None
                arrays[column] = found
        return self._batches(arrow, arrays, get_length(X), rows)

    def _batches(self, arrow: Any, arrays: dict[int, Any], count: int, rows: int) -> Iterator[Any]:
        for start in range(0, count, rows):
            size = min(rows, count - start)
            parts = []
            for column in range(len(self.places)):
                part = arrays[column].slice(start, size) if column in arrays else None
                if column == self.weight:
                    part = arrow.array(np.ones(size))
                elif part is None:
                    part = arrow.nulls(size, arrow.float64() if self.numeric[column] else arrow.large_string())
                elif isinstance(part, arrow.ChunkedArray):
                    part = part.combine_chunks()
                    part = part.chunk(0) if isinstance(part, arrow.ChunkedArray) else part
                parts.append(part)
            yield arrow.RecordBatch.from_arrays(parts, list(self.places))

    def _array(self, arrow: Any, column: int, values: Any) -> Any:
        """Return a column for the Parquet parser; None where it must be read as text."""
        try:
            array = values if hasattr(values, "type") else arrow.array(values, from_pandas=True)
        except (arrow.ArrowException, TypeError, ValueError, OverflowError):  # pyarrow raises any of them
            return None
        types = arrow.types
        kind = array.type.value_type if types.is_dictionary(array.type) else array.type
        is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
        is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)
        if self.numeric[column]:
            return array if is_number else None
        return array if is_text else _to_categories(arrow, array)


def _to_categories(arrow: Any, array: Any) -> Any:
    """Convert numbers and other values to texts, each distinct value once."""
    if isinstance(array, arrow.ChunkedArray):
        array = array.combine_chunks()
        array = array.chunk(0) if isinstance(array, arrow.ChunkedArray) else array
    coded = array if arrow.types.is_dictionary(array.type) else array.dictionary_encode()
    texts = arrow.array([format_category(value) for value in coded.dictionary.to_pylist()], arrow.string())
    return arrow.DictionaryArray.from_arrays(coded.indices, texts)


def build_writer(settings: dict[str, Any], unknown: Callable[[Any], None]) -> Any:
    """Return the writer for the format with these settings."""
    before = {name: value for name, value in settings.items() if name not in NON_FORMAT_SETTINGS}
    name = before.pop("format")
    fmt = formats.get_format_class(name).from_settings(before)
    if name in ("csv", "tsv", "parquet"):
        return TableWriter(fmt, unknown)
    return {"jsonl": ObjectWriter, "text": TextWriter}.get(name, LineWriter)(fmt)


def _list_fields(kind: Any) -> set[str]:
    """Return the names of a dataclass's fields."""
    return {name for base in kind.__mro__ for name in vars(base).get("__annotations__", {})}


def as_mapping(x: Any) -> Mapping[str, Any] | None:
    """Return a raw row as a mapping: a dict with names, a list of names, a row of a pandas frame; None for others."""
    if isinstance(x, Mapping):
        return x if not x or isinstance(next(iter(x)), str) else None
    if isinstance(x, list | tuple):
        return count_names(x) if x and isinstance(x[0], str) else None
    if hasattr(x, "to_dict") and hasattr(x, "index") and not hasattr(x, "columns"):
        return as_mapping(x.to_dict())
    return None


def count_names(names: Sequence[Any]) -> dict[str, int]:
    """Return how often each name occurs in a list."""
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found
