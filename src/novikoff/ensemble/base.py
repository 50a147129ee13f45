"""Base class of models that vote: members, their weights, and the class with the most votes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import predicts_one_label, require_state
from novikoff.base.model_state import HASH_FEATURES_ADVICE
from novikoff.base.raw_rows import score_raw_rows
from novikoff.core.trees import Trees, trees_schema
from novikoff.data import validation
from novikoff.data.labels.binary_labels import find_distinct
from novikoff.data.load_all import LoadedData
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.rows import Rows, drop_columns
from novikoff.ensemble.members import TrainingData, count_votes, estimate_member_bytes, prepare_data, to_matrix
from novikoff.errors import InputError
from novikoff.learner_registry import name_of
from novikoff.memory_limit import check_size
from novikoff.meta.batch_estimator import BatchEstimator
from novikoff.schema import (
    EMPTY_SCHEMA,
    INFINITY,
    ArraySpec,
    FreeSize,
    InRange,
    Schema,
    SchemaError,
    check_text,
    shorten,
)

VALUE_BYTES = 8
"""The type of a value of an example that trees compare with thresholds."""


@dataclass
class VotingState:
    """The learned state."""

    members: Any
    """The members: trees, or fitted models whose labels are class numbers."""
    labels: list[Any]
    features: int
    names: FeatureNames | None
    kind: np.dtype[Any]
    weights: NDArray[np.float64]
    """The weight of each member's vote."""
    more: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Further arrays and numbers of an ensemble, by name."""
    reading: dict[str, Any] | None = None
    """The format of its files, if it learned from files."""
    slot_names: dict[int, str] | None = None
    positive: str | None = None
    """The positive label, if one label was learned against the rest."""
    encoding: Any = None
    """Encoder of raw rows, as the reader encodes them (data/raw/encoding.py); built on first use, not saved."""


class VotingEnsemble(BatchEstimator):
    """An abstract ensemble whose members vote."""

    _state: VotingState | None = None
    _has_soft_votes = False
    """Whether members vote in shares."""

    # --- Learning ---

    def _base_learner(self) -> Any:
        """Return the learner of the members."""
        return self

    def _min_members(self) -> int:
        """Return the least number of members after `fit`."""
        return 1

    def _estimate_bytes(self, classes: int, features: int) -> int:
        return self._bytes_needed(np.float32, features, classes)

    def _bytes_needed(self, dtype: Any, features: int, classes: int) -> int:
        """Return the memory of the members, and of the values of one example, which predictions need."""
        members = self._min_members() * estimate_member_bytes(self._base_learner(), dtype, features, classes)
        return members + VALUE_BYTES * (features + 1)

    def _prepare_training(self, X: Any, y: Any) -> tuple[TrainingData, NDArray[np.int64], VotingState]:
        """Return the examples, the codes of their classes, and an empty state."""
        batch = validation.validate_batch(X)
        y = validation.validate_y(y, batch.examples)
        labels = find_distinct(y)
        codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
        needed = self._bytes_needed(batch.rows.values.dtype, batch.features, len(labels))
        check_size(needed, f"{batch.features:,} features", HASH_FEATURES_ADVICE)
        data = prepare_data(batch, batch.features)
        names = None if batch.names is None else FeatureNames(batch.names)
        return data, codes, VotingState((), labels, batch.features, names, data.rows.values.dtype, np.zeros(0))

    def _fit_dataset(self, dataset: LoadedData) -> Self:
        model: Any = self
        if dataset.weights is None:
            model.fit(dataset.X, dataset.y)
        elif "sample_weight" in inspect.signature(model.fit).parameters:
            model.fit(dataset.X, dataset.y, sample_weight=dataset.weights)
        else:
            raise InputError(f"{type(self).__name__} takes no weights of examples, but the data has weights.")
        state = self._require_fitted()
        state.names, state.reading, state.slot_names = dataset.names, dataset.reading, dataset.slot_names
        state.positive = dataset.positive
        return self

    # --- Predicting ---

    def _votes(self, state: VotingState, data: TrainingData) -> NDArray[np.float64]:
        return count_votes(state.members, state.weights, data, len(state.labels), soft=self._has_soft_votes)

    def _compute_votes(self, X: Any) -> NDArray[np.float64]:
        state = self._require_fitted()
        scores = score_raw_rows(self, X)
        if scores is not None:
            return scores
        batch = validation.validate_batch(X, kind=state.kind)
        self._check_features(batch)
        return self._votes(state, prepare_data(batch, state.features))

    def _build_scorer(self, *, known: bool = False) -> Callable[[Rows], NDArray[np.float64]]:
        """Return a scorer: the votes for each class of rows that a reader has checked; unseen features don't count."""
        state = self._require_fitted()

        def of(rows: Rows) -> NDArray[np.float64]:
            rows = drop_columns(rows, state.features)
            if rows.values.dtype != state.kind:
                rows = rows._replace(values=rows.values.astype(state.kind))
            return self._votes(state, TrainingData(rows, to_matrix(rows, state.features), state.features))

        return of

    def _decide(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return the labels for these votes, the first of equals."""
        chosen: NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return chosen

    def _display_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        total = scores.sum(axis=1, keepdims=True)
        return scores / np.where(total > 0.0, total, 1.0)

    def _format_label(self, label: Any) -> str:
        state = self._require_fitted()
        if state.positive is None or str(label) == state.positive:
            return str(label)
        return next((str(other) for other in state.labels if other != state.positive), f"not {state.positive}")

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row: the one with the most votes, the first of equals."""
        return self._decide(self._compute_votes(X))

    # --- Files ---

    def _file_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        state = self._require_fitted()
        header: dict[str, Any] = {
            "labels": state.labels,
            "features": state.features,
            "names": None if state.names is None else list(state.names.columns),
            "precision": state.kind.name,
        }
        if state.reading is not None:
            header["reading"] = state.reading
        if state.positive is not None:
            header["positive"] = state.positive
        if state.slot_names:
            header["slot_names"] = sorted(state.slot_names.items())
        tensors = {"weights": state.weights, **{f"more.{name}": array for name, array in state.more.items()}}
        if isinstance(state.members, Trees):
            tensors |= {f"trees.{name}": array for name, array in state.members._asdict().items()}
        return header, {name: np.ascontiguousarray(array) for name, array in tensors.items()}

    def _file_schemas(self, present: Collection[str]) -> dict[str, Schema]:
        weights = Schema({"weights": ArraySpec("float64", FreeSize("members"), checks=[InRange(0.0, INFINITY)])})
        has_trees = any(name.startswith("trees.") for name in present)
        if self._has_soft_votes and not has_trees:
            raise SchemaError("the array trees.shares", "there, for members that vote in shares", "missing")
        trees = {"trees.": trees_schema(soft=self._has_soft_votes)} if has_trees else {}
        return {"": weights, **trees, "more.": self._extra_schema()}

    def _extra_schema(self) -> Schema:
        """Return the schema of `VotingState.more` in a model file."""
        return EMPTY_SCHEMA

    def _check_header(self, header: dict[str, Any]) -> None:
        if header.get("positive") is not None:
            check_text("positive", header["positive"])

    def _load_file_parts(self, header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        names: Any = header["names"]
        members: Any = ()
        if "trees.starts" in tensors:
            members = Trees(*(tensors[f"trees.{name}"] for name in Trees._fields))
        self._state = VotingState(
            members=members,
            labels=header["labels"],
            features=header["features"],
            names=None if names is None else FeatureNames(names),
            kind=np.dtype(header["precision"]),
            weights=tensors["weights"],
            more={name.removeprefix("more."): a for name, a in tensors.items() if name.startswith("more.")},
            reading=header.get("reading"),
            slot_names=dict(header["slot_names"]) if "slot_names" in header else None,
            positive=header.get("positive"),
        )

    def _member_models(self) -> Sequence[Any]:
        state = self._require_fitted()
        return () if isinstance(state.members, Trees) else state.members

    def _set_member_models(self, members: Sequence[Any]) -> None:
        state = self._require_fitted()
        codes = set(range(len(state.labels)))
        for member in members:
            known = require_state(member).labels
            labels = known if isinstance(known, list) else known.known()
            if not labels or not predicts_one_label(member) or not codes.issuperset(labels):
                raise SchemaError("the labels of each member", "numbers of classes", shorten(labels))
            if require_state(member).features != state.features:
                raise SchemaError("the features of each member", f"{state.features}", require_state(member).features)
        self._require_fitted().members = tuple(members)

    # --- What was learned ---

    @property
    def _inner_learner(self) -> Any:
        return self

    def _scheme_info(self) -> dict[str, Any]:
        return {"multiclass": name_of(type(self)), "classes": len(self._require_fitted().labels)}

    def describe(self) -> str | None:
        return f"{len(self._require_fitted().weights):,} members vote."
