"""One pass over arrays in memory, checks of the input included, against scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

from benchmarks.data import table, text_like
from benchmarks.measure import Row, compare
from novikoff import Perceptron


def run() -> list[Row]:
    from sklearn.linear_model import Perceptron as Theirs
    from sklearn.linear_model import SGDClassifier

    warnings.simplefilter("ignore")
    once: dict[str, Any] = {"max_iter": 1, "tol": None, "shuffle": False}
    averaged = SGDClassifier(loss="perceptron", learning_rate="constant", eta0=1.0, penalty=None, average=True, **once)
    sparse, labels = text_like()
    dense, dense_labels = table()
    return [
        compare(
            "Perceptron, sparse 500k × 47k",
            lambda: Perceptron().fit(sparse, labels),
            lambda: Theirs(**once).fit(sparse, labels),
            2.2,
        ),
        compare(
            "averaged Perceptron, sparse",
            lambda: Perceptron(average=True).fit(sparse, labels),
            lambda: averaged.fit(sparse, labels),
            2.5,
        ),
        compare(
            "Perceptron, dense 1M × 100",
            lambda: Perceptron().fit(dense, dense_labels),
            lambda: Theirs(**once).fit(dense, dense_labels),
            6.0,
        ),
    ]
