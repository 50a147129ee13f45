"""Random forest (Breiman 2001): bagging of trees that look at a sample of the features at each split.

Learn     tree k is grown on m draws, with replacement, from the m examples; at each split it chooses among √n features
          that are drawn anew
Predict   the label with the most votes, the first of equals
Bound     as bagging's
Source    Breiman, Random forests, 2001
"""

from __future__ import annotations

from typing import Any, Literal, final

from novikoff.base.estimator import check_positive_int
from novikoff.base.internals import check_settings
from novikoff.ensemble.base import VotingEnsemble
from novikoff.ensemble.bootstrap import BootstrapEnsemble
from novikoff.ensemble.decision_tree import DecisionTree

__all__ = ["RandomForest"]


@final
class RandomForest(BootstrapEnsemble, VotingEnsemble):
    """Trees that are each grown on a bootstrap replicate, with a sample of the features at each split, and vote.

    Scikit-learn grows the trees; a model file holds their plain arrays, and predicting needs nothing else. Any number
    of threads gives the same model.

    Parameters
    ----------
    n_estimators : int
        How many trees there are.
    max_depth : int
        The most questions from the root to a leaf; no limit where none is given.
    min_samples_leaf : int
        The fewest examples in a leaf.
    max_features : str | int | None
        How many features are tried at each split: sqrt or log2 of them, or a number; all where none is given.
    criterion : str
        What makes a split good: gini or entropy.
    voting : str
        hard: the majority; soft: the mean of the shares in the trees' leaves.
    oob_score : bool
        Judge each tree on the examples that it has not drawn.
    random_state : int
        Of all draws.
    n_jobs : int
        How many threads grow trees.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from novikoff import RandomForest
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RandomForest(n_estimators=50, n_jobs=2).fit(X, y)
    >>> model.out_of_bag_.error < 0.06 < model.error_bound().value < 1.0
    True
    """

    def __init__(
        self,
        *,
        n_estimators: int = 1000,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        max_features: Literal["sqrt", "log2"] | int | None = "sqrt",
        criterion: Literal["gini", "entropy"] = "gini",
        voting: Literal["hard", "soft"] = "hard",
        oob_score: bool = True,
        random_state: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.criterion = criterion
        self.voting = voting
        self.oob_score = oob_score
        self.random_state = random_state
        self.n_jobs = n_jobs

    estimator = None

    def _check_all(self) -> None:
        super()._check_all()
        check_positive_int(n_estimators=self.n_estimators)
        check_settings(self._base_learner())

    def _base_learner(self) -> Any:
        return DecisionTree(
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            criterion=self.criterion,
        )

    def _count(self) -> int:
        return int(self.n_estimators)
