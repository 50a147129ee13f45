"""Shared functions of the experiments: batch training, geometric sizes and progress output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from novikoff.data.synthetic.base import SyntheticStream

BINARY_CLASSES = (-1, 1)
ProgressPrinter = Callable[[str], object]
"""Receives a line of text for each finished point."""


def ignore_progress(line: str) -> None:
    """Discard progress lines."""


def train_once(stream: SyntheticStream, *learners: Any) -> None:
    """Train each learner on one pass over the stream."""
    for X, y in stream.batches():
        for learner in learners:
            learner.partial_fit(X, y, classes=BINARY_CLASSES)


def geometric_sizes(least: int, most: int, per_decade: int = 3) -> list[int]:
    """Return at least three integers from least to most, evenly spaced in their logarithms."""
    count = max(round(per_decade * np.log10(most / least)) + 1, 3)
    return sorted({round(size) for size in np.geomspace(least, most, count).tolist()})
