"""Records sorted by their keys in bounded memory: an external bucket sort over one temporary file a level.

Records are collected in a buffer. A full buffer is grouped by the highest bits of the keys and appended to the file as
a run: the bounds of its groups, then the groups. Bucket b is group b of all runs. When everything has been added,
buckets are read one after another and sorted in memory; a bucket that is too large is partitioned by the next bits of
the keys first. Records that fit into the buffer never reach the disk. The result does not depend on the sizes.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.shuffle.row_records import RecordArrays, Words, count_records, encode, list_records, scatter
from novikoff.errors import InputError

KEY_BITS = 64
WORD_BYTES = 8


class Sizes(NamedTuple):
    """How much is held in memory at once; other sizes give the same result."""

    run_words: int = 1 << 19
    """Words that are collected before they are written, 4 MB."""
    bucket_words: int = 1 << 20
    """Words of the largest bucket that is sorted in memory, 8 MB."""
    bits: int = 7
    """2^bits is the largest number of buckets of a level."""


class SortedRecords(NamedTuple):
    """Some records, and their offsets in the order of their keys."""

    records: Words
    at: Words


class Buckets:
    """The records of one level, a context manager: the temporary file is gone when it is closed.

    The file has no name, so that it also disappears when the process is killed. `on_write` is called before each run
    with the number of bytes that are about to be written, and how many examples of those that are being added they
    include.
    """

    def __init__(
        self,
        sizes: Sizes,
        used_bits: int = 0,
        bits: int | None = None,
        on_write: Callable[[int, int], None] | None = None,
    ) -> None:
        self.sizes, self.used_bits, self.on_write = sizes, used_bits, on_write
        self.bits = sizes.bits if bits is None else bits
        self.records = np.empty(sizes.run_words, np.int64)
        self.filled = 0
        self.run_starts = array("q")
        self.end = 0
        """Bytes in the file."""
        self.largest_inner = 0
        """The most bytes of any file of a further level."""
        self.bucket_words = np.zeros(1 << self.bits, np.int64)
        self.bucket_rows = np.zeros(1 << self.bits, np.int64)
        self.file: Any = None

    def __enter__(self) -> Buckets:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()

    @property
    def temporary_bytes(self) -> int:
        """The most bytes that were in temporary files at once."""
        return self.end + self.largest_inner

    def add(self, fields: RecordArrays) -> None:
        """Add the records of some examples."""
        row = 0
        while True:
            row, self.filled = encode(fields, row, self.records, self.records.view(np.uint32), self.filled)
            if row == len(fields.keys):
                return
            if self.filled:
                self._write_run(row)
            else:  # one record is longer than the buffer
                self.records = np.empty(2 * len(self.records), np.int64)

    def add_records(self, records: Words) -> None:
        """Add records of a level before this one."""
        if self.filled + len(records) > len(self.records):
            if self.filled:
                self._write_run()
            if len(records) > len(self.records):
                self.records = np.empty(len(records), np.int64)
        self.records[self.filled : self.filled + len(records)] = records
        self.filled += len(records)

    def iter_sorted(self) -> Iterator[SortedRecords]:
        """Yield all records in ascending order of their keys, some at a time. Nothing can be added afterwards."""
        if self.file is None:
            yield _sort_records(self.records[: self.filled], None)
            return
        if self.filled:
            self._write_run()
        self.records = np.empty(0, np.int64)
        for bucket in range(1 << self.bits):
            words, rows = int(self.bucket_words[bucket]), int(self.bucket_rows[bucket])
            left = KEY_BITS - self.used_bits - self.bits
            if words > self.sizes.bucket_words and rows > 1 and left > 0:
                yield from self._partition(bucket, words, left)
            elif words:
                yield _sort_records(self._read_bucket(bucket, words), rows)

    def _partition(self, bucket: int, words: int, left: int) -> Iterator[SortedRecords]:
        """Yield the records of a large bucket, partitioned once more."""
        wanted = (2 * words // self.sizes.bucket_words).bit_length()
        bits = min(self.sizes.bits, left, max(1, wanted))
        with Buckets(self.sizes, self.used_bits + self.bits, bits) as inner:
            for group in self._groups(bucket):
                inner.add_records(self._read_group(group))
            for some in inner.iter_sorted():
                self.largest_inner = max(self.largest_inner, inner.temporary_bytes)
                yield some

    def _write_run(self, added: int = 0) -> None:
        groups = 1 << self.bits
        bounds, out = np.zeros(groups + 1, np.int64), np.empty(self.filled, np.int64)
        scatter(self.records[: self.filled], self.used_bits, self.bits, out, bounds, self.bucket_rows)
        self.bucket_words += np.diff(bounds)
        size = bounds.nbytes + out.nbytes
        if self.on_write is not None:
            self.on_write(size, added)
        try:
            if self.file is None:
                self.file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed in __exit__
            transfer(os.pwritev, self.file.fileno(), self.end, [bounds, out])
        except OSError as problem:
            raise build_write_error(problem) from None
        self.run_starts.append(self.end)
        self.end += size
        self.filled = 0

    def _groups(self, bucket: int) -> Iterator[tuple[int, int]]:
        """Yield where the groups of a bucket are: position in the file in bytes, and number of words."""
        ends, heading = np.empty(2, np.int64), WORD_BYTES * ((1 << self.bits) + 1)
        for start in self.run_starts:
            self._read(start + WORD_BYTES * bucket, ends)
            first, last = ends.tolist()
            if last > first:
                yield start + heading + WORD_BYTES * first, last - first

    def _read_group(self, group: tuple[int, int]) -> Words:
        at, words = group
        records = np.empty(words, np.int64)
        self._read(at, records)
        return records

    def _read_bucket(self, bucket: int, words: int) -> Words:
        records, filled = np.empty(words, np.int64), 0
        for at, count in self._groups(bucket):
            self._read(at, records[filled : filled + count])
            filled += count
        return records

    def _read(self, at: int, room: Words) -> None:
        try:
            transfer(os.preadv, self.file.fileno(), at, [room])
        except OSError as problem:
            raise InputError(f"{tempfile.gettempdir()}: a temporary file can't be read ({problem.strerror}).") from None


def _sort_records(records: Words, rows: int | None) -> SortedRecords:
    """Return the records with their offsets in ascending order of their keys."""
    room = count_records(records) if rows is None else rows
    at, keys = np.empty(room, np.int64), np.empty(room, np.int64)
    list_records(records, at, keys)
    return SortedRecords(records, at[np.argsort(keys.view(np.uint64))])


def build_write_error(problem: OSError) -> InputError:
    """Return the error for a temporary file that can't be written."""
    folder = tempfile.gettempdir()
    if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        free = shutil.disk_usage(folder).free
        return InputError(
            f"{folder}: no space left for the temporary files of --shuffle ({problem.strerror};"
            f" {free / 1e6:,.0f} MB are free). Set TMPDIR to a folder with more space."
        )
    return InputError(
        f"{folder}: the temporary files of --shuffle can't be written ({problem.strerror}). Set TMPDIR to another"
        " folder."
    )


def transfer(move: Callable[[int, Any, int], int], file: int, at: int, arrays: Sequence[NDArray[Any]]) -> None:
    """Read or write whole arrays, one after another, with os.preadv or os.pwritev, which may stop in between."""
    views = [a.data.cast("B") for a in arrays if a.nbytes]
    while views:
        done = move(file, views, at)
        if not done:
            raise OSError(0, "it ends too early")
        at += done
        while views and done >= len(views[0]):
            done -= len(views.pop(0))
        if views:
            views[0] = views[0][done:]
