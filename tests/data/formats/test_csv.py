"""CSV and TSV: equal to pandas, polars and the standard library for any block size; bad lines are reported."""

from __future__ import annotations

import io
import json
import os
import random
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from novikoff import InputError
from novikoff._compiled.jit import JIT_DISABLED
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.cli.main import main
from novikoff.data.formats import csv_sniffer
from novikoff.data.formats.csv import Csv, Tsv
from novikoff.data.formats.csv_rows import QUOTES_AS_TEXT, is_missing
from novikoff.data.formats.csv_tokenizer import (
    NO_QUOTE,
    NO_STRAYS,
    QUOTE,
    _plain_find_cells,
    _plain_find_last_record_end,
    find_cells,
    find_last_record_end,
)
from novikoff.data.reader import DataReader, ReadOptions
from novikoff.data.text_source import TextBlock
from tests.helpers import csv_reference
from tests.helpers.csv_reference import hash_row, parse_cells, parse_in_blocks, read_table

pytestmark = pytest.mark.plain_python_coverage

MANY = 20 if JIT_DISABLED else 200
TRICKY = ["", "NA", "null", "?", "N/A", "nan", "-NaN", "x", 'say "hi"', "a,b", "a;b\tc|d", "two\nlines", "cr\r\nlf",
          "é", "日本語", " blank ", "\t", "1", "-2.5", "1e3", "0", "none", "nully", '"', '""', "x" * 70]  # fmt: skip
ODD = ["N/a", "NULL", " na ", "+nan", "-null", "n\x0fa", "nan\0", "n", "nana", "-NA", "/"]


def is_no_large_number(text: str) -> bool:
    """Return a number that parsers accept: refused ones, such as Infinity, have their own test."""
    try:
        return not abs(float(text)) > 1e15
    except ValueError:
        return True


letters = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
cell = st.sampled_from(TRICKY) | letters.filter(is_no_large_number)
number = st.one_of(
    st.floats(-1e15, 1e15).map(repr),
    st.integers(-(10**15), 10**15).map(str),
    st.sampled_from(["", "NA", " 7 ", "+3", ".5", "1."]),
)


def detect_format(content: bytes, **options: Any) -> Csv:
    return Csv.from_options(ReadOptions(**options), content, "it")


def to_csv_text(rows: list[list[str]], *, end: str = "\n", delimiter: str = ",", all_quoted: bool = False) -> str:
    """Write a table as in RFC 4180: cells with special characters are quoted, or all cells."""

    def to_cell(text: str) -> str:
        doubled = text.replace('"', '""')
        return f'"{doubled}"' if all_quoted or any(c in text for c in f'{delimiter}"\r\n') else text

    return "".join(delimiter.join(map(to_cell, row)) + end for row in rows)


@st.composite
def draw_tables(draw: Any) -> tuple[list[str], list[list[str]]]:
    """Generate column names, and records of a label, numbers and categories."""
    kinds = draw(st.lists(st.booleans(), min_size=1, max_size=10))
    names = ["y", *(f"column {k}" for k in range(len(kinds)))]
    row = st.tuples(st.sampled_from(["yes", "no", "1"]), *(number if kind else cell for kind in kinds)).map(list)
    return names, draw(st.lists(row, min_size=1, max_size=12))


styles = st.fixed_dictionaries(
    {"end": st.sampled_from(["\n", "\r\n"]), "delimiter": st.sampled_from(",;\t|"), "all_quoted": st.booleans()}
)


@given(draw_tables(), styles, st.integers(1, 300))
@settings(max_examples=MANY, deadline=None)
@example((["y", "a"], [["1", '"\n'], ["no", "x"]]), {"delimiter": ","}, 1)
def test_rows_are_those_of_the_documented_rules(table: Any, style: Any, size: int) -> None:
    names, records = table
    text, delimiter = to_csv_text([names, *records], **style), style["delimiter"]
    how = detect_format(text.encode(), delimiter=delimiter, header=True, hash_bits=18)
    assert parse_cells(text, delimiter) == [names, *records]
    seen = [cells for cells, _ in csv_sniffer.iter_records(text.encode(), delimiter.encode())]
    assert [[c.decode() for c in cells] for cells in seen] == [names, *records]
    rows, labels, lines, bad = parse_in_blocks(how, text.encode(), size)
    assert not bad
    assert [dict(row) for row in rows] == [hash_row(r, names, list(how.numeric), 0) for r in records]
    assert [str(label) for label in labels] == [r[0] for r in records]
    starts = np.cumsum([1] + [to_csv_text([r], **style).count("\n") for r in [names, *records]])
    assert lines == starts[1:-1].tolist()


