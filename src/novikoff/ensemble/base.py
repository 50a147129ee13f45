"""What models that vote have in common: members, the weight of each, and the class with the most votes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError
from novikoff.learner_registry import name_of
from novikoff.base.raw_rows import score_raw
from novikoff.base.model_state import ADVICE
from novikoff.memory_limit import check_size
from novikoff.core.trees import Trees, trees_schema
from novikoff.schema import EMPTY, INFINITY, Array, Between, Free, Schema, SchemaError, check_text, shorten
from novikoff.data import validation
from novikoff.data.labels.binary_labels import distinct
from novikoff.data.names.feature_names import Names
from novikoff.data.rows import Rows, narrowed
from novikoff.data.load_all import Whole
from novikoff.ensemble.members import (Data, gathered, matrix_of, member_bytes, votes)
from novikoff.meta.batch_estimator import Solved

EXAMPLE_BYTES = 8
"""A value of an example, as trees look at it."""


@dataclass
class Voters:
    """What was learned."""

    members: Any
    """Trees, or fitted models whose labels are the numbers of classes."""
    labels: list[Any]
    features: int
    names: Names | None
    kind: np.dtype[Any]
    weights: NDArray[np.float64]
    """Of each member's vote."""
    more: dict[str, NDArray[Any]] = field(default_factory=dict)
    """What an ensemble knows beside that, by name."""
    reading: dict[str, Any] | None = None
    """How its data was read, where that was from files."""
    slot_names: dict[int, str] | None = None
    positive: str | None = None
    """The label that was told from all others, where that was asked for."""
    encoding: Any = None
    """Encodes raw rows as the reader would (stream/encoding.py), once it is asked for; not saved."""


