"""Column types, labels and warnings that are detected in tables and JSON lines, and the options that set them."""

from __future__ import annotations

import json
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import InputError, Perceptron, load
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.cli.main import main
from novikoff.data.formats.base import ReadOptions
from novikoff.data.formats.csv import Csv
from novikoff.data.formats.jsonl import JsonLines
from novikoff.data.names.hashing import hash_name
from novikoff.data.reader import DataReader
from novikoff.distributed import DistributedLearner
from novikoff.distributed.shards import FileShard
from tests.helpers.csv_reference import read_table
from tests.helpers.paths import DATA_FOLDER

REAL = pytest.mark.skipif(not DATA_FOLDER.is_dir(), reason="the data sets are not here: set NOVIKOFF_DATA")
Learn = Callable[..., dict[str, Any]]


@pytest.fixture
def learn(capsys: pytest.CaptureFixture[str]) -> Learn:
    """Return the JSON report of a run with the Perceptron; `said` is what it prints on stderr."""

    def run(*arguments: Any, code: int = 0) -> dict[str, Any]:
        assert main(["learn", *map(str, arguments), "--learner", "perceptron", "--json"]) == code
        out, error = capsys.readouterr()
        said = "\n".join(line for line in error.splitlines() if not line.startswith("compiling "))
        return {**(json.loads(out) if out else {}), "said": said}

    return run


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines))
    return path


def titanic(path: Path) -> Path:
    draw = random.Random(1)
    rows = [f"{draw.randint(1, 3)},{draw.choice(['male', 'female'])},{draw.randint(1, 80)},{draw.randint(0, 1)}"
            for _ in range(60)]  # fmt: skip
    return write(path, "pclass,sex,age,survived", *rows)


# --- Labels ---


def test_a_label_that_is_not_found_is_requested(learn: Learn, tmp_path: Path) -> None:
    data = titanic(tmp_path / "titanic.csv")
    said = learn(data, code=2)["said"]
    assert "which column is the label? None is named label, class, target or y: use --label COLUMN" in said
    assert "Perhaps --label survived, with the values " in said
    assert "pclass (" in said
    report = learn(data, "--label", "survived")
    assert report["read"]["label_column"] == "survived"
    assert set(report["read"]["label"]) == {"0", "1"}
    assert report["read"]["numeric"] == ["pclass", "age"]
    assert report["read"]["categorical"] == ["sex"]
    assert report["read"]["categories"] == {"sex": 2}
    assert "codes: --categorical pclass if so" in report["warnings"][0]


def test_a_target_with_many_values_gives_a_warning(learn: Learn, tmp_path: Path) -> None:
    rows = [f"{k % 7},{(k * 7919) % 500 + 100000}" for k in range(400)]
    report = learn(write(tmp_path / "price.csv", "rooms,price", *rows), "--label", "price")
    [warning] = [text for text in report["warnings"] if "price" in text]
    assert "the label 'price' has 400 different values in 400 rows" in warning
    assert "each is a class" in warning
    assert f"warning: {warning}" in report["said"]


