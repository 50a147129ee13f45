"""Weighted majority of several learners (core/updaters/weighted_majority.py), with a column of weights per class.

Members learn preferences between the class of an example and its highest rival, as in Kesler's construction.

Every member has rivals of its own. The scale of a feature stands in column 0, and in each column with a weight for it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.losses import HINGE, PERCEPTRON_LOSS, SQUARED_HINGE, Loss
from novikoff.core.multiclass.calibration import write_predicted_scores
from novikoff.core.multiclass.pairwise_gradients import pair_gradient
from novikoff.core.multiclass.schemes import MulticlassWorkspace
from novikoff.core.multiclass.weight_matrix import ColumnUpdate, score_example, update_columns
from novikoff.core.updaters.arow import score_variance, update_row
from novikoff.core.updaters.base import update
from novikoff.core.updaters.weighted_majority import (
    ADAGRAD,
    ADAGRAD_LAST,
    ADAGRAD_MEAN,
    AROW,
    AROW_LAST,
    AROW_MEAN,
    FEATURE_SCALE,
    MEMBER_PREDICTIONS,
    MIN_VOTE,
    N_MEMBERS,
    N_SCORES,
    N_STEPS,
    PERCEPTRON,
    PERCEPTRON_LAST,
    PREDICTED,
    SCALED_BIAS,
    SCORE_SQUARES,
    VOTES,
    WeightedMajority,
    adagrad_view,
    add_score_term,
    arow_view,
    finish_averages,
    member_score,
    perceptron_step,
    scale_example,
    update_scale,
    update_votes,
)
from novikoff.data.rows import Rows, ScaledRow, end_term, first_term, weight_slot

SMALLEST_STEP = 2.0**-52
"""The relative distance from 1 to the next number."""


@compiled
def scores_offset(spare: NDArray[np.float64], stride: int) -> int:
    """Return where the scores of columns are noted: at the end, which no other function writes to."""
    return len(spare) - N_SCORES * stride


@score_example.of(WeightedMajority)
def _score_example_weighted_majority(
    updater: WeightedMajority, rows: Rows, i: int, stride: int, n_columns: int, workspace: MulticlassWorkspace
) -> None:
    """Write the score of each class: the sum of its scores by the members, each times the member's vote. The class with
    the most votes has the highest score: it changes places with the class that had."""
    scale_example(updater, rows, i, stride)
    notes, at, start = workspace.spare, scores_offset(workspace.spare, stride), first_term(rows, i)
    for k in range(at, len(notes)):
        notes[k] = 0.0
    for k in range(start, end_term(rows, i)):
        x, base = np.float64(updater.example[k - start]), weight_slot(rows, i, k) * stride
        for c in range(n_columns):
            add_score_term(updater, base + c, x, notes, at + c, stride)
    for c in range(n_columns):
        add_score_term(updater, c, updater.notes[SCALED_BIAS], notes, at + c, stride)
        workspace.scores[c] = 0.0
    finish_averages(updater, notes, at, stride, n_columns)
    for member in range(N_MEMBERS):
        best, most = 0, -math.inf
        for c in range(n_columns):
            z = member_score(updater, member, notes, at + c, stride)
            if z > most:
                best, most = c, z
        updater.notes[MEMBER_PREDICTIONS + member] = best
        if n_columns > 0:
            workspace.scores[best] += updater.scalars[VOTES + member]
    winner = argmax(workspace.scores, n_columns)
    updater.notes[PREDICTED] = winner
    write_graded_scores(updater, n_columns, notes, at, stride, workspace.scores)
    if n_columns > 0:
        move_highest_score(workspace.scores, argmax(workspace.scores, n_columns), winner)


@compiled
def move_highest_score(scores: NDArray[np.float64], best: int, winner: int) -> None:
    """Exchange the highest score, that of class `best`, with that of the winner; of two equal ones, make it higher."""
    if best != winner:
        highest = scores[best]
        if scores[winner] == highest:
            highest += abs(highest) * SMALLEST_STEP + MIN_VOTE
        scores[best] = scores[winner]
        scores[winner] = highest


@compiled
def write_graded_scores(
    updater: WeightedMajority,
    n_columns: int,
    notes: NDArray[np.float64],
    at: int,
    stride: int,
    scores: NDArray[np.float64],
) -> None:
    """Write Σ vote·z_c over the members for each class c, z_c the member's score less its mean over the classes."""
    for c in range(n_columns):
        scores[c] = 0.0
    for member in range(N_MEMBERS):
        mean = 0.0
        for c in range(n_columns):
            mean += member_score(updater, member, notes, at + c, stride)
        mean /= n_columns
        for c in range(n_columns):
            z = member_score(updater, member, notes, at + c, stride) - mean
            scores[c] += updater.scalars[VOTES + member] * z


