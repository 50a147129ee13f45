"""How `OnlineToBatch` learns: the learner's own steps, with an eye on what its method wants to know."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from novikoff.base.online_classifier import TIES
from novikoff.base.linear_weights import Linear
from novikoff.ledger import Ledger
from novikoff.core import loop
from novikoff.core.updaters.base import first_outside
from novikoff.core.hypothesis_tracking import (KEPT, NUMBER, PASSED, Changes, Part, Run, learn_changes, learn_stretches, pick, try_all)
from novikoff.data.rows import first, last
from novikoff.theory import online_to_batch
from novikoff.online_to_batch.state import (CHANGES_MADE, CHOSEN, FAR, LATER, LATER_MISTAKES, NEXT, STOPPED, TEST_PASSED, Choosing, copied)
from novikoff.online_to_batch.guarantees import most_changes

TABLE = 256  # stretches whose tests are made ready at once
BLOCK = 4096  # rows between two looks at the room for changes


def running(model: Any, state: Choosing) -> Run:
    return Run(model._rule(), state.geometry, state.features + 1, TIES[model.tie], state.ledger.book)


def from_the_beginning(model: Any, state: Choosing) -> Run:
    """A run to be gone through again, which leaves the model as it is."""
    return running(model, state)._replace(geometry=model.begun(state), book=Ledger().book)


def take_all(model: Any, state: Choosing, part: Part) -> int:
    """All rows; returns how many were taken, as all of these do."""
    return Linear._take(model, state, part.rows, part.labels, part.weights, part.tidy)


def take_until_drawn(model: Any, state: Choosing, part: Part) -> int:
    """In pieces that end where the hypothesis of the moment is to be kept: before the example that was drawn."""
    done, count = 0, len(part.labels)
    while done < count:
        now = state.ledger.examples + 1
        if now == state.counts[NEXT]:
            state.choose()
            state.counts[CHOSEN] = now
            state.next_time(int(model.seed))
        stop = min(count, done + int(state.counts[NEXT]) - now)
        done += take_all(model, state, part.piece(done, stop))
        if done < stop:
            break
    return done


# --- Stretches ---


def first_target(model: Any) -> int:
    """How many right answers in a row the test of the first stretch asks for."""
    both = {"epsilon": model.epsilon, "delta": model.delta}
    if model.method == "next-stretch":
        return min(FAR, online_to_batch.stretch_length(changes=most_changes(model), **both))
    return min(FAR, online_to_batch.trial_length(stretch=0, **both))


@lru_cache(maxsize=64)
def _trials(block: int, epsilon: float, delta: float) -> NDArray[np.int64]:
    """The same for a block of stretches, in controlled testing."""
    lengths = online_to_batch.trial_lengths(first=block * TABLE, count=TABLE, epsilon=epsilon, delta=delta)
    return np.array([min(FAR, length) for length in lengths])


def take_stretches(model: Any, state: Choosing, part: Part) -> int:
    done, count, most = 0, len(part.labels), 0
    if model.method == "next-stretch":
        most = most_changes(model)
    while done < count and not state.counts[STOPPED]:
        number = int(state.stretch[NUMBER])
        coming = _coming(model, number, most)
        taken = learn_stretches(running(model, state), part.piece(done, count), state.stretch, coming)
        done += taken
        if state.stretch[PASSED]:
            state.stretch[PASSED] = 0
            if model.method != "longest-survivor":
                state.counts[STOPPED] = TEST_PASSED
            else:
                state.choose()
                state.counts[CHOSEN] = state.stretch[NUMBER]
        elif most and state.stretch[NUMBER] >= most:
            state.counts[STOPPED] = CHANGES_MADE
        elif taken == 0:  # the row is refused
            return done
    return done + _watched(model, state, part.piece(done, count)) if done < count else done


def _coming(model: Any, number: int, most: int) -> NDArray[np.int64]:
    """The targets of the next stretches; none where no stretch has one of its own, and nothing ends with any."""
    if model.method == "controlled-testing":
        block, at = divmod(number + 1, TABLE)
        return _trials(block, float(model.epsilon), float(model.delta))[at:]
    return np.zeros(min(TABLE, most - number) if most else 0, np.int64)


def _watched(model: Any, state: Choosing, part: Part) -> int:
    """After it stopped nothing is learned; how often the chosen hypothesis is wrong is counted."""
    scores = np.empty(len(part.labels))
    good = loop.judge(copied(state.geometry), part.rows, state.features + 1, part.tidy, scores)
    good = first_outside(part.rows, good, *model._range())
    scores, signs = scores[:good], part.labels[:good]
    wrong = (scores * signs < 0.0) | ((scores == 0.0) & (signs * TIES[model.tie] < 0.0))
    told = np.ones(good, bool) if not len(part.weights) else part.weights[:good] != 0.0
    state.counts[LATER] += np.count_nonzero(told)
    state.counts[LATER_MISTAKES] += np.count_nonzero(wrong & told)
    return good


# --- Changes ---


def take_changes(model: Any, state: Choosing, part: Part) -> int:
    """Block by block: room is made for the changes of one block."""
    for start in range(0, len(part.labels), BLOCK):
        block = part.piece(start, start + BLOCK)
        count = len(block.labels)
        state.reserve(count, int(last(block.rows, count - 1) - first(block.rows, 0)))
        changes, time = cast(Changes, state.changes), state.ledger.examples
        kept = int(changes.sizes[KEPT])
        taken = learn_changes(running(model, state), block, changes)
        if model.method == "penalised":
            _try(model, state, changes, block.piece(0, taken), time, kept)
        if taken < count:
            return start + taken
    return len(part.labels)


def _try(model: Any, state: Choosing, changes: Changes, part: Part, time: int, kept: int) -> None:
    """All hypotheses that are tried, on these rows, which were learned after `time` examples and `kept` changes."""
    room, before = min(int(model.most_hypotheses), int(changes.sizes[KEPT]) + 1), len(state.picked)
    picked, mistakes = np.zeros(room, np.int64), np.zeros(room, np.int64)
    picked[:before], mistakes[:before] = state.picked, state.mistakes
    count = pick(changes, kept, picked, mistakes, before)
    state.picked, state.mistakes = picked[:count], mistakes[:count]
    try_all(from_the_beginning(model, state), changes, part, time, state.picked, state.mistakes)


WAYS: dict[str, Callable[[Any, Choosing, Part], int]] = {
    "random-stopping": take_until_drawn,
    "controlled-testing": take_stretches,
    "next-stretch": take_stretches,
    "longest-survivor": take_stretches,
    "penalised": take_changes,
    "average": take_all,
    "vote": take_changes,
}
