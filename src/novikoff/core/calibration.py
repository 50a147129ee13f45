"""Online calibration: probabilities from scores, learned one example at a time.

Two classes: the positive class has the probability σ(θ·x), x = (1, z, sign(z)·ln(1 + |z|)). z is the score divided by
the root mean square of the scores so far; beyond ±MAX_LINEAR_SCORE it grows like a logarithm. The third feature lets
large scores count less. Many classes: p = softmax(θ·x_c), x_c = (0, z_c, sign(z_c)·ln(1 + |z_c|)), z_c the score of
class c less the mean over the classes, in the same unit.

θ is learned from progressive scores: an example is scored, then calibrated, and then its label is learned by both the
classifier and the calibration. So no label is used for its own prediction. The scores are those of the hypothesis that
predicts: an average where the learner averages. Scoring it costs more than a step of the loop, so a sample of the
examples calibrates (core/stratified_schedule.py), of the first pass only: later passes have seen the labels.

Predict   p = σ(θ·x)
Update    A ← f·A + (1 − f)·λI + κ·p(1−p)·x xᵀ,  θ ← θ − (p − y)·A⁻¹x, y 0 or 1; A₀ = λI, θ₀ = (0, 1, 0)
          f = (t + 1)/(t + 1 + FORGETTING) after t examples: recent scores are those of better weights
          an example of weight c has c times the gradient, the curvature and FORGETTING
Bound     Σ ℓ(θ_t) − Σ ℓ(u) ≤ ½λ‖u − θ₀‖² + ½ Σ (p_t − y_t)² x_tᵀA_t⁻¹x_t, for every sequence of calibrated examples and
          every u with |x_t·(u − θ_t)| ≤ D for all t; ℓ is the log-loss, κ = 2(e^−D + D − 1)/D², D = 2
Source    Platt 1999; Hazan, Agarwal and Kale 2007 (online Newton step). The curvature of the logistic loss falls at
          most as e^−|d| at distance d (Bach 2010), so ℓ(u) ≥ ℓ(θ) + ∇ℓ·(u − θ) + ½κ·p(1−p)·(x·(u − θ))². As A ⪰ λI,
          forgetting makes ‖u − θ‖ in the norm of A smaller, so that the sum telescopes as without it. With many classes
          p(1−p)·x xᵀ is Σ_c p_c·x_c x_cᵀ − x̄ x̄ᵀ, x̄ = Σ_c p_c·x_c, and (p − y)·x is x̄ − x_y.

The state is one array of STATE_SIZE numbers; an empty array where nothing is calibrated.
"""

from __future__ import annotations

import math

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled, compiled_read_only, compiled_read_only_with_gil, compiled_shared
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.core.stratified_schedule import next_sampled_example
from novikoff.ledger import CALIBRATED_NEXT, NEVER_CALIBRATED, Ledger
from novikoff.schema import INFINITY, ArraySpec, Entries, Schema

MAX_DISTANCE = 2.0
"""D: the regret bound is for parameters u whose log-odds differ from those of the predictions by at most this much."""
CURVATURE = 2.0 * (math.exp(-MAX_DISTANCE) + MAX_DISTANCE - 1.0) / MAX_DISTANCE**2
"""κ"""
RIDGE = 0.1
"""λ"""
FORGETTING = 5.0
"""The k-th of t examples has a share of about (k/t)^FORGETTING in A and in the root mean square."""
MAX_LINEAR_SCORE = 8.0
"""Up to this multiple of their root mean square, scores count in full."""
LOG_2, MIN_SLOPE = math.log(2.0), 2.0**-20
MAX_CALIBRATED_SCORE = 1e150
"""Larger scores do not calibrate: their squares would overflow."""
INTERCEPT, SLOPE, LOG_SLOPE, A00, A01, A02, A11, A12, A22, SQUARES, WEIGHT, TOTAL_WEIGHT, REGRET = range(13)
"""Entries of the state: θ, the matrix A, Σ score² and Σ weight with forgetting, Σ weight, the sum in the bound."""
STATE_SIZE = 13
FULLY_CALIBRATED_EXAMPLES, STRATA_PER_OCTAVE, MAX_STRATUM_EXAMPLES = 1024, 1024, 1024
"""The schedule of the calibrated examples."""
NEXT_BELOW_HALF, NEXT_ABOVE_HALF = math.nextafter(0.5, 0.0), math.nextafter(0.5, 1.0)

