"""Shuffled files: the examples of a reading in the order of data/shuffle/permutation.py, in bounded memory.

Row i of pass p gets its 64-bit key, and the rows are sorted by key in temporary files (data/shuffle/buckets.py): all
rows are read before the first is learned. Each pass reads the files again and has an order of its own. Rows are
numbered through all files, as they would be learned without shuffling; lines that --bad-lines skip leaves out have
no number.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.formats.base import ParsedBlock, build_number_decoder
from novikoff.data.names.dictionary import NameTable
from novikoff.data.reader import FileBatch, is_builtin
from novikoff.data.rows import Dense, Rows, Sparse
from novikoff.data.shuffle.buckets import Buckets, Sizes, SortedRecords
from novikoff.data.shuffle.permutation import ALGORITHM, MAX_SEED, describe_shuffle, sort_keys
from novikoff.data.shuffle.row_records import SIZE_MASK, Layout, RecordArrays, Words, count_contents, decode
from novikoff.data.text_source import COMPRESSION_MAGIC
from novikoff.errors import InputError, LabelError

if TYPE_CHECKING:
    from novikoff.data.reader import DataReader

BATCH_WORDS = 1 << 17  # of the records of one batch: 1 MB
LINE_BITS = 40  # low bits of a place, for the line; those above are the number of the file
MAX_NUMERIC_LABELS = 4096  # that are remembered: labels that are numbers can be read from their keys
FLOAT_ONE_BITS = int(np.ones(1).view(np.int64)[0])
EMPTY_WORDS = np.zeros(0, np.int64)


class ShuffleProgress(Protocol):
    """Receives the progress of the phase before the first example is learned."""

    def announce(self, titles: list[str], expected: int | None, folder: str) -> None:
        """Temporary files are about to be written: about `expected` bytes, None where that can't be estimated."""

    def on_partitioned(self, rows: int, fraction: float | None) -> None:
        """Called after each batch: the number of rows read, and their share of the data where that is known."""


class NullShuffleProgress:
    """A progress callback that ignores everything."""

    def announce(self, titles: list[str], expected: int | None, folder: str) -> None:
        return

    def on_partitioned(self, rows: int, fraction: float | None) -> None:
        return


@dataclass
class ShuffledBatch(FileBatch):
    """Examples from any places of the files. `lines_before` is 0; line numbers are those of the whole file."""

    titles: tuple[str, ...] = ()
    """Names of all files."""
    files: Any = None
    """The number of each example's file in `titles`."""

    def part(self, start: int, stop: int, rows: Rows | None = None) -> ShuffledBatch:
        made: Any = super().part(start, stop, rows)
        return self if made is self else replace(made, files=self.files[start:stop])

    def get_location(self, i: int) -> str:
        return f"{self.titles[int(self.files[i])]}:{int(self.parsed.line_of[i]) + 1}"


class Shuffler:
    """Puts the examples of a reading in the order of a permutation, another one in each pass.

    `queries` says whether data with queries may be shuffled row by row, because queries mean nothing to the learner.
    """

    def __init__(
        self, seed: int, *, queries: bool = False, sizes: Sizes | None = None, watcher: ShuffleProgress | None = None
    ) -> None:
        self.seed, self.queries = check_shuffle_seed(seed), queries
        self.sizes, self.watcher = sizes or Sizes(), watcher or NullShuffleProgress()
        self.next_pass = 0
        self.rows = 0
        """Number of rows of the last pass that was begun."""
        self.temporary_bytes = 0
        """The most bytes of temporary files at once."""
        self.labels: list[Any] = []
        """The distinct labels of the last pass that was begun, numbers only up to MAX_NUMERIC_LABELS."""

    def record(self) -> dict[str, Any]:
        """Return what models and certificates store."""
        return describe_shuffle(self.seed, self.rows)

    def reorder(self, reading: DataReader, batches: Iterator[FileBatch]) -> Iterator[FileBatch]:
        """Yield the examples of all batches of a reading in the order of the next pass."""
        number, self.next_pass = self.next_pass, self.next_pass + 1
        size = DataSize.measure(reading.titles)
        space = _TemporarySpace(reading.titles, size, self.watcher)
        with Buckets(self.sizes, on_write=space.check) as buckets:
            collector = _RecordConverter(reading, queries=self.queries)
            rows = 0
            for batch in batches:
                count = len(batch)
                space.batch_bytes, space.batch_rows = batch.size, count
                buckets.add(collector.fields(batch.to_numpy(), sort_keys(self.seed, number, rows, rows + count)))
                rows += count
                space.text_bytes, space.batch_bytes = space.text_bytes + batch.size, 0
                self.watcher.on_partitioned(rows, space.share())
            self.rows = rows
            self.labels = [label for label in collector.labels.values() if not isinstance(label, LabelError)]
            for some in buckets.iter_sorted():
                self.temporary_bytes = max(self.temporary_bytes, buckets.temporary_bytes)
                yield from collector.batches(some)


