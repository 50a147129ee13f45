"""One pass over arrays in memory, checks of the input included, against scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

from benchmarks.data import table, text_like
from benchmarks.measure import Row, compare_times
from novikoff import BalancedWinnow, Perceptron, Winnow
from novikoff.data.synthetic.concepts import m_of_n


def run() -> list[Row]:
    from sklearn.linear_model import Perceptron as Theirs
    from sklearn.linear_model import SGDClassifier

    warnings.simplefilter("ignore")
    once: dict[str, Any] = {"max_iter": 1, "tol": None, "shuffle": False}
    averaged = SGDClassifier(loss="perceptron", learning_rate="constant", eta0=1.0, penalty=None, average=True, **once)
    sparse, labels = text_like()
    dense, dense_labels = table()
    words, truth = m_of_n(n=100_000, k=20, m=3, density=5e-4, noise=0.05, examples=1_000_000).to_arrays()
    return [
        compare_times(
            "Perceptron, sparse 500k × 47k",
            lambda: Perceptron(shuffle=False).fit(sparse, labels),
            lambda: Theirs(**once).fit(sparse, labels),
            2.2,
        ),
        compare_times(
            "the same in random order, as fit does by default",
            lambda: Perceptron().fit(sparse, labels),
            lambda: Theirs(**{**once, "shuffle": True}).fit(sparse, labels),
            1.0,
        ),
        compare_times(
            "averaged Perceptron, sparse",
            lambda: Perceptron(average=True, shuffle=False).fit(sparse, labels),
            lambda: averaged.fit(sparse, labels),
            2.5,
        ),
        compare_times(
            "Perceptron, dense 1M × 100",
            lambda: Perceptron(shuffle=False).fit(dense, dense_labels),
            lambda: Theirs(**once).fit(dense, dense_labels),
            6.0,
        ),
        compare_times(
            "the same in random order",
            lambda: Perceptron().fit(dense, dense_labels),
            lambda: Theirs(**{**once, "shuffle": True}).fit(dense, dense_labels),
            1.0,
        ),
        compare_times(
            "Winnow, 1M Boolean rows × 100k, against our Perceptron",
            lambda: Winnow(shuffle=False).fit(words, truth),
            lambda: Perceptron(shuffle=False).fit(words, truth),
            0.7,
        ),
        compare_times(
            "Balanced Winnow, the same",
            lambda: BalancedWinnow(shuffle=False).fit(words, truth),
            lambda: Perceptron(shuffle=False).fit(words, truth),
            0.5,
        ),
    ]
