"""Learn rankings online: an example is a query with its documents, whose grades say which one is preferred.

One weight vector scores all documents. The binary learner then learns one example, the mean of x_i − x_j over the
preferences that are not met (core/multiclass/pairwise_gradients.py), which is written as one sparse row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.cursor import sample_weight
from novikoff.core.multiclass.pairwise_gradients import GradePairs, compute_pair_gradients
from novikoff.core.updaters.base import accepts_row, end_step, max_sq_norm, norm, score, update
from novikoff.data.rows import Rows, Sparse, end_term, first_term, indices_sorted, weight_slot
from novikoff.ledger import LedgerCounters, count_example, count_mistake, count_sample_weight, count_update

VIOLATIONS = 0


class Queries(NamedTuple):
    """Query q has the documents starts[q] to starts[q + 1] − 1, with their grades."""

    starts: NDArray[np.int64]
    grades: NDArray[np.float64]


class RankingWorkspace(NamedTuple):
    """Buffers for the documents of one query, and for the example that is made of them."""

    scores: NDArray[np.float64]
    gradients: NDArray[np.float64]
    mixed: NDArray[np.float64]
    stamps: NDArray[np.int64]
    """For each slot a sum, and the number of the query that it belongs to, from 1."""
    row: Sparse
    """The example: its values are in the precision of the data."""


@compiled
def combine_documents(rows: Rows, queries: Queries, q: int, size: float, workspace: RankingWorkspace) -> None:
    """Write Σ (g/size)·x over the documents of query q to workspace.row, features in order of first occurrence."""
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
    for k in range(end):  # terms that cancelled out are dropped
        j = int(workspace.row.indices[k])
        workspace.row.indices[n_terms] = j
        workspace.row.values[n_terms] = workspace.mixed[j + 1]
        n_terms += workspace.row.values[n_terms] != 0.0
    workspace.row.starts[1] = n_terms


# The online algorithm for rankings, for queries t = 1, 2, …:
#
#     s_i = w·x_i for its documents    score
#     pairs = preferences not met      compute_pair_gradients  any of them is a mistake
#     x = mean of x_i − x_j over them  combine_documents
#     if there are any:                count_update
#         w = U(w, weight · size, x, t)  update                size: the sum of the gradients of preferred documents


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
    """Learn query q; return False, with nothing changed, where it is rejected."""
    start, stop = queries.starts[q], queries.starts[q + 1]
    largest, n_documents = max_sq_norm(updater.weights), stop - start
    max_row_sq_norm = score_documents(updater, rows, start, stop, workspace.scores)
    if not max_row_sq_norm < largest:
        return False
    violations = compute_pair_gradients(
        update_name,
        loss,
        norm(updater),
        workspace.scores,
        GradePairs(queries.grades[start:stop]),
        n_documents,
        workspace.gradients,
    )
    size, sq_norm = sum_positive(workspace.gradients, n_documents), 0.0
    if size > 0.0:
        combine_documents(rows, queries, q, size, workspace)
        _, sq_norm = score(updater, workspace.row, 0)
        if not (sq_norm < largest and (weight * size) ** 2 * sq_norm < largest):
            return False
    t = count_example(counters, 4.0 * max_row_sq_norm)  # ‖x_i − x_j‖² is at most 4·max‖x_i‖²
    counts[VIOLATIONS] += violations
    if violations > 0:
        count_mistake(counters)
    if size > 0.0:
        count_update(counters, (weight * size) ** 2 * sq_norm)
        update(updater, workspace.row, 0, weight * size, t)
    end_step(updater, t)
    return True


@compiled
def score_documents(updater: Any, rows: Rows, start: int, stop: int, scores: NDArray[np.float64]) -> float:
    """Write the scores of the documents start … stop − 1; return their largest ‖x‖², infinite where one is rejected."""
    largest, max_row_sq_norm = max_sq_norm(updater.weights), 0.0
    for i in range(start, stop):
        s, sq_norm = score(updater, rows, i)
        if not (sq_norm < largest and abs(s) < largest and accepts_row(updater, rows, i)):
            return math.inf
        scores[i - start] = s
        max_row_sq_norm = max(max_row_sq_norm, sq_norm)
    return max_row_sq_norm


@compiled
def sum_positive(gradients: NDArray[np.float64], count: int) -> float:
    """Return the sum of the positive ones of the first `count` gradients."""
    total = 0.0
    for d in range(count):
        total += max(0.0, gradients[d])
    return total


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
    """Learn the queries in one pass; return the number of queries learned: all, or those before a rejected one."""
    for q in range(len(queries.starts) - 1):
        if not (canonical or documents_sorted(rows, queries, q, slots)):
            return q
        weight = sample_weight(weights, q)
        if weight == 0.0:
            continue
        if not step_query(update_name, loss, updater, rows, queries, q, weight, counts, workspace, counters):
            return q
        count_sample_weight(counters, weight)
    return len(queries.starts) - 1


@compiled
def documents_sorted(rows: Rows, queries: Queries, q: int, slots: int) -> bool:
    """Return whether the columns of each document of query q ascend and have slots."""
    for i in range(queries.starts[q], queries.starts[q + 1]):  # noqa: SIM110 - kernels have no generators
        if not indices_sorted(rows, i, slots):
            return False
    return True
