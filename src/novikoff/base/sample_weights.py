"""`fit` and `partial_fit` with a sample weight for each example."""

from __future__ import annotations

from typing import Any

from novikoff._compiled.lazy_numpy import ArrayLike
from novikoff.base.estimator import BaseEstimator


class SampleWeightMixin(BaseEstimator):
    """A learner that takes weights of examples; precedes the other base class."""

    def fit(self: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Forget what was learned, then learn (X, y) `passes` times, in random order unless `shuffle` is False.

        An example of weight c makes one step c times as long (for multiplicative learners, of exponents).
        """
        self._fit_rows(X, y, sample_weight)
        return self

    def partial_fit(self: Any, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """Continue learning with one pass over these rows; `classes` names all labels at the first call."""
        return self._partial_fit(X, y, classes, sample_weight)
