"""Calibrate the probabilities of models with several columns of weights (core/calibration.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_not_inlined, generic
from novikoff.core.calibration import (
    MAX_CALIBRATED_SCORE,
    next_calibrated_example,
    update_calibration,
    update_softmax_calibration,
)
from novikoff.core.multiclass.decoding import score_classes
from novikoff.core.multiclass.gradients import write_label_signs
from novikoff.core.multiclass.schemes import (
    BINARY_RELEVANCE,
    THRESHOLDED_LABELS,
    ColumnCounters,
    MulticlassWorkspace,
    Scheme,
    Targets,
)
from novikoff.core.updaters.base import predicted_score
from novikoff.data.rows import ColumnView, Rows
from novikoff.ledger import CALIBRATED_NEXT, LedgerCounters


@generic
def write_predicted_scores(
    updater: Any,
    rows: Rows,
    i: int,
    stride: int,
    n_columns: int,
    tie: float,
    times: NDArray[np.int64],
    scores: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the score of each column for row i by the hypothesis that predicts; `scores` are those of the last
    weights, and `times` the steps of each column."""
    for c in range(n_columns):
        out[c] = predicted_score(updater, ColumnView(rows, rows.values, stride, c, scores), i, scores[c], tie, times[c])


@compiled_not_inlined
def calibrate_multiclass(
    scheme: Scheme,
    loss: Any,
    updater: Any,
    rows: Rows,
    targets: Targets,
    i: int,
    weight: float,
    stride: int,
    n_classes: int,
    n_columns: int,
    t: int,
    column_counters: ColumnCounters,
    workspace: MulticlassWorkspace,
    counters: LedgerCounters,
) -> None:
    """Calibrate by example i, number t, which the updater has not learned yet: a class among `n_classes` known ones, or
    each label of a set."""
    counters.counts[CALIBRATED_NEXT] = next_calibrated_example(t)
    columns, spare = workspace.calibration[:stride], workspace.calibration[stride:]
    write_predicted_scores(
        updater, rows, i, stride, n_columns, scheme.tie, column_counters.times, workspace.scores, columns
    )
    if n_classes > 1 and are_in_range(columns, n_columns):
        calibrate_scores(scheme, loss, targets, i, weight, n_classes, columns, spare, counters.calibration)


@compiled
def are_in_range(scores: NDArray[np.float64], count: int) -> bool:
    """Return whether all scores are finite numbers whose squares don't overflow."""
    in_range = True
    for c in range(count):
        in_range &= abs(scores[c]) < MAX_CALIBRATED_SCORE
    return in_range


@compiled
def calibrate_scores(
    scheme: Scheme,
    loss: Any,
    targets: Targets,
    i: int,
    weight: float,
    n_classes: int,
    columns: NDArray[np.float64],
    spare: NDArray[np.float64],
    calibration: NDArray[np.float64],
) -> None:
    """Learn the label of example i from the scores of columns."""
    score_classes(scheme, loss, columns, n_classes, spare)
    others = spare[len(spare) // 2 :]
    if scheme.kind == BINARY_RELEVANCE or scheme.kind == THRESHOLDED_LABELS:  # noqa: PLR1714 - compiled as it stands
        write_label_signs(targets, i, n_classes, others)
        for c in range(n_classes):
            update_calibration(calibration, spare[c], others[c], weight)
    elif targets.classes[i] < n_classes:
        update_softmax_calibration(calibration, spare, n_classes, targets.classes[i], weight, others)
