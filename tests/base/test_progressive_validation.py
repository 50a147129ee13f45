"""Progressive validation: predict an example, then learn it, from the first example on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from novikoff import KernelPerceptron, MultilayerPerceptron, OnlineBagging, OnlineBoosting, OnlineToBatch
from novikoff.model_file import from_bytes, to_bytes
from tests.helpers.learners import ALL_LEARNERS, GROWING_LEARNERS, VARIANTS, make_learner
from tests.helpers.learners import clip_to_range as in_range
from tests.helpers.multiclass_schemes import SCHEMES, WORDS, draw_preferences, make_scheme, slow_unless

OTHERS: dict[str, Any] = {
    "multilayer-perceptron": MultilayerPerceptron(),
    "online-to-batch": OnlineToBatch(),
    "online-to-batch-vote": OnlineToBatch(method="vote"),
    "online-to-batch-penalised": OnlineToBatch(method="penalised"),
    "online-bagging": OnlineBagging(n_estimators=3),
    "online-boosting": OnlineBoosting(n_estimators=3),
}
QUICK = {"kesler", "label-ranking", "multilayer-perceptron", "online-to-batch"}
FIXED_WIDTH = set(ALL_LEARNERS) - set(GROWING_LEARNERS)
MODELS = [
    *(name for name in ALL_LEARNERS if name not in VARIANTS),
    *(pytest.param(name, marks=slow_unless(False)) for name in VARIANTS),
    *(pytest.param(name, marks=slow_unless(name in QUICK)) for name in (*SCHEMES, *OTHERS)),
]
DICTS = [param for param in MODELS if (param if isinstance(param, str) else param.values[0]) not in FIXED_WIDTH]


def build(name: str) -> Any:
    if name in OTHERS:
        return type(OTHERS[name])(**OTHERS[name].get_params(deep=False))
    return make_scheme(name) if name in SCHEMES else make_learner(name)


def draw_label(name: str, rng: Any, t: int) -> Any:
    """A label that this model takes: of many classes where it takes them."""
    if name.startswith("multi-label"):
        return rng.choice(WORDS, int(rng.integers(0, 3)), replace=False).tolist()
    if name.startswith("label-ranking"):
        return draw_preferences(rng, WORDS[:4], t)
    many = name in SCHEMES or name in ("multilayer-perceptron", "online-bagging", "online-boosting")
    return WORDS[int(rng.integers(0, 4 if many else 2))]


def draw_dict(name: str, rng: Any) -> dict[str, float]:
    """A few named features, none at all included."""
    row = rng.uniform(-1.0, 1.0, int(rng.integers(0, 4)))
    values = (in_range(name, row) if name in ALL_LEARNERS else row).tolist()
    return dict(zip(rng.choice(list("abcdef"), len(values), replace=False).tolist(), values, strict=True))


@pytest.mark.parametrize("name", DICTS)
@settings(max_examples=5)
@given(seed=st.integers(0, 1000))
def test_dicts_are_predicted_then_learned(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, only_learning = build(name), build(name)
    for t in range(12):
        x, y = draw_dict(name, rng), draw_label(name, rng, t)
        predicted = model.predict_one(x)
        assert (predicted is None) == (t == 0)
        model.learn_one(x, y)
        only_learning.learn_one(x, y)
    assert to_bytes(model) == to_bytes(only_learning)  # predictions change nothing


@pytest.mark.parametrize("name", MODELS)
def test_arrays_are_predicted_then_learned(name: str) -> None:
    rng = np.random.default_rng(5)
    model = build(name)
    for t in range(12):
        row = rng.uniform(-1.0, 1.0, (1, 3))
        x = (in_range(name, row) if name in ALL_LEARNERS else row)[0]
        assert (model.predict_one(x) is None) == (t == 0)
        model.learn_one(x, draw_label(name, rng, t))
    assert model.ledger_.examples == 12


@pytest.mark.parametrize("name", DICTS)
def test_an_empty_first_example_leaves_open_how_features_are_named(name: str) -> None:
    y = ["x", "y"] if name.startswith(("multi-label", "label-ranking")) else "x"
    for x in ({"a": 1.0}, {3: 1.0}, ["a"], np.ones(2)):
        model = build(name).learn_one({}, y)
        predicted = model.predict_one(x)
        assert predicted == y
        assert from_bytes(to_bytes(model), "m").predict_one(x) == y
        model.learn_one(x, y)
        assert model.predict_one(x) == y
        assert model.n_features_in_ == (4 if isinstance(x, dict) and 3 in x else len(x))


@pytest.mark.parametrize("model", [*OTHERS.values(), KernelPerceptron(), make_learner("auto")], ids=repr)
def test_scores_need_a_fitted_model(model: Any) -> None:
    with pytest.raises(NotFittedError):
        model.score_one({"a": 1.0})