class DataSize:
    """How large the files are, and whether that is the size of their text."""

    def __init__(self, total: int, packed: bool) -> None:
        self.total, self.packed = total, packed

    @classmethod
    def measure(cls, titles: list[str]) -> DataSize:
        files = [title for title in titles if not is_builtin(title)]
        return cls(sum(map(os.path.getsize, files)), any(map(_is_compressed, files)))


class _TemporarySpace:
    """Space for temporary files: it is estimated, announced and checked before the first run is written."""

    def __init__(self, titles: list[str], size: DataSize, watcher: ShuffleProgress) -> None:
        self.titles, self.size, self.watcher = titles, size, watcher
        self.text_bytes = 0
        """Of the batches added so far."""
        self.batch_bytes = self.batch_rows = 0
        """Bytes of text, and number of examples, of the batch that is being added."""
        self.announced = False

    def share(self, added: int = 0) -> float | None:
        """Return the fraction of the data that has been added, with `added` examples of this batch; None if unknown."""
        text_bytes = self.text_bytes + self.batch_bytes * added / max(1, self.batch_rows)
        return min(1.0, text_bytes / self.size.total) if text_bytes and not self.size.packed else None

    def check(self, record_bytes: int, added: int) -> None:
        """Announce the temporary files before the first run; raise InputError where there is clearly no space for
        them."""
        if self.announced:
            return
        self.announced = True
        fraction, folder = self.share(added), tempfile.gettempdir()
        expected = None if fraction is None else int(record_bytes / fraction)
        self.watcher.announce(self.titles, expected, folder)
        free = shutil.disk_usage(folder).free
        if (expected or self.size.total) > free:
            needed = "more than" if expected is None else "about"
            raise InputError(
                f"{folder}: --shuffle needs {needed} {(expected or self.size.total) / 1e6:,.0f} MB for temporary files,"
                f" but {free / 1e6:,.0f} MB are free. Set TMPDIR to a folder with more space."
            )


