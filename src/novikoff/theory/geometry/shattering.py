"""Classes of sets of points, each by what decides whether one of its sets contains just the points that it should.

Half-lines x ≥ a; intervals; boxes with sides parallel to the axes; half-spaces, by linear programming without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from novikoff.theory.geometry import radon
from novikoff.theory.geometry.points import Box, HalfLine, HalfSpace, Labels, Point

Refutation = tuple[Labels, str]
"""A labelling that no set of the class has, and why."""


class ConceptClass(NamedTuple):
    name: str
    consistent: Callable[[Sequence[Point], Labels], object | None]
    """A set that contains the points labelled True and no others, or None."""
    refute: Callable[[Sequence[Point]], Refutation | None] | None = None
    """A labelling that no set has, where a theorem tells it without trying them all."""
    dimension: int | None = None
    """How many coordinates points have, where it may not be any number."""


def find_half_line(points: Sequence[Point], labels: Labels) -> HalfLine | None:
    inside = [point[0] for point, label in zip(points, labels, strict=True) if label]
    found = HalfLine(min(inside) if inside else max(point[0] for point in points) + 1)
    return found if _agrees(found, points, labels) else None


def find_box(points: Sequence[Point], labels: Labels) -> Box | None:
    """The smallest one around what it must contain: if this one contains too much, all do."""
    inside = [point for point, label in zip(points, labels, strict=True) if label]
    if not inside:
        return Box(tuple(Fraction(1) for _ in points[0]), tuple(Fraction(0) for _ in points[0]))
    found = Box(tuple(map(min, zip(*inside, strict=True))), tuple(map(max, zip(*inside, strict=True))))
    return found if _agrees(found, points, labels) else None


def find_half_space(points: Sequence[Point], labels: Labels) -> HalfSpace | None:
    """w·x > θ where the label is True, w·x < θ where it is False."""
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
    """Of two points the lower one can't be inside alone."""
    if len(points) < 2:
        return None
    lowest = min(range(len(points)), key=lambda i: points[i])
    labels = tuple(i == lowest for i in range(len(points)))
    return labels, "a half-line that contains a point contains all points above it"


def _refute_boxes(points: Sequence[Point]) -> Refutation | None:
    """A point in the box of others can't be left out alone. Of more than 2d points, those that are the lowest or
    highest in a coordinate, one for each, have all others in their box."""
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