@compiled
def argmax(scores: NDArray[np.float64], count: int) -> int:
    """Return the first class with the highest score; 0 if there is no class."""
    best = 0
    for c in range(1, count):
        if scores[c] > scores[best]:
            best = c
    return best


@write_predicted_scores.of(WeightedMajority)
def _write_predicted_scores_weighted_majority(
    updater: WeightedMajority,
    rows: Rows,
    i: int,
    stride: int,
    n_columns: int,
    tie: float,
    times: NDArray[np.int64],
    scores: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    for c in range(n_columns):
        out[c] = scores[c]


@compiled
def highest_rival(scores: NDArray[np.float64], n_columns: int, y: int) -> int:
    """Return the other class with the highest score."""
    best = -1
    for c in range(n_columns):
        if c != y and (best < 0 or scores[c] > scores[best]):
            best = c
    return best


@compiled
def population_variance(scores: NDArray[np.float64], n_columns: int) -> float:
    total, squares = 0.0, 0.0
    for c in range(n_columns):
        total += scores[c]
        squares += scores[c] * scores[c]
    return max(0.0, (squares - total * total / n_columns) / n_columns)


@compiled
def copy_scale(updater: WeightedMajority, at: ScaledRow, i: int) -> None:
    """Beside the weights of a column that has moved."""
    for k in range(first_term(at, i), end_term(at, i)):
        j = weight_slot(at, i, k)
        updater.weights[j, FEATURE_SCALE] = updater.weights[j - at.at, FEATURE_SCALE]


@update_columns.of(WeightedMajority)
def _update_columns_weighted_majority(
    updater: WeightedMajority, rows: Rows, i: int, stride: int, column_update: ColumnUpdate
) -> None:
    n_columns, y, at = column_update.columns, 0, scores_offset(column_update.spare, stride)
    for c in range(n_columns):
        if column_update.gradients[c] > column_update.gradients[y]:
            y = c
    weight = column_update.gradients[y]
    update_votes(updater, np.float64(y), y < column_update.known)
    of_arow, by_arow = column_update.spare[at + stride * AROW_LAST :], column_update.spare[at + stride * AROW_MEAN :]
    of_adagrad, by_adagrad = (
        column_update.spare[at + stride * ADAGRAD_LAST :],
        column_update.spare[at + stride * ADAGRAD_MEAN :],
    )
    of_last = column_update.spare[at + stride * PERCEPTRON_LAST :]
    updater.scalars[SCORE_SQUARES + AROW] += population_variance(by_arow, n_columns)
    updater.scalars[SCORE_SQUARES + ADAGRAD] += population_variance(by_adagrad, n_columns)
    updater.scalars[SCORE_SQUARES + PERCEPTRON] += population_variance(of_last, n_columns)
    update_scale(updater, rows, i, stride, n_columns)
    step, own_row = int(updater.scalars[N_STEPS]), ScaledRow(rows, updater.example, stride, y)
    copy_scale(updater, own_row, i)

    rival_class = highest_rival(of_arow, n_columns, y)
    member_gradient = weight * pair_gradient(Loss(SQUARED_HINGE, 0.0), of_arow[y] - of_arow[rival_class], 0.0)
    if member_gradient != 0.0:
        rival_row, member = ScaledRow(rows, updater.example, stride, rival_class), arow_view(updater)
        beta = 1.0 / (score_variance(member, own_row, i) + score_variance(member, rival_row, i) + updater.r)
        update_row(member, own_row, i, beta * member_gradient, beta, step)
        update_row(member, rival_row, i, -beta * member_gradient, beta, step)
        copy_scale(updater, rival_row, i)

    rival_class = highest_rival(of_adagrad, n_columns, y)
    member_gradient = weight * pair_gradient(Loss(HINGE, 0.0), of_adagrad[y] - of_adagrad[rival_class], 0.0)
    if member_gradient != 0.0:
        rival_row = ScaledRow(rows, updater.example, stride, rival_class)
        update(adagrad_view(updater), own_row, i, member_gradient, step)
        update(adagrad_view(updater), rival_row, i, -member_gradient, step)
        copy_scale(updater, rival_row, i)

    rival_class = highest_rival(of_last, n_columns, y)
    member_gradient = weight * pair_gradient(Loss(PERCEPTRON_LOSS, 0.0), of_last[y] - of_last[rival_class], 0.0)
    if member_gradient != 0.0:
        rival_row = ScaledRow(rows, updater.example, stride, rival_class)
        perceptron_step(updater, own_row, i, member_gradient)
        perceptron_step(updater, rival_row, i, -member_gradient)
        copy_scale(updater, rival_row, i)
