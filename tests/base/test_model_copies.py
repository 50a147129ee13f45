"""Copies of models: pickles, shallow and deep copies, models on read-only memory, and interrupted learning."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from novikoff import AROW, SGD, Auto, InputError, Kesler, LabelError, MultilayerPerceptron, Perceptron, load, save
from novikoff._compiled.dict_reader import WAITING_AT
from novikoff.model_file import _build_content, from_bytes, to_bytes, to_header_and_tensors

X = np.random.default_rng(0).standard_normal((60, 4))
Y = np.where(X[:, 0] > 0, "yes", "no")


@pytest.mark.parametrize("model", [AROW(), Kesler(Perceptron())], ids=["binary", "multiclass"])
@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.copy, copy.deepcopy])  # noqa: S301
def test_a_copy_made_while_another_thread_learns_is_a_whole_model(model: Any, copied: Any) -> None:
    for t in range(20):
        model.learn_one({"a": 1.0, f"f{t}": 1.0}, t % 2)
    stop = threading.Event()

    def learn() -> None:
        t = 0
        while not stop.is_set():
            t += 1
            model.learn_one({"a": 1.0, f"new{t}": 1.0}, t % 2)

    thread = threading.Thread(target=learn)
    thread.start()
    try:
        for _ in range(60):
            state = copied(model)._state
            assert len(state.names) == state.features <= state.room
    finally:
        stop.set()
        thread.join()


def test_a_shallow_copy_learns_by_itself() -> None:
    model = Perceptron().fit(X, Y)
    before = to_bytes(model)
    copy.copy(model).partial_fit(-X, Y)
    assert to_bytes(model) == before


@pytest.mark.parametrize("model", [Perceptron(), SGD(), MultilayerPerceptron(hidden_layer_sizes=(3,))], ids=repr)
def test_a_model_on_read_only_memory_predicts_and_is_saved_but_does_not_learn(model: Any, tmp_path: Path) -> None:
    frozen = copy.deepcopy(model.fit(X, Y))
    geometry = frozen._state.updater
    for array in (value for value in geometry if isinstance(value, np.ndarray)):
        array.flags.writeable = False
    assert (frozen.predict(X) == model.predict(X)).all()
    assert [frozen.predict_one(x) for x in X[:3]] == model.predict(X[:3]).tolist()
    save(frozen, tmp_path / "m.model")
    assert to_bytes(load(tmp_path / "m.model")) == to_bytes(model)
    with pytest.raises(InputError, match="read-only"):
        frozen.partial_fit(X, Y)


@pytest.mark.parametrize("label", [10**15 + 1, -(10**15) - 1, 2e15, 2**63, 2**70, np.uint64(2**64 - 1)])
@pytest.mark.parametrize("make", [Perceptron, Auto, lambda: Kesler(Perceptron())])
def test_labels_of_size_above_1e15_are_refused(make: Any, label: Any) -> None:
    model = make().learn_one({0: 1.0}, 10**15).learn_one({1: 1.0}, -(10**15))
    before = to_bytes(model)
    with pytest.raises(LabelError, match=r"must be of size up to 1e15, got .* Renumber the labels, or use texts\."):
        model.learn_one({1: 1.0}, label)
    assert to_bytes(model) == before
    for learn in (make().fit, make().partial_fit):
        with pytest.raises(LabelError, match="must be of size up to 1e15"):
            learn([[0.0], [1.0]], np.array([0, label]))


@pytest.mark.parametrize("make", [Perceptron, Auto, lambda: Kesler(Perceptron())])
def test_files_of_models_with_larger_labels_are_loaded(make: Any) -> None:
    """Earlier versions learned such labels."""
    header, tensors = to_header_and_tensors(make().fit([[0.0, 1.0], [1.0, 0.0]] * 4, [0, 1] * 4))
    header["labels"] = [-(2**63), 2**63 - 1]
    model = from_bytes(_build_content(header, tensors), "m")
    assert set(model.predict([[0.0, 1.0], [1.0, 0.0]])) <= {-(2**63), 2**63 - 1}
    assert to_bytes(from_bytes(to_bytes(model), "m")) == to_bytes(model)


def test_the_fast_path_is_used_again_after_an_interrupt_between_its_two_steps() -> None:
    model: Any = Perceptron()
    for t in range(10):
        model.learn_one({"a": 1.0, "b": float(t)}, t % 2)
    model._fast_path.workspace[WAITING_AT] = 1  # as if an interrupt had come after the example was read
    model.learn_one({"a": 1.0, "b": 2.0}, 1)
    assert model._fast_path.workspace[WAITING_AT] == 0
    assert model._dict_path({"a": 1.0, "b": 3.0}, 0) >= 0
    assert model.ledger_.examples == 12
