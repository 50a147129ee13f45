"""Decode the scores of columns: a score for each class, the prediction, and whether it is right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_read_only, compiled_shared
from novikoff.core.losses import loss_value
from novikoff.core.multiclass.online_ensembles import score_by_votes
from novikoff.core.multiclass.pairwise_gradients import index_of_score, max_score
from novikoff.core.multiclass.schemes import (
    BINARY_RELEVANCE,
    LABEL_RANKING,
    LABEL_TREE,
    MULTICLASS_MARGIN,
    ONE_VS_ONE,
    ONE_VS_REST,
    ONLINE_BAGGING,
    ONLINE_BOOSTING,
    OUTPUT_CODE,
    THRESHOLDED_LABELS,
    MulticlassWorkspace,
    Scheme,
    Targets,
)


@compiled
def score_classes(
    scheme: Scheme, loss: Any, scores: NDArray[np.float64], n_classes: int, workspace: NDArray[np.float64]
) -> None:
    """Write a score for each class: the highest wins."""
    if scheme.kind == ONE_VS_ONE:
        score_by_pairs(scheme, scores, n_classes, workspace)
    elif scheme.kind == OUTPUT_CODE:
        score_by_code_words(scheme, loss, scores, n_classes, workspace)
    elif scheme.kind == THRESHOLDED_LABELS:
        for c in range(n_classes):
            workspace[c] = scores[c + 1] - scores[0]
    elif scheme.kind == LABEL_TREE:
        score_by_paths(scheme, scores, n_classes, workspace)
    elif scheme.kind == ONLINE_BAGGING or scheme.kind == ONLINE_BOOSTING:  # noqa: PLR1714 - compiled as it stands
        score_by_votes(scheme, scores, n_classes, workspace)
    else:
        for c in range(n_classes):
            workspace[c] = scores[c]


@compiled
def predict_class(
    scheme: Scheme, loss: Any, scores: NDArray[np.float64], n_classes: int, workspace: NDArray[np.float64]
) -> int:
    """Return the predicted class, the first of equals; −1 where no class is known."""
    score_classes(scheme, loss, scores, n_classes, workspace)
    return argmax_score(workspace, n_classes)


@compiled
def argmax_score(scores: NDArray[np.float64], count: int) -> int:
    return index_of_score(scores, count, max_score(scores, count))


@compiled
def higher_class_wins(scheme: Scheme, scores: NDArray[np.float64], low: int, high: int) -> bool:
    """Return whether the higher of two classes wins over the lower one."""
    s = scores[high * (high - 1) // 2 + low]
    return s > 0.0 or (s == 0.0 and scheme.tie > 0.0)


@compiled
def score_by_pairs(scheme: Scheme, scores: NDArray[np.float64], n_classes: int, workspace: NDArray[np.float64]) -> None:
    """Write the number of pairs that each class wins, or the sum of its scores in them."""
    for c in range(n_classes):
        workspace[c] = 0.0
    if scheme.tournament == 0.0:
        for high in range(1, n_classes):
            for low in range(high):
                workspace[high if higher_class_wins(scheme, scores, low, high) else low] += 1.0
    else:
        best = 0
        for c in range(1, n_classes):  # match c: how late a class loses is how far it gets
            loser = c
            if higher_class_wins(scheme, scores, best, c):
                best, loser = c, best
            workspace[loser] = c - 1.0
            workspace[best] = np.float64(c)


@compiled
def bit_loss(loss: Any, margin: float) -> float:
    """Return the loss of a score for a bit, from their product, by the hinge loss where the learner's has no value.

    A bit of 0 costs as much as a score of 0.
    """
    loss_at_margin = loss_value(loss, margin, 1.0)
    return max(0.0, 1.0 - margin) if loss_at_margin == 0.0 else loss_at_margin


@compiled
def score_by_code_words(
    scheme: Scheme, loss: Any, scores: NDArray[np.float64], n_classes: int, workspace: NDArray[np.float64]
) -> None:
    """Write how near the scores are to the code word of each class."""
    for k in range(n_classes):
        workspace[k] = 0.0
        for c in range(scheme.columns[n_classes]):
            y, s = np.float64(scheme.words[k, c]), scores[c]
            if scheme.by_loss != 0.0:
                workspace[k] -= bit_loss(loss, y * s)
            elif y == 0.0:
                workspace[k] -= 0.5  # a bit that is neither is half wrong, whatever the score is
            else:
                workspace[k] -= y * s < 0.0 or (s == 0.0 and y * scheme.tie < 0.0)


@compiled
def score_by_paths(scheme: Scheme, scores: NDArray[np.float64], n_classes: int, workspace: NDArray[np.float64]) -> None:
    """Write the sum of the scores of the nodes on the path of each class, from the root down."""
    for c in range(n_classes):
        workspace[c] = 0.0
        for k in range(scheme.starts[c], scheme.starts[c + 1]):
            workspace[c] += scores[scheme.nodes[k]]


@compiled_read_only
def score_and_predict_rows(
    scheme: Scheme,
    loss: Any,
    scores: NDArray[np.float64],
    stride: int,
    n_classes: int,
    workspace: NDArray[np.float64],
    out: NDArray[np.float64],
    winners: NDArray[np.int64],
) -> None:
    """Call `score_classes` and `predict_class` for many rows, each with `stride` scores of columns.

    Write `n_classes` scores of classes to `out`, and the predicted class to `winners`, for each row.
    """
    for i in range(len(winners)):
        row_scores = scores[i * stride : (i + 1) * stride]
        score_classes(scheme, loss, row_scores, n_classes, workspace)
        for c in range(n_classes):
            out[i * n_classes + c] = workspace[c]
        winners[i] = predict_class(scheme, loss, row_scores, n_classes, workspace)


# --- Whether the prediction was right ---


@compiled
def is_wrong(
    scheme: Scheme, targets: Targets, i: int, loss: Any, n_classes: int, violations: int, workspace: MulticlassWorkspace
) -> bool:
    """Return whether the prediction differs from the label of the example."""
    if scheme.kind == ONE_VS_REST or scheme.kind == MULTICLASS_MARGIN:  # noqa: PLR1714 - compiled as it stands
        return is_outscored(workspace.scores, n_classes, targets.classes[i])
    return is_wrong_uncommon(scheme, targets, i, loss, n_classes, violations, workspace)


@compiled_shared
def is_wrong_uncommon(
    scheme: Scheme, targets: Targets, i: int, loss: Any, n_classes: int, violations: int, workspace: MulticlassWorkspace
) -> bool:
    """Return what `is_wrong` does, for the schemes that are used less."""
    if scheme.kind == LABEL_RANKING or scheme.kind == BINARY_RELEVANCE:  # noqa: PLR1714
        return violations > 0
    if scheme.kind == THRESHOLDED_LABELS:
        return label_set_differs(targets, i, n_classes, workspace)
    return predict_class(scheme, loss, workspace.scores, n_classes, workspace.spare) != targets.classes[i]


@compiled
def is_outscored(scores: NDArray[np.float64], n_classes: int, y: int) -> bool:
    """Return whether class y is not the first of those with the highest score."""
    own_score, is_ahead = scores[y], False
    for c in range(n_classes):
        is_ahead |= (scores[c] > own_score) | ((scores[c] == own_score) & (c < y))
    return is_ahead


@compiled
def label_set_differs(targets: Targets, i: int, n_classes: int, workspace: MulticlassWorkspace) -> bool:
    """Return whether the labels above the threshold are not those of the example."""
    scores, spare = workspace.scores, workspace.spare
    for c in range(n_classes):
        spare[c] = scores[c + 1] > scores[0]
    for k in range(targets.starts[i], targets.starts[i + 1]):
        if targets.members[k] < n_classes:
            spare[targets.members[k]] -= 1.0
    found = False
    for c in range(n_classes):
        found |= spare[c] != 0.0
    return found
