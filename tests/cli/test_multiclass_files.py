"""More than two classes on the command line: the selected scheme, and all commands with it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from novikoff import Auto, Kesler, Perceptron, QueryRanking, load, read
from novikoff.cli.main import main
from novikoff.data.reader import DataReader, ReadOptions
from novikoff.model_file import to_bytes

Capture = pytest.CaptureFixture[str]


def svm(seed: int, rows: int, classes: int) -> str:
    rng = np.random.default_rng(seed)
    W, lines = np.random.default_rng(9).standard_normal((8, classes)), []
    for _ in range(rows):
        x = rng.standard_normal(8)
        terms = " ".join(f"{j + 1}:{x[j]:.4g}" for j in sorted(rng.choice(8, 5, replace=False)))
        lines.append(f"{int((x @ W).argmax()) + 1} {terms}\n")
    return "".join(lines)


def run_json(capsys: Capture, *arguments: Any) -> Any:
    assert main([*map(str, arguments), "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out)


def test_three_labels_use_kesler_and_a_run_resumes_from_its_file(tmp_path: Path, capsys: Capture) -> None:
    a, b, model, both = (tmp_path / name for name in ("a.svm", "b.svm", "m.model", "both.model"))
    a.write_text(svm(1, 60, 4))
    b.write_text(svm(2, 60, 6))  # two classes are new there
    report = run_json(capsys, "learn", a, "--save", model)
    assert (report["multiclass"], report["learner"], report["classes"]) == ("kesler", "auto", 4)
    run_json(capsys, "learn", b, "--resume", model, "--save", model)
    report = run_json(capsys, "learn", a, b, "--save", both)
    assert (report["examples"], report["classes"]) == (120, 6)
    assert model.read_bytes() == both.read_bytes()
    assert main(["predict", str(model), str(b), "--scores"]) == 0
    shown = capsys.readouterr()
    rows = [line.split("\t") for line in shown.out.splitlines()]
    labels = load(model).classes_.tolist()
    assert len(rows) == 60
    assert all(len(row) == 7 and int(row[0]) == labels[int(np.argmax(list(map(float, row[1:]))))] for row in rows)
    assert "60 examples" in shown.err
    assert main(["inspect", str(model), "--top", "3"]) == 0
    assert "multiclass  kesler" in capsys.readouterr().out


def test_files_and_arrays_give_the_same_model(tmp_path: Path, capsys: Capture) -> None:
    path, model = tmp_path / "a.svm", tmp_path / "m.model"
    path.write_text(svm(3, 50, 5))
    run_json(capsys, "learn", path, "--save", model)
    stream = Kesler(Auto())
    for batch in read(path, features=9, block=100):
        stream.partial_fit(batch.X, batch.y)
    found = load(model)
    assert np.array_equal(found.coef_, stream.coef_)
    assert np.array_equal(found.intercept_, stream.intercept_)
    assert found.ledger_.as_dict() == stream.ledger_.as_dict()


def test_a_late_third_label_restarts_as_multiclass(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    two, three = tmp_path / "two.svm", tmp_path / "three.svm"
    two.write_text("1 1:1\n2 2:1\n1 1:2\n")
    three.write_text("3 3:1\n1 1:1\n")
    models = [tmp_path / "found.model", tmp_path / "said.model"]
    assert main(["learn", str(two), str(three), "--save", str(models[0])]) == 0
    shown = capsys.readouterr()
    assert f"{three}:1: " in shown.err
    assert "Restarting with --multiclass kesler" in shown.err
    run_json(capsys, "learn", two, three, "--multiclass", "kesler", "--save", models[1])
    assert models[0].read_bytes() == models[1].read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(three.read_bytes())))
    assert main(["learn", str(two), "-", "--quiet"]) == 2  # a pipe can't be read twice
    assert "--multiclass kesler" in capsys.readouterr().err


def test_label_sets_are_learned(tmp_path: Path, capsys: Capture) -> None:
    sets, lines, model = tmp_path / "sets.svm", tmp_path / "sets.jsonl", tmp_path / "m.model"
    sets.write_text("1,3 1:1 3:1\n3 3:1\n1 1:1\n1,3 1:2 3:1\n")
    report = run_json(capsys, "learn", sets, "--passes", 4, "--save", model)
    assert (report["multiclass"], report["classes"]) == ("multi-label", 2)
    assert main(["predict", str(model), str(sets)]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == ["1,3", "3", "1", "1,3"]
    assert "(0 of " in shown.err
    lines.write_text(
        '{"label":["a","b"],"x":1,"w":1}\n{"label":[],"z":1}\n{"label":["b"],"w":1}\n{"label":"a","x":1}\n'
    )
    report = run_json(capsys, "learn", lines, "--passes", 6, "--save", model)
    assert (report["multiclass"], report["classes"]) == ("multi-label", 2)
    assert main(["predict", str(model), str(lines), "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines() == ["a,b", "", "b", "a"]
    assert main(["learn", str(sets), "--multiclass", "kesler", "--quiet"]) == 2
    assert f"{sets}:1: there must be one label" in capsys.readouterr().err


def test_label_trees_are_learned(tmp_path: Path, capsys: Capture) -> None:
    for separator in "/:":
        path, model = tmp_path / f"{ord(separator)}.tsv", tmp_path / "m.model"
        text = "pet/dog\tbig bark\npet/cat\tsoft purr\nwild/wolf\tbig howl\nwild/lynx\tsoft howl\n".replace(
            "/", separator
        )
        path.write_text(text)
        report = run_json(capsys, "learn", path, "--format", "text", "--passes", 9, "--save", model)
        assert (report["multiclass"], report["classes"]) == ("hierarchical", 4)
        assert main(["predict", str(model), str(path)]) == 0
        shown = capsys.readouterr()
        assert shown.out.split() == [line.split("\t")[0] for line in text.splitlines()]
        assert "tree loss 0.0000" in shown.err


RANKED = "".join(
    f"{grade} qid:{query} 1:{(grade + query) % 3 + 0.5} 2:{grade * 0.75 - query % 2} 3:{query % 5}\n"
    for query in range(12)
    for grade in (0, 2, 1)[: 1 + query % 3]
)


def test_queries_are_ranked(tmp_path: Path, capsys: Capture) -> None:
    path, model = tmp_path / "q.txt", tmp_path / "q.model"
    path.write_text(RANKED)
    report = run_json(capsys, "learn", path, "--save", model)
    assert (report["multiclass"], report["learner"], report["examples"]) == ("query-ranking", "arow", 12)
    assert main(["predict", str(model), str(path)]) == 0
    shown = capsys.readouterr()
    assert "12 queries, NDCG@10" in shown.err
    assert len(list(map(float, shown.out.split()))) == len(RANKED.splitlines())
    path.write_text(RANKED + "1 1:1\n")
    assert main(["learn", str(path), "--quiet"]) == 2
    assert f"{path}:{len(RANKED.splitlines()) + 1}: has no query" in capsys.readouterr().err


@pytest.mark.parametrize("block", [40, 100, 1 << 20])
def test_queries_are_not_split_by_blocks(block: int, tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_text(RANKED)
    model = QueryRanking(Perceptron(average=True))
    list(model._build_file_trainer(DataReader([str(path)], ReadOptions(block=block, threads=1))).learn_pass())
    rows = [line.split() for line in RANKED.splitlines()]
    X = np.zeros((len(rows), 4), np.float32)
    for i, row in enumerate(rows):
        for term in row[2:]:
            X[i, int(term.split(":")[0])] = float(term.split(":")[1])
    reference = QueryRanking(Perceptron(average=True))
    reference.partial_fit(X, [float(row[0]) for row in rows], [int(row[1][4:]) for row in rows])
    assert np.array_equal(model.coef_, reference.coef_)
    assert model.ledger_.as_dict() == reference.ledger_.as_dict()


def test_invalid_options_are_refused(tmp_path: Path, capsys: Capture) -> None:
    path, model = tmp_path / "a.svm", tmp_path / "m.model"
    path.write_text(svm(4, 30, 3))
    run_json(capsys, "learn", path, "--save", model)
    for arguments, sentence in (
        (("--decision", "tournament"), "--decision has no meaning for kesler"),
        (("--multiclass", "binary", "--update", "top"), "--update is for more than two classes"),
        (("--resume", model, "--multiclass", "ova"), "the settings 'multiclass' that differ"),
        (("--resume", model, "--update", "uniform"), "the settings 'update' that differ"),
        (("--learner", "winnow", "--threshold", 2), "Kesler takes learners for examples of either sign"),
    ):
        assert main(["learn", str(path), "--quiet", *map(str, arguments)]) == 2
        assert sentence in capsys.readouterr().err


def test_a_single_class_is_always_predicted(tmp_path: Path, capsys: Capture) -> None:
    path, model = tmp_path / "one.svm", tmp_path / "m.model"
    path.write_text("7 1:1\n7 2:1\n")
    assert run_json(capsys, "learn", path, "--multiclass", "kesler", "--save", model)["mistakes"] == 1  # it was new
    assert main(["predict", str(model), str(path), "--quiet"]) == 0
    assert capsys.readouterr().out.split() == ["7", "7"]
    assert to_bytes(load(model)) == model.read_bytes()
