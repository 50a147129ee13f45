"""Options for reading data: what a resumed run takes over, what is counted, what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import novikoff
from novikoff import InputError
from novikoff.cli.main import main
from tests.helpers.read_files import read_files


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--quiet", "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def run_refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments, "--quiet"]) == 2
    return capsys.readouterr().err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.vw").write_text("1 |n x y |m z\n-1 |n y |m u:2\n" * 10)
    Path("b.vw").write_text("-1 |n w |m z\n1 |n x |m v:0.5\n" * 10)
    Path("a.svm").write_text("1 1:2\n-1 2:1\n1 3:1 4:0.5\n")
    return tmp_path


@pytest.mark.parametrize(
    "options", [[], ["--hash-bits", "0"], ["--keep-names"], ["--interactions", "nm"], ["--signed-hash"]]
)
def test_learning_two_files_equals_resuming_after_the_first(folder: Path, options: list[str]) -> None:
    assert main(["learn", "a.vw", "b.vw", *options, "--save", "both", "--quiet"]) == 0
    assert main(["learn", "a.vw", *options, "--save", "one", "--quiet"]) == 0
    assert main(["learn", "b.vw", *options, "--resume", "one", "--save", "one", "--quiet"]) == 0
    assert Path("one").read_bytes() == Path("both").read_bytes()


def test_resuming_with_other_reading_options_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "a.vw", "--save", "m", "--quiet"]) == 0
    assert "leave out --hash-bits" in run_refused(capsys, "learn", "b.vw", "--hash-bits", "10", "--resume", "m")
    assert "leave out --signed-hash" in run_refused(capsys, "predict", "m", "b.vw", "--signed-hash")


@pytest.mark.parametrize(
    "options",
    [["--label", "x"], ["--text", "x"], ["--word-ngrams", "3"], ["--interactions", "ab"], ["--delimiter", ";"]],
)
def test_options_without_effect_are_refused(
    folder: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"{options[0]} has no meaning for svmlight" in run_refused(capsys, "learn", "a.svm", *options)


def test_numbers_out_of_range_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options in (["--hash-bits", "40"], ["--hash-bits", "-1"], ["--threads", "0"], ["--keep-names=-5"]):
        assert "but is" in run_refused(capsys, "learn", "a.vw", *options)
    for wrong in ({"hash_bits": 40}, {"block": 0}, {"threads": 0}, {"bad_lines": "what"}):
        with pytest.raises(InputError, match="but is"):
            novikoff.read("a.vw", **wrong)  # type: ignore[arg-type]


def test_bad_lines_are_counted_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.svm").write_text("1 1:2\n1 x:1\n-1 2:1\n0.5 1:1\n")
    for more in ([], ["--passes", "3"], ["--cache"], ["--cache"], ["--cache", "--passes", "2"]):
        report = run_json(capsys, "learn", "bad.svm", "--bad-lines", "skip", *more)
        assert report["bad_lines"] == {"index": 1, "label": 1}, more
    assert "bad_lines" not in run_json(capsys, "learn", "a.svm", "--bad-lines", "skip")


def test_a_label_with_the_name_of_the_rest_class_is_a_label(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mail.txt").write_text("not spam\thello you\nspam\twin money\nham\tgood day\n")
    assert "mail.txt:3: Only binary classification" in run_refused(
        capsys, "learn", "mail.txt", "--format", "text", "--multiclass", "binary"
    )
    assert main(["learn", "mail.txt", "--format", "text", "--positive-label", "spam", "--save", "m", "--quiet"]) == 0
    assert novikoff.load("m").classes_.tolist() == ["not spam", "spam"]
    assert main(["learn", "mail.txt", "--resume", "m", "--quiet"]) == 0


def test_the_positive_label_must_occur(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no example has that label" in run_refused(capsys, "learn", "a.svm", "--positive-label", "7")


def test_many_labels_are_read_quickly(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("many.svm").write_text("".join(f"{k} {k % 50 + 1}:1\n" for k in range(20_000)))
    report = run_json(capsys, "learn", "many.svm", "--positive-label", "3")
    assert report["examples"] == 20_000
    assert report["seconds"] < 30


def test_features_with_equal_names_are_one_column(folder: Path) -> None:
    Path("twice.jsonl").write_text('{"label": 1, "a": "b", "a=b": 1}\n{"label": 0, "c": 1}\n')
    got = read_files("twice.jsonl", hash_bits=0)
    assert got["names"] == ["a=b", "c"]
    assert [row[0] for row in got["rows"]] == [[0], [1]]
    assert np.frombuffer(got["rows"][0][1], np.float32).tolist() == [2.0]
    Path("latin.vw").write_bytes(b"1 | \xe9 \xe8 x\n-1 | y\n")
    assert read_files("latin.vw", hash_bits=0)["names"] == ["\\xe9", "\\xe8", "x", "y"]


@pytest.mark.parametrize("block", [200, 5000, 1 << 20])
def test_interactions_of_long_lines_are_limited(folder: Path, block: int) -> None:
    """Some lines need more features than the first buffer holds, and some need too many."""
    rng = np.random.default_rng(0)
    sizes = [5, 300, 700, 300, 800, 2, 500] * 3
    rows = [f"1 |a {' '.join(f'f{j}' for j in rng.choice(10**6, n, replace=False))}" for n in sizes]
    Path("long.vw").write_text("\n".join(rows))
    files = novikoff.read("long.vw", interactions=("aa",), hash_bits=24, block=block, bad_lines="skip")
    X, _ = files.to_arrays()
    fits = [n for n in sizes if n * (n - 1) // 2 <= 1 << 18]
    assert files.skipped == {"interactions": len(sizes) - len(fits)}
    counts = np.asarray(np.abs(X).sum(axis=1)).ravel().tolist()  # nothing is lost where slots are shared
    assert counts == [n + n * (n - 1) // 2 for n in fits]


def test_pipes_are_read_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    assert "can be read once only" in run_refused(capsys, "learn", "pipe", "--passes", "2")
    assert "can be read once only" in run_refused(capsys, "learn", "-", "--passes", "2")


def test_devices_are_not_replaced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    assert "is not a file" in run_refused(capsys, "learn", "a.svm", "--save", "pipe")
    assert not Path("pipe").is_file()


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_closed_streams_give_no_traceback(folder: Path, closed: str) -> None:
    data = "-" if closed == "<&-" else "a.svm"
    command = f"{sys.executable} -m novikoff learn {data} --quiet {closed}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if closed == "<&-" else 0)


def test_a_non_blocking_pipe_is_read(folder: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "r, w = os.pipe()\n"
        "os.set_blocking(r, False)\n"
        "child = subprocess.Popen([sys.executable, '-m', 'novikoff', 'learn', '-', '--format', 'svmlight', '--quiet',"
        " '--json'], stdin=r)\n"
        "os.write(w, b'1 1:1\\n-1 2:1\\n')\n"
        "time.sleep(2)\n"
        "os.write(w, b'1 1:1\\n' * 10)\n"
        "os.close(w)\n"
        "sys.exit(child.wait())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["examples"] == 12
