"""Learners whose hypothesis is no weight vector: they predict by the score that their geometry gives an example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.model_state import ModelState
from novikoff.base.online import LinearClassifier
from novikoff.core.loop import score_rows_with_updater
from novikoff.data.rows import Rows

G = TypeVar("G", bound=Any)


class StateScoredClassifier(LinearClassifier):
    """Abstract."""

    _has_weights = False

    def _build_loop_scorer(self, state: ModelState) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        updater, slots = copy_scratch(state.updater), state.features + 1
        return lambda rows, canonical, out: score_rows_with_updater(updater, rows, slots, canonical, out)

    _score_terms = LinearClassifier._score_row

    def _hypothesis(self, state: ModelState) -> NDArray[np.float64]:
        raise AttributeError(f"What {type(self).__name__} has learned is no weight vector.")


def copy_scratch(updater: G) -> G:
    """The geometry with room of its own to write an example out: several threads may predict with one model, and a
    model's arrays may be read-only."""
    rooms = [name for name in ("example", "notes") if hasattr(updater, name)]
    return updater._replace(**{name: np.zeros_like(getattr(updater, name)) for name in rooms})
