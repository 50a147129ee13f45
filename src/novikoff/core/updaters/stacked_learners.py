"""Several learners over one stream, whose scores are combined to one probability: the updater of `Auto`.

From rows that are scaled by the stream so far (core/column_scaling.py) learn

    AROW           r = 0.2/K for K classes, by the weight of the example; its last weights and their mean
    LOGISTIC       AdaGrad on the logistic loss, rate 1.5·√(K/2); the mean of its weights
    DISCRIMINANT   with T_jc = Σ x̃_j over class c, Q_j = Σ x̃_j², m_jc = T_jc/(n_c + 1) and
                   V_j = max(Q_j − Σ_c T_jc²/n_c, Q_j/100) + 0.1:  score_c = Σ_j (x̃_j − m_jc/2)·m_jc·n/V_j
    DRIFT          Passive-Aggressive (PA-I, C = 1), on rows that are not centred; its last weights

The four scores of the first three, each in units of its root mean square and clipped to ±6, are the features of a
Bayesian logistic regression, which gives a forecast. The label that DRIFT predicts gives another one, which follows
changes fast. The model's forecast is their mixture with fixed share (core/stacking.py); its score is the log-odds.

This file is for two classes. stacked_learners_multiclass.py has a column of weights for each class.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.core.calibration import sigmoid
from novikoff.core.column_scaling import (
    COUNT,
    DENSE_SINCE,
    DENSE_SLOTS_RULE,
    DEVIATIONS,
    FACTOR,
    N_BUFFERED,
    N_DENSE,
    N_ROW_NOTES,
    N_ROWS,
    N_STATISTICS,
    N_TOTALS,
    N_VISITED,
    SQ_LENGTH,
    SQ_LENGTHS,
    TOTAL,
    TOTAL_ABS,
    UNCENTRED,
    UNCENTRED_FACTOR,
    UNCENTRED_SQ_LENGTH,
    VALUE,
    ColumnScaler,
    clip,
    include_column,
    include_row,
    mean_length_factor,
    scaling_arrays,
    write_row,
)
from novikoff.core.stacking import (
    LEAST_WEIGHT,
    PRIOR_PRECISION,
    bound_forecast,
    forget,
    invert,
    move_weights,
    next_inverse,
    next_weights,
)
from novikoff.core.updaters.base import effective_sq_norm, final_bias, final_weight, predicted_score, score, update
from novikoff.data.rows import Rows, row_sq_norm
from novikoff.schema import INFINITY, MAX_COUNT, REAL, SLOTS, ArraySpec, Constraint, InRange, NotNaN, Schema

AROW, LOGISTIC, DISCRIMINANT, DRIFT = 0, 1, 2, 3
N_MEMBERS = 4
# Numbers of a slot in `weights` and in `sums`. CLASS_SUM is T; for the bias, whose T is not used, it is n_c.
AROW_WEIGHT, VARIANCE, LOGISTIC_WEIGHT, SQUARED_GRADIENTS, DRIFT_WEIGHT = 0, 1, 2, 3, 4
N_WEIGHTS = 5
AROW_SUM, LOGISTIC_SUM, CLASS_SUM = 0, 1, 2
N_SUMS = 3
# Statistics of a column beside those of the scaling: Q, and T of the negative class where there are two classes.
SQUARES, NEGATIVE_SUM = N_STATISTICS, N_STATISTICS + 1
# Scores of a row, and the features of the forecast: all scores but those of LOGISTIC_LAST and DRIFT_LAST, then a bias.
AROW_MEAN, AROW_LAST, LOGISTIC_MEAN, DISCRIMINANT_SCORE, LOGISTIC_LAST, DRIFT_LAST = 0, 1, 2, 3, 4, 5
N_SCORES = 6
N_FEATURES, BIAS = 4, 4
N_CLASS_NOTES = N_SCORES + N_FEATURES + 1
"""Numbers of each of several classes in the workspace: its scores, its features and its probability."""
# Entries of `stack`: v and u; the losses of the two forecasts; the size of the bias feature of the first
# two of several classes (stacked_learners_multiclass.py); the mistakes of each member; the sums of the squares of the
# scores that are features; the weights and the precision of the two forecasts, the first with its inverse; the step at
# which that is computed next.
MIXTURE, FORECAST_LOSS, DRIFT_LOSS, BIAS_FEATURE, ERRORS, SCORE_SQUARES = 0, 2, 3, 6, 7, 11
LIKELIHOODS = 2
"""How far the product of likelihoods, which is not yet in a loss, is behind that loss."""
FORECAST_WEIGHTS = SCORE_SQUARES + N_FEATURES
FORECAST_PRECISION = FORECAST_WEIGHTS + 5
FORECAST_INVERSE = FORECAST_PRECISION + 25
DRIFT_WEIGHTS = FORECAST_INVERSE + 25
DRIFT_PRECISION = DRIFT_WEIGHTS + 2
NEXT_INVERSE = DRIFT_PRECISION + 3
N_STACK = NEXT_INVERSE + 1
# Notes on a row after those of the scaling: its scores, the features, the two forecasts of the positive class, the
# variance of AROW's score, and room for a gradient and for a factorisation.
SCORES = N_ROW_NOTES
FEATURE_VALUES = SCORES + N_SCORES
FORECAST, DRIFT_FORECAST = FEATURE_VALUES + 5, FEATURE_VALUES + 6
SCORE_VARIANCE = DRIFT_FORECAST + 1
GRADIENT = SCORE_VARIANCE + 1
FACTORS = GRADIENT + 5
PAUSED = FACTORS + 25
"""The last note: 1 while the forecasts don't learn, in later passes, whose labels the members have seen. Not saved."""
N_NOTES = PAUSED + 1

