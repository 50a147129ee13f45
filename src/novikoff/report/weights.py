"""The weights that matter most, by the names of their features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from novikoff.stream.names import Names

BIAS = "(bias)"


class Weight(NamedTuple):
    feature: str | int
    """A name, or a column number where columns have no names."""
    weight: float
    speaks_for: str | None = None
    """The class, pair of classes or bit, where there are many."""


def largest(model: Any, top: int) -> list[Weight] | None:
    """The largest weights by size, bias included; None where a learner has no single weight vector."""
    try:
        weights = np.concatenate([model.intercept_[:, None], model.coef_], axis=1)
    except AttributeError:
        return None
    names: Names | None = model._state.names
    slots: dict[int, str] = model._state.slot_names or {}
    columns = None if names is None else list(names.columns)
    many: list[str] | None = model.column_names() if hasattr(model, "column_names") else None
    flat, width = weights.reshape(-1), weights.shape[1]
    order = [int(j) for j in np.argsort(-np.abs(flat), kind="stable")[: max(top, 0)] if flat[j] != 0.0]

    def name(j: int) -> str | int:
        if j == 0:
            return BIAS
        return slots.get(j - 1, j - 1) if columns is None else columns[j - 1]

    return [Weight(name(j % width), float(flat[j]), None if many is None else many[j // width]) for j in order]
