"""The weights that matter most, by the names of their features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from novikoff.stream.maps import Map
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
    many: list[str] | None = model.column_names() if hasattr(model, "column_names") else None
    flat, width, name = weights.reshape(-1), weights.shape[1], _namer(model)
    order = [int(j) for j in np.argsort(-np.abs(flat), kind="stable")[: max(top, 0)] if flat[j] != 0.0]
    return [Weight(name(j % width), float(flat[j]), None if many is None else many[j // width]) for j in order]


def by_column(model: Any, top: int) -> list[Weight]:
    """The largest of each class, pair of classes or bit, about `top` in all, but two of each; where there are very many
    columns, of the first ones only."""
    if not hasattr(model, "column_names"):
        return largest(model, top) or []
    weights, name = np.concatenate([model.intercept_[:, None], model.coef_], axis=1), _namer(model)
    titles, found = model.column_names(), list[Weight]()
    for title, row in zip(titles[:top], weights, strict=False):
        order = np.argsort(-np.abs(row), kind="stable")[: max(2, top // len(titles))]
        found += [Weight(name(int(j)), float(row[j]), title) for j in order if row[j] != 0.0]
    return found


def _products(reading: dict[str, Any] | None) -> Map | None:
    """The map of features that have numbers; hashed ones have no names."""
    if reading is None or reading.get("map") is None or reading["map_bits"] or reading.get("bits"):
        return None
    return Map.spelled(reading["map"])


def _namer(model: Any) -> Callable[[int], str | int]:
    """From slots to the names of features."""
    names: Names | None = model._state.names
    slots: dict[int, str] = model._state.slot_names or {}
    columns = None if names is None else list(names.columns)
    products = _products(model._state.reading) if columns is None else None

    def name(j: int) -> str | int:
        if j == 0:
            return BIAS
        if products is not None:
            return products.name(j - 1)
        return slots.get(j - 1, j - 1) if columns is None else columns[j - 1]

    return name
