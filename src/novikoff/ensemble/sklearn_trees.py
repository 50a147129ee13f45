"""Conversion of scikit-learn's trees to plain arrays: model files need no pickle, and predicting no scikit-learn."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.core.trees import Trees
from novikoff.errors import InputError, import_optional

SKLEARN_TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier")
MAX_SEED = 2**31 - 1
MIN_WIDE_FEATURES = 1 << 20
"""Number of features from which trees are grown on non-empty columns only: scikit-learn scans every column of a table
for each tree."""


class TreeInput(NamedTuple):
    """Examples as scikit-learn's trees take them."""

    values: Any
    """float32, dense in rows or sparse in columns."""
    columns: NDArray[np.int64] | None
    """The feature of each column of `values`; None: column k is feature k."""


def is_sklearn_tree(learner: Any) -> bool:
    """Return whether this is one of scikit-learn's own trees, without importing it."""
    tree_type = type(learner)
    return tree_type.__module__.startswith("sklearn.tree") and tree_type.__name__ in SKLEARN_TREES


def grow_tree(
    template: Any, table: TreeInput, codes: NDArray[np.int64], classes: int, weights: Any, seed: int
) -> Trees:
    """Grow a tree like the unfitted scikit-learn tree `template`; some classes may have no codes."""
    tree = import_optional("sklearn.base", "sklearn", "A decision tree").clone(template)
    if tree.random_state is None:
        tree.random_state = seed % MAX_SEED
    return fit_tree(tree, table, codes, classes, weights)


def fit_tree(tree: Any, table: TreeInput, codes: NDArray[np.int64], classes: int, weights: Any) -> Trees:
    """Fit this tree of scikit-learn, and return it as plain arrays."""
    tree.fit(table.values, codes, sample_weight=weights, check_input=False)
    trees = extract_arrays(tree, classes)
    if table.columns is None:
        return trees
    feature = np.where(trees.feature >= 0, table.columns[np.maximum(trees.feature, 0)], trees.feature)
    return trees._replace(feature=feature.astype(np.int32))


def extract_arrays(tree: Any, classes: int) -> Trees:
    """Return the arrays of a fitted scikit-learn tree whose labels are class numbers."""
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


def prepare_tree_input(matrix: Any) -> TreeInput:
    """Return the table in the form for scikit-learn's trees, shared by all of them. Raise InputError if a number is
    beyond float32."""
    with np.errstate(over="ignore"):
        small = matrix.astype(np.float32)
    if not np.isfinite(small.data if hasattr(small, "tocsc") else small).all():
        raise InputError("Trees take numbers up to 3e38 (float32), but the data has larger ones: scale them.")
    if not hasattr(small, "tocsc"):
        return TreeInput(np.ascontiguousarray(small), None)
    used = None
    if small.shape[1] >= MIN_WIDE_FEATURES:
        small, used = _drop_empty_columns(small)
    columns = small.tocsc()
    columns.sort_indices()
    columns.indices, columns.indptr = columns.indices.astype(np.int32), columns.indptr.astype(np.int32)
    return TreeInput(columns, used)


def _drop_empty_columns(matrix: Any) -> tuple[Any, NDArray[np.int64]]:
    """Return the non-empty columns of a CSR matrix, at least one, and their numbers."""
    used, indices = np.unique(matrix.indices, return_inverse=True)
    if not len(used):
        used = np.zeros(1, np.int64)
    shape = matrix.shape[0], len(used)
    return type(matrix)((matrix.data, indices, matrix.indptr), shape), used.astype(np.int64)
