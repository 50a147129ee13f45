"""Online-to-batch conversion: one hypothesis of an online run, or a combination of all of them.

Predict   with the hypothesis that the method chooses among H_0, H_1, …, each of which predicts until it changes
Update    the learner's own, example by example, until the method stops; the run is not changed
Bound     of the error on new data, for independent examples of one distribution (theory/online_to_batch.py):
          random-stopping     E[err] ≤ E[M]/m        of the hypothesis that predicted a random example
          controlled-testing  err ≤ ε                the first that is right (1/ε)ln(1/δ_i) times in a row, δ_i =
          δ/(i+2)² next-stretch        err ≤ ε                the first that is right (1/ε)ln(M/δ) times in a row, M the
          most mistakes longest-survivor    err ≤ 1 − δ_i^(1/S)    right S times in a row, more often than any other
          penalised           err ≤ k/n + √(ln(2m(m+1)/δ)/(2n)), and ≤ M/m + 6√(ln(2(m+1)/δ)/m)
          vote                err ≤ 2(M/m + √(ln(1/δ)/(2m)))
          average             none
Source    Littlestone 1989; Blum, Kalai and Langford 1999; Freund and Schapire 1999; Gallant 1986; Cesa-Bianchi, Conconi
          and Gentile, On the generalization ability of on-line learning algorithms, 2004

A stretch ends with a mistake or a change, whichever is first. So the tests are sound for learners that also change on
right predictions, or err without changing. A hypothesis must not change while it is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Literal, Self, cast, final

import numpy as np
from numpy.typing import NDArray

from novikoff.base import internals
from novikoff.base.class_weights import refuse_class_weight
from novikoff.base.estimator import check_choice
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.base.single_example import learn_as_batch
from novikoff.boolean.halving import Halving
from novikoff.core import loop
from novikoff.core.hypothesis_log import HYPOTHESIS_LOG_SCHEMA, HypothesisLog, compute_votes, replay
from novikoff.core.learning_run import RowBlock, copy_updater
from novikoff.core.updaters.base import max_sq_norm
from novikoff.data.rows import Rows, slice_rows
from novikoff.errors import InputError
from novikoff.linear.perceptron import Perceptron
from novikoff.linear.voted_perceptron import VotedPerceptron
from novikoff.meta.base import MetaEstimator, check_binary_learner
from novikoff.online_to_batch import guarantees, training
from novikoff.online_to_batch.state import OnlineToBatchState, choice_schema
from novikoff.schema import Schema
from novikoff.theory import validation
from novikoff.theory.bound_declaration import Bound
from novikoff.theory.samples.guarantee import ErrorGuarantee, no_guarantee

__all__ = ["OnlineToBatch"]

METHOD_NAMES = tuple(guarantees.GUARANTEES)


@final
class OnlineToBatch(MetaEstimator, LinearClassifier):
    """A binary learner whose output is a hypothesis with a guarantee for new data.

    The learner runs as it does alone: one pass, example by example. The method chooses which of its hypotheses
    predicts, and `guarantee_` states the guarantee for it, with its probability and assumptions; there is none before a
    test was passed. Examples must be drawn independently from one distribution and learned once: `passes` must be 1.

    It stores the learner and one more hypothesis; penalised and vote store the learner and the examples at which it
    changed. Penalised tests each hypothesis on every later example, and vote evaluates all hypotheses: both need a
    product for each of them.

    Parameters
    ----------
    estimator : estimator
        The binary learner, by default Perceptron(). The method determines its setting `average`.
    method : str
        random-stopping, controlled-testing, next-stretch, longest-survivor, penalised, average or vote.
    epsilon : float
        ε, the error that controlled-testing and next-stretch test for. Between 0 and 1.
    delta : float
        δ, the probability with which the guarantee may fail. Between 0 and 1.
    max_mistakes : int
        M, for next-stretch: the largest number of mistakes (or changes, if there are more) that the learner can make.
    stream_radius : float
        R = max‖x‖, bias included; with `stream_margin` it gives M = (R/γ)² for the Perceptron.
    stream_margin : float
        γ, the margin of the distribution.
    max_hypotheses : int
        Maximum number of hypotheses that penalised tests: those that lasted longest.
    random_state : int
        The seed of random-stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from novikoff import OnlineToBatch, Perceptron
    >>> X = np.random.default_rng(0).standard_normal((2000, 3))
    >>> X = X[np.abs(X[:, 0] + X[:, 1]) > 0.2]
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "up", "down")
    >>> model = OnlineToBatch(Perceptron(), method="controlled-testing", epsilon=0.05, delta=0.05).fit(X, y)
    >>> model.stopped_, model.examples_used_ < len(X), model.bound_
    (True, True, 0.05)
    """

    _has_probabilities = False

    def __init__(
        self,
        estimator: OnlineClassifier | None = None,
        *,
        method: Literal[
            "random-stopping", "controlled-testing", "next-stretch", "longest-survivor", "penalised", "average", "vote"
        ] = "longest-survivor",
        epsilon: float = 0.1,
        delta: float = 0.05,
        max_mistakes: int | None = None,
        stream_radius: float | None = None,
        stream_margin: float | None = None,
        max_hypotheses: int = 1000,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.max_mistakes = max_mistakes
        self.stream_radius = stream_radius
        self.stream_margin = stream_margin
        self.max_hypotheses = max_hypotheses
        self.random_state = random_state

    # --- What the inner learner provides ---

    def _default_learner(self) -> OnlineClassifier:
        return Perceptron()  # the hypotheses of learners that change with every example can't be tested

    @property
    def _working_learner(self) -> Any:
        """Return the inner learner, averaging if and only if the method does."""
        inner = self._inner_learner
        if not hasattr(inner, "average"):
            return inner
        return type(inner)(**{**inner.get_params(), "average": self.method == "average"})

    def _scheme_info(self) -> dict[str, Any]:
        return {"online_to_batch": self._describe_guarantee()}

    @property
    def tie(self) -> Any:
        return self._inner_learner.tie

    def _spec(self) -> LearnerSpec:
        inner, working = internals.spec_of(self._inner_learner), internals.spec_of(self._working_learner)
        return working._replace(
            loss=inner.loss,
            unseen_weight=None if inner.unseen_weight is None else self._unseen_weight,
            weight_scale=1.0 if self.method == "vote" else inner.weight_scale,
            has_weights=True,
            scores_by_weights=False,
            multiclass_support="no",
            learns_dense_rows=False,
            learns_dense_examples=False,
            learns_dense_columns=False,
            scores_dense_rows=False,
        )

    def _unseen_weight(self, state: ModelState) -> float:
        chosen = state if self.method == "vote" else self._chosen_state(state)
        return internals.spec_of(self._inner_learner).unseen_weight_in(chosen)

    def _extra_schemas(self, features: int, present: Collection[str]) -> dict[str, Schema]:
        most = guarantees.find_max_changes(self) if self.method == "next-stretch" else 0
        kept = {"changes.": HYPOTHESIS_LOG_SCHEMA} if self.method in ("penalised", "vote") else {}
        chosen = {"chosen.": self._spec().build_schema(features)} if "chosen.weights" in present else {}
        choice = choice_schema(self.method, most_changes=most, max_hypotheses=int(self.max_hypotheses))
        return {**kept, "choice.": choice, **chosen}

    def _check_all(self) -> None:
        check_binary_learner(self.estimator, type(self).__name__)
        check_choice(METHOD_NAMES, method=self.method)
        self._check_learner()
        internals.check_settings(self._working_learner)
        self._check_settings()

    def _check_settings(self) -> None:
        validation.check_epsilon(self.epsilon)
        validation.check_delta(self.delta)
        validation.check_count("max_hypotheses", self.max_hypotheses, 2, 10**6)
        validation.check_count("random_state", self.random_state, 0)
        if self.max_mistakes is not None:
            validation.check_count("max_mistakes", self.max_mistakes, 1, 2**40)
        if self.method == "next-stretch":
            validation.check_count("M, the most mistakes,", guarantees.find_max_changes(self), 1, 2**40)

    def _check_learner(self) -> None:
        inner = self._inner_learner
        refuse_class_weight(self, "its guarantee is for examples that count alike")
        if internals.is_multiclass(inner):
            raise InputError(
                f"OnlineToBatch takes binary learners with a weight vector, such as Perceptron(), not {inner!r}."
            )
        if isinstance(inner, VotedPerceptron) or (isinstance(inner, Halving) and not isinstance(inner.hypotheses, str)):
            raise InputError(
                f"OnlineToBatch takes learners that predict by themselves, such as Perceptron(), not {inner!r}:"
                " the vote of a Perceptron's hypotheses is method='vote'."
            )
        if inner.passes != 1:
            raise InputError(
                f"OnlineToBatch needs new examples for its guarantee, so passes must be 1, but is {inner.passes!r}."
            )
        if self.method == "average" and not hasattr(inner, "average"):
            raise InputError(f"method='average' needs a learner that averages, such as Perceptron, not {inner!r}.")
        fades = any(getattr(inner, name, 0.0) > 0.0 for name in ("l1", "l2"))
        if fades and self.method != "average":
            raise InputError(
                f"With l1 or l2 the hypothesis changes at every example, and {self.method} needs an unchanged one:"
                " leave them out, or average."
            )

    # --- Learning ---

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array."""
        learn_as_batch(self, x, y)  # the loop of the method must see all examples
        return self

    def _build_state(self, features: int, dtype: Any, names: list[str] | None, labels: Any) -> OnlineToBatchState:
        self._check_all()  # callers that build a model from a document may not have checked its settings
        state = OnlineToBatchState(**vars(super()._build_state(features, dtype, names, labels)))
        if self.method in ("controlled-testing", "next-stretch"):
            state.current = state.current._replace(target=training.find_first_target(self))
        if self.method in ("penalised", "vote"):
            state.reserve(0, 0)
        if self.method == "penalised":
            state.picked, state.mistakes = np.zeros(1, np.int64), np.zeros(1, np.int64)
        return state

    def _run_loop(
        self, state: Any, rows: Rows, signs: NDArray[np.int8], weights: NDArray[np.float64], canonical: bool
    ) -> int:
        if len(weights) and not np.isin(weights, (0.0, 1.0)).all():
            raise InputError("OnlineToBatch takes examples of weight 1: its guarantees are for unweighted examples.")
        return training.TRAINERS[self.method](self, state, RowBlock(rows, signs, weights, canonical))

    def _restore(self, state: Any, kept: Any) -> None:
        state.restore(kept)
        super()._restore(state, kept)

    # --- The chosen hypothesis ---

    def _chosen_updater(self, state: OnlineToBatchState) -> Any:
        if self.method == "vote":
            raise AttributeError("A vote has no single hypothesis: use another method, or decision_function.")
        if self.method != "penalised":
            return state.hypothesis
        number, _, _ = guarantees.find_best_hypothesis(self, state)
        run = training.start_replay(self, state)
        replay(run, cast(HypothesisLog, state.changes), 0, number)
        return run.updater

    def _first_updater(self, state: OnlineToBatchState) -> Any:
        """Return the learner's first hypothesis, in separate arrays."""
        if state.first is None or len(state.first.weights) != len(state.updater.weights):
            fixed = self._spec().fixed_width_reason is not None  # slots for all features, without spare capacity
            state.first = self._spec().build_updater((state.features if fixed else state.room) + 1, state.kind)
        return copy_updater(state.first)

    def _chosen_state(self, state: Any) -> ModelState:
        """Return the learner's own state, with the chosen hypothesis in place of its last one."""
        names = ("ledger", "labels", "features", "names", "kind", "reading", "slot_names", "feature_sample")
        updater, settings = self._chosen_updater(state), internals.run_settings_of(self._working_learner)
        return ModelState(updater=updater, settings=settings, **{name: getattr(state, name) for name in names})

    @property
    def hypothesis_(self) -> Any:
        """The chosen hypothesis as a separate learner, with the ledger of the run."""
        view = self._chosen_state(self._require_attribute("hypothesis_")).copy()
        view.feature_sample = view.feature_sample.copy()
        learner = self._working_learner
        learner = type(learner)(**learner.get_params())
        internals.set_state(learner, view)
        return learner

    @property
    def guarantee_(self) -> ErrorGuarantee:
        """The guarantee for the chosen hypothesis, with its probability and assumptions."""
        self._require_attribute("guarantee_")
        state: Any = self._checked_state()
        return guarantees.build_guarantee(self, state)

    @property
    def bound_(self) -> float | None:
        """A bound for its error on new data, with probability 1 − δ (random-stopping: in expectation); None without a
        guarantee."""
        return self.guarantee_.bound

    @property
    def stopped_(self) -> bool:
        """Whether the choice is final; the tests stop, the other methods continue."""
        return self._find_stop_reason("stopped_").stopped

    @property
    def stop_reason_(self) -> str:
        """Why it stopped, or why this hypothesis is chosen at present."""
        return self._find_stop_reason("stop_reason_").why

    @property
    def examples_used_(self) -> int:
        """The number of examples that were learned, up to the stop."""
        return self._require_attribute("examples_used_").ledger.examples

    @property
    def _has_fixed_length(self) -> bool:  # type: ignore[override]
        return not self._find_stop_reason("fixed_length").stopped

    def _find_stop_reason(self, name: str) -> guarantees.StopReason:
        state: Any = self._require_attribute(name)
        return guarantees.find_stop_reason(self, state)

    def _describe_guarantee(self, examples: int | None = None, delta: float = 0.05) -> dict[str, Any]:
        state: Any = self._checked_state()
        end, promise = guarantees.find_stop_reason(self, state), guarantees.build_guarantee(self, state)
        if examples not in (None, state.ledger.examples):
            promise = no_guarantee(end.about, "the examples were learned more than once")
        about = {"method": self.method, "chosen": end.about, "stopped": end.stopped, "stop_reason": end.why}
        return {
            **about,
            "examples_used": state.ledger.examples,
            **guarantees.count_later_mistakes(state),
            **promise.as_dict(),
        }

    def bounds(self) -> Sequence[Bound]:
        """Return the theorems of the inner learner: its run is unchanged, up to the stop."""
        state = self._checked_state()
        learner = self._working_learner
        learner = type(learner)(**learner.get_params())
        settings = internals.run_settings_of(learner)
        parts = (state.updater, state.ledger, state.labels, state.features, state.names, state.kind)
        internals.set_state(learner, ModelState(*parts, settings))
        found: Sequence[Bound] = learner.bounds()
        return found

    def _min_errors(self, rows: Rows, signs: NDArray[np.int8]) -> int | None:
        learner = self.hypothesis_ if self.method != "vote" else self._working_learner
        found: int | None = (
            internals.count_min_errors(learner, rows, signs) if internals.state_of(learner) is not None else None
        )
        return found

    def describe(self) -> str | None:
        description: str | None = self.hypothesis_.describe() if self.method != "vote" else None
        return description

    # --- Predicting ---

    def _build_loop_scorer(self, state: Any) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        slots = state.features + 1
        if self.method == "vote":
            return self._build_vote_scorer(state)
        if self.method == "average":
            score: Callable[[Rows, bool, NDArray[np.float64]], int] = internals.build_loop_scorer(
                self._working_learner, self._chosen_state(state)
            )
            return score
        updater = copy_updater(
            self._chosen_updater(state)
        )  # several threads may predict, and each needs scratch arrays of its own
        return lambda rows, canonical, out: loop.score_rows_with_updater(updater, rows, slots, canonical, out)

    def _build_vote_scorer(self, state: Any) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        time = state.ledger.examples

        def score(rows: Rows, canonical: bool, out: NDArray[np.float64]) -> int:
            largest = max_sq_norm.function(state.updater.weights)
            valid = loop.first_invalid_row(rows, len(out), state.features + 1, largest, canonical)
            start = partial(training.start_replay, self, state)
            compute_votes(start, state.changes, slice_rows(rows, 0, valid), time, out[:valid])
            out[valid:] = 0.0
            out /= max(time, 1)
            return valid

        return score

    def _hypothesis(self, state: Any) -> NDArray[np.float64]:
        weights: NDArray[np.float64] = internals.hypothesis_of(self._working_learner, self._chosen_state(state))
        return weights

    # --- Files ---

    def _trim_state(self, state: Any) -> Any:
        return internals.trim_state(self._working_learner, state)

    def _extra_arrays(self, state: Any) -> dict[str, NDArray[Any]]:
        chosen = None
        if state.chosen is not None:
            chosen = internals.trim_state(self._working_learner, self._chosen_state(state))
        return state.to_tensors(chosen)

    def _state_from_file(self, state: ModelState, tensors: dict[str, NDArray[Any]]) -> OnlineToBatchState:
        updater = self._spec().build_updater(state.features + 1, state.kind)
        return OnlineToBatchState.from_tensors(state, updater, tensors)
