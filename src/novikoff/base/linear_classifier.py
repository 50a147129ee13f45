"""Base class of linear learners: the binary loop, and fast paths that learn and predict single examples.

A single example takes a fast path once an example of its type was seen: one call of compiled code, with prepacked
arguments. Every other example (the first, a new label, a new feature, an invalid value) takes a slow path, which
handles everything, raises errors, and refreshes the fast path."""

from __future__ import annotations

import math
from typing import Any, Self

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.class_weights import prepare_class_weights
from novikoff.base.fast_path.learn import FastLearnPath
from novikoff.base.fast_path.predict import FastPredictPath, ScoreFunction
from novikoff.base.model_lock import lock_free
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import TIE_SIGNS, OnlineClassifier
from novikoff.base.raw_rows import encode_example, has_raw_dicts
from novikoff.base.row_checks import check_writeable
from novikoff.base.scoring import LoopScorer, build_updater_scorer, build_weight_scorer, final_weights
from novikoff.base.single_example import (
    build_initial_state,
    build_rejection_error,
    build_row,
    parse_known_terms,
    prepare_array,
    prepare_terms,
)
from novikoff.core import loop
from novikoff.core.updaters.base import write_final_weights
from novikoff.data.rows import Dense, Rows

ndarray: Any = None
"""`numpy.ndarray` as a global name, which is looked up faster; set when the first example is learned."""


