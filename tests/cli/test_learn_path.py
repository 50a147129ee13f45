"""The modules that `novikoff learn train.svm` passes through, and what its start imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest

from novikoff.cli import learn
from novikoff.cli.main import build_parser, main

MAX_MODULES = 30
"""Of novikoff, between the call of the command and its return."""


def write_examples(path: Path) -> Path:
    path.write_text("".join(f"{(-1) ** i} 1:{i % 5} {2 + i % 3}:{i % 7}.5\n" for i in range(100)))
    return path


def test_learning_a_file_enters_few_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_examples(tmp_path / "train.svm")
    command = ["learn", str(data), "--quiet"]
    assert main(command) == 0  # modules and kernels are loaded
    options = build_parser(command).parse_args(command)
    entered = set()

    def record(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("novikoff."):
            entered.add(name.removeprefix("novikoff."))

    sys.setprofile(record)
    try:
        assert learn.run(options) == 0
    finally:
        sys.setprofile(None)
    assert {"cli.learn", "model_factory", "data.reader", "base.file_training"} <= entered
    assert len(entered) <= MAX_MODULES, f"{len(entered)}: {' '.join(sorted(entered))}"


def test_learning_a_file_does_not_import_numpy(tmp_path: Path) -> None:
    data = write_examples(tmp_path / "train.svm")
    code = (
        "import sys; from novikoff.cli.main import main; main(['learn', sys.argv[1], '--quiet']);"
        "print({'numpy', 'numba', 'difflib'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code, str(data)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
