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
from novikoff.ensemble.bootstrap import BootstrapEnsemble
from novikoff.ensemble.decision_tree import DecisionTree

__all__ = ["RandomForest"]


@final
class RandomForest(BootstrapEnsemble):
    """Trees that are each grown on a bootstrap replicate, with a sample of the features at each split, and vote.

    Scikit-learn grows the trees; a model file holds their plain arrays, and predicting needs nothing else. Any number
    of threads gives the same model.

    Parameters
    ----------
    trees : int
        How many trees there are.
    depth : int
        The most questions from the root to a leaf; no limit where none is given.
    leaf : int
        The fewest examples in a leaf.
    attributes : str | int
        How many features are tried at each split: all, sqrt or log2 of them, or a number.
    criterion : str
        What makes a split good: gini or entropy.
    combine : str
        vote: the majority; average: the mean of the shares in the trees' leaves.
    out_of_bag : bool
        Judge each tree on the examples that it has not drawn.
    seed : int
        Of all draws.
    n_jobs : int
        How many threads grow trees.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from novikoff import RandomForest
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RandomForest(trees=50, n_jobs=2).fit(X, y)
    >>> model.out_of_bag_.error < 0.06 < model.error_bound().value < 1.0
    True
    """

    def __init__(
        self,
        *,
        trees: int = 1000,
        depth: int | None = None,
        leaf: int = 1,
        attributes: Literal["all", "sqrt", "log2"] | int = "sqrt",
        criterion: Literal["gini", "entropy"] = "gini",
        combine: Literal["vote", "average"] = "vote",
        out_of_bag: bool = True,
        seed: int = 0,
        n_jobs: int = 1,
    ) -> None:
        self.trees = trees
        self.depth = depth
        self.leaf = leaf
        self.attributes = attributes
        self.criterion = criterion
        self.combine = combine
        self.out_of_bag = out_of_bag
        self.seed = seed
        self.n_jobs = n_jobs

    learner = None

    def _check_all(self) -> None:
        super()._check_all()
        check_positive_int(trees=self.trees)
        check_settings(self._base_learner())

    def _base_learner(self) -> Any:
        return DecisionTree(depth=self.depth, leaf=self.leaf, attributes=self.attributes, criterion=self.criterion)

    def _count(self) -> int:
        return int(self.trees)
