"""How a caller of the loop follows the hypotheses that a learner goes through.

Compiled code for this exists once, not once for each updater: the loop calls `track_hypothesis` where the hypothesis
errs or changes, and this function sees numbers alone. What the loop does then depends on the mode:

    RUN_LENGTHS     measure how many examples in a row each hypothesis predicts correctly without changing;
                    stop where this run length reaches its target
    CHANGE_TIMES    record the times of all updates
    REPLAY          learn recorded examples again, each at the time at which it was learned first

The time is the number of the example, counted from 1; rows of weight 0 are no examples.
"""

from __future__ import annotations

from typing import NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled, compiled_shared
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.ledger import EXAMPLES, LedgerCounters

# The outcomes of a step; both bits may be set.
CORRECT, WRONG, UPDATED = 0, 1, 2
NOT_TRACKED, RUN_LENGTHS, CHANGE_TIMES, REPLAY = 0, 1, 2, 3
# The entries of HypothesisTracker.progress. STOP_ROW: the first row that is not learned. RUN_START: the time of the
# last mistake or change.
STOP_ROW, NUMBER, RUN_START, TARGET, N_TARGETS_USED, N_RECORDED = 0, 1, 2, 3, 4, 5
N_PROGRESS = 6
NEVER = 2**62
"""A time or a row that is never reached."""


class HypothesisTracker(NamedTuple):
    mode: int
    progress: NDArray[np.int64]
    numbers: NDArray[np.int64]
    """RUN_LENGTHS: the targets of the next hypotheses, or none. CHANGE_TIMES: space for the times of all updates.
    REPLAY: the time of each row."""


NOTHING_TRACKED = HypothesisTracker(NOT_TRACKED, buffers.zeros(0, "int64"), buffers.zeros(0, "int64"))


@compiled
def find_first_stop(tracker: HypothesisTracker, count: int) -> int:
    """Return the row before which the loop stops unless the hypothesis errs or changes."""
    return count if tracker.mode == NOT_TRACKED else min(count, tracker.progress[STOP_ROW])


@compiled_shared
def track_hypothesis(tracker: HypothesisTracker, counters: LedgerCounters, i: int, count: int, outcome: int) -> int:
    """Follow a mistake or an update at row i of `count` rows; return the row before which the loop stops."""
    progress, numbers, time = tracker.progress, tracker.numbers, counters.counts[EXAMPLES]
    if tracker.mode == CHANGE_TIMES:
        if outcome & UPDATED:
            numbers[progress[N_RECORDED]] = time
            progress[N_RECORDED] += 1
        return count
    if tracker.mode == REPLAY:
        if i + 1 == count:
            return count
        counters.counts[EXAMPLES] = numbers[i + 1] - 1
        return i + 2  # where the next row is no update, the caller sets the time of the row after it
    progress[TARGET] = max(progress[TARGET], time - progress[RUN_START])
    progress[NUMBER] += 1
    progress[RUN_START] = time
    if len(numbers) > 0:
        progress[TARGET] = max(progress[TARGET], numbers[progress[N_TARGETS_USED]])
        progress[N_TARGETS_USED] += 1
        if progress[N_TARGETS_USED] == len(numbers):
            return i + 1
    return min(count, i + 1 + progress[TARGET])
