"""Several learners whose scores are combined (core/updaters/stacked_learners.py), with a column of weights per class.

AROW, LOGISTIC and DRIFT learn preferences between the class of an example and its highest rival, each its own, as in
Kesler's construction. The features of the forecast are less their mean over the classes. The score of a class is the
logarithm of its probability.

A bias feature, −h for class 0 and h for class 1, is there only if the model began with these two classes: it continues
the bias of their forecast.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.column_scaling import (
    FACTOR,
    N_ROWS,
    N_VISITED,
    UNCENTRED,
    UNCENTRED_FACTOR,
    VALUE,
    clip,
    include_column,
    include_row,
    write_row,
)
from novikoff.core.multiclass.calibration import write_predicted_scores
from novikoff.core.multiclass.schemes import MulticlassWorkspace
from novikoff.core.multiclass.weight_matrix import ColumnUpdate, score_example, update_columns
from novikoff.core.stacking import bound_forecast, forget
from novikoff.core.updaters.stacked_learners import (
    AROW,
    AROW_LAST,
    AROW_MEAN,
    AROW_R,
    AROW_SUM,
    AROW_WEIGHT,
    BIAS,
    BIAS_FEATURE,
    CLASS_SUM,
    DISCRIMINANT,
    DISCRIMINANT_SCORE,
    DRIFT,
    DRIFT_LAST,
    DRIFT_WEIGHT,
    DRIFT_WEIGHTS,
    ERRORS,
    FORECAST_INVERSE,
    FORECAST_PRECISION,
    FORECAST_WEIGHTS,
    GRADIENT,
    LOGISTIC,
    LOGISTIC_LAST,
    LOGISTIC_MEAN,
    LOGISTIC_RATE,
    LOGISTIC_SUM,
    LOGISTIC_WEIGHT,
    MAX_FEATURE,
    MIXTURE,
    N_CLASS_NOTES,
    N_FEATURES,
    N_SCORES,
    PAUSED,
    SCORE_SQUARES,
    SQUARES,
    VARIANCE,
    StackedLearners,
    arow_power,
    arow_step,
    drift_step,
    forecast_memory,
    learn_drift_forecast,
    logistic_gradient,
    logistic_power,
    logistic_step,
    move_forecast,
    passive_aggressive_step,
    scaler_view,
    score_unit,
    uncentred_sq_norm,
    update_mixture,
)
from novikoff.data.rows import Rows

# Numbers of each class in the workspace: its scores, its features, and its probability in the forecast.
FEATURE_COLUMNS, FORECAST_COLUMN = N_SCORES, N_CLASS_NOTES - 1


@compiled
def class_notes_start(spare: NDArray[np.float64], stride: int) -> int:
    """Return where the notes on classes begin: they are at the end, which no other function writes to."""
    return len(spare) - N_CLASS_NOTES * stride


@compiled
def argmax(scores: NDArray[np.float64], count: int) -> int:
    """Return the first class with the highest score; 0 if there is no class."""
    best = 0
    for c in range(1, count):
        if scores[c] > scores[best]:
            best = c
    return best


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
def score_class_members(u: StackedLearners, stride: int, n_columns: int, notes: NDArray[np.float64]) -> None:
    """Write the scores of the members for each class, for the row that was written last, and scale it."""
    t = max(1.0, u.totals[N_ROWS])
    # Until the features are computed, their columns hold 1/n_c and 1/(n_c + 1).
    shares, by_counts = notes[stride * FEATURE_COLUMNS :], notes[stride * (FEATURE_COLUMNS + 1) :]
    arow_sums, logistic_sums = notes[stride * AROW_MEAN :], notes[stride * LOGISTIC_MEAN :]
    arow, logistic = notes[stride * AROW_LAST :], notes[stride * LOGISTIC_LAST :]
    discriminant, drift = notes[stride * DISCRIMINANT_SCORE :], notes[stride * DRIFT_LAST :]
    factor, uncentred_factor = u.notes[FACTOR], u.notes[UNCENTRED_FACTOR]
    n_rows, bias, drift_bias = 0.0, u.bias * factor, u.bias * uncentred_factor
    for c in range(n_columns):
        n = max(0.0, u.sums[c, CLASS_SUM])
        n_rows += n
        shares[c], by_counts[c] = 1.0 / n if n > 0.0 else 0.0, 1.0 / (n + 1.0)
        arow[c], arow_sums[c] = bias * np.float64(u.weights[c, AROW_WEIGHT]), bias * u.sums[c, AROW_SUM]
        logistic[c] = bias * np.float64(u.weights[c, LOGISTIC_WEIGHT])
        logistic_sums[c], discriminant[c] = bias * u.sums[c, LOGISTIC_SUM], 0.0
        drift[c] = drift_bias * np.float64(u.weights[c, DRIFT_WEIGHT])
    for k in range(int(u.notes[N_VISITED])):
        slot, x = int(u.example_slots[k]), factor * u.example[k, VALUE]
        uncentred = uncentred_factor * u.example[k, UNCENTRED]
        u.example[k, VALUE], u.example[k, UNCENTRED] = x, uncentred
        base, squares = slot * stride, u.statistics[slot, SQUARES]
        within = squares
        for c in range(n_columns):
            total = u.sums[base + c, CLASS_SUM]
            within -= total * total * shares[c]
            arow[c] += x * np.float64(u.weights[base + c, AROW_WEIGHT])
            arow_sums[c] += x * u.sums[base + c, AROW_SUM]
            logistic[c] += x * np.float64(u.weights[base + c, LOGISTIC_WEIGHT])
            logistic_sums[c] += x * u.sums[base + c, LOGISTIC_SUM]
            drift[c] += uncentred * np.float64(u.weights[base + c, DRIFT_WEIGHT])
        by_variance = n_rows / (max(within, 0.01 * squares) + 0.1)
        for c in range(n_columns):
            mean = u.sums[base + c, CLASS_SUM] * by_counts[c]
            discriminant[c] += (x - 0.5 * mean) * mean * by_variance
    by_arow, by_logistic = arow_power(t), logistic_power(t)
    for c in range(n_columns):
        arow_sums[c] = arow[c] - arow_sums[c] / by_arow
        logistic_sums[c] = logistic[c] - logistic_sums[c] / by_logistic


@score_example.of(StackedLearners)
def _score_example_stacked_learners(
    updater: StackedLearners, rows: Rows, i: int, stride: int, n_columns: int, workspace: MulticlassWorkspace
) -> None:
    """Write the logarithm of the probability of each class."""
    notes, stack, scores = (
        workspace.spare[class_notes_start(workspace.spare, stride) :],
        updater.stack,
        workspace.scores,
    )
    write_row(scaler_view(updater), rows, i)
    score_class_members(updater, stride, n_columns, notes)
    for c in range(n_columns):
        scores[c] = 0.0
    for k in range(N_FEATURES):
        member, features, mean = notes[stride * k :], notes[stride * (FEATURE_COLUMNS + k) :], 0.0
        for c in range(n_columns):
            mean += member[c]
        mean /= max(1, n_columns)
        unit = score_unit(updater, k)
        for c in range(n_columns):
            features[c] = clip(unit * (member[c] - mean), MAX_FEATURE)
            scores[c] += stack[FORECAST_WEIGHTS + k] * features[c]
    if n_columns > 1:
        bias = stack[BIAS_FEATURE] * stack[FORECAST_WEIGHTS + BIAS]
        scores[0] -= bias
        scores[1] += bias
    forecast = notes[stride * FORECAST_COLUMN :]
    write_softmax(scores, n_columns, forecast)
    v, u, chosen = stack[MIXTURE], stack[MIXTURE + 1], argmax(notes[stride * DRIFT_LAST :], n_columns)
    for c in range(n_columns):
        scores[c] = drift_log_odds(updater, c, chosen)
    write_softmax(scores, n_columns, scores)
    for c in range(n_columns):
        p, q = bound_forecast(forecast[c], float(n_columns)), bound_forecast(scores[c], float(n_columns))
        scores[c] = math.log(v * p + u * q)


@compiled
def drift_log_odds(u: StackedLearners, c: int, chosen: int) -> float:
    """Return the score of class c by the label that DRIFT has chosen."""
    found = u.stack[DRIFT_WEIGHTS] if c == chosen else 0.0
    if c < 2:
        bias = u.stack[BIAS_FEATURE] * u.stack[DRIFT_WEIGHTS + 1]
        found += bias if c == 1 else -bias
    return found


@compiled
def write_softmax(scores: NDArray[np.float64], count: int, out: NDArray[np.float64]) -> None:
    """Write the probabilities for these scores; both arrays may be the same."""
    largest, total = -math.inf, 0.0
    for c in range(count):
        largest = max(largest, scores[c])
    for c in range(count):
        out[c] = math.exp(scores[c] - largest)
        total += out[c]
    for c in range(count):
        out[c] /= total


@write_predicted_scores.of(StackedLearners)
def _write_predicted_scores_stacked_learners(
    updater: StackedLearners,
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


# --- Learning ---


@update_columns.of(StackedLearners)
def _update_columns_stacked_learners(
    updater: StackedLearners, rows: Rows, i: int, stride: int, column_update: ColumnUpdate
) -> None:
    n_columns, y, spare = column_update.columns, 0, column_update.spare
    notes = spare[class_notes_start(spare, stride) :]
    for c in range(n_columns):
        if column_update.gradients[c] > column_update.gradients[y]:
            y = c
    weight = column_update.gradients[y]
    count_member_errors(updater, stride, n_columns, y, y < column_update.known, notes)
    if y < column_update.known:  # no forecast had the class otherwise
        update_class_forecasts(updater, stride, n_columns, y, weight, notes)
    for k in range(N_FEATURES):
        updater.stack[SCORE_SQUARES + k] += population_variance(notes[stride * k :], n_columns)
    update_arow_columns(updater, stride, n_columns, y, weight, notes[stride * AROW_LAST :])
    update_logistic_columns(updater, stride, n_columns, y, weight, notes[stride * LOGISTIC_LAST :])
    update_drift_columns(updater, stride, n_columns, y, weight, notes[stride * DRIFT_LAST :])
    for k in range(int(updater.notes[N_VISITED])):
        slot, x = int(updater.example_slots[k]), updater.example[k, VALUE]
        include_column(scaler_view(updater), k, slot)
        updater.statistics[slot, SQUARES] += weight * x * x
        updater.sums[slot * stride + y, CLASS_SUM] += weight * x
    updater.sums[y, CLASS_SUM] += weight
    include_row(scaler_view(updater))


@compiled
def count_member_errors(
    u: StackedLearners, stride: int, n_columns: int, y: int, is_known: bool, notes: NDArray[np.float64]
) -> None:
    """Count the mistakes of each member; none can predict a class that was not known."""
    u.stack[ERRORS + AROW] += not is_known or argmax(notes[stride * AROW_MEAN :], n_columns) != y
    u.stack[ERRORS + LOGISTIC] += not is_known or argmax(notes[stride * LOGISTIC_MEAN :], n_columns) != y
    u.stack[ERRORS + DISCRIMINANT] += not is_known or argmax(notes[stride * DISCRIMINANT_SCORE :], n_columns) != y
    u.stack[ERRORS + DRIFT] += not is_known or argmax(notes[stride * DRIFT_LAST :], n_columns) != y


@compiled
def update_class_forecasts(
    u: StackedLearners, stride: int, n_columns: int, y: int, weight: float, notes: NDArray[np.float64]
) -> None:
    """Learn class y in both forecasts and in their mixture."""
    stack, forecast, count = u.stack, notes[stride * FORECAST_COLUMN :], float(n_columns)
    chosen, h = argmax(notes[stride * DRIFT_LAST :], n_columns), stack[BIAS_FEATURE]
    largest, total = -math.inf, 0.0
    for c in range(n_columns):
        largest = max(largest, drift_log_odds(u, c, chosen))
    for c in range(n_columns):
        total += math.exp(drift_log_odds(u, c, chosen) - largest)
    q = math.exp(drift_log_odds(u, y, chosen) - largest) / total
    q_chosen = math.exp(drift_log_odds(u, chosen, chosen) - largest) / total
    q_first = math.exp(drift_log_odds(u, 0, chosen) - largest) / total
    q_second = math.exp(drift_log_odds(u, 1, chosen) - largest) / total
    update_mixture(u, bound_forecast(forecast[y], count), bound_forecast(q, count))

    if u.notes[PAUSED] != 0.0:
        return
    gradient, precision = u.notes[GRADIENT : GRADIENT + 5], stack[FORECAST_PRECISION:FORECAST_INVERSE]
    forget(precision, 5, forecast_memory(u.totals[N_ROWS] + 1.0))
    bias_mean, bias_square = 0.0, 0.0
    if h > 0.0:
        bias_mean, bias_square = h * (forecast[1] - forecast[0]), h * h * (forecast[1] + forecast[0])
    for r in range(N_FEATURES):
        features, mean = notes[stride * (FEATURE_COLUMNS + r) :], 0.0
        for k in range(n_columns):
            mean += forecast[k] * features[k]
        gradient[r] = mean
        for c in range(r + 1):
            others, product = notes[stride * (FEATURE_COLUMNS + c) :], 0.0
            for k in range(n_columns):
                product += forecast[k] * features[k] * others[k]
            precision[5 * r + c] += weight * (product - mean * gradient[c])
        if h > 0.0:
            product = h * (forecast[1] * features[1] - forecast[0] * features[0])
            precision[5 * BIAS + r] += weight * (product - mean * bias_mean)
    precision[5 * BIAS + BIAS] += weight * max(0.0, bias_square - bias_mean * bias_mean)
    for r in range(N_FEATURES):
        gradient[r] = weight * (notes[stride * (FEATURE_COLUMNS + r) + y] - gradient[r])
    gradient[BIAS] = weight * (bias_feature(y, h) - bias_mean)
    move_forecast(u)

    mean = h * (q_second - q_first)
    label_bias = weight * q_chosen * (bias_feature(chosen, h) - mean)
    bias_bias = weight * max(0.0, h * h * (q_first + q_second) - mean * mean)
    g_label, g_bias = weight * ((1.0 if y == chosen else 0.0) - q_chosen), weight * (bias_feature(y, h) - mean)
    learn_drift_forecast(stack, g_label, g_bias, weight * q_chosen * (1.0 - q_chosen), label_bias, bias_bias)


@compiled
def bias_feature(c: int, h: float) -> float:
    return (h if c == 1 else -h) if c < 2 else 0.0


@compiled
def score_variance(u: StackedLearners, stride: int, c: int) -> float:
    """Return the variance of AROW's score in column c."""
    v, bias = 0.0, u.bias * u.notes[FACTOR]
    for k in range(int(u.notes[N_VISITED])):
        v += (
            u.example[k, VALUE]
            * u.example[k, VALUE]
            * np.float64(u.weights[int(u.example_slots[k]) * stride + c, VARIANCE])
        )
    return v + bias * bias * np.float64(u.weights[c, VARIANCE])


