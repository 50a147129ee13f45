"""The same settings give the same model on the command line, in Python and on the server."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import novikoff
from novikoff.base.internals import plain_settings_of
from novikoff.cli.main import build_parser, main
from novikoff.cli.options.model_options import read_model_settings
from novikoff.data.formats.base import ReadOptions
from novikoff.data.reader import DataReader
from novikoff.distributed.compatibility import build_default_learner
from novikoff.errors import DefaultLearnerWarning, InputError
from novikoff.model_factory import UNKNOWN_TASK, ModelSettings, Task, build_model, inspect_task
from novikoff.server.models.served_model import create_learner

UNSHUFFLED: dict[str, Any] = {"shuffle": False}
TWO, THREE = Task(2), Task(3)
CASES: dict[str, tuple[list[str], Task, Callable[[], Any], tuple[str, dict[str, Any]]]] = {
    "default, two classes": ([], TWO, lambda: novikoff.Auto(**UNSHUFFLED), ("auto", UNSHUFFLED)),
    "default, three classes": (
        [],
        THREE,
        lambda: novikoff.Kesler(novikoff.linear.auto.BinaryAuto(**UNSHUFFLED)),
        ("kesler", {"estimator": {"settings": UNSHUFFLED}}),
    ),
    "learner with settings": (
        ["--learner", "sgd", "--loss", "hinge", "--l2", "0.1"],
        TWO,
        lambda: novikoff.SGD(loss="hinge", l2=0.1, **UNSHUFFLED),
        ("sgd", {"loss": "hinge", "l2": 0.1, **UNSHUFFLED}),
    ),
    "variant": (
        ["--learner", "averaged-perceptron"],
        TWO,
        lambda: novikoff.Perceptron(average=True, **UNSHUFFLED),
        ("averaged-perceptron", UNSHUFFLED),
    ),
    "inferred scheme": (
        ["--learner", "perceptron"],
        THREE,
        lambda: novikoff.Kesler(novikoff.Perceptron(**UNSHUFFLED)),
        ("kesler", {"estimator": {"name": "perceptron", "settings": UNSHUFFLED}}),
    ),
    "fallback of auto": (
        ["--multiclass", "ova", "--passes", "2"],
        THREE,
        lambda: novikoff.OneVsAll(novikoff.AROW(passes=2, **UNSHUFFLED)),
        ("one-vs-all", {"estimator": {"settings": {"passes": 2, **UNSHUFFLED}}}),
    ),
    "fallback of auto by a setting of the scheme": (
        ["--multiclass", "kesler", "--update", "uniform"],
        THREE,
        lambda: novikoff.Kesler(novikoff.AROW(**UNSHUFFLED), update="uniform"),
        ("kesler", {"update": "uniform", "estimator": {"settings": UNSHUFFLED}}),
    ),
    "scheme with settings": (
        ["--learner", "sgd", "--multiclass", "ecoc", "--code", "sparse", "--random-state", "3"],
        THREE,
        lambda: novikoff.OutputCode(novikoff.SGD(random_state=3, **UNSHUFFLED), code="sparse", random_state=3),
        (
            "output-code",
            {
                "code": "sparse",
                "random_state": 3,
                "estimator": {"name": "sgd", "settings": {"random_state": 3, **UNSHUFFLED}},
            },
        ),
    ),
    "one-vs-all of a learner for many classes": (
        ["--learner", "kernel-perceptron", "--multiclass", "one-vs-all"],
        THREE,
        lambda: novikoff.KernelPerceptron(**UNSHUFFLED),
        ("kernel-perceptron", UNSHUFFLED),
    ),
    "online-to-batch": (
        ["--online-to-batch", "controlled-testing", "--epsilon", "0.2", "--delta", "0.1"],
        THREE,
        lambda: novikoff.OnlineToBatch(
            novikoff.Perceptron(**UNSHUFFLED), method="controlled-testing", epsilon=0.2, delta=0.1
        ),
        (
            "online-to-batch",
            {"method": "controlled-testing", "epsilon": 0.2, "delta": 0.1, "estimator": {"settings": UNSHUFFLED}},
        ),
    ),
    "online ensemble": (
        ["--multiclass", "online-bagging", "--n-estimators", "4"],
        TWO,
        lambda: novikoff.OnlineBagging(novikoff.AROW(**UNSHUFFLED), n_estimators=4),
        ("online-bagging", {"n_estimators": 4, "estimator": {"settings": UNSHUFFLED}}),
    ),
}


def describe(model: Any) -> tuple[str, dict[str, Any]]:
    """Return the class and all settings of a model; Auto as the learner that does its work."""
    if isinstance(model, novikoff.Auto):
        model = model._inner_learner
    return type(model).__name__, plain_settings_of(model)


def read_options(arguments: list[str]) -> ModelSettings:
    command = ["learn", "data.svm", *arguments]
    return read_model_settings(build_parser(command).parse_args(command))


@pytest.mark.parametrize("case", CASES)
def test_command_line_python_and_server_build_the_same_model(case: str) -> None:
    arguments, task, python, (name, settings) = CASES[case]
    expected = describe(python())
    assert describe(build_model(read_options(arguments), task, notify=[].append)) == expected
    assert describe(create_learner(name, settings)) == expected


@pytest.mark.parametrize(("classes", "python"), [(2, novikoff.Auto), (3, novikoff.Kesler)])
def test_the_default_in_python_and_of_learn_give_the_same_weights(classes: int, python: Any, tmp_path: Path) -> None:
    data, model = tmp_path / "data.svm", tmp_path / "default.model"
    data.write_text("".join(["1 1:1 2:2\n", "2 1:3\n", "3 2:1\n"][:classes]) * 4)
    assert main(["learn", str(data), "--save", str(model), "--quiet"]) == 0
    assert inspect_task(next(DataReader([str(data)], ReadOptions()).batches())) == Task(classes)
    X = np.array([[0, 1, 2], [0, 3, 0], [0, 0, 1]][:classes] * 4, np.float32)
    saved, learned = novikoff.load(model), python().partial_fit(X, [1, 2, 3][:classes] * 4)
    assert type(saved) is novikoff.Auto
    assert (saved.coef_ == learned.coef_).all()
    assert saved.ledger_.mistakes == learned.ledger_.mistakes


@pytest.mark.parametrize(
    ("task", "scheme"),
    [
        (Task(labels="sets"), "MultiLabel"),
        (Task(labels="grades"), "QueryRanking"),
        (Task(3, "paths", "/"), "Hierarchical"),
        (Task(3), "Kesler"),
        (Task(2), "Auto"),
        (UNKNOWN_TASK, "Auto"),
    ],
)
def test_the_task_chooses_the_scheme(task: Task, scheme: str) -> None:
    model = build_model(ModelSettings(), task, notify=[].append)
    assert type(model).__name__ == scheme
    assert getattr(model, "separator", task.separator) == task.separator


def test_the_replacement_of_auto_is_reported() -> None:
    with pytest.warns(DefaultLearnerWarning, match="auto can't be used with multiclass one-vs-all: using arow"):
        build_model(ModelSettings(multiclass="one-vs-all"), THREE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build_model(ModelSettings("perceptron", multiclass="one-vs-all"), THREE)


def test_a_cluster_uses_arow_by_default() -> None:
    assert describe(build_default_learner()) == describe(novikoff.AROW())
    model = build_model(ModelSettings(), Task(3, on_cluster=True))
    assert describe(model) == describe(novikoff.Kesler(novikoff.AROW()))


@pytest.mark.parametrize(
    ("settings", "task", "message"),
    [
        (ModelSettings("perceptrn"), TWO, "There is no learner 'perceptrn'"),
        (
            ModelSettings(multiclass_settings={"update": "top"}),
            TWO,
            "update is for more than two classes: leave it out",
        ),
        (ModelSettings(multiclass_settings={"n_jobs": 2}), TWO, "n_jobs is for ensembles and networks: leave it out"),
        (
            ModelSettings(multiclass="one-vs-all", multiclass_settings={"code": "dense"}),
            THREE,
            "code has no meaning for one-vs-all: leave it out",
        ),
        (ModelSettings(None, {"fixed_share": 0.01}, "all-vs-all"), THREE, "fixed_share is for learner auto"),
        (ModelSettings(None, {"l2": 0.5}, "bagging"), THREE, "l2 is a setting of a learner: name it by learner"),
        (ModelSettings("sgd", multiclass="random-forest"), THREE, "random-forest is made of trees: leave out learner"),
    ],
)
def test_errors_name_the_setting_that_does_not_fit(settings: ModelSettings, task: Task, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_model(settings, task)


def test_errors_name_options_on_the_command_line() -> None:
    with pytest.raises(InputError, match="--code-length has no meaning for one-vs-all: leave it out"):
        build_model(read_options(["--multiclass", "ova", "--code-length", "5"]), THREE)
    with pytest.raises(InputError, match="--epsilon is for --online-to-batch METHOD"):
        read_options(["--epsilon", "0.1"])
    with pytest.raises(InputError, match="--online-to-batch is for two labels: leave out --multiclass ova"):
        read_options(["--online-to-batch", "average", "--multiclass", "ova"])
