"""predict on data without labels in every format, and the errors counted where labels are given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from novikoff.cli.main import main
from novikoff.data import formats
from novikoff.data.formats.base import NO_LABEL_KEY, Format
from novikoff.data.reader import DataReader, ReadOptions
from novikoff.errors import InputError
from tests.helpers.csv_reference import list_rows

Read = tuple[list[Any], list[Any], list[int]]


def detect_format(content: bytes, name: str, **options: Any) -> Format:
    kind: type[Format] = formats.get_format_class(name)
    if content.startswith(b"1,"):  # a table without names
        options["label"] = "1"
    return kind.from_options(ReadOptions(**options), content, "it")


def read(path: Path, content: bytes, fmt: Format, *, unlabelled: bool = True, **options: Any) -> Read:
    """Return rows, labels and keys as predict reads them; with a dictionary, names in place of columns."""
    path.write_bytes(content)
    reading = DataReader([str(path)], ReadOptions(unlabelled=unlabelled, threads=1, **options), fmt)
    rows: list[Any] = []
    labels: list[Any] = []
    keys: list[int] = []
    for batch in reading.batches():
        rows += list_rows(batch)
        labels += [batch.parsed.label(i) for i in range(len(batch))]
        keys += batch.parsed.keys.tolist()
    if reading.names is not None:
        names = list(reading.names.columns)
        rows = [{names[k]: value for k, value in row.items()} for row in rows]
    return rows, labels, keys


SVM = (b"1 1:1 3:0.5\n-1 2:1 # x\n1 qid:3 1:2\n", b"1:1 3:0.5\n2:1 # x\nqid:3 1:2\n")
NUMBERS = (b"a,y,b,c\n1,1,0.5,7\n2,0,1e3,\n3,1,?,9\n", b"a,b,c\n1,0.5,7\n2,1e3,\n3,?,9\n")
MIXED = (
    b'colour,y,size,shape\nred,yes,1,round\n"a ""b""",no,2,NA\n,yes,,round\n',
    b'colour,size,shape\nred,1,round\n"a ""b""",2,NA\n,,round\n',
)
LAST = (b"x;z;label\n1;2;a\n3;4;b\n", b"x;z\n1;2\n3;4\n")
ONE = (b"word\tclass\nred\ta\n\nblue\tb\n", b"word\nred\n\n \nblue\n")
BARE = (b"1,0.5,x\n-1,2,y\n1,3,x\n", b"0.5,x\n2,y\n3,x\n")
JSON = (
    b'{"label": "a", "n": 1, "t": "some words"}\n{"n": 2, "label": true}\n{"label": 3, "n": 4}\n',
    b'{"n": 1, "t": "some words"}\n{"n": 2, "label": null}\n{"n": 4}\n',
)
TEXT = (b"a\tSome words, some\nb\tother\n3\tlast words\n", b"Some words, some\n\tother\n  \tlast words\n")
CASES: dict[str, tuple[str, bytes, bytes, dict[str, Any]]] = {
    "svmlight": ("svmlight", *SVM, {}),
    "numbers": ("csv", *NUMBERS, {}),
    "mixed": ("csv", *MIXED, {}),
    "mixed-dictionary": ("csv", *MIXED, {"hash_bits": 0}),
    "label-last": ("csv", *LAST, {}),
    "one-column": ("tsv", *ONE, {}),
    "no-header": ("csv", *BARE, {}),
    "no-header-wide": ("csv", b"1," + b"2," * 20 + b"3\n0" + b",5" * 21 + b"\n", b"2," * 20 + b"3\n5" + b",5" * 20, {}),
    "jsonl": ("jsonl", *JSON, {}),
    "jsonl-text": ("jsonl", *JSON, {"text": "t"}),
    "text": ("text", *TEXT, {}),
    "text-letters": ("text", *TEXT, {"char_ngrams": 3, "word_ngrams": 2, "hash_bits": 0}),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_are_the_same_without_labels(case: str, tmp_path: Path) -> None:
    name, labelled, bare, options = CASES[case]
    fmt = detect_format(labelled, name, **options)
    rows, labels, keys = read(tmp_path / "it", labelled, fmt)
    without, absent, none = read(tmp_path / "it", bare, fmt)
    assert without == rows
    assert absent == [None] * len(rows)
    assert set(none) == {int(NO_LABEL_KEY)}
    assert None not in labels
    assert int(NO_LABEL_KEY) not in keys
    assert read(tmp_path / "it", labelled, fmt, unlabelled=False) == (rows, labels, keys)


@pytest.mark.parametrize("block", [1, 7, 40])
@pytest.mark.parametrize("case", CASES)
def test_block_sizes_do_not_change_predictions(case: str, block: int, tmp_path: Path) -> None:
    name, labelled, bare, options = CASES[case]
    fmt = detect_format(labelled, name, **options)
    assert read(tmp_path / "it", bare, fmt, block=block) == read(tmp_path / "it", bare, fmt)


def test_a_later_file_may_have_labels_again(tmp_path: Path) -> None:
    fmt = detect_format(MIXED[0], "csv")
    (tmp_path / "a").write_bytes(MIXED[1])
    (tmp_path / "b").write_bytes(MIXED[0])
    reading = DataReader([str(tmp_path / "a"), str(tmp_path / "b")], ReadOptions(unlabelled=True), fmt)
    labels = [batch.parsed.label(i) for batch in reading.batches() for i in range(len(batch))]
    assert labels == [None, None, None, "yes", "no", "yes"]


@pytest.mark.parametrize(
    ("name", "model", "data", "labels"),
    [
        ("csv", MIXED[0], b"colour,y,size,shape\nred,,1,x\nred,no,1,x\nred,NA,1,x\n", [None, "no", None]),
        ("csv", NUMBERS[0], b"a,y,b,c\n1,,1,1\n1,0,1,1\n1,nan,1,1\n1,-NaN,1,1\n", [None, 0, None, None]),
        ("svmlight", SVM[0], b"1:1 2:3\n1 1:1\n1:1 \n 1:2\n\n-1\n2:3 4:5 # 1\n", [None, 1, None, None, -1, None]),
        ("svmlight", SVM[0], b"".join(b"%d:1 " % k for k in range(1, 30)) + b"\n7:1\n1 7:1\n", [None, None, 1]),
        ("jsonl", JSON[0], b'{"label": false}\n{"a": 1}\n{"label": true}\n', ["false", None, "true"]),
        ("text", TEXT[0], b"no tab\n-1\twith tab\n\tempty\n \nmore\n", [None, -1, None, None]),
    ],
)
def test_some_examples_have_a_label(name: str, model: bytes, data: bytes, labels: list[Any], tmp_path: Path) -> None:
    _, found, keys = read(tmp_path / "it", data, detect_format(model, name))
    assert found == labels
    assert [key == int(NO_LABEL_KEY) for key in keys] == [label is None for label in labels]


@pytest.mark.parametrize(
    ("name", "model", "data", "sentence"),
    [
        ("svmlight", SVM[0], SVM[1], "it:1: the label must be a number, got '1:1'."),
        ("csv", MIXED[0], MIXED[1], "it:2: the label, column 'y', is missing."),
        ("csv", BARE[0], BARE[1], "it:1: expected 3 cells, got 2."),
        ("csv", NUMBERS[0], b"a,y,b,c\n1,,1,1\n", "it:2: the label, column 'y', is missing."),
        ("jsonl", JSON[0], JSON[1], "it:1: has no field 'label' with a label, or it is null."),
        ("text", TEXT[0], TEXT[1], "it:1: expected a label, a tab and a text, but there is no text after"),
    ],
)
def test_a_learner_must_have_labels(name: str, model: bytes, data: bytes, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path / "it", data, detect_format(model, name), unlabelled=False)
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("name", "model", "data", "sentence"),
    [
        ("svmlight", SVM[0], b"1:1 x\n", "it:1: expected index:value"),
        ("svmlight", SVM[0], b"a:1 2:1\n", "it:1: expected index:value"),
        ("svmlight", SVM[0], b"3:1 2:1\n", "it:1: indices must grow"),
        ("svmlight", SVM[0], b"x 2:1\n", "it:1: the label must be a number, got 'x'."),
        ("csv", MIXED[0], b"colour,size,shape\nred,1,a\nred,x,b\n", "it:3: column 'size' must be a number"),
        (
            "csv",
            NUMBERS[0],
            b"a,b,c\n1,2,x\n",
            "it:2: column 'c' must be a number as on the first lines, got 'x'.",
        ),
        ("csv", NUMBERS[0], b"a,b,c\n1,2,3\n1,1,2,3\n", "it:3: expected 3 cells, got 4."),
        ("csv", NUMBERS[0], b"a,y,b,c\n1,1,2,3\n1,2,3\n", "it:3: expected 4 cells, got 3."),
        ("csv", NUMBERS[0], b"a,y,b,c\n1,x,2,3\n", "it:2: the label, column 'y', must be a number"),
        ("csv", NUMBERS[0], b"p,y,q\n1,2,3\n", "has none of the columns of the data before (a, b, c), but p, y, q."),
        ("csv", BARE[0], b"1,0.5,x\n2,y\n-1,1,x\n", "it:2: expected 3 cells, got 2."),
        ("jsonl", JSON[0], b'{"n": 1} x\n', "it:1: "),
        ("text", TEXT[0], b"label\t\n", "it:1: expected a label, a tab and a text"),
        ("text", b"__label__a words\n__label__b words\n", b"words\n", "it:1: expected a label, a blank and a text"),
    ],
)
def test_malformed_lines_are_still_reported(
    name: str, model: bytes, data: bytes, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as raised:
        read(tmp_path / "it", data, detect_format(model, name))
    assert sentence in str(raised.value)


@pytest.mark.parametrize("target", ["words", "numbers"])
@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_parquet_without_labels_is_predicted(kind: str, texts: bool, target: str, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is in the parquet extra")
    parquet, feather = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.feather")
    write: Callable[[Any, str], None] = parquet.write_table if kind == "parquet" else feather.write_feather
    labels: list[Any] = ["ham", "spam", "ham"] if target == "words" else [1, -1, 1]
    columns = {"a": [1.0, None, 3.0], "label": labels, "b": ["x", None, "y"] if texts else [1, 2, 3]}
    path = tmp_path / f"t.{kind}"

    def read_back(table: Any, fmt: Format | None = None) -> tuple[Read, Format]:
        write(table, str(path))
        reading = DataReader([str(path)], ReadOptions(unlabelled=True, threads=1), fmt)
        rows: list[Any] = []
        labels_read: list[Any] = []
        keys: list[int] = []
        for batch in reading.batches():
            rows += list_rows(batch)
            labels_read += [batch.parsed.label(i) for i in range(len(batch))]
            keys += batch.parsed.keys.tolist()
        assert reading.format is not None
        return (rows, labels_read, keys), reading.format

    (rows, labels_read, _), fmt = read_back(pyarrow.table(columns))
    assert labels_read == labels
    (without, absent, keys), _ = read_back(pyarrow.table({name: columns[name] for name in "ab"}), fmt)
    assert (without, absent, len(set(keys))) == (rows, [None] * 3, 1)
    some = [labels[0], None, labels[2]]
    (again, labels_read, _), _ = read_back(pyarrow.table({**columns, "label": some}), fmt)
    assert (again, labels_read) == (rows, some)
    write(pyarrow.table({name: columns[name] for name in "ab"}), str(path))
    with pytest.raises(InputError, match="the label, column 'label', is missing"):
        list(DataReader([str(path)], ReadOptions(threads=1), fmt).batches())


LEARNED = {
    "svm": (b"1 1:1 3:0.5\n-1 2:1 3:0.25\n" * 3, b"1:1 3:0.5\n2:1 3:0.25\n", ["1", "-1"]),
    "vw": (b"1 | a c\n-1 | b c\n" * 3, b"| a c\n| b c\n", ["1", "-1"]),
    "csv": (b"a,y,b\n" + b"red,yes,1\nblue,no,2\n" * 3, b"a,b\nred,1\nblue,2\n", ["yes", "no"]),
    "jsonl": (b'{"y": "p", "a": "x"}\n{"y": "q", "a": "z"}\n' * 3, b'{"a": "x"}\n{"a": "z"}\n', ["p", "q"]),
    "txt": (b"good\tfine words\nbad\tawful things\n" * 3, b"fine words\nawful things\n", ["good", "bad"]),
}


@pytest.mark.parametrize("kind", LEARNED)
def test_predictions_without_labels_are_printed(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labelled, bare, expected = LEARNED[kind]
    learn, new, model = tmp_path / f"learn.{kind}", tmp_path / f"new.{kind}", str(tmp_path / "m.model")
    learn.write_bytes(labelled)
    new.write_bytes(bare)
    said = ["--format", "text"] if kind == "txt" else []
    assert main(["learn", str(learn), *said, "--passes", "3", "--save", model, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["predict", model, str(new)]) == 0
    out, err = capsys.readouterr()
    assert out.split() == expected
    assert err.endswith("2 examples, no labels to compare with\n")
    assert main(["predict", model, str(learn)]) == 0
    err = capsys.readouterr().err
    assert "6 examples, accuracy 100.00 % (0 of 6 wrong)\n" in err
    assert f"error of this model on {learn.name}: 0.00 %, 95 % interval 0.00 to 45.93 % (if {learn.name} is an" in err


def test_errors_are_counted_among_labelled_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learn, new, model = tmp_path / "learn.svm", tmp_path / "new.svm", str(tmp_path / "m.model")
    learn.write_bytes(LEARNED["svm"][0])
    assert main(["learn", str(learn), "--passes", "3", "--save", model, "--quiet"]) == 0
    capsys.readouterr()

    def answer(content: bytes) -> Any:
        new.write_bytes(content)
        assert main(["predict", model, str(new), "--json", "--output", str(tmp_path / "out")]) == 0
        out, err = capsys.readouterr()
        return json.loads(out), err

    report, err = answer(b"1 1:1\n1:1\n-1 1:1\n0.5 1:1\n7 2:1\n2:1\n")
    low, high = report.pop("model_error_interval")
    assert (round(low, 4), round(high, 4)) == (0.1941, 0.9937)
    counted = {"labelled": 4, "errors": 3, "model_error": 0.75, "accuracy": 0.25, "delta": 0.05}
    assert report == {"examples": 6, **counted}
    assert "6 examples, 4 with a label, accuracy 25.00 % (3 of 4 wrong)\n" in err
    assert "error of this model on new.svm: 75.00 %, 95 % interval 19.41 to 99.37 %" in err
    assert (tmp_path / "out").read_text() == "1\n1\n1\n1\n-1\n-1\n"
    report, err = answer(b"1:1\n")
    assert report == {"examples": 1, "labelled": 0, "errors": 0, "model_error": None}
    assert err.endswith("1 examples, no labels to compare with\n")


# --- Several files ---


def test_predictions_of_several_files_follow_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = [tmp_path / name for name in ("train.svm", "a.svm", "b.svm")]
    parts[0].write_text("+1 1:1\n-1 2:1\n" * 20)
    parts[1].write_text("+1 1:2\n-1 2:1\n")
    parts[2].write_text("+1 2:2\n1:1\n")
    model = str(tmp_path / "m.model")
    assert main(["learn", str(parts[0]), "--learner", "perceptron", "--save", model, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["predict", model, str(parts[1]), str(parts[2])]) == 0
    shown = capsys.readouterr()
    assert shown.out == "1\n-1\n-1\n1\n"
    assert "4 examples, 3 with a label, accuracy 66.67 % (1 of 3 wrong)" in shown.err
    assert "error of this model on a.svm and b.svm" in shown.err
    out = tmp_path / "labels.txt"
    assert main(["predict", model, *map(str, parts[1:]), "--output", str(out), "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["examples"] == 4
    assert out.read_text() == shown.out


def test_a_bad_second_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, bad, model = tmp_path / "a.svm", tmp_path / "b.svm", str(tmp_path / "m.model")
    data.write_text("+1 1:1\n-1 2:1\n" * 20)
    bad.write_text("+1 1:1\n+1 x:1\n")
    assert main(["learn", str(data), "--save", model, "--quiet"]) == 0
    assert main(["predict", model, str(data), str(bad)]) == 2
    assert f"{bad}:2" in capsys.readouterr().err
    assert main(["predict", model, str(data), str(tmp_path / "absent.svm")]) == 2
    assert "absent.svm: no such file" in capsys.readouterr().err
    assert main(["predict", model, "-", "-"]) == 2
    assert "can be read once only" in capsys.readouterr().err
    assert main(["predict", model, str(data), "iris"]) == 2
    assert "iris: its columns are not those" in capsys.readouterr().err


def test_queries_of_several_files_are_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model, out = tmp_path / "a.svm", str(tmp_path / "m.model"), str(tmp_path / "out.txt")
    data.write_text("".join(f"{k % 2} qid:{q} 1:{k % 2} 2:1\n" for q in range(10) for k in range(4)))
    other = tmp_path / "b.svm"
    other.write_text(data.read_text())
    assert main(["learn", str(data), "--save", model, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["predict", model, str(data), str(other), "--output", out, "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["queries"] == 20
