"""Fast path that learns and scores single examples of models with several columns of weights.

Like `base/fast_path/learn.py`, but it calls the compiled functions of batches, without the checks around them. Any
other example (a new class, a new feature, an invalid value, a changed setting) takes the slow path, which raises all
errors.
"""

from __future__ import annotations

from array import array
from itertools import repeat
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.base.internals import check_settings_unchanged, inner_learner_of, setting_defaults_of, spec_of
from novikoff.base.raw_rows import has_raw_dicts
from novikoff.core.feature_sample import NEXT, record_row
from novikoff.core.multiclass import weight_matrix as table
from novikoff.core.multiclass.decoding import score_and_predict_rows
from novikoff.core.multiclass.loop import N_CLASSES, learn_multiclass
from novikoff.core.multiclass.schemes import Targets
from novikoff.core.scoring import MAX_ABS_VALUE
from novikoff.core.updaters.base import max_sq_norm, state_arrays, write_final_weights
from novikoff.data.rows import Sparse
from novikoff.data.validation import MAX_INDEX
from novikoff.errors import InputError
from novikoff.ledger import EXAMPLES

UNSEEN_COLUMN = MAX_INDEX - 1  # a column that no feature with a name has
SLOW_PATH_ERRORS = (TypeError, ValueError, OverflowError, KeyError)
UNIT_WEIGHTS = np.zeros(0)


@compiled
def filter_terms(
    indices: NDArray[np.uint32],
    values: NDArray[np.floating],
    features: int,
    unseen: bool,
    least: float,
    most: float,
    largest: float,
) -> int:
    """Remove zeros and, unless they count, unseen features; return the number of remaining terms, −1 if the slow path
    must raise an error."""
    n_kept, sq_norm = 0, 0.0
    for k in range(len(indices)):
        x, column = np.float64(values[k]), int(indices[k])
        if not abs(x) < MAX_ABS_VALUE or column >= MAX_INDEX or (x != 0.0 and (x < least or x > most)):
            return -1
        sq_norm += x * x
        if x != 0.0 and (unseen or column < features):
            indices[n_kept] = indices[k]
            values[n_kept] = values[k]
            n_kept += 1
    return n_kept if sq_norm < 0.5 * largest else -1


