"""Margin Perceptron (Balcan's notes, Theorem 2, with any ε).

Predict   sign(w·x)
Update    from w = y₁x₁: where y·w·x/‖w‖ < (1−ε)·γ, w += y·x
Bound     data with margin ≥ γ ⇒ updates ≤ 2(R/(εγ))² + 2R/(εγ), for ε = ½ the notes' 8(R/γ)² + 4R/γ;
          and when a pass makes no update, w has margin ≥ (1−ε)·γ
Source    Balcan, 10-601 notes on the Perceptron, 2015; Tsampouka and Shawe-Taylor 2005

‖w‖² is updated with each weight, from the stored numbers. Rounding errors of large weights would remain after these
have shrunk: their possible size is recorded too, and ‖w‖² is summed again when it could matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, final

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import get_unchecked, set_unchecked
from novikoff.base.estimator import check_positive
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState
from novikoff.core.losses import RELATIVE_MARGIN, Loss
from novikoff.core.updaters.base import norm, update, update_weight, update_weights
from novikoff.data.rows import Rows
from novikoff.errors import InputError
from novikoff.schema import REAL, SLOTS, ArraySpec, NotNaN, Schema
from novikoff.theory import mistake_bounds
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["MarginPerceptron"]


SQ_NORM, ROUNDING_ERROR = 0, 1
UNIT_ROUNDOFF = 2.0**-53
ROUNDING_TOLERANCE = 1e-10


class NormTracking(NamedTuple):
    """The state of an additive updater; scalars are ‖w‖² and the possible size of its rounding error."""

    weights: NDArray[np.floating]
    scalars: NDArray[np.float64]
    bias: float


SCHEMA = Schema(
    {"weights": ArraySpec(REAL, SLOTS, checks=[NotNaN()]), "scalars": ArraySpec("float64", 2, checks=[NotNaN()])}
)
"""The permitted content of this state in a model file."""


@update_weight.of(NormTracking)
def _update_weight_norm_tracking(updater: NormTracking, j: int, x: float, scaled_gradient: float, t: int) -> None:
    before = np.float64(get_unchecked(updater.weights, j))
    set_unchecked(updater.weights, j, before + scaled_gradient * x)
    after = np.float64(get_unchecked(updater.weights, j))
    if after != before:
        updater.scalars[SQ_NORM] += (after - before) * (after + before)
        updater.scalars[ROUNDING_ERROR] += UNIT_ROUNDOFF * (
            after * after + before * before + abs(updater.scalars[SQ_NORM])
        )


@update.of(NormTracking)
def _update_norm_tracking(updater: NormTracking, rows: Rows, i: int, gradient: float, t: int) -> None:
    update_weights(updater, rows, i, gradient, t)
    if updater.scalars[ROUNDING_ERROR] > ROUNDING_TOLERANCE * updater.scalars[SQ_NORM]:
        total = 0.0
        for j in range(len(updater.weights)):
            total += np.float64(updater.weights[j]) * np.float64(updater.weights[j])
        updater.scalars[SQ_NORM] = total
        updater.scalars[ROUNDING_ERROR] = 0.0


@norm.of(NormTracking)
def _norm_norm_tracking(updater: NormTracking) -> float:
    return math.sqrt(updater.scalars[SQ_NORM])


@final
class MarginPerceptron(LinearClassifier):
    """A Perceptron that continues until its margin is within a factor 1−ε of the promised one.

    From w = y₁x₁ on, w += y·x if y·w·x/‖w‖ < (1−ε)·γ. On data with margin γ it makes at most 2(R/(εγ))² + 2R/(εγ)
    updates, and a pass without an update means a margin of at least (1−ε)·γ.

    Parameters
    ----------
    gamma : float
        γ, the margin that the data is known to have (bias feature included).
    epsilon : float
        ε, the share of the margin that may be lost: smaller values need more updates. Between 0 and 1.
    fit_intercept : bool
        Add a feature that is always 1, the bias.
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
    >>> from novikoff import MarginPerceptron
    >>> X, y = [[2, 0], [3, 1], [-2, 0], [-3, 1]], [1, 1, -1, -1]
    >>> model = MarginPerceptron(gamma=1.0, epsilon=0.5, passes=10).fit(X, y)
    >>> model.predict(X).tolist(), model.ledger_.updates
    ([1, 1, -1, -1], 1)
    """

    def __init__(
        self,
        *,
        gamma: float = 0.1,
        epsilon: float = 0.5,
        fit_intercept: bool = True,
        calibrate: bool = True,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.gamma = gamma
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.calibrate = calibrate
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_positive(gamma=self.gamma, epsilon=self.epsilon)
        if self.epsilon > 1.0:
            raise InputError(f"epsilon must be at most 1, but is {self.epsilon!r}.")

    def _spec(self) -> LearnerSpec:
        return LearnerSpec(
            loss=Loss(RELATIVE_MARGIN, (1.0 - self.epsilon) * self.gamma),
            build_updater=self._build_updater,
            build_schema=lambda _: SCHEMA,
            multiclass_support="whole",
            learns_dense_rows=False,
            learns_dense_examples=False,
            learns_dense_columns=False,
        )

    def _build_updater(self, slots: int, dtype: Any) -> NormTracking:
        return NormTracking(buffers.zeros(slots, dtype), buffers.zeros(2), float(self.fit_intercept))

    def bounds(self) -> Sequence[Bound]:
        state = self._checked_state()
        return () if state.ledger.weighted else self._preference_bounds(state, variables=0, top=True)

    def _preference_bounds(self, state: ModelState, *, variables: int, top: bool) -> Sequence[Bound]:
        def updates(e: Evidence) -> float | None:
            if e.geometric_margin < self.gamma:
                return None
            return mistake_bounds.margin_perceptron(radius=e.radius, margin=self.gamma, epsilon=self.epsilon)

        return (Bound("margin perceptron", "updates", "U ≤ 2(R/(εγ))² + 2R/(εγ), data with margin ≥ γ", updates),)
