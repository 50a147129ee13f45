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
from novikoff.ledger import EXAMPLES, UPDATES, Book
from novikoff.core.updaters.base import fits, limit, score
from novikoff.core.loop import REFUSED, RIGHT, step
from novikoff.schema import EXAMPLES as EXAMPLE_COUNT
from novikoff.schema import (
    FEATURES,
    REAL,
    Array,
    Between,
    DistinctWithin,
    Finite,
    Free,
    Increasing,
    IndexInto,
    Offsets,
    OneOf,
    Schema,
    Size,
)
from novikoff.data.rows import (Rows, Sparse, cut, first, last, measure, proper, slot)

LEFT_OUT = 2
# Where each number of a stretch lives.
NUMBER, LENGTH, TARGET, PASSED = 0, 1, 2, 3
# … and those of the changes.
KEPT, TERMS = 0, 1


class Changes(NamedTuple):
    """Change k was made by the example with the terms ends[k] to ends[k+1], of label signs[k], at time born[k]."""

    sizes: NDArray[np.int64]
    ends: NDArray[np.int64]
    born: NDArray[np.int64]
    signs: NDArray[np.int8]
    indices: NDArray[np.uint32]
    values: NDArray[np.floating]


CHANGES_SCHEMA = Schema(
    {
        "born": Array("int64", Free("changes"), checks=[Between(1, EXAMPLE_COUNT), Increasing()]),
        "signs": Array("int8", Size("changes"), checks=[OneOf((-1, 1))]),
        "values": Array(REAL, Free("change_terms"), checks=[Finite()]),
        "ends": Array("int64", Size("changes") + 1, checks=[Offsets(Size("change_terms"))]),
        "indices": Array("uint32", Size("change_terms"), checks=[IndexInto(FEATURES), DistinctWithin("ends")]),
    }
)
"""What a model file may hold of the changes of a hypothesis."""


class Run(NamedTuple):
    """A learner that learns, or one that goes through its hypotheses again; its book is scratch then."""

    rule: Any
    geometry: Any
    slots: int
    """Those in use."""
    tie: float
    book: Book


class Part(NamedTuple):
    """Some rows, as the loops take them."""

    rows: Rows
    labels: NDArray[np.int8]
    weights: NDArray[np.float64]
    """Empty, or 0 for rows that are left out and 1 for the others."""
    tidy: bool

    def piece(self, start: int, stop: int) -> Part:
        stop = min(stop, len(self.labels))
        return Part(cut(self.rows, start, stop), self.labels[start:stop], self.weights[start:stop], self.tidy)


@compiled
def take(run: Run, part: Part, i: int) -> int:
    """Learns row i: RIGHT, WRONG, REFUSED, or LEFT_OUT where its weight is 0."""
    rows, geometry = part.rows, run.geometry
    if not (part.tidy or proper(rows, i, run.slots)):
        return REFUSED
    if len(part.weights) > 0 and part.weights[i] == 0.0:
        _, square = measure(rows, i, geometry.slots)
        return LEFT_OUT if square < limit(geometry.slots) and fits(geometry, rows, i) else REFUSED
    return step(run.rule, geometry, rows, i, np.float64(part.labels[i]), 1.0, run.tie, run.book)


@compiled
def learn_stretches(run: Run, part: Part, stretch: NDArray[np.int64], targets: NDArray[np.int64]) -> int:
    """Learns until a stretch reaches its target, which PASSED then says; returns how many rows were taken.

    A stretch that ends beyond its target makes that the length to be exceeded. `targets`, where there are any, are
    those of the next stretches; learning ends as well where there is none for the next one.
    """
    used, counts = 0, run.book.counts
    for i in range(len(part.labels)):
        updates = counts[UPDATES]
        taken = take(run, part, i)
        if taken == REFUSED:
            return i
        if taken == LEFT_OUT:
            continue
        if taken == RIGHT and counts[UPDATES] == updates:
            stretch[LENGTH] += 1
            if stretch[LENGTH] == stretch[TARGET]:
                stretch[PASSED] = 1
                return i + 1
            continue
        stretch[TARGET] = max(stretch[TARGET], stretch[LENGTH] + 1)
        stretch[NUMBER] += 1
        stretch[LENGTH] = 0
        if len(targets) > 0:
            stretch[TARGET] = max(stretch[TARGET], targets[used])
            used += 1
            if used == len(targets):
                return i + 1
    return len(part.labels)


