"""The report shows what the ledger and the certificate state, whatever the names in the data."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from novikoff import Perceptron
from novikoff.certificates.certificate import Certificate, build_certificate
from novikoff.certificates.data_source import ArraySource, FileSource
from novikoff.certificates.margin_histogram import HistogramBuilder, build_histograms
from novikoff.cli.main import main
from novikoff.data.reader import ReadOptions
from novikoff.ledger import MAX_LISTED_MISTAKES, Ledger, count_mistake
from novikoff.reports import charts, curves, formatting, rendering
from novikoff.reports.certificate_page import build_page
from novikoff.reports.plot_theme import escape_for_plotly
from novikoff.reports.report_data import ReportData, build_report_data
from novikoff.theory.online_to_batch import progressive
from tests.helpers.browser import CHROMIUM, ParsedPage
from tests.helpers.learners import ALL_LEARNERS, clip_to_range, make_learner

BUDGET = 0.001  # small: the quality of witnesses is not tested here
NASTY = "</script><img src=x onerror=alert(1)>"
OTHERS = ('"><script>alert(2)</script>', "<b>bold</b>", "%{x} & 'quoted' $a$", "javascript:alert(3)", "\u202eback")


def table(count: int = 60, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(count, 4)).astype(np.float32)
    return X, np.where(X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * random.normal(size=count) > 0.0, "yes", "no")


def build_report_of_arrays(model: Any, X: Any, y: Any, passes: int = 1) -> ReportData:
    source = ArraySource(X, y)
    certificate, learned = build_certificate(model, source, passes=passes, search_effort=BUDGET)
    return build_report_data(certificate, learned, source)


def ledger_of(mistaken: Any) -> Ledger:
    """Return the ledger of a run that errs on these examples, numbered from 0."""
    ledger = Ledger()
    for wrong in mistaken:
        ledger.book.counts[0] += 1
        if wrong:
            count_mistake(ledger.book)
    return ledger


# --- Histograms ---


def slow_histogram(values: Any, width: float) -> dict[int, int]:
    counts: dict[int, int] = {}
    for value in values:
        counts[math.floor(value / width)] = counts.get(math.floor(value / width), 0) + 1
    return counts


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_a_histogram_does_not_depend_on_batches(scale: float) -> None:
    values = np.random.default_rng(1).standard_t(2, 5000) * scale
    values[:3] = 0.0
    pieces = (1, 7, 500)
    found = []
    for count in pieces:
        tally = HistogramBuilder()
        for piece in np.array_split(values[:: 1 if count > 1 else -1], count):
            tally.add(piece)
        found.append(tally.build_histogram())
    assert found[0] == found[1] == found[2]
    one = found[0]
    assert one.examples == 5000
    assert (one.wrong, one.zero) == ((values < 0).sum(), 3)
    assert (one.least, one.greatest) == (values.min(), values.max())
    for times in (1, 2, 64):
        wide = one.rebin(one.width * times)
        expected = slow_histogram(values, wide.width)
        assert {wide.first + k: c for k, c in enumerate(wide.counts) if c} == expected
    left, right = charts.count_outliers(one)
    assert left + right <= 0.01 * 5000
    low, high, width = charts.find_bar_range(one)
    assert low <= 0.0 <= high
    assert (high - low) / width <= charts.MAX_BARS + 2


def test_margins_are_normalised_by_the_weight_norm() -> None:
    X, y = table()
    model = Perceptron().fit(X, y)
    state = model._require_fitted()
    u = np.array([0.5, 1.0, -2.0, 0.0, 3.0])
    source = ArraySource(X, y)
    one, none = build_histograms(source.batches(state.labels, 4), [u, np.zeros(5)])
    margins = np.where(y == "yes", 1, -1) * (X.astype(float) @ u[1:] + u[0]) / np.linalg.norm(u)
    assert none is None
    assert one is not None
    assert one.wrong == (margins < 0).sum()
    assert one.least == pytest.approx(margins.min())
    assert one.greatest == pytest.approx(margins.max())
    huge, tiny = build_histograms(source.batches(state.labels, 4), [u * 1e200, u * 1e-200])
    assert huge == tiny == one


# --- Curves ---


@pytest.mark.parametrize("count", [1, 30, 3 * MAX_LISTED_MISTAKES, 9 * MAX_LISTED_MISTAKES])
def test_curves_pass_through_the_known_points_only(count: int) -> None:
    wrong = np.random.default_rng(count).random(count) < 0.7
    ledger = ledger_of(wrong)
    made = np.concatenate([[0], np.cumsum(wrong)])
    curve = curves.build_mistake_curve(ledger, int(made[-1]), 1)
    assert curve.examples[0] == 0
    assert curve.examples[-1] == count
    assert (made[list(curve.examples)] == curve.counts).all()
    assert (curve.stride > 1) == (made[-1] >= MAX_LISTED_MISTAKES)
    assert len(curve.examples) <= MAX_LISTED_MISTAKES + 2
    assert max(np.diff(curve.counts)) <= curve.stride
    found = curves.build_error_curve(curve, count, 0.1)
    assert len(found.examples) <= 2 * curves.GRID_POINTS + 2
    assert found.errors == pytest.approx(made[list(found.examples)] / np.array(found.examples))
    assert found.examples[-1] == count
    most = min(1.0, progressive(mistakes=int(made[-1]), examples=count, delta=0.1))
    assert found.band[-1][1] == pytest.approx(most)
    assert all(0.0 <= low <= error <= high <= 1.0 for (low, high), error in zip(found.band, found.errors, strict=True))


def test_after_the_first_pass_there_is_no_band() -> None:
    X, y = table()
    found = build_report_of_arrays(Perceptron(passes=3), X, y, passes=3)
    assert found.first_pass == 60
    assert found.mistakes.examples[-1] == 180
    assert found.errors.examples[len(found.errors.band) - 1] == 60
    first = dict(zip(found.mistakes.examples, found.mistakes.counts, strict=True))[60]
    assert first == found.document["observed"]["mistakes_of_first_pass"]
    assert found.errors.band[-1][1] == pytest.approx(found.document["new_data"]["mean_error_bound"])
    assert " on 60 examples in 3 passes, " in build_page(found)


# --- The page ---


def scripts_of(found: ReportData) -> ParsedPage:
    tags = ParsedPage(build_page(found))
    assert not any(tag == "link" or "src" in attributes for tag, attributes in tags.tags)
    assert all(not (a.get("href") or "#").startswith("http") for _, a in tags.tags)
    ids = [attributes["id"] for _, attributes in tags.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))
    assert json.loads(tags.scripts["numbers"]) == found.document
    return tags


@pytest.mark.parametrize("name", ALL_LEARNERS)
def test_every_learner_has_a_page(name: str) -> None:
    X, y = table()
    found = build_report_of_arrays(make_learner(name), clip_to_range(name, X), y)
    tags = scripts_of(found)
    drawn = {a["id"] for tag, a in tags.tags if tag == "div" and (a.get("id") or "").startswith("plot-")}
    assert ("plot-3" in drawn) == bool(found.weights)
    assert ("plot-2" in drawn) == (found.witness_margins is not None or found.learned_margins is not None)
    assert found.weights is not None or "There is no single weight vector" in build_page(found)


def test_text_and_table_match_the_certificate() -> None:
    X, y = table()
    found = build_report_of_arrays(Perceptron(), X, y)
    text, seen = build_page(found), found.document["observed"]
    assert f"Perceptron made {seen['mistakes']} mistakes on 60 examples" in text
    best = found.certificate.headline
    assert best is not None
    assert f"at most {math.floor(best['bound'])} mistakes on these examples in any order" in text
    assert f"{best['slack']:.3g} ×" in text
    for bound in found.certificate.bounds:
        assert bound["statement"] in text
        assert bound["verdict"] in text
        assert bound.get("reason", "") in text
    assert found.document["data"]["arrays"]["sha256"] in text
    assert "novikoff.verify(" in text
    assert build_page(build_report_of_arrays(Perceptron(), X, y)) == text


def test_a_run_without_mistakes_has_a_page(tmp_path: Path) -> None:
    data = tmp_path / "clean.svm"
    data.write_text("1 1:1\n1 1:2\n1 1:3\n" * 50)
    source = FileSource([str(data)], ReadOptions())
    certificate, model = build_certificate(Perceptron(), source, passes=1, search_effort=BUDGET)
    text = build_page(build_report_data(certificate, model, source, [str(data)]))
    assert "made no mistake on 150 examples" in text
    assert "none made" in text
    assert "All weights are 0" in text
    assert str(tmp_path) not in text
    assert "novikoff verify certificate.json clean.svm" in text


def test_a_run_of_one_example_has_a_page(tmp_path: Path) -> None:
    data = tmp_path / "one.svm"
    data.write_text("-1 1:1\n")
    source = FileSource([str(data)], ReadOptions())
    certificate, model = build_certificate(Perceptron(), source, passes=1, search_effort=BUDGET)
    found = build_report_data(certificate, model, source, [str(data)])
    assert "made 1 mistake on 1 example," in build_page(found)
    assert "too few examples" in build_page(found)


def test_a_weighted_run_has_no_bounds(tmp_path: Path) -> None:
    data = tmp_path / "weighted.vw"
    data.write_text("1 2.5 | a b\n-1 1 | c\n1 | a\n-1 | c d\n")
    source = FileSource([str(data)], ReadOptions())
    certificate, model = build_certificate(Perceptron(), source, passes=1, search_effort=BUDGET)
    found = build_report_data(certificate, model, source, [str(data)])
    text = build_page(found)
    assert found.weighted == 1
    assert found.certificate.bounds == []
    assert "1 example had a weight other than 1" in text
    assert "plot-0" in text


def test_a_broken_bound_is_highlighted() -> None:
    X, y = table()
    found = build_report_of_arrays(Perceptron(), X, y)
    document = json.loads(found.certificate.as_json())
    for bound in document["bounds"]:
        if "bound" in bound:
            bound |= {"bound": 0.5, "slack": 0.1, "verdict": "violated"}
    text = build_page(found._replace(certificate=Certificate(document)))
    assert "✗ violated" in text
    assert "which is a defect" in text
    assert "no bound was violated" not in text


def test_the_page_of_a_long_run_is_short() -> None:
    ledger = ledger_of(np.random.default_rng(0).random(200_000) < 0.4)
    X, y = table()
    found = build_report_of_arrays(Perceptron(), X, y)
    document = json.loads(found.certificate.as_json())
    document["observed"] |= {"examples": 200_000, "mistakes": ledger.mistakes}
    curve = curves.build_mistake_curve(ledger, ledger.mistakes, 1)
    long = found._replace(
        certificate=Certificate(document), mistakes=curve, errors=curves.build_error_curve(curve, 200_000, 0.95)
    )
    assert f"every {ledger.stride:,}th mistake" in build_page(long)
    assert len(build_page(long)) < len(build_page(found)) + 200_000


@pytest.mark.parametrize(
    ("value", "text"), [(0.2552, "25.6 %"), (0.25, "25 %"), (0.0, "0 %"), (0.9999, "100 %"), (0.001234, "0.124 %")]
)
def test_an_upper_bound_is_never_rounded_down(value: float, text: str) -> None:
    assert formatting.format_upper_percent(value) == text


# --- Names from data ---


def write_nasty_file(folder: Path) -> Path:
    names = [NASTY, *OTHERS]
    header = ",".join(["label", *('"' + name.replace('"', '""') + '"' for name in names)])
    labels = [NASTY, OTHERS[0]]
    rows = []
    for k, row in enumerate(np.random.default_rng(3).normal(size=(40, len(names)))):
        label = labels[int(row[0] + 0.5 * row[1] > 0) if k > 1 else k]
        quoted = label.replace('"', '""')
        rows.append(",".join([f'"{quoted}"', *(f"{value:.3f}" for value in row)]))
    path = folder / "<img src=x onerror=alert(4)>.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_names_are_escaped(tmp_path: Path) -> None:
    data = write_nasty_file(tmp_path)
    source = FileSource([str(data)], ReadOptions(label="label"))
    certificate, model = build_certificate(Perceptron(passes=2), source, passes=2, search_effort=BUDGET)
    found = build_report_data(certificate, model, source, [str(data)])
    assert found.weights is not None
    assert NASTY in [w.feature for w in found.weights]
    tags = scripts_of(found)
    assert not any(tag in ("img", "b>") or "onerror" in attributes for tag, attributes in tags.tags)
    assert len([tag for tag, _ in tags.tags if tag == "script"]) == build_page(found).count("<script")
    broken = found._replace(weights=(found.weights[0]._replace(feature="\ud800\x00"),), hypothesis="<i>")
    assert build_page(broken).encode()
    assert escape_for_plotly("<b>&\n", 3) == "&lt;b…"


def test_the_command_line_writes_the_page_or_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, data, first, second = (str(tmp_path / name) for name in ("m.model", "d.svm", "a.html", "b.html"))
    Path(data).write_text("1 1:1 2:0.5\n-1 1:0.1 3:1\n1 1:2\n-1 2:1 3:2\n" * 5)
    certificate, quick = str(tmp_path / "c.json"), ["--quiet", "--search-effort", str(BUDGET)]
    assert main(["learn", data, "--save", model, "--certificate", certificate, "--report", first, *quick]) == 0
    assert main(["certify", model, data, "--report", second, *quick]) == 0
    text = Path(first).read_text()
    assert text == Path(second).read_text()
    assert json.loads(ParsedPage(text).scripts["numbers"]) == json.loads(Path(certificate).read_text())
    capsys.readouterr()
    assert main(["learn", data, "--report", first, "--json", *quick]) == 0
    assert json.loads(capsys.readouterr().out)["certificate"]["observed"]["examples"] == 20
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "b.html", "c.json", "d.svm", "m.model"]
    for arguments in (["learn", data, "--resume", model], ["learn", "-"]):
        assert main([*arguments, "--report", first]) == 2
        assert "--report is for a run from its beginning" in capsys.readouterr().err
    assert main(["certify", model, data, "--report", str(tmp_path / "no" / "r.html")]) == 2
    assert Path(first).read_text() == text


def test_plotly_and_jinja2_are_imported_for_a_report_only(tmp_path: Path) -> None:
    code = (
        "import sys; from novikoff.cli.main import main;"
        f"assert main(['learn', 'breast-cancer', '--certificate', {str(tmp_path / 'c')!r}, '--quiet']) == 0;"
        "assert not any(name.split('.')[0] in ('plotly', 'jinja2') for name in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["jinja2", "plotly"])
def test_a_missing_package_is_reported_with_the_extra_that_has_it(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rendering._load_environment.cache_clear()
    for name in [module, *(name for name in sys.modules if name.startswith(f"{module}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    target = tmp_path / "r.html"
    assert main(["theory", "hoeffding", "--delta", "0.1", "--plot", str(target)]) == 2
    assert f"A report needs {module}: pip install 'novikoff[report]'." in capsys.readouterr().err
    assert not target.exists()


# --- A real browser ---

HEARD = "window.heard = []; for (const f of ['alert', 'confirm', 'prompt']) window[f] = (x) => heard.push(x);"


def test_the_pages_work_in_a_real_browser(tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip(f"there is no {CHROMIUM}: install Debian's package chromium")
    X, y = table()
    data = write_nasty_file(tmp_path)
    source = FileSource([str(data)], ReadOptions(label="label"))
    certificate, model = build_certificate(Perceptron(passes=2), source, passes=2, search_effort=BUDGET)
    pages = {
        "nasty": build_report_data(certificate, model, source, [str(data)]),
        "plain": build_report_of_arrays(Perceptron(margin=0.5), X, y),
        "voted": build_report_of_arrays(make_learner("voted-perceptron"), X, y),
        "boolean": build_report_of_arrays(
            make_learner("halving-disjunctions"), clip_to_range("halving-disjunctions", X), y
        ),
    }
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, found in pages.items():
            check_in_browser(browser, found, tmp_path / f"{name}.html")
        browser.close()


def check_in_browser(browser: Any, found: ReportData, path: Path) -> None:
    path.write_text(build_page(found))
    window = browser.new_page(viewport={"width": 1200, "height": 900})
    complaints: list[str] = []
    asked: list[str] = []
    window.add_init_script(HEARD)
    window.on("console", lambda message: complaints.append(message.text))
    window.on("pageerror", lambda error: complaints.append(str(error)))
    window.on("dialog", lambda dialog: complaints.append(dialog.message))
    window.on("request", lambda request: asked.append(request.url))
    window.goto(path.as_uri())
    window.wait_for_selector("#plot-1 svg.main-svg")
    stated = sum("bound" in b for b in found.certificate.bounds)
    updates = any("bound" in b and b["counts"] == "updates" for b in found.certificate.bounds)
    assert window.locator("#plot-0 .scatterlayer .trace").count() == stated + 1 + updates
    assert window.locator("#plot-1 .scatterlayer .trace").count() == 3
    bars = [charts.find_bar_range(h)[2] for h in (found.witness_margins, found.learned_margins) if h is not None]
    assert (window.locator("#plot-2 .barlayer .point path").count() > 3) == bool(bars)
    assert window.locator("#plot-3 .barlayer .point path").count() == len(found.weights or ())
    shown = " ".join(window.locator("#plot-3 .yaxislayer-above text").all_text_contents())
    for weight in found.weights or ():
        assert str(weight.feature).replace("\u202e", "\ufffd")[:20] in shown
    window.set_viewport_size({"width": 390, "height": 844})  # a phone
    for _ in range(100):
        if window.evaluate("document.documentElement.scrollWidth") <= 390:
            break
        window.wait_for_timeout(50)
    assert window.evaluate("document.documentElement.scrollWidth") <= 390
    for summary in window.locator("summary").all():
        summary.click()
    assert window.evaluate("document.documentElement.scrollWidth") <= 390
    with window.expect_download() as download:
        window.click("#save")
    assert json.loads(download.value.path().read_text()) == found.document
    assert window.locator("img").count() == 0
    assert window.evaluate("heard") == []
    assert complaints == []
    assert [url for url in asked if not url.startswith("blob:")] == [path.as_uri()]
    window.close()


def test_a_comparison_has_a_page_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, target = write_nasty_file(tmp_path), tmp_path / "compared.html"
    compare = ["compare", str(data), "--label", "label", "--learners", "perceptron,voted-perceptron,winnow", "--json"]
    assert main([*compare, "--report", str(target)]) == 0
    report_json, text = json.loads(capsys.readouterr().out), target.read_text()
    assert (report_json.pop("warnings"), report_json.pop("notes")) == ([], [])
    assert report_json.pop("read")["format"].startswith("csv")
    tags = ParsedPage(text)
    assert json.loads(tags.scripts["numbers"]) == report_json
    assert "winnow" in report_json["skipped"]
    assert not any(tag in ("img", "b") or "onerror" in attributes for tag, attributes in tags.tags)
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip(f"there is no {CHROMIUM}: install Debian's package chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        window = browser.new_page(viewport={"width": 390, "height": 844})
        complaints: list[str] = []
        window.on("console", lambda message: complaints.append(message.text))
        window.on("dialog", lambda dialog: complaints.append(dialog.message))
        window.goto(target.as_uri())
        window.wait_for_selector("#compared svg.main-svg")
        assert window.locator("#compared .scatterlayer .trace").count() == 2
        for _ in range(100):
            if window.evaluate("document.documentElement.scrollWidth") <= 390:
                break
            window.wait_for_timeout(50)
        assert window.evaluate("document.documentElement.scrollWidth") <= 390
        assert complaints == []
        browser.close()
