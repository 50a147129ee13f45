"""Raw rows for a model that was trained from files: the features that its reader would have made of them.

A raw row is a dict of column → value, a text, or a row of a data frame or an Arrow table. It is written as one record
of the model's format, and the parser of that format reads it: there is one encoding, for files and for rows. Tables of
many rows go to the parser of Parquet files instead where pyarrow is installed.

    table (CSV, TSV, Parquet)   {"age": 41, "job": "nurse"}; columns are matched by name
    JSON lines                  the object of a line
    text                        the text, without a label
    vw, svmlight                a line; the label may be left out

The label column is ignored. Columns that are absent, None and NaN are missing values. A category that is given as a
whole float, such as 3.0, is spelled as the integer 3. The name of a feature, such as {"job=nurse": 1}, is that feature.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._bytes import PADDING
from novikoff._records import NamedTuple, asdict, replace
from novikoff.errors import InputError, UnknownColumnsWarning, levels_to_user
from novikoff.stream import formats
from novikoff.stream.feed import Block
from novikoff.stream.formats.contract import Format, Parsed, Parser
from novikoff.stream.formats.table import listed, unique_names
from novikoff.stream.formats.words import MOST_LETTERS, MOST_WORDS
from novikoff.stream.hashing import MOST_BITS
from novikoff.stream.maps import Map, Mapper, Unsuitable
from novikoff.stream.names import Names
from novikoff.stream.options import MISSING_VALUES
from novikoff.stream.rows import Dense, Rows, Sparse, how_many
from novikoff.stream.terms import tidied

SMALL_BLOCK = 1 << 12
"""Bytes of text for a single row: longer ones get a larger block."""
CHUNK = 1 << 18
"""Bytes of text that are parsed at once, of many rows."""
ARROW_CELLS = 1 << 17
"""Cells of a table that are encoded at once."""
MAX_KNOWN_HASHES = 1 << 20
MAX_UNKNOWN_SHOWN = 8
NOT_OF_THE_FORMAT = ("map", "map_bits", "encoding")
NO_VALUES = ("NAType", "NaTType")
"""Types of pandas for missing values, which can't be compared."""
_QUOTED = re.compile(r'[",\r\n]')


class Encoded(NamedTuple):
    """Some rows, and the number of columns that there are with them."""

    rows: Rows
    features: int


