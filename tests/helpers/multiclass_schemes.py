"""Every multiclass scheme, streams with labels for it, and markers for slow compilation."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from novikoff import (
    SGD,
    AllVsAll,
    BalancedWinnow,
    Hierarchical,
    Kesler,
    LabelRanking,
    MarginPerceptron,
    MultiLabel,
    OneVsAll,
    OutputCode,
    Perceptron,
    PNormPerceptron,
    Winnow,
)
from novikoff._compiled.jit import JIT_DISABLED

BASE_LEARNERS: dict[str, Any] = {
    "perceptron": Perceptron(),
    "perceptron-b": Perceptron(tie="negative", fit_intercept=False, learning_rate=0.3),
    "perceptron-thick": Perceptron(margin=0.75),
    "perceptron-averaged": Perceptron(average=True),
    "margin-perceptron": MarginPerceptron(gamma=0.05),
    "p-norm-perceptron": PNormPerceptron(p=4.5),
    "sgd-logistic-adagrad": SGD(),
    "sgd-hinge-adagrad": SGD(loss="hinge"),
    "sgd-hinge-constant": SGD(loss="hinge", schedule="constant", learning_rate=0.25),
    "sgd-hinge-constant-averaged": SGD(loss="hinge", schedule="constant", learning_rate=0.25, average=True),
    "sgd-squared-sqrt": SGD(loss="squared", schedule="sqrt", learning_rate=0.1),
    "balanced-winnow": BalancedWinnow(alpha=1.2),
    "balanced-winnow-averaged": BalancedWinnow(alpha=1.2, average=True),
    "winnow": Winnow(threshold=3.0),
    "sgd-hinge-adagrad-elastic": SGD(loss="hinge", l1=0.01, l2=0.02),
    "sgd-logistic-sqrt-ridge": SGD(schedule="sqrt", l2=0.3),
}
for _learner in BASE_LEARNERS.values():
    _learner.set_params(shuffle=False)
SCHEMES: dict[str, Any] = {
    "one-vs-all": OneVsAll(),
    "all-vs-all": AllVsAll(),
    "all-vs-all-tournament": AllVsAll(decision="tournament"),
    "code-dense": OutputCode(code_length=7),
    "code-sparse-loss": OutputCode(code="sparse", code_length=9, decoding="loss", random_state=3),
    "code-exhaustive": OutputCode(code="exhaustive"),
    "kesler": Kesler(),
    "kesler-uniform": Kesler(update="uniform"),
    "multi-label": MultiLabel(),
    "multi-label-uniform": MultiLabel(update="uniform"),
    "label-ranking": LabelRanking(),
    "hierarchical": Hierarchical(),
}
SINGLE_LABEL_SCHEMES = [name for name in SCHEMES if name.startswith(("one", "all", "code", "kesler"))]
WORDS = ["ant", "bee", "cow", "dog", "eel", "fly", "gnu", "hen", "ibis"]
PATHS = ["a/b/c", "a/b/d", "e", "a/f", "e/g", "h/b/c", "h/i"]


def make_scheme(name: str, inner: Any = None, **changes: Any) -> Any:
    """Return a new scheme with the settings of this name and its own copy of the learner."""
    model = SCHEMES[name]
    learner = type(inner)(**inner.get_params()) if inner is not None else Perceptron(shuffle=False)
    return type(model)(**{**model.get_params(deep=False), "estimator": learner, **changes})


def slow_unless(quick: bool) -> Any:
    """Mark slow combinations: each scheme, learner and kind of rows takes seconds to compile with Numba."""
    return () if quick or JIT_DISABLED else (pytest.mark.slow,)


def slow_with_jit(test: Any) -> Any:
    return test if JIT_DISABLED else pytest.mark.slow(test)


def clip_to_range(inner: Any, X: Any) -> Any:
    least, most = (inner or Perceptron())._spec().feature_range
    return X if least == -np.inf else np.clip(X if least < 0 else np.abs(X), least, most)


def draw_examples(
    seed: int, rows: int = 60, columns: int = 7, classes: int = 5, kind: Any = np.float64
) -> tuple[Any, Any]:
    """Draw real values with zeros, and classes by noisy linear scores. New classes appear during the stream."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    X[:, ::3] *= rng.random((rows, len(range(0, columns, 3)))) < 0.4
    scores = X @ rng.standard_normal((columns, classes)) + 0.5 * rng.standard_normal((rows, classes))
    for t in range(rows):  # a class appears only after its turn
        scores[t, 1 + int((classes - 1) * min(1.0, 2 * t / rows)) :] = -np.inf
    return X.astype(kind), scores.argmax(axis=1)


def draw_labelled(
    name: str, seed: int, rows: int = 60, classes: int = 5, kind: Any = np.float64, columns: int = 7
) -> Any:
    """Draw (X, y) with labels of the kind that the scheme takes."""
    X, y = draw_examples(seed, rows, columns, classes, kind)
    rng = np.random.default_rng(seed)
    if name.startswith("hierarchical"):
        return X, [PATHS[c] for c in y]
    if name.startswith("multi-label"):
        sets = [rng.choice(WORDS[: c + 1], int(rng.integers(0, min(c, 3) + 1)), replace=False).tolist() for c in y]
        return X, [set(labels) if t % 2 else labels for t, labels in enumerate(sets)]
    if name.startswith("label-ranking"):
        return X, [draw_preferences(rng, WORDS[: 2 + c], t) for t, c in enumerate(y)]
    return X, [WORDS[c] for c in y]


def draw_preferences(rng: Any, labels: list[str], t: int) -> Any:
    """Draw preferences in each of their forms, empty ones included."""
    some = rng.permutation(labels)[: int(rng.integers(0, 5))].tolist()
    if t % 3 == 0:
        return some
    if t % 3 == 1:
        return {label: int(rng.integers(0, 3)) for label in some}
    return {pair for pair in combinations(some, 2) if rng.random() < 0.7}
