"""Move a pass from row to row: sample weights, the look-ahead to the next row, and rows with zeros."""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.core.updaters.base import score_two_rows
from novikoff.data.rows import Rows, prefetch
from novikoff.ledger import UPDATES, LedgerCounters

NO_ROW = -1
ZERO_ROW_ALLOWANCE, ROWS_PER_ZERO_ROW = 16, 16
"""The loop drops the zeros of this number of dense rows, and then of one row in this number. Where there are more such
rows, the caller converts whole blocks of rows, which costs less."""


class LookAhead(NamedTuple):
    """The score of a row that was computed together with that of the row before it."""

    row: int
    """NO_ROW where no score was computed ahead."""
    updates: int
    """The number of updates at that time: the score holds until the weights change."""
    score: float
    sq_norm: float


@compiled
def score_row(
    updater: Any, rows: Rows, i: int, count: int, counters: LedgerCounters, ahead: LookAhead
) -> tuple[float, float, LookAhead]:
    """Return w·x and ‖x‖² of row i of `count` rows, and the look-ahead to row i + 1.

    The additions of one dot product wait for each other: two short dense rows are scored in the time of one.
    """
    prefetch(rows, i + 1, count, updater.weights)  # the weights of the next row are in the cache when it is scored
    if i == ahead.row and counters.counts[UPDATES] == ahead.updates:
        return ahead.score, ahead.sq_norm, ahead
    s, sq_norm, next_s, next_sq_norm, scored_two = score_two_rows(updater, rows, i, count)
    next_row = i + 1 if scored_two else NO_ROW
    return s, sq_norm, LookAhead(next_row, counters.counts[UPDATES], next_s, next_sq_norm)


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
