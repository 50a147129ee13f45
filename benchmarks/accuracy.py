"""`python -m benchmarks.accuracy [SET ...]`: one pass of every learner with its defaults, on real sets.

Test accuracy in percent, the mean of three seeded orders; of elec2, which has an order of its own, the share of
examples that were predicted rightly before they were learned. Then the same with columns in other units, and ten
passes beside LIBLINEAR. All numbers are kept in `benchmarks/results/accuracy.json`, the tables in `accuracy.md`
beside it; `--render` makes the tables anew from the numbers.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import accuracy_learners as learners
from benchmarks.accuracy_data import FOLDER, SETS, Set, rescaled
from benchmarks.accuracy_tables import CONVERGED, TEN, UNITS, page
from benchmarks.multiclass_accuracy import LOSSES
from benchmarks.multiclass_data import Split

ORDERS = range(3)
RESULTS = Path(__file__).parent / "results"
SLOW_FOR_RIVER = ("mnist",)
SCALE_FREE = ("auto", "arow", "sgd", "perceptron, averaged")  # of ours, that are tried with other units too

Figures = dict[str, list[float]]


def figures(each: Set, name: str) -> Figures:
    """Of every column, one number for each order."""
    found: Figures = {}
    for column, value in _of_stream(each) if each.drifts else _of_split(each, name):
        found.setdefault(column, []).append(value)
    return found


def _of_split(each: Set, name: str) -> Iterator[tuple[str, float]]:
    whole = each.load()
    many = bool(whole.y.max() > 1)
    for seed in ORDERS:
        order = np.random.default_rng(seed).permutation(len(whole.y))
        split = whole._replace(X=whole.X[order], y=whole.y[order])
        for column, make in {**learners.ours(), **learners.plain()}.items():
            yield from _taken(column, lambda make=make, split=split: learners.by_arrays(make(many, 1), split))
        for column, make in learners.scikit_learn().items():
            yield column, learners.by_arrays(make(), split)
        yield from learners.by_vw(split)
        if name not in SLOW_FOR_RIVER:
            for column, make in learners.river().items():
                yield column, learners.by_river(make(many), split)
        yield TEN, learners.by_arrays(learners.ours()[learners.AUTO](many, 10), split)
        yield from _in_other_units(rescaled(split, seed), many)
    yield CONVERGED, _converged(whole)


def _in_other_units(split: Split, many: bool) -> Iterator[tuple[str, float]]:
    for column in SCALE_FREE:
        make = learners.ours()[column]
        yield from _taken(f"{UNITS}{column}", lambda make=make: learners.by_arrays(make(many, 1), split))
    for column, make in learners.scikit_learn().items():
        yield f"{UNITS}{column}", learners.by_arrays(make(), split)
    yield from ((f"{UNITS}{column}", value) for column, value in learners.by_vw(split))


def _of_stream(each: Set) -> Iterator[tuple[str, float]]:
    split = each.load()
    for column, make in {**learners.ours(), **learners.plain()}.items():
        yield from _taken(column, lambda make=make: learners.following(make(False, 1), split))
    for column, make in learners.scikit_learn().items():
        yield column, learners.following_in_batches(make(), split)
    for loss in LOSSES:
        yield f"vw {loss}", learners.following_by_vw(split, loss)
    for column, make in learners.river().items():
        yield column, learners.following_by_river(make(False), split)
    for seed in ORDERS:
        scaled = rescaled(split, seed)
        for column in SCALE_FREE:
            yield f"{UNITS}{column}", learners.following(learners.ours()[column](False, 1), scaled)
        for loss in LOSSES:
            yield f"{UNITS}vw {loss}", learners.following_by_vw(scaled, loss)
    yield "the label before", learners.unchanged(split)


def _converged(split: Split) -> float:
    """LIBLINEAR to its own end, with its defaults; one against the rest."""
    from sklearn.svm import LinearSVC

    return learners.by_arrays(LinearSVC(max_iter=20_000, random_state=0), split)


def _taken(column: str, call: Callable[[], float]) -> Iterator[tuple[str, float]]:
    """Nothing, where a learner does not take such values or so many classes."""
    from novikoff import NovikoffError

    try:
        yield column, call()
    except NovikoffError as why:
        print(f"  {column}: {why}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("sets", metavar="SET", nargs="*", help=", ".join(SETS))
    parser.add_argument("--render", action="store_true", help="only make the tables of the numbers that are kept")
    asked = parser.parse_args()
    unknown = [name for name in asked.sets if name not in SETS]
    if unknown:
        parser.error(f"no set {', '.join(unknown)}; there are {', '.join(SETS)}")
    if not FOLDER.is_dir() and not asked.render:
        parser.exit(1, "The data sets are not here: set NOVIKOFF_DATA to their folder.\n")
    warnings.simplefilter("ignore")
    kept = RESULTS / "accuracy.json"
    known: dict[str, Figures] = json.loads(kept.read_text()) if kept.exists() else {}
    for name in [] if asked.render else asked.sets or SETS:
        began = time.perf_counter()
        known[name] = figures(SETS[name], name)
        RESULTS.mkdir(exist_ok=True)
        kept.write_text(json.dumps(known, indent=1))
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    means = {
        name: {column: statistics.fmean(values) for column, values in known[name].items()}
        for name in SETS
        if name in known
    }
    shown = page(means)
    (RESULTS / "accuracy.md").write_text(shown)
    print(shown)


if __name__ == "__main__":
    main()
