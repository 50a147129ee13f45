"""Online bagging (Oza and Russell 2001): each member learns each example as often as a draw says.

Update    for each member: k drawn from Poisson's distribution of mean 1; the member learns the example k times
Predict   the label with the most votes of the members, the first of equals
Source    Oza and Russell, Online bagging and boosting, 2001

In a bootstrap replicate of m examples one of them comes k times with a probability that goes to Poisson's as m grows.
Here to learn an example k times is one step of k times the length.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from novikoff.base.online_classifier import TIE_SIGNS
from novikoff.core.multiclass.schemes import ONLINE_BAGGING, Scheme
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.multiclass.base import MulticlassClassifier
from novikoff.multiclass.online_ensemble import OnlineEnsemble

__all__ = ["OnlineBagging"]


@final
class OnlineBagging(OnlineEnsemble, MulticlassClassifier):
    """Bagging for streams: members that learn each example k times, k drawn from Poisson's distribution of mean 1.

    Each member tells every class from all others by a binary learner (one-vs-all); new classes may come at any time.
    All weights of a feature stand side by side, and all members are done in one go. However a stream is cut, the model
    is the same.

    Parameters
    ----------
    estimator : estimator
        The binary learner, AROW() where none is given. Its settings are those of the whole.
    n_estimators : int
        How many members there are.
    random_state : int
        Of the draws.

    Examples
    --------
    >>> from novikoff import OnlineBagging, Perceptron
    >>> X, y = [[0, 2], [2, 0], [-2, 0], [1, 3], [4, 1], [-3, 1]], ["up", "right", "left", "up", "right", "left"]
    >>> OnlineBagging(Perceptron(passes=20)).fit(X, y).predict([[0, 5], [5, 0], [-5, 0]]).tolist()
    ['up', 'right', 'left']
    """

    def _scheme(self, classes: ClassLabels) -> Scheme:
        members = int(self.n_estimators)
        return Scheme(ONLINE_BAGGING, TIE_SIGNS[self._inner_learner.tie], members=members, luck=np.zeros((0, members)))

    def _with_draws(self, state: Any, scheme: Scheme, draws: NDArray[np.float64]) -> Scheme:
        return scheme._replace(luck=draws)
