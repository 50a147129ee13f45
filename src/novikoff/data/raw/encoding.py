"""Raw rows for a model that was trained from files: encodes them into the features that its reader would make.

A raw row is a dict of column → value, a text, or a row of a data frame or an Arrow table. It is written as one record
of the model's format and parsed by its parser: files and rows share one encoding. With pyarrow, large tables go to the
Parquet parser instead.

    table (CSV, TSV, Parquet)   {"age": 41, "job": "nurse"}; columns are matched by name
    JSON lines                  the object of a line
    text                        the text, without a label
    vw, svmlight                a line; the label is optional

How values become cells, and which are missing: see `records.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data.canonical_rows import canonicalize
from novikoff.data.feature_maps import Mapper, MapSpec, UnmappableRowError
from novikoff.data.formats.base import Format, ParsedBlock, Parser
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.raw.records import build_writer
from novikoff.data.rows import Dense, Rows, Sparse, count_rows
from novikoff.data.text_source import TextBlock
from novikoff.errors import InputError, UnknownColumnsWarning, find_user_stacklevel

SINGLE_ROW_BYTES = 1 << 12
"""Initial block size for single rows, in bytes of text."""
CHUNK_BYTES = 1 << 18
"""Bytes of text that are parsed at once, for many rows."""
MAX_KNOWN_HASHES = 1 << 20
MAX_UNKNOWN_SHOWN = 8


class EncodedRows(NamedTuple):
    """Some rows, and the number of columns of the model with them."""

    rows: Rows
    features: int


class Encoding:
    """The encoding of a model's raw rows, built from the reader settings in its file."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.report_unknown: Callable[[str], None] = warn_unknown_column
        """Called with the first column that the model does not know."""
        self.unknown: dict[str, None] = {}
        """The first columns that the model does not know."""
        self.writer = build_writer(settings, self._note_unknown)
        self.map = _build_map(settings, self.writer.format)
        self._single, self._many = _EncoderPool(self, SINGLE_ROW_BYTES), _EncoderPool(self, CHUNK_BYTES)
        self._names: dict[int, str] = {}

    def __reduce__(self) -> tuple[type[Encoding], tuple[dict[str, Any]]]:
        return type(self), (self.settings,)

    @property
    def accepts_dicts(self) -> bool:
        """Whether a dict with names as keys is a raw row."""
        return self.writer.accepts_dicts

    @property
    def grows(self) -> bool:
        """Whether new rows may bring new features."""
        return not self.writer.format.bits_used and self.writer.format.columns is None

    def check(self, features: int) -> None:
        """Raise InputError where a model with this number of features can't have these settings.

        Parsers don't check bounds, and the settings may come from a manipulated file.
        """
        self.writer.check(features, self.map)

    # --- One row ---

    def example(self, x: Any) -> Any:
        """Return a raw row as `learn_one` takes it: an array, or a dict of column or name → value; else x unchanged."""
        record = self.writer.record(x)
        if record is None:
            return x
        with self._single.borrow_slot() as place:
            parsed = self._parse(place, self.writer.line(record), 1, None)
            rows = self._map_rows(place, parsed.rows, parsed.features)
            if isinstance(rows, Dense):
                return rows.values[: rows.width].copy()
            end = int(rows.starts[-1])
            values = rows.values[:end].tolist()
            if self.map is not None:
                return dict(zip(self._map_names(rows.indices[:end].tolist()), values, strict=True))
            if self.writer.format.bits_used != 0:
                return dict(zip(rows.indices[:end].tolist(), values, strict=True))
            names = self._name_terms(place.block, parsed, parsed.hashes[:end].tolist(), range(end))
            found: dict[str, float] = {}
            for name, value in zip(names, values, strict=True):
                found[name] = found.get(name, 0.0) + value
            return found

    def _map_names(self, columns: list[int]) -> Sequence[Any]:
        """Return the names of mapped columns, where the model has names."""
        names = self.writer.format.columns
        if self.map is None or self.map.bits is not None or names is None:
            return columns
        return [self.map.name(column, names) for column in columns]

    # --- Many rows ---

    def accepts(self, X: Any) -> bool:
        """Return whether X is many raw rows, not an array or a matrix of features."""
        return self.writer.accepts(X)

    def batches(self, X: Any, names: FeatureNames | None, *, learns: bool = False) -> Iterator[EncodedRows]:
        """Encode many raw rows, chunk by chunk; each chunk is valid until the next one is asked for.

        `names` are those of the model, where each name has its own column; new ones are added if the model `learns`.
        """
        columns_of = _build_column_adder(names) if learns else _build_column_finder(names)
        for place, parsed in self._iter_parsed(X):
            rows, features = parsed.rows, parsed.features
            if self.writer.format.bits_used == 0 and isinstance(rows, Sparse):
                rows = self._replace_hashes(place.block, parsed, rows, columns_of)
                features = 0 if names is None else len(names)
            elif self.map is not None:
                rows, features = self._map_rows(place, rows, features), self.map.columns(features)
            yield EncodedRows(rows, features)

    def _iter_parsed(self, X: Any) -> Iterator[tuple[_EncoderSlot, ParsedBlock]]:
        batches = self.writer.record_batches(X)
        if batches is not None:
            with self._many.borrow_slot() as place:
                done = 0
                for batch in batches:
                    place.arrow.piece = batch
                    yield place, _check_parsed(place.arrow.parse(place.block), len(batch), done)
                    done += len(batch)
            return
        with self._many.borrow_slot() as place:
            lines: list[bytes] = []
            size = done = 0
            for record in self.writer.records(X):
                lines.append(self._line(record, done + len(lines)))
                size += len(lines[-1])
                if size >= CHUNK_BYTES:
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

    def _parse(self, place: _EncoderSlot, text: bytes, count: int, done: int | None) -> ParsedBlock:
        """Parse `count` lines; `done` is the number of the first row, None for a single one."""
        place.write(text)
        return _check_parsed(place.parser.parse(place.block), count, done)

    def _map_rows(self, place: _EncoderSlot, rows: Rows, features: int) -> Rows:
        if self.map is None:
            return rows
        try:
            pieces = [piece for piece, _, _ in place.mapper.pieces(rows, features)]
        except UnmappableRowError as problem:
            raise InputError(f"Row {problem.row}: {problem}") from None
        return pieces[0] if len(pieces) == 1 else concatenate_rows(pieces)

    def _replace_hashes(
        self, block: TextBlock, parsed: ParsedBlock, rows: Sparse, columns_of: Callable[[list[str]], NDArray[np.uint32]]
    ) -> Sparse:
        """Return the rows with the model's columns in place of hashes. New names are added in order of appearance."""
        hashes = parsed.hashes[: int(rows.starts[-1])]
        distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        names = self._name_terms(block, parsed, distinct[order].tolist(), first[order].tolist())
        columns = np.empty(len(distinct), np.uint32)
        columns[order] = columns_of(names)
        found = rows._replace(indices=columns[inverse.reshape(-1)], values=rows.values[: len(hashes)])
        if len(set(names)) == len(names):
            return found
        return canonicalize(found, 0, count_rows(found), int(columns.max()) + 1)  # two features have the same name

    def _name_terms(self, block: TextBlock, parsed: ParsedBlock, hashes: list[int], places: Iterable[int]) -> list[str]:
        """Return the names of terms, from their hashes and their numbers in the block."""
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
        """Remember the name of a column that was ignored, and report the first one."""
        is_first = not self.unknown
        if len(self.unknown) < MAX_UNKNOWN_SHOWN:
            self.unknown[str(name)] = None
        if is_first:
            self.report_unknown(str(name))

    def describe_unknown(self) -> str | None:
        """Return a sentence on the columns that were ignored, where there are any."""
        if not self.unknown:
            return None
        more = " …" if len(self.unknown) == MAX_UNKNOWN_SHOWN else ""
        return f"Columns that the model has not learned are ignored: {', '.join(self.unknown)}{more}."


