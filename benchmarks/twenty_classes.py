"""Compare twenty classes: in memory with scikit-learn, from text with `vw --oaa 20`, training time without start-up."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import novikoff
from benchmarks import texts
from benchmarks.from_text import Run, vw_training
from benchmarks.from_text import training as compared
from benchmarks.measure import Failed, Limit, Row, compare_times, run_python, warm_page_cache

KESLER = ("--multiclass", "kesler", "--learner", "perceptron")
HINGE = ("--multiclass", "ova", "--learner", "sgd", "--loss", "hinge", "--schedule", "constant")
ADAGRAD = ("--multiclass", "ova", "--learner", "sgd", "--loss", "logistic")


def ours(file: Path, *options: str) -> Run:
    arguments = ("--json", "--quiet", "--threads", "2", *options)
    ten = json.loads(run_python("-m", "novikoff", "learn", texts.path("ten20.svm"), *arguments).out)
    warm_page_cache(file)
    child = run_python("-m", "novikoff", "learn", file, *arguments)
    report = json.loads(child.out)
    return Run(child.seconds, report["seconds"] - ten["seconds"], report["progressive_error"], ten["seconds"])


def theirs(file: Path, *options: str) -> Run:
    return vw_training(file, texts.path("one20.vw"), "--oaa", "20", *options)


def quick() -> Iterator[Row | Limit | Failed]:
    yield from _rows("mc20-20k")


def run() -> Iterator[Row | Limit | Failed]:
    yield from _rows("mc20")


def _rows(name: str) -> Iterator[Row | Limit | Failed]:
    svm, other = texts.path(f"{name}.svm"), texts.path(f"{name}.vw")
    yield _in_memory(svm)
    pairs = (
        ("20 classes from text, Perceptron (Kesler)", KESLER, ("--loss_function", "hinge"), 7.0),
        ("20 classes from text, one-vs-all hinge", HINGE, ("--loss_function", "hinge"), 5.0),
        ("20 classes from text, one-vs-all AdaGrad", ADAGRAD, ("--loss_function", "logistic"), 4.0),
    )
    for title, mine, their, target in pairs:
        yield compared(title, _bound(ours, svm, mine), _bound(theirs, other, their), target)


def _bound(run: Callable[..., Run], file: Path, options: tuple[str, ...]) -> Callable[[], Run]:
    return lambda: run(file, *options)


def _in_memory(file: Path) -> Row:
    from sklearn.linear_model import Perceptron as Theirs

    warnings.simplefilter("ignore")
    X, y = novikoff.read(file).to_arrays()
    once: dict[str, Any] = {"max_iter": 1, "tol": None, "shuffle": False}
    return compare_times(
        "20 classes in memory, Perceptron (Kesler)",
        lambda: novikoff.Kesler(novikoff.Perceptron(shuffle=False)).fit(X, y),
        lambda: Theirs(**once).fit(X, y),
        4.0,
    )
