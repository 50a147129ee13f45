"""ROC and precision-recall curves, AUC and average precision, from the sorted scores of both classes.

Positives and negatives are two sorted arrays, which may be memory maps of files larger than memory: each is walked
through in blocks, and a block is placed among the other class by binary search.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BLOCK_ROWS = 1 << 16
MAX_CURVE_POINTS = 400
"""Maximum number of points of a drawn curve; more are indistinguishable on a screen."""

Scores = NDArray[np.float64]


class AucEstimate(NamedTuple):
    """The area under the ROC curve: the probability that a positive example has a higher score than a negative one,
    ties counting one half."""

    value: float
    low: float
    high: float
    """The ends of an asymptotic interval (DeLong, DeLong and Clarke-Pearson 1988, on the logit scale)."""


def _iter_blocks(scores: Scores) -> Iterator[Scores]:
    for start in range(0, len(scores), BLOCK_ROWS):
        yield np.asarray(scores[start : start + BLOCK_ROWS])


def _placements(block: Scores, others: Scores) -> NDArray[np.float64]:
    """Return the share of the others that is below each score, ties counting one half."""
    below = np.searchsorted(others, block, "left")
    up_to = np.searchsorted(others, block, "right")
    return (below + up_to) / (2.0 * len(others))


def auc(positives: Scores, negatives: Scores) -> float | None:
    """Return the area under the ROC curve; None where one class has no example.

    >>> auc(np.array([0.4, 0.8]), np.array([0.1, 0.4]))
    0.875
    """
    if not len(positives) or not len(negatives):
        return None
    return math.fsum(float(_placements(block, negatives).sum()) for block in _iter_blocks(positives)) / len(positives)


def auc_with_interval(positives: Scores, negatives: Scores, delta: float = 0.05) -> AucEstimate | None:
    """Return AUC with its asymptotic interval; None where a class has fewer than two examples."""
    value = auc(positives, negatives)
    if value is None or len(positives) < 2 or len(negatives) < 2:
        return None
    variance = _variance_of_mean(positives, negatives, value) + _variance_of_mean(negatives, positives, 1.0 - value)
    return AucEstimate(value, *_logit_interval(value, variance, delta))


def _variance_of_mean(scores: Scores, others: Scores, mean: float) -> float:
    squares = math.fsum(float(np.square(_placements(block, others) - mean).sum()) for block in _iter_blocks(scores))
    return squares / (len(scores) - 1) / len(scores)


def _logit_interval(value: float, variance: float, delta: float) -> tuple[float, float]:
    """Return an interval that stays within 0 and 1."""
    if variance == 0.0 or not 0.0 < value < 1.0:
        return value, value
    logit = math.log(value / (1.0 - value))
    half = NormalDist().inv_cdf(1.0 - delta / 2.0) * math.sqrt(variance) / (value * (1.0 - value))
    return _sigmoid(logit - half), _sigmoid(logit + half)


def _sigmoid(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0.0 else math.exp(z) / (1.0 + math.exp(z))


def average_precision(positives: Scores, negatives: Scores) -> float | None:
    """Return Σ (R_k − R_{k−1})·P_k over the thresholds: recall R grows only at scores of positives.

    None where there is no positive example.

    >>> round(average_precision(np.array([0.35, 0.8]), np.array([0.1, 0.4])), 4)
    0.8333
    """
    if not len(positives):
        return None
    total = []
    for block in _iter_blocks(positives):  # equal scores have equal precision
        true_positives = len(positives) - np.searchsorted(positives, block, "left")
        false_positives = len(negatives) - np.searchsorted(negatives, block, "left")
        total.append(float((true_positives / (true_positives + false_positives)).sum()))
    return math.fsum(total) / len(positives)


class ThresholdCounts(NamedTuple):
    """How many examples of each class have a score of at least each threshold, for descending thresholds."""

    thresholds: NDArray[np.float64]
    true_positives: NDArray[np.int64]
    false_positives: NDArray[np.int64]


def count_above(positives: Scores, negatives: Scores, thresholds: Scores) -> ThresholdCounts:
    """Return the counts for these thresholds, which are sorted here."""
    falling = np.unique(thresholds)[::-1]
    return ThresholdCounts(
        falling,
        len(positives) - np.searchsorted(positives, falling, "left"),
        len(negatives) - np.searchsorted(negatives, falling, "left"),
    )


def choose_thresholds(positives: Scores, negatives: Scores, points: int = MAX_CURVE_POINTS) -> Scores:
    """Return thresholds for a curve: all distinct scores where they are few, else evenly spaced order statistics of
    both classes."""
    return np.unique(np.concatenate([_spread(positives, points), _spread(negatives, points)]))


def _spread(scores: Scores, points: int) -> Scores:
    if len(scores) <= points:
        return np.asarray(scores)
    return np.asarray(scores[np.linspace(0, len(scores) - 1, points).round().astype(np.int64)])


def roc_curve(positives: Scores, negatives: Scores) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return false-positive and true-positive rates for falling thresholds, from (0, 0) to (1, 1)."""
    counts = count_above(positives, negatives, choose_thresholds(positives, negatives))
    rates = counts.false_positives / max(len(negatives), 1), counts.true_positives / max(len(positives), 1)
    return np.concatenate([[0.0], rates[0]]), np.concatenate([[0.0], rates[1]])


def precision_recall_curve(positives: Scores, negatives: Scores) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return recall and precision for falling thresholds, from recall 0 with precision 1 on."""
    counts = count_above(positives, negatives, choose_thresholds(positives, negatives))
    precision = counts.true_positives / (counts.true_positives + counts.false_positives)
    recall = counts.true_positives / max(len(positives), 1)
    return np.concatenate([[0.0], recall]), np.concatenate([[1.0], precision])
