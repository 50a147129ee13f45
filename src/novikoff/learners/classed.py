"""Learners with any number of classes: labels are numbers from 0 on, and a new one is welcome at any time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from novikoff.errors import InputError, OverflowRefused
from novikoff.learners.events import one_array
from novikoff.learners.slotted import Slotted
from novikoff.parts.geometry import limit
from novikoff.stream import door
from novikoff.stream.classes import Classes
from novikoff.stream.labels import distinct
from novikoff.stream.names import Names, numbers
from novikoff.stream.rows import Sparse


class Classed(Slotted):
    """Abstract."""

    two_classes = False
    multi_class = True

    # --- Labels ---

    def _no_labels(self) -> Classes:
        return Classes()

    def _told(self, y: Any, examples: int, known: Classes | None = None) -> tuple[Any, Classes]:
        y = door.label_array(y, examples)
        return (Classes(distinct(y)) if known is None else known).coded(y)

    def _labels_from(self, listed: list[Any], *, rest: bool) -> Classes:
        return Classes(listed)

    def label_reader(self, labels: Any, left_out: Any) -> Any:
        from novikoff.stream.sides import Numbers

        return Numbers(labels, leave_out=left_out)

    # --- Learning ---

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forgets what was learned, then learns (X, y) row by row, `passes` times."""
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learns these rows once, going on from before. A class that was never seen is welcome at any time; `classes`
        names some beforehand."""
        return self._partial_fit(X, y, classes, sample_weight)

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learns one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array.

        Features are names (a new one is a new feature) or column numbers. A refused example leaves all as it was.
        """
        state: Any = self._state
        if state is None:
            self._check_all()
            kind = np.float32 if isinstance(x, np.ndarray) and x.dtype == np.float32 else np.float64
            labels: Any = self._no_labels()
            state = self.fresh_state(x.size if isinstance(x, np.ndarray) else 0, kind, None, labels)
        self._goes_on(state)
        before = state.features, len(state.labels), state.names is not None
        try:
            row = self._row(state, x)
            codes, state.labels = self._told_one(y, state.labels)
            self._check_one(x, row.values)
            taken = self._pass(state, row, codes, np.zeros(0))
        except BaseException:
            state.forget(*before)
            raise
        if taken == 0:
            state.forget(*before)
            raise self._why_refused(state, row)
        self._adopt(state)
        return self

    def _told_one(self, y: Any, known: Any) -> tuple[Any, Any]:
        known = known.copy()
        return np.array([known.number(y)]), known

    def _row(self, state: Any, x: Any) -> Sparse:
        """One example as a row, with room made for what is new in it."""
        if isinstance(x, np.ndarray):
            values = one_array(x, state.kind)
            if state.features == 0:
                self._make_room(state, values.size)
            if values.size != state.features:
                raise InputError(
                    f"x has {values.size} features, but {type(self).__name__} is expecting {state.features} features"
                    " as input."
                )
            return Sparse(np.array([0, values.size]), np.arange(values.size, dtype=np.uint32), values)
        keys, given = door.one(x)
        if state.names is None and state.features == 0 and keys and isinstance(keys[0], str):
            state.names = Names()
        columns = numbers(keys) if state.names is None else state.names.add(keys)
        most = int(columns.max(initial=0)) + 1 if len(columns) else 0
        if most > state.features:
            self._make_room(state, most)
        return Sparse(np.array([0, len(columns)]), columns, door.numeric(given, state.kind))

    def _check_one(self, x: Any, values: NDArray[Any]) -> None:
        """RangeRefused where a value of one example is not in the learner's range."""
        least, most = self._range()
        outside = (values != 0.0) & ((values < least) | (values > most))
        if outside.any():
            at = int(outside.argmax())
            keys = range(len(x)) if isinstance(x, np.ndarray) else door.one(x).keys
            raise self._out_of_range(f"feature {keys[at]!r}", float(values[at]))

    def _why_refused(self, state: Any, row: Sparse) -> Exception:
        if too_large(state, row.values):
            return InputError("x contains NaN, infinity or a value too large to square: nothing was learned from it.")
        return OverflowRefused("The weights grew out of range: scale the features, or lower the rate.")

    # --- Predicting ---

    def spelled(self, label: Any) -> str:
        return str(label)

    def _known_terms(self, state: Any, x: Any) -> tuple[NDArray[np.uint32], NDArray[Any]]:
        """Columns and values of what counts of one example; features that weigh nothing are left out."""
        if isinstance(x, np.ndarray):
            values, columns = one_array(x, state.kind), np.arange(x.size, dtype=np.uint32)
            if values.size != state.features:
                raise InputError(
                    f"x has {values.size} features, but {type(self).__name__} is expecting {state.features}."
                )
        else:
            keys, given = door.one(x)
            columns = numbers(keys) if state.names is None else state.names.find(keys)
            values = door.numeric(given, state.kind)
        self._check_one(x, values)
        if too_large(state, values):
            raise InputError("x contains NaN, infinity or a value too large to square: there is nothing to predict.")
        counts = values != 0.0
        if self._unseen_weight(state) == 0.0:
            counts &= columns < state.features
        return columns[counts], np.ascontiguousarray(values[counts])


def too_large(state: Any, values: NDArray[Any]) -> bool:
    """Whether the values of one example are such as would be refused; those without slots count too."""
    with np.errstate(over="ignore"):
        square = np.square(values.astype(np.float64)).sum()
    return not square < limit.function(state.geometry.slots)
