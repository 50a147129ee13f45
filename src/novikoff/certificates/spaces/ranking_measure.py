"""What a witness is worth for rankings: a query's documents are compared, those of higher grade with those of lower.

A preference of document i to document j is the positive example x_i − x_j, and of a query's preferences the one that is
met worst counts. ‖x_i − x_j‖ is 2·max‖x‖ at most; where no value is negative it is √2·max‖x‖ at most, for then
(a − b)² ≤ a² + b².
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff._compiled.simd.dot import element
from novikoff.certificates.measure import EXAMPLES, LARGEST, SQUARED_RADIUS, UNIT
from novikoff.certificates.spaces.pairwise_measure import add_losses
from novikoff.certificates.multiclass_sample import rows_of
from novikoff.data.rows import (Rows, Sparse, cut, first, last, slot)

ROOM = 4_000_000  # terms
PIECE = 16  # queries


class Sample(NamedTuple):
    """Documents of whole queries that are kept in memory, out of `total` documents."""

    rows: Sparse
    labels: NDArray[np.int8]
    """1 for each document."""
    starts: NDArray[np.int64]
    grades: NDArray[np.float64]
    total: int

    def share(self) -> float:
        return self.total / max(1, len(self.labels))


class Gatherer:
    """As that of `told.py`, for whole queries."""

    def __init__(self) -> None:
        self.kept: list[tuple[Sparse, NDArray[np.int64], NDArray[np.float64]]] = []
        self.stride, self.number, self.terms, self.total = 1, 0, 0, 0

    def add(self, rows: Rows, queries: Any) -> None:
        for at in range(0, len(queries), PIECE):
            starts = queries.starts[at : at + PIECE + 1]
            first, last = int(starts[0]), int(starts[-1])
            self.total += last - first
            self.number += 1
            if self.number % self.stride == 0:
                piece = rows_of([cut(rows, first, last)])
                self.kept.append((piece, np.diff(starts), queries.grades[first:last].copy()))
                self.terms += len(piece.values)
                if self.terms > ROOM and len(self.kept) > 1:
                    self.kept, self.stride = self.kept[1::2], 2 * self.stride
                    self.terms = sum(len(rows.values) for rows, _, _ in self.kept)

    def sample(self) -> Sample | None:
        if not self.total:
            return None
        lengths = np.concatenate([lengths for _, lengths, _ in self.kept])
        grades = np.concatenate([grades for _, _, grades in self.kept])
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return Sample(rows_of([r for r, _, _ in self.kept]), np.ones(len(grades), np.int8), starts, grades, self.total)


@compiled
def worst_and_best(
    low: NDArray[np.float64], high: NDArray[np.float64], grades: NDArray[np.float64], start: int, count: int
) -> tuple[float, float]:
    """The lower end of the worst preference and the upper end of the best one; +∞ and −∞ where there are none."""
    worst, best = np.inf, -np.inf
    for a in range(count):
        for b in range(count):
            if grades[start + a] > grades[start + b]:
                worst, best = min(worst, low[a] - high[b]), max(best, high[a] - low[b])
    return worst, best


@compiled
def weigh_queries(
    rows: Rows,
    starts: NDArray[np.int64],
    grades: NDArray[np.float64],
    u: NDArray[np.float64],
    widths: NDArray[np.float64],
    desk: NDArray[np.float64],
    ranges: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Adds these queries to the sums; `ranges[0]` becomes the least value there is. `desk` has two rows of room."""
    for q in range(len(starts) - 1):
        start, count = starts[q], starts[q + 1] - starts[q]
        for d in range(count):
            dot, size, square = 0.0, 0.0, 0.0
            i = start + d
            for k in range(first(rows, i), last(rows, i)):
                x, j = np.float64(element(rows.values, k)), slot(rows, i, k)
                if j < len(u):
                    product = x * element(u, j)
                    dot += product
                    size += abs(product)
                square += x * x
                sums[LARGEST] = max(sums[LARGEST], abs(x))
                ranges[0] = min(ranges[0], x)
            terms = np.float64(last(rows, i) - first(rows, i) + 8)
            desk[0, d] = dot - size * terms * UNIT
            desk[1, d] = dot + size * terms * UNIT
            sums[SQUARED_RADIUS] = max(sums[SQUARED_RADIUS], square * (1.0 + terms * UNIT))
        sums[EXAMPLES] += 1.0
        low, high = worst_and_best(desk[0], desk[1], grades, start, count)
        if low < np.inf:
            add_losses(low - abs(low) * UNIT, high + abs(high) * UNIT, widths, sums)


@compiled
def worst_of_queries(
    rows: Rows,
    starts: NDArray[np.int64],
    grades: NDArray[np.float64],
    u: NDArray[np.float64],
    desk: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """The margin of each query's worst preference, at its first document, to the nearest number; +∞ elsewhere."""
    for q in range(len(starts) - 1):
        start, count = starts[q], starts[q + 1] - starts[q]
        for d in range(count):
            out[start + d] = np.inf
            dot = 0.0
            for k in range(first(rows, start + d), last(rows, start + d)):
                j = slot(rows, start + d, k)
                if j < len(u):
                    dot += np.float64(element(rows.values, k)) * element(u, j)
            desk[0, d] = dot
        if count > 0:
            low, _ = worst_and_best(desk[0], desk[0], grades, start, count)
            out[start] = low


def desk_for(starts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.zeros((2, int(np.diff(starts).max(initial=1))))


def stretch(least: float) -> float:
    """‖x_i − x_j‖² ≤ stretch·max‖x‖²."""
    return 2.0 if least >= 0.0 else 4.0


def longer(least: float, p: float) -> float:
    """‖x_i − x_j‖_p ≤ longer·max‖x‖_p."""
    if least < 0.0:
        return 2.0
    return 1.0 if p == math.inf else 2.0 ** (1.0 / p)
