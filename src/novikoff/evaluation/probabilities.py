"""Quality of predicted probabilities: log-loss, Brier score, reliability and expected calibration error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MIN_PROBABILITY = float(np.finfo(np.float64).eps)
"""Probabilities are clipped to this distance from 0 and 1 before the logarithm, as scikit-learn does."""
RELIABILITY_BINS = 15

Probabilities = NDArray[np.float64]


class ProbabilityLosses:
    """Sums of the log-loss and of the Brier score, filled batch by batch."""

    def __init__(self) -> None:
        self.examples = 0
        self._log_loss = self._brier = 0.0

    def add(self, probabilities: Probabilities, true: NDArray[np.int64]) -> None:
        """Add a batch: a row of class probabilities and the number of the true class for each example; −1 for a class
        that the model does not know, whose probability is 0."""
        known = true >= 0
        rows = np.flatnonzero(known)
        of_true = np.zeros(len(true))
        of_true[rows] = probabilities[rows, true[rows]]
        self.examples += len(true)
        self._log_loss -= float(np.log(np.clip(of_true, MIN_PROBABILITY, 1.0 - MIN_PROBABILITY)).sum())
        squares = np.square(probabilities).sum(axis=1) - 2.0 * of_true + 1.0
        self._brier += float(squares.sum()) / (2.0 if probabilities.shape[1] == 2 else 1.0)

    @property
    def log_loss(self) -> float:
        """The mean of −ln p(true class)."""
        return self._log_loss / self.examples if self.examples else 0.0

    @property
    def brier(self) -> float:
        """The mean squared error: of the positive class for two classes, summed over the classes for more."""
        return self._brier / self.examples if self.examples else 0.0


class ReliabilityBin(NamedTuple):
    """Examples with similar predicted probabilities of the positive class."""

    mean_probability: float
    observed_rate: float
    examples: int


def reliability_bins(
    positives: Probabilities, negatives: Probabilities, bins: int = RELIABILITY_BINS
) -> list[ReliabilityBin]:
    """Return bins of about equal size, equal probabilities in one bin; both arrays are sorted probabilities of the
    positive class, of examples of either class.

    >>> [b.examples for b in reliability_bins(np.array([0.6, 0.9]), np.array([0.1, 0.2]), bins=2)]
    [2, 2]
    """
    total = len(positives) + len(negatives)
    edges = [_order_statistic(positives, negatives, total * k // bins - 1) for k in range(1, bins) if total * k >= bins]
    edges = sorted({*edges, 1.0}) if total else []
    found, low = [], (0, 0)
    for edge in edges:
        high = int(np.searchsorted(positives, edge, "right")), int(np.searchsorted(negatives, edge, "right"))
        count = sum(high) - sum(low)
        if count:
            mass = float(np.sum(positives[low[0] : high[0]])) + float(np.sum(negatives[low[1] : high[1]]))
            found.append(ReliabilityBin(mass / count, (high[0] - low[0]) / count, count))
        low = high
    return found


def _order_statistic(a: Probabilities, b: Probabilities, rank: int) -> float:
    """Return the number at this rank, from 0 on, of both sorted arrays together."""
    low, high = max(0, rank + 1 - len(b)), min(rank + 1, len(a))
    while low < high:  # of the smallest rank + 1 numbers, how many are in a?
        middle = (low + high) // 2
        if a[middle] < b[rank - middle]:
            low = middle + 1
        else:
            high = middle
    candidates = ([a[low - 1]] if low else []) + ([b[rank - low]] if low <= rank else [])
    return float(max(candidates))


def expected_calibration_error(bins: list[ReliabilityBin]) -> float:
    """Return the mean over all examples of |observed rate − mean probability| of their bin."""
    total = sum(b.examples for b in bins)
    return sum(b.examples * abs(b.observed_rate - b.mean_probability) for b in bins) / total if total else 0.0
