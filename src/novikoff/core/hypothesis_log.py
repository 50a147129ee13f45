"""All hypotheses of a run, stored as the examples at which the hypothesis changed.

Hypothesis k is what a new learner has learned from the first k of them, each at the time at which it was learned
first. Hypothesis 0 is the one that the run begins with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core import loop
from novikoff.core.hypothesis_tracking import (
    CHANGE_TIMES,
    N_PROGRESS,
    N_RECORDED,
    NEVER,
    NUMBER,
    REPLAY,
    RUN_LENGTHS,
    RUN_START,
    STOP_ROW,
    TARGET,
    HypothesisTracker,
)
from novikoff.data.rows import Rows, Sparse, slice_rows
from novikoff.data.shuffle.gather import copy_rows
from novikoff.ledger import EXAMPLES, LedgerCounters
from novikoff.schema import EXAMPLES as EXAMPLE_COUNT
from novikoff.schema import (
    FEATURES,
    REAL,
    ArraySpec,
    DistinctWithin,
    Finite,
    FreeSize,
    Increasing,
    IndexInto,
    InRange,
    NamedSize,
    Offsets,
    OneOf,
    Schema,
)

# The entries of HypothesisLog.sizes.
N_CHANGES, N_TERMS = 0, 1
NO_WEIGHTS = np.zeros(0)


class HypothesisLog(NamedTuple):
    """Change k was made by the example with the terms ends[k] to ends[k+1], of label signs[k], at time born[k]."""

    sizes: NDArray[np.int64]
    ends: NDArray[np.int64]
    born: NDArray[np.int64]
    signs: NDArray[np.int8]
    indices: NDArray[np.uint32]
    values: NDArray[np.floating]

    @property
    def n_changes(self) -> int:
        return int(self.sizes[N_CHANGES])

    def get_birth_time(self, hypothesis: int) -> int:
        """Return how many examples had been learned when this hypothesis was made."""
        return int(self.born[hypothesis - 1]) if hypothesis > 0 else 0


HYPOTHESIS_LOG_SCHEMA = Schema(
    {
        "born": ArraySpec("int64", FreeSize("changes"), checks=[InRange(1, EXAMPLE_COUNT), Increasing()]),
        "signs": ArraySpec("int8", NamedSize("changes"), checks=[OneOf((-1, 1))]),
        "values": ArraySpec(REAL, FreeSize("change_terms"), checks=[Finite()]),
        "ends": ArraySpec("int64", NamedSize("changes") + 1, checks=[Offsets(NamedSize("change_terms"))]),
        "indices": ArraySpec("uint32", NamedSize("change_terms"), checks=[IndexInto(FEATURES), DistinctWithin("ends")]),
    }
)
"""What a model file may hold of a log."""


class RowBlock(NamedTuple):
    """Rows as the loop takes them."""

    rows: Rows
    labels: NDArray[np.int8]
    weights: NDArray[np.float64]
    """Empty, or 0 for rows that are left out and 1 for the others."""
    canonical: bool

    def slice(self, start: int, stop: int) -> RowBlock:
        stop = min(stop, len(self.labels))
        return RowBlock(
            slice_rows(self.rows, start, stop), self.labels[start:stop], self.weights[start:stop], self.canonical
        )

    def find_examples(self) -> NDArray[np.int64]:
        """Return the numbers of the rows that are not left out."""
        return np.flatnonzero(self.weights) if len(self.weights) else np.arange(len(self.labels))


class CurrentHypothesis(NamedTuple):
    number: int
    """How many mistakes and changes came before it."""
    run_length: int
    """How many examples in a row it has predicted correctly."""
    target: int
    """The run length at which the loop stops."""


class LearningRun(NamedTuple):
    """A learner that learns, or the copy of one that replays a log, whose counters are not used afterwards."""

    loss: Any
    updater: Any
    slots: int
    """Those in use."""
    tie: float
    counters: LedgerCounters

    def learn(self, block: RowBlock, tracker: HypothesisTracker) -> int:
        """Learn the rows; return how many were learned."""
        rows, labels, weights, canonical = block
        return loop.learn(
            self.loss, self.updater, rows, labels, weights, self.slots, self.tie, self.counters, canonical, tracker
        )

    def learn_until_target(
        self, block: RowBlock, current: CurrentHypothesis, targets: NDArray[np.int64]
    ) -> tuple[int, CurrentHypothesis]:
        """Learn until the run length of a hypothesis reaches its target; return how many rows were learned, and the
        hypothesis of that time.

        A target is not below that of the hypothesis before, and above its run length. `targets`, where there are any,
        are the least targets of the next hypotheses; learning stops where there is none for the next one.
        """
        number, run_length, target = current
        tracker = _build_tracker(RUN_LENGTHS, targets, stop=target - run_length if run_length < target else NEVER)
        progress, counts = tracker.progress, self.counters.counts
        progress[NUMBER], progress[TARGET], progress[RUN_START] = number, target, counts[EXAMPLES] - run_length
        n_learned = self.learn(block, tracker)
        run_length = int(counts[EXAMPLES] - progress[RUN_START])
        return n_learned, CurrentHypothesis(int(progress[NUMBER]), run_length, int(progress[TARGET]))

    def learn_and_log(self, block: RowBlock, log: HypothesisLog) -> int:
        """Learn the rows and add those that change the hypothesis to the log, which must have space for them; return
        how many were learned."""
        time, times = int(self.counters.counts[EXAMPLES]), np.empty(len(block.labels), np.int64)
        tracker = _build_tracker(CHANGE_TIMES, times, stop=NEVER)
        n_learned = self.learn(block, tracker)
        times = times[: tracker.progress[N_RECORDED]]
        add_changes(log, block, block.find_examples()[times - time - 1], times)
        return n_learned

    def replay(self, log: HypothesisLog, start: int, stop: int) -> None:
        """Go from hypothesis `start` to hypothesis `stop`."""
        while start < stop:
            self.counters.counts[EXAMPLES] = log.born[start] - 1
            rows = Sparse(log.ends[start : stop + 1], log.indices, log.values)
            block = RowBlock(rows, log.signs[start:stop], NO_WEIGHTS, canonical=True)
            start += max(1, self.learn(block, _build_tracker(REPLAY, log.born[start:stop], stop=1)))

    def score(self, rows: Rows, out: NDArray[np.float64]) -> NDArray[np.float64]:
        """Write the scores of rows that the loop has accepted."""
        loop.score_rows_with_updater(self.updater, rows, self.slots, True, out)
        return out


def _build_tracker(mode: int, numbers: NDArray[np.int64], *, stop: int) -> HypothesisTracker:
    progress = np.zeros(N_PROGRESS, np.int64)
    progress[STOP_ROW] = stop
    return HypothesisTracker(mode, progress, numbers)


def add_changes(log: HypothesisLog, block: RowBlock, chosen: NDArray[np.int64], times: NDArray[np.int64]) -> None:
    """Add the chosen rows, which changed the hypothesis at these times."""
    first, end = log.n_changes, int(log.sizes[N_TERMS])
    stop = first + len(chosen)
    copy_rows(cast(Sparse, block.rows), chosen, Sparse(log.ends[first:], log.indices[end:], log.values[end:]))
    log.ends[first] = end
    log.ends[first + 1 : stop + 1] += end
    log.signs[first:stop] = block.labels[chosen]
    log.born[first:stop] = times
    log.sizes[N_CHANGES], log.sizes[N_TERMS] = stop, log.ends[stop]


def find_wrong(scores: NDArray[np.float64], labels: NDArray[np.int8], tie: float) -> NDArray[np.bool_]:
    """Return which rows are predicted wrongly by these scores; a score of 0 is that of the class `tie`."""
    return (scores * labels < 0.0) | ((scores == 0.0) & (labels * tie < 0.0))


def count_candidate_mistakes(
    run: LearningRun,
    log: HypothesisLog,
    block: RowBlock,
    time: int,
    candidates: NDArray[np.int64],
    mistakes: NDArray[np.int64],
) -> None:
    """Add the mistakes that each candidate, in ascending order, makes on those of these rows that came after it was
    made; `time` examples came before the rows. The run is at its beginning."""
    examples, scores, at = block.find_examples(), np.empty(len(block.labels)), 0
    for c, hypothesis in enumerate(candidates.tolist()):
        run.replay(log, at, hypothesis)
        at = hypothesis
        n_earlier = max(0, log.get_birth_time(hypothesis) - time)
        if n_earlier < len(examples):
            later = block.slice(int(examples[n_earlier]), len(scores))
            wrong = find_wrong(run.score(later.rows, scores[: len(later.labels)]), later.labels, run.tie)
            mistakes[c] += np.count_nonzero(wrong & (later.weights != 0.0) if len(later.weights) else wrong)


@compiled
def add_candidates(
    born: NDArray[np.int64],
    start: int,
    stop: int,
    candidates: NDArray[np.int64],
    mistakes: NDArray[np.int64],
    count: int,
) -> int:
    """Add the hypotheses after the changes from `start` to `stop` to the first `count` candidates; return the new
    number of candidates. Where the arrays are full, the hypothesis with the shortest lifetime is removed."""
    for k in range(start, stop):
        if count == len(candidates):
            worst, shortest = 0, np.int64(2**62)
            for c in range(count):
                h = candidates[c]
                lifetime = born[h] - (born[h - 1] if h > 0 else 0)
                if lifetime < shortest:
                    worst, shortest = c, lifetime
            for c in range(worst, count - 1):
                candidates[c], mistakes[c] = candidates[c + 1], mistakes[c + 1]
            count -= 1
        candidates[count], mistakes[count] = k + 1, 0
        count += 1
    return count


def compute_votes(run: LearningRun, log: HypothesisLog, rows: Rows, time: int, votes: NDArray[np.float64]) -> None:
    """Write the sum of the votes of all hypotheses on each row, each as often as it predicted one of `time` examples.
    The run is at its beginning."""
    votes[:] = 0.0
    scores = np.empty(len(votes))
    for hypothesis, n_examples in _iterate_lifetimes(log, time):
        if n_examples > 0:
            run.score(rows, scores)
            votes += n_examples * np.where(scores != 0.0, np.sign(scores), run.tie)
        if hypothesis < log.n_changes:
            run.replay(log, hypothesis, hypothesis + 1)


def _iterate_lifetimes(log: HypothesisLog, time: int) -> Iterator[tuple[int, int]]:
    """Yield each hypothesis with the number of examples that it predicted."""
    n_changes = log.n_changes
    ends = [*log.born[:n_changes].tolist(), time]
    starts = [0, *ends[:-1]]
    return ((k, end - start) for k, (start, end) in enumerate(zip(starts, ends, strict=True)))
