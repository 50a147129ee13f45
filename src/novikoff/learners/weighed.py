"""Learners for which an example may have a weight."""

from __future__ import annotations

from typing import Any, Self

from novikoff._arrays import ArrayLike
from novikoff.learners.events import OneByOne


class Weighed(OneByOne):
    """Abstract. An example of weight c makes one step c times as long (for multiplicative learners, of exponents)."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forgets, then learns (X, y), `passes` times. An example of weight c makes one step c times as long."""
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learns these rows once, going on from before; `classes` names both labels at the first call."""
        return self._partial_fit(X, y, classes, sample_weight)
