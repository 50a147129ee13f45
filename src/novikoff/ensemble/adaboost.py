"""AdaBoost (Freund and Schapire 1997), and SAMME for more than two classes (Zhu, Zou, Rosset and Hastie 2009).

Begin     D_1 = 1/m for each example, or in proportion to the sample weights
Round t   h_t = the weak learner on the weights D_t; ε_t = its weighted error
          α_t = ½ ln((1−ε_t)/ε_t);  D_{t+1} ∝ D_t·exp(−α_t·y·h_t(x))
Predict   sign Σ α_t·h_t(x)
Bound     training error ≤ Π 2√(ε_t(1−ε_t))
K classes votes a_t = ln((1−ε_t)/ε_t) + ln(K−1) for the class that h_t predicts (2α_t for K = 2), D_{t+1} ∝ D_t·exp(a_t)
          where h_t errs; training error ≤ Π K√(ε_t(1−ε_t)/(K−1))
End       weights differ by more than e^300
          ε_t = 0: h_t makes no error, is the only member, and the bound is 0
          ε_t ≥ 1 − 1/K: h_t is not better than chance, and is left out
Source    Freund, Schapire: A decision-theoretic generalization of on-line learning and an application to boosting, 1997
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from novikoff.base.estimator import check_bool, check_positive_int, check_seed
from novikoff.data import validation
from novikoff.ensemble.base import VotingEnsemble, VotingState
from novikoff.ensemble.decision_tree import DecisionTree
from novikoff.ensemble.members import (
    Ensemble,
    MemberMemory,
    MemberTrainer,
    TrainingData,
    count_votes,
    merge_members,
    predict_codes,
)
from novikoff.errors import InputError
from novikoff.meta.batch_estimator import BatchGuarantee
from novikoff.schema import INFINITY, MAX_COUNT, ArraySpec, Entries, InRange, NamedSize, NotNaN, Schema
from novikoff.theory import boosting

__all__ = ["AdaBoost"]

MAX_LOG_WEIGHT_RANGE = 300.0  # larger ratios of weights lose precision; up to this one they are exact to a few units
MIN_RELATIVE_WEIGHT = 1e-100  # least sample weight, as a share of the largest
N_QUANTILES = 101


class BoostingRounds(NamedTuple):
    members: list[Any]
    errors: list[float]
    votes: list[float]
    perfect: bool
    """Whether the last member makes no error: it is then the only member."""


@final
class AdaBoost(Ensemble, VotingEnsemble):
    """Boosting: each round emphasises the errors of earlier rounds, and all rounds vote.

    `bound_` is the theorem's bound for the training error, rounded up so that it holds for this model with its rounded
    numbers; `training_error_` is never above it. With more than two classes the rounds are those of SAMME, and the
    bound is below 1 only if the weak learner errs on much less than half of the weight.

    If the weak learner's `fit` takes sample weights, it gets the weights D_t, which multiply the step lengths of online
    learners of this package. Otherwise m examples are drawn by D_t, and the theorem still holds: ε_t is measured on all
    examples.

    Parameters
    ----------
    estimator : estimator
        The weak learner, of this package or of scikit-learn; by default a stump, DecisionTree(max_depth=1).
    n_estimators : int
        Maximum number of rounds.
    resample : bool
        Draw examples even if the weak learner takes weights.
    random_state : int
        The seed of the draws, and of the weak learner if its random_state is None.

    Attributes
    ----------
    estimator_errors_, estimator_weights_ : arrays
        ε_t and α_t of each round; for more than two classes a_t.
    bound_, training_error_ : float
        The theorem's bound, and the measured error.
    margin_distribution_ : array of 101 numbers
        From the least to the largest margin of the training examples in steps of 1%: (votes for the label − most votes
        for another)/all votes, from −1 to 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from novikoff import AdaBoost
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoost(n_estimators=20).fit(X, y)
    >>> model.training_error_ <= model.bound_ < 0.2
    True
    """

    def __init__(
        self, estimator: Any = None, *, n_estimators: int = 50, resample: bool = False, random_state: int = 0
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.resample = resample
        self.random_state = random_state

    # --- Learning ---

    def _check_all(self) -> None:
        check_positive_int(n_estimators=self.n_estimators)
        check_bool(resample=self.resample)
        check_seed(random_state=self.random_state)

    def _base_learner(self) -> Any:
        return DecisionTree(max_depth=1) if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget what was learned, then boost. Sample weights are D_1, and the weights of training errors."""
        self._check_all()
        data, codes, state = self._prepare_training(X, y)
        given = validation.validate_sample_weight(sample_weight, len(data))
        first = given / given.max() if given.size else np.ones(len(data))
        if first[first > 0.0].min() < MIN_RELATIVE_WEIGHT:
            raise InputError(
                "sample_weight must not differ by a factor of more than 10^100: leave out examples of such small"
                " weight."
            )
        found = self._run_rounds(data, codes, len(state.labels), first)
        state.members, state.weights = merge_members(found.members), np.array(found.votes)
        counts = count_votes(state.members, state.weights, data, len(state.labels), soft=False)
        wrong = counts.argmax(axis=1) != codes
        state.more = {
            "errors": np.array(found.errors),
            "training": np.array([first[wrong].sum() / first.sum(), self._training_error_bound(found)]),
            "counts": np.array([len(data), int(wrong.sum())]),
            "margins": np.quantile(_compute_margins(counts, codes)[first > 0.0], np.linspace(0.0, 1.0, N_QUANTILES)),
        }
        if given.size:
            state.more["weighted"] = np.ones(1, np.int8)
        self._state = state
        return self

    def _run_rounds(
        self, data: TrainingData, codes: NDArray[np.int64], classes: int, first: NDArray[np.float64]
    ) -> BoostingRounds:
        if classes == 1:
            return BoostingRounds([], [], [], perfect=True)
        learner = self._base_learner()
        teacher, memory = MemberTrainer(learner, data, codes, classes), MemberMemory()
        by_weight = teacher.takes_weights and not self.resample
        found, heavy = BoostingRounds([], [], [], perfect=False), np.zeros(len(data))
        for t in range(int(self.n_estimators)):
            if heavy.max() - heavy.min() > MAX_LOG_WEIGHT_RANGE:
                break
            weights = first * np.exp(heavy - heavy.max())
            rng = np.random.default_rng([int(self.random_state), t])
            inner_seed = int(rng.integers(2**31))
            if by_weight:
                member = teacher.weighted(weights * (np.count_nonzero(first) / weights.sum()), inner_seed)
            else:
                member = teacher.sampled(rng.choice(len(data), len(data), p=weights / weights.sum()), inner_seed)
            wrong = predict_codes(merge_members([member]), data)[0] != codes
            if not (wrong & (first > 0.0)).any():
                return BoostingRounds([member], [0.0], [1.0], perfect=True)
            error = float(weights[wrong].sum() / weights.sum())
            if error >= 1.0 - 1.0 / classes:
                break
            vote = math.log1p(-error) - math.log(error) + math.log(classes - 1)
            if vote <= 0.0:
                break
            memory.add(member)
            found.members.append(member)
            found.errors.append(error)
            found.votes.append(vote)
            heavy[wrong] += vote
        if not found.members:
            raise InputError(
                f"AdaBoost needs a weak learner that is better than chance, but {learner!r} errs on {error:.3g} of the"
                " weight in the first round: choose a stronger one, such as DecisionTree(max_depth=2)."
            )
        return found

    def _training_error_bound(self, found: BoostingRounds) -> float:
        if found.perfect:
            return 0.0
        highs = [
            boosting.compute_error_share_bound(error, rounds=t, votes=sum(found.votes[:t]))
            for t, error in enumerate(found.errors)
        ]
        return boosting.compute_error_bound(errors=highs, votes=found.votes)

    def _extra_schema(self) -> Schema:
        return Schema(
            {
                "errors": ArraySpec("float64", NamedSize("members"), checks=[InRange(0.0, 1.0)]),
                "training": ArraySpec("float64", 2, checks=[InRange(0.0, INFINITY)]),
                "counts": ArraySpec(
                    "int64",
                    2,
                    checks=[
                        Entries(training_examples=(1, MAX_COUNT), training_errors=(0, NamedSize("training_examples")))
                    ],
                ),
                "margins": ArraySpec("float64", N_QUANTILES, checks=[NotNaN()]),
                "weighted": ArraySpec("int8", 1, optional=True),
            }
        )

    # --- Predicting ---

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return Σ α_t·h_t(x) for two classes, otherwise the votes for each class."""
        counts = self._compute_votes(X)
        return (counts[:, 1] - counts[:, 0]) / 2.0 if counts.shape[1] == 2 else counts

    def margins(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return (votes for the label − most votes for another)/all votes for each example: positive if it is predicted
        right."""
        counts = self._compute_votes(X)
        numbers = {label: k for k, label in enumerate(self._require_fitted().labels)}
        labels = validation.validate_y(y, len(counts))
        missing = [label for label in labels.tolist() if label not in numbers]
        if missing:
            raise InputError(f"y has the label {missing[0]!r}, which was not learned.")
        return _compute_margins(counts, np.array([numbers[label] for label in labels.tolist()]))

    # --- What was learned ---

    @property
    def estimator_errors_(self) -> NDArray[np.float64]:
        """The weighted error ε_t of each round."""
        return self._require_attribute("estimator_errors_").more["errors"]

    @property
    def estimator_weights_(self) -> NDArray[np.float64]:
        """The weight α_t of each round; for more than two classes a_t."""
        state = self._require_attribute("estimator_weights_")
        return state.weights / 2.0 if len(state.labels) == 2 else state.weights

    @property
    def training_error_(self) -> float:
        """The weighted share of training examples that are predicted wrong."""
        return float(self._require_attribute("training_error_").more["training"][0])

    @property
    def bound_(self) -> float:
        """The theorem's bound for the training error."""
        return float(self._require_attribute("bound_").more["training"][1])

    @property
    def margin_distribution_(self) -> NDArray[np.float64]:
        """The margins of the training examples, in steps of 1%."""
        return self._require_attribute("margin_distribution_").more["margins"]

    def _build_guarantee(self, delta: float) -> BatchGuarantee:
        """Return the training-error bound; there is no bound for new data."""
        state = self._require_fitted()
        examples, wrong = state.more["counts"].tolist()
        classes, share, bound = len(state.labels), self.training_error_, self.bound_
        factor = "2√(ε_t(1−ε_t))" if classes == 2 else f"{classes}√(ε_t(1−ε_t)/{classes - 1})"
        made: float = share * examples if "weighted" in state.more else wrong
        bound_record = {
            "name": "boosting",
            "counts": "training errors",
            "statement": f"training error ≤ Π {factor}, with α_t and the weights as they were rounded",
            "observed": made,
            "any_order": True,
            "bound": math.nextafter(bound * examples, math.inf) if bound else 0.0,
            "slack": bound / share if share else None,
            "verdict": "holds" if share <= bound else "violated",
            "assumes": "nothing of the data",
            "numbers": {"rounds": len(state.weights), "product": bound, "median margin": self._quantile(50)},
        }
        observed = {"examples": examples, "training_errors": wrong, "training_error": share, "classes": classes}
        return BatchGuarantee(observed, [bound_record], None)

    def _quantile(self, percent: int) -> float:
        return float(self.margin_distribution_[percent])

    def describe(self) -> str:
        state: VotingState = self._require_fitted()
        return (
            f"{len(state.weights):,} rounds; training error {self.training_error_:.4g}, of which the theorem allows"
            f" {self.bound_:.4g}; half of the margins are above {self._quantile(50):.3g}."
        )


def _compute_margins(counts: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    every = np.arange(len(codes))
    mine, total = counts[every, codes], counts.sum(axis=1)
    others = counts.copy()
    others[every, codes] = -np.inf
    best = others.max(axis=1) if counts.shape[1] > 1 else np.zeros(len(codes))
    return (mine - best) / np.where(total > 0.0, total, 1.0)
