"""`novikoff theory`: text, JSON, tables, plots, pictures, exit codes and invalid arguments."""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from novikoff.cli.main import main
from novikoff.reports import shattering_page
from novikoff.theory.geometry.points import HalfSpace
from novikoff.theory.hypothesis_classes import CLASSES
from novikoff.theory.mistake_calculator import MISTAKE_BOUNDS
from novikoff.theory.samples import capacity
from novikoff.theory.samples.sample_size import SAMPLE_SIZE_BOUNDS, TABLE_EPSILONS
from novikoff.theory.vc import HALF_SPACES, shattering
from tests.helpers.bound_checks import BOUND_ARGUMENTS
from tests.helpers.browser import CHROMIUM, ParsedPage

TOPICS = [*SAMPLE_SIZE_BOUNDS, "binomial", "size", "mistakes", "shatter", "growth", "dimension"]
SQUARE = "0,0 1,0 0,1 1,1"


def run_text(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["theory", *arguments]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return out


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_text(capsys, *arguments, "--json", code=code))
    return found


def test_any_two_of_epsilon_delta_and_size_give_the_third(capsys: pytest.CaptureFixture[str]) -> None:
    named = ("consistent", "--class", "conjunctions", "--variables", "10")
    text = run_text(capsys, *named, "--epsilon", "0.1", "--delta", "0.05")
    assert text.startswith("140 examples are enough: with probability at least 0.95,")
    assert "m ≥ (1/0.1)·(10.99 + ln(1/0.05)), so m = 140" in text
    assert run_json(capsys, *named, "--examples", "140", "--delta", "0.05")["value"] == pytest.approx(
        (10 * math.log(3) + math.log(20)) / 140
    )
    assert run_json(capsys, *named, "--examples", "140", "--epsilon", "0.1")["value"] == pytest.approx(
        3**10 * math.exp(-14)
    )
    assert run_text(capsys, *named, "--examples", "140", "--epsilon", "0.1", "--delta", "0.05").startswith(
        "140 examples are"
    )
    refused = run_text(capsys, *named, "--examples", "139", "--epsilon", "0.1", "--delta", "0.05", code=1)
    assert refused == "139 examples are not enough for ε = 0.1 and δ = 0.05: 140 are needed.\n"


def test_classes_are_given_by_name_size_or_dimension(capsys: pytest.CaptureFixture[str]) -> None:
    two = ("--epsilon", "0.1", "--delta", "0.05")
    by_name = run_json(capsys, "agnostic", "--class", "k-cnf", "--variables", "10", "--k", "2", *two)
    assert by_name["value"] == run_json(capsys, "agnostic", "--hypotheses", "2^200", *two)["value"]
    assert by_name["given"]["hypotheses"] == "2^200"
    by_name = run_json(capsys, "vc", "--class", "rectangles", "--variables", "3", *two)
    assert by_name["value"] == run_json(capsys, "vc", "--dimension", "6", *two)["value"]
    assert run_json(capsys, "vc", "--class", "intervals", *two)["value"] == capacity.examples(
        dimension=2, epsilon=0.1, delta=0.05
    )
    k_cnf = run_json(capsys, "vc", "--class", "k-cnf", "--variables", "10", "--k", "2", *two)
    assert k_cnf["given"]["dimension"] == 200  # log₂|H|
    assert run_json(capsys, "lower", "--dimension", "1000", "--epsilon", "0.1", "--delta", "0.01")["value"] == 313
    assert run_json(capsys, "hoeffding", *two)["value"] == 150


