"""Batches of rows, dense or CSR, and the generic functions by which kernels access them.

A new kind of rows is a NamedTuple with bodies for `dot_and_sq_norm`, `indices_in_range`, `indices_sorted`,
`first_term`, `end_term` and `weight_slot`, and for those of the others whose default, for dense rows, does not fit.
Terms are numbered through the whole batch, as the values are stored.

`ColumnView` shows rows to one column of a weight matrix: code for one weight vector also works on a column.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from novikoff._compiled.jit import compiled, compiled_not_inlined, generic
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import (
    LANES,
    dense_dot_and_sq_norm,
    get_unchecked,
    is_increasing,
    prefetch_slot,
    sparse_dot_and_sq_norm,
)
from novikoff._compiled.simd.dot_columns import (
    BLOCK_COLUMNS,
    dense_dot_columns,
    dense_dot_columns_2,
    dense_dot_columns_3,
    dense_dot_columns_5,
    sparse_dot_columns,
    sparse_dot_columns_2,
    sparse_dot_columns_3,
    sparse_dot_columns_5,
    sum_of_squares,
)

MAX_CACHED_WEIGHTS = 1 << 18  # weights that fit into the L2 cache


class Dense(NamedTuple):
    """Row i is values[i·width : (i+1)·width]."""

    values: NDArray[np.floating]
    width: int


class Sparse(NamedTuple):
    """Row i has the terms starts[i] to starts[i+1]; gathering by uint32 indices is faster than by int32."""

    starts: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.floating]


class DenseWithZeros(NamedTuple):
    """Dense rows in which values of 0 are skipped."""

    values: NDArray[np.floating]
    width: int


class ColumnView(NamedTuple):
    """Rows for column `at` of a weight matrix with `stride` columns: slot j has the index j·stride + at."""

    rows: Dense | Sparse
    values: NDArray[np.floating]
    stride: int
    at: int
    sums: NDArray[np.float64]
    """Buffer for the sums of a block of columns."""


Rows: TypeAlias = Dense | Sparse
RowView: TypeAlias = Dense | Sparse | DenseWithZeros | ColumnView
"""Rows as one vector of weights sees them."""


@generic
def first_term(rows: RowView, i: int) -> int:
    """Return the number of row i's first term."""
    return i * rows.width  # type: ignore[union-attr]


@generic
def end_term(rows: RowView, i: int) -> int:
    """Return the end of row i's terms."""
    return (i + 1) * rows.width  # type: ignore[union-attr]


@generic
def weight_slot(rows: RowView, i: int, k: int) -> int:
    """Return the weight slot of term k of row i."""
    return k - i * rows.width + 1  # type: ignore[union-attr]


@generic
def indices_in_range(rows: Rows, i: int, slots: int) -> bool:
    """Return whether every term of row i has a weight slot: other indices must not be followed."""
    return rows.width < slots  # type: ignore[union-attr]


@generic
def indices_sorted(rows: Rows, i: int, slots: int) -> bool:
    """Return whether all indices of row i are in range and increasing: duplicates would make ‖x‖² wrong."""
    return rows.width < slots  # type: ignore[union-attr]


@generic
def dot_and_sq_norm(rows: RowView, i: int, slots: NDArray[np.floating]) -> tuple[float, float]:
    """Return (w·x, ‖x‖²) of row i without the bias; ‖x‖² is NaN where a value is 0."""
    return dense_dot_and_sq_norm(rows.values, i * rows.width, rows.width, slots)  # type: ignore[union-attr]


@generic
def is_term(rows: RowView, x: float) -> bool:
    """Return whether a value is a term: by default every stored one is."""
    return True


@is_term.of(DenseWithZeros)
def _is_term_dense_with_zeros(rows: DenseWithZeros, x: float) -> bool:
    return x != 0.0


@generic
def has_zeros(rows: Rows, i: int) -> bool:
    """Return whether row i is dense and has values of 0."""
    found = False
    for k in range(i * rows.width, (i + 1) * rows.width):  # type: ignore[union-attr]
        found |= get_unchecked(rows.values, k) == 0.0
    return found


@has_zeros.of(Sparse)
def _has_zeros_sparse(rows: Sparse, i: int) -> bool:
    return False


@dot_and_sq_norm.of(DenseWithZeros)
def _dot_and_sq_norm_dense_with_zeros(rows: DenseWithZeros, i: int, slots: NDArray[np.floating]) -> tuple[float, float]:
    return dot_skipping_zeros(rows.values, i * rows.width, rows.width, slots)


@first_term.of(Sparse)
def _first_term_sparse(rows: Sparse, i: int) -> int:
    return rows.starts[i]


@end_term.of(Sparse)
def _end_term_sparse(rows: Sparse, i: int) -> int:
    return rows.starts[i + 1]


@weight_slot.of(Sparse)
def _weight_slot_sparse(rows: Sparse, i: int, k: int) -> int:
    return int(get_unchecked(rows.indices, k)) + 1


