"""The experiments: no bound is broken, growth follows the theorems, and the pages work in a real browser."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from novikoff import InputError
from novikoff.cli.main import main
from novikoff.experiments import EXPERIMENTS, curve_fit, experiment, irrelevant_attributes, margin
from novikoff.experiments.result import (
    Axis,
    BoundCheck,
    ExperimentResult,
    build_panel,
    lower_bound_column,
    observed_column,
    upper_bound_column,
    x_column,
)
from novikoff.experiments.theorems import MARGIN_REACHED, NOVIKOFF
from novikoff.reports.experiment_page import build_page
from novikoff.reports.formatting import build_table, format_number
from tests.helpers.browser import CHROMIUM, ParsedPage

SMALL: dict[str, dict[str, Any]] = {
    "irrelevant-attributes": {"attributes": 1000},
    "irrelevant-dimensions": {"attributes": 100, "examples": 300},
    "drift": {"attributes": 64, "drift": 30, "examples": 3000},
    "margin": {"margin": 0.03, "examples": 300},
    "noise": {"attributes": 50, "relevant": 2, "examples": 1500},
}
RESULTS: dict[str, ExperimentResult] = {}


def run_small(name: str) -> ExperimentResult:
    if name not in RESULTS:
        RESULTS[name] = experiment(name)(**SMALL[name])
    return RESULTS[name]


def options(name: str) -> list[str]:
    return [part for key, value in SMALL[name].items() for part in (f"--{key}", str(value))]


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("seed", range(4))
def test_no_bound_is_broken(name: str, seed: int) -> None:
    result = experiment(name)(**SMALL[name], random_state=seed)
    assert len(result.checks) > 5
    assert result.violated == []


def test_the_bounds_are_those_of_the_theorems() -> None:
    """The bounds are computed again from the formulas and the known properties of the streams."""
    made_for_it, random = run_small("irrelevant-attributes").panels
    for point in made_for_it.points() + random.points():
        assert point["winnow_bound"] == pytest.approx(2 + 15 * (1 + math.log2(point["n"])))
    assert made_for_it.values("perceptron_bound") == pytest.approx(made_for_it.values("n"))
    for one in run_small("drift").panels:
        for point in one.points():
            assert point["winnow_r_bound"] == pytest.approx(2 + 5 * point["cost"] * (2 + math.log2(64)))
    for point in run_small("margin").panels[0].points():
        gamma = point["gamma"]
        assert 0.99 / gamma**2 <= point["perceptron_bound"] <= 1 / gamma**2
        assert point["half_bound"] == pytest.approx(8 / gamma**2 + 4 / gamma, rel=0.01)
        assert point["epsilon_bound"] == pytest.approx(200 / gamma**2 + 20 / gamma, rel=0.01)


def test_winnow_grows_like_the_logarithm_and_the_perceptron_clearly_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(irrelevant_attributes, "MAX_DENSE_ATTRIBUTES", 2000)
    result = experiment("irrelevant-attributes")(attributes=100_000, relevant=5)
    power, logarithm = result.fits[:2]
    points = result.panels[0].points()
    assert [points[0]["n"], points[-1]["n"]] == [100, 100_000]
    assert [p["perceptron"] for p in points] == [p["n"] - 5 for p in points]
    assert power.slope == pytest.approx(1.0, abs=0.02)
    assert logarithm.slope == pytest.approx(5.0, abs=0.3)
    assert logarithm.largest_residual < 5  # a relevant weight needs ⌈log₂ n⌉ promotions: steps of k
    assert points[-1]["winnow"] < 3 * points[0]["winnow"]
    assert points[-1]["perceptron"] > 1000 * points[0]["perceptron"]
    for found in result.fits[2:]:
        assert found.slope > 0.9 if found.of == "perceptron" else found.largest_residual < 15


def test_dimensions_of_noise_shrink_the_ratio_and_not_the_margin() -> None:
    """γ/R falls like 1/√N, the bound grows like N, and the mistakes grow."""
    ratios, counted = (one.points() for one in experiment("irrelevant-dimensions")(examples=2000).panels)
    assert all(later["ratio"] < earlier["ratio"] for earlier, later in itertools.pairwise(ratios))
    for point, count in zip(ratios, counted, strict=True):
        assert point["ratio"] == pytest.approx(0.2 / math.sqrt(1 + point["n"] / 5), rel=0.01)
        assert count["perceptron_bound"] == pytest.approx(1 / point["ratio"] ** 2)
    assert counted[-1]["perceptron"] > 10 * counted[0]["perceptron"]


def test_winnow_suffers_from_drift_and_winnow_r_does_not() -> None:
    against, random = experiment("drift")(attributes=256, drift=60, examples=20_000).panels
    last = against.points()[-1]
    assert last["winnow"] == last["examples"]
    assert last["winnow"] > last["winnow_r_bound"] > last["winnow_r"]
    assert (np.diff(random.values("cost")) >= 0).all()
    assert random.points()[-1]["cost"] == 65
    assert random.points()[-1]["examples"] == 20_000
    assert random.points()[-1]["winnow"] > random.points()[-1]["winnow_r"]


def test_the_margin_perceptron_reaches_its_margin() -> None:
    for point in run_small("margin").panels[1].points():
        assert point["half_margin"] >= 0.5
        assert point["epsilon_margin"] >= 0.9
        assert point["perceptron_margin"] > 0.0


def test_convergence_is_not_claimed_where_every_pass_made_an_update(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(margin, "MAX_PASSES", 2)
    updates, reached = margin.run(margin=0.01, examples=300).panels
    last = reached.points()[-1]
    assert (
        last["epsilon_margin"] is last["epsilon_margin_lower_bound"] is updates.points()[-1]["epsilon_passes"] is None
    )


def test_bounds_are_shown_only_where_they_hold_and_say_something() -> None:
    counted, errors = run_small("noise").panels
    for point in counted.points():
        assert (point["winnow_bound"] is None) == (point["noise"] > 0)
        assert all(point[key] <= 1500 for key in point if key.endswith("bound") and point[key] is not None)
    assert all(column.theorem is None for column in errors.columns)
    assert not any(column.limits == "winnow" for one in run_small("drift").panels for column in one.columns)


def test_averaging_helps_under_noise() -> None:
    _, errors = experiment("noise")(examples=5000, noise=0.2).panels
    last = errors.points()[-1]
    for key in ("perceptron", "winnow", "balanced_winnow"):
        assert last[f"averaged_{key}_error"] < last[f"{key}_error"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_same_seed_gives_the_same_numbers_and_the_same_page(name: str) -> None:
    again = experiment(name)(**SMALL[name])
    assert again.as_dict() == run_small(name).as_dict()
    assert build_page(again) == build_page(run_small(name))
    other = experiment(name)(**SMALL[name], random_state=1).as_dict()
    assert other["panels"] != run_small(name).as_dict()["panels"]


def test_curve_fits_recover_the_generating_laws() -> None:
    n = [100, 1000, 10_000]
    found = curve_fit.fit_logarithm("p", "c", n, [3 * math.log2(k) - 2 for k in n])
    assert (found.slope, found.intercept) == pytest.approx((3, -2))
    assert found.largest_residual < 1e-9
    found = curve_fit.fit_power("p", "c", n, [4 * k**1.5 for k in n])
    assert (found.slope, found.intercept) == pytest.approx((1.5, 2))
    assert found.at == pytest.approx([4 * k**1.5 for k in n])


def broken_result() -> ExperimentResult:
    count, reached = observed_column("count", "Perceptron"), observed_column("reached", "Margin")
    columns = (
        x_column("n", "n"),
        count,
        upper_bound_column(count, NOVIKOFF),
        reached,
        lower_bound_column(reached, MARGIN_REACHED),
    )
    points = [
        {"n": 1, "count": 5, "count_bound": 5.0 - 1e-12, "reached": 0.5, "reached_lower_bound": 0.5},
        {"n": 2, "count": 7, "count_bound": 6.5, "reached": 0.4, "reached_lower_bound": 0.5},
        {"n": 3, "count": 7, "count_bound": None, "reached": None, "reached_lower_bound": None},
    ]
    shown_in = build_panel("p", "<P>", "a & b", (Axis("n"), Axis("y")), columns, points)
    return ExperimentResult(
        "margin", "<i>T</i>", "q", ("</script><script>alert(1)</script>",), {"random_state": 0}, (shown_in,)
    )


def test_a_broken_bound_is_reported_with_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = broken_result()
    assert [(check.where, check.sense) for check in result.violated] == [("n = 2", "at most"), ("n = 2", "at least")]
    assert len(result.checks) == 4
    monkeypatch.setattr("novikoff.cli.experiment.experiment", lambda _: lambda **_: result)
    assert main(["experiment", "margin", "--quiet"]) == 1
    out, err = capsys.readouterr()
    assert "2 were violated" in out
    assert "no bound was violated" not in out
    assert "Perceptron has 7, Novikoff's theorem (1962) says at most 6.5" in err
    assert "which is a defect" in build_page(result)


def test_a_bound_without_an_observation_is_a_defect() -> None:
    count = observed_column("count", "Perceptron")
    points = [{"n": 1, "count": None, "count_bound": 3.0}]
    alone = build_panel(
        "p", "P", "", (Axis("n"), Axis("y")), (x_column("n", "n"), count, upper_bound_column(count, NOVIKOFF)), points
    )
    with pytest.raises(AssertionError, match="bounds nothing"):
        _ = ExperimentResult("margin", "T", "q", (), {}, (alone,)).checks
    assert BoundCheck("p", "n = 1", "t", "l", 1.0, "at most", 1.0).holds


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_command_line_reports_the_documented_keys(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", name, *options(name), "--json", "--quiet"]) == 0
    out, err = capsys.readouterr()
    about = json.loads(out)
    keys = "experiment title settings panels fits theorems bounds_checked bounds_violated version seconds"
    assert list(about) == keys.split()
    assert about["experiment"] == name
    assert about["settings"]["random_state"] == 0
    assert about["bounds_violated"] == []
    assert err == ""
    for one in about["panels"]:
        assert list(one["points"][0]) == [column["key"] for column in one["columns"]]
    assert {key: about[key] for key in run_small(name).as_dict()} == json.loads(json.dumps(run_small(name).as_dict()))


def test_the_text_shows_mistakes_and_bounds_and_progress_is_shown(tmp_path: Path) -> None:
    report = tmp_path / "r.html"
    command = [sys.executable, "-m", "novikoff", "experiment", "irrelevant-attributes", "--attributes", "1000"]
    done = subprocess.run([*command, "--report", str(report)], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "no bound was violated" in done.stdout
    assert re.search(r"1,000 +1,990 +995 +1,000 +50 +166\.5", done.stdout)
    assert "fit of Winnow" in done.stdout
    assert "Assumes:" in done.stdout
    points = [line for line in done.stderr.splitlines() if "compiling" not in line]
    assert len(points) == 8
    assert all(" s   " in line for line in points)
    assert report.read_text().startswith("<!DOCTYPE html>")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["noise", "--margin", "0.1"], "noise has no --margin: its options are --attributes, --relevant"),
        (["drift", "--attributes", "100"], "must be a power of 2"),
        (["drift", "--attributes", "64", "--drift", "63"], "at most 62"),
        (["margin", "--epsilon", "1"], "between 0 and 1"),
        (["margin", "--margin", "0"], "between 0 and 1"),
        (["irrelevant-attributes", "--relevant", "0"], "at least 1"),
        (["irrelevant-attributes", "--attributes", "100"], "at least 200"),
        (["irrelevant-dimensions", "--margin", "2"], "between 0 and 1"),
        (["noise", "--report", "no-such-folder/r.html"], "No such file or directory"),
    ],
)
def test_impossible_values_are_refused(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", *arguments]) == 2
    out, err = capsys.readouterr()
    assert sentence in err
    assert out == ""


def test_an_unknown_experiment_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["experiment", "gold"])
    assert "irrelevant-attributes" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["experiment", "--help"])
    text = capsys.readouterr().out
    assert all(name in text and about in text for name, about in EXPERIMENTS.items())
    with pytest.raises(InputError):
        experiment("noise")(noise=1.0)


def test_plotly_and_jinja2_are_imported_for_a_report_only() -> None:
    code = (
        "import sys; from novikoff.cli.main import main;"
        "assert main(['experiment', 'noise', '--examples', '20', '--attributes', '20', '--quiet']) == 0;"
        "assert not any(name.split('.')[0] in ('plotly', 'jinja2') for name in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- The page ---


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_page_is_complete_and_loads_no_other_file(name: str) -> None:
    result = run_small(name)
    text = build_page(result)
    tags = ParsedPage(text)
    assert not any(tag == "link" or "src" in attributes for tag, attributes in tags.tags)
    assert all(not (a.get("href") or "#").startswith("http") for _, a in tags.tags)
    ids = [attributes["id"] for _, attributes in tags.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))
    for number, one in enumerate(result.panels):
        assert f"plot-{number}" in ids
        assert one.title in text
    assert json.loads(tags.scripts["numbers"]) == json.loads(json.dumps(result.as_dict()))
    assert all(theorem.name[1:] in text for theorem in result.theorems)
    assert "no bound was violated" in text
    assert f"--random-state {result.settings['random_state']}" in text


def test_texts_are_escaped() -> None:
    tags = ParsedPage(build_page(broken_result()))
    assert "alert(1)" not in "".join(tags.scripts.values())
    assert not any(tag in ("i", "p>") for tag, _ in tags.tags)


def test_numbers_are_formatted_for_readers() -> None:
    assert [format_number(v) for v in (None, 0, 12345, 1234.5, 116.658, 0.00316, 0.5)] == [
        "–", "0", "12,345", "1,234", "116.7", "0.00316", "0.5",
    ]  # fmt: skip
    rows = build_table(run_small("drift").panels[1])[1]
    assert len(rows) == 12
    assert rows[-1][0] == "3,000"


@pytest.mark.parametrize(
    "labs", [list(EXPERIMENTS)[::3], pytest.param(list(EXPERIMENTS), marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_the_plots_are_drawn_in_a_real_browser(labs: list[str], tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip(f"there is no {CHROMIUM}: install Debian's package chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in labs:
            result, path = run_small(name), tmp_path / f"{name}.html"
            path.write_text(build_page(result))
            window = browser.new_page(viewport={"width": 1200, "height": 900})
            complaints: list[str] = []
            asked: list[str] = []
            window.on("console", lambda message, said=complaints: said.append(message.text))
            window.on("pageerror", lambda error, said=complaints: said.append(str(error)))
            window.on("request", lambda request, urls=asked: urls.append(request.url))
            window.goto(path.as_uri())
            window.wait_for_selector("#plot-1 svg.main-svg")
            drawn = sum(column.role not in ("x", "other") for one in result.panels for column in one.columns)
            assert window.locator(".scatterlayer .trace").count() == drawn + len(result.fits)
            window.set_viewport_size({"width": 390, "height": 844})  # a phone
            for _ in range(100):
                if window.evaluate("document.documentElement.scrollWidth") <= 390:
                    break
                window.wait_for_timeout(50)
            assert window.evaluate("document.documentElement.scrollWidth") <= 390
            with window.expect_download() as download:
                window.click("#save")
            assert json.loads(download.value.path().read_text()) == json.loads(json.dumps(result.as_dict()))
            assert complaints == []
            assert [url for url in asked if not url.startswith("blob:")] == [path.as_uri()]
            window.close()
        browser.close()
