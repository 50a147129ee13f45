"""Choice of a decision threshold on labelled scores: an example is predicted positive if its score ≥ threshold.

Every distinct score is a candidate, and so is infinity, at which nothing is predicted positive. Equal scores are never
separated. Between candidates of equal value the highest threshold is chosen: it predicts the fewest positives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from novikoff.errors import InputError

THRESHOLD_RULES = "f1, precision:P, recall:R or cost:FP:FN"


class ThresholdChoice(NamedTuple):
    """A threshold, and what it does on the examples that it was chosen on."""

    threshold: float
    """Infinity if nothing is to be predicted positive."""
    precision: float
    """0 if nothing is predicted positive."""
    recall: float
    f1: float
    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int


class _Counts(NamedTuple):
    """Counts at all thresholds: true and false positives, false and true negatives."""

    tp: NDArray[np.int64]
    fp: NDArray[np.int64]
    fn: NDArray[np.int64]
    tn: NDArray[np.int64]


class ThresholdRule(NamedTuple):
    """What a threshold is chosen for, as users write it: f1, precision:P, recall:R or cost:FP:FN."""

    name: str
    numbers: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> ThresholdRule:
        """Return the rule of a text; raise InputError if there is none.

        >>> ThresholdRule.parse("cost:1:10").numbers
        (1.0, 10.0)
        """
        name, *parts = str(text).split(":")
        try:
            numbers = tuple(float(part) for part in parts)
        except ValueError:
            numbers = (math.nan,)
        wanted = {"f1": 0, "precision": 1, "recall": 1, "cost": 2}.get(name)
        if wanted is None or len(numbers) != wanted or not all(map(math.isfinite, numbers)):
            raise InputError(f"A threshold is chosen for {THRESHOLD_RULES}, but not for {text!r}.")
        if name in ("precision", "recall"):
            _check_share(name, numbers[0])
        return cls(name, numbers)

    def choose(self, scores: ArrayLike, labels: ArrayLike) -> ThresholdChoice:
        """Return the best threshold on these examples; labels are true for the positive class."""
        if self.name == "f1":
            return choose_for_f1(scores, labels)
        if self.name == "precision":
            return choose_for_precision(scores, labels, *self.numbers)
        if self.name == "recall":
            return choose_for_recall(scores, labels, *self.numbers)
        return choose_for_cost(scores, labels, false_positive=self.numbers[0], false_negative=self.numbers[1])

    def __str__(self) -> str:
        return ":".join([self.name, *(f"{number:g}" for number in self.numbers)])


def choose_for_f1(scores: ArrayLike, labels: ArrayLike) -> ThresholdChoice:
    """Return the threshold with the highest F1 of the positive class.

    >>> choose_for_f1([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]).threshold
    0.35
    """
    return _choose(scores, labels, lambda n: _ratios(2 * n.tp, 2 * n.tp + n.fp + n.fn))


def choose_for_cost(
    scores: ArrayLike, labels: ArrayLike, *, false_positive: float, false_negative: float
) -> ThresholdChoice:
    """Return the threshold with the lowest total cost of wrong predictions.

    >>> choose_for_cost([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], false_positive=5, false_negative=1).threshold
    0.8
    """
    for name, cost in (("false_positive", false_positive), ("false_negative", false_negative)):
        if not 0.0 <= cost < math.inf:
            raise InputError(f"{name} must be a finite cost of at least 0, but is {cost!r}.")
    return _choose(scores, labels, lambda n: -(false_positive * n.fp + false_negative * n.fn))


def choose_for_precision(scores: ArrayLike, labels: ArrayLike, precision: float) -> ThresholdChoice:
    """Return the threshold with the highest recall among those with at least this precision.

    Raise InputError if no threshold has it.

    >>> choose_for_precision([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], 0.6).recall
    1.0
    """
    _check_share("precision", precision)

    reached = _choose(
        scores, labels, lambda n: np.where((n.tp > 0) & (_ratios(n.tp, n.tp + n.fp) >= precision), n.tp, -1)
    )
    if not reached.true_positives:
        best = _choose(scores, labels, lambda n: _ratios(n.tp, n.tp + n.fp)).precision
        raise InputError(f"No threshold has precision {precision:g}: the highest on these examples is {best:.4g}.")
    return reached


def choose_for_recall(scores: ArrayLike, labels: ArrayLike, recall: float) -> ThresholdChoice:
    """Return the threshold with the highest precision among those with at least this recall.

    >>> choose_for_recall([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], 0.5).threshold
    0.8
    """
    _check_share("recall", recall)

    return _choose(
        scores, labels, lambda n: np.where(_ratios(n.tp, n.tp + n.fn) >= recall, _ratios(n.tp, n.tp + n.fp), -1.0)
    )


def _choose(scores: ArrayLike, labels: ArrayLike, value: Callable[[_Counts], NDArray[Any]]) -> ThresholdChoice:
    """Return the highest threshold with the highest value."""
    s, positive = _validate(scores, labels)
    order = np.argsort(-s, kind="stable")
    s, positive = s[order], positive[order]
    ends = np.flatnonzero(np.append(s[1:] != s[:-1], True)) + 1  # of each run of equal scores
    cuts = np.concatenate([[0], ends])
    tp = np.concatenate([[0], np.cumsum(positive)])[cuts]
    fp = cuts - tp
    found = _Counts(tp, fp, tp[-1] - tp, fp[-1] - fp)
    k = int(np.argmax(value(found)))
    threshold = math.inf if k == 0 else float(s[cuts[k] - 1])
    counts = [int(array[k]) for array in found]
    return ThresholdChoice(threshold, *_measure(*counts[:3]), *counts)


def _measure(tp: int, fp: int, fn: int) -> tuple[float, float, float]:
    parts = ((tp, tp + fp), (tp, tp + fn), (2 * tp, 2 * tp + fp + fn))
    precision, recall, f1 = (part / whole if whole else 0.0 for part, whole in parts)
    return precision, recall, f1


def _ratios(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _validate(scores: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    s, y = np.asarray(scores, np.float64), np.asarray(labels)
    if s.ndim != 1 or y.shape != s.shape:
        raise InputError(f"Scores and labels must be two arrays of equal length, but have shapes {s.shape}, {y.shape}.")
    if not np.isfinite(s).all():
        raise InputError("Scores must be finite numbers.")
    if not np.isin(y, (0, 1)).all():
        raise InputError("Labels must be 0 or 1, or False or True, with 1 for the positive class.")
    positive = y.astype(bool)
    if not positive.any():
        raise InputError("A threshold is chosen on examples of the positive class, but there is none.")
    return s, positive


def _check_share(name: str, value: float) -> None:
    if not 0.0 < value <= 1.0:
        raise InputError(f"{name} must be above 0 and at most 1, but is {value!r}.")