@indices_in_range.of(Sparse)
def _indices_in_range_sparse(rows: Sparse, i: int, slots: int) -> bool:
    largest = np.uint32(0)
    for k in range(rows.starts[i], rows.starts[i + 1]):
        largest = max(largest, get_unchecked(rows.indices, k))
    return bool(rows.starts[i] == rows.starts[i + 1]) or int(largest) + 1 < slots


@indices_sorted.of(Sparse)
def _indices_sorted_sparse(rows: Sparse, i: int, slots: int) -> bool:
    start, stop = rows.starts[i], rows.starts[i + 1]
    return is_increasing(rows.indices, start, stop) and (
        start == stop or int(get_unchecked(rows.indices, stop - 1)) + 1 < slots
    )


@dot_and_sq_norm.of(Sparse)
def _dot_and_sq_norm_sparse(rows: Sparse, i: int, slots: NDArray[np.floating]) -> tuple[float, float]:
    return sparse_dot_and_sq_norm(rows.values, rows.indices, rows.starts[i], rows.starts[i + 1] - rows.starts[i], slots)


@generic
def prefetch(rows: Rows, i: int, count: int, slots: NDArray[np.floating]) -> None:
    """Prefetch the weights of row i, if there is one and the weights don't fit into the cache."""


@prefetch.of(Sparse)
def _prefetch_sparse(rows: Sparse, i: int, count: int, slots: NDArray[np.floating]) -> None:
    if slots.size > MAX_CACHED_WEIGHTS and i < count:
        for k in range(rows.starts[i], rows.starts[i + 1]):
            prefetch_slot(slots, int(get_unchecked(rows.indices, k)) + 1)


@generic
def bias_slot(rows: RowView) -> int:
    """Return the weight slot of the bias."""
    return 0


@generic
def row_sq_norm(rows: RowView, i: int) -> float:
    """Return ‖x‖² of row i without the bias; NaN where a value is 0."""
    return sum_of_squares(rows.values, i * rows.width, rows.width)  # type: ignore[union-attr]


@row_sq_norm.of(Sparse)
def _row_sq_norm_sparse(rows: Sparse, i: int) -> float:
    return sum_of_squares(rows.values, rows.starts[i], rows.starts[i + 1] - rows.starts[i])


@generic
def sum_block(
    rows: Rows, i: int, slots: NDArray[np.floating], stride: int, column: int, out: NDArray[np.float64]
) -> None:
    """Write w·x of row i without the bias, for the block of columns that begins at `column`."""
    dense_dot_columns(rows.values, i * rows.width, rows.width, slots, stride, column, out)  # type: ignore[union-attr]


@generic
def sum_columns(
    rows: Rows, i: int, slots: NDArray[np.floating], stride: int, columns: int, out: NDArray[np.float64]
) -> None:
    """Write w·x of row i without the bias, for the first `columns` columns; `out` has room for whole blocks."""
    start, count = i * rows.width, rows.width  # type: ignore[union-attr]
    column = 0
    while columns - column > 4 * BLOCK_COLUMNS:
        dense_dot_columns_5(rows.values, start, count, slots, stride, column, out)
        column += 5 * BLOCK_COLUMNS
    if columns - column > 2 * BLOCK_COLUMNS:
        dense_dot_columns_3(rows.values, start, count, slots, stride, column, out)
        column += 3 * BLOCK_COLUMNS
    if columns - column > BLOCK_COLUMNS:
        dense_dot_columns_2(rows.values, start, count, slots, stride, column, out)
    elif columns > column:
        dense_dot_columns(rows.values, start, count, slots, stride, column, out)


@sum_block.of(Sparse)
def _sum_block_sparse(
    rows: Sparse, i: int, slots: NDArray[np.floating], stride: int, column: int, out: NDArray[np.float64]
) -> None:
    start, count = rows.starts[i], rows.starts[i + 1] - rows.starts[i]
    sparse_dot_columns(rows.values, rows.indices, start, count, slots, stride, column, out)


@sum_columns.of(Sparse)
def _sum_columns_sparse(
    rows: Sparse, i: int, slots: NDArray[np.floating], stride: int, columns: int, out: NDArray[np.float64]
) -> None:
    start, count = rows.starts[i], rows.starts[i + 1] - rows.starts[i]
    column = 0
    while columns - column > 4 * BLOCK_COLUMNS:
        sparse_dot_columns_5(rows.values, rows.indices, start, count, slots, stride, column, out)
        column += 5 * BLOCK_COLUMNS
    if columns - column > 2 * BLOCK_COLUMNS:
        sparse_dot_columns_3(rows.values, rows.indices, start, count, slots, stride, column, out)
        column += 3 * BLOCK_COLUMNS
    if columns - column > BLOCK_COLUMNS:
        sparse_dot_columns_2(rows.values, rows.indices, start, count, slots, stride, column, out)
    elif columns > column:
        sparse_dot_columns(rows.values, rows.indices, start, count, slots, stride, column, out)


@bias_slot.of(ColumnView)
def _bias_slot_column_view(rows: ColumnView) -> int:
    return rows.at


