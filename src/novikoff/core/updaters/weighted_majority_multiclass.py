"""The council (parts/council.py) where there are many classes, each with a column of weights: preferences between the
class of an example and its highest rival are learned, as Kesler's construction has it.

Every member has rivals of its own. The scale of a feature stands in column 0, and in each column with a weight for it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.multiclass.pairwise_gradients import pulls
from novikoff.core.multiclass.weight_matrix import Push, score_all, update_columns
from novikoff.core.updaters.arow import refine_all, spread
from novikoff.core.updaters.weighted_majority import (ADAGRAD, ADAGRAD_LAST, ADAGRAD_MEAN, AROW, AROW_LAST, AROW_MEAN, CONSTANT, LAST, MEMBERS, PERCEPTRON, PREDICTED, SAID, SCALE, SCORES, SPREADS, STEPS, VOTES, Council, adagrad, add, add_term, arow, finish_means, follow, keep_scale, said, scaled)
from novikoff.core.updaters.base import update
from novikoff.core.losses import (HINGE, MISTAKE, SHORTFALL, Loss)
from novikoff.core.multiclass.schemes import Room
from novikoff.data.rows import (Rows, Scaled, first, last, slot)


@compiled
def noted_at(spare: NDArray[np.float64], across: int) -> int:
    """Where the scores of columns are noted: at the end, which nobody else writes to."""
    return len(spare) - SCORES * across


@score_all.of(Council)
def _(geometry: Council, rows: Rows, i: int, across: int, columns: int, room: Room) -> None:
    """The votes for each class."""
    scaled(geometry, rows, i, across)
    notes, at, start = room.spare, noted_at(room.spare, across), first(rows, i)
    for k in range(at, len(notes)):
        notes[k] = 0.0
    for k in range(start, last(rows, i)):
        x, base = np.float64(geometry.example[k - start]), slot(rows, i, k) * across
        for c in range(columns):
            add_term(geometry, base + c, x, notes, at + c, across)
    for c in range(columns):
        add_term(geometry, c, geometry.notes[CONSTANT], notes, at + c, across)
        room.scores[c] = 0.0
    finish_means(geometry, notes, at, across, columns)
    for member in range(MEMBERS):
        best, most = 0, -math.inf
        for c in range(columns):
            z = said(geometry, member, notes, at + c, across)
            if z > most:
                best, most = c, z
        geometry.notes[SAID + member] = best
        if columns > 0:
            room.scores[best] += geometry.scalars[VOTES + member]
    winner = 0
    for c in range(1, columns):
        if room.scores[c] > room.scores[winner]:
            winner = c
    geometry.notes[PREDICTED] = winner


@compiled
def rival(scores: NDArray[np.float64], columns: int, y: int) -> int:
    """The other class with the highest score."""
    best = -1
    for c in range(columns):
        if c != y and (best < 0 or scores[c] > scores[best]):
            best = c
    return best


@compiled
def variance(scores: NDArray[np.float64], columns: int) -> float:
    total, squares = 0.0, 0.0
    for c in range(columns):
        total += scores[c]
        squares += scores[c] * scores[c]
    return max(0.0, (squares - total * total / columns) / columns)


@compiled
def show_scale(geometry: Council, at: Scaled, i: int) -> None:
    """Beside the weights of a column that has moved."""
    for k in range(first(at, i), last(at, i)):
        j = slot(at, i, k)
        geometry.slots[j, SCALE] = geometry.slots[j - at.at, SCALE]


@update_columns.of(Council)
def _(geometry: Council, rows: Rows, i: int, across: int, push: Push) -> None:
    columns, y, at = push.columns, 0, noted_at(push.spare, across)
    for c in range(columns):
        if push.signals[c] > push.signals[y]:
            y = c
    weight = push.signals[y]
    follow(geometry, np.float64(y), y < push.known)
    of_arow, by_arow = push.spare[at + across * AROW_LAST :], push.spare[at + across * AROW_MEAN :]
    of_adagrad, by_adagrad = push.spare[at + across * ADAGRAD_LAST :], push.spare[at + across * ADAGRAD_MEAN :]
    of_last = push.spare[at + across * LAST :]
    geometry.scalars[SPREADS + AROW] += variance(by_arow, columns)
    geometry.scalars[SPREADS + ADAGRAD] += variance(by_adagrad, columns)
    geometry.scalars[SPREADS + PERCEPTRON] += variance(of_last, columns)
    keep_scale(geometry, rows, i, across, columns)
    step, mine = int(geometry.scalars[STEPS]), Scaled(rows, geometry.example, across, y)
    show_scale(geometry, mine, i)

    other = rival(of_arow, columns, y)
    pull = weight * pulls(Loss(SHORTFALL, 0.0), of_arow[y] - of_arow[other], 0.0)
    if pull != 0.0:
        its, member = Scaled(rows, geometry.example, across, other), arow(geometry)
        beta = 1.0 / (spread(member, mine, i) + spread(member, its, i) + geometry.r)
        refine_all(member, mine, i, beta * pull, beta, step)
        refine_all(member, its, i, -beta * pull, beta, step)
        show_scale(geometry, its, i)

    other = rival(of_adagrad, columns, y)
    pull = weight * pulls(Loss(HINGE, 0.0), of_adagrad[y] - of_adagrad[other], 0.0)
    if pull != 0.0:
        its = Scaled(rows, geometry.example, across, other)
        update(adagrad(geometry), mine, i, pull, step)
        update(adagrad(geometry), its, i, -pull, step)
        show_scale(geometry, its, i)

    other = rival(of_last, columns, y)
    pull = weight * pulls(Loss(MISTAKE, 0.0), of_last[y] - of_last[other], 0.0)
    if pull != 0.0:
        its = Scaled(rows, geometry.example, across, other)
        add(geometry, mine, i, pull)
        add(geometry, its, i, -pull)
        show_scale(geometry, its, i)
