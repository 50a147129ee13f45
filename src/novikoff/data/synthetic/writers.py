"""Generated rows as svmlight or Vowpal Wabbit text; attributes are numbered from 1.

The text of a Boolean row is gathered from prepared pieces of equal length, one per attribute and one per label, padded
with zero bytes that are removed at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.data.rows import Dense, Rows, Sparse


class RowFormat(NamedTuple):
    """The text around labels and attributes in a format."""

    after_label: str
    active: str
    """Follows the number of an attribute that is 1."""


ROW_FORMATS = {"svmlight": RowFormat("", ":1"), "vw": RowFormat(" |", "")}


class RowWriter:
    """Converts examples with n attributes to text."""

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
        # A label begins with the newline of the line before it.
        return self._pieces[chosen].tobytes().translate(None, b"\0")[1:] + b"\n"

    def _format_dense(self, rows: Dense, y: NDArray[np.int8]) -> bytes:
        """Write every number with the fewest digits that restore it."""
        line = "%d" + self._shape.after_label + "".join(f" {j}:%r" for j in range(1, self._n + 1)) + "\n"
        cells = np.column_stack([y, rows.values.reshape(-1, rows.width)])
        return (line * len(y) % tuple(cells.ravel().tolist())).encode()


def _build_pieces(shape: RowFormat, n: int) -> NDArray[np.void]:
    """Return the pieces of the n attributes, then of the labels 1 and −1, as items of equal size."""
    numbers = np.arange(1, n + 1).astype(f"S{len(str(n))}")
    terms = np.strings.add(np.strings.add(b" ", numbers), shape.active.encode())
    labels = np.array([f"\n{label}{shape.after_label}" for label in (1, -1)], "S")
    pieces = np.concatenate([terms, labels])
    size = -(-pieces.dtype.itemsize // 8) * 8  # whole words are gathered faster
    return pieces.astype(f"S{size}").view(f"V{size}")
