"""Confusion matrices, and the metrics that follow from them: accuracy, precision, recall, F1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ClassMetrics(NamedTuple):
    """Precision, recall and F1 of one class, or a mean over classes; 0 where a denominator is 0."""

    precision: float
    recall: float
    f1: float
    support: int
    """The number of examples with this label."""


class ConfusionMatrix:
    """Counts of examples by true class (rows) and predicted class (columns).

    Examples
    --------
    >>> matrix = ConfusionMatrix()
    >>> matrix.add(np.array([0, 0, 1]), np.array([0, 1, 1]))
    >>> matrix.counts.tolist(), round(matrix.accuracy, 4)
    ([[1, 1], [0, 1]], 0.6667)
    """

    def __init__(self, n_classes: int = 0) -> None:
        self.counts = np.zeros((n_classes, n_classes), np.int64)

    def add(self, true: NDArray[np.int64], predicted: NDArray[np.int64]) -> None:
        """Count a batch, given as class numbers from 0 on; a larger number than before adds classes."""
        self.reserve(1 + int(max(true.max(initial=-1), predicted.max(initial=-1))))
        n_classes = len(self.counts)
        pairs = np.bincount(true * n_classes + predicted, minlength=n_classes * n_classes)
        self.counts += pairs.reshape(n_classes, n_classes)

    def reserve(self, n_classes: int) -> None:
        """Make room for this number of classes."""
        missing = n_classes - len(self.counts)
        if missing > 0:
            self.counts = np.pad(self.counts, (0, missing))

    @property
    def examples(self) -> int:
        return int(self.counts.sum())

    @property
    def errors(self) -> int:
        return self.examples - int(np.trace(self.counts))

    @property
    def accuracy(self) -> float:
        return _ratio(self.examples - self.errors, self.examples)

    def class_metrics(self) -> list[ClassMetrics]:
        """Return the metrics of each class against all others."""
        return [
            _from_counts(int(hit), int(predicted), int(support))
            for hit, predicted, support in zip(
                np.diag(self.counts), self.counts.sum(axis=0), self.counts.sum(axis=1), strict=True
            )
        ]


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _from_counts(hits: int, predicted: int, support: int) -> ClassMetrics:
    return ClassMetrics(_ratio(hits, predicted), _ratio(hits, support), _ratio(2 * hits, predicted + support), support)


def macro_average(classes: list[ClassMetrics]) -> ClassMetrics:
    """Return the unweighted mean over the classes."""
    return _average(classes, np.ones(len(classes)))


def weighted_average(classes: list[ClassMetrics]) -> ClassMetrics:
    """Return the mean over the classes, each weighted by its support."""
    return _average(classes, np.array([c.support for c in classes], np.float64))


def _average(classes: list[ClassMetrics], weights: NDArray[np.float64]) -> ClassMetrics:
    support = sum(c.support for c in classes)
    if not weights.sum() > 0.0:
        return ClassMetrics(0.0, 0.0, 0.0, support)
    precision, recall, f1 = np.average(np.array([c[:3] for c in classes]), axis=0, weights=weights).tolist()
    return ClassMetrics(precision, recall, f1, support)


class LabelSetCounts:
    """Counts for examples that have a set of labels each: true positives, false positives and false negatives of each
    label, and how many sets are right as a whole."""

    def __init__(self, n_labels: int) -> None:
        self.true_positives, self.predicted, self.support = (np.zeros(n_labels, np.int64) for _ in range(3))
        self.examples = self.exact_matches = self.wrong_labels = 0

    def reserve(self, n_labels: int) -> None:
        """Make room for this number of labels."""
        missing = max(0, n_labels - len(self.support))
        self.true_positives, self.predicted, self.support = (
            np.pad(counts, (0, missing)) for counts in (self.true_positives, self.predicted, self.support)
        )

    def add(self, true: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> None:
        """Count a batch, given as two matrices with a row for each example and a column for each label."""
        wrong = true != predicted
        self.true_positives += (true & predicted).sum(axis=0)
        self.predicted += predicted.sum(axis=0)
        self.support += true.sum(axis=0)
        self.examples += len(true)
        self.exact_matches += int((~wrong.any(axis=1)).sum())
        self.wrong_labels += int(wrong.sum())

    @property
    def hamming_loss(self) -> float:
        """The share of wrong entries of the matrix of examples and labels."""
        return _ratio(self.wrong_labels, self.examples * len(self.support))

    @property
    def exact_match(self) -> float:
        """The share of examples whose whole set is right."""
        return _ratio(self.exact_matches, self.examples)

    def class_metrics(self) -> list[ClassMetrics]:
        return [
            _from_counts(int(hits), int(predicted), int(support))
            for hits, predicted, support in zip(self.true_positives, self.predicted, self.support, strict=True)
        ]

    def micro_average(self) -> ClassMetrics:
        """Return the metrics of all decisions together."""
        return _from_counts(int(self.true_positives.sum()), int(self.predicted.sum()), int(self.support.sum()))
