"""The one loop for many columns of weights: predict, be told, count, update."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_shared
from novikoff.core.losses import loss_value, mistake_margin
from novikoff.core.multiclass.decoding import is_wrong
from novikoff.core.multiclass.gradients import compute_gradients, write_label_signs
from novikoff.core.multiclass.online_ensembles import count_members, is_misclassified
from novikoff.core.multiclass.schemes import (
    BINARY_RELEVANCE,
    ONE_VS_REST,
    ONLINE_BAGGING,
    ONLINE_BOOSTING,
    ColumnCounters,
    MulticlassWorkspace,
    Scheme,
    Targets,
    binary_target,
    columns_needed,
    is_joint_update,
    max_class,
    radius_factor,
)
from novikoff.core.multiclass.weight_matrix import ColumnUpdate, score_example, update_columns
from novikoff.core.updaters.base import accepts_row, bias_sq_norm, effective_sq_norm, end_step, max_sq_norm, norm
from novikoff.data.rows import Rows, indices_sorted, row_sq_norm
from novikoff.ledger import ENERGY, EXAMPLES, LOSS, SQUARED_RADIUS, UPDATES, WEIGHTED, LedgerCounters, count_mistake

# Where each number lives in Tally.counts.
N_CLASSES, NEW_CLASS_EXAMPLES, VIOLATIONS = 0, 1, 2


@compiled
def count_columns(
    scheme: Scheme,
    targets: Targets,
    i: int,
    loss: Any,
    weight: float,
    n_classes: int,
    workspace: MulticlassWorkspace,
    column_counters: ColumnCounters,
) -> float:
    """Counts for each column that it has seen example i; returns the loss."""
    if scheme.kind == ONE_VS_REST:
        return count_one_vs_rest(scheme, targets.classes[i], loss, weight, n_classes, workspace, column_counters)
    if not is_joint_update(scheme):
        return count_uncommon(scheme, targets, i, loss, weight, n_classes, workspace, column_counters)
    t = column_counters.times[0] + 1
    for c in range(max(1, columns_needed(scheme, n_classes))):  # time goes on even where there is no column yet
        column_counters.times[c] = t
    return 0.0


@compiled
def count_one_vs_rest(
    scheme: Scheme,
    y: int,
    loss: Any,
    weight: float,
    n_classes: int,
    workspace: MulticlassWorkspace,
    column_counters: ColumnCounters,
) -> float:
    """Count as `count_columns` does, for one class against the rest."""
    loss_sum = 0.0
    if math.isnan(mistake_margin(loss)):
        for c in range(n_classes):
            s, target = workspace.scores[c], 1.0 if c == y else -1.0
            column_counters.times[c] += 1
            column_counters.mistakes[c] += is_misclassified(scheme, s, target)
            loss_sum += weight * loss_value(loss, s, target)
        return loss_sum
    for c in range(n_classes):  # a loss without a value
        s, target = workspace.scores[c], 1.0 if c == y else -1.0
        column_counters.times[c] += 1
        column_counters.mistakes[c] += (target * s < 0.0) | ((s == 0.0) & (target * scheme.tie < 0.0))
    return loss_sum


@compiled_shared
def count_uncommon(
    scheme: Scheme,
    targets: Targets,
    i: int,
    loss: Any,
    weight: float,
    n_classes: int,
    workspace: MulticlassWorkspace,
    column_counters: ColumnCounters,
) -> float:
    """Count as `count_columns` does, for the reductions and ensembles that are used less."""
    if scheme.kind == BINARY_RELEVANCE:
        return count_labels(scheme, targets, i, loss, weight, n_classes, workspace, column_counters)
    if scheme.kind == ONLINE_BAGGING or scheme.kind == ONLINE_BOOSTING:  # noqa: PLR1714 - compiled as it stands
        return count_members(scheme, targets, i, loss, weight, n_classes, workspace, column_counters)
    return count_reduction(scheme, targets, i, loss, weight, n_classes, workspace, column_counters)


@compiled
def count_reduction(
    scheme: Scheme,
    targets: Targets,
    i: int,
    loss: Any,
    weight: float,
    n_classes: int,
    workspace: MulticlassWorkspace,
    column_counters: ColumnCounters,
) -> float:
    loss_sum = 0.0
    for c in range(columns_needed(scheme, n_classes)):
        target, s = binary_target(scheme, targets.classes[i], c), workspace.scores[c]
        if target != 0.0:
            column_counters.times[c] += 1
            column_counters.mistakes[c] += is_misclassified(scheme, s, target)
            loss_sum += weight * loss_value(loss, s, target)
    return loss_sum


@compiled
def count_labels(
    scheme: Scheme,
    targets: Targets,
    i: int,
    loss: Any,
    weight: float,
    n_classes: int,
    workspace: MulticlassWorkspace,
    column_counters: ColumnCounters,
) -> float:
    loss_sum = 0.0
    write_label_signs(targets, i, n_classes, workspace.spare)
    for c in range(n_classes):
        column_counters.times[c] += 1
        column_counters.mistakes[c] += is_misclassified(scheme, workspace.scores[c], workspace.spare[c])
        loss_sum += weight * loss_value(loss, workspace.scores[c], workspace.spare[c])
    return loss_sum


@compiled
def step_multiclass(
    scheme: Scheme,
    loss: Any,
    updater: Any,
    rows: Rows,
    targets: Targets,
    i: int,
    weight: float,
    stride: int,
    column_counters: ColumnCounters,
    workspace: MulticlassWorkspace,
    counters: LedgerCounters,
) -> bool:
    """Example i, all of whose terms have slots; False, with nothing changed, where it is refused."""
    largest = max_sq_norm(updater.weights)
    sq_norm = row_sq_norm(rows, i) + bias_sq_norm(updater)
    if not (sq_norm < largest and accepts_row(updater, rows, i)):
        return False
    n_classes_before = column_counters.counts[N_CLASSES]
    n_classes = max(n_classes_before, max_class(targets, i) + 1)
    n_columns = columns_needed(scheme, n_classes)
    score_example(updater, rows, i, stride, n_columns, workspace)
    # What is told now can't have been predicted: the prediction is that of the classes known before.
    violations = compute_gradients(scheme, targets, i, loss, norm(updater), n_classes, workspace)
    wrong = n_classes > n_classes_before or is_wrong(scheme, targets, i, loss, n_classes_before, violations, workspace)
    energy, has_gradient, scores_in_range = 0.0, False, True
    for c in range(n_columns):
        has_gradient |= workspace.gradients[c] != 0.0
        scores_in_range &= abs(workspace.scores[c]) < largest
    is_update = False
    if has_gradient:
        for c in range(n_columns):
            workspace.gradients[c] *= weight
            is_update |= workspace.gradients[c] != 0.0
            energy += workspace.gradients[c] * workspace.gradients[c]
    if not (scores_in_range and energy * sq_norm < largest):
        return False
    counters.counts[EXAMPLES] += 1
    column_counters.counts[N_CLASSES] = n_classes
    column_counters.counts[NEW_CLASS_EXAMPLES] += n_classes > n_classes_before
    column_counters.counts[VIOLATIONS] += violations
    counters.sums[SQUARED_RADIUS] = max(
        counters.sums[SQUARED_RADIUS], radius_factor(scheme, n_classes) * effective_sq_norm(updater, sq_norm)
    )
    if wrong:
        count_mistake(counters)
    counters.sums[LOSS] += count_columns(scheme, targets, i, loss, weight, n_classes, workspace, column_counters)
    if is_update:
        counters.counts[UPDATES] += 1
        counters.sums[ENERGY] += energy * sq_norm
        column_update = ColumnUpdate(
            n_columns,
            is_joint_update(scheme),
            workspace.gradients,
            column_counters.times,
            workspace.spare,
            n_classes_before,
        )
        update_columns(updater, rows, i, stride, column_update)
    end_step(updater, counters.counts[EXAMPLES])
    return True


@compiled
def learn_multiclass(
    scheme: Scheme,
    loss: Any,
    updater: Any,
    rows: Rows,
    targets: Targets,
    count: int,
    weights: NDArray[np.float64],
    slots: int,
    stride: int,
    column_counters: ColumnCounters,
    workspace: MulticlassWorkspace,
    counters: LedgerCounters,
    canonical: bool,
) -> int:
    """One pass; returns how many rows were taken: fewer than there are where one was refused. As `learn` in
    core/loop.py, for tables of weights `across` columns wide."""
    for i in range(count):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        weight = 1.0
        if len(weights) > 0:
            weight = weights[i]
            if weight == 0.0:
                if not (row_sq_norm(rows, i) < max_sq_norm(updater.weights) and accepts_row(updater, rows, i)):
                    return i
                continue
        if not step_multiclass(
            scheme, loss, updater, rows, targets, i, weight, stride, column_counters, workspace, counters
        ):
            return i
        if weight != 1.0:
            counters.counts[WEIGHTED] += 1
    return count
