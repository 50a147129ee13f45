"""The fast path for single examples of many classes gives the same bytes as the general path."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from novikoff import AROW, Kesler, OneVsAll, Perceptron
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.errors import InputError
from novikoff.model_file import to_bytes
from novikoff.multiclass.base import MulticlassClassifier
from tests.helpers.multiclass_schemes import (
    BASE_LEARNERS,
    SCHEMES,
    clip_to_range,
    draw_labelled,
    make_scheme,
    slow_unless,
)

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # without Numba
QUICK = ("kesler", "one-vs-all")


class GeneralPath:
    """A model whose examples all go the way around."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def learn_one(self, x: Any, y: Any) -> None:
        OnlineClassifier.learn_one(self.model, x, y)
        self.model._met = False

    def predict(self, x: Any) -> tuple[Any, Any]:
        self.model._met = False
        score = self.model.score_one(x)
        self.model._met = False
        return self.model.predict_one(x), score


@pytest.mark.parametrize("name", [pytest.param(name, marks=slow_unless(name in QUICK)) for name in SCHEMES])
@pytest.mark.parametrize(
    "inner", [pytest.param(name, marks=slow_unless(name == "perceptron")) for name in (*BASE_LEARNERS, "arow")]
)
def test_the_fast_path_gives_the_same_bytes_as_the_general_path(name: str, inner: str) -> None:
    learner = BASE_LEARNERS.get(inner, AROW())
    one = make_scheme(name, learner)
    try:
        one._check_all()
    except InputError:
        pytest.skip("this learner does not fit into this scheme")
    one, other = make_scheme(name, learner), GeneralPath(make_scheme(name, learner))
    X, y = draw_labelled(name, seed=4)
    X = clip_to_range(learner, X)
    rng = np.random.default_rng(1)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        example = {f"f{j}": v for j, v in zip(rng.permutation(len(x)).tolist(), x.tolist(), strict=True)}
        if t % 10 == 9:
            example[f"new{t}"] = 1.0
        known = [*example][: int(rng.integers(1, 7))]
        given: Any = known if t % 4 == 3 else {name: example[name] for name in known}
        one.learn_one(given, label)
        other.learn_one(given, label)
        asked: Any = {**example, "unknown": 0.5} if t % 2 else [*example, "unknown"]
        label_now, scores = other.predict(asked)
        assert one.predict_one(asked) == label_now
        assert one.score_one(asked) == scores
    assert to_bytes(one) == to_bytes(other.model)


@pytest.mark.parametrize("model", [Kesler(), OneVsAll(Perceptron())], ids=["kesler", "one-vs-all"])
def test_both_paths_give_the_same_errors(model: Any) -> None:
    model = type(model)(model.estimator)
    for x, y in [({"a": 1.0, "b": 2.0}, "x"), ({"b": 1.0}, "y"), ({"a": -1.0}, "x")] * 2:
        model.learn_one(x, y)
        model.predict_one(x)
    kept = to_bytes(model)
    for x in [{"a": float("nan")}, {"a": 1e200}, {"a": "1"}, {"a": None}, {1: 1.0}, [["a"]], 3]:
        with pytest.raises(InputError):
            model.learn_one(x, "x")
        if x != {1: 1.0}:
            with pytest.raises(InputError):
                model.predict_one(x)
    with pytest.raises(InputError):
        model.learn_one({"a": 1.0}, 7)  # labels are texts
    with pytest.raises(InputError):
        model.learn_one({"a": 1.0}, ["x"])
    assert to_bytes(model) == kept
    assert model.predict_one({"a": 0.0}) == model.predict_one({})
    assert type(copy.deepcopy(model).predict_one({"a": 1.0})) is str


def test_changed_settings_are_noticed() -> None:
    model = Kesler(Perceptron())
    for x, y in [({"a": 1.0}, 0), ({"b": 1.0}, 1), ({"c": 1.0}, 2)] * 2:
        model.learn_one(x, y)
        model.predict_one(x)
    before = model.score_one({"a": 1.0})
    model.estimator.learning_rate = 2.0
    assert model.score_one({"a": 1.0}) == {label: 2 * score for label, score in before.items()}
    with pytest.raises(InputError, match="have changed"):
        model.learn_one({"a": 1.0}, 0)
    model.estimator.learning_rate = 1.0
    model.update = "uniform"
    with pytest.raises(InputError, match="have changed"):
        model.learn_one({"a": 1.0}, 0)
    model.update = "top"
    assert model.learn_one({"a": 1.0}, 0).score_one({"a": 1.0}).keys() == before.keys()


def test_the_fast_path_takes_examples_of_one_class_only() -> None:
    fast_schemes = {name for name, model in SCHEMES.items() if type(model)._has_single_labels}
    assert {"kesler", "one-vs-all", "all-vs-all", "code-dense", "hierarchical"} <= fast_schemes
    assert not {"multi-label", "label-ranking"} & fast_schemes
    assert not MulticlassClassifier._has_single_labels
