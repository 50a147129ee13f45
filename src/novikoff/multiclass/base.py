"""What learners with many outcomes have in common: a table of weights, a column for each class, pair or bit.

A scheme's own file says how outcomes are made of columns (parts/schemes.py), which learners fit into it and which
theorems hold; everything else is here. The learner inside gives rule, geometry and settings, and stays as it is.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Collection
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError, NovikoffError
from novikoff.base.multiclass_labels import Classed
from novikoff.base.state_scoring import Judged, own_scratch
from novikoff.base.model_lock import lock_free
from novikoff.base.single_example import known_terms, row_of
from novikoff.base.raw_rows import encode_one
from novikoff.base.model_state import State
from novikoff.ledger import Ledger
from novikoff.memory_limit import UNLIMITED_BYTES, Growth, limit_memory
from novikoff.core.multiclass import weight_matrix as table
from novikoff.core.updaters import weighted_majority_multiclass  # noqa: F401 - what Auto does with many columns
from novikoff.core.multiclass.weight_matrix import wide_enough
from novikoff.core.multiclass.decoding import weigh_all
from novikoff.core.updaters.base import ALL_FEATURES, limit, read_weights
from novikoff.core.multiclass.loop import KNOWN, learn_many
from novikoff.core.multiclass.schemes import (TALLY_SCHEMA, Tally, Wants, columns_for)
from novikoff.schema import EXAMPLES, Array, Between, Schema
from novikoff.data.labels.class_labels import Classes
from novikoff.data.names.feature_names import Names
from novikoff.data.rows import Rows, Sparse
from novikoff.multiclass.fast_path import OneLane
from novikoff.meta.base import Stack, binary
from novikoff.multiclass.state import Table

MORE_SCHEMA = Schema({"two_class_examples": Array("int64", 1, checks=[Between(0, EXAMPLES)], optional=True)})
"""What Auto adds to a model file of more than two classes."""


class Many(Stack, Classed):
    """Abstract: see the schemes beside this file."""

    not_copied = ("_lane", "_met")
    shows_weights = True
    _lane: OneLane | None = None
    _met = False
    """Whether there was a single example before."""
    _plainly_told: ClassVar[bool] = False
    """Whether examples have one class each and are learned as they come, as the lane has it."""

    # --- What a scheme's file provides ---

    @abstractmethod
    def _scheme(self, classes: Classes) -> Any:
        """How outcomes are made of columns."""

    def _check_learner(self) -> None:
        """Raises InputError where the learner inside does not fit into this scheme."""

    # --- What the learner inside provides ---

    @property
    def bias(self) -> bool:  # type: ignore[override]
        return bool(self.inner.bias)

    @property
    def learns_sparse_only(self) -> bool:  # type: ignore[override]
        return bool(self.inner.learns_sparse_only or self.inner.learns_columns_sparse_only)

    @property
    def passes(self) -> int:  # type: ignore[override]
        return int(self.inner.passes)

    @property
    def shuffle(self) -> bool:  # type: ignore[override]
        return bool(self.inner.shuffle)

    @property
    def random_state(self) -> int:  # type: ignore[override]
        return int(self.inner.random_state)

    def _check_all(self) -> None:
        binary(self.learner, type(self).__name__)
        self.inner._check_all()
        self._check_settings()
        self._check_learner()

    def _rule(self) -> Any:
        return self.inner._rule()

    def _scale(self) -> float:
        return float(self.inner._scale())

    def _range(self) -> tuple[float, float]:
        low, high = self.inner._range()
        return float(low), float(high)

    def _needs_all_features(self) -> str | None:
        why: str | None = self.inner._needs_all_features()
        return why

    def _unseen_weight(self, state: State) -> float:
        return float(self.inner._unseen_weight(state))

    def _schema(self, features: int) -> Schema:
        schema: Schema = self.inner._schema(features)
        return schema

    def _more_schemas(self, features: int, present: Collection[str]) -> dict[str, Schema]:
        return {"tally.": TALLY_SCHEMA, "more.": MORE_SCHEMA}

    def _columns_in_file(self, labels: Classes) -> int:
        return max(1, int(columns_for(self._scheme(labels), len(labels))))

    def _geometry(self, slots: int, kind: Any) -> Any:
        return self.inner._geometry(slots, kind)

    def _run_settings(self) -> dict[str, Any]:
        mine = {name: value for name, value in self.get_params(deep=False).items() if name != "learner"}
        return {**mine, **self._inner_settings()}

    def about_scheme(self) -> dict[str, Any]:
        return {**super().about_scheme(), "classes": len(self._fitted().labels)}

    def observed(self) -> dict[str, Any]:
        state: Any = self._fitted()
        return {"classes": len(state.labels), "new": state.new, "unmet": state.unmet}

    # --- Files ---

    def _compact(self, state: Any) -> Any:
        return state.compact(max(1, self._in_use(state)))[0]

    def _more_arrays(self, state: Any) -> dict[str, NDArray[Any]]:
        _, tally = state.compact(max(1, self._in_use(state)))
        counted = {f"tally.{name}": array for name, array in tally._asdict().items()}
        return {**super()._more_arrays(state), **counted}

    def _completed(self, state: State, tensors: dict[str, NDArray[Any]]) -> Any:
        table: Any = Table(**vars(super()._completed(state, tensors)), across=1)
        columns = self._columns(table, self._scheme(table.labels))
        table.across = max(1, columns)
        table.tally = Tally(*(tensors[f"tally.{name}"].copy() for name in Tally._fields))
        table.labels.told = table.known
        with limit_memory(UNLIMITED_BYTES):  # a file that is there is loaded
            table.make_columns(columns)
        return table

    # --- Learning ---

    def _wants(self, codes: Any) -> Any:
        """Labels as the loop takes them."""
        return Wants(codes)

    def fresh_state(self, features: int, kind: Any, names: list[str] | None, labels: Any) -> Table:
        known = Names(names) if names else None
        self._check_first_size(features, kind)
        geometry = self._geometry(features + 1, kind)
        state = Table(
            geometry,
            Ledger(),
            labels,
            features,
            known,
            np.dtype(kind),
            self._run_settings(),
            feature_sample=self._fresh_sample(kind),
        )
        self._make_columns(state)
        return state

    def _bytes_needed(self, state: Any, growth: Growth) -> int:
        columns = self._columns_after(state, growth)
        across = state.across if columns <= state.across else wide_enough(columns)
        return int(state.bytes_laid_out(max(state.features, growth.features), across, growth))

    def _columns_after(self, state: Any, growth: Growth) -> int:
        """Return the columns with new labels; those of now where the labels are such as the scheme refuses."""
        labels = state.labels
        try:
            if growth.labels:
                labels = labels.copy()
                for label in growth.labels:
                    labels.number(label)
            return int(columns_for(self._scheme(labels), len(labels)))
        except (NovikoffError, IndexError):
            return int(state.across)

    def _make_columns(self, state: Any) -> Any:
        """Room for all classes; returns the scheme."""
        scheme = self._scheme(state.labels)
        state.make_columns(self._columns(state, scheme))
        state.tally.counts[KNOWN] = max(state.known, state.labels.told)
        return scheme

    def _columns(self, state: Table, scheme: Any) -> int:
        return int(columns_for(scheme, len(state.labels)))

    def _take(self, state: Any, rows: Rows, signs: Any, weights: NDArray[np.float64], tidy: bool) -> int:
        return self._run(state, self._make_columns(state), rows, signs, weights, tidy)

    def _run(self, state: Any, scheme: Any, rows: Rows, signs: Any, weights: NDArray[np.float64], tidy: bool) -> int:
        return learn_many(
            scheme,
            self._rule(),
            state.geometry,
            rows,
            self._wants(signs),
            len(signs),
            weights,
            state.features + 1,
            state.across,
            state.tally,
            state.scratch(self._spare(state)),
            state.ledger.book,
            tidy,
        )

    def _spare(self, state: Any) -> int:
        """How many numbers the scheme needs room for, beside scores and signals."""
        return 2 * max(int(state.across), len(state.labels)) + 8 + self.inner.spare_columns * int(state.across)

    def _put_back(self, state: Any, kept: Any) -> None:
        state.across, state.tally = kept.across, kept.tally
        super()._put_back(state, kept)

    # --- Predicting ---

    def _score_shape(self, state: Any) -> tuple[int, ...]:
        return (int(state.across),)

    def _hypothesis(self, state: Any) -> NDArray[np.float64]:
        weights = np.zeros((state.room + 1) * state.across)
        read_weights(state.geometry, state.across, self._in_use(state), state.tally.times, ALL_FEATURES, weights)
        return weights

    def _in_use(self, state: Any) -> int:
        return self._columns(state, self._scheme(state.labels))

    def _scorer(self, state: Any) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        if isinstance(self.inner, Judged):
            return self._judge(state)
        weights, bias, slots = self._hypothesis(state), float(state.geometry.bias), state.features + 1
        across, columns, largest = state.across, self._in_use(state), limit.function(state.geometry.slots)

        def score(rows: Rows, tidy: bool, out: NDArray[np.float64]) -> int:
            return table.judge_columns(weights, rows, bias, across, columns, slots, largest, tidy, out.reshape(-1))

        return score

    def _judge(self, state: Any) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        """Where the scores are not those of weight vectors."""
        geometry, room = own_scratch(state.geometry), state.scratch(self._spare(state))
        across, columns, slots = state.across, self._in_use(state), state.features + 1

        def score(rows: Rows, tidy: bool, out: NDArray[np.float64]) -> int:
            return table.judge_all(geometry, rows, across, columns, slots, tidy, room, out.reshape(-1))

        return score

    def weighed(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """From the scores of columns to what speaks for each class, and the number of the class that is predicted."""
        state: Any = self._fitted()
        known, count = len(state.labels), len(scores)
        out, winners = np.zeros((count, known)), np.zeros(count, np.int64)
        weigh_all(
            self._scheme(state.labels),
            self._rule(),
            np.ascontiguousarray(scores / self._scale()).reshape(-1),
            state.across,
            known,
            np.zeros(self._spare(state)),
            out.reshape(-1),
            winners,
        )
        return out * self._scale(), winners

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """What speaks for each class, in the order of classes_; for two classes, for the second against the first."""
        shown, _ = self.weighed(super().decision_function(X))
        return shown[:, 1] - shown[:, 0] if shown.shape[1] == 2 else shown

    def predict(self, X: Any) -> NDArray[Any]:
        return self.choose(super().decision_function(X))

    def choose(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        _, winners = self.weighed(scores)
        chosen: NDArray[Any] = self.classes_[winners]
        return chosen

    def shown_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.weighed(scores)[0]

    def column_names(self) -> list[str]:
        """What each column of weights stands for."""
        return [str(label) for label in self._fitted().labels.known()]

    def score_one(self, x: Any) -> dict[Any, float]:
        """What speaks for each class; features that were never learned weigh nothing."""
        columns = self._columns_of_one(x)
        shown, _ = (self._fresh_lane() or self).weighed(columns)
        return dict(zip(self._fitted().labels.known(), shown[0].tolist(), strict=True))

    def predict_one(self, x: Any) -> Any:
        """Return the label of one example, or None before the first example was learned."""
        if self._state is None:
            return None
        columns = self._columns_of_one(x)
        lane = self._fresh_lane()
        if lane is None:
            return self.choose(columns)[0].item()
        return lane.of_label[int(lane.weighed(columns)[1][0])]

    def _columns_of_one(self, x: Any) -> NDArray[np.float64]:
        """The columns' scores for one example: the same sums in the same order, with only the weights that it needs."""
        state: Any = self._fitted()
        lane = self._fresh_lane()
        quick = None if lane is None else lane.columns(x)
        if quick is not None:
            return quick
        if state.reading is not None:
            raw, x = x, encode_one(state, x)
            quick = None if lane is None or raw is x else lane.columns(x, encoded=True)
            if quick is not None:
                return quick
        columns, values = known_terms(self, state, x)
        self._met = True
        if isinstance(self.inner, Judged):
            judged: NDArray[np.float64] = self.score_rows(row_of(columns, values))
            return judged
        in_use, out = self._in_use(state), np.zeros((1, state.across))
        weights = np.zeros((len(columns) + 1) * state.across)
        read_weights(state.geometry, state.across, in_use, state.tally.times, columns, weights)
        weights.reshape(-1, state.across)[1:][columns >= state.features] = self._unseen_weight(state)
        row = Sparse(np.array([0, len(columns)]), np.arange(len(columns), dtype=np.uint32), values)
        bias, flat = float(state.geometry.bias), out.reshape(-1)
        table.judge_columns(weights, row, bias, state.across, in_use, len(columns) + 1, np.inf, True, flat)
        scores: NDArray[np.float64] = out * self._scale()
        return scores

    # --- The lane for single examples ---

    def _fresh_lane(self) -> OneLane | None:
        """From the second example on: it would not be worth its while for one."""
        if not self._met:
            return None
        state = self._fitted()
        if self._lane is None or not self._lane.fresh(self, state):
            self._lane = OneLane(self, state, self._lane)
        return self._lane

    @lock_free
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learns one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array.

        Features are names (a new one is a new feature) or column numbers. A refused example leaves all as it was.
        """
        lock = self._model_lock
        with lock.alone:  # as `hold_alone` does, at less cost: there is no fast path to close
            if lock.readers and threading.get_ident() not in lock.readers:
                lock.wait_for_readers()
            lock.learning = True
            if self._plainly_told and self._state is not None:
                lane = self._fresh_lane()
                if lane is not None and lane.learn(x, y):
                    return self
            super().learn_one(x, y)
            self._met = True
        return self

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        ways = (cls._take is Many._take, cls._wants is Many._wants, cls._told_one is Many._told_one)
        cls._plainly_told = all(ways)

    # --- What was learned ---

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights, a row of n_features_in_ numbers for each column."""
        return np.ascontiguousarray(self._weights()[1:].T)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The weights of the bias feature."""
        constants: NDArray[np.float64] = self._weights()[0].copy()
        return constants

    def _weights(self) -> NDArray[np.float64]:
        state: Any = self._learned("coef_")
        weights = self._hypothesis(state).reshape(-1, state.across)
        shown: NDArray[np.float64] = weights[: state.features + 1, : self._in_use(state)] * self._scale()
        return shown


def takes_columns(stack: Many, *, own_time: bool = False) -> None:
    """Raises InputError where the learner inside is not one whose columns of weights each stand for themselves;
    `own_time` says that columns learn from some examples only."""
    inner, mine = stack.inner, type(stack).__name__
    if inner.tabular != "each" or getattr(inner, "negations", False):
        raise InputError(
            f"{mine} takes learners whose weights depend on nothing but their own examples, such as Perceptron, SGD,"
            f" AROW, Winnow, BalancedWinnow and PNormPerceptron, but {inner!r} came."
        )
    if own_time and any(getattr(inner, name, 0.0) > 0.0 for name in ("l1", "l2")):
        raise InputError(
            f"In {mine} each column learns from some examples only, and penalties of {inner!r} follow the time of all:"
            " leave l1 and l2 out, or use OneVsAll."
        )
