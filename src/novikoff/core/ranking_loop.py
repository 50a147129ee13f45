"""The loop for rankings: an example is a query with its documents, whose grades say which is preferred to which.

One vector of weights scores all documents. The preferences that are not met make one example of the binary learner, the
mean of x_i − x_j over them (parts/blame.py), which is written out as one sparse row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.ledger import ENERGY, EXAMPLES, SQUARED_RADIUS, UPDATES, WEIGHTED, Book, note_mistake
from novikoff.core.multiclass.pairwise_gradients import ByGrade, blame_pairs
from novikoff.core.updaters.base import (fits, limit, norm, score, tick, update)
from novikoff.data.rows import (Rows, Sparse, first, last, proper, slot)

UNMET = 0


class Queries(NamedTuple):
    """Query q has the documents starts[q] to starts[q + 1], with their grades."""

    starts: NDArray[np.int64]
    grades: NDArray[np.float64]


class Desk(NamedTuple):
    """Room for the documents of one query, and for the example that they make."""

    scores: NDArray[np.float64]
    signals: NDArray[np.float64]
    mixed: NDArray[np.float64]
    stamps: NDArray[np.int64]
    """For each slot a sum, and the number of the query that it belongs to, from 1."""
    row: Sparse
    """The example: its values are in the precision of the data."""


@compiled
def mix(rows: Rows, queries: Queries, q: int, size: float, desk: Desk) -> None:
    """Writes Σ (signal/size)·x over the documents of query q to desk.row, features in the order in which they come."""
    start, end = queries.starts[q], 0
    for i in range(start, queries.starts[q + 1]):
        share = desk.signals[i - start] / size
        if share != 0.0:
            for k in range(first(rows, i), last(rows, i)):
                j = slot(rows, i, k)
                if desk.stamps[j] != q + 1:
                    desk.stamps[j] = q + 1
                    desk.mixed[j] = 0.0
                    desk.row.indices[end] = j - 1
                    end += 1
                desk.mixed[j] += share * np.float64(rows.values[k])
    kept = 0
    for k in range(end):  # what has cancelled out is no term
        j = int(desk.row.indices[k])
        desk.row.indices[kept] = j
        desk.row.values[kept] = desk.mixed[j + 1]
        kept += desk.row.values[kept] != 0.0
    desk.row.starts[1] = kept


@compiled
def one_query(
    way: int,
    rule: Any,
    geometry: Any,
    rows: Rows,
    queries: Queries,
    q: int,
    weight: float,
    counts: NDArray[np.int64],
    desk: Desk,
    book: Book,
) -> bool:
    """Query q; False, with nothing changed, where it is refused."""
    start, stop = queries.starts[q], queries.starts[q + 1]
    largest, widest = limit(geometry.slots), 0.0
    for i in range(start, stop):
        s, square = score(geometry, rows, i)
        if not (square < largest and abs(s) < largest and fits(geometry, rows, i)):
            return False
        desk.scores[i - start] = s
        widest = max(widest, square)
    count = stop - start
    order = ByGrade(queries.grades[start:stop])
    unmet = blame_pairs(way, rule, norm(geometry), desk.scores, order, count, desk.signals)
    size = 0.0
    for d in range(count):
        size += max(0.0, desk.signals[d])
    if size > 0.0:
        mix(rows, queries, q, size, desk)
        _, square = score(geometry, desk.row, 0)
        if not (square < largest and (weight * size) ** 2 * square < largest):
            return False
        book.sums[ENERGY] += (weight * size) ** 2 * square
    book.counts[EXAMPLES] += 1
    counts[UNMET] += unmet
    book.sums[SQUARED_RADIUS] = max(book.sums[SQUARED_RADIUS], 4.0 * widest)
    if unmet > 0:
        note_mistake(book)
    if size > 0.0:
        book.counts[UPDATES] += 1
        update(geometry, desk.row, 0, weight * size, book.counts[EXAMPLES])
    tick(geometry, book.counts[EXAMPLES])
    return True


@compiled
def learn_queries(
    way: int,
    rule: Any,
    geometry: Any,
    rows: Rows,
    queries: Queries,
    weights: NDArray[np.float64],
    slots: int,
    counts: NDArray[np.int64],
    desk: Desk,
    book: Book,
    tidy: bool,
) -> int:
    """One pass; returns how many queries were taken: fewer than there are where one was refused."""
    for q in range(len(queries.starts) - 1):
        for i in range(queries.starts[q], queries.starts[q + 1]):
            if not (tidy or proper(rows, i, slots)):
                return q
        weight = weights[q] if len(weights) > 0 else 1.0
        if weight == 0.0:
            continue
        if not one_query(way, rule, geometry, rows, queries, q, weight, counts, desk, book):
            return q
        if weight != 1.0:
            book.counts[WEIGHTED] += 1
    return len(queries.starts) - 1
