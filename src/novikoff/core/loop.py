"""The one loop: predict, be told the label, count, update."""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import (compiled, compiled_brief, compiled_reader, generic)
from novikoff._compiled.simd.dot import unpacked
from novikoff.ledger import ENERGY, EXAMPLES, LOSS, SQUARED_RADIUS, UPDATES, WEIGHTED, Book, note_mistake
from novikoff.core.updaters.additive import Additive, Averaged
from novikoff.core.feature_sample import (NEXT, Moments, has_room, record_row)
from novikoff.core.updaters.base import (fits, limit, norm, score, score_two, span, tick, update)
from novikoff.core.losses import loss, signal
from novikoff.data.rows import (Dense, Holed, Rows, Sparse, ask_for, first, holes, inside, last, measure, proper, squared)
from novikoff.data.canonical_rows import drop_zeros

RIGHT, WRONG, REFUSED, UNUSUAL, ZEROS = 0, 1, -1, -2, -3
CLOSED = -1  # as the number of features in a `Setting`: nothing may be learned by it now
FEW, SELDOM = 16, 16  # dense rows with zeros: so many, or one in so many; more are brought into order, many at once


@compiled
def step(rule: Any, geometry: Any, rows: Rows | Holed, i: int, y: float, weight: float, tie: float, book: Book) -> int:
    """Example i, all of whose terms have slots: RIGHT, WRONG, or REFUSED (not finite, too large, or with a value of 0)
    with nothing changed."""
    s, square = score(geometry, rows, i)
    return step_with(rule, geometry, rows, i, s, square, y, weight, tie, book)


@compiled
def step_with(
    rule: Any,
    geometry: Any,
    rows: Rows | Holed,
    i: int,
    s: float,
    square: float,
    y: float,
    weight: float,
    tie: float,
    book: Book,
) -> int:
    """The same, where the score and the squared length are known."""
    # Asked of the product: the sign of s alone is a coin toss, which the processor would guess wrong half the time.
    wrong = y * s < 0.0 or (s == 0.0 and y * tie < 0.0)
    g = weight * signal(rule, s, y, wrong, norm(geometry))
    largest = limit(geometry.slots)
    moves = g != 0.0  # asked once: a score that moves nothing is done with sooner
    if not (square < largest and abs(s) < largest and fits(geometry, rows, i)):
        return REFUSED
    if moves and not g * g * square < largest:
        return REFUSED
    book.counts[EXAMPLES] += 1
    t = book.counts[EXAMPLES]
    length = span(geometry, square)
    if length > book.sums[SQUARED_RADIUS]:  # noqa: PLR1730 - seldom: most rows write nothing here
        book.sums[SQUARED_RADIUS] = length
    if wrong:
        note_mistake(book)
    lost = loss(rule, s, y)
    if lost != 0.0:
        book.sums[LOSS] += weight * lost
    if moves:
        book.counts[UPDATES] += 1
        book.sums[ENERGY] += g * g * square
        update(geometry, rows, i, g, t)
    tick(geometry, t)
    return WRONG if wrong else RIGHT


@generic
def step_past_zeros(
    geometry: Any, rule: Any, rows: Rows, i: int, y: float, weight: float, tie: float, book: Book
) -> int:
    """Example i, which was refused, once more without its zeros, where it is a dense row that has some: RIGHT, WRONG or
    REFUSED. For geometries that measure and move by default; rows that come to others are brought into order first."""
    return REFUSED


@step_past_zeros.of(Additive)
@step_past_zeros.of(Averaged)
def _(geometry: Any, rule: Any, rows: Rows, i: int, y: float, weight: float, tie: float, book: Book) -> int:
    if not holes(rows, i):
        return REFUSED
    return step(rule, geometry, Holed(rows.values, last(rows, i) - first(rows, i)), i, y, weight, tie, book)


@compiled
def learn(
    rule: Any,
    geometry: Any,
    rows: Rows,
    labels: NDArray[np.int8],
    weights: NDArray[np.float64],
    slots: int,
    tie: float,
    book: Book,
    tidy: bool,
) -> int:
    """One pass; returns how many rows were taken: fewer than there are where a row was refused.

    Labels are −1/+1; weights are empty (all 1) or one per row, 0 leaving the row out; `slots` are those in use. Columns
    are looked at unless the rows are `tidy`.
    """
    # Additions of one row wait for each other: where it is of use, the next row is scored beside it, which counts
    # unless the weights change in between.
    ahead, next_s, next_square = -1, 0.0, 0.0
    holed = 0  # rows with zeros
    for i in range(len(labels)):
        if not (tidy or proper(rows, i, slots)):
            return i
        weight = 1.0
        if len(weights) > 0:
            weight = weights[i]
            if weight == 0.0:
                _, square = measure(rows, i, geometry.slots)
                if not (square < limit(geometry.slots) and fits(geometry, rows, i)):
                    return i
                continue
        ask_for(rows, i + 1, len(labels), geometry.slots)
        s, square = next_s, next_square
        if i != ahead:
            s, square, next_s, next_square, two = score_two(geometry, rows, i, len(labels))
            ahead = i + 1 if two else -1
        updates, y = book.counts[UPDATES], np.float64(labels[i])
        if step_with(rule, geometry, rows, i, s, square, y, weight, tie, book) == REFUSED:
            if (holed - FEW) * SELDOM > i or step_past_zeros(geometry, rule, rows, i, y, weight, tie, book) == REFUSED:
                return i
            holed += 1
        if book.counts[UPDATES] != updates:
            ahead = -1
        if weight != 1.0:
            book.counts[WEIGHTED] += 1
    return len(labels)


