"""Trees grown by scikit-learn, taken out of it as plain arrays: a model file needs no pickle, and predicting no
scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError, needed
from novikoff.parts.trees import Trees

GROWN = ("DecisionTreeClassifier", "ExtraTreeClassifier")
SEEDS = 2**31 - 1


def is_foreign_tree(learner: Any) -> bool:
    """Whether this is one of scikit-learn's own trees; asked without importing it."""
    kind = type(learner)
    return kind.__module__.startswith("sklearn.tree") and kind.__name__ in GROWN


def grown(template: Any, table: Any, codes: NDArray[np.int64], classes: int, weights: Any, seed: int) -> Trees:
    """A tree like the template, an unfitted one of scikit-learn. `table` is float32, dense in rows or sparse in
    columns; codes may leave out classes."""
    tree = needed("sklearn.base", "sklearn", "A decision tree").clone(template)
    if tree.random_state is None:
        tree.random_state = seed % SEEDS
    tree.fit(table, codes, sample_weight=weights, check_input=False)
    return arrays_of(tree, classes)


def arrays_of(tree: Any, classes: int) -> Trees:
    """What a fitted tree of scikit-learn knows, its labels being numbers of classes."""
    nodes = tree.tree_
    shares = np.zeros((nodes.node_count, classes))
    shares[:, np.asarray(tree.classes_, np.int64)] = nodes.value[:, 0, :]
    return Trees(
        starts=np.array([0, nodes.node_count], np.int64),
        left=nodes.children_left.astype(np.int32),
        right=nodes.children_right.astype(np.int32),
        feature=nodes.feature.astype(np.int32),
        threshold=nodes.threshold.astype(np.float64),
        shares=shares,
        codes=shares.argmax(axis=1).astype(np.int32),
    )


def for_growing(matrix: Any) -> Any:
    """The table as scikit-learn's trees want it, made once for all of them; InputError where float32 is too small."""
    with np.errstate(over="ignore"):
        small = matrix.astype(np.float32)
    if not np.isfinite(small.data if hasattr(small, "tocsc") else small).all():
        raise InputError("Trees take numbers up to 3e38 (float32), but there are larger ones: scale them.")
    if not hasattr(small, "tocsc"):
        return np.ascontiguousarray(small)
    columns = small.tocsc()
    columns.sort_indices()
    columns.indices, columns.indptr = columns.indices.astype(np.int32), columns.indptr.astype(np.int32)
    return columns