AROW_R, LOGISTIC_RATE = 0.2, 1.5
LEAST_LIKELIHOOD = 1e-200
LEAST_GRADIENT = 0.02
"""LOGISTIC takes no step with a smaller gradient: it would change little."""
MAX_STEP = 1.0
"""C of DRIFT."""
MAX_FEATURE = 6.0
DRIFT_KEPT = 0.98
"""λ of the forecast from the label of DRIFT: it remembers about 50 examples."""


class StackedLearners(NamedTuple):
    weights: NDArray[np.floating]
    sums: NDArray[np.float64]
    statistics: NDArray[np.float64]
    dense_slots: NDArray[np.uint32]
    totals: NDArray[np.float64]
    stack: NDArray[np.float64]
    example_slots: NDArray[np.uint32]
    example: NDArray[np.float64]
    notes: NDArray[np.float64]
    bias: float
    share: float
    """α of the mixture."""

    @property
    def fresh(self) -> tuple[float, ...]:
        return 0.0, 1.0, 0.0, 0.0, 0.0


def stack_is_valid(arrays: Any, _: Any) -> bool:
    """Return whether the numbers of `stack` are such that no later one becomes infinite or NaN."""
    stack = arrays["stack"]
    counts, losses = stack[ERRORS : ERRORS + N_MEMBERS], stack[FORECAST_LOSS : DRIFT_LOSS + 1]
    likelihoods = stack[FORECAST_LOSS + LIKELIHOODS : DRIFT_LOSS + LIKELIHOODS + 1]
    weights = np.concatenate([stack[FORECAST_WEIGHTS:FORECAST_PRECISION], stack[DRIFT_WEIGHTS:DRIFT_PRECISION]])
    precisions = np.concatenate([stack[FORECAST_PRECISION:DRIFT_WEIGHTS], stack[DRIFT_PRECISION:NEXT_INVERSE]])
    limits = (
        (stack[MIXTURE:FORECAST_LOSS], LEAST_WEIGHT, 1.0),
        (stack[MIXTURE : MIXTURE + 1] + stack[MIXTURE + 1 : FORECAST_LOSS], 1.0 - 1e-9, 1.0 + 1e-9),
        (stack[BIAS_FEATURE : BIAS_FEATURE + 1], 0.0, 0.5),
        (counts, 0.0, MAX_COUNT),
        (losses, 0.0, INFINITY),
        (likelihoods, LEAST_LIKELIHOOD, 1.0),
        (stack[SCORE_SQUARES:FORECAST_WEIGHTS], 0.0, INFINITY),
        (weights, -1e100, 1e100),
        (precisions, -1e100, 1e100),
        (stack[NEXT_INVERSE:], 0.0, MAX_COUNT),
    )
    return all(InRange(low, high).problem(part, {}) is None for part, low, high in limits)


