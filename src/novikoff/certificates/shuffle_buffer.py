"""Temporary file with the examples of a stream, for passes in random order over data larger than memory.

A text is parsed once, in file order, which is often one class after the other: the worst order for learning. This
module writes chunks of rows one after another, each with a dual multiplier per row. A pass reads random chunks from
all over the stream, several at a time; memory holds one such group.

Streams of more than MAX_TERMS terms, or of more than MAX_ROWS_PER_FEATURE rows for each feature, keep an even share
of the chunks, as the sample does: every second chunk is dropped and the others move up.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.data.rows import Sparse
from novikoff.data.shuffle.buckets import transfer
from novikoff.errors import InputError

MAX_TERMS = 1 << 28  # two gigabytes of float32
MAX_ROWS_PER_FEATURE = 3000  # the weights of u are determined by far fewer than all rows of a long table
MIN_TERMS = 1 << 23  # always kept
CHUNK_TERMS = 1 << 21


class _ChunkLocation(NamedTuple):
    """Location of a chunk in the file: multipliers, row ends, labels, columns, values."""

    at: int
    rows: int
    terms: int
    width: int
    """Bytes of a value."""

    @property
    def size(self) -> int:
        return 17 * self.rows + (4 + self.width) * self.terms


class ShuffledChunk(NamedTuple):
    """Several chunks in memory. Changes of the multipliers are written back before the next group is read."""

    rows: Sparse
    labels: NDArray[np.int8]
    multipliers: NDArray[np.float64]


class ShuffleBuffer:
    """Unnamed temporary file, created on the first `add` and deleted on close."""

    def __init__(self) -> None:
        self.index = array("q")  # flat: a list of locations would take ten times the memory
        self.number, self.stride, self.end, self.rows, self.terms, self.features = 0, 1, 0, 0, 0, 1
        self.width = 4
        self.file: Any = None

    def __enter__(self) -> ShuffleBuffer:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()

    def keeps_next(self) -> bool:
        """Whether the next chunk will be kept."""
        return (self.number + 1) % self.stride == 0

    def add(self, rows: Sparse, labels: NDArray[np.int8]) -> None:
        """Add the next chunk, whose first term is number 0; an unwanted one may be empty."""
        wanted = self.keeps_next()
        self.number += 1
        if not wanted:
            return
        place = _ChunkLocation(self.end, len(labels), int(rows.starts[-1]), rows.values.itemsize)
        terms = slice(place.terms)
        fresh = np.zeros(place.rows)
        self._write(place.at, [fresh, rows.starts[1:], labels, rows.indices[terms], rows.values[terms]])
        self._record(place)
        self.features = max(self.features, int(rows.indices[terms].max(initial=0)) + 1)
        enough = self.rows > MAX_ROWS_PER_FEATURE * self.features and self.terms > MIN_TERMS
        if (enough or self.terms > MAX_TERMS) and len(self.index) > len(place):
            self._drop_every_second()

    def list_locations(self) -> NDArray[np.int64]:
        """Return one row of numbers for each chunk location."""
        return np.array(self.index, np.int64).reshape(-1, len(_ChunkLocation._fields))

    def iter_shuffled(self, random: np.random.Generator, factor: float) -> Iterator[ShuffledChunk]:
        """Yield all chunks once, in random order, with their multipliers scaled by a factor."""
        for chunk, locations in self._iter_chunks(random.permutation(self.list_locations())):
            chunk.multipliers[:] *= factor
            yield chunk
            i = 0
            for place in locations:
                self._write(place.at, [chunk.multipliers[i : i + place.rows]])
                i += place.rows

    def iter_in_order(self) -> Iterator[tuple[Sparse, NDArray[np.int8]]]:
        """Yield all chunks in stream order. Rows and labels are valid until the next one."""
        for chunk, _ in self._iter_chunks(self.list_locations()):
            yield chunk.rows, chunk.labels

    def _iter_chunks(self, places: NDArray[np.int64]) -> Iterator[tuple[ShuffledChunk, list[_ChunkLocation]]]:
        edges = _find_chunk_edges(places[:, 2].tolist())
        rows, terms = (int(np.add.reduceat(places[:, k], edges[:-1]).max()) for k in (1, 2))
        buffer = ShuffledChunk(
            Sparse(np.zeros(rows + 1, np.int64), np.empty(terms, np.uint32), np.empty(terms, f"f{self.width}")),
            np.empty(rows, np.int8),
            np.empty(rows),
        )
        for begin, end in pairwise(edges):
            locations = [_ChunkLocation(*numbers) for numbers in places[begin:end].tolist()]
            yield self._fill_buffer(buffer, locations), locations

    def _fill_buffer(self, buffer: ShuffledChunk, locations: Sequence[_ChunkLocation]) -> ShuffledChunk:
        """Read these chunks into the start of the buffer."""
        (starts, indices, values), labels, multipliers = buffer
        i = k = 0
        for place in locations:
            r, t = slice(i, i + place.rows), slice(k, k + place.terms)
            ends = starts[i + 1 : r.stop + 1]
            alike = place.width == self.width
            narrow = values[t] if alike else np.empty(place.terms, f"f{place.width}")
            self._read(place.at, [multipliers[r], ends, labels[r], indices[t], narrow])
            ends += k
            if not alike:
                values[t] = narrow
            i, k = r.stop, t.stop
        return ShuffledChunk(Sparse(starts[: i + 1], indices[:k], values[:k]), labels[:i], multipliers[:i])

    def _record(self, place: _ChunkLocation) -> None:
        self.index.extend(place)
        self.end += place.size
        self.rows += place.rows
        self.terms += place.terms
        self.width = max(self.width, place.width)

    def _drop_every_second(self) -> None:
        remaining = self.list_locations()[1::2]
        self.index, self.end, self.rows, self.terms = array("q"), 0, 0, 0
        self.stride *= 2
        for numbers in remaining.tolist():
            place = _ChunkLocation(*numbers)
            content = np.empty(place.size, np.uint8)
            self._read(place.at, [content])
            self._write(self.end, [content])
            self._record(place._replace(at=self.end))
        self.file.truncate(self.end)

    def _read(self, at: int, arrays: Sequence[NDArray[Any]]) -> None:
        transfer(os.preadv, self.file.fileno(), at, arrays)

    def _write(self, at: int, arrays: Sequence[NDArray[Any]]) -> None:
        try:
            if self.file is None:
                self.file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed with the spool
            transfer(os.pwritev, self.file.fileno(), at, arrays)
        except OSError as problem:
            raise InputError(
                f"{tempfile.gettempdir()}: can't be written ({problem.strerror}). To find witnesses for a long stream"
                " its examples are kept there, about half the size of the text: name a folder with room in TMPDIR, or"
                " take a budget below 0.1, which looks at a sample only."
            ) from None


def _find_chunk_edges(terms: Sequence[int]) -> list[int]:
    """Return the edges of groups of about CHUNK_TERMS terms, with at least one chunk each."""
    edges, held = [0], 0
    for k, more in enumerate(terms):
        if held + more > CHUNK_TERMS and k > edges[-1]:
            edges.append(k)
            held = 0
        held += more
    return [*edges, len(terms)]
