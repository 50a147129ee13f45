"""Learners whose weights stand in slots, one for each feature: rows go through a loop, part by part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.errors import InputError
from novikoff.base.online_classifier import IN_GIVEN_ORDER, Learner, Orders
from novikoff.base.model_state import State
from novikoff.core import loop
from novikoff.core.updaters.base import limit, resized
from novikoff.data import validation
from novikoff.data.shuffle.gather import gather_blocks, gather_codes
from novikoff.data.rows import (Rows, Sparse, cut, how_many, narrowed, width)
from novikoff.data.canonical_rows import each


class Pass(NamedTuple):
    """What a pass over a batch leaves for `FeatureSample`: the number of examples of the run before and after it; and
    where the rows were shuffled, the numbers of the sampled examples and their rows."""

    before: int
    after: int
    times: NDArray[np.int64] | None = None
    chosen: NDArray[np.int64] | None = None


class Slotted(Learner):
    """Abstract."""

    learns_sparse_only = False
    """Whether the loop that learns is compiled for sparse rows only, to which dense ones are converted: for learners
    that are seldom used."""
    has_dense_step = False
    """Whether single examples given as arrays have a step compiled for them although the loop is compiled for sparse
    rows only: for learners whose step for sparse rows takes longer."""
    learns_columns_sparse_only = False
    """Likewise for many columns of weights."""
    scores_sparse_only = False
    """Likewise for the loop that predicts."""

    @abstractmethod
    def _take(self, state: State, rows: Rows, signs: NDArray[np.int8], weights: NDArray[np.float64], tidy: bool) -> int:
        """Learns these rows; returns how many were taken."""

    @abstractmethod
    def _scorer(self, state: State) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        """score(rows, tidy, out) → how many rows were scored."""

    def _score_shape(self, state: State) -> tuple[int, ...]:
        """Of one example's score: a number, by default."""
        return ()

    def _compact(self, state: State) -> Any:
        return resized(state.geometry, state.features + 1)

    # --- Learning ---

    def _learn(
        self, state: State, rows: Rows, signs: Any, weights: NDArray[np.float64], orders: Orders = IN_GIVEN_ORDER
    ) -> int:
        """A batch smaller than the model is looked through first. A larger one is learned at once, and the model put
        back as it was if that fails: copying the model is then cheaper than reading the batch twice."""
        kept = state.copy() if len(rows.values) >= state.geometry.slots.size else None
        if kept is None:
            self._check_rows(state, rows)
        before, first = state.ledger.mistakes, -1
        done = list[Pass]()
        for order in orders:
            start = state.ledger.examples
            taken = self._pass_in_order(state, rows, signs, weights, order)
            done.append(_sampled(state, weights, order, start))
            if taken < len(signs):
                if kept is not None:
                    self._put_back(state, kept)
                    self._check_rows(state, rows)
                else:
                    self._record(state, rows, weights, done)
                row = taken if order is None else int(order[taken])
                raise self._ran_away(row, nothing_stands=kept is not None or state is not self._state)
            first = state.ledger.mistakes - before if first < 0 else first
        self._record(state, rows, weights, done)
        return first

    def _pass_in_order(
        self,
        state: State,
        rows: Rows,
        signs: Any,
        weights: NDArray[np.float64],
        order: NDArray[np.int64] | None,
    ) -> int:
        """Learn all rows once in this order; return how many were taken."""
        if order is None:
            return self._pass(state, rows, signs, weights)
        for part, block in gather_blocks(rows, order):
            chosen = order[part]
            mine = weights[chosen] if len(weights) else weights
            taken = self._pass(state, block, gather_codes(signs, chosen), mine)
            if taken < len(chosen):
                return part.start + taken
        return len(order)

    def _record(self, state: State, rows: Rows, weights: NDArray[np.float64], passes: list[Pass]) -> None:
        """Record the sampled examples of all passes."""
        for before, after, times, chosen in passes:
            if times is None or chosen is None:
                state.feature_sample.record(rows, weights, before, after, state.features)
            else:
                state.feature_sample.record_chosen(rows, chosen, times, state.features)

    def _put_back(self, state: State, kept: State) -> None:
        state.geometry, state.ledger, state.more = kept.geometry, kept.ledger, kept.more
        if state is self._state:
            self._adopt(state)

    def _check_rows(self, state: State, rows: Rows) -> None:
        """InputError where a row is not good."""
        largest, slots = limit.function(state.geometry.slots), state.features + 1

        def take(part: Rows, start: int, tidy: bool) -> int:
            good = loop.first_refused(part, how_many(part), slots, largest, tidy)
            self._check_range(cut(part, 0, good), start)
            return good

        good = each(rows, state.features, take)
        if good < how_many(rows):
            raise InputError(validation.why_refused(rows, good, state.features))

    def _pass(
        self,
        state: State,
        rows: Rows,
        signs: NDArray[np.int8],
        weights: NDArray[np.float64],
        *,
        known: bool = False,
    ) -> int:
        def take(part: Rows, start: int, tidy: bool) -> int:
            stop = start + how_many(part)
            return self._take(state, part, signs[start:stop], weights[start:stop], tidy)

        return each(rows, state.features, take, known=known, sparse_only=self.learns_sparse_only)

    # --- Predicting ---

    def scorer(self, *, known: bool = False) -> Callable[[Rows], NDArray[np.float64]]:
        state, scale = self._fitted(), self._scale()
        score, spare = self._scorer(state), False
        shape = self._score_shape(state)

        def of(rows: Rows) -> NDArray[np.float64]:
            nonlocal state, score, spare
            out = np.zeros((how_many(rows), *shape))  # columns that are not in use stay 0
            if known and self._unseen_weight(state) == 0.0:
                rows = narrowed(rows, state.features)
            elif known and isinstance(rows, Sparse) and width(rows) > state.features:
                if not spare:  # one more feature, for all that were never seen
                    state, spare = state.copy(), True
                    state.make_room(state.features + 1)
                    score = self._scorer(state)
                rows = rows._replace(indices=np.minimum(rows.indices, np.uint32(state.features - 1)))

            def take(part: Rows, start: int, tidy: bool) -> int:
                self._check_range(part, start)
                return score(part, tidy, out[start : start + how_many(part)])

            good = each(rows, state.features, take, known=known, sparse_only=self.scores_sparse_only)
            if good < len(out):
                raise InputError(validation.why_refused(rows, good, state.features))
            return out * scale

        return of


def _sampled(state: State, weights: NDArray[np.float64], order: NDArray[np.int64] | None, before: int) -> Pass:
    """Return what is kept of a pass in this order. The order itself is not: many passes would need much memory."""
    after = state.ledger.examples
    if order is None:
        return Pass(before, after)
    return Pass(before, after, *state.feature_sample.choose(order, weights, before, after))
