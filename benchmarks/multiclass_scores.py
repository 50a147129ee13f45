"""What predictions are worth, in percent: accuracy, micro-F1, Hamming loss, NDCG@10 and MAP."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np


def score_classes(truth: Any, said: Any) -> dict[str, float]:
    return {"accuracy": 100 * float(np.mean(truth == said))}


def score_sets(truth: Any, said: Any) -> dict[str, float]:
    """Of rows of noughts and ones.

    >>> of_sets(np.array([[1, 0], [1, 1]]), np.array([[1, 1], [0, 0]]))
    {'micro-F1': 40.0, 'Hamming': 75.0}
    """
    both = float((truth & said).sum())
    return {"micro-F1": 200 * both / float(truth.sum() + said.sum()), "Hamming": 100 * float(np.mean(truth != said))}


def score_ranking(grades: Any, groups: Any, scores: Any) -> dict[str, float]:
    """Means over queries; the gain of a grade g is 2^g - 1, and a query without a relevant document counts nought.

    >>> found = of_ranking(np.array([0, 1, 0]), np.array([7, 7, 8]), np.array([2.0, 1.0, 0.0]))
    >>> {kind: round(value, 2) for kind, value in found.items()}
    {'NDCG@10': 31.55, 'MAP': 25.0}
    """
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1], True])
    gain, precision = [], []
    for begin, end in pairwise(starts):
        ranked = grades[begin:end][np.argsort(-scores[begin:end], kind="stable")]
        best = _discounted(np.sort(ranked)[::-1])
        gain.append(_discounted(ranked) / best if best else 0.0)
        found = np.flatnonzero(ranked) + 1
        precision.append(float(np.mean(np.arange(1, len(found) + 1) / found)) if len(found) else 0.0)
    return {"NDCG@10": 100 * float(np.mean(gain)), "MAP": 100 * float(np.mean(precision))}


def _discounted(ranked: Any) -> float:
    first = ranked[:10]
    return float(np.sum((2.0**first - 1) / np.log2(np.arange(2, len(first) + 2))))
