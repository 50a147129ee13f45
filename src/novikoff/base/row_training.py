"""Learners whose weights stand in slots, one for each feature: rows go through a loop, part by part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import IN_GIVEN_ORDER, OnlineClassifier, RowOrders
from novikoff.core import loop
from novikoff.core.updaters.base import max_sq_norm, resize_updater
from novikoff.data import validation
from novikoff.data.canonical_rows import for_each_canonical_block
from novikoff.data.rows import Rows, Sparse, count_rows, drop_columns, get_width, slice_rows
from novikoff.data.shuffle.gather import gather_blocks, gather_codes
from novikoff.errors import InputError


class PassRecord(NamedTuple):
    """What a pass over a batch leaves for `FeatureSample`: the number of examples of the run before and after it; and
    where the rows were shuffled, the numbers of the sampled examples and their rows."""

    before: int
    after: int
    times: NDArray[np.int64] | None = None
    chosen: NDArray[np.int64] | None = None


class RowLoopClassifier(OnlineClassifier):
    """Abstract."""

    _learns_sparse_only = False
    """Whether the loop that learns is compiled for sparse rows only, to which dense ones are converted: for learners
    that are seldom used."""
    _has_dense_step = False
    """Whether single examples given as arrays have a step compiled for them although the loop is compiled for sparse
    rows only: for learners whose step for sparse rows takes longer."""
    _learns_columns_sparse_only = False
    """Likewise for many columns of weights."""
    _scores_sparse_only = False
    """Likewise for the loop that predicts."""

    @abstractmethod
    def _run_loop(
        self, state: ModelState, rows: Rows, signs: NDArray[np.int8], weights: NDArray[np.float64], canonical: bool
    ) -> int:
        """Learns these rows; returns how many were taken."""

    @abstractmethod
    def _build_loop_scorer(self, state: ModelState) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        """score(rows, tidy, out) → how many rows were scored."""

    def _score_shape(self, state: ModelState) -> tuple[int, ...]:
        """Of one example's score: a number, by default."""
        return ()

    def _trim_state(self, state: ModelState) -> Any:
        return resize_updater(state.updater, state.features + 1)

    # --- Learning ---

    def _learn(
        self,
        state: ModelState,
        rows: Rows,
        signs: Any,
        weights: NDArray[np.float64],
        orders: RowOrders = IN_GIVEN_ORDER,
    ) -> int:
        """A batch smaller than the model is looked through first. A larger one is learned at once, and the model put
        back as it was if that fails: copying the model is then cheaper than reading the batch twice."""
        backup = state.copy() if len(rows.values) >= state.updater.weights.size else None
        if backup is None:
            self._check_rows(state, rows)
        before, first = state.ledger.mistakes, -1
        done = list[PassRecord]()
        for order in orders:
            start = state.ledger.examples
            taken = self._pass_in_order(state, rows, signs, weights, order)
            done.append(_record_pass(state, weights, order, start))
            if taken < len(signs):
                if backup is not None:
                    self._restore(state, backup)
                    self._check_rows(state, rows)
                else:
                    self._record(state, rows, weights, done)
                row = taken if order is None else int(order[taken])
                raise self._overflow_error(row, nothing_stands=backup is not None or state is not self._state)
            first = state.ledger.mistakes - before if first < 0 else first
        self._record(state, rows, weights, done)
        return first

    def _pass_in_order(
        self,
        state: ModelState,
        rows: Rows,
        signs: Any,
        weights: NDArray[np.float64],
        order: NDArray[np.int64] | None,
    ) -> int:
        """Learn all rows once in this order; return how many were taken."""
        if order is None:
            return self._run_pass(state, rows, signs, weights)
        for part, block in gather_blocks(rows, order):
            chosen = order[part]
            mine = weights[chosen] if len(weights) else weights
            taken = self._run_pass(state, block, gather_codes(signs, chosen), mine)
            if taken < len(chosen):
                return part.start + taken
        return len(order)

    def _record(self, state: ModelState, rows: Rows, weights: NDArray[np.float64], passes: list[PassRecord]) -> None:
        """Record the sampled examples of all passes."""
        for before, after, times, chosen in passes:
            if times is None or chosen is None:
                state.feature_sample.record(rows, weights, before, after, state.features)
            else:
                state.feature_sample.record_chosen(rows, chosen, times, state.features)

    def _restore(self, state: ModelState, backup: ModelState) -> None:
        state.updater, state.ledger, state.more = backup.updater, backup.ledger, backup.more
        if state is self._state:
            self._set_state(state)

    def _check_rows(self, state: ModelState, rows: Rows) -> None:
        """InputError where a row is not good."""
        largest, slots = max_sq_norm.function(state.updater.weights), state.features + 1

        def take(part: Rows, start: int, canonical: bool) -> int:
            good = loop.first_invalid_row(part, count_rows(part), slots, largest, canonical)
            self._check_range(slice_rows(part, 0, good), start)
            return good

        good = for_each_canonical_block(rows, state.features, take)
        if good < count_rows(rows):
            raise InputError(validation.explain_rejection(rows, good, state.features))

    def _run_pass(
        self,
        state: ModelState,
        rows: Rows,
        signs: NDArray[np.int8],
        weights: NDArray[np.float64],
        *,
        known: bool = False,
    ) -> int:
        def take(part: Rows, start: int, canonical: bool) -> int:
            stop = start + count_rows(part)
            return self._run_loop(state, part, signs[start:stop], weights[start:stop], canonical)

        return for_each_canonical_block(rows, state.features, take, known=known, sparse_only=self._learns_sparse_only)

    # --- Predicting ---

    def _build_scorer(self, *, known: bool = False) -> Callable[[Rows], NDArray[np.float64]]:
        state, scale = self._require_fitted(), self._weight_scale()
        score, has_extra_feature = self._build_loop_scorer(state), False
        shape = self._score_shape(state)

        def of(rows: Rows) -> NDArray[np.float64]:
            nonlocal state, score, has_extra_feature
            out = np.zeros((count_rows(rows), *shape))  # columns that are not in use stay 0
            if known and self._unseen_weight(state) == 0.0:
                rows = drop_columns(rows, state.features)
            elif known and isinstance(rows, Sparse) and get_width(rows) > state.features:
                if not has_extra_feature:  # one more feature, for all that were never seen
                    state, has_extra_feature = state.copy(), True
                    state.ensure_capacity(state.features + 1)
                    score = self._build_loop_scorer(state)
                rows = rows._replace(indices=np.minimum(rows.indices, np.uint32(state.features - 1)))

            def take(part: Rows, start: int, canonical: bool) -> int:
                self._check_range(part, start)
                return score(part, canonical, out[start : start + count_rows(part)])

            good = for_each_canonical_block(
                rows, state.features, take, known=known, sparse_only=self._scores_sparse_only
            )
            if good < len(out):
                raise InputError(validation.explain_rejection(rows, good, state.features))
            return out * scale

        return of


def _record_pass(
    state: ModelState, weights: NDArray[np.float64], order: NDArray[np.int64] | None, before: int
) -> PassRecord:
    """Return what is kept of a pass in this order. The order itself is not: many passes would need much memory."""
    after = state.ledger.examples
    if order is None:
        return PassRecord(before, after)
    return PassRecord(before, after, *state.feature_sample.choose(order, weights, before, after))
