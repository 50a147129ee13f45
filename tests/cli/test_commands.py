"""The commands learn, predict, inspect and completion."""

from __future__ import annotations

import gzip
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer

import novikoff
from novikoff import learner_registry
from novikoff.cli.main import COMMANDS, main
from novikoff.data import datasets
from tests.helpers.streams import csr, real

TABLES_ONLY = ("halving",)  # must know the number of features in advance
LINES = "+1 1:1 3:0.5 # a comment\n-1 2:1 3:0.25\n\n1 1:2\n-1 2:3 9:1e-3\n"


def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "novikoff", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.svm"
    path.write_text(LINES)
    return path


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_learn_reports_the_documented_keys(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = run_json(capsys, "learn", str(data), "--quiet")
    keys = "learner examples features mistakes updates progressive_error seconds examples_per_second radius"
    assert list(out) == [*keys.split(), "read", "notes", "warnings"]
    assert (out["examples"], out["features"], out["learner"]) == (4, 10, "auto")


@pytest.mark.parametrize("name", [name for name in learner_registry.names() if name not in TABLES_ONLY])
def test_every_learner_learns_predicts_and_is_inspected(
    name: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(tmp_path / "m.model")
    extra = {"p-norm-perceptron": ["--p", "3"], "winnow": ["--threshold", "2"], "winnow-r": ["--threshold", "2"]}
    if learner_registry.learner_class(name)()._spec().feature_range[0] > -math.inf:
        data.write_text("+1 1:1 3:1\n-1 2:1 3:1\n+1 1:1\n-1 2:1 9:1\n")
    assert main(["learn", str(data), "--learner", name, "--save", model, "--quiet", *extra.get(name, [])]) == 0
    assert "mistakes" in capsys.readouterr().out
    assert main(["predict", model, str(data), "--scores", "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    loaded = novikoff.load(model)
    assert len(lines) == 4
    assert [line.split("\t")[0] for line in lines] == [str(loaded.predict_one(x)) for x in examples(data)]
    out = run_json(capsys, "inspect", model)
    assert out["ledger"]["examples"] == 4
    assert main(["inspect", model]) == 0
    assert main(["inspect", model, "--top", "0"]) == 0


def examples(data: Path) -> list[dict[int, float]]:
    lines = (line.partition("#")[0].split()[1:] for line in data.read_text().splitlines() if line)
    return [{int(j): float(v) for j, v in (term.split(":") for term in line)} for line in lines]


TABLE = "label,a,b,c\n1,1,0,1\n0,0,1,1\n1,1,1,0\n0,0,0,1\n"


@pytest.mark.parametrize(
    ("name", "settings", "shown"),
    [
        ("halving", ["--hypotheses", "disjunctions"], "hypotheses are left"),
        ("halving", ["--low", "0", "--high", "1", "--steps", "3"], "hypotheses are left"),
        ("winnow", [], "intercept   "),
        ("winnow", ["--negations", "--floor", "0.5"], "intercept   "),
        ("elimination", ["--k", "2"], "(a) ∧"),
        ("rectangle", [], "1 ≤ a ≤ 1"),
    ],
)
def test_learners_with_fixed_features_take_them_from_a_table(
    name: str, settings: list[str], shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = tmp_path / "t.csv", str(tmp_path / "m.model")
    data.write_text(TABLE)
    learn = ["learn", str(data), "--learner", name, *settings, "--quiet"]
    assert main([*learn, "--save", model]) == 0
    capsys.readouterr()
    assert main(["predict", model, str(data), "--quiet"]) == 0
    predicted = capsys.readouterr().out.split()
    rows = [{"a": 1, "c": 1}, {"b": 1, "c": 1}, {"a": 1, "b": 1}, {"c": 1}]
    assert predicted == [str(novikoff.load(model).predict_one(x)) for x in rows]
    assert main(["inspect", model]) == 0
    assert shown in capsys.readouterr().out
    assert main(["learn", str(data), "--resume", model, "--learner", name, *settings, "--quiet"]) == 0


def test_winnow_r_is_winnow_with_a_floor(tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data.write_text("+1 1:1 3:1\n-1 2:1 3:1\n+1 1:1\n-1 2:1 9:1\n")
    model = str(tmp_path / "m.model")
    assert main(["learn", str(data), "--learner", "winnow-r", "--threshold", "2", "--save", model, "--quiet"]) == 0
    assert novikoff.load(model).floor == 0.5
    assert main(["learn", str(data), "--learner", "winnow-r", "--resume", model, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["learn", str(data), "--learner", "winnow-r", "--floor", "0.2", "--resume", model, "--quiet"]) == 2
    assert "settings 'floor' that differ" in capsys.readouterr().err


def test_a_value_out_of_range_is_named_by_line_or_skipped(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data.write_text("+1 1:1 3:1\n-1 2:1 3:4\n+1 1:1\n-1 2:1 9:1\n+1 1:-1\n")
    learn = ["learn", str(data), "--learner", "winnow", "--threshold", "2", "--quiet"]
    assert main(learn) == 2
    assert f"{data}:2: Winnow takes numbers from 0 to 1, but column 3 has 4.0: scale" in capsys.readouterr().err
    out = run_json(capsys, *learn, "--bad-lines", "skip")
    assert (out["examples"], out["bad_lines"]) == (3, {"range": 2})
    assert main(["learn", str(data), "--learner", "winnow", "--quiet"]) == 2
    assert "the threshold is n: set it to a number" in capsys.readouterr().err
    assert main(["learn", str(data), "--learner", "p-norm-perceptron", "--quiet"]) == 2
    assert "p must be given" in capsys.readouterr().err


def test_resuming_equals_learning_both_files_at_once(tmp_path: Path, data: Path) -> None:
    more = tmp_path / "more.svm"
    more.write_text("-1 4:1\n+1 1:1 20:2\n")
    a, both = str(tmp_path / "a.model"), tmp_path / "both.model"
    for learner in ("perceptron", "sgd", "voted-perceptron"):
        base = ["--learner", learner, "--quiet"]
        assert main(["learn", str(data), "--save", a, *base]) == 0
        assert main(["learn", str(more), "--resume", a, "--save", a, "--quiet"]) == 0
        assert main(["learn", str(data), str(more), "--save", str(both), *base]) == 0
        assert Path(a).read_bytes() == both.read_bytes()


def test_resume_refuses_other_settings(tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "m.model")
    main(["learn", str(data), "--learner", "perceptron", "--save", model, "--quiet"])
    assert main(["learn", str(data), "--resume", model, "--average"]) == 2
    assert "is resumed with the settings that it began with" in capsys.readouterr().err
    assert main(["learn", str(data), "--resume", model, "--learner", "sgd"]) == 2
    assert main(["learn", str(data), "--learner", "sgd", "--loss", "hinge", "--save", model, "--quiet"]) == 0
    capsys.readouterr()
    out = run_json(capsys, "learn", str(data), "--resume", model, "--loss", "hinge", "--quiet")
    assert out["examples"] == 8
    assert out["examples_per_second"] == pytest.approx(4 / out["seconds"])


def test_file_gzip_and_standard_input_give_the_same_bytes(tmp_path: Path) -> None:
    X, y = real(0, rows=5000, columns=8, kind=np.float32)
    plain, packed = tmp_path / "d.svm", tmp_path / "d.svm.gz"
    dump_svmlight_file(X, y, str(plain))
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    models = [tmp_path / f"{k}.model" for k in range(3)]
    run("learn", str(plain), "--save", str(models[0]), "--quiet")
    run("learn", str(packed), "--save", str(models[1]))
    run("learn", "-", "--save", str(models[2]), stdin=plain.read_text())
    contents = {m.read_bytes() for m in models}
    assert len(contents) == 1
    array = novikoff.Auto(shuffle=False).fit(csr(X), y)
    assert novikoff.load(models[0]).ledger_.mistakes == array.ledger_.mistakes


def test_built_in_streams_can_be_learned(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for title in datasets.DATASETS:
        label = datasets.DATASETS[title].labels[0]
        out = run_json(capsys, "learn", title, "--positive-label", label, "--quiet")
        assert out["features"] == len(datasets.DATASETS[title].names)
    model = str(tmp_path / "m.model")
    assert main(["learn", "breast-cancer", "--no-shuffle", "--save", model, "--quiet"]) == 0
    X, y = load_breast_cancer(return_X_y=True)
    expected = novikoff.Auto().partial_fit(X, y)
    assert (novikoff.load(model).coef_ == expected.coef_).all()
    capsys.readouterr()
    assert "worst area" in json.dumps(run_json(capsys, "inspect", model, "--top", "30"))


def test_one_label_against_the_rest_can_be_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "m.model")
    learn = ["learn", "digits", "--learner", "perceptron", "--average", "--passes", "3", "--save", model, "--quiet"]
    assert main([*learn, "--positive-label", "3"]) == 0
    capsys.readouterr()
    out = str(tmp_path / "out.txt")
    answer = run_json(capsys, "predict", model, "digits", "--output", out, "--quiet")
    assert set(Path(out).read_text().split("\n")) == {"3", "not 3", ""}
    assert answer["model_error"] < 0.05  # a tenth of the digits are threes: always "not 3" would err on 0.10
    assert main(["learn", "digits", "--resume", model, "--save", model, "--quiet"]) == 0
    assert novikoff.load(model).ledger_.examples == 4 * 1797
    assert main(["learn", "digits", "--resume", model, "--positive-label", "4", "--quiet"]) == 2


def test_standard_input_is_read_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "-", "--passes", "2"]) == 2
    assert "can be read once only" in capsys.readouterr().err


def test_output_works_in_an_ascii_terminal(data: Path) -> None:
    for encoding in ("ascii", "latin-1"):
        env = {**os.environ, "PYTHONIOENCODING": encoding}
        command = [sys.executable, "-m", "novikoff", "learn", str(data)]
        done = subprocess.run(command, capture_output=True, env=env, check=False)
        assert done.returncode == 0
        assert b"mistakes" in done.stdout


def test_a_file_takes_precedence_over_a_built_in_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("iris").write_text(LINES)
    assert run_json(capsys, "learn", "iris", "--quiet")["examples"] == 4


def test_many_labels_are_an_error_for_two_classes_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "digits", "--multiclass", "binary"]) == 2
    assert "Only binary classification is supported" in capsys.readouterr().err
    assert main(["learn", "digits", "--json", "--quiet"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["multiclass"], report["classes"], report["examples"]) == ("kesler", 10, 1797)


def test_progress_is_printed_at_doubling_intervals(data: Path) -> None:
    done = run("learn", str(data), "--passes", "4")
    shown = [line.split()[0] for line in done.stderr.splitlines()]
    assert shown == ["reading", "label", "examples", "1", "2", "4", "8", "16"]
    assert "learner     auto" in done.stdout
    assert run("learn", str(data), "--quiet").stderr == ""


BAD_LINES = {
    "1 1:nan\n": "values must be finite",
    "1 1:inf\n": "values must be finite",
    "1 1:1e16\n": "values must be finite",
    "1 1:1_0\n": "expected index:value with a number as value",
    "1_0 1:1\n": "the label must be a number",
    "one 1:1\n": "the label must be a number, got 'one'",
    "0.5 1:1\n": "Labels must be classes, got 0.5",
    "nan 1:1\n": "the label must be a number",
    "1,2 1:1\n": "expected one label, got '1,2'",
    "1 a:1\n": "expected index:value",
    "1 -1:1\n": "expected index:value",
    "1 1:x\n": "expected index:value",
    "1 1\n": "expected index:value",
    "1 3 :5\n": "expected index:value",
    "1 3: 5\n": "expected index:value",
    "1:2 3\n": "the label must be a number",
    "1 2:3:4 5\n": "expected index:value",
    "1 1:\n": "expected index:value",
    "1 2:1 1:1\n": "indices must grow",
    "1 1:1 1:1\n": "indices must grow",
    "1 2147483647:1\n": "with an index from 0 to",
    "1 99999999999999999999:1\n": "with an index from 0 to",
    "\xff\xfe 1:1\n": "the label must be",
}


@pytest.mark.parametrize("line", BAD_LINES)
def test_a_bad_line_is_named_and_nothing_is_written(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, model = tmp_path / "bad.svm", tmp_path / "m.model"
    path.write_bytes(LINES.encode() + line.encode("latin-1"))
    model.write_bytes(b"as it was")
    assert main(["learn", str(path), "--save", str(model), "--quiet"]) == 2
    error = capsys.readouterr().err
    assert f"{path}:6: " in error
    assert BAD_LINES[line] in error
    assert model.read_bytes() == b"as it was"
    assert sorted(os.listdir(tmp_path)) == ["bad.svm", "m.model"]


def test_other_bad_input_is_refused(tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty, damaged = tmp_path / "empty.svm", tmp_path / "damaged.svm.gz"
    empty.write_text("")
    damaged.write_bytes(gzip.compress(LINES.encode() * 100)[:-9])
    comments, flipped = tmp_path / "comments.svm", tmp_path / "flipped.svm.gz"
    comments.write_text("# nothing\n\n# here\n")
    packed = bytearray(gzip.compress(LINES.encode() * 1000))
    packed[30] ^= 0xFF
    flipped.write_bytes(packed)
    one, model = tmp_path / "one.svm", tmp_path / "m.model"
    one.write_text("1 1:1\n1 2:1\n")
    model.write_bytes(b"no model")
    for arguments, message in [
        (["learn", str(empty)], "is empty"),
        (["learn", str(one)], "all labels are 1"),
        (["learn", str(comments)], "there are no examples in it"),
        (["learn", str(flipped)], "can't be read to its end"),
        (["learn", str(data), "--save", "."], "is a directory"),
        (["learn", str(data), "--save", str(tmp_path)], "is a directory"),
        (["learn", str(damaged)], "can't be read to its end"),
        (["learn", "nowhere.svm"], "no such file, and no built-in stream"),
        (["learn", str(tmp_path)], "directory"),
        (
            ["learn", str(data), "--learner", "perceptron", "--learning-rate", "-1"],
            "learning_rate must be a number above 0",
        ),
        (["learn", str(data), "--learner", "p-norm-perceptron", "--p", "1"], "p must be from 2"),
        (["learn", str(data), "--save", str(tmp_path / "no" / "folder")], "No such file"),
        (["predict", str(model), str(data)], "damaged or not a model file"),
        (["inspect", str(model)], "damaged or not a model file"),
        (["learn", str(data), "--resume", str(model)], "damaged or not a model file"),
    ]:
        assert main([*arguments, *(["--quiet"] if arguments[0] == "learn" else [])]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert "Traceback" not in error
    for arguments in (
        ["learn"],
        ["learn", str(data), "--learn", "sgd"],
        ["learn", str(data), "--learner", "unknown"],
        ["nothing"],
        ["learn", str(data), "--learning-rate", "x"],
    ):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2


def test_diverging_weights_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, model = tmp_path / "large.svm", tmp_path / "m.model"
    path.write_text("1 1:1e6\n-1 1:2e6\n" * 50)
    learn = ["learn", str(path), "--learner", "sgd", "--loss", "squared", "--schedule", "constant"]
    assert main([*learn, "--save", str(model), "--quiet"]) == 2
    assert "grew out of range at example" in capsys.readouterr().err
    assert not model.exists()


def test_predictions_are_written_to_a_file_with_json(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = str(tmp_path / "m.model"), tmp_path / "out.tsv"
    main(["learn", str(data), "--passes", "5", "--save", model, "--quiet"])
    capsys.readouterr()
    answer = run_json(capsys, "predict", model, str(data), "--output", str(out), "--quiet")
    low, high = answer.pop("model_error_interval")
    assert (low, round(high, 4)) == (0.0, 0.6024)  # 1 − 0.025^(1/4)
    assert answer == {
        "examples": 4, "labelled": 4, "errors": 0, "model_error": 0.0, "accuracy": 1.0, "delta": 0.05,
    }  # fmt: skip
    assert out.read_text() == "1\n-1\n1\n-1\n"
    assert main(["predict", model, str(data), "--json"]) == 2
    unseen = tmp_path / "unseen.svm"
    unseen.write_text("-1 2:1 1000:5\n")
    assert main(["predict", model, str(unseen)]) == 0
    assert capsys.readouterr().out == "-1\n"
    assert main(["predict", model, "iris"]) == 2


def test_help_has_examples_and_explains_each_setting(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], *([c, "--help"] for c in COMMANDS)):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
        assert "examples:" in capsys.readouterr().out
    for name in learner_registry.names():
        with pytest.raises(SystemExit):
            main(["learn", "--learner", name, "--help"])
        text = " ".join(capsys.readouterr().out.split())
        for setting in learner_registry.learner_class(name)._setting_defaults():
            assert f"--{setting.replace('_', '-')}" in text
            assert f"settings of {name}" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_scripts_are_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    options = ("--learner", "--resume", "--loss", "--gamma") if shell != "tcsh" else ()  # tcsh completes commands only
    for word in ("novikoff", "learn", *options):
        assert word in script


def test_bash_accepts_the_completion_script(tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(run("completion", "bash").stdout)
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_interrupt_ends_cleanly(tmp_path: Path) -> None:
    model = tmp_path / "m.model"
    command = [sys.executable, "-m", "novikoff", "learn", "-", "--save", str(model)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin is not None
    process.stdin.write(LINES * 5000)
    process.stdin.flush()
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; nothing was written" in error
    assert "Traceback" not in error
    assert os.listdir(tmp_path) == []


def test_a_closed_output_pipe_gives_no_traceback(tmp_path: Path) -> None:
    X, y = real(0, rows=20_000, columns=3)
    path, model = tmp_path / "d.svm", tmp_path / "m.model"
    dump_svmlight_file(X, y, str(path))
    assert run("learn", str(path), "--save", str(model), "--quiet").returncode == 0
    command = f"{sys.executable} -m novikoff predict {model} {path} --scores | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_the_command_line_imports_no_scikit_learn(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.model"
    code = (
        "import sys\n"
        "from novikoff.cli.main import main\n"
        f"for a in (['learn', {str(data)!r}, '--save', {str(model)!r}],\n"
        "          ['learn', 'iris', '--positive-label', 'setosa'],\n"
        f"          ['predict', {str(model)!r}, {str(data)!r}], ['inspect', {str(model)!r}]):\n"
        "    assert main(a) == 0\n"
        "heavy = {'sklearn', 'pandas', 'plotly', 'jinja2', 'rich'} & {m.partition('.')[0] for m in sys.modules}\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_novikoff_imports_nothing_heavy() -> None:
    code = "import sys, novikoff; dir(novikoff); assert not {'numpy', 'numba', 'sklearn'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
