"""Halving (Barzdin and Freivald 1972; Angluin 1988).

Predict   by majority vote of the version space: the hypotheses that no example has contradicted
Update    drop every hypothesis that contradicts the label
Bound     M ≤ log₂|H|                  a hypothesis of the class H agrees with every label
          M ≤ (e + 1)·log₂|H| + e      the best one disagrees e times: when none is left, all are restored
Source    Angluin, Queries and concept learning, 1988

After a mistake at least half of the remaining hypotheses are dropped. It works for every finite class; each prediction
evaluates all remaining hypotheses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from novikoff.base.estimator import check_choice, check_finite, check_positive_int
from novikoff.base.learner_spec import BOOLEAN_VALUES, LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_lock import lock_free
from novikoff.base.model_state import ModelState
from novikoff.base.scoring import copy_scratch
from novikoff.boolean.sample_check import SampleCheckMixin
from novikoff.core.loop import first_invalid_row, score_rows_with_updater
from novikoff.core.losses import VOTE_MARGIN, Loss
from novikoff.core.updaters.base import max_sq_norm, resize_updater
from novikoff.core.updaters.version_space import (
    HYPOTHESIS_CLASSES,
    N_LEFT,
    N_RESTARTS,
    VersionSpace,
    build_version_space,
    count_errors,
    count_hypotheses,
    list_hypotheses,
    version_space_schema,
)
from novikoff.data.canonical_rows import remove_zeros
from novikoff.data.rows import Dense, Rows, Sparse, count_rows, scatter_row, slice_rows
from novikoff.errors import InputError
from novikoff.schema import Schema
from novikoff.theory import boolean_bounds
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["Halving"]

Predictor = Any
"""A predictor: a function of one example, an array, or an object whose predict takes a table. True, or a number above
0, is classes_[1]."""


@final
class Halving(SampleCheckMixin, LinearClassifier):
    """Halving: the majority vote of all hypotheses of a finite class without an error so far.

    It makes at most log₂|H| mistakes if one of them never errs. `decision_function` returns the votes for classes_[1]
    minus those against it, as a share of all votes.

    Parameters
    ----------
    hypotheses : str | iterable
        The class: conjunctions or disjunctions of up to `size` features that are 0 or 1, stumps (a feature is at least
        a cut, or is not), intervals (a feature is between two cuts); or your own predictors.
    size : int
        Maximum number of features in a conjunction or disjunction.
    low : float
        The lowest cut.
    high : float
        The highest cut.
    steps : int
        Number of cuts, spaced evenly from low to high.
    passes : int
        How often fit goes over the data.
    shuffle : bool
        Whether fit learns the rows in random order, a new one in each pass. Otherwise in the given order.
    random_state : int
        The seed of the random order.

    Examples
    --------
    >>> from novikoff import Halving
    >>> model = Halving(hypotheses="disjunctions").fit([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], [1, 0, 1, 0])
    >>> model.hypotheses_left_, model.size_, model.ledger_.mistakes
    (1, 7, 0)
    >>> own = Halving(hypotheses=[lambda x: x[0] > 0, lambda x: x[1] > 0, lambda x: x[0] > x[1]])
    >>> own.fit([[1, 2], [2, -1], [-1, 1]], [1, 0, 1]).predict([[-3, 3]]).tolist()
    [1]
    """

    fit_intercept = False
    _predictor_list: tuple[Any, list[Predictor]] | None = None
    """The given class and its predictors: an iterable may be consumed once only."""

    def __init__(
        self,
        *,
        hypotheses: Literal["conjunctions", "disjunctions", "stumps", "intervals"] | Iterable[Predictor] = "stumps",
        size: int = 2,
        low: float = -1.0,
        high: float = 1.0,
        steps: int = 21,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.hypotheses = hypotheses
        self.size = size
        self.low = low
        self.high = high
        self.steps = steps
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_positive_int(size=self.size, steps=self.steps)
        if isinstance(self.hypotheses, str):
            check_choice(tuple(HYPOTHESIS_CLASSES), hypotheses=self.hypotheses)
        elif not isinstance(self.hypotheses, Iterable):
            raise InputError(f"hypotheses must name a class or be a list of predictors, but is {self.hypotheses!r}.")
        check_finite(low=self.low, high=self.high)
        if self.low > self.high:
            raise InputError(f"low must be at most high, but they are {self.low!r} and {self.high!r}.")

    def _spec(self) -> LearnerSpec:
        return LearnerSpec(
            loss=Loss(VOTE_MARGIN),
            build_updater=self._build_updater,
            build_schema=self._build_schema,
            feature_range=BOOLEAN_VALUES if self._is_boolean() else (-np.inf, np.inf),
            fixed_width_reason="its hypotheses are made of them",
            has_weights=False,
            scores_by_weights=False,
            learns_dense_rows=False,
            learns_dense_examples=False,
            learns_dense_columns=False,
            scores_dense_rows=False,
        )

    def _is_boolean(self) -> bool:
        return isinstance(self.hypotheses, str) and self.hypotheses in ("conjunctions", "disjunctions")

    def _own(self) -> list[Predictor] | None:
        """The user's own predictors, where there are any."""
        if isinstance(self.hypotheses, str):
            return None
        if self._predictor_list is None or self._predictor_list[0] is not self.hypotheses:
            self._predictor_list = self.hypotheses, list(self.hypotheses)
        predictors = self._predictor_list[1]
        if not predictors or not all(callable(p) or hasattr(p, "predict") for p in predictors):
            raise InputError("hypotheses must be functions or objects that predict, at least one of them.")
        return predictors

    def _build_schema(self, features: int) -> Schema:
        if not isinstance(self.hypotheses, str):
            raise InputError("A class of your own predictors can't be read from a file: they are Python objects.")
        return version_space_schema(count_hypotheses(self.hypotheses, features, int(self.size), int(self.steps)))

    def _build_updater(self, slots: int, dtype: Any) -> VersionSpace:
        own = self._own()
        if own is not None:  # the votes are the features, one for each hypothesis
            votes = [(((h, 0.0, np.inf),), 1) for h in range(len(own))]
            return build_version_space(max(slots, len(own) + 1), np.float64, votes, boolean=False)
        if slots < 2:
            raise InputError("Halving must know the features in advance (its hypotheses are made of them).")
        count_hypotheses(str(self.hypotheses), slots - 1, int(self.size), int(self.steps))  # before cuts are computed
        cuts = np.linspace(self.low, self.high, int(self.steps)).tolist()
        boxes = list_hypotheses(str(self.hypotheses), slots - 1, int(self.size), cuts)
        return build_version_space(slots, dtype, boxes, boolean=self._is_boolean())

    def _trim_state(self, state: ModelState) -> VersionSpace:
        if self._own() is not None:
            raise InputError("A class of your own predictors can't be written to a file: they are Python objects.")
        return resize_updater(state.updater, state.features + 1)

    @lock_free
    def learn_one(self, x: Any, y: Any) -> Halving:
        """Learn one example. Your own predictors are called with a batch of one."""
        if self._own() is None:
            super().learn_one(x, y)
        elif isinstance(x, np.ndarray):
            self.partial_fit(x[None], [y])
        else:
            raise InputError("Your own predictors take arrays: give x as a 1-D array.")
        return self

    def _run_loop(
        self, state: ModelState, rows: Rows, signs: NDArray[np.int8], weights: NDArray[np.float64], canonical: bool
    ) -> int:
        own = self._own()
        if own is None:
            return super()._run_loop(state, rows, signs, weights, canonical)
        good = _count_valid_rows(state, rows, canonical)
        if good == 0:  # predictors of other libraries refuse tables without rows
            return 0
        votes = _collect_votes(own, slice_rows(rows, 0, good), state.features, state.kind)
        return super()._run_loop(state, votes, signs[:good], weights[:good], True)

    def _build_loop_scorer(self, state: ModelState) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        own = self._own()
        if own is None:
            return super()._build_loop_scorer(state)
        updater = copy_scratch(state.updater)

        def score(rows: Rows, canonical: bool, out: NDArray[np.float64]) -> int:
            good = _count_valid_rows(state, rows, canonical)
            votes = _collect_votes(own, slice_rows(rows, 0, good), state.features, state.kind)
            return score_rows_with_updater(updater, votes, len(own) + 1, True, out[:good])

        return score

    @property
    def size_(self) -> int:
        """|H|: the number of hypotheses in the class."""
        return len(self._require_attribute("size_").updater.version)

    @property
    def hypotheses_left_(self) -> int:
        """The number of hypotheses that no example has contradicted since the last restart."""
        return int(self._require_attribute("hypotheses_left_").updater.scalars[N_LEFT])

    @property
    def restarts_(self) -> int:
        """How often no hypothesis was left and all were restored."""
        return int(self._require_attribute("restarts_").updater.scalars[N_RESTARTS])

    def _min_errors(self, rows: Rows, signs: NDArray[np.int8]) -> int | None:
        state = self._require_fitted()
        own = self._own()
        seen = rows if own is None else _collect_votes(own, rows, state.features, state.kind)
        updater = copy_scratch(state.updater)
        errors = np.zeros(len(updater.version), np.int64)
        count_errors(updater, seen, signs, errors)
        return int(errors.min())

    def describe(self) -> str:
        return f"{self.hypotheses_left_:,} of {self.size_:,} hypotheses are left; {self.restarts_:,} restarts."

    def _hypothesis_class(self) -> tuple[str, dict[str, Any], str]:
        return "consistent", {"hypotheses": self.size_}, f"{self.size_:,} hypotheses"

    def _find_contradiction(self) -> str | None:
        return "every one of its class has erred" if self.restarts_ else None

    def _parts(self) -> int:
        return 2 if self.hypotheses_left_ > 1 else 1

    def bounds(self) -> Sequence[Bound]:
        size = len(self._checked_state().updater.version)

        def bound(e: Evidence) -> float | None:
            errors = e.target.get("errors")
            return None if errors is None else boolean_bounds.halving(hypotheses=size, errors=int(errors))

        return (
            Bound(
                "halving", "mistakes", "M ≤ (e + 1)·log₂|H| + e, e errors of the best hypothesis", bound, by_target=True
            ),
        )


def _count_valid_rows(state: ModelState, rows: Rows, canonical: bool) -> int:
    """Return the number of rows before the first one that is invalid or not canonical."""
    return first_invalid_row(
        rows, count_rows(rows), state.features + 1, max_sq_norm.function(state.updater.weights), canonical
    )


def _collect_votes(predictors: list[Predictor], rows: Rows, features: int, dtype: Any) -> Sparse:
    """Return the vote of each predictor on each row, −1 or +1, as rows of this precision."""
    table = np.zeros((count_rows(rows), features + 1))
    for i in range(len(table)):
        scatter_row(rows, i, table[i])
    examples = table[:, 1:]
    predicted = np.empty((len(table), len(predictors)))
    for h, predictor in enumerate(predictors):
        answers = predictor.predict(examples) if hasattr(predictor, "predict") else [predictor(x) for x in examples]
        try:
            predicted[:, h] = np.where(np.asarray(answers, np.float64) > 0.0, 1.0, -1.0)
        except (TypeError, ValueError):
            raise InputError(
                f"Predictor {h} must return True, False or a number, but returned {answers[0]!r}."
            ) from None
    return remove_zeros(Dense(predicted.ravel().astype(dtype), len(predictors)))