@given(st.text(alphabet='",\n\r1a', max_size=150), st.integers(1, 40), st.sampled_from([QUOTE, NO_QUOTE]))
@settings(max_examples=2 * MANY, deadline=None)
def test_cells_equal_those_of_the_slow_reference(text: str, shift: int, quote: int) -> None:
    content = np.frombuffer((text + "\n").encode(), np.uint8)
    block = np.zeros(PADDING_BYTES * 2 + len(content) + 1, np.uint8)
    block[PADDING_BYTES : PADDING_BYTES + len(content)] = content
    stop = PADDING_BYTES + len(content)

    def run(function: Any) -> Any:
        marks = np.zeros(len(content) + 80, np.uint32)
        ends, lines, strays = (np.zeros(len(content) + 3, np.int64) for _ in range(3))
        count, odd, unended, newlines = function(block, PADDING_BYTES, stop, 44, quote, marks, ends, lines, strays)
        marked = ends[count - 1] if count else 0
        return (count, odd, bool(unended), newlines, marks[: marked + 8].tolist(), ends[:count].tolist(),
                lines[:count].tolist(), strays[:odd].tolist())  # fmt: skip

    assert run(find_cells) == run(_plain_find_cells)
    stop = max(PADDING_BYTES, stop - shift)
    ends = [
        end(block, PADDING_BYTES, stop, 44, quote, NO_STRAYS)
        for end in (find_last_record_end, _plain_find_last_record_end)
    ]
    assert ends[0] == ends[1]


@pytest.mark.parametrize("cell", TRICKY + ODD)
def test_missing_cells_are_recognised_as_by_the_reference(cell: str) -> None:
    block = TextBlock(200)
    content = np.frombuffer(cell.encode(), np.uint8)
    block.text[PADDING_BYTES : PADDING_BYTES + len(content)] = content
    raised = is_missing(block.text, PADDING_BYTES, PADDING_BYTES + len(content))
    assert (
        bool(raised)
        == csv_reference.is_missing(cell)
        == (csv_sniffer.MISSING_PATTERN.fullmatch(cell.encode()) is not None)
    )


def number_table(rows: int, columns: int, seed: int, *, label: int = 0) -> tuple[str, Any]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-8, 9, (rows, columns))
    values[rng.random((rows, columns)) < 0.1] = 0
    texts = [[repr(v) if rng.random() < 0.5 else f"{v:.6g}" for v in row] for row in values.tolist()]
    for row in texts:
        row.insert(label, str(rng.integers(2)))
    return to_csv_text(texts), np.array([[float(c) for k, c in enumerate(row) if k != label] for row in texts])


@pytest.mark.parametrize(("columns", "label"), [(1, 0), (1, 1), (7, 3), (8, 0), (9, 9), (30, 8), (17, 16)])
def test_a_table_of_numbers_is_dense(columns: int, label: int, tmp_path: Any) -> None:
    text, values = number_table(40, columns, columns, label=label)
    path = tmp_path / "n.csv"
    path.write_text(text)
    rows, labels, places, reading = read_table(path, label=str(label + 1))
    assert rows == values.astype(np.float32).tolist()
    assert labels == [int(r[label]) for r in parse_cells(text)]
    assert places == [f":{k + 1}" for k in range(40)]
    assert reading.format is not None
    assert reading.format.columns is None
    for size in (1, 64, 500, 2000):
        assert parse_in_blocks(reading.format, text.encode(), size)[:2] == (rows, labels)
        assert parse_in_blocks(reading.format, text.replace("\n", "\r\n").encode(), size)[:2] == (rows, labels)


