"""`novikoff generate` writes files that equal the streams."""

from __future__ import annotations

import inspect
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

import novikoff
from novikoff.cli.generate import OPTION_PARAMETERS
from novikoff.cli.main import main
from novikoff.data.rows import Dense, Rows
from novikoff.data.synthetic.concepts import CONCEPTS, BooleanStreamOptions, disjunction, linear_threshold
from novikoff.data.synthetic.worst_case import WORST_CASE_STREAMS
from novikoff.data.synthetic.writers import RowWriter
from novikoff.model_file import atomic_writer

EVERYTHING = CONCEPTS | WORST_CASE_STREAMS


def dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def plain_text(rows: Rows, y: Any, vw: bool) -> str:
    """Return the text of a stream by a slow reference of the writer."""
    lines = []
    for i, label in enumerate(y):
        if isinstance(rows, Dense):
            terms = [f" {j + 1}:{float(v)!r}" for j, v in enumerate(rows.values[i * rows.width :][: rows.width])]
        else:
            columns = rows.indices[rows.starts[i] : rows.starts[i + 1]]
            terms = [f" {j + 1}" if vw else f" {j + 1}:1" for j in columns]
        lines.append(f"{label}{' |' if vw else ''}{''.join(terms)}\n")
    return "".join(lines)


@settings(max_examples=40)
@given(st.integers(1, 1200), st.integers(1, 40), st.booleans(), st.booleans(), st.integers(0, 99))
def test_the_text_equals_that_of_the_slow_reference(n: int, examples: int, real: bool, vw: bool, seed: int) -> None:
    stream = (
        linear_threshold(n=n % 30 + 1, examples=examples, random_state=seed)
        if real
        else disjunction(n=n, k=1, density=seed / 99, examples=examples, random_state=seed)
    )
    text_of = RowWriter("vw" if vw else "svmlight", stream.truth.n)
    for rows, y in stream.blocks():
        assert text_of(rows, y).decode() == plain_text(rows, y, vw)


@pytest.mark.parametrize("concept", EVERYTHING)
def test_svmlight_files_read_back_exactly(concept: str, tmp_path: Path) -> None:
    path, truth = tmp_path / "data.svm", tmp_path / "truth.json"
    assert main(["generate", concept, "--output", str(path), "--truth", str(truth)]) == 0
    stream = EVERYTHING[concept]()
    X, y = stream.to_arrays()
    table, labels = novikoff.read(path, features=stream.truth.n + 1).to_arrays()
    assert (dense(table)[:, 1:] == dense(X).astype(np.float32)).all()
    assert not dense(table)[:, 0].any()
    assert (labels == y).all()
    theirs, their_labels = load_svmlight_file(str(path), n_features=stream.truth.n, zero_based=False)
    assert (dense(theirs) == dense(X)).all()
    assert (their_labels == y).all()
    assert json.loads(truth.read_text()) == json.loads(json.dumps(stream.truth.as_dict()))


@pytest.mark.parametrize("concept", ["disjunction", "rectangle", "drifting-disjunction"])
def test_vw_files_read_back_exactly(concept: str, tmp_path: Path) -> None:
    path = tmp_path / "data.vw"
    assert main(["generate", concept, "--format", "vw", "--output", str(path)]) == 0
    X, y = EVERYTHING[concept]().to_arrays()
    files = novikoff.read(path, hash_bits=0)
    table, labels = files.to_arrays()
    assert (labels == y).all()
    found = np.zeros(X.shape, np.float32)
    for column, name in enumerate(files.names or []):
        if name.isdigit():
            found[:, int(name) - 1] = dense(table)[:, column]
    assert (found == dense(X)).all()


