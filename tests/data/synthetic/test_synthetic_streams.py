"""Generated streams have the properties that their ground truth states."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import InputError, Perceptron
from novikoff.data.synthetic import concepts, real_valued, sampling
from novikoff.data.synthetic.concepts import (
    CONCEPTS,
    conjunction,
    disjunction,
    k_cnf,
    linear_threshold,
    m_of_n,
    rectangle,
    xor,
)
from novikoff.theory.mistake_bounds import hinge, novikoff

BOOLEAN = ("conjunction", "disjunction", "m-of-n", "k-cnf", "dnf", "xor")


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Use small blocks, so that small streams have many of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "MAX_ROWS_PER_BLOCK", 17)
        patch.setattr(real_valued, "MAX_ROWS_PER_BLOCK", 17)
        yield


@st.composite
def boolean(draw: st.DrawFn, name: str | None = None, steady: bool = False) -> Any:
    """A Boolean stream, the true literals needed per group and the groups needed; None for XOR."""
    name = name or draw(st.sampled_from(BOOLEAN))
    groups, width = draw(st.integers(1, 4)), draw(st.integers(1, 3)) if name in ("k-cnf", "dnf") else 1
    least = draw(st.integers(1, groups))
    shape = {
        "m-of-n": {"k": groups, "m": least},
        "k-cnf": {"clauses": groups, "width": width},
        "dnf": {"terms": groups, "width": width},
    }.get(name, {"k": groups})
    needs = {"conjunction": (1, groups), "m-of-n": (1, least), "k-cnf": (1, groups), "dnf": (width, 1)}.get(
        name, (1, 1)
    )
    examples = draw(st.integers(1, 80))
    stream = CONCEPTS[name](
        n=groups * width + draw(st.integers(1, 30)),
        negated=draw(st.booleans()),
        density=draw(st.sampled_from([None, 0.0, 0.03, 0.3, 0.5, 1.0])),
        balance=draw(st.sampled_from([None, 0.5, 0.1])),
        noise=0.0 if steady else draw(st.sampled_from([0.0, 0.0, 0.2, 1.0])),
        drift=0 if steady else draw(st.integers(0, min(examples - 1, 5))),
        examples=examples,
        random_state=draw(st.integers(0, 2**40)),
        **shape,
    )
    return stream, (None if name == "xor" else needs)


@st.composite
def real_stream(draw: st.DrawFn) -> Any:
    n = draw(st.integers(1, 9))
    common = {
        "n": n,
        "k": draw(st.integers(1, n)),
        "balance": draw(st.sampled_from([0.5, 0.1])),
        "noise": draw(st.sampled_from([0.0, 0.3])),
        "examples": draw(st.integers(1, 60)),
        "random_state": draw(st.integers(0, 2**40)),
    }
    if draw(st.booleans()):
        return rectangle(**common)
    return linear_threshold(gamma=draw(st.sampled_from([1e-4, 0.01, 0.3, 0.999])), **common)


def any_stream() -> Any:
    return st.one_of(boolean().map(lambda pair: pair[0]), real_stream())


def dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


def literals_at(truth: Any, t: int) -> Any:
    return [phase.literals for phase in truth.phases if phase.start <= t][-1]


def evaluate_literally(literals: Any, needs: Any, x: Any) -> bool:
    """Evaluate the concept literally."""
    truths = [[(x[abs(a) - 1] == 1) == (a > 0) for a in group] for group in literals]
    if needs is None:
        return sum(sum(group) for group in truths) % 2 == 1
    inner, outer = needs
    return sum(sum(group) >= inner for group in truths) >= outer


@given(boolean())
def test_labels_follow_the_concept_up_to_noise(case: Any) -> None:
    stream, needs = case
    X, y = stream.to_arrays()
    truth = stream.truth
    assert X.shape == (truth.examples, truth.n)
    assert (X.dtype, y.dtype, set(X.data) - {1.0}) == (np.float32, np.int8, set())
    assert X.has_canonical_format
    right = [1 if evaluate_literally(literals_at(truth, t), needs, x) else -1 for t, x in enumerate(X.toarray())]
    wrong = y != right
    assert truth.flipped == stream.count_flipped() == wrong.sum()
    for t in range(truth.examples + 1):
        assert stream.count_flipped(t) == wrong[:t].sum()


@given(real_stream())
def test_labels_of_real_concepts_follow_their_definition(stream: Any) -> None:
    X, y = stream.to_arrays()
    truth = stream.truth
    assert (X.shape, X.dtype) == ((truth.examples, truth.n), np.float64)
    assert (X.astype(np.float32) == X).all()
    if truth.concept == "rectangle":
        right = [all(s.low <= x[s.attribute - 1] <= s.high for s in truth.sides) for x in X]
        assert len(truth.sides) == truth.k
    else:
        right = [float(truth.separator[1:] @ x) > 0 for x in X]
        assert np.count_nonzero(truth.separator) == truth.k
    assert (y != np.where(right, 1, -1)).sum() == truth.flipped


@given(any_stream())
def test_the_witness_separates_by_the_margin_and_no_example_is_longer_than_the_radius(stream: Any) -> None:
    """The margin is checked in exact arithmetic."""
    X, y = stream.to_arrays()
    truth = stream.truth
    lengths = [sum(Fraction(float(v)) ** 2 for v in x) for x in dense(X)]
    assert max(lengths) <= Fraction(truth.largest)
    for bias in (False, True):
        assert truth.radius(bias) ** 2 == pytest.approx(truth.largest + bias)
        assert stream.radius(bias) ** 2 == pytest.approx(float(max(lengths) + bias))
    if truth.separator is None or truth.flipped:
        return
    u = [Fraction(float(v)) for v in truth.separator]
    margins = [
        int(s) * (u[0] + sum(a * Fraction(float(v)) for a, v in zip(u[1:], x, strict=True)))
        for x, s in zip(dense(X), y, strict=True)
    ]
    assert len(u) == truth.n + 1
    assert min(margins) >= Fraction(truth.margin)
    assert np.linalg.norm(truth.witness) == pytest.approx(1.0)
    assert truth.gamma == pytest.approx(truth.margin / truth.norm)


def test_the_margin_of_boolean_concepts_is_attained() -> None:
    for stream in (conjunction(n=9, k=3, negated=True), disjunction(n=9, k=3, negated=True), m_of_n(n=9, k=4, m=2)):
        X, y = stream.to_arrays()
        assert (y * (X @ stream.truth.separator[1:] + stream.truth.separator[0])).min() == stream.truth.margin == 1.0


def test_one_clause_and_one_term_are_half_spaces() -> None:
    for stream in (k_cnf(clauses=1, width=3, negated=True), concepts.dnf(terms=1, width=3, negated=True)):
        X, y = stream.to_arrays()
        assert (y * (X @ stream.truth.separator[1:] + stream.truth.separator[0])).min() == stream.truth.margin == 1.0


def test_only_half_spaces_have_a_separator() -> None:
    """Two clauses or terms of two literals, and an XOR of two, have no separator; with one of them they have one."""
    assert all(CONCEPTS[name]().truth.separator is None for name in ("k-cnf", "dnf", "xor", "rectangle"))
    one = (k_cnf(clauses=1), k_cnf(width=1), concepts.dnf(terms=1), concepts.dnf(width=1), xor(k=1))
    assert all(stream.truth.separator is not None for stream in one)
    assert disjunction(drift=1).truth.separator is None
    with pytest.raises(ValueError, match="read-only"):
        disjunction().truth.separator[0] = 1.0


@given(any_stream(), st.integers(1, 100))
def test_batches_of_every_size_are_the_same_stream(stream: Any, size: int) -> None:
    X, y = stream.to_arrays()
    for batches in (list(stream.batches(size)), list(stream.batches())):
        assert (np.vstack([dense(part) for part, _ in batches]) == dense(X)).all()
        assert (np.concatenate([labels for _, labels in batches]) == y).all()
    assert {len(labels) for _, labels in list(stream.batches(size))[:-1]} <= {size}


@pytest.mark.parametrize("name", CONCEPTS)
def test_a_seed_determines_the_stream(name: str) -> None:
    def content(**more: Any) -> bytes:
        X, y = CONCEPTS[name](n=12, **more).to_arrays()
        return dense(X).tobytes() + y.tobytes()

    assert content(random_state=1) == content(random_state=1)
    assert content(random_state=1) != content(random_state=2)
    clean, noisy = CONCEPTS[name](random_state=3).to_arrays(), CONCEPTS[name](random_state=3, noise=0.1).to_arrays()
    assert (dense(clean[0]) == dense(noisy[0])).all()
    assert 0 < (clean[1] != noisy[1]).sum() < 200


@given(boolean())
def test_the_cost_of_drift_is_as_stated(case: Any) -> None:
    truth = case[0].truth
    held = [sorted(a for group in phase.literals for a in group) for phase in truth.phases]
    assert truth.cost == truth.k + len(truth.phases) - 1
    assert all(len({abs(a) for a in literals}) == truth.k for literals in held)
    for before, after in pairwise(held):
        assert len(set(after) - set(before)) == len(set(before) - set(after)) == 1
    starts = [phase.start for phase in truth.phases]
    assert starts == [i * truth.examples // len(starts) for i in range(len(starts))]


@pytest.mark.parametrize("name", CONCEPTS)
def test_about_the_stated_share_is_positive(name: str) -> None:
    for balance in (0.5, 0.2):
        if name == "xor":
            balance = 0.5  # noqa: PLW2901
        negated = {"negated": True} if name in BOOLEAN else {}
        y = CONCEPTS[name](n=20, balance=balance, examples=4000, random_state=5, **negated).to_arrays()[1]
        assert abs((y > 0).mean() - balance) < 0.04  # five standard deviations


@pytest.mark.parametrize("density", [0.002, 0.05, 0.2, 0.5, 0.9])
def test_the_density_is_as_stated(density: float) -> None:
    X = disjunction(n=2000, k=1, density=density, examples=300, random_state=6).to_arrays()[0]
    share = np.asarray(X.sum(axis=0)).ravel() / 300
    assert abs(share.mean() - density) < 6 * (density / 600_000) ** 0.5 + 0.5 / 2000
    assert abs(share[::2].mean() - share[1::2].mean()) < 12 * (density / 300_000) ** 0.5 + 1 / 1000
    every = disjunction(n=40, k=20, density=density, balance=None, examples=3000).to_arrays()[0]
    assert abs(every.mean() - density) < 0.01


@pytest.mark.parametrize("density", [0.08, 0.3, 0.5])
def test_every_position_of_a_block_has_the_same_distribution(density: float) -> None:
    table = disjunction(n=4, k=1, density=density, examples=17 * 800, random_state=8).to_arrays()[0].toarray()
    literal = disjunction(n=4, k=1, random_state=8).truth.literals[0]
    assert literal != 1  # errors would show in the first attribute of the first row
    shares = np.delete(table, literal - 1, axis=1).reshape(800, 17 * 3).mean(axis=0)
    assert np.abs(shares - density).max() < 6 * (density * (1 - density) / 800) ** 0.5


def test_noise_is_independent_of_the_examples() -> None:
    clean = disjunction(n=10, k=1, examples=4000).to_arrays()[1]
    flipped = clean != disjunction(n=10, k=1, noise=0.2, examples=4000).to_arrays()[1]
    for label in (-1, 1):
        assert abs(flipped[clean == label].mean() - 0.2) < 0.06


@settings(max_examples=60)
@given(boolean(steady=True), st.booleans())
def test_the_perceptron_keeps_its_bound(case: Any, tie: bool) -> None:
    stream, _ = case
    truth = stream.truth
    if truth.separator is None:
        return
    learner = Perceptron(tie="positive" if tie else "negative")
    for X, y in stream.batches(50):
        learner.partial_fit(X, y, classes=[-1, 1])
    square = round(float(truth.separator @ truth.separator))  # integers: the arithmetic is exact
    assert learner.ledger_.mistakes <= round(stream.radius() ** 2) * square
    assert learner.ledger_.radius == pytest.approx(stream.radius())


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("gamma", [0.02, 0.1, 0.5])
def test_the_perceptron_keeps_the_bound_of_a_stated_margin(bias: bool, gamma: float) -> None:
    for seed in range(5):
        stream = linear_threshold(n=30, gamma=gamma, examples=3000, random_state=seed)
        made = Perceptron(fit_intercept=bias).partial_fit(*stream.to_arrays(), classes=[-1, 1]).ledger_.mistakes
        assert made <= novikoff(radius=stream.truth.radius(bias), margin=stream.truth.gamma)


def test_the_hinge_bound_holds_with_noise() -> None:
    stream = disjunction(n=30, k=3, noise=0.05, examples=3000)
    X, y = stream.to_arrays()
    u = stream.truth.separator
    losses = np.maximum(0.0, 1.0 - y * (X @ u[1:] + u[0]))
    assert np.count_nonzero(losses) == stream.truth.flipped > 0
    made = Perceptron().partial_fit(X, y, classes=[-1, 1]).ledger_.mistakes
    assert made <= hinge(radius=stream.radius(), norm=stream.truth.norm, loss=float(losses.sum()))


def test_large_streams_do_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MAX_ROWS_PER_BLOCK", 1 << 13)
    for stream in (
        disjunction(n=100_000, density=0.001, examples=3000, drift=1),
        conjunction(n=10_000, density=0.5, examples=250, negated=True),
    ):
        blocks = list(stream.batches())
        assert len(blocks) > 2
        assert max(X.nnz for X, _ in blocks) < 1 << 20
        for X, y in blocks:
            assert X.has_canonical_format
            assert 0.3 < (y > 0).mean() < 0.7
        again = np.concatenate([X.indices for X, _ in stream.batches(333)])
        assert (np.concatenate([X.indices for X, _ in blocks]) == again).all()


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: disjunction(n=4, k=5), "n, the number of attributes, must be a whole number of at least 5"),
        (lambda: disjunction(k=0), "k, the number of relevant literals,"),
        (lambda: disjunction(n=10.5), "whole number"),  # type: ignore[arg-type]
        (lambda: disjunction(noise=1.5), "noise, .* from 0 to 1, but is 1.5"),
        (lambda: disjunction(density=float("nan")), "density"),
        (lambda: disjunction(balance=0.0), "balance, .* between 0 and 1"),
        (lambda: disjunction(random_state=-1), "random_state"),
        (lambda: disjunction(examples=0), "examples"),
        (lambda: disjunction(examples=5, drift=5), "drift, .* at most 4"),
        (lambda: disjunction(n=5, k=5, drift=1), "no other one to gain"),
        (lambda: m_of_n(k=3, m=4), "m, how many literals must be true, .* at most 3"),
        (lambda: linear_threshold(gamma=1.0), "gamma"),
        (lambda: rectangle(n=2, k=3), "at most 2"),
        (lambda: disjunction().batches(0), "size"),
    ],
)
def test_invalid_parameters_are_refused(make: Any, what: str) -> None:
    with pytest.raises(InputError, match=what):
        make()


def test_the_concept_is_written_as_json() -> None:
    known = conjunction(n=9, k=3, negated=True, drift=2, noise=0.1).truth.as_dict()
    assert (known["cost"], known["separator"], len(known["phases"])) == (5, None, 3)
    truth = m_of_n(n=9).truth
    known = truth.as_dict()
    assert sorted(known["separator"]["weights"]) == sorted(truth.literals)
    assert known["separator"]["bias"] == truth.separator[0]
    assert (known["radius"], known["radius_with_bias"], known["gamma"]) == (3.0, 10**0.5, truth.gamma)
    assert rectangle().truth.as_dict()["sides"][0]["attribute"] == 1
