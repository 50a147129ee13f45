"""The one loop: predict, compare with the label, count, update."""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled.jit import compiled, compiled_read_only, compiled_with_gil, generic
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import unpack_block
from novikoff.core.feature_sample import NEXT, Moments, has_capacity, record_row
from novikoff.core.losses import gradient, loss_value
from novikoff.core.outcomes import MISTAKE_ONLY, UPDATE, is_probing, record_outcome
from novikoff.core.updaters.additive import Additive, Averaged
from novikoff.core.updaters.base import (
    accepts_row,
    effective_sq_norm,
    end_step,
    max_sq_norm,
    norm,
    score,
    score_two_rows,
    update,
)
from novikoff.data.canonical_rows import write_nonzeros
from novikoff.data.rows import (
    Dense,
    DenseWithZeros,
    Rows,
    Sparse,
    dot_and_sq_norm,
    end_term,
    first_term,
    has_zeros,
    indices_in_range,
    indices_sorted,
    prefetch,
    row_sq_norm,
)
from novikoff.ledger import ENERGY, EXAMPLES, LOSS, SQUARED_RADIUS, UPDATES, WEIGHTED, LedgerCounters, count_mistake

CORRECT, WRONG, REJECTED, NEEDS_SLOW_PATH, HAS_ZEROS = 0, 1, -1, -2, -3
FAST_PATH_CLOSED = -1  # as the number of features in a `StepContext`: nothing may be learned by it now
ZERO_ROW_ALLOWANCE, ROWS_PER_ZERO_ROW = 16, 16
"""Up to this number of dense rows with zeros, or one in this number of rows, the loop drops the zeros itself. More such
rows are converted block by block."""


@compiled
def step(
    loss: Any,
    updater: Any,
    rows: Rows | DenseWithZeros,
    i: int,
    y: float,
    weight: float,
    tie: float,
    counters: LedgerCounters,
) -> int:
    """Example i, all of whose terms have slots: CORRECT, WRONG, or REJECTED (not finite, too large, or with a value
    of 0) with nothing changed."""
    s, sq_norm = score(updater, rows, i)
    return step_scored(loss, updater, rows, i, s, sq_norm, y, weight, tie, counters)


@compiled
def step_scored(
    loss: Any,
    updater: Any,
    rows: Rows | DenseWithZeros,
    i: int,
    s: float,
    sq_norm: float,
    y: float,
    weight: float,
    tie: float,
    counters: LedgerCounters,
) -> int:
    """The same, where the score and the squared length are known."""
    # Asked of the product: the sign of s alone is a coin toss, which the processor would guess wrong half the time.
    wrong = y * s < 0.0 or (s == 0.0 and y * tie < 0.0)
    g = weight * gradient(loss, s, y, wrong, norm(updater))
    largest = max_sq_norm(updater.weights)
    is_update = g != 0.0  # asked once: a score that moves nothing is done with sooner
    if not (sq_norm < largest and abs(s) < largest and accepts_row(updater, rows, i)):
        return REJECTED
    if is_update and not g * g * sq_norm < largest:
        return REJECTED
    counters.counts[EXAMPLES] += 1
    t = counters.counts[EXAMPLES]
    radius_sq = effective_sq_norm(updater, sq_norm)
    if radius_sq > counters.sums[SQUARED_RADIUS]:  # noqa: PLR1730 - seldom: most rows write nothing here
        counters.sums[SQUARED_RADIUS] = radius_sq
    if wrong:
        count_mistake(counters)
        if not is_update:
            record_outcome(counters, i, MISTAKE_ONLY)
    loss_at_score = loss_value(loss, s, y)
    if loss_at_score != 0.0:
        counters.sums[LOSS] += weight * loss_at_score
    if is_update:
        counters.counts[UPDATES] += 1
        counters.sums[ENERGY] += g * g * sq_norm
        update(updater, rows, i, g, t)
        record_outcome(counters, i, UPDATE)
    end_step(updater, t)
    return WRONG if wrong else CORRECT


