"""Stochastic gradient descent on a convex loss: LMS/Adaline, hinge (SVM), logistic regression; with penalties.

Predict   sign(w·x), from w = 0
Update    w −= r_t·∇ℓ_t(w):  squared   w += r_t·(y − w·x)·x
                             hinge     where y·w·x ≤ 1: w += r_t·y·x
                             logistic  w += r_t·y·x / (1 + exp(y·w·x))
          r_t = r, r/√t or r/t; or AdaGrad: w_j −= r·g_j/√G_j, G_j = Σ g_j² up to and including t
Average   predict with the mean of all hypotheses, the one after example t weighed by t^p − (t−1)^p, p = 1 by default
          (p > 1: compare the polynomial decay of Shamir and Zhang 2013)
Penalty   each step descends on ℓ_t(w) + l1·‖w‖₁ + (l2/2)·‖w‖², truncating exactly at 0: over m examples this is
          J(w) = Σ ℓ_t(w) + λ·R(w) with λ = m·l1 or m·l2 (ridge, LASSO, SVM, elastic net). The bias is penalised like
          any other weight
Bound     constant rate: Σ ℓ_t(w_t) − Σ ℓ_t(u) ≤ ‖u‖²/(2r) + (r/2)·Σ‖g_t‖²        (Zinkevich 2003)
          AdaGrad:       … ≤ (D²/(2r) + r)·Σ_j √G_j, D = max_t ‖w_t − u‖_∞        (Duchi, Hazan and Singer 2011)
          and so M ≤ (Σ ℓ_t(u) + regret) / (least loss of a mistake)
Source    Widrow and Hoff 1960; Zinkevich 2003; Duchi, Hazan, Singer 2011; Langford, Li, Zhang 2009 (truncation)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, final

from novikoff._compiled.lazy_numpy import np
from novikoff.base.estimator import check_choice, check_non_negative, check_positive, check_range
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import SampleWeightMixin
from novikoff.core.averaging import MAX_AVERAGING_POWER
from novikoff.core.losses import HINGE, LOGISTIC, SQUARED, Loss
from novikoff.core.schedules import SCHEDULE_POWERS, Schedule
from novikoff.core.updaters.adagrad import MAX_ABS_WEIGHT, adagrad_schema, build_adagrad
from novikoff.core.updaters.additive import additive_schema, build_additive
from novikoff.core.updaters.elastic_net import build_elastic_net, elastic_net_schema
from novikoff.errors import InputError
from novikoff.schema import Schema
from novikoff.theory import regret
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["SGD"]

LOSS_CODES = {"hinge": HINGE, "logistic": LOGISTIC, "squared": SQUARED}


@final
class SGD(SampleWeightMixin, LinearClassifier):
    """Stochastic gradient descent, one step per example: w −= r_t·∇ℓ_t(w), with s = w·x and the loss ℓ_t

    - hinge: max(0, 1 − y·s), the step where y·s ≤ 1 is w += r_t·y·x;
    - logistic: ln(1 + exp(−y·s)), w += r_t·y·x/(1 + exp(y·s));
    - squared: ½(y − s)², w += r_t·(y − s)·x.

    With penalties each step descends on ℓ_t(w) + l1·‖w‖₁ + (l2/2)·‖w‖².

    Parameters
    ----------
    loss : str
        hinge (support vector machine), logistic (logistic regression) or squared (LMS, ridge).
    schedule : str
        Step sizes: constant (r), sqrt (r/√t), inverse (r/t), or adagrad (r/√G_j for each weight).
    learning_rate : float
        r, the length of the first step.
    l1 : float
        Strength of the L1 penalty, per example. It shrinks weights towards 0; how many become exactly 0 depends on the
        stream; with frequent features it may be few.
    l2 : float
        Strength of the L2 penalty, per example.
    average : bool
        Predict with the average of all hypotheses (not together with l1: averages are not sparse).
    averaging_power : float
        p, from 1 to 20: the average weights the hypothesis of step t by t^(p−1). 1 is the usual average; larger values
        forget the first steps (not together with l2).
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
    >>> from novikoff import SGD
    >>> model = SGD(loss="logistic", passes=20).fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> model.predict([[0.5], [3.5]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        *,
        loss: Literal["hinge", "logistic", "squared"] = "logistic",
        schedule: Literal["constant", "sqrt", "inverse", "adagrad"] = "adagrad",
        learning_rate: float = 0.5,
        l1: float = 0.0,
        l2: float = 0.0,
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
        self.loss = loss
        self.schedule = schedule
        self.learning_rate = learning_rate
        self.l1 = l1
        self.l2 = l2
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
        check_choice(tuple(LOSS_CODES), loss=self.loss)
        check_choice((*SCHEDULE_POWERS, "adagrad"), schedule=self.schedule)
        check_choice(("positive", "negative"), tie=self.tie)
        check_positive(learning_rate=self.learning_rate)
        if self.learning_rate > 1e9:
            raise InputError(
                f"learning_rate must be at most 1e9, but is {self.learning_rate!r}: larger steps would"
                " overflow the weights."
            )
        check_non_negative(l1=self.l1, l2=self.l2)
        if self.average and self.l1 > 0.0:
            raise InputError(
                "average and l1 exclude each other: an average of sparse weights is not sparse. Leave one out."
            )
        check_range(1.0, MAX_AVERAGING_POWER, averaging_power=self.averaging_power)
        if self.average and self.l2 > 0.0 and self.averaging_power != 1.0:
            raise InputError(
                f"averaging_power must be 1 with average and l2, but is {self.averaging_power!r}: decaying weights are"
                " averaged evenly. Leave one out."
            )

    def _spec(self) -> LearnerSpec:
        return LearnerSpec(
            loss=Loss(LOSS_CODES[self.loss]),
            build_updater=self._build_updater,
            build_schema=self._build_schema,
            scores_are_log_odds=self.loss == "logistic",
            multiclass_support="each",
            learns_dense_columns=False,
        )

    def _build_schema(self, features: int) -> Schema:
        average, l1, l2 = bool(self.average), self.l1 > 0.0, self.l2 > 0.0
        if self.schedule == "adagrad":
            return adagrad_schema(average=average, lazy=l1 or l2)
        return elastic_net_schema(average=average, l1=l1) if l1 or l2 else additive_schema(average=average)

    def _build_updater(self, slots: int, dtype: Any) -> Any:
        rate, l1, l2, tail = float(self.learning_rate), float(self.l1), float(self.l2), float(self.averaging_power)
        if self.schedule == "adagrad":
            return build_adagrad(
                slots, dtype, bias=self.fit_intercept, rate=rate, average=self.average, l1=l1, l2=l2, tail=tail
            )
        schedule = Schedule(rate, SCHEDULE_POWERS[self.schedule])
        if l1 == l2 == 0.0:
            return build_additive(
                slots, dtype, bias=self.fit_intercept, schedule=schedule, average=self.average, tail=tail
            )
        return build_elastic_net(
            slots, dtype, bias=self.fit_intercept, schedule=schedule, average=self.average, l1=l1, l2=l2
        )

    def bounds(self) -> Sequence[Bound]:
        state = self._checked_state()
        return () if state.ledger.weighted else self._preference_bounds(state, variables=0, top=True)

    def _preference_bounds(self, state: ModelState, *, variables: int, top: bool) -> Sequence[Bound]:
        # The run's loss is that of the example of each step. In a mean of preferences, others may compensate
        # for a violated one.
        penalised = self.l1 > 0.0 or self.l2 > 0.0
        if penalised or not top or self.schedule not in ("constant", "adagrad"):
            return ()

        def of_constant(e: Evidence) -> float:
            return regret.constant_step(learning_rate=self.learning_rate, norm=e.norm, energy=state.ledger.energy)

        def of_adagrad(e: Evidence) -> float:
            diameter = float(state.updater.scalars[MAX_ABS_WEIGHT]) + e.norm_q(np.inf)
            roots = float(np.sqrt(state.updater.weights[:, 1].astype(np.float64)).sum())
            return regret.adagrad(learning_rate=self.learning_rate, diameter=diameter, roots=roots)

        of_run = of_adagrad if self.schedule == "adagrad" else of_constant

        def bound(e: Evidence) -> float:
            return regret.mistakes(loss_name=self.loss, loss=e.losses[self.loss], regret=of_run(e))

        return (
            Bound(f"{self.schedule} regret", "mistakes", "M ≤ (Σ ℓ_t(u) + regret)/(least loss of a mistake)", bound),
        )
