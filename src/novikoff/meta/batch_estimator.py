"""Models that solve a problem for all data at once: no run, no ledger, but a file like the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base import fitted
from novikoff.base.estimator import BaseEstimator
from novikoff.errors import InputError
from novikoff.schema import Schema


class BatchGuarantee(NamedTuple):
    """What there is to certify, as a document has it."""

    observed: dict[str, Any]
    bounds: list[dict[str, Any]]
    """Of what was seen; each with name, counts, statement, made, allowed, verdict, assumes and numbers."""
    new_data: dict[str, Any] | None
    """What is known of the error on new data, under assumptions that are written there."""


class BatchEstimator(BaseEstimator, ABC):
    """A model that is fitted to all data at once. Abstract."""

    _accepts_multiclass = True

    @property
    def n_features_in_(self) -> int:
        """The number of features that the model has seen."""
        return int(self._require_attribute("n_features_in_").features)

    feature_names_in_ = property(fitted.list_feature_names)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.array(self._require_attribute("classes_").labels)

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of rows whose label is predicted."""
        return fitted.compute_accuracy(self.predict(X), y, sample_weight)

    @abstractmethod
    def _file_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file holds beside the settings: plain values, and arrays by name."""

    @abstractmethod
    def _load_file_parts(self, header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        """The inverse of `file_parts`."""

    @abstractmethod
    def _file_schemas(self, present: Collection[str]) -> dict[str, Schema]:
        """Return what a model file may hold of the arrays, by the beginning of their names; `present` are the names in
        the file."""

    def _check_header(self, header: dict[str, Any]) -> None:
        """Raise SchemaError where a field of the header that only this model has is not what it must be."""

    def _estimate_bytes(self, classes: int, features: int) -> int:
        """Return the memory that a model of so many classes and features needs at least, before it is fitted."""
        raise NotImplementedError

    def _fit_dataset(self, dataset: Any) -> Any:
        """`fit` for all examples of some files (`data/load_all.py`)."""
        raise InputError(f"{type(self).__name__} learns from arrays, not from files: use fit in Python.")

    def _build_guarantee(self, delta: float) -> BatchGuarantee:
        """What theorems say of the model."""
        raise InputError(f"{type(self).__name__} declares no theorem: there is nothing to certify.")

    def _member_models(self) -> Sequence[Any]:
        """Models that this one is made of, where there are any: each goes to the file as if it stood alone."""
        return ()

    def _set_member_models(self, members: Sequence[Any]) -> None:
        """The inverse of `made_of`, after `adopt_parts`."""
