"""The features that matter most, by name: importance = |weight| × standard deviation of the feature.

A weight alone says little: where a feature is measured in thousandths, its weight is a thousand times as large. The
standard deviation comes from the sample of the examples that a model keeps (core/feature_sample.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.data.feature_maps import MapSpec
from novikoff.data.names.feature_names import FeatureNames


class FeatureWeight(NamedTuple):
    feature: str | int
    """A name, or a column number where columns have no names."""
    weight: float
    """In the units of the data."""
    importance: float | None
    """|weight| × std; None where the deviation is not known: no sampled example has the feature."""
    std: float | None
    speaks_for: str | None = None
    """The class, pair of classes or bit, where there are many."""


def rank_features(model: Any, top: int) -> list[FeatureWeight] | None:
    """Return the most important features, or None where a learner has no weights to show. Features whose deviation is
    not known come last, the largest weight first; weights of 0 are left out."""
    weights = _read_weights(model)
    if weights is None:
        return None
    many: list[str] | None = model.column_names() if hasattr(model, "column_names") else None
    spread, name, width = _FeatureDeviations(model, weights.shape[1]), _build_namer(model), weights.shape[1]
    flat = weights.reshape(-1)
    found = spread.ranked(flat, top)
    return [spread.shown(name, j % width, float(flat[j]), None if many is None else many[j // width]) for j in found]


def rank_features_by_column(model: Any, top: int) -> list[FeatureWeight]:
    """Return the most important features of each class, pair of classes or bit, about `top` in all, but two of each;
    where there are very many columns, of the first ones only."""
    weights = _read_weights(model)
    if weights is None or not hasattr(model, "column_names"):
        return rank_features(model, top) or []
    spread, name = _FeatureDeviations(model, weights.shape[1]), _build_namer(model)
    titles, found = model.column_names(), list[FeatureWeight]()
    for title, row in zip(titles[:top], weights, strict=False):
        best = spread.ranked(row, max(2, top // len(titles)))
        found += [spread.shown(name, j, float(row[j]), title) for j in best]
    return found


def read_intercept(model: Any) -> float | dict[str, float] | None:
    """Return the weight of the bias, one for each column where there are many; None where there are none."""
    if _read_weights(model) is None:
        return None
    values: list[float] = model.intercept_.tolist()
    return dict(zip(model.column_names(), values, strict=True)) if hasattr(model, "column_names") else values[0]


def count_sampled_examples(model: Any) -> int | None:
    """Return how many examples the standard deviations come from; None where there are none."""
    sample = getattr(model._state, "feature_sample", None)
    return int(sample.sampled) if sample is not None and sample.is_recording else None


def _read_weights(model: Any) -> NDArray[np.float64] | None:
    try:
        weights: NDArray[np.float64] = model.coef_
    except AttributeError:
        return None
    return weights


class _FeatureDeviations:
    """The standard deviations of a model's features."""

    def __init__(self, model: Any, features: int) -> None:
        sample = getattr(model._state, "feature_sample", None)
        self.deviations, self.known = np.zeros(features), np.zeros(features, np.bool_)
        if sample is not None and sample.is_recording:
            self.deviations, self.known = sample.deviations(features)

    def ranked(self, weights: NDArray[np.float64], top: int) -> list[int]:
        """Return the places of the most important of these weights, of one column or of several."""
        places = np.flatnonzero(weights)
        sizes = np.abs(weights[places])
        importances = sizes * self.deviations[places % max(1, len(self.deviations))]
        order = np.lexsort((-sizes, -importances))[: max(top, 0)]
        return [int(j) for j in places[order]]

    def shown(self, name: Callable[[int], str | int], j: int, weight: float, speaks_for: str | None) -> FeatureWeight:
        std = float(self.deviations[j]) if self.known[j] else None
        return FeatureWeight(name(j), weight, None if std is None else abs(weight) * std, std, speaks_for)


def _product_map(reading: dict[str, Any] | None) -> MapSpec | None:
    """The map of features that have numbers; hashed ones have no names."""
    if reading is None or reading.get("feature_map") is None or reading["feature_map_bits"] or reading.get("hash_bits"):
        return None
    return MapSpec.spelled(reading["feature_map"])


def _build_namer(model: Any) -> Callable[[int], str | int]:
    """Return what turns columns into the names of features."""
    names: FeatureNames | None = model._state.names
    slots: dict[int, str] = getattr(model._state, "slot_names", None) or {}
    columns = None if names is None else list(names.columns)
    products = _product_map(getattr(model._state, "reading", None)) if columns is None else None

    def name(j: int) -> str | int:
        if products is not None:
            return products.name(j)
        return slots.get(j, j) if columns is None else columns[j]

    return name