class Voting(Solved):
    """Abstract."""

    _state: Voters | None = None
    soft = False
    """Whether members vote in shares."""

    # --- Learning ---

    def _weak(self) -> Any:
        """Return what the members are."""
        return self

    def _fewest_members(self) -> int:
        """Return how many members there are at least after `fit`."""
        return 1

    def bytes_needed(self, classes: int, features: int) -> int:
        return self._bytes_needed(np.float32, features, classes)

    def _bytes_needed(self, kind: Any, features: int, classes: int) -> int:
        """Members, and room for the values of one example, without which there is no prediction."""
        members = self._fewest_members() * member_bytes(self._weak(), kind, features, classes)
        return members + EXAMPLE_BYTES * (features + 1)

    def _met(self, X: Any, y: Any) -> tuple[Data, NDArray[np.int64], Voters]:
        """Examples, the numbers of their classes, and what is known before anything is learned."""
        batch = validation.batch(X)
        y = validation.label_array(y, batch.examples)
        labels = distinct(y)
        codes = np.unique(y, return_inverse=True)[1].astype(np.int64)
        needed = self._bytes_needed(batch.rows.values.dtype, batch.features, len(labels))
        check_size(needed, f"{batch.features:,} features", ADVICE)
        data = gathered(batch, batch.features)
        names = None if batch.names is None else Names(batch.names)
        return data, codes, Voters((), labels, batch.features, names, data.rows.values.dtype, np.zeros(0))

    def fit_whole(self, whole: Whole) -> Self:
        model: Any = self
        if whole.weights is None:
            model.fit(whole.X, whole.y)
        elif "sample_weight" in inspect.signature(model.fit).parameters:
            model.fit(whole.X, whole.y, sample_weight=whole.weights)
        else:
            raise InputError(f"{type(self).__name__} takes no weights of examples, but the data has some.")
        state = self._fitted()
        state.names, state.reading, state.slot_names = whole.names, whole.reading, whole.slot_names
        state.positive = whole.positive
        return self

    # --- Predicting ---

    def _votes(self, state: Voters, data: Data) -> NDArray[np.float64]:
        return votes(state.members, state.weights, data, len(state.labels), soft=self.soft)

    def _votes_of(self, X: Any) -> NDArray[np.float64]:
        state = self._fitted()
        scores = score_raw(self, X)
        if scores is not None:
            return scores
        batch = validation.batch(X, kind=state.kind)
        self._same_features(batch)
        return self._votes(state, gathered(batch, state.features))

    def scorer(self, *, known: bool = False) -> Callable[[Rows], NDArray[np.float64]]:
        """The votes for each class of rows that a reader has looked through; features never learned count nothing."""
        state = self._fitted()

        def of(rows: Rows) -> NDArray[np.float64]:
            rows = narrowed(rows, state.features)
            if rows.values.dtype != state.kind:
                rows = rows._replace(values=rows.values.astype(state.kind))
            return self._votes(state, Data(rows, matrix_of(rows, state.features), state.features))

        return of

    def choose(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """The labels for these votes; the first of equals."""
        chosen: NDArray[Any] = self.classes_[scores.argmax(axis=1)]
        return chosen

    def shown_scores(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        total = scores.sum(axis=1, keepdims=True)
        return scores / np.where(total > 0.0, total, 1.0)

    def spelled(self, label: Any) -> str:
        state = self._fitted()
        if state.positive is None or str(label) == state.positive:
            return str(label)
        return next((str(other) for other in state.labels if other != state.positive), f"not {state.positive}")

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of each row: that with the most votes, the first of equals."""
        return self.choose(self._votes_of(X))

    # --- Files ---

    def file_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        state = self._fitted()
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

    def file_schemas(self, present: Collection[str]) -> dict[str, Schema]:
        weights = Schema({"weights": Array("float64", Free("members"), checks=[Between(0.0, INFINITY)])})
        has_trees = any(name.startswith("trees.") for name in present)
        if self.soft and not has_trees:
            raise SchemaError("the array trees.shares", "there, for members that vote in shares", "missing")
        trees = {"trees.": trees_schema(soft=self.soft)} if has_trees else {}
        return {"": weights, **trees, "more.": self.more_schema()}

    def more_schema(self) -> Schema:
        """Return what a model file may hold of `Voters.more`."""
        return EMPTY

    def check_header(self, header: dict[str, Any]) -> None:
        if header.get("positive") is not None:
            check_text("positive", header["positive"])

    def adopt_parts(self, header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        names: Any = header["names"]
        members: Any = ()
        if "trees.starts" in tensors:
            members = Trees(*(tensors[f"trees.{name}"] for name in Trees._fields))
        self._state = Voters(
            members=members,
            labels=header["labels"],
            features=header["features"],
            names=None if names is None else Names(names),
            kind=np.dtype(header["precision"]),
            weights=tensors["weights"],
            more={name.removeprefix("more."): a for name, a in tensors.items() if name.startswith("more.")},
            reading=header.get("reading"),
            slot_names=dict(header["slot_names"]) if "slot_names" in header else None,
            positive=header.get("positive"),
        )

    def made_of(self) -> Sequence[Any]:
        state = self._fitted()
        return () if isinstance(state.members, Trees) else state.members

    def adopt_made_of(self, members: Sequence[Any]) -> None:
        state = self._fitted()
        codes = set(range(len(state.labels)))
        for member in members:
            known = member._fitted().labels
            labels = known if isinstance(known, list) else known.known()
            if not labels or not getattr(member, "predicts_one_label", True) or not codes.issuperset(labels):
                raise SchemaError("the labels of each member", "numbers of classes", shorten(labels))
            if member._fitted().features != state.features:
                raise SchemaError("the features of each member", f"{state.features}", member._fitted().features)
        self._fitted().members = tuple(members)

    # --- What was learned ---

    @property
    def inner(self) -> Any:
        return self

    def about_scheme(self) -> dict[str, Any]:
        return {"scheme": name_of(type(self)), "classes": len(self._fitted().labels)}

    def describe(self) -> str | None:
        return f"{len(self._fitted().weights):,} members vote."
