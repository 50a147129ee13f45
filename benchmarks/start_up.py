"""The whole process on a file of 1,000 lines, second run, against importing numba and running one cached kernel."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import dump_svmlight_file

from benchmarks.data import text_like
from benchmarks.measure import Row, compare

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


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        script, data = Path(folder) / "kernel.py", Path(folder) / "small.svm"
        script.write_text(KERNEL)
        X, y = text_like(rows=1000)
        dump_svmlight_file(X, y, str(data))

        def process(*arguments: str) -> None:
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

        return [
            compare(
                "novikoff learn, 1,000 lines",
                lambda: process("-m", "novikoff", "learn", str(data), "--quiet"),
                lambda: process(str(script)),
                1 / 1.3,
                rounds=9,
            )
        ]
