"""Every error figure names its model or run: reports, certificates, command line, dashboard."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.datasets import load_breast_cancer, load_iris

from novikoff import (
    AROW,
    SGD,
    AdaBoost,
    Bagging,
    Elimination,
    Halving,
    KernelPerceptron,
    Kesler,
    MarginPerceptron,
    OneVsAll,
    OnlineToBatch,
    Perceptron,
    RandomForest,
    Rectangle,
    VotedPerceptron,
    certify,
)
from novikoff.certificates.certificate import Certificate, build_certificate
from novikoff.certificates.data_source import ArraySource
from novikoff.cli.main import main
from novikoff.cli.options.model_options import METHODS
from novikoff.linear.auto import BinaryAuto
from novikoff.reports import batch_certificate_page, formatting
from novikoff.reports.certificate_page import build_page
from novikoff.reports.report_data import ReportData, build_report_data
from novikoff.server import dashboard
from novikoff.theory.binomial import lower, upper

BUDGET = 0.001
TILE = re.compile(
    r"<div><dt>(.*?)</dt><dd><b(?: id=\"[a-z-]+\")?>(.*?)</b><span(?: id=\"[a-z-]+\")?>(.*?)</span></dd></div>"
)
OF_THE_RUN = "progressive error of the run: "
OF_THE_MODEL = "Error of the saved model"
TITLES = {
    "Mistakes made while learning",
    "Mistakes allowed in this run, at most",
    "Updates allowed in this run, at most",
    "Slack of this run",
    OF_THE_MODEL,
}


class Tile(NamedTuple):
    title: str
    number: str
    note: str


def tiles_of(text: str) -> list[Tile]:
    (part,) = re.findall(r'<dl class="tiles">\n(.*?)</dl>', text, re.DOTALL)
    found = [Tile(*map(unescape, one)) for one in TILE.findall(part)]
    assert len(found) == part.count("<dt>")
    return found


def build_report(model: Any, X: Any, y: Any, passes: int = 1) -> tuple[ReportData, Any]:
    source = ArraySource(X, y)
    certificate, learned = build_certificate(model, source, passes=passes, search_effort=BUDGET)
    return build_report_data(certificate, learned, source), learned


def boolean(count: int = 400) -> tuple[Any, Any]:
    """Draw a conjunction of two of four Boolean features."""
    X = np.random.default_rng(5).integers(0, 2, (count, 4)).astype(np.float64)
    return X, np.where((X[:, 0] == 1) & (X[:, 2] == 1), 1, 0)


def two_classes(count: int = 400) -> tuple[Any, Any]:
    X = np.random.default_rng(6).standard_normal((count, 3))
    X = X[abs(X[:, 0]) > 0.3]
    return X, np.where(X[:, 0] > 0, "right", "left")


def three_classes() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(7).permutation(len(y))
    return X[order], y[order]


REPORTS: dict[str, tuple[Any, Any, int]] = {
    "perceptron": (Perceptron(), two_classes, 1),
    "perceptron, three passes": (Perceptron(passes=3), two_classes, 3),
    "margin-perceptron": (MarginPerceptron(), two_classes, 1),
    "voted-perceptron": (VotedPerceptron(), two_classes, 1),
    "auto": (BinaryAuto(), two_classes, 1),
    "arow": (AROW(), two_classes, 1),
    "kernel-perceptron": (KernelPerceptron(kernel="poly:2"), two_classes, 1),
    "kesler": (Kesler(Perceptron()), three_classes, 1),
    "kesler, two passes": (Kesler(SGD(passes=2)), three_classes, 2),
    "one-vs-all": (OneVsAll(Perceptron()), three_classes, 1),
    "elimination": (Elimination(), boolean, 1),
    "halving": (Halving(), boolean, 1),
    "rectangle": (Rectangle(), boolean, 1),
    **{
        method: (OnlineToBatch(Perceptron(), method=method, **more), two_classes, 1)
        for method, more in {m: {"max_mistakes": 50} if m == "next-stretch" else {} for m in METHODS}.items()
    },
}


@pytest.mark.parametrize("name", REPORTS)
def test_every_tile_of_a_report_names_its_run_or_model(name: str) -> None:
    model, data, passes = REPORTS[name]
    found, _ = build_report(model, *data(), passes=passes)
    text, document = build_page(found), found.document
    tiles = tiles_of(text)
    by_title = {tile.title: tile for tile in tiles}
    assert len(by_title) == len(tiles)
    assert by_title.keys() <= TITLES
    # An error is labelled as that of the run, or is that of the saved model by a theorem about that hypothesis.
    for tile in tiles:
        if tile.title == OF_THE_MODEL:
            assert tile.number.startswith("≤ ")
            assert re.search(r"on new data, with confidence [\d.]+ %, assuming i\.i\.d\.", tile.note)
        else:
            assert "new data" not in f"{tile.title} {tile.note}"
            assert "error" not in f"{tile.title} {tile.note}".replace(OF_THE_RUN, "")
            assert "model" not in f"{tile.title} {tile.note}"
    made = by_title["Mistakes made while learning"]
    seen = document["observed"]
    assert made.number == f"{seen['mistakes']:,}"
    assert made.note.startswith(f"{OF_THE_RUN}{formatting.format_percent(seen['mistakes'] / seen['examples'])} of ")
    assert ("later passes have seen the labels" in made.note) == (passes > 1)
    promised = document.get("hypothesis")
    by_theorem = promised is not None and promised["delta"] is not None and promised["bound"] < 1.0
    assert (OF_THE_MODEL in by_title) == by_theorem
    if by_theorem:
        assert promised["about"].rstrip(",") in by_title[OF_THE_MODEL].note
        assert by_title[OF_THE_MODEL].number == f"≤ {formatting.format_upper_percent(promised['bound'])}"
    # The bound for the mean of the hypotheses is not a headline: it has a section of its own.
    new = document["new_data"]
    assert (new is None) == ("Mean error of the hypotheses used while learning, if i.i.d." not in text)
    if new is not None:
        head, _, section = text.partition("<h2>Mean error of the hypotheses used while learning, if i.i.d.</h2>")
        bound = formatting.format_upper_percent(new["mean_error_bound"])
        assert (f"at most</th><td>{bound}" in section) == (new["mean_error_bound"] < 1.0)
        assert f"<td>{bound}" not in head
        assert "not the saved model" in new["of"]
    assert "expect an error" not in text
    assert ("not about the saved model" in text) == (promised is None or promised["bound"] is None)


@pytest.mark.parametrize("name", REPORTS)
def test_examples_on_the_wrong_side_are_those_that_the_saved_model_errs_on(name: str) -> None:
    model, data, passes = REPORTS[name]
    X, y = data()
    if name == "auto":  # the sides are swapped at the end: the vote then differs from the weights
        model, (X, y) = BinaryAuto(shuffle=False), two_classes(3_000)
        y[-300:] = np.where(y[-300:] == "left", "right", "left")
    found, learned = build_report(model, X, y, passes=passes)
    wrong, shown = int((learned.predict(X) != y).sum()), found.learned_margins
    assert ("Learned weights: " in build_page(found)) == (shown is not None)
    assert shown is None or shown.wrong <= wrong <= shown.wrong + shown.zero


def test_a_first_pass_is_reported_apart_from_later_ones() -> None:
    X, y = two_classes()
    once, _ = build_report(Perceptron(), X, y)
    often, _ = build_report(Perceptron(passes=3), X, y, passes=3)
    wrong = once.document["observed"]["mistakes"]
    assert often.document["observed"]["mistakes_of_first_pass"] == wrong
    sentence = f"In the first pass {wrong:,} were wrong ({formatting.format_percent(wrong / len(y))}); later passes"
    assert sentence in build_page(often)
    assert "In the first pass" not in build_page(once)


@pytest.mark.parametrize("kind", [AdaBoost, Bagging, RandomForest])
def test_the_figures_of_an_ensemble_are_those_of_the_saved_model(kind: Any) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = (kind(Perceptron()) if kind is Bagging else kind()).fit(X, y)
    certificate = certify(model, X, y)
    text = batch_certificate_page.build_page(certificate, model, ["cancer.csv"])
    assert '<dl class="tiles">' not in text
    assert "<h2>Error of the saved model on new data</h2>" in text
    rows = re.findall(r'<th scope="row">(.*?)</th>', text)
    about = ("training error", "of the saved model", "out of bag", "training errors")
    assert [row for row in rows if "error" in row and not any(word in row for word in about)] in ([], ["errors"])
    new = certificate.document["new_data"]
    if kind is AdaBoost:
        assert new is None
        assert "No bound for the error of the saved model" in text
    else:
        assert new["of"].startswith("the saved model")
        assert "error of the saved model (the vote) on new data: at most" in str(certificate)


# --- A run whose errors are few, and whose model is bad ---


def learn_in_order(kind: Any, **settings: Any) -> Any:
    """Return a learner that does not shuffle."""
    return kind(**settings, **({"shuffle": False} if "shuffle" in kind._setting_defaults() else {}))


SORTED = {
    "kesler(perceptron)": lambda: learn_in_order(Kesler, estimator=learn_in_order(Perceptron)),
    "kesler(sgd)": lambda: learn_in_order(Kesler, estimator=learn_in_order(SGD, loss="hinge", learning_rate=1.0)),
    "one-vs-all(perceptron)": lambda: learn_in_order(OneVsAll, estimator=learn_in_order(Perceptron)),
}


@pytest.mark.parametrize("name", SORTED)
def test_a_bad_model_of_a_good_run_has_no_figure_below_its_own_error(name: str) -> None:
    X, y = load_iris(return_X_y=True)  # in the order of its classes
    found, model = build_report(SORTED[name](), X, y)
    document = found.document
    wrong = float(np.mean(model.predict(X) != y))
    assert wrong > 0.3
    assert document["observed"]["progressive_error"] < 0.15
    assert document["new_data"]["mean_error_bound"] < wrong  # it would be false of the saved model
    for tile in tiles_of(build_page(found)):
        assert tile.title != OF_THE_MODEL
        shares = [float(number) / 100.0 for number in re.findall(r"([\d.]+) %", f"{tile.number} {tile.note}")]
        assert not shares or OF_THE_RUN in tile.note
    for line in str(Certificate(document)).splitlines():
        assert "error" not in line or "not of the saved model" in line
    assert "hypothesis" not in document


def test_the_command_line_names_the_run_and_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = load_iris(return_X_y=True)
    data, model = tmp_path / "sorted.csv", tmp_path / "m.model"
    rows = [",".join([f"class{label}", *map(str, row)]) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    data.write_text("\n".join(["y,a,b,c,d", *rows]) + "\n")
    learn = ["learn", str(data), "--label", "y", "--learner", "perceptron", "--quiet"]
    assert main([*learn, "--save", str(model)]) == 0
    (line,) = (row for row in capsys.readouterr().out.splitlines() if row.startswith("error"))
    said = re.fullmatch(
        r"error       (\d\.\d{4})   \(progressive error of the run: (\d+) of 150 predictions made while learning were"
        r" wrong\)",
        line,
    )
    assert said is not None
    assert float(said[1]) == round(int(said[2]) / 150, 4) < 0.15
    assert main([*learn, "--json"]) == 0
    assert [key for key in json.loads(capsys.readouterr().out) if "error" in key] == ["progressive_error"]
    assert main([*learn, "--passes", "3", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["first_pass"] == {"examples": 150, "mistakes": int(said[2]), "progressive_error": int(said[2]) / 150}
    assert main([*learn, "--passes", "3"]) == 0
    assert f"first pass  {said[1]}   (progressive error: {said[2]} of 150 predictions; later passes have seen the" in (
        capsys.readouterr().out
    )
    assert main(["inspect", str(model)]) == 0
    assert line in capsys.readouterr().out
    # The error of this model is what predict finds.
    assert main(["predict", str(model), str(data), "--label", "y", "--output", str(tmp_path / "out")]) == 0
    match = re.search(
        r"accuracy ([\d.]+) % \((\d+) of 150 wrong\)\nerror of this model on sorted\.csv: ([\d.]+) %",
        capsys.readouterr().err,
    )
    assert match is not None
    assert int(match[2]) / 150 > 0.3
    assert (float(match[1]), float(match[3])) == (round(100 - int(match[2]) / 1.5, 2), round(int(match[2]) / 1.5, 2))


@pytest.mark.parametrize(("wrong", "examples"), [(0, 7), (7, 7), (13, 150), (2446, 16281), (70_000, 100_000)])
def test_the_interval_of_a_test_error_is_that_of_clopper_and_pearson(wrong: int, examples: int) -> None:
    from novikoff.cli.predict import _LabelComparison

    compared = _LabelComparison(Perceptron())
    compared.labelled, compared.wrong = examples, wrong
    low, high = compared.interval() or (np.nan, np.nan)
    assert low == lower(mistakes=wrong, examples=examples, delta=0.025)
    assert high == upper(mistakes=wrong, examples=examples, delta=0.025)
    assert low == pytest.approx(beta.ppf(0.025, wrong, examples - wrong + 1) if wrong else 0.0, rel=1e-9)
    assert high == pytest.approx(beta.ppf(0.975, wrong + 1, examples - wrong) if wrong < examples else 1.0, rel=1e-9)
    match = re.search(r"interval ([\d.]+) to ([\d.]+) %", compared.describe("test.svm"))
    assert match is not None
    assert float(match[1]) <= 100 * low <= 100 * high <= float(match[2])  # rounded outward


# --- Source files of the dashboard; tests/server/dashboard/test_dashboard.py runs it in a browser ---


def test_every_tile_of_the_dashboard_names_the_run() -> None:
    html = dashboard.read_dashboard_file("index.html")[0].decode()
    chosen, server = re.findall(r'<dl class="tiles">(.*?)</dl>', html, re.DOTALL)
    titles = [unescape(one[0]) for one in TILE.findall(chosen)]
    assert titles == [
        "Mistakes made while learning",
        "Allowed by the certificate",
        "Progressive error",
        "Recent progressive error",
        "Waiting for their label",
    ]
    assert "rror" not in "".join(one[0] for one in TILE.findall(server))
    script = dashboard.read_dashboard_file("model_view.js")[0].decode()
    assert "of the run: ${shown(model.mistakes)} of ${count(model.examples" in script
    assert "of the run, on its last ${count(model.recent.examples" in script
    heads = re.findall(r"<th[^>]*>([^<]*)</th>", html)
    assert {head for head in heads if "rror" in head} == {
        "Progressive error",
        "Recent progressive error",
        "Mean error of the hypotheses used, at most",
    }
    code = html + "".join(
        dashboard.read_dashboard_file(name)[0].decode() for name in dashboard.DASHBOARD_FILES if name.endswith(".js")
    )
    for about in re.findall(r"\w+ error on new data[\w ]*", code):
        assert about.startswith("mean error on new data of the hypotheses used"), about
    for claim in ("expect an error", "Error so far", "Error at most", "error_at_most"):
        assert claim not in code