class Encoding:
    """How a model encodes raw rows; made from the settings of its reader, which the model file holds."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.warns = True
        """Whether columns that the model does not know are a warning."""
        self.unknown: dict[str, None] = {}
        """The first columns that the model does not know."""
        self.writer = _writer(settings, self._note_unknown)
        self.map = _map_of(settings, self.writer.format)
        self._single, self._many = _Pool(self, SMALL_BLOCK), _Pool(self, CHUNK)
        self._names: dict[int, str] = {}

    def __reduce__(self) -> tuple[type[Encoding], tuple[dict[str, Any]]]:
        return type(self), (self.settings,)

    @property
    def takes_dicts(self) -> bool:
        """Whether a dict with names as keys is a raw row."""
        return self.writer.takes_dicts

    @property
    def grows(self) -> bool:
        """Whether new rows may bring new features."""
        return not self.writer.format.bits_used and self.writer.format.columns is None

    def check(self, features: int) -> None:
        """Raise InputError where a model with so many features can't have been read in this way. Parsers don't check
        bounds: settings from a file that may have been made by hand are checked here."""
        self.writer.check(features, self.map)

    # --- One row ---

    def example(self, x: Any) -> Any:
        """Return one row as `learn_one` takes it: an array, or a dict of column or name → value. Whatever is not a raw
        row is returned as it is."""
        record = self.writer.record(x)
        if record is None:
            return x
        with self._single.place() as place:
            parsed = self._parse(place, self.writer.line(record), 1, None)
            rows = self._mapped(place, parsed.rows, parsed.features)
            if isinstance(rows, Dense):
                return rows.values[: rows.width].copy()
            end = int(rows.starts[-1])
            values = rows.values[:end].tolist()
            if self.map is not None:
                return dict(zip(self._map_names(rows.indices[:end].tolist()), values, strict=True))
            if self.writer.format.bits_used != 0:
                return dict(zip(rows.indices[:end].tolist(), values, strict=True))
            names = self._spelled(place.block, parsed, parsed.hashes[:end].tolist(), range(end))
            found: dict[str, float] = {}
            for name, value in zip(names, values, strict=True):
                found[name] = found.get(name, 0.0) + value
            return found

    def _map_names(self, columns: list[int]) -> Sequence[Any]:
        """The columns of a map by name, where they have names in the model."""
        names = self.writer.format.columns
        if self.map is None or self.map.bits is not None or names is None:
            return columns
        return [self.map.name(column, names) for column in columns]

    # --- Many rows ---

    def takes(self, X: Any) -> bool:
        """Whether X is many raw rows, and not an array or a matrix of features."""
        return self.writer.takes(X)

    def batches(self, X: Any, names: Names | None, *, learns: bool = False) -> Iterator[Encoded]:
        """Encode many raw rows, chunk by chunk; each chunk is valid until the next one is asked for.

        `names` are those of the model, where each name has its own column; new ones are added if the model `learns`.
        """
        columns_of = _adding(names) if learns else _finding(names)
        for place, parsed in self._parsed(X):
            rows, features = parsed.rows, parsed.features
            if self.writer.format.bits_used == 0 and isinstance(rows, Sparse):
                rows = self._with_columns(place.block, parsed, rows, columns_of)
                features = 0 if names is None else len(names)
            elif self.map is not None:
                rows, features = self._mapped(place, rows, features), self.map.columns(features)
            yield Encoded(rows, features)

    def _parsed(self, X: Any) -> Iterator[tuple[_Place, Parsed]]:
        batches = self.writer.record_batches(X)
        if batches is not None:
            with self._many.place() as place:
                done = 0
                for batch in batches:
                    place.arrow.piece = batch
                    yield place, _checked(place.arrow.parse(place.block), len(batch), done)
                    done += len(batch)
            return
        with self._many.place() as place:
            lines: list[bytes] = []
            size = done = 0
            for record in self.writer.records(X):
                lines.append(self._line(record, done + len(lines)))
                size += len(lines[-1])
                if size >= CHUNK:
                    yield place, self._parse(place, b"".join(lines), len(lines), done)
                    done, size = done + len(lines), 0
                    lines.clear()
            if lines or not done:
                yield place, self._parse(place, b"".join(lines), len(lines), done)

    def _line(self, record: Any, row: int) -> bytes:
        try:
            return self.writer.line(record)
        except InputError as problem:
            raise InputError(f"Row {row}: {problem}") from None

    def _parse(self, place: _Place, text: bytes, count: int, done: int | None) -> Parsed:
        """Parse `count` lines; `done` is the number of the first row, None for a single one."""
        place.write(text)
        return _checked(place.parser.parse(place.block), count, done)

    def _mapped(self, place: _Place, rows: Rows, features: int) -> Rows:
        if self.map is None:
            return rows
        try:
            pieces = [piece for piece, _, _ in place.mapper.pieces(rows, features)]
        except Unsuitable as problem:
            raise InputError(f"Row {problem.row}: {problem}") from None
        return pieces[0] if len(pieces) == 1 else joined(pieces)

    def _with_columns(
        self, block: Block, parsed: Parsed, rows: Sparse, columns_of: Callable[[list[str]], NDArray[np.uint32]]
    ) -> Sparse:
        """The rows with the model's columns in place of hashes. New names are added in the order in which they come."""
        hashes = parsed.hashes[: int(rows.starts[-1])]
        distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        names = self._spelled(block, parsed, distinct[order].tolist(), first[order].tolist())
        columns = np.empty(len(distinct), np.uint32)
        columns[order] = columns_of(names)
        found = rows._replace(indices=columns[inverse.reshape(-1)], values=rows.values[: len(hashes)])
        if len(set(names)) == len(names):
            return found
        return tidied(found, 0, how_many(found), int(columns.max()) + 1)  # two features are spelled alike

    def _spelled(self, block: Block, parsed: Parsed, hashes: list[int], places: Iterable[int]) -> list[str]:
        """The names of terms, by their hashes and their numbers in the block."""
        known = self._names
        if len(known) > MAX_KNOWN_HASHES:
            known.clear()
        names = []
        for h, at in zip(hashes, places, strict=True):
            name = known.get(h)
            if name is None:
                name = known[h] = self.writer.format.feature_name(block, parsed.spans[at])
            names.append(name)
        return names

    # --- Columns that the model does not know ---

    def _note_unknown(self, name: Any) -> None:
        """Remember the name of a column that was ignored, and warn about the first one."""
        is_first = not self.unknown
        if len(self.unknown) < MAX_UNKNOWN_SHOWN:
            self.unknown[str(name)] = None
        if is_first and self.warns:
            warnings.warn(
                f"The model has no column {name!r}: it is ignored, and so are others that it has not learned.",
                UnknownColumnsWarning,
                stacklevel=levels_to_user(),
            )

    def describe_unknown(self) -> str | None:
        """Return a sentence on the columns that were ignored, where there are any."""
        if not self.unknown:
            return None
        more = " …" if len(self.unknown) == MAX_UNKNOWN_SHOWN else ""
        return f"Columns that the model has not learned are ignored: {', '.join(self.unknown)}{more}."


