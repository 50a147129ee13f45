"""Base class of multiclass models: a table of weights with a column for each class, pair or bit.

A scheme's own file defines how outcomes are computed from columns (core/multiclass/schemes.py), which learners it takes
and which theorems hold; everything else is here. The inner learner provides loss, updater and settings, and is not
changed.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import check_settings, column_bounds_of, inner_learner_of, spec_of
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.model_lock import lock_free
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import OnlineClassifier, SampleWeightMixin
from novikoff.base.probabilities import explain_missing_probabilities, to_class_probabilities
from novikoff.base.raw_rows import encode_example
from novikoff.base.scikit_learn.conditional_method import available_if
from novikoff.base.scoring import copy_scratch
from novikoff.base.single_example import build_row, parse_known_terms
from novikoff.core.multiclass import weight_matrix as table
from novikoff.core.multiclass.decoding import score_and_predict_rows
from novikoff.core.multiclass.loop import N_CLASSES, learn_multiclass
from novikoff.core.multiclass.schemes import COLUMN_COUNTERS_SCHEMA, ColumnCounters, Targets, columns_needed
from novikoff.core.multiclass.weight_matrix import padded_columns
from novikoff.core.updaters import stacked_learners_multiclass  # noqa: F401 - what Auto does with many columns
from novikoff.core.updaters.base import ALL_FEATURES, max_sq_norm, write_final_weights
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.rows import Rows, Sparse
from novikoff.errors import InputError, NovikoffError
from novikoff.memory_limit import UNLIMITED_BYTES, Growth, limit_memory
from novikoff.meta.base import MetaEstimator, check_binary_learner
from novikoff.multiclass.column_bounds import build_column_bounds, encode_column
from novikoff.multiclass.fast_path import MulticlassFastPath
from novikoff.multiclass.state import MulticlassState
from novikoff.schema import EXAMPLES, ArraySpec, InRange, Schema
from novikoff.theory.bound_declaration import Bound

EXTRA_SCHEMA = Schema({"two_class_examples": ArraySpec("int64", 1, checks=[InRange(0, EXAMPLES)], optional=True)})
"""The array that Auto adds to a model file with more than two classes."""


class MulticlassClassifier(MetaEstimator, SampleWeightMixin, OnlineClassifier):
    """An abstract model with a column of weights for each class, pair or bit."""

    _not_copied = ("_fast_path", "_met")
    _label_type = ClassLabels
    _needs_two_classes = False
    _accepts_multiclass = True
    _fast_path: MulticlassFastPath | None = None
    _met = False
    """Whether a single example was learned or predicted before."""
    _has_probabilities = True
    _columns_are_one_vs_rest: ClassVar[bool] = False
    """Whether the score of a class is that of a binary problem: this class or not."""
    _has_single_labels: ClassVar[bool] = False
    """Whether each example has one class and is learned by the shared loop: the fast path needs both."""

    # --- What a scheme's file provides ---

    @abstractmethod
    def _scheme(self, classes: ClassLabels) -> Any:
        """Return the record of the scheme: how outcomes are computed from columns."""

    def _check_learner(self) -> None:
        """Raise InputError if the inner learner does not fit into this scheme."""

    # --- What the inner learner provides ---

    def _check_all(self) -> None:
        check_binary_learner(self.estimator, type(self).__name__)
        check_settings(self._inner_learner)
        self._check_settings()
        self._check_learner()

    def _spec(self) -> LearnerSpec:
        inner = spec_of(self._inner_learner)
        return inner._replace(
            has_weights=True,
            multiclass_support="no",
            learns_dense_rows=inner.learns_dense_columns,
            scores_dense_rows=True,
        )

    def _extra_schemas(self, features: int, present: Collection[str]) -> dict[str, Schema]:
        return {"tally.": COLUMN_COUNTERS_SCHEMA, "more.": EXTRA_SCHEMA}

    def _columns_in_file(self, labels: ClassLabels) -> int:
        return max(1, int(columns_needed(self._scheme(labels), len(labels))))

    def _scheme_info(self) -> dict[str, Any]:
        return {**super()._scheme_info(), "classes": len(self._require_fitted().labels)}

    def _run_facts(self) -> dict[str, Any]:
        state: Any = self._require_fitted()
        facts = {"classes": len(state.labels), "new": state.new, "unmet": state.unmet}
        if self._mistakes_per_column() is None:
            return facts
        return {**facts, "mistakes_of_columns": state.column_counters.mistakes[: self._n_used_columns(state)].tolist()}

    # --- Theorems ---

    def _mistakes_per_column(self) -> tuple[float, str] | None:
        """Return the least number of column mistakes in a mistake, also in words; 0 if it is not known.

        None if columns do not learn separate binary problems.
        """
        return None

    def _inner_column_bounds(self) -> Sequence[Bound]:
        """Return the theorems of the inner learner for each of the columns."""
        state = self._checked_state()
        return column_bounds_of(self._inner_learner, state, variables=state.features + int(self.fit_intercept))

    def _column_sides(self, codes: Any, column: int) -> NDArray[np.int8]:
        """Return the label of each example in the binary problem of a column: −1, 1, or 0 for not learned."""
        state: Any = self._require_fitted()
        return encode_column(self._scheme(state.labels), codes, column, len(state.labels))

    def bounds(self) -> Sequence[Bound]:
        return build_column_bounds(self)

    # --- Files ---

    def _trim_state(self, state: Any) -> Any:
        return state.compact(max(1, self._n_used_columns(state)))[0]

    def _extra_arrays(self, state: Any) -> dict[str, NDArray[Any]]:
        _, tally = state.compact(max(1, self._n_used_columns(state)))
        counted = {f"tally.{name}": array for name, array in tally._asdict().items()}
        return {**super()._extra_arrays(state), **counted}

    def _state_from_file(self, state: ModelState, tensors: dict[str, NDArray[Any]]) -> Any:
        table: Any = MulticlassState(**vars(super()._state_from_file(state, tensors)), stride=1)
        columns = self._columns(table, self._scheme(table.labels))
        table.stride = max(1, columns)
        table.column_counters = ColumnCounters(*(tensors[f"tally.{name}"].copy() for name in ColumnCounters._fields))
        table.labels.declared_count = table.known
        with limit_memory(UNLIMITED_BYTES):  # a file that is there is loaded
            table.ensure_columns(columns)
        return table

    # --- Learning ---

    def _encode_targets(self, codes: Any) -> Any:
        """Return the labels as the loop takes them."""
        return Targets(codes)

    def _build_state(self, features: int, dtype: Any, names: list[str] | None, labels: Any) -> MulticlassState:
        known = FeatureNames(names) if names else None
        self._check_first_size(features, dtype)
        updater = self._spec().build_updater(features + 1, dtype)
        state = MulticlassState(
            updater,
            self._build_ledger(),
            labels,
            features,
            known,
            np.dtype(dtype),
            self._run_settings(),
            feature_sample=self._fresh_sample(dtype),
        )
        self._ensure_columns(state)
        return state

    def _bytes_needed(self, state: Any, growth: Growth) -> int:
        columns = self._columns_after_growth(state, growth)
        stride = state.stride if columns <= state.stride else padded_columns(columns)
        return int(state.table_bytes(max(state.features, growth.features), stride, growth))

    def _columns_after_growth(self, state: Any, growth: Growth) -> int:
        """Return the number of columns with new labels; the present number if the scheme refuses these labels."""
        labels = state.labels
        try:
            if growth.labels:
                labels = labels.copy()
                for label in growth.labels:
                    labels.number(label)
            return int(columns_needed(self._scheme(labels), len(labels)))
        except (NovikoffError, IndexError):
            return int(state.stride)

    def _ensure_columns(self, state: Any) -> Any:
        """Allocate columns for all classes; return the scheme."""
        scheme = self._scheme(state.labels)
        state.ensure_columns(self._columns(state, scheme))
        state.column_counters.counts[N_CLASSES] = max(state.known, state.labels.declared_count)
        return scheme

    def _columns(self, state: MulticlassState, scheme: Any) -> int:
        return int(columns_needed(scheme, len(state.labels)))

    def _run_loop(self, state: Any, rows: Rows, signs: Any, weights: NDArray[np.float64], canonical: bool) -> int:
        return self._run(state, self._ensure_columns(state), rows, signs, weights, canonical)

    def _run(
        self, state: Any, scheme: Any, rows: Rows, signs: Any, weights: NDArray[np.float64], canonical: bool
    ) -> int:
        return learn_multiclass(
            scheme,
            self._spec().loss,
            state.updater,
            rows,
            self._encode_targets(signs),
            len(signs),
            weights,
            state.features + 1,
            state.stride,
            state.column_counters,
            state.scratch(self._scratch_size(state)),
            state.ledger.book,
            canonical,
        )

    def _scratch_size(self, state: Any) -> int:
        """Return the scratch size of the scheme, beside scores and signals."""
        return 2 * max(int(state.stride), len(state.labels)) + 8 + self._spec().scratch_columns * int(state.stride)

    def _restore(self, state: Any, backup: Any) -> None:
        state.stride, state.column_counters = backup.stride, backup.column_counters
        super()._restore(state, backup)

    # --- Predicting ---

    def _score_shape(self, state: Any) -> tuple[int, ...]:
        return (int(state.stride),)

    def _hypothesis(self, state: Any) -> NDArray[np.float64]:
        weights = np.zeros((state.room + 1) * state.stride)
        write_final_weights(
            state.updater, state.stride, self._n_used_columns(state), state.column_counters.times, ALL_FEATURES, weights
        )
        return weights

    def _n_used_columns(self, state: Any) -> int:
        return self._columns(state, self._scheme(state.labels))

    def _build_loop_scorer(self, state: Any) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        if not self._spec().scores_by_weights:
            return self._judge(state)
        weights, bias, slots = self._hypothesis(state), float(state.updater.bias), state.features + 1
        stride, columns, largest = (
            state.stride,
            self._n_used_columns(state),
            max_sq_norm.function(state.updater.weights),
        )

        def score(rows: Rows, canonical: bool, out: NDArray[np.float64]) -> int:
            return table.score_rows_by_column(
                weights, rows, bias, stride, columns, slots, largest, canonical, out.reshape(-1)
            )

        return score

    def _judge(self, state: Any) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        """Return a scorer for learners whose scores are not those of weight vectors."""
        updater, workspace = copy_scratch(state.updater), state.scratch(self._scratch_size(state))
        stride, columns, slots = state.stride, self._n_used_columns(state), state.features + 1

        def score(rows: Rows, canonical: bool, out: NDArray[np.float64]) -> int:
            return table.score_columns_with_updater(
                updater, rows, stride, columns, slots, canonical, workspace, out.reshape(-1)
            )

        return score

    def _class_scores(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the score of each class, and the number of the predicted class, from the scores of columns."""
        state: Any = self._require_fitted()
        known, count = len(state.labels), len(scores)
        out, winners = np.zeros((count, known)), np.zeros(count, np.int64)
        score_and_predict_rows(
            self._scheme(state.labels),
            self._spec().loss,
            np.ascontiguousarray(scores / self._spec().weight_scale).reshape(-1),
            state.stride,
            known,
            np.zeros(self._scratch_size(state)),
            out.reshape(-1),
            winners,
        )
        return out * self._spec().weight_scale, winners

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each class, in the order of classes_; for two classes, one number that is positive for
        the second."""
        shown, _ = self._class_scores(super().decision_function(X))
        return shown[:, 1] - shown[:, 0] if shown.shape[1] == 2 else shown

    def predict(self, X: Any) -> NDArray[Any]:
        return self._decide(super().decision_function(X))

    def _decide(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        _, winners = self._class_scores(scores)
        chosen: NDArray[Any] = self.classes_[winners]
        return chosen

    def _display_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._class_scores(scores)[0]

    def _scores_are_log_odds(self) -> bool:
        one_vs_rest = self._columns_are_one_vs_rest or self._scores_are_log_probabilities()
        return one_vs_rest and self._spec().scores_are_log_odds

    def _scores_are_log_probabilities(self) -> bool:
        spec = spec_of(self._inner_learner)
        return spec.scores_are_log_odds and spec.multiclass_support == "rivals"

    def _to_probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return to_class_probabilities(self, self._class_scores(scores)[0] / self._spec().weight_scale)

    @available_if(explain_missing_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row, in the order of classes_."""
        return self._to_probabilities(OnlineClassifier.decision_function(self, X))

    def _score_example(self, x: Any) -> NDArray[np.float64]:
        return self._score_columns(x)

    def _column_names(self) -> list[str]:
        """Return the names of the columns of weights."""
        return [str(label) for label in self._require_fitted().labels.known()]

    def score_one(self, x: Any) -> dict[Any, float]:
        """Return the score of each class for one example; unseen features have weight 0."""
        columns = self._score_columns(x)
        shown, _ = (self._refresh_fast_path() or self)._class_scores(columns)
        return dict(zip(self._require_fitted().labels.known(), shown[0].tolist(), strict=True))

    def predict_one(self, x: Any) -> Any:
        """Return the label of one example, or None before the first example was learned."""
        if self._state is None:
            return None
        columns = self._score_columns(x)
        fast_path = self._refresh_fast_path()
        if fast_path is None:
            return self._decide(columns)[0].item()
        return fast_path.label_values[int(fast_path._class_scores(columns)[1][0])]

    def _score_columns(self, x: Any) -> NDArray[np.float64]:
        """Return the scores of the columns for one example: the sums of the batch loop in its order, with only the
        weights that it needs."""
        state: Any = self._require_fitted()
        fast_path = self._refresh_fast_path()
        quick = None if fast_path is None else fast_path.columns(x)
        if quick is not None:
            return quick
        if state.reading is not None:
            raw, x = x, encode_example(state, x)
            quick = None if fast_path is None or raw is x else fast_path.columns(x, encoded=True)
            if quick is not None:
                return quick
        columns, values = parse_known_terms(self, state, x)
        self._met = True
        if not self._spec().scores_by_weights:
            judged: NDArray[np.float64] = self._score_rows(build_row(columns, values))
            return judged
        in_use, out = self._n_used_columns(state), np.zeros((1, state.stride))
        weights = np.zeros((len(columns) + 1) * state.stride)
        write_final_weights(state.updater, state.stride, in_use, state.column_counters.times, columns, weights)
        weights.reshape(-1, state.stride)[1:][columns >= state.features] = self._spec().unseen_weight_in(state)
        row = Sparse(np.array([0, len(columns)]), np.arange(len(columns), dtype=np.uint32), values)
        bias, flat = float(state.updater.bias), out.reshape(-1)
        table.score_rows_by_column(weights, row, bias, state.stride, in_use, len(columns) + 1, np.inf, True, flat)
        scores: NDArray[np.float64] = out * self._spec().weight_scale
        return scores

    # --- Fast path for single examples ---

    def _refresh_fast_path(self) -> MulticlassFastPath | None:
        """Return the fast path, from the second example on: building it for a single one would not pay."""
        if not self._met:
            return None
        state = self._require_fitted()
        if self._fast_path is None or not self._fast_path.fresh(self, state):
            self._fast_path = MulticlassFastPath(self, state, self._fast_path)
        return self._fast_path

    @lock_free
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array.

        Features are names (a new one is a new feature) or column numbers. A refused example changes nothing.
        """
        lock = self._model_lock
        with lock.alone:  # as `exclusive_lock`, at less cost: there is no fast path to close
            if lock.readers and threading.get_ident() not in lock.readers:
                lock.wait_for_readers()
            lock.learning = True
            if self._has_single_labels and self._state is not None:
                fast_path = self._refresh_fast_path()
                if fast_path is not None and fast_path.learn(x, y):
                    return self
            super().learn_one(x, y)
            self._met = True
        return self

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
        state: Any = self._require_attribute("coef_")
        weights = self._hypothesis(state).reshape(-1, state.stride)
        used, scale = self._n_used_columns(state), self._spec().weight_scale
        shown: NDArray[np.float64] = weights[: state.features + 1, :used] * scale
        return shown


def check_column_learner(stack: MulticlassClassifier, *, own_time: bool = False) -> None:
    """Raise InputError unless the columns of the inner learner are independent; `own_time` says that columns learn from
    some examples only."""
    inner, mine = inner_learner_of(stack), type(stack).__name__
    if spec_of(inner).multiclass_support != "each" or getattr(inner, "negations", False):
        raise InputError(
            f"{mine} takes learners whose weights depend on nothing but their own examples, such as Perceptron, SGD,"
            f" AROW, Winnow, BalancedWinnow and PNormPerceptron, not {inner!r}."
        )
    if own_time and any(getattr(inner, name, 0.0) > 0.0 for name in ("l1", "l2")):
        raise InputError(
            f"In {mine} each column learns from some examples only, but penalties of {inner!r} follow the time of all:"
            " leave l1 and l2 out, or use OneVsAll."
        )
