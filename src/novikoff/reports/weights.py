"""Rank features by importance = |weight| × standard deviation, which does not depend on the unit of the feature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import state_of
from novikoff.explanation import build_feature_namer
from novikoff.multiclass.internals import column_names_of, has_columns


class FeatureWeight(NamedTuple):
    feature: str | int
    """A name, or a column number if columns have no names."""
    weight: float
    """In the units of the data."""
    importance: float | None
    """|weight| × std; None if no sampled example has the feature."""
    std: float | None
    speaks_for: str | None = None
    """The class, pair of classes or bit that the weight belongs to, if there are several."""


def rank_features(model: Any, top: int) -> list[FeatureWeight] | None:
    """Return the most important features, or None if the model has no weights. Features without a known deviation come
    last, sorted by |weight|; weights of 0 are omitted."""
    weights = _read_weights(model)
    if weights is None:
        return None
    many: list[str] | None = column_names_of(model) if has_columns(model) else None
    spread, name, width = _FeatureDeviations(model, weights.shape[1]), build_feature_namer(model), weights.shape[1]
    flat = weights.reshape(-1)
    found = spread.rank(flat, top)
    return [
        spread.build_feature_weight(name, j % width, float(flat[j]), None if many is None else many[j // width])
        for j in found
    ]


def rank_features_by_column(model: Any, top: int) -> list[FeatureWeight]:
    """Return the most important features of each class, pair of classes or bit: about `top` in all, at least two each,
    for the first `top` columns only."""
    weights = _read_weights(model)
    if weights is None or not has_columns(model):
        return rank_features(model, top) or []
    spread, name = _FeatureDeviations(model, weights.shape[1]), build_feature_namer(model)
    titles, found = column_names_of(model), list[FeatureWeight]()
    for title, row in zip(titles[:top], weights, strict=False):
        best = spread.rank(row, max(2, top // len(titles)))
        found += [spread.build_feature_weight(name, j, float(row[j]), title) for j in best]
    return found


def read_intercept(model: Any) -> float | dict[str, float] | None:
    """Return the weight of the bias, or one for each column if there are several; None if the model has no weights."""
    if _read_weights(model) is None:
        return None
    values: list[float] = model.intercept_.tolist()
    return dict(zip(column_names_of(model), values, strict=True)) if has_columns(model) else values[0]


def count_sampled_examples(model: Any) -> int | None:
    """Return the number of examples that the standard deviations are estimated from; None if there is no sample."""
    sample = getattr(state_of(model), "feature_sample", None)
    return int(sample.sampled) if sample is not None and sample.is_recording else None


def _read_weights(model: Any) -> NDArray[np.float64] | None:
    try:
        weights: NDArray[np.float64] = model.coef_
    except AttributeError:
        return None
    return weights


class _FeatureDeviations:
    """The standard deviations of a model's features, from the sample of examples it keeps (core/feature_sample.py)."""

    def __init__(self, model: Any, features: int) -> None:
        sample = getattr(state_of(model), "feature_sample", None)
        self.deviations, self.known = np.zeros(features), np.zeros(features, np.bool_)
        if sample is not None and sample.is_recording:
            self.deviations, self.known = sample.deviations(features)

    def rank(self, weights: NDArray[np.float64], top: int) -> list[int]:
        """Return the indices of the most important weights of one or several columns."""
        places = np.flatnonzero(weights)
        sizes = np.abs(weights[places])
        importances = sizes * self.deviations[places % max(1, len(self.deviations))]
        order = np.lexsort((-sizes, -importances))[: max(top, 0)]
        return [int(j) for j in places[order]]

    def build_feature_weight(
        self, name: Callable[[int], str | int], j: int, weight: float, speaks_for: str | None
    ) -> FeatureWeight:
        std = float(self.deviations[j]) if self.known[j] else None
        return FeatureWeight(name(j), weight, None if std is None else abs(weight) * std, std, speaks_for)
