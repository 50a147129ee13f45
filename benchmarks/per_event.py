"""One example at a time from Python, against River's learn_one on the same examples."""

from __future__ import annotations

from typing import Any

from benchmarks.data import table, text_like
from benchmarks.measure import Row, compare
from novikoff import Perceptron

EVENTS = 1000  # few enough to stay in the cache: an event that has just arrived is there


def run() -> list[Row]:
    from river.linear_model import Perceptron as Theirs

    X, labels = text_like(rows=EVENTS)
    X.sum_duplicates()
    numbered = [dict(zip(r.indices.tolist(), r.data.astype(float).tolist(), strict=True)) for r in X]
    named = [{f"word{j}": v for j, v in x.items()} for x in numbered]
    arrays = list(table(rows=EVENTS)[0].astype(float))
    array_dicts = [dict(enumerate(x.tolist())) for x in arrays]
    truths, signs = (labels > 0).tolist(), labels.tolist()

    def ours(examples: list[Any]) -> Any:
        model = Perceptron()

        def go() -> None:
            for x, y in zip(examples, signs, strict=True):
                model.learn_one(x, y)

        return go

    def theirs(examples: list[Any], *, counting: bool = False) -> Any:
        model, mistakes = Theirs(), 0

        def go() -> None:
            nonlocal mistakes
            for x, y in zip(examples, truths, strict=True):
                if counting:
                    mistakes += model.predict_one(x) != y
                model.learn_one(x, y)

        return go

    return [
        compare("arrays of 100 numbers", ours(arrays), theirs(array_dicts), 40.0, per=EVENTS),
        compare("dicts, 75 integer keys", ours(numbered), theirs(numbered), 5.0, per=EVENTS),
        compare("dicts, 75 string keys", ours(named), theirs(named), 2.5, per=EVENTS),
        # What learn_one of novikoff does besides learning, count its mistakes, River needs predict_one for.
        compare("… counting mistakes: arrays", ours(arrays), theirs(array_dicts, counting=True), 40.0, per=EVENTS),
        compare("… counting: integer keys", ours(numbered), theirs(numbered, counting=True), 5.0, per=EVENTS),
        compare("… counting: string keys", ours(named), theirs(named, counting=True), 2.5, per=EVENTS),
    ]
