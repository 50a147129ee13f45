"""Certificates in the space of a kernel: claims against exact arithmetic, and separability by a kernel."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import KernelPerceptron, certify, kernels, separable, verify
from novikoff.certificates.separability.proofs import NotSeparable
from novikoff.certificates.spaces.kernel_measure import (
    bound_norm,
    build_kernel_evidence,
    build_support,
    evaluate_diagonal,
    evaluate_kernel,
    measure_kernel_witnesses,
)
from novikoff.cli.main import main
from novikoff.data import validation
from novikoff.kernels.gram import to_canonical_sparse

XOR = (np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 1, 1, 0]))
FORMS = ["linear", "poly:3:0.5:0.25", "rbf:0.7", "conjunctions", "2*rbf:0.3*linear^2 + exp(0.1*linear) + 1"]


def exact(name: str, x: Any, z: Any) -> Decimal:
    """Return the true value, to 60 digits."""
    s = sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, z, strict=True)), Fraction(0))
    apart = sum(((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(x, z, strict=True)), Fraction(0))

    def d(f: Any) -> Decimal:
        return Decimal(Fraction(f).numerator) / Decimal(Fraction(f).denominator)

    if name == "linear":
        return d(s)
    if name == "rbf:0.7":
        return (-d(Fraction(0.7) * apart)).exp()
    if name == "conjunctions":
        return (d(s) * Decimal(2).ln()).exp()
    if name.startswith("poly"):
        return d((s / 4 + Fraction(1, 2)) ** 3)
    return 2 * (-d(Fraction(0.3) * apart)).exp() * d(s * s) + d(Fraction(0.1) * s).exp() + 1


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(FORMS), seed=st.integers(0, 10**6), size=st.sampled_from([1e-170, 1e-3, 1.0, 30.0]))
def test_kernel_values_are_within_the_stated_error(name: str, seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((3, 7)) * size, rng.standard_normal((4, 7)) * max(size, 1e-5)
    Z[0] = X[0] * (1.0 + 1e-9)  # nearly equal rows: the difference nearly cancels
    k = kernels.parse(name)
    rows = {key: to_canonical_sparse(validation.validate_batch(T).rows, 7) for key, T in (("X", X), ("Z", Z))}
    found, squares = evaluate_kernel(k, build_support(rows["Z"], np.arange(4), 7), rows["X"])
    own = evaluate_diagonal(k, squares, 7)
    with localcontext() as context:
        context.prec = 60
        for i in range(3):
            for j in range(4):
                if math.isfinite(found.error[i, j]):
                    off = abs(Decimal(float(found.value[i, j])) - exact(name, X[i], Z[j]))
                    assert off <= Decimal(float(found.error[i, j]))
            assert not math.isfinite(own[i]) or Decimal(float(own[i])) >= exact(name, X[i], X[i])
    assert (found.error <= 1e-9 * np.abs(found.value) + 1e-9).any()


@settings(max_examples=25, deadline=None)
@given(name=st.sampled_from(FORMS), seed=st.integers(0, 10**6))
def test_the_margin_of_a_witness_is_at_least_the_claimed_one(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((6, 3)), rng.integers(0, 2, 6)
    k, rows = kernels.parse(name), to_canonical_sparse(validation.validate_batch(X).rows, 3)
    beta = rng.standard_normal(6)
    supports = build_support(rows, np.arange(6), 3)
    sides = np.where(y == 1, 1.0, -1.0)
    (seen,) = measure_kernel_witnesses(
        k, supports, [beta], [np.array([0.5])], [(rows, y)], lambda codes, _: sides[: len(codes)], 3
    )
    norm = bound_norm(k, supports, beta)
    e = build_kernel_evidence(seen, norm, 2)
    with localcontext() as context:
        context.prec = 60
        K = [[exact(name, x, z) for z in X] for x in X]
        b = [Decimal(float(v)) for v in beta]
        reached = [Decimal(s) * sum(b[j] * K[i][j] for j in range(6)) for i, s in enumerate(sides.tolist())]
        square = sum(b[i] * b[j] * K[i][j] for i in range(6) for j in range(6))
        assert Decimal(norm.low) ** 2 <= max(square, Decimal(0)) <= Decimal(norm.high) ** 2
        assert Decimal(e.margin) <= min(reached)
        assert Decimal(e.losses["hinge"]) >= 2 * sum(max(Decimal(0), 1 - r) for r in reached)
        assert Decimal(e.radius) ** 2 >= max(K[i][i] for i in range(6))
        assert Decimal(seen.slacks[0.5]) >= sum(max(Decimal("0.5") - r, Decimal(0)) ** 2 for r in reached)
        assert Decimal(e.margin) >= min(reached) - Decimal("1e-9") * (1 + abs(min(reached)))


def test_kernel_values_that_overflow_claim_nothing() -> None:
    X, y = np.array([[30.0], [-30.0], [1.0]]), np.array([1, 0, 1])
    k, rows, beta = (
        kernels.exp(kernels.linear()),
        to_canonical_sparse(validation.validate_batch(X).rows, 1),
        np.array([1.0, -1.0, 0.5]),
    )
    supports = build_support(rows, np.arange(3), 1)
    sides = np.where(y == 1, 1.0, -1.0)
    (seen,) = measure_kernel_witnesses(
        k, supports, [beta], [np.array([0.5])], [(rows, y)], lambda codes, _: sides[: len(codes)], 1
    )
    e = build_kernel_evidence(seen, bound_norm(k, supports, beta), 1)
    assert (e.margin, e.losses["hinge"], e.radius, e.norm) == (-math.inf, math.inf, math.inf, math.inf)


def circle(rows: int = 80) -> Any:
    """Draw points labelled by x₁² + x₂² ≤ 1, with a gap around the circle."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (rows, 2))
    apart = np.abs((X**2).sum(axis=1) - 1.0) > 0.3
    return X[apart], ((X[apart] ** 2).sum(axis=1) <= 1.0).astype(int)


