"""What all experiments need: learners taught in batches, sizes that grow geometrically, and someone to tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from novikoff.data.synthetic.base import SyntheticStream

BINARY_CLASSES = (-1, 1)
ProgressPrinter = Callable[[str], object]
"""Takes a line for each point that is done."""


def ignore_progress(line: str) -> None:
    """Who is told where nobody listens."""


def train_once(stream: SyntheticStream, *learners: Any) -> None:
    """Each learner sees the whole stream once."""
    for X, y in stream.batches():
        for learner in learners:
            learner.partial_fit(X, y, classes=BINARY_CLASSES)


def geometric_sizes(least: int, most: int, per_decade: int = 3) -> list[int]:
    """Whole numbers from least to most, evenly spread in their logarithms, three at least."""
    count = max(round(per_decade * np.log10(most / least)) + 1, 3)
    return sorted({round(size) for size in np.geomspace(least, most, count).tolist()})
