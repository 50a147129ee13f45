"""How `OnlineToBatch` learns: the learner's own steps, with an eye on what its method wants to know."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import build_loss, feature_range_of, run_linear_loop
from novikoff.base.online_classifier import TIE_SIGNS
from novikoff.core import loop
from novikoff.core.hypothesis_tracking import (
    HYPOTHESIS_NUMBER,
    N_CHANGES,
    TARGET_REACHED,
    HypothesisLog,
    RowBlock,
    RunContext,
    add_candidates,
    count_hypothesis_mistakes,
    learn_and_log,
    learn_until_run_length,
)
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
    copy_updater,
)
from novikoff.theory import online_to_batch

STRETCHES_PER_BLOCK = 256  # stretches whose tests are made ready at once
BLOCK_ROWS = 4096  # rows between two looks at the room for changes


def start_run(model: Any, state: OnlineToBatchState) -> RunContext:
    return RunContext(build_loss(model), state.updater, state.features + 1, TIE_SIGNS[model.tie], state.ledger.book)


def start_replay(model: Any, state: OnlineToBatchState) -> RunContext:
    """A run to be gone through again, which leaves the model as it is."""
    return start_run(model, state)._replace(updater=model._first_updater(state), book=Ledger().book)


def train_all(model: Any, state: OnlineToBatchState, part: RowBlock) -> int:
    """All rows; returns how many were taken, as all of these do."""
    return run_linear_loop(model, state, part.rows, part.labels, part.weights, part.canonical)


def train_until_drawn(model: Any, state: OnlineToBatchState, part: RowBlock) -> int:
    """In pieces that end where the hypothesis of the moment is to be kept: before the example that was drawn."""
    done, count = 0, len(part.labels)
    while done < count:
        now = state.ledger.examples + 1
        if now == state.counts[NEXT_DRAW]:
            state.choose()
            state.counts[CHOSEN] = now
            state.schedule_next_draw(int(model.random_state))
        stop = min(count, done + int(state.counts[NEXT_DRAW]) - now)
        done += train_all(model, state, part.piece(done, stop))
        if done < stop:
            break
    return done


# --- Stretches ---


def find_first_target(model: Any) -> int:
    """How many right answers in a row the test of the first stretch asks for."""
    both = {"epsilon": model.epsilon, "delta": model.delta}
    if model.method == "next-stretch":
        return min(NEVER, online_to_batch.stretch_length(changes=find_max_changes(model), **both))
    return min(NEVER, online_to_batch.trial_length(stretch=0, **both))


@lru_cache(maxsize=64)
def _compute_trial_lengths(block: int, epsilon: float, delta: float) -> NDArray[np.int64]:
    """The same for a block of stretches, in controlled testing."""
    lengths = online_to_batch.trial_lengths(
        first=block * STRETCHES_PER_BLOCK, count=STRETCHES_PER_BLOCK, epsilon=epsilon, delta=delta
    )
    return np.array([min(NEVER, length) for length in lengths])


def train_stretches(model: Any, state: OnlineToBatchState, part: RowBlock) -> int:
    done, count, most = 0, len(part.labels), 0
    if model.method == "next-stretch":
        most = find_max_changes(model)
    while done < count and not state.counts[STOP_REASON]:
        number = int(state.stretch[HYPOTHESIS_NUMBER])
        coming = _next_targets(model, number, most)
        taken = learn_until_run_length(start_run(model, state), part.piece(done, count), state.stretch, coming)
        done += taken
        if state.stretch[TARGET_REACHED]:
            state.stretch[TARGET_REACHED] = 0
            if model.method != "longest-survivor":
                state.counts[STOP_REASON] = TEST_PASSED
            else:
                state.choose()
                state.counts[CHOSEN] = state.stretch[HYPOTHESIS_NUMBER]
        elif most and state.stretch[HYPOTHESIS_NUMBER] >= most:
            state.counts[STOP_REASON] = ALL_CHANGES_MADE
        elif taken == 0:  # the row is refused
            return done
    return done + _count_later_mistakes(model, state, part.piece(done, count)) if done < count else done


def _next_targets(model: Any, number: int, most: int) -> NDArray[np.int64]:
    """The targets of the next stretches; none where no stretch has one of its own, and nothing ends with any."""
    if model.method == "controlled-testing":
        block, offset = divmod(number + 1, STRETCHES_PER_BLOCK)
        return _compute_trial_lengths(block, float(model.epsilon), float(model.delta))[offset:]
    return np.zeros(min(STRETCHES_PER_BLOCK, most - number) if most else 0, np.int64)


def _count_later_mistakes(model: Any, state: OnlineToBatchState, part: RowBlock) -> int:
    """After it stopped nothing is learned; how often the chosen hypothesis is wrong is counted."""
    scores = np.empty(len(part.labels))
    good = loop.score_rows_with_updater(
        copy_updater(state.updater), part.rows, state.features + 1, part.canonical, scores
    )
    good = first_out_of_range(part.rows, good, *feature_range_of(model))
    scores, signs = scores[:good], part.labels[:good]
    wrong = (scores * signs < 0.0) | ((scores == 0.0) & (signs * TIE_SIGNS[model.tie] < 0.0))
    counted = np.ones(good, bool) if not len(part.weights) else part.weights[:good] != 0.0
    state.counts[LATER_EXAMPLES] += np.count_nonzero(counted)
    state.counts[LATER_MISTAKES] += np.count_nonzero(wrong & counted)
    return good


# --- Changes ---


def train_changes(model: Any, state: OnlineToBatchState, part: RowBlock) -> int:
    """Block by block: room is made for the changes of one block."""
    for start in range(0, len(part.labels), BLOCK_ROWS):
        block = part.piece(start, start + BLOCK_ROWS)
        count = len(block.labels)
        state.reserve(count, int(end_term(block.rows, count - 1) - first_term(block.rows, 0)))
        changes, time = cast(HypothesisLog, state.changes), state.ledger.examples
        n_changes = int(changes.sizes[N_CHANGES])
        taken = learn_and_log(start_run(model, state), block, changes)
        if model.method == "penalised":
            _try_hypotheses(model, state, changes, block.piece(0, taken), time, n_changes)
        if taken < count:
            return start + taken
    return len(part.labels)


def _try_hypotheses(
    model: Any, state: OnlineToBatchState, changes: HypothesisLog, part: RowBlock, time: int, n_changes: int
) -> None:
    """All hypotheses that are tried, on these rows, which were learned after `time` examples and `kept` changes."""
    capacity, before = min(int(model.max_hypotheses), int(changes.sizes[N_CHANGES]) + 1), len(state.picked)
    picked, mistakes = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
    picked[:before], mistakes[:before] = state.picked, state.mistakes
    count = add_candidates(changes, n_changes, picked, mistakes, before)
    state.picked, state.mistakes = picked[:count], mistakes[:count]
    count_hypothesis_mistakes(start_replay(model, state), changes, part, time, state.picked, state.mistakes)


TRAINERS: dict[str, Callable[[Any, OnlineToBatchState, RowBlock], int]] = {
    "random-stopping": train_until_drawn,
    "controlled-testing": train_stretches,
    "next-stretch": train_stretches,
    "longest-survivor": train_stretches,
    "penalised": train_changes,
    "average": train_all,
    "vote": train_changes,
}
