"""Experiment: γ/‖x‖, the Perceptron's bound and its mistakes, as irrelevant dimensions are added.

The stream is separable in k dimensions, with ‖x‖ ≤ 1, margin γ and no bias. Each example gets N more coordinates that
are +1/√k or −1/√k at random. The separator ignores them, so its margin is unchanged, and ‖x‖² grows by N/k.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from novikoff.data.synthetic.checks import check_fraction, check_integer
from novikoff.data.synthetic.concepts import linear_threshold
from novikoff.experiments import result
from novikoff.experiments.common import BINARY_CLASSES, ProgressPrinter, geometric_sizes, ignore_progress
from novikoff.experiments.theorems import NOISE_LENGTH, NOVIKOFF
from novikoff.linear.perceptron import Perceptron
from novikoff.theory import mistake_bounds

DIMENSIONS_TITLE = "N, the dimensions that mean nothing"
RATIO_COLUMN, PERCEPTRON_COLUMN = (
    result.observed_column("ratio", "γ/R"),
    result.observed_column("perceptron", "Perceptron"),
)


def run(
    *,
    attributes: int = 1000,
    relevant: int = 5,
    margin: float = 0.2,
    examples: int = 5000,
    random_state: int = 0,
    tell: ProgressPrinter = ignore_progress,
) -> result.ExperimentResult:
    """Run with N from 1 to `attributes`, beside k = `relevant` relevant dimensions."""
    check_integer("attributes, the largest number of them that mean nothing,", attributes, 10, 10**5)
    check_integer("relevant, the number of dimensions that matter,", relevant, 1, 1000)
    check_fraction("margin", margin, inside=True)
    X, y = linear_threshold(relevant, gamma=margin, examples=examples, random_state=random_state).to_arrays()
    rng = np.random.default_rng([random_state, relevant])
    points = []
    for n in geometric_sizes(1, attributes):
        points.append(_run_point(X, y, n, margin, rng))
        tell(f"N = {n:,}: γ/R = {points[-1]['ratio']:.4f}, {points[-1]['perceptron']:,} mistakes")
    return result.ExperimentResult(
        "irrelevant-dimensions",
        "Dimensions that mean nothing, and the margin",
        f"A plane separates examples of {relevant} dimensions, and none is nearer to it than γ = {margin:g}. What"
        " happens when N dimensions of noise are added, each about as long as one of the others?",
        (_summarize(points), EXPLANATION),
        {
            "attributes": attributes,
            "relevant": relevant,
            "margin": margin,
            "examples": examples,
            "random_state": random_state,
        },
        (_build_ratio_panel(points), _build_mistakes_panel(points)),
    )


EXPLANATION = (
    "The margin γ stays: the same plane still separates, and does not look at the noise. But examples become longer, so"
    " that γ/‖x‖ becomes smaller like 1/√N, and the bound (R/γ)² larger like N. What is learned from an example lies in"
    " all its directions, and most of them mean nothing."
)


def _run_point(X: Any, y: Any, n: int, margin: float, rng: np.random.Generator) -> dict[str, result.Value]:
    relevant = X.shape[1]
    noise = rng.choice([-1.0, 1.0], (len(X), n)) / math.sqrt(relevant)
    learner = Perceptron(fit_intercept=False)
    learner.partial_fit(np.hstack([X, noise]), y, classes=BINARY_CLASSES)
    radius = learner.ledger_.radius
    return {
        "n": n,
        "radius": radius,
        "ratio": margin / radius,
        "ratio_lower_bound": margin / math.sqrt(1.0 + n / relevant),
        "perceptron": learner.ledger_.mistakes,
        "perceptron_bound": mistake_bounds.novikoff(radius=radius, margin=margin),
    }


def _build_ratio_panel(points: list[dict[str, result.Value]]) -> result.Panel:
    return result.build_panel(
        "ratio",
        "The margin beside the length of the longest example",
        "γ/R, R the longest ‖x‖. It only falls: every dimension of noise makes every example longer.",
        (result.Axis(DIMENSIONS_TITLE, log=True), result.Axis("γ/R", log=True)),
        (result.x_column("n", "N"), RATIO_COLUMN, result.lower_bound_column(RATIO_COLUMN, NOISE_LENGTH)),
        points,
    )


def _build_mistakes_panel(points: list[dict[str, result.Value]]) -> result.Panel:
    return result.build_panel(
        "mistakes",
        "Mistakes made and allowed",
        "One pass over the examples. The bound holds for the worst order and any number of passes.",
        (result.Axis(DIMENSIONS_TITLE, log=True), result.Axis("mistakes", log=True)),
        (result.x_column("n", "N"), PERCEPTRON_COLUMN, result.upper_bound_column(PERCEPTRON_COLUMN, NOVIKOFF)),
        points,
    )


def _summarize(points: list[dict[str, result.Value]]) -> str:
    first, last = points[0], points[-1]
    return (
        f"From N = {first['n']:,} to N = {last['n']:,} γ/R falls from {first['ratio']:.3g} to {last['ratio']:.3g}, the"
        f" bound grows from {first['perceptron_bound']:,.0f} to {last['perceptron_bound']:,.0f} mistakes, and those"
        f" that are made from {first['perceptron']:,} to {last['perceptron']:,}."
    )
