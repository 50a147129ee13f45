"""`python -m benchmarks.multiclass_accuracy [SET ...]`: compare one pass on real data sets.

scikit-learn and vw have default settings; every figure is the mean over three seeded orders, in percent.
Label sets: scikit-learn learns one model for each label, vw takes `--multilabel_oaa`. Queries: both learn the
differences of documents of one query with different grades, of random sign, query after query; vw's `--ect` is for
classes only. vw has 18 bits for tables, 24 for words. The questions are repeated with five passes in
the same order, without vw, and with words split at blanks.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import multiclass_data as data
from benchmarks import multiclass_vw as vw
from benchmarks.multiclass_scores import score_classes, score_ranking, score_sets
from benchmarks.order import disable_shuffling

ORDERS = range(3)
LOSSES = ("squared", "logistic", "hinge")


def ours(passes: int = 1) -> dict[str, Callable[[], Any]]:
    """Return our learners for classes, by name."""
    from novikoff import AROW, SGD, Kesler, OneVsAll, Perceptron

    adagrad: dict[str, Any] = {
        "loss": "hinge",
        "schedule": "adagrad",
        "learning_rate": 1.0,
        "average": True,
        "averaging_power": 4.0,
    }
    return {
        "Kesler AROW": lambda: Kesler(AROW(passes=passes)),
        "Kesler SGD averaging power 4": lambda: Kesler(SGD(passes=passes, **adagrad)),
        "Kesler Perceptron avg": lambda: Kesler(Perceptron(passes=passes, average=True)),
        "OneVsAll Perceptron avg": lambda: OneVsAll(Perceptron(passes=passes, average=True)),
    }


def ours_for_sets() -> dict[str, Callable[[], Any]]:
    from novikoff import AROW, MultiLabel, Perceptron

    return {
        "MultiLabel AROW": lambda: MultiLabel(AROW()),
        "MultiLabel Perceptr. avg": lambda: MultiLabel(Perceptron(average=True)),
    }


def ours_for_queries() -> dict[str, Any]:
    from novikoff import AROW, Perceptron, QueryRanking

    return {
        "QueryRanking(Perceptron(average=True))": QueryRanking(Perceptron(average=True)),
        "QueryRanking(AROW(r=1, averaging_power=4))": QueryRanking(AROW(r=1.0, averaging_power=4.0)),
        "QueryRanking(AROW())": QueryRanking(AROW()),
    }


def peers(passes: int = 1) -> dict[str, Callable[[], Any]]:
    """Return scikit-learn's learners, which learn rows in the given order."""
    from sklearn.linear_model import Perceptron, SGDClassifier

    once: dict[str, Any] = {"max_iter": passes, "tol": None, "shuffle": False}
    return {
        "Perceptron": lambda: Perceptron(**once),
        "SGD log": lambda: SGDClassifier(loss="log_loss", **once),
        "SGD hinge averaged": lambda: SGDClassifier(loss="hinge", average=True, **once),
        "PA-I": lambda: SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, **once),
    }


def measure_classes(split: data.Split) -> Iterator[tuple[str, dict[str, float]]]:
    reductions = {f"vw {loss}": ("--oaa", "--loss_function", loss) for loss in LOSSES} | {"vw ect": ("--ect",)}
    train, test = vw.format_features(split.X), vw.format_features(split.X_test)
    count = str(1 + max(split.y.max(), split.y_test.max()))
    for order in _orders(len(split.y)):
        X, y = split.X[order], split.y[order]
        for name, make in {**ours(), **peers()}.items():
            yield name, score_classes(split.y_test, disable_shuffling(make()).fit(X, y).predict(split.X_test))
        rows = [train[i] for i in order]
        for name, (reduction, *options) in reductions.items():
            said = vw.predict_classes(rows, y, test, reduction, count, *options, *_bits(split.X))
            yield name, score_classes(split.y_test, said)


def measure_passes(split: data.Split, passes: int) -> Iterator[tuple[str, dict[str, float]]]:
    for order in _orders(len(split.y)):
        X, y = split.X[order], split.y[order]
        for name, make in {**ours(passes), **peers(passes)}.items():
            yield name, score_classes(split.y_test, disable_shuffling(make()).fit(X, y).predict(split.X_test))


def measure_label_sets(split: data.Split) -> Iterator[tuple[str, dict[str, float]]]:
    from sklearn.multiclass import OneVsRestClassifier

    train, test = vw.format_features(split.X), vw.format_features(split.X_test)
    for order in _orders(len(split.y)):
        X, y = split.X[order], split.y[order]
        for name, make in ours_for_sets().items():
            said = disable_shuffling(make()).fit(X, y).predict(split.X_test)
            yield name, score_sets(split.y_test, _as_rows(said, y.shape[1]))
        for name, make in peers().items():
            yield name, score_sets(split.y_test, OneVsRestClassifier(make()).fit(X, y).predict(split.X_test))
        rows = [train[i] for i in order]
        for loss in LOSSES:
            options = ("--multilabel_oaa", str(y.shape[1]), "--loss_function", loss, *_bits(X))
            yield f"vw {loss}", score_sets(split.y_test, vw.predict_label_sets(rows, y, test, *options))


