"""How many classes and modules a reader goes through to follow an estimator."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest

import novikoff
from novikoff import Perceptron
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.base.estimator import BaseEstimator

MAX_DEPTH = 4
"""Classes from an estimator up to BaseEstimator, both included."""
MAX_MODULES = 12
"""Modules that `Perceptron().fit` enters, those for data and for compiled code apart."""


def measure_depth(estimator: type[Any]) -> int:
    """Return the number of classes on the longest path up to BaseEstimator."""
    if estimator is BaseEstimator:
        return 1
    return 1 + max(measure_depth(base) for base in estimator.__bases__ if issubclass(base, BaseEstimator))


def list_estimators() -> list[type[Any]]:
    public = (getattr(novikoff, name) for name in novikoff.__all__)
    return [found for found in public if isinstance(found, type) and issubclass(found, BaseEstimator)]


@pytest.mark.parametrize("estimator", list_estimators())
def test_an_estimator_is_at_most_four_classes_deep(estimator: type[Any]) -> None:
    assert measure_depth(estimator) <= MAX_DEPTH


@pytest.mark.skipif(JIT_DISABLED, reason="kernels that run as Python enter modules of core")
def test_fit_of_a_perceptron_enters_few_modules() -> None:
    X = np.random.default_rng(0).standard_normal((50, 4))
    y = (X[:, 0] > 0.0).astype(int)
    Perceptron().fit(X, y)  # imports and loads what the first fit needs
    model, entered = Perceptron(), set[str]()

    def record(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("novikoff.") and name.split(".")[1] not in ("data", "_compiled"):
            entered.add(name)

    sys.setprofile(record)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    assert len(entered) <= MAX_MODULES, sorted(entered)
