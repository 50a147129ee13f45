"""Auto on two classes: its certificate, invariance to units and origins, changes, and every way to learn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from novikoff import AROW, Hierarchical, Kesler, MultiLabel, OneVsAll, certify, explain, load, save, verify
from novikoff.certificates.certificate import Certificate
from novikoff.cli.main import main
from novikoff.core.updaters.stacked_learners import FORECAST_LOSS, MIXTURE
from novikoff.errors import InputError
from novikoff.linear.auto import BinaryAuto
from novikoff.model_file import to_bytes
from tests.helpers.streams import csr, real

pytestmark = pytest.mark.plain_python_coverage


# --- The certificate ---


def test_the_certificate_states_the_bound_and_is_verified() -> None:
    X, y = real(4, rows=200)
    model = BinaryAuto(shuffle=False, passes=2).fit(X, y)
    certificate = certify(model, X, y)
    headline = certificate.headline
    assert headline is not None
    assert headline["name"] == "log-loss of a mixture"
    assert headline["verdict"] == "holds"
    assert certificate.document["observed"]["members"] == model._run_facts()["members"]
    assert verify(certificate, X, y) == []
    for name in ("arow", "logistic", "discriminant", "passive-aggressive"):
        lie = json.loads(certificate.as_json())
        lie["observed"]["members"][name] -= 1
        assert verify(Certificate(lie), X, y) != []
    classes = np.arange(len(y)) % 3
    certificate = certify(Kesler(BinaryAuto(shuffle=False)).fit(X, classes), X, classes)
    assert certificate.headline is not None
    assert certificate.headline["name"] == "log-loss of a mixture"
    assert verify(certificate, X, classes) == []


def test_a_share_without_a_theorem_is_refused() -> None:
    X, y = real(4, rows=20)
    for share in (-0.001, 0.2, float("nan")):
        with pytest.raises(InputError, match="fixed_share"):
            BinaryAuto(fixed_share=share).fit(X, y)


# --- Units, origins and outliers ---


@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_times_powers_of_two_give_the_same_bytes_of_predictions(form: Any, dtype: Any) -> None:
    """Such factors are exact, so that x/s and (x − μ)/s are the same to the last bit."""
    X, y = real(7, rows=300)
    X[:, 1] += 5.0
    X = X.astype(dtype)
    by = (2.0 ** np.random.default_rng(0).integers(-10, 11, X.shape[1])).astype(dtype)
    one, other = BinaryAuto(shuffle=False).fit(form(X), y), BinaryAuto(shuffle=False).fit(form(X * by), y)
    assert one.forecast_weights_ == other.forecast_weights_
    assert one._run_facts() == other._run_facts()
    assert one.ledger_.mistakes == other.ledger_.mistakes
    assert one.decision_function(form(X)).tobytes() == other.decision_function(form(X * by)).tobytes()
    assert one.predict_proba(form(X)).tobytes() == other.predict_proba(form(X * by)).tobytes()
    assert np.array_equal(one.coef_, other.coef_ * by)
    assert one.intercept_.tolist() == other.intercept_.tolist()


def test_several_classes_are_indifferent_to_units_too() -> None:
    X, _ = real(7, rows=300)
    y = np.argmax(X[:, 1:4], axis=1)
    by = 2.0 ** np.random.default_rng(0).integers(-10, 11, X.shape[1])
    one, other = (Kesler(BinaryAuto(shuffle=False)).fit(rows, y) for rows in (X, X * by))
    assert one.predict_proba(X).tobytes() == other.predict_proba(X * by).tobytes()
    assert np.array_equal(one.coef_, other.coef_ * by)


def test_the_origins_of_dense_columns_change_only_what_drift_learns() -> None:
    """Odd numbers and even shifts: no value is 0, and all sums are exact. Rows are centred but for PA, which follows
    changes: its forecast has little weight here."""
    draw = np.random.default_rng(2)
    X = 2.0 * draw.integers(-8, 9, (400, 5)) + 1.0
    y = np.where(X @ draw.normal(size=5) + 2.0 * draw.normal(size=400) > 0.0, 1, -1)
    shift = np.array([64.0, -256.0, 1024.0, 0.0, 16.0])
    one, other = BinaryAuto(shuffle=False).fit(X, y), BinaryAuto(shuffle=False).fit(X + shift, y)
    for name in ("arow", "logistic", "discriminant"):
        assert one._run_facts()["members"][name] == other._run_facts()["members"][name]
    scores = [[explain(m, x).forecasts[0].log_odds for x in rows] for m, rows in ((one, X), (other, X + shift))]
    np.testing.assert_allclose(scores[0], scores[1], rtol=0.0, atol=1e-9)
    assert one.predict(X).tolist() == other.predict(X + shift).tolist()


def test_a_few_values_that_are_a_thousandfold_do_less_than_half_the_harm_they_do_to_arow() -> None:
    """Two values in a thousand are wrong by this factor; accuracy is that on rows without such values."""
    harm = {}
    for learner in (BinaryAuto, AROW):
        lost = []
        for seed in range(6):
            draw = np.random.default_rng(seed)
            X = draw.normal(size=(2000, 10))
            y = np.where(X @ draw.normal(size=10) + 0.5 * draw.normal(size=2000) > 0.0, 1, -1)
            dirty = np.where(draw.random(X.shape) < 0.002, 1000.0 * X, X)
            clean = learner(shuffle=False).fit(X[:1500], y[:1500]).score(X[1500:], y[1500:])
            lost.append(clean - learner(shuffle=False).fit(dirty[:1500], y[:1500]).score(X[1500:], y[1500:]))
        harm[learner] = np.mean(lost)
    assert harm[BinaryAuto] < 0.5 * harm[AROW]


# --- The weights that are shown ---


@pytest.mark.parametrize("form", [np.asarray, csr])
def test_coefficients_and_intercept_give_the_decision_of_the_scores(form: Any) -> None:
    """Where nothing is clipped and the drift forecast has no weight: for clear rows, since each row is a part of the
    statistics that scale it."""
    X, y = real(8, rows=600)
    X[:, 1] += 3.0
    model = BinaryAuto(shuffle=False).fit(form(X), y)
    model._state.updater.stack[MIXTURE:FORECAST_LOSS] = [1.0, 0.0]  # type: ignore[union-attr]
    X = X[(np.abs(X - X.mean(axis=0)) < 2.5 * np.abs(X - X.mean(axis=0)).mean(axis=0)).all(axis=1)]
    linear = X @ model.coef_[0] + model.intercept_[0]
    scores = model.decision_function(form(X))
    clear = np.abs(linear) > 0.1 * np.abs(linear).max()
    assert clear.sum() > 0.5 * len(X) > 50
    assert (scores[clear] > 0.0).tolist() == (linear[clear] > 0.0).tolist()
    assert np.corrcoef(linear, scores)[0, 1] > 0.95


def test_coefficients_of_classes_give_the_decision_of_the_scores() -> None:
    X, _ = real(8, rows=900)
    y = np.argmax(X[:, [1, 2, 4]] + [0.0, 0.3, 0.0], axis=1)
    model = Kesler(BinaryAuto(shuffle=False)).fit(X, y)
    model._state.updater.stack[MIXTURE:FORECAST_LOSS] = [1.0, 0.0]  # type: ignore[union-attr]
    X = X[(np.abs(X) < 2.0).all(axis=1)]
    linear = np.sort(X @ model.coef_.T + model.intercept_, axis=1)
    clear = linear[:, -1] - linear[:, -2] > 0.1 * (linear[:, -1] - linear[:, -2]).max()
    assert clear.sum() > 0.5 * len(X) > 50
    expected = np.argmax(X @ model.coef_.T + model.intercept_, axis=1)
    assert model.predict(X)[clear].tolist() == model.classes_[expected[clear]].tolist()


# --- Changes ---


@pytest.mark.parametrize("classes", [2, 3])
def test_after_changes_the_drift_forecast_dominates(classes: int) -> None:
    """The labels turn around every 200 examples: the means remember, the last hypothesis of PA turns too."""
    draw = np.random.default_rng(1)
    X = draw.normal(size=(2000, 2))
    y = (np.argmax(np.column_stack([X, 0.3 - X[:, :1]])[:, :classes], axis=1) + np.arange(2000) // 200) % classes
    learner = BinaryAuto(shuffle=False)
    model = (learner if classes == 2 else Kesler(learner)).fit(X, y)
    weights = BinaryAuto.weights_of_forecasts(model._state)  # type: ignore[arg-type]
    assert weights["drift"] > 0.99
    assert sum(weights.values()) == pytest.approx(1.0, abs=1e-12)
    members = model._run_facts().get("members")
    if members is not None:
        assert members["passive-aggressive"] == min(members.values())
    arow = AROW(shuffle=False) if classes == 2 else Kesler(AROW(shuffle=False))
    assert model.ledger_.mistakes < 0.5 * arow.fit(X, y).ledger_.mistakes


def test_without_changes_the_forecast_from_the_scores_dominates() -> None:
    X, y = real(1, rows=2000)
    assert BinaryAuto(shuffle=False).fit(X, y).forecast_weights_["scores"] > 0.9


# --- Ways to learn ---


def test_files_and_batches_give_the_same_bytes(tmp_path: Path) -> None:
    X, _ = real(9, rows=90)
    y = np.arange(len(X)) % 3
    whole = Kesler(BinaryAuto(shuffle=False)).partial_fit(X, y)
    part = Kesler(BinaryAuto(shuffle=False)).partial_fit(X[:1], y[:1])
    for k in range(1, 40):
        part.partial_fit(sp.csr_matrix(X[k : k + 1]), y[k : k + 1])
    save(part, tmp_path / "part.model")
    part = load(tmp_path / "part.model")
    for x, label in zip(X[40:], y[40:].tolist(), strict=True):
        part.learn_one(x, label)
    assert to_bytes(part) == to_bytes(whole)
    assert [part.predict_one(x) for x in X] == whole.predict(X).tolist()
    assert [part.predict_one(dict(enumerate(x.tolist()))) for x in X] == whole.predict(X).tolist()


def test_other_schemes_refuse_auto() -> None:
    X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    for scheme in (
        OneVsAll(BinaryAuto(shuffle=False)),
        Hierarchical(BinaryAuto(shuffle=False)),
        Kesler(BinaryAuto(shuffle=False), update="uniform"),
    ):
        with pytest.raises(InputError, match="takes learners"):
            scheme.fit(X, [str(label) for label in y])
    with pytest.raises(InputError, match="takes learners"):
        MultiLabel(BinaryAuto(shuffle=False)).fit(X, [["a"], ["b"]])


@pytest.mark.parametrize(
    ("lines", "learner", "scheme"),
    [
        ("+1 1:1\n-1 2:1\n", "auto", None),
        ("1 1:1\n2 2:1\n3 3:1\n", "auto", "kesler"),
        ("1,2 1:1\n3,2 2:1\n1 2:1\n", "arow", "multi-label"),
        ("1 qid:1 1:1\n0 qid:1 2:1\n", "arow", "query-ranking"),
    ],
)
def test_auto_is_the_default_of_the_command_line(
    lines: str, learner: str, scheme: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.svm"
    data.write_text(lines)
    assert main(["learn", str(data), "--json", "--quiet", "--save", str(tmp_path / "m")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["learner"], report.get("multiclass")) == (learner, scheme)
    assert main(["predict", str(tmp_path / "m"), str(data), "--quiet"]) == 0
    assert main(["inspect", str(tmp_path / "m")]) == 0


def test_an_error_names_the_learner_that_has_the_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["learn", "iris", "--averaging-power", "3"])
    assert "--averaging-power is a setting of arow, perceptron, sgd" in capsys.readouterr().err