def encoding_of(state: Any) -> Encoding | None:
    """Return the encoding of a model by its state; None where it was not trained from files."""
    settings = getattr(state, "reading", None)
    if settings is None or "format" not in settings:
        return None
    found: Encoding | None = state.encoding
    if found is None or found.settings is not settings:
        found = Encoding(settings)
        found.check(state.features)
        state.encoding = found
    return found


def joined(parts: Sequence[Any]) -> Rows:
    """Return the rows of all parts as one; they are all dense, or all sparse."""
    if not parts:
        return Sparse(np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.float32))
    if isinstance(parts[0], Dense):
        return Dense(np.concatenate([rows.values for rows in parts]), parts[0].width)
    ends = [int(rows.starts[-1]) for rows in parts]
    lengths = np.concatenate([np.diff(rows.starts) for rows in parts])
    return Sparse(
        np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        np.concatenate([rows.indices[:end] for rows, end in zip(parts, ends, strict=True)]),
        np.concatenate([rows.values[:end] for rows, end in zip(parts, ends, strict=True)]),
    )


# --- Parsing ---


class _Place:
    """A block with a parser for it. Threads use different ones."""

    def __init__(self, encoding: Encoding, size: int) -> None:
        self.block = Block(size)
        self.encoding = encoding
        self._parser: Parser | None = None
        self._arrow: Parser | None = None
        self._mapper: Mapper | None = None

    @property
    def parser(self) -> Parser:
        if self._parser is None:
            self._parser = self.encoding.writer.format.parser(named=False, unlabelled=True)
        return self._parser

    @property
    def arrow(self) -> Parser:
        """For record batches."""
        if self._arrow is None:
            self._arrow = self.encoding.writer.arrow_format().parser(named=False, unlabelled=True)
        return self._arrow

    @property
    def mapper(self) -> Mapper:
        if self._mapper is None:
            assert self.encoding.map is not None  # noqa: S101 - asked for only where there is one
            self._mapper = Mapper(self.encoding.map)
        return self._mapper

    def write(self, text: bytes) -> None:
        size = self.block.size
        while size < len(text):
            size *= 2
        if size > self.block.size:
            self.block = Block(size)
        end = PADDING + len(text)
        self.block.text[PADDING:end] = np.frombuffer(text, np.uint8)
        self.block.end_at(end, "")


class _Pool:
    """Places that are not in use at the moment."""

    def __init__(self, encoding: Encoding, size: int) -> None:
        self.encoding, self.size = encoding, size
        self.free: list[_Place] = []

    @contextmanager
    def place(self) -> Iterator[_Place]:
        """A place for this thread alone. One that was left by an error is not used again."""
        try:
            taken = self.free.pop()
        except IndexError:
            taken = _Place(self.encoding, self.size)
        yield taken
        self.free.append(taken)


def _checked(parsed: Parsed, count: int, done: int | None) -> Parsed:
    """What was parsed, with a row for each of `count` records; InputError for the first that could not be parsed."""
    if parsed.problems:
        first = parsed.problems[0]
        where = "" if done is None else f"Row {done + first.line}: "
        raise InputError(where + (first.sentence if where else first.sentence[:1].upper() + first.sentence[1:]))
    rows = parsed.rows
    if isinstance(rows, Sparse) and how_many(rows) < count:  # empty texts are no records, but rows without features
        lengths = np.zeros(count, np.int64)
        lengths[parsed.line_of] = np.diff(rows.starts)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return parsed._replace(rows=rows._replace(starts=starts))
    return parsed


