"""The version space: the hypotheses of a finite class that no example has contradicted.

A hypothesis is a box with a sign: it says `flip` where low ≤ x_c ≤ high for each of its columns c, and −flip elsewhere.
That covers conjunctions (every x_c at least ½), disjunctions (not every x_c below ½), thresholds and intervals; what a
hypothesis does not ask for is between −∞ and ∞.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.updaters.base import accepts_row, max_sq_norm, predicted_score, score, update, values_in_range
from novikoff.data.rows import Rows, clear_row, dot_and_sq_norm, scatter_row
from novikoff.errors import InputError
from novikoff.schema import MAX_COUNT, REAL, SLOTS, ArraySpec, Entries, IndexInto, NotNaN, Schema

MAX_HYPOTHESES = 2**22  # hypotheses
N_LEFT, N_RESTARTS = 0, 1
SignedBox = tuple[tuple[tuple[int, float, float], ...], int]
"""((column, low, high), …), flip."""


class VersionSpace(NamedTuple):
    weights: NDArray[np.floating]
    """No weights: as many zeros as there are slots."""
    version: NDArray[np.uint32]
    """The numbers of the hypotheses that are left come first, in their order."""
    scalars: NDArray[np.int64]
    columns: NDArray[np.uint32]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]
    flips: NDArray[np.float64]
    example: NDArray[np.float64]
    """Scratch: the values of one example, zeros in between."""
    bias: float
    boolean: float
    """1 where features must be 0 or 1."""


def version_space_schema(count: int) -> Schema:
    """Return the schema of this state in a model file, for a class of `count` hypotheses."""
    return Schema(
        {
            "weights": ArraySpec(REAL, SLOTS, checks=[NotNaN()]),
            "version": ArraySpec("uint32", count, checks=[IndexInto(count)]),
            "scalars": ArraySpec("int64", 2, checks=[Entries(left=(1, count), restarts=(0, MAX_COUNT))]),
        }
    )


def build_version_space(slots: int, dtype: Any, boxes: Iterable[SignedBox], *, boolean: bool) -> VersionSpace:
    boxes = list(boxes)
    longest = max(1, *(len(tests) for tests, _ in boxes))
    columns = np.zeros((len(boxes), longest), np.uint32)
    lows, highs = np.full(columns.shape, -np.inf), np.full(columns.shape, np.inf)
    for h, (tests, _) in enumerate(boxes):
        for k, (column, low, high) in enumerate(tests):
            columns[h, k], lows[h, k], highs[h, k] = column, low, high
    return VersionSpace(
        weights=np.zeros(slots, dtype),
        version=np.arange(len(boxes), dtype=np.uint32),
        scalars=np.array([len(boxes), 0]),
        columns=columns,
        lows=lows,
        highs=highs,
        flips=np.array([float(flip) for _, flip in boxes]),
        example=np.zeros(slots),
        bias=1.0,
        boolean=float(boolean),
    )


def subsets(features: int, size: int) -> Iterable[tuple[int, ...]]:
    return chain.from_iterable(combinations(range(features), k) for k in range(min(size, features) + 1))


def conjunctions(features: int, size: int, cuts: list[float]) -> Iterable[SignedBox]:
    """Yield the boxes in which all features of a set are 1; the empty set accepts every example."""
    return ((tuple((c, 0.5, np.inf) for c in chosen), 1) for chosen in subsets(features, size))


def disjunctions(features: int, size: int, cuts: list[float]) -> Iterable[SignedBox]:
    """Yield the boxes in which some feature of a set is 1; the empty set accepts no example."""
    return ((tuple((c, -np.inf, 0.5) for c in chosen), -1) for chosen in subsets(features, size))


def stumps(features: int, size: int, cuts: list[float]) -> Iterable[SignedBox]:
    """Yield the boxes in which one feature is at least a cut, or below it."""
    return ((((c, cut, np.inf),), flip) for c in range(features) for cut in cuts for flip in (1, -1))


def intervals(features: int, size: int, cuts: list[float]) -> Iterable[SignedBox]:
    """Yield the boxes in which one feature is between two cuts, and the empty one."""
    some = ((((c, low, high),), 1) for c in range(features) for low, high in combinations(cuts, 2))
    return chain(some, [((), -1)])


HYPOTHESIS_CLASSES: dict[str, Callable[[int, int, list[float]], Iterable[SignedBox]]] = {
    "conjunctions": conjunctions,
    "disjunctions": disjunctions,
    "stumps": stumps,
    "intervals": intervals,
}


def list_hypotheses(name: str, features: int, size: int, cuts: list[float]) -> list[SignedBox]:
    """Return the hypotheses of the class with this name; InputError where they are too many."""
    count_hypotheses(name, features, size, len(cuts))
    return list(HYPOTHESIS_CLASSES[name](features, size, cuts))


def count_hypotheses(name: str, features: int, size: int, cuts: int) -> int:
    """Return the number of hypotheses in a class; InputError where they are too many."""
    count = _count_unchecked(name, features, size, cuts)
    if count > MAX_HYPOTHESES:
        raise InputError(
            f"There are more than {MAX_HYPOTHESES:,} {name} over {features:,} features: lower size or steps."
        )
    return count


def _count_unchecked(name: str, features: int, size: int, cuts: int) -> int:
    """Return the number of hypotheses before any is made."""
    if name == "stumps":
        return 2 * features * cuts
    if name == "intervals":
        return features * comb(cuts, 2) + 1
    return sum(comb(features, k) for k in range(min(size, features) + 1))


@compiled
def hypothesis_vote(updater: VersionSpace, h: Any) -> float:
    """Return the prediction of hypothesis h for the example that is laid out in slots."""
    outside = False
    for k in range(updater.columns.shape[1]):
        x = updater.example[np.int64(updater.columns[h, k]) + 1]
        outside |= (x < updater.lows[h, k]) | (x > updater.highs[h, k])
    return -updater.flips[h] if outside else updater.flips[h]


@compiled
def count_errors(updater: VersionSpace, rows: Rows, labels: NDArray[np.int8], errors: NDArray[np.int64]) -> None:
    """Add to `errors` how often each hypothesis is wrong; rows with the label 0 are left out."""
    for i in range(len(labels)):
        if labels[i] != 0:
            scatter_row(rows, i, updater.example)
            for h in range(len(errors)):
                errors[h] += hypothesis_vote(updater, h) * labels[i] < 0.0
            clear_row(rows, i, updater.example)


@accepts_row.of(VersionSpace)
def _accepts_row_version_space(updater: VersionSpace, rows: Rows, i: int) -> bool:
    return updater.boolean == 0.0 or values_in_range(rows, i, 1.0, 1.0)


@predicted_score.of(VersionSpace)
def _predicted_score_version_space(
    updater: VersionSpace, rows: Rows, i: int, last_score: float, tie: float, t: int
) -> float:
    return last_score


@score.of(VersionSpace)
def _score_version_space(updater: VersionSpace, rows: Rows, i: int) -> tuple[float, float]:
    """Return the share of the version space that votes + less the share that votes −."""
    _, sq_norm = dot_and_sq_norm(rows, i, updater.weights)
    if not sq_norm < max_sq_norm(updater.weights):
        return 0.0, sq_norm
    scatter_row(rows, i, updater.example)
    votes = 0.0
    for k in range(updater.scalars[N_LEFT]):
        votes += hypothesis_vote(updater, np.int64(updater.version[k]))
    clear_row(rows, i, updater.example)
    return votes / updater.scalars[N_LEFT], sq_norm


@update.of(VersionSpace)
def _update_version_space(updater: VersionSpace, rows: Rows, i: int, gradient: float, t: int) -> None:
    """Keep the hypotheses that agree with the label; where none does, restore all."""
    scatter_row(rows, i, updater.example)
    left = 0
    for k in range(updater.scalars[N_LEFT]):
        h = updater.version[k]
        updater.version[left] = h
        left += hypothesis_vote(updater, np.int64(h)) * gradient > 0.0
    clear_row(rows, i, updater.example)
    if left == 0:
        for h in range(len(updater.version)):
            updater.version[h] = h
        updater.scalars[N_RESTARTS] += 1
        left = len(updater.version)
    else:
        updater.version[left : updater.scalars[N_LEFT]] = 0
    updater.scalars[N_LEFT] = left
