"""Compare learning from text with Vowpal Wabbit on the same examples: training time without start-up.

Our time is the seconds of `novikoff learn --json` minus those of ten lines (one line has one label only, which is an
error). Theirs is the time of the process minus that of a file of one line, measured in the same round. Each file is
read once before each run. Errors are progressive: ours / theirs. `start` is the time that was subtracted from ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import texts
from benchmarks.measure import Failed, Limit, Row, attempt, compare_values, run_python, warm_page_cache
from benchmarks.multiclass_vw import read_average_loss

PERCEPTRON = ("--learner", "perceptron")
ADAGRAD = ("--learner", "sgd", "--loss", "logistic")  # AdaGrad is the default schedule of sgd
TWO, ONE = ("--threads", "2"), ("--threads", "1")
HASHED = ("--format", "vw", "--hash-bits", "18")
HINGE = ("--loss_function", "hinge", "--sgd")
LOGISTIC = ("--loss_function", "logistic")
JSON = ("--format", "jsonl", "--label", "_label", "--hash-bits", "18")


class Run(NamedTuple):
    whole: float
    training: float
    error: float
    start: float  # start-up time that was subtracted from the training time


def novikoff(file: Path, *options: str) -> Run:
    arguments = ("--json", "--quiet", *options)
    ten = json.loads(run_python("-m", "novikoff", "learn", texts.path(f"ten{file.suffix}"), *arguments).out)
    warm_page_cache(file)
    child = run_python("-m", "novikoff", "learn", file, *arguments)
    report = json.loads(child.out)
    return Run(child.seconds, report["seconds"] - ten["seconds"], report["progressive_error"], ten["seconds"])


def vw(file: Path, *options: str, cached: tuple[str, ...] = ()) -> Run:
    """Run vw; `cached` has options that the run on one line must not have. Eighteen bits are vw's default."""
    return vw_training(file, texts.path(f"one{file.suffix}"), "--binary", *options, cached=cached)


def vw_training(file: Path, single: Path, *options: str, cached: tuple[str, ...] = ()) -> Run:
    one = run_python("-m", "vowpalwabbit", "-d", single, *options)
    warm_page_cache(file)
    child = run_python("-m", "vowpalwabbit", "-d", file, *options, *cached)
    return Run(child.seconds, child.seconds - one.seconds, read_average_loss(child), 0.0)


def training(
    title: str, ours: Callable[[], Run], theirs: Callable[[], Run], target: float, *, no_worse: bool = False
) -> Row | Limit | Failed:
    """Compare training times. With `no_worse` the target is reached only if our error is not above theirs."""
    runs: dict[str, Run] = {}

    def time(whose: str, run: Callable[[], Run]) -> float:
        runs[whose] = run()
        return runs[whose].training

    def row(title: str) -> Row:
        found = compare_values(title, lambda: time("ours", ours), lambda: time("theirs", theirs), target)
        mine, other = runs["ours"].error, runs["theirs"].error
        note = f"errors {mine:.4f} / {other:.4f}, start {runs['ours'].start:.2f} s"
        return found._replace(note=note, holds=not no_worse or mine <= other)

    return attempt(title, row)


def quick() -> Iterator[Row | Limit | Failed]:
    yield from _rows("rcv-50k", "click-100k", "click25-100k")
    yield from _json("click-100k")


def run() -> Iterator[Row | Limit | Failed]:
    yield from _rows("rcv", "click", "click25")
    yield from _json("click")


def automatic_quick() -> Iterator[Row | Limit | Failed]:
    yield from _automatic("rcv-50k", "click-100k")


def automatic() -> Iterator[Row | Limit | Failed]:
    yield from _automatic("rcv", "click")


def _rows(rcv: str, click: str, click25: str) -> Iterator[Row | Limit | Failed]:
    svm, theirs, one, many = (texts.path(name) for name in (f"{rcv}.svm", f"{rcv}.vw", f"{click}.vw", f"{click25}.vw"))
    yield training(
        "svmlight, Perceptron, 2 threads", lambda: novikoff(svm, *PERCEPTRON, *TWO), lambda: vw(theirs, *HINGE), 6.0
    )
    yield training(
        "svmlight, Perceptron, 1 thread", lambda: novikoff(svm, *PERCEPTRON, *ONE), lambda: vw(theirs, *HINGE), 4.0
    )
    yield training(
        "svmlight, AdaGrad logistic, 2 threads",
        lambda: novikoff(svm, *ADAGRAD, *TWO),
        lambda: vw(theirs, *LOGISTIC),
        5.0,
        no_worse=True,
    )
    yield training(
        "VW text, hashed, Perceptron, 2 threads",
        lambda: novikoff(one, *PERCEPTRON, *HASHED, *TWO),
        lambda: vw(one, *HINGE),
        8.0,
    )
    yield training(
        "VW text, hashed, AdaGrad logistic, 2 threads",
        lambda: novikoff(one, *ADAGRAD, *HASHED, *TWO),
        lambda: vw(one, *LOGISTIC),
        4.0,
    )
    yield training(
        "VW text, 25 namespaces, Perceptron, 2 threads",
        lambda: novikoff(many, *PERCEPTRON, *HASHED, *TWO),
        lambda: vw(many, *HINGE),
        6.0,
    )


def _json(click: str) -> Iterator[Row | Limit | Failed]:
    """Compare JSON lines. No target was set, so it is to be no slower."""
    file = texts.path(f"{click}.jsonl")
    for title, ours, theirs in (("Perceptron", PERCEPTRON, HINGE), ("AdaGrad logistic", ADAGRAD, LOGISTIC)):
        yield training(
            f"JSON lines, hashed, {title}, 2 threads",
            lambda ours=ours: novikoff(file, *ours, *JSON, *TWO),
            lambda theirs=theirs: vw(file, "--json", *theirs),
            1.0,
        )


def _automatic(rcv: str, click: str) -> Iterator[Row | Limit | Failed]:
    """Compare defaults, except for the file format. A row counts only if our error is not above theirs."""
    svm, theirs, one = (texts.path(name) for name in (f"{rcv}.svm", f"{rcv}.vw", f"{click}.vw"))
    yield training("svmlight, auto, 2 threads", lambda: novikoff(svm, *TWO), lambda: vw(theirs), 1.0, no_worse=True)
    yield training(
        "VW text, auto, 2 threads", lambda: novikoff(one, *HASHED, *TWO), lambda: vw(one), 1.0, no_worse=True
    )
