"""Predicting: arrays against scikit-learn's predict, text against `vw -t`, both with models that they learned before.

From text, ours is the whole process less that on ten lines, theirs less that on one, in the same round; both write a
line for each example. No target was set for predicting: to be no slower is the least.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import texts
from benchmarks.data import table, text_like
from benchmarks.from_text import HASHED, HINGE, PERCEPTRON, TWO
from benchmarks.measure import Failed, Limit, Row, attempt, compare_times, compare_values, run_python, warm_page_cache
from novikoff import Auto, Perceptron


def quick() -> Iterator[Row | Limit | Failed]:
    yield from _in_memory(rows=100_000)
    yield from _from_text("rcv-50k", "click-100k")


def run() -> Iterator[Row | Limit | Failed]:
    yield from _in_memory(rows=500_000)
    yield from _from_text("rcv", "click")


def _in_memory(rows: int) -> Iterator[Row]:
    from sklearn.linear_model import Perceptron as Theirs

    warnings.simplefilter("ignore")
    for title, make in (("sparse × 47k", text_like), ("dense × 100", table)):
        X, y = make(rows=rows)
        theirs = Theirs(max_iter=1, tol=None, shuffle=False).fit(X, y)
        for name, learner in (("Perceptron", Perceptron()), ("auto", Auto())):
            ours = learner.fit(X, y)
            yield compare_times(f"{name}, {rows:,} rows, {title}", _asked(ours, X), _asked(theirs, X), 1.0, rounds=5)


def _asked(model: Any, X: Any) -> Callable[[], object]:
    return lambda: model.predict(X)


def _from_text(rcv: str, click: str) -> Iterator[Row | Limit | Failed]:
    svm, rcv_text, one = (texts.path(name) for name in (f"{rcv}.svm", f"{rcv}.vw", f"{click}.vw"))
    for title, ours, theirs, how, learner in (
        ("svmlight, Perceptron", svm, rcv_text, (), PERCEPTRON),
        ("svmlight, auto", svm, rcv_text, (), ()),
        ("VW text, hashed, Perceptron", one, one, HASHED, PERCEPTRON),
        ("VW text, hashed, auto", one, one, HASHED, ()),
    ):
        with tempfile.TemporaryDirectory() as folder:
            made = _models(Path(folder), ours, theirs, (*how, *learner))
            yield attempt(f"{title}, 2 threads", lambda title, made=made: compare_values(title, *made, 1.0))


def _models(
    folder: Path, ours: Path, theirs: Path, options: tuple[str, ...]
) -> tuple[Callable[[], float], Callable[[], float]]:
    """Two calls that predict a file, with models that were learned from it, and give the seconds."""
    model, other, said = (folder / name for name in ("model", "other", "said"))
    run_python("-m", "novikoff", "learn", ours, "--quiet", "--save", model, *options, *TWO)
    run_python("-m", "vowpalwabbit", "-d", theirs, "-f", other, "--binary", "--quiet", *HINGE)

    def mine(file: Path) -> float:
        return run_python("-m", "novikoff", "predict", model, file, "--output", said, "--quiet", *TWO).seconds

    def vws(file: Path) -> float:
        return run_python("-m", "vowpalwabbit", "-t", "-i", other, "-d", file, "-p", said, "--quiet").seconds

    def less(run: Callable[[Path], float], file: Path, few: Path) -> float:
        start = run(few)
        warm_page_cache(file)
        return run(file) - start

    few, one = texts.path(f"ten{ours.suffix}"), texts.path("one.vw")
    return (lambda: less(mine, ours, few)), (lambda: less(vws, theirs, one))
