"""Rows as text, in svmlight or Vowpal Wabbit's format; attributes are numbered from 1.

A row of active attributes is a row of ready-made pieces, one for each attribute and two for the labels: pieces of one
length, filled up with zero bytes, are gathered by number and the zero bytes taken out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.data.rows import Dense, Rows, Sparse


class RowFormat(NamedTuple):
    """How a format spells an example."""

    after_label: str
    active: str
    """After the number of an attribute that is 1."""


ROW_FORMATS = {"svmlight": RowFormat("", ":1"), "vw": RowFormat(" |", "")}


class RowWriter:
    """The text of examples with n attributes."""

    def __init__(self, format: str, n: int) -> None:
        self._shape, self._n = ROW_FORMATS[format], n
        self._pieces: NDArray[np.void] | None = None

    def __call__(self, rows: Rows, y: NDArray[np.int8]) -> bytes:
        return self._format_dense(rows, y) if isinstance(rows, Dense) else self._format_sparse(rows, y)

    def _format_sparse(self, rows: Sparse, y: NDArray[np.int8]) -> bytes:
        if self._pieces is None:
            self._pieces = _build_pieces(self._shape, self._n)
        heads = rows.starts[:-1] + np.arange(len(y))
        chosen = np.empty(len(rows.indices) + len(y), np.int64)
        is_term = np.ones(len(chosen), np.bool_)
        is_term[heads] = False
        chosen[heads] = np.where(y > 0, self._n, self._n + 1)
        chosen[is_term] = rows.indices
        # A label begins with the end of the line before it.
        return self._pieces[chosen].tobytes().translate(None, b"\0")[1:] + b"\n"

    def _format_dense(self, rows: Dense, y: NDArray[np.int8]) -> bytes:
        """Every number in the fewest digits that give it back."""
        line = "%d" + self._shape.after_label + "".join(f" {j}:%r" for j in range(1, self._n + 1)) + "\n"
        cells = np.column_stack([y, rows.values.reshape(-1, rows.width)])
        return (line * len(y) % tuple(cells.ravel().tolist())).encode()


def _build_pieces(shape: RowFormat, n: int) -> NDArray[np.void]:
    """The n attributes, then the labels 1 and −1, as items of one size."""
    numbers = np.arange(1, n + 1).astype(f"S{len(str(n))}")
    terms = np.strings.add(np.strings.add(b" ", numbers), shape.active.encode())
    labels = np.array([f"\n{label}{shape.after_label}" for label in (1, -1)], "S")
    pieces = np.concatenate([terms, labels])
    size = -(-pieces.dtype.itemsize // 8) * 8  # whole words are gathered faster
    return pieces.astype(f"S{size}").view(f"V{size}")
