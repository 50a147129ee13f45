"""Shattering, VC dimension and growth: decided by computation, with proofs that are checked."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import InputError
from novikoff.theory import vc
from novikoff.theory.geometry import radon
from novikoff.theory.geometry.points import Box, HalfLine, HalfSpace, parse_points
from novikoff.theory.vc import GEOMETRIC, HALF_LINES, HALF_SPACES, INTERVALS, RECTANGLES

WHOLE = st.integers(-4, 4)


def spread(count: int, dimensions: int, seed: int = 0) -> list[list[int]]:
    return np.random.default_rng(seed).integers(-50, 51, (count, dimensions)).tolist()


def simplex(dimensions: int) -> list[list[int]]:
    return [[int(i == j) for j in range(dimensions)] for i in range(dimensions + 1)]


# --- The dimensions of the issue, found by computation ---


@pytest.mark.parametrize(
    ("concepts", "points", "dimension"),
    [
        (HALF_LINES, spread(12, 1), 1),
        (INTERVALS, spread(10, 1), 2),
        (HALF_SPACES, spread(8, 1), 2),
        (HALF_SPACES, spread(9, 2), 3),
        (HALF_SPACES, [*simplex(3), *spread(4, 3)], 4),
        (HALF_SPACES, [*simplex(4), *spread(2, 4)], 5),
        (RECTANGLES, [[1, 0], [-1, 0], [0, 1], [0, -1], *spread(4, 2)], 4),
        (RECTANGLES, [*[[s * int(i == j) for j in range(3)] for i in range(3) for s in (1, -1)], *spread(2, 3)], 6),
    ],
)
def test_dimensions_are_found_by_computation(concepts: Any, points: list[list[int]], dimension: int) -> None:
    found = vc.dimension_among(concepts, points)
    assert found.dimension == dimension
    assert vc.shattering(concepts, [points[i] for i in found.shattered]).shattered


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_half_spaces_shatter_a_simplex_and_nothing_larger(dimensions: int) -> None:
    corners = simplex(dimensions)
    assert len(vc.shattering(HALF_SPACES, corners).hypotheses) == 2 ** (dimensions + 1)
    for seed in range(20):
        points = spread(dimensions + 2, dimensions, seed)
        found, proof = vc.shattering(HALF_SPACES, points), radon.partition(points)
        assert not found.shattered
        assert proof is not None
        assert proof.holds(points)
        assert proof.labels == found.missing
        assert HALF_SPACES.consistent(parse_points(points), proof.labels) is None


@pytest.mark.slow
def test_no_four_points_in_the_plane_are_shattered_by_half_planes() -> None:
    """A large random search, by linear programming on every labelling, and Radon's partition for each."""
    for seed in range(2000):
        points = parse_points(spread(4, 2, seed))
        count = sum(
            HALF_SPACES.consistent(points, labels) is not None for labels in itertools.product((False, True), repeat=4)
        )
        assert count <= 14
        proof = radon.partition(points)
        assert proof is not None
        assert proof.holds(points)


@given(points=st.lists(st.tuples(WHOLE, WHOLE), min_size=4, max_size=4))
@settings(max_examples=100, deadline=None)
def test_no_four_points_of_a_small_grid_are_shattered(points: list[tuple[int, int]]) -> None:
    """Many of these points lie on one line, or coincide."""
    proof = radon.partition(points)
    assert proof is not None
    assert proof.holds(points)
    exact = parse_points(points)
    realised = [
        labels
        for labels in itertools.product((False, True), repeat=4)
        if HALF_SPACES.consistent(exact, labels) is not None
    ]
    assert proof.labels not in realised
    assert len(realised) <= vc.cuts(dimension=2, points=4) == 14


# --- Each decision against one that is easy to believe ---


