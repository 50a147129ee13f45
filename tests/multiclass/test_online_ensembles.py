"""Online bagging and boosting: plain Python references, and the same bytes for all ways to learn."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from novikoff import InputError, OnlineBagging, OnlineBoosting, Perceptron, VotedPerceptron, certify, verify
from novikoff.cli.main import main
from novikoff.core.counter_rng import MAX_POISSON_MEAN, poisson, uniform
from novikoff.model_file import from_bytes, to_bytes
from tests.helpers.learners import EXPECTED_FAILED_CHECKS
from tests.helpers.streams import csr

pytestmark = pytest.mark.plain_python_coverage

KINDS = (OnlineBagging, OnlineBoosting)
EVERY = pytest.mark.parametrize("kind", KINDS)


def stream(seed: int, rows: int = 50, columns: int = 4, classes: int = 3) -> tuple[Any, list[str]]:
    """Small whole numbers, for which every order of summation gives the same; classes come one after another."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (rows, columns)).astype(float)
    y = (X @ rng.integers(-2, 3, (columns, classes))).argmax(axis=1)
    y = np.minimum(y, np.arange(rows) // 6)
    return X, [["ant", "bee", "cow"][c] for c in y]


@EVERY
def test_invalid_settings_are_refused(kind: Any) -> None:
    X, y = stream(0)
    wrong: list[tuple[Any, str]] = [({"n_estimators": 0}, "n_estimators"), ({"random_state": -1}, "random_state")]
    for changes, words in [*wrong, ({"estimator": VotedPerceptron()}, "takes")]:
        with pytest.raises(InputError, match=words):
            kind(**changes).fit(X, y)


@pytest.mark.slow
@parametrize_with_checks(
    [OnlineBagging(Perceptron(), n_estimators=5), OnlineBoosting(Perceptron(), n_estimators=5)],
    expected_failed_checks=lambda _: EXPECTED_FAILED_CHECKS,
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@EVERY
def test_a_model_in_read_only_memory_predicts(kind: Any, tmp_path: Path) -> None:
    X, y = stream(3)
    model = kind(Perceptron(), n_estimators=3).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert not mapped._state.updater.weights.flags.writeable
    assert mapped.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert mapped.predict(X).tolist() == model.predict(X).tolist()
    assert mapped.predict_one(X[0]) == model.predict_one(X[0])


# --- Draws ---


def test_draws_follow_the_poisson_distribution() -> None:
    uniforms = uniform(7, 0, np.arange(20_000), 1)[:, 0]
    for mean in (0.3, 1.0, 4.0, 60.0):
        k = np.array([poisson(u, mean) for u in uniforms.tolist()])
        assert abs(k.mean() - mean) < 0.05 * max(mean, 1.0)
        assert abs(k.var() - mean) < 0.1 * max(mean, 1.0)
    for u in (0.0, 0.3, 0.6, 0.9, 1.0 - 2.0**-53):
        k = int(poisson(u, 1.0))
        assert sum(math.exp(-1.0) / math.factorial(j) for j in range(k)) <= u + 1e-15
        assert sum(math.exp(-1.0) / math.factorial(j) for j in range(k + 1)) > u - 1e-15
    assert poisson(0.5, 1e9) == poisson(0.5, MAX_POISSON_MEAN)
    assert poisson(0.99, 0.0) == 0.0


# --- Twins ---


class ReferenceMember:
    """One-vs-all of Perceptrons with a bias, in plain Python; classes come as they come."""

    def __init__(self, columns: int) -> None:
        self.weights: list[list[float]] = []
        self.columns = columns

    def know(self, classes: int) -> None:
        while len(self.weights) < classes:
            self.weights.append([0.0] * (self.columns + 1))

    def scores(self, x: Any) -> list[float]:
        return [w[0] + sum(a * b for a, b in zip(w[1:], x, strict=True)) for w in self.weights]

    def says(self, x: Any, known: int) -> int:
        scores = self.scores(x)[:known]
        return scores.index(max(scores))

    def learn(self, x: Any, y: int, k: float) -> None:
        for c, s in enumerate(self.scores(x)):
            side = 1.0 if c == y else -1.0
            if side * s < 0.0 or (s == 0.0 and side < 0.0):  # a score of 0 says yes
                self.weights[c] = [w + k * side * v for w, v in zip(self.weights[c], [1.0, *x], strict=True)]


def reference_ensemble(
    X: Any, y: list[str], members: int, seed: int, boosted: bool
) -> tuple[list[ReferenceMember], int, Any]:
    team, sums = [ReferenceMember(X.shape[1]) for _ in range(members)], np.zeros((members, 2))
    known: list[str] = []
    mistakes = 0
    uniforms = uniform(seed, 0, np.arange(len(y)), members)
    for t, (x, label) in enumerate(zip(X.tolist(), y, strict=True)):
        before = len(known)
        known += [label] if label not in known else []
        code = known.index(label)
        for member in team:
            member.know(len(known))
        more = math.log(before - 1) if before > 2 else 0.0
        says = [max(0.0, math.log((right + 0.5) / (wrong + 0.5)) + more) for right, wrong in sums]
        if not boosted or not any(says):
            says = [1.0] * members
        votes = [0.0] * before
        for weight, member in zip(says, team, strict=True):
            if before:
                votes[member.says(x, before)] += weight
        mistakes += len(known) > before or votes.index(max(votes)) != code
        mean = 1.0
        for m, member in enumerate(team):
            right = member.says(x, len(known)) == code
            member.learn(x, code, poisson(uniforms[t, m], mean))
            if boosted:
                sums[m, 0 if right else 1] += mean
                mean *= sums[m].sum() / (2.0 * sums[m, 0 if right else 1])
    return team, mistakes, sums


@EVERY
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), members=st.integers(1, 6))
def test_it_equals_its_reference(kind: Any, seed: int, members: int) -> None:
    X, y = stream(seed)
    model = kind(Perceptron(), n_estimators=members, random_state=seed).partial_fit(csr(X), y)
    team, mistakes, sums = reference_ensemble(X, y, members, seed, kind is OnlineBoosting)
    assert model.ledger_.mistakes == mistakes
    weights = np.column_stack([model.intercept_, model.coef_])
    for m, member in enumerate(team):
        assert np.allclose(weights[m::members], member.weights, rtol=1e-12)
        if kind is OnlineBagging:
            assert (weights[m::members] == member.weights).all()
    if kind is OnlineBoosting:
        assert np.allclose(model._require_fitted().more["boosting"], sums)
        assert np.allclose(model.estimator_errors_, sums[:, 1] / sums.sum(axis=1))


