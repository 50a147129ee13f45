"""`novikoff learn FILE 2>&1 | head` ends whenever the reader of the output closes the pipe."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

TIMEOUT_SECONDS = 30.0


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pipe") / "stream.jsonl"
    draw = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for _ in range(20_000):
            row = {"label": draw.randrange(2), "a": draw.random(), "b": draw.choice("xyz"), "c": draw.randrange(10)}
            file.write(json.dumps(row) + "\n")
    return path


def learn_into_closed_pipe(path: Path, lines: int) -> int:
    """Close the pipe that stdout and stderr share after some lines; return the exit code."""
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "novikoff", "learn", str(path), "--threads", "2"]
    with os.fdopen(reader, "rb") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer)
        os.close(writer)
        for _ in range(lines):
            output.readline()
    try:
        return process.wait(TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError(f"The process hung after its reader closed the pipe behind {lines} lines.") from None


def test_learning_ends_when_the_reader_closes_the_pipe(stream: Path) -> None:
    codes = {learn_into_closed_pipe(stream, run % 10) for run in range(30)}
    assert codes <= {0, 2}


@pytest.mark.slow
def test_learning_never_hangs_on_a_closed_pipe(stream: Path) -> None:
    codes = {learn_into_closed_pipe(stream, run % 12) for run in range(1000)}
    assert codes <= {0, 2}


def test_finalization_does_not_wait_for_parser_threads(stream: Path) -> None:
    """A program that keeps a partly read reader in a global variable also ends."""
    code = (
        "from novikoff.data.reader import DataReader, ReadOptions\n"
        f"batches = DataReader([{str(stream)!r}], ReadOptions(threads=2)).batches()\n"
        "kept = next(iter(batches))\n"
        "raise SystemExit(5)\n"
    )
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], check=False, timeout=TIMEOUT_SECONDS, capture_output=True)
        assert done.returncode == 5, done.stderr