STACKED_LEARNERS_SCHEMA = Schema(
    {
        "weights": ArraySpec(
            REAL, SLOTS, N_WEIGHTS, checks=[NotNaN(), InRange(0.0, INFINITY, column=SQUARED_GRADIENTS)]
        ),
        "sums": ArraySpec("float64", SLOTS, N_SUMS, checks=[NotNaN()]),
        **scaling_arrays(N_STATISTICS + 2),
        "stack": ArraySpec("float64", N_STACK, checks=[NotNaN()]),
    },
    [DENSE_SLOTS_RULE, Constraint("the numbers of the stack are in their ranges", stack_is_valid)],
)
"""The schema of this state in a model file."""


def log_loss_of(stack: NDArray[np.float64], entry: int) -> float:
    """Return the log-loss of a forecast so far."""
    return float(stack[entry]) - math.log(float(stack[entry + LIKELIHOODS]))


def build_stacked_learners(slots: int, dtype: Any, *, bias: bool, share: float) -> StackedLearners:
    empty = StackedLearners(
        weights=buffers.zeros((slots, N_WEIGHTS), dtype),
        sums=buffers.zeros((slots, N_SUMS)),
        statistics=buffers.zeros((slots, N_STATISTICS + 2)),
        dense_slots=buffers.zeros(slots, "uint32"),
        totals=buffers.zeros(N_TOTALS),
        stack=buffers.zeros(N_STACK),
        example_slots=buffers.zeros(slots, "uint32"),
        example=buffers.zeros((slots, N_BUFFERED)),
        notes=buffers.zeros(N_NOTES),
        bias=float(bias),
        share=share,
    )
    empty.weights[:] = empty.fresh
    empty.stack[MIXTURE], empty.stack[MIXTURE + 1] = 0.5, 0.5
    for entry in (FORECAST_LOSS + LIKELIHOODS, DRIFT_LOSS + LIKELIHOODS):
        empty.stack[entry] = 1.0
    for entry in (FORECAST_WEIGHTS + AROW_MEAN, FORECAST_WEIGHTS + LOGISTIC_MEAN, DRIFT_WEIGHTS):
        empty.stack[entry] = 1.0
    for entry in (*range(FORECAST_PRECISION, FORECAST_INVERSE, 6), DRIFT_PRECISION, DRIFT_PRECISION + 2):
        empty.stack[entry] = PRIOR_PRECISION
    return empty


@compiled
def scaler_view(u: StackedLearners) -> ColumnScaler:
    return ColumnScaler(u.statistics, u.dense_slots, u.totals, u.example_slots, u.example, u.notes)


@effective_sq_norm.of(StackedLearners)
def _effective_sq_norm_stacked_learners(updater: StackedLearners, sq_norm: float) -> float:
    factor = updater.notes[FACTOR]
    return factor * factor * (updater.notes[SQ_LENGTH] + updater.bias * updater.bias)


# --- Scores of the members ---


@compiled
def arow_power(t: float) -> float:
    """Return t⁶: the mean of AROW's weights weighs step t by t⁶ − (t − 1)⁶ (core/averaging.py)."""
    cube = t * t * t
    return cube * cube


@compiled
def logistic_power(t: float) -> float:
    """Return t⁴, for the mean of LOGISTIC's weights."""
    square = t * t
    return square * square


