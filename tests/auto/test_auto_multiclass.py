"""Auto with two and more classes, and with streams in which a third class arrives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from novikoff import Auto, Bagging, InputError, Kesler, OneVsAll, OnlineToBatch, certify, load, save, verify
from novikoff.auto import to_multiclass
from novikoff.cli.main import main
from novikoff.linear.auto import BinaryAuto
from novikoff.model_file import to_bytes
from novikoff.server.models.certificates import build_certificate_request
from novikoff.server.models.served_model import RequestError, ServedModel, create_learner
from novikoff.server.ops.limits import Limits
from tests.helpers.learners import EXPECTED_FAILED_CHECKS
from tests.helpers.streams import real


@parametrize_with_checks([Auto()], expected_failed_checks=lambda _: EXPECTED_FAILED_CHECKS)
def test_auto_is_an_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


def classes(rows: int = 120, count: int = 3) -> tuple[Any, Any]:
    """A stream of some classes, the third of which arrives late."""
    X, _ = real(5, rows, 6)
    y = np.argmax(X[:, :count] + 0.1, axis=1)
    y[: rows // 3] = np.minimum(y[: rows // 3], 1)
    return X, np.array(["ant", "bee", "cow", "dog"])[y]


def test_two_classes_use_the_binary_learner_and_more_use_kesler() -> None:
    X, y = real(3, 60, 4)
    assert to_bytes(Auto().fit(X, y)) == to_bytes(BinaryAuto().fit(X, y))
    X, y = classes()
    auto, kesler = Auto(passes=2).fit(X, y), Kesler(BinaryAuto(passes=2)).fit(X, y)
    assert to_bytes(auto) == to_bytes(kesler)
    assert auto.classes_.tolist() == ["ant", "bee", "cow"]
    assert auto.coef_.shape == (3, 6)
    np.testing.assert_array_equal(auto.decision_function(X), kesler.decision_function(X))
    assert auto.forecast_weights_ == BinaryAuto.weights_of_forecasts(kesler._state)  # type: ignore[arg-type]
    assert sum(auto.forecast_weights_.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bias", [True, False])
def test_predictions_do_not_change_when_a_third_class_arrives(dtype: Any, bias: bool) -> None:
    X, y = real(7, 80, 5)
    X, y = X.astype(dtype), np.where(np.arange(80) % 7 == 0, 1, y)  # more of one label, so that biases are not 0
    binary = BinaryAuto(shuffle=False, fit_intercept=bias).fit(X, y)
    before = to_bytes(binary)
    many = to_multiclass(binary)
    np.testing.assert_allclose(many.predict_proba(X), binary.predict_proba(X), rtol=0.0, atol=1e-9)
    assert many.predict(X).tolist() == binary.predict(X).tolist()
    # Each of the two columns has half of the score.
    np.testing.assert_allclose(many.coef_[1] - many.coef_[0], binary.coef_[0], rtol=1e-9)
    np.testing.assert_allclose(many.intercept_[1] - many.intercept_[0], binary.intercept_[0], rtol=1e-9, atol=1e-12)
    assert BinaryAuto.weights_of_forecasts(many._state) == binary.forecast_weights_  # type: ignore[arg-type]
    assert many.ledger_.as_dict() == binary.ledger_.as_dict()
    assert to_bytes(binary) == before


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_matrix, pd.DataFrame])
def test_batch_boundaries_do_not_change_the_model(form: Any) -> None:
    X, y = classes()
    one = Auto()
    for row, label in zip(X, y, strict=True):
        one.learn_one({f"x{j}": value for j, value in enumerate(row)}, str(label))
    models = []
    for size in (1, 7, 50, 120):
        model = Auto()
        for k in range(0, 120, size):
            model.partial_fit(form(X[k : k + size]), y[k : k + size])
        models.append(model)
    assert len({to_bytes(model) for model in models}) == 1
    assert models[0].ledger_.as_dict() == one.ledger_.as_dict()
    np.testing.assert_array_equal(models[0].coef_, one.coef_)
    assert models[0].classes_.tolist() == list(dict.fromkeys(y))


def test_partial_fit_takes_sample_weights_and_classes() -> None:
    X, y = classes()
    weights = np.random.default_rng(0).random(120)
    whole = Auto().partial_fit(X, y, sample_weight=weights)
    parts = Auto()
    for k in range(0, 120, 11):
        parts.partial_fit(X[k : k + 11], y[k : k + 11], sample_weight=weights[k : k + 11])
    assert to_bytes(whole) == to_bytes(parts)
    named = Auto().partial_fit(X[:30], y[:30], classes=["cow", "bee", "ant"])
    assert named.classes_.tolist() == ["ant", "bee", "cow"]
    assert to_bytes(named) == to_bytes(Kesler(BinaryAuto()).partial_fit(X[:30], y[:30], ["ant", "bee", "cow"]))


def test_a_refused_batch_with_a_third_class_changes_nothing() -> None:
    X, y = classes()
    model = Auto().partial_fit(X[:20], y[:20])
    before = to_bytes(model)
    bad = X[20:].copy()
    bad[-1, 0] = np.inf
    with pytest.raises(InputError):
        model.partial_fit(bad, y[20:])
    assert to_bytes(model) == before
    with pytest.raises(InputError):
        model.learn_one(np.full(6, np.nan), "a third")
    assert to_bytes(model) == before


def test_a_saved_auto_can_be_loaded_and_trained_further(tmp_path: Path) -> None:
    X, y = classes()
    path = tmp_path / "auto.model"
    for start in (20, 80):  # before and after the third class
        model = Auto().partial_fit(X[:start], y[:start])
        save(model, path)
        loaded = load(path)
        assert isinstance(loaded, Auto)
        assert repr(loaded) == repr(model)
        assert to_bytes(loaded.partial_fit(X[start:], y[start:])) == to_bytes(Auto().partial_fit(X, y))


def test_a_model_trained_on_the_command_line_loads_as_auto(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, count in (("iris", 3), ("breast-cancer", 2)):
        path = tmp_path / f"{name}.model"
        assert main(["learn", name, "--save", str(path), "--quiet"]) == 0
        capsys.readouterr()
        model = load(path)
        assert isinstance(model, Auto)
        assert len(model.classes_) == count


def test_multiclass_models_can_be_certified() -> None:
    X, y = classes()
    model = Auto(passes=2).fit(X, y)
    certificate = certify(model, X, y)
    assert certificate.headline is not None
    assert verify(certificate, X, y) == []


def test_auto_works_inside_other_estimators() -> None:
    X, y = real(3, 80, 4)
    assert to_bytes(Kesler(Auto()).fit(X, y)) == to_bytes(Kesler(BinaryAuto()).fit(X, y))
    assert to_bytes(Kesler().fit(X, y)) == to_bytes(Kesler(Auto()).fit(X, y))
    assert OnlineToBatch(Auto(), method="random-stopping").fit(X, y).ledger_.examples == 80
    X, y = classes()
    model = Bagging(Auto(), n_estimators=3).fit(X, y)
    assert model.score(X, y) > 0.7
    with pytest.raises(InputError, match="OneVsAll takes learners"):
        OneVsAll(Auto()).fit(X, y)


def test_scikit_learn_can_clone_and_search_it() -> None:
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(Auto(passes=5), X, y, cv=5).mean() > 0.9
    search = GridSearchCV(Auto(), {"passes": [1, 5]}, cv=3).fit(X, y)
    assert search.best_params_["passes"] == 5
    fitted = Auto(fixed_share=0.01).fit(X, y)
    assert clone(fitted).get_params() == fitted.get_params()
    assert not hasattr(clone(fitted), "classes_")
    fitted.set_params(fixed_share=0.02)
    with pytest.raises(InputError, match="fixed_share"):
        fitted.partial_fit(X, y)


def test_an_unfitted_auto_says_so() -> None:
    model = Auto()
    assert model.predict_one({"a": 1.0}) is None
    with pytest.raises(AttributeError, match="has no ledger_ before"):
        _ = model.ledger_
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = model.nonsense
    with pytest.raises(Exception, match="learned nothing yet"):
        model.predict([[1.0]])


# --- Served models ---


def lines(X: Any, y: Any) -> list[bytes]:
    rows = [{f"x{j}": value for j, value in enumerate(row)} for row in X.tolist()]
    return [json.dumps({"features": row, "label": str(label)}).encode() for row, label in zip(rows, y, strict=True)]


def test_a_served_auto_takes_a_third_class() -> None:
    X, y = classes()
    expected = Auto()
    for row, label in zip(X, y, strict=True):
        expected.learn_one({f"x{j}": value for j, value in enumerate(row.tolist())}, str(label))
    single, bulk = (ServedModel(name, create_learner("auto", {}), Limits(), created=0.0) for name in ("single", "bulk"))
    for line in lines(X, y):
        assert not single.learn(line).left_out
    outcome = bulk.learn(b"\n".join(lines(X, y)) + b"\n")
    assert (outcome.examples, len(outcome.left_out)) == (120, 0)
    assert to_bytes(single.learner) == to_bytes(bulk.learner) == to_bytes(expected)
    single.own = True
    with pytest.raises(RequestError, match="a third class arrived"):
        build_certificate_request(single, "kesler")


def test_other_learners_of_two_classes_still_refuse_a_third() -> None:
    X, y = classes()
    served = ServedModel("one", create_learner("perceptron", {}), Limits(), created=0.0)
    assert len(served.learn(b"\n".join(lines(X, y)) + b"\n").left_out) == int((y == "cow").sum())
