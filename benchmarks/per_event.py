"""One example at a time from Python, against River's learn_one on the same examples."""

from __future__ import annotations

from typing import Any

from benchmarks.data import table, text_like
from benchmarks.measure import Row, compare_times
from novikoff import Perceptron

EVENTS = 200  # few enough to stay in the cache, where an event that has just arrived is
ROUNDS = 5


def run() -> list[Row]:
    from river.linear_model import Perceptron as Theirs

    X, labels = text_like(rows=EVENTS)
    numbered = [dict(zip(r.indices.tolist(), r.data.astype(float).tolist(), strict=True)) for r in X]
    named = [{f"word{j}": v for j, v in x.items()} for x in numbered]
    dense, dense_labels = table(rows=EVENTS)
    arrays = list(dense.astype(float))
    array_dicts = [dict(enumerate(x.tolist())) for x in arrays]

    def ours(examples: list[Any], labels: Any = labels) -> Any:
        model, events = Perceptron(), list(zip(examples, labels.tolist(), strict=True)) * ROUNDS

        def go() -> None:
            for x, y in events:
                model.learn_one(x, y)

        return go

    def theirs(examples: list[Any], labels: Any = labels, *, counting: bool = False) -> Any:
        model, mistakes, events = Theirs(), 0, list(zip(examples, (labels > 0).tolist(), strict=True)) * ROUNDS

        def go() -> None:
            nonlocal mistakes
            for x, y in events:
                if counting:
                    mistakes += model.predict_one(x) != y
                model.learn_one(x, y)

        return go

    def table_rows(*, counting: bool) -> list[Row]:
        """What learn_one of novikoff does besides learning, count its mistakes, River needs predict_one for."""
        end = ", counting mistakes" if counting else ""
        pairs = [
            ("arrays of 100 numbers", ours(arrays, dense_labels), array_dicts, dense_labels, 40.0),
            ("dicts, about 68 integer keys", ours(numbered), numbered, labels, 5.0),
            ("dicts, about 68 string keys", ours(named), named, labels, 2.5),
        ]
        return [
            compare_times(f"{title}{end}", mine, theirs(examples, y, counting=counting), target, per=EVENTS * ROUNDS)
            for title, mine, examples, y, target in pairs
        ]

    def predicted() -> list[Row]:
        mine, other = Perceptron(), Theirs()
        for x, y in zip(named, labels.tolist(), strict=True):
            mine.learn_one(x, y)
            other.learn_one(x, y > 0)

        def asking(model: Any) -> Any:
            return lambda: [model.predict_one(x) for _ in range(ROUNDS) for x in named]

        title = "predict_one, dicts, about 68 string keys"
        return [compare_times(title, asking(mine), asking(other), 0.7, per=EVENTS * ROUNDS)]

    return [*table_rows(counting=False), *table_rows(counting=True), *predicted()]