@compiled
def score_members(u: StackedLearners) -> None:
    """Scale the row that was written last; write the scores of the members for it, and the variance of AROW's."""
    notes, t = u.notes, max(1.0, u.totals[N_ROWS])
    n_positive, n_negative = max(0.0, u.sums[0, CLASS_SUM]), max(0.0, u.statistics[0, NEGATIVE_SUM])
    by_positive, by_negative = 1.0 / (n_positive + 1.0), 1.0 / (n_negative + 1.0)
    share_positive = 1.0 / n_positive if n_positive > 0.0 else 0.0
    share_negative = 1.0 / n_negative if n_negative > 0.0 else 0.0
    arow, arow_sum, logistic, logistic_sum, discriminant, drift, variance = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    factor, uncentred_factor = notes[FACTOR], notes[UNCENTRED_FACTOR]
    for k in range(int(notes[N_VISITED])):
        j, x = int(u.example_slots[k]), factor * u.example[k, VALUE]
        uncentred = uncentred_factor * u.example[k, UNCENTRED]
        u.example[k, VALUE], u.example[k, UNCENTRED] = x, uncentred
        variance += x * x * np.float64(u.weights[j, VARIANCE])
        arow += x * np.float64(u.weights[j, AROW_WEIGHT])
        arow_sum += x * u.sums[j, AROW_SUM]
        logistic += x * np.float64(u.weights[j, LOGISTIC_WEIGHT])
        logistic_sum += x * u.sums[j, LOGISTIC_SUM]
        drift += uncentred * np.float64(u.weights[j, DRIFT_WEIGHT])
        positive, negative, squares = u.sums[j, CLASS_SUM], u.statistics[j, NEGATIVE_SUM], u.statistics[j, SQUARES]
        within = squares - positive * positive * share_positive - negative * negative * share_negative
        above, below = positive * by_positive, negative * by_negative
        discriminant += (above - below) * (x - 0.5 * (above + below)) / (max(within, 0.01 * squares) + 0.1)
    bias = u.bias * factor
    variance += bias * bias * np.float64(u.weights[0, VARIANCE])
    arow += bias * np.float64(u.weights[0, AROW_WEIGHT])
    arow_sum += bias * u.sums[0, AROW_SUM]
    logistic += bias * np.float64(u.weights[0, LOGISTIC_WEIGHT])
    logistic_sum += bias * u.sums[0, LOGISTIC_SUM]
    drift += u.bias * uncentred_factor * np.float64(u.weights[0, DRIFT_WEIGHT])
    notes[SCORES + AROW_MEAN] = arow - arow_sum / arow_power(t)
    notes[SCORES + AROW_LAST] = arow
    notes[SCORES + LOGISTIC_MEAN] = logistic - logistic_sum / logistic_power(t)
    notes[SCORES + LOGISTIC_LAST] = logistic
    notes[SCORES + DISCRIMINANT_SCORE] = discriminant * (n_positive + n_negative)
    notes[SCORES + DRIFT_LAST] = drift
    notes[SCORE_VARIANCE] = variance


@compiled
def score_unit(u: StackedLearners, k: int) -> float:
    """Return the factor that divides the scores that are feature k by their root mean square."""
    squares = u.stack[SCORE_SQUARES + k]
    return math.sqrt(u.totals[N_ROWS] / squares) if squares > 0.0 else 0.0


# --- Two classes ---


@score.of(StackedLearners)
def _score_stacked_learners(updater: StackedLearners, rows: Rows, i: int) -> tuple[float, float]:
    """Return the log-odds of the mixture, and ‖x‖²; a row that will be rejected is not scaled."""
    sq_norm = row_sq_norm(rows, i)
    if not sq_norm < math.inf:
        return 0.0, sq_norm
    write_row(scaler_view(updater), rows, i)
    score_members(updater)
    stack, notes, log_odds = updater.stack, updater.notes, 0.0
    for k in range(N_FEATURES):
        notes[FEATURE_VALUES + k] = clip(score_unit(updater, k) * notes[SCORES + k], MAX_FEATURE)
        log_odds += stack[FORECAST_WEIGHTS + k] * notes[FEATURE_VALUES + k]
    notes[FEATURE_VALUES + BIAS] = 1.0
    log_odds += stack[FORECAST_WEIGHTS + BIAS]
    side = 1.0 if notes[SCORES + DRIFT_LAST] >= 0.0 else -1.0
    drift_log_odds = stack[DRIFT_WEIGHTS] * side + stack[DRIFT_WEIGHTS + 1]
    notes[FORECAST], notes[DRIFT_FORECAST] = sigmoid(log_odds), sigmoid(drift_log_odds)
    v, u = stack[MIXTURE], stack[MIXTURE + 1]
    positive = v * bound_forecast(sigmoid(log_odds), 2.0) + u * bound_forecast(sigmoid(drift_log_odds), 2.0)
    negative = v * bound_forecast(sigmoid(-log_odds), 2.0) + u * bound_forecast(sigmoid(-drift_log_odds), 2.0)
    return math.log(positive / negative), sq_norm + updater.bias * updater.bias


