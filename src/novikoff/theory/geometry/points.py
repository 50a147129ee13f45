"""Points with exact coordinates, and half-lines, boxes and half-spaces that contain some of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from novikoff.errors import InputError
from novikoff.theory.directed_rounding import to_fraction

Point = tuple[Fraction, ...]
Labels = tuple[bool, ...]


def parse_points(given: Sequence[Any], dimension: int | None = None) -> tuple[Point, ...]:
    """Return points with rational coordinates from numbers or sequences of numbers; 0.1 becomes 1/10.

    >>> parse_points([[0, 0.5]])
    ((Fraction(0, 1), Fraction(1, 2)),)
    """
    try:
        points = tuple(tuple(to_fraction(v) for v in _coordinates(point)) for point in given)
    except (TypeError, ValueError, OverflowError):
        raise InputError("Each point must be a finite number, or a sequence of them.") from None
    if not points:
        raise InputError("There must be at least one point.")
    lengths = sorted({len(point) for point in points})
    if len(lengths) > 1 or lengths[0] == 0:
        raise InputError(f"All points must have the same number of coordinates, got {lengths}.")
    if dimension is not None and lengths[0] != dimension:
        raise InputError(f"Points must have {dimension} coordinate, got {lengths[0]}.")
    return points


def _coordinates(point: Any) -> Sequence[Any]:
    if hasattr(point, "tolist"):
        point = point.tolist()
    return point if isinstance(point, (tuple, list)) else (point,)


class HalfLine(NamedTuple):
    """The half-line x ≥ start."""

    start: Fraction

    def contains(self, point: Point) -> bool:
        return point[0] >= self.start

    def __str__(self) -> str:
        return f"x ≥ {self.start}"


class Box(NamedTuple):
    """The box low_j ≤ x_j ≤ high_j for all j, empty where low is above high; in one dimension an interval."""

    low: Point
    high: Point

    def contains(self, point: Point) -> bool:
        return all(a <= x <= b for a, x, b in zip(self.low, point, self.high, strict=True))

    def __str__(self) -> str:
        if any(a > b for a, b in zip(self.low, self.high, strict=True)):
            return "empty"
        return " × ".join(f"[{a}, {b}]" for a, b in zip(self.low, self.high, strict=True))


class HalfSpace(NamedTuple):
    """The half-space w·x > θ; none of the points that it was built for is on its boundary."""

    weights: Point
    threshold: Fraction

    def contains(self, point: Point) -> bool:
        return sum((w * x for w, x in zip(self.weights, point, strict=True)), Fraction(0)) > self.threshold

    def __str__(self) -> str:
        terms = " + ".join(f"{w}·x{j}" for j, w in enumerate(self.weights, 1) if w) or "0"
        return f"{terms} > {self.threshold}".replace("+ -", "− ")
