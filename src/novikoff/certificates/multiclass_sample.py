"""Examples of many outcomes as they are measured and searched: rows, and beside each what it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.search.witness_search import join_batches
from novikoff.data.labels.class_labels import LabelSets
from novikoff.data.rows import Rows, Sparse, slice_rows

MAX_SAMPLE_TERMS = 4_000_000  # terms
CHUNK_ROWS = 256  # rows


class MulticlassSample(NamedTuple):
    """Examples that are kept in memory, out of `total`."""

    rows: Sparse
    labels: NDArray[np.int8]
    """0 for those that are left out, 1 for all others."""
    codes: Any
    """What they ask for, as the model takes it."""
    total: int

    def share(self) -> float:
        """How many examples each of these stands for."""
        return self.total / max(1, len(self.labels))


def mark_included(codes: Any) -> NDArray[np.int8]:
    """0 for examples that are left out."""
    if isinstance(codes, LabelSets):
        there = np.ones(len(codes), np.int8) if codes.absent is None else ~codes.absent
    else:
        there = codes >= 0
    return there.astype(np.int8)


class MulticlassStreamSampler:
    """Takes batches as they come: keeps all of a small stream, an even share of a large one. When pieces take too much
    room every second is dropped, and from there on only every second is kept, and so on."""

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
        """None where there were no examples."""
        if not self.kept:
            return None
        codes = join_codes([codes for _, codes in self.kept])
        return MulticlassSample(join_rows([rows for rows, _ in self.kept]), mark_included(codes), codes, self.total)


def join_rows(parts: Sequence[Rows]) -> Sparse:
    rows, _ = join_batches([(part, np.zeros(0, np.int8)) for part in parts])
    return rows


def join_codes(parts: Sequence[Any]) -> Any:
    """What the examples of several batches ask for, as that of one; a copy."""
    if not isinstance(parts[0], LabelSets):
        return np.concatenate(parts)
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    members = [part.members[int(part.starts[0]) : int(part.starts[-1])] for part in parts]
    absent = np.concatenate([mark_included(part) == 0 for part in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return LabelSets(starts, np.concatenate(members), absent=absent if absent.any() else None)
