"""Files, pipes and archives: read whole or in blocks of any size, or refused with a reason."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard

import novikoff
from novikoff import InputError
from novikoff.cli.main import main
from novikoff.data import text_source
from novikoff.data.formats import svmlight
from novikoff.data.parallel import run_in_order
from tests.helpers.read_files import read_files

LINES = "".join(f"{1 if k % 3 else -1} {k % 7 + 1}:{k}.5 {k % 5 + 10}:1\n" for k in range(1, 400)).encode()
PACKERS = {
    "gz": gzip.compress,
    "zst": zstandard.ZstdCompressor().compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
}


@pytest.mark.parametrize("kind", PACKERS)
def test_compressed_files_are_detected_by_content(kind: str, tmp_path: Path) -> None:
    plain, packed, parts = tmp_path / "a.svm", tmp_path / "b.svm", tmp_path / "c.svm"
    plain.write_bytes(LINES)
    packed.write_bytes(PACKERS[kind](LINES))
    half = LINES.index(b"\n", len(LINES) // 2) + 1
    parts.write_bytes(PACKERS[kind](LINES[:half]) + PACKERS[kind](LINES[half:]))
    expected = read_files(plain)
    for path in (packed, parts):
        got = read_files(path, block=500)
        assert got["rows"] == expected["rows"]
        assert [w.rpartition(":")[2] for w in got["where"]] == [w.rpartition(":")[2] for w in expected["where"]]


@pytest.mark.parametrize("kind", PACKERS)
def test_a_broken_archive_is_reported(kind: str, tmp_path: Path) -> None:
    path, model = tmp_path / "broken.svm", tmp_path / "m.model"
    model.write_bytes(b"as it was")
    content = bytearray(PACKERS[kind](LINES))
    path.write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(InputError, match=r"broken\.svm: (can't be read to its end|was truncated)|:\d+: "):
        read_files(path)
    assert main(["learn", str(path), "--save", str(model), "--quiet"]) == 2
    assert model.read_bytes() == b"as it was"


def test_a_file_that_shrinks_during_reading_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "shrinks.svm"
    path.write_bytes(LINES * 400)
    reading = iter(novikoff.read(path, block=1 << 17, threads=1, features=20))
    next(reading)
    os.truncate(path, 1000)
    with pytest.raises(InputError, match="was truncated while it was read"):
        list(reading)


@pytest.mark.parametrize("when", ["at the first look", "in a span", "in a block"])
def test_a_disk_error_is_reported(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = "vw" if when == "in a block" else "svm"
    path, model = tmp_path / f"bad-disk.{kind}", tmp_path / "m.model"
    path.write_bytes(LINES if kind == "svm" else b"1 | a b\n-1 | c\n" * 100)
    model.write_bytes(b"as it was")

    def fails(*_: Any) -> int:
        raise OSError(5, "Input/output error")

    class BadDisk:
        """A file that can be opened but not read."""

        def __init__(self, file: Any) -> None:
            self.file, self.readinto = file, fails

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    if when == "in a block":
        made = text_source.TextSource.__init__
        monkeypatch.setattr(
            text_source.TextSource, "__init__", lambda self, title, file, **o: made(self, title, BadDisk(file), **o)
        )
    elif when == "in a span":  # like compiled code does
        monkeypatch.setattr(svmlight, "parse_span", lambda *_: (-1, 0, 0, 0))
        monkeypatch.setattr(text_source.os, "preadv", fails)
    else:
        monkeypatch.setattr(text_source.os, "pread", fails)
    assert main(["learn", str(path), "--save", str(model), "--quiet"]) == 2
    assert f"bad-disk.{kind}: can't be read to its end: Input/output error." in capsys.readouterr().err
    assert model.read_bytes() == b"as it was"


def test_a_stream_is_followed_as_it_arrives(tmp_path: Path) -> None:
    """Each prediction arrives before the next example is sent."""
    data, model = tmp_path / "a.svm", tmp_path / "m.model"
    data.write_bytes(LINES)
    assert main(["learn", str(data), "--save", str(model), "--quiet"]) == 0
    for threads in ("1", "2"):
        command = [sys.executable, "-m", "novikoff", "predict", str(model), "-", "--quiet", "--threads", threads]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for _ in range(3):
                process.stdin.write(b"1 3:2.5\n1 ")
                assert process.stdout.readline().strip() in (b"1", b"-1")
                process.stdin.write(b"10:1\n")
                assert process.stdout.readline().strip() in (b"1", b"-1")
            process.stdin.close()
            assert process.stdout.read() == b""
            assert process.wait() == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_output_pipe_ends_the_run(unbuffered: str, tmp_path: Path) -> None:
    data, model = tmp_path / "a.svm", tmp_path / "m.model"
    data.write_bytes(LINES * 200)
    assert main(["learn", str(data), "--save", str(model), "--quiet"]) == 0
    command = f"{sys.executable} -m novikoff predict {model} {data} --quiet | head -1; exit ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert done.stderr == ""


@pytest.mark.parametrize("places", [1, 2, 4])
def test_results_come_in_order(places: int) -> None:
    left = iter(range(50))
    lock = threading.Lock()

    def take(place: list[int]) -> bool:
        with lock:
            place[:] = [k] if (k := next(left, None)) is not None else []
        return bool(place)

    def do(place: list[int]) -> int:
        time.sleep(0.001 * (place[0] * 7 % 3))
        return place[0]

    assert list(run_in_order([[] for _ in range(places)], take, do)) == list(range(50))


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("where", ["take", "do"])
def test_errors_are_raised_in_order(places: int, where: str) -> None:
    numbers = iter(range(20))

    def take(place: list[int]) -> bool:
        place[:] = [next(numbers)]
        if where == "take" and place[0] == 7:
            raise InputError("seven")
        return True

    def do(place: list[int]) -> int:
        if where == "do" and place[0] == 7:
            raise InputError("seven")
        return place[0]

    results = run_in_order([[0] for _ in range(places)], take, do)
    assert [next(results) for _ in range(7)] == list(range(7))
    with pytest.raises(InputError, match="seven"):
        next(results)


def test_formats_are_detected_by_name_and_content(tmp_path: Path) -> None:
    from novikoff.data.formats import detect_format

    for title, head, expected in [
        ("x.svm", b"", "svmlight"),
        ("x.libsvm.gz", b"", "svmlight"),
        ("x.vw.zst", b"", "vw"),
        ("X.CSV", b"", "csv"),
        ("x", b"1 2:3 4:5\n", "svmlight"),
        ("x", b"# c\n-1 qid:3 1:0.5 # d\n", "svmlight"),
        ("x", b"1 |a b c\n", "vw"),
        ("x", b"|a b:2\n", "vw"),
        ("x", b'{"label": 1}\n', "jsonl"),
        ("x", b"a,b,c\n1,2,3\n", "csv"),
        ("x", b"a\tb\tc\n", "tsv"),
        ("x", b"spam\twin some money\n", "text"),
        ("x.txt", b"PAR1....", "parquet"),
    ]:
        assert detect_format(title, head) == expected, (title, head)
    with pytest.raises(InputError, match="can't tell its format"):
        detect_format("x", b"what is this\n")
