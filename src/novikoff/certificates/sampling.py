"""Sampling of a binary stream for the witness search: all of a small stream, an even share of a large one.

Chunks of `CHUNK_ROWS` rows are kept until they exceed the room. Then every second chunk is dropped, and only every
second new chunk is kept, then every fourth, and so on. Once a chunk is dropped, all chunks also go to the shuffle
buffer, if there is one. Chunks are counted along the stream, so the sample does not depend on batch boundaries.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.measure import SignedBatch
from novikoff.certificates.row_chunks import RowBuffer, RowChunk, copy_chunk
from novikoff.certificates.search.witness_search import BinarySample, join_batches
from novikoff.certificates.shuffle_buffer import ShuffleBuffer
from novikoff.data.rows import Rows, count_rows, slice_rows

MAX_SAMPLE_TERMS = 4_000_000
CHUNK_ROWS = 256


class StreamSampler:
    """Sampler of a binary stream, filled batch by batch."""

    def __init__(self, spool: ShuffleBuffer | None = None, *, room: int | None = None) -> None:
        self.spool, self.row_buffer, self.room = (
            spool,
            RowBuffer(CHUNK_ROWS),
            MAX_SAMPLE_TERMS if room is None else room,
        )
        self.kept: list[RowChunk] = []
        self.stride, self.number, self.terms, self.total = 1, 1, 0, 0

    def add(self, rows: Rows, labels: NDArray[np.int8]) -> None:
        start = 0
        while start < len(labels):
            already = self.total % CHUNK_ROWS
            stop = min(len(labels), start + CHUNK_ROWS - already)
            if self.number % self.stride == 0 or (self.spool is not None and self.spool.keeps_next()):
                self.row_buffer.put(slice_rows(rows, start, stop), labels[start:stop])
            self.total += stop - start
            if self.total % CHUNK_ROWS == 0:
                self._finish()
            start = stop

    def _finish(self) -> None:
        """Complete the current chunk."""
        if self.spool is not None and self.stride > 1:
            self.spool.add(*self.row_buffer.piece())
        if self.number % self.stride == 0:
            self._store_chunk(copy_chunk(self.row_buffer.piece()))
        self.row_buffer.clear()
        self.number += 1

    def _store_chunk(self, piece: RowChunk) -> None:
        self.kept.append(piece)
        self.terms += len(piece[0].values)
        if self.terms > self.room and len(self.kept) > 1:
            if self.spool is not None and self.stride == 1:
                for whole in self.kept:
                    self.spool.add(*whole)
            self.kept, self.stride = self.kept[1::2], 2 * self.stride
            self.terms = sum(len(rows.values) for rows, _ in self.kept)

    def sample(self) -> BinarySample | None:
        """Return the sample after the last batch, or None for an empty stream."""
        if self.total % CHUNK_ROWS:
            self._finish()
        return BinarySample(*join_batches(self.kept), self.total) if self.kept else None


def sample_stream(batches: Iterable[SignedBatch], spool: ShuffleBuffer | None = None) -> BinarySample | None:
    """Return the sample of a stream."""
    sampler = StreamSampler(spool)
    for rows, labels in batches:
        sampler.add(rows, labels)
    return sampler.sample()


def split_in_halves(sample: BinarySample) -> tuple[BinarySample, BinarySample]:
    """Split into every second chunk and the rest, for fitting and judging; a single chunk serves as both."""
    count = count_rows(sample.rows)
    pieces = [
        (slice_rows(sample.rows, start, min(count, start + CHUNK_ROWS)), sample.labels[start : start + CHUNK_ROWS])
        for start in range(0, count, CHUNK_ROWS)
    ]
    if len(pieces) < 2:
        return sample, sample
    return BinarySample(*join_batches(pieces[::2]), sample.total), BinarySample(
        *join_batches(pieces[1::2]), sample.total
    )