def warn_unknown_column(name: str) -> None:
    """Issue a warning about a column that the model does not know."""
    warnings.warn(
        f"The model has no column {name!r}: it is ignored, and so are others that it has not learned.",
        UnknownColumnsWarning,
        stacklevel=find_user_stacklevel(),
    )


def get_encoding(state: Any) -> Encoding | None:
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


def concatenate_rows(parts: Sequence[Any]) -> Rows:
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


class _EncoderSlot:
    """A block with a parser for it, for one thread at a time."""

    def __init__(self, encoding: Encoding, size: int) -> None:
        self.block = TextBlock(size)
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
        """The parser for record batches."""
        if self._arrow is None:
            self._arrow = self.encoding.writer.arrow_format().parser(named=False, unlabelled=True)
        return self._arrow

    @property
    def mapper(self) -> Mapper:
        if self._mapper is None:
            assert self.encoding.map is not None  # noqa: S101 - used only with a feature map
            self._mapper = Mapper(self.encoding.map)
        return self._mapper

    def write(self, text: bytes) -> None:
        size = self.block.size
        while size < len(text):
            size *= 2
        if size > self.block.size:
            self.block = TextBlock(size)
        end = PADDING_BYTES + len(text)
        self.block.text[PADDING_BYTES:end] = np.frombuffer(text, np.uint8)
        self.block.set_end(end, "")


class _EncoderPool:
    """A pool of unused slots."""

    def __init__(self, encoding: Encoding, size: int) -> None:
        self.encoding, self.size = encoding, size
        self.free: list[_EncoderSlot] = []

    @contextmanager
    def borrow_slot(self) -> Iterator[_EncoderSlot]:
        """Lend a slot to this thread. After an error it is not used again."""
        try:
            taken = self.free.pop()
        except IndexError:
            taken = _EncoderSlot(self.encoding, self.size)
        yield taken
        self.free.append(taken)


def _check_parsed(parsed: ParsedBlock, count: int, done: int | None) -> ParsedBlock:
    """Return the parsed rows, one for each of `count` records; raise InputError for the first bad one."""
    if parsed.problems:
        first = parsed.problems[0]
        where = "" if done is None else f"Row {done + first.line}: "
        raise InputError(where + (first.sentence if where else first.sentence[:1].upper() + first.sentence[1:]))
    rows = parsed.rows
    if isinstance(rows, Sparse) and count_rows(rows) < count:  # empty texts make no record, but must make an empty row
        lengths = np.zeros(count, np.int64)
        lengths[parsed.line_of] = np.diff(rows.starts)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return parsed._replace(rows=rows._replace(starts=starts))
    return parsed


def _build_column_finder(names: FeatureNames | None) -> Callable[[list[str]], NDArray[np.uint32]]:
    """Return a function from names to columns; unknown names get columns behind the known ones."""

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


def _build_column_adder(names: FeatureNames | None) -> Callable[[list[str]], NDArray[np.uint32]]:
    return (FeatureNames() if names is None else names).add


def _build_map(settings: dict[str, Any], fmt: Format) -> MapSpec | None:
    chosen = settings.get("feature_map")
    return None if chosen is None else MapSpec.parse(chosen, settings.get("feature_map_bits") or fmt.bits_used)
