"""Usage errors are one line with a suggestion, and outputs may be streams."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from novikoff.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["lern", "a.svm"], ["novikoff: unknown command 'lern'. Did you mean learn?", "see novikoff --help"]),
        (["zzz"], ["novikoff: unknown command 'zzz'", "see novikoff --help"]),
        (
            ["learn", "a.svm", "--sve", "m.model"],
            [
                "novikoff learn: unrecognized arguments: --sve m.model. Did you mean --save?",
                "see novikoff learn --help",
            ],
        ),
        (
            ["predict", "m.model"],
            ["novikoff predict: the following arguments are required: DATA", "see novikoff predict --help"],
        ),
        (
            ["cluster", "learn", "a.svm", "--round=3"],
            [
                "novikoff cluster learn: unrecognized arguments: --round=3. Did you mean --rounds?",
                "see novikoff cluster learn --help",
            ],
        ),
    ],
)
def test_a_usage_error_is_one_line_and_a_reference_to_the_help(
    arguments: list[str], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines() == lines


def test_results_can_be_written_to_standard_output(tmp_path: Path) -> None:
    data, model, stored = tmp_path / "a.svm", tmp_path / "a.model", tmp_path / "out.txt"
    data.write_text("1 1:1\n2 2:1\n" * 4)
    assert main(["learn", str(data), "--save", str(model), "--quiet"]) == 0
    command = [sys.executable, "-m", "novikoff", "predict", str(model), str(data), "--quiet"]
    plain = subprocess.run(command, capture_output=True, check=True).stdout
    assert plain.count(b"\n") == 8
    assert subprocess.run([*command, "-o", "/dev/stdout"], capture_output=True, check=True).stdout == plain
    with stored.open("wb") as file:
        file.write(b"before\n")
        file.flush()
        subprocess.run([*command, "-o", "/dev/stdout"], stdout=file, check=True)
        file.write(b"after\n")
    assert stored.read_bytes() == b"before\n" + plain + b"after\n"
    assert subprocess.run([*command, "-o", "/dev/null"], capture_output=True, check=True).stdout == b""


def test_help_of_learn_shows_common_options_and_help_all_shows_all(capsys: pytest.CaptureFixture[str]) -> None:
    shown = {}
    for arguments in (["--help"], ["--help-all"], ["--learner", "sgd", "--help"], ["--learner=sgd", "-h"]):
        with pytest.raises(SystemExit) as stop:
            main(["learn", *arguments])
        assert stop.value.code == 0
        shown[arguments[0] + arguments[-1]] = capsys.readouterr().out
    short, every, of_sgd, of_sgd_too = shown.values()
    assert of_sgd == of_sgd_too
    for option in ("--learner", "--save", "--test", "--holdout", "--help-all"):
        assert f"\n  {option}" in short
    for option in ("--decoding", "--word-ngrams", "--search-effort", "--early-stopping"):
        assert f"\n  {option} " in every
        assert f"\n  {option} " not in short
    assert "settings of sgd" in of_sgd
    assert "\n  --l2 " in of_sgd
    assert "settings of" not in short
    assert len(short.splitlines()) < len(every.splitlines()) / 2


ROWS_OF_PEOPLE = [{"age": 30 + k, "job": "nurse" if k % 3 else "pilot", "target": k % 2} for k in range(40)]


def write_people(path: Path) -> Path:
    lines = [json.dumps(row) for row in ROWS_OF_PEOPLE]
    if path.suffix == ".csv":
        lines = ["age,job,target", *(",".join(map(str, row.values())) for row in ROWS_OF_PEOPLE)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("name", "options", "end"),
    [
        (
            "a.csv",
            ["--label", "traget"],
            "--label must be a column (age, job, target) or a number up to 3, not 'traget'. Did you mean target?",
        ),
        (
            "a.csv",
            ["--ignore", "Age"],
            "--ignore must be a column (age, job, target) or a number up to 3, not 'Age'. Did you mean age?",
        ),
        ("a.csv", ["--weight", "zzz"], "--weight must be a column (age, job, target) or a number up to 3, not 'zzz'."),
        (
            "a.csv",
            ["--holdout", "0.5", "--holdout-by", "jbo"],
            "--holdout-by must be a column (age, job, target) or a number up to 3, not 'jbo'. Did you mean job?",
        ),
        (
            "a.jsonl",
            ["--label", "traget"],
            "--label must be a field (age, job, target), not 'traget'. Did you mean target?",
        ),
        ("a.jsonl", ["--label", "traget.kind"], "--label must be a field (age, job, target), not 'traget.kind'."),
        ("a.jsonl", ["--weight", "agee"], "--weight must be a field (age, job, target), not 'agee'. Did you mean age?"),
        (
            "a.jsonl",
            ["--holdout", "0.5", "--holdout-by", "jbo"],
            "--holdout-by must be a field (age, job, target), not 'jbo'. Did you mean job?",
        ),
    ],
)
def test_an_unknown_column_is_refused_in_one_line_with_a_suggestion(
    name: str, options: list[str], end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_people(tmp_path / name)
    assert main(["learn", str(path), *options, "--quiet"]) == 2
    assert capsys.readouterr().err.splitlines() == [f"novikoff: {path}: {end}"]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_an_unknown_column_of_evaluate_is_refused_with_a_suggestion(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, model = write_people(tmp_path / name), tmp_path / "a.model"
    assert main(["learn", str(path), "--save", str(model), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(model), str(path), "--by", "jop", "--quiet"]) == 2
    found = capsys.readouterr().err.splitlines()
    assert len(found) == 1
    assert "--by must be a" in found[0]
    assert "(age, job, target)" in found[0]
    assert found[0].endswith("not 'jop'. Did you mean job?")


def test_a_doubtful_field_is_named_with_a_suggestion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_people(tmp_path / "a.jsonl")
    assert main(["learn", str(path), "--ignore", "agge", "--quiet"]) == 0
    assert "no sampled line has the field 'agge'. Did you mean age?" in capsys.readouterr().err
