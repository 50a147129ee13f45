"""Quality of rankings: NDCG and mean average precision over queries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.data import validation
from novikoff.errors import InputError


class RankingQuality(NamedTuple):
    """Mean ranking quality over queries."""

    ndcg: float
    """NDCG@10 with gains 2^grade − 1; 0 for a query without a document above grade 0."""
    map: float
    """Mean average precision, documents above grade 0 being relevant; 0 for a query without any."""
    queries: int


def find_query_starts(qid: NDArray[Any]) -> NDArray[np.int64]:
    """Return the first row of each query, and the end; raise InputError if a query is split."""
    if not len(qid):
        return np.zeros(1, np.int64)
    starts = np.concatenate([[0], np.flatnonzero(qid[1:] != qid[:-1]) + 1, [len(qid)]]).astype(np.int64)
    names = qid[starts[:-1]]
    if len(np.unique(names)) < len(names):
        values, counts = np.unique(names, return_counts=True)
        raise InputError(
            f"The documents of a query must stand together, but query {values[counts > 1][0]} comes again after another"
            " one: sort the rows by query."
        )
    return starts


def find_query_starts_of_files(batches: Sequence[tuple[str, NDArray[Any]]]) -> NDArray[np.int64]:
    """Return the first row of each query, and the end, of batches with their file names. A query ends with its file.

    >>> find_query_starts_of_files([("a", np.array([1, 1])), ("a", np.array([1, 2])), ("b", np.array([2]))]).tolist()
    [0, 3, 4, 5]
    """
    starts = [np.zeros(1, np.int64)]
    for _, of_file in groupby(batches, key=itemgetter(0)):
        starts.append(starts[-1][-1] + find_query_starts(np.concatenate([qid for _, qid in of_file]))[1:])
    return np.concatenate(starts)


def validate_grades(y: Any, examples: int) -> NDArray[np.float64]:
    grades = validation.validate_y(y, examples)
    try:
        grades = grades.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError("Grades must be numbers, higher ones for documents that are to stand above others.") from None
    if not np.isfinite(grades).all():
        raise InputError("Grades must be finite numbers: every document needs one.")
    return grades


def measure_ranking(
    scores: NDArray[np.float64], grades: NDArray[np.float64], starts: NDArray[np.int64]
) -> RankingQuality:
    """Return the means over all queries; documents of equal score keep their order."""
    gains, precisions = [], []
    for start, stop in pairwise(starts.tolist()):
        there = grades[start:stop][np.argsort(-scores[start:stop], kind="stable")]
        gains.append(_compute_ndcg(there, 10))
        relevant = there > 0
        ranks = np.flatnonzero(relevant) + 1
        precisions.append(float((np.arange(1, len(ranks) + 1) / ranks).mean()) if len(ranks) else 0.0)
    count = len(gains)
    return RankingQuality(sum(gains) / count, sum(precisions) / count, count) if count else RankingQuality(0.0, 0.0, 0)


def _compute_ndcg(there: NDArray[np.float64], depth: int) -> float:
    def gain(order: NDArray[np.float64]) -> float:
        shown = order[:depth]
        return float(((2.0**shown - 1.0) / np.log2(np.arange(2, len(shown) + 2))).sum())

    best = gain(np.sort(there)[::-1])
    return gain(there) / best if best > 0.0 else 0.0