class Setting(NamedTuple):
    """What single examples have in common; packed into a block for `learn_dense` and `learn_sparse`."""

    rule: Any
    geometry: Any
    tie: float
    book: Book
    features: int
    """Features in use, for which there may be more slots than that."""
    spare: Sparse
    """Room for the terms of one example."""
    moments: Moments


@compiled_brief
def learn_dense(block: Any, like: Any, x: NDArray[np.floating], y: float) -> int:
    """One example, given as the values of all features; UNUSUAL where they are too many or don't lie side by side, or
    where the example is to be recorded and there is no room for it;
    ZEROS, and nothing learned, where some are 0: the others are then in `spare`, for `learn_sparse`."""
    s = unpacked(block, like)
    if x.size != s.features or x.strides[0] != x.itemsize:
        return UNUSUAL
    rows = Dense(x, x.size)
    sampled = s.book.counts[EXAMPLES] + 1 == s.moments.clock[NEXT]
    if sampled and not has_room(s.moments, x.size, s.features + 1):
        return UNUSUAL
    taken = step(s.rule, s.geometry, rows, 0, y, 1.0, s.tie, s.book)
    if sampled and taken >= 0:
        record_row(s.moments, rows, 0, s.book.counts[EXAMPLES])
    if taken == REFUSED:
        if s.spare.starts[2] != 0:  # another thread is about to learn what is there
            return UNUSUAL
        drop_zeros(rows, 1, s.spare)
        if s.spare.starts[1] < x.size:
            s.spare.starts[2] = 1
            return ZEROS
    return taken


@compiled_brief
def learn_sparse(
    block: Any,
    like: Any,
    starts: NDArray[np.int64],
    indices: NDArray[np.uint32],
    values: NDArray[np.floating],
    y: float,
) -> int:
    """One example, given as the features that are there, `starts` being [0, how many, 1 where the arrays are shared and
    hold an example]; UNUSUAL where one is new; ZEROS,
    and nothing learned, where a value is 0: such terms have then been taken out of these arrays.

    Without the last of the `starts` these are the values of all features, and the indices are 0, 1, 2, …: for learners
    whose step is compiled for sparse examples only. The answers are then those of `learn_dense`."""
    s = unpacked(block, like)
    rows = rest = Sparse(starts, indices, values)
    if len(starts) == 2:
        rest = s.spare
        if values.size != s.features or values.strides[0] != values.itemsize:
            return UNUSUAL
    else:
        starts[2] = 0
        if s.features == CLOSED or not inside(rows, 0, s.features + 1):
            return UNUSUAL
    sampled = s.book.counts[EXAMPLES] + 1 == s.moments.clock[NEXT]
    if sampled and not has_room(s.moments, starts[1], s.features + 1):
        return UNUSUAL
    taken = step(s.rule, s.geometry, rows, 0, y, 1.0, s.tie, s.book)
    if sampled and taken >= 0:
        record_row(s.moments, rows, 0, s.book.counts[EXAMPLES])
    if taken == REFUSED:
        if rest.starts[2] != 0:  # another thread is about to learn what is in `spare`
            return UNUSUAL
        terms = starts[1]
        drop_zeros(rows, 1, rest)
        if rest.starts[1] < terms:
            rest.starts[2] = 1
            return ZEROS
    return taken


@compiled
def first_refused(rows: Rows, count: int, slots: int, largest: float, tidy: bool) -> int:
    """Return the first row that is not proper, has a value of 0, or whose squared length is not below `largest`; the
    number of rows where all are good."""
    for i in range(count):
        if not (tidy or proper(rows, i, slots)):
            return i
        if not squared(rows, i) < largest:
            return i
    return count


@compiled_reader
def judge(geometry: Any, rows: Rows, slots: int, tidy: bool, out: NDArray[np.float64]) -> int:
    """The score that the geometry itself gives each row, up to one to be refused; returns how many were given."""
    for i in range(len(out)):
        if not (tidy or proper(rows, i, slots)):
            return i
        out[i], square = score(geometry, rows, i)
        if not square < limit(geometry.slots):
            return i
    return len(out)


@compiled
def scores(
    weights: NDArray[np.float64],
    rows: Rows,
    bias: float,
    slots: int,
    largest: float,
    tidy: bool,
    out: NDArray[np.float64],
) -> int:
    """w·x of every row under a hypothesis that is laid out in slots; stops at a row that is to be refused, and returns
    how many were scored."""
    for i in range(len(out)):
        if not (tidy or proper(rows, i, slots)):
            return i
        dot, square = measure(rows, i, weights)
        if not square < largest:
            return i
        out[i] = dot + bias * weights[0]
    return len(out)
