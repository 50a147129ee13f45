"""The loop, called part by part, with the outcome of every row: how long hypotheses last, and where they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.buffers import is_array
from novikoff.core import loop
from novikoff.core.outcomes import FIRST_OUTCOME, IS_PROBING
from novikoff.core.updaters.base import state_arrays
from novikoff.data.rows import Rows, count_rows, slice_rows
from novikoff.ledger import LedgerCounters

MIN_ROWS_WITHOUT_BACKUP = 32  # fewer rows in a call of the loop take longer than a copy of a small model
ROWS_WITH_BACKUP = 256


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

    def is_example(self) -> NDArray[np.bool_]:
        """Return which rows are not left out."""
        return self.weights != 0.0 if len(self.weights) else np.ones(len(self.labels), bool)

    def count_examples(self) -> NDArray[np.int64]:
        """Return how many rows, up to and including each, are not left out."""
        return np.cumsum(self.is_example()) if len(self.weights) else np.arange(1, len(self.labels) + 1)


class CurrentHypothesis(NamedTuple):
    """The hypothesis that predicts the next example, where run lengths are measured."""

    number: int
    """The number of mistakes and changes before it."""
    run_length: int
    """How many examples in a row it has predicted correctly."""
    target: int
    """The run length to be reached: not below the targets of earlier hypotheses, and above their run lengths."""


class LearningRun(NamedTuple):
    """A learner that learns; or one that learns a log of examples again, whose counters are not needed afterwards."""

    loss: Any
    updater: Any
    slots: int
    """Those in use."""
    tie: float
    counters: LedgerCounters

    def learn(
        self, block: RowBlock, skipped: NDArray[np.int64] | None = None, *, is_probing: bool = False
    ) -> NDArray[np.int64]:
        """Learn the rows; return the outcomes of those that were learned. `skipped` is how many examples to skip after
        each row, if it is an update; for `is_probing` see core/outcomes.py."""
        rows, labels, weights, canonical = block
        counts = np.zeros(FIRST_OUTCOME + len(labels), np.int64)
        counts[:IS_PROBING] = self.counters.counts
        counts[IS_PROBING] = is_probing
        if skipped is not None:
            counts[FIRST_OUTCOME:] = skipped
        counters = self.counters._replace(counts=counts)
        n_learned = loop.learn(
            self.loss, self.updater, rows, labels, weights, self.slots, self.tie, counters, canonical
        )
        self.counters.counts[:] = counts[:IS_PROBING]
        return counts[FIRST_OUTCOME : FIRST_OUTCOME + n_learned]

    def learn_until_target(
        self, block: RowBlock, current: CurrentHypothesis, find_least_targets: Callable[[int, int], NDArray[np.int64]]
    ) -> tuple[int, CurrentHypothesis, bool]:
        """Learn some of the rows, up to one with which a hypothesis reaches its target; return how many were learned,
        the hypothesis of that time, and whether it has reached its target.

        `find_least_targets(first, count)` returns the least targets of hypotheses by their numbers.
        """
        _, run_length, target = current
        # As many rows as can be learned before a target is reached, whatever their outcomes are.
        size = target - run_length if run_length < target else run_length + 1
        backup = None
        if size < min(MIN_ROWS_WITHOUT_BACKUP, len(block.labels)):
            size, backup = ROWS_WITH_BACKUP, self.copy()
        block = block.slice(0, size)
        outcomes = self.learn(block)
        learned = block.slice(0, len(outcomes))
        n_examples, reached = follow_run_lengths(learned, outcomes, current, find_least_targets)
        if n_examples is None:
            return len(outcomes), reached, False
        n_rows = int(np.searchsorted(learned.count_examples(), n_examples)) + 1
        if backup is not None:
            self.restore(backup)
            self.learn(block.slice(0, n_rows))
        return n_rows, reached, True

    def copy(self) -> LearningRun:
        return self._replace(updater=copy_updater(self.updater), counters=self.counters.copy())

    def restore(self, backup: LearningRun) -> None:
        """Write the copy back, in place."""
        for mine, copied in zip((*self.updater, *self.counters), (*backup.updater, *backup.counters), strict=True):
            if is_array(mine) and mine is not copied:
                mine[:] = copied

    def score(self, rows: Rows, out: NDArray[np.float64]) -> NDArray[np.float64]:
        """Write the scores of rows that were accepted before."""
        loop.score_rows_with_updater(self.updater, rows, self.slots, True, out)
        return out

    def predict(self, rows: Rows) -> NDArray[np.float64]:
        """Return the predicted sign of each row."""
        scores = self.score(rows, np.empty(count_rows(rows)))
        return np.where(scores != 0.0, np.sign(scores), self.tie)


def follow_run_lengths(
    block: RowBlock,
    outcomes: NDArray[np.int64],
    current: CurrentHypothesis,
    find_least_targets: Callable[[int, int], NDArray[np.int64]],
) -> tuple[int | None, CurrentHypothesis]:
    """Return after how many examples a hypothesis reached its target, or None, and the hypothesis of that time.

    A mistake or an update ends the run of one hypothesis, and the next example belongs to the next.
    """
    number, run_length, target = current
    examples = block.count_examples()
    ends = examples[np.flatnonzero(outcomes)]
    starts = np.concatenate([[-run_length], ends])
    run_lengths = np.append(ends - 1, examples[-1] if len(examples) else 0) - starts
    targets = np.concatenate([[target], np.maximum(run_lengths[:-1] + 1, find_least_targets(number + 1, len(ends)))])
    targets = np.maximum.accumulate(targets)
    is_reached = run_lengths >= targets
    is_reached[0] &= run_length < target
    k = int(is_reached.argmax())
    if is_reached[k]:
        return int(starts[k] + targets[k]), CurrentHypothesis(number + k, int(targets[k]), int(targets[k]))
    return None, CurrentHypothesis(number + len(ends), int(run_lengths[-1]), int(targets[-1]))


def find_wrong(scores: NDArray[np.float64], labels: NDArray[np.int8], tie: float) -> NDArray[np.bool_]:
    """Return which rows are predicted wrongly by these scores; a score of 0 predicts the class `tie`."""
    return (scores * labels < 0.0) | ((scores == 0.0) & (labels * tie < 0.0))


def copy_updater(updater: Any) -> Any:
    """Return a copy of the updater. Arrays that follow from the settings are shared, unless the loop writes to them."""
    scratch = {name: getattr(updater, name).copy() for name in ("example", "mirror") if hasattr(updater, name)}
    return updater._replace(**{name: array.copy() for name, array in state_arrays(updater).items()}, **scratch)
