"""Consistency oracles of geometric classes: does a set of the class contain exactly the points labelled True?

The classes are half-lines x ≥ a, intervals, axis-parallel boxes, and half-spaces by an exact linear program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from novikoff.theory.geometry import radon
from novikoff.theory.geometry.points import Box, HalfLine, HalfSpace, Labels, Point

Refutation = tuple[Labels, str]
"""A labelling that no set of the class realizes, and the reason."""


class ConceptClass(NamedTuple):
    name: str
    consistent: Callable[[Sequence[Point], Labels], object | None]
    """Maps points and labels to a set that contains exactly the points labelled True, or to None."""
    refute: Callable[[Sequence[Point]], Refutation | None] | None = None
    """Returns a labelling that a theorem excludes, without trying all labellings."""
    dimension: int | None = None
    """Required number of coordinates; None for any number."""


def find_half_line(points: Sequence[Point], labels: Labels) -> HalfLine | None:
    inside = [point[0] for point, label in zip(points, labels, strict=True) if label]
    found = HalfLine(min(inside) if inside else max(point[0] for point in points) + 1)
    return found if _agrees(found, points, labels) else None


def find_box(points: Sequence[Point], labels: Labels) -> Box | None:
    """Return the smallest box around the points labelled True, if it contains no other point; otherwise None."""
    inside = [point for point, label in zip(points, labels, strict=True) if label]
    if not inside:
        return Box(tuple(Fraction(1) for _ in points[0]), tuple(Fraction(0) for _ in points[0]))
    found = Box(tuple(map(min, zip(*inside, strict=True))), tuple(map(max, zip(*inside, strict=True))))
    return found if _agrees(found, points, labels) else None


def find_half_space(points: Sequence[Point], labels: Labels) -> HalfSpace | None:
    """Return a half-space with w·x > θ for points labelled True and w·x < θ for the others, or None."""
    import numpy as np

    from novikoff.theory.geometry import exact_simplex

    rows = []
    for point, label in zip(points, labels, strict=True):
        common = math.lcm(*(value.denominator for value in point))
        sign = common if label else -common
        rows.append([int(value * sign) for value in (*point, Fraction(1))])
    columns = np.array(rows, object).T
    decided = exact_simplex.decide(columns, math.inf)
    if decided is None or decided.separator is None:
        return None
    *weights, bias = decided.separator
    return HalfSpace(tuple(weights), -bias)


def _agrees(found: HalfLine | Box, points: Sequence[Point], labels: Labels) -> bool:
    return all(found.contains(point) == label for point, label in zip(points, labels, strict=True))


def _refute_half_lines(points: Sequence[Point]) -> Refutation | None:
    """Return the labelling in which only the lower of two points is inside."""
    if len(points) < 2:
        return None
    lowest = min(range(len(points)), key=lambda i: points[i])
    labels = tuple(i == lowest for i in range(len(points)))
    return labels, "a half-line that contains a point contains all points above it"


def _refute_boxes(points: Sequence[Point]) -> Refutation | None:
    """Return a labelling that excludes a point in the box of others.

    Among more than 2d points, those that are lowest or highest in some coordinate have all others in their box.
    """
    outermost = set()
    for j in range(len(points[0])):
        outermost |= {pick(range(len(points)), key=lambda i: points[i][j]) for pick in (min, max)}
    if len(outermost) == len(points):
        return None
    return (
        tuple(i in outermost for i in range(len(points))),
        "the smallest box around the points that should be inside contains the others",
    )


def _refute_half_spaces(points: Sequence[Point]) -> Refutation | None:
    found = radon.partition(points)
    if found is None:
        return None
    common = ", ".join(map(str, found.common))
    one, other = (", ".join(str(i + 1) for i in side) for side in (found.first, found.second))
    return found.labels, (
        f"the hulls of points {one} and of points {other} both contain ({common}), so that no half-space contains the"
        " first and none of the others (Radon's theorem)"
    )


HALF_LINES = ConceptClass("half-lines", find_half_line, _refute_half_lines, 1)
INTERVALS = ConceptClass("intervals", find_box, _refute_boxes, 1)
RECTANGLES = ConceptClass("rectangles", find_box, _refute_boxes)
HALF_SPACES = ConceptClass("half-spaces", find_half_space, _refute_half_spaces)
GEOMETRIC = {one.name: one for one in (HALF_LINES, INTERVALS, HALF_SPACES, RECTANGLES)}
