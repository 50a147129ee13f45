"""Samples of streams with more than two outcomes: rows with targets, kept in memory for the witness search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.search.witness_search import join_batches
from novikoff.data.labels.class_labels import LabelSets
from novikoff.data.rows import Rows, Sparse, slice_rows

MAX_SAMPLE_TERMS = 4_000_000
CHUNK_ROWS = 256


class MulticlassSample(NamedTuple):
    """Examples that are kept in memory, out of `total`."""

    rows: Sparse
    labels: NDArray[np.int8]
    """0 for excluded examples, 1 for all others."""
    codes: Any
    """Targets in the encoding of the model."""
    total: int

    def share(self) -> float:
        """Return the number of examples of the stream for each kept example."""
        return self.total / max(1, len(self.labels))


def mark_included(codes: Any) -> NDArray[np.int8]:
    """Return 0 for excluded examples and 1 for all others."""
    if isinstance(codes, LabelSets):
        there = np.ones(len(codes), np.int8) if codes.absent is None else ~codes.absent
    else:
        there = codes >= 0
    return there.astype(np.int8)


class MulticlassStreamSampler:
    """Sampler of batches: it keeps all of a small stream and an even share of a large one.

    When the chunks exceed the room, every second one is dropped, and from then on only every second new one is kept.
    """

    def __init__(self, *, room: int = MAX_SAMPLE_TERMS) -> None:
        self.room = room
        self.kept: list[tuple[Sparse, Any]] = []
        self.stride, self.number, self.terms, self.total = 1, 0, 0, 0

    def add(self, rows: Rows, codes: Any) -> None:
        for start in range(0, len(codes), CHUNK_ROWS):
            stop = min(len(codes), start + CHUNK_ROWS)
            self.total += stop - start
            self.number += 1
            if self.number % self.stride == 0:
                self._store_chunk(slice_rows(rows, start, stop), codes[start:stop])

    def _store_chunk(self, rows: Rows, codes: Any) -> None:
        piece = join_rows([rows])
        self.kept.append((piece, join_codes([codes])))
        self.terms += len(piece.values)
        if self.terms > self.room and len(self.kept) > 1:
            self.kept, self.stride = self.kept[1::2], 2 * self.stride
            self.terms = sum(len(rows.values) for rows, _ in self.kept)

    def sample(self) -> MulticlassSample | None:
        """Return the sample, or None for an empty stream."""
        if not self.kept:
            return None
        codes = join_codes([codes for _, codes in self.kept])
        return MulticlassSample(join_rows([rows for rows, _ in self.kept]), mark_included(codes), codes, self.total)


def join_rows(parts: Sequence[Rows]) -> Sparse:
    rows, _ = join_batches([(part, np.zeros(0, np.int8)) for part in parts])
    return rows


def join_codes(parts: Sequence[Any]) -> Any:
    """Concatenate the targets of several batches into a copy."""
    if not isinstance(parts[0], LabelSets):
        return np.concatenate(parts)
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    members = [part.members[int(part.starts[0]) : int(part.starts[-1])] for part in parts]
    absent = np.concatenate([mark_included(part) == 0 for part in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return LabelSets(starts, np.concatenate(members), absent=absent if absent.any() else None)
