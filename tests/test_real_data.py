"""Real data, where it is at hand: NOVIKOFF_DATA names the folder (by default one beside the project)."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

import novikoff
from novikoff import Perceptron
from novikoff.cli.main import main
from novikoff.stream.formats import svmlight

FOLDER = Path(os.environ.get("NOVIKOFF_DATA", Path(__file__).parents[2] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the data sets are not here: set NOVIKOFF_DATA")
FILES = ["a9a.train.svm.gz", "mushrooms.train.svm.gz", "mushrooms.test.svm.gz", "frappe.test.libfm.gz"]


def read(name: str) -> tuple[Any, Any]:
    X, y = load_svmlight_file(str(FOLDER / name), zero_based=True, dtype=np.float32)
    return X, y


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_as_scikit_learn_reads_them(name: str) -> None:
    X, y = read(name)
    with gzip.open(FOLDER / name) as file:
        chunks = list(svmlight.read(file, name))
    assert (np.concatenate([labels for _, labels in chunks]) == y).all()
    assert (np.concatenate([rows.indices for rows, _ in chunks]) == X.indices).all()
    assert (np.concatenate([rows.values for rows, _ in chunks]) == X.data).all()
    counts = np.concatenate([np.diff(rows.starts) for rows, _ in chunks])
    assert (counts == np.diff(X.indptr)).all()


def test_known_numbers_of_mistakes(tmp_path: Path) -> None:
    """One pass of the Perceptron with a bias, in the order of the file; the model of the command line is fit's."""
    for name, expected in {"a9a.train.svm.gz": 6751, "mushrooms.train.svm.gz": 55}.items():
        model = Perceptron().fit(*read(name))
        assert model.ledger_.mistakes == expected
        path = tmp_path / name
        assert main(["learn", str(FOLDER / name), "--save", str(path), "--quiet"]) == 0
        assert (novikoff.load(path).coef_ == model.coef_).all()


def test_cycling_finds_a_separator_of_the_mushrooms() -> None:
    X, y = read("mushrooms.train.svm.gz")
    model = Perceptron().fit(X, y)
    while model.score(X, y) < 1.0:
        assert model.ledger_.examples < 100 * len(y)
        model.partial_fit(X, y)
    before = model.ledger_.mistakes
    assert model.partial_fit(X, y).ledger_.mistakes == before