@predicted_score.of(StackedLearners)
def _predicted_score_stacked_learners(
    updater: StackedLearners, rows: Rows, i: int, last_score: float, tie: float, t: int
) -> float:
    return last_score


@update.of(StackedLearners)
def _update_stacked_learners(updater: StackedLearners, rows: Rows, i: int, g: float, t: int) -> None:
    y, weight = math.copysign(1.0, g), abs(g)
    update_stack(updater, y, weight)
    update_members(updater, y, weight)


@compiled
def update_mixture(u: StackedLearners, p: float, q: float) -> None:
    """Learn a label to which the two forecasts gave the probabilities p and q, which are not below ε."""
    add_log_loss(u.stack, FORECAST_LOSS, p)
    add_log_loss(u.stack, DRIFT_LOSS, q)
    v, other = next_weights(u.stack[MIXTURE], u.stack[MIXTURE + 1], p, q, u.share)
    u.stack[MIXTURE], u.stack[MIXTURE + 1] = v, other


@compiled
def add_log_loss(stack: NDArray[np.float64], entry: int, p: float) -> None:
    """Add −ln p to a loss: p is multiplied to a product, whose logarithm is taken before it becomes too small."""
    likelihood = stack[entry + LIKELIHOODS] * p
    if likelihood < LEAST_LIKELIHOOD:
        stack[entry] -= math.log(likelihood)
        likelihood = 1.0
    stack[entry + LIKELIHOODS] = likelihood


@compiled
def forecast_memory(t: float) -> float:
    """Return λ of the forecast from the scores, at step t."""
    return 1.0 - 3.0 / (t + 60.0)


@compiled
def move_forecast(u: StackedLearners) -> None:
    """Take the step of the forecast from the scores, after the curvature of the example was added to its precision and
    the gradient was noted."""
    stack, t = u.stack, u.totals[N_ROWS] + 1.0
    inverse = stack[FORECAST_INVERSE:DRIFT_WEIGHTS]
    if t >= stack[NEXT_INVERSE]:
        invert(stack[FORECAST_PRECISION:FORECAST_INVERSE], 5, u.notes[FACTORS : FACTORS + 25], inverse)
        stack[NEXT_INVERSE] = next_inverse(t)
    move_weights(stack[FORECAST_WEIGHTS:FORECAST_PRECISION], inverse, u.notes[GRADIENT : GRADIENT + 5])


@compiled
def learn_drift_forecast(
    stack: NDArray[np.float64], g_label: float, g_bias: float, label_label: float, label_bias: float, bias_bias: float
) -> None:
    """Take a step of the forecast from the label of DRIFT: from its gradient, and the entries of its curvature."""
    prior = (1.0 - DRIFT_KEPT) * PRIOR_PRECISION
    a = DRIFT_KEPT * stack[DRIFT_PRECISION] + prior + label_label
    b = DRIFT_KEPT * stack[DRIFT_PRECISION + 1] + label_bias
    c = DRIFT_KEPT * stack[DRIFT_PRECISION + 2] + prior + bias_bias
    stack[DRIFT_PRECISION], stack[DRIFT_PRECISION + 1], stack[DRIFT_PRECISION + 2] = a, b, c
    by_determinant = 1.0 / max(PRIOR_PRECISION * PRIOR_PRECISION, a * c - b * b)
    stack[DRIFT_WEIGHTS] += (c * g_label - b * g_bias) * by_determinant
    stack[DRIFT_WEIGHTS + 1] += (a * g_bias - b * g_label) * by_determinant


