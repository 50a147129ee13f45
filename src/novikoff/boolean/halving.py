"""Halving (Barzdin and Freivald 1972; Angluin 1988).

Predict   what the majority of the version space says: of the hypotheses that no example has contradicted
Update    drop every hypothesis that said something else than the label
Bound     M ≤ log₂|H|                  a hypothesis of the class H agrees with every label
          M ≤ (e + 1)·log₂|H| + e      the best one disagrees e times: when none is left, all come back
Source    Angluin, Queries and concept learning, 1988

A mistake means that at least half of those that are left were wrong. It works for every finite class, at a cost of one
question to each hypothesis that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError
from novikoff.boolean.consistent_base import Consistent
from novikoff.base.estimator import finite, one_of, whole
from novikoff.base.state_scoring import own_scratch
from novikoff.base.model_lock import lock_free
from novikoff.base.model_state import State
from novikoff.core.updaters.base import limit, resized
from novikoff.core.loop import first_refused, judge
from novikoff.core.losses import DISAGREEMENT, Loss
from novikoff.core.updaters.version_space import (CLASSES, LEFT, RESTARTS, VersionSpace, class_of, count_errors, count_hypotheses, version_space, version_space_schema)
from novikoff.schema import Schema
from novikoff.data.rows import (Dense, Rows, Sparse, cut, how_many, write_out)
from novikoff.data.canonical_rows import without_zeros
from novikoff.theory import boolean_bounds
from novikoff.theory.bounds import Bound, Evidence

__all__ = ["Halving"]

Predictor = Any
"""A function of one example, an array, or an object whose predict takes a table; True, or above 0, is classes_[1]."""


@final
class Halving(Consistent):
    """Halving: the majority vote of all hypotheses of a finite class that have made no error yet.

    At most log₂|H| mistakes where one of them never errs. `decision_function` gives the votes for classes_[1] less
    those against it, as a share of all.

    Parameters
    ----------
    hypotheses : str | iterable
        The class: conjunctions or disjunctions of up to `size` features that are 0 or 1, stumps (a feature is at least
        a cut, or is not), intervals (a feature is between two cuts); or predictors of your own.
    size : int
        The most features in a conjunction or disjunction.
    low : float
        The lowest cut.
    high : float
        The highest cut.
    steps : int
        How many cuts there are, evenly from low to high.
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

    bias = False
    _listed: tuple[Any, list[Predictor]] | None = None
    """The class that was given, and its predictors: an iterable may be gone through once only."""

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
        whole(size=self.size, steps=self.steps)
        if isinstance(self.hypotheses, str):
            one_of(tuple(CLASSES), hypotheses=self.hypotheses)
        elif not isinstance(self.hypotheses, Iterable):
            raise InputError(f"hypotheses must name a class or be a list of predictors, but is {self.hypotheses!r}.")
        finite(low=self.low, high=self.high)
        if self.low > self.high:
            raise InputError(f"low must be at most high, but they are {self.low!r} and {self.high!r}.")

    def _range(self) -> tuple[float, float]:
        return (1.0, 1.0) if self._is_boolean() else (-np.inf, np.inf)

    def _is_boolean(self) -> bool:
        return isinstance(self.hypotheses, str) and self.hypotheses in ("conjunctions", "disjunctions")

    def _rule(self) -> Loss:
        return Loss(DISAGREEMENT)

    def _needs_all_features(self) -> str | None:
        return "its hypotheses are made of them"

    def _own(self) -> list[Predictor] | None:
        """The user's own predictors, where there are any."""
        if isinstance(self.hypotheses, str):
            return None
        if self._listed is None or self._listed[0] is not self.hypotheses:
            self._listed = self.hypotheses, list(self.hypotheses)
        predictors = self._listed[1]
        if not predictors or not all(callable(p) or hasattr(p, "predict") for p in predictors):
            raise InputError("hypotheses must be functions or objects that predict, at least one of them.")
        return predictors

    def _schema(self, features: int) -> Schema:
        if not isinstance(self.hypotheses, str):
            raise InputError("A class of your own predictors can't be in a file: they are Python objects.")
        return version_space_schema(
            count_hypotheses(self.hypotheses, features, int(self.size), int(self.steps)),
        )

    def _geometry(self, slots: int, kind: Any) -> VersionSpace:
        own = self._own()
        if own is not None:  # the votes are the features; each hypothesis looks at its own
            votes = [(((h, 0.0, np.inf),), 1) for h in range(len(own))]
            return version_space(max(slots, len(own) + 1), np.float64, votes, boolean=False)
        if slots < 2:
            raise InputError("Halving must know the features beforehand (its hypotheses are made of them).")
        count_hypotheses(str(self.hypotheses), slots - 1, int(self.size), int(self.steps))  # before cuts are made
        cuts = np.linspace(self.low, self.high, int(self.steps)).tolist()
        boxes = class_of(str(self.hypotheses), slots - 1, int(self.size), cuts)
        return version_space(slots, kind, boxes, boolean=self._is_boolean())

    def _compact(self, state: State) -> VersionSpace:
        if self._own() is not None:
            raise InputError("A class of your own predictors can't be written to a file: they are Python objects.")
        return resized(state.geometry, state.features + 1)

    @lock_free
    def learn_one(self, x: Any, y: Any) -> Halving:
        """Learns one example, as every learner does; your own predictors are asked through a batch of one."""
        if self._own() is None:
            super().learn_one(x, y)
        elif isinstance(x, np.ndarray):
            self.partial_fit(x[None], [y])
        else:
            raise InputError("Your own predictors take arrays: give x as a 1-D array.")
        return self

    def _take(self, state: State, rows: Rows, signs: NDArray[np.int8], weights: NDArray[np.float64], tidy: bool) -> int:
        own = self._own()
        if own is None:
            return super()._take(state, rows, signs, weights, tidy)
        good = _good(state, rows, tidy)
        votes = _votes(own, cut(rows, 0, good), state.features, state.kind)
        return super()._take(state, votes, signs[:good], weights[:good], True)

    def _scorer(self, state: State) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        own = self._own()
        if own is None:
            return super()._scorer(state)
        geometry = own_scratch(state.geometry)

        def score(rows: Rows, tidy: bool, out: NDArray[np.float64]) -> int:
            good = _good(state, rows, tidy)
            votes = _votes(own, cut(rows, 0, good), state.features, state.kind)
            return judge(geometry, votes, len(own) + 1, True, out[:good])

        return score

    @property
    def size_(self) -> int:
        """|H|, how many hypotheses the class has."""
        return len(self._learned("size_").geometry.version)

    @property
    def hypotheses_left_(self) -> int:
        """How many of them no example has contradicted since all were there."""
        return int(self._learned("hypotheses_left_").geometry.scalars[LEFT])

    @property
    def restarts_(self) -> int:
        """How often none was left, so that all came back."""
        return int(self._learned("restarts_").geometry.scalars[RESTARTS])

    def least_errors(self, rows: Rows, signs: NDArray[np.int8]) -> int | None:
        state = self._fitted()
        own = self._own()
        seen = rows if own is None else _votes(own, rows, state.features, state.kind)
        geometry = own_scratch(state.geometry)
        errors = np.zeros(len(geometry.version), np.int64)
        count_errors(geometry, seen, signs, errors)
        return int(errors.min())

    def describe(self) -> str:
        return f"{self.hypotheses_left_:,} of {self.size_:,} hypotheses are left; {self.restarts_:,} restarts."

    def _class(self) -> tuple[str, dict[str, Any], str]:
        return "consistent", {"hypotheses": self.size_}, f"{self.size_:,} hypotheses"

    def _contradicted(self) -> str | None:
        return "every one of its class has erred" if self.restarts_ else None

    def _parts(self) -> int:
        return 2 if self.hypotheses_left_ > 1 else 1

    def bounds(self) -> Sequence[Bound]:
        size = len(self._run_so_far().geometry.version)

        def bound(e: Evidence) -> float | None:
            errors = e.target.get("errors")
            return None if errors is None else boolean_bounds.halving(hypotheses=size, errors=int(errors))

        return (
            Bound(
                "halving", "mistakes", "M ≤ (e + 1)·log₂|H| + e, e errors of the best hypothesis", bound, by_target=True
            ),
        )


def _good(state: State, rows: Rows, tidy: bool) -> int:
    """How many rows come before one that is to be refused, or brought into order first."""
    return first_refused(rows, how_many(rows), state.features + 1, limit.function(state.geometry.slots), tidy)


def _votes(predictors: list[Predictor], rows: Rows, features: int, kind: Any) -> Sparse:
    """Return the vote of each predictor on each row, −1 or +1, as rows of this precision."""
    table = np.zeros((how_many(rows), features + 1))
    for i in range(len(table)):
        write_out(rows, i, table[i])
    examples = table[:, 1:]
    said = np.empty((len(table), len(predictors)))
    for h, predictor in enumerate(predictors):
        answers = predictor.predict(examples) if hasattr(predictor, "predict") else [predictor(x) for x in examples]
        try:
            said[:, h] = np.where(np.asarray(answers, np.float64) > 0.0, 1.0, -1.0)
        except (TypeError, ValueError):
            raise InputError(f"Predictor {h} must say True or False, or a number, but says {answers[0]!r}.") from None
    return without_zeros(Dense(said.ravel().astype(kind), len(predictors)))