def realise_by_search(name: str, points: Sequence[tuple[Fraction, ...]], labels: tuple[bool, ...]) -> bool:
    """Decide by trying all sets that differ on grid points."""
    wanted = {p for p, label in zip(points, labels, strict=True) if label}
    if any((p in wanted) != label for p, label in zip(points, labels, strict=True)):
        return False  # one point, two labels
    steps = [Fraction(k, 2) for k in range(-11, 12)]
    if name == "half-lines":
        return any({p for p in points if p[0] >= a} == wanted for a in steps)
    if name == "intervals":
        return any({p for p in points if a <= p[0] <= b} == wanted for a in steps for b in steps)
    rows = [([float(v) for v in p], 1.0 if label else -1.0) for p, label in zip(points, labels, strict=True)]
    if name == "rectangles":
        corners = [(min(c), max(c)) for c in zip(*wanted, strict=True)] if wanted else []
        return {
            p for p in points if corners and all(a <= v <= b for v, (a, b) in zip(p, corners, strict=True))
        } == wanted
    from scipy.optimize import linprog

    matrix = np.array([[-s * v for v in (*p, 1.0)] for p, s in rows])
    return bool(linprog(np.zeros(matrix.shape[1]), matrix, -np.ones(len(rows)), bounds=(None, None)).status == 0)


@pytest.mark.parametrize("name", GEOMETRIC)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_consistency_is_decided_correctly(name: str, data: st.DataObject) -> None:
    width = 1 if name in ("half-lines", "intervals") else data.draw(st.integers(1, 3))
    points = parse_points(data.draw(st.lists(st.tuples(*[WHOLE] * width), min_size=1, max_size=6)))
    labels = tuple(data.draw(st.lists(st.booleans(), min_size=len(points), max_size=len(points))))
    found = GEOMETRIC[name].consistent(points, labels)
    assert (found is not None) == realise_by_search(name, points, labels)
    if found is not None:
        assert isinstance(found, (HalfLine, Box, HalfSpace))
        assert tuple(found.contains(p) for p in points) == labels
        assert str(found)


@pytest.mark.parametrize("name", GEOMETRIC)
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_sets_that_a_theorem_excludes_are_refuted(name: str, data: st.DataObject) -> None:
    """The labelling that is returned is one for which the oracle has no hypothesis."""
    width = 1 if name in ("half-lines", "intervals") else data.draw(st.integers(1, 3))
    points = parse_points(data.draw(st.lists(st.tuples(*[WHOLE] * width), min_size=1, max_size=8)))
    found = vc.shattering(GEOMETRIC[name], points)
    if not found.shattered:
        assert found.missing is not None
        assert GEOMETRIC[name].consistent(points, found.missing) is None
    else:
        assert set(found.hypotheses) == set(itertools.product((False, True), repeat=len(points)))


def test_three_points_on_a_line_are_not_shattered() -> None:
    found = vc.shattering(HALF_SPACES, [(0, 0), (1, 1), (2, 2)])
    assert found.missing in ((True, False, True), (False, True, False))
    assert "both contain (1, 1)" in found.why
    nearly = vc.shattering(HALF_SPACES, [(0, 0), (1, 1 + Fraction(1, 10**30)), (2, 2)])
    assert nearly.shattered  # by no floating-point method


def test_radon_partitions_can_not_be_forged() -> None:
    points = [(0, 0), (1, 1), (1, 0), (0, 1)]
    proof = radon.partition(points)
    assert proof is not None
    assert not proof._replace(common=(Fraction(1), Fraction(0))).holds(points)
    assert not proof._replace(weights=(Fraction(0),) * 4).holds(points)
    assert not proof._replace(second=proof.first).holds(points)
    assert not proof.holds([(0, 0), (1, 1), (1, 0), (0, 2)])
    assert radon.partition([(1, 2), (1, 2)]) is not None  # the same point twice


# --- Growth ---


