"""Checks of rows against a model: ranges of features, overflowing weights, arrays that can't be changed."""

from __future__ import annotations

import math
from typing import Any

from novikoff.base.model_state import ModelState
from novikoff.core import loop
from novikoff.core.updaters.base import first_out_of_range, max_sq_norm
from novikoff.data import validation
from novikoff.data.canonical_rows import for_each_canonical_block
from novikoff.data.rows import Rows, count_rows, slice_rows
from novikoff.errors import FeatureRangeError, InputError, WeightOverflowError


def check_valid_rows(model: Any, state: ModelState, rows: Rows) -> None:
    """Raise InputError at the first row that can't be learned."""
    largest, slots = max_sq_norm.function(state.updater.weights), state.features + 1

    def take(part: Rows, start: int, canonical: bool) -> int:
        good = loop.first_invalid_row(part, count_rows(part), slots, largest, canonical)
        check_range(model, slice_rows(part, 0, good), start)
        return good

    good = for_each_canonical_block(rows, state.features, take)
    if good < count_rows(rows):
        raise InputError(validation.explain_rejection(rows, good, state.features))


def check_range(model: Any, rows: Rows, start: int = 0) -> None:
    """Raise FeatureRangeError if a value is outside the learner's range; `start` is the number of the first row."""
    least, most = model._spec().feature_range
    if least == -math.inf:
        return
    bad = first_out_of_range(rows, count_rows(rows), least, most)
    if bad < count_rows(rows):
        column, value = validation.find_out_of_range(rows, bad, least, most)
        raise build_range_error(model, f"row {start + bad}, column {column}", value, start + bad)


def build_range_error(model: Any, where: str, value: float, row: int = 0) -> FeatureRangeError:
    """Return the error for a value outside the learner's range."""
    least, most = model._spec().feature_range
    takes = f"numbers from {least:g} to {most:g}"
    advice = "scale the features, for example with scikit-learn's MinMaxScaler"
    if least == most:
        takes, advice = "features that are 0 or 1", "make features of the others, such as 'size>3': 1"
    return FeatureRangeError(f"{type(model).__name__} takes {takes}, but {where} has {value}: {advice}.", row)


def build_stop_error(model: Any, state: ModelState, rows: Rows, row: int) -> Exception:
    """Return the error for the row at which the loop stopped, in a batch that a reader has checked."""
    stopped, feature_range = slice_rows(rows, row, row + 1), model._spec().feature_range
    if first_out_of_range(stopped, 1, *feature_range) == 0:
        column, value = validation.find_out_of_range(stopped, 0, *feature_range)
        known = None if state.names is None else list(state.names.columns)
        name = f"column {column}" if known is None else f"feature {known[column]!r}"
        return build_range_error(model, name, value, row)
    return build_overflow_error(row, nothing_stands=False)


def build_overflow_error(row: int, *, nothing_stands: bool) -> WeightOverflowError:
    """Return the error for weights that grew out of range; `nothing_stands` says that the whole batch was undone."""
    stands = "nothing of this batch was learned" if nothing_stands else "what was learned up to there stands"
    return WeightOverflowError(
        f"The weights grew out of range before row {row}; {stands}. Scale the features, lower the learning rate, or"
        " choose a schedule whose steps shrink."
    )


def check_writeable(state: ModelState) -> None:
    """Raise InputError for a model whose arrays can't be changed."""
    flags = getattr(getattr(state.updater, "weights", None), "flags", None)
    if flags is not None and not flags.writeable:
        raise InputError(
            "The arrays of this model are read-only, so it can predict but not learn: load it without mmap_mode."
        )
