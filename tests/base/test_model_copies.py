"""Copies of models: pickles, shallow and deep copies, models on read-only memory, and interrupted learning."""

from __future__ import annotations

import copy
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from novikoff import AROW, SGD, InputError, Kesler, MultilayerPerceptron, Perceptron, load, save
from novikoff._compiled.dict_reader import WAITING_AT
from novikoff.model_file import to_bytes

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


@pytest.mark.parametrize("label", [2**63, -(2**63) - 1, 2**70])
def test_labels_that_a_file_can_not_hold_are_refused_when_it_is_written(label: int, tmp_path: Path) -> None:
    model = Perceptron().learn_one({"a": 1.0}, 2**63 - 1).learn_one({"b": 1.0}, -(2**63))
    save(model, tmp_path / "m.model")
    assert load(tmp_path / "m.model").predict_one({"b": 1.0}) == -(2**63)
    with pytest.raises(InputError, match=f"must fit into 64 bits to be saved, got {label}"):
        save(Perceptron().learn_one({"a": 1.0}, 0).learn_one({"b": 1.0}, label), tmp_path / "m.model")


def test_the_fast_path_is_used_again_after_an_interrupt_between_its_two_steps() -> None:
    model: Any = Perceptron()
    for t in range(10):
        model.learn_one({"a": 1.0, "b": float(t)}, t % 2)
    model._fast_path.workspace[WAITING_AT] = 1  # as if an interrupt had come after the example was read
    model.learn_one({"a": 1.0, "b": 2.0}, 1)
    assert model._fast_path.workspace[WAITING_AT] == 0
    assert model._dict_path({"a": 1.0, "b": 3.0}, 0) >= 0
    assert model.ledger_.examples == 12