def _finding(names: Names | None) -> Callable[[list[str]], NDArray[np.uint32]]:
    """Columns of names; those that were never learned get columns behind the others."""

    def find(wanted: list[str]) -> NDArray[np.uint32]:
        known = {} if names is None else names.columns
        new = len(known)
        found = np.empty(len(wanted), np.uint32)
        for k, name in enumerate(wanted):
            column = known.get(name)
            if column is None:
                column, new = new, new + 1
            found[k] = column
        return found

    return find


def _adding(names: Names | None) -> Callable[[list[str]], NDArray[np.uint32]]:
    return (Names() if names is None else names).add


def _map_of(settings: dict[str, Any], settled: Format) -> Map | None:
    chosen = settings.get("map")
    return None if chosen is None else Map.spelled(chosen, settings.get("map_bits") or settled.bits_used)


# --- Writing raw rows as records ---


class _Writer(ABC):
    """Writes raw rows as records of a format."""

    takes_dicts = False
    format: Format
    """What parses the records."""

    @abstractmethod
    def record(self, x: Any) -> Any:
        """One raw row, ready for `line`; None where x is not a raw row."""

    @abstractmethod
    def line(self, record: Any) -> bytes:
        """The record as text."""

    def takes(self, X: Any) -> bool:
        return _is_list(X) and len(X) > 0 and self.record(first_value(X)) is not None

    def records(self, X: Any) -> Iterator[Any]:
        for k, x in enumerate(_listed(X)):
            record = self.record(x)
            if record is None:
                raise InputError(f"Row {k}: rows must all be of one kind, but this one is a {type(x).__name__}.")
            yield record

    def check(self, features: int, chosen: Map | None) -> None:
        """Raise InputError where settings don't fit together, or not to a model with so many features."""
        settled: Any = self.format
        bits = settled.bits_used
        for name, least, most in (("bits", 0, MOST_BITS), ("words", 1, MOST_WORDS), ("letters", 0, MOST_LETTERS)):
            value = getattr(settled, name, None)
            if value is not None and not (type(value) is int and least <= value <= most):
                raise InputError(f"The {name} of the encoding must be from {least} to {most}, but are {value!r}.")
            if value is None and name != "bits" and hasattr(settled, name):
                raise InputError(f"The {name} of the encoding must be a number.")
        if bits and chosen is None and features != 1 << bits:
            raise InputError(f"An encoding with {bits} bits is for {1 << bits:,} features, but there are {features:,}.")
        if bits and chosen is not None and features > chosen.columns(1 << bits):
            raise InputError(f"The map of the encoding has fewer columns than there are features ({features:,}).")
        if chosen is not None and chosen.bits is not None and features != 1 << chosen.bits:
            raise InputError(f"A map with {chosen.bits} bits is for {1 << chosen.bits:,} features, not {features:,}.")

    def record_batches(self, X: Any) -> Iterator[Any] | None:
        """Record batches with the columns of the table, where X can be read so."""
        return None

    def arrow_format(self) -> Format:
        raise AssertionError("only tables are read from record batches")


class _Lines(_Writer):
    """Of formats without columns: vw and svmlight."""

    def __init__(self, settled: Format) -> None:
        self.format = settled

    def record(self, x: Any) -> Any:
        return x if isinstance(x, str) else None

    def line(self, record: str) -> bytes:
        return _utf8(record.replace("\n", " ")) + b"\n"


class _Texts(_Writer):
    """Of labelled text. Each gets a label, which nothing looks at: then it is parsed as it would be in a file."""

    def __init__(self, settled: Any) -> None:
        self.format = settled
        self.label = "x\t" if settled.separator == "tab" else "x "

    def record(self, x: Any) -> Any:
        return x if isinstance(x, str) else None

    def line(self, record: str) -> bytes:
        # An empty line is no record: see `_checked`.
        return _utf8(self.label + record.replace("\n", " ")) + b"\n" if record.strip(_BLANKS) else b"\n"

    def takes(self, X: Any) -> bool:
        return super().takes(X) or (is_frame(X) and len(columns_of(X)) == 1)

    def records(self, X: Any) -> Iterator[Any]:
        if not is_frame(X):
            yield from super().records(["" if is_missing(text) else text for text in _listed(X)])
            return
        for row in _rows_of_frame(X):
            (text,) = row.values()
            yield "" if is_missing(text) else str(text)


