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

Every scheme says how many columns so many known classes take, what it predicts, and what moves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._jit import compiled, generic
from novikoff.parts.blame import ByGrade, Listed, blame_pairs, blame_rivals
from novikoff.parts.rules import loss, signal


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


# --- What is predicted ---


@generic
def weigh(scheme: Any, rule: Any, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    """What speaks for each class: the highest wins."""
    for c in range(known):
        room[c] = scores[c]


@compiled
def decide(scheme: Any, rule: Any, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> int:
    """The class that is predicted, −1 where none is known; the first of equals."""
    weigh(scheme, rule, scores, known, room)
    return largest_of(room, known)


@compiled
def largest_of(scores: NDArray[np.float64], count: int) -> int:
    best = -1
    for c in range(count):
        if best < 0 or scores[c] > scores[best]:
            best = c
    return best


@compiled
def wins(scheme: Pairs, scores: NDArray[np.float64], low: int, high: int) -> bool:
    """Whether the higher of two classes wins over the lower one."""
    s = scores[high * (high - 1) // 2 + low]
    return s > 0.0 or (s == 0.0 and scheme.tie > 0.0)


@weigh.of(Pairs)
def _(scheme: Pairs, rule: Any, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    for c in range(known):
        room[c] = 0.0
    if scheme.tournament == 0.0:
        for high in range(1, known):
            for low in range(high):
                room[high if wins(scheme, scores, low, high) else low] += 1.0
    else:
        best = 0
        for c in range(1, known):  # match c: how late a class loses is how far it gets
            loser = c
            if wins(scheme, scores, best, c):
                best, loser = c, best
            room[loser] = c - 1.0
            room[best] = np.float64(c)


@compiled
def distance(rule: Any, margin: float) -> float:
    """How much a score disagrees with a bit, from their product: the rule's loss, or the hinge's where it has none. A
    bit of 0 costs what a score of 0 costs."""
    of_rule = loss(rule, margin, 1.0)
    return max(0.0, 1.0 - margin) if of_rule == 0.0 else of_rule


@weigh.of(Code)
def _(scheme: Code, rule: Any, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    for k in range(known):
        room[k] = 0.0
        for c in range(scheme.columns[known]):
            y, s = np.float64(scheme.words[k, c]), scores[c]
            if scheme.by_loss != 0.0:
                room[k] -= distance(rule, y * s)
            elif y == 0.0:
                room[k] -= 0.5  # a bit that is neither is half wrong, whatever the score is
            else:
                room[k] -= y * s < 0.0 or (s == 0.0 and y * scheme.tie < 0.0)


@weigh.of(Chosen)
def _(scheme: Chosen, rule: Any, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    for c in range(known):
        room[c] = scores[c + 1] - scores[0]


@weigh.of(Tree)
def _(scheme: Tree, rule: Any, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    """The sum of the scores of the nodes on each class's path, from the root down."""
    for c in range(known):
        room[c] = 0.0
        for k in range(scheme.starts[c], scheme.starts[c + 1]):
            room[c] += scores[scheme.nodes[k]]


@compiled
def weigh_all(
    scheme: Any,
    rule: Any,
    scores: NDArray[np.float64],
    across: int,
    known: int,
    room: NDArray[np.float64],
    out: NDArray[np.float64],
    winners: NDArray[np.int64],
) -> None:
    """`weigh` and `decide` for many rows: `across` scores of columns in, `known` weights of classes out, for each."""
    for i in range(len(winners)):
        here = scores[i * across : (i + 1) * across]
        weigh(scheme, rule, here, known, room)
        for c in range(known):
            out[i * known + c] = room[c]
        winners[i] = decide(scheme, rule, here, known, room)


# --- What moves ---


@generic
def blame(scheme: Any, wants: Any, i: int, rule: Any, norm: float, known: int, room: Room) -> int:
    """The signal of each column, from the labels of example i; how many of its binary problems it gets wrong."""
    scores, signals, _ = room
    y, unmet = wants.classes[i], 0
    for c in range(columns_for(scheme, known)):
        side, s = aim(scheme, y, c), scores[c]
        wrong = side * s < 0.0 or (s == 0.0 and side * scheme.tie < 0.0)
        signals[c] = signal(rule, s, side, wrong, norm) if side != 0.0 else 0.0
        unmet += wrong
    return unmet


@blame.of(Relevant)
def _(scheme: Relevant, wants: Any, i: int, rule: Any, norm: float, known: int, room: Room) -> int:
    scores, signals, spare = room
    sides_of(wants, i, known, spare)
    unmet = 0
    for c in range(known):
        wrong = misses(scheme, scores[c], spare[c])
        signals[c] = signal(rule, scores[c], spare[c], wrong, norm)
        unmet += wrong
    return unmet


@compiled
def sides_of(wants: Any, i: int, known: int, room: NDArray[np.float64]) -> None:
    """+1 for each label of example i, −1 for all others."""
    for c in range(known):
        room[c] = -1.0
    for k in range(wants.starts[i], wants.starts[i + 1]):
        if wants.members[k] < known:
            room[wants.members[k]] = 1.0


@compiled
def misses(scheme: Relevant, s: float, side: float) -> bool:
    return side * s < 0.0 or (s == 0.0 and side * scheme.tie < 0.0)


@blame.of(Rivals)
def _(scheme: Rivals, wants: Any, i: int, rule: Any, norm: float, known: int, room: Room) -> int:
    scores, signals, _ = room
    return int(blame_rivals(scheme.update, rule, norm, scores, known, wants.classes[i], signals))


@blame.of(Chosen)
def _(scheme: Chosen, wants: Any, i: int, rule: Any, norm: float, known: int, room: Room) -> int:
    scores, signals, spare = room
    for c in range(known + 1):
        spare[c] = 0.0
    spare[0] = 1.0
    for k in range(wants.starts[i], wants.starts[i + 1]):
        spare[wants.members[k] + 1] = 2.0
    return blame_pairs(scheme.update, rule, norm, scores, ByGrade(spare), known + 1, signals)


@blame.of(Ranked)
def _(scheme: Ranked, wants: Any, i: int, rule: Any, norm: float, known: int, room: Room) -> int:
    scores, signals, spare = room
    for k in range(known * known):
        spare[k] = 0.0
    for k in range(wants.starts[i], wants.starts[i + 1], 2):
        spare[wants.members[k] * known + wants.members[k + 1]] = 1.0
    return blame_pairs(scheme.update, rule, norm, scores, Listed(spare, known), known, signals)


@blame.of(Tree)
def _(scheme: Tree, wants: Any, i: int, rule: Any, norm: float, known: int, room: Room) -> int:
    scores, signals, spare = room
    weigh(scheme, rule, scores, known, spare)
    asks, y = spare[known:], wants.classes[i]
    unmet = blame_rivals(scheme.update, rule, norm, spare, known, y, asks)
    for c in range(columns_for(scheme, known)):
        signals[c] = 0.0
    for c in range(known):
        if c != y and asks[c] != 0.0:
            # What both paths have in common is left out: it must stay exactly as it is.
            mine, other = scheme.starts[y], scheme.starts[c]
            while (
                mine < scheme.starts[y + 1]
                and other < scheme.starts[c + 1]
                and scheme.nodes[mine] == scheme.nodes[other]
            ):
                mine, other = mine + 1, other + 1
            for k in range(mine, scheme.starts[y + 1]):
                signals[scheme.nodes[k]] -= asks[c]
            for k in range(other, scheme.starts[c + 1]):
                signals[scheme.nodes[k]] += asks[c]
    return int(unmet)


# --- Whether the prediction was right ---


@generic
def is_wrong(scheme: Any, wants: Any, i: int, rule: Any, known: int, unmet: int, room: Room) -> bool:
    """Whether the example was not predicted as it is labelled."""
    scores, _, spare = room
    return decide(scheme, rule, scores, known, spare) != wants.classes[i]


@is_wrong.of(Ranked)
def _(scheme: Ranked, wants: Any, i: int, rule: Any, known: int, unmet: int, room: Room) -> bool:
    return unmet > 0


@is_wrong.of(Relevant)
def _(scheme: Relevant, wants: Any, i: int, rule: Any, known: int, unmet: int, room: Room) -> bool:
    return unmet > 0


@is_wrong.of(Chosen)
def _(scheme: Chosen, wants: Any, i: int, rule: Any, known: int, unmet: int, room: Room) -> bool:
    scores, _, spare = room
    for c in range(known):
        spare[c] = scores[c + 1] > scores[0]
    for k in range(wants.starts[i], wants.starts[i + 1]):
        if wants.members[k] < known:
            spare[wants.members[k]] -= 1.0
    differs = False
    for c in range(known):
        differs |= spare[c] != 0.0
    return differs


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
