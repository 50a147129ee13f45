"""The loop for rankings: an example is a query with its documents, whose grades say which is preferred to which.

One vector of weights scores all documents. The preferences that are not met make one example of the binary learner, the
mean of x_i − x_j over them (core/multiclass/pairwise_gradients.py), which is written out as one sparse row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.multiclass.pairwise_gradients import GradePairs, compute_pair_gradients
from novikoff.core.updaters.base import accepts_row, end_step, max_sq_norm, norm, score, update
from novikoff.data.rows import Rows, Sparse, end_term, first_term, indices_sorted, weight_slot
from novikoff.ledger import ENERGY, EXAMPLES, SQUARED_RADIUS, UPDATES, WEIGHTED, LedgerCounters, count_mistake

VIOLATIONS = 0


class Queries(NamedTuple):
    """Query q has the documents starts[q] to starts[q + 1], with their grades."""

    starts: NDArray[np.int64]
    grades: NDArray[np.float64]


class RankingWorkspace(NamedTuple):
    """Room for the documents of one query, and for the example that they make."""

    scores: NDArray[np.float64]
    gradients: NDArray[np.float64]
    mixed: NDArray[np.float64]
    stamps: NDArray[np.int64]
    """For each slot a sum, and the number of the query that it belongs to, from 1."""
    row: Sparse
    """The example: its values are in the precision of the data."""


@compiled
def combine_documents(rows: Rows, queries: Queries, q: int, size: float, workspace: RankingWorkspace) -> None:
    """Writes Σ (signal/size)·x over the documents of query q to desk.row, features in the order in which they come."""
    start, end = queries.starts[q], 0
    for i in range(start, queries.starts[q + 1]):
        fraction = workspace.gradients[i - start] / size
        if fraction != 0.0:
            for k in range(first_term(rows, i), end_term(rows, i)):
                j = weight_slot(rows, i, k)
                if workspace.stamps[j] != q + 1:
                    workspace.stamps[j] = q + 1
                    workspace.mixed[j] = 0.0
                    workspace.row.indices[end] = j - 1
                    end += 1
                workspace.mixed[j] += fraction * np.float64(rows.values[k])
    n_terms = 0
    for k in range(end):  # what has cancelled out is no term
        j = int(workspace.row.indices[k])
        workspace.row.indices[n_terms] = j
        workspace.row.values[n_terms] = workspace.mixed[j + 1]
        n_terms += workspace.row.values[n_terms] != 0.0
    workspace.row.starts[1] = n_terms


@compiled
def step_query(
    update_name: int,
    loss: Any,
    updater: Any,
    rows: Rows,
    queries: Queries,
    q: int,
    weight: float,
    counts: NDArray[np.int64],
    workspace: RankingWorkspace,
    counters: LedgerCounters,
) -> bool:
    """Query q; False, with nothing changed, where it is refused."""
    start, stop = queries.starts[q], queries.starts[q + 1]
    largest, max_row_sq_norm = max_sq_norm(updater.weights), 0.0
    for i in range(start, stop):
        s, sq_norm = score(updater, rows, i)
        if not (sq_norm < largest and abs(s) < largest and accepts_row(updater, rows, i)):
            return False
        workspace.scores[i - start] = s
        max_row_sq_norm = max(max_row_sq_norm, sq_norm)
    count = stop - start
    order = GradePairs(queries.grades[start:stop])
    violations = compute_pair_gradients(
        update_name, loss, norm(updater), workspace.scores, order, count, workspace.gradients
    )
    size = 0.0
    for d in range(count):
        size += max(0.0, workspace.gradients[d])
    if size > 0.0:
        combine_documents(rows, queries, q, size, workspace)
        _, sq_norm = score(updater, workspace.row, 0)
        if not (sq_norm < largest and (weight * size) ** 2 * sq_norm < largest):
            return False
        counters.sums[ENERGY] += (weight * size) ** 2 * sq_norm
    counters.counts[EXAMPLES] += 1
    counts[VIOLATIONS] += violations
    counters.sums[SQUARED_RADIUS] = max(counters.sums[SQUARED_RADIUS], 4.0 * max_row_sq_norm)
    if violations > 0:
        count_mistake(counters)
    if size > 0.0:
        counters.counts[UPDATES] += 1
        update(updater, workspace.row, 0, weight * size, counters.counts[EXAMPLES])
    end_step(updater, counters.counts[EXAMPLES])
    return True


@compiled
def learn_queries(
    update_name: int,
    loss: Any,
    updater: Any,
    rows: Rows,
    queries: Queries,
    weights: NDArray[np.float64],
    slots: int,
    counts: NDArray[np.int64],
    workspace: RankingWorkspace,
    counters: LedgerCounters,
    canonical: bool,
) -> int:
    """One pass; returns how many queries were taken: fewer than there are where one was refused."""
    for q in range(len(queries.starts) - 1):
        for i in range(queries.starts[q], queries.starts[q + 1]):
            if not (canonical or indices_sorted(rows, i, slots)):
                return q
        weight = weights[q] if len(weights) > 0 else 1.0
        if weight == 0.0:
            continue
        if not step_query(update_name, loss, updater, rows, queries, q, weight, counts, workspace, counters):
            return q
        if weight != 1.0:
            counters.counts[WEIGHTED] += 1
    return len(queries.starts) - 1
