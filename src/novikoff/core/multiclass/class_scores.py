"""Rows against the weights of all classes, which lie as [slot][class]: see `_compiled/simd/dot_classes.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, generic
from novikoff._compiled.simd.dot import get_unchecked
from novikoff._compiled.simd.dot_classes import dense_add, dense_dots, pad_classes, sparse_add, sparse_dots
from novikoff.data.rows import Rows, Sparse, end_term, first_term

__all__ = ["add_to_classes", "compute_sq_norms", "dot_classes", "dot_rows", "pad_classes"]


@generic
def dot_classes(rows: Rows, i: int, weights: NDArray[np.float64], bias: float, out: NDArray[np.float64]) -> None:
    """Write out[c] = w_c·x for row i, with a bias feature of this value."""
    dense_dots(rows.values, i * rows.width, rows.width, weights, bias, out)  # type: ignore[union-attr]


@dot_classes.of(Sparse)
def _dot_classes_sparse(
    rows: Sparse, i: int, weights: NDArray[np.float64], bias: float, out: NDArray[np.float64]
) -> None:
    start = rows.starts[i]
    sparse_dots(rows.values, rows.indices, start, rows.starts[i + 1] - start, weights, bias, out)


@generic
def add_to_classes(rows: Rows, i: int, change: NDArray[np.float64], bias: float, weights: NDArray[np.float64]) -> None:
    """Add change[c]·x of row i to w_c."""
    dense_add(rows.values, i * rows.width, rows.width, change, bias, weights)  # type: ignore[union-attr]


@add_to_classes.of(Sparse)
def _add_to_classes_sparse(
    rows: Sparse, i: int, change: NDArray[np.float64], bias: float, weights: NDArray[np.float64]
) -> None:
    start = rows.starts[i]
    sparse_add(rows.values, rows.indices, start, rows.starts[i + 1] - start, change, bias, weights)


@compiled
def dot_rows(rows: Rows, weights: NDArray[np.float64], bias: float, out: NDArray[np.float64]) -> None:
    """Write out[i][c] = w_c·x for each row."""
    for i in range(len(out)):
        dot_classes(rows, i, weights, bias, out[i])


@compiled
def compute_sq_norms(rows: Rows, bias: float, out: NDArray[np.float64]) -> None:
    """Write ‖x‖² of each row, bias included."""
    for i in range(len(out)):
        out[i] = bias * bias
        for k in range(first_term(rows, i), end_term(rows, i)):
            x = np.float64(get_unchecked(rows.values, k))
            out[i] += x * x
