"""Load real data sets of more than two classes, label sets and queries as arrays, if they are available.

NOVIKOFF_DATA names their folder (by default one beside the project). Labels are 0, 1, ... ; a label set is a row of
zeros and ones; queries have five folds. No choice depends on a test part.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(os.environ.get("NOVIKOFF_DATA", Path(__file__).parents[2] / "shared" / "data"))


class Split(NamedTuple):
    """A training and a test part; X is a CSR matrix or a table, both of float32."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


class Ranking(NamedTuple):
    """Documents of queries: `groups` has the number of the query of each row; rows of one query are consecutive."""

    X: Any
    grades: Any
    groups: Any
    X_test: Any
    grades_test: Any
    groups_test: Any


def usps() -> Split:
    train, test = (np.loadtxt(_open(f"usps.{part}.csv.gz"), delimiter=",") for part in ("train", "test"))
    return Split(*_label_first(train), *_label_first(test))


def mnist() -> Split:
    """Load grey values between 0 and 1."""
    return Split(*_digits("train"), *_digits("t10k"))


def letter() -> Split:
    """Load the first 16,000 against the last 4,000, standardised by the first."""
    rows = np.loadtxt(_open("letter.csv.gz"), delimiter=",", converters={0: lambda name: ord(name) - ord("A")})
    X, y = _label_first(rows)
    X, X_test = X[:16_000], X[16_000:]
    mean, spread = X.mean(axis=0), X.std(axis=0)
    return Split((X - mean) / spread, y[:16_000], (X_test - mean) / spread, y[16_000:])


def trec_coarse(word: str = r"\w+") -> Split:
    return _trec(lambda label: label.partition(":")[0], word)


def trec_fine(word: str = r"\w+") -> Split:
    return _trec(lambda label: label, word)


def reuters() -> Split:
    """Load ModApte: all documents, the 90 topics of both parts, words weighted by tf-idf."""
    with gzip.open(FOLDER / "reuters21578.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [each for each in map(json.loads, lines) if each["has_topics"] == "YES"]
    parts = [[each for each in documents if each["lewissplit"] == part] for part in ("TRAIN", "TEST")]
    train, test = ({topic for each in part for topic in each["topics"]} for part in parts)
    topics = sorted(train & test)
    sets = [np.array([[topic in each["topics"] for topic in topics] for each in part], np.int64) for part in parts]
    texts = [[f"{each['title']} {each['body']}" for each in part] for part in parts]
    X, X_test = words(*texts, r"\b\w\w+\b", ngram_range=(1, 1), use_idf=True)
    return Split(X, sets[0], X_test, sets[1])


def yeast() -> Split:
    return Split(*_genes("train"), *_genes("test"))


def mq2008() -> list[Ranking]:
    """Load each official fold: three training parts, the fourth unused, the fifth for tests."""
    parts = [_documents(part) for part in range(1, 6)]
    folds = []
    for fold in range(5):
        learned = [parts[(fold + k) % 5] for k in range(3)]
        X, grades, groups = (np.concatenate(columns) for columns in zip(*learned, strict=True))
        folds.append(Ranking(X, grades, groups, *parts[(fold + 4) % 5]))
    return folds


CLASSES: dict[str, Callable[[], Split]] = {
    "usps": usps,
    "mnist": mnist,
    "letter": letter,
    "trec coarse": trec_coarse,
    "trec fine": trec_fine,
}
LABEL_SETS: dict[str, Callable[[], Split]] = {"reuters21578": reuters, "yeast": yeast}


def _open(name: str) -> Any:
    return gzip.open(FOLDER / name, "rt", encoding="latin-1")


def _label_first(rows: Any) -> tuple[Any, Any]:
    return rows[:, 1:].astype(np.float32), rows[:, 0].astype(np.int64)


def _digits(part: str) -> tuple[Any, Any]:
    images, labels = (
        gzip.decompress((FOLDER / f"mnist.{part}-{kind}-ubyte.gz").read_bytes())
        for kind in ("images-idx3", "labels-idx1")
    )
    X = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 784).astype(np.float32) / np.float32(255)
    return X, np.frombuffer(labels, np.uint8, offset=8).astype(np.int64)


def _trec(level: Callable[[str], str], word: str) -> Split:
    """Words and pairs of words that follow each other, lower case, counted, rows of length 1."""
    lines = [_open(f"trec_questions.{part}.txt.gz").read().splitlines() for part in ("train", "test")]
    labels = [[level(line.partition(" ")[0]) for line in part] for part in lines]
    names = {name: k for k, name in enumerate(sorted({*labels[0], *labels[1]}))}
    y, y_test = (np.array([names[label] for label in part]) for part in labels)
    texts = [[line.partition(" ")[2] for line in part] for part in lines]
    X, X_test = words(*texts, word, ngram_range=(1, 2), use_idf=False)
    return Split(X, y, X_test, y_test)


def words(train: list[str], test: list[str], word: str, **options: Any) -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    counted = TfidfVectorizer(dtype=np.float32, token_pattern=word, **options)
    return counted.fit_transform(train).tocsr(), counted.transform(test).tocsr()


def _genes(part: str) -> tuple[Any, Any]:
    from sklearn.datasets import load_svmlight_file

    X, sets = load_svmlight_file(
        str(FOLDER / f"yeast.{part}.svm.gz"), n_features=103, zero_based=False, multilabel=True, dtype=np.float32
    )
    labels = np.zeros((X.shape[0], 14), np.int64)
    for row, members in enumerate(sets):
        labels[row, [int(label) for label in members]] = 1
    return X.toarray(), labels


def _documents(part: int) -> tuple[Any, Any, Any]:
    from sklearn.datasets import load_svmlight_file

    X, grades, groups = load_svmlight_file(
        str(FOLDER / f"mq2008.S{part}.txt.gz"), n_features=46, zero_based=False, query_id=True, dtype=np.float32
    )
    return X.toarray(), grades.astype(np.int64), groups
