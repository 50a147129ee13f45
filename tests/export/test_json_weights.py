"""`novikoff export --json`: the weights by name reproduce scores, labels and probabilities. No extra is needed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import novikoff
from novikoff import AROW, SGD, Auto, InputError, Kesler, OneVsAll, set_threshold
from novikoff.cli.main import main
from novikoff.export.json_weights import export_weights
from novikoff.export.linear_scores import read_linear_scores

ROWS = [{"age": float(k % 7), "job=nurse": float(k % 2), "pay": k / 3} for k in range(60)]


def learn(model: Any, labels: list[Any]) -> Any:
    for k, x in enumerate(ROWS):
        model.learn_one(x, labels[(k + (k % 7 > 4)) % len(labels)])
    return model


def compute_scores(found: dict[str, Any], x: dict[str, float]) -> list[float]:
    return [s["intercept"] + sum(w * x.get(name, 0.0) for name, w in s["weights"].items()) for s in found["scores"]]


def to_log_odds(score: float, how: dict[str, Any]) -> float:
    """The formula of docs/commands/export.md."""
    z = score / how["score_scale"]
    if how["type"] == "logistic":
        return z
    z, most = z * how["unit"], how["max_linear_score"]
    if abs(z) > most:
        z = math.copysign(most + math.log(1.0 + abs(z) - most), z)
    return how["intercept"] + how["slope"] * z + how["log_slope"] * math.copysign(math.log(1.0 + abs(z)), z)


@pytest.mark.parametrize("learner", [AROW(), SGD(), SGD(loss="hinge")], ids=repr)
def test_weights_reproduce_scores_and_probabilities_of_two_classes(learner: Any):
    model = learn(learner, ["no", "yes"])
    found = json.loads(json.dumps(export_weights(model)))
    assert found["classes"] == ["no", "yes"]
    assert found["decision"] == {"rule": "sign", "positive": "yes", "zero_is_positive": True}
    for x in ROWS[:10]:
        (score,) = compute_scores(found, x)
        assert score == pytest.approx(model.score_one(x))
        probability = 1.0 / (1.0 + math.exp(-to_log_odds(score, found["probabilities"])))
        probability = max(probability, 0.5) if score >= 0.0 else min(probability, 0.5)
        assert probability == pytest.approx(model.predict_proba_one(x)["yes"], abs=1e-9)


@pytest.mark.parametrize("scheme", [Kesler(AROW()), OneVsAll(AROW())], ids=repr)
def test_weights_reproduce_scores_and_probabilities_of_several_classes(scheme: Any):
    model = learn(scheme, ["a", "b", "c"])
    found = json.loads(json.dumps(export_weights(model)))
    assert found["decision"] == {"rule": "largest score"}
    assert [one["class"] for one in found["scores"]] == found["classes"] == ["a", "b", "c"]
    for x in ROWS[:10]:
        scores = compute_scores(found, x)
        assert scores == pytest.approx(list(model.score_one(x).values()))
        mean = sum(scores) / 3
        sizes = [math.exp(to_log_odds(score - mean, found["probabilities"])) for score in scores]
        shares = [size / sum(sizes) for size in sizes]
        assert shares == pytest.approx(list(model.predict_proba_one(x).values()), abs=1e-9)


def test_a_threshold_is_part_of_the_decision():
    model = learn(AROW(), [0, 1])
    set_threshold(model, 0.25)
    assert export_weights(model)["decision"] == {"rule": "probability", "positive": "1", "threshold": 0.25}
    assert export_weights(learn(AROW(calibrate=False), [0, 1]))["probabilities"] == {"type": "none"}


def test_hashed_features_have_the_numbers_of_their_slots(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    table, model = tmp_path / "t.csv", str(tmp_path / "m.model")
    table.write_text("job,label\n" + "a,0\nb,1\n" * 9)
    for options, expected in (["--hash-bits", "8"], 2), (["--hash-bits", "8", "--keep-names"], 2):
        command = ["learn", str(table), "--learner", "arow", "--save", model, "--quiet", *options]
        assert main(command) == 0
        capsys.readouterr()
        assert main(["export", model, "--json"]) == 0
        assert len(json.loads(capsys.readouterr().out)["scores"][0]["weights"]) == expected


# --- Bad input ---


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Auto(), "mixes the probabilities of four learners"),
        (Kesler(), "mixes the probabilities of four learners"),
        (novikoff.KernelPerceptron(), "not sums of value × weight"),
        (novikoff.VotedPerceptron(), "not sums of value × weight"),
        (novikoff.AllVsAll(AROW()), "not sums of value × weight"),
        (novikoff.DecisionTree(), "DecisionTree cannot be exported"),
        (novikoff.MulticlassSVM(), "MulticlassSVM cannot be exported"),
    ],
    ids=repr,
)
def test_a_model_without_linear_scores_is_refused(model: Any, message: str):
    model.fit(
        [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [0.5, 3.0]] * 9, [0, 1, 2, 1] * 9 if message[0] != "n" else [0, 1] * 18
    )
    with pytest.raises(InputError, match=message):
        read_linear_scores(model)


@pytest.mark.parametrize("model", [None, "m.model", AROW], ids=repr)
def test_what_is_no_model_is_refused(model: Any):
    with pytest.raises(InputError, match="Only models of novikoff can be exported"):
        read_linear_scores(model)


def test_an_unfitted_model_and_one_class_are_refused():
    with pytest.raises(ValueError, match="fit"):
        read_linear_scores(AROW())
    with pytest.raises(InputError, match="knows the class 'yes' alone"):
        read_linear_scores(AROW().learn_one({"a": 1.0}, "yes"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["MODEL"], "Give either OUTPUT.onnx or --json"),
        (["MODEL", "m.onnx", "--json"], "Give either OUTPUT.onnx or --json"),
        (["MODEL", "m.txt"], "m.txt: the file must end in .onnx"),
        (["absent.model", "--json"], "absent.model"),
        (["MODEL", "--jsn"], "--json"),
    ],
)
def test_the_command_explains_bad_usage(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    assert main(["learn", "iris", "--learner", "arow", "--save", "MODEL", "--quiet"]) == 0
    capsys.readouterr()
    try:
        code: Any = main(["export", *arguments])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["MODEL"]


def test_without_onnx_the_message_names_the_extra(tmp_path: Path):
    code = (
        "import sys; sys.modules['onnx'] = None\nfrom novikoff import AROW, export_onnx\n"
        f"export_onnx(AROW().fit([[0.0], [1.0]], [0, 1]), {str(tmp_path / 'm.onnx')!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "export_onnx needs onnx: pip install 'novikoff[onnx]'." in done.stderr
