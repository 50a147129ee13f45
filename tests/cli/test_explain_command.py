"""`novikoff explain`: the same explanation for a JSON object, a line and a place in a file, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from novikoff.cli.main import main

FILES = {
    "csv": ("age,job,label\n3,clerk,yes\n4,boss,no\n5,clerk,no\n6,smith,yes\n", 1),
    "tsv": ("age\tjob\tlabel\n3\tclerk\tyes\n4\tboss\tno\n5\tclerk\tno\n6\tsmith\tyes\n", 1),
    "plain.csv": ("a,3,2\nb,4,-1\na,5,1\nb,-6,1\n", 0),
    "svm": ("1 1:3 2:1\n-1 2:4\n1 1:1 3:1\n-1 2:1 3:5\n", 0),
    "jsonl": ('{"age": 3, "label": 1}\n{"age": 4, "job": "a", "label": 0}\n{"age": 5, "label": 1}\n', 0),
    "vw": ("1 | a b:2\n-1 | c\n1 | a c\n-1 | b c:3\n", 0),
}


@pytest.fixture(params=[(kind, learner) for kind in FILES for learner in ("auto", "sgd", "arow")], ids="-".join)
def trained_model(request: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str, int]:
    kind, learner = request.param
    text, head = FILES[kind]
    data, model = tmp_path / f"data.{kind}", str(tmp_path / "m.model")
    data.write_text(text)
    label = ["--label", "1"] if kind == "plain.csv" else []
    assert main(["learn", str(data), "--learner", learner, "--no-shuffle", "--save", model, "--quiet", *label]) == 0
    capsys.readouterr()
    return model, str(data), head


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["explain", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_every_line_of_a_file_is_explained_as_it_is_predicted(
    trained_model: tuple[str, str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    model, data, head = trained_model
    assert main(["predict", model, data, "--scores", "--quiet"]) == 0
    predicted = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    lines = Path(data).read_text().splitlines()
    for number, (label, score) in enumerate(predicted, 1 + head):
        found = run_json(capsys, model, f"{data}:{number}")
        parts = [found["bias"], *(one["contribution"] for one in found.get("contributions", []))]
        size = sum(map(abs, parts))
        assert str(found["predicted"]) == label
        assert abs(found["score"] - float(score)) <= 1e-12 * size
        assert abs(found["score"] - sum(parts)) <= 1e-12 * size
        assert run_json(capsys, model, lines[number - 1]) == found


def test_a_json_object_is_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = tmp_path / "t.csv", str(tmp_path / "m.model")
    data.write_text(FILES["csv"][0])
    assert main(["learn", str(data), "--learner", "sgd", "--no-shuffle", "--save", model, "--quiet"]) == 0
    capsys.readouterr()
    found = run_json(capsys, model, '{"age": 4, "job": "boss"}')
    assert found == run_json(capsys, model, f"{data}:3")
    assert {one["feature"] for one in found["contributions"]} == {"age", "job=boss"}
    turned = run_json(capsys, model, '{"age": 4, "job": "boss"}', "--class", str(found["against"]))
    assert turned["score"] == -found["score"]
    assert turned["probability"] == pytest.approx(1.0 - found["probability"])
    numbers = tmp_path / "t.svm"
    numbers.write_text(FILES["svm"][0])
    assert main(["learn", str(numbers), "--learner", "arow", "--no-shuffle", "--save", model, "--quiet"]) == 0
    capsys.readouterr()
    assert run_json(capsys, model, '{"1": 3, "2": 1}') == run_json(capsys, model, f"{numbers}:1")


def test_top_limits_the_text_and_sums_up_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = tmp_path / "t.svm", str(tmp_path / "m.model")
    data.write_text("1 1:3 2:1 3:1\n-1 2:4\n" * 3)
    assert main(["learn", str(data), "--learner", "perceptron", "--no-shuffle", "--save", model, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["explain", model, f"{data}:1", "--top", "1"]) == 0
    shown = capsys.readouterr().out
    assert "(2 more)" in shown
    assert "(bias)" in shown
    assert shown.startswith("predicted    1\nscore        +")


def test_bad_input_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model, tree = tmp_path / "t.csv", str(tmp_path / "m.model"), str(tmp_path / "tree.model")
    data.write_text(FILES["csv"][0])
    assert main(["learn", str(data), "--learner", "sgd", "--save", model, "--quiet"]) == 0
    forest = ["--multiclass", "random-forest", "--n-estimators", "3"]
    assert main(["learn", str(data), *forest, "--save", tree, "--quiet"]) == 0
    capsys.readouterr()
    for arguments, message in (
        ([model, f"{data}:99"], "t.csv:99: there is no example on this line"),
        ([model, f"{data}:1"], "t.csv:1: there is no example on this line"),
        ([model, str(tmp_path / "none.csv:1")], "no such file"),
        ([model, '{"age": '], "not valid JSON"),
        ([model, f"{data}:2", "--class", "maybe"], "no class 'maybe'. Its classes are"),
        ([model, f"{data}:2", "--top", "-1"], "--top must be at least 0"),
        ([tree, f"{data}:2"], "not a sum of value × weight"),
        ([str(data), f"{data}:2"], "t.csv"),
    ):
        assert main(["explain", *arguments]) == 2
        assert message in capsys.readouterr().err
