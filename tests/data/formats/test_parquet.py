"""Parquet and Arrow files: the same rows as the CSV file of the same table, and what is refused."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from novikoff import InputError
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.cli.main import main
from novikoff.data.formats import parquet as parquet_format
from tests.helpers.csv_reference import read_table

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is in the parquet extra")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")
pandas = pytest.importorskip("pandas", reason="pandas is not installed (extra dev)")

ROWS = 40 if JIT_DISABLED else 5000
TEXTS = ["red", "green", "", None, "NA", "?", "é", 'say "hi"', "two\nlines", "a,b", "x" * 80, " "]


def table(rows: int = ROWS, *, texts: bool = True) -> Any:
    rng = random.Random(4)
    columns: dict[str, Any] = {
        "whole": pyarrow.array([rng.choice([None, 0, 7, -1000]) for _ in range(rows)], pyarrow.int64()),
        "label": pyarrow.array([rng.choice(["ham", "spam"]) for _ in range(rows)]),
        "real": pyarrow.array([rng.choice([None, float("nan"), 0.1, -0.0, 1e-30, rng.random()]) for _ in range(rows)]),
        "single": pyarrow.array(np.random.default_rng(1).normal(size=rows).astype(np.float32)),
        "small": pyarrow.array([rng.randint(0, 200) for _ in range(rows)], pyarrow.uint8()),
    }
    if texts:
        columns["text"] = pyarrow.array([rng.choice(TEXTS) for _ in range(rows)])
        columns["coded"] = pyarrow.array([rng.choice(TEXTS) for _ in range(rows)]).dictionary_encode()
    return pyarrow.table(columns)


def write_table(data: Any, folder: Any, kind: str) -> Any:
    path = folder / f"t.{kind}"
    if kind == "parquet":
        parquet.write_table(data, path, row_group_size=max(1, len(data) // 3))
    elif kind == "csv":
        frame = data.to_pandas()
        frame.to_csv(path, index=False)
    else:
        feather.write_feather(data, str(path), compression="uncompressed" if kind == "arrow" else "lz4", chunksize=1000)
    return path


@pytest.mark.parametrize("kind", ["parquet", "arrow", "feather"])
@pytest.mark.parametrize(
    "options", [{}, {"hash_bits": 0}, {"hash_bits": 10, "signed_hash": True}, {"keep_names": 1}, {"threads": 3}]
)
def test_rows_equal_those_of_csv(kind: str, options: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_format, "CELLS_PER_CHUNK", 3000)
    data = table()
    actual, expected = (read_table(write_table(data, tmp_path, k), **options) for k in (kind, "csv"))
    assert actual[:2] == expected[:2]
    assert actual[2] == [f":{k + 1}" for k in range(ROWS)]
    assert actual[3].kept == expected[3].kept
    assert actual[3].report() == expected[3].report()
    if options.get("hash_bits") == 0:
        assert actual[3].names is not None
        assert expected[3].names is not None
        assert actual[3].names.columns == expected[3].names.columns


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_table_of_numbers_is_dense(kind: str, tmp_path: Any) -> None:
    data = table(texts=False)
    actual, expected = (read_table(write_table(data, tmp_path, k)) for k in (kind, "csv"))
    assert actual[:2] == expected[:2]
    assert isinstance(actual[0][0], list)
    assert actual[3].format is not None
    assert actual[3].format.columns == ["whole", "real", "single", "small"]


def test_booleans_decimals_and_nulls_are_read(tmp_path: Any) -> None:
    import decimal

    data = pyarrow.table(
        {
            "y": [True, False, True],
            "flag": pyarrow.array([True, None, False]),
            "price": pyarrow.array([decimal.Decimal("1.25"), None, decimal.Decimal("-3.50")]),
            "nothing": pyarrow.nulls(3),
        }
    )
    rows, labels, _, _ = read_table(write_table(data, tmp_path, "parquet"))
    assert rows == [[1.0, 1.25, 0.0], [0.0, 0.0, 0.0], [0.0, -3.5, 0.0]]
    assert labels == [1, 0, 1]


def test_bad_rows_are_reported(tmp_path: Any) -> None:
    data = pyarrow.table({"y": [1.0, None, 0.0, 1e300, 1.0, 0.0], "a": [1.0, 2.0, float("inf"), 3.0, -2e15, 5.0]})
    path = write_table(data, tmp_path, "parquet")
    with pytest.raises(InputError) as raised:
        read_table(path)
    assert str(raised.value) == f"{path}:2: the label, column 'y', is missing."
    rows, _, places, reading = read_table(path, bad_lines="skip")
    assert (rows, places) == ([[1.0], [5.0]], [":1", ":6"])
    assert dict(reading.bad) == {"no label": 1, "range": 2, "label": 1}


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (pyarrow.array([[1], [2]]), "column 'a' is of type list"),
        (pyarrow.array([{"b": 1}, {"b": 2}]), "column 'a' is of type struct"),
        (pyarrow.array([b"1", b"2"]), "column 'a' is of type binary"),
        (pyarrow.array([1, 2], pyarrow.timestamp("s")), "column 'a' is of type timestamp"),
    ],
)
def test_unsupported_columns_are_refused(column: Any, sentence: str, tmp_path: Any) -> None:
    with pytest.raises(InputError, match=sentence):
        read_table(write_table(pyarrow.table({"y": [1, 0], "a": column}), tmp_path, "parquet"))


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("damage", ["cut", "overwritten", "empty"])
def test_damaged_files_are_refused(kind: str, damage: str, tmp_path: Any) -> None:
    path = write_table(table(), tmp_path, kind)
    content = bytearray(path.read_bytes())
    if damage == "cut":
        del content[len(content) // 2 :]
    elif damage == "empty":
        content.clear()
    else:
        content[-200:-20] = bytes(180)
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"t.{kind}"):
        read_table(path)


def test_a_model_is_learned_from_parquet(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
    data = table(200)
    parquet.write_table(data[:100], a)
    parquet.write_table(data[100:], b)
    together, first, second = (tmp_path / name for name in ("together", "first", "second"))

    def run(*arguments: Any) -> int:
        return main([str(argument) for argument in arguments])

    assert run("learn", a, b, "--save", together, "--quiet") == 0
    assert run("learn", a, "--save", first, "--quiet") == 0
    assert run("learn", b, "--resume", first, "--save", second, "--quiet") == 0
    assert together.read_bytes() == second.read_bytes()
    assert run("predict", second, b, "--quiet") == 0
    assert len(capsys.readouterr().out.split()[-100:]) == 100
    parquet.write_table(data.select(data.column_names[::-1])[100:], b)  # matched by name
    assert run("predict", second, b, "--quiet") == 0
    swapped = capsys.readouterr().out
    parquet.write_table(data[100:], b)
    assert run("predict", second, b, "--quiet") == 0
    assert capsys.readouterr().out == swapped
    parquet.write_table(data.drop_columns(["small"]), b)
    assert run("predict", second, b) == 0
    assert "absent columns count as missing: small" in capsys.readouterr().err
    parquet.write_table(data.set_column(0, "whole", data["label"]), b)
    assert run("predict", second, b) == 2
    assert "column 'whole' must be numbers, but is " in capsys.readouterr().err


def test_a_missing_pyarrow_names_the_extra(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_table(table(), tmp_path, "parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install novikoff\[parquet\]"):
        read_table(path)


def test_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    path = write_table(table(), tmp_path, "parquet")
    with path.open("rb") as file:
        monkeypatch.setattr("sys.stdin", type("Standard", (), {"buffer": file}))
        with pytest.raises(InputError, match="can't be read from standard input"):
            read_table("-")
