"""From the scores of columns to what speaks for each class, what is predicted, and whether that was right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._jit import compiled, generic
from novikoff.parts.blame import first_with, highest_of
from novikoff.parts.rules import loss
from novikoff.parts.schemes import Chosen, Code, Each, Pairs, Ranked, Relevant, Rivals, Room, Tree


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
    return first_with(scores, count, highest_of(scores, count))


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


# --- Whether the prediction was right ---


@generic
def is_wrong(scheme: Any, wants: Any, i: int, rule: Any, known: int, unmet: int, room: Room) -> bool:
    """Whether the example was not predicted as it is labelled."""
    scores, _, spare = room
    return decide(scheme, rule, scores, known, spare) != wants.classes[i]


@compiled
def beaten(scores: NDArray[np.float64], known: int, y: int) -> bool:
    """Whether class y is not the first of those with the highest score."""
    own, ahead = scores[y], False
    for c in range(known):
        ahead |= (scores[c] > own) | ((scores[c] == own) & (c < y))
    return ahead


@is_wrong.of(Each)
def _(scheme: Each, wants: Any, i: int, rule: Any, known: int, unmet: int, room: Room) -> bool:
    return beaten(room.scores, known, wants.classes[i])


@is_wrong.of(Rivals)
def _(scheme: Rivals, wants: Any, i: int, rule: Any, known: int, unmet: int, room: Room) -> bool:
    return beaten(room.scores, known, wants.classes[i])


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
