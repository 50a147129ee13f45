"""Histograms of the scores of both classes, from sorted scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

HISTOGRAM_BINS = 40
MAX_OUTLIER_FRACTION = 0.002
"""Share of the scores of each class, at either end, that the range of the bins may leave out."""

Scores = NDArray[np.float64]


class ScoreHistogram(NamedTuple):
    """Examples of both classes by score. The first and the last bin also hold the scores beyond the edges."""

    edges: list[float]
    negatives: list[int]
    positives: list[int]


def score_histogram(positives: Scores, negatives: Scores, bins: int = HISTOGRAM_BINS) -> ScoreHistogram:
    """Count the sorted scores of both classes in bins of equal width.

    >>> score_histogram(np.array([1.0, 2.0]), np.array([0.0, 0.1]), bins=2)
    ScoreHistogram(edges=[0.0, 1.0, 2.0], negatives=[2, 0], positives=[0, 2])
    """
    ends = [_central_range(scores) for scores in (positives, negatives) if len(scores)]
    if not ends:
        return ScoreHistogram([], [], [])
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    edges = np.linspace(low, high, bins + 1) if low < high else np.array([low, high])
    if not (np.diff(edges) > 0.0).all():  # the scores differ in their last bits only
        edges = np.array([low, high])
    return ScoreHistogram(edges.tolist(), _count(negatives, edges), _count(positives, edges))


def _central_range(scores: Scores) -> tuple[float, float]:
    left_out = int(MAX_OUTLIER_FRACTION * len(scores))
    return float(scores[left_out]), float(scores[len(scores) - 1 - left_out])


def _count(scores: Scores, edges: Scores) -> list[int]:
    """Return the counts of bins [edge, next edge)."""
    below = np.searchsorted(scores, edges[1:-1], "left")
    counts: list[int] = np.diff(np.concatenate([[0], below, [len(scores)]])).tolist()
    return counts
