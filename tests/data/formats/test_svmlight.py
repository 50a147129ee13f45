"""svmlight: equal to scikit-learn on valid files, to a plain reference on all files, for any block size."""

from __future__ import annotations

import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

import novikoff
from novikoff import InputError
from novikoff.data.formats.svmlight import has_label_sets
from tests.helpers.read_files import read_files

pytestmark = pytest.mark.plain_python_coverage

NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")

CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f]")


def reference_rows(content: bytes) -> tuple[list[Any], dict[int, str]]:
    """Return (label, columns, float32 values, qid) of each good line, and the reason of each bad one, by line
    number."""
    rows, bad = [], {}
    for number, line in enumerate(content.split(b"\n")):
        if CONTROL.search(line.removesuffix(b"\r")):
            bad[number] = "control byte"
            continue
        words = [w for w in re.split(rb"[\x00-\x20]+", line.split(b"#")[0]) if w]
        if not words:
            continue
        try:
            rows.append(parse_line(words))
        except ValueError as problem:
            bad[number] = str(problem)
    return rows, bad


def parse_line(words: list[bytes]) -> Any:
    if b"," in words[0]:
        for part in words[0].split(b","):
            if not NUMBER.match(part):
                raise ValueError("label")
        raise ValueError("several labels")
    if not NUMBER.match(words[0]) or abs(float(words[0])) > 2.0**53:
        raise ValueError("label")
    columns: list[int] = []
    values: list[float] = []
    group, before = -1, -1
    for k, word in enumerate(words[1:]):
        name, colon, text = word.partition(b":")
        if colon and name == b"qid":
            if k > 0 or not text.isdigit() or len(text) > 18:
                raise ValueError("qid")
            group = int(text)
            continue
        if not colon or not re.fullmatch(rb"[0-9]{1,18}", name) or int(name) >= 2**31 - 1:
            raise ValueError("index")
        if not NUMBER.match(text):
            raise ValueError("range" if re.match(rb"[+-]?[nNiI]", text) else "value")
        if int(name) <= before:
            raise ValueError("order")
        if not abs(float(text)) <= 1e15:
            raise ValueError("range")
        before = int(name)
        if np.float32(float(text)) != 0.0:
            columns.append(before)
            values.append(float(text))
    return float(words[0]), columns, np.array(values, np.float32).tobytes(), group


def compare(content: bytes, tmp_path: Path, **options: Any) -> None:
    path = tmp_path / "data.svm"
    path.write_bytes(content)
    rows, bad = reference_rows(content)
    if not rows:
        with pytest.raises(InputError):
            read_files(path, bad_lines="skip", **options)
        return
    got = read_files(path, bad_lines="skip", **options)
    assert got["rows"] == [(columns, values) for _, columns, values, _ in rows]
    assert got["labels"] == [label for label, *_ in rows]
    assert got["groups"] == [group for *_, group in rows]
    assert sum(got["bad"].values()) == len(bad)
    assert {r: list(bad.values()).count(r) for r in bad.values()} == got["bad"]
    if bad:
        first = min(bad)
        with pytest.raises(InputError, match=re.escape(f"{path}:{first + 1}: ")):
            read_files(path, **options)


VALUES = st.one_of(
    st.floats(-1e15, 1e15, allow_nan=False).map(repr),
    st.floats(-10, 10).map(lambda v: f"{v:.6g}"),
    st.integers(-(10**17), 10**17).map(str),
    st.sampled_from(
        ["0", "-0", "1", ".5", "5.", "-.25", "1e-5", "+2", "000000000000001.5", "0.000000000000001", "1e-60"]
    ),
)
ODD_WORDS = "/:/1/x:1/1:x/1:/-1:2/1:2:3/qid:7/qid:x/2147483647:1/7:nan/7:-inf/8:1e16/99999999999999999999:1/12345678:1"
ODD_WORDS += "/5:1_0/5:0x1/é:1/1:\u0661/9:1111111111111111111111111111111111111/9:1e400"
STRANGE = st.sampled_from(ODD_WORDS.split("/"))
LABELS = st.sampled_from(
    ["1", "-1", "+1", "0", "2.5", "1e2", "-0.0", "1,2", "x", "", " 1", "nan", "12345678901234567890"]
)
BLANKS = st.sampled_from([" "] * 60 + ["  ", "\t", " \t "] * 6 + ["\0", "\r", " \x0b"])
ENDS = st.sampled_from(["", "", "", "", "", "", " ", "\r", " # end", "#", "\0", "\r\r", " \x1f", "# \x01"])


