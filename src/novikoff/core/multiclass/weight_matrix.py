"""Many columns of weights over the same features, one for each class, pair of classes or bit of a code.

Every updater for one weight vector serves a table of them: the weight of slot j in column c is number
j·stride + c of its arrays. The columns of one example are scored in one go; those that are to move then move as they
would if each stood alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_read_only, generic
from novikoff._compiled.simd.dot import get_unchecked, set_unchecked
from novikoff._compiled.simd.dot_columns import BLOCK_COLUMNS
from novikoff._compiled.simd.weight_updates import dense_adagrad_step
from novikoff.core.averaging import step_power
from novikoff.core.multiclass.schemes import MulticlassWorkspace
from novikoff.core.updaters.adagrad import MAX_ABS_WEIGHT, AdaGrad, averages_by_changes
from novikoff.core.updaters.additive import Additive
from novikoff.core.updaters.arow import ArowState, score_variance, update_row, update_weight_and_variance
from novikoff.core.updaters.base import (
    PER_FEATURE_FIELDS,
    PER_SLOT_FIELDS,
    add_bias,
    allocate_filled,
    apply_pending,
    max_sq_norm,
    resize_array,
    scale_step,
    update,
    update_weight,
)
from novikoff.data.rows import (
    ColumnView,
    Rows,
    end_term,
    first_term,
    indices_sorted,
    row_sq_norm,
    sum_columns,
    weight_slot,
)

G = TypeVar("G", bound=Any)


@compiled
def score_columns(updater: Any, rows: Rows, i: int, stride: int, n_columns: int, scores: NDArray[np.float64]) -> None:
    """Write the scores of the first `n_columns` columns for row i, bias included."""
    for c in range(n_columns):
        apply_pending(updater, ColumnView(rows, rows.values, stride, c, scores), i)
    sum_columns(rows, i, updater.weights, stride, n_columns, scores)
    for c in range(n_columns):
        scores[c] = add_bias(updater, scores[c], c)


@generic
def score_example(
    updater: Any, rows: Rows, i: int, stride: int, n_columns: int, workspace: MulticlassWorkspace
) -> None:
    """Write the scores of the columns for row i to `workspace.scores`."""
    score_columns(updater, rows, i, stride, n_columns, workspace.scores)


class ColumnUpdate(NamedTuple):
    """The update of one example in all columns."""

    columns: int
    whole: bool
    """Whether all columns are one long vector, and their gradients one update."""
    gradients: NDArray[np.float64]
    times: NDArray[np.int64]
    """Each column's step."""
    spare: NDArray[np.float64]
    """Room for two numbers a column."""
    known: int
    """How many classes there were before this example."""


@generic
def update_columns(updater: Any, rows: Rows, i: int, stride: int, column_update: ColumnUpdate) -> None:
    """Update the weights of row i in every column whose gradient is not 0. Gradients and spare are overwritten."""
    update_columns_separately(updater, rows, i, stride, column_update)


@compiled
def update_columns_separately(updater: Any, rows: Rows, i: int, stride: int, column_update: ColumnUpdate) -> None:
    n_columns, gradients, times = column_update.columns, column_update.gradients, column_update.times
    for c in range(n_columns):
        if gradients[c] != 0.0:
            update(updater, ColumnView(rows, rows.values, stride, c, gradients), i, gradients[c], times[c])


@compiled
def next_updated(gradients: NDArray[np.float64], n_columns: int, c: int) -> int:
    """Return the first column from c on with a gradient; the number of columns where there is none."""
    while c < n_columns and gradients[c] == 0.0:
        c += 1
    return c


@compiled
def updates_many(gradients: NDArray[np.float64], n_columns: int) -> bool:
    """Return whether one loop over all columns of a feature is faster: where more than three have a gradient."""
    n_updated = 0
    for c in range(n_columns):
        n_updated += gradients[c] != 0.0
    return n_updated > 3


