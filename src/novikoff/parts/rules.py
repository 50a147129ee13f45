"""Rules: when an example changes the weights, and how hard it pulls.

A rule turns score s = w·x, label y ∈ {−1, +1} and ‖w‖ into a signal g; the geometry then moves the weights along g·x.
For a loss ℓ the signal is −∂ℓ/∂s. Conventions exactly at the kink, as the sources have them: y·s equal to the margin
does not update a thick separator, y·s = 1 does update under the hinge.
"""

from __future__ import annotations

import math
from typing import Any

from novikoff._jit import generic
from novikoff._records import NamedTuple


class Mistake(NamedTuple):
    """Update on a mistake, and also where y·s < margin (the thick separator)."""

    margin: float


class Missed(NamedTuple):
    """Update on a positive example that was predicted negative, and on nothing else."""


class Disagreement(NamedTuple):
    """Update where not all vote for the label: the score is the share of votes for + less that for −."""


class Told(NamedTuple):
    """Every example is shown to the geometry, which knows itself what to make of it."""


class Hinge(NamedTuple):
    """ℓ = max(0, 1 − y·s), the loss of the support vector machine."""


class Shortfall(NamedTuple):
    """Update where y·s < 1, as hard as it falls short of 1: by the hinge loss ℓ, the slope of ½ℓ²."""


class Logistic(NamedTuple):
    """ℓ = ln(1 + exp(−y·s)), the loss of logistic regression."""


class Squared(NamedTuple):
    """ℓ = ½(y − s)², the loss of LMS, Adaline and ridge regression."""


@generic
def signal(rule: Any, score: float, y: float, wrong: bool, norm: float) -> float:
    """How hard this example pulls, and to which side; 0 leaves the weights alone."""
    return 0.0


@generic
def loss(rule: Any, score: float, y: float) -> float:
    """The loss that the rule follows; the mistake-driven rules follow none."""
    return 0.0


@signal.of(Mistake)
def _(rule: Mistake, score: float, y: float, wrong: bool, norm: float) -> float:
    return y if wrong or y * score < rule.margin else 0.0


@signal.of(Missed)
def _(rule: Missed, score: float, y: float, wrong: bool, norm: float) -> float:
    return y if wrong and y > 0.0 else 0.0


@signal.of(Disagreement)
def _(rule: Disagreement, score: float, y: float, wrong: bool, norm: float) -> float:
    return y if y * score < 1.0 else 0.0


@signal.of(Told)
def _(rule: Told, score: float, y: float, wrong: bool, norm: float) -> float:
    return y


@signal.of(Hinge)
def _(rule: Hinge, score: float, y: float, wrong: bool, norm: float) -> float:
    return y if y * score <= 1.0 else 0.0


@loss.of(Hinge)
def _(rule: Hinge, score: float, y: float) -> float:
    return max(0.0, 1.0 - y * score)


@signal.of(Shortfall)
def _(rule: Shortfall, score: float, y: float, wrong: bool, norm: float) -> float:
    return y * max(0.0, 1.0 - y * score)


@loss.of(Shortfall)
def _(rule: Shortfall, score: float, y: float) -> float:
    return max(0.0, 1.0 - y * score)


@signal.of(Logistic)
def _(rule: Logistic, score: float, y: float, wrong: bool, norm: float) -> float:
    e = math.exp(-abs(score))  # of a negative number only: it cannot overflow
    return y * (e / (1.0 + e) if y * score > 0.0 else 1.0 / (1.0 + e))


@loss.of(Logistic)
def _(rule: Logistic, score: float, y: float) -> float:
    return math.log1p(math.exp(-abs(score))) + max(0.0, -y * score)


@signal.of(Squared)
def _(rule: Squared, score: float, y: float, wrong: bool, norm: float) -> float:
    return y - score


@loss.of(Squared)
def _(rule: Squared, score: float, y: float) -> float:
    return 0.5 * (y - score) * (y - score)
