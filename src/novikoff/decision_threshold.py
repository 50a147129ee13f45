"""Set or choose the decision threshold of a model: `novikoff.set_threshold` and `novikoff.choose_threshold`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from novikoff.base import internals
from novikoff.base.decision_threshold import GIVEN, DecisionThreshold, natural_scale
from novikoff.data import validation
from novikoff.data.labels.binary_labels import to_plain_label
from novikoff.errors import InputError
from novikoff.evaluation.thresholds import ThresholdChoice, ThresholdRule

MAX_SCORE = 1.7976931348623157e308
"""The threshold that no score reaches, or only those that are out of range."""


def set_threshold(model: Any, threshold: float | None) -> None:
    """Predict the positive class, classes_[1], from this probability on.

    Learning is not changed by it, nor are the mistakes in the ledger. A model file holds the threshold.

    Parameters
    ----------
    model : estimator
        A fitted model of two classes.
    threshold : float or None
        Between 0 and 1; any score for models without probabilities. None: the sign of the score decides again.

    Examples
    --------
    >>> from novikoff import SGD, set_threshold
    >>> model = SGD().fit([[0.0], [1.0], [2.0], [3.0]], ["ham", "ham", "spam", "spam"])
    >>> set_threshold(model, 0.99)
    >>> model.predict([[3.0]]).tolist()
    ['ham']
    """
    working = check_model(model)
    if threshold is None:
        internals.require_state(working).threshold = None
        return
    scale = natural_scale(working)
    check_value(threshold, scale)
    internals.require_state(working).threshold = DecisionThreshold(float(threshold), scale, GIVEN)


def choose_threshold(model: Any, X: Any, y: Any, rule: str = "f1") -> ThresholdChoice:
    """Choose the threshold on the score by examples that the model has not learned from, and set it.

    Parameters
    ----------
    model : estimator
        A fitted model of two classes.
    X : array, sparse matrix, DataFrame, or list of dicts or texts
        Examples that the model has not learned from.
    y : array
        Their labels.
    rule : str
        "f1"; "precision:P" or "recall:R", a required precision or recall; or "cost:FP:FN", the costs of a false
        positive and of a false negative.

    Returns
    -------
    choice : ThresholdChoice
        The threshold, and precision, recall, F1 and counts on these examples.

    Examples
    --------
    >>> from novikoff import SGD, choose_threshold
    >>> model = SGD().fit([[0.0], [1.0], [2.0], [3.0]], ["ham", "ham", "spam", "spam"])
    >>> choose_threshold(model, [[0.5], [1.5], [1.6], [2.5]], ["ham", "spam", "ham", "spam"], "recall:1").recall
    1.0
    """
    chosen = ThresholdRule.parse(rule)
    working = check_model(model)
    labels = validation.validate_y(y)
    classes = [to_plain_label(label) for label in working.classes_]
    numbers = np.array([to_plain_label(label) for label in labels.tolist()], object)
    if not np.isin(numbers, np.array(classes, object)).all():
        unknown = next(label for label in numbers if label not in classes)
        raise InputError(
            f"y has the label {unknown!r}, but the model has the classes {classes[0]!r} and {classes[1]!r}."
        )
    scores = np.asarray(working.decision_function(X), np.float64)
    validation.check_same_length(len(scores), len(numbers))
    return store_choice(working, chosen, chosen.choose(scores, numbers == classes[1]))


def store_choice(model: Any, rule: ThresholdRule, choice: ThresholdChoice) -> ThresholdChoice:
    """Set the chosen threshold of a model."""
    value = choice.threshold if math.isfinite(choice.threshold) else MAX_SCORE
    internals.require_state(model).threshold = DecisionThreshold(value, "score", str(rule))
    return choice


def check_model(model: Any) -> Any:
    """Return the model that does the work; raise InputError unless it decides between two classes by a score."""
    working = internals.working_model_of(model)
    internals.require_state(working)
    if not internals.decides_by_score(working) or len(working.classes_) != 2:
        raise InputError(
            f"A threshold is for a model that decides between two classes by one score. This {type(model).__name__} has"
            f" {len(working.classes_)} classes or labels, or decides in another way."
        )
    return working


def check_value(threshold: Any, scale: str) -> None:
    """Raise InputError unless a number can be a threshold on this scale."""
    is_number = isinstance(threshold, (int, float, np.number)) and not isinstance(threshold, bool)
    if scale == "probability" and not (is_number and 0.0 < threshold < 1.0):
        raise InputError(f"The threshold is a probability: it must be above 0 and below 1, but is {threshold!r}.")
    if not (is_number and math.isfinite(threshold)):
        raise InputError(f"The threshold must be a finite number, but is {threshold!r}.")