def test_a_bagged_member_is_a_learner_with_these_weights() -> None:
    X, y = stream(3)
    is_bee = [label == "bee" for label in y]
    model = OnlineBagging(Perceptron(), n_estimators=3, random_state=9).partial_fit(
        csr(X), is_bee, classes=[False, True]
    )
    uniforms = uniform(9, 0, np.arange(len(y)), 3)
    for m in range(3):
        k = np.array([poisson(u, 1.0) for u in uniforms[:, m].tolist()])
        alone = Perceptron(shuffle=False).fit(X, is_bee, sample_weight=k)
        assert (model.coef_[3 + m] == alone.coef_[0]).all()
        assert model.intercept_[3 + m] == alone.intercept_[0]


# --- One arithmetic ---


@EVERY
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 50), max_size=5).map(sorted))
def test_batch_boundaries_do_not_change_the_bytes(kind: Any, seed: int, cuts: list[int]) -> None:
    X, y = stream(seed)
    whole = to_bytes(kind(n_estimators=4).partial_fit(csr(X), y))
    parts, saved, one = kind(n_estimators=4), kind(n_estimators=4), kind(n_estimators=4)
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        if stop > start:
            parts.partial_fit(csr(X)[start:stop], y[start:stop])
            saved = from_bytes(to_bytes(saved.partial_fit(csr(X)[start:stop], y[start:stop])), "m")
    for x, label in zip(X, y, strict=True):
        one.learn_one(x, label)
    assert to_bytes(parts) == to_bytes(saved) == to_bytes(one) == whole
    assert [one.predict_one(x) for x in X] == one.predict(csr(X)).tolist()


@EVERY
def test_a_refused_batch_changes_nothing(kind: Any) -> None:
    X, y = stream(5)
    model = kind(n_estimators=4).partial_fit(csr(X), y)
    kept = to_bytes(model)
    rows = np.repeat(X, 3, axis=0)
    rows[100, 1] = np.nan
    for part in (slice(0, 150), slice(99, 102)):
        with pytest.raises(InputError):
            model.partial_fit(csr(rows[part]), (y * 3)[part])
        assert to_bytes(model) == kept


def test_files_are_learned_and_certified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = stream(8)
    data, whole, parts = tmp_path / "data.svm", tmp_path / "whole.model", tmp_path / "parts.model"
    data.write_text("".join(
        f"{['ant', 'bee', 'cow'].index(label)} " + " ".join(f"{j + 1}:{v:g}" for j, v in enumerate(x) if v) + "\n"
        for x, label in zip(X.tolist(), y, strict=True)))  # fmt: skip
    learn = [
        "learn",
        "--multiclass",
        "online-bagging",
        "--n-estimators",
        "4",
        "--random-state",
        "3",
        "--quiet",
        "--json",
    ]
    assert main([*learn, str(data), str(data), "--save", str(whole)]) == 0
    out = json.loads(capsys.readouterr().out)
    assert (out["multiclass"], out["examples"]) == ("online-bagging", 100)
    assert main([*learn, str(data), "--save", str(parts)]) == 0
    assert main(["learn", str(data), "--resume", str(parts), "--save", str(parts), "--quiet"]) == 0
    assert whole.read_bytes() == parts.read_bytes()
    page = tmp_path / "page.html"
    assert main([*learn, str(data), "--report", str(page)]) == 0
    assert "There is no theorem for this learner" in page.read_text()
    capsys.readouterr()
    assert main(["inspect", str(whole)]) == 0
    assert "member 4" in capsys.readouterr().out
    assert main(["learn", str(data), "--resume", str(parts), "--n-estimators", "5", "--quiet"]) == 2
    capsys.readouterr()
    model = OnlineBagging(n_estimators=4).fit(csr(X), y)
    certificate = certify(model, csr(X), y)
    assert certificate.bounds == []
    assert verify(certificate, csr(X), y) == []
