"""Files read in spans and tiles give the same lines as in one read, for any boundaries."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import novikoff
from novikoff import InputError
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data import text_source
from novikoff.data.formats import svmlight
from novikoff.data.formats.svmlight_parser import Tile, allocate_marks
from novikoff.data.line_reader import NO_LINES, allocate_tile_text, read_lines
from novikoff.data.text_source import FileSpan, TextBlock, open_source
from tests.helpers.read_files import read_files

CONTENTS = st.lists(st.sampled_from([b"", b"a", b"bc", b"0123456789", b"x" * 30]), max_size=30).map(b"\n".join)
LINES = "".join(f"{1 if k % 3 else -1} {k % 7 + 1}:{k}.5 {k % 5 + 10}:1\n" for k in range(1, 400)).encode()


def spans_of(path: Path, size: int) -> list[bytes]:
    """Return the texts of all spans, as blocks receive them."""
    with open_source(str(path)) as found:
        block, texts = TextBlock(1), []
        for span in found.spans(size):
            span.fill(block)
            texts.append(block.text[PADDING_BYTES : block.stop].tobytes())
        return texts


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tiles") / "lines"


@given(content=CONTENTS, size=st.integers(1, 100), small=st.integers(1, 40), probe=st.integers(1, 20))
def test_spans_are_whole_lines_and_all_of_them(content: bytes, size: int, small: int, probe: int, place: Path) -> None:
    place.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_source, "MIN_SPAN_BYTES", small)
        patch.setattr(text_source, "PROBE_BYTES", probe)
        texts = spans_of(place, size)
    assert b"".join(texts) == (content if not content or content.endswith(b"\n") else content + b"\n")
    assert all(text.endswith(b"\n") for text in texts)
    assert all(text.rfind(b"\n", 0, -1) < size for text in texts), "the last line of a span begins within its size"


@given(content=CONTENTS.filter(bool), size=st.integers(1, 60), start=st.integers(0, 50))
def test_tiles_are_whole_lines(content: bytes, size: int, start: int, place: Path) -> None:
    """Reading starts at any line and returns as many lines as fit."""
    place.write_bytes(content)
    start = content.rfind(b"\n", 0, start) + 1
    text, stop = allocate_tile_text(size), len(content)
    with open(place, "rb") as file:
        end = read_lines(file.fileno(), start, stop, text) if start < stop else PADDING_BYTES
    rest = content[start:]
    last = rest.rfind(b"\n", 0, size) + 1
    expected = rest if len(rest) <= size else rest[:last]
    if rest and not expected:
        assert end == NO_LINES
        return
    expected += b"" if expected.endswith(b"\n") or not rest else b"\n"
    assert text[PADDING_BYTES:end].tobytes() == expected
    assert not text[end : end + PADDING_BYTES].any() or not rest


def test_a_range_that_cannot_be_read_gives_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "short"
    path.write_bytes(b"1 1:1\n" * 10)
    with open(path, "rb") as file:
        assert read_lines(file.fileno(), 0, 60, allocate_tile_text(100)) == PADDING_BYTES + 60
        assert read_lines(file.fileno(), 0, 61, allocate_tile_text(100)) == NO_LINES
        number = file.fileno()
    assert read_lines(number, 0, 60, allocate_tile_text(100)) == NO_LINES, "it is closed"


@pytest.mark.parametrize("size", [1, 30, 64, 1000])
@pytest.mark.parametrize("threads", [1, 3])
def test_lines_of_all_lengths_are_read_in_tiles_of_all_sizes(
    size: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bad lines of spans are reported like those of blocks, with line and content."""
    long = b"1 " + b" ".join(b"%d:%d" % (k, k) for k in range(1, 60)) + b"\n"
    path = tmp_path / "a.svm"
    path.write_bytes(LINES + b"1 7:x\n" + long + LINES + b"y 1:2\n# nothing\n\n" + LINES[:-1])
    expected = read_files(path, threads=1, bad_lines="skip")
    with pytest.raises(InputError) as raised:
        read_files(path, threads=1)
    assert str(raised.value) == f"{path}:400: expected index:value with a number as value, got '7:x'."
    monkeypatch.setattr(svmlight, "get_thread_tile", lambda: Tile(allocate_tile_text(size), *allocate_marks(size)))
    for block in (None, 700, 5000):
        assert read_files(path, threads=threads, bad_lines="skip", block=block) == expected
        with pytest.raises(InputError) as again:
            read_files(path, threads=threads, block=block)
        assert str(again.value) == str(raised.value)


def test_a_line_longer_than_a_tile_is_read(tmp_path: Path) -> None:
    path, terms = tmp_path / "long.svm", 40_000
    row = b" ".join(b"%d:%d" % (k, k % 9 + 1) for k in range(terms))
    path.write_bytes(LINES + b"1 " + row + b"\n" + LINES)
    X, y = novikoff.read(path).to_arrays()
    assert X.shape == (2 * 399 + 1, terms)
    assert np.array_equal(X[399].toarray()[0], np.arange(terms) % 9 + 1)
    assert len(y) == X.shape[0]


def test_a_file_that_grows_while_it_is_read_is_read_to_its_new_end(tmp_path: Path) -> None:
    path = tmp_path / "grows.svm"
    path.write_bytes(LINES)
    batches = iter(novikoff.read(path, block=2000, threads=1, features=20))
    first = next(batches)
    with open(path, "ab") as file:
        file.write(LINES)
    assert len(first.y) + sum(len(batch.y) for batch in batches) == 2 * 399


@pytest.mark.parametrize("longer", [0, 1])
def test_the_longest_line_is_the_same_in_spans(longer: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit for the longest line, newline included, does not depend on where spans begin."""
    monkeypatch.setattr(text_source, "MAX_RECORD_BYTES", 1 << 12)
    monkeypatch.setattr(text_source, "PROBE_BYTES", 100)
    path = tmp_path / "long.svm"
    for before in (b"", b"1 1:1\n", b"1 1:1\n" * 20):
        path.write_bytes(before + b"1 2:" + b"0" * ((1 << 12) - 6 + longer) + b"1\n" + b"1 1:1\n" * 5)
        for size in (1, 50, 1 << 13):
            if longer and size < 1 << 13:
                with pytest.raises(
                    InputError, match=r"long\.svm: has a line longer than 0 MiB, beginning with '1 2:000"
                ):
                    spans_of(path, size)
            else:
                assert sum(map(len, spans_of(path, size))) == path.stat().st_size


def test_a_last_line_without_a_newline_is_read(tmp_path: Path) -> None:
    """Text appended later continues the last line, whose length limit stays the same."""
    path = tmp_path / "torn.svm"
    path.write_bytes(b"1 1:1\n-1 2:0.1")
    with open_source(str(path)) as found:
        spans = found.spans(1)
        first = [next(spans).stop, next(spans).stop]
        with open(path, "ab") as file:
            file.write(b"23 9:1\n1 1:1\n")
        assert (first, list(spans)) == ([6, 14], [])


def test_a_long_last_line_without_a_newline_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_source, "MAX_RECORD_BYTES", 1 << 12)
    path = tmp_path / "long.svm"
    path.write_bytes(b"1 1:1\n1 2:" + b"0" * 5000 + b"1")
    with pytest.raises(InputError, match="has a line longer than"):
        spans_of(path, 50)


def test_a_span_decodes_the_bytes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("äöü\n".encode())
    with open_source(str(path)) as found:
        span: FileSpan = next(found.spans(100))
        assert (span.decode(0, 4), span.decode(1, 4)) == ("äö", "\\xa4ö")
        assert os.fstat(span.number).st_size == span.stop