@update_columns.of(Additive)
def _update_columns_additive(updater: Additive, rows: Rows, i: int, stride: int, column_update: ColumnUpdate) -> None:
    n_columns, gradients, times = column_update.columns, column_update.gradients, column_update.times
    if not updates_many(gradients, n_columns):
        c = next_updated(gradients, n_columns, 0)
        other = next_updated(gradients, n_columns, c + 1)
        if other < n_columns and next_updated(gradients, n_columns, other + 1) == n_columns:
            update_two_columns(updater, rows, i, stride, column_update, c, other)
        else:
            update_columns_separately(updater, rows, i, stride, column_update)
        return
    for c in range(n_columns):
        if gradients[c] != 0.0:  # a column that has learned nothing yet is at step 0, which has no length
            gradients[c] = scale_step(updater, gradients[c], times[c])
    for k in range(first_term(rows, i), end_term(rows, i)):
        x, base = np.float64(get_unchecked(rows.values, k)), weight_slot(rows, i, k) * stride
        for c in range(n_columns):
            set_unchecked(
                updater.weights,
                base + c,
                np.float64(get_unchecked(updater.weights, base + c)) + get_unchecked(gradients, c) * x,
            )
    if updater.bias != 0.0:
        for c in range(n_columns):
            update_weight(updater, c, updater.bias, gradients[c], times[c])


@compiled
def update_two_columns(
    updater: Additive, rows: Rows, i: int, stride: int, column_update: ColumnUpdate, c: int, other: int
) -> None:
    """Update the columns of the true class and of the predicted one in one loop over the terms."""
    own_step, other_step = (
        scale_step(updater, column_update.gradients[c], column_update.times[c]),
        scale_step(updater, column_update.gradients[other], column_update.times[other]),
    )
    for k in range(first_term(rows, i), end_term(rows, i)):
        x, base = np.float64(get_unchecked(rows.values, k)), weight_slot(rows, i, k) * stride
        update_weight(updater, base + c, x, own_step, column_update.times[c])
        update_weight(updater, base + other, x, other_step, column_update.times[other])
    if updater.bias != 0.0:
        update_weight(updater, c, updater.bias, own_step, column_update.times[c])
        update_weight(updater, other, updater.bias, other_step, column_update.times[other])


@update_columns.of(AdaGrad)
def _update_columns_ada_grad(updater: AdaGrad, rows: Rows, i: int, stride: int, column_update: ColumnUpdate) -> None:
    n_columns, gradients, times, spare = (
        column_update.columns,
        column_update.gradients,
        column_update.times,
        column_update.spare,
    )
    if not updates_many(gradients, n_columns):
        update_columns_separately(updater, rows, i, stride, column_update)
        return
    max_abs, averaged = updater.scalars[MAX_ABS_WEIGHT], averages_by_changes(updater)
    past_powers, before = spare[:n_columns], spare[n_columns : 2 * n_columns]
    for c in range(n_columns):
        past_powers[c] = step_power(times[c] - 1, updater.tail) if averaged else 0.0
    for k in range(first_term(rows, i), end_term(rows, i)):
        x, base = np.float64(get_unchecked(rows.values, k)), weight_slot(rows, i, k) * stride
        if averaged:
            for c in range(n_columns):
                before[c] = np.float64(updater.weights[base + c, 0])
        # A step is symmetric in its two factors, the value and the gradient.
        max_abs = max(
            max_abs, dense_adagrad_step(gradients, 0, n_columns, updater.weights[base - 1 :], x, updater.rate)
        )
        if averaged:
            for c in range(n_columns):
                updater.sums[base + c] += past_powers[c] * (np.float64(updater.weights[base + c, 0]) - before[c])
    updater.scalars[MAX_ABS_WEIGHT] = max_abs
    if updater.bias != 0.0:
        for c in range(n_columns):
            update_weight(updater, c, updater.bias, gradients[c], times[c])


@update_columns.of(ArowState)
def _update_columns_arow_state(
    updater: ArowState, rows: Rows, i: int, stride: int, column_update: ColumnUpdate
) -> None:
    n_columns, is_joint, gradients = column_update.columns, column_update.whole, column_update.gradients
    if is_joint:
        update_arow_joint(updater, rows, i, stride, column_update)
    elif updates_many(gradients, n_columns):
        update_arow_columns(updater, rows, i, stride, column_update)
    else:
        update_columns_separately(updater, rows, i, stride, column_update)


@compiled
def update_arow_joint(updater: ArowState, rows: Rows, i: int, stride: int, column_update: ColumnUpdate) -> None:
    """Take one step along x', which has (gradient of c)/G·x in block c, with the gradient G, the largest of all: v is
    the sum over all blocks."""
    n_columns, gradients, times, spare = (
        column_update.columns,
        column_update.gradients,
        column_update.times,
        column_update.spare,
    )
    largest, v = 0.0, 0.0
    for c in range(n_columns):
        largest = max(largest, abs(gradients[c]))
    for c in range(n_columns):
        if gradients[c] != 0.0:
            fraction = gradients[c] / largest
            v += fraction * fraction * score_variance(updater, ColumnView(rows, rows.values, stride, c, spare), i)
    beta = 1.0 / (v + updater.r)
    for c in range(n_columns):
        if gradients[c] != 0.0:
            fraction = gradients[c] / largest
            column = ColumnView(rows, rows.values, stride, c, spare)
            update_row(updater, column, i, beta * gradients[c], beta * (fraction * fraction), times[c])