def test_tables_are_read_as_by_pandas_and_polars(tmp_path: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra dev)")
    polars = pytest.importorskip("polars", reason="polars is not installed (extra dev)")
    text, _ = number_table(30 if JIT_DISABLED else 300, 12, 7)
    holes = random.Random(3)
    records = [["" if holes.random() < 0.1 and k else c for k, c in enumerate(row)] for row in parse_cells(text)]
    text = to_csv_text([[f"c{k}" for k in range(13)], *records]).removesuffix("\n")
    path = tmp_path / "n.csv"
    path.write_text(text)
    rows, labels, _, reading = read_table(path, label="1")
    frame = pandas.read_csv(path)
    theirs = polars.read_csv(path).fill_null(0)[:, 1:].to_numpy()
    assert rows == frame.iloc[:, 1:].fillna(0).to_numpy(np.float64).astype(np.float32).tolist()
    assert rows == theirs.astype(np.float32).tolist()
    assert labels == frame.iloc[:, 0].tolist()
    assert reading.format is not None
    assert reading.format.columns == frame.columns[1:].tolist()


@given(draw_tables())
@settings(max_examples=MANY // 4, deadline=None)
def test_texts_are_read_as_by_pandas(table: Any) -> None:
    """Our categories are text for pandas."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra dev)")
    names, records = table
    text = to_csv_text([names, *records], all_quoted=True)
    frame = pandas.read_csv(io.StringIO(text, newline=""), dtype=str, na_filter=False)
    how = detect_format(text.encode(), header=True, hash_bits=18)
    expected = [hash_row(list(row), names, list(how.numeric), 0) for row in frame.itertuples(index=False, name=None)]
    assert parse_in_blocks(how, text.encode(), 100)[0] == expected


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block", [64, 700, 1 << 20])
def test_threads_and_blocks_change_nothing(threads: int, block: int, tmp_path: Any) -> None:
    rng = random.Random(5)
    count = 100 if JIT_DISABLED else 3000
    records = [[rng.choice("ab"), str(rng.randint(0, 9)), rng.choice(TRICKY)] for _ in range(count)]
    path = tmp_path / "t.csv"
    path.write_text(to_csv_text([["class", "n", "t"], *records]), newline="")
    rows, labels, _, reading = read_table(path, threads=threads, block=block, hash_bits=18)
    assert rows == [hash_row(r, ["class", "n", "t"], [False, True, False], 0) for r in records]
    assert labels == [r[0] for r in records]
    assert reading.report()["slots_used"] == len({slot for row in rows for slot in row})


def test_numbers_are_the_nearest_floats(tmp_path: Any) -> None:
    texts = ["1e-05", "999999999999999.9", "0.1", "-0", "3.4e10", " 12", "7\t", '"8.25"', '" 9 "', "+1", "1E2", ".5"]
    path = tmp_path / "n.csv"
    path.write_text("".join(f"1,{s},2\n" for s in texts))
    assert [row[0] for row in read_table(path, label="1")[0]] == [
        float(np.float32(float(s.strip('" \t')))) for s in texts
    ]


# --- Detected and given properties of a table ---


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("a,b\n1,2\n", True),
        ("1,2\n3,4\n", False),
        ("x,1\ny,2\n", False),
        ("y,0,1\n1,0.5,0.25\n0,1,2\n", True),
        ("0,1,label\n0.5,1,good\n0.25,1,bad\n", True),
        ("red,round\nblue,square\n", True),
        ("red,red\nblue,square\n", False),
        ("1.5,x\n2.5,y\n", False),
        (",a\n0,1\n", True),
    ],
)
def test_headers_are_detected(text: str, header: bool) -> None:
    assert detect_format(text.encode(), label="1").header is header
    assert detect_format(text.encode(), header=False, label="1").header is False


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_detected(delimiter: str) -> None:
    text = f'y{delimiter}"a,;|\tb"{delimiter}c\n1{delimiter}2{delimiter}3\n'
    assert detect_format(text.encode()).delimiter == delimiter
    assert detect_format(text.encode()).names == ("y", "a,;|\tb", "c")


def test_delimiters_can_be_given() -> None:
    assert detect_format(b"1 2\n3 4\n", delimiter=" ", label="1").names == ("1", "2")
    for name in ("tab", "\\t"):
        assert detect_format(b"1\t2\n", delimiter=name, label="1").separator == b"\t"
    assert Tsv.from_options(ReadOptions(label="1"), b"1\t2,3\n", "it").names == ("1", "2")
    for bad in ('"', "5", "ab", "é", "-"):
        with pytest.raises(InputError, match="--delimiter must be one character"):
            detect_format(b"1,2\n", delimiter=bad)
    with pytest.raises(InputError, match="use --delimiter"):
        detect_format(b"1\n2\n")


@pytest.mark.parametrize(
    ("text", "label", "target"),
    [
        ("a,Class,b\n1,2,3\n", None, 1),
        ("a,b\n1,2\n", "b", 1),
        ("a,b\n1,2\n", "2", 1),
        ("2,1,x\n1.5,2,3\n", "2", 0),
        ("1,2\n3,4\n", "2", 1),
        ("a, Y \n1,2\n", None, 1),
    ],
)
def test_label_columns_are_found(text: str, label: str | None, target: int) -> None:
    assert detect_format(text.encode(), label=label).target == target


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        (b"label,class,a\n1,2,3\n", {}, "'label' and 'class' may both be the label"),
        (b"a,b\n1,2\n", {}, "which column is the label"),
        (b"1,2\n1,2\n", {}, "which column is the label"),
        (b"a,b\n1,2\n", {"label": "c"}, r"--label must be a column \(a, b\) or a number up to 2, not 'c'"),
        (b"a,b\n1,2\n", {"label": "3"}, "not '3'"),
        (b"a,a\n1,2\n", {"header": True}, "columns 1 and 2 are both named 'a'"),
        (b"\xff\xfea\0,\0", {}, "UTF-16"),
        (b"a,b\n1,\0\n", {}, "NUL byte on line 2"),
        (b"a\n1\n", {"delimiter": ","}, "one column only"),
        (b"\n\n", {"delimiter": ","}, "is empty"),
    ],
)
def test_invalid_tables_are_refused(text: bytes, options: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        detect_format(text, **options)


def test_names_are_stored_in_a_dictionary(tmp_path: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_text('label,colour,size\n1,"a ""b""",3\n0,red,\n1,red,4\n')
    rows, _, _, reading = read_table(path, hash_bits=0)
    assert reading.names is not None
    assert list(reading.names.columns) == ['colour=a "b"', "size", "colour=red"]
    assert rows == [{0: 1.0, 1: 3.0}, {2: 1.0}, {2: 1.0, 1: 4.0}]
    assert read_table(path)[0] == rows  # few names get a dictionary by default
    rows, _, _, reading = read_table(path, hash_bits=18, keep_names=1)
    assert sorted(reading.kept.values()) == ['colour=a "b"', "colour=red", "size"]
    assert [{reading.kept[k]: v for k, v in row.items()} for row in rows][1] == {"colour=red": 1.0}


def test_settings_restore_the_format() -> None:
    for how in (
        detect_format(b"y,a\n1,x\n", hash_bits=20, signed_hash=True),
        Tsv.from_options(ReadOptions(label="1"), b"1\t2\n", "it"),
    ):
        kept = {k: list(v) if isinstance(v, tuple) else v for k, v in how.settings().items()}
        assert type(how).from_settings({k: v for k, v in kept.items() if k != "format"}) == how


# --- Bad lines ---

BAD = [
    ("1,2", "expected 3 cells, got 2."),
    ("1,2,3,4", "expected 3 cells, got 4."),
    ("1,x,3", "column 'a' must be a number as on the first lines, got 'x'."),
    ("1,2,1e16", "column 'b' must be a finite number of size up to 1e15, got '1e16'."),
    ("1,2,-inf", "column 'b' must be a finite number of size up to 1e15, got '-inf'."),
    ("1,infinity,3", "column 'a' must be a finite number of size up to 1e15, got 'infinity'."),
    (",2,3", "the label, column 'y', is missing."),
    ("nan,2,3", "the label, column 'y', is missing."),
    ("yes,2,3", "the label, column 'y', must be a number of size up to 1e15, as on the first lines, got 'yes'."),
    (
        '1,2"5,3',
        f"unexpected quote inside a cell at '\"5,3': double it, and put quotes around the cell. {QUOTES_AS_TEXT}",
    ),
    (
        '1,"2"5,3',
        f"unexpected quote inside a cell at '\"5,3': double it, and put quotes around the cell. {QUOTES_AS_TEXT}",
    ),
    ("   ,", "expected 3 cells, got 2."),
]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("line", "sentence"), BAD)
def test_bad_lines_are_reported(line: str, sentence: str, end: str, tmp_path: Any) -> None:
    path = tmp_path / "t.csv"
    good = ["y,a,b", "1,2,3", "", '0,"4",5']
    how = detect_format(end.join(good).encode())
    path.write_bytes(end.join([*good, line, "0,1,1", line, "1,7,8"]).encode())
    reading = DataReader([str(path)], ReadOptions(threads=1), how)
    with pytest.raises(InputError) as raised:
        list(reading.batches())
    assert str(raised.value) == f"{path}:5: {sentence}"
    reading = DataReader([str(path)], ReadOptions(threads=1, bad_lines="skip"), how)
    assert sum(len(batch) for batch in reading.batches()) == 4
    assert sum(reading.report()["bad_lines"].values()) == 2
    assert parse_in_blocks(how, path.read_bytes(), 10)[2:] == ([2, 4, 6, 8], [(5, sentence), (7, sentence)])


