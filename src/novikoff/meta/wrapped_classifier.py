"""A learner around another one, which runs as it does alone: parts and settings are those of the learner inside."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from novikoff.base.internals import build_loss, feature_range_of, fixed_width_reason_of
from novikoff.base.online import LinearClassifier
from novikoff.base.single_example import learn_as_batch
from novikoff.meta.base import MetaEstimator


class WrappedClassifier(MetaEstimator, LinearClassifier):
    """Abstract."""

    _multiclass_support = "no"

    @property
    def fit_intercept(self) -> bool:  # type: ignore[override]
        return bool(self._inner_learner.fit_intercept)

    @property
    def passes(self) -> int:  # type: ignore[override]
        return int(self._inner_learner.passes)

    @property
    def shuffle(self) -> bool:  # type: ignore[override]
        return bool(self._inner_learner.shuffle)

    @property
    def _shuffle_seed(self) -> int:
        return int(self._inner_learner.random_state)

    @property
    def tie(self) -> Any:
        return self._inner_learner.tie

    def _build_loss(self) -> Any:
        return build_loss(self._inner_learner)

    def _feature_range(self) -> tuple[float, float]:
        low, high = feature_range_of(self._inner_learner)
        return float(low), float(high)

    def _fixed_width_reason(self) -> str | None:
        why: str | None = fixed_width_reason_of(self._inner_learner)
        return why

    def _run_settings(self) -> dict[str, Any]:
        mine = {name: value for name, value in self.get_params(deep=False).items() if name != "estimator"}
        return {**mine, **self._inner_settings()}

    # --- One example at a time, as a batch of one: its own way of learning sees all of them ---

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learns one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array."""
        learn_as_batch(self, x, y)
        return self

    def _encode_label(self, y: Any, known: Any) -> tuple[Any, Any]:
        return np.array([known.sign(y)], np.int8), known

    _score_terms = LinearClassifier._score_row
