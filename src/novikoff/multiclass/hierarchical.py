"""Hierarchical classification: labels in a tree, in which a label's score is the sum of node scores along its path.

Predict   the label with the highest sum, the first of equals: always a label of the tree, with all its ancestors
Update    as in Kesler's construction: if label j is not below y, the nodes of y that are not j's move towards x,
          those of j that are not y's away from it; common nodes don't change
Bound     the binary learner's own, with ‖x_yj‖² = (number of nodes that are not common)·‖x‖² ≤ 2·depth·‖x‖²
Source    Dekel, Keshet and Singer, Large margin hierarchical classification, 2004 (node weights summed along the path)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, final

import numpy as np

from novikoff.base.estimator import check_choice
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.core.multiclass.pairwise_gradients import UPDATE_NAMES
from novikoff.core.multiclass.schemes import LABEL_TREE, Scheme
from novikoff.data import validation
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.errors import LabelError
from novikoff.meta.base import check_preference_learner
from novikoff.multiclass.base import MulticlassClassifier
from novikoff.multiclass.pairwise_bounds import build_preference_bounds
from novikoff.theory.bound_declaration import Bound

__all__ = ["Hierarchical"]

BOUND_NOTE = "it bounds labels that were not predicted whole, not the tree loss; ‖x_yj‖² ≤ 2·depth·‖x‖²"


@final
class Hierarchical(MulticlassClassifier):
    """Classifier for labels such as animal/dog/poodle or ENTITY:food, each with all its ancestors in the tree.

    Labels define the tree: a node is the part of a label before a separator. It has no cycles, because a node is named
    by its whole path.

    Parameters
    ----------
    estimator : estimator
        The binary learner, by default AROW(). Its settings are settings of the whole model.
    separator : str
        The text that separates the levels of a label.
    update : str
        Which of the violated preferences are learned: top, uniform or proportional.

    Examples
    --------
    >>> from novikoff import Hierarchical, Perceptron
    >>> X, y = [[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]], ["pet/dog", "pet/cat", "wild/wolf", "wild/lynx"]
    >>> model = Hierarchical(Perceptron(passes=20)).fit(X, y)
    >>> model.predict([[1, 0, 1], [0, 1, 0]]).tolist(), model.tree_loss([[1, 0, 1]], ["wild/wolf"])
    (['pet/dog', 'wild/lynx'], 4.0)
    """

    _outcome_type = "preferences"
    _has_single_labels = True

    def __init__(
        self,
        estimator: OnlineClassifier | None = None,
        *,
        separator: str = "/",
        update: Literal["top", "uniform", "proportional"] = "top",
    ) -> None:
        self.estimator = estimator
        self.separator = separator
        self.update = update

    def _check_settings(self) -> None:
        check_choice(UPDATE_NAMES, update=self.update)
        if not isinstance(self.separator, str) or not self.separator:
            raise LabelError(f"separator must be a text, but is {self.separator!r}.")

    def _check_learner(self) -> None:
        check_preference_learner(self, self.update)

    def _scheme(self, classes: ClassLabels) -> Scheme:
        numbers: dict[tuple[str, ...], int] = {}
        starts, nodes, columns, deepest = [0], list[int](), [0], [0]
        for label in classes.known():
            path = self._node_path(label)
            nodes += [numbers.setdefault(node, len(numbers)) for node in path]
            starts.append(len(nodes))
            columns.append(len(numbers))
            deepest.append(max(deepest[-1], len(path)))
        lists = {"starts": starts, "nodes": nodes, "columns": columns, "deepest": deepest}
        arrays: dict[str, Any] = {name: np.array(numbers, np.int64) for name, numbers in lists.items()}
        return Scheme(LABEL_TREE, update=UPDATE_NAMES.index(self.update), **arrays)

    def _column_names(self) -> list[str]:
        found = dict.fromkeys(
            path for label in self._require_fitted().labels.known() for path in self._node_path(label)
        )
        return [self.separator.join(path) for path in found]

    def _node_path(self, label: Any) -> list[tuple[str, ...]]:
        """Return the nodes of a label, from the root down. Nodes with the same name are distinct if their ancestors
        differ."""
        if not isinstance(label, str):
            label = str(label)
        parts = tuple(label.split(self.separator))
        if not all(parts):
            raise LabelError(f"A label of a tree must have a name on every level, got {label!r}.")
        return [parts[: depth + 1] for depth in range(len(parts))]

    def tree_loss(self, X: Any, y: Any) -> float:
        """Return the mean number of edges between the predicted and the right label."""
        predicted = self.predict(X)
        labels = validation.validate_y(y, len(predicted))
        return float(np.mean([self._count_edges(a, b) for a, b in zip(predicted, labels, strict=True)]))

    def _count_edges(self, one: Any, other: Any) -> int:
        """Return the number of edges of the tree between two labels."""
        return len(set(self._node_path(one)) ^ set(self._node_path(other)))

    def bounds(self) -> Sequence[Bound]:
        return build_preference_bounds(self, BOUND_NOTE)
