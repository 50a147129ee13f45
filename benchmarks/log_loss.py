"""Log-loss and calibration of one pass with default settings: `python -m benchmarks.log_loss [SET …]`.

Peers get the help that a user would give them: the standardiser of scikit-learn is fitted to the training part, River's
is online, and vw has enough bits. A row is the mean over three orders of the training part. The expected calibration
error (ECE) has 15 bins of equal size, for two classes.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import accuracy_data, multiclass_vw
from benchmarks.multiclass_data import FOLDER, Split
from novikoff import SGD, Auto
from novikoff.evaluation.probabilities import ProbabilityLosses, expected_calibration_error, reliability_bins

ORDERS = 3
MAX_RIVER_ROWS = 20_000
"""Larger training parts are left out for River, which takes minutes for them."""


def credit_default() -> Split:
    """Load the set; train on a random 80 %."""
    with gzip.open(FOLDER / "credit_default.csv.gz", "rt", encoding="utf-8", newline="") as file:
        rows = np.array([[float(cell) for cell in row] for row in csv.reader(file)])
    X, y = rows[:, :-1].astype(np.float32), rows[:, -1].astype(np.int64)
    train, test = np.split(np.random.default_rng(0).permutation(len(X)), [int(len(X) * 0.8)])
    return Split(X[train], y[train], X[test], y[test])


SETS: dict[str, Callable[[], Split]] = {
    **{name: accuracy_data.SETS[name].load for name in ("a9a", "bank_marketing", "sms_spam")},
    "credit_default": credit_default,
    **{name: accuracy_data.SETS[name].load for name in ("usps", "letter", "mnist")},
}

Predictor = Callable[[Split], Any]
"""Learn the training part in its order; return the probability of each class for each row of the test part."""


def predict_by_auto(split: Split) -> Any:
    return Auto(shuffle=False).fit(split.X, split.y).predict_proba(split.X_test)


def predict_by_own_sgd(split: Split) -> Any:
    from novikoff import OneVsAll

    model: Any = SGD(shuffle=False) if split.y.max() < 2 else OneVsAll(SGD(shuffle=False))
    return model.fit(split.X, split.y).predict_proba(split.X_test)


def predict_by_scaled_sgd(split: Split) -> Any:
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not sp.issparse(split.X))
    sgd = SGDClassifier(loss="log_loss", average=True, max_iter=1, tol=None, shuffle=False)
    return make_pipeline(scaler, sgd).fit(split.X, split.y).predict_proba(split.X_test)


def predict_by_vw(split: Split) -> Any:
    train, test = multiclass_vw.format_features(split.X), multiclass_vw.format_features(split.X_test)
    classes = int(split.y.max()) + 1
    if classes == 2:
        scores = multiclass_vw.predict_scores(train, 2 * split.y - 1, test, "--loss_function", "logistic", "-b", "22")
        positive = 1.0 / (1.0 + np.exp(-scores))
        return np.column_stack([1.0 - positive, positive])
    options = ("--oaa", str(classes), "--probabilities", "--loss_function", "logistic", "-b", "22")
    return multiclass_vw.predict_probabilities(train, split.y, test, *options)


def predict_by_river(split: Split) -> Any:
    from river import linear_model, multiclass, optim, preprocessing

    classes = int(split.y.max()) + 1
    model: Any = linear_model.LogisticRegression(optim.SGD(0.01))
    if classes > 2:
        model = multiclass.OneVsRestClassifier(model)
    model = preprocessing.StandardScaler() | model
    for row, label in zip(iterate_dicts(split.X), split.y.tolist(), strict=True):
        model.learn_one(row, label if classes > 2 else bool(label))
    found = [model.predict_proba_one(row) for row in iterate_dicts(split.X_test)]
    return np.array([[row.get(c, 0.0) for c in range(classes)] for row in found], float)


def iterate_dicts(X: Any) -> Any:
    rows = sp.csr_matrix(X)
    for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        yield dict(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True))


PREDICTORS: dict[str, Predictor] = {
    "auto": predict_by_auto,
    "SGD logistic": predict_by_own_sgd,
    "vw logistic": predict_by_vw,
    "sklearn SGD log, averaged, scaled": predict_by_scaled_sgd,
    "River, scaled": predict_by_river,
}


def measure(probabilities: Any, y: Any) -> tuple[float, float, float]:
    """Return log-loss, ECE (NaN for more than two classes) and accuracy."""
    p = np.nan_to_num(np.asarray(probabilities, float), nan=0.5)
    p /= np.maximum(p.sum(axis=1, keepdims=True), 1e-300)
    losses = ProbabilityLosses()
    losses.add(p, y)
    bins = reliability_bins(np.sort(p[y == 1, 1]), np.sort(p[y == 0, 1])) if p.shape[1] == 2 else []
    ece = expected_calibration_error(bins) if bins else float("nan")
    return losses.log_loss, ece, float(np.mean(p.argmax(axis=1) == y))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS), metavar="SET", help=", ".join(SETS))
    parser.add_argument("--only", nargs="*", default=list(PREDICTORS), help="predictors")
    options = parser.parse_args()
    print("log-loss / ECE / accuracy")
    for name in options.sets:
        split = SETS[name]()
        for title in options.only:
            if title.startswith("River") and len(split.y) > MAX_RIVER_ROWS:
                continue
            found = []
            for seed in range(ORDERS):
                order = np.random.default_rng([1, seed]).permutation(len(split.y))
                shuffled = split._replace(X=split.X[order], y=split.y[order])
                try:
                    found.append(measure(PREDICTORS[title](shuffled), split.y_test))
                except ImportError as problem:
                    print(f"{name:16} {title:34} left out: {problem}")
                    break
            else:
                loss, ece, accuracy = np.mean(found, axis=0)
                print(f"{name:16} {title:34} {loss:.4f} {ece:.4f} {accuracy:.4f}", flush=True)


if __name__ == "__main__":
    main()
