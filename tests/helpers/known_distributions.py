"""Distributions on a few points, so that true errors are sums, for tests of error guarantees."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from novikoff import OnlineToBatch, Perceptron

FALSE_ALARM_PROBABILITY = 1e-6
"""The largest probability that a test fails although the guarantee holds."""


class Distribution(NamedTuple):
    """Points, their probabilities, and the probability of the label +1 of each."""

    points: Any
    shares: Any
    positive: Any

    def stream(self, rng: Any, count: int) -> tuple[Any, Any]:
        at = rng.choice(len(self.points), count, p=self.shares)
        return self.points[at], np.where(rng.random(count) < self.positive[at], 1, -1)

    def error(self, model: Any) -> float:
        """Return the exact probability that the model errs on a new example."""
        said = model.predict(self.points) > 0
        return float(self.shares @ np.where(said, 1.0 - self.positive, self.positive))


def cube_corners(noise: float) -> Distribution:
    """Return the corners of a cube with equal probabilities, separated by a plane; some labels are flipped."""
    points = np.array(list(product((-1.0, 1.0), repeat=4)))
    target = points @ [3.0, 2.0, 2.0, -1.0] > 0.5
    return Distribution(points, np.full(16, 1 / 16), np.where(target, 1.0 - noise, noise))


def rare_directions(share: float) -> Distribution:
    """Return directions that are learned only once seen, the rarest with this probability."""
    shares = np.array([0.3, 0.2, 0.1, 0.05, share])
    shares = np.append(shares, 1.0 - shares.sum())
    return Distribution(np.eye(6) + 0.0, shares, np.array([1.0, 0.0, 0.0, 0.0, 0.0, 1.0]))


def coin_flip(share: float) -> Distribution:
    """Return one point with a random label: every hypothesis errs with at least this probability."""
    return Distribution(np.ones((1, 1)), np.ones(1), np.array([1.0 - share]))


DISTRIBUTIONS: dict[str, tuple[Distribution, Any]] = {
    "corners": (cube_corners(0.0), Perceptron()),
    "noisy corners": (cube_corners(0.1), Perceptron()),
    "rare": (rare_directions(0.11), Perceptron(fit_intercept=False)),
    "rarer": (rare_directions(0.03), Perceptron(fit_intercept=False)),
    "coin": (coin_flip(0.102), Perceptron(fit_intercept=False)),
}
METHODS: dict[str, dict[str, Any]] = {
    "controlled-testing": {"epsilon": 0.1, "delta": 0.2},
    "next-stretch": {"epsilon": 0.1, "delta": 0.2},
    "longest-survivor": {"delta": 0.2},
    "penalised": {"delta": 0.2},
    "vote": {"delta": 0.2},
}
STRETCH_SETTINGS: dict[str, dict[str, Any]] = {
    "corners": {"stream_radius": 5**0.5, "stream_margin": 0.5 / 18.25**0.5},
    "rare": {"max_mistakes": 4},
    "rarer": {"max_mistakes": 4},
}
"""Settings of next-stretch: R and γ with the bias, or one mistake for each negative direction."""


def wrap_learner(inner: Any, method: str, **settings: Any) -> OnlineToBatch:
    """Return a new OnlineToBatch with its own copy of the learner."""
    learner = Perceptron(shuffle=False) if inner is None else type(inner)(**inner.get_params())
    return OnlineToBatch(learner, method=method, **settings)  # type: ignore[arg-type]


def max_failures(runs: int, delta: float) -> int:
    """Return the least k with Pr[more than k failures] ≤ FALSE_ALARM_PROBABILITY for failures of probability δ."""
    return int(binom.isf(FALSE_ALARM_PROBABILITY, runs, delta))


def run_trials(world: Distribution, make: Callable[[int], OnlineToBatch], runs: int, count: int, seed: int) -> Any:
    """Return the true error of each run, its bound (NaN where there is none), and the progressive error."""
    rng = np.random.default_rng(seed)
    found = []
    for run in range(runs):
        X, y = world.stream(rng, count)
        model = make(run).partial_fit(X, y, classes=[-1, 1])
        promised = model.bound_
        found.append((world.error(model), np.nan if promised is None else promised, model.ledger_.progressive_error))
    return np.array(found).T