@compiled
def learn_forecasts(u: StackedLearners, positive: float, side: float, weight: float) -> None:
    """Take the steps of both forecasts for a label, 1 or 0; `side` is the label that DRIFT predicts."""
    stack, notes = u.stack, u.notes
    p, q = notes[FORECAST], notes[DRIFT_FORECAST]
    precision = stack[FORECAST_PRECISION:FORECAST_INVERSE]
    features, slope = notes[FEATURE_VALUES : FEATURE_VALUES + 5], weight * (p * (1.0 - p))
    forget(precision, 5, forecast_memory(u.totals[N_ROWS] + 1.0))
    for r in range(5):
        for c in range(r + 1):
            precision[5 * r + c] += slope * features[r] * features[c]
        notes[GRADIENT + r] = weight * (positive - p) * features[r]
    move_forecast(u)
    slope = weight * (q * (1.0 - q))
    learn_drift_forecast(stack, weight * (positive - q) * side, weight * (positive - q), slope, slope * side, slope)


@compiled
def update_stack(u: StackedLearners, y: float, weight: float) -> None:
    """Learn the label of the row that was scored last in both forecasts and in the mixture."""
    stack, notes = u.stack, u.notes
    p, q, positive = notes[FORECAST], notes[DRIFT_FORECAST], 1.0 if y > 0.0 else 0.0
    side = 1.0 if notes[SCORES + DRIFT_LAST] >= 0.0 else -1.0
    stack[ERRORS + AROW] += y * notes[SCORES + AROW_MEAN] < 0.0
    stack[ERRORS + LOGISTIC] += y * notes[SCORES + LOGISTIC_MEAN] < 0.0
    stack[ERRORS + DISCRIMINANT] += y * notes[SCORES + DISCRIMINANT_SCORE] < 0.0
    stack[ERRORS + DRIFT] += y * side < 0.0
    update_mixture(u, bound_forecast(p if y > 0.0 else 1.0 - p, 2.0), bound_forecast(q if y > 0.0 else 1.0 - q, 2.0))
    if notes[PAUSED] == 0.0:
        learn_forecasts(u, positive, side, weight)
    for k in range(N_FEATURES):
        stack[SCORE_SQUARES + k] += notes[SCORES + k] * notes[SCORES + k]


# --- Steps of the members ---


@compiled
def arow_step(u: StackedLearners, j: int, x: float, scaled_step: float, beta: float, past_power: float) -> None:
    """Move AROW's weight in slot j, and narrow its variance; the sums note changes for the mean."""
    before, variance = np.float64(u.weights[j, AROW_WEIGHT]), np.float64(u.weights[j, VARIANCE])
    scaled_x = variance * x
    u.weights[j, AROW_WEIGHT] = before + scaled_step * scaled_x
    u.weights[j, VARIANCE] = max(0.0, variance - beta * (scaled_x * scaled_x))
    u.sums[j, AROW_SUM] += past_power * (np.float64(u.weights[j, AROW_WEIGHT]) - before)


@compiled
def logistic_step(u: StackedLearners, j: int, step: float, rate: float, past_power: float) -> None:
    """Take AdaGrad's step in slot j, where `step` is minus the derivative of the loss."""
    if step != 0.0:
        before = np.float64(u.weights[j, LOGISTIC_WEIGHT])
        u.weights[j, SQUARED_GRADIENTS] = np.float64(u.weights[j, SQUARED_GRADIENTS]) + step * step
        total = np.float64(u.weights[j, SQUARED_GRADIENTS])
        if total > 0.0:
            u.weights[j, LOGISTIC_WEIGHT] = before + rate * step / math.sqrt(total)
            u.sums[j, LOGISTIC_SUM] += past_power * (np.float64(u.weights[j, LOGISTIC_WEIGHT]) - before)


@compiled
def drift_step(u: StackedLearners, j: int, step: float) -> None:
    u.weights[j, DRIFT_WEIGHT] = np.float64(u.weights[j, DRIFT_WEIGHT]) + step


@compiled
def logistic_gradient(margin: float, weight: float) -> float:
    """Return minus the derivative of the logistic loss at y·s; 0 where it is small."""
    g = sigmoid(-margin)
    return weight * g if g >= LEAST_GRADIENT else 0.0


