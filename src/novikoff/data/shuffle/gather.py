"""Copies of chosen rows, in a given order: what shuffled passes learn from, one block after another.

A block is small enough to stay in the cache until it is learned, so a shuffled pass reads the data once, in random
order, and needs no second copy of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import prefetch_slot
from novikoff.data.labels.class_labels import LabelSets
from novikoff.data.rows import Dense, Rows, Sparse

BLOCK_TERMS = 1 << 18  # terms of a block: about 2 MB
PREFETCH_ROWS = 8  # rows ahead: in random order the processor does not foresee which row comes next
LINE_TERMS = 16  # 4-byte numbers of one cache line


@compiled
def copy_rows(rows: Sparse, chosen: NDArray[np.int64], out: Sparse) -> None:
    """Write the chosen rows to `out`, whose arrays have room for them."""
    end = np.uint64(0)  # unsigned: an index that may be negative keeps the compiler from copying by vectors
    for i in range(len(chosen)):
        if i + PREFETCH_ROWS < len(chosen):
            later = chosen[i + PREFETCH_ROWS]
            for k in range(rows.starts[later], rows.starts[later + 1], LINE_TERMS):
                prefetch_slot(rows.indices, k)
                prefetch_slot(rows.values, k)
        start = np.uint64(rows.starts[chosen[i]])
        count = np.uint64(rows.starts[chosen[i] + 1]) - start
        for k in range(count):
            out.indices[end + k] = rows.indices[start + k]
        for k in range(count):
            out.values[end + k] = rows.values[start + k]
        end += count
        out.starts[i + 1] = end


def gather_rows(rows: Rows, chosen: NDArray[np.int64], buffer: Sparse | None = None) -> Rows:
    """Return a copy of the chosen rows, in this order; in the arrays of `buffer` where these are large enough."""
    if isinstance(rows, Dense):
        terms = len(chosen) * rows.width
        values = (
            np.empty(terms, rows.values.dtype)
            if buffer is None or len(buffer.values) < terms
            else buffer.values[:terms]
        )
        # mode="clip": to raise an error after the fact NumPy would copy everything once more
        np.take(rows.values.reshape(-1, rows.width), chosen, 0, values.reshape(-1, rows.width), mode="clip")
        return Dense(values, rows.width)
    terms = int((rows.starts[chosen + 1] - rows.starts[chosen]).sum())
    if buffer is None or len(buffer.values) < terms or len(buffer.starts) <= len(chosen):
        buffer = empty_rows(len(chosen), terms, rows.values.dtype)
    out = buffer._replace(starts=buffer.starts[: len(chosen) + 1])
    copy_rows(rows, chosen, out)
    return out


def empty_rows(count: int, terms: int, dtype: Any) -> Sparse:
    """Return arrays for rows that are yet to be written."""
    return Sparse(np.zeros(count + 1, np.int64), np.empty(terms, np.uint32), np.empty(terms, dtype))


def gather_codes(codes: Any, chosen: NDArray[np.int64]) -> Any:
    """Return the encoded labels of the chosen rows."""
    return codes.gather(chosen) if isinstance(codes, LabelSets) else codes[chosen]


def gather_blocks(rows: Rows, order: NDArray[np.int64]) -> Iterator[tuple[slice, Rows]]:
    """Yield the rows in this order, block by block: which part of the order, and its rows.

    The rows of a block are valid until the next one is asked for: blocks share their memory.
    """
    count, buffer = len(order), None
    terms = len(rows.values) if isinstance(rows, Dense) else int(rows.starts[-1] - rows.starts[0])
    step = max(1, BLOCK_TERMS * count // max(terms, 1))
    for start in range(0, count, step):
        part = slice(start, min(start + step, count))
        block = gather_rows(rows, order[part], buffer)
        if buffer is None:
            buffer = empty_rows(step, 2 * BLOCK_TERMS, block.values.dtype)
        yield part, block
