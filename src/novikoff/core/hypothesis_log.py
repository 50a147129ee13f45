"""All hypotheses of a run, stored as the examples at which the hypothesis changed.

Hypothesis k is what a new learner has learned from the first k of them, each at the time at which it was learned
first. Hypothesis 0 is the one that the run begins with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.learning_run import LearningRun, RowBlock, find_wrong
from novikoff.core.outcomes import MISTAKE_ONLY, UPDATE
from novikoff.data.rows import Rows, Sparse, count_rows
from novikoff.data.shuffle.gather import copy_rows, gather_rows
from novikoff.ledger import EXAMPLES
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
MAX_PROBED_ROWS = 1000  # up to here one call of the loop for many hypotheses is faster than one for each
PROBE_BLOCK_ROWS = 8192


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
"""The schema of a log in a model file."""


def learn_and_log(run: LearningRun, block: RowBlock, log: HypothesisLog) -> int:
    """Learn the rows and add those that change the hypothesis to the log, which must have space for them; return how
    many were learned."""
    time = int(run.counters.counts[EXAMPLES])
    outcomes = run.learn(block)
    chosen = np.flatnonzero(outcomes == UPDATE)
    add_changes(log, block, chosen, time + block.count_examples()[chosen])
    return len(outcomes)


def replay(run: LearningRun, log: HypothesisLog, start: int, stop: int) -> None:
    """Run from hypothesis `start` to hypothesis `stop`."""
    while start < stop:
        born = log.born[start:stop]
        run.counters.counts[EXAMPLES] = born[0] - 1
        rows = Sparse(log.ends[start : stop + 1], log.indices, log.values)
        block = RowBlock(rows, log.signs[start:stop], np.zeros(0), canonical=True)
        n_learned = len(run.learn(block, skipped=np.diff(born, append=born[-1] + 1) - 1))
        start += n_learned + (n_learned < len(born))  # a rejected row changes nothing


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


def count_candidate_mistakes(
    run: LearningRun,
    log: HypothesisLog,
    block: RowBlock,
    time: int,
    candidates: NDArray[np.int64],
    mistakes: NDArray[np.int64],
) -> None:
    """Add the mistakes that each candidate, in ascending order, makes on the rows after the example that made it.

    `time` examples precede the rows. The run is at its beginning.
    """
    examples, scores, at = np.flatnonzero(block.is_example()), np.empty(len(block.labels)), 0
    for c, hypothesis in enumerate(candidates.tolist()):
        replay(run, log, at, hypothesis)
        at = hypothesis
        n_earlier = max(0, log.get_birth_time(hypothesis) - time)
        if n_earlier < len(examples):
            later = block.slice(int(examples[n_earlier]), len(scores))
            wrong = find_wrong(run.score(later.rows, scores[: len(later.labels)]), later.labels, run.tie)
            mistakes[c] += np.count_nonzero(wrong & later.is_example())


@compiled
def add_candidates(
    born: NDArray[np.int64],
    start: int,
    stop: int,
    candidates: NDArray[np.int64],
    mistakes: NDArray[np.int64],
    count: int,
) -> int:
    """Add the hypotheses after the changes from `start` to `stop` to the first `count` candidates; return how many
    there are then. Where the arrays are full, the hypothesis with the shortest lifetime is removed."""
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


def compute_votes(
    start_run: Callable[[], LearningRun], log: HypothesisLog, rows: Rows, time: int, votes: NDArray[np.float64]
) -> None:
    """Write the sum of the votes of all hypotheses on each row, each as often as it predicted one of `time` examples.

    All of these numbers are whole: the order of a sum does not matter.
    """
    lifetimes = np.diff(log.born[: log.n_changes], prepend=0, append=time)
    run = start_run()
    votes[:] = 0.0
    if len(votes) > MAX_PROBED_ROWS or not _add_probed_votes(run, log, rows, lifetimes, votes):
        run = start_run()
        votes[:] = 0.0
        _add_votes(run, log, rows, lifetimes, votes)
    votes += lifetimes[-1] * run.predict(rows)


def _add_votes(
    run: LearningRun, log: HypothesisLog, rows: Rows, lifetimes: NDArray[np.int64], votes: NDArray[np.float64]
) -> None:
    """Add the votes of all hypotheses but the last, which the run then has."""
    for k in range(log.n_changes):
        votes += lifetimes[k] * run.predict(rows)
        replay(run, log, k, k + 1)


def _add_probed_votes(
    run: LearningRun, log: HypothesisLog, rows: Rows, lifetimes: NDArray[np.int64], votes: NDArray[np.float64]
) -> bool:
    """Add these votes by runs over many hypotheses: before each change the rows are predicted, with a weight of 0.
    Return whether that was possible: the loop rejects scores that are too large."""
    n_rows, n_at_once = len(votes), max(1, PROBE_BLOCK_ROWS // (len(votes) + 1))
    for start in range(0, log.n_changes, n_at_once):
        stop = min(start + n_at_once, log.n_changes)
        outcomes = run.learn(*_build_probes(run, log, rows, start, stop), is_probing=True)
        if len(outcomes) < (stop - start) * (n_rows + 1):
            return False
        table = outcomes.reshape(stop - start, n_rows + 1)
        if not (table[:, -1] == UPDATE).all():
            return False
        votes += lifetimes[start:stop] @ np.where(table[:, :-1] == MISTAKE_ONLY, -1.0, 1.0)
    return True


def _build_probes(
    run: LearningRun, log: HypothesisLog, rows: Rows, start: int, stop: int
) -> tuple[RowBlock, NDArray[np.int64]]:
    """Return the rows, as examples of class +1 and weight 0, before each of these changes; and the examples to skip
    after each row. Set the clock of the run to the time of the first."""
    n_rows, n_changes, born = count_rows(rows), stop - start, log.born[start:stop]
    run.counters.counts[EXAMPLES] = born[0] - 1 - n_rows
    order = np.tile(np.arange(n_rows + 1), (n_changes, 1))
    order[:, -1] += np.arange(n_changes)
    changes = Sparse(log.ends[start : stop + 1], log.indices, log.values)
    labels, weights, skipped = np.ones_like(order, np.int8), np.zeros(order.shape), np.zeros_like(order)
    labels[:, -1], weights[:, -1] = log.signs[start:stop], 1.0
    skipped[:-1, -1] = np.diff(born) - 1 - n_rows
    both = gather_rows(_concatenate_rows(cast(Sparse, rows), changes), order.ravel())
    return RowBlock(both, labels.ravel(), weights.ravel(), canonical=True), skipped.ravel()


def _concatenate_rows(first: Sparse, second: Sparse) -> Sparse:
    """Return the rows of both."""
    parts = [slice(int(rows.starts[0]), int(rows.starts[-1])) for rows in (first, second)]
    starts = first.starts - first.starts[0], second.starts[1:] - second.starts[0] + (parts[0].stop - parts[0].start)
    return Sparse(
        np.concatenate(starts),
        np.concatenate([first.indices[parts[0]], second.indices[parts[1]]]),
        np.concatenate([first.values[parts[0]], second.values[parts[1]]]),
    )
