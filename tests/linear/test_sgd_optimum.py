"""SGD with enough passes reaches the optimum of the batch problem that its settings define."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from novikoff import SGD
from tests.helpers.streams import csr


def breast_cancer() -> Any:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), 2.0 * y - 1


def one_hot() -> Any:
    """Like the census data a9a: fourteen categorical fields, one active value each, noisy labels."""
    rng = np.random.default_rng(0)
    X = np.zeros((3000, 120))
    for field in range(14):
        width = 120 // 14
        X[np.arange(3000), field * width + np.minimum(rng.geometric(0.35, 3000) - 1, width - 1)] = 1.0
    score = X @ rng.standard_normal(120)
    return X, np.where(score + rng.standard_normal(3000) > np.median(score) + 1, 1.0, -1.0)


DATA = {"breast cancer": breast_cancer(), "one-hot": one_hot()}


def objective(model: Any, X: Any, y: Any, w: Any) -> float:
    """Mean loss plus penalties: J(w)/m."""
    s = X @ w
    loss = {
        "hinge": np.maximum(0, 1 - y * s),
        "logistic": np.logaddexp(0, -y * s),
        "squared": 0.5 * (y - s) ** 2,
    }[model.loss].mean()
    return float(loss + model.l1 * np.abs(w).sum() + 0.5 * model.l2 * (w @ w))


def optimum(problem: str, X: Any, y: Any, strength: float) -> Any:
    m = len(y)
    solver = {
        "ridge": lambda: Ridge(alpha=m * strength, fit_intercept=False),
        "lasso": lambda: Lasso(alpha=strength, fit_intercept=False, max_iter=100_000, tol=1e-8),
        "svm": lambda: LinearSVC(C=1 / (m * strength), loss="hinge", fit_intercept=False, max_iter=2_000_000, tol=1e-8),
        "logistic": lambda: LogisticRegression(C=1 / (m * strength), fit_intercept=False, tol=1e-10, max_iter=10_000),
    }[problem]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a solver may warn about its last digits, which do not matter here
        return np.ravel(solver.fit(X, y).coef_)


PROBLEMS = {
    "ridge": {"loss": "squared", "l2": 0.01, "learning_rate": 0.004, "schedule": "constant", "average": True},
    "lasso": {"loss": "squared", "l1": 0.01, "learning_rate": 0.01, "schedule": "sqrt"},
    "svm": {"loss": "hinge", "l2": 0.01, "learning_rate": 100.0, "schedule": "inverse", "average": True},
    "logistic": {"loss": "logistic", "l2": 0.01, "learning_rate": 0.1, "schedule": "sqrt"},
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("steps", ["scheduled", "adagrad"])
def test_the_objective_is_within_one_per_cent_of_the_optimum(problem: str, data: str, steps: str) -> None:
    X, y = DATA[data]
    settings: dict[str, Any] = {**PROBLEMS[problem], "fit_intercept": False, "passes": 1000}
    if steps == "adagrad":
        settings |= {"schedule": "adagrad", "learning_rate": 0.1, "average": False}
    order = np.random.default_rng(0).permutation(len(y))
    model = SGD(**settings).fit(csr(X[order]), y[order])
    reached = objective(model, X, y, model.coef_[0])
    best = objective(model, X, y, optimum(problem, X, y, max(model.l1, model.l2)))
    assert best <= reached * (1 + 1e-6)
    assert reached <= 1.01 * best


@pytest.mark.parametrize("schedule", ["sqrt", "adagrad"])
def test_weights_that_l1_makes_zero_are_zero_at_the_optimum(schedule: Any) -> None:
    """One pull per step leaves noise on some weights that the optimum has at 0, but never zeroes one that matters."""
    X, y = DATA["one-hot"]
    found = []
    for strength in (0.005, 0.01, 0.02, 0.05):
        model = SGD(
            loss="squared", schedule=schedule, learning_rate=0.05, l1=strength, fit_intercept=False, passes=100
        ).fit(csr(X), y)
        zero, best = model.coef_[0] == 0.0, optimum("lasso", X, y, strength)
        assert (np.abs(best[zero]) < 1e-6).all()
        found.append(int(zero.sum()))
    assert found[0] > 0
    assert found == sorted(set(found))
