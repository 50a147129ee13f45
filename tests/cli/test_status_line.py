"""The status line of long runs: percent and time left, on terminals only."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from novikoff.cli.main import main
from novikoff.cli.output import status_line
from novikoff.cli.output.status_line import ERASE, StatusLine, format_duration
from novikoff.data.formats.base import ReadOptions
from novikoff.data.reader import DataReader

ROWS = 4_000
TEXT = "".join(f"{1 + k % 2} {1 + k % 2}:1 {3 + k % 5}:0.{k:06}\n" for k in range(ROWS)).encode()
CSV = b"y,a,b\n" + b"".join(b"%d,%d,0.%06d\n" % (k % 2, k % 7, k) for k in range(ROWS))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Provide a terminal as stderr, and show each update."""
    found = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(status_line, "SECONDS_BEFORE_FIRST", 0.0)
    monkeypatch.setattr(status_line, "SECONDS_BETWEEN_UPDATES", 0.0)
    return found


def run(terminal: Terminal, command: list[str]) -> int:
    with contextlib.redirect_stderr(terminal):
        return main(command)


def read_percents(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"(\d+)%", text)]


def write_parquet(path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"y": [k % 2 for k in range(ROWS)], "a": [k % 7 for k in range(ROWS)]})
    parquet.write_table(table, path, row_group_size=500)


WRITERS: dict[str, Callable[[Path], Any]] = {
    "a.svm": lambda path: path.write_bytes(TEXT),
    "a.svm.gz": lambda path: path.write_bytes(gzip.compress(TEXT, 1)),
    "a.svm.bz2": lambda path: path.write_bytes(bz2.compress(TEXT)),
    "a.svm.xz": lambda path: path.write_bytes(lzma.compress(TEXT)),
    "a.csv": lambda path: path.write_bytes(CSV),
    "a.parquet": write_parquet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_fraction_of_each_kind_of_file_rises_to_all_of_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    reading = DataReader(
        [str(path), str(path)], ReadOptions(block=4096, threads=1, label="y" if "svm" not in name else None)
    )
    found = []
    for _ in reading.batches():
        found.append(reading.fraction_read())
    assert None not in found
    assert found == sorted(found)
    assert 0.0 < found[0] <= 0.5
    assert found[-1] == 1.0
    assert any(abs(f - 0.5) < 0.01 for f in found)
    assert len(set(found)) > 2 or name.endswith((".gz", ".bz2", ".xz", ".parquet"))  # these are read in large pieces


def test_the_fraction_of_a_cached_file_rises_too(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_bytes(TEXT)
    reading = DataReader([str(path)], ReadOptions(block=4096, threads=1, cache=True))
    for _ in range(2):  # the first pass writes the cache
        found = [reading.fraction_read() for _ in reading.batches()]
        assert found == sorted(found)
        assert found[-1] == 1.0


def test_pipes_and_builtin_streams_have_no_fraction(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    if os.fork() == 0:
        pipe.write_bytes(TEXT)
        os._exit(0)
    reading = DataReader([str(pipe)], ReadOptions())
    assert {reading.fraction_read() for _ in reading.batches()} == {None}
    os.wait()
    reading = DataReader(["breast-cancer"], ReadOptions())
    assert {reading.fraction_read() for _ in reading.batches()} == {None}


def test_learning_shows_percent_pass_and_time_left_on_a_terminal(tmp_path: Path, terminal: Terminal) -> None:
    path = tmp_path / "a.svm"
    path.write_bytes(TEXT * 200)
    command = ["learn", str(path), "--learner", "perceptron", "--passes", "2", "--threads", "1", "--json"]
    assert run(terminal, command) == 0
    shown = terminal.getvalue()
    percents = read_percents(shown)
    assert percents == sorted(percents)
    assert percents[0] < 50 < percents[-1] == 100
    assert "pass 1 of 2" in shown
    assert "pass 2 of 2" in shown
    assert re.search(r"\d s left", shown)
    for part in shown.split("\n")[:-1]:  # each line of progress begins after the status line is erased
        assert "left" not in part.split(ERASE)[-1]
    assert "left" not in shown.split(ERASE)[-1]


@pytest.mark.parametrize("change", ["quiet", "not a terminal", "dumb terminal", "short"])
def test_there_is_no_status_line_where_it_does_not_belong(
    change: str, tmp_path: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.svm"
    path.write_bytes(TEXT * 50)
    command = ["learn", str(path), "--learner", "perceptron", "--json"]
    if change == "quiet":
        command.append("--quiet")
    elif change == "not a terminal":
        monkeypatch.setattr(Terminal, "isatty", lambda _: False)
    elif change == "dumb terminal":
        monkeypatch.setenv("TERM", "dumb")
    else:
        monkeypatch.setattr(status_line, "SECONDS_BEFORE_FIRST", 60.0)
    assert run(terminal, command) == 0
    assert "%" not in terminal.getvalue()
    assert "\x1b" not in terminal.getvalue()


def test_predicting_and_evaluating_show_it_too(tmp_path: Path, terminal: Terminal) -> None:
    path, model = tmp_path / "a.csv", tmp_path / "a.model"
    path.write_bytes(CSV)
    assert main(["learn", str(path), "--save", str(model), "--quiet"]) == 0
    for command in (
        ["predict", str(model), str(path), "-o", str(tmp_path / "out")],
        ["evaluate", str(model), str(path)],
    ):
        terminal.seek(0)
        terminal.truncate()
        assert run(terminal, command) == 0
        assert read_percents(terminal.getvalue().split(ERASE)[1]) == [100]


def test_an_error_erases_the_status_line(tmp_path: Path, terminal: Terminal) -> None:
    path = tmp_path / "a.svm"
    path.write_bytes(TEXT * 100 + b"what is this\n")
    assert run(terminal, ["learn", str(path), "--learner", "perceptron", "--threads", "1"]) == 2
    *_, before, error = terminal.getvalue().split(ERASE)
    assert "left" in before or "%" in before
    assert "novikoff: " in error
    assert "%" not in error.split("novikoff: ")[0]


def test_a_closed_stderr_is_not_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (None, io.StringIO()):
        if stream is not None:
            stream.close()
        monkeypatch.setattr(sys, "stderr", stream)
        assert not StatusLine(DataReader([], ReadOptions())).is_active


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "0 s"), (59.6, "1:00 min"), (3599.7, "1:00:00 h")])
def test_durations_are_rounded_before_they_are_split(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
