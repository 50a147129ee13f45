"""Claims of the documentation: which scheme takes which learner, constants of bounds, what compare tries."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import novikoff
from novikoff import Auto, learner_registry, scheme_registry
from novikoff.base.internals import require_state
from novikoff.certificates import compare
from novikoff.cli.main import main
from novikoff.core.updaters.stacked_learners import DRIFT_LOSS, FORECAST_LOSS, log_loss_of
from novikoff.errors import InputError
from novikoff.linear.auto import BinaryAuto
from novikoff.theory import regret
from tests.helpers.paths import ROOT

LEARNERS = sorted(
    {type_.__name__.removeprefix("Binary") for type_ in map(learner_registry.learner_class, learner_registry.names())}
)


def matrix() -> dict[tuple[str, str], bool]:
    """Return a dict from (learner, scheme) to whether the page says that the scheme takes it."""
    text = (ROOT / "docs/multiclass.md").read_text()
    part = text.partition("## Which scheme takes which learner")[2].partition("\n## ")[0]
    head, _, *rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\|.*$", part, re.M)]
    words = {"yes": True, "no": False}
    return {
        (row[0], scheme): words[cell]
        for row in rows
        for title, cell in zip(head[1:], row[1:], strict=True)
        for scheme in title.split(", ")
    }


def test_the_table_of_schemes_has_every_learner_and_every_scheme_around_one() -> None:
    around = [scheme_registry.scheme_class(name) for name in scheme_registry.names()]
    schemes = {kind.__name__ for kind in around if "estimator" in kind._setting_defaults()}
    assert matrix().keys() == {(learner, scheme) for learner in LEARNERS for scheme in schemes}


OUTCOMES: dict[str, Any] = {
    "MultiLabel": [["a"], ["b"], ["a", "b"], []] * 3,
    "LabelRanking": [["a", "b"], ["b", "a"], ["a", "b"], ["b", "a"]] * 3,
    "Hierarchical": ["x/a", "x/b", "y/c", "y/d"] * 3,
    "Bagging": [0, 1, 1, 0] * 3,
    "AdaBoost": [0, 1, 1, 0] * 3,
    "OnlineToBatch": [0, 1, 1, 0] * 3,
}
X = np.array([[0, 0, 1], [1, 0, 0], [1, 1, 0], [0, 1, 1]] * 3, np.float64)


SCHEMES = sorted({scheme for _, scheme in matrix()})


def wrap_learner(scheme: str, learner: str) -> Any:
    kind, few = getattr(novikoff, scheme), {"n_estimators": 2}
    return kind(getattr(novikoff, learner)(), **{k: v for k, v in few.items() if k in kind._setting_defaults()})


def rows_for(scheme: str) -> Any:
    """Draw Boolean rows; for rankings half as large, so that differences of documents are from −1 to 1."""
    return X / 2 if scheme == "QueryRanking" else X


def fit_scheme(model: Any, scheme: str) -> Any:
    if scheme == "QueryRanking":
        return model.fit(rows_for(scheme), [0, 1] * 6, np.repeat([1, 2, 3, 4, 5, 6], 2))
    return model.fit(X, OUTCOMES.get(scheme, ["a", "b", "c", "a"] * 3))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes_accept_the_learners_of_the_table(scheme: str) -> None:
    for learner in LEARNERS:
        model = wrap_learner(scheme, learner)
        if matrix()[learner, scheme]:
            model._check_all()
        else:
            with pytest.raises(InputError, match=f"^{scheme} takes (binary )?learners"):
                fit_scheme(model, scheme)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_accepted_learner_learns_in_its_scheme(scheme: str) -> None:
    for learner in LEARNERS:
        if matrix()[learner, scheme]:
            model = fit_scheme(wrap_learner(scheme, learner), scheme)
            assert len(model.predict(rows_for(scheme))) == len(X), (learner, scheme)


def test_no_page_claims_that_schemes_take_every_learner() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        text = page.read_text()
        for claim in ("of any of these learners", "around any of them", "tries every learner", "Every run can be"):
            assert claim not in text, (page, claim)


# --- Auto ---


def test_constants_of_autos_bound_agree_in_all_documents() -> None:
    """The bound is L*/ln 2 + a·m + b; the constants are rounded up."""
    assert Auto().fixed_share == 0.0003
    start, later = (
        regret.mistakes(
            loss_name="logistic",
            loss=0.0,
            regret=regret.fixed_share(forecasts=2, share=Auto().fixed_share, examples=examples),
        )
        for examples in (1, 1_000_001)
    )
    up = math.ceil(1000 / math.log(2)) / 1000, math.ceil(1e5 * (later - start) / 1e6) / 1e5, round(start, 6)
    assert up == (1.443, 0.00022, 1.0)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    said = [
        found for page in pages for found in re.findall(r"(\d\.\d+)·L\\\* \+\s(\d\.\d+)·m \+ (\d+)\b", page.read_text())
    ]
    assert len(said) >= 3
    assert set(said) == {("1.443", "0.00022", "1")}


@pytest.mark.parametrize("seed", range(3))
def test_auto_keeps_that_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((600, 5))
    y = np.where(rows @ rng.standard_normal(5) + rng.standard_normal(600) > 0, 1, 0)
    model = BinaryAuto().partial_fit(rows, y, classes=[0, 1])
    (bound,) = model.bounds()
    best = min(log_loss_of(require_state(model).updater.stack, entry) for entry in (FORECAST_LOSS, DRIFT_LOSS))
    assert model.ledger_.mistakes <= 1.443 * best + 0.00022 * 600 + 1.0
    assert float(bound.value(None) or math.inf) <= 1.443 * best + 0.00022 * 600 + 1.0  # type: ignore[arg-type]


# --- What compare tries ---


def test_compare_tries_what_its_page_lists_and_names_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tried, not_tried = compare.list_default_learners(), compare.explain_excluded_learners()
    assert sorted([*tried, *not_tried]) == learner_registry.names()
    page = (ROOT / "docs/commands/compare.md").read_text()
    listed = page.partition("these are tried, with their default settings:")[2].partition(".")[0]
    assert re.findall(r"`([a-z-]+)`", listed) == tried
    rest = page.partition("these are tried")[2].partition(".")[2].partition("are slow on long streams")[0]
    assert re.findall(r"`([a-z-]+)`", rest) == sorted(not_tried)
    data = tmp_path / "d.csv"
    data.write_text("y,a,b\n" + "yes,1,0\nno,0,1\nyes,1,1\nno,0,0\n" * 5)
    assert main(["compare", str(data), "--label", "y", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["learner"] for row in found["learners"]} | found["skipped"].keys() == set(learner_registry.names())
    assert not_tried.items() <= found["skipped"].items()
    assert main(["compare", str(data), "--label", "y", "--quiet"]) == 0
    shown = capsys.readouterr().out
    for name in not_tried:
        assert re.search(rf"^{name} +skipped: .*--learners", shown, re.M), name
    assert main(["compare", str(data), "--label", "y", "--learners", "perceptron,kernel-perceptron", "--json"]) == 0
    named = json.loads(capsys.readouterr().out)
    assert {row["learner"] for row in named["learners"]} == {"perceptron", "kernel-perceptron"}
    assert named["skipped"] == {}


# --- Exact zeros ---


def test_l1_shrinks_weights_and_the_docs_promise_no_number_of_exact_zeros() -> None:
    assert "many weights become exactly 0" not in (novikoff.SGD.__doc__ or "")
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((500, 19))
    y = np.where(rows[:, 0] + rows[:, 1] + 0.5 * rng.standard_normal(500) > 0, 1, 0)
    plain, sparse = (novikoff.SGD(l1=l1).partial_fit(rows, y, classes=[0, 1]).coef_ for l1 in (0.0, 0.02))
    assert np.abs(sparse).sum() < np.abs(plain).sum()
    assert not (plain == 0).any()
