"""Learning and predicting one example at a time, from a dict, a list of names or a 1-D array."""

from __future__ import annotations

import math
from typing import Any, Self

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.fast_learn import FastLearnPath
from novikoff.base.fast_predict import FastPredictPath, ScoreFunction
from novikoff.base.linear_weights import LinearModel
from novikoff.base.model_lock import lock_free
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import TIE_SIGNS, check_writeable
from novikoff.base.raw_rows import encode_example, has_raw_dicts
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
from novikoff.data.rows import Dense

ndarray: Any = None
"""NumPy's, by a name of its own, by which it is found sooner; set when the first example is learned."""


class LinearClassifier(LinearModel):
    """A learner that also takes single examples. Abstract."""

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
    """While there is a lane, its way for arrays."""
    _dict_path: Any = None
    """While there is a lane, its way for dicts."""
    _fast_predict: FastPredictPath | None = None
    _score_function: ScoreFunction | None = None
    """While there is a lane for predicting, its way."""
    _encoded_score_function: ScoreFunction | None = None
    """The same for raw rows that are encoded, of models whose dicts are raw rows."""
    _met = False
    """Whether an example was predicted since the last batch: the lane is not made for one alone."""

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
        """Learns one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array.

        Features are names (a new one is a new feature) or column numbers. A refused example leaves all as it was.
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
        except (KeyError, TypeError):  # a new label, or no lane yet
            taken = loop.NEEDS_SLOW_PATH
        if taken < 0:
            if taken == loop.HAS_ZEROS:  # only for arrays
                taken = rest.sparse(block, None, *rest.spare, signs[y])
            if taken < 0:
                self._learn_slow_path(x, y)
        return self

    def _learn_slow_path(self, x: Any, y: Any) -> None:
        """The way around: takes everything, says what is wrong, and leaves the lane ready for more of the same."""
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
        lane = self._refresh_fast_learn(state)
        self._array_path = lane.build_array_learner()
        self._dict_path = None if has_raw_dicts(state) else lane.build_dict_learner()

    def _learn_array(self, state: ModelState, x: NDArray[Any], y: Any) -> int:
        x = prepare_array(self, state, x)
        self._reserve(state, 1, x.size)
        state.feature_sample.reserve(x.size, state.features)
        lane = self._refresh_fast_learn(state)
        return lane.learn_array(x, state.labels.sign(y))

    def _learn_terms(self, state: ModelState, x: Any, y: Any) -> int:
        columns, values = prepare_terms(self, state, x)
        self._reserve(state, 1, len(columns))
        state.feature_sample.reserve(len(columns), state.features)
        lane = self._refresh_fast_learn(state)
        lane.prepare(len(columns))
        return lane.learn_terms(columns, values, state.labels.sign(y))

    def _refresh_fast_learn(self, state: ModelState) -> FastLearnPath:
        if self._fast_path is None:
            sparse_only = self._learns_sparse_only and not self._has_dense_step
            self._fast_path = FastLearnPath(self._build_loss(), TIE_SIGNS[self.tie], state, sparse_only=sparse_only)
        self._fast_path.refresh(state)
        return self._fast_path

    # --- Predicting ---

    @lock_free
    def score_one(self, x: Any) -> float:
        """w·x for one example; features that were never learned weigh nothing."""
        state, asked = self._state, self._score_function
        score = None if asked is None or state is None else asked(state, x)
        if score is None:
            asked = self._open_fast_predict()
            score = None if asked is None else asked(self._require_fitted(), x)
        if score is None or score != score:  # noqa: PLR0124 - NaN: quicker to ask so than by a call
            score = self._score_slow_path(x)
        return score * self._weight_scale()

    def _open_fast_predict(self) -> ScoreFunction | None:
        """Return the lane for predicting now, of features by name or number: not of raw rows."""
        state = self._require_fitted()
        if has_raw_dicts(state):
            return None
        self._score_function = self._build_fast_predict(state)
        return self._score_function

    def _build_fast_predict(self, state: ModelState) -> ScoreFunction | None:
        """The way of the lane for predicting: from the second example on, and only where the weights are the
        hypothesis."""
        if type(self)._score_terms is not LinearClassifier._score_terms or not self._met:
            return None
        unseen = self._unseen_weight(state)
        if self._fast_predict is None or not self._fast_predict.try_refresh(state, unseen=unseen):
            least, most = self._feature_range()
            self._fast_predict = FastPredictPath(state, unseen=unseen, least=least, most=most)
        return self._fast_predict.scores(state)

    def _score_slow_path(self, x: Any) -> float:
        """The way around: takes everything, and says what is wrong."""
        state = self._require_fitted()
        if state.reading is not None:
            raw, x = x, encode_example(state, x)
            score = None if raw is x else self._score_encoded(state, x)
            if score is not None:
                return score
        terms = parse_known_terms(self, state, x)
        self._met = True
        return self._score_terms(state, *terms)

    def _score_encoded(self, state: ModelState, x: Any) -> float | None:
        """The score of a raw row that is encoded, by the lane; None where it must go the way around."""
        asked = self._encoded_score_function or self._score_function
        score = None if asked is None else asked(state, x)
        if score is None:
            asked = self._encoded_score_function = self._build_fast_predict(state)
            score = None if asked is None else asked(state, x)
        return None if score is None or math.isnan(score) else score

    def _score_terms(self, state: ModelState, columns: NDArray[np.uint32], values: NDArray[np.floating]) -> float:
        """One example's score: the same sum in the same order, with only the weights that it needs."""
        weights, out = buffers.empty(len(columns) + 1), buffers.empty(1)
        seen = columns < state.features
        times = np.array([state.ledger.examples])
        write_final_weights(state.updater, 1, 1, times, np.where(seen, columns, np.uint32(0)), weights)
        weights[1:][~seen] = self._unseen_weight(state)
        row = Dense(values, len(values))
        loop.score_rows(weights, row, state.updater.bias, len(weights), math.inf, True, out)
        return float(out[0])

    def _score_row(self, state: ModelState, columns: NDArray[np.uint32], values: NDArray[np.floating]) -> float:
        """The same by `_scorer`, for learners whose score is another one."""
        if len(columns) and int(columns.max()) >= state.features:  # one more feature, for all that were never seen
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
        """The label for a score."""
        return self._require_fitted().labels.name(score > 0.0 or (score == 0.0 and TIE_SIGNS[self.tie] > 0.0))
