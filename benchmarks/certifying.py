"""What a certificate costs: the whole process of certifying a model, against learning it, on the same text."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import texts
from benchmarks.measure import Failed, Limit, Row, attempt, compare_times


def quick() -> Iterator[Row | Limit | Failed]:
    yield from _rows("rcv-50k")


def run() -> Iterator[Row | Limit | Failed]:
    yield from _rows("rcv")


def _rows(name: str) -> Iterator[Row | Limit | Failed]:
    data = str(texts.path(f"{name}.svm"))
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")

        def novikoff(*arguments: str) -> None:
            subprocess.run([sys.executable, "-m", "novikoff", *arguments, "--quiet"], check=True, capture_output=True)

        def row(title: str) -> Row:
            novikoff("learn", data, "--save", model)
            ours, theirs = (lambda: novikoff("certify", model, data)), (lambda: novikoff("learn", data))
            return compare_times(title, ours, theirs, 0.25, rounds=5)

        yield attempt(f"certify {name}, against learn: a quarter of its speed", row)
