"""Shattering decided by computation, and the VC dimension and growth function that follow.

A class shatters points if it has a set for every labelling of them. A consistency oracle decides that: a function of
points and labels that returns a consistent hypothesis, or None. `geometry.shattering` has the oracles of half-lines,
intervals, half-spaces and boxes. A finite class is a list of sets or a table. Any other function is allowed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from novikoff.errors import InputError
from novikoff.theory import validation
from novikoff.theory.geometry.points import Labels, parse_points
from novikoff.theory.geometry.shattering import GEOMETRIC, HALF_LINES, HALF_SPACES, INTERVALS, RECTANGLES, ConceptClass

MAX_POINTS = 16
"""Largest number of points of which all labellings are tried."""
MAX_LABELLINGS = 10**6

Oracle = Callable[[Sequence[Any], Labels], object | None]


class Shattering(NamedTuple):
    """Every labelling with a hypothesis that realizes it, or one labelling that no hypothesis realizes."""

    points: tuple[Any, ...]
    shattered: bool
    hypotheses: dict[Labels, object]
    """One hypothesis for each labelling if the points are shattered, otherwise those found so far."""
    missing: Labels | None
    why: str
    """The reason why there is no hypothesis, if a theorem gives one."""


def shattering(concepts: ConceptClass | Oracle, points: Sequence[Any]) -> Shattering:
    """Decide whether the class shatters the points.

    >>> corners = [(0, 0), (1, 1), (1, 0), (0, 1)]
    >>> shattering(HALF_SPACES, corners[:3]).shattered
    True
    >>> found = shattering(HALF_SPACES, corners)
    >>> found.shattered, found.missing
    (False, (False, False, True, True))
    >>> def even(points, labels):  # a user-defined class: all points or none
    ...     return labels[0] if len(set(labels)) == 1 else None
    >>> shattering(even, "ab").missing
    (True, False)
    """
    known, places = _resolve_class(concepts, points)
    refuted = known.refute(places) if known.refute else None
    if refuted is not None:
        return Shattering(places, False, {}, *refuted)
    if len(places) > MAX_POINTS:
        raise InputError(f"All labellings can be tried for at most {MAX_POINTS} points, got {len(places)}.")
    found: dict[Labels, object] = {}
    for labels in _iter_labellings(len(places)):
        hypothesis = known.consistent(places, labels)
        if hypothesis is None:
            return Shattering(places, False, found, labels, "")
        found[labels] = hypothesis
    return Shattering(places, True, found, None, "")


def labellings(concepts: ConceptClass | Oracle, points: Sequence[Any]) -> list[Labels]:
    """Return all labellings of the points that the class realizes.

    Points are added one at a time, and a partial labelling that is not realized is not extended. The class must be
    hereditary: if it realizes a labelling, it realizes its restriction to fewer points.

    >>> len(labellings(INTERVALS, [1, 2, 3, 4]))
    11
    """
    known, places = _resolve_class(concepts, points)
    found: list[Labels] = [()]
    for count in range(1, len(places) + 1):
        longer = ((*labels, label) for labels in found for label in (False, True))
        found = [labels for labels in longer if known.consistent(places[:count], labels) is not None]
        if len(found) > MAX_LABELLINGS:
            raise InputError(f"These points have more than {MAX_LABELLINGS:,} labellings: give fewer points.")
    return found


class Dimension(NamedTuple):
    """The VC dimension of a class on a domain, and positions of domain elements that are shattered."""

    dimension: int
    shattered: tuple[int, ...]


def dimension(table: Iterable[Sequence[Any]]) -> Dimension:
    """Return the VC dimension of a finite class on a finite domain.

    The table has a row for each hypothesis and a column for each element, 1 or True where the element is contained.
    Subsets of shattered sets are shattered, so the search extends shattered sets by one element at a time.

    >>> dimension([(0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0)])
    Dimension(dimension=2, shattered=(0, 1))
    """
    rows = {tuple(bool(value) for value in row) for row in table}
    if not rows:
        raise InputError("The class must have at least one hypothesis.")
    width = {len(row) for row in rows}
    if len(width) > 1:
        raise InputError(f"All rows of the table must have the same length, got lengths {sorted(width)}.")
    columns = [_pack_bits(row[j] for row in rows) for j in range(width.pop())]
    everything = (1 << len(rows)) - 1
    best: tuple[int, ...] = ()
    level: list[tuple[tuple[int, ...], list[int]]] = [((), [everything])]
    while level:
        best = level[0][0]
        level = [grown for set_, parts in level for grown in _extend_shattered(set_, parts, columns)]
    return Dimension(len(best), best)


def dimension_among(concepts: ConceptClass | Oracle, points: Sequence[Any]) -> Dimension:
    """Return the VC dimension of a class on these points.

    >>> dimension_among(HALF_LINES, [1, 2, 3]).dimension
    1
    """
    return dimension(labellings(concepts, points))


def finite(sets: Iterable[Collection[Any]]) -> ConceptClass:
    """Return the finite class with these sets of elements.

    >>> shattering(finite([{"a"}, {"b"}, {"a", "b"}, set()]), ["a", "b"]).shattered
    True
    """
    kept = [frozenset(one) for one in sets]

    def consistent(points: Sequence[Any], labels: Labels) -> object | None:
        return next(
            (one for one in kept if all((p in one) == label for p, label in zip(points, labels, strict=True))), None
        )

    return ConceptClass("finite", consistent, None, ANY_ELEMENTS)


ANY_ELEMENTS = 0
"""A class whose points need not be numbers."""


def sauer(*, dimension: int, points: int) -> int:
    """Return Σ_{i≤d} C(m, i), the maximum number of labellings of m points by a class of VC dimension d.

    d is `dimension`, m is `points` (Sauer 1972; Shelah 1972).

    >>> sauer(dimension=2, points=4)
    11
    """
    d, m = validation.check_dimension(dimension), validation.check_count("The number of points", points, 0)
    return sum(math.comb(m, i) for i in range(min(d, m) + 1)) if d < m else 2**m


def cuts(*, dimension: int, points: int) -> int:
    """Return 2·Σ_{i≤d} C(m − 1, i), the number of labellings by half-spaces of m points in general position.

    d is `dimension`, the number of coordinates; m is `points` (Cover 1965).

    >>> cuts(dimension=2, points=4)
    14
    """
    d, m = validation.check_dimension(dimension), validation.check_count("The number of points", points, 1)
    return 2 * sauer(dimension=d, points=m - 1)


def _resolve_class(concepts: ConceptClass | Oracle, points: Sequence[Any]) -> tuple[ConceptClass, tuple[Any, ...]]:
    if isinstance(concepts, ConceptClass) and concepts.dimension != ANY_ELEMENTS:
        return concepts, parse_points(points, concepts.dimension)
    if not len(points):
        raise InputError("There must be at least one point.")
    known = concepts if isinstance(concepts, ConceptClass) else ConceptClass("own", concepts)
    return known, tuple(points)


def _iter_labellings(count: int) -> Iterable[Labels]:
    return (tuple(reversed(labels)) for labels in itertools.product((False, True), repeat=count))


def _extend_shattered(
    set_: tuple[int, ...], parts: list[int], columns: list[int]
) -> Iterable[tuple[tuple[int, ...], list[int]]]:
    """Extend a shattered set by one later element; `parts` are the hypotheses of each labelling so far."""
    for j in range(set_[-1] + 1 if set_ else 0, len(columns)):
        divided = [half for part in parts for half in (part & columns[j], part & ~columns[j])]
        if all(divided):
            yield (*set_, j), divided


def _pack_bits(values: Iterable[bool]) -> int:
    return sum(1 << i for i, value in enumerate(values) if value)


__all__ = [
    "GEOMETRIC",
    "HALF_LINES",
    "HALF_SPACES",
    "INTERVALS",
    "RECTANGLES",
    "ConceptClass",
    "Dimension",
    "Shattering",
    "cuts",
    "dimension",
    "dimension_among",
    "finite",
    "labellings",
    "sauer",
    "shattering",
]
