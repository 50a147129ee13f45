"""The benchmarks: measurements are counted correctly, stored in full and shown unchanged, on made-up rows."""

from __future__ import annotations

import importlib
import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import accuracy_tables, measure, page, tables, texts
from benchmarks.accuracy_data import rescale
from benchmarks.measure import Failed, Limit, Row, Slope
from benchmarks.multiclass_data import Split
from tests.helpers.paths import ROOT

ON = {"machine": "a machine", "date": "2026-01-01", "load": "0.1", "versions": "none"}
ROWS: list[measure.Entry] = [
    Row("fast <b>", 1.0, 3.0, 3.0, 2.5, 3.5, 2.0, rounds=((1.0, 2.5), (1.0, 3.0), (1.0, 3.5))),
    Row("slow", 1.0, 3.0, 3.0, -0.5, 3.5, 4.0, note="errors 0.1 / 0.2"),
    Row("fast | worse", 1.0, 3.0, 3.0, 2.5, 3.5, 2.0, holds=False),
    Limit("large", 10.0, 40.0, 30.0, 28.0, 31.0, 25.0, "MB", ((10.0, 40.0),)),
    Limit("none", 10.0, 9.0, -1.0, -2.0, 0.0, 25.0, "MB"),
    Slope("steep", (10.0, 100.0, 1000.0), (1.0, 20.0, 400.0), 1.3, 1.2, 1.4, 1.0, 0.05, ((1.0, 20.0, 400.0),)),
    Failed("gone", "exit code 1"),
]
TABLE = tables.Table("made-up", "Made up", "ours", "theirs", ROWS, ON)


def test_every_benchmark_can_be_imported() -> None:
    pytest.importorskip("sklearn")
    for file in sorted((ROOT / "benchmarks").glob("*.py")):
        importlib.import_module(f"benchmarks.{file.stem}")
    from benchmarks.__main__ import QUICK, TABLES

    assert set(QUICK) < set(TABLES)
    for name in QUICK:
        assert not name.endswith("-quick") or name.removesuffix("-quick") in TABLES


def test_ratios_are_taken_in_each_round_and_the_first_round_does_not_count() -> None:
    ours, theirs = iter([9.0, 1.0, 2.0, 4.0]), iter([1.0, 3.0, 2.0, 20.0])
    row = measure.compare_values("row", lambda: next(ours), lambda: next(theirs), 2.0, rounds=3)
    assert (row.ratio, row.low, row.high) == (3.0, 1.0, 5.0)
    assert (row.ours, row.theirs) == (2.0, 3.0)
    assert row.rounds == ((1.0, 3.0), (2.0, 2.0), (4.0, 20.0))
    assert row.reached()


def test_a_run_shorter_than_start_up_gives_no_row() -> None:
    values = iter([1.0, 1.0, 1.0, 1.0, -0.001, 1.0])
    row = measure.attempt(
        "row", lambda title: measure.compare_values(title, lambda: next(values), lambda: next(values), 2.0, 2)
    )
    assert isinstance(row, Failed)
    assert "too busy" in row.why


def test_limits_are_differences_where_they_have_a_unit() -> None:
    values = itertools.cycle([10.0, 14.0])
    grown = measure.measure_limit("row", lambda: next(values), lambda: next(values), 1.2, rounds=3)
    assert (grown.found, grown.reached()) == (1.4, False)
    more = measure.measure_limit("row", lambda: next(values), lambda: next(values), 5.0, "MB", rounds=3)
    assert (more.found, more.reached()) == (4.0, True)


def test_the_slope_of_a_power_is_its_exponent() -> None:
    sizes = (10.0, 100.0, 1000.0)
    rounds = tuple(tuple(c * n**p for n in sizes) for c, p in ((1.0, 1.0), (2.0, 1.02), (0.5, 1.3)))
    found = measure.measure_slope("row", sizes, rounds)
    assert found.slope == pytest.approx(1.02)
    assert found.low == pytest.approx(1.0)
    assert found.high == pytest.approx(1.3)
    assert found.reached()
    assert not found._replace(slope=1.051).reached()
    assert not found._replace(slope=0.949).reached()


def test_a_row_says_by_how_much_it_falls_short() -> None:
    said = [row.cells().verdict for row in ROWS]
    assert said == [
        "reached",
        "below by 25.0 %; errors 0.1 / 0.2",
        "reached; does not count: see the note",
        "above by 20.0 %",
        "reached",
        "above by 25.0 %",
        "failed: exit code 1",
    ]
    assert [row.reached() for row in ROWS] == [True, False, False, False, True, False, False]


