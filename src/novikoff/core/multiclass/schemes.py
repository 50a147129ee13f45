"""Multiclass schemes: how columns of weights predict many outcomes, and what each column learns from an example.

Reductions make one binary problem of each column: `binary_target` says which side of it an example is on, 0 for
neither, and the learner's loss and updater do the rest.

    Each      column c tells class c from all others; the highest score wins
    Pairs     column c tells two classes apart; the class that wins most pairs, or a tournament, wins
    Code      column c tells the classes with +1 in a code from those with −1; the nearest code word wins
    Relevant  column c tells the examples that have label c from those that have not; every label with a positive score
              is predicted

Preferences see all columns together (core/multiclass/pairwise_gradients.py):

    Rivals    one column a class; the class of the example is preferred to all others
    Chosen    column 0 is a threshold, column c + 1 label c; labels of the example ≻ threshold ≻ all others
    Ranked    one column a label; the example says which labels are preferred to which
    Tree      one column a node; a class's score is the sum along its path from the root

Ensembles that learn online (core/multiclass/online_ensembles.py), `Bagged` and `Boosted`, have members of one column
a class.

Every scheme defines the number of columns for the known classes, the prediction (`decoding.py`), and the gradients of
the columns (`gradients.py`). All schemes are one type with a `kind`, so that the loop is compiled once for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import generic
from novikoff.schema import CLASSES, COLUMNS, MAX_COUNT, ArraySpec, Entries, InRange, Schema

(
    ONE_VS_REST,
    ONE_VS_ONE,
    OUTPUT_CODE,
    BINARY_RELEVANCE,
    MULTICLASS_MARGIN,
    THRESHOLDED_LABELS,
    LABEL_RANKING,
    LABEL_TREE,
    ONLINE_BAGGING,
    ONLINE_BOOSTING,
) = range(10)
REDUCTIONS = (ONE_VS_REST, ONE_VS_ONE, OUTPUT_CODE)

NO_INDICES = np.zeros(0, np.int64)
NO_CODE_WORDS, NO_TABLE = np.zeros((0, 0), np.int8), np.zeros((0, 0))


class Targets(NamedTuple):
    """The labels of the examples: a class each, a label set each, or preferences."""

    classes: NDArray[np.int64]
    """The class of each example, by its number; new classes have the next number that there was none of before."""
    starts: NDArray[np.int64] = NO_INDICES
    members: NDArray[np.int64] = NO_INDICES
    """members[starts[i] : starts[i + 1]] are the labels of example i; or pairs of labels, each preferred to the next:
    members[2k] ≻ members[2k + 1]."""


class MulticlassWorkspace(NamedTuple):
    """Buffers for one example: a score and a gradient for each column, spare numbers for the scheme, and numbers for
    calibrating."""

    scores: NDArray[np.float64]
    gradients: NDArray[np.float64]
    spare: NDArray[np.float64]
    calibration: NDArray[np.float64]
    """The scores of columns by the hypothesis that predicts, then the spare numbers that `score_classes` takes."""


class ColumnCounters(NamedTuple):
    """The counters that a multiclass learner keeps beside the ledger."""

    counts: NDArray[np.int64]
    """Classes known; examples with a class that was not known before; binary problems that were got wrong."""
    times: NDArray[np.int64]
    """Of each column: the examples that it has learned from."""
    mistakes: NDArray[np.int64]
    """Of each column of a reduction: its own mistakes."""


COLUMN_COUNTERS_SCHEMA = Schema(
    {
        "counts": ArraySpec("int64", 3, checks=[Entries(known=(0, CLASSES), new=(0, MAX_COUNT), unmet=(0, MAX_COUNT))]),
        "times": ArraySpec("int64", COLUMNS, checks=[InRange(0, MAX_COUNT)]),
        "mistakes": ArraySpec("int64", COLUMNS, checks=[InRange(0, MAX_COUNT)]),
    }
)
"""The schema of these counters in a model file."""


class Scheme(NamedTuple):
    kind: int
    tie: float = 0.0
    """Reductions and ensembles: the side of a score of 0."""
    tournament: float = 0.0
    """Pairs: 1 for a tournament, 0 for the majority."""
    by_loss: float = 0.0
    """Code: 1 where the distance to a code word is the sum of the losses, 0 where it is the number of wrong bits."""
    update: int = 0
    """Preferences: which of them count (core/multiclass/pairwise_gradients.py)."""
    words: NDArray[np.int8] = NO_CODE_WORDS
    """Code: a row for each class."""
    columns: NDArray[np.int64] = NO_INDICES
    """The number of code bits or tree nodes for each number of known classes."""
    starts: NDArray[np.int64] = NO_INDICES
    nodes: NDArray[np.int64] = NO_INDICES
    """Tree: nodes[starts[c] : starts[c + 1]] is the path of class c, from the root down."""
    deepest: NDArray[np.int64] = NO_INDICES
    """The number of nodes on the longest path of a tree, for each number of known classes."""
    members: int = 0
    """Ensembles: how many there are."""
    uniforms: NDArray[np.float64] = NO_TABLE
    """Ensembles: [example][member], uniform random numbers for the draws."""
    sums: NDArray[np.float64] = NO_TABLE
    """Boosted: [member][right or wrong], the weight of the examples that it got right, and wrong."""


# --- What an example asks for ---


@generic
def max_class(targets: Targets, i: int) -> int:
    """Return the largest class number in the label of example i; −1 for none."""
    if len(targets.classes) > 0:
        return targets.classes[i]
    largest = -1
    for k in range(targets.starts[i], targets.starts[i + 1]):
        largest = max(largest, targets.members[k])
    return largest


# --- Columns ---


@generic
def columns_needed(scheme: Scheme, n_classes: int) -> int:
    """Return the number of columns for this number of known classes."""
    if scheme.kind == ONE_VS_ONE:
        return n_classes * (n_classes - 1) // 2
    if scheme.kind == OUTPUT_CODE or scheme.kind == LABEL_TREE:  # noqa: PLR1714 - compiled as it stands
        return scheme.columns[n_classes]
    if scheme.kind == THRESHOLDED_LABELS:
        return n_classes + 1
    if scheme.kind == ONLINE_BAGGING or scheme.kind == ONLINE_BOOSTING:  # noqa: PLR1714
        return n_classes * scheme.members
    return n_classes


@generic
def is_joint_update(scheme: Scheme) -> bool:
    """Return whether all columns are one long vector, which the example updates as one example of the learner.

    In reductions each column is a learner of its own.
    """
    return MULTICLASS_MARGIN <= scheme.kind <= LABEL_TREE


# --- Reductions: which side of a column's problem a class is on ---


@generic
def binary_target(scheme: Scheme, y: int, c: int) -> float:
    """Return the label ±1 of class y in column c; 0 where column c learns nothing from it."""
    if scheme.kind == ONE_VS_ONE:
        # Column j(j−1)/2 + i tells j, +, from i, −, for i < j: pairs with a new class come after all others.
        high = int((1.0 + np.sqrt(1.0 + 8.0 * c)) / 2.0)
        low = c - high * (high - 1) // 2
        return 1.0 if y == high else -1.0 if y == low else 0.0
    if scheme.kind == OUTPUT_CODE:
        return np.float64(scheme.words[y, c])
    return 1.0 if c == y else -1.0


# --- How long the vectors of the space are that the learner works in ---


@generic
def radius_factor(scheme: Scheme, n_classes: int) -> float:
    """Return the factor f with ‖x'‖² ≤ f·‖x‖² for every x' that the learner sees."""
    if scheme.kind == LABEL_TREE:
        return 2.0 * scheme.deepest[n_classes]
    return 2.0 if is_joint_update(scheme) else 1.0
