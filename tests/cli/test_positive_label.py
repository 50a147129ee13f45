"""`--positive-label LABEL`: the negative class has the name of the other label where there is only one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novikoff import AROW, load
from novikoff.cli.main import main
from novikoff.data.labels.binary_labels import ONE, SEVERAL, UNSEEN, BinaryLabels, build_one_vs_rest_labels
from novikoff.distributed import DistributedLearner
from novikoff.model_file import to_bytes

HEADER = "a,b,y\n"
YES_NO = HEADER + "1,2,yes\n2,1,no\n3,1,no\n1,5,yes\n"
MAYBE = HEADER + "1,2,yes\n2,1,maybe\n"
LEARNERS = ["arow", "kernel-perceptron", "multilayer-perceptron"]


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("yes-no.csv").write_text(YES_NO)
    Path("maybe.csv").write_text(MAYBE)
    Path("only-yes.csv").write_text(HEADER + "1,2,yes\n4,1,yes\n")


def learn(*arguments: str) -> Any:
    assert main(["learn", *arguments, "--save", "m", "--quiet", "--json"]) == 0
    return load("m")


def predict_labels(capsys: pytest.CaptureFixture[str], data: str) -> set[str]:
    capsys.readouterr()
    assert main(["predict", "m", data, "--quiet"]) == 0
    return set(capsys.readouterr().out.split())


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_only_other_label_names_the_rest(capsys: pytest.CaptureFixture[str], learner: str) -> None:
    model = learn("yes-no.csv", "--positive-label", "yes", "--learner", learner, "--passes", "3")
    assert model.classes_.tolist() == ["no", "yes"]
    assert predict_labels(capsys, "yes-no.csv") <= {"yes", "no"}
    assert main(["inspect", "m"]) == 0
    assert "not yes" not in capsys.readouterr().out


@pytest.mark.parametrize("learner", LEARNERS)
def test_resuming_gives_the_same_bytes_as_one_run(learner: str) -> None:
    for files in (["yes-no.csv", "maybe.csv"], ["maybe.csv", "yes-no.csv"], ["only-yes.csv", "yes-no.csv"]):
        whole = to_bytes(learn(*files, "--positive-label", "yes", "--learner", learner))
        learn(files[0], "--positive-label", "yes", "--learner", learner)
        assert to_bytes(learn(files[1], "--resume", "m")) == whole
        expected = "no" if files[0] == "only-yes.csv" else "not yes"
        assert load("m").classes_.tolist() == [expected, "yes"]


def test_numbers_are_labels_too(capsys: pytest.CaptureFixture[str]) -> None:
    Path("numbers.svm").write_text("0 1:1\n1 2:1\n0 1:2\n1 2:3\n")
    assert learn("numbers.svm", "--positive-label", "1").classes_.tolist() == ["0", "1"]
    assert predict_labels(capsys, "numbers.svm") <= {"0", "1"}


@pytest.mark.parametrize("scheme", ["bagging", "adaboost"])
def test_ensembles_name_the_rest_too(capsys: pytest.CaptureFixture[str], scheme: str) -> None:
    learn("yes-no.csv", "--positive-label", "yes", "--multiclass", scheme)
    assert predict_labels(capsys, "yes-no.csv") == {"yes", "no"}
    learn("yes-no.csv", "maybe.csv", "--positive-label", "yes", "--multiclass", scheme)
    assert load("m").classes_.tolist() == ["not yes", "yes"]


def test_a_cluster_sees_the_labels_of_all_shards() -> None:
    def classes(*shards: str) -> list[str]:
        return DistributedLearner(AROW(), rounds=2).fit(list(shards), positive_label="yes").classes_.tolist()

    assert classes("yes-no.csv") == classes("yes-no.csv", "only-yes.csv") == ["no", "yes"]
    copies = [f"copy-{k}.csv" for k in range(9)]  # more than one task adds up
    for copy in copies:
        Path(copy).write_text(YES_NO)
    assert classes("only-yes.csv", *copies) == ["no", "yes"]
    assert classes("yes-no.csv", "maybe.csv") == classes("maybe.csv", *copies) == ["not yes", "yes"]
    one = DistributedLearner(AROW(), rounds=1).fit(["yes-no.csv"], positive_label="yes").model_
    assert to_bytes(one) == to_bytes(learn("yes-no.csv", "--positive-label", "yes", "--learner", "arow"))


@given(st.lists(st.lists(st.sampled_from(["yes", "no", "maybe", "not yes"]), max_size=4), max_size=4))
def test_the_name_depends_on_the_set_of_labels_alone(parts: list[list[str]]) -> None:
    together, merged = build_one_vs_rest_labels("yes"), build_one_vs_rest_labels("yes")
    for part in parts:
        own = BinaryLabels(together.negative, "yes", rest=together.rest)
        for label in part:
            together.note_other(label)
            own.note_other(label)
        merged.add_others(own.rest, own.negative)
    others = {label for part in parts for label in part} - {"yes"}
    expected = next(iter(others)) if len(others) == 1 else "not yes"
    for labels in (together, merged):
        assert labels.known() == [expected, "yes"]
        assert labels.sides == {expected: -1.0, "yes": 1.0}
        assert labels.rest == (UNSEEN, ONE, SEVERAL)[min(len(others), 2)]