_BLANKS = "".join(map(chr, range(33)))


class _Objects(_Writer):
    """Of JSON lines."""

    takes_dicts = True

    def __init__(self, settled: Format) -> None:
        self.format = settled

    def record(self, x: Any) -> Any:
        return x if isinstance(x, str) else _mapping(x)

    def line(self, record: Any) -> bytes:
        if isinstance(record, str):
            return _utf8(record.replace("\n", " ")) + b"\n"
        codes: Any = getattr(self.format, "categorical", ())
        if codes:
            record = {name: _code(value) if name in codes else value for name, value in record.items()}
        try:
            text = json.dumps(record, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError):
            text = _json(record)
        return _utf8(text) + b"\n"

    def takes(self, X: Any) -> bool:
        return super().takes(X) or is_frame(X)

    def records(self, X: Any) -> Iterator[Any]:
        return _rows_of_frame(X) if is_frame(X) else super().records(X)


class _Table(_Writer):
    """Of CSV, TSV and Parquet: cells in the order of the columns, with commas between them."""

    takes_dicts = True

    def __init__(self, settled: Any, unknown: Callable[[Any], None]) -> None:
        csv: Any = formats.format_class("csv")
        fields = asdict(settled) | {"delimiter": ","}
        # Cells are written here as most files have them, whatever the files of the model were like.
        fields |= {name: usual for name, usual in (("quote", '"'), ("encoding", None)) if name in fields}
        self.format: Any = replace(settled, **fields) if isinstance(settled, csv) else csv(**fields)
        self.unknown = unknown
        self.places = {name: column for column, name in enumerate(settled.names)}
        self.numeric, self.target = settled.numeric, settled.target
        self.texts, self.weight = getattr(settled, "texts", ()), getattr(settled, "weight", None)
        ignored = {self.target, self.weight, *getattr(settled, "ignored", ())}
        self.features = frozenset(column for column in self.places.values() if column not in ignored)
        self.empty = ["1" if column == self.weight else "" for column in range(len(settled.names))]

    def record(self, x: Any) -> Any:
        return _mapping(x)

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
        return _utf8(",".join(cells)) + b"\n"

    def cell(self, column: int, value: Any) -> str:
        kind = type(value)
        if kind is str:
            return _quoted(value)
        if self.numeric[column]:
            if kind is float or kind is int:
                return repr(value) if value == value else ""  # noqa: PLR0124 - NaN
            return _number(value)
        return _quoted(category(value))

    def _put_feature(self, cells: list[str], name: Any, value: Any) -> None:
        """A key that is no column: the name of a feature, such as job=nurse, or unknown."""
        column, text = self._feature(name)
        if column < 0:
            self.unknown(name)
        elif not is_missing(value) and value != 0:
            spelled = _quoted(text)
            if isinstance(value, str) or value != 1:
                raise InputError(f"{name!r} is a category, which is there (1) or not (0), but its value is {value!r}.")
            if column in self.texts:
                spelled = _quoted(f"{_unquoted(cells[column])} {text}")
            elif cells[column] not in ("", spelled):
                raise InputError(
                    f"Column {self.format.names[column]!r} has one category in each row, but {name!r} is a second one."
                )
            cells[column] = spelled

    def _feature(self, name: Any) -> tuple[int, str]:
        """The column of a category, and the category; −1 where there is none of that name."""
        at = name.find("=") if isinstance(name, str) else -1
        while at >= 0:
            column = self.places.get(name[:at], -1)
            if column in self.features and not self.numeric[column]:
                return column, name[at + 1 :]
            at = name.find("=", at + 1)
        return -1, ""

    def check(self, features: int, chosen: Map | None) -> None:
        super().check(features, chosen)
        names, numeric, target = self.format.names, self.numeric, self.target
        fits = len(names) == len(numeric) == len(self.places) >= 2 and type(target) is int and 0 <= target < len(names)
        if not fits or not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise InputError("The columns of the encoding don't fit together.")
        chosen_columns = [*self.texts, *self.format.ignored, *([] if self.weight is None else [self.weight])]
        if not all(type(column) is int and 0 <= column < len(names) for column in chosen_columns):
            raise InputError("The columns of the encoding don't fit together.")
        if self.format.missing not in MISSING_VALUES or not (self.format.bits is None or type(self.format.bits) is int):
            raise InputError("The settings of the encoding are not those of a table.")
        count = len(self.features)
        if self.format.bits is None and chosen is None and features != count:
            raise InputError(f"The encoding has {count:,} columns of features, but there are {features:,}.")

    # --- Data frames and Arrow tables ---

    def takes(self, X: Any) -> bool:
        return super().takes(X) or (is_frame(X) and self._named(columns_of(X)) is not None)

    def _named(self, columns: list[Any]) -> list[Any] | None:
        """The names of a frame's columns. Where none of them is known and all are numbers, they stand for the columns
        of the file in order; None where that can't be."""
        named = [name if isinstance(name, str) else str(name) for name in columns]
        known = self.format.header and any(name in self.places for name in named)
        if known or any(isinstance(name, str) for name in columns):
            return named
        places = [self.format.names, self.format.feature_columns]
        return next((list(some) for some in places if len(some) == len(columns)), None)

    def _must_be_named(self, columns: list[Any]) -> list[Any]:
        """Return the names of a frame's columns; InputError where the model knows none of them."""
        named = self._named(columns)
        if named is None or not any(self._is_known(name) for name in named):
            wanted = listed(self.format.feature_columns)
            raise InputError(
                f"The model has the columns {wanted}, but the table has none of them:"
                f" {listed([str(name) for name in columns])}."
            )
        return named

    def _is_known(self, name: str) -> bool:
        """Whether this is a column of features, or the name of a feature."""
        return self.places.get(name, -1) in self.features or self._feature(name)[0] >= 0

    def records(self, X: Any) -> Iterator[Any]:
        if not is_frame(X):
            return super().records(X)
        columns = self._must_be_named(columns_of(X))
        return (dict(zip(columns, row.values(), strict=True)) for row in _rows_of_frame(X))

    def arrow_format(self) -> Any:
        kind: Any = formats.format_class("parquet")
        return kind(**{name: value for name, value in asdict(self.format).items() if name in _fields(kind)})

    def record_batches(self, X: Any) -> Iterator[Any] | None:
        if not is_frame(X) or find_spec("pyarrow") is None:
            return None
        columns = self._must_be_named(columns_of(X))
        arrow = import_module("pyarrow")
        rows = max(1, ARROW_CELLS // len(self.places))
        arrays = {}
        for k, name in enumerate(columns):
            column = self.places.get(name)
            if column is None:
                if self._feature(name)[0] >= 0:
                    return None
                self.unknown(name)
            elif column in self.features:
                found = self._array(arrow, column, _column(X, k))
                if found is None:
                    return None
                arrays[column] = found
        return self._batches(arrow, arrays, _length(X), rows)

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
        """A column for the parser of Parquet; None where it must be read as text."""
        try:
            array = values if hasattr(values, "type") else arrow.array(values, from_pandas=True)
        except (arrow.ArrowException, TypeError, ValueError, OverflowError):  # of several kinds
            return None
        types = arrow.types
        kind = array.type.value_type if types.is_dictionary(array.type) else array.type
        is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
        is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)
        if self.numeric[column]:
            return array if is_number else None
        return array if is_text else _as_categories(arrow, array)


