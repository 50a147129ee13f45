"""A learner around another one, which runs as it does alone: parts and settings are those of the learner inside."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from novikoff.learners.events import OneByOne, one_array
from novikoff.learners.state import State
from novikoff.stream import door
from novikoff.stream.rows import Sparse
from novikoff.wrap.stack import Stack


class Around(Stack, OneByOne):
    """Abstract."""

    tabular = "no"

    @property
    def bias(self) -> bool:  # type: ignore[override]
        return bool(self.inner.bias)

    @property
    def passes(self) -> int:  # type: ignore[override]
        return int(self.inner.passes)

    @property
    def tie(self) -> Any:
        return self.inner.tie

    def _rule(self) -> Any:
        return self.inner._rule()

    def _range(self) -> tuple[float, float]:
        low, high = self.inner._range()
        return float(low), float(high)

    def _needs_all_features(self) -> str | None:
        why: str | None = self.inner._needs_all_features()
        return why

    def _run_settings(self) -> dict[str, Any]:
        mine = {name: value for name, value in self.get_params(deep=False).items() if name != "learner"}
        return {**mine, **self._inner_settings()}

    # --- One example at a time, as a batch of one: its own way of learning sees all of them ---

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learns one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array."""
        state: Any = self._state
        if state is None:
            self._check_all()
            kind = np.float32 if isinstance(x, np.ndarray) and x.dtype == np.float32 else np.float64
            state = self.fresh_state(x.size if isinstance(x, np.ndarray) else 0, kind, None, self._no_labels())
        self._goes_on(state)
        before = state.features, len(state.labels), state.names is not None
        try:
            row = self._row(state, x)
            self._check_values(x, row.values)
            taken = self._pass(state, row, np.array([state.labels.sign(y)], np.int8), np.zeros(0))
        except BaseException:
            state.forget(*before)
            raise
        if taken == 0:
            state.forget(*before)
            raise self._why_refused(state, x)
        self._adopt(state)
        return self

    def _row(self, state: State, x: Any) -> Sparse:
        """One example as a row, with room made for what is new in it."""
        if isinstance(x, np.ndarray):
            values = one_array(x, state.kind)
            if values.size != state.features:
                self._first_width(state, values.size)
            columns = np.arange(values.size, dtype=np.uint32)
        else:
            keys, given = door.one(x)
            columns, values = self._columns(state, keys), door.numeric(given, state.kind)
        return Sparse(np.array([0, len(columns)]), columns, values)

    def _score_terms(self, state: Any, columns: NDArray[np.uint32], values: NDArray[np.floating]) -> float:
        if len(columns) and int(columns.max()) >= state.features:  # one more feature, for all that were never seen
            columns = np.minimum(columns, np.uint32(state.features))
            state = state.copy()
            state.make_room(state.features + 1)
        out = np.empty(1)
        self._scorer(state)(Sparse(np.array([0, len(columns)]), columns, values), True, out)
        return float(out[0])