def test_results_survive_the_round_trip_through_a_file() -> None:
    assert tables.decode_tables(tables.encode_tables([TABLE])) == [TABLE]


def test_tables_and_page_show_every_row(tmp_path: Path) -> None:
    tables.save_tables([TABLE], tmp_path)
    shown = (tmp_path / "speed.md").read_text()
    lines = [line for line in shown.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(ROWS)
    assert {line.count("|") for line in lines} == {8}
    made = (tmp_path / "speed.html").read_text()
    assert "2 of 7 rows reach their target" in made
    assert "fast &lt;b&gt;" in made
    assert "fast <b>" not in made.partition('id="numbers"')[0]
    assert not re.search(r"""(src|href)=["'](https?:)?//""", made.rpartition("</head>")[2])
    assert tables.load_tables(tmp_path) == [TABLE]


def test_shares_of_targets_are_finite_and_sorted() -> None:
    for row in ROWS:
        if isinstance(row, Row | Limit):
            found, low, high = page.compute_target_shares(row)
            assert 0 < low <= found <= high < math.inf
            assert (found >= 1) == (row.reached() or (isinstance(row, Row) and not row.holds))


def test_numbers_are_written_in_full() -> None:
    shown = texts._decimal(np.array([1, 90, 1003, 10_000_000]), 8)
    assert [bytes(each[each != 0]) for each in shown] == [b"1", b"90", b"1003", b"10000000"]


def test_generated_texts_have_the_stated_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import novikoff

    monkeypatch.setenv("NOVIKOFF_BENCH", str(tmp_path))
    few = {"thin.svm": texts.TEXTS["thin-10000.svm"]._replace(rows=50), "few.jsonl": texts.TEXTS["ten.jsonl"]}
    monkeypatch.setattr(texts, "TEXTS", few)
    X, y = novikoff.read(texts.path("thin.svm")).to_arrays()
    assert X.shape[0] == 50
    assert set(np.diff(X.indptr)) == {texts.THIN}
    assert set(y) == {-1, 1}
    assert np.allclose(X.multiply(X).sum(axis=1), 1, atol=1e-4)
    X, _ = novikoff.read(texts.path("few.jsonl"), label="_label").to_arrays()
    assert set(np.diff(X.indptr)) == {texts.COLUMNS}


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_other_units_are_powers_of_ten(make: Any) -> None:
    X = np.random.default_rng(0).random((5, 40)) + 1
    split = rescale(Split(make(X), None, make(X), None), 1)
    ratio = (split.X.toarray() if sp.issparse(split.X) else split.X) / X
    powers = np.log10(ratio)
    assert np.allclose(powers, powers[0], atol=1e-6)
    assert np.allclose(powers, powers.round(), atol=1e-6)
    assert (powers.round().min(), powers.round().max()) == (-3, 3)


MEANS = {
    "a": {
        "auto": 90.0,
        "vw squared": 89.0,
        "sklearn PA-I": 90.4,
        "LinearSVC, converged": 90.6,
        "auto, 10 passes": 90.5,
    },
    "b": {"auto": 80.0, "vw squared": 79.0, "arow": 82.0, "auto, 10 passes": 80.0, "LinearSVC, converged": 80.3},
    "elec2": {"auto": 85.6, "vw squared": 79.0, "sklearn PA-I": 80.0},
}


def list_held_claims(means: accuracy_tables.Means) -> list[bool | None]:
    return [claim.holds for claim in accuracy_tables.iter_claims(means)]


def test_claims_hold_where_the_numbers_say_so() -> None:
    assert list_held_claims(MEANS) == [True, True, False, False, None, True, False]
    worse = {**MEANS, "b": {**MEANS["b"], "vw squared": 95.0}}
    assert list_held_claims(worse)[:2] == [False, False]
    scaled = {**MEANS, "a": {**MEANS["a"], "other units: auto": 89.4}}
    assert list_held_claims(scaled)[4] is False
    assert list_held_claims({"elec2": {"auto": 85.4, "vw squared": 79.0}})[5] is False
    assert "b by 2.00 (arow)" in accuracy_tables.render_results(MEANS)


def test_tables_have_a_cell_for_every_column() -> None:
    lines = list(accuracy_tables.iter_table_lines(MEANS, ["auto", "sklearn PA-I"]))
    assert {line.count("|") for line in lines} == {4}
    assert lines[2] == "| a | 90.00 | **90.40** |"
    assert lines[3] == "| b | **80.00** |  |"
    assert lines[-1] == "| mean | 85.20 | (85.20) |"
