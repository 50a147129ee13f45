"""Auto: different learners on one stream, combined to one probability; no setting is needed.

Predict   the label with the higher probability v·p + (1 − v)·q: p from the scores of AROW, AdaGrad on the logistic loss
          and a diagonal discriminant, q from the label that a Passive-Aggressive learner predicts
          (core/updaters/stacked_learners.py)
Update    every member learns from rows that are scaled and centred by the stream so far. Bayesian logistic regression
          learns how to combine their scores. The weight of each forecast is multiplied by its likelihood; a share α of
          both is redistributed evenly
Bound     L ≤ min(L_p, L_q) + ln 2 + (m − 1)·ln(1/(1 − α/2)) for the log-losses over m examples, and M ≤ L/ln 2: the
          label of a mistake had at most the probability ½
Source    Herbster and Warmuth, Tracking the best expert, 1998; Crammer, Kulesza and Dredze 2009 (AROW); Duchi, Hazan
          and Singer 2011 (AdaGrad); Crammer et al. 2006 (PA-I); Ross, Mineiro and Langford, Normalized online
          learning, 2013; Wolpert, Stacked generalization, 1992
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, final

from novikoff.base.estimator import check_range
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState, bytes_per_slot
from novikoff.base.online_classifier import SampleWeightMixin
from novikoff.core.column_scaling import N_ROWS
from novikoff.core.losses import ALWAYS_UPDATE, Loss
from novikoff.core.updaters.stacked_learners import (
    DRIFT_LOSS,
    ERRORS,
    FORECAST_LOSS,
    MIXTURE,
    N_CLASS_NOTES,
    N_MEMBERS,
    STACKED_LEARNERS_SCHEMA,
    StackedLearners,
    build_stacked_learners,
    log_loss_of,
)
from novikoff.errors import ModelReplacedError
from novikoff.memory_limit import Growth
from novikoff.theory import regret
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["BinaryAuto"]

MEMBER_NAMES = ("arow", "logistic", "discriminant", "passive-aggressive")
FORECAST_NAMES = ("scores", "drift")


@final
class BinaryAuto(SampleWeightMixin, LinearClassifier):
    """Four binary learners, combined to one probability. `novikoff.Auto` is for any number of classes.

    Parameters
    ----------
    fixed_share : float
        α, from 0 to 0.1: the share of the weights of both forecasts that is redistributed evenly after each example.
    fit_intercept : bool
        Add a feature that is always 1, the bias.
    class_weight : dict, "balanced" or None
        Weights of examples by their label. "balanced" weighs an example of class c by n/(k·n_c), for n examples of k
        classes so far, n_c of them of class c. None: all examples count alike.
    passes : int
        How often fit goes over the data.
    shuffle : bool
        Whether fit learns the rows in random order, a new one in each pass. Otherwise in the given order.
    random_state : int
        The seed of the random order.

    Examples
    --------
    >>> from novikoff.linear.auto import BinaryAuto
    >>> model = BinaryAuto(passes=3).fit([[0, 1000], [0.1, 0], [0.2, 1000], [0, 3000]], ["up", "right", "right", "up"])
    >>> model.predict([[0.3, 1000], [0, 2000]]).tolist()
    ['right', 'up']
    >>> sorted(model.forecast_weights_)
    ['drift', 'scores']
    """

    def __init__(
        self,
        *,
        fixed_share: float = 0.0003,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.fixed_share = fixed_share
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    _replaced = False
    """Whether an Auto continues with a multiclass model that was built from this one, while other threads may still
    hold this one."""

    def replace(self) -> None:
        """Refuse further examples; the caller holds the lock."""
        self._replaced = True
        self._drop_fast_paths()

    def _learn_slow_path(self, x: Any, y: Any) -> None:
        if self._replaced:
            raise ModelReplacedError("This model was replaced by one of more classes.")
        super()._learn_slow_path(x, y)

    def _check_settings(self) -> None:
        check_range(0.0, 0.1, fixed_share=self.fixed_share)

    def _spec(self) -> LearnerSpec:
        return LearnerSpec(
            loss=Loss(ALWAYS_UPDATE),
            build_updater=self._build_updater,
            build_schema=lambda _: STACKED_LEARNERS_SCHEMA,
            scores_by_weights=False,
            scores_are_log_odds=True,
            multiclass_support="rivals",
            scratch_columns=N_CLASS_NOTES,
            learns_dense_columns=False,
        )

    def _build_updater(self, slots: int, dtype: Any) -> StackedLearners:
        return build_stacked_learners(slots, dtype, bias=self.fit_intercept, share=float(self.fixed_share))

    def _bytes_needed(self, state: ModelState, growth: Growth) -> int:
        """Return the memory with the conversion included: a service converts the model to many classes when a third
        label arrives."""
        needed, classes = super()._bytes_needed(state, growth), len(state.labels) + len(growth.labels)
        if classes < 3:
            return needed
        from novikoff.core.multiclass.weight_matrix import padded_columns

        stride, slots = padded_columns(classes), max(state.features, growth.features) + 1
        wider = bytes_per_slot(state.updater, stride) - bytes_per_slot(state.updater)
        return needed + wider * slots + 16 * stride

    @property
    def forecast_weights_(self) -> dict[str, float]:
        """The weight of each forecast in the mixture."""
        return self.weights_of_forecasts(self._require_attribute("forecast_weights_"))

    @staticmethod
    def weights_of_forecasts(state: ModelState) -> dict[str, float]:
        """Return the weight of each forecast in a state of two or more classes."""
        return dict(zip(FORECAST_NAMES, state.updater.stack[MIXTURE:FORECAST_LOSS].tolist(), strict=True))

    def _run_facts(self) -> dict[str, Any]:
        return {"members": count_member_errors(self._require_fitted())}

    def bounds(self) -> Sequence[Bound]:
        return self._preference_bounds(self._checked_state(), variables=0, top=True)

    def _preference_bounds(self, state: ModelState, *, variables: int, top: bool) -> Sequence[Bound]:
        def mixture(_: Evidence) -> float:
            seen = int(state.updater.totals[N_ROWS])
            loss = min(log_loss_of(state.updater.stack, entry) for entry in (FORECAST_LOSS, DRIFT_LOSS))
            lost = regret.fixed_share(forecasts=2, share=self.fixed_share, examples=seen)
            allowed = regret.mistakes(loss_name="logistic", loss=loss, regret=lost) * (1.0 + regret.ROUNDING)
            # Members learn nothing while there is only one class, and no forecast has a class that is new.
            return allowed + (state.ledger.examples - seen) + getattr(state, "new", 0)

        statement = "M ≤ (L* + ln 2 + (m − 1)·ln(1/(1 − α/2)))/ln 2, L* the log-loss of the better of the two forecasts"
        return (Bound("log-loss of a mixture", "mistakes", statement, mixture, any_order=False, by_run=True),)


def count_member_errors(state: ModelState) -> dict[str, int]:
    """Return the number of mistakes of each member."""
    return dict(zip(MEMBER_NAMES, map(int, state.updater.stack[ERRORS : ERRORS + N_MEMBERS]), strict=True))


BinaryAuto.__name__ = "Auto"  # the public name, in messages and as the inner learner of a scheme