class LinearClassifier(OnlineClassifier):
    """A binary learner whose loss says when weights move, and whose updater says how. Abstract."""

    _not_copied = (
        "_fast_path",
        "_array_path",
        "_dict_path",
        "_fast_predict",
        "_score_function",
        "_encoded_score_function",
        "_met",
    )
    _fast_path: FastLearnPath | None = None
    _array_path: Any = None
    """The arguments of the fast path for arrays."""
    _dict_path: Any = None
    """The function of the fast path for dicts and lists of names."""
    _fast_predict: FastPredictPath | None = None
    _score_function: ScoreFunction | None = None
    """The function of the fast path for predicting."""
    _encoded_score_function: ScoreFunction | None = None
    """The function of the fast path for encoded raw rows, for models whose dicts are raw rows."""
    _has_probabilities = True
    _decides_by_score = True
    _met = False
    """Whether an example was predicted since the last batch: the fast path is not built for a single one."""

    # --- The loop ---

    def _run_loop(
        self, state: ModelState, rows: Rows, signs: NDArray[np.int8], weights: NDArray[np.float64], canonical: bool
    ) -> int:
        slots, tie, counters = state.features + 1, TIE_SIGNS[self.tie], state.ledger.book
        return loop.learn(self._spec().loss, state.updater, rows, signs, weights, slots, tie, counters, canonical)

    def _build_loop_scorer(self, state: ModelState) -> LoopScorer:
        if self._spec().scores_by_weights:
            return build_weight_scorer(state, self._hypothesis(state))
        return build_updater_scorer(state)

    def _hypothesis(self, state: ModelState) -> NDArray[np.float64]:
        if not self._spec().has_weights:
            raise AttributeError(f"{type(self).__name__} has no weight vector.")
        return final_weights(state)

    # --- Fast paths ---

    def set_params(self, **params: Any) -> Self:
        self._drop_fast_paths()
        return super().set_params(**params)

    def _set_state(self, state: ModelState) -> None:
        self._drop_fast_paths()
        super()._set_state(state)

    def _drop_fast_paths(self) -> None:
        self._fast_path = self._array_path = self._dict_path = self._fast_predict = self._score_function = (
            self._encoded_score_function
        ) = None
        self._met = False

    def _close_fast_path(self, learns: bool) -> None:
        if self._fast_path is not None:
            self._fast_path.close()
        if learns and self._fast_predict is not None:
            self._fast_predict.close()

    def _open_fast_path(self) -> None:
        state = self._state
        if self._fast_path is not None and state is not None:
            self._fast_path.open(state)
        if self._fast_predict is not None and state is not None:
            self._fast_predict.open(state)

    # --- Learning ---

    @lock_free
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array.

        Features are names (a new one is a new feature) or column numbers. A refused example changes nothing.
        """
        try:
            if type(x) is ndarray:
                step, block, dtype, signs, whole, rest = self._array_path
                if x.dtype is not dtype or x.ndim != 1:
                    taken = loop.NEEDS_SLOW_PATH
                elif whole is None:
                    taken = step(block, None, x, signs[y])
                else:
                    starts, indices = whole
                    taken = step(block, None, starts, indices, x, signs[y])
            else:
                taken = self._dict_path(x, y)
        except (KeyError, TypeError):  # a new label, or no fast path yet
            taken = loop.NEEDS_SLOW_PATH
        if taken < 0:
            if taken == loop.HAS_ZEROS:  # only for arrays
                taken = rest.sparse(block, None, *rest.spare, signs[y])
            if taken < 0:
                self._learn_slow_path(x, y)
        return self

    def _learn_slow_path(self, x: Any, y: Any) -> None:
        """Learn any example, raise errors, and refresh the fast path for more examples of its type."""
        global ndarray  # noqa: PLW0603 - files are learned without NumPy
        ndarray = np.ndarray
        if self._fast_path is not None and self._fast_path.is_abandoned():
            self._drop_fast_paths()
        state = self._state
        if state is None:
            state = build_initial_state(self, x)
        elif state.reading is not None:
            x = encode_example(state, x)
        self._check_settings_unchanged(state)
        check_writeable(state)
        before = state.features, len(state.labels), state.names is not None
        try:
            taken = self._learn_array(state, x, y) if isinstance(x, np.ndarray) else self._learn_terms(state, x, y)
        except BaseException:
            state.forget(*before)
            self._drop_fast_paths()
            raise
        if taken < 0:
            state.forget(*before)
            self._drop_fast_paths()
            raise build_rejection_error(self, state, x)
        self._state = state
        path = self._refresh_fast_learn(state)
        self._array_path = path.build_array_learner()
        self._dict_path = None if has_raw_dicts(state) else path.build_dict_learner()

    def _learn_array(self, state: ModelState, x: NDArray[Any], y: Any) -> int:
        x = prepare_array(self, state, x)
        self._reserve(state, 1, x.size)
        state.feature_sample.reserve(x.size, state.features)
        sign = self._encode_label(state, y)
        return self._refresh_fast_learn(state).learn_array(x, sign)

    def _learn_terms(self, state: ModelState, x: Any, y: Any) -> int:
        columns, values = prepare_terms(self, state, x)
        self._reserve(state, 1, len(columns))
        state.feature_sample.reserve(len(columns), state.features)
        sign = self._encode_label(state, y)
        path = self._refresh_fast_learn(state)
        path.prepare(len(columns))
        return path.learn_terms(columns, values, sign)

    def _encode_label(self, state: ModelState, y: Any) -> float:
        """Return −1 or +1 for a label; a new label becomes known, with its class weight."""
        sign = state.labels.sign(y)
        if self._weighs_classes():
            prepare_class_weights(self, state.ledger, state.labels)
        return sign

    def _refresh_fast_learn(self, state: ModelState) -> FastLearnPath:
        if self._fast_path is None:
            spec = self._spec()
            sparse_only = not spec.learns_dense_examples
            self._fast_path = FastLearnPath(spec.loss, TIE_SIGNS[self.tie], state, sparse_only=sparse_only)
        self._fast_path.refresh(state)
        return self._fast_path

    # --- Predicting ---

    @lock_free
    def score_one(self, x: Any) -> float:
        """Return w·x for one example; unseen features have weight 0."""
        state, score_fast = self._state, self._score_function
        score = None if score_fast is None or state is None else score_fast(state, x)
        if score is None:
            score_fast = self._open_fast_predict()
            score = None if score_fast is None else score_fast(self._require_fitted(), x)
        if score is None or score != score:  # noqa: PLR0124 - NaN: faster than a call
            score = self._score_slow_path(x)
        return score

    def _open_fast_predict(self) -> ScoreFunction | None:
        """Return the fast path for examples with features by name or number; None for models of raw rows."""
        state = self._require_fitted()
        if has_raw_dicts(state):
            return None
        self._score_function = self._build_fast_predict(state)
        return self._score_function

    def _build_fast_predict(self, state: ModelState) -> ScoreFunction | None:
        """Return the fast path for predicting; None for the first example, and if the score is not w·x."""
        spec = self._spec()
        if not spec.scores_by_weights or not self._met:
            return None
        unseen = spec.unseen_weight_in(state)
        if self._fast_predict is None or not self._fast_predict.try_refresh(state, unseen=unseen):
            least, most = spec.feature_range
            self._fast_predict = FastPredictPath(state, unseen=unseen, least=least, most=most)
        return self._fast_predict.scores(state, scale=spec.weight_scale)

    def _score_slow_path(self, x: Any) -> float:
        """Score any example; raise errors."""
        state = self._require_fitted()
        if state.reading is not None:
            raw, x = x, encode_example(state, x)
            score = None if raw is x else self._score_encoded(state, x)
            if score is not None:
                return score
        terms = parse_known_terms(self, state, x)
        self._met = True
        spec = self._spec()
        score = self._score_terms(state, *terms) if spec.scores_by_weights else self._score_row(state, *terms)
        return score * spec.weight_scale

    def _score_encoded(self, state: ModelState, x: Any) -> float | None:
        """Return the score of an encoded raw row by the fast path; None if it needs the slow path."""
        score_fast = self._encoded_score_function or self._score_function
        score = None if score_fast is None else score_fast(state, x)
        if score is None:
            score_fast = self._encoded_score_function = self._build_fast_predict(state)
            score = None if score_fast is None else score_fast(state, x)
        return None if score is None or math.isnan(score) else score

    def _score_terms(self, state: ModelState, columns: NDArray[np.uint32], values: NDArray[np.floating]) -> float:
        """Return w·x of one example: the sum of the batch loop, in its order, with only the weights that x needs."""
        weights, out = buffers.empty(len(columns) + 1), buffers.empty(1)
        seen = columns < state.features
        times = np.array([state.ledger.examples])
        write_final_weights(state.updater, 1, 1, times, np.where(seen, columns, np.uint32(0)), weights)
        weights[1:][~seen] = self._spec().unseen_weight_in(state)
        row = Dense(values, len(values))
        loop.score_rows(weights, row, state.updater.bias, len(weights), math.inf, True, out)
        return float(out[0])

    def _score_row(self, state: ModelState, columns: NDArray[np.uint32], values: NDArray[np.floating]) -> float:
        """Return the score of one example by the scorer of batches, for learners whose score is not w·x."""
        if len(columns) and int(columns.max()) >= state.features:  # one more feature stands for all unseen ones
            columns = np.minimum(columns, np.uint32(state.features))
            state = state.copy()
            state.ensure_capacity(state.features + 1)
        out = buffers.empty(1)
        self._build_loop_scorer(state)(build_row(columns, values), True, out)
        return float(out[0])

    @lock_free
    def predict_one(self, x: Any) -> Any:
        """Return the label of one example, or None before the first example was learned."""
        return None if self._state is None else self._label_for_score(self.score_one(x))

    def _label_for_score(self, score: float) -> Any:
        """Return the label for a score."""
        state = self._require_fitted()
        if state.threshold is not None:
            return state.labels.name(bool(self._is_positive(np.array([score]))[0]))
        return state.labels.name(score > 0.0 or (score == 0.0 and TIE_SIGNS[self.tie] > 0.0))