MAX_PARAMETER, MIN_DIAGONAL = 1e100, 0.5 * RIDGE
CALIBRATION_SCHEMA = Schema(
    {
        "state": ArraySpec(
            "float64",
            STATE_SIZE,
            checks=[
                Entries(
                    calibration_intercept=(-MAX_PARAMETER, MAX_PARAMETER),
                    calibration_slope=(-MAX_PARAMETER, MAX_PARAMETER),
                    calibration_log_slope=(-MAX_PARAMETER, MAX_PARAMETER),
                    calibration_a00=(MIN_DIAGONAL, MAX_PARAMETER),
                    calibration_a01=(-MAX_PARAMETER, MAX_PARAMETER),
                    calibration_a02=(-MAX_PARAMETER, MAX_PARAMETER),
                    calibration_a11=(MIN_DIAGONAL, MAX_PARAMETER),
                    calibration_a12=(-MAX_PARAMETER, MAX_PARAMETER),
                    calibration_a22=(MIN_DIAGONAL, MAX_PARAMETER),
                    calibration_squares=(0.0, INFINITY),
                    calibration_weight=(0.0, INFINITY),
                    calibration_total_weight=(0.0, INFINITY),
                    calibration_regret=(0.0, INFINITY),
                )
            ],
        )
    }
)
"""The schema of a calibration in a model file."""


def build_calibration() -> NDArray[np.float64]:
    """Return the state before the first example: the probability is σ(z).

    >>> state = build_calibration()
    >>> for score, sign in [(2.0, 1.0), (-1.0, -1.0), (1.5, 1.0), (-2.0, -1.0)] * 10:
    ...     update_calibration(state, score, sign, 1.0)
    >>> predict_agreeing_probability(state, 2.0, 1.0) > 0.9, predict_agreeing_probability(state, -1.0, 1.0) < 0.1
    (True, True)
    """
    state = buffers.zeros(STATE_SIZE)
    state[SLOPE] = 1.0
    for entry in (A00, A11, A22):
        state[entry] = RIDGE
    return state


@compiled
def next_calibrated_example(t: int) -> int:
    """Return the number of the first example after example t that calibrates."""
    return next_sampled_example(t, FULLY_CALIBRATED_EXAMPLES, STRATA_PER_OCTAVE, MAX_STRATUM_EXAMPLES)


@compiled
def score_unit(state: NDArray[np.float64]) -> float:
    """Return the factor that divides scores by their root mean square; 0 before the first score other than 0."""
    mean_square = state[SQUARES] / state[WEIGHT] if state[WEIGHT] > 0.0 else 0.0
    return 1.0 / math.sqrt(mean_square) if mean_square > 0.0 else 0.0


@compiled
def shorten_score(z: float) -> float:
    """Return z, or beyond ±MAX_LINEAR_SCORE a number that grows like a logarithm."""
    beyond = abs(z) - MAX_LINEAR_SCORE
    return z if beyond <= 0.0 else math.copysign(MAX_LINEAR_SCORE + math.log1p(beyond), z)


@compiled
def log_feature(z: float) -> float:
    """Return sign(z)·ln(1 + |z|)."""
    return math.copysign(math.log1p(abs(z)), z)


@compiled
def sigmoid(log_odds: float) -> float:
    """Return σ(log_odds)."""
    e = math.exp(-abs(log_odds))  # of a negative number only: it cannot overflow
    return 1.0 / (1.0 + e) if log_odds >= 0.0 else e / (1.0 + e)


@compiled
def monotone_slopes(state: NDArray[np.float64]) -> tuple[float, float]:
    """Return the factors of z and of its logarithm; where the log-odds would not grow with the score, a factor of z
    alone, with the same effect at z = 1, or else a small one."""
    a, b = state[SLOPE], state[LOG_SLOPE]
    if a + b > 0.0 and a + b / (1.0 + MAX_LINEAR_SCORE) > 0.0:
        return a, b
    return max(a + LOG_2 * b, MIN_SLOPE), 0.0


