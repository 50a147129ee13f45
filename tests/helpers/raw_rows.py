"""The same rows as files of every format and as raw rows, for every learner that can be served."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pytest

from novikoff import learner_registry, load
from novikoff.cli.main import main

Row = dict[str, Any]

LABELS = ("yes", "no", "maybe")
PATHS = ("yes/a", "yes/b", "no/a")
CODES = {label: str(k + 1) for k, label in enumerate(LABELS)}
"""Labels of formats in which these are numbers."""
JOBS = ("nurse", 'a "b", c', "line\nbreak", "tab\there", "ü;x|y", " lead", "trail ", "", "NA", "3", "=", "job=nurse")
FORMATS = {
    "csv": ("csv", ["--label", "y", "--header", "--hash-bits", "18"]),
    "csv with a dictionary": ("csv", ["--label", "y", "--header", "--hash-bits", "0"]),
    "csv with signs": ("csv", ["--label", "y", "--header", "--hash-bits", "5", "--signed-hash"]),
    "csv with a map": ("csv", ["--label", "y", "--header", "--feature-map", "products:2"]),
    "csv with a text column": ("csv", ["--label", "y", "--header", "--text", "job", "--char-ngrams", "3"]),
    "numbers": ("numbers.csv", ["--label", "y", "--header"]),
    "numbers with a map": ("numbers.csv", ["--label", "y", "--header", "--feature-map", "poly:2"]),
    "tsv": ("tsv", ["--label", "y", "--header"]),
    "jsonl": ("jsonl", ["--label", "y"]),
    "jsonl with a dictionary": ("jsonl", ["--label", "y", "--hash-bits", "0"]),
    "jsonl with text": ("jsonl", ["--label", "y", "--text", "job", "--word-ngrams", "2"]),
    "parquet": ("parquet", ["--label", "y"]),
    "svmlight": ("svm", []),
    "vw": ("vw", []),
    "text": ("text", ["--format", "text", "--word-ngrams", "2", "--char-ngrams", "3"]),
    "text with blanks": ("blank.text", ["--format", "text"]),
    "text with a dictionary": ("text", ["--format", "text", "--hash-bits", "0"]),
}


class LearnerOptions(NamedTuple):
    """Training of a learner in these tests."""

    options: list[str]
    classes: int = 2
    is_unit: bool = False
    """Whether the learner supports only values from 0 to 1."""
    labels: str = "names"
    """Or paths of a tree, or sets."""


LEARNERS = {
    "auto": LearnerOptions(["--learner", "auto"], 3),
    "margin-perceptron": LearnerOptions(["--learner", "margin-perceptron", "--gamma", "0.1"]),
    "p-norm-perceptron": LearnerOptions(["--learner", "p-norm-perceptron", "--p", "4"]),
    "kernel-perceptron": LearnerOptions(["--learner", "kernel-perceptron"], 3),
    "multilayer-perceptron": LearnerOptions(["--learner", "multilayer-perceptron"], 3),
    "balanced-winnow": LearnerOptions(["--learner", "balanced-winnow"], is_unit=True),
    "winnow": LearnerOptions(["--learner", "winnow", "--threshold", "3"], is_unit=True),
    "winnow-r": LearnerOptions(["--learner", "winnow-r", "--threshold", "3"], is_unit=True),
    "elimination": LearnerOptions(["--learner", "elimination"], is_unit=True),
    "halving": LearnerOptions(["--learner", "halving"], is_unit=True),
    "kesler": LearnerOptions(["--learner", "perceptron", "--multiclass", "kesler"], 3),
    "one-vs-all": LearnerOptions(["--learner", "arow", "--multiclass", "one-vs-all"], 3),
    "all-vs-all": LearnerOptions(["--learner", "perceptron", "--multiclass", "all-vs-all"], 3),
    "output-code": LearnerOptions(["--learner", "perceptron", "--multiclass", "output-code"], 3),
    "hierarchical": LearnerOptions(["--learner", "perceptron", "--multiclass", "hierarchical"], 3, labels="paths"),
    "multi-label": LearnerOptions(["--learner", "perceptron", "--multiclass", "multi-label"], 3, labels="sets"),
    "online-bagging": LearnerOptions(
        ["--learner", "perceptron", "--multiclass", "online-bagging", "--n-estimators", "3"]
    ),
    "online-boosting": LearnerOptions(
        ["--learner", "perceptron", "--multiclass", "online-boosting", "--n-estimators", "3"]
    ),
    "online-to-batch": LearnerOptions(["--learner", "perceptron", "--online-to-batch", "average"]),
}
"""All models that can be served and learned from files. Learners without an entry have their default settings."""
for _name in learner_registry.names():
    LEARNERS.setdefault(_name, LearnerOptions(["--learner", _name]))


def is_learnable(fmt: str, learner: str) -> bool:
    """Return whether this format can hold data that the learner supports."""
    how, kind = LEARNERS[learner], FORMATS[fmt][0]
    if learner == "halving":  # its hypotheses depend on the columns
        return kind == "numbers.csv"
    if how.is_unit and fmt in ("csv with signs", "numbers with a map"):  # which have negative values, and √2
        return learner == "balanced-winnow" and fmt == "csv with signs"
    if how.labels == "sets":
        return kind in ("svm", "jsonl")
    return how.labels != "paths" or kind not in LINES


def draw_rows(count: int, classes: int = 2, seed: int = 0, *, is_unit: bool = False) -> list[Row]:
    rng = random.Random(seed)
    rows = [
        {
            "age": rng.choice([rng.randint(1, 90), None]),
            "job": rng.choice(JOBS),
            "balance": rng.choice([rng.uniform(-5, 5), rng.gauss(0, 1) * 10.0 ** rng.randint(-9, 4)]),
            "code": rng.choice(["1", "2", "x"]),
            "y": rng.choice(LABELS[:classes]),
        }
        for _ in range(count)
    ]
    rows[0] |= {"job": "nurse", "code": "x", "age": 30, "y": "yes"}
    rows[1] |= {"y": "no"}
    for row in rows if is_unit else ():
        row |= {"age": None if row["age"] is None else row["age"] % 2, "balance": float(row["balance"] > 0.0)}
    return rows


def draw_rows_for(learner: str, count: int, seed: int = 0) -> list[Row]:
    """Draw rows with values and labels that the learner takes."""
    how = LEARNERS[learner]
    rows = draw_rows(count, how.classes, seed, is_unit=how.is_unit)
    for k, row in enumerate(rows):
        if how.labels == "paths":
            row["y"] = PATHS[LABELS.index(row["y"])]
        elif how.labels == "sets":
            row["y"] = [label for j, label in enumerate(LABELS) if label == row["y"] or k % (j + 2) == 0]
    return rows


def to_text(row: Row) -> str:
    return f"{row['job']} is the job, Ärzte {row['code']}"


def select_numbers(row: Row) -> Row:
    return {name: row[name] for name in ("age", "balance", "y")}


def hash_job(row: Row) -> int:
    """Return the job as a number, for formats without text."""
    return crc32(str(row["job"]).encode()) % 16


def to_svmlight_line(row: Row) -> str:
    """Return the features of a row as an svmlight line, without a label."""
    terms = {1: row["age"], 2: row["balance"], 3 + hash_job(row): 1, 20 + "12x".index(row["code"] or "x"): 1}
    return " ".join(f"{j}:{value!r}" for j, value in sorted(terms.items()) if value is not None)


def to_vw_line(row: Row) -> str:
    """Return the features of a row as a line of Vowpal Wabbit, without a label."""
    age = "" if row["age"] is None else f" age:{row['age']!r}"
    balance = "" if row["balance"] is None else f" balance:{row['balance']!r}"
    return f"|n{age}{balance} |c job{hash_job(row)} ü={row['code']}"


LINES = {"svm": to_svmlight_line, "vw": to_vw_line}


def to_raw_rows(kind: str, rows: list[Row]) -> list[Any]:
    """Return the raw rows for Python and for the server."""
    if "text" in kind.split("."):
        return [to_text(row) for row in rows]
    if kind in LINES:
        return [LINES[kind](row) for row in rows]
    return [select_numbers(row) for row in rows] if kind == "numbers.csv" else rows


def to_label_code(label: Any) -> str:
    """Return a label, or a set of labels, for formats whose labels are numbers."""
    return ",".join(CODES[one] for one in ([label] if isinstance(label, str) else label))


def write_rows(path: Path, kind: str, rows: list[Row]) -> Path:
    """Write the rows as a file of this kind."""
    path = path / f"data.{kind}"
    if kind == "parquet":
        arrow = pytest.importorskip("pyarrow", reason="pyarrow, the extra novikoff[parquet], is not installed")
        import pyarrow.parquet

        pyarrow.parquet.write_table(arrow.Table.from_pylist(rows), path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif kind in LINES:
        path.write_text("".join(f"{to_label_code(row['y'])} {LINES[kind](row)}\n" for row in rows))
    elif "text" in kind.split("."):
        separator = " " if kind.startswith("blank") else "\t"
        flat = (f"{row['y']}{separator}{to_text(row)}".replace("\n", " ") for row in rows)
        path.write_text("".join(f"{line}\n" for line in flat))
    else:
        rows = [select_numbers(row) for row in rows] if kind == "numbers.csv" else rows
        with path.open("w", newline="") as file:
            delimiter = "\t" if kind == "tsv" else ","
            writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return path


def options_for(fmt: str, learner: str) -> list[str]:
    """Return the options with which `learn` reads this format for this learner."""
    options, how = list(FORMATS[fmt][1]), LEARNERS[learner]
    has_words = "--text" in options or "text" in options
    return [*options, *(["--term-weighting", "binary"] if how.is_unit and has_words else [])]


def train_from_file(folder: Path, fmt: str, learner: str, rows: list[Row]) -> tuple[Any, Path]:
    """Return a model that was trained from a file, and that file."""
    path, model = write_rows(folder, FORMATS[fmt][0], rows), folder / "it.model"
    how = [*options_for(fmt, learner), *LEARNERS[learner].options]
    assert main(["learn", str(path), *how, "--save", str(model), "--json", "--quiet"]) == 0
    return load(model), path


def predict_file(folder: Path, path: Path) -> tuple[list[str], list[list[float]]]:
    """Return labels and scores of a file, by the command line."""
    out = folder / "predicted.tsv"
    assert main(["predict", str(folder / "it.model"), str(path), "--scores", "--output", str(out), "--quiet"]) == 0
    cells = [line.split("\t") for line in out.read_text().splitlines()]
    return [line[0] for line in cells], [[float(score) for score in line[1:]] for line in cells]


def format_label(label: Any) -> str:
    """Return a label as the command line shows it."""
    return ",".join(sorted(map(str, label))) if isinstance(label, list | tuple) else str(label)


def to_score_rows(scores: Any, count: int) -> list[list[float]]:
    """Return scores of decision_function or score_one as the command line shows them, a list for each row."""
    if isinstance(scores, list):
        return [list(one.values()) if isinstance(one, dict) else [one] for one in scores]
    found: list[list[float]] = np.asarray(scores).reshape(count, -1).tolist()
    return found
