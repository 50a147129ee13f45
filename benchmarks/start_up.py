"""The whole process on a file of 1,000 lines, and on one of 57 MB, second run.

Against importing numba and running one cached kernel, against Vowpal Wabbit on the same rows, and by the clock.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import texts
from benchmarks.measure import Failed, Limit, Row, attempt, compare_values, measure_limit, run_python

KERNEL = """
import numpy as np, numba
@numba.njit(cache=True)
def total(x):
    s = 0.0
    for v in x:
        s += v
    return s
total(np.ones(3))
"""
ROUNDS = 9


def run() -> Iterator[Row | Limit | Failed]:
    small, theirs = texts.path("small.svm"), texts.path("small.vw")

    def learned(*options: str) -> float:
        return run_python("-m", "novikoff", "learn", small, "--quiet", *options).seconds

    def measure_vw() -> float:
        return run_python("-m", "vowpalwabbit", "-d", theirs, "--quiet").seconds

    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "kernel.py"
        script.write_text(KERNEL)
        yield attempt(
            "perceptron, against numba and a cached kernel",
            lambda title: compare_values(
                title, lambda: learned("--learner", "perceptron"), lambda: run_python(script).seconds, 1 / 1.3, ROUNDS
            ),
        )
    larger, vws = texts.path("rcv-50k.svm"), texts.path("rcv-50k.vw")
    yield attempt(
        "perceptron, 57 MB, against the vw wheel",
        lambda title: compare_values(
            title,
            lambda: run_python("-m", "novikoff", "learn", larger, "--quiet", "--learner", "perceptron").seconds,
            lambda: run_python("-m", "vowpalwabbit", "-d", vws, "--quiet").seconds,
            3.0,
        ),
    )
    for name, options in (("perceptron", ("--learner", "perceptron")), ("nothing set", ())):
        yield attempt(
            f"{name}, against the vw wheel",
            lambda title, o=options: compare_values(title, lambda: learned(*o), measure_vw, 1.0, ROUNDS),
        )
        yield attempt(
            f"{name}, by the clock",
            lambda title, o=options: measure_limit(title, lambda: 0.0, lambda: learned(*o), 0.15, "s", ROUNDS),
        )
