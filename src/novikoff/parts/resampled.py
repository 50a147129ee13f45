"""Ensembles that learn online: how members are made of columns of weights, and how often each learns an example.

Every member tells all classes from each other by one column a class (one-vs-all); member m of class c is column
c·members + m, so that columns of a new class come after all others. Bagged members learn each example k times, k drawn
from Poisson's distribution of mean 1; of boosted members the mean is what those before them have left of it.
To learn an example k times is one step of k times the length.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._jit import compiled
from novikoff.parts.deciding import weigh
from novikoff.parts.luck import poisson
from novikoff.parts.many import Tally, note_columns
from novikoff.parts.moving import blame
from novikoff.parts.rules import loss, signal
from novikoff.parts.schemes import Room, columns_for


class Bagged(NamedTuple):
    tie: float
    members: int
    luck: NDArray[np.float64]
    """[example][member]: what the draws are made from."""


class Boosted(NamedTuple):
    tie: float
    members: int
    luck: NDArray[np.float64]
    sums: NDArray[np.float64]
    """[member][right or wrong]: the weight of the examples that it got right, and wrong."""


@compiled
def side_of(y: int, c: int) -> float:
    return 1.0 if c == y else -1.0


@compiled
def misses(scheme: Any, s: float, side: float) -> bool:
    return side * s < 0.0 or (s == 0.0 and side * scheme.tie < 0.0)


@compiled
def vote_of(scheme: Any, scores: NDArray[np.float64], m: int, known: int) -> int:
    """The class that member m says, the first of equals."""
    best = 0
    for c in range(1, known):
        if scores[c * scheme.members + m] > scores[best * scheme.members + m]:
            best = c
    return best


@compiled
def ask(scheme: Any, y: int, m: int, times: float, rule: Any, norm: float, known: int, room: Room) -> int:
    """The signals of member m's columns, which is to learn the example so many times; how many of them are wrong."""
    scores, signals, _ = room
    unmet = 0
    for c in range(known):
        at, side = c * scheme.members + m, side_of(y, c)
        wrong = misses(scheme, scores[at], side)
        signals[at] = times * signal(rule, scores[at], side, wrong, norm) if times > 0.0 else 0.0
        unmet += wrong
    return unmet


@compiled
def note_member(
    scheme: Any, y: int, m: int, times: float, rule: Any, weight: float, known: int, room: Room, tally: Tally
) -> float:
    """Counts, for a member that has learned the example so many times; returns the loss."""
    total = 0.0
    if times > 0.0:
        for c in range(known):
            at, side = c * scheme.members + m, side_of(y, c)
            tally.times[at] += 1
            tally.mistakes[at] += misses(scheme, room.scores[at], side)
            total += weight * times * loss(rule, room.scores[at], side)
    return total


# --- Bagged ---


@columns_for.of(Bagged)
def _(scheme: Bagged, known: int) -> int:
    return known * scheme.members


@weigh.of(Bagged)
def _(scheme: Bagged, rule: Any, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    for c in range(known):
        room[c] = 0.0
    for m in range(scheme.members if known > 0 else 0):
        room[vote_of(scheme, scores, m, known)] += 1.0


@blame.of(Bagged)
def _(scheme: Bagged, wants: Any, i: int, rule: Any, norm: float, known: int, room: Room) -> int:
    unmet = 0
    for m in range(scheme.members):
        unmet += ask(scheme, wants.classes[i], m, poisson(scheme.luck[i, m], 1.0), rule, norm, known, room)
    return unmet


@note_columns.of(Bagged)
def _(scheme: Bagged, wants: Any, i: int, rule: Any, weight: float, known: int, room: Room, tally: Tally) -> float:
    total = 0.0
    for m in range(scheme.members):
        times = poisson(scheme.luck[i, m], 1.0)
        total += note_member(scheme, wants.classes[i], m, times, rule, weight, known, room, tally)
    return total


# --- Boosted ---


@columns_for.of(Boosted)
def _(scheme: Boosted, known: int) -> int:
    return known * scheme.members


@compiled
def say_of(scheme: Boosted, m: int, known: int) -> float:
    """How much member m's vote weighs: ln((1−ε)/ε) + ln(K−1), half an example added to either side; not below 0."""
    odds = (scheme.sums[m, 0] + 0.5) / (scheme.sums[m, 1] + 0.5)
    return max(0.0, math.log(odds) + (math.log(known - 1.0) if known > 2 else 0.0))


@weigh.of(Boosted)
def _(scheme: Boosted, rule: Any, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    total = 0.0
    for c in range(known):
        room[c] = 0.0
    for m in range(scheme.members):
        total += say_of(scheme, m, known)
    for m in range(scheme.members if known > 0 else 0):
        # Where no member is better than chance all weigh the same.
        room[vote_of(scheme, scores, m, known)] += say_of(scheme, m, known) if total > 0.0 else 1.0


@blame.of(Boosted)
def _(scheme: Boosted, wants: Any, i: int, rule: Any, norm: float, known: int, room: Room) -> int:
    """Leaves the mean of each member's draw behind the first `known` numbers of the spare room."""
    y, unmet, mean = wants.classes[i], 0, 1.0
    for m in range(scheme.members):
        room.spare[known + m] = mean
        unmet += ask(scheme, y, m, poisson(scheme.luck[i, m], mean), rule, norm, known, room)
        wrong = 0 if vote_of(scheme, room.scores, m, known) == y else 1
        total = scheme.sums[m, 0] + scheme.sums[m, 1] + mean
        mean *= total / (2.0 * (scheme.sums[m, wrong] + mean))
    return unmet


@note_columns.of(Boosted)
def _(scheme: Boosted, wants: Any, i: int, rule: Any, weight: float, known: int, room: Room, tally: Tally) -> float:
    y, total = wants.classes[i], 0.0
    for m in range(scheme.members):
        mean = room.spare[known + m]
        times = poisson(scheme.luck[i, m], mean)
        total += note_member(scheme, y, m, times, rule, weight, known, room, tally)
        scheme.sums[m, 0 if vote_of(scheme, room.scores, m, known) == y else 1] += mean
    return total
