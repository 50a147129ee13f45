"""Examples kept in memory for the search of a witness: all of a small stream, an even share of a large one.

Pieces of some rows are kept until they take too much room; then every second is dropped, and from there on only every
second is kept, then every fourth, and so on. Where the first piece is dropped, all of them go into a spool as well, if
there is one. Pieces are counted through the stream, so that it does not matter in which batches it comes.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.measure import Batch
from novikoff.certificates.row_chunks import Piece, Pile, copied
from novikoff.certificates.shuffle_buffer import Spool
from novikoff.certificates.witness_search import Sample, joined
from novikoff.data.rows import Rows, cut, how_many

ROOM = 4_000_000  # terms
PIECE = 256  # rows


class Gatherer:
    """Takes batches as they come."""

    def __init__(self, spool: Spool | None = None, *, room: int | None = None) -> None:
        self.spool, self.pile, self.room = spool, Pile(PIECE), ROOM if room is None else room
        self.kept: list[Piece] = []
        self.stride, self.number, self.terms, self.total = 1, 1, 0, 0

    def add(self, rows: Rows, labels: NDArray[np.int8]) -> None:
        start = 0
        while start < len(labels):
            already = self.total % PIECE
            stop = min(len(labels), start + PIECE - already)
            if self._wanted():
                self.pile.put(cut(rows, start, stop), labels[start:stop])
            self.total += stop - start
            if self.total % PIECE == 0:
                self._finish()
            start = stop

    def _wanted(self) -> bool:
        return self.number % self.stride == 0 or (self.spool is not None and self.spool.wants())

    def _finish(self) -> None:
        """The rows that came since the last piece are one."""
        if self.spool is not None and self.stride > 1:
            self.spool.add(*self.pile.piece())
        if self.number % self.stride == 0:
            self._keep(copied(self.pile.piece()))
        self.pile.clear()
        self.number += 1

    def _keep(self, piece: Piece) -> None:
        self.kept.append(piece)
        self.terms += len(piece[0].values)
        if self.terms > self.room and len(self.kept) > 1:
            if self.spool is not None and self.stride == 1:
                for whole in self.kept:
                    self.spool.add(*whole)
            self.kept, self.stride = self.kept[1::2], 2 * self.stride
            self.terms = sum(len(rows.values) for rows, _ in self.kept)

    def sample(self) -> Sample | None:
        """All that was kept, after the last batch; None where there were no examples."""
        if self.total % PIECE:
            self._finish()
        return Sample(*joined(self.kept), self.total) if self.kept else None


def gathered(batches: Iterable[Batch], spool: Spool | None = None) -> Sample | None:
    """The sample of a stream."""
    gatherer = Gatherer(spool)
    for rows, labels in batches:
        gatherer.add(rows, labels)
    return gatherer.sample()


def halves(sample: Sample) -> tuple[Sample, Sample]:
    """Every second piece, and the others: what is found in the one is judged by the other. A single piece is both."""
    count = how_many(sample.rows)
    pieces = [
        (cut(sample.rows, start, min(count, start + PIECE)), sample.labels[start : start + PIECE])
        for start in range(0, count, PIECE)
    ]
    if len(pieces) < 2:
        return sample, sample
    return Sample(*joined(pieces[::2]), sample.total), Sample(*joined(pieces[1::2]), sample.total)
