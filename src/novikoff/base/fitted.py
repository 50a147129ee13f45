"""Attributes of fitted models, as functions of the model: features, their deviations, mistakes of fit, accuracy."""

from __future__ import annotations

from typing import Any

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data import validation
from novikoff.data.shuffle.permutation import permutation


def list_feature_names(model: Any) -> NDArray[Any]:
    """Return the names of the features; raise AttributeError if they have none."""
    names = model._require_attribute("feature_names_in_").names
    if names is None:
        raise AttributeError(f"The features of this {type(model).__name__} have no names.")
    return np.array(list(names.columns), object)


def estimate_deviations(model: Any, name: str = "feature_std_") -> NDArray[np.float64]:
    """Return the standard deviation of each feature, estimated from a sample of the learned examples; 0 where no
    sampled example has a value other than 0."""
    state = model._require_attribute(name)
    if not state.feature_sample.is_recording:
        raise AttributeError(f"{type(model).__name__} has no single weight vector, and so no {name}.")
    deviations: NDArray[np.float64] = state.feature_sample.deviations(state.features)[0]
    return deviations


def compute_importances(model: Any) -> NDArray[np.float64]:
    """Return |weight| × standard deviation of each feature: how much it moves the score. With several columns of
    weights, the largest counts. Unlike those of scikit-learn's trees, importances don't add up to 1. The deviation is
    an estimate (see `feature_std_`): the importance of a feature that no sampled example has, such as a rare word, is
    0.

    The deviation is an estimate (see `feature_std_`): the importance of a feature that no sampled example has, such
    as a rare word, is 0 whatever its weight."""
    deviations = estimate_deviations(model, "feature_importances_")
    importances: NDArray[np.float64] = np.abs(model.coef_).max(axis=0, initial=0.0) * deviations
    return importances


def find_mistake_rows(model: Any) -> NDArray[np.int64]:
    """Return the rows of fit's X on which the mistakes in `ledger_.mistake_times` were made, in that order.

    With shuffling, a mistake at time t is not a mistake on row t. A row that was wrong in several passes is listed once
    for each. Raise AttributeError if the run has other examples than those of fit.
    """
    state = model._require_attribute("mistake_rows_")
    times, record = state.ledger.mistake_times - 1, state.shuffle
    rows = state.fit_row_count if record is None else record["rows"]
    if rows == 0 or state.ledger.examples != rows * int(model.passes):
        raise AttributeError("mistake_rows_ is only known after fit, if all rows have a weight above 0.")
    passes, places = np.divmod(times, rows)
    if record is None:
        return places
    found = buffers.empty(len(times), "int64")
    for number in np.unique(passes).tolist():
        chosen = passes == number
        found[chosen] = permutation(record["random_state"], number, rows)[places[chosen]]
    return found


def compute_accuracy(predicted: NDArray[Any], y: Any, sample_weight: Any = None) -> float:
    """Return the share of rows whose label is predicted."""
    return float(np.average(predicted == validation.validate_y(y, len(predicted)), weights=sample_weight))