@compiled
def update_arow_columns(updater: ArowState, rows: Rows, i: int, stride: int, column_update: ColumnUpdate) -> None:
    """Take a step in each column, with one loop over all columns of a feature."""
    n_columns, gradients, times, spare = (
        column_update.columns,
        column_update.gradients,
        column_update.times,
        column_update.spare,
    )
    betas, past_powers = spare[:n_columns], spare[n_columns : 2 * n_columns]
    for c in range(n_columns):
        betas[c] = 0.0
        past_powers[c] = step_power(times[c] - 1, updater.tail)
    for k in range(first_term(rows, i), end_term(rows, i)):
        x, base = np.float64(get_unchecked(rows.values, k)), weight_slot(rows, i, k) * stride
        for c in range(n_columns):
            betas[c] += x * x * np.float64(updater.weights[base + c, 1])
    for c in range(n_columns):
        v = betas[c] + updater.bias * updater.bias * np.float64(updater.weights[c, 1])
        betas[c] = 1.0 / (v + updater.r) if gradients[c] != 0.0 else 0.0
        gradients[c] *= betas[c]
    for k in range(first_term(rows, i), end_term(rows, i)):
        x, base = np.float64(get_unchecked(rows.values, k)), weight_slot(rows, i, k) * stride
        for c in range(n_columns):
            update_weight_and_variance(updater, base + c, x, gradients[c], betas[c], past_powers[c])
    if updater.bias != 0.0:
        for c in range(n_columns):
            update_weight_and_variance(updater, c, updater.bias, gradients[c], betas[c], past_powers[c])


@compiled
def score_rows_by_column(
    weights: NDArray[np.float64],
    rows: Rows,
    bias: float,
    stride: int,
    n_columns: int,
    slots: int,
    largest: float,
    canonical: bool,
    out: NDArray[np.float64],
) -> int:
    """Write `stride` scores for each row up to one that is rejected; return the number of rows."""
    count = len(out) // stride
    for i in range(count):
        if not ((canonical or indices_sorted(rows, i, slots)) and row_sq_norm(rows, i) < largest):
            return i
        row_scores = out[i * stride : (i + 1) * stride]
        sum_columns(rows, i, weights, stride, n_columns, row_scores)
        for c in range(n_columns):
            row_scores[c] += bias * weights[c]
    return count


@compiled_read_only
def score_columns_with_updater(
    updater: Any,
    rows: Rows,
    stride: int,
    n_columns: int,
    slots: int,
    canonical: bool,
    workspace: MulticlassWorkspace,
    out: NDArray[np.float64],
) -> int:
    """Write the scores of the updater itself, `stride` for each row up to one that is rejected; return the number of
    rows."""
    count = len(out) // stride
    for i in range(count):
        if not ((canonical or indices_sorted(rows, i, slots)) and row_sq_norm(rows, i) < max_sq_norm(updater.weights)):
            return i
        score_example(updater, rows, i, stride, n_columns, workspace)
        for c in range(n_columns):
            out[i * stride + c] = workspace.scores[c]
    return count


def padded_columns(n_columns: int) -> int:
    """Return the width of a table for this number of columns: whole blocks."""
    return max(1, -(-n_columns // BLOCK_COLUMNS)) * BLOCK_COLUMNS


def resize_table(updater: G, slots: int, stride: int, new_slots: int, new_stride: int) -> G:
    """Return the updater with a table of another size: new weights are fresh, surplus ones are dropped."""
    changes = {}
    for name in PER_SLOT_FIELDS:
        array = getattr(updater, name, None)
        if array is not None and len(array):
            fill = getattr(updater, "fresh", 0.0) if name == "weights" else 0.0
            rest = array.shape[1:]
            table = allocate_filled((new_slots, new_stride, *rest), fill, array.dtype)
            s, a = min(slots, new_slots), min(stride, new_stride)
            table[:s, :a] = array.reshape(slots, stride, *rest)[:s, :a]
            changes[name] = table.reshape(new_slots * new_stride, *rest)
    for name in PER_FEATURE_FIELDS:
        array = getattr(updater, name, None)
        if array is not None and len(array):
            changes[name] = resize_array(array, new_slots)
    return updater._replace(**changes)