@compiled
def predict_probability(state: NDArray[np.float64], score: float) -> float:
    """Return the probability of the positive class for a score; it grows with the score."""
    z = shorten_score(score * score_unit(state))
    slope, log_slope = monotone_slopes(state)
    return sigmoid(state[INTERCEPT] + slope * z + log_slope * log_feature(z))


@compiled
def keep_share(state: NDArray[np.float64], weight: float) -> float:
    """Return f, the share of the past that is kept when an example of this weight arrives."""
    return (state[TOTAL_WEIGHT] + 1.0) / (state[TOTAL_WEIGHT] + 1.0 + FORGETTING * weight)


@compiled
def count_score(state: NDArray[np.float64], kept: float, mean_square: float, weight: float) -> None:
    """Add the mean square of the scores of an example."""
    state[SQUARES] = kept * state[SQUARES] + weight * mean_square
    state[WEIGHT] = kept * state[WEIGHT] + weight
    state[TOTAL_WEIGHT] += weight


@compiled_shared
def update_calibration(state: NDArray[np.float64], score: float, y: float, weight: float) -> None:
    """Learn the label, −1 or +1, of an example whose score was computed before its label was learned."""
    z = shorten_score(score * score_unit(state))
    r = log_feature(z)
    p = sigmoid(state[INTERCEPT] + state[SLOPE] * z + state[LOG_SLOPE] * r)
    curvature, kept = weight * CURVATURE * (p * (1.0 - p)), keep_share(state, weight)
    state[A00] = kept * state[A00] + (1.0 - kept) * RIDGE + curvature
    state[A01] = kept * state[A01] + curvature * z
    state[A02] = kept * state[A02] + curvature * r
    state[A11] = kept * state[A11] + (1.0 - kept) * RIDGE + curvature * z * z
    state[A12] = kept * state[A12] + curvature * z * r
    state[A22] = kept * state[A22] + (1.0 - kept) * RIDGE + curvature * r * r

    # v = A⁻¹x by A = LDLᵀ. As A ⪰ λI, no pivot is below λ; rounding could make it so.
    l10, l20 = state[A01] / state[A00], state[A02] / state[A00]
    d1 = max(RIDGE, state[A11] - l10 * state[A01])
    l21 = (state[A12] - l20 * state[A01]) / d1
    d2 = max(RIDGE, state[A22] - l20 * state[A02] - l21 * l21 * d1)
    y1 = z - l10
    y2 = r - l20 - l21 * y1
    v2 = y2 / d2
    v1 = y1 / d1 - l21 * v2
    v0 = 1.0 / state[A00] - l10 * v1 - l20 * v2

    gradient = weight * (p - (1.0 if y > 0.0 else 0.0))
    state[REGRET] += 0.5 * gradient * gradient * (1.0 / state[A00] + y1 * y1 / d1 + y2 * y2 / d2)
    state[INTERCEPT] -= gradient * v0
    state[SLOPE] -= gradient * v1
    state[LOG_SLOPE] -= gradient * v2
    count_score(state, kept, score * score, weight)


# --- Many classes ---


@compiled
def softmax_scores(
    state: NDArray[np.float64], scores: NDArray[np.float64], count: int, out: NDArray[np.float64]
) -> None:
    """Write the probabilities of `count` classes for their scores. They are in the order of the scores."""
    mean, unit = 0.0, score_unit(state)
    slope, log_slope = monotone_slopes(state)
    for c in range(count):
        mean += scores[c]
    mean /= count
    largest = -math.inf
    for c in range(count):
        z = shorten_score((scores[c] - mean) * unit)
        out[c] = slope * z + log_slope * log_feature(z)
        largest = max(largest, out[c])
    total = 0.0
    for c in range(count):
        out[c] = math.exp(out[c] - largest)
        total += out[c]
    for c in range(count):
        out[c] /= total