@compiled
def update_arow_columns(
    u: StackedLearners, stride: int, n_columns: int, y: int, weight: float, scores: NDArray[np.float64]
) -> None:
    rival = highest_rival(scores, n_columns, y)
    gradient = max(0.0, 1.0 - (scores[y] - scores[rival]))
    if gradient > 0.0:
        v = score_variance(u, stride, y) + score_variance(u, stride, rival)
        beta, power = 1.0 / (v + AROW_R / n_columns / weight), arow_power(u.totals[N_ROWS])
        bias = u.bias * u.notes[FACTOR]
        for k in range(int(u.notes[N_VISITED])):
            base, x = int(u.example_slots[k]) * stride, u.example[k, VALUE]
            arow_step(u, base + y, x, beta * gradient, beta, power)
            arow_step(u, base + rival, x, -beta * gradient, beta, power)
        if bias != 0.0:
            arow_step(u, y, bias, beta * gradient, beta, power)
            arow_step(u, rival, bias, -beta * gradient, beta, power)


@compiled
def update_logistic_columns(
    u: StackedLearners, stride: int, n_columns: int, y: int, weight: float, scores: NDArray[np.float64]
) -> None:
    rival = highest_rival(scores, n_columns, y)
    slope = logistic_gradient(scores[y] - scores[rival], weight)
    if slope != 0.0:
        rate = LOGISTIC_RATE * math.sqrt(0.5 * n_columns)
        power = logistic_power(u.totals[N_ROWS])
        bias = u.bias * u.notes[FACTOR]
        for k in range(int(u.notes[N_VISITED])):
            base, step = int(u.example_slots[k]) * stride, slope * u.example[k, VALUE]
            logistic_step(u, base + y, step, rate, power)
            logistic_step(u, base + rival, -step, rate, power)
        logistic_step(u, y, slope * bias, rate, power)
        logistic_step(u, rival, -slope * bias, rate, power)


@compiled
def update_drift_columns(
    u: StackedLearners, stride: int, n_columns: int, y: int, weight: float, scores: NDArray[np.float64]
) -> None:
    rival = highest_rival(scores, n_columns, y)
    step = passive_aggressive_step(scores[y] - scores[rival], 2.0 * uncentred_sq_norm(u), weight)
    if step != 0.0:
        bias = u.bias * u.notes[UNCENTRED_FACTOR]
        for k in range(int(u.notes[N_VISITED])):
            base, change = int(u.example_slots[k]) * stride, step * u.example[k, UNCENTRED]
            drift_step(u, base + y, change)
            drift_step(u, base + rival, -change)
        drift_step(u, y, step * bias)
        drift_step(u, rival, -step * bias)
