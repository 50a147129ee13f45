"""Preferences i ≻ j among scored things, and who is to blame where scores don't agree with them.

A preference is an example of the binary learner in a larger space: x_ij has x in block i and −x in block j, and is
positive. Its score is s = s_i − s_j; the learner's rule says how hard it pulls. Of several preferences of one example

    top            only the one with the least s counts
    uniform        all that pull, each 1/how many
    proportional   all that pull, each by how far it is below what the rule asks for

so that what the weights move along is a mean of the x_ij: at most as long as they are, and every u that separates them
by γ separates it by γ too. A tie, s = 0, is a mistake: a preference that is not shown is not met.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, generic
from novikoff.core.losses import asked, signal

UPDATES = ("top", "uniform", "proportional")
TOP, UNIFORM, PROPORTIONAL = 0, 1, 2


@compiled
def pulls(rule: Any, s: float, norm: float) -> float:
    """How hard a preference of score s pulls."""
    return signal(rule, s, 1.0, s <= 0.0, norm)


@compiled
def blame_rivals(
    update: int,
    rule: Any,
    norm: float,
    scores: NDArray[np.float64],
    count: int,
    best: int,
    signals: NDArray[np.float64],
) -> bool:
    """The preferences of one thing to all others: signals, for all of them; whether a preference is not met."""
    for j in range(count):
        signals[j] = 0.0
    if count < 2:
        return False
    own, scores[best] = scores[best], -np.inf  # so that it is not found as its own rival
    most = highest_of(scores, count)
    if update == TOP:
        g = pulls(rule, own - most, norm)
        if g != 0.0:
            signals[best] = g
            signals[first_with(scores, count, most)] = -g
        scores[best] = own
    else:
        scores[best] = own
        total, number = 0.0, 0
        for j in range(count):
            if j != best:
                g = pulls(rule, scores[best] - scores[j], norm)
                signals[j] = g
                number += g != 0.0
                total += short_of(rule, scores[best] - scores[j], g)
        by_shortage = update == PROPORTIONAL and total > 0.0
        all_shares = total if by_shortage else np.float64(number)
        pulled = 0.0
        for j in range(count):
            if signals[j] != 0.0:
                g = signals[j]
                share = short_of(rule, scores[best] - scores[j], g) if by_shortage else 1.0
                signals[j] = -share * g / all_shares
                pulled += share * g
        signals[best] = pulled / all_shares if number > 0 else 0.0
    return own <= most


@compiled
def highest_of(scores: NDArray[np.float64], count: int) -> float:
    """The highest score. Where it stands is asked for only where that matters: a processor that must guess at each
    score whether it is higher than all before it is often wrong."""
    most = -np.inf
    for j in range(count):
        most = scores[j] if scores[j] > most else most
    return most


@compiled
def first_with(scores: NDArray[np.float64], count: int, score: float) -> int:
    """The first thing with that score; the last one where there is none, as among scores that are no numbers."""
    for j in range(count - 1):
        if scores[j] == score:
            return j
    return count - 1


@compiled
def short_of(rule: Any, s: float, g: float) -> float:
    """How far s is below what the rule asks for, where it pulls."""
    return asked(rule) - s if g != 0.0 else 0.0


class ByGrade(NamedTuple):
    """Things of higher grade are preferred to those of lower grade; NaN is no grade."""

    grades: NDArray[np.float64]


class Listed(NamedTuple):
    """a is preferred to b where marks[a·things + b] is not 0."""

    marks: NDArray[np.float64]
    things: int


@generic
def preferred(order: Any, a: int, b: int) -> bool:
    """Whether thing a is to be above thing b."""
    return order.grades[a] > order.grades[b]


@preferred.of(Listed)
def _(order: Listed, a: int, b: int) -> bool:
    return order.marks[a * order.things + b] != 0.0


@compiled
def blame_pairs(  # noqa: PLR0912 - twice through all pairs
    update: int,
    rule: Any,
    norm: float,
    scores: NDArray[np.float64],
    order: Any,
    count: int,
    signals: NDArray[np.float64],
) -> int:
    """All preferences among so many things: signals, and how many are not met."""
    for j in range(count):
        signals[j] = 0.0
    unmet, number, total, least, top_a, top_b = 0, 0, 0.0, np.inf, -1, -1
    for a in range(count):
        for b in range(count):
            if preferred(order, a, b):
                s = scores[a] - scores[b]
                unmet += s <= 0.0
                if s < least:
                    least, top_a, top_b = s, a, b
                if update != TOP:
                    g = pulls(rule, s, norm)
                    number += g != 0.0
                    total += short_of(rule, s, g)
    if top_a < 0:
        return 0
    if update == TOP:
        g = pulls(rule, least, norm)
        signals[top_a] += g
        signals[top_b] -= g
        return unmet
    if number == 0:
        return unmet
    by_shortage = update == PROPORTIONAL and total > 0.0
    all_shares = total if by_shortage else np.float64(number)
    for a in range(count):
        for b in range(count):
            if preferred(order, a, b):
                s = scores[a] - scores[b]
                g = pulls(rule, s, norm)
                if g != 0.0:
                    # Divided at the end: what is pulled to both sides alike must stay, and not move by a rounding
                    # error, which AdaGrad would make a whole step of.
                    share = short_of(rule, s, g) if by_shortage else 1.0
                    signals[a] += share * g
                    signals[b] -= share * g
    for j in range(count):
        signals[j] /= all_shares
    return unmet
