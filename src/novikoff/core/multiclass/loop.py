"""The one loop for many columns of weights: predict, be told, count, update."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_shared
from novikoff.ledger import ENERGY, EXAMPLES, LOSS, SQUARED_RADIUS, UPDATES, WEIGHTED, Book, note_mistake
from novikoff.core.multiclass.weight_matrix import Push, score_all, update_columns
from novikoff.core.multiclass.decoding import is_wrong
from novikoff.core.updaters.base import (bias_square, fits, limit, norm, span, tick)
from novikoff.core.multiclass.gradients import blame, sides_of
from novikoff.core.multiclass.online_ensembles import misses, note_members
from novikoff.core.losses import loss, mistake_margin
from novikoff.core.multiclass.schemes import (BAGGED, BOOSTED, EACH, RELEVANT, Room, Scheme, Tally, Wants, aim, columns_for, highest, stretch, together)
from novikoff.data.rows import Rows, proper, squared

# Where each number lives in Tally.counts.
KNOWN, NEW, UNMET = 0, 1, 2


@compiled
def note_columns(
    scheme: Scheme, wants: Wants, i: int, rule: Any, weight: float, known: int, room: Room, tally: Tally
) -> float:
    """Counts for each column that it has seen example i; returns the loss."""
    if scheme.kind == EACH:
        return note_each(scheme, wants.classes[i], rule, weight, known, room, tally)
    if not together(scheme):
        return note_other(scheme, wants, i, rule, weight, known, room, tally)
    t = tally.times[0] + 1
    for c in range(max(1, columns_for(scheme, known))):  # time goes on even where there is no column yet
        tally.times[c] = t
    return 0.0


@compiled
def note_each(scheme: Scheme, y: int, rule: Any, weight: float, known: int, room: Room, tally: Tally) -> float:
    """Count as `note_columns` does, for one class against the rest."""
    total = 0.0
    if math.isnan(mistake_margin(rule)):
        for c in range(known):
            s, side = room.scores[c], 1.0 if c == y else -1.0
            tally.times[c] += 1
            tally.mistakes[c] += misses(scheme, s, side)
            total += weight * loss(rule, s, side)
        return total
    for c in range(known):  # a loss without a value
        s, side = room.scores[c], 1.0 if c == y else -1.0
        tally.times[c] += 1
        tally.mistakes[c] += (side * s < 0.0) | ((s == 0.0) & (side * scheme.tie < 0.0))
    return total


@compiled_shared
def note_other(
    scheme: Scheme, wants: Wants, i: int, rule: Any, weight: float, known: int, room: Room, tally: Tally
) -> float:
    """Count as `note_columns` does, for the reductions and ensembles that are used less."""
    if scheme.kind == RELEVANT:
        return note_labels(scheme, wants, i, rule, weight, known, room, tally)
    if scheme.kind == BAGGED or scheme.kind == BOOSTED:  # noqa: PLR1714 - compiled as it stands
        return note_members(scheme, wants, i, rule, weight, known, room, tally)
    return note_reduced(scheme, wants, i, rule, weight, known, room, tally)


@compiled
def note_reduced(
    scheme: Scheme, wants: Wants, i: int, rule: Any, weight: float, known: int, room: Room, tally: Tally
) -> float:
    total = 0.0
    for c in range(columns_for(scheme, known)):
        side, s = aim(scheme, wants.classes[i], c), room.scores[c]
        if side != 0.0:
            tally.times[c] += 1
            tally.mistakes[c] += misses(scheme, s, side)
            total += weight * loss(rule, s, side)
    return total


@compiled
def note_labels(
    scheme: Scheme, wants: Wants, i: int, rule: Any, weight: float, known: int, room: Room, tally: Tally
) -> float:
    total = 0.0
    sides_of(wants, i, known, room.spare)
    for c in range(known):
        tally.times[c] += 1
        tally.mistakes[c] += misses(scheme, room.scores[c], room.spare[c])
        total += weight * loss(rule, room.scores[c], room.spare[c])
    return total


@compiled
def step(
    scheme: Scheme,
    rule: Any,
    geometry: Any,
    rows: Rows,
    wants: Wants,
    i: int,
    weight: float,
    across: int,
    tally: Tally,
    room: Room,
    book: Book,
) -> bool:
    """Example i, all of whose terms have slots; False, with nothing changed, where it is refused."""
    largest = limit(geometry.slots)
    square = squared(rows, i) + bias_square(geometry)
    if not (square < largest and fits(geometry, rows, i)):
        return False
    before = tally.counts[KNOWN]
    known = max(before, highest(wants, i) + 1)
    columns = columns_for(scheme, known)
    score_all(geometry, rows, i, across, columns, room)
    # What is told now can't have been predicted: the prediction is that of the classes known before.
    unmet = blame(scheme, wants, i, rule, norm(geometry), known, room)
    wrong = known > before or is_wrong(scheme, wants, i, rule, before, unmet, room)
    energy, pulled, fits_in = 0.0, False, True
    for c in range(columns):
        pulled |= room.signals[c] != 0.0
        fits_in &= abs(room.scores[c]) < largest
    moves = False
    if pulled:
        for c in range(columns):
            room.signals[c] *= weight
            moves |= room.signals[c] != 0.0
            energy += room.signals[c] * room.signals[c]
    if not (fits_in and energy * square < largest):
        return False
    book.counts[EXAMPLES] += 1
    tally.counts[KNOWN] = known
    tally.counts[NEW] += known > before
    tally.counts[UNMET] += unmet
    book.sums[SQUARED_RADIUS] = max(book.sums[SQUARED_RADIUS], stretch(scheme, known) * span(geometry, square))
    if wrong:
        note_mistake(book)
    book.sums[LOSS] += note_columns(scheme, wants, i, rule, weight, known, room, tally)
    if moves:
        book.counts[UPDATES] += 1
        book.sums[ENERGY] += energy * square
        push = Push(columns, together(scheme), room.signals, tally.times, room.spare, before)
        update_columns(geometry, rows, i, across, push)
    tick(geometry, book.counts[EXAMPLES])
    return True


@compiled
def learn_many(
    scheme: Scheme,
    rule: Any,
    geometry: Any,
    rows: Rows,
    wants: Wants,
    count: int,
    weights: NDArray[np.float64],
    slots: int,
    across: int,
    tally: Tally,
    room: Room,
    book: Book,
    tidy: bool,
) -> int:
    """One pass; returns how many rows were taken: fewer than there are where one was refused. As `learn` in
    parts/loop.py, for tables of weights `across` columns wide."""
    for i in range(count):
        if not (tidy or proper(rows, i, slots)):
            return i
        weight = 1.0
        if len(weights) > 0:
            weight = weights[i]
            if weight == 0.0:
                if not (squared(rows, i) < limit(geometry.slots) and fits(geometry, rows, i)):
                    return i
                continue
        if not step(scheme, rule, geometry, rows, wants, i, weight, across, tally, room, book):
            return i
        if weight != 1.0:
            book.counts[WEIGHTED] += 1
    return count
