"""Learners with any number of classes: labels are numbers from 0 on, and a new one is welcome at any time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from novikoff.base.row_training import RowLoopClassifier
from novikoff.base.single_example import learn_as_batch
from novikoff.data import validation
from novikoff.data.labels.class_labels import ClassLabels


class MulticlassOnlineClassifier(RowLoopClassifier):
    """Abstract."""

    _needs_two_classes = False
    _accepts_multiclass = True

    # --- Labels ---

    def _empty_labels(self) -> ClassLabels:
        return ClassLabels()

    def _encode_labels(self, y: Any, examples: int, known: ClassLabels | None = None) -> tuple[Any, ClassLabels]:
        y = validation.validate_y(y, examples)
        return ClassLabels.found(y) if known is None else known.encode(y)

    def _labels_from_file(self, listed: list[Any], *, rest: str) -> ClassLabels:
        return ClassLabels(listed)

    def _label_reader(self, labels: Any, left_out: Any) -> Any:
        from novikoff.data.labels.label_encoding import ClassLabelEncoder

        return ClassLabelEncoder(labels, leave_out=left_out)

    # --- Learning ---

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget what was learned, then learn (X, y) `passes` times, in random order unless `shuffle` is False."""
        self._fit_rows(X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learns these rows once, going on from before. A class that was never seen is welcome at any time; `classes`
        names some beforehand."""
        return self._partial_fit(X, y, classes, sample_weight)

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learns one example: x is a dict of feature → number, a sequence of feature names, or a 1-D array.

        Features are names (a new one is a new feature) or column numbers. A refused example leaves all as it was.
        """
        learn_as_batch(self, x, y)
        return self

    def _encode_label(self, y: Any, known: Any) -> tuple[Any, Any]:
        known = known.copy()
        return np.array([known.number(y)]), known

    # --- Predicting ---

    def _format_label(self, label: Any) -> str:
        return str(label)
