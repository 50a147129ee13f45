"""From the scores of columns to what speaks for each class, what is predicted, and whether that was right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_shared
from novikoff.core.multiclass.pairwise_gradients import first_with, highest_of
from novikoff.core.multiclass.online_ensembles import weigh_members
from novikoff.core.losses import loss
from novikoff.core.multiclass.schemes import (BAGGED, BOOSTED, CHOSEN, CODE, EACH, PAIRS, RANKED, RELEVANT, RIVALS, TREE, Room, Scheme, Wants)


@compiled
def weigh(scheme: Scheme, rule: Any, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    """What speaks for each class: the highest wins."""
    if scheme.kind == PAIRS:
        weigh_pairs(scheme, scores, known, room)
    elif scheme.kind == CODE:
        weigh_words(scheme, rule, scores, known, room)
    elif scheme.kind == CHOSEN:
        for c in range(known):
            room[c] = scores[c + 1] - scores[0]
    elif scheme.kind == TREE:
        weigh_paths(scheme, scores, known, room)
    elif scheme.kind == BAGGED or scheme.kind == BOOSTED:  # noqa: PLR1714 - compiled as it stands
        weigh_members(scheme, scores, known, room)
    else:
        for c in range(known):
            room[c] = scores[c]


@compiled
def decide(scheme: Scheme, rule: Any, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> int:
    """The class that is predicted, −1 where none is known; the first of equals."""
    weigh(scheme, rule, scores, known, room)
    return largest_of(room, known)


@compiled
def largest_of(scores: NDArray[np.float64], count: int) -> int:
    return first_with(scores, count, highest_of(scores, count))


@compiled
def wins(scheme: Scheme, scores: NDArray[np.float64], low: int, high: int) -> bool:
    """Whether the higher of two classes wins over the lower one."""
    s = scores[high * (high - 1) // 2 + low]
    return s > 0.0 or (s == 0.0 and scheme.tie > 0.0)


@compiled
def weigh_pairs(scheme: Scheme, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    """How many pairs each class wins, or how far it gets."""
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


@compiled
def weigh_words(scheme: Scheme, rule: Any, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    """How near the scores are to each class's code word."""
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


@compiled
def weigh_paths(scheme: Scheme, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    """The sum of the scores of the nodes on each class's path, from the root down."""
    for c in range(known):
        room[c] = 0.0
        for k in range(scheme.starts[c], scheme.starts[c + 1]):
            room[c] += scores[scheme.nodes[k]]


@compiled
def weigh_all(
    scheme: Scheme,
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


@compiled
def is_wrong(scheme: Scheme, wants: Wants, i: int, rule: Any, known: int, unmet: int, room: Room) -> bool:
    """Whether the example was not predicted as it is labelled."""
    if scheme.kind == EACH or scheme.kind == RIVALS:  # noqa: PLR1714 - compiled as it stands
        return beaten(room.scores, known, wants.classes[i])
    return is_wrong_other(scheme, wants, i, rule, known, unmet, room)


@compiled_shared
def is_wrong_other(scheme: Scheme, wants: Wants, i: int, rule: Any, known: int, unmet: int, room: Room) -> bool:
    """Return what `is_wrong` does, for the schemes that are used less."""
    if scheme.kind == RANKED or scheme.kind == RELEVANT:  # noqa: PLR1714
        return unmet > 0
    if scheme.kind == CHOSEN:
        return differs(wants, i, known, room)
    return decide(scheme, rule, room.scores, known, room.spare) != wants.classes[i]


@compiled
def beaten(scores: NDArray[np.float64], known: int, y: int) -> bool:
    """Whether class y is not the first of those with the highest score."""
    own, ahead = scores[y], False
    for c in range(known):
        ahead |= (scores[c] > own) | ((scores[c] == own) & (c < y))
    return ahead


@compiled
def differs(wants: Wants, i: int, known: int, room: Room) -> bool:
    """Whether the labels above the threshold are not those of the example."""
    scores, _, spare = room
    for c in range(known):
        spare[c] = scores[c + 1] > scores[0]
    for k in range(wants.starts[i], wants.starts[i + 1]):
        if wants.members[k] < known:
            spare[wants.members[k]] -= 1.0
    found = False
    for c in range(known):
        found |= spare[c] != 0.0
    return found
