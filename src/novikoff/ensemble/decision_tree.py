"""Decision tree, grown by scikit-learn and stored as plain arrays.

Predict   from the root down: is this feature at most its threshold? The class with the largest share in the leaf
Learn     CART (Breiman, Friedman, Olshen and Stone 1984), in scikit-learn's version
"""

from __future__ import annotations

from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from novikoff.base.estimator import check_choice, check_positive_int, check_seed
from novikoff.core.trees import Trees
from novikoff.data import validation
from novikoff.ensemble.base import VotingEnsemble
from novikoff.ensemble.sklearn_trees import MAX_SEED, fit_tree, prepare_tree_input
from novikoff.errors import import_optional

__all__ = ["DecisionTree"]


@final
class DecisionTree(VotingEnsemble):
    """A decision tree for ensembles: scikit-learn grows it, and only its arrays are stored.

    Its predictions equal those of scikit-learn's `DecisionTreeClassifier` to the last bit. It is saved without pickle,
    and predicts without scikit-learn.

    Parameters
    ----------
    max_depth : int
        Maximum number of splits from the root to a leaf; unlimited if not given. 1 is a stump.
    min_samples_leaf : int
        Minimum number of examples in a leaf.
    max_features : str | int | None
        Number of features that are tried at each split: sqrt or log2 of them, or a number; all if not given.
    criterion : str
        Quality measure of splits: gini or entropy.
    random_state : int
        The seed of the choice among features, and among equally good splits.

    Examples
    --------
    >>> from novikoff import DecisionTree
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]
    >>> DecisionTree(max_depth=2).fit(X, y).predict(X).tolist()
    ['no', 'yes', 'yes', 'no']
    """

    _has_soft_votes = True

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        max_features: Literal["sqrt", "log2"] | int | None = None,
        criterion: Literal["gini", "entropy"] = "gini",
        random_state: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.criterion = criterion
        self.random_state = random_state

    def _check_all(self) -> None:
        check_positive_int(
            min_samples_leaf=self.min_samples_leaf, **{} if self.max_depth is None else {"max_depth": self.max_depth}
        )
        if isinstance(self.max_features, str):
            check_choice(("sqrt", "log2"), max_features=self.max_features)
        elif self.max_features is not None:
            check_positive_int(max_features=self.max_features)
        check_choice(("gini", "entropy"), criterion=self.criterion)
        check_seed(random_state=self.random_state)

    def _template(self) -> Any:
        """Return scikit-learn's tree with these settings, without a seed."""
        self._check_all()
        return import_optional("sklearn.tree", "sklearn", "A decision tree").DecisionTreeClassifier(
            max_depth=self.max_depth if self.max_depth is None else int(self.max_depth),
            min_samples_leaf=int(self.min_samples_leaf),
            max_features=self.max_features,
            criterion=self.criterion,
        )

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget what was learned, then grow a tree. An example of weight c counts as c examples, but once for
        `min_samples_leaf`."""
        tree = self._template().set_params(random_state=int(self.random_state) % MAX_SEED)
        data, codes, state = self._prepare_training(X, y)
        weights = validation.validate_sample_weight(sample_weight, len(data))
        table = prepare_tree_input(data.matrix)
        members = fit_tree(tree, table, codes, len(state.labels), weights if weights.size else None)
        state.members, state.weights = members, np.ones(1)
        self._state = state
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the shares of the classes among the examples in the same leaf."""
        return self._compute_votes(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the shares of the classes; for two classes one number, the second share minus the first."""
        shares = self._compute_votes(X)
        return shares[:, 1] - shares[:, 0] if shares.shape[1] == 2 else shares

    def describe(self) -> str:
        trees: Trees = self._require_fitted().members
        return f"A tree with {len(trees.left):,} nodes, {int((trees.left < 0).sum()):,} of them leaves."
