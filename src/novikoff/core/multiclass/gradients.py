"""Compute the gradient of each column of weights from the scores of the columns and the label."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_shared
from novikoff.core.losses import gradient, mistake_margin
from novikoff.core.multiclass.decoding import score_classes
from novikoff.core.multiclass.online_ensembles import compute_member_gradients, is_misclassified
from novikoff.core.multiclass.pairwise_gradients import (
    ExplicitPairs,
    GradePairs,
    compute_margin_gradients,
    compute_pair_gradients,
)
from novikoff.core.multiclass.schemes import (
    BINARY_RELEVANCE,
    LABEL_RANKING,
    LABEL_TREE,
    MULTICLASS_MARGIN,
    ONE_VS_REST,
    ONLINE_BAGGING,
    ONLINE_BOOSTING,
    THRESHOLDED_LABELS,
    MulticlassWorkspace,
    Scheme,
    Targets,
    binary_target,
    columns_needed,
)


@compiled
def compute_gradients(
    scheme: Scheme, targets: Targets, i: int, loss: Any, norm: float, n_classes: int, workspace: MulticlassWorkspace
) -> int:
    """Write the gradient of each column for example i; return the number of binary problems that are predicted
    wrong."""
    scores, gradients = workspace.scores, workspace.gradients
    if scheme.kind == MULTICLASS_MARGIN:
        return int(
            compute_margin_gradients(scheme.update, loss, norm, scores, n_classes, targets.classes[i], gradients)
        )
    if scheme.kind == ONE_VS_REST:
        return compute_one_vs_rest_gradients(scheme, targets.classes[i], loss, norm, n_classes, workspace)
    return compute_uncommon_gradients(scheme, targets, i, loss, norm, n_classes, workspace)


@compiled_shared
def compute_uncommon_gradients(
    scheme: Scheme, targets: Targets, i: int, loss: Any, norm: float, n_classes: int, workspace: MulticlassWorkspace
) -> int:
    """Return what `compute_gradients` does, for the schemes that are used less."""
    if scheme.kind == BINARY_RELEVANCE:
        return compute_label_gradients(scheme, targets, i, loss, norm, n_classes, workspace)
    if scheme.kind == THRESHOLDED_LABELS:
        return compute_threshold_gradients(scheme, targets, i, loss, norm, n_classes, workspace)
    if scheme.kind == LABEL_RANKING:
        return compute_ranking_gradients(scheme, targets, i, loss, norm, n_classes, workspace)
    if scheme.kind == LABEL_TREE:
        return compute_tree_gradients(scheme, targets, i, loss, norm, n_classes, workspace)
    if scheme.kind == ONLINE_BAGGING or scheme.kind == ONLINE_BOOSTING:  # noqa: PLR1714 - compiled as it stands
        return compute_member_gradients(scheme, targets, i, loss, norm, n_classes, workspace)
    return compute_reduction_gradients(scheme, targets, i, loss, norm, n_classes, workspace)


@compiled
def compute_reduction_gradients(
    scheme: Scheme, targets: Targets, i: int, loss: Any, norm: float, n_classes: int, workspace: MulticlassWorkspace
) -> int:
    """Write the gradients of a reduction, where each column is a binary problem."""
    scores, gradients = workspace.scores, workspace.gradients
    y, violations = targets.classes[i], 0
    for c in range(columns_needed(scheme, n_classes)):
        target, s = binary_target(scheme, y, c), scores[c]
        wrong = is_misclassified(scheme, s, target)
        gradients[c] = gradient(loss, s, target, wrong, norm) if target != 0.0 else 0.0
        violations += wrong
    return violations


@compiled
def compute_one_vs_rest_gradients(
    scheme: Scheme, y: int, loss: Any, norm: float, n_classes: int, workspace: MulticlassWorkspace
) -> int:
    """Write the gradients for one class against the rest.

    With the Perceptron's loss there are no branches, so that several columns are computed at once (1.2 × on 20
    classes).
    """
    scores, gradients = workspace.scores, workspace.gradients
    margin, violations = mistake_margin(loss), 0
    if math.isnan(margin):
        for c in range(n_classes):
            target, s = 1.0 if c == y else -1.0, scores[c]
            wrong = is_misclassified(scheme, s, target)
            gradients[c] = gradient(loss, s, target, wrong, norm)
            violations += wrong
        return violations
    for c in range(n_classes):
        target = 1.0 if c == y else -1.0
        s = scores[c]
        wrong = (target * s < 0.0) | ((s == 0.0) & (target * scheme.tie < 0.0))
        gradients[c] = target if wrong | (target * s < margin) else 0.0
        violations += wrong
    return violations


@compiled
def compute_label_gradients(
    scheme: Scheme, targets: Targets, i: int, loss: Any, norm: float, n_classes: int, workspace: MulticlassWorkspace
) -> int:
    """Write the gradients of label sets, where each label is a binary problem."""
    scores, gradients, spare = workspace.scores, workspace.gradients, workspace.spare
    write_label_signs(targets, i, n_classes, spare)
    violations = 0
    for c in range(n_classes):
        wrong = is_misclassified(scheme, scores[c], spare[c])
        gradients[c] = gradient(loss, scores[c], spare[c], wrong, norm)
        violations += wrong
    return violations


@compiled
def write_label_signs(targets: Targets, i: int, n_classes: int, workspace: NDArray[np.float64]) -> None:
    """Write +1 for each label of example i, −1 for all others."""
    for c in range(n_classes):
        workspace[c] = -1.0
    for k in range(targets.starts[i], targets.starts[i + 1]):
        if targets.members[k] < n_classes:
            workspace[targets.members[k]] = 1.0


@compiled
def compute_threshold_gradients(
    scheme: Scheme, targets: Targets, i: int, loss: Any, norm: float, n_classes: int, workspace: MulticlassWorkspace
) -> int:
    """Write the gradients of label sets with a threshold: labels of the example ≻ threshold ≻ all others."""
    scores, gradients, spare = workspace.scores, workspace.gradients, workspace.spare
    for c in range(n_classes + 1):
        spare[c] = 0.0
    spare[0] = 1.0
    for k in range(targets.starts[i], targets.starts[i + 1]):
        spare[targets.members[k] + 1] = 2.0
    return compute_pair_gradients(scheme.update, loss, norm, scores, GradePairs(spare), n_classes + 1, gradients)


@compiled
def compute_ranking_gradients(
    scheme: Scheme, targets: Targets, i: int, loss: Any, norm: float, n_classes: int, workspace: MulticlassWorkspace
) -> int:
    """Write the gradients of the preferences of the example."""
    scores, gradients, spare = workspace.scores, workspace.gradients, workspace.spare
    for k in range(n_classes * n_classes):
        spare[k] = 0.0
    for k in range(targets.starts[i], targets.starts[i + 1], 2):
        spare[targets.members[k] * n_classes + targets.members[k + 1]] = 1.0
    return compute_pair_gradients(
        scheme.update, loss, norm, scores, ExplicitPairs(spare, n_classes), n_classes, gradients
    )


@compiled
def compute_tree_gradients(
    scheme: Scheme, targets: Targets, i: int, loss: Any, norm: float, n_classes: int, workspace: MulticlassWorkspace
) -> int:
    """Write the gradients of a tree: the class of the example ≻ all others, by the sums along their paths."""
    scores, gradients, spare = workspace.scores, workspace.gradients, workspace.spare
    score_classes(scheme, loss, scores, n_classes, spare)
    class_gradients, y = spare[n_classes:], targets.classes[i]
    violations = compute_margin_gradients(scheme.update, loss, norm, spare, n_classes, y, class_gradients)
    for c in range(columns_needed(scheme, n_classes)):
        gradients[c] = 0.0
    for c in range(n_classes):
        if c != y and class_gradients[c] != 0.0:
            # What both paths have in common is left out: it must stay exactly as it is.
            mine, other = scheme.starts[y], scheme.starts[c]
            while (
                mine < scheme.starts[y + 1]
                and other < scheme.starts[c + 1]
                and scheme.nodes[mine] == scheme.nodes[other]
            ):
                mine, other = mine + 1, other + 1
            for k in range(mine, scheme.starts[y + 1]):
                gradients[scheme.nodes[k]] -= class_gradients[c]
            for k in range(other, scheme.starts[c + 1]):
                gradients[scheme.nodes[k]] += class_gradients[c]
    return int(violations)
