"""What an example moves: from the scores of columns to a signal for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._jit import compiled, generic
from novikoff.parts.blame import ByGrade, Listed, blame_pairs, blame_rivals
from novikoff.parts.deciding import weigh
from novikoff.parts.rules import signal
from novikoff.parts.schemes import Chosen, Ranked, Relevant, Rivals, Room, Tree, aim, columns_for


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
