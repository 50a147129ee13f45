"""Learners whose hypothesis is no weight vector: they predict by the score that their geometry gives an example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.online import OneByOne
from novikoff.base.model_state import State
from novikoff.core.loop import judge
from novikoff.data.rows import Rows

G = TypeVar("G", bound=Any)


class Judged(OneByOne):
    """Abstract."""

    shows_weights = False

    def _scorer(self, state: State) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        geometry, slots = own_scratch(state.geometry), state.features + 1
        return lambda rows, tidy, out: judge(geometry, rows, slots, tidy, out)

    _score_terms = OneByOne._score_row

    def _hypothesis(self, state: State) -> NDArray[np.float64]:
        raise AttributeError(f"What {type(self).__name__} has learned is no weight vector.")


def own_scratch(geometry: G) -> G:
    """The geometry with room of its own to write an example out: several threads may predict with one model, and a
    model's arrays may be read-only."""
    rooms = [name for name in ("example", "notes") if hasattr(geometry, name)]
    return geometry._replace(**{name: np.zeros_like(getattr(geometry, name)) for name in rooms})