def test_an_unclosed_quote_is_reported(tmp_path: Any) -> None:
    path = tmp_path / "t.csv"
    path.write_text('y,a\n1,"two\nlines"\n0,"no end\n1,x\n')
    with pytest.raises(InputError) as raised:
        read_table(path)
    assert str(raised.value) == (
        f"{path}:4: unterminated quoted cell: '0,\"no end\\n1,x'. --quote none reads quotes as text,"
        " --format text reads lines of a label and a text."
    )
    rows, _, places, reading = read_table(path, bad_lines="skip")
    assert (len(rows), places, dict(reading.bad)) == (1, [":2"], {"quotes": 1})


@pytest.mark.skipif(JIT_DISABLED, reason="too long for plain Python")
def test_a_record_without_end_is_refused() -> None:
    how = detect_format(b"1,x\n0,y\n", label="1")
    with pytest.raises(InputError, match="has a line longer than 16 MiB"):
        parse_in_blocks(how, b'1,"' + b"x\n" * (9 << 20), 1 << 20)


def test_mutations_never_crash(tmp_path: Any) -> None:
    rng = random.Random(11)
    text = to_csv_text(
        [["y", "a", "t"], *([str(k % 2), repr(k / 7), TRICKY[k % len(TRICKY)]] for k in range(30))]
    ).encode()
    for _ in range(10 if JIT_DISABLED else 400):
        broken = bytearray(text)
        for _ in range(rng.randint(1, 8)):
            at = rng.randrange(len(broken))
            what = rng.choice([b"", b'"', b",", b"\n", b"\r", b"\xff", b"e", b"1", bytes([rng.randrange(1, 256)])])
            broken[at : at + rng.randint(0, 3)] = what
        try:
            how = detect_format(bytes(broken))
            results = [parse_in_blocks(how, bytes(broken), size) for size in (1, 100, 5000)]
        except InputError as problem:
            assert str(problem).startswith("it: ")  # noqa: PT017
            continue
        assert results[0] == results[1] == results[2]
        rows, _, lines, bad = results[0]
        assert len(rows) == len(lines)
        assert all(sentence.endswith(".") for _, sentence in bad)
        assert not set(lines) & {line for line, _ in bad}


