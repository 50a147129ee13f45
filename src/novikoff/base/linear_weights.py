"""Linear learners: a rule says when the weights move and how far, a geometry how they move."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.online_classifier import TIES
from novikoff.base.row_training import Slotted
from novikoff.base.model_state import State
from novikoff.core import loop
from novikoff.core.updaters.base import ALL_FEATURES, limit, read_weights
from novikoff.data.rows import Rows


class Linear(Slotted):
    """Abstract."""

    shows_weights = True

    @abstractmethod
    def _rule(self) -> Any:
        """The rule, from the settings."""

    def _take(self, state: State, rows: Rows, signs: NDArray[np.int8], weights: NDArray[np.float64], tidy: bool) -> int:
        slots, tie, book = state.features + 1, TIES[self.tie], state.ledger.book
        return loop.learn(self._rule(), state.geometry, rows, signs, weights, slots, tie, book, tidy)

    def _scorer(self, state: State) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        weights, bias, slots = self._hypothesis(state), state.geometry.bias, state.features + 1
        largest = limit.function(state.geometry.slots)
        return lambda rows, tidy, out: loop.scores(weights, rows, bias, slots, largest, tidy, out)

    def _hypothesis(self, state: State) -> NDArray[np.float64]:
        weights = np.empty(state.room + 1)
        read_weights(state.geometry, 1, 1, np.array([state.ledger.examples]), ALL_FEATURES, weights)
        return weights
