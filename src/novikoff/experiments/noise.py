"""Experiment: mistakes and final errors on a disjunction whose labels are flipped, as the noise rate grows.

The examples are the same at every rate. Mistakes are counted against the noisy labels while learning. The last and
the averaged hypothesis are then tested on fresh examples with true labels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.data.synthetic.base import RandomStream
from novikoff.data.synthetic.checks import check_fraction, check_integer
from novikoff.data.synthetic.concepts import disjunction
from novikoff.data.synthetic.ground_truth import GroundTruth
from novikoff.experiments import result
from novikoff.experiments.common import BINARY_CLASSES, ProgressPrinter, ignore_progress
from novikoff.experiments.theorems import BALANCED, HINGE, WINNOW
from novikoff.linear.balanced_winnow import BalancedWinnow
from novikoff.linear.perceptron import Perceptron
from novikoff.linear.winnow import Winnow
from novikoff.theory import mistake_bounds, winnow_bounds

N_POINTS = 9
TEST_FRACTION = 0.25
"""Number of test examples, as a share of the training examples."""
AVERAGED_PREFIX = "averaged_"
LEARNERS = {"perceptron": "Perceptron", "winnow": "Winnow", "balanced_winnow": "Balanced Winnow"}


def run(
    *,
    attributes: int = 1000,
    relevant: int = 5,
    noise: float = 0.3,
    examples: int = 20_000,
    random_state: int = 0,
    tell: ProgressPrinter = ignore_progress,
) -> result.ExperimentResult:
    """Run with noise from 0 to `noise` and a disjunction of `relevant` among `attributes` attributes."""
    check_fraction("noise, the largest rate,", noise, inside=True)
    check_integer("examples, their number,", examples, 10)
    points = []
    for rate in np.linspace(0.0, noise, N_POINTS).round(6).tolist():
        stream = disjunction(
            attributes,
            relevant,
            noise=rate,
            examples=examples + max(round(TEST_FRACTION * examples), 1),
            random_state=random_state,
        )
        points.append({"noise": rate, **_run_point(stream, examples)})
        counts = ", ".join(f"{name} {points[-1][key]:,}" for key, name in LEARNERS.items())
        tell(f"noise {rate:.4g}: {counts}")
    return result.ExperimentResult(
        "noise",
        "Labels that are wrong",
        f"An example is positive if one of k = {relevant} attributes among n = {attributes:,} is active, but some"
        " labels are flipped. What becomes of the mistakes, and of what was learned?",
        (_summarize(points), EXPLANATION),
        {
            "attributes": attributes,
            "relevant": relevant,
            "noise": noise,
            "examples": examples,
            "random_state": random_state,
        },
        (_build_mistakes_panel(points, examples), _build_error_panel(points)),
    )


EXPLANATION = (
    "A predictor that knows the truth errs on exactly the flipped labels: the grey line. A learner trusts them, and"
    " pays for that later. Its last hypothesis depends on the last labels, even wrong ones; the average of all its"
    " hypotheses hardly does. Averaging changes what is predicted afterwards, not what is learned: the mistakes on the"
    " way are the same, and so the first plot has no averaged learners. Winnow's bound for disjunctions holds without"
    " noise only, and is shown there only; the other bounds are left out where they allow more mistakes than"
    " there are examples."
)


def _l1_margin(k: int) -> float:
    """Return γ for ‖u‖₁ = 1: the separator is 2 for each of k literals and −1 for the bias, with margin 1."""
    return 1.0 / (2 * k + 1)


def _build_learners(k: int, average: bool) -> dict[str, Any]:
    return {
        "perceptron": Perceptron(average=average),
        "winnow": Winnow(average=average),
        "balanced_winnow": BalancedWinnow(alpha=math.exp(_l1_margin(k)), average=average),
    }


def _run_point(stream: RandomStream, examples: int) -> dict[str, result.Value]:
    (X, y), truth = stream.to_arrays(), stream.truth
    scores = X @ _true_weights(truth)[1:] + _true_weights(truth)[0]
    loss = float(np.maximum(0.0, 1.0 - y * scores)[:examples].sum())
    point: dict[str, result.Value] = {"flipped": stream.count_flipped(examples)}
    for average in (False, True):
        for key, learner in _build_learners(truth.k, average).items():
            learner.partial_fit(X[:examples], y[:examples], classes=BINARY_CLASSES)
            wrong = learner.predict(X[examples:]) != np.where(scores[examples:] > 0.0, 1, -1)
            point[f"{AVERAGED_PREFIX if average else ''}{key}_error"] = float(wrong.mean())
            if not average:
                point[key] = learner.ledger_.mistakes
                point[f"{key}_bound"] = _evaluate_bound(key, learner.ledger_.radius, truth, loss, examples)
    return point


def _true_weights(truth: GroundTruth) -> NDArray[np.float64]:
    if truth.separator is None:
        raise AssertionError("a disjunction that does not drift has a separator")
    return truth.separator


def _evaluate_bound(key: str, radius: float, truth: GroundTruth, loss: float, examples: int) -> float | None:
    """Return the bound where it holds and is not vacuous."""
    if key == "winnow":
        if truth.flipped:
            return None
        allowed = winnow_bounds.winnow(literals=truth.k, features=truth.n, alpha=2.0, threshold=float(truth.n))
    elif key == "perceptron":
        allowed = mistake_bounds.hinge(radius=radius, norm=float(np.linalg.norm(_true_weights(truth))), loss=loss)
    else:
        gamma = _l1_margin(truth.k)
        allowed = winnow_bounds.balanced_winnow(
            features=truth.n + 1, learning_rate=gamma, radius_inf=1.0, norm1=1.0 / gamma, margin=1.0, loss=loss
        )
    return allowed if allowed <= examples else None


def _build_mistakes_panel(points: list[dict[str, result.Value]], examples: int) -> result.Panel:
    columns = [result.x_column("noise", "noise"), result.PanelColumn("flipped", "wrong labels", "reference")]
    for (key, name), theorem in zip(LEARNERS.items(), (HINGE, WINNOW, BALANCED), strict=True):
        count = result.observed_column(key, name)
        columns += [count, result.upper_bound_column(count, theorem)]
    return result.build_panel(
        "mistakes",
        "Mistakes while learning",
        f"{examples:,} examples; a mistake is a prediction that differs from the label that comes, be the label right"
        " or wrong.",
        (result.Axis("share of labels that are flipped"), result.Axis("mistakes")),
        tuple(columns),
        points,
    )


def _build_error_panel(points: list[dict[str, result.Value]]) -> result.Panel:
    columns = [result.x_column("noise", "noise")]
    for key, name in LEARNERS.items():
        columns += [
            result.observed_column(f"{key}_error", name),
            result.observed_column(f"{AVERAGED_PREFIX}{key}_error", f"{name}, averaged"),
        ]
    return result.build_panel(
        "error afterwards",
        "Error of what was learned",
        "On fresh examples with true labels: of the last hypothesis, and of the average of all of them.",
        (result.Axis("share of labels that were flipped"), result.Axis("error on fresh examples")),
        tuple(columns),
        points,
    )


def _summarize(points: list[dict[str, result.Value]]) -> str:
    last = points[-1]
    counts = ", ".join(f"{name} {last[key]:,}" for key, name in LEARNERS.items())
    return (
        f"With a share of {last['noise']:g} of the labels flipped ({last['flipped']:,} of them), the mistakes are:"
        f" {counts}. The Perceptron's last hypothesis then errs on {last['perceptron_error']:.1%} of fresh examples,"
        f" its average on {last['averaged_perceptron_error']:.1%}."
    )
