"""Load the real data sets of `benchmarks.accuracy`: two classes, more classes, and a stream that drifts.

Text: lower-cased words and pairs of words, counted, rows of length 1. Categories: one column for each value. Numbers:
standardised by the training part (letter, bank_marketing), between 0 and 1 (mnist, elec2: divided by the largest) or
unchanged (usps, between -1 and 1). Labels are 0, 1, ...
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks import multiclass_data as many
from benchmarks.multiclass_data import FOLDER, Split


class Set(NamedTuple):
    """A data set. A stream (`drifts`) has no test part: each example is predicted, then learned."""

    load: Callable[[], Split]
    drifts: bool = False


def sms_spam() -> Split:
    """Load the set; train on the first 30 %, as in its paper."""
    with gzip.open(FOLDER / "sms_spam.tsv.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").partition("\t") for line in file]
    y, texts = np.array([int(label == "spam") for label, _, _ in lines]), [text for _, _, text in lines]
    cut = int(len(texts) * 0.3)
    X, X_test = many.words(texts[:cut], texts[cut:], r"\w+", ngram_range=(1, 2), use_idf=False)
    return Split(X, y[:cut], X_test, y[cut:])


def mushrooms() -> Split:
    return _svmlight("mushrooms.train.svm.gz", "mushrooms.test.svm.gz")


def a9a() -> Split:
    return _svmlight("a9a.train.svm.gz", "a9a.test.svm.gz")


def frappe() -> Split:
    """Load the set; train on its validation part, because the large part is not available."""
    return _svmlight("frappe.validation.libfm.gz", "frappe.test.libfm.gz")


def bank_marketing() -> Split:
    """Load the set without `duration`, which is known only after the call; train on a random 80 %."""
    with gzip.open(FOLDER / "bank_marketing.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    y = np.array([int(row["y"] == "yes") for row in rows])
    order = np.random.default_rng(0).permutation(len(rows))
    train, test = np.split(order, [int(len(rows) * 0.8)])
    columns = []
    for name in rows[0]:
        if name in ("y", "duration"):
            continue
        values = [row[name] for row in rows]
        try:
            numbers = np.array(values, float)
            columns.append((numbers - numbers[train].mean()) / numbers[train].std())
        except ValueError:
            columns += [np.array([value == each for value in values], float) for each in sorted(set(values))]
    X = np.column_stack(columns).astype(np.float32)
    return Split(X[train], y[train], X[test], y[test])


def elec2() -> Split:
    """Load the stream in its own order; up is 1."""
    with gzip.open(FOLDER / "elec2.csv.gz", "rt", encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    assert names[-1] == "class"
    labels = [row[-1] for row in rows]
    X = np.array([row[:-1] for row in rows], float)
    X = (X / np.abs(X).max(axis=0)).astype(np.float32)
    y = np.array([int(label == max(labels)) for label in labels])
    return Split(X, y, X[:0], y[:0])


SETS = {
    "sms_spam": Set(sms_spam),
    "mushrooms": Set(mushrooms),
    "a9a": Set(a9a),
    "frappe": Set(frappe),
    "bank_marketing": Set(bank_marketing),
    "elec2": Set(elec2, drifts=True),
    **{name: Set(load) for name, load in many.CLASSES.items()},
}


def rescale(split: Split, seed: int) -> Split:
    """Multiply each column by a random power of ten from a thousandth to a thousand."""
    powers = 10.0 ** np.random.default_rng([9, seed]).integers(-3, 4, split.X.shape[1])

    def scale(X: Any) -> Any:
        return (
            (X @ sp.diags_array(powers)).tocsr().astype(np.float32)
            if sp.issparse(X)
            else (X * powers).astype(np.float32)
        )

    return split._replace(X=scale(split.X), X_test=scale(split.X_test))


def _svmlight(train: str, test: str) -> Split:
    from sklearn.datasets import load_svmlight_files

    with gzip.open(FOLDER / train) as first, gzip.open(FOLDER / test) as second:
        X, y, X_test, y_test = load_svmlight_files([first, second], zero_based=True, dtype=np.float32)
    return Split(_narrow(X), (y > 0).astype(int), _narrow(X_test), (y_test > 0).astype(int))


def _narrow(X: Any) -> Any:
    """Convert indices to 32 bits, as LIBLINEAR needs them."""
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
