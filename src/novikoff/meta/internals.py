"""The internal interface of models that are fitted to all data at once; see `novikoff.base.internals`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from novikoff._compiled.lazy_numpy import NDArray
    from novikoff.meta.batch_estimator import BatchEstimator, BatchGuarantee
    from novikoff.schema import Schema


def fit_dataset(model: BatchEstimator, dataset: Any) -> Any:
    """Fit the model to all examples of some files (`data/load_all.py`)."""
    return model._fit_dataset(dataset)


def estimate_bytes(model: BatchEstimator, classes: int, features: int) -> int:
    """Return the least memory of the model in bytes, before it is fitted."""
    return model._estimate_bytes(classes, features)


def build_guarantee(model: BatchEstimator, confidence: float) -> BatchGuarantee:
    """Return the guarantees of the model."""
    return model._build_guarantee(confidence)


def file_parts_of(model: BatchEstimator) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the content of a model file beside the settings: plain values, and arrays by name."""
    return model._file_parts()


def load_file_parts(model: BatchEstimator, header: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
    """Set what `file_parts_of` has returned."""
    model._load_file_parts(header, tensors)


def check_header(model: BatchEstimator, header: dict[str, Any]) -> None:
    """Raise SchemaError if a header field that only this model has is not valid."""
    model._check_header(header)


def file_schemas_of(model: BatchEstimator, present: Collection[str]) -> dict[str, Schema]:
    """Return the schemas of the arrays of a model file, by prefix."""
    return model._file_schemas(present)


def member_models_of(model: BatchEstimator) -> Sequence[Any]:
    """Return the models that this one is made of."""
    return model._member_models()


def set_member_models(model: BatchEstimator, members: Sequence[Any]) -> None:
    """Set what `member_models_of` has returned."""
    model._set_member_models(members)