class _RecordConverter:
    """Converts batches to records and back; keeps what records leave out."""

    def __init__(self, reading: DataReader, *, queries: bool) -> None:
        self.reading, self.queries = reading, queries
        self.titles: list[str] = []
        self.columns: list[str] | None = None
        self.layout: Layout | None = None
        self.kind: Any = None
        self.features = 0
        self.table = self.weighted = self.has_sets = False
        self.numeric = True
        self.label_table = NameTable()
        self.labels: dict[int, Any] = {}

    def fields(self, batch: FileBatch, keys: NDArray[np.uint64]) -> RecordArrays:
        """Return the examples of a batch as arrays for records."""
        parsed, rows = batch.parsed, batch.rows
        file = self._file_number(batch)
        self._check_layout(batch)
        self._note_labels(parsed)
        self.features = max(self.features, batch.features)
        self.weighted |= len(parsed.weights) > 0
        starts = np.arange(len(batch) + 1) * rows.width if isinstance(rows, Dense) else rows.starts
        indices = np.zeros(0, np.uint32) if isinstance(rows, Dense) else rows.indices
        values = np.ascontiguousarray(rows.values, self.kind)
        set_starts, set_values = parsed.sets if parsed.sets is not None else (EMPTY_WORDS, EMPTY_WORDS)
        return RecordArrays(
            keys=keys.view(np.int64),
            labels=_view_as_words(parsed.keys),
            places=(batch.lines_before + parsed.line_of) | file << LINE_BITS,
            weights=_view_as_words(parsed.weights),
            set_starts=_view_as_words(set_starts),
            set_values=_view_as_words(set_values),
            starts=_view_as_words(starts),
            indices=np.ascontiguousarray(indices),
            values=values.view(np.uint32),
            value_words=values.itemsize // 4,
        )

    def batches(self, some: SortedRecords) -> Iterator[FileBatch]:
        """Yield sorted records as batches."""
        sizes = np.cumsum(some.records[some.at] & SIZE_MASK)
        start = 0
        while start < len(some.at):
            before = int(sizes[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(sizes, before + BATCH_WORDS, side="right")))
            yield self._batch(some.records, some.at[start:stop])
            start = stop

    def _file_number(self, batch: FileBatch) -> int:
        """Return the number of the batch's file, after a check that its columns are those of the first file."""
        if self.titles and batch.title == self.titles[-1]:
            return len(self.titles) - 1
        columns = self.reading.columns(batch.title)
        if self.titles and columns != self.columns:
            raise InputError(
                f"{batch.title}: its columns are not those of {self.titles[0]}: files can be shuffled together only if"
                " they have the same columns."
            )
        self.titles.append(batch.title)
        self.columns = columns
        return len(self.titles) - 1

    def _check_layout(self, batch: FileBatch) -> None:
        rows, parsed = batch.rows, batch.parsed
        if not self.queries and parsed.groups is not None and parsed.groups.max(initial=-1) >= 0:
            raise InputError(
                f"{batch.title}: has queries (qid), whose documents must stay together: --shuffle is not for rankings."
                " Leave it out, or shuffle the queries in the file."
            )
        if self.kind is None:
            self.kind, self.table = rows.values.dtype, batch.table
            self.has_sets = parsed.sets is not None
        width = rows.width if isinstance(rows, Dense) else 0
        layout = Layout(width, self.kind.itemsize // 4)
        if self.layout is not None and layout != self.layout:
            raise InputError(
                f"{batch.title}: has {_describe_layout(layout)}, but {self.titles[0]} has"
                f" {_describe_layout(self.layout)}: they can't"
                " be shuffled together."
            )
        self.layout = layout

    def _note_labels(self, parsed: ParsedBlock) -> None:
        """Remember the label of each key that is new; those of numbers can be found again from the key."""
        numeric = parsed.numbers is not None
        self.numeric &= numeric
        if numeric and len(self.labels) >= MAX_NUMERIC_LABELS:
            return

        def add_label(i: int) -> int:
            try:
                self.labels[int(parsed.keys[i])] = parsed.label(i)
            except LabelError as problem:  # to be raised when the example is learned
                self.labels[int(parsed.keys[i])] = problem
            return len(self.labels)

        self.label_table.look_up_numbers(parsed.keys, add_label)

    def _batch(self, records: Words, at: Words) -> FileBatch:
        layout, dtype, count = self.layout, self.kind, len(at)
        assert layout is not None  # noqa: S101 - set by the first batch
        terms, members = count_contents(records, at, layout)
        out = RecordArrays(
            keys=EMPTY_WORDS,
            labels=np.empty(count, np.int64),
            places=np.empty(count, np.int64),
            weights=np.empty(count if self.weighted else 0, np.int64),
            set_starts=np.empty(count + 1 if self.has_sets else 0, np.int64),
            set_values=np.empty(members, np.int64),
            starts=np.empty(count + 1, np.int64),
            indices=np.empty(0 if layout.width else terms, np.uint32),
            values=np.empty(terms * layout.value_words, np.uint32),
            value_words=layout.value_words,
        )
        decode(records, records.view(np.uint32), at, layout, FLOAT_ONE_BITS, out)
        values, keys = out.values.view(dtype), out.labels.view(np.uint64)
        rows: Rows = Dense(values, layout.width) if layout.width else Sparse(out.starts, out.indices, values)
        parsed = ParsedBlock(
            rows=rows,
            keys=keys,
            label=self._label(keys),
            weights=out.weights.view(np.float64),
            line_of=out.places & ((1 << LINE_BITS) - 1),
            lines=0,
            features=self.features,
            problems=[],
            hashes=np.zeros(0, np.uint64),
            spans=np.zeros((0, 4), np.int64),
            sets=(out.set_starts, out.set_values.view(np.float64)) if self.has_sets else None,
            numbers=keys.view(np.float64) if self.numeric else None,
        )
        files = out.places >> LINE_BITS
        return ShuffledBatch(
            rows, parsed, self.titles[0], 0, self.features, 0, self.table, titles=tuple(self.titles), files=files
        )

    def _label(self, keys: NDArray[np.uint64]) -> Callable[[int], Any]:
        from_number = build_number_decoder(keys)

        def label(i: int) -> Any:
            key = int(keys[i])
            if key not in self.labels:
                return from_number(i)
            if isinstance(self.labels[key], LabelError):
                raise self.labels[key]
            return self.labels[key]

        return label


def check_shuffle_seed(seed: int) -> int:
    """Return the seed of a permutation; InputError where it is not a whole number from 0 to 2^63 - 1."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
        raise InputError(f"the random state must be a whole number from 0 to 2^63 - 1, but is {seed!r}.")
    return seed


def get_recorded_seed(record: Any) -> int:
    """Return the seed in the record of a shuffled run; InputError where the record has another form."""
    if not isinstance(record, dict) or record.get("algorithm") != ALGORITHM:
        raise InputError(f"the order of the rows is not known here: it must be by {ALGORITHM}, but is {record!r}.")
    seed: Any = record.get("random_state")
    return check_shuffle_seed(seed)


def _describe_layout(layout: Layout) -> str:
    return f"{layout.width} columns of features" if layout.width else "sparse rows"


def _is_compressed(title: str) -> bool:
    with open(title, "rb") as file:
        return file.read(6).startswith(tuple(COMPRESSION_MAGIC))


def _view_as_words(numbers: NDArray[Any]) -> Words:
    """Return an array of 64-bit numbers as int64."""
    return np.ascontiguousarray(numbers).view(np.int64)