@first_term.of(ColumnView)
def _first_term_column_view(rows: ColumnView, i: int) -> int:
    return first_term(rows.rows, i)


@end_term.of(ColumnView)
def _end_term_column_view(rows: ColumnView, i: int) -> int:
    return end_term(rows.rows, i)


@weight_slot.of(ColumnView)
def _weight_slot_column_view(rows: ColumnView, i: int, k: int) -> int:
    return weight_slot(rows.rows, i, k) * rows.stride + rows.at


@row_sq_norm.of(ColumnView)
def _row_sq_norm_column_view(rows: ColumnView, i: int) -> float:
    return row_sq_norm(rows.rows, i)


@dot_and_sq_norm.of(ColumnView)
def _dot_and_sq_norm_column_view(rows: ColumnView, i: int, slots: NDArray[np.floating]) -> tuple[float, float]:
    begin = rows.at - rows.at % BLOCK_COLUMNS
    sum_block(rows.rows, i, slots, rows.stride, begin, rows.sums)
    return rows.sums[rows.at], row_sq_norm(rows.rows, i)


@compiled_not_inlined
def dot_skipping_zeros(
    values: NDArray[np.floating], start: int, count: int, slots: NDArray[np.floating]
) -> tuple[float, float]:
    """Return (w·x, ‖x‖²) of a dense row without zeros, summed in the order of sparse rows (`_compiled/simd/dot.py`)."""
    terms = 0
    for k in range(start, start + count):
        terms += values[k] != 0.0
    # The lanes are computed one after another; with fewer terms than lanes there is only one sum.
    a, a2 = lane_skipping_zeros(values, start, count, slots, terms, 0)
    if terms < LANES:
        return a, a2
    b, b2 = lane_skipping_zeros(values, start, count, slots, terms, 4)
    dot, sq_norm = a + b, a2 + b2
    a, a2 = lane_skipping_zeros(values, start, count, slots, terms, 2)
    b, b2 = lane_skipping_zeros(values, start, count, slots, terms, 6)
    dot, sq_norm = dot + (a + b), sq_norm + (a2 + b2)
    a, a2 = lane_skipping_zeros(values, start, count, slots, terms, 1)
    b, b2 = lane_skipping_zeros(values, start, count, slots, terms, 5)
    odd, odd2 = a + b, a2 + b2
    a, a2 = lane_skipping_zeros(values, start, count, slots, terms, 3)
    b, b2 = lane_skipping_zeros(values, start, count, slots, terms, 7)
    odd, odd2 = odd + (a + b), odd2 + (a2 + b2)
    return dot + odd, sq_norm + odd2


@compiled_not_inlined
def lane_skipping_zeros(
    values: NDArray[np.floating], start: int, count: int, slots: NDArray[np.floating], terms: int, lane: int
) -> tuple[float, float]:
    """Return the sums of one lane; `terms` is the number of nonzero values."""
    full_terms = terms - terms % LANES
    dot, sq_norm, term = 0.0, 0.0, 0
    for k in range(count):
        x = np.float64(values[start + k])
        if x != 0.0:
            term_lane = term % LANES if term < full_terms else LANES - terms + term
            if term_lane == lane or terms < LANES:
                dot += x * np.float64(slots[k + 1])
                sq_norm += x * x
            term += 1
    return dot, sq_norm


@compiled
def scatter_row(rows: Rows, i: int, example: NDArray[np.float64]) -> None:
    """Write the values of row i to the slots of an example that is all zeros."""
    for k in range(first_term(rows, i), end_term(rows, i)):
        example[weight_slot(rows, i, k)] = np.float64(rows.values[k])


@compiled
def clear_row(rows: Rows, i: int, example: NDArray[np.float64]) -> None:
    for k in range(first_term(rows, i), end_term(rows, i)):
        example[weight_slot(rows, i, k)] = 0.0


def count_rows(rows: Rows) -> int:
    if isinstance(rows, Sparse):
        return len(rows.starts) - 1
    return len(rows.values) // rows.width


def slice_rows(rows: Rows, start: int, stop: int) -> Rows:
    """Return rows start … stop − 1 without copying values."""
    if isinstance(rows, Sparse):
        return rows._replace(starts=rows.starts[start : stop + 1])
    return rows._replace(values=rows.values[start * rows.width : stop * rows.width])


def drop_columns(rows: Rows, width: int) -> Rows:
    """Return the rows without the terms in columns from `width` on."""
    if isinstance(rows, Dense):
        return rows
    end = int(rows.starts[-1])
    if not end or rows.indices[:end].max() < width:
        return rows
    known = rows.indices[:end] < width
    starts = np.concatenate([[0], np.cumsum(known)])[rows.starts]
    return rows._replace(
        starts=starts.astype(np.int64), indices=rows.indices[:end][known], values=rows.values[:end][known]
    )


def get_width(rows: Rows) -> int:
    """Return a lower bound for the number of columns: the largest used one plus one."""
    if isinstance(rows, Dense):
        return rows.width
    return int(rows.indices[rows.starts[0] : rows.starts[-1]].max(initial=0)) + 1
