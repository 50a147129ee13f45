"""AROW, adaptive regularisation of weights (Crammer, Kulesza and Dredze 2009), with a diagonal matrix.

Predict   sign(w·x), from w = 0, Σ = I; by default with the mean of all hypotheses, in which the one after example t
          has weight t^p − (t−1)^p (the paper predicts with the last one: average=False)
Update    where y·w·x < 1, with ℓ = 1 − y·w·x, v = xᵀΣx and β = 1/(v + r):
          w += β·ℓ·y·Σx,  Σ_jj −= β·(Σ_jj·x_j)²
Bound     none: the paper's M ≤ √(r‖u‖² + uᵀXu)·√(ln det(I + X/r)) + Σ ℓ_t(u) − U is for the full matrix Σ,
          X = Σ x·xᵀ over the updates, U updates without a mistake. With a diagonal Σ, Σ⁻¹ no longer grows by x·xᵀ/r,
          which the proof needs
Source    Crammer, Kulesza, Dredze, Adaptive regularization of weight vectors, 2009
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, final

from novikoff.base.estimator import check_choice, check_range
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.online_classifier import SampleWeightMixin
from novikoff.core.averaging import MAX_AVERAGING_POWER
from novikoff.core.losses import SQUARED_HINGE, Loss
from novikoff.core.updaters.arow import arow_schema, build_arow
from novikoff.theory.bound_declaration import Bound

__all__ = ["AROW"]


@final
class AROW(SampleWeightMixin, LinearClassifier):
    """AROW: each weight has a variance σ; where y·w·x < 1, w += β·(1 − y·w·x)·y·σ·x and σ shrinks, β = 1/(Σ σ·x² + r).

    Rare features take long steps, frequent ones short steps, and no step overshoots: the first choice for a single pass
    over the data. No mistake bound is claimed.

    Parameters
    ----------
    r : float
        r, from 1e-9 to 1e9: larger values make shorter steps.
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
    >>> from novikoff import AROW
    >>> model = AROW().fit([[0, 1], [1, 0], [2, 1], [0, 3]], ["up", "right", "right", "up"])
    >>> model.predict([[5, 1], [1, 5]]).tolist(), model.ledger_.mistakes
    (['right', 'up'], 2)
    """

    def __init__(
        self,
        *,
        r: float = 0.5,
        average: bool = True,
        averaging_power: float = 6.0,
        tie: Literal["positive", "negative"] = "positive",
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        calibrate: bool = True,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.r = r
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
        check_range(1e-9, 1e9, r=self.r)
        check_range(1.0, MAX_AVERAGING_POWER, averaging_power=self.averaging_power)
        check_choice(("positive", "negative"), tie=self.tie)

    def _spec(self) -> LearnerSpec:
        average, tail = bool(self.average), float(self.averaging_power)
        return LearnerSpec(
            loss=Loss(SQUARED_HINGE),
            build_updater=partial(build_arow, bias=self.fit_intercept, r=float(self.r), average=average, tail=tail),
            build_schema=lambda _: arow_schema(average=average),
            multiclass_support="each",
            learns_dense_columns=False,
        )

    def bounds(self) -> Sequence[Bound]:
        self._checked_state()
        return ()
