"""Reblocking of a stream into chunks of a fixed number of rows, without zeros."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from novikoff.data.canonical_rows import write_nonzeros
from novikoff.data.rows import Rows, Sparse, count_rows, end_term, first_term

RowChunk = tuple[Sparse, NDArray[np.int8]]


class RowBuffer:
    """Buffer of rows that grows to one chunk; its arrays are reused for all chunks."""

    def __init__(self, most: int) -> None:
        self.rows = self.terms = 0
        self.starts, self.labels = np.zeros(most + 1, np.int64), np.empty(most, np.int8)
        self.indices, self.values = np.empty(0, np.uint32), np.empty(0, np.float32)

    def put(self, rows: Rows, labels: NDArray[np.int8]) -> None:
        count = count_rows(rows)
        self._ensure_capacity(self.terms + int(end_term(rows, count - 1) - first_term(rows, 0)), rows.values.dtype)
        begin, end = int(first_term(rows, 0)), int(end_term(rows, count - 1))
        ends, target_slice = self.starts[self.rows : self.rows + count + 1], slice(self.terms, self.terms + end - begin)
        values = rows.values[begin:end]
        if not values.all():
            write_nonzeros(rows, count, Sparse(ends, self.indices[target_slice], self.values[target_slice]))
            ends[1:] += self.terms
        else:
            self.values[target_slice] = values
            if isinstance(rows, Sparse):
                self.indices[target_slice] = rows.indices[begin:end]
                np.add(rows.starts, self.terms - begin, out=ends)
            else:
                self.indices[target_slice].reshape(count, -1)[:] = np.arange(rows.width)
                ends[:] = self.terms + rows.width * np.arange(count + 1)
        self.labels[self.rows : self.rows + count] = labels
        self.rows, self.terms = self.rows + count, int(ends[-1])

    def _ensure_capacity(self, terms: int, dtype: np.dtype[np.floating]) -> None:
        dtype = np.result_type(self.values.dtype, dtype)
        if terms > len(self.values) or dtype != self.values.dtype:
            indices, values = np.empty(2 * terms, np.uint32), np.empty(2 * terms, dtype)
            indices[: self.terms], values[: self.terms] = self.indices[: self.terms], self.values[: self.terms]
            self.indices, self.values = indices, values

    def piece(self) -> RowChunk:
        """Return the buffered rows, valid until the next `put`."""
        part = slice(self.terms)
        return Sparse(self.starts[: self.rows + 1], self.indices[part], self.values[part]), self.labels[: self.rows]

    def clear(self) -> None:
        self.rows = self.terms = 0


def copy_chunk(piece: RowChunk) -> RowChunk:
    rows, labels = piece
    return Sparse(rows.starts.copy(), rows.indices.copy(), rows.values.copy()), labels.copy()
