"""How a prediction of many outcomes is made of columns of weights, and what an example asks of each column.

Reductions make one binary problem of each column: `aim` says which side of it an example is on, 0 for neither, and the
learner's rule does the rest.

    Each      column c tells class c from all others; the highest score wins
    Pairs     column c tells two classes apart; the class that wins most pairs, or a tournament, wins
    Code      column c tells the classes with +1 in a code from those with −1; the nearest code word wins
    Relevant  column c tells the examples that have label c from those that have not; every label with a positive score
              is predicted

Preferences see all columns together (parts/blame.py):

    Rivals    one column a class; the class of the example is preferred to all others
    Chosen    column 0 is a threshold, column c + 1 label c; labels of the example ≻ threshold ≻ all others
    Ranked    one column a label; the example says which labels are preferred to which
    Tree      one column a node; a class's score is the sum along its path from the root

Every scheme says how many columns so many known classes take, what it predicts (`deciding.py`), and what moves
(`moving.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._jit import compiled, generic


class One(NamedTuple):
    """The class of each example, by its number; new classes have the next number that there was none of before."""

    classes: NDArray[np.int64]


class Sets(NamedTuple):
    """The labels of each example."""

    starts: NDArray[np.int64]
    members: NDArray[np.int64]


class Preferences(NamedTuple):
    """Pairs of labels of each example, the first preferred to the second: members[2k] ≻ members[2k + 1]."""

    starts: NDArray[np.int64]
    members: NDArray[np.int64]


class Room(NamedTuple):
    """Room to work on one example: a score and a signal for each column, and what a scheme needs beside them."""

    scores: NDArray[np.float64]
    signals: NDArray[np.float64]
    spare: NDArray[np.float64]


class Each(NamedTuple):
    tie: float


class Pairs(NamedTuple):
    tie: float
    tournament: float
    """1 for a tournament, 0 for the majority."""


class Code(NamedTuple):
    tie: float
    words: NDArray[np.int8]
    """A row for each class."""
    columns: NDArray[np.int64]
    """How many bits there are for so many known classes."""
    by_loss: float
    """1 where the distance to a code word is the sum of the rule's losses, 0 where it is the number of wrong bits."""


class Relevant(NamedTuple):
    tie: float


class Rivals(NamedTuple):
    update: int


class Chosen(NamedTuple):
    update: int


class Ranked(NamedTuple):
    update: int


class Tree(NamedTuple):
    update: int
    starts: NDArray[np.int64]
    nodes: NDArray[np.int64]
    """nodes[starts[c] : starts[c + 1]] is the path of class c, from the root down."""
    columns: NDArray[np.int64]
    """How many nodes there are for so many known classes."""
    deepest: NDArray[np.int64]
    """How many the longest path has."""


# --- What an example asks for ---


@generic
def highest(wants: Any, i: int) -> int:
    """The largest class number that example i speaks of; −1 for none."""
    return wants.classes[i]


@compiled
def largest_member(wants: Any, i: int) -> int:
    largest = -1
    for k in range(wants.starts[i], wants.starts[i + 1]):
        largest = max(largest, wants.members[k])
    return largest


@highest.of(Sets)
def _(wants: Sets, i: int) -> int:
    return largest_member(wants, i)


@highest.of(Preferences)
def _(wants: Preferences, i: int) -> int:
    return largest_member(wants, i)


# --- Columns ---


@generic
def columns_for(scheme: Any, known: int) -> int:
    """How many columns so many known classes take."""
    return known


@columns_for.of(Pairs)
def _(scheme: Pairs, known: int) -> int:
    return known * (known - 1) // 2


@columns_for.of(Code)
def _(scheme: Code, known: int) -> int:
    return scheme.columns[known]


@columns_for.of(Chosen)
def _(scheme: Chosen, known: int) -> int:
    return known + 1


@columns_for.of(Tree)
def _(scheme: Tree, known: int) -> int:
    return scheme.columns[known]


@generic
def together(scheme: Any) -> bool:
    """Whether all columns are one long vector, and what an example asks of them one example of the learner's; in
    reductions each column is a learner of its own."""
    return False


@together.of(Rivals)
def _(scheme: Rivals) -> bool:
    return True


@together.of(Chosen)
def _(scheme: Chosen) -> bool:
    return True


@together.of(Ranked)
def _(scheme: Ranked) -> bool:
    return True


@together.of(Tree)
def _(scheme: Tree) -> bool:
    return True


# --- Reductions: which side of a column's problem a class is on ---


@generic
def aim(scheme: Any, y: int, c: int) -> float:
    """+1 or −1, 0 where column c has nothing to learn from class y."""
    return 1.0 if c == y else -1.0


@aim.of(Pairs)
def _(scheme: Pairs, y: int, c: int) -> float:
    # Column j(j−1)/2 + i tells j, +, from i, −, for i < j: pairs with a new class come after all others.
    high = int((1.0 + np.sqrt(1.0 + 8.0 * c)) / 2.0)
    low = c - high * (high - 1) // 2
    return 1.0 if y == high else -1.0 if y == low else 0.0


@aim.of(Code)
def _(scheme: Code, y: int, c: int) -> float:
    return np.float64(scheme.words[y, c])


# --- How long the vectors of the space are that the learner works in ---


@generic
def stretch(scheme: Any, known: int) -> float:
    """‖x'‖² ≤ stretch·‖x‖² for every x' that the learner sees."""
    return 1.0


@stretch.of(Rivals)
def _(scheme: Rivals, known: int) -> float:
    return 2.0


@stretch.of(Chosen)
def _(scheme: Chosen, known: int) -> float:
    return 2.0


@stretch.of(Ranked)
def _(scheme: Ranked, known: int) -> float:
    return 2.0


@stretch.of(Tree)
def _(scheme: Tree, known: int) -> float:
    return 2.0 * scheme.deepest[known]
