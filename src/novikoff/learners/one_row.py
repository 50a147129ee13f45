"""One example, given as a dict, names or a 1-D array, as a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from novikoff.errors import InputError
from novikoff.learners.events import one_array
from novikoff.stream import door
from novikoff.stream.names import UNKNOWN, Names, numbers
from novikoff.stream.rows import Dense, Rows, Sparse


def one_row(model: Any, state: Any, x: Any, *, learning: bool = True) -> Rows:
    """The row; when it is learned, with room made for what is new in it."""
    if isinstance(x, np.ndarray):
        values = one_array(x, state.kind)
        if state.features == 0 and learning:
            model._make_room(state, values.size)
        if values.size != state.features:
            raise InputError(
                f"x has {values.size} features, but {type(model).__name__} is expecting {state.features} features as"
                " input."
            )
        return Dense(values, values.size)
    keys, given = door.one(x)
    if learning and state.names is None and state.features == 0 and keys and isinstance(keys[0], str):
        state.names = Names()
    named = None if state.names is None else state.names.add if learning else state.names.find
    columns = numbers(keys) if named is None else named(keys)
    unknown = columns == UNKNOWN
    if named is not None and unknown.any():  # names that were never learned are features that no kept example has
        columns[unknown] = state.features + np.arange(np.count_nonzero(unknown))
    values = door.numeric(given, state.kind)
    most = int(columns.max(initial=0)) + 1 if len(columns) else 0
    if learning and most > state.features:
        model._make_room(state, most)
    return Sparse(np.array([0, len(columns)]), columns, values)
