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


def largest(model: Any, top: int) -> list[Weight] | None:
    """The largest weights by size, bias included; None where a learner has no single weight vector."""
    try:
        weights = np.concatenate([model.intercept_, model.coef_[0]])
    except AttributeError:
        return None
    names: Names | None = model._state.names
    slots: dict[int, str] = model._state.slot_names or {}
    columns = None if names is None else list(names.columns)
    order = [int(j) for j in np.argsort(-np.abs(weights), kind="stable")[: max(top, 0)] if weights[j] != 0.0]

    def name(j: int) -> str | int:
        if j == 0:
            return BIAS
        return slots.get(j - 1, j - 1) if columns is None else columns[j - 1]

    return [Weight(name(j), float(weights[j])) for j in order]
