"""Measure how time and memory grow with the input: with examples from 10^4 to 10^7, with features from 10^3 to 10^7.

Times are those that `novikoff learn` reports in a warm process, or the processor time (user and system). With examples,
the time and number of the first 10,000 rows (4.5 MB) are subtracted: loading machine code, threads and the first use of
buffers would hide the growth. Two threads share the work from the second block on, and `auto` updates more weights at
first. Therefore a second row subtracts the first 100,000 rows (45 MB). With features the time of ten lines is
subtracted. Each round measures all sizes, small ones several times (their median), after reading each file once.
Memory is the peak of a process (VmHWM of /proc/self/status) minus that of one that learns 1,000 lines, which excludes
libraries and the first buffers.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from benchmarks import texts
from benchmarks.from_text import ADAGRAD, HASHED, ONE, PERCEPTRON, TWO
from benchmarks.loading import CSV
from benchmarks.measure import (
    ChildError,
    Entry,
    Failed,
    Limit,
    Rounds,
    Row,
    attempt,
    measure_limit,
    measure_rounds,
    measure_slope,
    require_positive,
    run_python,
    warm_page_cache,
)

PEAK = """
import sys
from novikoff.cli.main import main

assert main(sys.argv[1:]) == 0
with open("/proc/self/status") as status:
    line = next(line for line in status if line.startswith("VmHWM"))
print(line.split()[1], file=sys.stderr)
"""
TIMES = """
import contextlib, io, json, statistics, sys, time
from novikoff.cli.main import main

options, files = sys.argv[1].split(), sys.argv[2:]

def taken(file):
    printed, began = io.StringIO(), time.process_time()
    with contextlib.redirect_stdout(printed):
        assert main(["learn", file, "--json", "--quiet", *options]) == 0
    return json.loads(printed.getvalue())["seconds"], time.process_time() - began

def median(file):
    with open(file, "rb") as text:
        while text.read(1 << 24):
            pass
    times = [taken(file)]
    while sum(clock for clock, _ in times) < 0.3 and len(times) < 25:
        times.append(taken(file))
    return [statistics.median(column) for column in zip(*times)]

for file in files[:2]:
    taken(file)
