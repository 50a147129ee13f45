"""A stream in pieces of so many rows, whatever the batches that it comes in. Zeros are left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from novikoff.data.rows import (Rows, Sparse, first, how_many, last)
from novikoff.data.canonical_rows import drop_zeros

Piece = tuple[Sparse, NDArray[np.int8]]


class Pile:
    """Rows are put on it until they are a piece. It is one set of arrays, used for all pieces."""

    def __init__(self, most: int) -> None:
        self.rows = self.terms = 0
        self.starts, self.labels = np.zeros(most + 1, np.int64), np.empty(most, np.int8)
        self.indices, self.values = np.empty(0, np.uint32), np.empty(0, np.float32)

    def put(self, rows: Rows, labels: NDArray[np.int8]) -> None:
        count = how_many(rows)
        self._make_room(self.terms + int(last(rows, count - 1) - first(rows, 0)), rows.values.dtype)
        begin, end = int(first(rows, 0)), int(last(rows, count - 1))
        ends, room = self.starts[self.rows : self.rows + count + 1], slice(self.terms, self.terms + end - begin)
        values = rows.values[begin:end]
        if not values.all():
            drop_zeros(rows, count, Sparse(ends, self.indices[room], self.values[room]))
            ends[1:] += self.terms
        else:
            self.values[room] = values
            if isinstance(rows, Sparse):
                self.indices[room] = rows.indices[begin:end]
                np.add(rows.starts, self.terms - begin, out=ends)
            else:
                self.indices[room].reshape(count, -1)[:] = np.arange(rows.width)
                ends[:] = self.terms + rows.width * np.arange(count + 1)
        self.labels[self.rows : self.rows + count] = labels
        self.rows, self.terms = self.rows + count, int(ends[-1])

    def _make_room(self, terms: int, kind: np.dtype[np.floating]) -> None:
        kind = np.result_type(self.values.dtype, kind)
        if terms > len(self.values) or kind != self.values.dtype:
            indices, values = np.empty(2 * terms, np.uint32), np.empty(2 * terms, kind)
            indices[: self.terms], values[: self.terms] = self.indices[: self.terms], self.values[: self.terms]
            self.indices, self.values = indices, values

    def piece(self) -> Piece:
        """What lies there, until more is put on it."""
        part = slice(self.terms)
        return Sparse(self.starts[: self.rows + 1], self.indices[part], self.values[part]), self.labels[: self.rows]

    def clear(self) -> None:
        self.rows = self.terms = 0


def copied(piece: Piece) -> Piece:
    rows, labels = piece
    return Sparse(rows.starts.copy(), rows.indices.copy(), rows.values.copy()), labels.copy()