@generic
def step_without_zeros(
    updater: Any, loss: Any, rows: Rows, i: int, y: float, weight: float, tie: float, counters: LedgerCounters
) -> int:
    """Example i, which was refused, once more without its zeros, where it is a dense row that has some: CORRECT,
    WRONG or REJECTED. For geometries that measure and move by default; rows that come to others are brought into
    order first."""
    return REJECTED


@step_without_zeros.of(Additive)
@step_without_zeros.of(Averaged)
def _step_without_zeros_additive(
    updater: Any, loss: Any, rows: Rows, i: int, y: float, weight: float, tie: float, counters: LedgerCounters
) -> int:
    if not has_zeros(rows, i):
        return REJECTED
    return step(
        loss, updater, DenseWithZeros(rows.values, end_term(rows, i) - first_term(rows, i)), i, y, weight, tie, counters
    )


@compiled
def learn(
    loss: Any,
    updater: Any,
    rows: Rows,
    labels: NDArray[np.int8],
    weights: NDArray[np.float64],
    slots: int,
    tie: float,
    counters: LedgerCounters,
    canonical: bool,
) -> int:
    """Learn the rows in one pass; return how many were learned: fewer than there are where a row was rejected.

    Labels are −1/+1; weights are empty (all 1) or one per row, 0 leaving the row out; `slots` are those in use. The
    order of the columns of a row is checked unless the rows are `canonical`.
    """
    # Additions of one row wait for each other: where it is of use, the next row is scored beside it, which counts
    # unless the weights change in between.
    scored_ahead, next_s, next_sq_norm = -1, 0.0, 0.0
    zero_rows = 0  # rows with zeros
    for i in range(len(labels)):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        weight = 1.0
        if len(weights) > 0:
            weight = weights[i]
            if weight == 0.0 and not is_probing(counters):
                _, sq_norm = dot_and_sq_norm(rows, i, updater.weights)
                if not (sq_norm < max_sq_norm(updater.weights) and accepts_row(updater, rows, i)):
                    return i
                continue
        prefetch(rows, i + 1, len(labels), updater.weights)
        s, sq_norm = next_s, next_sq_norm
        if i != scored_ahead:
            s, sq_norm, next_s, next_sq_norm, scored_two = score_two_rows(updater, rows, i, len(labels))
            scored_ahead = i + 1 if scored_two else -1
        updates, y = counters.counts[UPDATES], np.float64(labels[i])
        if step_scored(loss, updater, rows, i, s, sq_norm, y, weight, tie, counters) == REJECTED:
            if (zero_rows - ZERO_ROW_ALLOWANCE) * ROWS_PER_ZERO_ROW > i or step_without_zeros(
                updater, loss, rows, i, y, weight, tie, counters
            ) == REJECTED:
                return i
            zero_rows += 1
        if counters.counts[UPDATES] != updates:
            scored_ahead = -1
        if weight != 1.0:
            counters.counts[WEIGHTED] += 1
    return len(labels)


class StepContext(NamedTuple):
    """What single examples have in common; packed into a block for `learn_one_dense` and `learn_one_sparse`."""

    rule: Any
    updater: Any
    tie: float
    book: LedgerCounters
    features: int
    """Features in use, for which there may be more slots than that."""
    spare: Sparse
    """Room for the terms of one example."""
    moments: Moments


