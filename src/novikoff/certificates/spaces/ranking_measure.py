"""Measurement of a ranking witness: documents of a query are compared, those of higher grade with those of lower.

A preference of document i over document j is the positive example x_i − x_j. The worst preference of a query counts.
‖x_i − x_j‖ is at most 2·max‖x‖. Without negative values it is at most √2·max‖x‖, because (a − b)² ≤ a² + b².
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.certificates.measure import EXAMPLES, MACHINE_EPSILON, MAX_ABS, SQUARED_RADIUS
from novikoff.certificates.multiclass_sample import join_rows
from novikoff.certificates.spaces.pairwise_measure import add_losses
from novikoff.data.rows import Rows, Sparse, end_term, first_term, slice_rows, weight_slot

MAX_SAMPLE_TERMS = 4_000_000
CHUNK_QUERIES = 16


class QuerySample(NamedTuple):
    """Documents of whole queries that are kept in memory, out of `total` documents."""

    rows: Sparse
    labels: NDArray[np.int8]
    """1 for each document."""
    starts: NDArray[np.int64]
    grades: NDArray[np.float64]
    total: int

    def share(self) -> float:
        return self.total / max(1, len(self.labels))


class QueryStreamSampler:
    """Sampler of whole queries: it keeps all of a small stream and an even share of a large one."""

    def __init__(self) -> None:
        self.kept: list[tuple[Sparse, NDArray[np.int64], NDArray[np.float64]]] = []
        self.stride, self.number, self.terms, self.total = 1, 0, 0, 0

    def add(self, rows: Rows, queries: Any) -> None:
        for at in range(0, len(queries), CHUNK_QUERIES):
            starts = queries.starts[at : at + CHUNK_QUERIES + 1]
            first, last = int(starts[0]), int(starts[-1])
            self.total += last - first
            self.number += 1
            if self.number % self.stride == 0:
                piece = join_rows([slice_rows(rows, first, last)])
                self.kept.append((piece, np.diff(starts), queries.grades[first:last].copy()))
                self.terms += len(piece.values)
                if self.terms > MAX_SAMPLE_TERMS and len(self.kept) > 1:
                    self.kept, self.stride = self.kept[1::2], 2 * self.stride
                    self.terms = sum(len(rows.values) for rows, _, _ in self.kept)

    def sample(self) -> QuerySample | None:
        if not self.total:
            return None
        lengths = np.concatenate([lengths for _, lengths, _ in self.kept])
        grades = np.concatenate([grades for _, _, grades in self.kept])
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return QuerySample(
            join_rows([r for r, _, _ in self.kept]), np.ones(len(grades), np.int8), starts, grades, self.total
        )


@compiled
def bound_query_margins(
    low: NDArray[np.float64], high: NDArray[np.float64], grades: NDArray[np.float64], start: int, count: int
) -> tuple[float, float]:
    """Return the lower end of the worst preference and the upper end of the best one, or +∞ and −∞ without
    preferences.
    """
    worst, best = np.inf, -np.inf
    for a in range(count):
        for b in range(count):
            if grades[start + a] > grades[start + b]:
                worst, best = min(worst, low[a] - high[b]), max(best, high[a] - low[b])
    return worst, best


@compiled
def measure_queries(
    rows: Rows,
    starts: NDArray[np.int64],
    grades: NDArray[np.float64],
    u: NDArray[np.float64],
    widths: NDArray[np.float64],
    workspace: NDArray[np.float64],
    ranges: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add these queries to the sums; `ranges[0]` becomes the smallest value. `workspace` needs two rows."""
    for q in range(len(starts) - 1):
        start, count = starts[q], starts[q + 1] - starts[q]
        for d in range(count):
            dot, size, square = 0.0, 0.0, 0.0
            i = start + d
            for k in range(first_term(rows, i), end_term(rows, i)):
                x, j = np.float64(get_unchecked(rows.values, k)), weight_slot(rows, i, k)
                if j < len(u):
                    product = x * get_unchecked(u, j)
                    dot += product
                    size += abs(product)
                square += x * x
                sums[MAX_ABS] = max(sums[MAX_ABS], abs(x))
                ranges[0] = min(ranges[0], x)
            terms = np.float64(end_term(rows, i) - first_term(rows, i) + 8)
            workspace[0, d] = dot - size * terms * MACHINE_EPSILON
            workspace[1, d] = dot + size * terms * MACHINE_EPSILON
            sums[SQUARED_RADIUS] = max(sums[SQUARED_RADIUS], square * (1.0 + terms * MACHINE_EPSILON))
        sums[EXAMPLES] += 1.0
        low, high = bound_query_margins(workspace[0], workspace[1], grades, start, count)
        if low < np.inf:
            add_losses(low - abs(low) * MACHINE_EPSILON, high + abs(high) * MACHINE_EPSILON, widths, sums)


@compiled
def find_worst_query_margins(
    rows: Rows,
    starts: NDArray[np.int64],
    grades: NDArray[np.float64],
    u: NDArray[np.float64],
    workspace: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the margin of each query's worst preference at its first document, rounded to nearest; +∞ elsewhere."""
    for q in range(len(starts) - 1):
        start, count = starts[q], starts[q + 1] - starts[q]
        for d in range(count):
            out[start + d] = np.inf
            dot = 0.0
            for k in range(first_term(rows, start + d), end_term(rows, start + d)):
                j = weight_slot(rows, start + d, k)
                if j < len(u):
                    dot += np.float64(get_unchecked(rows.values, k)) * get_unchecked(u, j)
            workspace[0, d] = dot
        if count > 0:
            low, _ = bound_query_margins(workspace[0], workspace[0], grades, start, count)
            out[start] = low


def allocate_workspace(starts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.zeros((2, int(np.diff(starts).max(initial=1))))


def sq_radius_factor(least: float) -> float:
    """Return the factor c with ‖x_i − x_j‖² ≤ c·max‖x‖²."""
    return 2.0 if least >= 0.0 else 4.0


def radius_factor(least: float, p: float) -> float:
    """Return the factor c with ‖x_i − x_j‖_p ≤ c·max‖x‖_p."""
    if least < 0.0:
        return 2.0
    return 1.0 if p == math.inf else 2.0 ** (1.0 / p)
