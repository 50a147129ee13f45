"""A finite class of hypotheses, and those of them that no example has contradicted: the version space.

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
from novikoff.errors import InputError
from novikoff.core.updaters.base import (fits, limit, score, update, within)
from novikoff.schema import MAX_COUNT, REAL, SLOTS, Array, Entries, IndexInto, NotNaN, Schema
from novikoff.data.rows import (Rows, measure, wipe, write_out)

MOST = 2**22  # hypotheses
LEFT, RESTARTS = 0, 1
Box = tuple[tuple[tuple[int, float, float], ...], int]
"""((column, low, high), …), flip."""


class VersionSpace(NamedTuple):
    slots: NDArray[np.floating]
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
    """Return what a model file may hold of this state, for a class of so many hypotheses."""
    return Schema(
        {
            "slots": Array(REAL, SLOTS, checks=[NotNaN()]),
            "version": Array("uint32", count, checks=[IndexInto(count)]),
            "scalars": Array("int64", 2, checks=[Entries(left=(1, count), restarts=(0, MAX_COUNT))]),
        }
    )


def version_space(slots: int, kind: Any, boxes: Iterable[Box], *, boolean: bool) -> VersionSpace:
    boxes = list(boxes)
    longest = max(1, *(len(tests) for tests, _ in boxes))
    columns = np.zeros((len(boxes), longest), np.uint32)
    lows, highs = np.full(columns.shape, -np.inf), np.full(columns.shape, np.inf)
    for h, (tests, _) in enumerate(boxes):
        for k, (column, low, high) in enumerate(tests):
            columns[h, k], lows[h, k], highs[h, k] = column, low, high
    return VersionSpace(
        slots=np.zeros(slots, kind),
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


def conjunctions(features: int, size: int, cuts: list[float]) -> Iterable[Box]:
    """All features of a set are there; of none at all, that is always so."""
    return ((tuple((c, 0.5, np.inf) for c in chosen), 1) for chosen in subsets(features, size))


def disjunctions(features: int, size: int, cuts: list[float]) -> Iterable[Box]:
    """Some feature of a set is there; of none at all, that is never so."""
    return ((tuple((c, -np.inf, 0.5) for c in chosen), -1) for chosen in subsets(features, size))


def stumps(features: int, size: int, cuts: list[float]) -> Iterable[Box]:
    """One feature is at least, or is below, a cut."""
    return ((((c, cut, np.inf),), flip) for c in range(features) for cut in cuts for flip in (1, -1))


def intervals(features: int, size: int, cuts: list[float]) -> Iterable[Box]:
    """One feature is between two cuts; or nothing at all."""
    some = ((((c, low, high),), 1) for c in range(features) for low, high in combinations(cuts, 2))
    return chain(some, [((), -1)])


CLASSES: dict[str, Callable[[int, int, list[float]], Iterable[Box]]] = {
    "conjunctions": conjunctions,
    "disjunctions": disjunctions,
    "stumps": stumps,
    "intervals": intervals,
}


def class_of(name: str, features: int, size: int, cuts: list[float]) -> list[Box]:
    """The class of that name; InputError where it has too many hypotheses."""
    count_hypotheses(name, features, size, len(cuts))
    return list(CLASSES[name](features, size, cuts))


def count_hypotheses(name: str, features: int, size: int, cuts: int) -> int:
    """Return the number of hypotheses in a class; InputError where they are too many."""
    count = _count(name, features, size, cuts)
    if count > MOST:
        raise InputError(f"There are more than {MOST:,} {name} over {features:,} features: lower size or steps.")
    return count


def _count(name: str, features: int, size: int, cuts: int) -> int:
    """How many there are, before any is made."""
    if name == "stumps":
        return 2 * features * cuts
    if name == "intervals":
        return features * comb(cuts, 2) + 1
    return sum(comb(features, k) for k in range(min(size, features) + 1))


@compiled
def vote(geometry: VersionSpace, h: Any) -> float:
    """What hypothesis h says of the example that is written out."""
    outside = False
    for k in range(geometry.columns.shape[1]):
        x = geometry.example[np.int64(geometry.columns[h, k]) + 1]
        outside |= (x < geometry.lows[h, k]) | (x > geometry.highs[h, k])
    return -geometry.flips[h] if outside else geometry.flips[h]


@compiled
def count_errors(geometry: VersionSpace, rows: Rows, labels: NDArray[np.int8], errors: NDArray[np.int64]) -> None:
    """Adds up how often each hypothesis of the class is wrong; a label of 0 is left out."""
    for i in range(len(labels)):
        if labels[i] != 0:
            write_out(rows, i, geometry.example)
            for h in range(len(errors)):
                errors[h] += vote(geometry, h) * labels[i] < 0.0
            wipe(rows, i, geometry.example)


@fits.of(VersionSpace)
def _(geometry: VersionSpace, rows: Rows, i: int) -> bool:
    return geometry.boolean == 0.0 or within(rows, i, 1.0, 1.0)


@score.of(VersionSpace)
def _(geometry: VersionSpace, rows: Rows, i: int) -> tuple[float, float]:
    """The share of the version space that votes + less the share that votes −."""
    _, square = measure(rows, i, geometry.slots)
    if not square < limit(geometry.slots):
        return 0.0, square
    write_out(rows, i, geometry.example)
    votes = 0.0
    for k in range(geometry.scalars[LEFT]):
        votes += vote(geometry, np.int64(geometry.version[k]))
    wipe(rows, i, geometry.example)
    return votes / geometry.scalars[LEFT], square


@update.of(VersionSpace)
def _(geometry: VersionSpace, rows: Rows, i: int, signal: float, t: int) -> None:
    """Keeps the hypotheses that say what the label says; where none does, all come back."""
    write_out(rows, i, geometry.example)
    left = 0
    for k in range(geometry.scalars[LEFT]):
        h = geometry.version[k]
        geometry.version[left] = h
        left += vote(geometry, np.int64(h)) * signal > 0.0
    wipe(rows, i, geometry.example)
    if left == 0:
        for h in range(len(geometry.version)):
            geometry.version[h] = h
        geometry.scalars[RESTARTS] += 1
        left = len(geometry.version)
    else:
        geometry.version[left : geometry.scalars[LEFT]] = 0
    geometry.scalars[LEFT] = left
