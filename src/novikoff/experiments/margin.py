"""Experiment: updates of Perceptron and Margin Perceptron until convergence, and the margin reached, as γ shrinks.

The examples are random half-spaces with y·u·x ≥ γ, ‖x‖ ≤ 1, no bias. Passes over the same examples are repeated until
one makes no update.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from novikoff.data.synthetic.checks import check_fraction, check_integer
from novikoff.data.synthetic.concepts import linear_threshold
from novikoff.experiments import result
from novikoff.experiments.common import BINARY_CLASSES, ProgressPrinter, ignore_progress
from novikoff.experiments.theorems import MARGIN, MARGIN_REACHED, NOVIKOFF
from novikoff.linear.margin_perceptron import MarginPerceptron
from novikoff.linear.perceptron import Perceptron
from novikoff.theory import mistake_bounds

MAX_MARGIN = 0.3
N_POINTS = 9
HALF_EPSILON = 0.5
MAX_PASSES = 10_000


class ConvergedRun(NamedTuple):
    """The outcome of one run."""

    passes: int | None
    """Number of passes; None if the last pass still made an update."""
    updates: int
    radius: float
    margin: float


def run(
    *,
    attributes: int = 20,
    margin: float = 0.003,
    epsilon: float = 0.1,
    examples: int = 4000,
    random_state: int = 0,
    tell: ProgressPrinter = ignore_progress,
) -> result.ExperimentResult:
    """Run with γ from 0.3 down to `margin`; the Margin Perceptron has ε = ½ and ε = `epsilon`."""
    check_fraction("epsilon, how much of the margin may be given up,", epsilon, inside=True)
    check_fraction("margin, the smallest one,", margin, inside=True)
    check_integer("attributes, their number,", attributes, 2)
    epsilons = {"half": HALF_EPSILON, "epsilon": epsilon}
    points = []
    for gamma in _margin_grid(margin):
        X, y = linear_threshold(attributes, gamma=gamma, examples=examples, random_state=random_state).to_arrays()
        points.append(_run_point(X, y, gamma, epsilons))
        counts = ", ".join(f"{points[-1][key]:,}" for key in ("perceptron", *epsilons))
        tell(f"γ = {gamma:.4g}: updates {counts} (Perceptron, ε = ½, ε = {epsilon:g})")
    updates, reached = _build_updates_panel(points, epsilons), _build_margin_panel(points, epsilons)
    return result.ExperimentResult(
        "margin",
        "A margin that shrinks",
        "A plane separates the examples, and none is nearer to it than γ. How many updates does it take to find a plane"
        " that separates them, and how far from the examples is the one that is found?",
        (_summarize(points, epsilon), EXPLANATION),
        {
            "attributes": attributes,
            "margin": margin,
            "epsilon": epsilon,
            "examples": examples,
            "random_state": random_state,
        },
        (updates, reached),
    )


EXPLANATION = (
    "The bounds hold for the worst examples; random ones are kinder. The Perceptron stops at the first plane"
    " that errs nowhere, however narrowly. The Margin Perceptron pays with more updates and ends with at least the"
    " share 1 − ε of γ; it can have more than γ, for γ is what the stream promises, and the widest margin of the"
    " generated examples is larger."
)


def _margin_grid(least: float) -> list[float]:
    gammas: list[float] = np.geomspace(max(MAX_MARGIN, least), least, N_POINTS).tolist()
    return sorted(set(gammas), reverse=True)


def _run_point(X: Any, y: Any, gamma: float, epsilons: dict[str, float]) -> dict[str, result.Value]:
    perceptron = _train_until_no_update(Perceptron(fit_intercept=False), X, y)
    point: dict[str, result.Value] = {
        "gamma": gamma,
        "perceptron": perceptron.updates,
        "perceptron_bound": mistake_bounds.novikoff(radius=perceptron.radius, margin=gamma),
        "perceptron_passes": perceptron.passes,
        "perceptron_margin": perceptron.margin / gamma if perceptron.passes else None,
    }
    for key, epsilon in epsilons.items():
        ended = _train_until_no_update(MarginPerceptron(gamma=gamma, epsilon=epsilon, fit_intercept=False), X, y)
        point |= {
            key: ended.updates,
            f"{key}_bound": mistake_bounds.margin_perceptron(radius=ended.radius, margin=gamma, epsilon=epsilon),
            f"{key}_passes": ended.passes,
            f"{key}_margin": ended.margin / gamma if ended.passes else None,
            f"{key}_margin_lower_bound": 1.0 - epsilon if ended.passes else None,
        }
    return point


def _train_until_no_update(learner: Any, X: Any, y: Any) -> ConvergedRun:
    passes, before, still = 0, 0, False
    while not still and passes < MAX_PASSES:
        learner.partial_fit(X, y, classes=BINARY_CLASSES)
        passes, before, still = passes + 1, learner.ledger_.updates, learner.ledger_.updates == before
    ledger, w = learner.ledger_, learner.coef_[0]
    length = float(np.linalg.norm(w))
    margin = float((y * (X @ w)).min()) / length if length > 0.0 else 0.0
    return ConvergedRun(passes if still else None, ledger.updates, ledger.radius, margin)


def _learner_title(key: str, epsilons: dict[str, float]) -> str:
    if key == "perceptron":
        return "Perceptron"
    return f"Margin Perceptron (ε = {'½' if key == 'half' else format(epsilons[key], 'g')})"


def _build_updates_panel(points: list[dict[str, result.Value]], epsilons: dict[str, float]) -> result.Panel:
    columns = [result.x_column("gamma", "γ")]
    for key in ("perceptron", *epsilons):
        count = result.observed_column(key, _learner_title(key, epsilons))
        columns += [count, result.upper_bound_column(count, NOVIKOFF if key == "perceptron" else MARGIN)]
        columns.append(result.PanelColumn(f"{key}_passes", "passes", "other"))
    return result.build_panel(
        "updates",
        "Updates until a pass makes none",
        "The examples again and again until nothing changes any more, and all updates on the way. The Perceptron"
        " updates on mistakes only; the Margin Perceptron also where y·w·x/‖w‖ < (1 − ε)γ.",
        (result.Axis("γ, the margin promised", log=True), result.Axis("updates", log=True)),
        tuple(columns),
        points,
    )


def _build_margin_panel(points: list[dict[str, result.Value]], epsilons: dict[str, float]) -> result.Panel:
    columns = [result.x_column("gamma", "γ"), result.observed_column("perceptron_margin", "Perceptron")]
    for key in epsilons:
        margin = result.observed_column(f"{key}_margin", _learner_title(key, epsilons))
        columns += [margin, result.lower_bound_column(margin, MARGIN_REACHED)]
    return result.build_panel(
        "margin reached",
        "The margin at the end",
        "min y·w·x/‖w‖ of the last w, as a share of γ. Dashed: the least that is promised.",
        (result.Axis("γ, the margin promised", log=True), result.Axis("margin reached ÷ γ")),
        tuple(columns),
        points,
    )


def _summarize(points: list[dict[str, result.Value]], epsilon: float) -> str:
    first, last = points[0], points[-1]
    return (
        f"From γ = {first['gamma']:.3g} to γ = {last['gamma']:.3g} the Perceptron's mistakes go from"
        f" {first['perceptron']:,} to {last['perceptron']:,}, the Margin Perceptron's updates from {first['half']:,} to"
        f" {last['half']:,} with ε = ½ and from {first['epsilon']:,} to {last['epsilon']:,} with ε = {epsilon:g}."
    )
