"""Online boosting (Oza and Russell 2001): mistakes of one member have more weight for the next.

Update    λ = 1; for each member in turn: k drawn from Poisson's distribution of mean λ; the member learns the example k
          times; where it was right λ_right += λ, otherwise λ_wrong += λ; λ *= (λ_right + λ_wrong)/(2·λ_right or _wrong)
Predict   the label with the most votes; a member with ε = λ_wrong/(λ_right + λ_wrong) has ln((1−ε)/ε) of them, and
          ln(K−1) more for K classes; none where that is below 0
Source    Oza and Russell, Online bagging and boosting, 2001

Differs from the paper: a member is judged by its prediction before it learned the example, as everywhere here, and
learning an example k times is one step of k times the length. Half an example is added to λ_right and λ_wrong for ε,
and λ is at most 500 in a draw.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from novikoff.base.online_classifier import TIE_SIGNS
from novikoff.core.multiclass.schemes import ONLINE_BOOSTING, Scheme
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.multiclass.base import MulticlassClassifier
from novikoff.multiclass.online_ensemble import OnlineEnsemble
from novikoff.schema import INFINITY, ArraySpec, InRange

__all__ = ["OnlineBoosting"]


@final
class OnlineBoosting(OnlineEnsemble, MulticlassClassifier):
    """Boosting for streams: a member learns an example more often if the members before it were wrong.

    AdaBoost's theorem does not apply: it needs the weights of all examples, which are unknown in a stream. The ledger
    has the progressive error of the run, as for every online learner.

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
    >>> from novikoff import OnlineBoosting, Perceptron
    >>> X, y = [[0, 2], [2, 0], [-2, 0], [1, 3], [4, 1], [-3, 1]], ["up", "right", "left", "up", "right", "left"]
    >>> OnlineBoosting(Perceptron(passes=20)).fit(X, y).predict([[0, 5], [5, 0], [-5, 0]]).tolist()
    ['up', 'right', 'left']
    """

    def _scheme(self, classes: ClassLabels) -> Scheme:
        members = int(self.n_estimators)
        sums = np.zeros((members, 2))
        if self._state is not None and "boosting" in self._state.more:
            sums = self._state.more["boosting"]
        return Scheme(
            ONLINE_BOOSTING,
            TIE_SIGNS[self._inner_learner.tie],
            members=members,
            uniforms=np.zeros((0, members)),
            sums=sums,
        )

    def _extra_arrays_schema(self) -> dict[str, ArraySpec]:
        sums = ArraySpec("float64", int(self.n_estimators), 2, checks=[InRange(0.0, INFINITY)], optional=True)
        return {**super()._extra_arrays_schema(), "boosting": sums}

    def _with_uniforms(self, state: Any, scheme: Scheme, uniforms: NDArray[np.float64]) -> Scheme:
        sums = state.more.setdefault("boosting", np.zeros((int(self.n_estimators), 2)))
        return scheme._replace(uniforms=uniforms, sums=sums)

    @property
    def estimator_errors_(self) -> NDArray[np.float64]:
        """The error of each member, λ_wrong/(λ_right + λ_wrong); ½ for one without examples."""
        right, wrong = self._require_attribute("estimator_errors_").more["boosting"].T
        return np.where(right + wrong > 0.0, wrong / np.where(right + wrong > 0.0, right + wrong, 1.0), 0.5)
