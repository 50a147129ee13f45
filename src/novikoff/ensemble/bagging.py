"""Bagging (Breiman 1996): members that learn from bootstrap replicates of the examples, and vote.

Learn     member k learns from m draws, with replacement, from the m examples
Predict   the label with the most votes, the first of equals
Bound     error ≤ 2·mean error of the members, error ≤ 4·mean share where both of a pair err; each is measured on the
          examples that the members have not drawn, about 37% (14% for a pair) of all
Source    Breiman, Bagging predictors, 1996
"""

from __future__ import annotations

from typing import Any, Literal, final

from novikoff.base.estimator import check_positive_int
from novikoff.ensemble.bootstrap import BootstrapEnsemble
from novikoff.ensemble.decision_tree import DecisionTree

__all__ = ["Bagging"]


@final
class Bagging(BootstrapEnsemble):
    """Members that each learn from a bootstrap replicate of the examples, and vote.

    Any number of threads gives the same model. `out_of_bag_.error` is the usual estimate of the error; `error_bound()`
    is what can be shown. For streams there is OnlineBagging.

    Parameters
    ----------
    learner : estimator
        What the members are, of this package or of scikit-learn; DecisionTree() where none is given.
    members : int
        How many there are.
    combine : str
        vote: the majority; average: the mean of the shares in the trees' leaves.
    out_of_bag : bool
        Judge each member on the examples that it has not drawn.
    seed : int
        Of the draws, and of the members where they have a random_state that is None.
    n_jobs : int
        How many threads learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from novikoff import Bagging
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Bagging(members=30).fit(X, y)
    >>> model.out_of_bag_.judged, model.out_of_bag_.error < 0.1
    (150, True)
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        members: int = 50,
        combine: Literal["vote", "average"] = "vote",
        out_of_bag: bool = True,
        seed: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.learner = learner
        self.members = members
        self.combine = combine
        self.out_of_bag = out_of_bag
        self.seed = seed
        self.n_jobs = n_jobs

    def _check_all(self) -> None:
        super()._check_all()
        check_positive_int(members=self.members)

    def _base_learner(self) -> Any:
        return DecisionTree() if self.learner is None else self.learner

    def _count(self) -> int:
        return int(self.members)
