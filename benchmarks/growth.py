"""How time and memory grow with the input. Times are less that on ten lines, which would hide the growth.

Memory is the peak of a whole process (VmHWM of /proc/self/status, which starts at nothing with the process) less that
of one which learns 1,000 lines of the same: what remains is neither the libraries nor the first buffers.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import texts
from benchmarks.from_text import ADAGRAD, HASHED, PERCEPTRON, TWO, novikoff
from benchmarks.loading import CSV
from benchmarks.measure import Failed, Limit, Row, attempt, limit, python, warm

PEAK = """
import atexit, runpy, sys

def peak():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    print(line.split()[1], file=sys.stderr)

atexit.register(peak)
runpy.run_module("novikoff", run_name="__main__")
"""


def megabytes(name: str, *options: str) -> float:
    file = texts.path(name)
    warm(file)
    done = python("-c", PEAK, "learn", file, "--json", "--quiet", *options)
    return int(done.err.split()[-1]) / 1024


def run() -> Iterator[Row | Limit | Failed]:
    def time(name: str) -> float:
        learned = novikoff(texts.path(name), *PERCEPTRON, *TWO)
        return learned.training - learned.start

    yield attempt(
        "10 × the rows: 50k, 500k",
        lambda title: limit(title, lambda: time("rcv-50k.svm"), lambda: time("rcv.svm"), 10.0),
    )
    yield attempt(
        "10 × the features: 47k, 472k",
        lambda title: limit(title, lambda: time("rcv.svm"), lambda: time("wide.svm"), 1.4),
    )
    for title, small, large, options in (
        ("peak, svmlight, Perceptron: 1,000 rows, 57 MB", "small.svm", "rcv-50k.svm", PERCEPTRON),
        ("peak, svmlight, Perceptron: 1,000 rows, 570 MB", "small.svm", "rcv.svm", PERCEPTRON),
        ("peak, svmlight, AdaGrad: 1,000 rows, 570 MB", "small.svm", "rcv.svm", ADAGRAD),
        ("peak, 10 × the features: 1,000 rows, 600 MB", "small.svm", "wide.svm", PERCEPTRON),
        ("peak, VW text: 1,000 rows, 280 MB", "small-click.vw", "click.vw", (*PERCEPTRON, *HASHED)),
        ("peak, dense CSV: 1,000 rows, 919 MB", "small.csv", "dense.csv", (*PERCEPTRON, *CSV)),
    ):
        yield attempt(
            title,
            lambda title, a=small, b=large, o=options: limit(
                title, lambda: megabytes(a, *o, *TWO), lambda: megabytes(b, *o, *TWO), 25.0, unit="MB"
            ),
        )