def _as_categories(arrow: Any, array: Any) -> Any:
    """Numbers and other values as texts, each spelled once."""
    if isinstance(array, arrow.ChunkedArray):
        array = array.combine_chunks()
        array = array.chunk(0) if isinstance(array, arrow.ChunkedArray) else array
    coded = array if arrow.types.is_dictionary(array.type) else array.dictionary_encode()
    texts = arrow.array([category(value) for value in coded.dictionary.to_pylist()], arrow.string())
    return arrow.DictionaryArray.from_arrays(coded.indices, texts)


def _writer(settings: dict[str, Any], unknown: Callable[[Any], None]) -> Any:
    """What writes raw rows for the format with these settings."""
    before = {name: value for name, value in settings.items() if name not in NOT_OF_THE_FORMAT}
    name = before.pop("format")
    settled = formats.format_class(name).restored(before)
    if name in ("csv", "tsv", "parquet"):
        return _Table(settled, unknown)
    return {"jsonl": _Objects, "text": _Texts}.get(name, _Lines)(settled)


def _fields(kind: Any) -> set[str]:
    """The names of a record's fields."""
    return {name for base in kind.__mro__ for name in vars(base).get("__annotations__", {})}


# --- Values ---


def category(value: Any) -> str:
    """How a category is spelled; empty where it is missing.

    >>> category("nurse"), category(3), category(3.0), category(None)
    ('nurse', '3', '3', '')
    """
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    value = _plain(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _number(value: Any) -> str:
    """A value of a column of numbers, as it is spelled in a cell."""
    if is_missing(value):
        return ""
    value = _plain(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "1" if value else "0"
    try:
        return repr(value if isinstance(value, int) else float(value))
    except (TypeError, ValueError, OverflowError):
        return _quoted(str(value))  # which the parser refuses


def _code(value: Any) -> Any:
    """A number in a field of categories: whole floats are spelled as integers."""
    value = _plain(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(value: Any) -> Any:
    """NumPy's numbers and texts as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def is_missing(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return type(value).__name__ in NO_VALUES


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


def _unquoted(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _json(value: Any) -> str:
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


def _mapping(x: Any) -> Mapping[str, Any] | None:
    """A raw row as a mapping: a dict with names, a list of names, a row of a pandas frame. None for anything else."""
    if isinstance(x, Mapping):
        return x if not x or isinstance(next(iter(x)), str) else None
    if isinstance(x, list | tuple):
        return _counted(x) if x and isinstance(x[0], str) else None
    if hasattr(x, "to_dict") and hasattr(x, "index") and not hasattr(x, "columns"):
        return _mapping(x.to_dict())
    return None


def _counted(names: Sequence[Any]) -> dict[str, int]:
    """A list of names: each is worth 1 as often as it is there."""
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return found


# --- Data frames and tables, by what they can do: none of these libraries is imported here ---


def _is_list(X: Any) -> bool:
    """Whether X is a list, or a Series or an array of Python's objects or texts, but not of numbers."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "OU"
    return isinstance(X, list | tuple) or (_lister(X) is not None and not hasattr(X, "columns"))


def _lister(X: Any) -> Any:
    """What makes a list of a Series or an array of Arrow."""
    return getattr(X, "to_list", None) or getattr(X, "to_pylist", None)


def _listed(X: Any) -> Any:
    if isinstance(X, list | tuple):
        return X
    return X.tolist() if isinstance(X, np.ndarray) else _lister(X)()


def first_value(X: Any) -> Any:
    """Return the first value of a list, a Series or an array that is not missing; None where there is none."""
    values = (value.as_py() if hasattr(value, "as_py") else value for value in X)
    return next((value for value in values if not is_missing(value)), None)


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas or polars, or a table or record batch of Arrow."""
    return hasattr(X, "columns") and (hasattr(X, "to_dict") or hasattr(X, "to_pylist"))


def columns_of(X: Any) -> list[Any]:
    """Return the names of a frame's columns; InputError where two have the same name."""
    names = list(X.schema.names if _is_arrow(X) else X.columns)
    unique_names([str(name) for name in names], "X")
    return names


def _is_arrow(X: Any) -> bool:
    return hasattr(X, "to_pylist")


def _length(X: Any) -> int:
    return X.num_rows if _is_arrow(X) else len(X)


def _column(X: Any, k: int) -> Any:
    """Column k, as pyarrow takes it."""
    if _is_arrow(X):
        return X.column(k)
    if hasattr(X, "iloc"):
        return X.iloc[:, k]
    return X.to_series(k).to_arrow()


def _rows_of_frame(X: Any) -> Iterator[dict[Any, Any]]:
    """Dicts, for some rows at a time."""
    rows = max(1, ARROW_CELLS // max(1, len(columns_of(X))))
    for start in range(0, _length(X), rows):
        if hasattr(X, "iloc"):
            yield from X.iloc[start : start + rows].to_dict("records")
        elif _is_arrow(X):
            yield from X.slice(start, rows).to_pylist()
        else:
            yield from X.slice(start, rows).to_dicts()
