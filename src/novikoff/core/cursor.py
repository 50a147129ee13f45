"""Move a pass from row to row: sample weights, and rows with zeros."""

from __future__ import annotations

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np

ZERO_ROW_ALLOWANCE, ROWS_PER_ZERO_ROW = 16, 16
"""The loop drops the zeros of this number of dense rows, and then of one row in this number. Where there are more such
rows, the caller converts whole blocks of rows, which costs less."""


@compiled
def sample_weight(weights: NDArray[np.float64], i: int) -> float:
    """Return the sample weight of example i: 1 where there are no sample weights."""
    if len(weights) == 0:
        return 1.0
    return weights[i]


@compiled
def may_drop_zeros(i: int, zero_rows: int) -> bool:
    """Return whether the loop drops the zeros of row i, after `zero_rows` such rows."""
    return (zero_rows - ZERO_ROW_ALLOWANCE) * ROWS_PER_ZERO_ROW <= i
