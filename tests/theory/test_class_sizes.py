"""Sizes of classes against lists of all functions, and the mistake bounds by name against the formulas."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from novikoff import InputError
from novikoff.theory import hypothesis_classes, vc
from novikoff.theory.class_size import power_size, to_class_size
from novikoff.theory.hypothesis_classes import CLASSES
from novikoff.theory.mistake_calculator import MISTAKE_BOUNDS, SYMBOLS, allowed
from novikoff.theory.vc_dimension import DIMENSIONS, dimension
from tests.helpers.bound_checks import BOUND_ARGUMENTS

Function = frozenset[tuple[int, ...]]
"""The inputs for which it is true."""


def cube(n: int) -> list[tuple[int, ...]]:
    return list(itertools.product((0, 1), repeat=n))


def list_where(n: int, holds: Callable[[tuple[int, ...]], object]) -> Function:
    return frozenset(x for x in cube(n) if holds(x))


def terms(n: int, least: int = 0, most: int | None = None) -> list[Function]:
    """Yield conjunctions of literals; 2 marks a variable that does not occur."""
    chosen = (
        c for c in itertools.product((0, 1, 2), repeat=n) if least <= n - c.count(2) <= (n if most is None else most)
    )
    return [list_where(n, lambda x, c=c: all(w in (2, v) for v, w in zip(x, c, strict=True))) for c in chosen]


def unions(parts: list[Function], most: int | None = None) -> set[Function]:
    """Yield unions of one to `most` parts."""
    found = current = set(parts)
    for _ in range((len(parts) if most is None else most) - 1):
        current = {one | part for one in current for part in parts} - found
        if not current:
            break
        found = found | current
    return found


def lists(n: int, k: int) -> set[Function]:
    """Yield decision lists, from the last answer to the first test."""
    tests, everything = terms(n, 1, k), frozenset(cube(n))
    found = current = {frozenset(), everything}
    while current:
        current = {new for one in current for test in tests for new in (one | test, one - test)} - found
        found = found | current
    return found


def linear(n: int, largest: int) -> set[Function]:
    """Yield threshold functions with small integer weights, which suffice for few variables."""
    weights = range(-largest, largest + 1)
    return {
        frozenset(x for x, value in scores if value >= theta)
        for w in itertools.product(weights, repeat=n)
        for scores in [[(x, sum(a * b for a, b in zip(w, x, strict=True))) for x in cube(n)]]
        for theta in range(-largest * n, largest * n + 2)
    }


def list_functions(n: int) -> dict[str, Iterable[Function]]:
    points = cube(n)
    everything = [frozenset(one) for r in range(len(points) + 1) for one in itertools.combinations(points, r)]
    return {
        "conjunctions": terms(n),
        "disjunctions": [frozenset(points) - one for one in terms(n)],
        "monotone-conjunctions": [list_where(n, lambda x, c=c: all(map(int.__ge__, x, c))) for c in points],
        "monotone-disjunctions": [list_where(n, lambda x, c=c: any(map(int.__and__, x, c))) for c in points],
        "parities": [list_where(n, lambda x, c=c: sum(a * b for a, b in zip(x, c, strict=True)) % 2) for c in points],
        "symmetric-functions": [list_where(n, lambda x, c=c: c >> sum(x) & 1) for c in range(2 ** (n + 1))],
        "monotone-functions": [
            one for one in everything if all(y in one for x in one for y in points if all(map(int.__le__, x, y)))
        ],
        "threshold-functions": linear(n, 2 if n < 4 else 3),
        "boolean-functions": everything,
    }  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 3])
def test_sizes_equal_the_number_of_distinct_functions(n: int) -> None:
    for name, functions in list_functions(n).items():
        size = CLASSES[name].size(variables=n)
        assert (size.exact, size.bound) == (len(set(functions)), False), name


def test_threshold_functions_of_four_variables() -> None:
    assert hypothesis_classes.threshold_functions(variables=4).exact == len(linear(4, 3))


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
def test_bounds_are_at_least_the_number_of_distinct_functions(n: int, k: int) -> None:
    counted = {
        "k-dnf": unions(terms(n, 1, k)),
        "k-term-dnf": unions(terms(n), k),
        "k-decision-lists": lists(n, k),
    }
    for name, functions in counted.items():
        size = CLASSES[name].size(variables=n, k=k)
        assert size.bound
        assert len(functions) <= (size.exact or 0), name
    for name, reference in (("k-cnf", "k-dnf"), ("k-clause-cnf", "k-term-dnf")):  # negate everything
        assert CLASSES[name].size(variables=n, k=k) == CLASSES[reference].size(variables=n, k=k)


def test_bounds_continue_the_known_sizes() -> None:
    for n in range(2, 60):
        cuts = 2 * sum(math.comb(2**n - 1, i) for i in range(n + 1))
        known = hypothesis_classes.threshold_functions(variables=n)
        assert (known.exact or 0) <= cuts <= 2 ** (n * n)
    assert hypothesis_classes.threshold_functions(variables=200).formula == "2^40000"
    for n in range(1, 10):
        assert (hypothesis_classes.monotone_functions(variables=n).exact or 0) <= 3 ** math.comb(n, n // 2)
    assert hypothesis_classes.monotone_functions(variables=10).formula == "3^C(10, 5)"


def test_logarithms_and_numbers_agree() -> None:
    for name, one in CLASSES.items():
        for n in (1, 2, 7, 12, 30):
            size = one.size(variables=n, **({"k": 2} if one.takes_k else {}))
            if size.exact is not None:
                assert float(size.ln) == pytest.approx(math.log(size.exact), rel=1e-12), name
                assert float(size.log2) == pytest.approx(math.log2(size.exact), rel=1e-12)
    assert power_size(2, 17).log2 == 17
    assert to_class_size(1).ln == 0


def test_sizes_of_huge_classes_are_computed() -> None:
    assert hypothesis_classes.boolean_functions(variables=1000).exact is None
    assert hypothesis_classes.boolean_functions(variables=1000).formula == "2^(2^1000)"
    assert hypothesis_classes.conjunctions(variables=10**18).ln > 10**18
    assert hypothesis_classes.k_cnf(variables=10**6, k=3).exact is None
    assert hypothesis_classes.k_cnf(variables=1000, k=10**9).formula == f"2^{3**1000 - 1}"
    assert len(str(hypothesis_classes.conjunctions(variables=5000).exact)) == 2386


@pytest.mark.parametrize(
    "call",
    [
        lambda: hypothesis_classes.conjunctions(variables=0),
        lambda: hypothesis_classes.conjunctions(variables=2.5),
        lambda: hypothesis_classes.boolean_functions(variables=10**9),
        lambda: hypothesis_classes.k_cnf(variables=5, k=0),
        lambda: hypothesis_classes.k_cnf(variables=10**6, k=10**5),
        lambda: power_size(0, 1),
        lambda: to_class_size(-3),
        lambda: dimension("rectangles", 0),
    ],
)
def test_invalid_classes_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        call()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_dimensions_of_boolean_classes_are_found_by_computation(n: int) -> None:
    for name, functions in list_functions(n).items():
        rows = [[x in one for x in cube(n)] for one in set(functions)]
        found = vc.dimension(rows).dimension
        assert 2**found <= len(rows)
        if name in DIMENSIONS:
            assert found == dimension(name, n), name


# --- Mistake bounds by name ---


@pytest.mark.parametrize("law", MISTAKE_BOUNDS)
def test_the_shown_formula_equals_the_computation(law: str) -> None:
    """The displayed formula, evaluated as an expression, has the value that the function returns."""
    given = {name: BOUND_ARGUMENTS[name] for name in MISTAKE_BOUNDS[law].parameters}
    answer = allowed(law, **given)
    text = answer.filled.removeprefix("M ≤ ").rpartition(", so M ≤ ")[0]
    text, _, rest = text.partition(" with u = ")
    replaced = {"·": "*", "²": "**2", "⁴": "**4", "√S": "", "−": "-", "√": "sqrt", "^": "**", "{": "", "}": ""}

    def value(formula: str, **names: float) -> float:
        for old, new in {"log_2": "log2", "sqrt9": "sqrt(9)", "√9": "sqrt(9)", **replaced}.items():
            formula = formula.replace(old, new)
        return float(eval(formula, {"sqrt": math.sqrt, "ln": math.log, "log2": math.log2, **names}))  # noqa: S307

    if law == "elimination":
        expected = sum(math.comb(64, i) * (2**i - 1) for i in (1, 2, 3)) + 1.0
    else:
        expected = value(text, **({"u": value(rest)} if rest else {}))
    assert answer.bound == pytest.approx(expected)
    assert answer.most == math.floor(answer.bound + 1e-9)
    assert all(symbol in answer.formula or symbol in answer.assumes for symbol in (SYMBOLS[name] for name in given))


def test_counts_are_rounded_to_the_safe_side() -> None:
    assert (0.3 / 0.1) ** 2 < 9
    assert allowed("novikoff", radius=0.3, margin=0.1).most == 9


def test_defaults_equal_those_of_the_learners() -> None:
    assert allowed("winnow", literals=5, features=1024).bound == pytest.approx(2 + 15 * 11)
    assert allowed("winnow-r", gained=5, features=1024).bound == pytest.approx(2 + 25 * 12)
    assert allowed("elimination", features=10).bound == 11
    assert allowed("halving", hypotheses=hypothesis_classes.boolean_functions(variables=100)).bound == pytest.approx(
        2.0**100
    )


@pytest.mark.parametrize(
    ("law", "given", "sentence"),
    [
        ("novikoff", {"radius": 1.0}, "margin is missing"),
        ("novikoff", {"radius": 1.0, "margin": 0.1, "loss": 1.0}, "loss is none of them"),
        ("novikoff", {"radius": 1.0, "margin": 0.0}, "above 0"),
        ("novikoff", {"radius": -1.0, "margin": 1.0}, "above 0"),
        ("novikoff", {"radius": math.inf, "margin": 1.0}, "above 0"),
        ("hinge", {"radius": 1.0, "norm": 1.0, "loss": -1.0}, "at least 0"),
        ("winnow", {"literals": 0, "features": 10}, "at least 1"),
        ("winnow", {"literals": 2.5, "features": 10}, "whole number"),
        ("halving", {"hypotheses": 0}, "at least 1"),
        ("halving", {"hypotheses": 4, "errors": -1}, "at least 0"),
        ("winnow", {"literals": 1, "features": 10, "alpha": 1.0}, "alpha > 1"),
    ],
)
def test_invalid_numbers_are_refused(law: str, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        allowed(law, **given)


def test_undefined_bounds_are_explained() -> None:
    assert allowed("novikoff", radius=1e300, margin=1e-300).sentence == "There is no bound: its value is above 10^308."
    answer = allowed(
        "balanced-winnow",
        **{**{k: BOUND_ARGUMENTS[k] for k in MISTAKE_BOUNDS["balanced-winnow"].parameters}, "learning_rate": 9.0},
    )
    assert answer.most is None
    assert answer.as_dict()["bound"] is None
    assert "η must be below" in answer.sentence


def test_every_parameter_has_a_symbol() -> None:
    for law in MISTAKE_BOUNDS.values():
        assert all(name in SYMBOLS for name in inspect.signature(law.compute).parameters)
