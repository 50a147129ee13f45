"""Random Boolean rows: few active attributes by the gaps between them, many by a Boolean table."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from novikoff.data.rows import Sparse

SPARSE_DENSITY = 0.1
"""Below this density, drawing gaps is faster than drawing every attribute."""
TERMS_PER_BLOCK = 1 << 17
CELLS_PER_BLOCK = 1 << 20
MAX_ROWS_PER_BLOCK = 1 << 13


def choose_block_rows(n: int, density: float, relevant: int) -> int:
    """Return the rows per block: a function of the stream's settings only, since its examples depend on it."""
    block_rows = TERMS_PER_BLOCK / max(n * density + relevant, 1.0) if density < SPARSE_DENSITY else CELLS_PER_BLOCK / n
    return int(min(max(block_rows, 1), MAX_ROWS_PER_BLOCK))


def draw_boolean_rows(
    rng: Generator, count: int, n: int, density: float, columns: NDArray[np.int64], active: NDArray[np.bool_]
) -> Sparse:
    """Draw rows of n attributes, each active with probability `density`, except for `columns`, which are given."""
    places = (_draw_sparse if density < SPARSE_DENSITY else _draw_dense)(rng, count, n, density, columns, active)
    begins = np.arange(count + 1) * n
    starts = np.searchsorted(places, begins)
    indices = places - np.repeat(begins[:-1], np.diff(starts))
    return Sparse(starts, indices.astype(np.uint32), np.ones(len(indices), np.float32))


def _draw_dense(
    rng: Generator, count: int, n: int, density: float, columns: NDArray[np.int64], active: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the numbers of the active cells, row by row."""
    table = _draw_booleans(rng, count * n, density).reshape(count, n)
    table[:, columns] = active
    return np.flatnonzero(table)


def _draw_booleans(rng: Generator, cells: int, density: float) -> NDArray[np.bool_]:
    if density == 0.5:  # one random bit per cell
        return np.unpackbits(rng.integers(0, 256, -(-cells // 8), np.uint8), count=cells).view(np.bool_)
    return rng.random(cells, np.float32) < density


def _draw_sparse(
    rng: Generator, count: int, n: int, density: float, columns: NDArray[np.int64], active: NDArray[np.bool_]
) -> NDArray[np.int64]:
    places = _draw_by_gaps(rng, count * n, density)
    given = np.zeros(n, np.bool_)
    given[columns] = True
    places = places[~given[places % n]]
    own = (np.arange(count)[:, None] * n + columns)[active]
    return np.sort(np.concatenate([places, own]), kind="stable")


def _draw_by_gaps(rng: Generator, cells: int, density: float) -> NDArray[np.int64]:
    """Return the numbers of the active ones among `cells` cells."""
    if density == 0.0:
        return np.zeros(0, np.int64)
    expected = cells * density
    enough = int(expected + 6.0 * expected**0.5) + 16
    places = np.full(1, -1)
    while places[-1] < cells:
        gaps = np.minimum(rng.geometric(density, enough), cells + 1)  # clipped: the sum can't overflow
        places = np.concatenate([places, places[-1] + np.cumsum(gaps)])
    return places[1 : np.searchsorted(places, cells)]