@st.composite
def lines(draw: st.DrawFn) -> str:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.sampled_from(["", "   ", "# comment", "\r", "\t#x"]))
    columns = sorted(draw(st.sets(st.integers(0, 40) | st.integers(0, 3 * 10**9), max_size=20)))
    words = [f"{j}:{draw(VALUES)}" for j in columns]
    if kind == 1:
        words.insert(draw(st.integers(0, len(words))), draw(STRANGE))
    if kind == 2:
        words.insert(0, f"qid:{draw(st.integers(0, 10**6))}")
    label = draw(LABELS) if kind == 3 else draw(st.sampled_from(["1", "-1", "+1", "0"]))
    text = label
    for word in words:
        text += draw(BLANKS) + word
    return text + draw(ENDS)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(lines(), max_size=12), last=st.booleans(), block=st.integers(64, 400), threads=st.sampled_from([1, 3])
)
def test_rows_equal_the_reference_in_blocks_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], last: bool, block: int, threads: int
) -> None:
    content = ("\n".join(rows) + ("\n" if last else "")).encode()
    assume(not has_label_sets(content))  # otherwise "1,2" is valid
    compare(content, tmp_path_factory.mktemp("svm"), block=block, threads=threads)


@pytest.mark.parametrize("seed", range(3))
def test_long_files_of_usual_lines_equal_the_reference(seed: int, tmp_path: Path) -> None:
    """Regular lines, which are parsed eight terms at a time, fill many blocks."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(3000):
        columns = np.sort(rng.choice(10 ** int(rng.integers(2, 7)), int(rng.integers(0, 40)), replace=False))
        values = rng.standard_normal(len(columns)) * 10.0 ** rng.integers(-6, 6)
        form = ["%.6g", "%.3f", "%r", "%d", "%.15g"][int(rng.integers(5))]
        rows.append(
            " ".join(
                [str(rng.choice([-1, 1])), *(f"{j}:{form % v}" for j, v in zip(columns, values.tolist(), strict=True))]
            )
        )
    content = "\n".join(rows).encode()
    compare(content, tmp_path, threads=2, block=1 << 14)
    X, y = load_svmlight_file(io.BytesIO(content), zero_based=True, dtype=np.float32)
    got_X, got_y = novikoff.read(tmp_path / "data.svm", features=X.shape[1]).to_arrays()
    assert (got_X != X).nnz == 0
    assert (got_y == y).all()


def test_every_block_boundary_gives_the_same_rows(tmp_path: Path) -> None:
    path = tmp_path / "data.svm"
    path.write_bytes("\ufeff1 1:0.5 2:1e-3\r\n\r\n-1 qid:3 7:2 # é comment\n\n+1 3:123456789.5 12345678:1 \n0".encode())
    whole = read_files(path)
    assert len(whole["rows"]) == 4
    assert whole["where"] == [f"{path}:{n}" for n in (1, 3, 5, 6)]
    for block in range(40, 140):
        for threads in (1, 2):
            assert read_files(path, block=block, threads=threads) == whole


def test_several_labels_are_read(tmp_path: Path) -> None:
    path = tmp_path / "many.svm"
    path.write_text("1,3,7 1:2\n 2:1\n5 3:1\n")
    got = read_files(path, multilabel=True, format="svmlight")
    assert got["sets"] == [[1.0, 3.0, 7.0], [], [5.0]]
    assert [r[0] for r in got["rows"]] == [[1], [2], [3]]
    batch = next(iter(novikoff.read(path, multilabel=True, features=10)))
    assert batch.labels == [[1.0, 3.0, 7.0], [], [5.0]]


def test_a_line_that_is_too_long_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.svm"
    with open(path, "wb") as file:
        file.write(b"1 1:1\n1")
        for start in range(0, 3_000_000, 1000):
            file.write("".join(f" {j}:1" for j in range(start, start + 1000)).encode())
        file.write(b"\n-1 1:1\n")
    with pytest.raises(InputError, match=r"has a line longer than 16 MiB, beginning with"):
        read_files(path)


def test_a_line_longer_than_a_block_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.svm"
    path.write_text("1 1:1\n-1" + "".join(f" {j}:0.5" for j in range(50_000)) + "\n1 2:1\n")
    got = read_files(path, block=1000, threads=2)
    assert [len(r[0]) for r in got["rows"]] == [1, 50_000, 1]
    assert got["where"][2] == f"{path}:3"


@pytest.mark.parametrize("text", ["0.1", "1.5e-3", "123456.789012345", "900719925474.0993", "0.30000000000000004"])
def test_values_are_the_nearest_double_then_the_nearest_float(text: str, tmp_path: Path) -> None:
    path = tmp_path / "one.svm"
    path.write_text(f"1 1:{text}\n")
    X, _ = novikoff.read(path, features=2).to_arrays()
    assert X.data[0] == np.float32(float(text))
    assert math.isfinite(X.data[0])
