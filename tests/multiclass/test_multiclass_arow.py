"""AROW with many classes: one stacked vector in joint updates, separate learners in reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from novikoff import AROW, SGD, AllVsAll, Hierarchical, Kesler, MultiLabel, OneVsAll
from novikoff.core.multiclass.schemes import (
    BINARY_RELEVANCE,
    LABEL_RANKING,
    LABEL_TREE,
    MULTICLASS_MARGIN,
    ONE_VS_ONE,
    ONE_VS_REST,
    ONLINE_BAGGING,
    ONLINE_BOOSTING,
    OUTPUT_CODE,
    THRESHOLDED_LABELS,
    Scheme,
    is_joint_update,
)
from tests.helpers.multiclass_schemes import slow_unless, slow_with_jit
from tests.helpers.streams import csr

pytestmark = pytest.mark.plain_python_coverage

CLASSES = 7


def stream(seed: int, rows: int = 200, columns: int = 9) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.7)
    return X, (X @ rng.normal(size=(columns, CLASSES)) + 0.3 * rng.normal(size=(rows, CLASSES))).argmax(1)


def blocks(x: Any, sides: dict[int, float]) -> NDArray[np.float64]:
    """x and its bias in some blocks of a long vector, each times a number."""
    long = np.zeros((CLASSES, len(x) + 1))
    for c, side in sides.items():
        long[c] = side * np.append(x, 1.0)
    return long.ravel()


def weights(model: Any) -> NDArray[np.float64]:
    return np.hstack([model.coef_, model.intercept_[:, None]])


@pytest.mark.parametrize("average", [pytest.param(True, marks=slow_unless(False)), False])
def test_kesler_equals_one_learner_of_the_stacked_weights(average: bool) -> None:
    """The top preference of each example, built in full and learned by a binary AROW without a bias."""
    X, y = stream(1)
    model = Kesler(AROW(average=average, shuffle=False)).fit(csr(X), y)
    long, last = (AROW(fit_intercept=False, average=each) for each in (average, False))
    for x, label in zip(X, y, strict=True):
        w = np.zeros((CLASSES, 10)) if last._state is None else last.coef_.reshape(CLASSES, 10)
        scores = w @ np.append(x, 1.0)
        scores[label] = -np.inf
        example = blocks(x, {label: 1.0, int(scores.argmax()): -1.0})
        for learner in (long, last):
            learner.partial_fit(example[None], [1], classes=[-1, 1])
    assert model.ledger_.updates == last.ledger_.updates > 50
    assert weights(model) == pytest.approx(long.coef_.reshape(CLASSES, 10), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("update", ["uniform", "proportional"])
def test_several_preferences_are_one_update_along_their_mean(update: Any) -> None:
    """One example: w = 0, all rivals are equally far from what they should be."""
    x, r = np.array([2.0, -1.0]), 0.5
    model = Kesler(AROW(r=r, average=False), update=update).partial_fit(csr(x[None]), [0], classes=[0, 1, 2])
    square = float(x @ x) + 1.0
    step = 1.0 / (square * (1.0 + 2 * 0.25) + r)
    assert model.coef_ == pytest.approx(np.outer([1.0, -0.5, -0.5], step * x))
    state: Any = model._state
    variances = state.updater.weights.reshape(3, state.stride, 2)[1:, :3, 1].T
    assert variances == pytest.approx(1.0 - np.outer([1.0, 0.25, 0.25], step * x * x))


@pytest.mark.parametrize(
    "learner",
    [
        AROW(),
        pytest.param(AROW(average=False, fit_intercept=False), marks=slow_unless(False)),
        pytest.param(SGD(average=True, averaging_power=3.0), marks=slow_unless(False)),
    ],
)
def test_one_vs_all_equals_separate_learners_to_the_last_bit(learner: Any) -> None:
    X, y = stream(2)
    model = OneVsAll(learner).fit(csr(X), y)
    for c in range(CLASSES):
        alone = type(learner)(**learner.get_params()).fit(csr(X), np.where(y == c, 1, -1))
        assert model.coef_[c].tolist() == alone.coef_[0].tolist()
        assert model.intercept_[c] == alone.intercept_[0]


@slow_with_jit
def test_label_sets_equal_separate_learners_to_the_last_bit() -> None:
    X, y = stream(3)
    sets = np.eye(CLASSES, dtype=int)[y] | np.eye(CLASSES, dtype=int)[(y + X[:, 0].astype(int)) % CLASSES]
    model = MultiLabel(AROW()).fit(csr(X), sets)
    for c in range(CLASSES):
        assert model.coef_[c].tolist() == AROW().fit(csr(X), 2 * sets[:, c] - 1).coef_[0].tolist()


@slow_with_jit
def test_pairs_average_over_their_own_examples() -> None:
    """In the given order: fit would shuffle the rows of two classes alone in another way than among all rows."""
    X, y = stream(4)
    learner = SGD(average=True, averaging_power=2.0, shuffle=False)
    model = AllVsAll(learner).fit(csr(X), y)
    few = y < 2
    alone = SGD(**learner.get_params()).fit(csr(X[few]), y[few])
    assert model.coef_[0].tolist() == alone.coef_[0].tolist()


def test_nodes_shared_by_two_paths_are_not_updated() -> None:
    """One example: the nodes a/b and a/c move, and v is the sum over both."""
    x, r = np.array([2.0, -1.0]), 0.5
    tree = Hierarchical(AROW(r=r, average=False))
    model = tree.partial_fit(csr(x[None]), ["a/b"], classes=["a/b", "a/c"])
    step = 1.0 / (2.0 * (float(x @ x) + 1.0) + r)
    assert model.coef_[model.coef_[:, 0].argsort()] == pytest.approx(np.outer([-1.0, 0.0, 1.0], step * x))


def test_reductions_and_joint_updates_are_distinguished() -> None:
    apart, whole = (
        (ONE_VS_REST, ONE_VS_ONE, OUTPUT_CODE, BINARY_RELEVANCE, ONLINE_BAGGING, ONLINE_BOOSTING),
        (MULTICLASS_MARGIN, THRESHOLDED_LABELS, LABEL_RANKING, LABEL_TREE),
    )
    assert not any(is_joint_update(Scheme(kind)) for kind in apart)
    assert all(is_joint_update(Scheme(kind)) for kind in whole)


def test_batches_single_examples_and_files_give_the_same_model(tmp_path: Any) -> None:
    from novikoff import load, save

    X, y = stream(6)
    whole = Kesler(AROW()).partial_fit(csr(X), y, classes=range(CLASSES))
    parts = Kesler(AROW()).partial_fit(csr(X[:70]), y[:70], classes=range(CLASSES))
    save(parts, tmp_path / "model")
    parts = load(tmp_path / "model").partial_fit(csr(X[70:150]), y[70:150])
    for x, label in zip(X[150:], y[150:], strict=True):
        parts.learn_one(x, label)
    assert parts.coef_.tolist() == whole.coef_.tolist()
