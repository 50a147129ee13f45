"""`novikoff evaluate` and `novikoff.evaluate`: figures agree with scikit-learn's, and bad input is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_digits, make_multilabel_classification
from sklearn.linear_model import LogisticRegression

from novikoff import SGD, InputError, Kesler, MultiLabel, Perceptron, QueryRanking, evaluate, load
from novikoff.cli.main import main

TOLERANCE = 1e-9


def write_svmlight(path: Path, X: Any, y: Any) -> str:
    terms = [" ".join(f"{j}:{v!r}" for j, v in enumerate(row)) for row in np.asarray(X).tolist()]
    lines = [f"{label} {row}" for row, label in zip(terms, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["evaluate", *arguments, "--json", "--quiet"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture
def cancer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Provide two models and a test file in which three rows have no label."""
    X, y = load_breast_cancer(return_X_y=True)
    train = write_svmlight(tmp_path / "train.svm", X[:400], y[:400])
    test = write_svmlight(tmp_path / "test.svm", X[400:], y[400:])
    models = {}
    for learner in ("auto", "perceptron"):
        models[learner] = str(tmp_path / f"{learner}.model")
        assert main(["learn", train, "--learner", learner, "--save", models[learner], "--quiet"]) == 0
    capsys.readouterr()
    return {**models, "test": test}


def test_figures_of_two_classes_are_those_of_scikit_learn(
    cancer: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_json(capsys, cancer["auto"], cancer["test"])["models"][0]
    X, y = load_breast_cancer(return_X_y=True)
    model = load(cancer["auto"])
    guess, scores = model.predict(X[400:]), model.decision_function(X[400:])
    assert found["examples"] == len(guess)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y[400:], guess), abs=TOLERANCE)
    assert found["auc"]["value"] == pytest.approx(metrics.roc_auc_score(y[400:], scores), abs=TOLERANCE)
    theirs = metrics.average_precision_score(y[400:], scores)
    assert found["average_precision"] == pytest.approx(theirs, abs=TOLERANCE)
    assert found["per_class"]["1"]["f1"] == pytest.approx(metrics.f1_score(y[400:], guess), abs=TOLERANCE)
    assert found["confusion"] == metrics.confusion_matrix(y[400:], guess).tolist()
    assert found["error_interval"]["low"] < found["error"] < found["error_interval"]["high"]


