"""Text to arrays, and a dense table learned in the time that others need to read it.

- `novikoff.read(file).whole()`, which is (X, y), against scikit-learn's load_svmlight_file, on the first 100 MB of rcv:
  the whole takes the latter half a minute, and both times grow with the file.
- A Perceptron learned from a dense CSV (seconds that `novikoff learn` reports) against polars merely reading it.

Each run is a process of its own, which has imported its library and read a small file before the clock starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import texts
from benchmarks.from_text import PERCEPTRON, TWO, novikoff
from benchmarks.measure import Failed, Limit, Row, attempt, python, warm, weigh

CSV = ("--format", "csv", "--label", "1", "--no-header")

CLOCK = """
import sys, time
{imports}
def read(file):
    return {read}
read(sys.argv[1])
began = time.perf_counter()
kept = read(sys.argv[2])
print(time.perf_counter() - began)
"""
OURS = CLOCK.format(imports="import novikoff", read="novikoff.read(file).whole()")
SKLEARN = CLOCK.format(imports="from sklearn.datasets import load_svmlight_file", read="load_svmlight_file(file)")
POLARS = CLOCK.format(imports="import polars", read="polars.read_csv(file, has_header=False)")


def clocked(code: str, small: Path, file: Path) -> float:
    warm(file)
    return float(python("-c", code, small, file).out)


def run() -> Iterator[Row | Limit | Failed]:
    small, slice_ = texts.path("small.svm"), texts.path("rcv-100MB.svm")
    yield attempt(
        "100 MB of rcv → CSR, against scikit-learn",
        lambda title: weigh(title, lambda: clocked(OURS, small, slice_), lambda: clocked(SKLEARN, small, slice_), 30.0),
    )
    small_table, table = texts.path("small.csv"), texts.path("dense.csv")
    yield attempt(
        "dense CSV, Perceptron, against polars reading it",
        lambda title: weigh(
            title,
            lambda: novikoff(table, *PERCEPTRON, *CSV, *TWO).training,
            lambda: clocked(POLARS, small_table, table),
            3.0,
        ),
    )
