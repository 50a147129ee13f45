"""One-vs-all: a binary learner for each class against all others.

Predict   the class whose learner has the highest score, the first of equals
Update    every learner learns every example, positive for its own class; a new class starts when it arrives
Bound     M ≤ Σ_c M_c: if every learner is right, only the right class has a score above 0
"""

from __future__ import annotations

from typing import final

from novikoff.base.online_classifier import TIE_SIGNS, OnlineClassifier
from novikoff.core.multiclass.schemes import ONE_VS_REST, Scheme
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.multiclass.base import MulticlassClassifier, check_column_learner
from novikoff.multiclass.column_bounds import ONE_PER_MISTAKE

__all__ = ["OneVsAll"]


@final
class OneVsAll(MulticlassClassifier):
    """A binary learner for each class against all others; the highest score wins.

    All learners run in one loop, with their weights side by side; each has the same bytes as a separate learner.

    Parameters
    ----------
    estimator : estimator
        The binary learner, by default AROW(). Its settings are settings of the whole model.

    Examples
    --------
    >>> from novikoff import OneVsAll, Perceptron
    >>> X, y = [[0, 2], [2, 0], [-2, 0], [1, 3], [4, 1], [-3, 1]], ["up", "right", "left", "up", "right", "left"]
    >>> OneVsAll(Perceptron(passes=20)).fit(X, y).predict([[0, 5], [5, 0], [-5, 0]]).tolist()
    ['up', 'right', 'left']
    """

    _outcome_type = "columns"
    _has_single_labels = True
    _columns_are_one_vs_rest = True

    def __init__(self, estimator: OnlineClassifier | None = None) -> None:
        self.estimator = estimator

    def _check_learner(self) -> None:
        check_column_learner(self)

    def _scheme(self, classes: ClassLabels) -> Scheme:
        return Scheme(ONE_VS_REST, TIE_SIGNS[self._inner_learner.tie])

    def _mistakes_per_column(self) -> tuple[float, str]:
        return ONE_PER_MISTAKE