def test_python_and_the_command_line_give_the_same_result(
    cancer: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = run_json(capsys, cancer["auto"], cancer["test"])["models"][0]
    X, y = load_breast_cancer(return_X_y=True)
    found = evaluate(load(cancer["auto"]), X[400:], y[400:])
    assert json.loads(json.dumps({"model": cancer["auto"], **found.to_dict()})) == shown


def test_rows_without_a_label_do_not_count(
    cancer: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    more = tmp_path / "more.svm"
    more.write_text(Path(cancer["test"]).read_text() + "1:1 2:3\n2:5\n")
    assert (
        run_json(capsys, cancer["auto"], str(more))["models"][0]
        == run_json(capsys, cancer["auto"], cancer["test"])["models"][0]
    )


def test_a_class_that_the_model_does_not_know_counts_as_wrong(
    cancer: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    more = tmp_path / "more.svm"
    more.write_text(Path(cancer["test"]).read_text() + "7 1:1 2:3\n")
    found = run_json(capsys, cancer["auto"], str(more))["models"][0]
    plain = run_json(capsys, cancer["auto"], cancer["test"])["models"][0]
    assert found["errors"] == plain["errors"] + 1
    assert found["classes"] == ["0", "1", "7"]
    assert sum(found["confusion"][2]) == 1
    assert found["auc"] == plain["auc"]


def test_two_models_are_compared_on_the_same_examples(
    cancer: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_json(capsys, cancer["auto"], cancer["perceptron"], cancer["test"])
    pair, first, second = found["comparisons"][0], *found["models"]
    assert pair["difference"] == pytest.approx(first["error"] - second["error"])
    assert pair["only_first_wrong"] - pair["only_second_wrong"] == first["errors"] - second["errors"]
    assert pair["interval"][0] <= pair["difference"] <= pair["interval"][1]
    same = run_json(capsys, cancer["auto"], cancer["auto"], cancer["test"])["comparisons"][0]
    assert same["only_first_wrong"] == same["only_second_wrong"] == 0


def test_text_shows_every_figure_with_its_meaning(cancer: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", cancer["auto"], cancer["perceptron"], cancer["test"]]) == 0
    shown = capsys.readouterr()
    for part in ("accuracy", "95 % interval", "majority", "AUC", "average precision", "confusion", "is better"):
        assert part in shown.out or part == "is better"
    assert "saved model" in shown.err


def test_error_by_column_adds_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    rows = [
        f"{x:.3f},{rng.choice(['red', 'blue', ''])},{'yes' if x + rng.normal() > 0 else 'no'}"
        for x in rng.normal(size=500)
    ]
    table = tmp_path / "table.csv"
    table.write_text("size,colour,label\n" + "\n".join(rows) + "\n")
    model = str(tmp_path / "table.model")
    assert main(["learn", str(table), "--ignore", "colour", "--save", model, "--quiet"]) == 0
    capsys.readouterr()
    found = run_json(capsys, model, str(table), "--by", "colour")["models"][0]
    counts = {one["value"]: one["examples"] for one in found["slices"]}
    colours = [row.split(",")[1] for row in rows]
    assert counts == {"red": colours.count("red"), "blue": colours.count("blue"), "(missing)": colours.count("")}
    assert sum(one["errors"] for one in found["slices"]) == found["errors"]
    assert main(["evaluate", model, str(table), "--by", "colour"]) == 0
    assert "colour" in capsys.readouterr().out


def test_many_classes() -> None:
    X, y = load_digits(return_X_y=True)
    model = Kesler(Perceptron()).fit(X[:1000], y[:1000])
    found = evaluate(model, X[1000:], y[1000:])
    guess = model.predict(X[1000:])
    assert found.macro.f1 == pytest.approx(metrics.f1_score(y[1000:], guess, average="macro"), abs=TOLERANCE)
    assert found.f1 == found.macro.f1
    assert found.positive is None
    assert found.auc is None


def test_sets_of_labels() -> None:
    X, y = make_multilabel_classification(300, 20, n_classes=5, random_state=0)
    model = MultiLabel(Perceptron(passes=3)).fit(X[:200], y[:200])
    found = evaluate(model, X[200:], y[200:])
    guess = model.predict(X[200:])
    assert found.hamming_loss == pytest.approx(metrics.hamming_loss(y[200:], guess), abs=TOLERANCE)
    assert found.micro.f1 == pytest.approx(metrics.f1_score(y[200:], guess, average="micro"), abs=TOLERANCE)
    assert found.exact_match == pytest.approx((y[200:] == guess).all(axis=1).mean(), abs=TOLERANCE)


def test_rankings() -> None:
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(200, 5)), np.repeat(np.arange(20), 10)
    y = (X[:, 0] > 0.5).astype(int)
    model = QueryRanking().fit(X, y, qid=qid)
    found = evaluate(model, X, y, qid=qid)
    assert found.queries == 20
    assert found.ndcg == model.rank(X, y, qid).ndcg


def test_any_classifier_with_the_interface_of_scikit_learn() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression(max_iter=10_000).fit(X[:400], y[:400])
    found = evaluate(model, X[400:], y[400:], by=y[400:])
    p = model.predict_proba(X[400:])
    assert found.log_loss == pytest.approx(metrics.log_loss(y[400:], p), abs=TOLERANCE)
    assert found.brier == pytest.approx(metrics.brier_score_loss(y[400:], p[:, 1]), abs=TOLERANCE)
    assert found.calibration_error is not None
    assert {one.value for one in found.slices} == {"0", "1"}


def test_bad_input_is_refused(cancer: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bare = tmp_path / "bare.svm"
    bare.write_text("1:1 2:3\n2:5\n")
    for arguments, message in (
        ([cancer["auto"], str(bare)], "no example has a label"),
        ([cancer["auto"], cancer["perceptron"], "-"], "can be read once only"),
        ([cancer["auto"], cancer["test"], "--delta", "1.5"], "between 0 and 1"),
        ([cancer["auto"], str(tmp_path / "none.svm")], "no such file"),
        ([cancer["test"], cancer["test"]], "test.svm"),
    ):
        assert main(["evaluate", *arguments]) == 2
        assert message in capsys.readouterr().err
    model = SGD().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match="between 0 and 1"):
        evaluate(model, [[0.0]], [0], delta=95)
    with pytest.raises(InputError, match="inconsistent"):
        evaluate(model, [[0.0]], [0, 1])
