"""Usage errors are one line with a suggestion, and outputs may be streams."""

from __future__ import annotations

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
