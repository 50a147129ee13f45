"""Single examples as rows: conversion of dicts, names and 1-D arrays, and their errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.raw_rows import encode_example
from novikoff.base.row_checks import build_range_error
from novikoff.core.updaters.base import max_sq_norm
from novikoff.data import validation
from novikoff.data.names.feature_names import FeatureNames, check_column_numbers
from novikoff.data.rows import Dense, Rows, Sparse
from novikoff.errors import FeatureRangeError, InputError, WeightOverflowError

TOO_LARGE_MESSAGE = "x contains NaN, infinity or a value too large to square: "


def convert_array(x: NDArray[Any], dtype: Any) -> NDArray[Any]:
    if x.ndim != 1:
        raise InputError(f"One example must be a 1-D array, but has {x.ndim} dimensions: use partial_fit for batches.")
    values = np.ascontiguousarray(validation.to_numeric_array(x, dtype))
    # An array of one number counts as contiguous with any stride.
    return validation.as_writable(values if values.strides == (values.itemsize,) else np.array(values, order="C"))


def build_row(columns: NDArray[np.uint32], values: NDArray[Any]) -> Sparse:
    return Sparse(np.array([0, len(columns)]), columns, values)


# --- Learning ---


def build_initial_state(model: Any, x: Any) -> Any:
    """Return an empty state that fits the first example x."""
    model._check_all()
    if isinstance(x, np.ndarray):
        return model._build_state(
            x.size, np.float32 if x.dtype == np.float32 else np.float64, None, model._empty_labels()
        )
    return model._build_state(0, np.float64, None, model._empty_labels())


def prepare_array(model: Any, state: Any, x: NDArray[Any]) -> NDArray[Any]:
    """Return the values of all features; the first array determines their number."""
    values = convert_array(x, state.kind)
    if state.features == 0:
        model._ensure_capacity(state, values.size)
    return _check_width(model, state, values)


def prepare_terms(model: Any, state: Any, x: Any) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Return columns and values, with weights allocated for new features."""
    keys, given = validation.validate_example(x)
    return _resolve_columns(model, state, keys), validation.to_numeric_array(given, state.kind)


def _resolve_columns(model: Any, state: Any, keys: Sequence[Any]) -> NDArray[np.uint32]:
    if state.names is None and state.features == 0 and keys and isinstance(keys[0], str):
        state.names = FeatureNames()
    columns = check_column_numbers(keys) if state.names is None else state.names.add(keys)
    needed = int(columns.max()) + 1 if len(columns) else 0
    if needed > state.features:
        model._ensure_capacity(state, needed)
    return columns


def _check_width(model: Any, state: Any, values: NDArray[Any]) -> NDArray[Any]:
    if values.size != state.features:
        raise InputError(
            f"x has {values.size} features, but {type(model).__name__} is expecting {state.features} features as input."
        )
    return values


def learn_as_batch(model: Any, x: Any, y: Any, weight: float | None = None) -> None:
    """Learn one example as a batch of one, with a weight where one is given. A refused example changes nothing."""
    weights = np.zeros(0) if weight is None else np.array([weight])
    x = encode_example(model._state, x)
    state = build_initial_state(model, x) if model._state is None else model._state
    model._check_settings_unchanged(state)
    before, known = (state.features, len(state.labels), state.names is not None), state.labels
    try:
        row: Rows
        if isinstance(x, np.ndarray):
            row = Dense(prepare_array(model, state, x), x.size)
        else:
            row = build_row(*prepare_terms(model, state, x))
        codes, state.labels = known.encode_one(y)
        check_value_range(model, x, row.values)
        examples = state.ledger.examples
        if model._run_pass(state, row, codes, weights) == 0:
            raise build_rejection_error(model, state, x)
        state.feature_sample.record(row, weights, examples, state.ledger.examples, state.features)
    except BaseException:
        state.labels = known
        state.forget(*before)
        raise
    model._set_state(state)


def build_rejection_error(model: Any, state: Any, x: Any) -> Exception:
    values = x if isinstance(x, np.ndarray) else validation.validate_example(x).values
    try:
        check_value_range(model, x, values)
    except FeatureRangeError as problem:
        return problem
    if _is_too_large(state, values):
        return InputError(TOO_LARGE_MESSAGE + "nothing was learned from it.")
    return WeightOverflowError("The weights grew out of range: scale the features, or lower the learning rate.")


# --- Predicting ---


def parse_terms(model: Any, state: Any, x: Any) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Return columns and values, including zeros and unseen features."""
    only_empty = (
        state.names is None and state.features == 0
    )  # before the first example it is open how features are named
    if isinstance(x, np.ndarray):
        values = convert_array(x, state.kind)
        values = values if only_empty else _check_width(model, state, values)
        return np.arange(values.size, dtype=np.uint32), values
    keys, given = validation.validate_example(x)
    names = FeatureNames() if only_empty and keys and isinstance(keys[0], str) else state.names
    return check_column_numbers(keys) if names is None else names.find(keys), validation.to_numeric_array(
        given, state.kind
    )


def parse_known_terms(model: Any, state: Any, x: Any) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Return columns and values without unseen features of weight 0."""
    columns, values = parse_terms(model, state, x)
    check_value_range(model, x, values)
    if _is_too_large(state, values):
        raise InputError(TOO_LARGE_MESSAGE + "there is nothing to predict.")
    counts = values != 0.0
    if model._spec().unseen_weight_in(state) == 0.0:
        counts &= columns < state.features
    return columns[counts], values[counts]


# --- Both ---


def check_value_range(model: Any, x: Any, values: NDArray[Any]) -> None:
    """Raise FeatureRangeError if a value is outside the learner's range."""
    least, most = model._spec().feature_range
    outside = (values != 0.0) & ((values < least) | (values > most))
    if outside.any():
        position = int(outside.argmax())
        keys = range(len(x)) if isinstance(x, np.ndarray) else validation.validate_example(x).keys
        raise build_range_error(model, f"feature {keys[position]!r}", float(values[position]))


def _is_too_large(state: Any, values: NDArray[Any]) -> bool:
    """Return whether values of one example would be refused as too large; those of unseen features count too."""
    stored = validation.to_numeric_array(values, state.kind).astype(np.float64)
    with np.errstate(over="ignore"):
        return not np.square(stored).sum() < max_sq_norm.function(state.updater.weights)
