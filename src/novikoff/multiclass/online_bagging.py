"""Online bagging (Oza and Russell 2001): each member learns each example a random number of times.

Update    for each member: k drawn from Poisson's distribution of mean 1; the member learns the example k times
Predict   the label with the most votes of the members, the first of equals
Source    Oza and Russell, Online bagging and boosting, 2001

In a bootstrap replicate of m examples, the number of copies of an example follows Poisson's distribution as m grows.
Learning an example k times is one step of k times the length.
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
    """Bagging for streams: members learn each example k times, k drawn from Poisson's distribution of mean 1.

    Each member has a binary learner for each class against all others (one-vs-all); new classes may arrive at any time.
    All members run in one loop, with the weights of a feature side by side. The model does not depend on batch
    boundaries.

    Parameters
    ----------
    estimator : estimator
        The binary learner, by default AROW(). Its settings are settings of the whole model.
    n_estimators : int
        Number of members.
    random_state : int
        The seed of the draws.

    Examples
    --------
    >>> from novikoff import OnlineBagging, Perceptron
    >>> X, y = [[0, 2], [2, 0], [-2, 0], [1, 3], [4, 1], [-3, 1]], ["up", "right", "left", "up", "right", "left"]
    >>> OnlineBagging(Perceptron(passes=20)).fit(X, y).predict([[0, 5], [5, 0], [-5, 0]]).tolist()
    ['up', 'right', 'left']
    """

    def _scheme(self, classes: ClassLabels) -> Scheme:
        members = int(self.n_estimators)
        return Scheme(
            ONLINE_BAGGING, TIE_SIGNS[self._inner_learner.tie], members=members, uniforms=np.zeros((0, members))
        )

    def _with_uniforms(self, state: Any, scheme: Scheme, uniforms: NDArray[np.float64]) -> Scheme:
        return scheme._replace(uniforms=uniforms)