def test_options_are_the_parameters(tmp_path: Path) -> None:
    path = tmp_path / "data.svm"
    options = (
        "--attributes 30 --relevant 4 --threshold 2 --examples 50 --density 0.2 --balance none --noise 0.1 --drift 3"
    )
    assert (
        main(["generate", "m-of-n", *options.split(), "--negated", "--random-state", "9", "--output", str(path)]) == 0
    )
    stream = CONCEPTS["m-of-n"](
        n=30, k=4, m=2, examples=50, density=0.2, balance=None, noise=0.1, drift=3, negated=True, random_state=9
    )
    X, y = stream.to_arrays()
    theirs, labels = load_svmlight_file(str(path), n_features=30, zero_based=False)
    assert (dense(theirs) == dense(X)).all()
    assert (labels == y).all()
    known = {p for make in EVERYTHING.values() for p in inspect.signature(make).parameters} - {"more"}
    assert known | set(BooleanStreamOptions.__annotations__) == set(OPTION_PARAMETERS.values())


def test_standard_output_equals_the_file(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "data.svm"
    assert main(["generate", "xor", "--output", str(path)]) == 0
    assert main(["generate", "xor"]) == 0
    out, err = capfdbinary.readouterr()
    assert out == path.read_bytes()
    assert err == b""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["xor", "--margin", "0.1"], "xor has no --margin: its options are --attributes, --relevant"),
        (["orthonormal", "--noise", "0.1", "--drift", "2"], "no --noise and no --drift"),
        (["disjunction", "--attributes", "3"], "at least 5, but is 3"),
        (["disjunction", "--noise", "7"], "from 0 to 1, but is 7.0"),
        (["disjunction", "--drift", "1000"], "at most 999"),
        (["drifting-disjunction", "--attributes", "100"], "a power of 2"),
        (["linear-threshold", "--margin", "nan"], "gamma"),
        (["disjunction", "--output", "nowhere/data.svm"], "No such file or directory"),
        (["disjunction", "--output", "same", "--truth", "./same"], "name two files"),
    ],
)
def test_invalid_parameters_give_a_one_line_error(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["generate", *arguments]) == 2
    out, err = capsys.readouterr()
    assert sentence in err
    assert (out, len(err.splitlines())) == ("", 1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["circle"], ["xor", "--balance", "often"], ["xor", "--examples", "many"]])
def test_bad_usage_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["generate", *arguments])
    assert stop.value.code == 2
    assert "invalid" in capsys.readouterr().err


def test_a_generated_pipe_is_learned_and_ends_when_the_reader_closes() -> None:
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    script = "novikoff generate disjunction --attributes 50 --examples 500 | novikoff learn - --json --quiet"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env, check=True)
    X, y = disjunction(n=50, examples=500).to_arrays()
    direct = novikoff.Auto().partial_fit(X, y, classes=[-1, 1]).ledger_
    assert json.loads(done.stdout)["mistakes"] == direct.mistakes
    began = time.perf_counter()
    script = "novikoff generate disjunction --examples 1000000000 | head -n 1; exit ${PIPESTATUS[0]}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, len(done.stdout.splitlines()), len(done.stderr.splitlines())) == (2, 1, 0)
    assert time.perf_counter() - began < 30


def test_progress_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("novikoff.cli.generate.PROGRESS_INTERVAL_SECONDS", 0.0)
    main(["generate", "disjunction", "--examples", "20000"])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    main(["generate", "disjunction", "--examples", "20000"])
    assert "20,000 of 20,000 examples" in capsys.readouterr().err
    main(["generate", "disjunction", "--examples", "20000", "--quiet"])
    assert capsys.readouterr().err == ""


def test_a_file_is_replaced_atomically(tmp_path: Path) -> None:
    path, link = tmp_path / "data.svm", tmp_path / "link"
    path.write_text("before")
    link.symlink_to(path)

    def write_interrupted() -> None:
        with atomic_writer(link) as write:
            write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_interrupted()
    assert path.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.svm", "link"]
    with atomic_writer(link) as write:
        write(b"af")
        write(b"ter")
    assert path.read_text() == "after"
    assert link.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.svm", "link"]
    assert stat.S_ISREG(path.stat().st_mode)


def test_the_writer_is_fast() -> None:
    """The limit is half of the target, so that the test does not fail on a busy machine."""
    stream = disjunction(n=1000, density=0.5, examples=4000)
    text_of = RowWriter("svmlight", 1000)
    blocks = list(stream.blocks())
    began = time.perf_counter()
    size = sum(len(text_of(rows, y)) for rows, y in blocks)
    assert size / (time.perf_counter() - began) > 25e6
