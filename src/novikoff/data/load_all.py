"""All examples of some files as one matrix, for models that are fitted to all data at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.feature_limit import check_width
from novikoff.data.labels.binary_labels import merge_others
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.read import MatrixBuilder
from novikoff.data.reader import DataReader, FileBatch
from novikoff.errors import InputError


class LoadedData(NamedTuple):
    """Examples in memory, with what a model stores about their source."""

    X: Any
    y: NDArray[Any]
    names: FeatureNames | None
    weights: NDArray[np.float64] | None
    """Weights of the examples; None where all are 1."""
    reading: dict[str, Any] | None
    """Settings of the reader."""
    slot_names: dict[int, str] | None
    positive: str | None
    """The label that is learned against all others, if the user has chosen one."""


def _has_label_lists(batch: FileBatch) -> bool:
    """Return whether a label is a list of labels."""
    _, first = np.unique(batch.parsed.keys, return_index=True)
    return batch.parsed.numbers is None and any(isinstance(batch.parsed.label(int(i)), list) for i in first)


def load_examples(reading: DataReader, *, needed: Callable[[int, int], int], positive: str | None = None) -> LoadedData:
    """Read all examples. Raise InputError where examples have several labels, or belong to queries.

    `needed` returns the bytes of the model by its numbers of classes and of features. They are checked after each
    batch, so that a row with a feature that is too many is named, and nothing is fitted to it.
    """
    parts = MatrixBuilder(sum(os.path.getsize(title) for title in reading.titles if Path(title).is_file()))
    weights, title, known = list[NDArray[np.float64]](), reading.titles[0], set[Any]()
    for batch in reading.batches():
        title = batch.title
        parsed = batch.parsed
        if reading.description is None:
            reading.describe(batch)
        if (
            parsed.sets is not None
            or (parsed.groups is not None and (parsed.groups >= 0).any())
            or _has_label_lists(batch)
        ):
            raise InputError(f"{title}: expected one label per example, got label sets or queries.")
        before = parts.features
        parts.add(batch)
        known.update(parts.labels[-1].tolist())
        classes = len(known) if positive is None else min(len(known), 2)
        check_width(batch, reading, partial(needed, classes), before)
        given = batch.parsed.weights
        weights.append(given.copy() if len(given) else np.ones(len(batch)))
    y, weight = np.concatenate(parts.labels), np.concatenate(weights)
    if positive is not None:
        y = merge_others(y, positive)
    columns = reading.columns(title)
    names = reading.names if reading.names is not None else None if columns is None else FeatureNames(columns)
    return LoadedData(
        X=parts.matrix(parts.features),
        y=y,
        names=names,
        weights=None if (weight == 1.0).all() else weight,
        reading=reading.settings(),
        slot_names=dict(reading.kept) if reading.kept else None,
        positive=positive,
    )
