"""Training of `OnlineToBatch`: the steps of the inner learner, and what each method records of the hypotheses."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import run_linear_loop, spec_of
from novikoff.base.online_classifier import TIE_SIGNS
from novikoff.core import loop
from novikoff.core.hypothesis_log import HypothesisLog, add_candidates, count_candidate_mistakes, learn_and_log
from novikoff.core.learning_run import LearningRun, RowBlock, copy_updater, find_wrong
from novikoff.core.updaters.base import first_out_of_range
from novikoff.data.rows import end_term, first_term
from novikoff.ledger import Ledger
from novikoff.online_to_batch.guarantees import find_max_changes
from novikoff.online_to_batch.state import (
    ALL_CHANGES_MADE,
    CHOSEN,
    LATER_EXAMPLES,
    LATER_MISTAKES,
    NEVER,
    NEXT_DRAW,
    STOP_REASON,
    TEST_PASSED,
    OnlineToBatchState,
)
from novikoff.theory import online_to_batch

TARGETS_PER_BLOCK = 256  # hypotheses whose targets are computed at once
BLOCK_ROWS = 4096  # rows between two checks of the space for changes


def start_run(model: Any, state: OnlineToBatchState) -> LearningRun:
    return LearningRun(spec_of(model).loss, state.updater, state.features + 1, TIE_SIGNS[model.tie], state.ledger.book)


def start_replay(model: Any, state: OnlineToBatchState) -> LearningRun:
    """Return a run that starts with the first hypothesis, and does not change the model."""
    return start_run(model, state)._replace(updater=model._first_updater(state), counters=Ledger().book)


def train_all(model: Any, state: OnlineToBatchState, block: RowBlock) -> int:
    """Learn all rows. Return how many were learned, as all trainers do."""
    return run_linear_loop(model, state, block.rows, block.labels, block.weights, block.canonical)


def train_until_drawn(model: Any, state: OnlineToBatchState, block: RowBlock) -> int:
    """Learn all rows, in parts that end before each drawn example, and choose the hypothesis that
    predicts it."""
    done, count = 0, len(block.labels)
    while done < count:
        now = state.ledger.examples + 1
        if now == state.counts[NEXT_DRAW]:
            state.choose()
            state.counts[CHOSEN] = now
            state.schedule_next_draw(int(model.random_state))
        stop = min(count, done + int(state.counts[NEXT_DRAW]) - now)
        done += train_all(model, state, block.slice(done, stop))
        if done < stop:
            break
    return done


# --- Run lengths ---


def find_first_target(model: Any) -> int:
    """Return how many examples in a row the first hypothesis must predict correctly."""
    both = {"epsilon": model.epsilon, "delta": model.delta}
    if model.method == "next-stretch":
        return min(NEVER, online_to_batch.stretch_length(changes=find_max_changes(model), **both))
    return min(NEVER, online_to_batch.trial_length(stretch=0, **both))


@lru_cache(maxsize=64)
def _compute_trial_lengths(block: int, epsilon: float, delta: float) -> NDArray[np.int64]:
    """Return the targets of a block of hypotheses, in controlled testing."""
    lengths = online_to_batch.trial_lengths(
        first=block * TARGETS_PER_BLOCK, count=TARGETS_PER_BLOCK, epsilon=epsilon, delta=delta
    )
    return np.array([min(NEVER, length) for length in lengths])


def _find_trial_lengths(first: int, count: int, epsilon: float, delta: float) -> NDArray[np.int64]:
    """Return the targets of these hypotheses, in controlled testing."""
    start, offset = divmod(first, TARGETS_PER_BLOCK)
    n_blocks = -(-(offset + count) // TARGETS_PER_BLOCK)
    blocks = [_compute_trial_lengths(start + block, epsilon, delta) for block in range(max(1, n_blocks))]
    return np.concatenate(blocks)[offset : offset + count]


def train_run_lengths(model: Any, state: OnlineToBatchState, block: RowBlock) -> int:
    """Learn until a hypothesis reaches its target. The longest survivor is chosen whenever that happens, and learning
    goes on."""
    done, count, max_changes = 0, len(block.labels), 0
    if model.method == "next-stretch":
        max_changes = find_max_changes(model)
    while done < count and not state.counts[STOP_REASON]:
        n_learned = _learn_until_target(model, state, block.slice(done, count), max_changes)
        done += n_learned
        if n_learned == 0 and not state.counts[STOP_REASON]:  # the row is rejected
            return done
    return done + _count_later_mistakes(model, state, block.slice(done, count)) if done < count else done


def _learn_until_target(model: Any, state: OnlineToBatchState, block: RowBlock, max_changes: int) -> int:
    """Learn some rows, up to one with which a hypothesis reaches its target or makes the last change; return how
    many."""
    if max_changes:
        block = block.slice(0, max(1, max_changes - state.current.number))
    n_learned, state.current, is_reached = start_run(model, state).learn_until_target(
        block, state.current, partial(_find_least_targets, model)
    )
    if is_reached and model.method == "longest-survivor":
        state.choose()
        state.counts[CHOSEN] = state.current.number
    elif is_reached:
        state.counts[STOP_REASON] = TEST_PASSED
    elif max_changes and state.current.number >= max_changes:
        state.counts[STOP_REASON] = ALL_CHANGES_MADE
    return n_learned


def _find_least_targets(model: Any, first: int, count: int) -> NDArray[np.int64]:
    """Return the least targets of these hypotheses. Those of the other methods follow from the run lengths so far."""
    if model.method == "controlled-testing":
        return _find_trial_lengths(first, count, float(model.epsilon), float(model.delta))
    return np.zeros(count, np.int64)


def _count_later_mistakes(model: Any, state: OnlineToBatchState, block: RowBlock) -> int:
    """Count the mistakes of the chosen hypothesis on rows after the stop, from which nothing is learned."""
    scores = np.empty(len(block.labels))
    valid = loop.score_rows_with_updater(
        copy_updater(state.updater), block.rows, state.features + 1, block.canonical, scores
    )
    valid = first_out_of_range(block.rows, valid, *spec_of(model).feature_range)
    wrong = find_wrong(scores[:valid], block.labels[:valid], TIE_SIGNS[model.tie])
    is_example = np.ones(valid, bool) if not len(block.weights) else block.weights[:valid] != 0.0
    state.counts[LATER_EXAMPLES] += np.count_nonzero(is_example)
    state.counts[LATER_MISTAKES] += np.count_nonzero(wrong & is_example)
    return valid


# --- Changes ---


def train_changes(model: Any, state: OnlineToBatchState, rows: RowBlock) -> int:
    """Learn block by block, with space for as many changes as the block has rows."""
    for start in range(0, len(rows.labels), BLOCK_ROWS):
        block = rows.slice(start, start + BLOCK_ROWS)
        count = len(block.labels)
        state.reserve(count, int(end_term(block.rows, count - 1) - first_term(block.rows, 0)))
        changes, time = cast(HypothesisLog, state.changes), state.ledger.examples
        n_changes = changes.n_changes
        n_learned = learn_and_log(start_run(model, state), block, changes)
        if model.method == "penalised":
            _try_hypotheses(model, state, changes, block.slice(0, n_learned), time, n_changes)
        if n_learned < count:
            return start + n_learned
    return len(rows.labels)


def _try_hypotheses(
    model: Any, state: OnlineToBatchState, changes: HypothesisLog, block: RowBlock, time: int, n_changes: int
) -> None:
    """Count the mistakes of all candidates on these rows, which were learned after `time` examples and `n_changes`
    changes."""
    capacity, before = min(int(model.max_hypotheses), changes.n_changes + 1), len(state.picked)
    picked, mistakes = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
    picked[:before], mistakes[:before] = state.picked, state.mistakes
    count = add_candidates(changes.born, n_changes, changes.n_changes, picked, mistakes, before)
    state.picked, state.mistakes = picked[:count], mistakes[:count]
    count_candidate_mistakes(start_replay(model, state), changes, block, time, state.picked, state.mistakes)


TRAINERS: dict[str, Callable[[Any, OnlineToBatchState, RowBlock], int]] = {
    "random-stopping": train_until_drawn,
    "controlled-testing": train_run_lengths,
    "next-stretch": train_run_lengths,
    "longest-survivor": train_run_lengths,
    "penalised": train_changes,
    "average": train_all,
    "vote": train_changes,
}