print(json.dumps([median(file) for file in files]))
"""
CLOCK, PROCESSOR = 0, 1
WEIGHT = 4  # bytes of a weight learned from text
LEAST, SAME = 1.4, 25.0  # × for ten times the features; megabytes beyond the weights


def quick() -> Iterator[Entry]:
    yield from _with_examples(3)
    yield from _with_features(texts.WIDTHS[:4], "broad-quick")


def run() -> Iterator[Entry]:
    yield from _with_examples(4)
    yield from _with_features(texts.WIDTHS, "broad")


def memory_quick() -> Iterator[Row | Limit | Failed]:
    yield from _peaks(_SMALL)


def memory() -> Iterator[Row | Limit | Failed]:
    yield from _peaks((*_SMALL, *_LARGE))


def measure_peak_megabytes(name: str, *options: str) -> float:
    file = texts.path(name)
    warm_page_cache(file)
    done = run_python("-c", PEAK, "learn", file, "--json", "--quiet", *options)
    return int(done.err.split()[-1]) / 1024


def seconds(few: str, names: Sequence[str], options: tuple[str, ...], clock: int) -> list[float]:
    """Measure one round over these texts, and subtract the time of `few`."""
    done = run_python("-c", TIMES, " ".join(options), *map(texts.path, (few, *names)))
    start, *found = (times[clock] for times in json.loads(done.out))
    less = [time - start for time in found]
    require_positive(*less)
    return less


def _with_examples(decades: int) -> Iterator[Entry]:
    one, two = (*PERCEPTRON, *ONE), (*PERCEPTRON, *TWO)
    first, later = (texts.FEW, texts.ROWS[:decades]), (texts.SOME, texts.LATER[: decades - 1])
    for title, options, clock, (few, rows) in (
        ("Perceptron, 1 thread", one, CLOCK, first),
        ("Perceptron, 1 thread, processor", one, PROCESSOR, first),
        ("Perceptron, 2 threads", two, CLOCK, first),
        ("Perceptron, 2 threads", two, CLOCK, later),
        ("auto, 2 threads", TWO, CLOCK, first),
        ("auto, 2 threads", TWO, CLOCK, later),
        ("auto, 2 threads, processor", TWO, PROCESSOR, later),
    ):
        more = [count - few for count in rows]
        ends = f"10^{len(str(more[0])) - 1} to 10^{len(str(rows[-1])) - 1} rows after the first {few:,}"
        names = [f"thin-{count}.svm" for count in rows]
        yield from _swept(
            f"{title}, {ends}",
            f"thin-{few}.svm",
            names,
            options,
            lambda title, rounds, more=more: [measure_slope(title, more, rounds)],
            clock,
        )
    sizes = texts.ROWS[:decades]
    names = [f"thin-{count}.svm" for count in sizes]
    for title, options in (("Perceptron", PERCEPTRON), ("auto", ())):
        yield attempt(
            f"{title}, peak: {sizes[0]:,} rows, {sizes[-1]:,}",
            lambda title, o=options: measure_limit(
                title,
                lambda: measure_peak_megabytes(names[0], *o, *TWO),
                lambda: measure_peak_megabytes(names[-1], *o, *TWO),
                SAME,
                unit="MB",
                rounds=3,
            ),
        )


def _with_features(widths: Sequence[int], kind: str) -> Iterator[Entry]:
    names = [f"{kind}-{width}.svm" for width in widths]

    def decades(title: str, rounds: Rounds) -> list[Entry]:
        columns = list(zip(*rounds, strict=True))
        found: list[Entry] = []
        for (width, before), (wider, after) in pairwise(zip(widths, columns, strict=True)):
            ratios = [b / a for a, b in zip(before, after, strict=True)]
            middle = statistics.median(before), statistics.median(after), statistics.median(ratios)
            rows = tuple(zip(before, after, strict=True))
            where = f"{title} {width:,} → {wider:,}"
            found.append(Limit(where, *middle, min(ratios), max(ratios), LEAST, "×", rows))
        return found

    yield from _swept("Perceptron, features", "ten.svm", names, (*PERCEPTRON, *TWO), decades)
    first, last = names[0], names[-1]
    weights = WEIGHT * (widths[-1] - widths[0]) / 2**20
    yield attempt(
        f"Perceptron, peak less weights: {widths[0]:,} → {widths[-1]:,}",
        lambda title: measure_limit(
            title,
            lambda: measure_peak_megabytes(first, *PERCEPTRON, *TWO),
            lambda: measure_peak_megabytes(last, *PERCEPTRON, *TWO) - weights,
            SAME,
            unit="MB",
            rounds=3,
        ),
    )


def _swept(
    title: str,
    few: str,
    names: Sequence[str],
    options: tuple[str, ...],
    rows: Callable[[str, Rounds], Sequence[Entry]],
    clock: int = CLOCK,
) -> Iterator[Entry]:
    try:
        yield from rows(title, measure_rounds(lambda: seconds(few, names, options, clock)))
    except ChildError as why:
        yield Failed(title, str(why))


_SMALL = (
    ("svmlight, Perceptron: 1,000 rows, 57 MB", "small.svm", "rcv-50k.svm", PERCEPTRON),
    ("svmlight, auto: 1,000 rows, 57 MB", "small.svm", "rcv-50k.svm", ()),
    ("VW text, Perceptron: 1,000 rows, 28 MB", "small-click.vw", "click-100k.vw", (*PERCEPTRON, *HASHED)),
    ("dense CSV, Perceptron: 1,000 rows, 92 MB", "small.csv", "dense-100k.csv", (*PERCEPTRON, *CSV)),
)
_LARGE = (
    ("svmlight, Perceptron: 1,000 rows, 570 MB", "small.svm", "rcv.svm", PERCEPTRON),
    ("svmlight, AdaGrad: 1,000 rows, 570 MB", "small.svm", "rcv.svm", ADAGRAD),
    ("svmlight, auto: 1,000 rows, 570 MB", "small.svm", "rcv.svm", ()),
    ("10 × the features: 1,000 rows, 600 MB", "small.svm", "wide.svm", PERCEPTRON),
    ("VW text, Perceptron: 1,000 rows, 280 MB", "small-click.vw", "click.vw", (*PERCEPTRON, *HASHED)),
    ("dense CSV, Perceptron: 1,000 rows, 919 MB", "small.csv", "dense.csv", (*PERCEPTRON, *CSV)),
)


def _peaks(rows: Sequence[tuple[str, str, str, tuple[str, ...]]]) -> Iterator[Row | Limit | Failed]:
    for title, small, large, options in rows:
        yield attempt(
            title,
            lambda title, a=small, b=large, o=options: measure_limit(
                title,
                lambda: measure_peak_megabytes(a, *o, *TWO),
                lambda: measure_peak_megabytes(b, *o, *TWO),
                SAME,
                unit="MB",
                rounds=3,
            ),
        )
