"""Radon partitions: d + 2 points in d dimensions form two sets whose convex hulls intersect (Radon 1921).

A half-space that contains the first set and no point of the second would both contain and not contain the common
point. So half-spaces shatter no d + 2 points, and no affinely dependent points: these have such a partition too. The
partition comes from weights λ, not all 0, with Σλ = 0 and Σ λ_i·x_i = 0, found by elimination in rational numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from novikoff.theory.geometry.points import Labels, Point, parse_points


class RadonPartition(NamedTuple):
    """Two sets of points, by position, and a point in both convex hulls."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    weights: tuple[Fraction, ...]
    """The weight of each point in the common point. Those of each set sum to 1."""
    common: Point

    def holds(self, points: Sequence[Any]) -> bool:
        """Check the partition from the points alone, in rational arithmetic."""
        exact = parse_points(points)
        if set(self.first) & set(self.second) or any(w < 0 for w in self.weights):
            return False
        return all(_convex_combination(exact, self.weights, side) == self.common for side in (self.first, self.second))

    @property
    def labels(self) -> Labels:
        """The labelling that no half-space realizes: the first set inside, all other points outside."""
        return tuple(i in self.first for i in range(len(self.weights)))


def partition(points: Sequence[Any]) -> RadonPartition | None:
    """Return a Radon partition, or None for affinely independent points, whose labellings all have a half-space.

    >>> square = partition([(0, 0), (1, 1), (1, 0), (0, 1)])
    >>> square.first, square.second, [str(c) for c in square.common]
    ((2, 3), (0, 1), ['1/2', '1/2'])
    >>> partition([(0, 0), (1, 0), (0, 1)]) is None
    True
    """
    exact = parse_points(points)
    found = _find_dependence([(*point, Fraction(1)) for point in exact])
    if found is None:
        return None
    first = tuple(i for i, w in enumerate(found) if w > 0)
    second = tuple(i for i, w in enumerate(found) if w < 0)
    total = sum((found[i] for i in first), Fraction(0))
    weights = tuple(abs(w) / total for w in found)
    return RadonPartition(first, second, weights, _combine(exact, weights, first))


def _find_dependence(vectors: Sequence[Point]) -> list[Fraction] | None:
    """Return coefficients, not all 0, of a vanishing combination that ends with the first dependent vector; or None."""
    basis: list[tuple[int, list[Fraction], list[Fraction]]] = []  # (pivot column, vector, its coefficients)
    for k, vector in enumerate(vectors):
        rest = list(vector)
        mix = [Fraction(int(i == k)) for i in range(len(vectors))]
        for place, other, its_mix in basis:
            factor = rest[place] / other[place]
            rest = [a - factor * b for a, b in zip(rest, other, strict=True)]
            mix = [a - factor * b for a, b in zip(mix, its_mix, strict=True)]
        place_of = next((j for j, value in enumerate(rest) if value), None)
        if place_of is None:
            return mix
        basis.append((place_of, rest, mix))
    return None


def _combine(points: Sequence[Point], weights: Sequence[Fraction], side: Sequence[int]) -> Point:
    return tuple(sum((weights[i] * points[i][j] for i in side), Fraction(0)) for j in range(len(points[0])))


def _convex_combination(points: Sequence[Point], weights: Sequence[Fraction], side: Sequence[int]) -> Point | None:
    """Return the combination of points; the weights sum to 1."""
    return _combine(points, weights, side) if sum((weights[i] for i in side), Fraction(0)) == 1 else None
