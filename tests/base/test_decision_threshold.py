"""Decision thresholds: every way to predict follows them, files hold them, and learning does not."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import novikoff
from novikoff import (
    AROW,
    SGD,
    Auto,
    KernelPerceptron,
    Kesler,
    ModelFileError,
    MultiLabel,
    Perceptron,
    RandomForest,
    VotedPerceptron,
    Winnow,
    choose_threshold,
    evaluate,
    load,
    save,
    set_threshold,
)
from novikoff.base.internals import require_state, working_model_of
from novikoff.cli.main import main
from novikoff.evaluation import thresholds
from novikoff.model_file import _build_content, from_bytes, to_bytes, to_header_and_tensors

MODELS: dict[str, Any] = {
    "perceptron": Perceptron(learning_rate=0.3),
    "sgd": SGD(),
    "arow": AROW(),
    "winnow": Winnow(threshold=3.0),
    "voted-perceptron": VotedPerceptron(),
    "kernel-perceptron": KernelPerceptron(average=True),
    "auto": Auto(),
}


def make_stream(rows: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.random((rows, 4))
    return X, np.where(X[:, 0] + 0.4 * rng.standard_normal(rows) > 0.9, "spam", "ham")


def fit(name: str, **changes: Any) -> tuple[Any, Any, Any]:
    X, y = make_stream()
    model = type(MODELS[name])(**{**MODELS[name].get_params(), **changes})
    return model.fit(X[:200], y[:200]), X[200:], y[200:]


@pytest.mark.parametrize("threshold", [0.05, 0.5, 0.8])
@pytest.mark.parametrize("name", MODELS)
def test_the_positive_class_is_predicted_from_its_probability_on(name: str, threshold: float) -> None:
    model, X, y = fit(name)
    set_threshold(model, threshold)
    wanted = np.where(model.predict_proba(X)[:, 1] >= threshold, "spam", "ham")
    assert (model.predict(X) == wanted).all()
    assert [model.predict_one(x) for x in X] == wanted.tolist()
    assert [model.predict_one(dict(enumerate(x))) for x in X.tolist()] == wanted.tolist()
    assert model.score(X, y) == (wanted == y).mean()
    assert evaluate(model, X, y).accuracy == (wanted == y).mean()


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("sgd", "auto")])  # their scores are log-odds
def test_models_without_probabilities_take_a_score(name: str) -> None:
    model, X, _ = fit(name, calibrate=False)
    scores = model.decision_function(X)
    middle = float(np.median(scores))
    set_threshold(model, middle)
    assert (model.predict(X) == np.where(scores >= middle, "spam", "ham")).all()
    assert [model.predict_one(x) for x in X] == model.predict(X).tolist()


@pytest.mark.parametrize("name", MODELS)
def test_a_file_holds_the_threshold(name: str, tmp_path: Any) -> None:
    model, X, _ = fit(name)
    set_threshold(model, 0.2)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.predict(X) == model.predict(X)).all()
    assert to_bytes(again) == to_bytes(model)
    assert require_state(working_model_of(again)).threshold == require_state(working_model_of(model)).threshold


@pytest.mark.parametrize("name", MODELS)
def test_learning_is_not_changed(name: str) -> None:
    model, X, y = fit(name)
    other, _, _ = fit(name)
    set_threshold(model, 0.9)
    for part in (model, other):
        part.partial_fit(X[:100], y[:100])
        for x, label in zip(X[100:], y[100:].tolist(), strict=True):
            part.learn_one(x, label)
    assert to_bytes(model) != to_bytes(other)
    set_threshold(model, None)
    assert to_bytes(model) == to_bytes(other)
    assert "threshold" not in to_header_and_tensors(model)[0]


def test_fit_forgets_the_threshold() -> None:
    model, X, y = fit("arow")
    set_threshold(model, 0.9)
    assert require_state(model.fit(X, y)).threshold is None


@pytest.mark.parametrize("rule", ["f1", "precision:0.3", "recall:0.9", "cost:1:5", "cost:1000:1"])
@pytest.mark.parametrize("name", MODELS)
def test_a_threshold_is_chosen_on_scores(name: str, rule: str) -> None:
    model, X, y = fit(name)
    scores, positive = model.decision_function(X), y == "spam"
    choice = choose_threshold(model, X, y, rule)
    assert choice == thresholds.ThresholdRule.parse(rule).choose(scores, positive)
    predicted = model.predict(X) == "spam"
    assert (predicted & positive).sum() == choice.true_positives
    assert (predicted & ~positive).sum() == choice.false_positives


def test_no_threshold_is_better_than_the_chosen_one() -> None:
    model, X, y = fit("auto")
    positive = y == "spam"

    def count_cost() -> int:
        predicted = model.predict(X) == "spam"
        return int((predicted & ~positive).sum() + 4 * (~predicted & positive).sum())

    choose_threshold(model, X, y, "cost:1:4")
    best = count_cost()
    for threshold in np.linspace(0.01, 0.99, 99):
        set_threshold(model, threshold)
        assert best <= count_cost()


# --- The command line ---


def write_table(path: Any) -> Any:
    X, y = make_stream()
    path.write_text("a,b,c,d,label\n" + "".join(",".join([*map(str, x), k]) + "\n" for x, k in zip(X, y, strict=True)))
    return path


def test_learn_chooses_on_held_out_rows(tmp_path: Any, capsys: Any) -> None:
    table, model = write_table(tmp_path / "t.csv"), tmp_path / "m"
    learn = ["learn", str(table), "--holdout", "0.3", "--save", str(model), "--quiet"]
    assert main([*learn, "--decision-threshold", "recall:0.95", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["threshold"]["rule"] == "recall:0.95"
    assert report["holdout"]["per_class"]["spam"]["recall"] >= 0.95
    assert require_state(working_model_of(load(model))).threshold.value == report["threshold"]["value"]
    assert main([*learn, "--decision-threshold", "f1"]) == 0
    text = capsys.readouterr().out
    assert "chosen for f1" in text
    assert "these rows chose the threshold, so the figures are optimistic" in text
    assert main(["inspect", str(model)]) == 0
    assert "(score of the positive class, chosen for f1)" in capsys.readouterr().out
    assert main(["evaluate", str(model), str(table), "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["models"][0]["threshold"]["rule"] == "f1"


def test_learn_takes_a_probability(tmp_path: Any, capsys: Any) -> None:
    table, model = write_table(tmp_path / "t.csv"), tmp_path / "m"
    command = ["learn", str(table), "--passes", "2", "--decision-threshold", "0.2", "--save", str(model), "--quiet"]
    assert main(command) == 0
    capsys.readouterr()
    assert main(["predict", str(model), str(table)]) == 0
    predicted = capsys.readouterr().out.split()
    X, _ = make_stream()
    found = load(model)
    rows = [dict(zip("abcd", x, strict=True)) for x in X.tolist()]
    wanted = ["spam" if found.predict_proba_one(row)["spam"] >= 0.2 else "ham" for row in rows]
    assert predicted == wanted
    assert predicted != ["spam" if found.score_one(row) >= 0 else "ham" for row in rows]


def run_main(arguments: list[str]) -> Any:
    """Return the exit code of a command, also of one whose options cannot be parsed."""
    try:
        return main(arguments)
    except SystemExit as stop:
        return stop.code


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--decision-threshold", "f1"], "add --holdout 0.2"),
        (["--decision-threshold", "f2"], "f1, precision:P"),
        (["--decision-threshold", "precision:2", "--holdout", "0.2"], "at most 1"),
        (["--decision-threshold", "cost:1", "--holdout", "0.2"], "cost:FP:FN"),
        (["--decision-threshold", "1.5"], "below 1, but is 1.5"),
        (["--decision-threshold", "0.5", "--multiclass", "kesler"], "two classes"),
    ],
)
def test_wrong_options_are_named(options: list[str], match: str, tmp_path: Any, capsys: Any) -> None:
    assert run_main(["learn", str(write_table(tmp_path / "t.csv")), "--quiet", *options]) == 2
    assert match in capsys.readouterr().err


def test_a_third_class_is_an_error(tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "t.svm"
    path.write_text("1 1:1\n2 1:2\n3 1:3\n")
    assert main(["learn", str(path), "--decision-threshold", "0.3", "--quiet"]) == 2
    assert "--decision-threshold is for two classes" in capsys.readouterr().err


# --- Invalid input ---


@pytest.mark.parametrize("threshold", [0.0, 1.0, -0.1, float("nan"), "0.5", True])
def test_a_probability_is_between_0_and_1(threshold: Any) -> None:
    model, _, _ = fit("arow")
    with pytest.raises(ValueError, match="above 0 and below 1"):
        set_threshold(model, threshold)


def test_models_without_a_single_score_are_refused() -> None:
    X, y = make_stream()
    many = np.where(X[:, 1] > 0.7, "third", y)
    for model in (Kesler(AROW()).fit(X, many), Auto().fit(X, many), MultiLabel().fit(X, [[label] for label in y])):
        with pytest.raises(ValueError, match="between two classes by one score"):
            set_threshold(model, 0.5)
    with pytest.raises(ValueError, match="has learned nothing yet"):
        set_threshold(AROW(), 0.5)
    with pytest.raises(ValueError, match="between two classes by one score"):
        set_threshold(RandomForest(n_estimators=3).fit(X, y), 0.5)


def test_labels_that_the_model_does_not_know_are_named() -> None:
    model, X, y = fit("arow")
    with pytest.raises(ValueError, match="y has the label 'other'"):
        choose_threshold(model, X, np.where(y == "spam", "other", y))
    with pytest.raises(ValueError, match=r"f1, precision:P, recall:R or cost:FP:FN, but not for 'f2'"):
        choose_threshold(model, X, y, "f2")


def test_a_third_class_drops_the_threshold_of_auto_with_a_warning() -> None:
    model, X, _ = fit("auto")
    set_threshold(model, 0.2)
    with pytest.warns(UserWarning, match="the decision threshold, which is for two classes, is dropped"):
        model.learn_one(X[0], "third")
    assert require_state(working_model_of(model)).threshold is None


@pytest.mark.parametrize(
    "threshold",
    [
        {"value": 2.0, "scale": "probability", "rule": "given"},
        {"value": "x", "scale": "score", "rule": "given"},
        {"value": 0.5, "scale": "cost", "rule": "given"},
        {"value": 0.5, "scale": "score"},
        {"value": 0.5, "scale": "score", "rule": 3},
        [0.5],
    ],
)
def test_crafted_thresholds_are_refused(threshold: Any) -> None:
    header, tensors = to_header_and_tensors(fit("arow")[0])
    with pytest.raises(ModelFileError, match="threshold"):
        from_bytes(_build_content({**header, "threshold": threshold}, tensors), "m")


def test_a_probability_needs_a_calibration_in_the_file() -> None:
    header, tensors = to_header_and_tensors(fit("arow")[0])
    header["threshold"] = {"value": 0.5, "scale": "probability", "rule": "given"}
    del tensors["calibration.state"]
    with pytest.raises(ModelFileError, match="score in a model without probabilities"):
        from_bytes(_build_content(header, tensors), "m")


def test_the_functions_are_public() -> None:
    assert {"set_threshold", "choose_threshold"} <= set(novikoff.__all__)
