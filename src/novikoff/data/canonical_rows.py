"""Canonical rows: no zeros, no duplicate columns, so that the same data gives the same bytes in every form.

Dense rows without zeros, and sparse rows with increasing columns and no zeros, are canonical: the training loop takes
them as they are. It refuses other rows while it measures them, so that the check needs no extra pass; some loops also
take dense rows with few zeros. Other rows are converted here block by block: a row with duplicate columns is sorted and
its duplicates are summed; then zeros are dropped. All other terms keep their order, which is the order of summation. So
a table gives the same bytes dense or sparse, with its zeros stored or left out.
"""

from __future__ import annotations

from collections.abc import Callable

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.data.rows import (
    Dense,
    Rows,
    Sparse,
    count_rows,
    end_term,
    first_term,
    indices_in_range,
    indices_sorted,
    slice_rows,
    weight_slot,
)

BLOCK_TERMS = 2**18  # terms, or rows, of a block at most: it stays in the cache
MIN_BLOCK_ROWS = 16  # the first block is small: a table may have one zero among millions of numbers
LONG_RUN_BLOCKS = 16

BlockConsumer = Callable[[Rows, int, bool], int]
"""take(rows, start, canonical) → how many of these rows it took, fewer than all where it refused one. `start` is the
number of their first row in the batch; `canonical` says that their columns need no check."""


def for_each_canonical_block(
    rows: Rows, features: int, take: BlockConsumer, *, known: bool = False, sparse_only: bool = False
) -> int:
    """Pass all rows to `take` in canonical form; return how many it took, which is fewer than all where it refused one.

    `known` says that a reader has checked the columns. `sparse_only` converts dense rows block by block: rarely used
    kernels are compiled for sparse rows only.
    """
    if sparse_only and isinstance(rows, Dense):
        return _for_each_sparse_block(rows, features, take)
    done, count = 0, count_rows(rows)
    block = MIN_BLOCK_ROWS  # grows, until a long run of canonical rows resets it
    while done < count:
        if is_canonical(rows, done, known):
            taken = take(slice_rows(rows, done, count), done, known)
            done += taken
            if done == count or is_canonical(rows, done, known):
                return done
            block = MIN_BLOCK_ROWS if taken > LONG_RUN_BLOCKS * block else block
        stop = find_block_end(rows, done, block)
        done += take(canonicalize(rows, done, stop, features), done, True)
        if done < stop:
            return done
        block = min(BLOCK_TERMS, 4 * block)
    return done


def _for_each_sparse_block(rows: Dense, features: int, take: BlockConsumer) -> int:
    """Convert dense rows to sparse blocks and pass them to `take`; return how many rows it took.

    Values of a block without zeros are not copied, and all such blocks share their indices.
    """
    done, count, width = 0, count_rows(rows), rows.width
    full = _full_rows(0, width)
    while done < count:
        stop = find_block_end(rows, done, BLOCK_TERMS)
        values = rows.values[done * width : stop * width]
        if (values != 0.0).all():
            if len(full.indices) < len(values):
                full = _full_rows(stop - done, width)
            block = Sparse(full.starts[: stop - done + 1], full.indices[: len(values)], values)
        else:
            block = canonicalize(rows, done, stop, features)
        done += take(block, done, True)
        if done < stop:
            return done
    return done


def _full_rows(count: int, width: int) -> Sparse:
    """Return the starts and indices of rows that have a value in every column."""
    indices = np.tile(np.arange(width, dtype=np.uint32), count)
    return Sparse(np.arange(0, count * width + 1, width), indices, np.zeros(0))


def list_sparse_blocks(rows: Rows, features: int) -> list[tuple[Rows, int]]:
    """Return all rows in order, as sparse rows, in parts, each with the number of its first row."""
    found: list[tuple[Rows, int]] = []

    def take(part: Rows, start: int, canonical: bool) -> int:
        count = count_rows(part) if canonical else find_first_unsorted(part, count_rows(part), features + 1)
        found.append((slice_rows(part, 0, count), start))
        return count

    for_each_canonical_block(rows, features, take, sparse_only=True)
    return found


def is_canonical(rows: Rows, i: int, known: bool) -> bool:
    """Return whether row i is canonical, provided that its numbers are finite."""
    if isinstance(rows, Dense):
        return bool(rows.values[i * rows.width : (i + 1) * rows.width].all())
    terms = slice(rows.starts[i], rows.starts[i + 1])
    columns = rows.indices[terms]
    return bool(rows.values[terms].all() and (known or (columns[:-1] < columns[1:]).all()))