@compiled_with_gil
def learn_one_dense(block: Any, like: Any, x: NDArray[np.floating], y: float) -> int:
    """One example, given as the values of all features; NEEDS_SLOW_PATH where they are too many or don't lie side by
    side, or where the example is to be recorded and there is no room for it;
    HAS_ZEROS, and nothing learned, where some are 0: the others are then in `spare`, for `learn_one_sparse`."""
    s = unpack_block(block, like)
    if x.size != s.features or x.strides[0] != x.itemsize:
        return NEEDS_SLOW_PATH
    rows = Dense(x, x.size)
    sampled = s.book.counts[EXAMPLES] + 1 == s.moments.clock[NEXT]
    if sampled and not has_capacity(s.moments, x.size, s.features + 1):
        return NEEDS_SLOW_PATH
    outcome = step(s.rule, s.updater, rows, 0, y, 1.0, s.tie, s.book)
    if sampled and outcome >= 0:
        record_row(s.moments, rows, 0, s.book.counts[EXAMPLES])
    if outcome == REJECTED:
        if s.spare.starts[2] != 0:  # another thread is about to learn what is there
            return NEEDS_SLOW_PATH
        write_nonzeros(rows, 1, s.spare)
        if s.spare.starts[1] < x.size:
            s.spare.starts[2] = 1
            return HAS_ZEROS
    return outcome


@compiled_with_gil
def learn_one_sparse(
    block: Any,
    like: Any,
    starts: NDArray[np.int64],
    indices: NDArray[np.uint32],
    values: NDArray[np.floating],
    y: float,
) -> int:
    """One example, given as the features that are there, `starts` being [0, how many, 1 where the arrays are shared and
    hold an example]; NEEDS_SLOW_PATH where one is new; HAS_ZEROS,
    and nothing learned, where a value is 0: such terms have then been taken out of these arrays.

    Without the last of the `starts` these are the values of all features, and the indices are 0, 1, 2, …: for learners
    whose step is compiled for sparse examples only. The answers are then those of `learn_one_dense`."""
    s = unpack_block(block, like)
    rows = rest = Sparse(starts, indices, values)
    if len(starts) == 2:
        rest = s.spare
        if values.size != s.features or values.strides[0] != values.itemsize:
            return NEEDS_SLOW_PATH
    else:
        starts[2] = 0
        if s.features == FAST_PATH_CLOSED or not indices_in_range(rows, 0, s.features + 1):
            return NEEDS_SLOW_PATH
    sampled = s.book.counts[EXAMPLES] + 1 == s.moments.clock[NEXT]
    if sampled and not has_capacity(s.moments, starts[1], s.features + 1):
        return NEEDS_SLOW_PATH
    outcome = step(s.rule, s.updater, rows, 0, y, 1.0, s.tie, s.book)
    if sampled and outcome >= 0:
        record_row(s.moments, rows, 0, s.book.counts[EXAMPLES])
    if outcome == REJECTED:
        if rest.starts[2] != 0:  # another thread is about to learn what is in `spare`
            return NEEDS_SLOW_PATH
        terms = starts[1]
        write_nonzeros(rows, 1, rest)
        if rest.starts[1] < terms:
            rest.starts[2] = 1
            return HAS_ZEROS
    return outcome


@compiled
def first_invalid_row(rows: Rows, count: int, slots: int, largest: float, canonical: bool) -> int:
    """Return the first row that is not proper, has a value of 0, or whose squared length is not below `largest`; the
    number of rows where all are good."""
    for i in range(count):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        if not row_sq_norm(rows, i) < largest:
            return i
    return count


@compiled_read_only
def score_rows_with_updater(updater: Any, rows: Rows, slots: int, canonical: bool, out: NDArray[np.float64]) -> int:
    """The score that the geometry itself gives each row, up to one to be refused; returns how many were given."""
    for i in range(len(out)):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        out[i], sq_norm = score(updater, rows, i)
        if not sq_norm < max_sq_norm(updater.weights):
            return i
    return len(out)


@compiled
def score_rows(
    weights: NDArray[np.float64],
    rows: Rows,
    bias: float,
    slots: int,
    largest: float,
    canonical: bool,
    out: NDArray[np.float64],
) -> int:
    """w·x of every row under a hypothesis that is laid out in slots; stops at a row that is to be refused, and returns
    how many were scored."""
    for i in range(len(out)):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        dot, sq_norm = dot_and_sq_norm(rows, i, weights)
        if not sq_norm < largest:
            return i
        out[i] = dot + bias * weights[0]
    return len(out)
