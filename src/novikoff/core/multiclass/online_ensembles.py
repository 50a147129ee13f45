"""Ensembles that learn online: how members are made of columns of weights, and how often each learns an example.

Every member tells all classes from each other by one column a class (one-vs-all); member m of class c is column
c·members + m, so that columns of a new class come after all others. Bagged members learn each example k times, k drawn
from Poisson's distribution of mean 1; of boosted members the mean is what those before them have left of it.
To learn an example k times is one step of k times the length.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.counter_rng import poisson
from novikoff.core.losses import loss, signal
from novikoff.core.multiclass.schemes import (BOOSTED, Room, Scheme, Tally, Wants)


@compiled
def side_of(y: int, c: int) -> float:
    return 1.0 if c == y else -1.0


@compiled
def misses(scheme: Scheme, s: float, side: float) -> bool:
    return side * s < 0.0 or (s == 0.0 and side * scheme.tie < 0.0)


@compiled
def vote_of(scheme: Scheme, scores: NDArray[np.float64], m: int, known: int) -> int:
    """The class that member m says, the first of equals."""
    best = 0
    for c in range(1, known):
        if scores[c * scheme.members + m] > scores[best * scheme.members + m]:
            best = c
    return best


@compiled
def ask(scheme: Scheme, y: int, m: int, times: float, rule: Any, norm: float, known: int, room: Room) -> int:
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
    scheme: Scheme, y: int, m: int, times: float, rule: Any, weight: float, known: int, room: Room, tally: Tally
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


@compiled
def say_of(scheme: Scheme, m: int, known: int) -> float:
    """How much the vote of a boosted member m weighs: ln((1−ε)/ε) + ln(K−1), half an example added to either side; not
    below 0."""
    odds = (scheme.sums[m, 0] + 0.5) / (scheme.sums[m, 1] + 0.5)
    return max(0.0, math.log(odds) + (math.log(known - 1.0) if known > 2 else 0.0))


@compiled
def weigh_members(scheme: Scheme, scores: NDArray[np.float64], known: int, room: NDArray[np.float64]) -> None:
    """The votes for each class."""
    total = 0.0
    for c in range(known):
        room[c] = 0.0
    if scheme.kind == BOOSTED:
        for m in range(scheme.members):
            total += say_of(scheme, m, known)
    for m in range(scheme.members if known > 0 else 0):
        # Bagged members weigh the same, and boosted ones where none is better than chance.
        room[vote_of(scheme, scores, m, known)] += say_of(scheme, m, known) if total > 0.0 else 1.0


@compiled
def blame_members(scheme: Scheme, wants: Wants, i: int, rule: Any, norm: float, known: int, room: Room) -> int:
    """The signals of all members; leaves the mean of each boosted member's draw behind the first `known` numbers of the
    spare room."""
    y, unmet, mean = wants.classes[i], 0, 1.0
    for m in range(scheme.members):
        if scheme.kind == BOOSTED:
            room.spare[known + m] = mean
        unmet += ask(scheme, y, m, poisson(scheme.luck[i, m], mean), rule, norm, known, room)
        if scheme.kind == BOOSTED:
            wrong = 0 if vote_of(scheme, room.scores, m, known) == y else 1
            total = scheme.sums[m, 0] + scheme.sums[m, 1] + mean
            mean *= total / (2.0 * (scheme.sums[m, wrong] + mean))
    return unmet


@compiled
def note_members(
    scheme: Scheme, wants: Wants, i: int, rule: Any, weight: float, known: int, room: Room, tally: Tally
) -> float:
    """Counts for all members; returns the loss."""
    y, total = wants.classes[i], 0.0
    for m in range(scheme.members):
        mean = room.spare[known + m] if scheme.kind == BOOSTED else 1.0
        times = poisson(scheme.luck[i, m], mean)
        total += note_member(scheme, y, m, times, rule, weight, known, room, tally)
        if scheme.kind == BOOSTED:
            scheme.sums[m, 0 if vote_of(scheme, room.scores, m, known) == y else 1] += mean
    return total
