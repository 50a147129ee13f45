"""Linear learners: a rule says when the weights move and how far, a geometry how they move."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import TIE_SIGNS
from novikoff.base.row_training import RowLoopClassifier
from novikoff.core import loop
from novikoff.core.updaters.base import ALL_FEATURES, max_sq_norm, write_final_weights
from novikoff.data.rows import Rows


class LinearModel(RowLoopClassifier):
    """Abstract."""

    _has_weights = True

    @abstractmethod
    def _build_loss(self) -> Any:
        """The rule, from the settings."""

    def _run_loop(
        self, state: ModelState, rows: Rows, signs: NDArray[np.int8], weights: NDArray[np.float64], canonical: bool
    ) -> int:
        slots, tie, counters = state.features + 1, TIE_SIGNS[self.tie], state.ledger.book
        return loop.learn(self._build_loss(), state.updater, rows, signs, weights, slots, tie, counters, canonical)

    def _build_loop_scorer(self, state: ModelState) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        weights, bias, slots = self._hypothesis(state), state.updater.bias, state.features + 1
        largest = max_sq_norm.function(state.updater.weights)
        return lambda rows, canonical, out: loop.score_rows(weights, rows, bias, slots, largest, canonical, out)

    def _hypothesis(self, state: ModelState) -> NDArray[np.float64]:
        weights = np.empty(state.room + 1)
        write_final_weights(state.updater, 1, 1, np.array([state.ledger.examples]), ALL_FEATURES, weights)
        return weights
