"""Perceptron (Rosenblatt 1958).

Predict   sign(w·x), from w = 0; the setting `tie` decides what a score of exactly 0 predicts
Update    on a mistake: w += r·y·x; with a functional margin g also where y·w·x < g (thick separator)
Average   predict with the mean of all hypotheses, each weighted by the number of examples that it survived (Freund and
          Schapire 1999); with an averaging power p the one after example t has weight t^p − (t−1)^p
Bound     M ≤ (R/γ)²                        separable by γ (Novikoff 1962)
          M ≤ (a + 2L + √(a² + 4aL))/2      any u; a = R²‖u‖², L its hinge loss
          M ≤ ((R + D₂)/γ)²                 any unit u, any γ (Freund and Schapire 1999)
          M ≤ L + ‖u‖√S                     this run; S = Σ‖x‖² over its updates
          With g > 0 these bound the updates, with R² + 2g/r in place of R².
Source    Novikoff, On convergence proofs for perceptrons, 1962

The learning rate only scales w, and predictions must not depend on it, not even by rounding: the loop runs with rate 1
and the threshold g/r, and the weights are multiplied by r for display.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, final

from novikoff.base.estimator import check_choice, check_non_negative, check_positive, check_range
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import SampleWeightMixin
from novikoff.core.averaging import MAX_AVERAGING_POWER
from novikoff.core.losses import PERCEPTRON_LOSS, Loss
from novikoff.core.schedules import Schedule
from novikoff.core.updaters.additive import additive_schema, build_additive
from novikoff.theory import mistake_bounds
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["Perceptron"]


@final
class Perceptron(SampleWeightMixin, LinearClassifier):
    """The Perceptron: on a mistake, w += r·y·x.

    On a stream that some u with ‖u‖ = 1 separates by γ it makes at most (R/γ)² mistakes, R = max‖x‖. For other streams
    there are bounds in terms of the hinge loss and the squared slack of any u: see `bounds`.

    Parameters
    ----------
    learning_rate : float
        r, the length of a step. It scales the weights and changes no prediction (unless there is a margin).
    margin : float
        g, the functional margin: update also where y·w·x < g.
    average : bool
        Predict with the average of all hypotheses instead of the last one.
    averaging_power : float
        p, from 1 to 20: the average weights the hypothesis of step t by t^(p−1). 1 is the usual average; larger values
        forget the first steps.
    tie : str
        What a score of exactly 0 predicts: positive or negative.
    fit_intercept : bool
        Add a feature that is always 1, the bias.
    class_weight : dict, "balanced" or None
        Weights of examples by their label. "balanced" weighs an example of class c by n/(k·n_c), for n examples of k
        classes so far, n_c of them of class c. None: all examples count alike.
    calibrate : bool
        Learn probabilities for predict_proba along with the weights.
    passes : int
        How often fit goes over the data.
    shuffle : bool
        Whether fit learns the rows in random order, a new one in each pass. Otherwise in the given order.
    random_state : int
        The seed of the random order.

    Examples
    --------
    >>> from novikoff import Perceptron
    >>> model = Perceptron().fit([[0, 1], [1, 0], [2, 1], [0, 3]], ["up", "right", "right", "up"])
    >>> model.predict([[5, 1]]).tolist(), model.ledger_.mistakes
    (['right'], 2)
    """

    def __init__(
        self,
        *,
        learning_rate: float = 1.0,
        margin: float = 0.0,
        average: bool = False,
        averaging_power: float = 1.0,
        tie: Literal["positive", "negative"] = "positive",
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        calibrate: bool = True,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.learning_rate = learning_rate
        self.margin = margin
        self.average = average
        self.averaging_power = averaging_power
        self.tie = tie
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_positive(learning_rate=self.learning_rate)
        check_non_negative(margin=self.margin)
        check_range(1.0, MAX_AVERAGING_POWER, averaging_power=self.averaging_power)
        check_choice(("positive", "negative"), tie=self.tie)

    def _spec(self) -> LearnerSpec:
        average, rate, tail = bool(self.average), Schedule(1.0, 0.0), float(self.averaging_power)
        return LearnerSpec(
            loss=Loss(PERCEPTRON_LOSS, self._width()),
            build_updater=partial(
                build_additive, bias=self.fit_intercept, schedule=rate, average=self.average, tail=tail
            ),
            build_schema=lambda _: additive_schema(average=average),
            weight_scale=float(self.learning_rate),
            multiclass_support="each",
        )

    def _width(self) -> float:
        """Return g/r: the margin for a learner of rate 1."""
        return float(self.margin / self.learning_rate)

    def bounds(self) -> Sequence[Bound]:
        state = self._checked_state()
        return () if state.ledger.weighted else perceptron_bounds(self._width(), state.ledger.energy)

    def _preference_bounds(self, state: ModelState, *, variables: int, top: bool) -> Sequence[Bound]:
        # The proofs need a lower bound of u·x and upper bounds of w·x and ‖x‖: a mean of examples inherits all three.
        return perceptron_bounds(self._width(), state.ledger.energy)

    def _column_bounds(self, state: ModelState, *, variables: int) -> Sequence[Bound]:
        return [bound for bound in perceptron_bounds(self._width(), math.inf) if bound.any_order]


def perceptron_bounds(width: float, energy: float) -> Sequence[Bound]:
    """Return the theorems for additive updates of rate 1 on mistakes and on scores below `width`; `energy` is the run's
    S."""
    counts = "updates" if width > 0.0 else "mistakes"

    def radius(e: Evidence) -> float:
        return mistake_bounds.thick_radius(radius=e.radius, width=width)

    def novikoff(e: Evidence) -> float | None:
        gamma = e.geometric_margin
        return mistake_bounds.novikoff(radius=radius(e), margin=gamma) if gamma > 0.0 else None

    def hinge(e: Evidence) -> float:
        return mistake_bounds.hinge(radius=radius(e), norm=e.norm, loss=e.losses["hinge"])

    def slack(e: Evidence) -> float | None:
        if e.norm == 0.0:
            return None
        # Any positive number is valid; the last one belongs to the same u as the hinge form.
        margins = (*e.gammas, 1.0 / e.norm)
        return min(
            mistake_bounds.squared_slack(radius=radius(e), margin=gamma, slack=e.slack(gamma)) for gamma in margins
        )

    def run(e: Evidence) -> float:
        return mistake_bounds.this_run(energy=energy, norm=e.norm, loss=e.losses["hinge"])

    return (
        Bound("novikoff", counts, "M ≤ (R/γ)², separable by γ", novikoff),
        Bound("hinge", counts, "M ≤ (a + 2L + √(a² + 4aL))/2, a = R²‖u‖², any order", hinge),
        Bound("squared slack", counts, "M ≤ ((R + D₂)/γ)², any order", slack),
        *([Bound("this run", counts, "M ≤ L + ‖u‖√S, this order only", run, any_order=False)] if width == 0.0 else []),
    )
