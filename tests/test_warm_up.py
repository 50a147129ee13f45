"""`novikoff warm-up`: what it has compiled, later commands do not compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from novikoff.cli import warm_up
from novikoff.cli.main import main


def novikoff(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "novikoff", *arguments]
    env = {**os.environ, "NOVIKOFF_CACHE": str(cache)}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("only", "name", "text"),
    [
        ("txt", "mail.txt", "spam\tclaim the prize\nham\tat noon then\n" * 40),
        ("vw", "mail.vw", "1 |w claim prize:2\n-1 |w noon\n" * 40),
    ],
)
def test_nothing_is_left_to_compile(only: str, name: str, text: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    told = novikoff("warm-up", "--only", only, cache=cache)
    assert told.stderr.splitlines()[-1].split()[:3] == ["2", "of", "2"]
    assert told.stdout.startswith("ready in ")
    data, model = tmp_path / name, tmp_path / "m.model"
    data.write_text(text)
    for learner in ([], ["--learner", "perceptron"]):
        learned = novikoff("learn", str(data), *learner, "--save", str(model), cache=cache)
        guessed = novikoff("predict", str(model), str(data), cache=cache)
        assert "compiling" not in learned.stdout + learned.stderr + guessed.stderr


@pytest.mark.slow
def test_files_and_standard_input_are_both_compiled_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """svmlight files are read by compiled code, pipes are not."""
    cache, data = tmp_path / "cache", tmp_path / "a.svm"
    monkeypatch.setenv("NOVIKOFF_CACHE", str(cache))
    monkeypatch.setattr(warm_up, "_learners", lambda _: ["perceptron"])
    assert main(["warm-up", "--only", "svm", "--quiet"]) == 0
    data.write_text("1 1:1 2:0.5\n-1 3:1\n" * 100)
    command = [sys.executable, "-m", "novikoff", "learn", "--learner", "perceptron"]
    for title in (str(data), "-"):
        done = subprocess.run([*command, title], input=data.read_text(), capture_output=True, text=True, check=True)
        assert "examples    200" in done.stdout
        assert "compiling" not in done.stdout + done.stderr


def test_what_fails_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for learner in ("auto", "perceptron"):
        monkeypatch.setitem(warm_up.NEEDS, learner, ["--nonsense"])
    assert main(["warm-up", "--only", "vw", "--quiet"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("novikoff: warm-up failed: ")
    assert "unrecognized arguments: --nonsense" in told
