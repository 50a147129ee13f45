"""Learn many classes online, with a column of weights per class: predict, compare with the label, count, update."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_shared
from novikoff.core.class_weights import class_weight, count_class
from novikoff.core.cursor import sample_weight
from novikoff.core.losses import loss_value, mistake_margin
from novikoff.core.multiclass.calibration import calibrate_multiclass
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
from novikoff.core.updaters.base import (
    accepts_row,
    bias_sq_norm,
    effective_sq_norm,
    end_step,
    is_valid_row,
    max_sq_norm,
    norm,
)
from novikoff.data.rows import Rows, indices_sorted, row_sq_norm
from novikoff.ledger import (
    CALIBRATED_NEXT,
    LedgerCounters,
    count_example,
    count_loss,
    count_mistake,
    count_sample_weight,
    count_update,
)

# Entries of ColumnCounters.counts.
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
    """Count example i in the counters of its columns; return the sum of their losses."""
    if scheme.kind == ONE_VS_REST:
        return count_one_vs_rest(scheme, targets.classes[i], loss, weight, n_classes, workspace, column_counters)
    if not is_joint_update(scheme):
        return count_uncommon(scheme, targets, i, loss, weight, n_classes, workspace, column_counters)
    t = column_counters.times[0] + 1
    for c in range(max(1, columns_needed(scheme, n_classes))):  # steps are counted even before there is a column
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


# The online algorithm for columns of weights w_1, w_2, …, for t = 1, 2, …:
#
#     s_c = w_c·x for all c            score_example
#     if the prediction is wrong:      count_mistake     the scheme decodes the scores: highest score, votes, …
#     g_c = weight · γ_c(s, y)         compute_gradients the scheme and the loss: which columns move, and how far
#     if any g_c ≠ 0:                  count_update
#         w_c = U(w_c, g_c, x, t)      update_columns    the updater, in each column with g_c ≠ 0


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
    """Learn example i, whose terms all have slots; return False, with nothing changed, where it is rejected."""
    largest = max_sq_norm(updater.weights)
    sq_norm = row_sq_norm(rows, i) + bias_sq_norm(updater)
    if not (sq_norm < largest and accepts_row(updater, rows, i)):
        return False
    n_classes_before = column_counters.counts[N_CLASSES]
    n_classes = max(n_classes_before, max_class(targets, i) + 1)
    n_columns = columns_needed(scheme, n_classes)
    score_example(updater, rows, i, stride, n_columns, workspace)
    violations = compute_gradients(scheme, targets, i, loss, norm(updater), n_classes, workspace)
    # The prediction is among the classes seen before: the first example of a class is a mistake.
    wrong = n_classes > n_classes_before or is_wrong(scheme, targets, i, loss, n_classes_before, violations, workspace)
    scores_in_range, is_update, energy = scale_gradients(workspace, n_columns, weight, largest)
    if not (scores_in_range and energy * sq_norm < largest):
        return False
    t = count_example(counters, radius_factor(scheme, n_classes) * effective_sq_norm(updater, sq_norm))
    if t == counters.counts[CALIBRATED_NEXT]:
        calibrate_multiclass(
            scheme,
            loss,
            updater,
            rows,
            targets,
            i,
            weight,
            stride,
            n_classes_before,
            columns_needed(scheme, n_classes_before),
            t,
            column_counters,
            workspace,
            counters,
        )
    column_counters.counts[N_CLASSES] = n_classes
    column_counters.counts[NEW_CLASS_EXAMPLES] += n_classes > n_classes_before
    column_counters.counts[VIOLATIONS] += violations
    if wrong:
        count_mistake(counters)
    count_loss(counters, count_columns(scheme, targets, i, loss, weight, n_classes, workspace, column_counters))
    if is_update:
        count_update(counters, energy * sq_norm)
        column_update = ColumnUpdate(
            n_columns,
            is_joint_update(scheme),
            workspace.gradients,
            column_counters.times,
            workspace.spare,
            n_classes_before,
        )
        update_columns(updater, rows, i, stride, column_update)
    end_step(updater, t)
    return True


@compiled
def scale_gradients(
    workspace: MulticlassWorkspace, n_columns: int, weight: float, largest: float
) -> tuple[bool, bool, float]:
    """Multiply the gradients by the sample weight.

    Returns whether all scores are in range, whether any gradient is not 0, and Σ g_c². Most examples have no gradient,
    and only the first of the two loops runs.
    """
    has_gradient, scores_in_range = False, True
    for c in range(n_columns):
        has_gradient |= workspace.gradients[c] != 0.0
        scores_in_range &= abs(workspace.scores[c]) < largest
    is_update, energy = False, 0.0
    if has_gradient:
        for c in range(n_columns):
            workspace.gradients[c] *= weight
            is_update |= workspace.gradients[c] != 0.0
            energy += workspace.gradients[c] * workspace.gradients[c]
    return scores_in_range, is_update, energy


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
    """Learn `count` rows in one pass; return the number of rows learned: all, or those before a rejected row.

    The weights are a table of `stride` columns. The other arguments are those of `learn` in core/loop.py.
    """
    for i in range(count):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        weight = sample_weight(weights, i)
        if weight == 0.0:
            if not is_valid_row(updater, rows, i):
                return i
            continue
        c = targets.classes[i] if len(counters.class_weights) else 0  # label sets have no weights of classes
        weight *= class_weight(counters.class_weights, c)
        if not step_multiclass(
            scheme, loss, updater, rows, targets, i, weight, stride, column_counters, workspace, counters
        ):
            return i
        count_sample_weight(counters, weight)
        count_class(counters.class_weights, c)
    return count