def test_the_binomial_bound_is_shown_beside_hoeffding(capsys: pytest.CaptureFixture[str]) -> None:
    text = run_text(capsys, "binomial", "--mistakes", "10", "--examples", "100", "--delta", "0.025")
    assert "at most 0.1763, with probability at least 0.975; and at least 0.049, with" in text
    found = run_json(capsys, "binomial", "--mistakes", "10", "--examples", "100", "--delta", "0.025")
    assert found["lower"] < 0.1 < found["value"] < found["hoeffding"]
    assert run_json(capsys, "binomial", "--mistakes", "0", "--epsilon", "0.05", "--delta", "0.05")["value"] == 59
    found = run_json(capsys, "binomial", "--mistakes", "0", "--examples", "3", "--epsilon", "0.5")
    assert (found["asked"], found["value"]) == ("failure", 0.125)


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_has_its_size(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    k = ("--k", "2") if CLASSES[name].takes_k else ()
    for n in ("3", "12", "1000"):
        found = run_json(capsys, "size", "--class", name, "--variables", n, *k)
        size = CLASSES[name].size(variables=int(n), **({"k": 2} if k else {}))
        assert found["formula"] == size.formula
        assert found["size"] in (size.exact, None)
        assert "hypotheses" in run_text(capsys, "size", "--class", name, "--variables", n, *k)
    assert "= 59,049 hypotheses" in run_text(capsys, "size", "--class", "conjunctions", "--variables", "10")


@pytest.mark.parametrize("law", MISTAKE_BOUNDS)
def test_every_mistake_bound_is_computed(law: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = [
        part
        for name in MISTAKE_BOUNDS[law].parameters
        for part in (f"--{name.replace('_', '-')}", str(BOUND_ARGUMENTS[name]))
    ]
    found = run_json(capsys, "mistakes", law, *given)
    assert found["most"] == int(found["bound"] + 1e-9)
    assert run_text(capsys, "mistakes", law, *given).startswith("At most ")


def test_shattering_is_decided(capsys: pytest.CaptureFixture[str]) -> None:
    text = run_text(capsys, "shatter", "half-spaces", "--points", SQUARE, code=1)
    assert "no set with the labelling +−−+" in text
    assert "both contain (1/2, 1/2)" in text
    found = run_json(capsys, "shatter", "half-spaces", "--points", "0,0 1,0 0,1")
    assert found["shattered"] is True
    assert len(found["hypotheses"]) == 8
    assert run_json(capsys, "shatter", "rectangles", "--points", "-1,0 1,0 0,-1 0,1")["shattered"]
    assert run_json(capsys, "shatter", "intervals", "--points", "1 1/3 0.5", code=1)["missing"] == [True, True, False]


def test_growth_functions_of_finite_classes_are_computed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = run_json(capsys, "growth", "half-spaces", "--points", SQUARE)
    assert (found["labellings"], found["dimension"], found["sauer"]) == (14, 3, 15)
    assert run_json(capsys, "dimension", "--rows", "000 010 110 100")["dimension"] == 2
    assert run_json(capsys, "dimension", "--rows", "00,01,10,11")["dimension"] == 2
    file = tmp_path / "points.txt"
    file.write_text("# corners\n0, 0\n1 0\n\n0,1\n1,1\n")
    assert run_json(capsys, "growth", "half-spaces", "--from", str(file))["labellings"] == 14
    file.write_text("0,0\n0,1\n")
    assert "VC dimension is 1" in run_text(capsys, "dimension", "--from", str(file))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("vc --dimension 3 --epsilon 1 --delta 0.1", "ε, the error, must be a number between 0 and 1, but is 1.0"),
        ("vc --dimension 3 --epsilon 0.1 --delta 0", "δ, the probability to fail, must be a number between 0 and 1"),
        ("vc --dimension 3 --examples 0 --delta 0.1", "at least 1, but is 0"),
        ("vc --dimension -1 --epsilon 0.1 --delta 0.1", "The VC dimension must be a whole number of at least 0"),
        ("vc --dimension 3 --epsilon nan --delta 0.1", "but is nan"),
        ("vc --dimension 3 --epsilon 0.1", "two of m (examples)"),
        ("vc --epsilon 0.1 --delta 0.1", "Name the class once"),
        ("vc --dimension 3 --class intervals --epsilon 0.1 --delta 0.1", "Name the class once"),
        ("vc --class half-spaces --epsilon 0.1 --delta 0.1", "half-spaces needs --variables"),
        ("lower --class k-cnf --variables 3 --k 2 --epsilon 0.1 --delta 0.1", "is unknown: give it by --dimension"),
        ("lower --dimension 3 --examples 5 --delta 0.1", "ε and δ"),
        ("consistent --epsilon 0.1 --delta 0.1", "Name the class once"),
        ("consistent --class k-cnf --variables 5 --epsilon 0.1 --delta 0.1", "--variables and --k"),
        ("consistent --class conjunctions --variables 0 --epsilon 0.1 --delta 0.1", "at least 1, but is 0"),
        ("hoeffding --table", "needs --delta"),
        ("hoeffding --delta 0.1 --epsilon 0.1 --table", "neither --examples nor --epsilon"),
        ("hoeffding --delta 0.1 --plot no-such-folder/p.html", "No such file or directory"),
        ("binomial --mistakes 3 --examples 2 --delta 0.1", "from 0 to 2, but is 3"),
        ("binomial --mistakes 3 --examples 20", "two of --examples"),
        ("mistakes novikoff --radius 1", "margin is missing"),
        ("mistakes novikoff --radius 1 --margin 0", "must be a number above 0"),
        ("mistakes novikoff --radius 1 --margin 1 --loss 2", "loss is none of them"),
        ("shatter half-spaces", "Give points once"),
        ("shatter half-spaces --points 0,0;1", "the same number of coordinates"),
        ("shatter half-spaces --points 1/0,2", "A point must be numbers"),
        ("shatter intervals --points 1,2", "must have 1 coordinate"),
        ("shatter half-spaces --points 1,2,3 --plot p.html", "two coordinates"),
        ("shatter half-spaces --from no-such-file", "No such file"),
        ("dimension --rows 012", "zeros and ones"),
        ("dimension --rows 01,1", "must have the same length"),
    ],
)  # fmt: skip
def test_impossible_values_are_refused(
    arguments: str, sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["theory", *arguments.split()]) == 2
    out, err = capsys.readouterr()
    assert sentence in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("word", "sentence"),
    [("3^", "invalid whole number or power"), ("gold", "invalid"), ("2^-1", "at least 0"), ("0", "at least 1")],
)
def test_invalid_sizes_are_refused(word: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["theory", "size", f"--hypotheses={word}"])
    assert stop.value.code == 2
    assert sentence in capsys.readouterr().err


