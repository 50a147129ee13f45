"""Compiles for this machine what commands would otherwise compile when they first need it: all formats and learners.

It learns tiny files of every format with every learner, several at a time, and predicts with the models what comes from
standard input, which is not read as files are.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from novikoff import learners
from novikoff.errors import NovikoffError

EPILOG = """\
examples:
  novikoff warm-up              everything: a minute or two, once for each version of novikoff
  novikoff warm-up --only csv   what CSV files need
"""
FILES = {
    "data.svm": "1 1:1 2:1\n-1 1:1 3:1\n",
    "data.vw": "1 |a x y:2 |b z\n-1 |a y |b u:0.5\n",
    "numbers.csv": "label,a,b\n1,1,1\n-1,1,0\n",
    "words.csv": "label,a,b\nyes,red,2\nno,blue,1\n",
    "data.jsonl": '{"label": 1, "a": "x", "b": 2}\n{"label": -1, "a": "y", "b": [1, 2]}\n',
    "data.txt": "spam\twin some money\nham\tsee you soon\n",
}
NEEDS = {
    "margin-perceptron": ["--gamma", "0.1"],
    "p-norm-perceptron": ["--p", "4"],
    "winnow": ["--threshold", "2"],
}
"""Settings without which a learner does not start."""
TABLES_ONLY = ("halving",)
"""Learners that must know the number of features beforehand."""


def add_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None) -> None:
    formats = sorted({name.partition(".")[2] for name in FILES})
    parser.add_argument("--only", choices=formats, help="compile for this kind of file only")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def run(options: argparse.Namespace) -> int:
    began = time.perf_counter()
    files = [name for name in FILES if options.only in (None, name.partition(".")[2])]
    jobs = [(name, learner) for name in files for learner in _learners(name)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for name in files:
            Path(folder, name).write_text(FILES[name])
        for done, (name, learner) in enumerate(pool.map(lambda job: _warm(Path(folder), *job), jobs), start=1):
            if not options.quiet:
                print(f"{done:>3} of {len(jobs)}   {name}   {learner}", file=sys.stderr)
    print(f"ready in {time.perf_counter() - began:.0f} s")
    return 0


def _learners(name: str) -> list[str]:
    """All learners for the two kinds of rows, sparse and dense; for other formats the one that is taken where none is
    named, and a plain one."""
    every = [learner for learner in learners.names() if learner not in learners.VARIANTS]
    if name == "numbers.csv":
        return every
    if name == "data.svm":
        return [learner for learner in every if learner not in TABLES_ONLY]
    return ["auto", "perceptron"]


def _warm(folder: Path, name: str, learner: str) -> tuple[str, str]:
    """One process that learns, one that predicts; what they compile is kept."""
    data, model = folder / name, folder / f"{name}.{learner}.model"
    kind = ["--format", "text"] if name.endswith(".txt") else []
    novikoff = [sys.executable, "-m", "novikoff"]
    learn = [*novikoff, "learn", str(data), *kind, "--learner", learner, *NEEDS.get(learner, [])]
    shuffled = [[*learn, "--shuffle"]] if learner == "perceptron" else []
    for command in (*shuffled, [*learn, "--save", str(model)], [*novikoff, "predict", str(model), "-"]):
        command.append("--quiet")
        done = subprocess.run(  # noqa: S603 - ourselves, no shell
            command, input=FILES[name], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise NovikoffError(f"warm-up failed: {done.stderr.strip()}")
    return name, learner
