"""Balanced Winnow (Littlestone 1988; Dagan, Karov and Roth 1997).

Predict   + where (w⁺ − w⁻)·x ≥ θ, from w⁺ = w⁻ = 1; x from −1 to 1
Update    on a mistake: w⁺_j *= α^(y·x_j), w⁻_j *= α^(−y·x_j); with a functional margin g also where y·(w·x − θ) < g
Bound     M ≤ (ln 2n + ηL)/(ηγ − η²X²/2)   θ = 0, η = ln α, any u with ‖u‖₁ = 1, any γ, L = Σ max(0, γ − y·u·x);
          with L = 0 and η = γ/X² it is 2·ln(2n)·X²/γ², X = max‖x‖_∞
Source    Littlestone, Learning quickly when irrelevant attributes abound, 1988

Both weights of a feature are powers of one exponent, so it costs no more than Winnow: see
core/updaters/multiplicative.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, final

from novikoff.base.estimator import check_above_one, check_finite, check_non_negative
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import SampleWeightMixin
from novikoff.core.losses import PERCEPTRON_LOSS, Loss
from novikoff.core.updaters.multiplicative import build_multiplicative, multiplicative_schema
from novikoff.theory import winnow_bounds
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["BalancedWinnow"]


@final
class BalancedWinnow(SampleWeightMixin, LinearClassifier):
    """Balanced Winnow: each feature has a weight for and a weight against, multiplied by opposite powers on a mistake.

    For features from −1 to 1, few of which are relevant, and for any number of features, hashed or growing. On
    a stream that u separates by γ, ‖u‖₁ = 1, it makes at most ln(2n)/(ηγ − η²X²/2) mistakes, η = ln α.

    Parameters
    ----------
    alpha : float
        α, the factor of the weights if x is 1.
    threshold : float
        θ; with a bias, 0 is nearly always right.
    margin : float
        g, the functional margin: update also where y·(w·x − θ) < g.
    average : bool
        Predict with the average of all hypotheses instead of the last one.
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
    >>> from novikoff import BalancedWinnow
    >>> model = BalancedWinnow().fit([[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]], [1, 0, 1, 0])
    >>> model.coef_.tolist(), model.ledger_.mistakes
    ([[1.5, -1.5, 0.0]], 2)
    """

    def __init__(
        self,
        *,
        alpha: float = 2.0,
        threshold: float = 0.0,
        margin: float = 0.0,
        average: bool = False,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        calibrate: bool = True,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.alpha = alpha
        self.threshold = threshold
        self.margin = margin
        self.average = average
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_above_one(alpha=self.alpha)
        check_finite(threshold=self.threshold)
        check_non_negative(margin=self.margin)

    def _spec(self) -> LearnerSpec:
        average = bool(self.average)
        return LearnerSpec(
            loss=Loss(PERCEPTRON_LOSS, float(self.margin)),
            build_updater=partial(
                build_multiplicative,
                alpha=float(self.alpha),
                threshold=float(self.threshold),
                bias=self.fit_intercept,
                average=self.average,
                balance=True,
            ),
            build_schema=lambda _: multiplicative_schema(average=average),
            feature_range=(-1.0, 1.0),
            multiclass_support="each",
            learns_dense_rows=False,
            learns_dense_columns=False,
        )

    def bounds(self) -> Sequence[Bound]:
        state = self._checked_state()
        if state.ledger.weighted:
            return ()
        return self._column_bounds(state, variables=state.features + int(self.fit_intercept))

    def _preference_bounds(self, state: ModelState, *, variables: int, top: bool) -> Sequence[Bound]:
        return self._column_bounds(state, variables=variables)

    def _column_bounds(self, state: ModelState, *, variables: int) -> Sequence[Bound]:
        if self.threshold != 0.0 or self.margin > 0.0:
            return ()  # only the sign of w·x does not change when all weights are divided by their sum
        eta = math.log(self.alpha)

        def bound(e: Evidence, margin: float, loss: float) -> float | None:
            norm1, reach = e.norm_q(1.0), e.radius_p(math.inf)
            if not (margin > 0.0 and norm1 > 0.0):
                return None
            allowed = winnow_bounds.balanced_winnow(
                features=variables, learning_rate=eta, radius_inf=reach, norm1=norm1, margin=margin, loss=loss
            )
            return None if allowed == math.inf else allowed

        return (
            Bound(
                "balanced winnow",
                "mistakes",
                "M ≤ ln 2n/(ηγ − η²X²/2), separable by γ, ‖u‖₁ = 1",
                lambda e: bound(e, e.margin, 0.0),
            ),
            Bound(
                "balanced winnow, hinge",
                "mistakes",
                "M ≤ (ln 2n + ηL)/(ηγ − η²X²/2), any u, γ = 1/‖u‖₁",
                lambda e: bound(e, 1.0, e.losses["hinge"]),
            ),
        )
