"""Bagging (Breiman 1996): members that learn from bootstrap replicates of the examples, and vote.

Learn     member k learns from m draws, with replacement, from the m examples
Predict   the label with the most votes, the first of equals
Bound     error ≤ 2·mean error of the members, error ≤ 4·mean share on which both members of a pair err; both are
          measured on the examples that the members have not drawn, about 37% (14% for a pair) of all
Source    Breiman, Bagging predictors, 1996
"""

from __future__ import annotations

from typing import Any, Literal, final

from novikoff.base.estimator import check_positive_int
from novikoff.ensemble.base import VotingEnsemble
from novikoff.ensemble.bootstrap import BootstrapEnsemble
from novikoff.ensemble.decision_tree import DecisionTree

__all__ = ["Bagging"]


@final
class Bagging(BootstrapEnsemble, VotingEnsemble):
    """Members that each learn from a bootstrap replicate of the examples, and vote.

    Any number of threads gives the same model. `out_of_bag_.error` is the usual estimate of the error; `error_bound()`
    is a proven bound. For streams there is OnlineBagging.

    Parameters
    ----------
    estimator : estimator
        The learner of the members, of this package or of scikit-learn; by default DecisionTree().
    n_estimators : int
        Number of members.
    voting : str
        hard: the majority; soft: the mean of the shares in the trees' leaves.
    oob_score : bool
        Evaluate each member on the examples that it has not drawn.
    random_state : int
        The seed of the draws, and of the members if their random_state is None.
    n_jobs : int
        Number of threads that learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from novikoff import Bagging
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Bagging(n_estimators=30).fit(X, y)
    >>> model.out_of_bag_.judged, model.out_of_bag_.error < 0.1
    (150, True)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        voting: Literal["hard", "soft"] = "hard",
        oob_score: bool = True,
        random_state: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.voting = voting
        self.oob_score = oob_score
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_all(self) -> None:
        super()._check_all()
        check_positive_int(n_estimators=self.n_estimators)

    def _base_learner(self) -> Any:
        return DecisionTree() if self.estimator is None else self.estimator

    def _count(self) -> int:
        return int(self.n_estimators)
