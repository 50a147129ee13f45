"""Base class of models that are fitted to all data at once: without a run or a ledger, but with model files."""

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
    """The content of a certificate, as a document has it."""

    observed: dict[str, Any]
    bounds: list[dict[str, Any]]
    """The statements about the training data; each with name, counts, statement, made, allowed, verdict, assumes and
    numbers."""
    new_data: dict[str, Any] | None
    """The statements about the error on new data, with their assumptions."""


class BatchEstimator(BaseEstimator, ABC):
    """An abstract model that is fitted to all data at once."""

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
        """Return the content of a model file beside the settings: plain values, and arrays by name."""

    @abstractmethod
    def _load_file_parts(self, header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
        """Set what `_file_parts` has returned."""

    @abstractmethod
    def _file_schemas(self, present: Collection[str]) -> dict[str, Schema]:
        """Return the schemas of the arrays of a model file, by prefix; `present` are the names in the file."""

    def _check_header(self, header: dict[str, Any]) -> None:
        """Raise SchemaError if a header field that only this model has is not valid."""

    def _estimate_bytes(self, classes: int, features: int) -> int:
        """Return the least memory of a model with this number of classes and features, before it is fitted."""
        raise NotImplementedError

    def _fit_dataset(self, dataset: Any) -> Any:
        """Fit the model to all examples of some files (`data/load_all.py`)."""
        raise InputError(f"{type(self).__name__} learns from arrays, not from files: use fit in Python.")

    def _build_guarantee(self, delta: float) -> BatchGuarantee:
        """Return the guarantees that theorems give for the model."""
        raise InputError(f"{type(self).__name__} declares no theorem: there is nothing to certify.")

    def _member_models(self) -> Sequence[Any]:
        """Return the models that this one is made of; each is written to the file like a separate model."""
        return ()

    def _set_member_models(self, members: Sequence[Any]) -> None:
        """Set what `_member_models` has returned; called after `_load_file_parts`."""
