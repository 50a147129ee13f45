"""All-vs-all: a binary learner for each pair of classes.

Predict   majority: the class that wins most pairs, the first of equals; tournament: the winner so far is compared with
          the next class
Update    an example is learned by the k − 1 learners of its class; a pair starts when both classes are known
Bound     M ≤ Σ M_ij: if the k − 1 learners of the right class are right, it wins more pairs than any other, and every
          comparison of a tournament
"""

from __future__ import annotations

from typing import Literal, final

from novikoff.base.estimator import check_choice
from novikoff.base.online_classifier import TIE_SIGNS, OnlineClassifier
from novikoff.core.multiclass.schemes import ONE_VS_ONE, Scheme
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.multiclass.base import MulticlassClassifier, check_column_learner
from novikoff.multiclass.column_bounds import ONE_PER_MISTAKE

__all__ = ["AllVsAll"]

DECISIONS = ("majority", "tournament")


@final
class AllVsAll(MulticlassClassifier):
    """A binary learner for each pair of classes.

    Parameters
    ----------
    estimator : estimator
        The binary learner, by default AROW(). Its settings are settings of the whole model.
    decision : str
        majority (the class that wins most pairs) or tournament (the winner so far is compared with the next class).

    Examples
    --------
    >>> from novikoff import AllVsAll, Perceptron
    >>> X, y = [[0, 2], [2, 0], [-2, 0], [1, 3], [4, 1], [-3, 1]], ["up", "right", "left", "up", "right", "left"]
    >>> AllVsAll(Perceptron(passes=20)).fit(X, y).predict([[0, 5], [5, 0], [-5, 0]]).tolist()
    ['up', 'right', 'left']
    """

    _outcome_type = "columns"
    _has_single_labels = True

    def __init__(
        self, estimator: OnlineClassifier | None = None, *, decision: Literal["majority", "tournament"] = "majority"
    ) -> None:
        self.estimator = estimator
        self.decision = decision

    def _check_settings(self) -> None:
        check_choice(DECISIONS, decision=self.decision)

    def _check_learner(self) -> None:
        check_column_learner(self, own_time=True)

    def _scheme(self, classes: ClassLabels) -> Scheme:
        return Scheme(ONE_VS_ONE, TIE_SIGNS[self._inner_learner.tie], tournament=float(self.decision == "tournament"))

    def _column_names(self) -> list[str]:
        known = self._require_fitted().labels.known()
        return [f"{known[high]} not {known[low]}" for high in range(len(known)) for low in range(high)]

    def _mistakes_per_column(self) -> tuple[float, str]:
        return ONE_PER_MISTAKE
