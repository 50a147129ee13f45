"""γ/‖x‖, and with it the Perceptron's bound and its mistakes, as dimensions that mean nothing are added.

A separable stream of k dimensions, ‖x‖ ≤ 1, margin γ, no bias; to each example come N coordinates that are +1/√k or
−1/√k by the toss of a coin. The separator weighs them with 0, so that its margin stays, and ‖x‖² grows by N/k.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from novikoff.experiments.result import (Axis, Panel, Result, Value, at_least, at_most, made, panel, x)
from novikoff.experiments.common import (BOTH, Tell, nobody, sizes)
from novikoff.experiments.theorems import NOISE_LENGTH, NOVIKOFF
from novikoff.linear.perceptron import Perceptron
from novikoff.data.synthetic.concepts import linear_threshold
from novikoff.data.synthetic.checks import share, whole
from novikoff.theory import mistake_bounds

DIMENSIONS = "N, the dimensions that mean nothing"
RATIO, PERCEPTRON = made("ratio", "γ/R"), made("perceptron", "Perceptron")


def run(
    *,
    attributes: int = 1000,
    relevant: int = 5,
    margin: float = 0.2,
    examples: int = 5000,
    seed: int = 0,
    tell: Tell = nobody,
) -> Result:
    """N from 1 to `attributes`, beside k = `relevant` dimensions that matter."""
    whole("attributes, the largest number of them that mean nothing,", attributes, 10, 10**5)
    whole("relevant, the number of dimensions that matter,", relevant, 1, 1000)
    share("margin", margin, inside=True)
    X, y = linear_threshold(relevant, gamma=margin, examples=examples, seed=seed).whole()
    rng = np.random.default_rng([seed, relevant])
    points = []
    for n in sizes(1, attributes):
        points.append(_point(X, y, n, margin, rng))
        tell(f"N = {n:,}: γ/R = {points[-1]['ratio']:.4f}, {points[-1]['perceptron']:,} mistakes")
    return Result(
        "irrelevant-dimensions",
        "Dimensions that mean nothing, and the margin",
        f"A plane separates examples of {relevant} dimensions, and none is nearer to it than γ = {margin:g}. What"
        " happens when N dimensions of noise are added, each about as long as one of the others?",
        (_seen(points), EXPLAINED),
        {"attributes": attributes, "relevant": relevant, "margin": margin, "examples": examples, "seed": seed},
        (_ratios(points), _mistakes(points)),
    )


EXPLAINED = (
    "The margin γ stays: the same plane still separates, and does not look at the noise. But examples become longer, so"
    " that γ/‖x‖ becomes smaller like 1/√N, and the bound (R/γ)² larger like N. What is learned from an example lies in"
    " all its directions, and most of them mean nothing."
)


def _point(X: Any, y: Any, n: int, margin: float, rng: np.random.Generator) -> dict[str, Value]:
    relevant = X.shape[1]
    noise = rng.choice([-1.0, 1.0], (len(X), n)) / math.sqrt(relevant)
    learner = Perceptron(bias=False)
    learner.partial_fit(np.hstack([X, noise]), y, classes=BOTH)
    radius = learner.ledger_.radius
    return {
        "n": n,
        "radius": radius,
        "ratio": margin / radius,
        "ratio_promised": margin / math.sqrt(1.0 + n / relevant),
        "perceptron": learner.ledger_.mistakes,
        "perceptron_allowed": mistake_bounds.novikoff(radius=radius, margin=margin),
    }


def _ratios(points: list[dict[str, Value]]) -> Panel:
    return panel(
        "ratio",
        "The margin beside the length of the longest example",
        "γ/R, R the longest ‖x‖. It only falls: every dimension of noise makes every example longer.",
        (Axis(DIMENSIONS, log=True), Axis("γ/R", log=True)),
        (x("n", "N"), RATIO, at_least(RATIO, NOISE_LENGTH)),
        points,
    )


def _mistakes(points: list[dict[str, Value]]) -> Panel:
    return panel(
        "mistakes",
        "Mistakes made and allowed",
        "One pass over the examples. The bound holds for the worst order and any number of passes.",
        (Axis(DIMENSIONS, log=True), Axis("mistakes", log=True)),
        (x("n", "N"), PERCEPTRON, at_most(PERCEPTRON, NOVIKOFF)),
        points,
    )


def _seen(points: list[dict[str, Value]]) -> str:
    first, last = points[0], points[-1]
    return (
        f"From N = {first['n']:,} to N = {last['n']:,} γ/R falls from {first['ratio']:.3g} to {last['ratio']:.3g}, the"
        f" bound grows from {first['perceptron_allowed']:,.0f} to {last['perceptron_allowed']:,.0f} mistakes, and those"
        f" that are made from {first['perceptron']:,} to {last['perceptron']:,}."
    )
