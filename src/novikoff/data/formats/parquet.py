"""Parquet and Arrow files (IPC, Feather), read by pyarrow: tables with column names and types.

Numbers and truth values are numeric columns, strings are categories. null, NaN and the strings that are missing in CSV
are missing: the same table gives the same rows in each format. How columns become features: see `table_base.py`. A file
is read in pieces of some 100,000 cells. Problems name the row, from 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data.formats.base import LARGEST_VALUE, BadLine, ParsedBlock
from novikoff.data.formats.column_survey import MAX_SURVEYED_ROWS, SurveyedColumn
from novikoff.data.formats.csv_rows import (
    CATEGORY,
    INDICATE,
    LABEL,
    NO_LABEL,
    NO_SEED,
    NOT_UTF8,
    NUMERIC,
    RANGE,
    REFUSE,
    SKIPPED,
    WEIGHT,
)
from novikoff.data.formats.csv_rows import MISSING as MISSING_VALUE
from novikoff.data.formats.csv_sniffer import MISSING_PATTERN
from novikoff.data.formats.ngrams import NgramWorkspace, NoNgrams, allocate_workspace, append_text, count_max_terms
from novikoff.data.formats.table_base import EXTRA_COLUMN, TableFormat, TableParser, resolve_columns
from novikoff.data.merge_terms import HashedTerms, append_term, finish_row
from novikoff.data.names.column_names import make_names_unique
from novikoff.data.names.hashing import hash_bytes
from novikoff.data.rows import Dense, Sparse
from novikoff.data.text_source import TextBlock, TextSource
from novikoff.errors import InputError

CELLS_PER_CHUNK = 1 << 17
BUFFER_BYTES = 1 << 16
ARROW_MAGIC = b"ARROW1"
ABSENT = -1


class CodedTable(NamedTuple):
    """A piece of a table: numbers, and categories as indices into a list of texts."""

    numbers: NDArray[np.float32]
    """Row by row; NaN for missing values."""
    codes: NDArray[np.int32]
    """Row by row; ABSENT for missing values."""
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    good: NDArray[np.bool_]
    """Which rows are valid."""


@compiled
def hash_rows(
    text: NDArray[np.uint8],
    piece: CodedTable,
    kinds: NDArray[np.uint8],
    seeds: NDArray[np.uint64],
    letters: NDArray[np.uint64],
    indicators: NDArray[np.uint64],
    indicate: bool,
    words: NoNgrams | NgramWorkspace,
    to: HashedTerms,
    starts: NDArray[np.int64],
) -> int:
    """Convert a piece to hashed rows; return their number."""
    row = at = 0
    starts[0] = 0
    named = len(to.spans) > 0
    for i in range(len(piece.good)):
        if not piece.good[i]:
            continue
        first = at
        for column in range(len(kinds)):
            kind = kinds[column]
            if kind == SKIPPED:
                continue
            h = seeds[column]
            value = float(piece.numbers[i, column])
            absent = math.isnan(value)
            start: Any = np.int64(0)
            stop: Any = start
            if kind != NUMERIC:
                absent = piece.codes[i, column] == ABSENT
                value = 0.0
                if not absent:
                    start = piece.starts[piece.codes[i, column]]
                    stop = piece.stops[piece.codes[i, column]]
                    if kind == CATEGORY:
                        h = hash_bytes(text, start, stop, h)
                        value = 1.0
                    else:
                        before = at
                        at = append_text(words, text, start, stop, h, letters[column], to, at)
                        for term in range(before, at if named else before):
                            to.spans[term, 3] = column + 1
            if absent:
                value = 0.0
                if indicate:
                    h, value, stop = indicators[column], 1.0, np.int64(ABSENT)
            if value != 0.0:
                at = append_term(to, at, h, value, column, start, stop)
                if named:
                    to.spans[at - 1, 3] = 0
        at = finish_row(to, first, at)
        row += 1
        starts[row] = at
    return row


@compiled
def hash_text_labels(text: NDArray[np.uint8], piece: CodedTable, column: int, keys: NDArray[np.uint64]) -> None:
    """Write the key of each text label: its hash, 0 where it is missing."""
    for i in range(len(keys)):
        code = piece.codes[i, column]
        keys[i] = 0
        if code != ABSENT:
            keys[i] = hash_bytes(text, piece.starts[code], piece.stops[code], NO_SEED)


class ParquetParser(TableParser):
    """Parser of record batches."""

    def __init__(self, table: TableFormat, named: bool, unlabelled: bool) -> None:
        super().__init__(table, named, unlabelled)
        self.terms = 0

    def parse(self, block: TextBlock) -> ParsedBlock:
        """Parse the record batch in `piece`; the block receives its texts."""
        table, batch = self.table, self.piece
        count, columns = len(batch), len(self.kinds)
        numbers, codes = np.full((count, columns), np.nan), np.full((count, columns), ABSENT, np.int32)
        texts: list[bytes] = []
        for at, c in enumerate(table.opened.places):
            if c == EXTRA_COLUMN or (self.kinds[c] == SKIPPED and c not in (table.target, table.weight)):
                continue
            if table.numeric[c]:
                numbers[:, c] = _to_floats(batch.column(at), table.names[c])
            else:
                codes[:, c], more = _encode_categories(batch.column(at), len(texts))
                texts += more
        starts, stops = _write_texts(block, texts)
        problems = self._problems(batch, numbers, codes, np.array([not _is_utf8(text) for text in texts] + [False]))
        good = np.ones(count, bool)
        good[[p.line for p in problems]] = False
        label = np.where(good, numbers[:, table.target], 0.0)
        label[np.isnan(label)] = np.nan  # one bit pattern for all NaNs
        keys = label.view(np.uint64)
        weights = np.zeros(0) if not self.has_weights() else numbers[good, table.weight]
        piece = CodedTable(numbers.astype(np.float32), codes, starts, stops, good)
        if not table.numeric[table.target]:
            hash_text_labels(block.text, piece, table.target, keys)
        keys, line_of = keys[good], np.flatnonzero(good)
        rows, to = self._rows(block, piece)
        chosen = codes[good, table.target] if not table.numeric[table.target] else np.zeros(0, np.int32)
        spans = np.column_stack([np.append(starts, ABSENT), np.append(stops, ABSENT)])
        return ParsedBlock(
            rows=rows,
            keys=keys,
            label=self.label(block, keys, lambda i: spans[chosen[i]].tolist()),
            weights=weights,
            line_of=line_of,
            lines=count,
            features=1 << table.hash_bits if table.hash_bits else self.width,
            problems=problems,
            hashes=to.hashes[: len(to.spans)] if to is not None else np.zeros(0, np.uint64),
            spans=to.spans if to is not None else np.zeros((0, 4), np.int64),
            numbers=keys.view(np.float64) if table.numeric[table.target] else None,
        )

    def _rows(self, block: TextBlock, piece: CodedTable) -> tuple[Dense | Sparse, HashedTerms | None]:
        table = self.table
        if table.hash_bits is None:
            features = np.nan_to_num(piece.numbers[piece.good][:, table.features], nan=0.0)
            return Dense(features.ravel(), self.width), None
        size, words = block.stop - PADDING_BYTES, bool(table.texts)
        terms = piece.numbers.size + (self._count_max_terms(piece) if words else 0)
        if self.terms < terms:
            self.terms = terms
            self.slots = self.allocate_terms(self.terms)
            self.room: NoNgrams | NgramWorkspace = NoNgrams(0)
        if words:
            self.room = allocate_workspace(
                size, table.word_ngrams, table.char_ngrams, table.lowercase, table.term_weighting
            )
        starts = np.zeros(len(piece.good) + 1, np.int64)
        rows = hash_rows(
            block.text, piece, self.kinds, self.seeds, self.char_seeds, self.indicators, self.missing_policy ==
            INDICATE, self.room, self.slots, starts,
        )  # fmt: skip
        return Sparse(starts[: rows + 1], self.slots.indices, self.slots.values), self.slots

    def _count_max_terms(self, piece: CodedTable) -> int:
        """Return the largest number of terms of the texts of all rows. A repeated text is in the block only once."""
        lengths = np.append(piece.stops - piece.starts, 0)  # 0 for ABSENT
        codes = piece.codes[piece.good][:, list(self.table.texts)]
        return count_max_terms(
            int(lengths[codes].sum()) + 2 * codes.size, self.table.word_ngrams, self.table.char_ngrams
        )

    def _problems(self, batch: Any, numbers: Any, codes: Any, damaged: Any) -> list[BadLine]:
        """Return the first problem of each bad row, in row order.

        `damaged` marks the texts that are not UTF-8, with one more entry at the end for ABSENT.
        """
        table, target = self.table, self.table.target
        found: dict[int, tuple[int, int]] = {}
        large = np.abs(numbers) > LARGEST_VALUE
        numbers[large] = 0.0  # these rows are reported as bad
        absent = np.where(np.array(table.numeric), np.isnan(numbers), codes == ABSENT)
        for row, column in np.argwhere(large).tolist():
            if self.kinds[column] != SKIPPED:
                found.setdefault(row, (RANGE, column))
        if damaged.any():
            for row, column in np.argwhere(damaged[codes]).tolist():
                found.setdefault(row, (NOT_UTF8, column))
        if self.missing_policy == REFUSE:
            for row, column in np.argwhere(absent).tolist():
                if self.kinds[column] != SKIPPED:
                    found.setdefault(row, (MISSING_VALUE, column))
        if table.weight is not None and self.has_weights():
            good = (numbers[:, table.weight] >= 0.0) & (numbers[:, table.weight] <= LARGEST_VALUE)
            found |= dict.fromkeys(np.flatnonzero(~good).tolist(), (WEIGHT, table.weight))
        found |= dict.fromkeys(np.flatnonzero(large[:, target]).tolist(), (LABEL, target))
        if not self.unlabelled:
            found |= dict.fromkeys(np.flatnonzero(absent[:, target]).tolist(), (NO_LABEL, target))
        places = table.opened.places

        def show(row: int, column: int) -> str:
            if column not in places:
                return "nothing"
            cell = batch.column(places.index(column)).slice(row, 1)
            return repr(_get_bytes(cell)[0] if _is_text(cell.type) and damaged.any() else cell[0].as_py())

        return [self.problem(row, reason, column, show(row, column)) for row, (reason, column) in sorted(found.items())]


@dataclass(frozen=True)
class Parquet(TableFormat):
    """Parquet or Arrow files with the settings that the data of one model shares."""

    name: ClassVar[str] = "parquet"
    is_text: ClassVar[bool] = False
    options: ClassVar[tuple[str, ...]] = (
        "label", "signed_hash", "collisions", "text", "word_ngrams", "char_ngrams", "term_weighting",
        "ignore", "columns", "categorical", "numeric", "weight", "missing",
    )  # fmt: skip

    @classmethod
    def from_options(cls, options: Any, head: bytes, title: str) -> Parquet:
        if options.header is False or options.delimiter is not None:
            raise InputError(f"{title}: Parquet columns have names: leave out --no-header and --delimiter.")
        file = _open_file(title, head)
        return cls.from_schema(options, file.schema_arrow, next(iter(file.batches(MAX_SURVEYED_ROWS)), None), title)

    @classmethod
    def from_schema(cls, options: Any, schema: Any, first: Any, title: str) -> Parquet:
        """Build the table for a schema; `first` is a record batch with the first rows, if any."""
        names = make_names_unique(schema.names, title)
        columns = [SurveyedColumn(name, _format_cells(first, k)) for k, name in enumerate(names)]
        numeric = [_is_numeric(field) for field in schema]
        fields = resolve_columns(options, names, [bool(kind) for kind in numeric], columns, title, header=True)
        table = cls(**fields)
        table.opened.survey = columns
        for c in (*table.features, table.target, *([] if table.weight is None else [table.weight])):
            table._check_type(schema.field(c), c, title)
        return table

    def parser(self, *, named: bool, unlabelled: bool = False) -> ParquetParser:
        return ParquetParser(self, named, unlabelled)

    def find_data_start(
        self, head: bytes, title: str, *, header: bool | None = None, same_run: bool = False
    ) -> tuple[int, int]:
        self.match_schema(_open_file(title, head).schema_arrow, title)
        return 0, 0

    def match_schema(self, schema: Any, title: str) -> None:
        """Match columns by name; raise InputError where a column has become unreadable for the model."""
        self.match(make_names_unique(schema.names, title), title)
        for field, c in zip(schema, self.opened.places, strict=True):
            if self.column_type(c) != SKIPPED or c in (self.target, self.weight):
                self._check_type(field, c, title)

    def _check_type(self, field: Any, c: int, title: str) -> None:
        """Raise InputError where a column is neither numbers nor text, or is text where the model needs numbers."""
        numeric = _is_numeric(field)
        if numeric is None:
            raise InputError(
                f"{title}: column {field.name!r} is of type {field.type}, but a column must be numbers or text: cast it"
                " to one of them, split it into several columns, or --ignore it."
            )
        if self.numeric[c] and not numeric:
            raise InputError(f"{title}: column {field.name!r} must be numbers, but is {field.type}: cast it.")

    def pieces(self, feed: TextSource, size: int | None) -> Iterator[Any]:
        """Yield record batches of some rows each."""
        rows, title = max(1, CELLS_PER_CHUNK // len(self.names)), feed.title
        with open(title, "rb") as file:
            head = file.read(len(ARROW_MAGIC))
        try:
            table, rows_read = _open_file(title, head), 0
            for batch in table.batches(rows):
                rows_read += len(batch)
                feed.fraction = rows_read / max(1, table.count_rows())
                for start in range(0, len(batch), rows):
                    yield batch.slice(start, rows)
        except (OSError, ValueError, _import_pyarrow().ArrowException) as problem:
            raise InputError(f"{title}: can't be read to its end: {_format_first_line(problem)}.") from None


class _ParquetFile:
    def __init__(self, title: str) -> None:
        self.file = import_module("pyarrow.parquet").ParquetFile(title, pre_buffer=False, buffer_size=BUFFER_BYTES)
        self.schema_arrow = self.file.schema_arrow

    def count_rows(self) -> int:
        return int(self.file.metadata.num_rows)

    def batches(self, rows: int) -> Iterator[Any]:
        yield from self.file.iter_batches(rows)


class _ArrowFile:
    def __init__(self, title: str) -> None:
        self.file = _import_pyarrow().ipc.open_file(_import_pyarrow().memory_map(title))
        self.schema_arrow = self.file.schema
        self._rows: int | None = None

    def count_rows(self) -> int:
        if self._rows is None:
            self._rows = sum(self.file.get_batch(k).num_rows for k in range(self.file.num_record_batches))
        return self._rows

    def batches(self, rows: int) -> Iterator[Any]:
        for k in range(self.file.num_record_batches):
            yield self.file.get_batch(k)


def _open_file(title: str, head: bytes) -> _ParquetFile | _ArrowFile:
    if title == "standard input":
        raise InputError("Parquet can't be read from standard input: name a file.")
    try:
        return _ArrowFile(title) if head.startswith(ARROW_MAGIC) else _ParquetFile(title)
    except (OSError, ValueError, _import_pyarrow().ArrowException) as problem:
        raise InputError(f"{title}: is not a readable Parquet or Arrow file: {_format_first_line(problem)}.") from None


def _format_first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0].rstrip(".")


def _import_pyarrow() -> Any:
    try:
        return import_module("pyarrow")
    except ImportError:
        raise InputError("Parquet and Arrow files need pyarrow: pip install novikoff[parquet].") from None


def _is_numeric(field: Any) -> bool | None:
    """Return whether a column is numbers and not text; None where it is neither."""
    types = _import_pyarrow().types
    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return False
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
    return True if numeric or types.is_null(kind) else None


def _format_cells(batch: Any, column: int) -> tuple[bytes, ...]:
    """Return the values of a column as CSV cells."""
    if batch is None:
        return ()
    found = batch.column(column)[:MAX_SURVEYED_ROWS]
    values = _get_bytes(found) if _is_text(found.type) else found.to_pylist()
    return tuple(b"" if v is None else v if isinstance(v, bytes) else str(v).encode() for v in values)


def _is_text(kind: Any) -> bool:
    """Return whether a type is text."""
    types = _import_pyarrow().types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _get_bytes(column: Any) -> list[bytes | None]:
    """Return texts as bytes: pyarrow does not check that they are UTF-8."""
    arrow = _import_pyarrow()
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    found: list[bytes | None] = column.cast(arrow.large_binary()).to_pylist()
    return found


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _to_floats(column: Any, name: str) -> NDArray[np.float64]:
    """Convert a column to doubles; null becomes NaN."""
    arrow = _import_pyarrow()
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.int8())
    try:
        cast = column.cast(arrow.float64(), safe=False)
    except arrow.ArrowException as problem:
        raise InputError(f"column {name!r} must be numbers: {_format_first_line(problem)}.") from None
    return np.asarray(cast.to_numpy(zero_copy_only=False), np.float64)


def _encode_categories(column: Any, before: int) -> tuple[NDArray[np.int32], list[bytes]]:
    """Return an index for each text, from `before` on, ABSENT where it is missing, and the distinct texts."""
    arrow = _import_pyarrow()
    if arrow.types.is_dictionary(column.type) and not arrow.types.is_string(column.type.value_type):
        column = column.dictionary_decode()
    if not arrow.types.is_dictionary(column.type):
        column = _to_texts(column).dictionary_encode()
    texts = [text or b"" for text in _get_bytes(column.dictionary)]
    codes = np.asarray(column.indices.cast(arrow.int32()).fill_null(ABSENT).to_numpy(zero_copy_only=False), np.int32)
    known = np.array([not MISSING_PATTERN.fullmatch(text) for text in texts] + [False], bool)
    return np.where(known[codes], codes + np.int32(before), np.int32(ABSENT)), texts


def _to_texts(column: Any) -> Any:
    """Convert a column to texts like those in CSV: integers without a point, truth values as True and False."""
    arrow, types = _import_pyarrow(), _import_pyarrow().types
    if types.is_boolean(column.type):
        return arrow.array([None if v is None else str(v) for v in column.to_pylist()], arrow.large_string())
    if types.is_floating(column.type):
        values = [
            None if v is None or math.isnan(v) else str(int(v)) if v.is_integer() else repr(v)
            for v in column.to_pylist()
        ]
        return arrow.array(values, arrow.large_string())
    return column.cast(arrow.large_string())


def _write_texts(block: TextBlock, texts: list[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Write the texts into the block; return the start and the end of each."""
    size = sum(map(len, texts))
    while size > block.size:
        block.grow()
    stops = PADDING_BYTES + np.cumsum([len(text) for text in texts], dtype=np.int64)
    block.stop = PADDING_BYTES + size
    block.text[PADDING_BYTES : block.stop] = np.frombuffer(b"".join(texts), np.uint8)
    return np.concatenate([[PADDING_BYTES], stops])[:-1].astype(np.int64), stops
