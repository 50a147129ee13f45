"""The fast path for predicting single examples gives the same bits as the general path and decision_function."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from novikoff import Perceptron, Winnow
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.errors import InputError
from tests.helpers.learners import ALL_LEARNERS, GROWING_LEARNERS, clip_to_range, make_learner

pytestmark = [
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),  # without Numba
    pytest.mark.plain_python_coverage,
]
NAMES = [f"name{j}" for j in range(7)]
FAST_LEARNERS = ["perceptron", "perceptron-averaged", "sgd-logistic-adagrad", "arow", "winnow"]


def each(names: Iterable[str]) -> list[Any]:
    """Each learner costs seconds to compile: quick tests try those whose lanes differ."""
    return [pytest.param(n, marks=() if JIT_DISABLED or n in FAST_LEARNERS else pytest.mark.slow) for n in names]


def table(name: str, seed: int, rows: int = 40, kind: Any = np.float64) -> tuple[Any, list[int]]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, len(NAMES))) * (rng.random((rows, len(NAMES))) < 0.7)
    return clip_to_range(name, X).astype(kind), rng.integers(0, 2, rows).tolist()


def score_by_general_path(model: Any, x: Any) -> float:
    return float(model._score_slow_path(x))


def same(a: float, b: float) -> bool:
    return np.float64(a).tobytes() == np.float64(b).tobytes()


@pytest.mark.parametrize("name", each(ALL_LEARNERS))
@pytest.mark.parametrize("kind", [np.float64, pytest.param(np.float32, marks=() if JIT_DISABLED else pytest.mark.slow)])
def test_arrays_are_scored_as_batches_are(name: str, kind: Any) -> None:
    X, y = table(name, seed=3, kind=kind)
    model = (
        make_learner(name, passes=1).fit(X, y)
        if hasattr(ALL_LEARNERS[name], "passes")
        else make_learner(name).fit(X, y)
    )
    scores = model.decision_function(X)
    for turn in range(2):  # the lane is there from the second example on
        for x, s in zip(X, scores, strict=True):
            assert same(model.score_one(x), s), turn
            assert same(model.score_one({j: v for j, v in enumerate(x.tolist()) if v}), s)
            assert same(model.score_one(x[::-1][::-1]), s)
    assert [model.predict_one(x) for x in X] == model.predict(X).tolist()


@pytest.mark.parametrize("name", each(n for n in GROWING_LEARNERS if not n.startswith("kernel")))
def test_the_fast_path_sees_every_update(name: str) -> None:
    X, y = table(name, seed=5)
    X[0] = clip_to_range(name, np.ones(len(NAMES)))  # all names are known from the first example on
    model = make_learner(name)
    rng = np.random.default_rng(8)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        names = [*NAMES, f"new{t}"] if t % 5 == 4 else NAMES
        values = [*x.tolist(), 1.0][: len(names)]
        model.learn_one(dict(zip(names, values, strict=True)), label)
        if t % 7 == 6 and t > 1:
            known = model.n_features_in_
            with pytest.warns(UserWarning, match="feature names"):
                model.partial_fit(clip_to_range(name, rng.random((1, known))), [label])
        for _ in range(3):
            chosen = rng.permutation([*model._state.names.columns, "unknown", "other"])[: rng.integers(1, 6)].tolist()
            asked = dict(zip(chosen, clip_to_range(name, rng.standard_normal(len(chosen))).tolist(), strict=True))
            assert same(model.score_one(asked), score_by_general_path(model, asked))
            assert same(model.score_one(chosen), score_by_general_path(model, chosen))
            if model._spec().feature_range[1] > 1.0:
                twice = {**dict.fromkeys(chosen, 1.0), chosen[0]: 2.0}
                assert same(model.score_one([*chosen, chosen[0]]), score_by_general_path(model, twice))


@pytest.mark.parametrize("name", FAST_LEARNERS)
def test_invalid_rows_give_the_same_error_on_both_paths(name: str) -> None:
    X, y = table(name, seed=7)
    model = make_learner(name)
    for x, label in zip(X, y, strict=True):
        model.learn_one(dict(zip(NAMES, x.tolist(), strict=True)), label)
        model.predict_one({"name1": 1.0})
    assert model._score_function is not None
    bad = [{"name1": float("nan")}, {"name1": float("inf")}, {"unknown": 1e200}, {"name1": "2"}, {"name1": None}]
    for x in [*bad, [["name1"]], "name1", 3, np.zeros((1, 7)), np.zeros(9)]:
        with pytest.raises((InputError, TypeError)) as raised:
            score_by_general_path(model, x)
        with pytest.raises(type(raised.value)) as raised_by_fast_path:
            model.score_one(x)
        assert str(raised_by_fast_path.value) == str(raised.value)
    for x in [{}, [], {"name1": True}, {"name1": 0.0}, {"name1": -0.0, "name2": 1}, {"unknown": 1}, {3: 1.0}]:
        assert same(model.score_one(x), score_by_general_path(model, x))


def test_column_numbers() -> None:
    model = Perceptron().fit([[1.0, 2.0, 0.5], [-1.0, 0.5, 1.0]], [1, -1])
    for x in [{0: 1.0}, {np.int64(2): 3.0, 1: 1.0}, {7: 1.0, 0: 2.0}, {2**31 - 2: 1.0}, {True: 2.0}]:
        for _ in range(3):
            assert same(model.score_one(x), score_by_general_path(model, x))
    for x in [{-1: 1.0}, {2**31 - 1: 1.0}, {2**32 - 2: 1.0}, {2**40: 1.0}, {"name": 1.0}, {1.5: 1.0}]:
        with pytest.raises(InputError):
            model.score_one(x)


def test_settings_and_copies() -> None:
    X, y = table("perceptron", seed=9)
    model = Perceptron().fit(X, y)
    before = [model.score_one(x) for x in X]
    reference = copy.copy(model)
    assert [model.set_params(learning_rate=0.5).score_one(x) for x in X] == [s / 2 for s in before]
    model.learning_rate = 2.0
    assert [model.score_one(x) for x in X] == [2 * s for s in before]
    assert reference._score_function is None
    reference.learning_rate = 1.0
    assert [reference.score_one(x) for x in X] == before
    tied = Perceptron().fit(X, y)
    labels = []
    for tie in ("positive", "negative", "positive"):
        tied.tie = tie
        labels.append(tied.predict_one({2**20: 1.0}) if tied.intercept_[0] == 0 else tie)
    assert labels[0] == labels[2]


def test_a_refused_example_leaves_the_fast_path_correct() -> None:
    model = Winnow(threshold=3.0)
    for x, y in [({"a": 1.0, "b": 0.5}, 0), ({"b": 1.0}, 1)] * 4:
        model.learn_one(x, y)
    asked = {"a": 1.0, "new": 0.5}
    before = [model.score_one(asked) for _ in range(3)]
    for x, y in [({"new": 7.0}, 1), ({"new": 1.0}, 2)]:
        with pytest.raises(InputError):
            model.learn_one(x, y)
        assert model.score_one(asked) == before[0]
    model.learn_one({"new": 1.0}, 1)
    assert same(model.score_one(asked), score_by_general_path(model, asked))


def test_threads_have_buffers_of_their_own() -> None:
    X, y = table("perceptron", seed=11, rows=200)
    model = Perceptron().fit(X, y)
    examples = [dict(enumerate(x.tolist())) for x in X]
    expected = [model.score_one(x) for x in examples]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(model.score_one, examples * 10)) == expected * 10


def test_lists_of_names_are_learned_as_dicts_are() -> None:
    one, other = Perceptron(), Perceptron()
    for names, y in [(["a", "b"], 0), (["b", "c"], 1), (["a", "b", "a"], 1), (["c", "b"], 0), ([], 1)] * 3:
        counts = {name: float(names.count(name)) for name in names}
        one.learn_one(names, y)
        other.learn_one(counts, y)
    assert one.coef_.tolist() == other.coef_.tolist()
    assert one.ledger_.as_dict() == other.ledger_.as_dict()
