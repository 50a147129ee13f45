"""Parquet files, and Arrow files (IPC, Feather): tables with names and types of their own, read by pyarrow.

Numbers and truth values are columns of numbers, texts are categories, null and NaN are missing, and so are the texts
that are missing in CSV: the same table gives the same rows. What the columns become: see `table.py`. A file is read
piece by piece, some 100,000 cells at a time. A problem is told with its row, from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from novikoff._bytes import PADDING
from novikoff._jit import compiled
from novikoff._records import NamedTuple, dataclass
from novikoff.errors import InputError
from novikoff.stream.bag import Slots, finished_row, put
from novikoff.stream.feed import Block, Feed
from novikoff.stream.formats.cells import CATEGORY, LABEL, NO_LABEL, NO_SEED, RANGE, TARGET
from novikoff.stream.formats.contract import LARGEST_VALUE, Parsed, Problem
from novikoff.stream.formats.survey import MISSING
from novikoff.stream.formats.table import Table, TableParser, settled_columns, unique_names
from novikoff.stream.hashing import hash_of
from novikoff.stream.rows import Dense, Sparse

CELLS_AT_ONCE = 1 << 17
BUFFER = 1 << 16
ARROW = b"ARROW1"
ABSENT = -1


class Coded(NamedTuple):
    """A piece of a table: numbers, and categories by their place in a list of texts."""

    numbers: NDArray[np.float32]
    """Row by row; 0 where there is none."""
    codes: NDArray[np.int32]
    """Row by row; ABSENT where there is none."""
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    good: NDArray[np.bool_]
    """The rows to be learned from."""


@compiled
def coded_rows(
    text: NDArray[np.uint8],
    piece: Coded,
    kinds: NDArray[np.uint8],
    seeds: NDArray[np.uint64],
    to: Slots,
    starts: NDArray[np.int64],
) -> int:
    """Hashed rows; returns how many."""
    row = at = 0
    starts[0] = 0
    for i in range(len(piece.good)):
        if not piece.good[i]:
            continue
        first = at
        for column in range(len(kinds)):
            h = seeds[column]
            value = float(piece.numbers[i, column])
            start: Any = np.int64(0)
            stop: Any = start
            if kinds[column] == CATEGORY and piece.codes[i, column] != ABSENT:
                start = piece.starts[piece.codes[i, column]]
                stop = piece.stops[piece.codes[i, column]]
                h = hash_of(text, start, stop, h)
                value = 1.0
            if kinds[column] != TARGET and value != 0.0:
                at = put(to, at, h, value, column, start, stop)
        at = finished_row(to, first, at)
        row += 1
        starts[row] = at
    return row


@compiled
def text_keys(text: NDArray[np.uint8], piece: Coded, column: int, keys: NDArray[np.uint64]) -> None:
    """The key of each label that is a text: its hash, 0 where it is missing."""
    for i in range(len(keys)):
        code = piece.codes[i, column]
        keys[i] = 0
        if code != ABSENT:
            keys[i] = hash_of(text, piece.starts[code], piece.stops[code], NO_SEED)


class ParquetParser(TableParser):
    def __init__(self, table: Table, named: bool, unlabelled: bool) -> None:
        super().__init__(table, named, unlabelled)
        self.terms = 0

    def parse(self, block: Block) -> Parsed:
        """The examples of `piece`; the block takes the texts that are in it."""
        table, batch = self.table, self._whole(self.piece)
        count, columns = len(batch), len(self.kinds)
        numbers, codes = np.zeros((count, columns), np.float64), np.full((count, columns), ABSENT, np.int32)
        texts: list[bytes] = []
        for column in range(columns):
            if table.numeric[column]:
                numbers[:, column] = _numbers(batch.column(column))
            else:
                codes[:, column], more = _codes(batch.column(column), len(texts))
                texts += more
        starts, stops = _write(block, texts)
        problems = self._problems(block, batch, numbers, codes)
        good = np.ones(count, bool)
        good[[p.line for p in problems]] = False
        numbers[:, table.target] = np.where(good, numbers[:, table.target], 0.0)
        numbers[np.isnan(numbers[:, table.target]), table.target] = np.nan  # all with the same bits
        keys = np.ascontiguousarray(numbers[:, table.target]).view(np.uint64)
        numbers[:, table.target] = 0.0
        piece = Coded(np.where(np.isnan(numbers), 0.0, numbers).astype(np.float32), codes, starts, stops, good)
        if not table.numeric[table.target]:
            text_keys(block.text, piece, table.target, keys)
        keys, line_of = keys[good], np.flatnonzero(good)
        rows, to = self._rows(block, piece)
        label = codes[good, table.target] if not table.numeric[table.target] else np.zeros(0, np.int32)
        return Parsed(
            rows=rows,
            keys=keys,
            label=self.label(block, keys, np.append(starts, ABSENT)[label], np.append(stops, ABSENT)[label]),
            weights=np.zeros(0),
            line_of=line_of,
            lines=count,
            features=1 << table.bits if table.bits else self.width,
            problems=problems,
            hashes=to.hashes[: len(to.spans)] if to is not None else np.zeros(0, np.uint64),
            spans=to.spans if to is not None else np.zeros((0, 4), np.int64),
            numbers=keys.view(np.float64) if table.numeric[table.target] else None,
        )

    def _whole(self, batch: Any) -> Any:
        """With a column for the label, also where the file has none."""
        if not self.table.opened.narrow:
            return batch
        arrow, target = _arrow(), self.table.target
        kind = arrow.float64() if self.table.numeric[target] else arrow.large_string()
        columns = list(batch.columns)
        columns.insert(target, arrow.nulls(len(batch), kind))
        return arrow.RecordBatch.from_arrays(columns, list(self.table.names))

    def _rows(self, block: Block, piece: Coded) -> tuple[Dense | Sparse, Slots | None]:
        if self.table.bits is None:
            features = np.delete(piece.numbers[piece.good], self.table.target, axis=1)
            return Dense(features.ravel(), self.width), None
        if self.terms < piece.numbers.size:
            self.terms = piece.numbers.size
            self.slots = self.make_slots(self.terms)
        starts = np.zeros(len(piece.good) + 1, np.int64)
        rows = coded_rows(block.text, piece, self.kinds, self.seeds, self.slots, starts)
        return Sparse(starts[: rows + 1], self.slots.indices, self.slots.values), self.slots

    def _problems(self, block: Block, batch: Any, numbers: Any, codes: Any) -> list[Problem]:
        """The first problem of each row that has one, in the order of the rows."""
        target = self.table.target
        found: dict[int, tuple[int, int]] = {}
        large = ~(np.abs(np.nan_to_num(numbers, nan=0.0, posinf=np.inf, neginf=-np.inf)) <= LARGEST_VALUE)
        for row, column in np.argwhere(large).tolist():
            if column != target:
                found.setdefault(row, (RANGE, column))
        label = numbers[:, target]
        missing = np.isnan(label) if self.table.numeric[target] else codes[:, target] == ABSENT
        found |= dict.fromkeys(np.flatnonzero(large[:, target]).tolist(), (LABEL, target))
        if not self.unlabelled:
            found |= dict.fromkeys(np.flatnonzero(missing).tolist(), (NO_LABEL, target))
        return [
            self.problem(row, reason, column, repr(batch.column(column)[row].as_py()))
            for row, (reason, column) in sorted(found.items())
        ]


@dataclass(frozen=True)
class Parquet(Table):
    name: ClassVar[str] = "parquet"
    options: ClassVar[tuple[str, ...]] = ("label", "signed", "largest")

    @classmethod
    def settled(cls, options: Any, head: bytes, title: str) -> Parquet:
        if options.header is False or options.delimiter is not None:
            raise InputError(f"{title}: Parquet has columns with names: leave out --no-header and --delimiter.")
        schema = _file(title, head).schema_arrow
        numeric = [_is_numeric(field, title) for field in schema]
        return cls(**settled_columns(options, unique_names(schema.names, title), numeric, title, header=True))

    def parser(self, *, named: bool, unlabelled: bool = False) -> ParquetParser:
        return ParquetParser(self, named, unlabelled)

    def opening(self, head: bytes, title: str) -> tuple[int, int]:
        schema = _file(title, head).schema_arrow
        names, kinds = unique_names(schema.names, title), list(self.numeric)
        self.opened.narrow = list(names) == self.feature_columns
        if self.opened.narrow:
            del kinds[self.target]
        else:
            self.same_columns(names, title)
        for field, numeric in zip(schema, kinds, strict=True):
            if _is_numeric(field, title) != numeric:
                raise InputError(
                    f"{title}: column {field.name!r} must be {'numbers' if numeric else 'text'} as in the data before,"
                    f" but is {field.type}: cast it."
                )
        return 0, 0

    def pieces(self, feed: Feed, size: int | None) -> Iterator[Any]:
        """Record batches of some rows each."""
        rows, title = max(1, CELLS_AT_ONCE // len(self.names)), feed.title
        with open(title, "rb") as file:
            head = file.read(len(ARROW))
        try:
            for batch in _file(title, head).batches(rows):
                for start in range(0, len(batch), rows):
                    yield batch.slice(start, rows)
        except (OSError, ValueError, _arrow().ArrowException) as problem:
            raise InputError(f"{title}: can't be read to its end: {_first_line(problem)}.") from None


class _ParquetFile:
    def __init__(self, title: str) -> None:
        self.file = import_module("pyarrow.parquet").ParquetFile(title, pre_buffer=False, buffer_size=BUFFER)
        self.schema_arrow = self.file.schema_arrow

    def batches(self, rows: int) -> Iterator[Any]:
        yield from self.file.iter_batches(rows)


class _ArrowFile:
    def __init__(self, title: str) -> None:
        self.file = _arrow().ipc.open_file(_arrow().memory_map(title))
        self.schema_arrow = self.file.schema

    def batches(self, rows: int) -> Iterator[Any]:
        for k in range(self.file.num_record_batches):
            yield self.file.get_batch(k)


def _file(title: str, head: bytes) -> _ParquetFile | _ArrowFile:
    if title == "standard input":
        raise InputError("Parquet is read from its end, and can't come from standard input: name a file.")
    try:
        return _ArrowFile(title) if head.startswith(ARROW) else _ParquetFile(title)
    except (OSError, ValueError, _arrow().ArrowException) as problem:
        raise InputError(f"{title}: is no Parquet or Arrow file that can be read: {_first_line(problem)}.") from None


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0].rstrip(".")


def _arrow() -> Any:
    try:
        return import_module("pyarrow")
    except ImportError:
        raise InputError("Parquet and Arrow files are read by pyarrow: pip install novikoff[parquet].") from None


def _is_numeric(field: Any, title: str) -> bool:
    """Whether a column is numbers and not categories; InputError where it is neither."""
    types = _arrow().types
    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return False
    numeric = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
    if numeric or types.is_null(kind):
        return True
    raise InputError(
        f"{title}: column {field.name!r} is of type {field.type}, but a column must be numbers or text: cast it to one"
        " of them, take it apart into several columns, or leave it out."
    )


def _numbers(column: Any) -> NDArray[np.float64]:
    """Doubles; NaN for null."""
    arrow = _arrow()
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.int8())
    cast = column.cast(arrow.float64(), safe=False)
    return np.asarray(cast.to_numpy(zero_copy_only=False), np.float64)


def _codes(column: Any, before: int) -> tuple[NDArray[np.int32], list[bytes]]:
    """A number for each text, from `before` on, ABSENT where it is missing, and the texts."""
    arrow = _arrow()
    if not arrow.types.is_dictionary(column.type):
        column = column.cast(arrow.large_string()).dictionary_encode()
    texts = [(text or "").encode() for text in column.dictionary.to_pylist()]
    codes = np.asarray(column.indices.cast(arrow.int32()).fill_null(ABSENT).to_numpy(zero_copy_only=False), np.int32)
    known = np.array([not MISSING.fullmatch(text) for text in texts] + [False], bool)
    return np.where(known[codes], codes + np.int32(before), np.int32(ABSENT)), texts


def _write(block: Block, texts: list[bytes]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Puts the texts into the block: from where to where each stands."""
    size = sum(map(len, texts))
    while size > block.size:
        block.grow()
    stops = PADDING + np.cumsum([len(text) for text in texts], dtype=np.int64)
    block.stop = PADDING + size
    block.text[PADDING : block.stop] = np.frombuffer(b"".join(texts), np.uint8)
    return np.concatenate([[PADDING], stops])[:-1].astype(np.int64), stops
