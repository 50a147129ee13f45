"""Examples kept in memory for the search of a witness: all of a small stream, an even share of a large one.

Pieces of some rows are kept until they take too much room; then every second is dropped, and from there on only every
second is kept, then every fourth, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.measure import Batch
from novikoff.certificates.witness import Sample, joined
from novikoff.stream.rows import Rows, cut

ROOM = 4_000_000  # terms
PIECE = 256  # rows


class Gatherer:
    """Takes batches as they come."""

    def __init__(self) -> None:
        self.kept: list[Batch] = []
        self.stride, self.number, self.terms, self.total = 1, 0, 0, 0

    def add(self, rows: Rows, labels: NDArray[np.int8]) -> None:
        for start in range(0, len(labels), PIECE):
            sides = labels[start : start + PIECE]
            self.total += len(sides)
            self.number += 1
            if self.number % self.stride == 0:
                self._keep(cut(rows, start, start + len(sides)), sides.copy())

    def _keep(self, rows: Rows, labels: NDArray[np.int8]) -> None:
        piece = joined([(rows, labels)])
        self.kept.append(piece)
        self.terms += len(piece[0].values)
        if self.terms > ROOM and len(self.kept) > 1:
            self.kept, self.stride = self.kept[1::2], 2 * self.stride
            self.terms = sum(len(rows.values) for rows, _ in self.kept)

    def sample(self) -> Sample | None:
        """None where there were no examples."""
        return Sample(*joined(self.kept), self.total) if self.kept else None


def gathered(batches: Iterable[Batch]) -> Sample | None:
    """The sample of a stream."""
    gatherer = Gatherer()
    for rows, labels in batches:
        gatherer.add(rows, labels)
    return gatherer.sample()
