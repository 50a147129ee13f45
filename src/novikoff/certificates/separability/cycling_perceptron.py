"""The cycling Perceptron on whole numbers: its weights stay bounded, so they settle or repeat (the cycling theorem).

If they settle, they separate. If the weights after pass b are those after pass a, what was added in between adds up to
nothing: Σ c_i·sign_i·z_i = 0 with c_i the number of updates on row i, which is Gordan's λ. Every score of 0 counts as a
mistake here, whatever the sign.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from novikoff.certificates.separability.signed_rows import SignedExamples

MAX_VALUES = 2000
"""Values up to which data is small enough for this."""
MAX_PASSES = 1000
"""That are tried, and that a proof may ask for."""


class Cycle(NamedTuple):
    """After pass `first` and after pass `last` the weights were `weights`, and there were updates in between."""

    first: int
    last: int
    weights: tuple[int, ...]


def find_cycle(examples: SignedExamples, passes: int, until: float) -> tuple[Cycle, list[int]] | None:
    """The first repetition, and how often each row was added in it; None where there was none in so many passes."""
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
    """Whether the Perceptron really does that: by running it."""
    if not (0 <= cycle_.first < cycle_.last <= MAX_PASSES and examples.whole()):
        return False
    for number, (weights, updates) in enumerate(_run_passes(examples, cycle_.last)):
        if number > cycle_.first and not any(updates):
            return False
        if number in (cycle_.first, cycle_.last) and weights != cycle_.weights:
            return False
    return True


def _run_passes(examples: SignedExamples, passes: int) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """The weights after 0, 1, 2 … passes, and the number of updates on each row in that pass."""
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
