"""Decision trees as plain arrays, many of them one after another, and the votes that they cast.

Node n asks whether feature[n] of an example is at most threshold[n]: if so it goes on at left[n], otherwise at
right[n]; where left[n] is negative, n is a leaf. Values are compared as float32, as scikit-learn does, whose trees
these are: so they say to the last bit what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_read_only
from novikoff.data.canonical_rows import for_each_canonical_block
from novikoff.data.rows import Rows, clear_row, count_rows, scatter_row
from novikoff.schema import CLASSES, ArraySpec, Constraint, FreeSize, InRange, NamedSize, NotNaN, Offsets, Schema


class Trees(NamedTuple):
    """Tree t has the nodes starts[t] to starts[t + 1], its root first; nodes are numbered through all trees."""

    starts: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    shares: NDArray[np.float64]
    """The share of each class among the examples of a node: a row for each node, or none where trees only vote."""
    codes: NDArray[np.int32]
    """The class with the largest share, the first of equals."""

    @property
    def many(self) -> int:
        return len(self.starts) - 1


def trees_schema(*, soft: bool) -> Schema:
    """Return what a model file may hold of trees; `soft` says that they vote in shares. Every way through a tree ends
    in a leaf of it, for children come after their node."""
    return Schema(
        {
            "left": ArraySpec("int32", FreeSize("nodes")),
            "right": ArraySpec("int32", NamedSize("nodes")),
            "feature": ArraySpec("int32", NamedSize("nodes")),
            "threshold": ArraySpec("float64", NamedSize("nodes"), checks=[NotNaN()]),
            "shares": ArraySpec(
                "float64", NamedSize("nodes") if soft else FreeSize("shares"), CLASSES, checks=[NotNaN()]
            ),
            "codes": ArraySpec("int32", NamedSize("nodes"), checks=[InRange(0, CLASSES + -1)]),
            "starts": ArraySpec("int64", NamedSize("members") + 1, checks=[Offsets(NamedSize("nodes"))]),
        },
        [
            Constraint(
                "there are shares for all nodes, or for none",
                lambda arrays, sizes: len(arrays["shares"]) in (0, sizes["nodes"]),
            ),
            Constraint(
                "no tree is empty, children come after their node in the same tree, and splits ask for features",
                lambda arrays, sizes: are_linked(arrays, sizes["features"]),
            ),
        ],
    )


def are_linked(arrays: Mapping[str, NDArray[Any]], features: int) -> bool:
    """Return whether every way through the trees ends in a leaf."""
    starts, (left, right, feature) = arrays["starts"], (arrays[name].astype(np.int64) for name in LINK_FIELDS)
    nodes, ends, splits = np.arange(len(left)), np.repeat(starts[1:], np.diff(starts)), left >= 0
    return bool(
        (np.diff(starts) > 0).all()
        and ((feature[splits] >= 0) & (feature[splits] < features)).all()
        and ((left > nodes) & (right > nodes) & (left < ends) & (right < ends))[splits].all()
    )


LINK_FIELDS = ("left", "right", "feature")


def concatenate_trees(trees: Sequence[Trees]) -> Trees:
    """Return all of these trees, in their order."""
    sizes = np.array([tree.starts[-1] for tree in trees], np.int64)
    begins = np.concatenate([[0], np.cumsum(sizes)])
    starts = [tree.starts[:-1] + begin for tree, begin in zip(trees, begins[:-1], strict=True)]

    def shift_links(name: str) -> NDArray[np.int32]:
        parts = [getattr(tree, name) for tree in trees]
        return np.concatenate(
            [np.where(block >= 0, block + begin, -1) for block, begin in zip(parts, begins[:-1], strict=True)]
        ).astype(np.int32)

    return Trees(
        starts=np.concatenate([*starts, begins[-1:]]).astype(np.int64),
        left=shift_links("left"),
        right=shift_links("right"),
        feature=np.concatenate([tree.feature for tree in trees]),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        shares=np.concatenate([tree.shares for tree in trees]),
        codes=np.concatenate([tree.codes for tree in trees]),
    )


@compiled
def find_leaf(trees: Trees, tree: int, example: NDArray[np.float64]) -> int:
    """Return the leaf of an example that is laid out in slots."""
    node = trees.starts[tree]
    while trees.left[node] >= 0:
        value = np.float64(np.float32(example[trees.feature[node] + 1]))
        node = np.int64(trees.left[node] if value <= trees.threshold[node] else trees.right[node])
    return node


@compiled_read_only
def add_votes(
    trees: Trees,
    weights: NDArray[np.float64],
    rows: Rows,
    count: int,
    soft: bool,
    example: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Adds each tree's weight to the class that it says, or in shares where that is `soft`; a row of `out` for each
    example. `example` is scratch of zeros, one for each slot."""
    classes = out.shape[1]
    for i in range(count):
        scatter_row(rows, i, example)
        for t in range(len(trees.starts) - 1):
            node = find_leaf(trees, t, example)
            if soft:
                for c in range(classes):
                    out[i, c] += weights[t] * trees.shares[node, c]
            else:
                out[i, trees.codes[node]] += weights[t]
        clear_row(rows, i, example)


@compiled_read_only
def write_votes(trees: Trees, rows: Rows, count: int, example: NDArray[np.float64], out: NDArray[np.int32]) -> None:
    """Write the class that each tree says of each example: a row for each example."""
    for i in range(count):
        scatter_row(rows, i, example)
        for t in range(len(trees.starts) - 1):
            out[i, t] = trees.codes[find_leaf(trees, t, example)]
        clear_row(rows, i, example)


def class_votes(
    trees: Trees, weights: NDArray[np.float64], rows: Rows, features: int, *, soft: bool = False
) -> NDArray[np.float64]:
    """Return the votes for each class: a row for each example."""
    out = np.zeros((count_rows(rows), trees.shares.shape[1]))

    def take(block: Rows, start: int, tidy: bool) -> int:
        count = count_rows(block)
        add_votes(trees, weights, block, count, soft, example, out[start : start + count])
        return count

    example = np.zeros(features + 1)
    for_each_canonical_block(rows, features, take, known=True, sparse_only=True)
    return out


def member_predictions(trees: Trees, rows: Rows, features: int) -> NDArray[np.int32]:
    """Return the prediction of each tree for each example: a row for each tree."""
    out = np.zeros((trees.many, count_rows(rows)), np.int32)

    def take(block: Rows, start: int, tidy: bool) -> int:
        count = count_rows(block)
        write_votes(trees, block, count, example, predicted[:count])
        out[:, start : start + count] = predicted[:count].T
        return count

    example, predicted = np.zeros(features + 1), np.zeros((out.shape[1], trees.many), np.int32)
    for_each_canonical_block(rows, features, take, known=True, sparse_only=True)
    return out