@pytest.mark.parametrize("m", [1, 2, 3, 5, 7])
def test_growth_functions_equal_their_formulas(m: int) -> None:
    line = list(range(m))
    assert len(vc.labellings(HALF_LINES, line)) == m + 1
    assert len(vc.labellings(INTERVALS, line)) == math.comb(m + 1, 2) + 1
    parabola = [(k, k * k) for k in range(m)]
    assert len(vc.labellings(HALF_SPACES, parabola)) == vc.cuts(dimension=2, points=m)
    moment = [(k, k**2, k**3) for k in range(m)]
    assert len(vc.labellings(HALF_SPACES, moment)) == vc.cuts(dimension=3, points=m)
    assert len(vc.labellings(RECTANGLES, spread(m, 2, m))) <= vc.sauer(dimension=4, points=m)


def test_sauers_sum_bounds_growth() -> None:
    assert vc.sauer(dimension=3, points=10) == 1 + 10 + 45 + 120
    assert vc.sauer(dimension=10, points=3) == 8
    assert vc.sauer(dimension=0, points=5) == 1
    assert vc.sauer(dimension=10**9, points=200) == 2**200


# --- Finite classes ---


@given(rows=st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=20))
def test_the_dimension_of_a_table_equals_a_search_of_all_subsets(rows: list[list[bool]]) -> None:
    found = vc.dimension(rows)
    sizes = [
        len(chosen)
        for count in range(6)
        for chosen in itertools.combinations(range(5), count)
        if len({tuple(row[j] for j in chosen) for row in rows}) == 2**count
    ]
    assert found.dimension == max(sizes)
    assert len({tuple(row[j] for j in found.shattered) for row in rows}) == 2**found.dimension
    assert len({tuple(row) for row in rows}) <= vc.sauer(dimension=found.dimension, points=5)


def test_classes_over_any_objects_are_supported() -> None:
    sets = vc.finite([{"a"}, {"a", "b"}, set(), {"b", "c"}])
    assert vc.shattering(sets, ["a", "b"]).shattered
    assert vc.shattering(sets, ["a", "c"]).missing == (True, True)
    assert vc.dimension_among(sets, ["a", "b", "c"]) == vc.Dimension(2, (0, 1))


def test_custom_classes_are_supported() -> None:
    """Unions of two intervals: their dimension is 4."""

    def two_intervals(points: Sequence[int], labels: tuple[bool, ...]) -> object | None:
        ordered = [label for _, label in sorted(zip(points, labels, strict=True))]
        runs = sum(label for label, _ in itertools.groupby(ordered))
        return runs if runs <= 2 else None

    assert vc.dimension_among(two_intervals, range(7)).dimension == 4
    assert vc.shattering(two_intervals, [1, 2, 3, 4, 5]).missing == (True, False, True, False, True)


def accept_everything(points: Sequence[Any], labels: tuple[bool, ...]) -> object:
    """Act as the oracle of the class that contains every set."""
    return labels


@pytest.mark.parametrize(
    "call",
    [
        lambda: vc.shattering(HALF_SPACES, []),
        lambda: vc.shattering(HALF_SPACES, [(1, 2), (1,)]),
        lambda: vc.shattering(HALF_SPACES, [()]),
        lambda: vc.shattering(HALF_LINES, [(1, 2)]),
        lambda: vc.shattering(HALF_SPACES, [(math.nan, 1)]),
        lambda: vc.shattering(HALF_SPACES, [(math.inf, 1)]),
        lambda: vc.shattering(HALF_SPACES, ["a"]),
        lambda: vc.shattering(accept_everything, range(17)),
        lambda: vc.labellings(accept_everything, range(21)),
        lambda: vc.shattering(accept_everything, []),
        lambda: vc.dimension([]),
        lambda: vc.dimension([[0], [0, 1]]),
        lambda: vc.sauer(dimension=-1, points=3),
        lambda: vc.cuts(dimension=2, points=0),
    ],
)
def test_invalid_input_is_refused(call: Any) -> None:
    with pytest.raises(InputError):
        call()
