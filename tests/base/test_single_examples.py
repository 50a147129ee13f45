"""learn_one and predict_one on dicts, lists of names and arrays."""

from __future__ import annotations

import numpy as np
import pytest

from novikoff import SGD, InputError, Perceptron
from novikoff.model_file import from_bytes, to_bytes
from tests.helpers.learners import ADDITIVE_LEARNERS, ALL_LEARNERS, clip_to_range, make_learner

pytestmark = pytest.mark.plain_python_coverage


def test_weights_are_stored_by_feature_name() -> None:
    model = Perceptron().learn_one({"red": 1.0, "round": 2.0}, "stop").learn_one({"green": 1.0}, "go")
    weights = dict(zip(model.feature_names_in_, model.coef_[0], strict=True))
    assert weights == {"red": -1.0, "round": -2.0, "green": 1.0}
    assert model.predict_one({"red": 1.0, "unheard of": 100.0}) == "stop"
    assert model.predict_one({"unheard of": 1.0}) == "go"  # only the bias, which is 0, speaks: a tie


def test_a_list_of_names_is_a_dict_of_ones() -> None:
    names, ones = SGD(), SGD()
    for words, label in [(["a", "b"], 1), (["c"], 0), (("a", "c"), 1)]:
        names.learn_one(words, label)
        ones.learn_one(dict.fromkeys(words, 1.0), label)
    assert to_bytes(names) == to_bytes(ones)


def test_whole_numbers_truth_values_and_numpy_scalars_are_numbers() -> None:
    a = Perceptron().learn_one({"x": 2, "y": True, "z": np.float32(0.5)}, -1)
    b = Perceptron().learn_one({"x": 2.0, "y": 1.0, "z": 0.5}, -1)
    assert to_bytes(a) == to_bytes(b)


@pytest.mark.parametrize("name", ADDITIVE_LEARNERS)
def test_thousands_of_new_features_are_learned(name: str) -> None:
    model = make_learner(name)
    for t in range(300):
        model.learn_one({f"f{t}-{k}": 1.0 for k in range(10)} | {"sign": 1.0 if t % 2 else -1.0}, t % 2)
    assert model.n_features_in_ == 3001
    assert model.predict_one({"sign": 3.0}) == 1
    assert to_bytes(from_bytes(to_bytes(model), "m")) == to_bytes(model)


def test_column_numbers_grow_the_model() -> None:
    model = Perceptron().learn_one({3: 1.0}, -1).learn_one({900: 1.0}, 1)
    assert model.n_features_in_ == 901
    assert model.coef_[0, 3] == -1.0
    with pytest.raises(InputError, match="Column numbers must be from 0"):
        model.learn_one({-1: 1.0}, 1)


def test_empty_examples_have_only_a_bias() -> None:
    model = Perceptron().learn_one({}, -1)
    assert model.intercept_[0] == -1.0
    assert model.predict_one({}) == -1


def test_settings_changed_during_a_run_are_refused() -> None:
    """Else its bounds, its file and its resumption would speak of settings that were not there all the time."""
    model = Perceptron().learn_one({"a": 1.0}, -1)
    before = to_bytes(model)
    model.set_params(margin=100.0)
    with pytest.raises(InputError, match="settings margin have changed since this run began"):
        model.learn_one({"a": 1.0}, -1)
    with pytest.raises(InputError, match="settings margin have changed"):
        model.partial_fit([[1.0]], [-1])
    model.set_params(margin=0.0, passes=7).learn_one({"a": 1.0}, -1)
    assert model.ledger_.examples == 2
    assert model.set_params(margin=100.0).fit([[1.0], [2.0]], [0, 1]).ledger_.updates == 14
    assert before != to_bytes(model)


def test_arrays_of_every_memory_layout_are_accepted() -> None:
    X = np.array([[1, 2], [3, -4], [0, 1]])
    expected = Perceptron()
    for x, label in zip(X.astype(float), [1, -1, 1], strict=True):
        expected.learn_one(x, label)
    frozen = X.astype(float)
    frozen.flags.writeable = False
    spread = np.repeat(X.astype(float), 2, axis=1)[:, ::2]
    for form in (
        X,
        spread,
        np.asfortranarray(X.astype(float)),
        frozen,
        X.astype(float)[:, ::-1][:, ::-1],
    ):
        model = Perceptron()
        for x, label in zip(form, [1, -1, 1], strict=True):
            model.learn_one(x, label)
        assert to_bytes(model) == to_bytes(expected)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ALL_LEARNERS)
def test_arrays_with_zeros_are_learned_as_in_a_batch_and_not_modified(name: str, kind: type) -> None:
    """Also from arrays that can't be written to, or whose numbers don't lie side by side."""
    X = np.random.default_rng(5).normal(size=(60, 8)).round(1).astype(kind)
    X[::3, 2] = X[::5] = 0.0
    X, y = clip_to_range(name, X), np.arange(60) % 7 % 2
    whole = make_learner(name).partial_fit(X, y, classes=[0, 1])
    models = [make_learner(name).partial_fit(X[:2], y[:2], classes=[0, 1]) for _ in range(3)]
    wide = np.repeat(X, 2, axis=1)
    for i in range(2, len(X)):
        fixed, x = X[i].copy(), X[i].copy()
        fixed.flags.writeable = False
        for model, given in zip(models, (x, fixed, wide[i, ::2]), strict=True):
            model.learn_one(given, y[i].item())
            model.predict_one(given)
        assert (x == X[i]).all()
        assert (fixed == X[i]).all()
    assert (wide[:, ::2] == X).all()
    assert [to_bytes(model) for model in models] == [to_bytes(whole)] * 3