def test_help_of_every_topic_has_examples_that_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for topic in TOPICS:
        with pytest.raises(SystemExit) as stop:
            main(["theory", topic, "--help"])
        assert stop.value.code == 0
        text = capsys.readouterr().out
        lines = [line.strip() for line in text.splitlines() if line.strip().startswith(f"novikoff theory {topic} ")]
        assert lines, topic
        for line in lines:
            words = shlex.split(line)[1:]
            words = [str(tmp_path / word) if word.endswith((".html", ".txt")) else word for word in words]
            (tmp_path / "table.txt").write_text("01\n10\n")
            assert main(words) in (0, 1), line
            assert capsys.readouterr().err == ""


def test_huge_classes_are_computed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    huge = ("--class", "boolean-functions", "--variables", "5000")
    assert "10^" in run_text(capsys, "consistent", *huge, "--epsilon", "1e-9", "--delta", "1e-300")
    found = run_json(capsys, "consistent", *huge, "--epsilon", "0.1", "--delta", "0.1")
    assert found["value"] > 2**5000
    run_text(capsys, "consistent", *huge, "--delta", "0.1", "--plot", str(tmp_path / "p.html"))
    assert main(["theory", "consistent", "--class", "boolean-functions", "--variables", "100000", "--epsilon", "0.1",
                 "--delta", "0.1"]) == 2  # fmt: skip