@pytest.mark.parametrize(
    ("name", "line", "options"),
    [
        ("t.svm", "{label} 1:{k} 3:1", []),
        ("t.vw", "{label} |a x:{k} y", []),
        ("t.txt", "{label}\tsome words {k}", ["--format", "text"]),
        ("t.jsonl", '{{"y": {label}, "a": {k}}}', []),
        ("t.jsonl", '{{"y": ["{label}", "0"], "a": {k}}}', []),
    ],
)
def test_many_classes_give_a_warning_in_every_format(
    name: str, line: str, options: list[str], learn: Learn, tmp_path: Path
) -> None:
    many = write(tmp_path / name, *(line.format(label=k // 15, k=k) for k in range(900)))  # 7 in the first 100
    [warning] = [text for text in learn(many, *options)["warnings"] if "classify" in text]
    if name == "t.jsonl":
        assert warning.startswith("the label 'y' has 60 different values in 900 rows (0, 1, 2, …), and each is a class")
    else:
        assert warning.startswith("60 different labels in the first 900 rows (0, 1, 2, …), each a class.")
    few = write(tmp_path / name, *(line.format(label=k % 50, k=k) for k in range(200)))
    assert not any("classify" in text for text in learn(few, *options)["warnings"])


def test_relevance_grades_are_not_counted_as_classes(tmp_path: Path) -> None:
    reading = DataReader(
        [str(write(tmp_path / "t.svm", *(f"{k % 60} qid:{k // 60} 1:{k}" for k in range(180))))], ReadOptions()
    )
    reading.describe(next(reading.batches()))
    assert reading.doubts == []


def test_labels_of_two_types_give_a_warning(learn: Learn, tmp_path: Path) -> None:
    report = learn(write(tmp_path / "m.csv", "y,a", *(f"{'yes' if k % 2 else 1},{k}" for k in range(40))))
    assert "has numbers and strings, such as yes" in " ".join(report["warnings"])


@pytest.mark.parametrize("odd", ["yes", "1"])
def test_json_labels_of_two_types_are_read_as_texts(odd: str, learn: Learn, tmp_path: Path) -> None:
    path, model = tmp_path / "m.jsonl", tmp_path / "m.model"
    write(path, *(json.dumps({"y": odd if k % 2 else 0, "a": k}) for k in range(40)))
    report = learn(path, "--save", model)
    assert report["warnings"][0] == f"the label 'y' has numbers and strings, such as {odd}: all are read as strings."
    assert report["read"]["label"] == {"0": 20, odd: 20}
    assert load(model).classes_.tolist() == sorted(["0", odd])
    output = ["--quiet", "--output", str(tmp_path / "out")]
    assert main(["predict", str(model), str(path), *output]) == 0
    strings = write(tmp_path / "s.jsonl", *(json.dumps({"y": ["1", "yes"][k % 2], "a": k * 7 % 5}) for k in range(40)))
    assert not any("texts" in warning for warning in learn(strings)["warnings"])  # all are strings


def test_json_labels_are_detected_as_in_tables(learn: Learn, tmp_path: Path) -> None:
    rows = [{"Label": k % 2, "a": k * 7 % 5} for k in range(40)]
    assert learn(write(tmp_path / "a.jsonl", *map(json.dumps, rows)))["read"]["label_column"] == "Label"
    rows = [{f"c{k}": k + j for k in range(12)} | {"kind": "ab"[j % 2], "note": f"n{j}"} for j in range(40)]
    said = learn(write(tmp_path / "b.jsonl", *map(json.dumps, rows)), code=2)["said"]
    assert "Perhaps --label kind, with the values a, b. The fields are c0 (0, 1, …), c1 (1, 2, …)" in said
    assert "c11 (11, 12, …), kind (a, b, …), note (n0, n1, …)." in said


# --- Reports ---


def test_the_columns_are_printed_before_learning(learn: Learn, tmp_path: Path) -> None:
    rows = [f"{k};{'red' if k % 3 else 'blue'};{k % 2};{0.5 * k};1;some words {k}" for k in range(1, 41)]
    data = write(tmp_path / "t.csv", "id;colour;class;size;w;note", *rows)
    report = learn(data, "--ignore", "id", "--weight", "w", "--text", "note")
    lines = report["said"].splitlines()
    assert lines[:6] == [
        f"reading     {data}: csv, delimiter ';', with a line of names",
        "label       class: 1 20, 0 20 of the first 40 rows",
        "numeric     size",
        "categorical colour (2)",
        "text        note",
        "weight      w",
    ]
    assert lines[6] == "ignored     id"
    assert report["read"] == {
        "files": [str(data)],
        "format": "csv, delimiter ';', with a line of names",
        "label": {"1": 20, "0": 20},
        "label_column": "class",
        "numeric": ["size"],
        "categorical": ["colour"],
        "categories": {"colour": 2},
        "text": ["note"],
        "weight": "w",
        "ignored": ["id"],
    }
    assert main(["learn", str(data), "--ignore", "id", "--quiet"]) == 0


def test_all_columns_are_in_the_json_report(learn: Learn, tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(100)]
    rows = [",".join([str(k % 2), *(str(k * j % 7) for j in range(100))]) for k in range(20)]
    report = learn(write(tmp_path / "t.csv", ",".join(["y", *names]), *rows))
    assert report["read"]["numeric"] == names
    assert "numeric     c0, c1, " in report["said"]
    assert "c39 and 60 more" in report["said"]


def test_other_formats_are_described(learn: Learn, tmp_path: Path) -> None:
    svm = learn(write(tmp_path / "a.svm", "+1 1:1", "-1 2:1"))
    assert svm["read"] == {"files": [str(tmp_path / "a.svm")], "format": "svmlight", "label": {"1": 1, "-1": 1}}
    rows = [
        json.dumps({"label": k % 2, "n": k, "kind": "ab"[k % 2], "body": f"a text of words {k}"}) for k in range(40)
    ]
    data = write(tmp_path / "a.jsonl", *rows)
    report = learn(data)
    assert (report["read"]["numeric"], report["read"]["categorical"]) == (["n"], ["kind", "body"])
    assert "column 'body' (a text of words 0, " in report["warnings"][1]
    assert "--text body makes features of the words" in report["warnings"][1]
    better = learn(data, "--text", "body", "--ignore", "n")
    assert better["read"]["text"] == ["body"]
    assert better["read"]["ignored"] == ["n"]
    assert not any("body" in warning for warning in better["warnings"])


def test_lists_and_objects_are_described(learn: Learn, tmp_path: Path) -> None:
    nested = {"at": [1, 2], "user": {"age": 3, "name": "x"}, "none": []}
    rows = [
        {"y": k % 2, "tags": ["a", "b"][: k % 3], **nested, "on": k % 2 == 0, "n": k, "zip": "123"} for k in range(5)
    ]
    report = learn(write(tmp_path / "t.jsonl", *map(json.dumps, rows)), "--text", "user.name")
    assert report["read"]["numeric"] == ["on", "n"]
    assert report["read"]["categorical"] == ["zip"]  # strings are categories, even those that look like numbers
    assert report["read"]["categories"] == {"zip": 1}
    assert report["read"]["text"] == ["user.name"]
    assert report["read"]["nested"] == {
        "tags": "list: tags=string for each string",
        "at": "list: at.0, at.1, … by position",
        "user": "object: user.age, user.name",
        "none": "empty list",
    }
    assert "nested      tags (list: tags=string for each string), at (list: " in report["said"]
    ignored = learn(tmp_path / "t.jsonl", "--ignore", "tags,user,none")
    assert list(ignored["read"]["nested"]) == ["at"]


@pytest.mark.parametrize(
    "command",
    [["compare", "--learners", "perceptron,arow"], ["learn", "--multiclass", "bagging", "--n-estimators", "2"]],
    ids=lambda command: command[0],
)
def test_other_commands_describe_the_data(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = titanic(tmp_path / "titanic.csv")
    arguments = [command[0], str(data), "--label", "survived", "--hash-bits", "6", *command[1:]]
    assert main([*arguments, "--json"]) == 0
    out, error = capsys.readouterr()
    report = json.loads(out)
    assert report["read"]["label_column"] == "survived"
    assert f"reading     {data}: csv, delimiter ',', with a line of names\nlabel       survived: " in error
    assert "numeric     pclass, age\ncategorical sex (2)\n" in error
    assert "codes: --categorical pclass if so" in report["warnings"][0]
    assert f"warning: {report['warnings'][0]}\n" in error
    assert main([*arguments, "--json", "--quiet"]) == 0
    out, error = capsys.readouterr()
    assert json.loads(out)["read"] == report["read"]
    assert error == f"warning: {report['warnings'][0]}\n"  # like learn


def test_shards_are_described(tmp_path: Path) -> None:
    path = titanic(tmp_path / "titanic.csv")
    found = FileShard(str(path), ReadOptions(label="survived", hashes_names=True)).describe()
    assert found.description["label_column"] == "survived"
    assert "codes: --categorical pclass if so" in found.doubts[0]


# --- Warnings ---


@pytest.mark.parametrize(
    ("cell", "warning"),
    [
        (
            lambda k: f"2026-{k % 12 + 1:02}-{k % 28 + 1:02}",
            "column 'it' (2026-01-01, 2026-02-02, 2026-03-03, …) has dates",
        ),
        (lambda k: f'"{k},5"', "column 'it' (0,5, 1,5, 2,5, …) has numbers with a decimal comma"),
        (lambda k: f"u{k * 37 % 60}", "has a value of its own in most rows, read as categories: --ignore it if it is"),
        (lambda k: 1000 + k, "column 'it' (1000, 1001, 1002, …) counts the rows: --ignore it if it is an identifier"),
        (lambda k: k % 5, "is read as numbers, but may be codes: --categorical it if so"),
        (lambda k: 3 * (k % 2), "it alone determines the label in all 60 sampled rows"),
        (lambda k: f"number {k} of many words", "looks like text, read as categories: --text it"),
    ],
)
def test_suspicious_columns_give_warnings(
    cell: Callable[[int], Any], warning: str, learn: Learn, tmp_path: Path
) -> None:
    data = write(tmp_path / "t.csv", "y,it,a", *(f"{k % 2},{cell(k)},{0.1 * k}" for k in range(60)))
    report = learn(data)
    assert warning in " ".join(report["warnings"])
    ignored = learn(data, "--ignore", "it")
    assert not any("'it'" in text for text in ignored["warnings"])


def test_ordinary_columns_give_no_warning(learn: Learn, tmp_path: Path) -> None:
    draw = random.Random(2)
    rows = [f"{draw.randint(0, 1)},{draw.random()},{draw.randint(0, 90)},{draw.choice('abc')},{draw.randint(0, 1)}"
            for _ in range(200)]  # fmt: skip
    assert learn(write(tmp_path / "t.csv", "y,a,b,c,d", *rows))["warnings"] == []


def test_constant_columns_are_noted(learn: Learn, tmp_path: Path) -> None:
    report = learn(write(tmp_path / "t.csv", "y,a,b", *(f"{k % 2},{0.1 * k},same" for k in range(40))))
    assert report["notes"] == ["one value in all of 40 sampled rows: b"]


FORMATS = ("csv", "jsonl", "parquet")


def table_file(folder: Path, kind: str, rows: list[dict[str, Any]]) -> Path:
    """Write a table in one of FORMATS."""
    path = folder / f"t.{kind}"
    if kind == "jsonl":
        return write(path, *map(json.dumps, rows))
    if kind == "csv":
        cells = [["" if value is None else str(value) for value in row.values()] for row in rows]
        return write(path, ",".join(rows[0]), *map(",".join, cells))
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.Table.from_pylist(rows), path)
    return path


@pytest.mark.parametrize("kind", FORMATS)
def test_all_table_formats_give_the_same_notes(kind: str, learn: Learn, tmp_path: Path) -> None:
    rows = [{"y": k % 2, "a": 0.1 * k, "same": "x", "gap": None if k % 3 == 0 else k * 7 % 11} for k in range(40)]
    assert learn(table_file(tmp_path, kind, rows))["notes"] == [
        "one value in all of 40 sampled rows: same",
        "missing values (gap) make no features: --missing indicator makes a feature for each",
    ]


def test_fields_that_some_objects_lack_are_neither_constant_nor_missing(learn: Learn, tmp_path: Path) -> None:
    rows = [{"y": k % 2, "a": k, **({"same": 1} if k % 2 else {})} for k in range(60)]
    assert learn(table_file(tmp_path, "jsonl", rows))["notes"] == []


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("name", "is_identifier"),
    [(name, True) for name in ("id", "ID", "user_id", "userId", "rowid")] + [("price", False), ("paid", False)],
)
def test_identifier_columns_are_detected_by_name(
    kind: str, name: str, is_identifier: bool, learn: Learn, tmp_path: Path
) -> None:
    rows = [{"y": k % 2, name: 7_000_000_000 + k * k * 7919 % 100_003, "a": 0.1 * k} for k in range(60)]
    warnings = " ".join(learn(table_file(tmp_path, kind, rows))["warnings"])
    advice = f"has different whole numbers in most rows, read as numbers: --ignore {name} if it is an identifier"
    assert (advice in warnings) == is_identifier


# --- Small models ---


@pytest.mark.parametrize("kind", FORMATS)
def test_tables_with_few_categories_give_small_models_with_names(kind: str, learn: Learn, tmp_path: Path) -> None:
    draw = random.Random(3)
    rows = [{"y": draw.randint(0, 1), "a": draw.random(), "job": draw.choice("pqr")} for _ in range(200)]
    model = tmp_path / "m.model"
    report = learn(table_file(tmp_path, kind, rows), "--save", model)
    assert report["features"] == 4
    assert "slots" not in report
    assert model.stat().st_size < 10_000
    assert set(load(model).feature_names_in_) == {"a", "job=p", "job=q", "job=r"}


def test_json_lines_are_hashed_where_there_may_be_many_names(
    learn: Learn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bits_of(rows: list[dict[str, Any]], **options: Any) -> int:
        path = str(table_file(tmp_path, "jsonl", rows))
        reading = DataReader([path], ReadOptions(**options))
        next(reading.batches())
        assert isinstance(reading.format, JsonLines)
        return reading.format.hash_bits

    few = [{"y": k % 2, "a": k, "job": "pqr"[k % 3], "tags": ["x", "y"]} for k in range(100)]
    assert bits_of(few) == 0
    assert bits_of(few, text="job") == 18
    assert bits_of(few, signed_hash=True) == 18
    assert bits_of(few, hashes_names=True) == 18
    assert bits_of(few, hash_bits=10) == 10
    assert bits_of([{"y": k % 2, "id": f"u{k}"} for k in range(700)]) == 18
    assert bits_of([{"y": k % 2, "counts": {f"word{k}": 1}} for k in range(700)]) == 18
    assert bits_of([{"y": k % 2, "tags": [f"t{k}", f"s{k}"]} for k in range(300)]) == 18
    assert bits_of([{"y": k % 2, "note": f"a text of words {k}"} for k in range(60)]) == 18
    assert (
        bits_of([{"y": k % 2, **{f"c{j}": j for j in range(900)}} for k in range(20)]) == 0
    )  # equal fields on each line
    monkeypatch.setattr("novikoff.data.reader.MAX_DICTIONARY_NAMES", 400)
    late = table_file(tmp_path, "jsonl", [{"y": k % 2, "id": f"u{k // 4}"} for k in range(2000)])
    assert "Restarting with --hash-bits 18" in learn(late)["said"]


def test_streams_of_json_lines_are_hashed(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "".join(json.dumps({"y": k % 2, "a": k}) + "\n" for k in range(20))
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    reading = DataReader([str(pipe)], ReadOptions(format="jsonl"))
    assert sum(map(len, reading.batches())) == 20
    writer.join()
    assert reading.format == JsonLines("y", hash_bits=18)


# --- Options ---


def rows_of(path: Path, **options: Any) -> list[dict[str, float]]:
    """Return each row by the names of its features."""
    rows, _, _, reading = read_table(path, **options)
    if reading.names is None:
        assert reading.format is not None
        names = reading.format.feature_columns  # type: ignore[attr-defined]
        return [{name: value for name, value in zip(names, row, strict=True) if value} for row in rows]
    names = list(reading.names.columns)
    return [{names[j]: value for j, value in row.items()} for row in rows]


def test_column_types_can_be_set_by_option(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "y,a,b,c,d", "1,2,3,x,5", "0,4,3,,7")
    assert rows_of(path) == [{"a": 2, "b": 3, "c=x": 1, "d": 5}, {"a": 4, "b": 3, "d": 7}]
    assert rows_of(path, ignore=("c",)) == [{"a": 2, "b": 3, "d": 5}, {"a": 4, "b": 3, "d": 7}]
    assert rows_of(path, columns=("d", "3")) == [{"b": 3, "d": 5}, {"b": 3, "d": 7}]
    assert rows_of(path, columns=("b",), categorical=("b",)) == [{"b=3": 1}, {"b=3": 1}]
    assert rows_of(path, label="d", ignore=("a", "y"), text="c", hash_bits=0) == [{"b": 3, "c=x": 1}, {"b": 3}]
    assert rows_of(path, ignore=("a", "c"), missing="indicator") == [{"b": 3, "d": 5}, {"b": 3, "d": 7}]
    gaps = [{"a": 2, "b": 3, "c=x": 1, "d": 5}, {"a": 4, "b": 3, "c is missing": 1, "d": 7}]
    assert rows_of(path, missing="indicator") == gaps
    with pytest.raises(InputError, match=r":3: column 'c' has no value, which --missing error refuses"):
        rows_of(path, missing="error")
    for wrong, message in (
        ({"ignore": ("z",)}, r"--ignore must be a column \(y, a, b, c, d\) or a number up to 5, not 'z'"),
        ({"columns": ("a",), "ignore": ("a",)}, "column 'a' can't be --ignore and --columns: choose one of them"),
        ({"text": "y"}, "column 'y' can't be the label and --text"),
        ({"ignore": ("y",)}, "column 'y' can't be the label and --ignore"),
        ({"label": "a", "columns": ("1", "a")}, "column 'a' can't be the label and --columns"),
        ({"weight": "a", "label": "2"}, "column 'a' can't be the label and --weight"),
        ({"weight": "a", "numeric": ("2",)}, "column 'a' can't be --weight and --numeric"),
        ({"numeric": ("b",), "categorical": ("a", "b")}, "column 'b' can't be --categorical and --numeric"),
        ({"text": "c", "categorical": ("c",)}, "column 'c' can't be --text and --categorical"),
        ({"ignore": ("c",), "categorical": ("c",)}, "column 'c' can't be --ignore and --categorical"),
        ({"ignore": ("a", "b", "c", "d")}, "no column is left as a feature"),
    ):
        with pytest.raises(InputError, match=message):
            rows_of(path, **wrong)


def test_weight_columns_are_read(tmp_path: Path, learn: Learn) -> None:
    path = write(tmp_path / "t.csv", "y,w,a", "1,2.5,1", "0,0,3", "1,1,5")
    _, _, _, reading = read_table(path, weight="w")
    weights = [batch.parsed.weights.tolist() for batch in reading.batches()]
    assert weights == [[2.5, 0.0, 1.0]]
    assert learn(path, "--weight", "w")["examples"] == 2  # a weight of 0 leaves the row out
    with pytest.raises(InputError, match=r":2: the weight, column 'w', must be a number from 0 to 1e15, got '-1'"):
        read_table(write(tmp_path / "bad.csv", "y,w,a", "1,-1,1", "0,1,3"), weight="w")


def test_quotes_can_be_read_as_text(tmp_path: Path, learn: Learn) -> None:
    path = write(tmp_path / "t.tsv", 'ham\tsay "hi" to "him', 'spam\t"win', "ham\tplain")
    said = learn(path, "--format", "tsv", "--label", "1", "--no-header", code=2)["said"]
    assert "unexpected quote" in said
    assert "--quote none reads quotes as text, --format text reads lines of a label and a text" in said
    options = {"format": "tsv", "label": "1", "header": False, "quote": "none"}
    assert rows_of(path, **options) == [{'2=say "hi" to "him': 1}, {'2="win': 1}, {"2=plain": 1}]
    assert rows_of(path, **options, text="2", hash_bits=0)[1:] == [{"2=win": 1}, {"2=plain": 1}]


def test_latin_1_is_read(tmp_path: Path, learn: Learn) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes("y,stadt\n1,Köln\n0,Münster\n".encode("latin-1"))
    assert "is not UTF-8 text: it may be --encoding latin-1" in " ".join(learn(path)["warnings"])
    assert rows_of(path, encoding="latin-1") == [{"stadt=Köln": 1}, {"stadt=Münster": 1}]
    assert learn(path, "--encoding", "latin-1")["warnings"] == []
    assert main(["learn", str(path), "--encoding", "utf-8", "--quiet"]) == 0
    with pytest.raises(SystemExit):
        main(["learn", str(path), "--encoding", "klingon"])


def test_json_field_types_can_be_set_by_option(tmp_path: Path) -> None:
    lines = [{"y": 1, "a": 2, "b": {"c": 3, "d": "x"}, "zip": 50667}, {"b": {"d": "z"}, "zip": 50668.5, "y": 0, "a": 7}]
    path = write(tmp_path / "t.jsonl", *map(json.dumps, lines))
    everything = [{"a": 2, "b.c": 3, "b.d=x": 1, "zip": 50667}, {"b.d=z": 1, "zip": 50668.5, "a": 7}]
    assert rows_of(path, hash_bits=0) == everything
    assert rows_of(path, hash_bits=0, ignore=("b", "a")) == [{"zip": 50667}, {"zip": 50668.5}]
    assert rows_of(path, hash_bits=0, columns=("a",)) == [{"a": 2}, {"a": 7}]
    assert rows_of(path, hash_bits=0, columns=("zip",), categorical=("zip",)) == [{"zip=50667": 1}, {"zip=50668.5": 1}]
    hashed_rows, *_ = read_table(path, hash_bits=20, ignore=("b", "zip"))
    assert hashed_rows == [{hash_name(b"a") & (2**20 - 1): 2.0}, {hash_name(b"a") & (2**20 - 1): 7.0}]
    assert JsonLines.from_options(ReadOptions(ignore=("a",)), b'{"y": 1, "a": 2}\n', "it").settings()["ignore"] == (
        "a",
    )
    for wrong, message in (
        ({"ignore": ("y",)}, "field 'y' can't be the label and --ignore"),
        ({"text": "zip", "categorical": ("zip",)}, "field 'zip' can't be --text and --categorical"),
        ({"text": "b.d", "ignore": ("b",)}, "field 'b' can't be --text and --ignore"),
        ({"label": "b.d", "ignore": ("b",)}, "field 'b' can't be the label and --ignore"),
        ({"label": "b.d", "text": "a,b.d"}, "field 'b.d' can't be the label and --text"),
    ):
        with pytest.raises(InputError, match=message):
            read_table(path, **wrong)  # type: ignore[arg-type]


def test_weights_of_json_lines_are_read(tmp_path: Path, learn: Learn) -> None:
    lines = [{"y": 1, "a": 2, "w": 2.5}, {"w": "0", "y": 0, "a": 3}, {"y": 1, "w": 1, "a": 5}]
    path = write(tmp_path / "t.jsonl", *map(json.dumps, lines))
    assert rows_of(path, hash_bits=0, weight="w") == [{"a": 2}, {"a": 3}, {"a": 5}]
    assert rows_of(path, hash_bits=0, weight="w", columns=("a",)) == [{"a": 2}, {"a": 3}, {"a": 5}]
    _, _, _, reading = read_table(path, weight="w")
    assert [batch.parsed.weights.tolist() for batch in reading.batches()] == [[2.5, 0.0, 1.0]]
    model = tmp_path / "m.model"
    report = learn(path, "--weight", "w", "--save", model)
    assert (report["examples"], report["read"]["weight"]) == (2, "w")
    assert main(["certify", str(model), str(path)]) == 0
    for bad in (-1, "x", "NA", True, [1], {"b": 1}):
        line = json.dumps({"y": 1, "w": bad})
        with pytest.raises(InputError, match=r":1: the weight must be one number from 0 to 1e15, got .* at byte"):
            read_table(write(tmp_path / "bad.jsonl", line), weight="w")
    with pytest.raises(InputError, match=r":1: the weight must be one number"):
        read_table(write(tmp_path / "bad.jsonl", '{"w": 1, "y": 1, "w": 2}'), weight="w")
    for bare, reason in (
        ({"y": 0, "a": 3}, r"--weight must be a field \(y, a\), not 'w'\."),
        ({"y": 0, "a": 3, "w": None}, r":1: has no field 'w' with a weight, or it is null"),
    ):
        other = write(tmp_path / "bare.jsonl", json.dumps(bare))
        with pytest.raises(InputError, match=reason):
            read_table(other, weight="w")
        assert main(["predict", str(model), str(other), "--quiet"]) == 0  # prediction needs no weights
    loaded = load(model)
    assert loaded.score_one({"a": 3}) == loaded.score_one({"a": 3, "w": 7}) == loaded.score_one({"a": 3, "w": "x"})


def test_numbers_in_json_strings_are_detected(tmp_path: Path) -> None:
    lines = [{"y": 1, "n": " 2.5 ", "s": "7"}, {"n": 3, "y": 0, "s": "8"}, {"n": "NA", "y": 1}, {"n": None, "y": 0}]
    path = write(tmp_path / "t.jsonl", *map(json.dumps, lines))
    assert rows_of(path, hash_bits=0, numeric=("n",)) == [{"n": 2.5, "s=7": 1}, {"n": 3, "s=8": 1}, {}, {}]
    assert rows_of(path, hash_bits=0)[2] == {"n=NA": 1}
    inside = write(tmp_path / "i.jsonl", '{"y": 1, "u": {"n": "1e1"}}', '{"y": 0, "u": {"n": ["1", "2"]}}')
    assert rows_of(inside, hash_bits=0, numeric=("u.n",)) == [{"u.n": 10}, {"u.n": 3}]
    for bad, message in (("old", "fields of --numeric must be numbers"), ("1e16", "numbers must be finite")):
        with pytest.raises(InputError, match=rf":2: {message}.*{bad}"):
            read_table(write(tmp_path / "b.jsonl", '{"y": 1, "n": "1"}', f'{{"y": 1, "n": "{bad}"}}'), numeric=("n",))
    skipped = write(tmp_path / "s.jsonl", '{"y": 1, "n": "old", "a": 2}')
    assert rows_of(skipped, hash_bits=0, numeric=("n",), columns=("a",)) == [{"a": 2}]


def test_missing_values_of_json_lines_are_recognised(tmp_path: Path) -> None:
    lines = [{"y": 1, "a": 2, "b": {"c": None}, "s": "NA"}, {"y": 0, "a": "", "b": {"c": "n/a"}, "s": "x"}, {"y": 1}]
    path = write(tmp_path / "t.jsonl", *map(json.dumps, lines))
    assert rows_of(path, hash_bits=0) == [{"a": 2, "s=NA": 1}, {"a=": 1, "b.c=n/a": 1, "s=x": 1}, {}]
    gaps = [{"a": 2, "b.c is missing": 1, "s is missing": 1}, {"a is missing": 1, "b.c is missing": 1, "s=x": 1}, {}]
    assert rows_of(path, hash_bits=0, missing="indicator") == gaps
    assert rows_of(path, hash_bits=0, missing="indicator", text="s") == gaps
    assert rows_of(path, hash_bits=0, missing="indicator", ignore=("b", "s")) == [{"a": 2}, {"a is missing": 1}, {}]
    hashed_rows, *_ = read_table(path, hash_bits=20, missing="indicator", columns=("a",))
    assert hashed_rows[1] == {hash_name(b"\x01missing", hash_name(b"a")) & (2**20 - 1): 1.0}  # like in tables
    with pytest.raises(InputError, match=r":1: missing value \(--missing error refuses it\), got 'null"):
        read_table(path, missing="error")
    with pytest.raises(InputError, match=r":2: missing value"):
        read_table(path, missing="error", ignore=("b", "s"))
    assert rows_of(path, hash_bits=0, missing="error", ignore=("b", "s", "a")) == [{}, {}, {}]


def test_models_of_json_lines_store_the_field_types(tmp_path: Path) -> None:
    rows = [
        {"y": k % 2, "n": str(k * 0.1), "s": ["u", None, "NA"][k % 3], "w": 1 + k % 2, "c": k % 4} for k in range(40)
    ]
    path, model = write(tmp_path / "t.jsonl", *map(json.dumps, rows)), tmp_path / "m.model"
    how = ["--numeric", "n", "--weight", "w", "--missing", "indicator", "--categorical", "c", "--learner", "perceptron"]
    for bits in ("0", "18"):
        learn = ["learn", str(path), *how, "--hash-bits", bits, "--quiet", "--json"]
        assert main([*learn, "--save", str(model)]) == 0
        assert main(["predict", str(model), str(path), "--scores", "--output", str(tmp_path / "out"), "--quiet"]) == 0
        scores = [float(line.split("\t")[1]) for line in (tmp_path / "out").read_text().splitlines()]
        loaded = load(model)
        assert [loaded.score_one(row) for row in rows] == scores
        assert loaded.decision_function(rows).tolist() == scores
        assert loaded.score_one({"n": 0.3, "s": float("nan")}) == loaded.score_one({"n": "0.3", "s": ""})
        assert main(["certify", str(model), str(path)]) == 0
        assert main(["learn", str(path), *how, "--resume", str(model), "--quiet"]) == 0


# --- Small models ---


def test_few_categories_get_a_dictionary_and_many_are_hashed(tmp_path: Path) -> None:
    few = write(tmp_path / "few.csv", "y,a,b", *(f"{k % 2},v{k % 30},{k}" for k in range(400)))
    many = write(tmp_path / "many.csv", "y,a,b", *(f"{k % 2},v{k},{k}" for k in range(2400)))
    for path, bits in ((few, 0), (many, 18)):
        head = path.read_bytes()
        assert Csv.from_options(ReadOptions(), head, "it").hash_bits == bits
        assert Csv.from_options(ReadOptions(hash_bits=12), head, "it").hash_bits == 12
    model = tmp_path / "few.model"
    assert main(["learn", str(few), "--save", str(model), "--quiet"]) == 0
    assert model.stat().st_size < 100_000
    assert load(model).n_features_in_ == 31


def test_learning_starts_again_with_hashing_when_a_dictionary_becomes_large(
    tmp_path: Path, learn: Learn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("novikoff.data.reader.MAX_DICTIONARY_NAMES", 50)
    path = write(tmp_path / "t.csv", "y,a", *(f"{k % 2},v{k % 60}" for k in range(400)))
    report = learn(path)
    assert "more than 50 different categories" in report["said"]
    assert "Restarting with --hash-bits 18." in report["said"]
    assert (report["features"], report["examples"]) == (1 << 18, 400)
    assert learn(path, "--hash-bits", "0")["features"] == 60


# --- Certificates ---


@pytest.mark.parametrize(
    "options",
    [
        ["--label", "survived"],
        ["--label", "4", "--categorical", "pclass", "--ignore", "age"],
        ["--label", "survived", "--text", "sex", "--char-ngrams", "2", "--numeric", "pclass"],
        ["--label", "survived", "--missing", "indicator", "--weight", "age", "--hash-bits", "10"],
        ["--label", "survived", "--columns", "sex", "--learner", "elimination"],
    ],
    ids=" ".join,
)
def test_certify_uses_the_reading_options_of_the_model(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model, document = titanic(tmp_path / "t.csv"), tmp_path / "m.model", tmp_path / "c.json"
    if "--learner" not in options:
        options = [*options, "--learner", "perceptron"]
    assert main(["learn", str(data), *options, "--save", str(model), "--quiet"]) == 0
    assert main(["certify", str(model), str(data), "--output", str(document)]) == 0
    assert main(["verify", str(document), str(data)]) == 0
    capsys.readouterr()


# --- Order of columns ---


@settings(max_examples=10 if JIT_DISABLED else 60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_features_do_not_depend_on_other_columns(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A table with other columns in between, and a later one with its columns in another order, give equal features."""
    draw, folder = random.Random(seed), tmp_path_factory.mktemp("t")
    kinds = [draw.choice("nc") for _ in range(draw.randint(1, 12))]
    names = ["y", *(f"{kind}{k}" for k, kind in enumerate(kinds))]
    cells = {
        "n": lambda: draw.choice(["", repr(draw.gauss(0, 9)), str(draw.randint(-5, 5))]),
        "c": lambda: draw.choice("abc"),
    }
    rows = [[draw.choice("01"), *(cells[kind]() for kind in kinds)] for _ in range(30)]
    rows[0] = ["1", *("0.5" if kind == "n" else "x" for kind in kinds)]
    plain = write(folder / "plain.csv", ",".join(names), *map(",".join, rows))
    order = draw.sample(range(len(names) + 2), len(names) + 2)
    wide = [[*names, "more", "id"], *([*row, draw.choice("pq"), str(k)] for k, row in enumerate(rows))]
    mixed = write(folder / "mixed.csv", *(",".join(row[c] for c in order) for row in wide))
    missing = draw.choice(["absent", "indicator"])
    expected = rows_of(plain, missing=missing)
    assert rows_of(mixed, missing=missing, ignore=("more", "id")) == expected
    _, _, _, reading = read_table(plain, missing=missing)
    reading.titles = [str(mixed)]
    names = None if reading.names is None else list(reading.names.columns)
    for batch in reading.batches():
        assert batch.features == (len(names) if names else len(kinds))
    assert np.isfinite(batch.rows.values).all()
    model = folder / "m.model"
    assert (
        main(["learn", str(plain), "--missing", missing, "--save", str(model), "--quiet", "--learner", "perceptron"])
        == 0
    )
    outputs = []
    for path in (plain, mixed):
        assert main(["predict", str(model), str(path), "--scores", "--quiet", "--output", str(folder / "out")]) == 0
        outputs.append((folder / "out").read_text())
    assert outputs[0] == outputs[1]


# --- Real data ---


@REAL
def test_bank_marketing_gives_a_small_model_with_names(learn: Learn, tmp_path: Path) -> None:
    model = tmp_path / "bank.model"
    report = learn(DATA_FOLDER / "bank_marketing.csv.gz", "--ignore", "duration", "--save", model)
    assert report["read"]["label_column"] == "y"
    assert report["read"]["ignored"] == ["duration"]
    assert report["read"]["categories"]["job"] == 12
    assert report["examples"] == 41188
    assert model.stat().st_size < 100_000
    assert "duration" not in load(model).feature_names_in_


@REAL
def test_sms_spam_is_read_as_downloaded(learn: Learn) -> None:
    report = learn(DATA_FOLDER / "sms_spam.tsv.gz")
    assert report["examples"] == 5574
    assert report["read"]["format"] == "text"
    assert "has two columns, of which one is text: read as labelled text" in report["warnings"][0]
    assert report["progressive_error"] < 0.1  # 13 % are spam


@REAL
def test_a_label_is_suggested_for_reuters(learn: Learn) -> None:
    path = DATA_FOLDER / "reuters21578.jsonl.gz"
    said = learn(path, code=2)["said"]
    assert "Perhaps --label has_topics, with the values YES, NO" in said
    assert "exchanges (nested), title (BAHIA COCOA REVIEW, " in said
    report = learn(path, "--label", "topics", "--ignore", "id,date", "--text", "title,body")
    assert "the label 'topics' has " in report["warnings"][-1]
    assert "places" in report["read"]["nested"]


@REAL
def test_identifiers_of_house_sales_are_reported(learn: Learn) -> None:  # style: allow (the data set's name)
    warnings = learn(DATA_FOLDER / "kc_house.csv.gz", "--label", "waterfront")["warnings"]  # style: allow (file name)
    assert "column 'id' (7129300520, " in warnings[0]
    assert "--ignore id if it is an identifier" in warnings[0]


@REAL
def test_credit_default_is_read_without_a_header(learn: Learn) -> None:
    path = DATA_FOLDER / "credit_default.csv.gz"
    assert "which column is the label" in learn(path, code=2)["said"]
    report = learn(path, "--label", "24", "--categorical", "2,3,4")
    assert "without a line of names" in report["read"]["format"]
    assert report["read"]["categorical"] == ["2", "3", "4"]
    assert report["read"]["categories"]["2"] == 2
    assert report["examples"] == 30000


@REAL
def test_california_housing_has_missing_values(learn: Learn) -> None:
    path = DATA_FOLDER / "california_housing.csv.gz"
    report = learn(path, "--label", "ocean_proximity")
    assert report["notes"] == [
        "missing values (total_bedrooms) make no features: --missing indicator makes a feature for each"
    ]
    assert report["features"] == 9
    assert learn(path, "--label", "ocean_proximity", "--missing", "indicator")["features"] == 10
    assert "column 'total_bedrooms' has no value" in learn(
        path, "--label", "ocean_proximity", "--missing", "error", code=2
    )["said"]  # fmt: skip


@REAL
def test_reuters_is_learned_without_id_and_date(learn: Learn) -> None:
    report = learn(
        DATA_FOLDER / "reuters21578.jsonl.gz", "--label", "has_topics", "--text", "title,body", "--ignore", "id,date"
    )
    assert report["read"]["ignored"] == ["id", "date"]
    assert report["read"]["text"] == ["title", "body"]
    assert report["examples"] == 21578


# --- Regressions ---


def test_a_missing_weight_column_is_reported(tmp_path: Path, learn: Learn) -> None:
    weighed = write(tmp_path / "w.csv", "y,w,a", *(f"{k % 2},2,{k}" for k in range(6)))
    bare = write(tmp_path / "bare.csv", "y,a", *(f"{k % 2},{k}" for k in range(6)))
    missing = f"{bare}: has no column 'w', which should hold the weights of the rows."
    assert missing in learn(weighed, bare, "--weight", "w", code=2)["said"]
    model = tmp_path / "m.model"
    learn(weighed, "--weight", "w", "--save", model)
    assert missing in learn(bare, "--resume", model, code=2)["said"]
    assert main(["predict", str(model), str(bare), "--quiet"]) == 0
    empty = write(tmp_path / "empty.csv", "y,w,a", "1,,3")
    assert main(["predict", str(model), str(empty), "--quiet"]) == 0


def test_large_dictionaries_are_used_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("novikoff.data.reader.MAX_DICTIONARY_NAMES", 5)
    model = tmp_path / "m.model"
    path = write(tmp_path / "t.csv", "y,a", *(f"{k % 2},v{k}" for k in range(20)))
    assert main(["learn", str(path), "--hash-bits", "0", "--save", str(model), "--quiet"]) == 0
    assert main(["predict", str(model), str(path), "--quiet"]) == 0
    assert main(["learn", str(path), "--resume", str(model), "--quiet"]) == 0


@pytest.mark.parametrize("names", [("true", "false"), ("TRUE", "FALSE"), ("True", "False")])
def test_booleans_are_numbers_in_every_format(names: tuple[str, str], tmp_path: Path) -> None:
    path, model = tmp_path / "t.csv", tmp_path / "m.model"
    write(path, "y,new,a", *(f"{names[k % 3 == 0]},{names[k % 2]},{k}" for k in range(20)))
    assert rows_of(path)[:2] == [{"new": 1.0}, {"a": 1.0}]
    assert main(["learn", str(path), "--save", str(model), "--quiet", "--learner", "perceptron"]) == 0
    loaded = load(model)
    assert loaded.classes_.tolist() == sorted(names)  # labels keep their case
    scores = [loaded.score_one({"new": new, "a": 3}) for new in (True, "true", 1, "1")]
    assert len(set(scores)) == 1


def test_the_text_encoding_is_stored_in_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, model, cached = tmp_path / "l.csv", tmp_path / "m.model", tmp_path / "c.model"
    path.write_bytes("y,stadt,größe\n1,Köln,3\n0,Münster,4\n1,Köln,5\n".encode("latin-1"))
    arguments = ["--learner", "perceptron", "--quiet", "--encoding", "latin-1"]
    assert main(["learn", str(path), "--save", str(model), *arguments]) == 0
    capsys.readouterr()
    assert main(["predict", str(model), str(path), "--scores"]) == 0
    out, error = capsys.readouterr()
    assert "note: " not in error
    assert "warning: " not in error
    assert [float(line.split("\t")[1]) for line in out.splitlines()] == [
        load(model).score_one({"stadt": city, "größe": k}) for k, city in ((3, "Köln"), (4, "Münster"), (5, "Köln"))
    ]
    capsys.readouterr()
    assert main(["predict", str(model), str(path), "--encoding", "utf-8", "--quiet"]) == 0
    assert "is not UTF-8 text" in capsys.readouterr().err
    plain = write(tmp_path / "plain.csv", "y,stadt", "1,Bonn", "0,Essen")
    assert main(["learn", str(plain), "--save", str(cached), "--learner", "perceptron", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["predict", str(cached), str(path), "--quiet"]) == 0
    assert "is not UTF-8 text" in capsys.readouterr().err
    assert main(["certify", str(model), str(path)]) == 0
    for encoding in ("latin-1", "cp1252", None):
        extra = [] if encoding is None else ["--encoding", encoding]
        main(
            [
                "learn",
                str(path),
                "--hash-bits",
                "10",
                "--cache",
                "--quiet",
                "--save",
                str(cached),
                "--learner",
                "sgd",
                *extra,
            ]
        )
        main(["learn", str(path), "--hash-bits", "10", "--quiet", "--save", str(model), "--learner", "sgd", *extra])
        assert cached.read_bytes() == model.read_bytes()
    capsys.readouterr()
    for wrong in ("hex", "rot13", "undefined"):
        with pytest.raises(SystemExit):
            main(["learn", str(path), "--encoding", wrong])


def test_a_cluster_reads_other_encodings(tmp_path: Path) -> None:
    shards = [tmp_path / "1.csv", tmp_path / "2.csv"]
    for shard in shards:
        shard.write_bytes("y,stadt\n1,Köln\n0,Münster\n1,Köln\n".encode("latin-1"))
    options = ReadOptions(label="y", encoding="latin-1")
    model = DistributedLearner(Perceptron(), rounds=2).fit(list(map(str, shards)), options=options).model_
    assert model.predict_one({"stadt": "Köln"}) == 1
    assert model.predict_one({"stadt": "Münster"}) == 0


def test_json_models_are_certified_without_options(tmp_path: Path) -> None:
    path, model = tmp_path / "t.jsonl", tmp_path / "m.model"
    write(path, *(json.dumps({"y": k % 2, "a": k, "zip": 5.0 if k % 3 else 7}) for k in range(20)))
    how = ["--categorical", "zip", "--learner", "perceptron", "--quiet", "--save", str(model)]
    assert main(["learn", str(path), *how]) == 0
    assert main(["certify", str(model), str(path)]) == 0


def test_training_options_may_be_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, model = titanic(tmp_path / "t.csv"), tmp_path / "m.model"
    how = ["--label", "survived", "--categorical", "pclass", "--ignore", "age"]
    assert main(["learn", str(path), *how, "--save", str(model), "--quiet"]) == 0
    assert main(["predict", str(model), str(path), *how, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["predict", str(model), str(path), "--ignore", "sex"]) == 2
    assert "leave out --ignore" in capsys.readouterr().err


def test_two_column_names_are_not_read_as_labelled_text(tmp_path: Path, learn: Learn) -> None:
    path = write(tmp_path / "t.tsv", "category\tmessage", *(f"{'ab'[k % 2]}\tsome words {k}" for k in range(30)))
    assert "which column is the label" in learn(path, code=2)["said"]
    report = learn(path, "--label", "category", "--text", "message")
    assert report["read"]["label"] == {"a": 15, "b": 15}


def test_suspicious_json_fields_give_warnings(tmp_path: Path, learn: Learn) -> None:
    rows = [{"y": k, "side": k % 2, "u": {"k": 1}} for k in range(120)]
    path = write(tmp_path / "t.jsonl", *map(json.dumps, rows))
    warnings = " ".join(learn(path, "--label", "y", "--ignore", "nothing")["warnings"])
    assert "the label 'y' has 120 different values in 120 rows" in warnings
    assert "no sampled line has the field 'nothing'" in warnings
    assert (
        "--ignore and --columns take top-level fields" in learn(path, "--label", "y", "--ignore", "u.k", code=2)["said"]
    )
    leak = write(
        tmp_path / "l.jsonl", *(json.dumps({"y": k % 2, "z": "pq"[k % 2], "a": k * 7 % 11}) for k in range(60))
    )
    assert "field 'z' alone determines the label" in " ".join(learn(leak)["warnings"])