def measure_queries(folds: list[data.Ranking]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the means over the folds for each order."""
    for seed in ORDERS:
        found: dict[str, list[dict[str, float]]] = {}
        for fold in folds:
            for name, scores in _iter_rankings(fold, seed):
                found.setdefault(name, []).append(score_ranking(fold.grades_test, fold.groups_test, scores))
        for name, each in found.items():
            yield name, _mean(each)


def _iter_rankings(fold: data.Ranking, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield scores: first learners that take queries, then peers, which learn differences of documents."""
    rng = np.random.default_rng(seed)
    order = np.concatenate([np.flatnonzero(fold.groups == query) for query in rng.permutation(np.unique(fold.groups))])
    for name, model in ours_for_queries().items():
        disable_shuffling(model).fit(fold.X[order], fold.grades[order], fold.groups[order])
        yield name, model.predict(fold.X_test)
    X, y = build_differences(fold, np.random.default_rng(seed))
    for name, make in peers().items():
        yield name, make().set_params(fit_intercept=False).fit(X, y).decision_function(fold.X_test)
    train, test = vw.format_features(X), vw.format_features(fold.X_test)
    for loss in LOSSES:
        yield f"vw {loss}", vw.predict_scores(train, y, test, "--noconstant", "--loss_function", loss)


def build_differences(fold: data.Ranking, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return better minus worse with label 1, or the reverse with label -1, in random order."""
    first, second = [], []
    for query in rng.permutation(np.unique(fold.groups)):
        rows = np.flatnonzero(fold.groups == query)
        better, worse = np.nonzero(fold.grades[rows][:, None] > fold.grades[rows])
        drawn = rng.permutation(len(better))
        first.append(rows[better[drawn]])
        second.append(rows[worse[drawn]])
    better, worse = np.concatenate(first), np.concatenate(second)
    y = rng.choice([-1, 1], len(better))
    return (fold.X[better] - fold.X[worse]) * y[:, None].astype(np.float32), y


def _as_rows(sets: list[list[int]], labels: int) -> Any:
    """Convert label sets to rows of zeros and ones."""
    rows = np.zeros((len(sets), labels), np.int64)
    for row, members in zip(rows, sets, strict=True):
        row[members] = 1
    return rows


def _orders(rows: int) -> list[Any]:
    return [np.random.default_rng(seed).permutation(rows) for seed in ORDERS]


def _bits(X: Any) -> tuple[str, ...]:
    return ("-b", str(vw.SPARSE_BITS)) if sp.issparse(X) else ()


def _mean(figures: list[dict[str, float]]) -> dict[str, float]:
    return {kind: statistics.fmean(each[kind] for each in figures) for kind in figures[0]}


SETS: dict[str, Callable[[], Iterator[tuple[str, dict[str, float]]]]] = {
    **{name: (lambda load=load: measure_classes(load())) for name, load in data.CLASSES.items()},
    **{name: (lambda load=load: measure_label_sets(load())) for name, load in data.LABEL_SETS.items()},
    "trec coarse, 5 passes": lambda: measure_passes(data.trec_coarse(r"\S+"), 5),
    "trec fine, 5 passes": lambda: measure_passes(data.trec_fine(r"\S+"), 5),
    "mq2008": lambda: measure_queries(data.mq2008()),
}


def measure_set(name: str) -> dict[str, dict[str, float]]:
    """Return the mean of each learner over the orders."""
    found: dict[str, list[dict[str, float]]] = {}
    for learner, each in SETS[name]():
        found.setdefault(learner, []).append(each)
    return {learner: _mean(each) for learner, each in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.multiclass_accuracy", description=__doc__)
    parser.add_argument("sets", metavar="SET", nargs="*", help=", ".join(SETS))
    asked = parser.parse_args().sets or list(SETS)
    unknown = [name for name in asked if name not in SETS]
    if unknown:
        parser.error(f"no set {', '.join(unknown)}; there are {', '.join(SETS)}")
    if not data.FOLDER.is_dir():
        print("The data sets are not available: set NOVIKOFF_DATA to their folder.")
        return
    warnings.simplefilter("ignore")
    for name in asked:
        print(f"\n{name}: mean of {len(ORDERS)} orders, %")
        for learner, each in measure_set(name).items():
            print(f"{learner:<26}" + "".join(f"{kind:>12}{value:8.2f}" for kind, value in each.items()), flush=True)


if __name__ == "__main__":
    main()
