"""Combinations of components: schemes and feature maps, hypotheses and kernels, options of other learners."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import novikoff
from novikoff import Bagging, Elimination, InputError, KernelPerceptron, MultilayerPerceptron, OnlineToBatch, Perceptron
from novikoff.certificates.certificate import build_certificate
from novikoff.certificates.data_source import FileSource
from novikoff.cli.main import main
from novikoff.data.reader import ReadOptions


@pytest.fixture
def circle(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "circle.svm"
    lines = [f"{1 if x @ x <= 1 else -1} 1:{x[0]:.4f} 2:{x[1]:.4f}" for x in rng.uniform(-1.6, 1.6, (150, 2))]
    path.write_text("\n".join(lines) + "\n")
    return path


def count_wrong(capsys: pytest.CaptureFixture[str], model: Path, data: Path, out: Path) -> float:
    capsys.readouterr()
    assert main(["predict", str(model), str(data), "--output", str(out), "--json", "--quiet"]) == 0
    return float(json.loads(capsys.readouterr().out)["model_error"])


def test_ensembles_store_their_feature_map(circle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "m.model"
    how = ["--feature-map", "poly:2", "--learner", "perceptron", "--passes", "5", "--n-estimators", "5", "--quiet"]
    assert main(["learn", str(circle), "--multiclass", "bagging", *how, "--save", str(model)]) == 0
    assert count_wrong(capsys, model, circle, tmp_path / "p.txt") < 0.15


def test_the_memory_limit_is_reported_as_such(circle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", str(circle), "--learner", "kernel-perceptron", "--max-memory-mb", "0.002", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "memory" in said
    assert "grew out of range" not in said


@pytest.mark.parametrize("learner", [KernelPerceptron(), MultilayerPerceptron()])
def test_online_to_batch_refuses_learners_without_a_weight_vector(learner: Any) -> None:
    with pytest.raises(InputError, match="takes binary learners with a weight vector"):
        OnlineToBatch(learner, method="vote").fit([[0.0], [1.0]], [0, 1])


def test_examples_of_weight_zero_are_certified_with_a_kernel(tmp_path: Path) -> None:
    path, certificate = tmp_path / "d.vw", tmp_path / "c.json"
    path.write_text("".join(f"{1 if k % 2 else -1} {k % 3} | a:{k % 2} b:{k % 5}\n" for k in range(1, 30)))
    how = ["--learner", "kernel-perceptron", "--certificate", str(certificate), "--quiet"]
    assert main(["learn", str(path), *how]) == 0
    assert json.loads(certificate.read_text())["witnesses"] == {}
    assert main(["verify", str(certificate), str(path)]) == 0


def test_uncounted_consistency_is_not_claimed() -> None:
    X = np.array([[1, 1], [1, 1], [1, 0], *[[0, 1]] * 300])
    model = Elimination(shuffle=False).fit(X, [0, 1, 0, *[0] * 300])
    assert (model.predict(X) != np.array([0, 1, 0, *[0] * 300])).any()
    assert "if any of its class is" in model.sample_check(epsilon=0.1, delta=0.1).sentence
    assert "if any of its class agrees with all examples" in model._describe_guarantee()["sentence"]


def test_repeated_examples_withdraw_the_guarantee(circle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", str(circle), str(circle), "--online-to-batch", "vote", "--quiet"]) == 2
    assert "name each file once" in capsys.readouterr().err
    for titles, promised in (([circle], True), ([circle, circle], False)):
        source = FileSource([str(title) for title in titles], ReadOptions())
        certificate, _ = build_certificate(OnlineToBatch(Perceptron(), method="vote"), source, passes=1)
        assert (certificate.document["hypothesis"]["bound"] is not None) == promised


def test_bagged_kernel_learners_take_three_labels() -> None:
    X, y = np.eye(3).repeat(6, axis=0), np.arange(3).repeat(6)
    assert (Bagging(KernelPerceptron(passes=3), n_estimators=5).fit(X, y).predict(X) == y).mean() > 0.6


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--multiclass", "adaboost", "--online-to-batch", "vote"), "--online-to-batch has no meaning for adaboost"),
        (("--multiclass", "bagging", "--epsilon", "0.1"), "--epsilon is for --online-to-batch"),
        (("--multiclass", "bagging", "--kernel-form", "dual"), "--kernel-form has no meaning for bagging"),
        (("--search-effort", "3"), "--search-effort is for the witness search of --certificate or --report"),
        (
            ("--learner", "kernel-perceptron", "--search-effort", "3"),
            "--search-effort is for the witness search of --certificate",
        ),
    ],
)
def test_options_without_a_meaning_for_the_learner_are_refused(
    options: tuple[str, ...], said: str, circle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["learn", str(circle), *options, "--quiet"]) == 2
    assert said in capsys.readouterr().err


def test_another_random_state_is_refused_during_a_run(
    circle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "m.model"
    how = ["--learner", "multilayer-perceptron", "--hidden-layer-sizes", "2", "--quiet"]
    assert main(["learn", str(circle), *how, "--random-state", "3", "--save", str(model)]) == 0
    assert main(["learn", str(circle), "--resume", str(model), "--random-state", "3", "--quiet"]) == 0
    assert main(["learn", str(circle), "--resume", str(model), "--random-state", "4", "--quiet"]) == 2
    assert "random_state" in capsys.readouterr().err
    loaded = novikoff.load(model)
    assert loaded.random_state == 3


def test_representation_auto_takes_unhashed_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("".join(f'{{"label": {k % 2}, "x": {k % 2}, "z": {k % 3}}}\n' for k in range(40)))
    how = ["--learner", "kernel-perceptron", "--kernel-form", "auto", "--hash-bits", "0", "--json", "--quiet"]
    assert main(["learn", str(path), *how]) == 0
    assert json.loads(capsys.readouterr().out)["learner"] == "kernel-perceptron"