def find_block_end(rows: Rows, start: int, block: int) -> int:
    """Return the end of a block from row `start` on: up to `block` rows and BLOCK_TERMS terms, at least one row."""
    stop = min(count_rows(rows), start + block)
    if isinstance(rows, Dense):
        return min(stop, start + max(1, BLOCK_TERMS // rows.width))
    full = np.searchsorted(rows.starts[start : stop + 1], rows.starts[start] + BLOCK_TERMS, side="right")
    return start + max(1, int(full) - 1)


def canonicalize(rows: Rows, start: int, stop: int, features: int) -> Sparse:
    """Return rows start … stop − 1 in canonical form, only those before the first with a column out of range."""
    part = slice_rows(rows, start, stop)
    if isinstance(part, Sparse):
        count, slots = stop - start, features + 1
        if find_first_unsorted(part, count, slots) < count:
            has_duplicates = np.zeros(count, np.bool_)
            count = find_duplicates(part, slots, np.zeros(slots, np.int64), has_duplicates)
            part = sum_duplicates(part._replace(starts=part.starts[: count + 1]), has_duplicates[:count])
    return remove_zeros(part)


def compact_rows(rows: Rows, features: int) -> Rows:
    """Return rows for repeated use: no duplicate columns, and at most half zeros; only those before the first with a
    column out of range."""
    if isinstance(rows, Dense):
        return rows if 2 * np.count_nonzero(rows.values) >= rows.values.size else remove_zeros(rows)
    count = count_rows(rows)
    return rows if find_first_unsorted(rows, count, features + 1) == count else canonicalize(rows, 0, count, features)


def to_sparse(rows: Rows) -> Sparse:
    """Return sparse rows as they are, dense ones converted."""
    return rows if isinstance(rows, Sparse) else remove_zeros(rows)


def remove_zeros(rows: Rows) -> Sparse:
    count = count_rows(rows)
    terms = int(end_term(rows, count - 1) - first_term(rows, 0))
    dtype = rows.values.dtype
    canonical = Sparse(np.zeros(count + 1, np.int64), np.empty(terms, np.uint32), np.empty(terms, dtype))
    write_nonzeros(rows, count, canonical)
    return canonical


@compiled
def write_nonzeros(rows: Rows, count: int, out: Sparse) -> None:
    """Write the nonzero terms of the first `count` rows. For one sparse row, `out` may be the same arrays."""
    end = np.uint64(0)  # unsigned: the compiler emits no check for negative indices
    for i in range(count):
        for k in range(first_term(rows, i), end_term(rows, i)):
            # Branch-free: each term is written, and the next one overwrites it if it was 0. This form of the test
            # keeps NaN and is one instruction.
            value = get_unchecked(rows.values, k)
            out.indices[end] = weight_slot(rows, i, k) - 1
            out.values[end] = value
            end += np.uint64(not abs(value) <= 0.0)
        out.starts[i + 1] = end


@compiled
def find_first_unsorted(rows: Rows, count: int, slots: int) -> int:
    """Return the first row whose columns don't increase or are out of range; `count` where there is none."""
    for i in range(count):
        if not indices_sorted(rows, i, slots):
            return i
    return count


@compiled
def find_duplicates(rows: Sparse, slots: int, stamps: NDArray[np.int64], has_duplicates: NDArray[np.bool_]) -> int:
    """Mark the rows with duplicate columns; return the number of rows before one with a column out of range.

    `stamps`, zero for each slot at first, holds the last row that used a slot.
    """
    for i in range(len(has_duplicates)):
        if not indices_in_range(rows, i, slots):
            return i
        for k in range(first_term(rows, i), end_term(rows, i)):
            j = weight_slot(rows, i, k)
            has_duplicates[i] |= stamps[j] == i + 1
            stamps[j] = i + 1
    return len(has_duplicates)


def sum_duplicates(rows: Sparse, has_duplicates: NDArray[np.bool_]) -> Sparse:
    """Return the rows with those that are marked sorted and their duplicates summed."""
    if not has_duplicates.any():
        return rows
    terms, counts = slice(rows.starts[0], rows.starts[-1]), np.diff(rows.starts)
    indices, values, marked = rows.indices[terms], rows.values[terms], np.repeat(has_duplicates, counts)
    better = sort_and_sum(Sparse(_starts_from_counts(counts[has_duplicates]), indices[marked], values[marked]))
    counts[has_duplicates] = np.diff(better.starts)
    marked_now = np.repeat(has_duplicates, counts)
    out = Sparse(
        _starts_from_counts(counts), np.empty(marked_now.size, np.uint32), np.empty(marked_now.size, values.dtype)
    )
    out.indices[marked_now], out.indices[~marked_now] = better.indices, indices[~marked]
    out.values[marked_now], out.values[~marked_now] = better.values, values[~marked]
    return out


def _starts_from_counts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def sort_and_sum(rows: Sparse) -> Sparse:
    """Return the rows with increasing columns and duplicates summed."""
    end, count = int(rows.starts[-1]), count_rows(rows)
    row = np.repeat(np.arange(count), np.diff(rows.starts))
    # Stable: the terms of one column are summed in their original order.
    order = np.lexsort((rows.indices[:end], row))
    row, columns, values = row[order], rows.indices[order], rows.values[order]
    is_first = np.ones(end, bool)
    is_first[1:] = (row[1:] != row[:-1]) | (columns[1:] != columns[:-1])
    total, group = values[is_first], np.cumsum(is_first) - 1
    np.add.at(total, group[~is_first], values[~is_first])
    return Sparse(_starts_from_counts(np.bincount(row[is_first], minlength=count)), columns[is_first], total)
