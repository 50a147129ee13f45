"""Learners whose hypothesis is no weight vector: they predict by the score that their geometry gives an example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from novikoff.learners.events import OneByOne
from novikoff.learners.state import State
from novikoff.parts.loop import judge
from novikoff.stream.rows import Rows, Sparse

G = TypeVar("G", bound=Any)


class Judged(OneByOne):
    """Abstract."""

    def _scorer(self, state: State) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        geometry, slots = own_scratch(state.geometry), state.features + 1
        return lambda rows, tidy, out: judge(geometry, rows, slots, tidy, out)

    def _score_terms(self, state: State, columns: NDArray[np.uint32], values: NDArray[np.floating]) -> float:
        if len(columns) and int(columns.max()) >= state.features:  # one more feature, for all that were never seen
            columns = np.minimum(columns, np.uint32(state.features))
            state = state.copy()
            state.make_room(state.features + 1)
        out = np.empty(1)
        self._scorer(state)(Sparse(np.array([0, len(columns)]), columns, values), True, out)
        return float(out[0])

    def _hypothesis(self, state: State) -> NDArray[np.float64]:
        raise AttributeError(f"What {type(self).__name__} has learned is no weight vector.")


def own_scratch(geometry: G) -> G:
    """The geometry with room of its own to write an example out: several threads may predict with one model, and a
    model's arrays may be read-only."""
    return geometry._replace(example=np.zeros(len(geometry.example))) if hasattr(geometry, "example") else geometry