# --- Several files, models, pipes ---


def run(*arguments: Any) -> int:
    return main([str(a) for a in arguments])


@pytest.fixture
def two_files(tmp_path: Any) -> tuple[Any, Any]:
    rng = random.Random(9)
    paths = tmp_path / "a.csv", tmp_path / "b.csv"
    for path in paths:
        records = [[rng.choice(["ham", "spam"]), rng.choice(TRICKY), f"{rng.random():.5f}"] for _ in range(60)]
        path.write_text(to_csv_text([["label", "t", "n"], *records]), newline="")
    return paths


@pytest.mark.parametrize("options", [(), ("--hash-bits", 0), ("--signed-hash", "--hash-bits", 12)])
def test_learning_in_one_run_or_two_gives_the_same_model(
    options: Any, two_files: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = two_files
    together, first, second = (tmp_path / name for name in ("together", "first", "second"))
    assert run("learn", a, b, "--save", together, "--quiet", *options) == 0
    assert run("learn", a, "--save", first, "--quiet", *options) == 0
    assert run("learn", b, "--resume", first, "--save", second, "--quiet") == 0
    assert together.read_bytes() == second.read_bytes()
    assert run("predict", second, b, "--quiet") == 0
    assert set(capsys.readouterr().out.split()[-60:]) <= {"ham", "spam"}


def test_later_files_are_matched_by_the_names_of_their_columns(
    two_files: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = two_files
    model = tmp_path / "model"
    assert run("learn", a, "--save", model, "--quiet") == 0
    names, *records = parse_cells(b.read_text())
    assert names == ["label", "t", "n"]
    capsys.readouterr()

    def predicted(names: list[str], rows: list[list[str]], *more: str) -> tuple[str, str]:
        b.write_text(to_csv_text([names, *rows] if names else rows), newline="")
        assert run("predict", model, b, *more) == 0
        return capsys.readouterr()

    expected, _ = predicted(names, records)
    assert predicted([], records, "--no-header")[0] == expected  # by position
    assert predicted([], [[t, n] for _, t, n in records], "--no-header")[0] == expected  # and without labels
    b.write_text(to_csv_text(records), newline="")
    assert run("predict", model, b) == 2
    assert "which are not the names of the columns (t, n): --no-header reads a file" in capsys.readouterr().err
    assert run("predict", model, b, "--header") == 2
    assert "has none of the columns of the data before (t, n)" in capsys.readouterr().err
    swapped = [[n, label, t] for label, t, n in records]
    assert predicted(["n", "label", "t"], swapped)[0] == expected
    out, notes = predicted(["n", "more", "label", "t"], [[n, "x", label, t] for label, t, n in records])
    assert out == expected
    assert f"note: {b}: columns unknown to the model are ignored: more\n" in notes
    out, _ = predicted(["n", "t"], [[n, t] for _, t, n in records])  # without labels
    assert out == expected
    _, notes = predicted(["label", "t"], [[label, t] for label, t, _ in records])
    assert f"note: {b}: absent columns count as missing: n\n" in notes
    b.write_text("a,b\nx,1\n")
    assert run("predict", model, b) == 2
    assert "has none of the columns of the data before (t, n), but a, b. If these" in capsys.readouterr().err
    b.write_text("label,t,t\nx,1,2\n")
    assert run("predict", model, b) == 2
    assert "columns 2 and 3 are both named 't'" in capsys.readouterr().err
    assert run("predict", model, b, "--delimiter", ";") == 2
    assert "leave out --delimiter" in capsys.readouterr().err


@settings(max_examples=200)
@given(
    st.text(st.sampled_from('12-.eE+ \t,\n\r"xaANn/?'), max_size=40).map(str.encode),
    st.sampled_from([b",", b"\t"]),
    st.sampled_from(['"', "none"]),
)
def test_splitting_cells_equals_iterating_over_records(text: bytes, delimiter: bytes, quote: str) -> None:
    records = [cells for cells, _ in csv_sniffer.iter_records(text, delimiter, quote)]
    assert csv_sniffer.split_cells(text, delimiter, quote) == records
    for cells in records:
        assert csv_sniffer.is_numeric(cells) == all(map(csv_sniffer.NUMERIC_PATTERN.fullmatch, cells))


def test_a_data_record_is_never_read_as_a_header(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path, model = tmp_path / "n.csv", tmp_path / "model"
    path.write_text("y,size,kind\n1,2,size\n0,4,x\n1,1,size\n")
    assert run("learn", path, "--save", model, "--quiet", "--learner", "perceptron") == 0
    bare = tmp_path / "bare.csv"
    bare.write_text("1,2,size\n0,4,x\n")  # a category that equals a column name
    assert run("predict", model, bare) == 2
    assert "begins with 1, 2, size, which are not the names of the columns (size, kind)" in capsys.readouterr().err
    assert run("predict", model, bare, "--no-header", "--quiet") == 0
    assert len(capsys.readouterr().out.split()) == 2
    more = tmp_path / "more.csv"
    more.write_text("size,2019,kind\n2,7,x\n")  # an unknown column may have a number as its name
    assert run("predict", model, more, "--quiet") == 0
    assert len(capsys.readouterr().out.split()) == 1
    assert run("learn", bare, "--resume", model, "--quiet") == 2
    assert run("learn", bare, "--resume", model, "--quiet", "--no-header") == 0


def test_later_files_of_a_run_may_have_no_names(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("a.csv", "y,t,n\n1,x,2\n0,z,3\n"), ("b.csv", "1,x,5\n0,z,7\n")):
        (tmp_path / name).write_text(text)
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert run("learn", *files, "--json", "--quiet", "--learner", "perceptron") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["examples"] == 4
    assert report["notes"] == [f"{files[1]}: has no line of names: its columns are matched by position"]


def test_a_header_is_skipped_for_a_model_without_names(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path, model = tmp_path / "n.csv", tmp_path / "model"
    path.write_text("1,2,3\n0,4,5\n1,1,1\n")
    assert run("learn", path, "--save", model, "--quiet", "--label", "1", "--learner", "perceptron") == 0
    path.write_text("y,a,b\n1,2,3\n0,4,5\n")
    capsys.readouterr()
    assert run("predict", model, path) == 2
    assert f"{path}:1: " in capsys.readouterr().err
    assert run("predict", model, path, "--header", "--quiet") == 0
    assert len(capsys.readouterr().out.split()) == 2


def test_a_table_of_numbers_keeps_its_columns(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path, model = tmp_path / "n.csv", tmp_path / "model"
    path.write_text("y,height,width\n1,2,3\n0,4,5\n1,1,1\n")
    assert run("learn", path, "--save", model, "--quiet") == 0
    assert run("inspect", model) == 0
    assert "height" in capsys.readouterr().out
    assert run("predict", model, path, "--quiet") == 0
    path.write_text("1,2,3\n0,4,5\n1,1,1\n")
    assert run("learn", path, "--save", model, "--quiet", "--label", "1") == 0
    path.write_text("1,2,3,4\n")
    assert run("predict", model, path) == 2
    assert "expected 3 cells, got 4." in capsys.readouterr().err


def test_a_pipe_is_read_as_data_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    """An example is available when its line has arrived; column types are determined by the first line after the
    header."""
    out, into = os.pipe()
    labels: list[Any] = []
    wanted = threading.Semaphore(0)

    def write() -> None:
        with os.fdopen(into, "wb", buffering=0) as pipe:
            pipe.write(b"y,a,")
            pipe.write(b"b\n")
            for k in range(3):
                pipe.write(b"%d,x%d,%d\n" % (k % 2, k, k))
                wanted.acquire(timeout=1)

    class Standard:
        buffer = os.fdopen(out, "rb")

    monkeypatch.setattr("sys.stdin", Standard)
    writer = threading.Thread(target=write)
    writer.start()
    reading = DataReader(["-"], ReadOptions(threads=1, format="csv"))
    for batch in reading.batches():
        labels += [batch.parsed.label(i) for i in range(len(batch))]
        wanted.release()
    writer.join()
    Standard.buffer.close()
    assert labels == [0, 1, 0]
    assert reading.format is not None
    assert reading.format.settings()["numeric"] == (True, False, True)
