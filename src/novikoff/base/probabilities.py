"""Probabilities of classes, from scores: native for the logistic loss, otherwise calibrated online.

The calibration (core/calibration.py) is a part of the ledger's counters. The loop updates it from progressive scores,
so it is the same for all ways to learn the same examples.
"""

from __future__ import annotations

from typing import Any, Literal

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.core.calibration import (
    TOTAL_WEIGHT,
    write_class_probabilities,
    write_logistic_probabilities,
    write_probabilities,
)
from novikoff.ledger import Ledger

ProbabilityType = Literal["none", "logistic", "softmax", "calibrated"]
"""How scores become probabilities: not at all, by the logistic function, as log-probabilities, or by a calibration."""
NO_PROBABILITIES = "its scores don't estimate probabilities."


def probability_type_of(model: Any) -> ProbabilityType:
    """Return how the scores of the model become probabilities, from its settings."""
    if not model._has_probabilities:
        return "none"
    if model._scores_are_log_odds():
        return "softmax" if model._scores_are_log_probabilities() else "logistic"
    return "calibrated" if model._is_calibrated() else "none"


def explain_missing_probabilities(model: Any) -> str | None:
    """Return why the model has no probabilities; None if it has."""
    if not getattr(model, "_has_probabilities", False):
        return NO_PROBABILITIES
    if probability_type_of(model) == "none":
        if not hasattr(model._inner_learner, "calibrate"):
            return NO_PROBABILITIES
        return "it was made with calibrate=False."
    state = model._state
    if state is not None and probability_type_of(model) == "calibrated":
        return explain_missing_calibration(state.ledger)
    return None


def explain_missing_calibration(ledger: Ledger) -> str | None:
    """Return why a run has no calibration; None if it has."""
    calibration = ledger.book.calibration
    if len(calibration) == 0 or calibration[TOTAL_WEIGHT] == 0.0:
        return (
            "no example of its run calibrated its scores: a cluster learned it, or all examples have one label or the"
            " weight 0."
        )
    return None


# --- Predicting ---


def to_binary_probabilities(model: Any, scores: NDArray[np.float64], tie: float) -> NDArray[np.float64]:
    """Return a row with the probabilities of classes_ for each score. A label that is predicted has more than ½."""
    known = len(model.classes_)
    if known < 2:
        return np.ones((len(scores), known))
    found = np.empty((len(scores), 2))
    positive = np.empty(len(scores))
    if probability_type_of(model) == "logistic":
        write_logistic_probabilities(np.ascontiguousarray(scores), tie, positive)
    else:
        write_probabilities(
            model._require_fitted().ledger.book.calibration, np.ascontiguousarray(scores), tie, positive
        )
    found[:, 0], found[:, 1] = 1.0 - positive, positive
    return found


def to_label_probabilities(model: Any, scores: NDArray[np.float64], tie: float) -> NDArray[np.float64]:
    """Return the probability of each label for each row of label scores: labels don't exclude each other."""
    found = np.empty(scores.size)
    if probability_type_of(model) == "logistic":
        write_logistic_probabilities(np.ascontiguousarray(scores).reshape(-1), tie, found)
    else:
        calibration = model._require_fitted().ledger.book.calibration
        write_probabilities(calibration, np.ascontiguousarray(scores).reshape(-1), tie, found)
    return found.reshape(scores.shape)


def to_class_probabilities(model: Any, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of each class for each row of class scores, in the order of the scores."""
    if scores.shape[1] < 2:
        return np.ones(scores.shape)
    if probability_type_of(model) == "logistic":  # one class against the rest: normalised, as in scikit-learn
        found = to_label_probabilities(model, scores, 0.0)
        return found / found.sum(axis=1, keepdims=True)
    if probability_type_of(model) == "softmax":
        exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)
    found = np.empty(scores.shape)
    write_class_probabilities(model._require_fitted().ledger.book.calibration, np.ascontiguousarray(scores), found)
    return found
