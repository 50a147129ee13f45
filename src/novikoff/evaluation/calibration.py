"""Online calibration: probabilities from scores, learned one example at a time.

The positive class has the probability σ(θ·x), x = (1, z, sign(z)·ln(1 + |z|)). z is the score divided by the root mean
square of the scores so far, and clipped to ±MAX_SCORE. The third feature lets large scores count less. θ is learned
from progressive scores: an example is scored, then calibrated, and then its label is learned by both the classifier and
the calibration. So no label is used for its own prediction.

Predict   p = σ(θ·x)
Update    A ← f·A + (1 − f)·I + κ·p(1−p)·x xᵀ,  θ ← θ − (p − y)·A⁻¹x, y 0 or 1; A₀ = I, θ₀ = (0, 1, 0)
          f = (t + 1)/(t + 1 + FORGETTING) after t examples: recent scores are those of better weights
          an example of weight c has c times the gradient, the curvature and FORGETTING
Bound     Σ ℓ(θ_t) − Σ ℓ(u) ≤ ½‖u − θ₀‖² + ½ Σ (p_t − y_t)² x_tᵀA_t⁻¹x_t, for every sequence and every u with
          |x_t·(u − θ_t)| ≤ D for all t; ℓ is the log-loss, κ = 2(e^−D + D − 1)/D², D = 2
Source    Platt 1999; Hazan, Agarwal and Kale 2007 (online Newton step). The curvature of the logistic loss falls at
          most as e^−|d| at distance d (Bach 2010), so ℓ(u) ≥ ℓ(θ) + ∇ℓ·(u − θ) + ½κ·p(1−p)·(x·(u − θ))². As A ⪰ I,
          forgetting makes ‖u − θ‖ in the norm of A smaller, so that the sum telescopes as without it

The state is one array of STATE_SIZE numbers. The functions take numbers and this array only and allocate nothing, so
they can be compiled. The same calls give the same bytes, so a saved state continues as if it had not been saved.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

MAX_DISTANCE = 2.0
"""D: the regret bound is for parameters u whose log-odds differ from those of the predictions by at most this much."""
CURVATURE = 2.0 * (math.exp(-MAX_DISTANCE) + MAX_DISTANCE - 1.0) / MAX_DISTANCE**2
"""κ"""
FORGETTING = 5.0
"""The k-th of t examples has a share of about (k/t)^FORGETTING in A and in the root mean square."""
MAX_SCORE = 8.0
"""Scores are clipped to this multiple of their root mean square."""
INTERCEPT, SLOPE, LOG_SLOPE, A00, A01, A02, A11, A12, A22, SQUARES, WEIGHT, TOTAL_WEIGHT, REGRET = range(13)
"""Entries of the state: θ, the matrix A, Σ score² and Σ weight with forgetting, Σ weight, the sum in the bound."""
STATE_SIZE = 13


def build_calibration() -> NDArray[np.float64]:
    """Return the state before the first example: the probability is σ(z).

    >>> state = build_calibration()
    >>> for score, label in [(2.0, 1), (-1.0, 0), (1.5, 1), (-2.0, 0)] * 10:
    ...     update_calibration(state, score, label, 1.0)
    >>> predict_probability(state, 2.0) > 0.9, predict_probability(state, -1.0) < 0.1
    (True, True)
    """
    state = np.zeros(STATE_SIZE)
    state[SLOPE] = state[A00] = state[A11] = state[A22] = 1.0
    return state


def predict_probability(state: NDArray[np.float64], score: float) -> float:
    """Return the probability of the positive class for a score."""
    mean_square = state[SQUARES] / state[WEIGHT] if state[WEIGHT] > 0.0 else 0.0
    z = score / math.sqrt(mean_square) if mean_square > 0.0 else 0.0
    z = max(-MAX_SCORE, min(MAX_SCORE, z))
    log_odds = state[INTERCEPT] + state[SLOPE] * z + state[LOG_SLOPE] * math.copysign(math.log1p(abs(z)), z)
    e = math.exp(-abs(log_odds))  # of a negative number only: it cannot overflow
    return 1.0 / (1.0 + e) if log_odds >= 0.0 else e / (1.0 + e)


def update_calibration(state: NDArray[np.float64], score: float, label: int, weight: float) -> None:
    """Learn the label, 0 or 1, of an example whose score was computed before its label was learned."""
    mean_square = state[SQUARES] / state[WEIGHT] if state[WEIGHT] > 0.0 else 0.0
    z = score / math.sqrt(mean_square) if mean_square > 0.0 else 0.0
    z = max(-MAX_SCORE, min(MAX_SCORE, z))
    r = math.copysign(math.log1p(abs(z)), z)
    log_odds = state[INTERCEPT] + state[SLOPE] * z + state[LOG_SLOPE] * r
    e = math.exp(-abs(log_odds))
    p = 1.0 / (1.0 + e) if log_odds >= 0.0 else e / (1.0 + e)

    curvature = weight * CURVATURE * e / ((1.0 + e) * (1.0 + e))
    kept = (state[TOTAL_WEIGHT] + 1.0) / (state[TOTAL_WEIGHT] + 1.0 + FORGETTING * weight)
    state[A00] = kept * state[A00] + (1.0 - kept) + curvature
    state[A01] = kept * state[A01] + curvature * z
    state[A02] = kept * state[A02] + curvature * r
    state[A11] = kept * state[A11] + (1.0 - kept) + curvature * z * z
    state[A12] = kept * state[A12] + curvature * z * r
    state[A22] = kept * state[A22] + (1.0 - kept) + curvature * r * r

    # v = A⁻¹x by A = LDLᵀ. As A ⪰ I, no pivot is below 1; rounding could make it so.
    l10, l20 = state[A01] / state[A00], state[A02] / state[A00]
    d1 = max(1.0, state[A11] - l10 * state[A01])
    l21 = (state[A12] - l20 * state[A01]) / d1
    d2 = max(1.0, state[A22] - l20 * state[A02] - l21 * l21 * d1)
    y1 = z - l10
    y2 = r - l20 - l21 * y1
    v2 = y2 / d2
    v1 = y1 / d1 - l21 * v2
    v0 = 1.0 / state[A00] - l10 * v1 - l20 * v2

    gradient = weight * (p - label)
    state[REGRET] += 0.5 * gradient * gradient * (1.0 / state[A00] + y1 * y1 / d1 + y2 * y2 / d2)
    state[INTERCEPT] -= gradient * v0
    state[SLOPE] -= gradient * v1
    state[LOG_SLOPE] -= gradient * v2
    state[SQUARES] = kept * state[SQUARES] + weight * score * score
    state[WEIGHT] = kept * state[WEIGHT] + weight
    state[TOTAL_WEIGHT] += weight


def bound_regret(state: NDArray[np.float64], intercept: float, slope: float, log_slope: float) -> float:
    """Return the bound on the log-loss so far, beyond that of these fixed parameters; see the head of this file."""
    squares = intercept * intercept + (slope - 1.0) * (slope - 1.0) + log_slope * log_slope
    return 0.5 * squares + float(state[REGRET])
