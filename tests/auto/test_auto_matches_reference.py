"""Auto equals its reference in plain Python (reference_auto.py) to the last bit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from novikoff import Auto, Kesler
from novikoff.linear.auto import BinaryAuto
from tests.auto.reference_auto import ReferenceAuto, ReferenceClasses, list_differences, with_third_class
from tests.helpers.streams import csr

pytestmark = pytest.mark.plain_python_coverage

SHARE = 0.002


def draw_stream(seed: int, rows: int, classes: int, dtype: Any = np.float64) -> tuple[Any, Any, Any]:
    """Return rows with labels and weights, the last class late: columns of all sizes and origins, one that is constant,
    one that is constant for a while, one with few values, two that cease to be dense, of which one is dense
    again later; outliers; rows of
    zeros; and rows of weight 0."""
    draw, t = np.random.default_rng(seed), np.arange(rows)
    X = draw.normal(size=(rows, 9)) * [1.0, 1e3, 1e-4, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0] + [0, 5e3, 0, 0, 0, 0, 0, -1.0, 0]
    X[:, 3] *= draw.random(rows) < 0.1
    X[:, 4] *= (t < 30) | (t >= 100)
    X[:, 5] = 3.25
    X[:, 6] *= draw.random(rows) < np.where(t < rows // 5, 0.9, 0.05)
    X[: rows // 2, 7] = 0.1
    X[:, 8] = np.round(X[:, 8])
    X[17::53] *= 1000.0
    X[5::31] = 0.0
    y = np.argmax(X[:, [0, 2, 7, 4]][:, :classes] * [1.0, 1e4, 1.0, 1.0][:classes] + 0.3, axis=1)
    y[draw.random(rows) < 0.1] = 1
    y[: rows // 3] = np.minimum(y[: rows // 3], max(1, classes - 2))
    y[:2] = 0, 1
    return X.astype(dtype), y, draw.choice([0.0, 0.25, 1.0, 3.0], rows, p=[0.1, 0.2, 0.5, 0.2])


def terms(x: Any) -> dict[int, float]:
    return {j: float(value) for j, value in enumerate(x) if value != 0.0}


def count_changes(reference: ReferenceAuto | ReferenceClasses, X: Any, learn: Any) -> tuple[int, int]:
    """Learn all rows; return how often columns became dense after the first rows, and how often they ceased to be."""
    sets = []
    for t, x in enumerate(X):
        learn(t, terms(x))
        sets.append(set(reference.scaling.dense_since))
    pairs = list(pairwise(sets[20:]))
    return sum(len(b - a) for a, b in pairs), sum(len(a - b) for a, b in pairs)


@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bias", [True, False])
def test_two_classes_equal_the_reference_to_the_last_bit(form: Any, dtype: Any, bias: bool) -> None:
    for seed in range(2):
        X, y, weights = draw_stream(seed, 300, 2, dtype)
        model = BinaryAuto(shuffle=False, fit_intercept=bias, fixed_share=SHARE)
        model.fit(form(X[:250]), y[:250], weights[:250])
        reference = ReferenceAuto(bias=bias, share=SHARE, dtype=dtype)

        def learn(t: int, x: Any, run: Any = (reference, y, weights)) -> None:
            found, labels, sizes = run
            if sizes[t] > 0.0:
                found.learn(x, 1.0 if labels[t] else -1.0, float(sizes[t]))

        became, ceased = count_changes(reference, X[:250], learn)
        assert min(became, ceased) >= 1
        assert list_differences(model._state, reference) == []
        assert model.ledger_.mistakes == reference.mistakes
        assert model.decision_function(form(X[250:])).tolist() == [reference.score(terms(x)) for x in X[250:]]


@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bias", [True, False])
def test_several_classes_equal_the_reference_to_the_last_bit(form: Any, dtype: Any, bias: bool) -> None:
    """The last of four classes arrives late."""
    X, y, weights = draw_stream(3, 300, 4, dtype)
    weights[np.unique(y, return_index=True)[1]] = 1.0
    model = Kesler(BinaryAuto(fit_intercept=bias, fixed_share=SHARE))
    model.partial_fit(form(X[:250]), y[:250], sample_weight=weights[:250])
    arrived = list(dict.fromkeys(y[:250].tolist()))
    assert y[:80].max() == 2
    assert y[:250].max() == 3
    reference = ReferenceClasses(bias=bias, share=SHARE, dtype=dtype)

    def learn(t: int, x: Any) -> None:
        if weights[t] > 0.0:
            reference.learn(x, arrived.index(y[t]), float(weights[t]))

    became, ceased = count_changes(reference, X[:250], learn)
    assert min(became, ceased) >= 1
    assert list_differences(model._state, reference) == []
    assert model.ledger_.mistakes == reference.mistakes
    order = [arrived.index(label) for label in model.classes_.tolist()]
    expected = [[reference.score(terms(x))[c] for c in order] for x in X[250:]]
    assert model.decision_function(form(X[250:])).tolist() == expected


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_stream_whose_third_class_is_late_equals_the_reference_to_the_last_bit(dtype: Any) -> None:
    X, y, _ = draw_stream(4, 260, 3, dtype)
    labels = np.array(["ant", "bee", "cow"])[y]
    model, third = Auto(fixed_share=SHARE), int(np.argmax(y == 2))
    assert third > 80
    two, many, shown = ReferenceAuto(share=SHARE, dtype=dtype), None, []
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        if t == third:
            assert list_differences(model._model._state, two) == []
            many = with_third_class(two)
        shown.append(model.score_one(x) if t > 1 else None)
        score = two.learn(terms(x), 2.0 * label - 1.0) if many is None else many.learn(terms(x), label)
        if many is None:
            assert shown[t] in (None, score)
        elif t > third:
            assert list(shown[t].values()) == score
        model.partial_fit(x[None], labels[t : t + 1])
    assert many is not None
    assert list_differences(model._model._state, many) == []
    assert model.ledger_.mistakes == many.mistakes
    assert to_list(model.decision_function(X)) == [many.score(terms(x)) for x in X]


def to_list(scores: Any) -> list[list[float]]:
    return [list(map(float, row)) for row in scores]


@pytest.mark.parametrize("classes", [2, 3])
def test_forecasts_learn_in_the_first_pass_only(classes: int) -> None:
    X, y, _ = draw_stream(5, 120, classes)
    learner = BinaryAuto(shuffle=False, passes=3)
    model = (learner if classes == 2 else Kesler(learner)).fit(X, y)
    reference: Any = ReferenceAuto() if classes == 2 else ReferenceClasses()
    reference.known = classes  # fit knows all labels from the start
    for number in range(3):
        for x, label in zip(X, y.tolist(), strict=True):
            target = label if classes == 3 else 2.0 * label - 1.0
            reference.learn(terms(x), target, later_pass=number > 0)
    assert reference.scaling.t == 360
    assert list_differences(model._state, reference) == []
    model.partial_fit(X, y)  # the forecasts go on
    for x, label in zip(X, y.tolist(), strict=True):
        reference.learn(terms(x), label if classes == 3 else 2.0 * label - 1.0)
    assert list_differences(model._state, reference) == []


@pytest.mark.parametrize("classes", [2, 3])
def test_columns_in_any_order_equal_the_reference_to_the_last_bit(classes: int) -> None:
    """Features of a dictionary are in the order of its keys; their columns in the order of their arrival."""
    X, y, _ = draw_stream(6, 200, classes)
    draw, model = np.random.default_rng(0), Auto(fixed_share=SHARE)
    two, many, columns = ReferenceAuto(share=SHARE), None, dict[str, int]()
    for x, label in zip(X, y.tolist(), strict=True):
        example = {f"f{j}": float(x[j]) for j in draw.permutation(len(x)).tolist() if x[j] != 0.0}
        for name in example:
            columns.setdefault(name, len(columns))
        row = {columns[name]: value for name, value in example.items()}
        many = with_third_class(two) if many is None and label == 2 else many
        if many is None:
            two.learn(row, 2.0 * label - 1.0)
        else:
            many.learn(row, label)
        model.learn_one(example, "abc"[label])
    assert (many is not None) == (classes == 3)
    assert list_differences(model._model._state, two if many is None else many) == []
