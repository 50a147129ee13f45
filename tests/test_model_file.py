"""The model file: complete or refused, and safe against a kill at any time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import novikoff
from novikoff import ModelFileError, Perceptron
from novikoff.model_file import FORMAT_VERSION, from_bytes, to_bytes, write_atomically
from tests.helpers.learners import ALL_LEARNERS, clip_to_range, make_learner
from tests.helpers.streams import real

CONTENT = to_bytes(make_learner("perceptron").learn_one({"a": 1.5, "b": -2.0}, "yes").learn_one({"c": 1.0}, "no"))


def test_any_single_bit_flipped_is_refused() -> None:
    for position in range(len(CONTENT)):
        for bit in range(8):
            changed = bytearray(CONTENT)
            changed[position] ^= 1 << bit
            with pytest.raises(ModelFileError, match=r"model: (is damaged|has format)"):
                from_bytes(bytes(changed), "model")


def test_any_truncation_and_any_addition_is_refused() -> None:
    for length in range(len(CONTENT)):
        with pytest.raises(ModelFileError, match="damaged"):
            from_bytes(CONTENT[:length], "model")
    for more in (b"\0", b" ", CONTENT):
        with pytest.raises(ModelFileError, match="damaged"):
            from_bytes(CONTENT + more, "model")


@given(st.binary(max_size=300))
def test_random_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(ModelFileError, match="damaged"):
        from_bytes(content, "model")


def test_a_newer_format_is_refused_by_its_number() -> None:
    newer = CONTENT.replace(f'\\"format\\": {FORMAT_VERSION}'.encode(), f'\\"format\\": {FORMAT_VERSION + 1}'.encode())
    assert newer != CONTENT
    with pytest.raises(ModelFileError, match=f"has format {FORMAT_VERSION + 1}.*update novikoff"):
        from_bytes(newer, "model")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="No such file"):
        novikoff.load(tmp_path / "none.model")
    with pytest.raises(ModelFileError, match="directory"):
        novikoff.load(tmp_path)


def test_a_model_whose_settings_were_changed_is_not_written() -> None:
    model = make_learner("perceptron").fit([[0.0], [1.0]], [0, 1]).set_params(average=True)
    with pytest.raises(novikoff.InputError, match="average have changed since this run began"):
        to_bytes(model)
    with pytest.raises(novikoff.InputError, match="average have changed"):
        model.bounds()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.model").write_bytes(b"old")
    (tmp_path / "link.model").symlink_to(tmp_path / "real.model")
    novikoff.save(make_learner("perceptron").learn_one({"a": 1.0}, 1), tmp_path / "link.model")
    assert (tmp_path / "link.model").is_symlink()
    assert novikoff.load(tmp_path / "real.model").ledger_.examples == 1


def test_the_header_can_be_read_without_novikoff(tmp_path: Path) -> None:
    from safetensors import safe_open

    path = tmp_path / "m.model"
    path.write_bytes(CONTENT)
    with safe_open(path, "numpy") as file:
        header = json.loads(file.metadata()["novikoff"])
        assert file.get_tensor("updater.weights").shape == (4,)
    assert header["learner"] == "perceptron"
    assert header["ledger"]["examples"] == 2


@settings(max_examples=50, deadline=None)
@given(
    names=st.lists(st.text(st.characters(), max_size=8), min_size=1, max_size=5, unique=True),
    labels=st.lists(st.one_of(st.text(max_size=70), st.just("0" * 64)), min_size=2, max_size=2, unique=True),
)
def test_any_names_and_labels_survive(names: list[str], labels: list[str]) -> None:
    model = make_learner("perceptron")
    for label in dict.fromkeys(labels):
        model.learn_one(dict.fromkeys(names, 1.0), label)
    again = from_bytes(to_bytes(model), "m")
    assert to_bytes(again) == to_bytes(model)
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.feature_names_in_.tolist() == list(dict.fromkeys(names))


@pytest.mark.parametrize("name", ALL_LEARNERS)
def test_files_are_written_and_read(name: str, tmp_path: Path) -> None:
    X, y = real(0, kind=np.float32)
    X = clip_to_range(name, X)
    model = make_learner(name).fit(X, y)
    novikoff.save(model, tmp_path / "m")
    novikoff.save(model, str(tmp_path / "m"))
    assert (novikoff.load(tmp_path / "m").predict(X) == model.predict(X)).all()
    assert os.listdir(tmp_path) == ["m"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(b"old")

    def raise_no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", raise_no_space)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m.model"]


ENDLESS = """
import sys, numpy as np, novikoff
model = novikoff.load(sys.argv[1])
model.learn_one(np.ones(model.n_features_in_), 0)
while True:
    novikoff.save(model, sys.argv[1])
    print(model.ledger_.examples, flush=True)
    model.learn_one(np.ones(model.n_features_in_), 0)
