"""Alarms with a stated rate of false alarms: the Shiryaev–Roberts e-detector for an error rate.

Update   for each λ of a grid in (0, 1/p₀): E ← (1 + E)·(1 + λ·(X − p₀)), from E = 0
Alarm    where the mean of E over the grid is at least A
Bound    while P(X_t = 1 | the past) ≤ p₀ at every step, the mean time to a false alarm is at least A: the mean of E
         less t is then a supermartingale, so E[T] ≥ E[mean of E at T] ≥ A
Source   Shin, Ramdas and Rinaldo, E-detectors: a nonparametric framework for sequential change detection, 2024
"""

from __future__ import annotations

import math
from typing import NamedTuple

from novikoff.errors import InputError

GRID_SIZE = 12
MAX_VALUE = 1e300
"""Cap of the detector values, far above every threshold and below overflow. Smaller values remain valid."""


class ErrorRateDetector(NamedTuple):
    """State of a detector, with one value for each bet λ."""

    tolerated_rate: float
    mean_time_to_false_alarm: float
    bets: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def value(self) -> float:
        """The mean over the bets, which is compared with the threshold."""
        return math.fsum(self.values) / len(self.values)

    @property
    def is_alarming(self) -> bool:
        return self.value >= self.mean_time_to_false_alarm


def start_detector(*, tolerated_rate: float, mean_time_to_false_alarm: float) -> ErrorRateDetector:
    """Return a detector for an error rate above `tolerated_rate`.

    >>> detector = start_detector(tolerated_rate=0.1, mean_time_to_false_alarm=200)
    >>> for _ in range(10):
    ...     detector = update_detector(detector, wrong=True)
    >>> detector.is_alarming
    True
    """
    if not 0.0 < tolerated_rate < 1.0:
        raise InputError(f"tolerated_rate must be between 0 and 1, got {tolerated_rate!r}.")
    if not 1.0 <= mean_time_to_false_alarm < MAX_VALUE:
        raise InputError(f"mean_time_to_false_alarm must be at least 1, got {mean_time_to_false_alarm!r}.")
    highest = 1.0 / tolerated_rate
    # The best bet against a rate p > p₀ is λ = (p − p₀)/(p₀(1 − p₀)); the grid has geometric steps up to nearly 1/p₀.
    bets = tuple(0.99 * highest * 0.6**k for k in range(GRID_SIZE))
    return ErrorRateDetector(float(tolerated_rate), float(mean_time_to_false_alarm), bets, (0.0,) * GRID_SIZE)


def update_detector(detector: ErrorRateDetector, *, wrong: bool) -> ErrorRateDetector:
    """Return the detector after one more prediction."""
    difference = float(wrong) - detector.tolerated_rate
    values = tuple(
        min(MAX_VALUE, (1.0 + value) * (1.0 + bet * difference))
        for bet, value in zip(detector.bets, detector.values, strict=True)
    )
    return detector._replace(values=values)
