"""--online-to-batch: learn, save, resume, inspect, certify, verify and report on the command line."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import novikoff
from novikoff import Elimination, Halving, OnlineToBatch, Perceptron, certify, verify
from novikoff.cli.main import build_parser, main
from novikoff.online_to_batch.online_to_batch import METHOD_NAMES
from tests.helpers.streams import real

QUICK = ("longest-survivor", "controlled-testing")
EVERY = [pytest.param(method, marks=() if method in QUICK else (pytest.mark.slow,)) for method in METHOD_NAMES]
MORE = {"controlled-testing": ["--epsilon", "0.4"], "next-stretch": ["--max-mistakes", "50"]}


def write_stream(path: Path, seed: int = 0, rows: int = 400) -> Path:
    X, _ = real(seed, rows=rows, columns=6)
    y = np.where(X[:, 1] + X[:, 2] > 0.0, 1, -1)
    X[:, 1] += 0.2 * y
    lines = (f"{label} {' '.join(f'{j + 1}:{v:.4f}' for j, v in enumerate(x))}" for x, label in zip(X, y, strict=True))
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_stream(tmp_path / "data.svm")


def run_text(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    assert main([str(a) for a in arguments]) == 0
    return capsys.readouterr().out


def run_refused(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    assert main([str(a) for a in arguments]) == 2
    return capsys.readouterr().err


def leaves(document: Any, path: tuple[Any, ...] = ()) -> Any:
    inside = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in inside:
        yield from leaves(value, (*path, key)) if isinstance(value, dict | list) and value else [(*path, key)]


@pytest.mark.parametrize("method", EVERY)
def test_a_run_is_learned_certified_and_verified(
    method: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, certificate, page = tmp_path / "m.model", tmp_path / "c.json", tmp_path / "page.html"
    how = ["--online-to-batch", method, *MORE.get(method, []), "--quiet"]
    files = ["--save", model, "--certificate", certificate, "--report", page, "--search-effort", "0.01"]
    out = json.loads(run_text(capsys, "learn", data, *how, *files, "--json"))
    promised = out["online_to_batch"]
    assert promised["method"] == method
    assert promised["examples_used"] == out["examples"] == 400 - promised["later"]
    assert promised["stopped"] == (method in MORE)
    assert (promised["bound"] is None) == (method == "average")
    shown = run_text(capsys, "learn", data, *how)
    assert f"this model  {promised['chosen']} ({method})" in shown
    assert f"guarantee   {promised['sentence']}" in shown
    assert ("independently" in shown) == (promised["bound"] is not None)
    assert promised["sentence"] in run_text(capsys, "inspect", model)
    assert json.loads(run_text(capsys, "inspect", model, "--json"))["online_to_batch"] == promised
    assert "was chosen for delta 0.05: learn with another" in run_refused(capsys, "inspect", model, "--delta", "0.01")
    assert set(run_text(capsys, "predict", model, data, "--quiet").split()) == {"-1", "1"}
    document = json.loads(certificate.read_text())
    assert document["hypothesis"] == promised
    assert document["hypothesis"] == out["certificate"]["hypothesis"]
    assert (document["new_data"] is None) == promised["stopped"]  # a run that ends by itself has no typical error
    assert run_text(capsys, "verify", certificate, data) == "verified\n"
    assert promised["sentence"] in run_text(capsys, "certify", model, data, "--search-effort", "0.01", "--quiet")
    text = page.read_text()
    assert "Error of the saved model" in text
    assert promised["chosen"] in text


def test_every_number_of_the_guarantee_is_verified(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    certificate = tmp_path / "c.json"
    how = ["--online-to-batch", "longest-survivor", "--delta", "0.1", "--search-effort", "0.01", "--quiet"]
    run_text(capsys, "learn", data, *how, "--certificate", certificate)
    document = json.loads(certificate.read_text())
    for path in leaves(document["hypothesis"]):
        changed = copy.deepcopy(document)
        place: Any = changed["hypothesis"]
        for key in path[:-1]:
            place = place[key]
        value = place[path[-1]]
        place[path[-1]] = (not value) if isinstance(value, bool) else value + 1 if isinstance(value, int) else "other"
        certificate.write_text(json.dumps(changed))
        assert main(["verify", str(certificate), str(data)]) == 1, path
        assert "hypothesis." in capsys.readouterr().out
    for name, value in (("delta", 0.2), ("method", "vote"), ("method", "unknown"), ("epsilon", 7)):
        changed = copy.deepcopy(document)
        changed["settings"][name] = value
        certificate.write_text(json.dumps(changed))
        assert main(["verify", str(certificate), str(data)]) == 1, name
        capsys.readouterr()


@pytest.mark.parametrize("method", EVERY)
def test_resuming_equals_one_run(method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = write_stream(tmp_path / "a.svm", 1, 150), write_stream(tmp_path / "b.svm", 2, 150)
    how = ["--online-to-batch", method, *MORE.get(method, []), "--quiet"]
    whole, half = tmp_path / "whole.model", tmp_path / "half.model"
    run_text(capsys, "learn", first, second, *how, "--save", whole)
    run_text(capsys, "learn", first, *how, "--save", half)
    run_text(capsys, "learn", second, "--resume", half, "--save", half, "--quiet")
    assert half.read_bytes() == whole.read_bytes()
    assert "the settings 'delta'" in run_refused(capsys, "learn", second, "--resume", half, "--delta", "0.3", "--quiet")
    assert "'method'" in run_refused(capsys, "learn", second, "--resume", half, "--online-to-batch", OTHER[method])


OTHER = {method: "vote" if method != "vote" else "average" for method in METHOD_NAMES}


def test_invalid_options_are_refused(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = ["learn", data, "--quiet", "--online-to-batch"]
    assert "--epsilon is for --online-to-batch" in run_refused(capsys, "learn", data, "--epsilon", "0.1")
    assert "passes must be 1" in run_refused(capsys, *output, "vote", "--passes", "2")
    assert "two labels" in run_refused(capsys, *output, "vote", "--multiclass", "kesler")
    assert "between 0 and 1, but is 0.0" in run_refused(capsys, *output, "vote", "--delta", "0")
    assert "between 0 and 1, but is 1.0" in run_refused(capsys, *output, "controlled-testing", "--epsilon", "1")
    assert "must know how often" in run_refused(capsys, *output, "next-stretch")
    assert "must not be below γ" in run_refused(
        capsys, *output, "next-stretch", "--stream-radius", "1", "--stream-margin", "2"
    )
    with pytest.raises(SystemExit):
        main(["learn", str(data), "--online-to-batch", "unknown"])
    assert not list(tmp_path.glob("*.model"))


@pytest.mark.slow
def test_sample_weights_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weighted = tmp_path / "weighted.vw"
    weighted.write_text("1 2.0 |a x y\n-1 |a y\n")
    assert "weight 1" in run_refused(capsys, "learn", weighted, "--quiet", "--online-to-batch", "average")


def test_a_learner_with_an_epsilon_of_its_own_keeps_it() -> None:
    arguments = [
        "learn",
        "d.svm",
        "--learner",
        "margin-perceptron",
        "--epsilon",
        "0.3",
        "--online-to-batch-epsilon",
        "0.2",
    ]
    options = build_parser(arguments).parse_args(arguments)
    assert (options.setting_epsilon, options.epsilon) == (0.3, 0.2)


# --- Consistent learners ---


def boolean(path: Path, rows: list[tuple[int, str]]) -> Path:
    lines = (f"{label} {' '.join(f'{j + 1}:1' for j, bit in enumerate(bits) if bit == '1')}" for label, bits in rows)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.slow
def test_a_consistent_hypothesis_is_certified_and_inspected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = boolean(tmp_path / "d.svm", [(1, "111"), (-1, "011"), (1, "110"), (-1, "010")] * 40)
    model, certificate = tmp_path / "m.model", tmp_path / "c.json"
    run_text(
        capsys, "learn", data, "--learner", "elimination", "--save", model, "--certificate", certificate, "--quiet"
    )
    promised = json.loads(certificate.read_text())["hypothesis"]
    assert promised["consistent"]
    assert promised["bound"] == pytest.approx((np.log(82) + np.log(20)) / 160, rel=1e-9)  # columns from 0 on
    assert run_text(capsys, "verify", certificate, data) == "verified\n"
    text = run_text(capsys, "inspect", model, "--epsilon", "0.01", "--delta", "0.05")
    assert "guarantee   The error of this hypothesis, if any of its class agrees with all examples, on new data" in text
    assert "is at most 0.04627" in text
    assert "consistent with 160 examples if any of its class is; for ε = 0.01 and δ = 0.05 it needs 741." in text
    assert json.loads(run_text(capsys, "inspect", model, "--json"))["guarantee"]["consistent"]
    run_text(capsys, "learn", data, "--save", model, "--quiet")
    assert "hypotheses without a mistake" in run_refused(capsys, "inspect", model, "--epsilon", "0.1")
    assert "hypotheses without a mistake" in run_refused(capsys, "inspect", model, "--delta", "0.1")


def test_a_hypothesis_that_errs_later_guarantees_nothing() -> None:
    """The last conjunction accepts the first negative example, although no mistake on a negative one was made."""
    X, y = np.array([[1.0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0]]), [1, -1, 1, 1]
    model = Elimination().fit(X, y)
    assert model.ledger_.mistakes == model.ledger_.updates == 3
    assert model.predict(X)[1] == 1
    certificate = certify(model, X, y)
    assert not certificate.document["hypothesis"]["consistent"]
    assert certificate.document["hypothesis"]["sentence"] == (
        "Nothing is guaranteed of this hypothesis: it is wrong on 1 of its examples."
    )
    assert verify(certificate, X, y) == []
    never = Halving(hypotheses="conjunctions").fit(X, [-1, 1, 1, -1])
    assert certify(never, X, [-1, 1, 1, -1]).document["hypothesis"]["bound"] is None


def test_runs_on_arrays_are_certified() -> None:
    X, y = real(4, rows=200, columns=4)
    for method in QUICK:
        model = OnlineToBatch(Perceptron(), method=method, epsilon=0.4).fit(X, y)  # type: ignore[arg-type]
        certificate = certify(model, X, y, search_effort=0.01)
        assert certificate.document["hypothesis"] == json.loads(json.dumps(model._describe_guarantee()))
        assert verify(certificate, X, y) == []
        assert verify(certificate, X[::-1], y[::-1]) != []
    twice = OnlineToBatch().partial_fit(X, y, classes=[-1, 1]).partial_fit(X, y)
    assert twice._describe_guarantee(examples=200)["bound"] is None  # they were learned more than once
    assert novikoff.OnlineToBatch is OnlineToBatch