@compiled
def learn_changes(run: Run, part: Part, changes: Changes) -> int:
    """One pass that keeps every example at which the hypothesis changes; there must be room for them. Returns how many
    rows were taken."""
    rows, counts = part.rows, run.book.counts
    for i in range(len(part.labels)):
        updates = counts[UPDATES]
        if take(run, part, i) == REFUSED:
            return i
        if counts[UPDATES] == updates:
            continue
        k, end = changes.sizes[KEPT], changes.sizes[TERMS]
        for term in range(first(rows, i), last(rows, i)):
            changes.indices[end] = slot(rows, i, term) - 1
            changes.values[end] = rows.values[term]
            end += 1
        changes.signs[k] = part.labels[i]
        changes.born[k] = counts[EXAMPLES]
        changes.ends[k + 1] = end
        changes.sizes[KEPT] = k + 1
        changes.sizes[TERMS] = end
    return len(part.labels)


@compiled
def replay(run: Run, changes: Changes, start: int, stop: int) -> None:
    """From hypothesis `start` to hypothesis `stop`."""
    rows = Sparse(changes.ends, changes.indices, changes.values)
    for k in range(start, stop):
        run.book.counts[EXAMPLES] = changes.born[k] - 1
        step(run.rule, run.geometry, rows, k, np.float64(changes.signs[k]), 1.0, run.tie, run.book)


@compiled
def try_all(
    run: Run, changes: Changes, part: Part, time: int, picked: NDArray[np.int64], mistakes: NDArray[np.int64]
) -> None:
    """Counts the mistakes that each of the picked hypotheses, in their order, would make on those of these rows that
    came after it was there; `time` examples came before them. The run is at its beginning."""
    labels, weights, at = part.labels, part.weights, 0
    for c in range(len(picked)):
        replay(run, changes, at, picked[c])
        at = picked[c]
        born = changes.born[at - 1] if at > 0 else 0
        t = time
        for i in range(len(labels)):
            if len(weights) > 0 and weights[i] == 0.0:
                continue
            t += 1
            if t > born:
                s, _ = score(run.geometry, part.rows, i)
                y = np.float64(labels[i])
                mistakes[c] += y * s < 0.0 or (s == 0.0 and y * run.tie < 0.0)


@compiled
def pick(changes: Changes, start: int, picked: NDArray[np.int64], mistakes: NDArray[np.int64], count: int) -> int:
    """Picks the hypotheses after the changes from `start` on as well. Where there is room for no more, the one of the
    shortest stretch makes room. Returns how many are picked."""
    for k in range(start, changes.sizes[KEPT]):
        if count == len(picked):
            worst, least = 0, np.int64(2**62)
            for c in range(count):
                h = picked[c]
                lasted = changes.born[h] - (changes.born[h - 1] if h > 0 else 0)
                if lasted < least:
                    worst, least = c, lasted
            for c in range(worst, count - 1):
                picked[c], mistakes[c] = picked[c + 1], mistakes[c + 1]
            count -= 1
        picked[count], mistakes[count] = k + 1, 0
        count += 1
    return count


@compiled
def vote_all(run: Run, changes: Changes, rows: Rows, time: int, votes: NDArray[np.float64]) -> None:
    """Adds up what all hypotheses say of each row, each as often as it was used in `time` examples. The run is at its
    beginning."""
    since = 0
    for k in range(changes.sizes[KEPT] + 1):
        until = changes.born[k] if k < changes.sizes[KEPT] else time
        if until > since:
            for i in range(len(votes)):
                s, _ = score(run.geometry, rows, i)
                votes[i] += (until - since) * (np.sign(s) if s != 0.0 else run.tie)
        if k < changes.sizes[KEPT]:
            replay(run, changes, k, k + 1)
        since = until
