"""One example, given as a dict, names or a 1-D array: as a row, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.errors import InputError, OverflowRefused, RangeRefused
from novikoff.base.raw_rows import encode_one
from novikoff.core.updaters.base import limit
from novikoff.data import validation
from novikoff.data.names.feature_names import Names, numbers
from novikoff.data.rows import Dense, Rows, Sparse

TOO_LARGE = "x contains NaN, infinity or a value too large to square: "


def one_array(x: NDArray[Any], kind: Any) -> NDArray[Any]:
    if x.ndim != 1:
        raise InputError(f"One example must be a 1-D array, but has {x.ndim} dimensions: use partial_fit for batches.")
    values = np.ascontiguousarray(validation.numeric(x, kind))
    # One number alone may have any stride and still be called contiguous.
    return validation.writable(values if values.strides == (values.itemsize,) else np.array(values, order="C"))


def row_of(columns: NDArray[np.uint32], values: NDArray[Any]) -> Sparse:
    return Sparse(np.array([0, len(columns)]), columns, values)


# --- Learning ---


def first_state(model: Any, x: Any) -> Any:
    """The state before anything was learned, as a first example x wants it."""
    model._check_all()
    if isinstance(x, np.ndarray):
        return model.fresh_state(x.size, np.float32 if x.dtype == np.float32 else np.float64, None, model._no_labels())
    return model.fresh_state(0, np.float64, None, model._no_labels())


def new_array(model: Any, state: Any, x: NDArray[Any]) -> NDArray[Any]:
    """The values of all features; the first array says how many there are."""
    values = one_array(x, state.kind)
    if state.features == 0:
        model._make_room(state, values.size)
    return _as_wide(model, state, values)


def new_terms(model: Any, state: Any, x: Any) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Columns and values, with room made for features that are new."""
    keys, given = validation.one(x)
    return _columns(model, state, keys), validation.numeric(given, state.kind)


def _columns(model: Any, state: Any, keys: Sequence[Any]) -> NDArray[np.uint32]:
    if state.names is None and state.features == 0 and keys and isinstance(keys[0], str):
        state.names = Names()
    columns = numbers(keys) if state.names is None else state.names.add(keys)
    needed = int(columns.max()) + 1 if len(columns) else 0
    if needed > state.features:
        model._make_room(state, needed)
    return columns


def _as_wide(model: Any, state: Any, values: NDArray[Any]) -> NDArray[Any]:
    if values.size != state.features:
        raise InputError(
            f"x has {values.size} features, but {type(model).__name__} is expecting {state.features} features as input."
        )
    return values


def learn_as_batch(model: Any, x: Any, y: Any) -> None:
    """Learns one example as a batch of one. A refused example leaves all as it was."""
    x = encode_one(model._state, x)
    state = first_state(model, x) if model._state is None else model._state
    model._goes_on(state)
    before, known = (state.features, len(state.labels), state.names is not None), state.labels
    try:
        row: Rows
        if isinstance(x, np.ndarray):
            row = Dense(new_array(model, state, x), x.size)
        else:
            row = row_of(*new_terms(model, state, x))
        codes, state.labels = model._told_one(y, known)
        check_values(model, x, row.values)
        examples = state.ledger.examples
        if model._pass(state, row, codes, np.zeros(0)) == 0:
            raise why_refused(model, state, x)
        state.feature_sample.record(row, np.zeros(0), examples, state.ledger.examples, state.features)
    except BaseException:
        state.labels = known
        state.forget(*before)
        raise
    model._adopt(state)


def why_refused(model: Any, state: Any, x: Any) -> Exception:
    values = x if isinstance(x, np.ndarray) else validation.one(x).values
    try:
        check_values(model, x, values)
    except RangeRefused as problem:
        return problem
    if _too_large(state, values):
        return InputError(TOO_LARGE + "nothing was learned from it.")
    return OverflowRefused("The weights grew out of range: scale the features, or lower the rate.")


# --- Predicting ---


def terms(model: Any, state: Any, x: Any) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Columns and values, zeros and features that were never learned included."""
    only_empty = state.names is None and state.features == 0  # no example so far says how features are named
    if isinstance(x, np.ndarray):
        values = one_array(x, state.kind)
        values = values if only_empty else _as_wide(model, state, values)
        return np.arange(values.size, dtype=np.uint32), values
    keys, given = validation.one(x)
    names = Names() if only_empty and keys and isinstance(keys[0], str) else state.names
    return numbers(keys) if names is None else names.find(keys), validation.numeric(given, state.kind)


def known_terms(model: Any, state: Any, x: Any) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    """Columns and values of what counts; features that weigh nothing are left out."""
    columns, values = terms(model, state, x)
    check_values(model, x, values)
    if _too_large(state, values):
        raise InputError(TOO_LARGE + "there is nothing to predict.")
    counts = values != 0.0
    if model._unseen_weight(state) == 0.0:
        counts &= columns < state.features
    return columns[counts], values[counts]


# --- Both ---


def check_values(model: Any, x: Any, values: NDArray[Any]) -> None:
    """RangeRefused where a value is not in the learner's range."""
    least, most = model._range()
    outside = (values != 0.0) & ((values < least) | (values > most))
    if outside.any():
        at = int(outside.argmax())
        keys = range(len(x)) if isinstance(x, np.ndarray) else validation.one(x).keys
        raise model._out_of_range(f"feature {keys[at]!r}", float(values[at]))


def _too_large(state: Any, values: NDArray[Any]) -> bool:
    """Whether the values of one example are such as would be refused; those without slots count too."""
    stored = validation.numeric(values, state.kind).astype(np.float64)
    with np.errstate(over="ignore"):
        return not np.square(stored).sum() < limit.function(state.geometry.slots)
