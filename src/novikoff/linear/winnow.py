"""Winnow (Littlestone 1988), Winnow-R and the thick separator.

Predict   + where w·x ≥ θ, from w = 1; x from 0 to 1
Update    on a false negative: w_j *= α^x_j (promotion)
          on a false positive: w_j /= α^x_j (demotion), or w_j = 0 where x_j > 0 (elimination, for disjunctions)
          Winnow-R: a demotion reduces no weight below ½ (the floor), so that every weight can recover quickly
          with a functional margin g: promotion also where w·x − θ < g, demotion also where w·x − θ > −g
Bound     M ≤ 2 + 3k(1 + log₂ n)     a disjunction of k of n Boolean features, α = 2, θ = n
          M ≤ 2k(1 + log₂ n) + 1     such a disjunction, with elimination
          M ≤ 2 + 5c(2 + log₂ n)     Winnow-R, where the disjunction gains a literal c times in all
          M ≤ (8/δ²)(n/θ) + (5/δ + 14 ln θ/δ²)·Σμ   a linear target with separation δ, Boolean x, α = 1 + δ/2
          For other α, θ, floors and margins: theory/winnow_bounds.py.
Source    Littlestone, Learning quickly when irrelevant attributes abound, 1988

The bound grows with the logarithm of the number of irrelevant features; those of additive learners grow linearly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, final

from novikoff.base.estimator import check_above_one, check_bool, check_non_negative, check_positive
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import SampleWeightMixin
from novikoff.core.losses import PERCEPTRON_LOSS, Loss
from novikoff.core.updaters.base import resize_updater
from novikoff.core.updaters.multiplicative import MAX_POWER, Multiplicative, build_multiplicative, multiplicative_schema
from novikoff.errors import InputError
from novikoff.theory import winnow_bounds
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["Winnow"]


@final
class Winnow(SampleWeightMixin, LinearClassifier):
    """Winnow: weights start at 1; on a mistake the weights of the active features are doubled or halved.

    For features from 0 to 1, few of which are relevant. A disjunction of k of n features is learned with at most
    2 + 3k(1 + log₂ n) mistakes. See `BalancedWinnow` for negative values, and for features that are evidence against
    the positive class.

    Parameters
    ----------
    alpha : float
        α, the factor by which weights are multiplied or divided.
    threshold : float | "n"
        θ. By default n, the number of features; give a number if n is not known in advance or features are hashed.
    elimination : bool
        A demotion sets weights to 0 permanently: faster if the target is a disjunction and no label is wrong.
    floor : float
        A demotion reduces no weight below this; ½ makes it Winnow-R, for targets that change.
    margin : float
        g, the functional margin: update also where y·(w·x − θ) < g.
    average : bool
        Predict with the average of all hypotheses instead of the last one.
    negations : bool
        Give each feature x a companion 1 − x, so that a negated feature can be part of the target.
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
    >>> from novikoff import Winnow
    >>> model = Winnow().fit([[1, 0, 0, 1], [0, 1, 0, 1], [1, 1, 1, 0], [0, 0, 1, 1]], ["yes", "no", "yes", "no"])
    >>> model.coef_.tolist(), model.ledger_.mistakes
    ([[2.0, 1.0, 1.0, 2.0]], 1)
    """

    def __init__(
        self,
        *,
        alpha: float = 2.0,
        threshold: float | Literal["n"] = "n",
        elimination: bool = False,
        floor: float = 0.0,
        margin: float = 0.0,
        average: bool = False,
        negations: bool = False,
        fit_intercept: bool = False,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        calibrate: bool = True,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.alpha = alpha
        self.threshold = threshold
        self.elimination = elimination
        self.floor = floor
        self.margin = margin
        self.average = average
        self.negations = negations
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_above_one(alpha=self.alpha)
        if self.threshold != "n":
            check_positive(threshold=self.threshold)
        check_non_negative(floor=self.floor, margin=self.margin)
        check_bool(elimination=self.elimination, negations=self.negations)
        theta = 0.0 if self.threshold == "n" else self.threshold
        if theta + self.margin >= MAX_POWER:
            raise InputError(
                f"threshold and margin must be below 2^100, which weights can't exceed: {theta + self.margin}."
            )
        if self.floor > 1.0:
            raise InputError(f"floor must be from 0 to 1, where weights start, but is {self.floor!r}.")
        if self.elimination and self.floor > 0.0:
            raise InputError("elimination and floor exclude each other: a weight that is 0 is below every floor.")

    def _spec(self) -> LearnerSpec:
        average, negations, fixed = bool(self.average), bool(self.negations), self._fixed_width_reason()
        return LearnerSpec(
            loss=Loss(PERCEPTRON_LOSS, float(self.margin)),
            build_updater=self._build_updater,
            build_schema=lambda _: multiplicative_schema(average=average, negations=negations),
            feature_range=(0.0, 1.0),
            fixed_width_reason=fixed,
            unseen_weight=None if fixed else lambda _: 1.0,
            multiclass_support="each",
            learns_dense_rows=False,
            learns_dense_columns=False,
        )

    def _fixed_width_reason(self) -> str | None:
        if self.negations:
            return "each has a companion, its negation"
        return "the threshold is n: set it to a number" if self.threshold == "n" else None

    def _build_updater(self, slots: int, dtype: Any) -> Multiplicative:
        why = self._fixed_width_reason()
        if why is not None and slots < 2:
            raise InputError(f"Winnow must know the number of features in advance ({why}).")
        return build_multiplicative(
            slots,
            dtype,
            alpha=float(self.alpha),
            threshold=float(self._variables(slots - 1) if self.threshold == "n" else self.threshold),
            bias=self.fit_intercept,
            average=self.average,
            elimination=bool(self.elimination),
            floor=float(self.floor),
            negations=bool(self.negations),
        )

    def _variables(self, features: int) -> int:
        """Return the number of weights: n in the theorems."""
        return features * (2 if self.negations else 1) + int(self.fit_intercept)

    def _trim_state(self, state: ModelState) -> Multiplicative:
        updater: Multiplicative = state.updater
        return updater if self.negations else resize_updater(updater, state.features + 1)

    def bounds(self) -> Sequence[Bound]:
        state = self._checked_state()
        if state.ledger.weighted:
            return ()
        theta, width = state.updater.threshold, float(self.margin)
        numbers = {"features": self._variables(state.features), "alpha": float(self.alpha), "threshold": theta}
        counts = "updates" if width > 0.0 else "mistakes"

        def disjunction(e: Evidence) -> float | None:
            k = e.target.get("disjunction")
            if k is None or width >= theta or (self.elimination and width > 0.0):
                return None
            if self.elimination:
                return winnow_bounds.winnow_elimination(literals=k, **numbers)
            return winnow_bounds.winnow(literals=k, width=width, **numbers)

        def drifting(e: Evidence) -> float | None:
            c, floor = e.target.get("gained"), float(self.floor)
            if c is None or theta - width - floor * numbers["features"] <= 0.0:
                return None
            return winnow_bounds.winnow_r(gained=c, floor=floor, width=width, **numbers)

        def linear(e: Evidence) -> float | None:
            delta, weight = e.target.get("separation"), e.target.get("weight")
            if delta is None or weight is None or self.alpha != 1.0 + delta / 2.0 or theta < 1.0:
                return None
            return winnow_bounds.winnow2(separation=delta, weight=weight, features=numbers["features"], threshold=theta)

        general = Bound(
            "winnow", counts, "M ≤ u + v, u = k(1 + log_α θ), a disjunction of k features", disjunction, by_target=True
        )
        if self.floor > 0.0:
            return (
                Bound(
                    "winnow-r", counts, "M ≤ u + v, u = c(1 + log_α(θ/f)), c literals gained", drifting, by_target=True
                ),
            )
        if self.elimination or width > 0.0:
            return (general,)
        return (
            general,
            Bound(
                "winnow2",
                counts,
                "M ≤ (8/δ²)(n/θ) + (5/δ + 14 ln θ/δ²)·Σμ, Boolean x, α = 1 + δ/2",
                linear,
                by_target=True,
            ),
        )
