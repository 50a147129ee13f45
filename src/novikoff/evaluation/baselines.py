"""Accuracies that a model must beat: always the most frequent label, or always the label of the example before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class BaselineCounts:
    """Counts what the two trivial predictors get right, batch by batch."""

    def __init__(self) -> None:
        self.label_counts = np.zeros(0, np.int64)
        self.unchanged = 0
        self._last: int | None = None

    def add(self, true: NDArray[np.int64]) -> None:
        """Count a batch of class numbers from 0 on, in the order of the stream."""
        if not len(true):
            return
        counts = np.bincount(true, minlength=len(self.label_counts))
        counts[: len(self.label_counts)] += self.label_counts
        self.label_counts = counts
        self.unchanged += int((true[1:] == true[:-1]).sum()) + int(self._last == int(true[0]))
        self._last = int(true[-1])

    @property
    def examples(self) -> int:
        return int(self.label_counts.sum())

    @property
    def majority_accuracy(self) -> float:
        """The share of the most frequent label in these data."""
        return int(self.label_counts.max(initial=0)) / self.examples if self.examples else 0.0

    @property
    def no_change_accuracy(self) -> float:
        """The share of examples with the label of the example before; the first one counts as wrong."""
        return self.unchanged / self.examples if self.examples else 0.0
