"""Random forest (Breiman 2001): bagging of trees that try a sample of the features at each split.

Learn     tree k is grown on m draws, with replacement, from the m examples; at each split it chooses among √n newly
          drawn features
Predict   the label with the most votes, the first of equals
Bound     that of bagging
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
    """Trees on bootstrap replicates, with a sample of the features at each split, that vote.

    Scikit-learn grows the trees; a model file has their plain arrays, and predicting does not need scikit-learn. Any
    number of threads gives the same model.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    max_depth : int
        Maximum number of splits from the root to a leaf; unlimited if not given.
    min_samples_leaf : int
        Minimum number of examples in a leaf.
    max_features : str | int | None
        Number of features that are tried at each split: sqrt or log2 of them, or a number; all if not given.
    criterion : str
        Quality measure of splits: gini or entropy.
    voting : str
        hard: the majority; soft: the mean of the shares in the trees' leaves.
    oob_score : bool
        Evaluate each tree on the examples that it has not drawn.
    random_state : int
        The seed of all draws.
    n_jobs : int
        Number of threads that grow trees.

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
