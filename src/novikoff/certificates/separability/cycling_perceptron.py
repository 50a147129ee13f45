"""Cycling Perceptron on integer data: its weights stay bounded, so they converge or repeat (cycling theorem).

Converged weights separate the data. If the weights after pass b equal those after pass a, the updates in between sum
to 0: Σ c_i·sign_i·z_i = 0, where c_i is the number of updates on row i. This is Gordan's λ. A score of 0 counts as a
mistake for both signs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from novikoff.certificates.separability.signed_rows import SignedExamples

MAX_VALUES = 2000
"""Largest number of values in the data for which this is tried."""
MAX_PASSES = 1000
"""Largest number of passes that are tried, or that a proof may contain."""


class Cycle(NamedTuple):
    """A repetition: the weights after passes `first` and `last` are `weights`, with updates in between."""

    first: int
    last: int
    weights: tuple[int, ...]


def find_cycle(examples: SignedExamples, passes: int, until: float) -> tuple[Cycle, list[int]] | None:
    """Return the first repetition and the number of updates on each row in it; None if there is none."""
    seen: dict[tuple[int, ...], int] = {}
    history: list[list[int]] = []
    for number, (weights, updates) in enumerate(_run_passes(examples, min(passes, MAX_PASSES))):
        if not any(updates) and number > 0:
            return None
        history.append(updates)
        if weights in seen:
            first = seen[weights]
            counts = [sum(column) for column in zip(*history[first + 1 :], strict=True)]
            return Cycle(first, number, weights), counts
        seen[weights] = number
        if time.perf_counter() > until:
            return None
    return None


def verify_cycle(examples: SignedExamples, cycle_: Cycle) -> bool:
    """Check the repetition by running the Perceptron."""
    if not (0 <= cycle_.first < cycle_.last <= MAX_PASSES and examples.is_integral()):
        return False
    for number, (weights, updates) in enumerate(_run_passes(examples, cycle_.last)):
        if number > cycle_.first and not any(updates):
            return False
        if number in (cycle_.first, cycle_.last) and weights != cycle_.weights:
            return False
    return True


def _run_passes(examples: SignedExamples, passes: int) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Yield the weights after 0, 1, 2 … passes, and the number of updates on each row in that pass."""
    rows = [[(j, int(v)) for j, v in examples.terms(i)] for i in range(examples.count)]
    weights = [0] * examples.matrix.shape[1]
    yield tuple(weights), [0] * len(rows)
    for _ in range(passes):
        updates = [0] * len(rows)
        for i, row in enumerate(rows):
            if sum(weights[j] * v for j, v in row) <= 0:
                updates[i] = 1
                for j, v in row:
                    weights[j] += v
        yield tuple(weights), updates