@compiled
def uncentred_sq_norm(u: StackedLearners) -> float:
    """Return the squared length of the row that DRIFT sees, bias included."""
    factor = u.notes[UNCENTRED_FACTOR]
    return factor * factor * (u.notes[UNCENTRED_SQ_LENGTH] + u.bias * u.bias)


@compiled
def passive_aggressive_step(margin: float, sq_norm: float, weight: float) -> float:
    """Return τ of PA-I for the hinge loss at this margin: a weight multiplies the loss, and with it C."""
    loss = 1.0 - margin
    return min(weight * MAX_STEP, loss / sq_norm) if loss > 0.0 and sq_norm > 0.0 else 0.0


class MemberSteps(NamedTuple):
    """The factors of the steps of all members for one row; 0 where a member takes no step."""

    arow: float
    beta: float
    logistic: float
    drift: float
    arow_past: float
    """(t − 1)^p for the means of AROW and of LOGISTIC."""
    logistic_past: float


@compiled
def step_members(u: StackedLearners, j: int, x: float, uncentred: float, steps: MemberSteps) -> None:
    """Take the steps of all members in slot j, whose column has the value x."""
    if steps.arow != 0.0:
        arow_step(u, j, x, steps.arow, steps.beta, steps.arow_past)
    if steps.logistic != 0.0:
        logistic_step(u, j, steps.logistic * x, LOGISTIC_RATE, steps.logistic_past)
    if steps.drift != 0.0:
        drift_step(u, j, steps.drift * uncentred)


@compiled
def update_members(u: StackedLearners, y: float, weight: float) -> None:
    """Learn the row that was scaled and scored last."""
    notes, t, scaler = u.notes, u.totals[N_ROWS], scaler_view(u)
    arow_gradient = max(0.0, 1.0 - y * notes[SCORES + AROW_LAST])
    beta = 1.0 / (notes[SCORE_VARIANCE] + 0.5 * AROW_R / weight) if arow_gradient > 0.0 else 0.0
    steps = MemberSteps(
        y * beta * arow_gradient,
        beta,
        y * logistic_gradient(y * notes[SCORES + LOGISTIC_LAST], weight),
        y * passive_aggressive_step(y * notes[SCORES + DRIFT_LAST], uncentred_sq_norm(u), weight),
        arow_power(t),
        logistic_power(t),
    )
    for k in range(int(notes[N_VISITED])):
        j, x = int(u.example_slots[k]), u.example[k, VALUE]
        step_members(u, j, x, u.example[k, UNCENTRED], steps)
        include_column(scaler, k, j)
        u.statistics[j, SQUARES] += weight * x * x
        if y > 0.0:
            u.sums[j, CLASS_SUM] += weight * x
        else:
            u.statistics[j, NEGATIVE_SUM] += weight * x
    include_row(scaler)
    if u.bias != 0.0:
        step_members(u, 0, u.bias * notes[FACTOR], u.bias * notes[UNCENTRED_FACTOR], steps)
    if y > 0.0:
        u.sums[0, CLASS_SUM] += weight
    else:
        u.statistics[0, NEGATIVE_SUM] += weight


# --- The weights that are shown: those of the forecast from the scores, in the units of the user ---


@compiled
def stride_of(u: StackedLearners) -> int:
    """Return how many columns of weights there are."""
    return len(u.weights) // len(u.statistics)


@compiled
def discriminant_weight(u: StackedLearners, slot: int, c: int) -> tuple[float, float]:
    """Return the weight of x̃ in the score of DISCRIMINANT, in column c, and the constant beside it."""
    stride, squares = stride_of(u), u.statistics[slot, SQUARES]
    if stride == 1:
        n_positive, n_negative = max(0.0, u.sums[0, CLASS_SUM]), max(0.0, u.statistics[0, NEGATIVE_SUM])
        positive, negative = u.sums[slot, CLASS_SUM], u.statistics[slot, NEGATIVE_SUM]
        above, below = positive / (n_positive + 1.0), negative / (n_negative + 1.0)
        within = squares
        if n_positive > 0.0:
            within -= positive * positive / n_positive
        if n_negative > 0.0:
            within -= negative * negative / n_negative
        weight = (n_positive + n_negative) * (above - below) / (max(within, 0.01 * squares) + 0.1)
        return weight, -0.5 * (above + below) * weight
    n_rows, within = 0.0, squares
    for k in range(stride):
        n, total = max(0.0, u.sums[k, CLASS_SUM]), u.sums[slot * stride + k, CLASS_SUM]
        n_rows += n
        if n > 0.0:
            within -= total * total / n
    mean = u.sums[slot * stride + c, CLASS_SUM] / (max(0.0, u.sums[c, CLASS_SUM]) + 1.0)
    weight = n_rows * mean / (max(within, 0.01 * squares) + 0.1)
    return weight, -0.5 * mean * weight


