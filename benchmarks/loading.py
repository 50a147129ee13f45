"""Text to arrays, and a dense table learned in the time that others need to read it.

- `novikoff.read(file).to_arrays()`, which is (X, y), against scikit-learn's load_svmlight_file, on the first 100 MB of
  rcv: the latter takes half a minute for the whole file, and both times grow with the file.
- A Perceptron learned from a dense CSV (seconds that `novikoff learn` reports) against polars merely reading it.
- The same for JSON lines of tokens, which polars reads into a table of strings; no target was set for it.

Each run is a process of its own, which has imported its library and read a small file before the clock starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import texts
from benchmarks.from_text import JSON, PERCEPTRON, TWO, novikoff
from benchmarks.measure import Failed, Limit, Row, attempt, compare_values, run_python, warm_page_cache

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
OURS = CLOCK.format(imports="import novikoff", read="novikoff.read(file).to_arrays()")
SKLEARN = CLOCK.format(imports="from sklearn.datasets import load_svmlight_file", read="load_svmlight_file(file)")
POLARS_JSON = CLOCK.format(imports="import polars", read="polars.read_ndjson(file)")
POLARS = CLOCK.format(imports="import polars", read="polars.read_csv(file, has_header=False)")


def clocked(code: str, small: Path, file: Path) -> float:
    warm_page_cache(file)
    return float(run_python("-c", code, small, file).out)


def quick() -> Iterator[Row | Limit | Failed]:
    yield from _rows("rcv-50k.svm", "dense-100k.csv", "click-100k.jsonl")


def run() -> Iterator[Row | Limit | Failed]:
    yield from _rows("rcv-100MB.svm", "dense.csv", "click.jsonl")


def _rows(rcv: str, dense: str, click: str) -> Iterator[Row | Limit | Failed]:
    small, slice_ = texts.path("small.svm"), texts.path(rcv)
    yield attempt(
        f"{rcv} → CSR, against scikit-learn",
        lambda title: compare_values(
            title, lambda: clocked(OURS, small, slice_), lambda: clocked(SKLEARN, small, slice_), 30.0
        ),
    )
    small_table, table = texts.path("small.csv"), texts.path(dense)
    yield attempt(
        "dense CSV, Perceptron, against polars reading it",
        lambda title: compare_values(
            title,
            lambda: novikoff(table, *PERCEPTRON, *CSV, *TWO).training,
            lambda: clocked(POLARS, small_table, table),
            3.0,
        ),
    )
    few, lines = texts.path("ten.jsonl"), texts.path(click)
    yield attempt(
        "JSON lines, Perceptron, against polars reading them",
        lambda title: compare_values(
            title,
            lambda: novikoff(lines, *PERCEPTRON, *JSON, *TWO).training,
            lambda: clocked(POLARS_JSON, few, lines),
            1.0,
        ),
    )
