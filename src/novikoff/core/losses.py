"""Losses: when an example changes the weights, and by how much.

A loss turns the score s = w·x, the label y ∈ {−1, +1} and ‖w‖ into a gradient g; the updater then moves the weights
along g·x. For a loss ℓ that can be differentiated g = −∂ℓ/∂s. Conventions exactly at the kink, as the sources have
them: y·s equal to the margin does not update a thick separator, y·s = 1 does update under the hinge.

All losses of the package are one type with a `kind`, so that the loop is compiled once for all of them. A loss of your
own is a NamedTuple for which `gradient`, and where it has a value `loss_value`, are defined: see docs/own-loss.md.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled.jit import generic

(
    PERCEPTRON_LOSS,
    RELATIVE_MARGIN,
    FALSE_NEGATIVE,
    VOTE_MARGIN,
    ALWAYS_UPDATE,
    HINGE,
    SQUARED_HINGE,
    LOGISTIC,
    SQUARED,
) = range(9)


class Loss(NamedTuple):
    """A loss of the package: one of these kinds, with a margin where it has one.

    PERCEPTRON_LOSS  update on a mistake, and where y·s < margin (the thick separator)
    RELATIVE_MARGIN  update on a mistake, where y·s/‖w‖ < margin, and always from w = 0
    FALSE_NEGATIVE   update on a positive example that was predicted negative, and on nothing else
    VOTE_MARGIN      update where not all vote for the label: the score is the share of votes for + less that for −
    ALWAYS_UPDATE    every example is passed to the updater, which decides itself
    HINGE            ℓ = max(0, 1 − y·s), the loss of the support vector machine
    SQUARED_HINGE    update where y·s < 1, in proportion to 1 − y·s: the slope of half the squared hinge loss
    LOGISTIC         ℓ = ln(1 + exp(−y·s)), the loss of logistic regression
    SQUARED          ℓ = ½(y − s)², the loss of LMS, Adaline and ridge regression
    """

    kind: int
    margin: float = 0.0


@generic
def gradient(loss: Any, score: float, y: float, wrong: bool, norm: float) -> float:
    """Return γ(s, y, ‖w‖): how far the example moves the score and in which direction; 0 changes nothing."""
    return 0.0


@generic
def loss_value(loss: Any, score: float, y: float) -> float:
    """Return the value of the loss; 0 for mistake-driven losses, which have none."""
    return 0.0


@generic
def required_margin(loss: Any) -> float:
    """Return the margin from which on the gradient is 0; infinity where it never is."""
    return math.inf


@generic
def mistake_margin(loss: Any) -> float:
    """Return the margin of the loss that updates on mistakes only; NaN for other losses."""
    return math.nan


@mistake_margin.of(Loss)
def _mistake_margin_loss(loss: Loss) -> float:
    return loss.margin if loss.kind == PERCEPTRON_LOSS else math.nan


@gradient.of(Loss)
def _gradient_loss(loss: Loss, score: float, y: float, wrong: bool, norm: float) -> float:  # noqa: PLR0911 - one for each kind
    if loss.kind == PERCEPTRON_LOSS:
        return y if wrong or y * score < loss.margin else 0.0
    if loss.kind == ALWAYS_UPDATE:
        return y
    if loss.kind == HINGE:
        return y if y * score <= 1.0 else 0.0
    if loss.kind == SQUARED_HINGE:
        return y * max(0.0, 1.0 - y * score)
    if loss.kind == LOGISTIC:
        e = math.exp(-abs(score))  # of a negative number only: it cannot overflow
        return y * (e / (1.0 + e) if y * score > 0.0 else 1.0 / (1.0 + e))
    if loss.kind == SQUARED:
        return y - score
    if loss.kind == RELATIVE_MARGIN:
        return y if wrong or norm == 0.0 or y * score < loss.margin * norm else 0.0
    if loss.kind == FALSE_NEGATIVE:
        return y if wrong and y > 0.0 else 0.0
    return y if y * score < 1.0 else 0.0  # VOTE_MARGIN


@loss_value.of(Loss)
def _loss_value_loss(loss: Loss, score: float, y: float) -> float:
    if loss.kind == HINGE or loss.kind == SQUARED_HINGE:  # noqa: PLR1714 - compiled as it stands
        return max(0.0, 1.0 - y * score)
    if loss.kind == LOGISTIC:
        return math.log1p(math.exp(-abs(score))) + max(0.0, -y * score)
    if loss.kind == SQUARED:
        return 0.5 * (y - score) * (y - score)
    return 0.0


@required_margin.of(Loss)
def _required_margin_loss(loss: Loss) -> float:
    if loss.kind == PERCEPTRON_LOSS:
        return loss.margin
    return 1.0 if loss.kind == HINGE or loss.kind == SQUARED_HINGE else math.inf  # noqa: PLR1714
