"""The whole process, start-up included, against Vowpal Wabbit's; and passes over the binary cache of each.

The cache is made in the round that is not counted. Its rows come twice: training alone, and the whole process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks import texts
from benchmarks.from_text import HINGE, PERCEPTRON, TWO, Run, novikoff, training, vw
from benchmarks.measure import Failed, Limit, Row, attempt, weigh


def run() -> Iterator[Row | Limit | Failed]:
    svm, theirs = texts.path("rcv.svm"), texts.path("rcv.vw")
    yield whole(
        "rcv, Perceptron, 570 MB of text",
        lambda: novikoff(svm, *PERCEPTRON, *TWO),
        lambda: vw(theirs, *HINGE),
        5.0,
    )


def cache() -> Iterator[Row | Limit | Failed]:
    svm, theirs = texts.path("rcv.svm"), texts.path("rcv.vw")
    kept = ("--cache_file", f"{theirs}.cache")  # together with -c vw would go over it twice

    def ours(passes: int) -> Run:
        return novikoff(svm, *PERCEPTRON, *TWO, "--cache", "--passes", str(passes))

    def vws(passes: int) -> Run:
        more = ("--passes", str(passes), "--holdout_off") if passes > 1 else ()
        return vw(theirs, *HINGE, cached=(*kept, *more))

    for passes, target in ((1, 5.0), (10, 10.0)):
        title = f"rcv from cache, {passes} pass{'es' * (passes > 1)}"
        mine, other = (lambda n=passes: ours(n)), (lambda n=passes: vws(n))
        yield training(f"{title}, training", mine, other, target)
        yield whole(f"{title}, whole process", mine, other, target)


def whole(title: str, ours: Callable[[], Run], theirs: Callable[[], Run], target: float) -> Row | Limit | Failed:
    return attempt(title, lambda title: weigh(title, lambda: ours().whole, lambda: theirs().whole, target))
