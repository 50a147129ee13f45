"""Kernels: values against plain Python, algebra, validity, text form, and the choice of a representation."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from novikoff import InputError, kernels
from novikoff.kernels.parser import from_plain_data, to_plain_data
from novikoff.kernels.reproducible_exp import (
    EXP_ABSOLUTE_ERROR,
    EXP_RELATIVE_ERROR,
    SCRATCH_ROWS,
    exp2_in_place,
    exp_in_place,
)

pytestmark = pytest.mark.plain_python_coverage


def dot(x: Any, z: Any) -> float:
    """Sum one term after another, over the columns that both rows have."""
    total = 0.0
    for a, b in zip(x.tolist(), z.tolist(), strict=True):
        total += a * b
    return total


def table(seed: int, rows: int, columns: int = 6) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    X[rng.random(X.shape) < 0.3] = 0.0
    return X


def apply_in_place(function: Any, numbers: list[float]) -> list[float]:
    row, notes = np.array(numbers), np.zeros((SCRATCH_ROWS, len(numbers)))
    function(row, len(numbers), notes, notes.view(np.int64))
    return [float(value) for value in row]


LEAVES = st.sampled_from(
    ["linear", "quadratic", "poly:3:0.5:0.2", "rbf:0.3", "rbf:2", "conjunctions", "conjunctions:negations", "0.7"]
).map(kernels.parse)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(st.sampled_from([0.0, 0.25, 3.0]), inner).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, st.integers(1, 3)).map(lambda pair: pair[0] ** pair[1]),
        inner.map(lambda k: kernels.polynomial(k, [0.5, 0.0, 2.0])),
        inner.map(lambda k: kernels.exp(0.01 * kernels.rbf(1.0) * k)),
    ),
    max_leaves=4,
)


def test_dot_products_are_summed_in_order_dense_and_sparse() -> None:
    X, Z = table(1, 40), table(2, 70)
    wanted = [[dot(x, z) for z in Z] for x in X]
    for left in (np.asarray, sp.csr_matrix):
        for right in (np.asarray, sp.csr_matrix):
            assert kernels.linear()(left(X), right(Z)).tolist() == wanted


@settings(max_examples=10, deadline=None)
@given(k=EXPRESSIONS, seed=st.integers(0, 100))
def test_values_don_t_depend_on_the_block(k: Any, seed: int) -> None:
    X, Z = table(seed, 4), table(seed + 1, 37)
    with np.errstate(over="ignore"):
        whole = k(X, Z)
        parts = [[k(x[None], z[None])[0, 0] for z in Z] for x in X]
        assert np.array_equal(whole, parts, equal_nan=True)
        assert np.array_equal(whole, k(Z, X).T, equal_nan=True)


def test_expressions_equal_their_definition() -> None:
    X, Z = table(3, 12), table(4, 15)
    s, apart = X @ Z.T, ((X[:, None] - Z[None]) ** 2).sum(axis=2)
    f = lambda T: 1.0 + T[:, 0] ** 2  # noqa: E731
    pairs = {
        "linear": s,
        "quadratic": (s + 1) ** 2,
        "poly:5:2:0.3": (0.3 * s + 2) ** 5,
        "rbf:0.4": np.exp(-0.4 * apart),
        "conjunctions": 2.0**s,
        "conjunctions:negations": 2.0**-apart,
        "2*linear + rbf:1*linear^2 + 3": 2 * s + np.exp(-apart) * s**2 + 3,
        "exp(0.2*linear)": np.exp(0.2 * s),
    }
    for text, wanted in pairs.items():
        assert np.allclose(kernels.parse(text)(X, Z), wanted, rtol=1e-12, atol=1e-12), text
    series = kernels.polynomial(kernels.linear(), [1, 0, 2, 0.5])
    assert np.allclose(series(X, Z), 1 + 2 * s**2 + 0.5 * s**3)
    assert np.allclose(kernels.scaled(kernels.rbf(0.4), f)(X, Z), np.exp(-0.4 * apart) * f(X)[:, None] * f(Z))
    assert np.allclose((kernels.own(lambda A, B: A @ B.T) + 1)(X, Z), s + 1)


@settings(max_examples=40, deadline=None)
@given(k=EXPRESSIONS, seed=st.integers(0, 10**6))
def test_the_algebra_of_kernels_gives_kernels(k: Any, seed: int) -> None:
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (14, 3))
    with np.errstate(over="ignore"):
        assume(np.isfinite(k(X)).all())
    found = kernels.is_valid(k, X)
    assert found, (str(k), found)
    assert kernels.is_valid(kernels.scaled(k, lambda T: T[:, 0] - 0.2), X)


@settings(max_examples=60, deadline=None)
@given(k=EXPRESSIONS)
def test_kernels_round_trip_through_text_and_files(k: Any) -> None:
    assert from_plain_data(json.loads(json.dumps(to_plain_data(k)))) == k
    X = table(5, 5)
    with np.errstate(over="ignore"):
        assert np.allclose(kernels.parse(str(k))(X), k(X), rtol=1e-9, equal_nan=True)


@pytest.mark.parametrize(
    "own",
    [
        lambda X, Z: -((X[:, None] - Z[None]) ** 2).sum(axis=2),
        lambda X, Z: np.tanh(X @ Z.T - 1.0),
        lambda X, Z: X @ Z.T - 0.5,
    ],
)
def test_an_indefinite_kernel_is_refused_with_a_counterexample(own: Any) -> None:
    X = np.random.default_rng(0).standard_normal((30, 2)) * 0.3
    found = kernels.is_valid(own, X)
    assert not found
    assert found.vector is not None
    assert float(found.vector @ own(X, X) @ found.vector) < -found.tolerance


def test_asymmetric_kernels_are_refused_and_gram_matrices_accepted() -> None:
    G = np.array([[2.0, 1.0], [0.0, 2.0]])
    assert not kernels.is_valid("precomputed", G)
    assert kernels.is_valid("precomputed", G @ G.T)
    with pytest.raises(InputError, match="square"):
        kernels.is_valid("precomputed", [[1.0, 2.0]])


@pytest.mark.parametrize(
    "make",
    [
        lambda: -1.0 * kernels.linear(),
        lambda: kernels.linear() + -0.5,
        lambda: kernels.rbf(0.0),
        lambda: kernels.rbf(math.nan),
        lambda: kernels.polynomial(0),
        lambda: kernels.polynomial(2, -1.0),
        lambda: kernels.linear() ** 2.5,
        lambda: kernels.polynomial(kernels.linear(), [1.0, -1.0]),
        lambda: kernels.polynomial(kernels.linear(), []),
        lambda: kernels.polynomial(kernels.linear(), 2),
        lambda: kernels.parse("poly"),
        lambda: kernels.parse("rbf:0.1 +"),
        lambda: kernels.parse("linear linear"),
        lambda: kernels.parse("__import__('os')"),
        lambda: kernels.parse("(" * 500 + "linear"),
        lambda: kernels.parse(""),
        lambda: kernels.linear()([[1.0]], [[1.0, 2.0]]),
        lambda: kernels.own(lambda X, Z: X + Z)([[1.0, 2.0]], [[1.0, 2.0]]),
    ],
)
def test_invalid_kernels_are_refused(make: Any) -> None:
    with pytest.raises(InputError):
        make()


@settings(max_examples=300, deadline=None)
@given(x=st.floats(-745.0, 709.7))
def test_the_exponential_is_within_its_stated_error(x: float) -> None:
    (value,) = apply_in_place(exp_in_place, [x])
    with localcontext() as context:
        context.prec = 60
        true = Decimal(x).exp()
        assert abs(Decimal(value) - true) <= true * Decimal(EXP_RELATIVE_ERROR) + Decimal(EXP_ABSOLUTE_ERROR)


def test_exponentials_are_correct_at_the_limits() -> None:
    found = apply_in_place(exp_in_place, [0.0, -0.0, 800.0, -800.0, math.inf, -math.inf])
    assert found == [1.0, 1.0, math.inf, 0.0, math.inf, 0.0]
    assert math.isnan(apply_in_place(exp_in_place, [math.nan])[0])
    whole = [float(k) for k in range(-1074, 1024)]
    assert apply_in_place(exp2_in_place, whole) == [math.ldexp(1.0, int(k)) for k in whole]


def test_the_recommended_representation_follows_the_costs() -> None:
    few = kernels.choose_representation(examples=1000, kernel_cost=50, feature_cost=50**4)
    many = kernels.choose_representation(examples=10**6, kernel_cost=10, feature_cost=66, mistake_rate=0.2)
    assert (few.representation, many.representation) == ("dual", "primal")
    assert (few.dual, few.primal) == (50 * 1000**2 / 2, 50**4 * 1000)
    assert (many.dual, many.primal) == (10 * 0.2 * 10**12 / 2, 66 * 10**6)
    later = kernels.choose_representation(examples=100, kernel_cost=1, feature_cost=1, mistake_rate=0.5, passes=3)
    assert later.dual == 100 * (25 + 2 * 50)
    with pytest.raises(InputError, match="above 0"):
        kernels.choose_representation(examples=0, kernel_cost=1, feature_cost=1)
