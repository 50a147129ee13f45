"""Accumulators that take predictions batch by batch and give a result at the end, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from novikoff.evaluation import curves
from novikoff.evaluation.baselines import BaselineCounts
from novikoff.evaluation.confusion import ClassMetrics, ConfusionMatrix, LabelSetCounts, macro_average, weighted_average
from novikoff.evaluation.intervals import error_interval
from novikoff.evaluation.probabilities import ProbabilityLosses, expected_calibration_error, reliability_bins
from novikoff.evaluation.results import ClassificationResult, LabelSetResult, SliceResult
from novikoff.evaluation.score_histogram import score_histogram
from novikoff.evaluation.score_store import ScoreStore

DEFAULT_DELTA = 0.05
UNLABELLED = -1
MAX_SLICES = 1000
"""Maximum number of values of a column by which the error is split; others are counted together."""
OTHER_VALUES = "(other values)"

Codes = NDArray[np.int64]


class LabelIndex:
    """Numbers for labels by their text: those of the model first, others in the order in which they appear."""

    def __init__(self, classes: Sequence[str]) -> None:
        self.known = len(classes)
        self.numbers = {label: k for k, label in enumerate(classes)}

    def encode(self, labels: Sequence[str]) -> Codes:
        return np.array([self.numbers.setdefault(label, len(self.numbers)) for label in labels], np.int64)

    @property
    def labels(self) -> list[str]:
        return list(self.numbers)


class ClassificationEvaluator:
    """Evaluates predictions of one label for each example. A context manager, since scores may be on disk.

    `index` has the classes of the model first; for two classes the second one is positive.
    """

    def __init__(self, index: LabelIndex, delta: float = DEFAULT_DELTA) -> None:
        self.index, self.delta = index, delta
        self.matrix, self.baselines, self.losses = ConfusionMatrix(index.known), BaselineCounts(), ProbabilityLosses()
        self.scores = ScoreStore(), ScoreStore()
        """Scores of negative and of positive examples, for two classes."""
        self.probabilities = ScoreStore(), ScoreStore()
        self.tree_edges: int | None = None
        self._slices: dict[str, list[int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for store in (*self.scores, *self.probabilities):
            store.close()

    @property
    def is_binary(self) -> bool:
        """Whether the model has two classes, and so scores of a positive class."""
        return self.index.known == 2

    def add(
        self,
        true: Codes,
        predicted: Codes,
        *,
        scores: NDArray[np.float64] | None = None,
        probabilities: NDArray[np.float64] | None = None,
        slices: Sequence[str] | None = None,
    ) -> NDArray[np.bool_]:
        """Add a batch and return which of its labelled predictions are wrong.

        `scores` are those of the positive class, `probabilities` have a column for each class of the model. Examples
        whose true label is UNLABELLED do not count.
        """
        labelled = true != UNLABELLED
        true, predicted = true[labelled], predicted[labelled]
        wrong: NDArray[np.bool_] = true != predicted
        self.matrix.add(true, predicted)
        self.baselines.add(true)
        if scores is not None and self.is_binary:
            self._store(self.scores, scores[labelled], true)
        if probabilities is not None:
            self.losses.add(probabilities[labelled], np.where(true < self.index.known, true, -1))
            if self.is_binary:
                self._store(self.probabilities, probabilities[labelled, 1], true)
        if slices is not None:
            self._count_slices([value for value, counts in zip(slices, labelled, strict=True) if counts], wrong)
        return wrong

    def add_tree_edges(self, edges: int) -> None:
        """Add the edges between true and predicted labels of a batch, where labels are the nodes of a tree."""
        self.tree_edges = edges + (self.tree_edges or 0)

    def _store(self, stores: tuple[ScoreStore, ScoreStore], numbers: NDArray[np.float64], true: Codes) -> None:
        """Store the scores by true class; skip examples of classes that the model does not know."""
        for code, store in enumerate(stores):
            store.add(numbers[true == code])

    def _count_slices(self, values: Sequence[str], wrong: NDArray[np.bool_]) -> None:
        names, numbers = np.unique(np.array(values, object).astype(str), return_inverse=True)
        examples = np.bincount(numbers, minlength=len(names))
        errors = np.bincount(numbers, weights=wrong, minlength=len(names))
        for name, count, failed in zip(names.tolist(), examples.tolist(), errors.tolist(), strict=True):
            known = name in self._slices or len(self._slices) < MAX_SLICES
            counts = self._slices.setdefault(name if known else OTHER_VALUES, [0, 0])
            counts[0] += count
            counts[1] += int(failed)

    def result(self) -> ClassificationResult:
        classes = self.index.labels
        self.matrix.reserve(len(classes))
        metrics = self.matrix.class_metrics()
        present = [m for m, column in zip(metrics, self.matrix.counts.sum(axis=0), strict=True) if m.support or column]
        errors, examples, accuracy = self.matrix.errors, self.matrix.examples, self.matrix.accuracy
        return ClassificationResult(
            examples=examples,
            errors=errors,
            accuracy=accuracy,
            error=errors / examples if examples else 0.0,
            error_interval=error_interval(errors, examples, self.delta),
            confidence=1.0 - self.delta,
            classes=classes,
            confusion=self.matrix.counts.tolist(),
            per_class=dict(zip(classes, metrics, strict=True)),
            micro=ClassMetrics(accuracy, accuracy, accuracy, examples),
            macro=macro_average(present),
            weighted=weighted_average(metrics),
            majority_accuracy=self.baselines.majority_accuracy,
            no_change_accuracy=self.baselines.no_change_accuracy,
            positive=classes[1] if self.is_binary else None,
            slices=self._slice_results(),
            tree_loss=None if self.tree_edges is None or not examples else self.tree_edges / examples,
            **self._score_figures(),
            **self._probability_figures(),
        )

    def _score_figures(self) -> dict[str, Any]:
        negatives, positives = (store.get_sorted() for store in self.scores)
        if not len(negatives) or not len(positives):
            return {}
        roc, precision_recall = (
            curves.roc_curve(positives, negatives),
            curves.precision_recall_curve(positives, negatives),
        )
        return {
            "auc": curves.auc_with_interval(positives, negatives, self.delta),
            "average_precision": curves.average_precision(positives, negatives),
            "roc": tuple(side.tolist() for side in roc),
            "precision_recall": tuple(side.tolist() for side in precision_recall),
            "score_histogram": score_histogram(positives, negatives),
        }

    def _probability_figures(self) -> dict[str, Any]:
        if not self.losses.examples:
            return {}
        figures: dict[str, Any] = {"log_loss": self.losses.log_loss, "brier": self.losses.brier}
        if self.is_binary:
            negatives, positives = (store.get_sorted() for store in self.probabilities)
            bins = reliability_bins(positives, negatives)
            figures |= {"reliability": bins, "calibration_error": expected_calibration_error(bins)}
        return figures

    def _slice_results(self) -> list[SliceResult]:
        """Return the results of the slices, largest first."""
        return [
            SliceResult(name, count, errors, errors / count, error_interval(errors, count, self.delta))
            for name, (count, errors) in sorted(self._slices.items(), key=lambda item: (-item[1][0], item[0]))
        ]


class LabelSetEvaluator:
    """Evaluates predictions of a set of labels for each example."""

    def __init__(self, index: LabelIndex, delta: float = DEFAULT_DELTA) -> None:
        self.index, self.delta = index, delta
        self.counts = LabelSetCounts(index.known)

    def add(self, true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> None:
        """Add a batch of label sets. A label that the model does not know counts as one more label, never predicted."""
        for labels in true:
            self.index.encode(labels)
        self.counts.reserve(len(self.index.labels))
        self.counts.add(self._to_matrix(true), self._to_matrix(predicted))

    def _to_matrix(self, sets: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
        matrix = np.zeros((len(sets), len(self.index.labels)), bool)
        for row, labels in zip(matrix, sets, strict=True):
            row[self.index.encode(labels)] = True
        return matrix

    def result(self) -> LabelSetResult:
        metrics, counts = self.counts.class_metrics(), self.counts
        wrong = counts.examples - counts.exact_matches
        return LabelSetResult(
            examples=counts.examples,
            hamming_loss=counts.hamming_loss,
            exact_match=counts.exact_match,
            error=1.0 - counts.exact_match,
            error_interval=error_interval(wrong, counts.examples, self.delta),
            confidence=1.0 - self.delta,
            per_class=dict(zip(self.index.labels, metrics, strict=True)),
            micro=counts.micro_average(),
            macro=macro_average(metrics),
        )
