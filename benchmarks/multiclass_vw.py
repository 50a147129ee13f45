"""Run Vowpal Wabbit on arrays: write rows as text, learn one pass, and predict other rows."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.measure import Child, run_python

SPARSE_BITS = 24


def format_features(X: Any) -> list[str]:
    """Format each row as ` | index:value ...`, without zeros."""
    rows = sp.csr_matrix(X)
    tokens = [f"{index}:{value:.6g}" for index, value in zip(rows.indices.tolist(), rows.data.tolist(), strict=True)]
    return [" | " + " ".join(tokens[a:b]) for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]


def predict_classes(train: list[str], y: Any, test: list[str], *options: str) -> Any:
    """Return the class of each row of the test part; vw counts classes from one."""
    said = _run_one_pass([f"{label + 1}{row}" for label, row in zip(y, train, strict=True)], test, "-p", *options)
    return np.array([int(float(line.split()[0])) - 1 for line in said])


def predict_label_sets(train: list[str], labels: Any, test: list[str], *options: str) -> Any:
    """Return a row of zeros and ones for each row of the test part."""
    sets = [",".join(map(str, np.flatnonzero(row))) for row in labels]
    said = _run_one_pass([f"{each}{row}" for each, row in zip(sets, train, strict=True)], test, "-p", *options)
    found = np.zeros((len(test), labels.shape[1]), np.int64)
    for row, line in enumerate(said):
        found[row, [int(label) for label in line.split(",") if label.strip()]] = 1
    return found


def predict_scores(train: list[str], y: Any, test: list[str], *options: str) -> Any:
    """Return the raw score of each row of the test part, for classes -1 and 1."""
    said = _run_one_pass([f"{label}{row}" for label, row in zip(y, train, strict=True)], test, "-r", *options)
    return np.array([float(line.split()[0]) for line in said])


def predict_probabilities(train: list[str], y: Any, test: list[str], *options: str) -> Any:
    """Return the probability of each class for each row of the test part; the options contain --probabilities, which a
    saved model does not remember."""
    said = _run_one_pass([f"{label + 1}{row}" for label, row in zip(y, train, strict=True)], test, "-p", *options)
    found = np.array([[float(pair.partition(":")[2]) for pair in line.split()] for line in said])
    return found / found.sum(axis=1, keepdims=True)


def measure_progressive_loss(train: list[str], y: Any, *options: str) -> float:
    """Return the mean loss of predictions that were made before their labels were known."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.write_text("".join(f"{label}{row}\n" for label, row in zip(y, train, strict=True)))
        return read_average_loss(run_python("-m", "vowpalwabbit", "-d", data, *options))


def read_average_loss(done: Child) -> float:
    """Return the average loss that vw reports at its end."""
    found = re.search(r"average loss = (\S+)", done.err + done.out)
    assert found, done.err
    return float(found[1])


def _run_one_pass(train: list[str], test: list[str], wanted: str, *options: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        data, model, said = (Path(folder) / name for name in ("data", "model", "said"))
        data.write_text("\n".join(train) + "\n")
        run_python("-m", "vowpalwabbit", "-d", data, "-f", model, "--quiet", *options)
        data.write_text("\n".join(test) + "\n")
        again = [option for option in options if option == "--probabilities"]
        run_python("-m", "vowpalwabbit", "-d", data, "-t", "-i", model, wanted, said, "--quiet", *again)
        lines = said.read_text().split("\n")
        return lines[: len(test)]
