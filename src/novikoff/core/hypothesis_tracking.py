"""Loops for those who want to know how long a hypothesis lasts, and what all of them would have said.

A stretch is a run of examples that one hypothesis predicts; it ends with a mistake or with a change of the hypothesis,
and the next example belongs to the next stretch. Hypotheses are not kept. Kept are the examples at which they changed:
hypothesis k is what a fresh learner makes of the first k of them, one after another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.loop import CORRECT, REJECTED, step
from novikoff.core.updaters.base import accepts_row, max_sq_norm, score
from novikoff.data.rows import (
    Rows,
    Sparse,
    dot_and_sq_norm,
    end_term,
    first_term,
    indices_sorted,
    slice_rows,
    weight_slot,
)
from novikoff.ledger import EXAMPLES, UPDATES, LedgerCounters
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

SKIPPED = 2
# Where each number of a stretch lives.
HYPOTHESIS_NUMBER, RUN_LENGTH, TARGET_LENGTH, TARGET_REACHED = 0, 1, 2, 3
# … and those of the changes.
N_CHANGES, N_TERMS = 0, 1


class HypothesisLog(NamedTuple):
    """Change k was made by the example with the terms ends[k] to ends[k+1], of label signs[k], at time born[k]."""

    sizes: NDArray[np.int64]
    ends: NDArray[np.int64]
    born: NDArray[np.int64]
    signs: NDArray[np.int8]
    indices: NDArray[np.uint32]
    values: NDArray[np.floating]


HYPOTHESIS_LOG_SCHEMA = Schema(
    {
        "born": ArraySpec("int64", FreeSize("changes"), checks=[InRange(1, EXAMPLE_COUNT), Increasing()]),
        "signs": ArraySpec("int8", NamedSize("changes"), checks=[OneOf((-1, 1))]),
        "values": ArraySpec(REAL, FreeSize("change_terms"), checks=[Finite()]),
        "ends": ArraySpec("int64", NamedSize("changes") + 1, checks=[Offsets(NamedSize("change_terms"))]),
        "indices": ArraySpec("uint32", NamedSize("change_terms"), checks=[IndexInto(FEATURES), DistinctWithin("ends")]),
    }
)
"""What a model file may hold of the changes of a hypothesis."""


class RunContext(NamedTuple):
    """A learner that learns, or one that goes through its hypotheses again; its book is scratch then."""

    rule: Any
    updater: Any
    slots: int
    """Those in use."""
    tie: float
    book: LedgerCounters


class RowBlock(NamedTuple):
    """Some rows, as the loops take them."""

    rows: Rows
    labels: NDArray[np.int8]
    weights: NDArray[np.float64]
    """Empty, or 0 for rows that are left out and 1 for the others."""
    canonical: bool

    def piece(self, start: int, stop: int) -> RowBlock:
        stop = min(stop, len(self.labels))
        return RowBlock(
            slice_rows(self.rows, start, stop), self.labels[start:stop], self.weights[start:stop], self.canonical
        )


@compiled
def step_row(context: RunContext, block: RowBlock, i: int) -> int:
    """Learns row i: CORRECT, WRONG, REJECTED, or SKIPPED where its weight is 0."""
    rows, updater = block.rows, context.updater
    if not (block.canonical or indices_sorted(rows, i, context.slots)):
        return REJECTED
    if len(block.weights) > 0 and block.weights[i] == 0.0:
        _, sq_norm = dot_and_sq_norm(rows, i, updater.slots)
        return SKIPPED if sq_norm < max_sq_norm(updater.slots) and accepts_row(updater, rows, i) else REJECTED
    return step(context.rule, updater, rows, i, np.float64(block.labels[i]), 1.0, context.tie, context.book)


@compiled
def learn_until_run_length(
    context: RunContext, block: RowBlock, survival: NDArray[np.int64], targets: NDArray[np.int64]
) -> int:
    """Learns until a stretch reaches its target, which TARGET_REACHED then says; returns how many rows were taken.

    A stretch that ends beyond its target makes that the length to be exceeded. `targets`, where there are any, are
    those of the next stretches; learning ends as well where there is none for the next one.
    """
    used, counts = 0, context.book.counts
    for i in range(len(block.labels)):
        updates = counts[UPDATES]
        outcome = step_row(context, block, i)
        if outcome == REJECTED:
            return i
        if outcome == SKIPPED:
            continue
        if outcome == CORRECT and counts[UPDATES] == updates:
            survival[RUN_LENGTH] += 1
            if survival[RUN_LENGTH] == survival[TARGET_LENGTH]:
                survival[TARGET_REACHED] = 1
                return i + 1
            continue
        survival[TARGET_LENGTH] = max(survival[TARGET_LENGTH], survival[RUN_LENGTH] + 1)
        survival[HYPOTHESIS_NUMBER] += 1
        survival[RUN_LENGTH] = 0
        if len(targets) > 0:
            survival[TARGET_LENGTH] = max(survival[TARGET_LENGTH], targets[used])
            used += 1
            if used == len(targets):
                return i + 1
    return len(block.labels)


@compiled
def learn_and_log(context: RunContext, block: RowBlock, log: HypothesisLog) -> int:
    """One pass that keeps every example at which the hypothesis changes; there must be room for them. Returns how many
    rows were taken."""
    rows, counts = block.rows, context.book.counts
    for i in range(len(block.labels)):
        updates = counts[UPDATES]
        if step_row(context, block, i) == REJECTED:
            return i
        if counts[UPDATES] == updates:
            continue
        k, end = log.sizes[N_CHANGES], log.sizes[N_TERMS]
        for term in range(first_term(rows, i), end_term(rows, i)):
            log.indices[end] = weight_slot(rows, i, term) - 1
            log.values[end] = rows.values[term]
            end += 1
        log.signs[k] = block.labels[i]
        log.born[k] = counts[EXAMPLES]
        log.ends[k + 1] = end
        log.sizes[N_CHANGES] = k + 1
        log.sizes[N_TERMS] = end
    return len(block.labels)


@compiled
def replay(context: RunContext, log: HypothesisLog, start: int, stop: int) -> None:
    """From hypothesis `start` to hypothesis `stop`."""
    rows = Sparse(log.ends, log.indices, log.values)
    for k in range(start, stop):
        context.book.counts[EXAMPLES] = log.born[k] - 1
        step(context.rule, context.updater, rows, k, np.float64(log.signs[k]), 1.0, context.tie, context.book)


@compiled
def count_hypothesis_mistakes(
    context: RunContext,
    log: HypothesisLog,
    block: RowBlock,
    time: int,
    candidates: NDArray[np.int64],
    mistakes: NDArray[np.int64],
) -> None:
    """Counts the mistakes that each of the picked hypotheses, in their order, would make on those of these rows that
    came after it was there; `time` examples came before them. The run is at its beginning."""
    labels, weights, at = block.labels, block.weights, 0
    for c in range(len(candidates)):
        replay(context, log, at, candidates[c])
        at = candidates[c]
        born = log.born[at - 1] if at > 0 else 0
        t = time
        for i in range(len(labels)):
            if len(weights) > 0 and weights[i] == 0.0:
                continue
            t += 1
            if t > born:
                s, _ = score(context.updater, block.rows, i)
                y = np.float64(labels[i])
                mistakes[c] += y * s < 0.0 or (s == 0.0 and y * context.tie < 0.0)


@compiled
def add_candidates(
    log: HypothesisLog, start: int, candidates: NDArray[np.int64], mistakes: NDArray[np.int64], count: int
) -> int:
    """Picks the hypotheses after the changes from `start` on as well. Where there is room for no more, the one of the
    shortest stretch makes room. Returns how many are picked."""
    for k in range(start, log.sizes[N_CHANGES]):
        if count == len(candidates):
            worst, least = 0, np.int64(2**62)
            for c in range(count):
                h = candidates[c]
                run_length = log.born[h] - (log.born[h - 1] if h > 0 else 0)
                if run_length < least:
                    worst, least = c, run_length
            for c in range(worst, count - 1):
                candidates[c], mistakes[c] = candidates[c + 1], mistakes[c + 1]
            count -= 1
        candidates[count], mistakes[count] = k + 1, 0
        count += 1
    return count


@compiled
def add_hypothesis_votes(
    context: RunContext, log: HypothesisLog, rows: Rows, time: int, votes: NDArray[np.float64]
) -> None:
    """Adds up what all hypotheses say of each row, each as often as it was used in `time` examples. The run is at its
    beginning."""
    since = 0
    for k in range(log.sizes[N_CHANGES] + 1):
        until = log.born[k] if k < log.sizes[N_CHANGES] else time
        if until > since:
            for i in range(len(votes)):
                s, _ = score(context.updater, rows, i)
                votes[i] += (until - since) * (np.sign(s) if s != 0.0 else context.tie)
        if k < log.sizes[N_CHANGES]:
            replay(context, log, k, k + 1)
        since = until
