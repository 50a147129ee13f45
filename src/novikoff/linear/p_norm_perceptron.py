"""p-norm Perceptron (Grove, Littlestone and Schuurmans 2001).

Predict   sign(w·x) with w_j = sign(θ_j)·|θ_j|^(p−1)
Update    on a mistake: θ += y·x, from θ = 0
Bound     M ≤ (p−1)·(X_p·‖u‖_q/γ)², X_p = max‖x‖_p, 1/p + 1/q = 1
Source    Grove, Littlestone, Schuurmans, General convergence results for linear discriminant updates, 2001

p = 2 is the Perceptron; p = 2·ln n behaves like Winnow: with few relevant features among n its bound grows with ln n
only. Predictions do not change if all θ are divided by one number. It is a power of two, `scalars[0]`, chosen so that
all |θ_j| are below twice its size: powers cannot overflow, and division by a power of two is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, final

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.estimator import check_positive
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState
from novikoff.core.losses import PERCEPTRON_LOSS, Loss
from novikoff.core.updaters.base import add_bias, final_weight, update_weight
from novikoff.errors import InputError
from novikoff.schema import SLOTS, ArraySpec, Constraint, Finite, NotNaN, Schema
from novikoff.theory import mistake_bounds
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["PNormPerceptron"]


MAX_P = 400.0


class PNorm(NamedTuple):
    """The state: (w, θ) side by side; scalars are the unit of θ, and p."""

    weights: NDArray[np.float64]
    scalars: NDArray[np.float64]
    bias: float


def p_norm_schema(p: float | None) -> Schema:
    """Return the schema of this state in a model file. The loop doubles the unit until it is large enough."""
    return Schema(
        {
            "weights": ArraySpec("float64", SLOTS, 2, checks=[NotNaN()]),
            "scalars": ArraySpec("float64", 2, checks=[Finite()]),
        },
        [
            Constraint("the unit of θ is above 0", lambda arrays, _: bool(arrays["scalars"][0] > 0.0)),
            Constraint(
                "p is that of the settings",
                lambda arrays, _: arrays["scalars"][1] == p or (p is None and 2.0 <= arrays["scalars"][1] <= MAX_P),
            ),
        ],
    )


@compiled
def apply_link(updater: PNorm, theta: float) -> float:
    """Compute w = sign(θ)·(|θ|/unit)^(p−1)."""
    return math.copysign((abs(theta) / updater.scalars[0]) ** (updater.scalars[1] - 1.0), theta)


@add_bias.of(PNorm)
def _add_bias_p_norm(updater: PNorm, dot: float, j: int) -> float:
    return dot + updater.bias * np.float64(updater.weights[j, 0])


@update_weight.of(PNorm)
def _update_weight_p_norm(updater: PNorm, j: int, x: float, scaled_gradient: float, t: int) -> None:
    theta = updater.weights[j, 1] + scaled_gradient * x
    updater.weights[j, 1] = theta
    if abs(theta) > 2.0 * updater.scalars[0]:
        while abs(theta) > 2.0 * updater.scalars[0]:
            updater.scalars[0] *= 2.0
        for k in range(len(updater.weights)):
            updater.weights[k, 0] = apply_link(updater, updater.weights[k, 1])
    else:
        updater.weights[j, 0] = apply_link(updater, theta)


@final_weight.of(PNorm)
def _final_weight_p_norm(updater: PNorm, j: int, t: int) -> float:
    return updater.weights[j, 0]


@final
class PNormPerceptron(LinearClassifier):
    """A Perceptron between additive (p = 2) and multiplicative (p = 2·ln n) updates.

    On a mistake θ += y·x; the score is w·x with w_j = sign(θ_j)·|θ_j|^(p−1). It makes at most
    (p−1)·(max‖x‖_p·‖u‖_q/γ)² mistakes on a stream that u separates by γ, 1/p + 1/q = 1.

    Parameters
    ----------
    p : float
        From 2 to 400. Without it, 2·ln n for the n features of the first batch, bias included.
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
    >>> from novikoff import PNormPerceptron
    >>> model = PNormPerceptron(p=4).fit([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1]], [1, 0, 1, 0])
    >>> model.predict([[1, 0, 1]]).tolist()
    [1]
    """

    def __init__(
        self,
        *,
        p: float | None = None,
        fit_intercept: bool = True,
        calibrate: bool = True,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.p = p
        self.fit_intercept = fit_intercept
        self.calibrate = calibrate
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_settings(self) -> None:
        if self.p is not None:
            check_positive(p=self.p)
            if not 2.0 <= self.p <= MAX_P:
                raise InputError(f"p must be from 2 to 400, but is {self.p!r}.")

    def _spec(self) -> LearnerSpec:
        p = None if self.p is None else float(self.p)
        return LearnerSpec(
            loss=Loss(PERCEPTRON_LOSS),
            build_updater=self._build_updater,
            build_schema=lambda _: p_norm_schema(p),
            multiclass_support="each",
            learns_dense_rows=False,
            learns_dense_examples=False,
            learns_dense_columns=False,
        )

    def _build_updater(self, slots: int, dtype: Any) -> PNorm:
        if self.p is None and slots < 2:
            raise InputError("p must be given if the number of features is not known in advance, for example p=10.")
        features = slots - 1 + int(self.fit_intercept)
        p = max(2.0, 2.0 * math.log(features)) if self.p is None else float(self.p)
        return PNorm(np.zeros((slots, 2)), np.array([1.0, p]), float(self.fit_intercept))

    def bounds(self) -> Sequence[Bound]:
        state = self._checked_state()
        return () if state.ledger.weighted else self._column_bounds(state, variables=0)

    def _preference_bounds(self, state: ModelState, *, variables: int, top: bool) -> Sequence[Bound]:
        return self._column_bounds(state, variables=variables)

    def _column_bounds(self, state: ModelState, *, variables: int) -> Sequence[Bound]:
        p = float(state.updater.scalars[1])

        def bound(e: Evidence) -> float | None:
            if not e.margin > 0.0:
                return None
            return mistake_bounds.p_norm(p=p, radius_p=e.radius_p(p), norm_q=e.norm_q(p / (p - 1.0)), margin=e.margin)

        return (Bound("p-norm", "mistakes", "M ≤ (p−1)·(X_p·‖u‖_q/γ)², separable by γ", bound),)