class MulticlassFastPath:
    def __init__(self, model: Any, state: Any, old: MulticlassFastPath | None = None) -> None:
        self.estimator, inner, spec = model.estimator, inner_learner_of(model), spec_of(model)
        self.judged = not spec.scores_by_weights
        alike = old is not None and type(old.estimator) is type(self.estimator)
        self.mine: Any = old.mine if old and alike else attrgetter("estimator", *sorted(setting_defaults_of(model)))
        self.theirs: Any = old.theirs if old and alike else attrgetter("tie", *sorted(setting_defaults_of(inner)))
        self.settings, self.inside = self.mine(model), self.theirs(inner)
        as_before = old is not None and old.state is state and old.has_settings_of(model)
        self.settings_unchanged: bool = (
            old.settings_unchanged if old and as_before else has_unchanged_settings(model, state)
        )
        self.scheme, self.rule, self.scale = model._scheme(state.labels), spec.loss, spec.weight_scale
        self.state: Any = state
        self.updater, self.features, self.names = state.updater, state.features, state.names
        self.labels, self.known, self.column_counters = state.labels, len(state.labels), state.column_counters
        self.stride, self.in_use, self.spare = state.stride, model._n_used_columns(state), model._scratch_size(state)
        self.unseen, self.range = spec.unseen_weight_in(state), spec.feature_range
        self.largest, self.bias = max_sq_norm.function(state.updater.weights), float(state.updater.bias)
        self.starts, self.code = np.zeros(2, np.int64), np.zeros(1, np.int64)
        self.wants = Targets(self.code)
        self.room, self.book = state.scratch(self.spare), state.ledger.book
        self.count, self.time = self.book.counts.item, state.feature_sample.moments.clock.item
        self.find_encoded: Any = None if state.names is None else state.names.columns.get
        self.find: Any = _reject_name if has_raw_dicts(state) else self.find_encoded
        self.label_values = np.array(state.labels.known()).tolist()
        """Labels as an array of them returns them."""
        flags = (a.flags.num for a in state_arrays(state.updater).values())
        self.types = type(self.scheme), type(self.rule), type(self.updater), state.kind, *flags
        self.calls: dict[str, Any] = old.calls if old and old.types == self.types else {}

    def fresh(self, model: Any, state: Any) -> bool:
        """Return whether nothing has changed except weights and counts."""
        if not (
            state is self.state
            and state.updater is self.updater
            and state.features == self.features
            and state.names is self.names
            and state.labels is self.labels
            and len(state.labels) == self.known
            and state.column_counters is self.column_counters
            and state.ledger.book is self.book
        ):
            return False
        return self.has_settings_of(model)

    def has_settings_of(self, model: Any) -> bool:
        try:
            same = self.settings == self.mine(model)
            return bool(same and (self.estimator is None or self.inside == self.theirs(self.estimator)))
        except ValueError:  # a setting is an array, and another one than before
            return False

    def _call(self, name: str, function: Any, *args: Any) -> Any:
        """Return a compiled function for the argument types of this model."""
        call = self.calls.get(name)
        if call is None:
            call = self.calls[name] = function.bound(*args)
        return call(*args)

    def _terms(self, x: Any, find: Any, *, seen: bool) -> tuple[NDArray[np.uint32], NDArray[Any]] | None:
        """Return the terms of one example that count; None if it needs the slow path, as new features do if `seen`."""
        try:
            if type(x) is list:
                count, x = len(x), dict.fromkeys(x, 1.0)
                if len(x) != count:
                    return None
            elif type(x) is np.ndarray:
                return self._array_terms(x)
            if type(x) is not dict or not x:
                return None
            numbers = array("I", x if find is None else map(find, x, repeat(UNSEEN_COLUMN)))
            columns = np.frombuffer(numbers, np.uint32)
            values = np.frombuffer(array(self.state.kind.char, x.values()), self.state.kind)
        except SLOW_PATH_ERRORS:
            return None
        if seen and max(numbers) >= self.features:
            return None
        return self._filter_terms(columns, values)

    def _array_terms(self, x: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[Any]] | None:
        """Return the terms that count; None if the slow path must raise an error. Both arrays are used as scratch."""
        if x.dtype != self.state.kind or x.ndim != 1 or x.size != self.features or self.state.reading is not None:
            return None
        columns = x.nonzero()[0].astype(np.uint32)
        return self._filter_terms(columns, x[columns])

    def _filter_terms(
        self, columns: NDArray[np.uint32], values: NDArray[Any]
    ) -> tuple[NDArray[np.uint32], NDArray[Any]] | None:
        """Return the terms that count; None if the slow path must raise an error. Both arrays are used as scratch."""
        args = columns, values, self.features, self.unseen != 0.0, *self.range, self.largest
        n_kept = self._call("usual_terms", filter_terms, *args)
        return None if n_kept < 0 else (columns[:n_kept], values[:n_kept])

    def learn(self, x: Any, y: Any) -> bool:
        """Learn an example; return whether it was learned. Otherwise nothing has changed."""
        if (
            not self.settings_unchanged
            or self.in_use > self.stride
            or self.column_counters.counts[N_CLASSES] < self.labels.declared_count
        ):
            return False
        try:
            code = self.labels.numbers.get(y)
        except TypeError:
            return False
        terms = None if code is None else self._terms(x, self.find, seen=True)
        if terms is None:
            return False
        for buffer in self.room:
            buffer.fill(0.0)
        self.starts[1], self.code[0] = len(terms[0]), code
        row, wants = Sparse(self.starts, *terms), self.wants
        slots = self.features + 1
        args = (
            self.scheme,
            self.rule,
            self.updater,
            row,
            wants,
            1,
            UNIT_WEIGHTS,
            slots,
            self.stride,
            self.column_counters,
        )
        if not self._call("learn_many", learn_multiclass, *args, self.room, self.book, True):
            return False
        if self.count(EXAMPLES) == self.time(NEXT):
            sample = self.state.feature_sample
            sample.reserve(len(terms[0]), self.features)
            self._call("record_row", record_row, sample.moments, row, 0, self.count(EXAMPLES))
        return True

    def columns(self, x: Any, *, encoded: bool = False) -> NDArray[np.float64] | None:
        """Return the scores of the columns for one example, None if it needs the slow path; a raw row may be `encoded`
        already."""
        terms = None if self.judged else self._terms(x, self.find_encoded if encoded else self.find, seen=False)
        if terms is None:
            return None
        columns, values = terms
        count, out = len(columns), np.zeros((1, self.stride))
        weights = np.zeros((count + 1) * self.stride)
        times = self.column_counters.times
        self._call("read", write_final_weights, self.updater, self.stride, self.in_use, times, columns, weights)
        if self.unseen != 0.0:
            weights.reshape(-1, self.stride)[1:][columns >= self.features] = self.unseen
        row, flat = Sparse(np.array([0, count]), np.arange(count, dtype=np.uint32), values), out.reshape(-1)
        args = weights, row, self.bias, self.stride, self.in_use, count + 1, np.inf, True, flat
        self._call("judge", table.score_rows_by_column, *args)
        return out * self.scale

    def _class_scores(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the score of each class and the predicted class, as `MulticlassClassifier._class_scores` does."""
        out, winners = np.zeros((len(scores), self.known)), np.zeros(len(scores), np.int64)
        given = np.ascontiguousarray(scores / self.scale).reshape(-1)
        args = self.scheme, self.rule, given, self.stride, self.known, np.zeros(self.spare), out.reshape(-1), winners
        self._call("weigh", score_and_predict_rows, *args)
        return out * self.scale, winners


def _reject_name(name: str, never: int) -> int:
    """Refuse names of features: the slow path encodes raw rows."""
    raise KeyError(name)


def has_unchanged_settings(model: Any, state: Any) -> bool:
    """Return whether the settings are those with which the run began."""
    try:
        check_settings_unchanged(model, state)
    except InputError:
        return False
    return True
