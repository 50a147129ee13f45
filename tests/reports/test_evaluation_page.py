"""The page of an evaluation shows what the JSON states, for all kinds of results, whatever the names in the data."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import Kesler, MultiLabel, Perceptron, QueryRanking, evaluate
from novikoff.cli.main import main
from novikoff.evaluation.score_histogram import score_histogram
from novikoff.reports.evaluation_page import MAX_CLASSES, build_page
from tests.helpers.browser import CHROMIUM, ParsedPage

NASTY = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Provide a table with a column whose name needs escaping, and models of it."""
    rng = np.random.default_rng(0)
    lines = [
        f'{x:.3f},{z:.3f},"{rng.choice(["red", NASTY, ""])}",{"yes" if x + z + rng.normal() > 0 else "no"}'
        for x, z in rng.normal(size=(300, 2))
    ]
    data = tmp_path / "table.csv"
    data.write_text("size,age,colour,label\n" + "\n".join(lines) + "\n")
    models = {"data": str(data)}
    for name, options in (
        ("auto", []),
        ("perceptron", ["--learner", "perceptron", "--no-calibrate"]),
        ("forest", ["--multiclass", "random-forest", "--n-estimators", "10"]),
    ):
        models[name] = str(tmp_path / f"{name}.model")
        learn = ["learn", str(data), "--ignore", "colour", "--save", models[name], "--quiet"]
        assert main([*learn, *options]) == 0
    capsys.readouterr()
    return models


def write_page(files: dict[str, str], target: Path, *names: str) -> str:
    models = [files[name] for name in names]
    options = ["--by", "colour", "--report", str(target), "--json", "--quiet"]
    assert main(["evaluate", *models, files["data"], *options]) == 0
    return target.read_text()


def test_the_page_holds_all_figures_of_the_json(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write_page(files, tmp_path / "page.html", "auto", "perceptron", "forest")
    document, page = json.loads(capsys.readouterr().out), ParsedPage(text)
    assert json.loads(page.scripts["numbers"]) == document
    for model in document["models"]:
        assert f"{100.0 * model['accuracy']:.2f} %" in text
        assert f"{100.0 * model['auc']['value']:.2f} %" in text
    for pair in document["comparisons"]:
        assert f"{100.0 * pair['difference']:+.2f} %" in text
    titles = re.findall(r'<h2 id="title-\d+">(.*?)</h2>', text)
    assert titles[:5] == ["Error", "Paired comparison", "ROC", "Precision and recall", "Calibration"]
    assert {"Scores of auto.model", "Confusion of auto.model", "Error of auto.model by colour"} < set(titles)
    assert len(re.findall(r'id="plot-\d+"', text)) == len(titles)
    assert "Without calibration, log-loss and Brier score: <bdi>perceptron.model</bdi>" in text


def test_names_in_the_data_are_escaped(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tags = ParsedPage(write_page(files, tmp_path / "page.html", "auto"))
    assert not any(tag in ("img", "b") or "onerror" in attributes for tag, attributes in tags.tags)
    assert not any(
        "src" in attributes or "href" in attributes for tag, attributes in tags.tags if tag in ("script", "link")
    )


def test_the_page_is_written_as_a_whole_or_not_at_all(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "none" / "page.html"
    assert main(["evaluate", files["auto"], files["data"], "--report", str(target)]) == 2
    target = tmp_path / "page.html"
    assert main(["evaluate", files["auto"], str(tmp_path / "none.csv"), "--report", str(target)]) == 2
    assert not target.exists()


def test_models_of_the_same_name_are_numbered(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write_page(files, tmp_path / "page.html", "auto", "auto")
    assert "1: auto.model − 2: auto.model" in text


def test_every_kind_of_result_has_a_page() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    classes = np.arange(400) % (MAX_CLASSES + 5)
    many = evaluate(Kesler(Perceptron()).fit(X, classes), X, classes)
    y = X[:, 0] > 0.0
    binary = evaluate(Perceptron().fit(X, y), X, y)
    sets = [["a"] if value else ["a", "b"] for value in y]
    label_sets = evaluate(MultiLabel(Perceptron()).fit(X, sets), X, sets)
    qid, grades = np.repeat(np.arange(40), 10), y.astype(int)
    ranking = evaluate(QueryRanking().fit(X, grades, qid=qid), X, grades, qid=qid)
    results: list[tuple[str, Any]] = [("many", many), ("two", binary), ("sets", label_sets), ("rank", ranking)]
    for chosen in (results, *([one] for one in results)):
        text = build_page(chosen, [], data="X", document={"models": len(chosen)}, delta=0.05)
        assert json.loads(ParsedPage(text).scripts["numbers"]) == {"models": len(chosen)}
    assert "Most frequent confusions of many" in build_page([results[0]], [], data="X", document={}, delta=0.05)


@given(st.lists(st.floats(-1e9, 1e9), max_size=30), st.lists(st.floats(-1e9, 1e9), max_size=30), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_a_histogram_of_scores_counts_every_example(ones: list[float], others: list[float], bins: int) -> None:
    positives, negatives = np.sort(np.array(ones)), np.sort(np.array(others))
    found = score_histogram(positives, negatives, bins)
    assert (sum(found.positives), sum(found.negatives)) == (len(ones), len(others))
    edges = np.array(found.edges)
    inner = range(1, len(found.positives) - 1)
    assert [found.positives[k] for k in inner] == [
        int(((positives >= edges[k]) & (positives < edges[k + 1])).sum()) for k in inner
    ]


def test_the_page_works_in_a_real_browser(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip(f"there is no {CHROMIUM}: install Debian's package chromium")
    target = tmp_path / "page.html"
    write_page(files, target, "auto", "perceptron", "forest")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        window = browser.new_page(viewport={"width": 400, "height": 844})
        complaints: list[str] = []
        window.on("console", lambda message: complaints.append(message.text))
        window.on("pageerror", lambda error: complaints.append(str(error)))
        window.on("dialog", lambda dialog: complaints.append(dialog.message))
        window.goto(target.as_uri())
        window.wait_for_selector("#plot-4 svg.main-svg")
        window.wait_for_timeout(500)
        assert window.locator("#plot-2 .scatterlayer .trace").count() == 4
        assert window.evaluate("document.documentElement.scrollWidth") <= 400
        assert complaints == []
        browser.close()
