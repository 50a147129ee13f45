"""Learners for which an example may have a weight."""

from __future__ import annotations

from typing import Any, Self

from novikoff._compiled.lazy_numpy import ArrayLike
from novikoff.base.online import LinearClassifier


class SampleWeightClassifier(LinearClassifier):
    """Abstract. An example of weight c makes one step c times as long (for multiplicative learners, of exponents)."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget what was learned, then learn (X, y) `passes` times, in random order unless `shuffle` is False.

        An example of weight c makes one step c times as long.
        """
        self._fit_rows(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learns these rows once, going on from before; `classes` names both labels at the first call."""
        return self._partial_fit(X, y, classes, sample_weight)
