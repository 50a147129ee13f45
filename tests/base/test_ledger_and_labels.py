"""The ledger's list of mistakes, and the signs of the two labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from novikoff import Ledger, Perceptron
from novikoff.data.labels.binary_labels import BinaryLabels
from novikoff.ledger import MAX_LISTED_MISTAKES
from tests.helpers.streams import real


def wrong_by_a_plain_loop(X: Any, y: Any) -> list[int]:
    w, times = np.zeros(X.shape[1]), []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        if (1 if w @ x >= 0 else -1) != label:
            w += label * x
            times.append(t)
    return times


def test_mistakes_are_listed_by_the_number_of_the_example() -> None:
    X = np.sign(np.random.default_rng(0).standard_normal((500, 4)))
    y = np.where(X.sum(axis=1) > 1, 1, -1)
    model = Perceptron(fit_intercept=False, shuffle=False).fit(X, y)
    assert model.ledger_.mistake_times.tolist() == wrong_by_a_plain_loop(X, y)
    assert model.ledger_.stride == 1


def test_a_long_list_of_mistakes_is_thinned_and_stays_correct() -> None:
    """Labels by coin: about every second example is a mistake, far more than the list holds."""
    rng = np.random.default_rng(1)
    X, y = np.sign(rng.standard_normal((30_000, 3))), rng.choice([-1, 1], 30_000)
    ledger = Perceptron(fit_intercept=False, shuffle=False).fit(X, y).ledger_
    times = wrong_by_a_plain_loop(X, y)
    assert len(times) > 2 * MAX_LISTED_MISTAKES
    assert ledger.mistakes == len(times)
    assert ledger.stride == 4
    assert ledger.mistake_times.tolist() == times[ledger.stride - 1 :: ledger.stride]


def test_the_ledger_records_radius_and_energy() -> None:
    X, y = real(0)
    model = Perceptron(shuffle=False).fit(X, y)
    squares = (X**2).sum(axis=1) + 1
    ledger = model.ledger_
    assert ledger.radius == pytest.approx(np.sqrt(squares.max()))
    assert ledger.energy == pytest.approx(squares[ledger.mistake_times - 1].sum())
    assert ledger.progressive_error == ledger.mistakes / len(X)
    assert Ledger().progressive_error == 0.0
    assert set(ledger.as_dict()) == {"examples", "mistakes", "updates", "progressive_error", "radius"}


def test_the_ledger_continues_over_batches() -> None:
    X, y = real(1)
    model = Perceptron().fit(X, y)
    model.partial_fit(X, y).learn_one(X[0], int(y[0]))
    assert model.ledger_.examples == 2 * len(X) + 1
    assert model.fit(X, y).ledger_.examples == len(X)


@pytest.mark.parametrize(
    ("stream", "negative", "positive"),
    [
        ([1, 0], 0, 1),
        ([0, 1], 0, 1),
        ([-1, 1], -1, 1),
        ([True, False], False, True),
        ([1.0, -1.0], -1, 1),
        ([2, 1], 1, 2),
        ([1, 2], 2, 1),
        (["spam", "ham"], "spam", "ham"),
    ],
)
def test_the_two_labels_of_a_stream_become_signs(stream: list[Any], negative: Any, positive: Any) -> None:
    labels = BinaryLabels()
    assert [labels.sign(v) for v in stream] == [1.0 if v == positive else -1.0 for v in stream]
    assert (labels.negative, labels.positive) == (negative, positive)
    signs, known = BinaryLabels().encode(np.array(stream))
    assert signs.tolist() == [labels.sign(v) for v in stream]
    assert known.known() == [negative, positive]


def test_given_classes_are_sorted_and_any_two_values_are_accepted() -> None:
    for pair in (["b", "a"], [7, -3], [2.0, 1.0], [False, True]):
        assert BinaryLabels.sorted(pair).known() == sorted(pair)
        model = Perceptron().fit([[1.0], [-1.0]], pair)
        assert model.classes_.tolist() == sorted(pair)
        assert model.predict([[5.0]])[0] == pair[0]


def test_batches_without_classes_equal_the_stream() -> None:
    X, _ = real(2)
    y = np.where(X[:, 0] > 0, "x", "a")
    whole, parts, single = Perceptron().partial_fit(X, y), Perceptron(), Perceptron()
    for x, label in zip(X, y, strict=True):
        parts.partial_fit(x[None], [label])
        single.learn_one(x, str(label))
    assert (whole.coef_ == parts.coef_).all()
    assert (whole.coef_ == single.coef_).all()
    assert whole.classes_.tolist() == parts.classes_.tolist() == single.classes_.tolist()


def test_classes_may_be_given_after_the_first_example() -> None:
    model = Perceptron().partial_fit([[1.0]], ["b"]).partial_fit([[2.0]], ["b"], classes=["a", "b"])
    model.partial_fit([[-1.0]], ["a"])
    assert set(model.classes_) == {"a", "b"}


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_labels_may_lie_at_any_address(kind: Any) -> None:
    """Messages between processes, and fields of packed records, are not aligned."""
    X, y = real(2)
    packed = np.zeros(len(y), np.dtype([("before", "u1"), ("label", kind)]))
    packed["label"] = y
    column = np.frombuffer(b"." + y.astype(kind).tobytes(), kind, offset=1)
    assert not column.flags.aligned
    expected = Perceptron().fit(X, y.astype(kind)).coef_.tolist()
    for labels in (column, packed["label"]):
        assert Perceptron().fit(X, labels).coef_.tolist() == expected
