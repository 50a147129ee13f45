"""Learn two classes online: predict, compare with the label, count, update."""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled.jit import compiled, compiled_not_inlined, compiled_read_only, compiled_with_gil, generic
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import unpack_block
from novikoff.core.calibration import MAX_CALIBRATED_SCORE, next_calibrated_example, update_calibration
from novikoff.core.class_weights import class_weight, count_class
from novikoff.core.cursor import may_drop_zeros, sample_weight
from novikoff.core.feature_sample import NEXT, Moments, has_capacity, record_row
from novikoff.core.losses import gradient, loss_value
from novikoff.core.outcomes import MISTAKE_ONLY, UPDATE, is_probing, record_outcome
from novikoff.core.updaters.additive import Additive, Averaged
from novikoff.core.updaters.base import (
    accepts_row,
    effective_sq_norm,
    end_step,
    is_valid_row,
    max_sq_norm,
    norm,
    predicted_score,
    score,
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
from novikoff.ledger import (
    CALIBRATED_NEXT,
    EXAMPLES,
    LedgerCounters,
    count_example,
    count_loss,
    count_mistake,
    count_sample_weight,
    count_update,
)

CORRECT, WRONG, REJECTED, NEEDS_SLOW_PATH, HAS_ZEROS = 0, 1, -1, -2, -3
FAST_PATH_CLOSED = -1  # as the number of features in a `StepContext`: nothing may be learned by it now


# The online algorithm, for t = 1, 2, …:
#
#     s = w·x                          score            the prediction is the sign of s
#     if y·s < 0: mistake              count_mistake    where s = 0, the sign of `tie` is predicted
#     g = weight · γ(s, y, ‖w‖)        gradient         the loss: how far the score should move, and which way
#     if g ≠ 0:                        count_update
#         w = U(w, g, x, t)            update           the updater: how the weights move
#
# The functions of the ledger (count_…), of the loss and of the updater are inlined: each pair of a loss and an updater
# is one specialised loop.


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
    """Learn example i, whose terms all have slots; return CORRECT, WRONG or REJECTED.

    A row is rejected, with nothing changed, where it is not finite, too large, or has a value of 0.
    """
    s, sq_norm = score(updater, rows, i)
    # A test of the product y·s: the processor would mispredict a branch on the sign of s half of the time.
    wrong = y * s < 0.0 or (s == 0.0 and y * tie < 0.0)
    g = weight * gradient(loss, s, y, wrong, norm(updater))
    is_update = g != 0.0  # one branch, before the checks: rows that change nothing take the short way through them
    if not is_step_in_range(updater, rows, i, s, sq_norm, g, is_update):
        return REJECTED
    t = count_example(counters, effective_sq_norm(updater, sq_norm))
    if t == counters.counts[CALIBRATED_NEXT]:
        calibrate(updater, rows, i, s, y, weight, tie, t, counters)
    if wrong:
        count_mistake(counters)
        if not is_update:
            record_outcome(counters, i, MISTAKE_ONLY)
    count_loss(counters, weight * loss_value(loss, s, y))
    if is_update:
        count_update(counters, g * g * sq_norm)
        update(updater, rows, i, g, t)
        record_outcome(counters, i, UPDATE)
    end_step(updater, t)
    return WRONG if wrong else CORRECT


@compiled_not_inlined
def calibrate(
    updater: Any,
    rows: Rows | DenseWithZeros,
    i: int,
    s: float,
    y: float,
    weight: float,
    tie: float,
    t: int,
    counters: LedgerCounters,
) -> None:
    """Calibrate the probabilities by example i, number t, which the updater has not learned yet."""
    predicted = predicted_score(updater, rows, i, s, tie, t - 1)
    if abs(predicted) < MAX_CALIBRATED_SCORE:
        update_calibration(counters.calibration, predicted, y, weight)
    counters.counts[CALIBRATED_NEXT] = next_calibrated_example(t)


@compiled
def is_step_in_range(
    updater: Any, rows: Rows | DenseWithZeros, i: int, s: float, sq_norm: float, g: float, is_update: bool
) -> bool:
    """Return whether the score, ‖x‖² and the step g·x are so small that no weight overflows; False where one is NaN."""
    largest = max_sq_norm(updater.weights)
    if not (sq_norm < largest and abs(s) < largest and accepts_row(updater, rows, i)):
        return False
    if is_update:
        return g * g * sq_norm < largest
    return True


@generic
def step_without_zeros(
    updater: Any, loss: Any, rows: Rows, i: int, y: float, weight: float, tie: float, counters: LedgerCounters
) -> int:
    """Learn example i, which was rejected, without its zeros; return CORRECT, WRONG or REJECTED.

    REJECTED where the row is not dense or has no zeros, and for updaters with a `score` of their own: their callers
    convert such rows first.
    """
    return REJECTED


@step_without_zeros.of(Additive)
@step_without_zeros.of(Averaged)
def _step_without_zeros_additive(
    updater: Any, loss: Any, rows: Rows, i: int, y: float, weight: float, tie: float, counters: LedgerCounters
) -> int:
    if not has_zeros(rows, i):
        return REJECTED
    width = end_term(rows, i) - first_term(rows, i)
    return step(loss, updater, DenseWithZeros(rows.values, width), i, y, weight, tie, counters)


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
    """Learn the rows in one pass; return the number of rows learned: all, or those before a rejected row.

    Labels are −1 or +1. `weights` are empty (all 1) or one per row; rows of weight 0 are left out. `slots` is the
    number of slots in use. The order of the columns of a row is checked unless the rows are `canonical`.
    """
    zero_rows = 0
    for i in range(len(labels)):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        y, weight = np.float64(labels[i]), sample_weight(weights, i)
        if weight == 0.0 and not is_probing(counters):
            if not is_valid_row(updater, rows, i):
                return i
            continue
        weight *= class_weight(counters.class_weights, int(y > 0.0))
        prefetch(rows, i + 1, len(labels), updater.weights)  # they are in the cache when the next row is scored
        outcome = step(loss, updater, rows, i, y, weight, tie, counters)
        if outcome == REJECTED and may_drop_zeros(i, zero_rows):
            outcome = step_without_zeros(updater, loss, rows, i, y, weight, tie, counters)
            zero_rows += 1
        if outcome == REJECTED:
            return i
        count_sample_weight(counters, weight)
        count_class(counters.class_weights, int(y > 0.0))
    return len(labels)


class StepContext(NamedTuple):
    """The arguments that all single examples share; packed into a block for `learn_one_dense` and
    `learn_one_sparse`."""

    rule: Any
    updater: Any
    tie: float
    book: LedgerCounters
    features: int
    """Features in use, for which there may be more slots than that."""
    spare: Sparse
    """Room for the terms of one example."""
    moments: Moments


@compiled
def step_single(s: StepContext, rows: Rows, y: float) -> int:
    """Learn the example in row 0, without a sample weight of its own; return as `step` does."""
    weight = class_weight(s.book.class_weights, int(y > 0.0))
    outcome = step(s.rule, s.updater, rows, 0, y, weight, s.tie, s.book)
    if outcome >= 0:
        count_sample_weight(s.book, weight)
        count_class(s.book.class_weights, int(y > 0.0))
    return outcome


@compiled_with_gil
def learn_one_dense(block: Any, like: Any, x: NDArray[np.floating], y: float) -> int:
    """Learn one example, given as the values of all features.

    Return NEEDS_SLOW_PATH where their number is wrong or they are not contiguous, or where the example is to be
    recorded and there is no room for it. Return HAS_ZEROS, with nothing learned, where some values are 0: the others
    are then in `spare`, for `learn_one_sparse`.
    """
    s = unpack_block(block, like)
    if x.size != s.features or x.strides[0] != x.itemsize:
        return NEEDS_SLOW_PATH
    rows = Dense(x, x.size)
    sampled = s.book.counts[EXAMPLES] + 1 == s.moments.clock[NEXT]
    if sampled and not has_capacity(s.moments, x.size, s.features + 1):
        return NEEDS_SLOW_PATH
    outcome = step_single(s, rows, y)
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
    """Learn one example, given by its terms; `block` is the packed `StepContext`.

    `starts` has three numbers: 0, the number of terms, and 1 if the arrays are shared and hold an example. Return what
    `step` returns, or one of these, with nothing learned:

    NEEDS_SLOW_PATH  a feature is new, the fast path is closed, or the sample of features needs a larger buffer
    HAS_ZEROS        a value is 0; such terms have been removed from the arrays: call again

    If `starts` has only two numbers, `values` are those of all features and `indices` are 0, 1, 2, …: for learners
    whose step is compiled for sparse examples only. The return values are then those of `learn_one_dense`.
    """
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
    outcome = step_single(s, rows, y)
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
    """Return the first row that is not sorted, has a value of 0, or whose squared length is not below `largest`, or the
    number of rows."""
    for i in range(count):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        if not row_sq_norm(rows, i) < largest:
            return i
    return count


@compiled_read_only
def score_rows_with_updater(updater: Any, rows: Rows, slots: int, canonical: bool, out: NDArray[np.float64]) -> int:
    """Write the scores of the updater itself for each row up to one that is rejected; return their number."""
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
    """Write w·x of each row up to one that is rejected, for a weight vector laid out in slots; return their number."""
    for i in range(len(out)):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        dot, sq_norm = dot_and_sq_norm(rows, i, weights)
        if not sq_norm < largest:
            return i
        out[i] = dot + bias * weights[0]
    return len(out)
