"""Ensembles learned from files by the command line, and their certificates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from novikoff import AdaBoost, Bagging, InputError, MulticlassSVM, Perceptron, RandomForest, certify, load, read, verify
from novikoff.cli.main import main

CANCER, IRIS = load_breast_cancer(return_X_y=True), load_iris(return_X_y=True)


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.csv"
    X, y = IRIS
    rows = [f"{','.join(map(str, x))},{'abc'[c]}\n" for x, c in zip(X.tolist(), y, strict=True)]
    path.write_text("p,q,r,s,label\n" + "".join(rows))
    return path


# --- Certificates ---


@pytest.mark.parametrize(
    "model",
    [
        AdaBoost(n_estimators=5),
        AdaBoost(Perceptron(passes=2), n_estimators=3),
        Bagging(n_estimators=6),
        RandomForest(n_estimators=10, n_jobs=2),
    ],
)
def test_ensembles_are_certified_and_verified(model: Any) -> None:
    X, y = CANCER
    certificate = certify(model.fit(X, y), X, y, delta=0.1)
    assert verify(certificate, X, y) == []
    assert verify(json.loads(certificate.as_json()), X, y) == []
    changed = y.copy()
    changed[0] ^= 1
    assert verify(certificate, X, changed) != []
    assert "569 examples" in str(certificate)
    for words in ("bounds", "observed", "new_data", "model"):
        document = json.loads(certificate.as_json())
        document[words] = None if words != "bounds" else [{"name": "x"}]
        if document[words] != certificate.document[words]:
            assert verify(document, X, y) != []
    with pytest.raises(InputError, match=r"not what fit, or one call|better than chance"):
        certify(model, X[::-1], y[::-1])


def test_a_certificate_of_boosting_states_its_bound() -> None:
    X, y = CANCER
    model = AdaBoost(n_estimators=20).fit(X, y)
    certificate = certify(model, X, y)
    (bound,) = certificate.bounds
    assert bound["verdict"] == "holds"
    assert bound["observed"] == round(model.training_error_ * len(y))
    assert bound["observed"] <= bound["bound"] <= 1.001 * model.bound_ * len(y)
    assert bound["numbers"]["product"] == model.bound_
    assert certificate.document["new_data"] is None
    assert certificate.headline == bound
    perfect = certify(AdaBoost().fit([[0.0], [1.0]], [0, 1]), [[0.0], [1.0]], [0, 1])
    assert perfect.bounds[0]["bound"] == 0.0
    assert perfect.bounds[0]["slack"] is None
    with pytest.raises(InputError, match="not what fit, or one call"):  # a weighted run is another one
        certify(AdaBoost(n_estimators=20).fit(X, y, sample_weight=np.arange(1, len(y) + 1)), X, y)
    weighted = (
        AdaBoost(n_estimators=20).fit(X, y, sample_weight=np.arange(1, len(y) + 1))._build_guarantee(0.9).bounds[0]
    )
    assert weighted["observed"] <= weighted["bound"]


def test_a_certificate_of_bagging_states_its_bound() -> None:
    X, y = CANCER
    model = RandomForest(n_estimators=40).fit(X, y)
    new = certify(model, X, y, delta=0.1).document["new_data"]
    assert new["model_error_bound"] == model.error_bound(delta=0.1).value < 0.5
    assert "estimate" in new["not_shown"]
    assert "independently" in new["assumes"]
    averaged = certify(RandomForest(n_estimators=5, voting="soft").fit(X, y), X, y)
    assert averaged.document["new_data"] is None
    with pytest.raises(InputError, match="oob_score=False"):
        certify(RandomForest(n_estimators=5, oob_score=False).fit(X, y), X, y)
    with pytest.raises(InputError, match="no theorem"):
        certify(MulticlassSVM().fit(*IRIS), *IRIS)


# --- The command line ---


@pytest.mark.parametrize(
    ("name", "more"),
    [("adaboost", ["--n-estimators", "5"]), ("bagging", ["--n-estimators", "7", "--random-state", "2"]),
     ("random-forest", ["--n-estimators", "9", "--max-depth", "3", "--n-jobs", "2"])],
)  # fmt: skip
def test_ensembles_are_learned_saved_used_and_verified(
    name: str, more: list[str], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, certificate = str(tmp_path / "m.model"), str(tmp_path / "m.certificate")
    page = tmp_path / "page.html"
    files = ["--save", model, "--certificate", certificate, "--report", str(page)]
    out = run_json(capsys, "learn", str(data), "--multiclass", name, *more, *files)
    assert (out["multiclass"], out["classes"], out["examples"], out["features"]) == (name, 3, 150, 4)
    loaded = load(model)
    assert loaded.feature_names_in_.tolist() == ["p", "q", "r", "s"]
    assert main(["predict", model, str(data), "--quiet"]) == 0
    X = pandas.DataFrame(read(data).to_arrays()[0], columns=["p", "q", "r", "s"])
    lines = capsys.readouterr().out.splitlines()
    assert lines == loaded.predict(X).tolist()
    assert main(["verify", certificate, str(data), "--quiet"]) == 0
    text, document = page.read_text(), json.loads(Path(certificate).read_text())
    assert json.loads(text.split('id="numbers">')[1].split("</script>")[0]) == document
    assert ("Margins of the examples" in text) == (name == "adaboost")
    assert ("Not shown: the out-of-bag error is an estimate" in text) == (name != "adaboost")
    assert main(["certify", model, str(data), "--report", str(tmp_path / "again.html"), "--quiet"]) == 0
    assert (tmp_path / "again.html").read_text() == text
    assert main(["certify", model, str(data), "--quiet"]) == 0
    assert main(["inspect", model]) == 0
    assert loaded.describe() in capsys.readouterr().out
    assert main(["inspect", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ledger"] is None
    assert main(["learn", str(data), "--multiclass", name, *more]) == 0
    said = capsys.readouterr()
    assert "read into memory" in said.err
    assert "--multiclass online-" in said.err
    assert "estimators" in said.out
    assert main(["learn", str(data), "--resume", model]) == 2
    assert "can't be resumed" in capsys.readouterr().err


@pytest.mark.slow
def test_base_learners_and_one_label_against_the_rest_are_accepted(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run_json(capsys, "learn", str(data), "--multiclass", "bagging", "--learner", "perceptron", "--passes", "3")
    assert out["learner"] == "perceptron"
    model = str(tmp_path / "m")
    out = run_json(capsys, "learn", str(data), "--multiclass", "adaboost", "--positive-label", "b", "--save", model)
    assert out["classes"] == 2
    assert load(model).classes_.tolist() == ["b", "not b"]
    predicted = run_json(capsys, "predict", model, str(data), "--output", str(tmp_path / "p"))
    assert (predicted["labelled"], predicted["model_error"]) == (150, out["training_error"])


@pytest.mark.slow
def test_invalid_options_are_refused(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists = tmp_path / "lists.jsonl"
    lists.write_text('{"label": ["a", "b"], "x": 1}\n{"label": ["a"], "x": 2}\n')
    weighted = tmp_path / "weighted.vw"
    weighted.write_text("1 2.0 | a:1\n-1 1.0 | b:1\n1 1.0 | a:2\n")
    for arguments, words in [
        ([str(data), "--multiclass", "random-forest", "--learner", "sgd"], "made of trees"),
        ([str(data), "--multiclass", "random-forest", "--code-length", "3"], "--code-length has no meaning"),
        ([str(data), "--multiclass", "adaboost", "--passes", "3"], "--passes is a setting of a learner"),
        ([str(data), "--multiclass", "adaboost", "--resume", "x"], "online-boosting"),
        ([str(data), "--multiclass", "kesler", "--n-estimators", "3"], "--n-estimators has no meaning"),
        ([str(data), "--multiclass", "binary", "--n-estimators", "3"], "ensembles"),
        ([str(data), "--multiclass", "adaboost", "--n-estimators", "0"], "n_estimators must be"),
        ([str(data), "--multiclass", "adaboost", "--positive-label", "zebra"], "no example has that label"),
        ([str(lists), "--multiclass", "adaboost"], "one label an example"),
        ([str(weighted), "--multiclass", "bagging"], "takes no weights"),
        (["-", "--multiclass", "bagging", "--certificate", str(tmp_path / "c")], "standard input"),
    ]:
        assert main(["learn", *arguments, "--quiet"]) == 2, arguments
        assert words in capsys.readouterr().err, arguments
    assert main(["learn", str(weighted), "--multiclass", "adaboost", "--quiet"]) == 0