@compiled
def forecast_weight(u: StackedLearners, j: int) -> float:
    """Return the weight of x̃ in the forecast, without that of DISCRIMINANT, in place j of the table."""
    t, weights = max(1.0, u.totals[N_ROWS]), u.stack[FORECAST_WEIGHTS:FORECAST_PRECISION]
    last = np.float64(u.weights[j, AROW_WEIGHT])
    mean = last - u.sums[j, AROW_SUM] / arow_power(t)
    logistic = np.float64(u.weights[j, LOGISTIC_WEIGHT]) - u.sums[j, LOGISTIC_SUM] / logistic_power(t)
    return (
        weights[AROW_MEAN] * score_unit(u, AROW_MEAN) * mean
        + weights[AROW_LAST] * score_unit(u, AROW_LAST) * last
        + weights[LOGISTIC_MEAN] * score_unit(u, LOGISTIC_MEAN) * logistic
    )


@compiled
def column_scale(u: StackedLearners, slot: int) -> tuple[float, float]:
    """Return the factor and the origin with which the values of a column are scaled: x̃ = factor·(x − origin)."""
    factor = mean_length_factor(u.totals[SQ_LENGTHS], u.totals[N_ROWS])
    if u.statistics[slot, DENSE_SINCE] > 0.0:
        deviations, rows = u.statistics[slot, DEVIATIONS], u.totals[N_ROWS] - u.statistics[slot, DENSE_SINCE] + 1.0
        mean = u.statistics[slot, TOTAL] / max(1.0, u.totals[N_ROWS])
        return (factor * rows / deviations if deviations > 0.0 else 0.0), mean
    total = u.statistics[slot, TOTAL_ABS]
    return (factor * u.statistics[slot, COUNT] / total if total > 0.0 else 0.0), 0.0


@final_weight.of(StackedLearners)
def _final_weight_stacked_learners(updater: StackedLearners, j: int, t: int) -> float:
    stride = stride_of(updater)
    slot, c = j // stride, j % stride
    weight, _ = discriminant_weight(updater, slot, c)
    unit = updater.stack[FORECAST_WEIGHTS + DISCRIMINANT_SCORE] * score_unit(updater, DISCRIMINANT_SCORE)
    factor, _ = column_scale(updater, slot)
    return factor * (forecast_weight(updater, j) + unit * weight)


@final_bias.of(StackedLearners)
def _final_bias_stacked_learners(updater: StackedLearners, j: int, t: int) -> float:
    """Return the constant term of a row without values: each dense column adds that of its 0."""
    stride = stride_of(updater)
    unit = updater.stack[FORECAST_WEIGHTS + DISCRIMINANT_SCORE] * score_unit(updater, DISCRIMINANT_SCORE)
    total = mean_length_factor(updater.totals[SQ_LENGTHS], updater.totals[N_ROWS]) * forecast_weight(updater, j)
    bias = updater.stack[FORECAST_WEIGHTS + BIAS]
    if stride == 1:
        total += bias
    elif j < 2:
        total += bias * updater.stack[BIAS_FEATURE] * (1.0 if j == 1 else -1.0)
    for k in range(int(updater.totals[N_DENSE])):
        slot = int(updater.dense_slots[k])
        weight, constant = discriminant_weight(updater, slot, j)
        factor, origin = column_scale(updater, slot)
        total -= factor * origin * (forecast_weight(updater, slot * stride + j) + unit * weight)
        total += unit * constant
    return total
