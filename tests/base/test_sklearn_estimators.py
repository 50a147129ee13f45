"""The learners are scikit-learn estimators."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from novikoff import (
    AROW,
    SGD,
    BalancedWinnow,
    Elimination,
    Halving,
    KernelPerceptron,
    MarginPerceptron,
    Perceptron,
    PNormPerceptron,
    Rectangle,
    VotedPerceptron,
    Winnow,
)
from novikoff.data.rows import Rows
from tests.helpers.learners import ALL_LEARNERS, EXPECTED_FAILED_CHECKS, make_learner


class Squeezed:
    """The same learner for numbers of any size, such as scikit-learn's checks have: each is brought into the learner's
    range after validation."""

    def _into_range(self: Any, rows: Rows) -> Rows:
        least, most = self._spec().feature_range
        v = rows.values
        with np.errstate(invalid="ignore"):
            inside = v / (1.0 + np.abs(v)) if least < 0 else np.abs(v) / (1.0 + np.abs(v))
        boolean = np.where(np.isfinite(v), v > 0, v)
        return rows._replace(values=(boolean if least == most else inside).astype(v.dtype))

    def _learn(self: Any, state: Any, rows: Rows, *rest: Any) -> None:
        super()._learn(state, self._into_range(rows), *rest)  # type: ignore[misc]

    def _build_scorer(self: Any, **how: Any) -> Any:
        score = super()._build_scorer(**how)  # type: ignore[misc]
        return lambda rows: score(self._into_range(rows))


class SqueezedWinnow(Squeezed, Winnow):  # type: ignore[misc]
    pass


class SqueezedBalancedWinnow(Squeezed, BalancedWinnow):  # type: ignore[misc]
    pass


class SqueezedElimination(Squeezed, Elimination):  # type: ignore[misc]
    pass


class SqueezedHalving(Squeezed, Halving):  # type: ignore[misc]
    pass


NO_CLOUDS = (
    "no disjunction, conjunction or small margin in ℓ1 explains clouds of points: there is no accuracy to expect"
)


def expected_failures(model: Any) -> dict[str, str]:
    train = {"check_classifiers_train": NO_CLOUDS}
    if isinstance(model, SqueezedHalving):
        return train | {"check_classifiers_classes": NO_CLOUDS}
    if isinstance(model, SqueezedElimination | SqueezedWinnow):
        return train | EXPECTED_FAILED_CHECKS
    if "sample_weight" in inspect.signature(type(model).fit).parameters:
        return EXPECTED_FAILED_CHECKS
    return {}


@parametrize_with_checks(
    [Perceptron(), MarginPerceptron(), VotedPerceptron(), PNormPerceptron(), SGD(), AROW(), Halving(), Rectangle(),
     SqueezedWinnow(threshold=1.0), SqueezedBalancedWinnow(), SqueezedElimination(), KernelPerceptron()],
    expected_failed_checks=expected_failures,
)  # fmt: skip
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [Perceptron(average=True), SGD(loss="hinge", schedule="sqrt", l2=0.01), SGD(schedule="sqrt", l1=0.01),
     SqueezedWinnow(negations=True), SqueezedElimination(k=2), SqueezedHalving(hypotheses="conjunctions"),
     KernelPerceptron(kernel="rbf:0.5", average=True)],
    expected_failed_checks=expected_failures,
)  # fmt: skip
def test_scikit_learn_checks_of_variants(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", ALL_LEARNERS)
def test_clone_keeps_settings_and_drops_the_fitted_state(name: str) -> None:
    model = make_learner(name).fit([[0.0], [1.0]], [0, 1])
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "coef_")
    assert is_classifier(copy)


def test_pipelines_grid_search_and_cross_validation_work() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SGD()), {"sgd__loss": ["hinge", "logistic"], "sgd__l2": [0.0, 0.01]}, cv=3
    ).fit(X, y)
    scores = cross_val_score(make_pipeline(StandardScaler(), Perceptron(average=True)), X, y, cv=3)
    majority = np.bincount(y).max() / len(y)
    assert search.best_score_ > majority
    assert scores.min() > majority


def test_a_row_of_weight_zero_is_ignored() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 4)), rng.integers(0, 2, 50)
    weights = rng.integers(0, 2, 50).astype(float)
    for model in (Perceptron(average=True, shuffle=False), SGD(l2=0.1, shuffle=False)):
        all_rows = clone(model).fit(X, y, sample_weight=weights)
        some_rows = clone(model).fit(X[weights > 0], y[weights > 0])
        assert (all_rows.coef_ == some_rows.coef_).all()
        assert repr(all_rows.ledger_) == repr(some_rows.ledger_)


def test_a_weight_scales_the_step_and_withdraws_the_bounds() -> None:
    X, y = [[1.0, 2.0], [3.0, 1.0]], [-1, 1]
    double = Perceptron(shuffle=False).fit(X, y, sample_weight=[2.0, 1.0])
    assert double.coef_.tolist() == [[-2.0 + 3.0, -4.0 + 1.0]]
    assert double.ledger_.weighted == 1
    assert list(double.bounds()) == []
    assert len(Perceptron().fit(X, y).bounds()) == 4


def test_get_params_works_with_a_decorated_init() -> None:
    def noted(init: Any) -> Any:
        @wraps(init)
        def call(*args: Any, **named: Any) -> None:
            init(*args, **named)

        return call

    class Mine(Perceptron):
        @noted
        def __init__(self, learning_rate: float = 2.0, *, average: bool = True) -> None:
            super().__init__(learning_rate=learning_rate, average=average)

    assert Mine(average=False).get_params() == {"learning_rate": 2.0, "average": False}
    assert clone(Mine(average=False)).average is False
