"""Real data, skipped where it is missing: NOVIKOFF_DATA names the folder (by default one beside the project)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

import novikoff
from novikoff import Perceptron
from novikoff.cli.main import main
from tests.helpers.paths import DATA_FOLDER

pytestmark = pytest.mark.skipif(not DATA_FOLDER.is_dir(), reason="the data sets are not here: set NOVIKOFF_DATA")
FILES = [f"{name}.{part}.svm.gz" for name in ("a9a", "mushrooms") for part in ("train", "test")]
FILES += ["frappe.test.libfm.gz", "frappe.validation.libfm.gz"]


def read(name: str) -> tuple[Any, Any]:
    X, y = load_svmlight_file(str(DATA_FOLDER / name), zero_based=True, dtype=np.float32)
    return X, y


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_as_scikit_learn_reads_them(name: str) -> None:
    X, y = read(name)
    got, labels = novikoff.read(DATA_FOLDER / name, format="svmlight", features=X.shape[1]).to_arrays()
    assert (labels == y).all()
    assert (got != X).nnz == 0
    X.eliminate_zeros()
    assert (got.indices == X.indices).all()
    assert (got.data == X.data).all()
    assert (got.indptr == X.indptr).all()


@pytest.mark.parametrize("name", ["yeast.train.svm.gz", "yeast.test.svm.gz"])
def test_several_labels_are_read_as_scikit_learn_reads_them(name: str) -> None:
    X, y = load_svmlight_file(str(DATA_FOLDER / name), zero_based=True, dtype=np.float32, multilabel=True)
    batches = list(novikoff.read(DATA_FOLDER / name, multilabel=True, features=X.shape[1]))
    assert [tuple(labels) for batch in batches for labels in batch.labels or []] == y
    assert (sp.vstack([batch.X for batch in batches]) != X).nnz == 0


@pytest.mark.parametrize("name", [f"mq2008.S{k}.txt.gz" for k in range(1, 6)])
def test_query_ids_are_read_as_scikit_learn_reads_them(name: str) -> None:
    X, y, groups = load_svmlight_file(str(DATA_FOLDER / name), zero_based=True, dtype=np.float32, query_id=True)
    batches = list(novikoff.read(DATA_FOLDER / name, format="svmlight", features=X.shape[1]))
    assert (np.concatenate([batch.y for batch in batches]) == y).all()
    assert (np.concatenate([batch.groups for batch in batches]) == groups).all()
    assert (sp.vstack([batch.X for batch in batches]) != X).nnz == 0


def test_the_numbers_of_mistakes_are_as_published(tmp_path: Path) -> None:
    """One pass of the Perceptron with a bias, in the order of the file; the model of the command line is fit's."""
    for name, expected in {"a9a.train.svm.gz": 6751, "mushrooms.train.svm.gz": 55}.items():
        model = Perceptron(shuffle=False).fit(*read(name))
        assert model.ledger_.mistakes == expected
        path = tmp_path / name
        assert main(["learn", str(DATA_FOLDER / name), "--learner", "perceptron", "--save", str(path), "--quiet"]) == 0
        assert (novikoff.load(path).coef_ == model.coef_).all()


def test_cycling_finds_a_separator_of_the_mushrooms() -> None:
    X, y = read("mushrooms.train.svm.gz")
    model = Perceptron().fit(X, y)
    while model.score(X, y) < 1.0:
        assert model.ledger_.examples < 100 * len(y)
        model.partial_fit(X, y)
    before = model.ledger_.mistakes
    assert model.partial_fit(X, y).ledger_.mistakes == before
