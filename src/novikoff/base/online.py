"""Learning and predicting one example at a time, from a dict, a list of names or a 1-D array."""

from __future__ import annotations

import math
from typing import Any, Self

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.fast_learn import Lane
from novikoff.base.online_classifier import TIES, check_writeable
from novikoff.base.linear_weights import Linear
from novikoff.base.model_lock import lock_free
from novikoff.base.single_example import (first_state, known_terms, new_array, new_terms, row_of, why_refused)
from novikoff.base.raw_rows import encode_one, has_raw_dicts
from novikoff.base.fast_predict import Score, ScoreLane
from novikoff.base.model_state import State
from novikoff.core import loop
from novikoff.core.updaters.base import read_weights
from novikoff.data.rows import Dense

ndarray: Any = None
"""NumPy's, by a name of its own, by which it is found sooner; set when the first example is learned."""


class OneByOne(Linear):
    """A learner that also takes single examples. Abstract."""

    not_copied = ("_lane", "_arrays", "_dicts", "_score_lane", "_asked", "_asked_encoded", "_met")
    has_fast_path = True
    """Whether `learn_one` uses the lane after the first example."""
    _lane: Lane | None = None
    _arrays: Any = None
    """While there is a lane, its way for arrays."""
    _dicts: Any = None
    """While there is a lane, its way for dicts."""
    _score_lane: ScoreLane | None = None
    _asked: Score | None = None
    """While there is a lane for predicting, its way."""
    _asked_encoded: Score | None = None
    """The same for raw rows that are encoded, of models whose dicts are raw rows."""
    _met = False
    """Whether an example was predicted since the last batch: the lane is not made for one alone."""

    def set_params(self, **params: Any) -> Self:
        self._close_lane()
        return super().set_params(**params)

    def _adopt(self, state: State) -> None:
        self._close_lane()
        super()._adopt(state)

    def _close_lane(self) -> None:
        self._lane = self._arrays = self._dicts = self._score_lane = self._asked = self._asked_encoded = None
        self._met = False

    def _close_fast_path(self, learns: bool) -> None:
        if self._lane is not None:
            self._lane.close()
        if learns and self._score_lane is not None:
            self._score_lane.close()

    def _open_fast_path(self) -> None:
        state = self._state
        if self._lane is not None and state is not None:
            self._lane.open(state)
        if self._score_lane is not None and state is not None:
            self._score_lane.open(state)

    # --- Learning ---

    @lock_free
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learns one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array.

        Features are names (a new one is a new feature) or column numbers. A refused example leaves all as it was.
        """
        try:
            if type(x) is ndarray:
                step, block, kind, signs, whole, rest = self._arrays
                if x.dtype is not kind or x.ndim != 1:
                    taken = loop.UNUSUAL
                elif whole is None:
                    taken = step(block, None, x, signs[y])
                else:
                    starts, indices = whole
                    taken = step(block, None, starts, indices, x, signs[y])
            else:
                taken = self._dicts(x, y)
        except (KeyError, TypeError):  # a new label, or no lane yet
            taken = loop.UNUSUAL
        if taken < 0:
            if taken == loop.ZEROS:  # only for arrays
                taken = rest.sparse(block, None, *rest.spare, signs[y])
            if taken < 0:
                self._learn_unusual(x, y)
        return self

    def _learn_unusual(self, x: Any, y: Any) -> None:
        """The way around: takes everything, says what is wrong, and leaves the lane ready for more of the same."""
        global ndarray  # noqa: PLW0603 - files are learned without NumPy
        ndarray = np.ndarray
        if self._lane is not None and self._lane.is_abandoned():
            self._close_lane()
        state = self._state
        if state is None:
            state = first_state(self, x)
        elif state.reading is not None:
            x = encode_one(state, x)
        self._goes_on(state)
        check_writeable(state)
        before = state.features, len(state.labels), state.names is not None
        try:
            taken = self._learn_array(state, x, y) if isinstance(x, np.ndarray) else self._learn_terms(state, x, y)
        except BaseException:
            state.forget(*before)
            self._close_lane()
            raise
        if taken < 0:
            state.forget(*before)
            self._close_lane()
            raise why_refused(self, state, x)
        self._state = state
        if not self.has_fast_path:
            return
        lane = self._refreshed_lane(state)
        self._arrays = lane.for_arrays()
        self._dicts = None if has_raw_dicts(state) else lane.for_dicts()

    def _learn_array(self, state: State, x: NDArray[Any], y: Any) -> int:
        x = new_array(self, state, x)
        self._reserve(state, 1, x.size)
        state.feature_sample.reserve(x.size, state.features)
        lane = self._refreshed_lane(state)
        return lane.learn_array(x, state.labels.sign(y))

    def _learn_terms(self, state: State, x: Any, y: Any) -> int:
        columns, values = new_terms(self, state, x)
        self._reserve(state, 1, len(columns))
        state.feature_sample.reserve(len(columns), state.features)
        lane = self._refreshed_lane(state)
        lane.prepare(len(columns))
        return lane.learn_terms(columns, values, state.labels.sign(y))

    def _refreshed_lane(self, state: State) -> Lane:
        if self._lane is None:
            sparse_only = self.learns_sparse_only and not self.has_dense_step
            self._lane = Lane(self._rule(), TIES[self.tie], state, sparse_only=sparse_only)
        self._lane.refresh(state)
        return self._lane

    # --- Predicting ---

    @lock_free
    def score_one(self, x: Any) -> float:
        """w·x for one example; features that were never learned weigh nothing."""
        state, asked = self._state, self._asked
        score = None if asked is None or state is None else asked(state, x)
        if score is None:
            asked = self._make_lane_for_scores()
            score = None if asked is None else asked(self._fitted(), x)
        if score is None or score != score:  # noqa: PLR0124 - NaN: quicker to ask so than by a call
            score = self._score_around(x)
        return score * self._scale()

    def _make_lane_for_scores(self) -> Score | None:
        """Return the lane for predicting now, of features by name or number: not of raw rows."""
        state = self._fitted()
        if has_raw_dicts(state):
            return None
        self._asked = self._make_score_lane(state)
        return self._asked

    def _make_score_lane(self, state: State) -> Score | None:
        """The way of the lane for predicting: from the second example on, and only where the weights are the
        hypothesis."""
        if type(self)._score_terms is not OneByOne._score_terms or not self._met:
            return None
        unseen = self._unseen_weight(state)
        if self._score_lane is None or not self._score_lane.refreshed(state, unseen=unseen):
            least, most = self._range()
            self._score_lane = ScoreLane(state, unseen=unseen, least=least, most=most)
        return self._score_lane.scores(state)

    def _score_around(self, x: Any) -> float:
        """The way around: takes everything, and says what is wrong."""
        state = self._fitted()
        if state.reading is not None:
            raw, x = x, encode_one(state, x)
            score = None if raw is x else self._score_encoded(state, x)
            if score is not None:
                return score
        terms = known_terms(self, state, x)
        self._met = True
        return self._score_terms(state, *terms)

    def _score_encoded(self, state: State, x: Any) -> float | None:
        """The score of a raw row that is encoded, by the lane; None where it must go the way around."""
        asked = self._asked_encoded or self._asked
        score = None if asked is None else asked(state, x)
        if score is None:
            asked = self._asked_encoded = self._make_score_lane(state)
            score = None if asked is None else asked(state, x)
        return None if score is None or math.isnan(score) else score

    def _score_terms(self, state: State, columns: NDArray[np.uint32], values: NDArray[np.floating]) -> float:
        """One example's score: the same sum in the same order, with only the weights that it needs."""
        weights, out = buffers.empty(len(columns) + 1), buffers.empty(1)
        seen = columns < state.features
        times = np.array([state.ledger.examples])
        read_weights(state.geometry, 1, 1, times, np.where(seen, columns, np.uint32(0)), weights)
        weights[1:][~seen] = self._unseen_weight(state)
        row = Dense(values, len(values))
        loop.scores(weights, row, state.geometry.bias, len(weights), math.inf, True, out)
        return float(out[0])

    def _score_row(self, state: State, columns: NDArray[np.uint32], values: NDArray[np.floating]) -> float:
        """The same by `_scorer`, for learners whose score is another one."""
        if len(columns) and int(columns.max()) >= state.features:  # one more feature, for all that were never seen
            columns = np.minimum(columns, np.uint32(state.features))
            state = state.copy()
            state.make_room(state.features + 1)
        out = buffers.empty(1)
        self._scorer(state)(row_of(columns, values), True, out)
        return float(out[0])

    @lock_free
    def predict_one(self, x: Any) -> Any:
        """Return the label of one example, or None before the first example was learned."""
        return None if self._state is None else self.label_of(self.score_one(x))

    def label_of(self, score: float) -> Any:
        """The label for a score."""
        return self._fitted().labels.name(score > 0.0 or (score == 0.0 and TIES[self.tie] > 0.0))
