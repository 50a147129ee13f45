"""Combine the scores of several learners to one probability, online: Bayesian logistic regression on their scores, and
a mixture of two such forecasts with fixed share.

A forecast is p = softmax(a·f_c) over the classes c, with the features f_c of a class; for two classes p = σ(a·f). After
each example, with the curvature C of the log-loss at a and the gradient g of the log-likelihood:

    H ← λ·H + (1 − λ)·H₀ + C,   a ← a + S·g,   H₀ = 5·I

S is the inverse of H at step t, or at an earlier step from t·64/65 on: H changes little in between.

The mixture is v·p + u·q of two forecasts p and q, both kept above ε, with u = 1 − v. v is p's share of the product of
all likelihoods so far; after each example a share α is redistributed evenly, so that it follows changes. Both weights
are recorded: 1 − v would be 0 where u is small.
"""

from __future__ import annotations

from novikoff._compiled.jit import compiled, compiled_shared
from novikoff._compiled.lazy_numpy import NDArray, np

PRIOR_PRECISION = 5.0
LEAST_PROBABILITY = 1e-4
"""ε: no forecast of two classes is nearer to 0 than this."""
LEAST_WEIGHT = 1e-200
"""No weight of a forecast underflows, so that a forecast can recover if α is 0."""
STEPS_PER_INVERSE = 64
"""S is computed again after one step in this number, in proportion to the number of steps."""


@compiled
def next_inverse(t: float) -> float:
    """Return the step at which S is computed, after it was computed at step t."""
    return t + 1.0 + t // STEPS_PER_INVERSE


@compiled
def forget(precision: NDArray[np.float64], n: int, kept: float) -> None:
    """Replace H by λ·H + (1 − λ)·H₀, where `kept` is λ. H is symmetric, of n rows; its lower triangle is used."""
    for r in range(n):
        for c in range(r + 1):
            precision[n * r + c] *= kept
        precision[(n + 1) * r] += (1.0 - kept) * PRIOR_PRECISION


@compiled
def move_weights(weights: NDArray[np.float64], inverse: NDArray[np.float64], gradient: NDArray[np.float64]) -> None:
    """Take the step a ← a + S·g."""
    n = len(weights)
    for r in range(n):
        step = 0.0
        for c in range(n):
            step += inverse[n * r + c] * gradient[c]
        weights[r] += step


@compiled_shared
def invert(precision: NDArray[np.float64], n: int, factors: NDArray[np.float64], inverse: NDArray[np.float64]) -> None:
    """Write S, the inverse of H; `factors` is scratch."""
    # H = LDLᵀ: `factors` holds L below the diagonal and D on it. As H ⪰ H₀, no pivot is below it, but for rounding.
    for r in range(n):
        for c in range(r + 1):
            entry = precision[r * n + c]
            for k in range(c):
                entry -= factors[r * n + k] * factors[c * n + k] * factors[k * n + k]
            factors[r * n + c] = max(PRIOR_PRECISION, entry) if r == c else entry / factors[c * n + c]
    for column in range(n):
        solution = inverse[column * n : column * n + n]
        for r in range(n):
            solution[r] = 1.0 if r == column else 0.0
            for k in range(r):
                solution[r] -= factors[r * n + k] * solution[k]
        for r in range(n):
            solution[r] /= factors[r * n + r]
        for back in range(n):
            r = n - 1 - back
            for k in range(r + 1, n):
                solution[r] -= factors[k * n + r] * solution[k]


@compiled
def bound_forecast(p: float, classes: float) -> float:
    """Return the forecast of one class, kept above ε; forecasts of all classes still add up to 1."""
    return (1.0 - 2.0 * LEAST_PROBABILITY) * p + 2.0 * LEAST_PROBABILITY / classes


@compiled
def next_weights(v: float, u: float, p: float, q: float, share: float) -> tuple[float, float]:
    """Return v and u after an example to whose label the two forecasts gave the probabilities p and q."""
    first, second = v * p, u * q
    total = first + second
    v = max(LEAST_WEIGHT, (1.0 - share) * (first / total) + 0.5 * share)
    return v, max(LEAST_WEIGHT, (1.0 - share) * (second / total) + 0.5 * share)