# --- Pages ---


def pages(folder: Path) -> dict[str, Path]:
    made = {name: folder / f"{name}.html" for name in ("sizes", "capacity", "square", "triangle", "boxes")}
    for name, arguments in {
        "sizes": ("agnostic", "--hypotheses", "2^20", "--delta", "0.05", "--quiet", "--plot"),
        "capacity": ("vc", "--class", "half-spaces", "--variables", "2", "--delta", "0.05", "--plot"),
        "square": ("shatter", "half-spaces", "--points", SQUARE, "--plot"),
        "triangle": ("shatter", "half-spaces", "--points", "0,0 1,0 0,1", "--plot"),
        "boxes": ("shatter", "rectangles", "--points", "-1,0 1,0 0,-1 0,1", "--plot"),
    }.items():
        assert main(["theory", *arguments, str(made[name])]) in (0, 1)
    return made


def test_pages_are_complete_and_load_no_other_file(tmp_path: Path) -> None:
    for name, path in pages(tmp_path).items():
        tags = ParsedPage(path.read_text())
        assert not any(tag == "link" or "src" in attributes for tag, attributes in tags.tags)
        assert all(not (a.get("href") or "#").startswith("http") for _, a in tags.tags)
        about = json.loads(tags.scripts["numbers"])
        if name in ("sizes", "capacity"):
            assert len(about["tables"][about["law"]]) == len(TABLE_EPSILONS)
        else:
            assert about["shattered"] == (name != "square")
    sizes = json.loads(ParsedPage((tmp_path / "capacity.html").read_text()).scripts["numbers"])["tables"]
    assert set(sizes) == {"vc", "vc-agnostic", "lower"}
    finite = json.loads(ParsedPage((tmp_path / "sizes.html").read_text()).scripts["numbers"])["tables"]
    assert set(finite) == {"agnostic", "consistent", "vc", "vc-agnostic"}


def test_the_coloured_area_is_the_half_plane() -> None:
    for labels, one in shattering(HALF_SPACES, [(0, 0), (1, 0), (0, 1)]).hypotheses.items():
        assert isinstance(one, HalfSpace)
        corners = shattering_page._set_polygon(one, ((-0.3, -0.3), (1.3, 1.3)))
        w, v, theta = (float(value) for value in (*one.weights, one.threshold))
        assert all(w * x + v * y >= theta - 1e-12 for x, y in corners)
        assert len(corners) >= 3 or not any(labels)


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_pages_are_drawn_in_a_real_browser(step: int, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is in the extra dev")
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip(f"there is no {CHROMIUM}: install Debian's package chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, path in list(pages(tmp_path).items())[::step]:
            window = browser.new_page(viewport={"width": 1200, "height": 900})
            complaints: list[str] = []
            window.on("console", lambda message, said=complaints: said.append(message.text))
            window.on("pageerror", lambda error, said=complaints: said.append(str(error)))
            window.goto(path.as_uri())
            window.wait_for_selector("#plot-0 svg.main-svg")
            drawn = {"square": 1, "triangle": 8, "boxes": 16}.get(name, 1)
            assert window.locator("#plot-0 .subplot.xy, #plot-0 .cartesianlayer .subplot").count() >= drawn
            assert complaints == []
            window.set_viewport_size({"width": 390, "height": 844})
            window.wait_for_timeout(500)
            assert window.evaluate("document.documentElement.scrollWidth") <= 390
            window.close()
        browser.close()


def test_plotly_and_scikit_learn_are_not_imported_for_an_answer() -> None:
    code = (
        "import sys; from novikoff.cli.main import main;"
        "assert main(['theory', 'vc', '--dimension', '3', '--epsilon', '0.1', '--delta', '0.05']) == 0;"
        "strange = {name.split('.')[0] for name in sys.modules} & {'plotly', 'jinja2', 'sklearn', 'scipy', 'numba'};"
        "assert not strange, strange"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
