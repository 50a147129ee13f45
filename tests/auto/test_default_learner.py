"""The default learner is Auto everywhere. Where Auto cannot run, AROW is used and a message says so."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from novikoff import AROW, Auto, Client, DefaultLearnerWarning, InputError, load
from novikoff.cli.main import main
from novikoff.distributed import DistributedLearner
from novikoff.model_file import to_bytes
from novikoff.server.models.served_model import ServedModel, create_learner
from novikoff.server.ops.limits import Limits
from tests.helpers.model_bytes import to_bytes_without_calibration
from tests.helpers.multiclass_schemes import slow_unless
from tests.helpers.server.process import Server

BINARY = "1 1:1 3:2\n-1 2:1\n1 1:2\n-1 2:3\n"
SHAPES = {
    "binary": ("data.svm", BINARY, "auto"),
    "kesler": ("data.svm", "1 1:1\n2 2:1\n3 3:1\n1 1:2\n", "auto"),
    "multi-label": ("data.svm", "1,2 1:1\n2 2:1\n1,3 3:1\n", "arow"),
    "hierarchical": ("data.csv", "a,b,y\n1,2,a/b\n2,1,a/c\n3,1,d/e\n", "arow"),
    "query-ranking": ("data.svm", "1 qid:1 1:1\n0 qid:1 2:1\n2 qid:2 1:1\n1 qid:2 3:1\n", "arow"),
}
QUICK = ("binary",)


# --- The command line ---


@pytest.mark.parametrize("scheme", [pytest.param(name, marks=slow_unless(name in QUICK)) for name in SHAPES])
def test_learn_reports_which_learner_is_used(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name, text, expected = SHAPES[scheme]
    Path(name).write_text(text)
    assert main(["learn", name, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["learner"] == expected
    message = f"auto can't be used with --multiclass {scheme}: using arow\n"
    assert (message in captured.err) == (expected == "arow")
    assert main(["learn", name, "--json", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["learn", name, "--json", "--learner", "perceptron"]) == 0
    assert "using" not in capsys.readouterr().err


# --- The cluster ---


def shards() -> list[Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = np.where(X @ rng.standard_normal(4) > 0.0, "yes", "no")
    return [(X[k::2], y[k::2]) for k in range(2)]


def test_a_cluster_uses_arow_and_reports_it() -> None:
    learner = DistributedLearner(rounds=2)
    assert repr(learner) == "DistributedLearner(estimator=AROW(), rounds=2)"
    with pytest.warns(DefaultLearnerWarning, match="AROW is used"):
        learner.fit(shards())
    assert learner.estimator is None  # as scikit-learn's clone wants it
    assert isinstance(learner.learner_, AROW)
    same = DistributedLearner(AROW(), rounds=2).fit(shards())
    assert to_bytes(learner.model_) == to_bytes(same.model_)
    assert repr(same) == repr(learner)
    with pytest.raises(InputError, match=r"Auto can't be learned on a cluster.*Use AROW"):
        DistributedLearner(Auto()).fit(shards())


def test_one_shard_gives_the_bytes_of_one_machine(tmp_path: Path) -> None:
    data, model = tmp_path / "data.svm", tmp_path / "m"
    data.write_text(BINARY * 5)
    assert main(["learn", str(data), "--learner", "arow", "--passes", "3", "--save", str(model), "--quiet"]) == 0
    distributed = DistributedLearner(AROW(), rounds=3).fit([str(data)]).model_
    assert to_bytes_without_calibration(distributed) == to_bytes_without_calibration(load(model))


# --- The server ---


def test_the_server_uses_auto_by_default(server: Server, tmp_path: Path) -> None:
    status, said = server.ask("POST", "/v1/models", {"name": "m"})
    assert (status, said["learner"]) == (201, "auto")
    reference = Auto()
    for x, y in [({"a": 1.0}, "up"), ({"b": 2.0}, "down"), ({"a": 0.5, "b": 1.0}, "down")]:
        server.learn(x, y)
        reference.learn_one(x, y)
    status, content = server.ask("GET", "/v1/models/m/download")
    (tmp_path / "got").write_bytes(content)
    assert load(tmp_path / "got").predict_one({"a": 1.0}) == reference.predict_one({"a": 1.0})
    assert Client(server.url).create("n")["learner"] == "auto"
    assert inspect.signature(Client.create).parameters["learner"].default == "auto"


@pytest.mark.parametrize(
    ("learner", "settings", "inside"),
    [
        ("kesler", {}, "auto"),
        ("kesler", {"estimator": {}}, "auto"),
        ("kesler", {"update": "uniform"}, "arow"),
        ("one-vs-all", {"estimator": {"settings": {"r": 2.0}}}, "arow"),
        ("multi-label", {}, "arow"),
        ("online-to-batch", {}, "perceptron"),
        ("kesler", {"estimator": {"name": "perceptron"}}, "perceptron"),
    ],
)
def test_the_status_shows_the_learner_inside_a_scheme(learner: str, settings: dict[str, Any], inside: str) -> None:
    served = ServedModel("m", create_learner(learner, settings), Limits(), created=0.0)
    status = served.describe(None)
    assert (status.learner, status.settings["estimator"]["name"]) == (learner, inside)
    again = create_learner(learner, status.settings)  # as the journal has it
    assert repr(again) == repr(served.learner)
