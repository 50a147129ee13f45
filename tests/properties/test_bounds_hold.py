"""Bounds hold: no stream breaks a bound that a learner declares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import MarginPerceptron, Perceptron, PNormPerceptron, WeightOverflowError
from novikoff.theory import mistake_bounds
from tests.helpers.learners import ADDITIVE_LEARNERS, make_learner
from tests.helpers.streams import csr, evidence, make_random_witnessed, streams

BOTH = [-1, 1]
ROUNDING = 1.0 + 1e-9  # evidence is measured in double precision, not outward: that is for certificates to do


def check_all_bounds(model: Any, X: Any, y: Any, u: Any) -> int:
    """Check every declared bound for this stream and several multiples of this witness; return how many applied."""
    try:
        model.partial_fit(X, y, classes=BOTH)
    except WeightOverflowError:  # least squares may run away when its steps are too long for the data; nothing else may
        assert model.loss == "squared"
        return 0
    X = X.toarray() if hasattr(X, "toarray") else X.astype(float)
    witness = u * np.concatenate([[float(model.fit_intercept)], np.ones(X.shape[1])])
    spoke = 0
    for scale in (0.1, 1.0, 10.0):
        measured = evidence(X, y, scale * witness, model.fit_intercept)
        for bound in model.bounds():
            allowed = bound.value(measured)
            if allowed is not None:
                spoke += 1
                made = getattr(model.ledger_, bound.counts)
                assert made <= allowed * ROUNDING, (bound.name, made, allowed)
                assert model.ledger_.mistakes <= allowed * ROUNDING
    return spoke


FORMS = [np.asarray, csr, lambda X: X.astype(np.float32)]


@pytest.mark.parametrize("name", ADDITIVE_LEARNERS)
@settings(max_examples=60, deadline=None)
@given(stream=streams(), bias=st.booleans(), form=st.sampled_from(FORMS))
def test_no_bound_is_broken(name: str, stream: Any, bias: bool, form: Any) -> None:
    X, y, u = stream
    check_all_bounds(make_learner(name, fit_intercept=bias), form(X), y, u)


SHARE = -(-10_000 // len(ADDITIVE_LEARNERS))


@pytest.mark.slow
@pytest.mark.parametrize("name", ADDITIVE_LEARNERS)
@settings(max_examples=SHARE, deadline=None)
@given(stream=streams(), bias=st.booleans(), form=st.sampled_from(FORMS))
def test_no_bound_is_broken_by_ten_thousand_streams(name: str, stream: Any, bias: bool, form: Any) -> None:
    """Ten thousand in all, drawn so that one that breaks a bound is shown at its smallest."""
    X, y, u = stream
    check_all_bounds(make_learner(name, fit_intercept=bias), form(X), y, u)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 10_000, 1000))
def test_no_bound_is_broken_by_ten_thousand_larger_streams(start: int) -> None:
    spoke = 0
    for seed in range(start, start + 1000):
        X, y, u = make_random_witnessed(seed)
        for name in ADDITIVE_LEARNERS:
            spoke += check_all_bounds(make_learner(name, fit_intercept=bool(seed % 2)), FORMS[seed % 3](X), y, u)
    assert spoke > 1000 * len(ADDITIVE_LEARNERS)


@settings(max_examples=200, deadline=None)
@given(stream=streams(), epsilon=st.sampled_from([0.1, 0.5, 0.9, 1.0]), share=st.sampled_from([0.3, 0.999]))
def test_margin_perceptron_on_data_that_has_the_margin(stream: Any, epsilon: float, share: float) -> None:
    X, y, u = stream
    gamma = evidence(X, y, u, True).geometric_margin * share
    if gamma <= 1e-3:
        return
    model = MarginPerceptron(gamma=gamma, epsilon=epsilon)
    assert check_all_bounds(model, X, y, u) == 3
    for _ in range(200):  # until a pass makes no update
        before = model.ledger_.updates
        model.partial_fit(X, y)
        if model.ledger_.updates == before:
            break
    w = np.concatenate([model.intercept_, model.coef_[0]])
    if model.ledger_.updates == before:
        reached = (y * (X @ w[1:] + w[0])).min() / np.linalg.norm(w)
        assert reached >= (1 - epsilon) * gamma * (1 - 1e-9)


@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize("n", [1, 2, 7, 64, 1000])
def test_the_perceptron_meets_novikoffs_bound_with_equality(n: int, form: Any) -> None:
    """x_t = e_t, y_t = −1: exactly n mistakes, and (R/γ)² is exactly n for the witness −(1, …, 1)."""
    X, y = form(np.eye(n)), -np.ones(n)
    model = Perceptron(fit_intercept=False).partial_fit(X, y, classes=BOTH)
    measured = evidence(np.eye(n), y, np.array([0.0] + [-1.0] * n), False)
    assert model.ledger_.mistakes == n
    assert model.ledger_.mistake_times.tolist() == list(range(1, n + 1))
    allowed = {bound.name: bound.value(measured) for bound in model.bounds()}
    assert allowed["novikoff"] == pytest.approx(n, rel=1e-12)
    assert allowed["hinge"] == pytest.approx(n, rel=1e-12)
    assert allowed["this run"] == pytest.approx(n, rel=1e-12)


def test_novikoffs_bound_is_exactly_n_in_whole_numbers() -> None:
    """R²‖w*‖² with y·w*·x ≥ 1, the form without a root: exact for w* = −(1, …, 1), whose ‖w*‖² is n."""
    for side in (1, 2, 4, 8, 32):
        n = side * side
        assert mistake_bounds.hinge_plain(radius=1.0, norm=float(side), loss=0.0) == n
        assert mistake_bounds.hinge(radius=1.0, norm=float(side), loss=0.0) == n
        model = Perceptron(fit_intercept=False).partial_fit(np.eye(n), -np.ones(n), classes=BOTH)
        assert model.ledger_.mistakes == n


@settings(max_examples=100, deadline=None)
@given(stream=streams(), rate=st.floats(1e-6, 1e6))
def test_predictions_do_not_depend_on_the_rate(stream: Any, rate: float) -> None:
    X, y, _ = stream
    one = Perceptron().partial_fit(X, y, classes=BOTH)
    other = Perceptron(learning_rate=rate).partial_fit(X, y, classes=BOTH)
    assert one.ledger_.mistake_times.tolist() == other.ledger_.mistake_times.tolist()
    assert (one.predict(X) == other.predict(X)).all()
    assert (other.coef_ == one.coef_ * rate).all()


@pytest.mark.parametrize(
    ("tie", "label", "made"), [("positive", 1, 0), ("positive", -1, 1), ("negative", 1, 1), ("negative", -1, 0)]
)
def test_a_score_of_zero_predicts_what_the_tie_says(tie: Any, label: int, made: int) -> None:
    model = Perceptron(tie=tie).partial_fit([[2.0]], [label], classes=BOTH)
    assert model.ledger_.mistakes == made
    untouched = Perceptron(tie=tie, fit_intercept=False).partial_fit([[1.0, 0.0]], [1], classes=BOTH)
    assert untouched.predict([[0.0, 5.0]])[0] == (1 if tie == "positive" else -1)
    assert untouched.predict_one({1: 5.0}) == (1 if tie == "positive" else -1)


@settings(max_examples=60, deadline=None)
@given(stream=streams())
def test_p_norm_with_p_two_is_the_perceptron(stream: Any) -> None:
    X, y, _ = stream
    plain = Perceptron().partial_fit(np.sign(X), y, classes=BOTH)
    p_norm = PNormPerceptron(p=2).partial_fit(np.sign(X), y, classes=BOTH)
    assert plain.ledger_.mistake_times.tolist() == p_norm.ledger_.mistake_times.tolist()


def test_margin_perceptron_keeps_its_margin_with_large_weights() -> None:
    X, y = np.array([[1e9, 1, 0], [1e9, -1, 0], [0, 0.9, 2]]), [1, -1, 1]
    model = MarginPerceptron(gamma=0.98, epsilon=0.02, fit_intercept=False, passes=50).fit(X, y)
    w = model.coef_[0]
    assert model.partial_fit(X, y).ledger_.examples == 153
    assert (
        model.ledger_.updates
        == MarginPerceptron(gamma=0.98, epsilon=0.02, fit_intercept=False, passes=51).fit(X, y).ledger_.updates
    )
    assert (y * (X @ w)).min() / np.linalg.norm(w) >= 0.98 * 0.98


def test_p_norm_survives_large_numbers_and_large_p() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 6)) * 1e9
    y = np.where(X[:, 0] > 0, 1, -1)
    model = PNormPerceptron(p=200.0, passes=3).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.score(X, y) > 0.9