"""


def test_kill_minus_nine_while_saving_leaves_a_complete_file(tmp_path: Path) -> None:
    """The process is killed repeatedly in the middle of a save, while an unfinished file is there."""
    path = tmp_path / "m.model"
    novikoff.save(make_learner("perceptron").fit(np.random.default_rng(0).standard_normal((2, 300_000)), [0, 1]), path)
    in_the_middle = 0
    for _ in range(60):
        before = novikoff.load(path).ledger_.examples
        process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert int(process.stdout.readline()) == before + 1
        while not list(tmp_path.glob(".m.model.*.part")):
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        saved = [before + 1, *map(int, process.stdout.read().split())]
        process.wait()
        process.stdout.close()
        left = list(tmp_path.glob(".m.model.*.part"))
        assert novikoff.load(path).ledger_.examples in (saved[-1], saved[-1] + 1)  # the last one reported, or the next
        in_the_middle += len(left)
        for unfinished in left:
            unfinished.unlink()
        if in_the_middle == 6:
            break
    assert in_the_middle == 6, "too few kills fell into the middle of a save: the test has lost its point"


def pipelines() -> list[Any]:
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = [[0.0, 1.0], [1.0, 0.0]], ["up", "right"]
    return [
        make_pipeline(StandardScaler(), Perceptron()).fit(X, y),
        make_pipeline(StandardScaler(), Perceptron()),
        SGDClassifier().fit(X, y),
        StandardScaler(),
    ]


@pytest.mark.parametrize("model", pipelines(), ids=lambda model: type(model).__name__)
def test_scikit_learn_models_are_refused_with_advice(tmp_path: Path, model: Any) -> None:
    with pytest.raises(novikoff.InputError, match=r"Only models of novikoff can be saved.*skops or joblib") as problem:
        novikoff.save(model, tmp_path / "m")
    assert ("last step" in str(problem.value) and "use Auto" in str(problem.value)) == hasattr(model, "steps")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (None, "this is a NoneType"),
        ({}, "this is a dict"),
        ("model.bin", r"save\(model, path\)"),
        (Path("model.bin"), r"save\(model, path\)"),
        (Perceptron, r"the class Perceptron. Save an object of it"),
        (Perceptron(), "This Perceptron has learned nothing yet"),
        (novikoff.Kesler(), "This Kesler has learned nothing yet"),
        (novikoff.RandomForest(), "This RandomForest has learned nothing yet"),
        (novikoff.KernelPerceptron(), "This KernelPerceptron has learned nothing yet"),
        (novikoff.FeatureMap(), "this is a FeatureMap"),
    ],
)
def test_unfitted_models_and_other_objects_are_refused(tmp_path: Path, model: Any, message: str) -> None:
    with pytest.raises(novikoff.NovikoffError, match=message):
        novikoff.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_the_model_of_a_distributed_learner_can_be_saved(tmp_path: Path) -> None:
    from novikoff.distributed import DistributedLearner

    learner = DistributedLearner(Perceptron(), rounds=2).fit([([[0, 1], [1, 0]], ["up", "right"])])
    with pytest.raises(novikoff.InputError, match="Save its model_ instead"):
        novikoff.save(learner, tmp_path / "m")
    novikoff.save(learner.model_, tmp_path / "m")
    assert novikoff.load(tmp_path / "m").classes_.tolist() == ["right", "up"]
