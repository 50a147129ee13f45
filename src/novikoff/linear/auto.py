"""Auto: weighted majority vote of different learners on one stream; no setting is needed.

Predict   the label with the most votes of four members: AROW, AdaGrad on the hinge loss, a mixture of both, and the
          Perceptron (core/updaters/weighted_majority.py)
Update    every member learns as it would alone, from examples that are scaled by the stream so far. The vote of a
          member that errs is multiplied by β; after a wrong prediction a share α of all votes is redistributed evenly
Bound     M ≤ (ln N + M*·ln(1/β)) / (ln(2/(1+β)) − ln(1/(1−α))), N = 4 members, M* the mistakes of the best of them: if
          the prediction is wrong, at least half of the votes were wrong, so each mistake leaves at most (1+β)/2 of
          their sum, and the redistribution leaves each member at least 1 − α of its own vote
Source    Littlestone and Warmuth, The weighted majority algorithm, 1994; Herbster and Warmuth, Tracking the best
          expert, 1998; Crammer, Kulesza and Dredze 2009; Duchi, Hazan and Singer 2011; Ross, Mineiro and Langford,
          Normalized online learning, 2013 (scales)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, final

from novikoff.base.estimator import check_range
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState, bytes_per_slot
from novikoff.base.online_classifier import SampleWeightMixin
from novikoff.core.losses import ALWAYS_UPDATE, Loss
from novikoff.core.updaters.weighted_majority import (
    ERRORS,
    N_MEMBERS,
    N_SCORES,
    N_STEPS,
    VOTES,
    WEIGHTED_MAJORITY_SCHEMA,
    WeightedMajority,
    build_weighted_majority,
)
from novikoff.errors import ModelReplacedError
from novikoff.memory_limit import Growth
from novikoff.theory import mistake_bounds
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["BinaryAuto"]

MEMBER_NAMES = ("arow", "adagrad", "arow and adagrad", "perceptron")


@final
class BinaryAuto(SampleWeightMixin, LinearClassifier):
    """Weighted majority vote of four binary learners: the weight of each shrinks when it errs. `novikoff.Auto` is for
    any number of classes.

    Parameters
    ----------
    beta : float
        β, from 0.01 to 0.99: the factor that multiplies a vote after a mistake.
    fixed_share : float
        α, from 0 to 0.1: the share of all votes that is redistributed evenly after a wrong prediction.
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
    >>> from novikoff.linear.auto import BinaryAuto
    >>> model = BinaryAuto().fit([[0, 1000], [0.1, 0], [0.2, 1000], [0, 3000]], ["up", "right", "right", "up"])
    >>> model.predict([[0.3, 1000], [0, 2000]]).tolist(), model.ledger_.mistakes
    (['right', 'up'], 1)
    >>> [round(vote, 2) for vote in model.votes_.values()]
    [0.25, 0.25, 0.25, 0.25]
    """

    def __init__(
        self,
        *,
        beta: float = 0.8,
        fixed_share: float = 0.001,
        fit_intercept: bool = True,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        calibrate: bool = True,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.beta = beta
        self.fixed_share = fixed_share
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.calibrate = calibrate
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
        check_range(0.01, 0.99, beta=self.beta)
        check_range(0.0, 0.1, fixed_share=self.fixed_share)

    def _spec(self) -> LearnerSpec:
        return LearnerSpec(
            loss=Loss(ALWAYS_UPDATE),
            build_updater=self._build_updater,
            build_schema=lambda _: WEIGHTED_MAJORITY_SCHEMA,
            scores_by_weights=False,
            multiclass_support="rivals",
            scratch_columns=N_SCORES,
            learns_dense_columns=False,
        )

    def _build_updater(self, slots: int, dtype: Any) -> WeightedMajority:
        # Chosen by the progressive error on streams of many kinds.
        settings = {"r": 0.1, "rate": 1.0, "arow_tail": 6.0, "adagrad_tail": 4.0}
        shrink, share = float(self.beta), float(self.fixed_share)
        return build_weighted_majority(slots, dtype, bias=self.fit_intercept, shrink=shrink, share=share, **settings)

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
    def votes_(self) -> dict[str, float]:
        """Vote of each member."""
        return self.member_votes(self._require_attribute("votes_"))

    @staticmethod
    def member_votes(state: ModelState) -> dict[str, float]:
        """Return the vote of each member in a state of two or more classes."""
        return dict(zip(MEMBER_NAMES, state.updater.scalars[VOTES : VOTES + N_MEMBERS].tolist(), strict=True))

    def _run_facts(self) -> dict[str, Any]:
        return {"members": count_member_errors(self._require_fitted())}

    def bounds(self) -> Sequence[Bound]:
        return self._preference_bounds(self._checked_state(), variables=0, top=True)

    def _preference_bounds(self, state: ModelState, *, variables: int, top: bool) -> Sequence[Bound]:
        def majority(_: Evidence) -> float:
            best = min(count_member_errors(state).values())
            seen = int(state.updater.scalars[N_STEPS])
            allowed = mistake_bounds.weighted_majority(
                experts=N_MEMBERS, mistakes=best, beta=self.beta, fixed_share=self.fixed_share, examples=seen
            )
            # Members do not vote while there is only one class.
            return allowed + (state.ledger.examples - seen)

        statement = "M ≤ (ln N + M*·ln(1/β))/(ln(2/(1+β)) − ln(1/(1−α))), M* the mistakes of the best of N members"
        return (Bound("weighted majority", "mistakes", statement, majority, any_order=False, by_run=True),)


def count_member_errors(state: ModelState) -> dict[str, int]:
    """Return the number of mistakes of each member."""
    return dict(zip(MEMBER_NAMES, map(int, state.updater.scalars[ERRORS : ERRORS + N_MEMBERS]), strict=True))


BinaryAuto.__name__ = "Auto"  # the public name, in messages and as the inner learner of a scheme
