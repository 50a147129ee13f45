"""`python -m benchmarks.accuracy [SET ...]`: measure one pass of every learner with its defaults, on real data sets.

Figures are test accuracies in percent, the mean of three seeded orders. elec2 has its own order: its figure is the
share of examples that were predicted correctly before they were learned. Further columns have other units, or compare
ten passes with LIBLINEAR. Numbers are written to `benchmarks/results/accuracy.json`, tables to `accuracy.md`;
`--render` renders the tables from the stored numbers.
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
from benchmarks.accuracy_data import FOLDER, SETS, Set, rescale
from benchmarks.accuracy_tables import CONVERGED, TEN, UNITS, render_results
from benchmarks.multiclass_accuracy import LOSSES
from benchmarks.multiclass_data import Split

ORDERS = range(3)
RESULTS = Path(__file__).parent / "results"
SLOW_FOR_RIVER = ("mnist",)
SCALE_FREE = ("auto", "arow", "sgd", "perceptron, averaged")  # our learners that are also measured with other units

Figures = dict[str, list[float]]


def measure_set(each: Set, name: str) -> Figures:
    """Return one number for each order, by column."""
    found: Figures = {}
    for column, value in _iter_stream_results(each) if each.drifts else _iter_split_results(each, name):
        found.setdefault(column, []).append(value)
    return found


def _iter_split_results(each: Set, name: str) -> Iterator[tuple[str, float]]:
    whole = each.load()
    many = bool(whole.y.max() > 1)
    for seed in ORDERS:
        order = np.random.default_rng(seed).permutation(len(whole.y))
        split = whole._replace(X=whole.X[order], y=whole.y[order])
        for column, make in {**learners.ours(), **learners.plain()}.items():
            yield from _run_if_supported(
                column, lambda make=make, split=split: learners.evaluate_arrays(make(many, 1), split)
            )
        for column, make in learners.scikit_learn().items():
            yield column, learners.evaluate_arrays(make(), split)
        yield from learners.evaluate_vw(split)
        if name not in SLOW_FOR_RIVER:
            for column, make in learners.river().items():
                yield column, learners.evaluate_river(make(many), split)
        yield TEN, learners.evaluate_arrays(learners.ours()[learners.AUTO](many, 10), split)
        yield from _iter_rescaled_results(rescale(split, seed), many)
    yield CONVERGED, _measure_converged(whole)


def _iter_rescaled_results(split: Split, many: bool) -> Iterator[tuple[str, float]]:
    for column in SCALE_FREE:
        make = learners.ours()[column]
        yield from _run_if_supported(
            f"{UNITS}{column}", lambda make=make: learners.evaluate_arrays(make(many, 1), split)
        )
    for column, make in learners.scikit_learn().items():
        yield f"{UNITS}{column}", learners.evaluate_arrays(make(), split)
    yield from ((f"{UNITS}{column}", value) for column, value in learners.evaluate_vw(split))


def _iter_stream_results(each: Set) -> Iterator[tuple[str, float]]:
    split = each.load()
    for column, make in {**learners.ours(), **learners.plain()}.items():
        yield from _run_if_supported(column, lambda make=make: learners.evaluate_stream(make(False, 1), split))
    for column, make in learners.scikit_learn().items():
        yield column, learners.evaluate_stream_in_batches(make(), split)
    for loss in LOSSES:
        yield f"vw {loss}", learners.evaluate_stream_by_vw(split, loss)
    for column, make in learners.river().items():
        yield column, learners.evaluate_stream_by_river(make(False), split)
    for seed in ORDERS:
        scaled = rescale(split, seed)
        for column in SCALE_FREE:
            yield f"{UNITS}{column}", learners.evaluate_stream(learners.ours()[column](False, 1), scaled)
        for loss in LOSSES:
            yield f"{UNITS}vw {loss}", learners.evaluate_stream_by_vw(scaled, loss)
    yield "the label before", learners.measure_repeated_label(split)


def _measure_converged(split: Split) -> float:
    """Return the accuracy of converged LIBLINEAR with its defaults, one against the rest."""
    from sklearn.svm import LinearSVC

    return learners.evaluate_arrays(LinearSVC(max_iter=20_000, random_state=0), split)


def _run_if_supported(column: str, call: Callable[[], float]) -> Iterator[tuple[str, float]]:
    """Yield the result, or nothing if the learner does not take these values or classes."""
    from novikoff import NovikoffError

    try:
        yield column, call()
    except NovikoffError as why:
        print(f"  {column}: {why}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("sets", metavar="SET", nargs="*", help=", ".join(SETS))
    parser.add_argument("--render", action="store_true", help="only render the tables of the stored numbers")
    asked = parser.parse_args()
    unknown = [name for name in asked.sets if name not in SETS]
    if unknown:
        parser.error(f"no set {', '.join(unknown)}; there are {', '.join(SETS)}")
    if not FOLDER.is_dir() and not asked.render:
        parser.exit(1, "The data sets are not available: set NOVIKOFF_DATA to their folder.\n")
    warnings.simplefilter("ignore")
    kept = RESULTS / "accuracy.json"
    known: dict[str, Figures] = json.loads(kept.read_text()) if kept.exists() else {}
    for name in [] if asked.render else asked.sets or SETS:
        began = time.perf_counter()
        known[name] = measure_set(SETS[name], name)
        RESULTS.mkdir(exist_ok=True)
        kept.write_text(json.dumps(known, indent=1))
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    means = {
        name: {column: statistics.fmean(values) for column, values in known[name].items()}
        for name in SETS
        if name in known
    }
    shown = render_results(means)
    (RESULTS / "accuracy.md").write_text(shown)
    print(shown)


if __name__ == "__main__":
    main()
