"""Counter-based random numbers: the draw for (row, column) does not depend on batch boundaries.

SplitMix64 (Steele, Lea and Flood 2014) of a seed, a kind, a row and a column; and from a number between 0 and 1 a draw
from Poisson's distribution, by inversion.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.data.shuffle.permutation import GOLDEN, mix64

MAX_COLUMNS = 1 << 24
MAX_POISSON_MEAN = 500.0  # e^−500 is still a number


def uniform(seed: int, stream_id: int, rows: NDArray[np.int64], columns: int) -> NDArray[np.float64]:
    """Return numbers in [0, 1), one for each of these rows and each column."""
    with np.errstate(over="ignore"):
        counter = rows.astype(np.uint64)[:, None] * np.uint64(MAX_COLUMNS) + np.arange(columns, dtype=np.uint64)
        word = mix64(counter + mix64(np.array(seed, np.uint64) + np.uint64(GOLDEN) * np.uint64(stream_id + 1)))
    return (word >> np.uint64(11)).astype(np.float64) * 2.0**-53


@compiled
def poisson(u: float, mean: float) -> float:
    """Return the least k with Pr[at most k] > u, for a mean of at most MAX_POISSON_MEAN; larger means count as that."""
    mean = min(mean, MAX_POISSON_MEAN)
    k, term = 0.0, math.exp(-mean)
    total = term
    while total <= u and k < 4.0 * MAX_POISSON_MEAN:
        k += 1.0
        term *= mean / k
        total += term
    return k