@pytest.mark.parametrize("data", [XOR, circle()], ids=["xor", "circle"])
def test_a_quadratic_kernel_separates_a_circle(data: Any) -> None:
    X, y = data
    assert isinstance(separable(X, y), NotSeparable)
    model = KernelPerceptron(kernel="quadratic", passes=8).fit(X, y)
    certificate = certify(model, X, y)
    novikoff = next(b for b in certificate.bounds if b["name"] == "novikoff")
    assert novikoff["verdict"] == "holds"
    assert novikoff["numbers"]["margin"] > 0.0
    assert verify(certificate, X, y) == []
    # (R/γ)² with the claimed numbers, and γ checked in the space of the explicit map
    s = math.sqrt(2.0)
    phi = np.column_stack([X**2, s * X[:, :1] * X[:, 1:], s * X, np.ones(len(X))])
    beta = certificate.witness(novikoff["witness"])[: len(X)].astype(float)
    u = beta @ phi
    gamma = (np.where(y == 1, 1.0, -1.0) * (phi @ u)).min() / np.linalg.norm(u)
    assert math.isclose(gamma, novikoff["numbers"]["margin"], rel_tol=1e-6)
    linear = certify(KernelPerceptron(kernel="linear + 1", passes=8).fit(X, y), X, y)
    assert next(b for b in linear.bounds if b["name"] == "novikoff")["verdict"] == "not applicable"


def test_many_classes_are_certified_column_by_column() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 2))
    y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0) * 1
    model = KernelPerceptron(kernel="rbf:1", passes=2, vote=True).fit(X, y)
    certificate = certify(model, X, y)
    (bound,) = certificate.bounds
    assert (bound["verdict"], bound["name"]) == ("holds", "sum of columns")
    assert model.ledger_.mistakes <= bound["bound"]
    assert verify(certificate, X, y) == []
    forged = json.loads(certificate.as_json())
    forged["bounds"][0]["bound"] -= 1.0
    assert verify(forged, X, y) != []


@pytest.mark.parametrize("how", [{"kernel": "precomputed"}, {"budget": 3}], ids=str)
def test_no_bound_is_claimed_without_a_theorem(how: Any) -> None:
    X, y = circle(60)
    G = kernels.rbf(0.5)(X) if "kernel" in how else X
    certificate = certify(KernelPerceptron(**how).fit(G, y), G, y)
    assert certificate.headline is None
    assert verify(certificate, G, y) == []


@pytest.mark.slow  # it compiles everything for another precision
def test_kernel_models_of_files_are_certified_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = circle(60)
    data, paper = tmp_path / "circle.svm", tmp_path / "circle.certificate"
    data.write_text("".join(f"{label} 1:{a:.4f} 2:{b:.4f}\n" for (a, b), label in zip(X, y, strict=True)))
    learn = ["learn", str(data), "--learner", "kernel-perceptron", "--passes", "3", "--quiet"]
    assert main([*learn, "--certificate", str(paper), "--report", str(tmp_path / "page.html")]) == 0
    assert "at most" in capsys.readouterr().out
    assert main(["verify", str(paper), str(data)]) == 0
    data.write_text(data.read_text().replace("1 1:", "0 1:", 1))
    assert main(["verify", str(paper), str(data)]) == 1


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.sampled_from(FORMS[:4]), classes=st.integers(2, 4), noise=st.floats(0.0, 0.4))
def test_no_run_breaks_its_bounds(seed: int, k: str, classes: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 3))
    y = np.digitize(X[:, 0] * X[:, 1], np.linspace(-0.5, 0.5, classes - 1))
    y = np.where(rng.random(50) < noise, rng.integers(0, classes, 50), y)
    y[:classes] = np.arange(classes)
    model = KernelPerceptron(kernel=k, passes=3, margin=float(rng.choice([0.0, 0.5]))).fit(X, y)
    assert all(b["verdict"] != "violated" for b in certify(model, X, y).bounds)
