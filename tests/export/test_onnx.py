"""ONNX files give the labels, scores and probabilities of the model in onnxruntime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra novikoff[onnx], is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is a dependency of dev")

import onnxruntime as ort

from novikoff import (
    AROW,
    SGD,
    BalancedWinnow,
    Elimination,
    InputError,
    Kesler,
    MarginPerceptron,
    OneVsAll,
    OnlineToBatch,
    Perceptron,
    PNormPerceptron,
    Winnow,
    export_onnx,
    load,
    set_threshold,
    with_columns,
)
from novikoff.cli.main import main

TOLERANCE = 1e-6
BINARY = [
    AROW(),
    AROW(calibrate=False),
    SGD(),
    SGD(loss="hinge", l2=0.01),
    Perceptron(tie="negative"),
    Perceptron(average=True, fit_intercept=False),
    PNormPerceptron(),
    MarginPerceptron(),
    OnlineToBatch(Perceptron()),
]
SCHEMES = [Kesler(AROW()), Kesler(SGD()), OneVsAll(AROW()), OneVsAll(SGD()), OneVsAll(Perceptron(calibrate=False))]


def make_data(classes: int, dtype: Any = np.float64) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 6)).astype(dtype)
    return X, np.argmax(X[:, :classes] + 0.4 * rng.normal(size=(400, classes)), axis=1)


def run_onnx(model: Any, folder: Path, inputs: Any) -> dict[str, Any]:
    path = folder / "m.onnx"
    export_onnx(model, path)
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs = inputs if isinstance(inputs, dict) else {"features": inputs}
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, inputs), strict=True))


def check_equal(found: dict[str, Any], model: Any, X: Any) -> None:
    assert found["label"].tolist() == model.predict(X).tolist()
    scores = model.decision_function(X)
    assert found["scores"].shape == scores.shape
    assert np.allclose(found["scores"], scores, rtol=TOLERANCE, atol=TOLERANCE)
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        assert np.allclose(found["probabilities"], model.predict_proba(X), rtol=0.0, atol=TOLERANCE)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("learner", BINARY, ids=repr)
def test_binary_models_are_equal(learner: Any, dtype: Any, tmp_path: Path):
    X, y = make_data(2, dtype)
    model = learner.fit(X, np.array(["no", "yes"])[y])
    probed = np.concatenate([X, 100 * X, np.zeros((1, 6), dtype)])  # large scores are shortened; 0 is a tie
    check_equal(run_onnx(model, tmp_path, probed), model, probed)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_multiclass_models_are_equal(scheme: Any, classes: int, tmp_path: Path):
    X, y = make_data(classes)
    model = scheme.fit(X, y)
    probed = np.concatenate([X, 100 * X, np.zeros((1, 6))])
    check_equal(run_onnx(model, tmp_path, probed), model, probed)


@pytest.mark.parametrize("learner", [Winnow(), BalancedWinnow()], ids=repr)
def test_boolean_features_are_equal(learner: Any, tmp_path: Path):
    X = (make_data(2)[0] > 0.0).astype(np.float64)
    model = learner.fit(X, X[:, 0] + X[:, 1] > 0)
    check_equal(run_onnx(model, tmp_path, X), model, X)


@pytest.mark.parametrize("labels", [[0, 1], [False, True], ["a", "b"], [-7, 3]])
def test_labels_keep_their_type(labels: list[Any], tmp_path: Path):
    X, y = make_data(2)
    model = AROW().fit(X, np.array(labels)[y])
    found = run_onnx(model, tmp_path, X)["label"]
    assert set(found.tolist()) == set(labels)
    assert {type(label) for label in found.tolist()} == {type(labels[0])}


@pytest.mark.parametrize("calibrate", [True, False])
@pytest.mark.parametrize("value", [0.05, 0.3, 0.8])
def test_thresholds_decide(calibrate: bool, value: float, tmp_path: Path):
    X, y = make_data(2)
    model = AROW(calibrate=calibrate).fit(X, y)
    natural = model.predict(X)
    set_threshold(model, value)
    assert (model.predict(X) != natural).any()
    check_equal(run_onnx(model, tmp_path, X), model, X)


# --- Raw rows ---

ROWS = [
    {"age": 30.1, "job": "nurse", "town": "Köln"},
    {"age": 51.7, "job": "boss", "town": None},
    {"age": None, "job": "a=b", "town": "Bonn"},
    {"age": 28.3, "job": "clerk", "town": "Köln"},
    {"age": 39.9, "job": "boss", "town": "Bonn"},
    {"age": 33.2, "job": None, "town": "Bonn"},
] * 5
NEW_ROWS = [*ROWS[:6], {"age": 20.05, "job": "never seen", "town": ""}]


def to_inputs(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "age": np.array([[np.nan if row["age"] is None else row["age"]] for row in rows]),
        "job": np.array([[row["job"] or ""] for row in rows], object),
        "town": np.array([[row["town"] or ""] for row in rows], object),
    }


@pytest.mark.parametrize("learner", [AROW(), SGD(), Kesler(AROW()), OneVsAll(SGD())], ids=repr)
def test_tables_have_an_input_for_each_column(learner: Any, tmp_path: Path):
    y = [["x", "y", "z"][k % 3] if isinstance(learner, Kesler | OneVsAll) else k % 3 == 0 for k in range(len(ROWS))]
    model = learner.fit(ROWS, y)
    check_equal(run_onnx(model, tmp_path, to_inputs(NEW_ROWS)), model, NEW_ROWS)


def test_tables_of_numbers_have_named_columns(tmp_path: Path):
    import onnx

    table = tmp_path / "t.csv"
    table.write_text("a,b,label\n" + "".join(f"{k / 7},{(k * 5) % 9},{k % 2}\n" for k in range(40)))
    path = tmp_path / "m.model"
    assert main(["learn", str(table), "--learner", "arow", "--save", str(path), "--quiet"]) == 0
    model = load(path)
    rows = [{"a": k / 7, "b": None if k == 3 else float(k)} for k in range(9)]
    tensor = np.array([[row["a"], np.nan if row["b"] is None else row["b"]] for row in rows], np.float32)
    check_equal(run_onnx(model, tmp_path, tensor), model, rows)
    metadata = {entry.key: entry.value for entry in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert json.loads(metadata["feature_names"]) == ["a", "b"]


def test_features_with_names_are_columns_of_the_tensor(tmp_path: Path):
    import onnx

    model = SGD()
    for k in range(30):
        model.learn_one({"a": float(k % 5), "job=nurse": 1.0} if k % 2 else {"b": 1.0, "a": 2.0}, k % 2)
    found = run_onnx(model, tmp_path, np.array([[2.0, 0.0, 1.0], [4.0, 1.0, 0.0]]))
    metadata = {entry.key: entry.value for entry in onnx.load(tmp_path / "m.onnx").metadata_props}
    names = json.loads(metadata["feature_names"])
    assert sorted(names) == ["a", "b", "job=nurse"]
    row = dict(zip(names, [4.0, 1.0, 0.0], strict=True))
    assert found["scores"][1] == pytest.approx(model.score_one(row))
    assert found["probabilities"][1, 1] == pytest.approx(model.predict_proba_one(row)[1])


# --- What is refused ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "job"}, "hashed names of features"),
        ({"text": "job", "hash_bits": 0}, "words of texts"),
        ({"missing": "indicator"}, "--missing indicator"),
        ({"hash_bits": 10}, "hashed names of features"),
    ],
)
def test_an_encoding_that_onnx_lacks_is_named(options: dict[str, Any], message: str, tmp_path: Path):
    model = AROW().fit(with_columns(ROWS, **options), [k % 2 for k in range(len(ROWS))])
    with pytest.raises(InputError, match=f"The model has {message}, for which ONNX has no operators"):
        export_onnx(model, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_feature_map_is_named(tmp_path: Path):
    table, path = tmp_path / "t.svm", tmp_path / "m.model"
    table.write_text("1 1:2 2:1\n-1 1:1 2:3\n" * 5)
    options = ["--learner", "arow", "--feature-map", "poly:2", "--save", str(path), "--quiet"]
    assert main(["learn", str(table), *options]) == 0
    with pytest.raises(InputError, match="the feature map poly:2"):
        export_onnx(load(path), tmp_path / "m.onnx")


def test_a_column_with_the_name_of_an_output_is_refused(tmp_path: Path):
    rows = [{"scores": 1.0, "job": "a"}, {"scores": 2.0, "job": "b"}]
    with pytest.raises(InputError, match="column 'scores' has the name of an output"):
        export_onnx(AROW().fit(rows, [0, 1]), tmp_path / "m.onnx")


@pytest.mark.parametrize("name", ["m.txt", "m", "onnx"])
def test_the_file_must_end_in_onnx(name: str, tmp_path: Path):
    with pytest.raises(InputError, match=r"must end in \.onnx"):
        export_onnx(AROW().fit([[0.0], [1.0]], [0, 1]), tmp_path / name)


def test_a_boolean_learner_without_a_weight_vector_is_refused_or_equal(tmp_path: Path):
    X = (make_data(2)[0] > 0.0).astype(np.float64)
    model = Elimination().fit(X, X[:, 0] > 0)
    check_equal(run_onnx(model, tmp_path, X), model, X)


# --- The command ---


def test_the_command_writes_what_the_function_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = tmp_path / "m.model"
    assert main(["learn", "iris", "--learner", "arow", "--save", str(model), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["export", str(model), str(tmp_path / "a.onnx")]) == 0
    assert capsys.readouterr().out == ""
    export_onnx(load(model), tmp_path / "b.onnx")
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
