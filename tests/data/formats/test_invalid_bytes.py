"""Bytes that are not valid in data are refused with file and line, or skipped on request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from novikoff import InputError
from tests.helpers.read_files import read_files

GOOD = {
    "svmlight": [b"1 1:1 2:0.5", b"-1 3:2", b"1 7:0.25"],
    "vw": [b"1 |a x y:2", b"-1 |b z", b"1 |a x"],
    "text": [b"spam\tbuy now", b"ham\thello you", b"spam\tbuy it"],
}
SUFFIX = {"svmlight": ".svm", "vw": ".vw", "text": ".txt"}


def write(folder: Path, fmt: str, lines: list[bytes]) -> Path:
    path = folder / f"data{SUFFIX[fmt]}"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def places(line: bytes, byte: bytes) -> list[bytes]:
    """Yield the line with the byte at its start, in place of each blank, before its end and within words."""
    at = [0, *(k for k, b in enumerate(line) if b <= 32), len(line), len(line) - 1]
    return [line[:k] + byte + line[k:] for k in at] + [line[:k] + byte + line[k + 1 :] for k in at[1:-2]]


@pytest.mark.parametrize("fmt", GOOD)
@pytest.mark.parametrize("byte", [0, 1, 8, 11, 12, 14, 27, 31])
def test_control_bytes_are_refused_wherever_they_are(fmt: str, byte: int, tmp_path: Path) -> None:
    if fmt == "text" and byte:
        pytest.skip("only NUL is refused in text")
    for bad in places(GOOD[fmt][1], bytes([byte])):
        path = write(tmp_path, fmt, [GOOD[fmt][0], bad, GOOD[fmt][2]])
        with pytest.raises(InputError, match=rf"data{SUFFIX[fmt]}:2: a line must not contain"):
            read_files(path, format=fmt)
        assert len(read_files(path, format=fmt, bad_lines="skip")["rows"]) == 2


@pytest.mark.parametrize("fmt", GOOD)
def test_tabs_and_carriage_returns_at_the_end_of_a_line_are_fine(fmt: str, tmp_path: Path) -> None:
    plain = read_files(write(tmp_path, fmt, GOOD[fmt]), format=fmt)
    assert read_files(write(tmp_path, fmt, [line + b"\r" for line in GOOD[fmt]]), format=fmt) == plain
    if fmt != "text":
        assert read_files(write(tmp_path, fmt, [line.replace(b" ", b"\t") for line in GOOD[fmt]]), format=fmt) == plain


@pytest.mark.parametrize("fmt", ["svmlight", "vw"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_control_byte_is_found_in_any_line_of_a_long_file(fmt: str, threads: int, tmp_path: Path) -> None:
    lines = GOOD[fmt] * 40_000
    for at in (0, 77_777, len(lines) - 1):
        bad = [*lines]
        bad[at] = bad[at].replace(b" ", b"\0", 1)
        path = write(tmp_path, fmt, bad)
        with pytest.raises(InputError, match=rf":{at + 1}: a line must not contain"):
            read_files(path, format=fmt, threads=threads)


@pytest.mark.parametrize("fmt", ["svmlight", "vw"])
@pytest.mark.parametrize("label", [b"1000000000000001", b"9007199254740993", b"-1e16", b"1e300"])
def test_labels_above_1e15_are_refused(fmt: str, label: bytes, tmp_path: Path) -> None:
    line = label + GOOD[fmt][0][1:]
    path = write(tmp_path, fmt, [GOOD[fmt][0], line, GOOD[fmt][1]])
    with pytest.raises(InputError, match=r":2: labels must be numbers of size up to 1e15, got .* Renumber the labels"):
        read_files(path, format=fmt)
    assert len(read_files(path, format=fmt, bad_lines="skip")["rows"]) == 2
    largest = write(tmp_path, fmt, [b"1000000000000000" + GOOD[fmt][0][1:]])
    assert read_files(largest, format=fmt)["labels"] == [10**15]


def test_a_stream_whose_lines_are_all_skipped_is_an_error() -> None:
    command = [sys.executable, "-m", "novikoff", "learn", "-", "--bad-lines", "skip"]
    done = subprocess.run(command, check=False, input="0.5\n", capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "nothing to learn" in done.stderr or "no example" in done.stderr


@pytest.mark.parametrize("column", ["label", "word"])
@pytest.mark.parametrize("encoded", [False, True])
def test_parquet_texts_that_are_not_utf8_are_refused_by_row(column: str, encoded: bool, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = 60
    columns = {
        "label": [b"yes" if k % 2 else b"no" for k in range(rows)],
        "word": [[b"red", b"green", b"blue"][k % 3] for k in range(rows)],
    }
    columns[column][41] = b"\xff\xfe"
    texts = {name: arrow.array(values, arrow.binary()).view(arrow.string()) for name, values in columns.items()}
    if encoded:
        texts = {name: values.dictionary_encode() for name, values in texts.items()}
    path = tmp_path / "data.parquet"
    parquet.write_table(arrow.table({**texts, "size": np.arange(rows) % 7.0}), path)
    with pytest.raises(InputError, match=rf"42.*column '{column}' must be UTF-8 text, got b'\\xff\\xfe'"):
        read_files(path, label="label")
    assert len(read_files(path, label="label", bad_lines="skip")["rows"]) == rows - 1


@pytest.mark.parametrize("label", ["1000000000000001", "[1, 1000000000000001]", "9007199254740993", "-1e16"])
def test_large_labels_of_json_lines_are_refused(label: str, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(f'{{"label": {one}, "a": 2}}' for one in ("1", label, "2")) + "\n")
    with pytest.raises(InputError, match=r":2: numbers must be .* up to 1e15 \(write larger labels as strings\)"):
        read_files(path, format="jsonl")
    assert len(read_files(path, format="jsonl", bad_lines="skip")["rows"]) == 2


@pytest.mark.parametrize("label", [1e15 + 1, -2e15])
def test_large_labels_of_tables_are_refused(label: float, tmp_path: Path) -> None:
    labels = [1, 0, int(label), 1]
    path = tmp_path / "data.csv"
    path.write_text("y,a\n" + "".join(f"{one},{k}\n" for k, one in enumerate(labels)))
    expected = r"the label, column 'y', must be a number of size up to 1e15"
    with pytest.raises(InputError, match=f":4: {expected}"):
        read_files(path, label="y")
    assert len(read_files(path, label="y", bad_lines="skip")["rows"]) == 3
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"y": labels, "a": [0.0, 1.0, 2.0, 3.0]}), tmp_path / "data.parquet")
    with pytest.raises(InputError, match=f"3.*{expected}"):
        read_files(tmp_path / "data.parquet", label="y")


def test_whole_numbers_of_more_than_15_digits_are_texts_in_labelled_text(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_text("9007199254740993\tword\n9007199254740992\tother\n")
    assert read_files(path, format="text")["labels"] == ["9007199254740993", "9007199254740992"]