@compiled_shared
def update_softmax_calibration(
    state: NDArray[np.float64],
    scores: NDArray[np.float64],
    count: int,
    y: int,
    weight: float,
    probabilities: NDArray[np.float64],
) -> None:
    """Learn the class y of an example from the scores of `count` classes; `probabilities` is scratch."""
    softmax_scores(state, scores, count, probabilities)
    mean, unit, sq_score = 0.0, score_unit(state), 0.0
    for c in range(count):
        mean += scores[c]
    mean /= count
    mean_z, mean_r, zz, zr, rr, own_z, own_r = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(count):
        difference, p = scores[c] - mean, probabilities[c]
        sq_score += difference * difference
        z = shorten_score(difference * unit)
        r = log_feature(z)
        mean_z, mean_r = mean_z + p * z, mean_r + p * r
        zz, zr, rr = zz + p * z * z, zr + p * z * r, rr + p * r * r
        if c == y:
            own_z, own_r = z, r
    curvature, kept = weight * CURVATURE, keep_share(state, weight)
    state[A11] = kept * state[A11] + (1.0 - kept) * RIDGE + curvature * max(0.0, zz - mean_z * mean_z)
    state[A12] = kept * state[A12] + curvature * (zr - mean_z * mean_r)
    state[A22] = kept * state[A22] + (1.0 - kept) * RIDGE + curvature * max(0.0, rr - mean_r * mean_r)
    g1, g2 = weight * (mean_z - own_z), weight * (mean_r - own_r)
    l21 = state[A12] / state[A11]
    d2 = max(RIDGE, state[A22] - l21 * state[A12])
    y2 = g2 - l21 * g1
    v2 = y2 / d2
    state[REGRET] += 0.5 * (g1 * g1 / state[A11] + y2 * y2 / d2)
    state[SLOPE] -= g1 / state[A11] - l21 * v2
    state[LOG_SLOPE] -= v2
    count_score(state, kept, sq_score / count, weight)


# --- Probabilities of predictions ---


@compiled
def agree_with_label(p: float, score: float, tie: float) -> float:
    """Return the probability p of the positive class, at least ½ if the score predicts it and otherwise below."""
    is_positive = score > 0.0 or (score == 0.0 and tie > 0.0)
    return max(p, NEXT_ABOVE_HALF) if is_positive else min(p, NEXT_BELOW_HALF)


@compiled_read_only
def write_probabilities(
    state: NDArray[np.float64], scores: NDArray[np.float64], tie: float, out: NDArray[np.float64]
) -> None:
    """Write the probability of the positive class for each score."""
    for i in range(len(out)):
        out[i] = agree_with_label(predict_probability(state, scores[i]), scores[i], tie)


@compiled_read_only_with_gil
def predict_agreeing_probability(state: NDArray[np.float64], score: float, tie: float) -> float:
    """Return what `write_probabilities` writes for one score."""
    return agree_with_label(predict_probability(state, score), score, tie)


@compiled_read_only
def write_class_probabilities(
    state: NDArray[np.float64], scores: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Write the probability of each class for each row of scores."""
    for i in range(len(out)):
        softmax_scores(state, scores[i], scores.shape[1], out[i])


@compiled_read_only
def write_logistic_probabilities(scores: NDArray[np.float64], tie: float, out: NDArray[np.float64]) -> None:
    """Write σ(s) of each score s, for models that learned the logistic loss."""
    for i in range(len(out)):
        out[i] = agree_with_label(sigmoid(scores[i]), scores[i], tie)


def bound_regret(state: NDArray[np.float64], intercept: float, slope: float, log_slope: float) -> float:
    """Return the bound on the log-loss of the calibrated examples, beyond that of these fixed parameters; see the head
    of this file."""
    squares = intercept * intercept + (slope - 1.0) * (slope - 1.0) + log_slope * log_slope
    return 0.5 * RIDGE * squares + float(state[REGRET])


# --- The calibration of a run ---


def start_calibration(ledger: Ledger) -> None:
    """Calibrate by the next examples of a run, from a calibration that has seen none."""
    ledger.book = ledger.book._replace(calibration=build_calibration())
    resume_calibration(ledger)


def pause_calibration(ledger: Ledger) -> None:
    """Calibrate by no further example: in a later pass their labels have been seen."""
    ledger.book.counts[CALIBRATED_NEXT] = NEVER_CALIBRATED


def resume_calibration(ledger: Ledger) -> None:
    """Calibrate by the next examples of the schedule, if there is a calibration."""
    if len(ledger.book.calibration):
        ledger.book.counts[CALIBRATED_NEXT] = next_calibrated_example.function(ledger.examples)
