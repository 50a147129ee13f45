"""Random Boolean rows: few active attributes by the gaps between them, many by a table of truths."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from novikoff.data.rows import Sparse

FEW = 0.1
"""Below this density, gaps are quicker than looking at every attribute."""
TERMS_AT_A_TIME = 1 << 17
CELLS_AT_A_TIME = 1 << 20
ROWS_AT_A_TIME = 1 << 13


def rows_at_a_time(n: int, density: float, relevant: int) -> int:
    """How many rows are drawn together: a function of the stream's settings only, for its examples depend on it."""
    room = TERMS_AT_A_TIME / max(n * density + relevant, 1.0) if density < FEW else CELLS_AT_A_TIME / n
    return int(min(max(room, 1), ROWS_AT_A_TIME))


def boolean_rows(
    rng: Generator, count: int, n: int, density: float, columns: NDArray[np.int64], active: NDArray[np.bool_]
) -> Sparse:
    """Rows of n attributes, each active with probability `density`, but for the columns whose truths are given."""
    places = (_few if density < FEW else _many)(rng, count, n, density, columns, active)
    begins = np.arange(count + 1) * n
    starts = np.searchsorted(places, begins)
    indices = places - np.repeat(begins[:-1], np.diff(starts))
    return Sparse(starts, indices.astype(np.uint32), np.ones(len(indices), np.float32))


def _many(
    rng: Generator, count: int, n: int, density: float, columns: NDArray[np.int64], active: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The numbers of the active cells, row by row."""
    table = _truths(rng, count * n, density).reshape(count, n)
    table[:, columns] = active
    return np.flatnonzero(table)


def _truths(rng: Generator, cells: int, density: float) -> NDArray[np.bool_]:
    if density == 0.5:  # one bit for each
        return np.unpackbits(rng.integers(0, 256, -(-cells // 8), np.uint8), count=cells).view(np.bool_)
    return rng.random(cells, np.float32) < density


def _few(
    rng: Generator, count: int, n: int, density: float, columns: NDArray[np.int64], active: NDArray[np.bool_]
) -> NDArray[np.int64]:
    places = _by_gaps(rng, count * n, density)
    given = np.zeros(n, np.bool_)
    given[columns] = True
    places = places[~given[places % n]]
    own = (np.arange(count)[:, None] * n + columns)[active]
    return np.sort(np.concatenate([places, own]), kind="stable")


def _by_gaps(rng: Generator, cells: int, density: float) -> NDArray[np.int64]:
    """The numbers of the active ones among so many cells."""
    if density == 0.0:
        return np.zeros(0, np.int64)
    expected = cells * density
    enough = int(expected + 6.0 * expected**0.5) + 16
    places = np.full(1, -1)
    while places[-1] < cells:
        gaps = np.minimum(rng.geometric(density, enough), cells + 1)  # so that no sum is too large for its type
        places = np.concatenate([places, places[-1] + np.cumsum(gaps)])
    return places[1 : np.searchsorted(places, cells)]
