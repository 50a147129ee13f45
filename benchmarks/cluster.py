"""`python -m benchmarks.cluster [throughput] [accuracy] [model]`: Measure clusters on this machine.

throughput: one worker against two on the same shards, in alternate rounds. accuracy: shards against one machine after
the same number of passes, on a9a and mnist if available. model: the costs of the parts of a round, for
`benchmarks.scaling` and docs/scale.md.
"""

from __future__ import annotations

import gzip
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import multiclass_data, texts
from novikoff import AROW, SGD, Kesler, Perceptron
from novikoff.data.reader import ReadOptions
from novikoff.distributed import DistributedLearner, worker_tasks
from novikoff.distributed.compatibility import prepare_model
from novikoff.distributed.coordinator import Plan, build_initial_model, run_rounds
from novikoff.distributed.dask_executor import DaskExecutor, connect
from novikoff.distributed.executor import LocalExecutor
from novikoff.distributed.shards import BatchShard, FileShard

SHARDS = 8
LONG = 4
ROUNDS = 5
TIMES, TRIES = 7, 40
PATIENCE = 60.0
DISTURBED = 0.1
"""Processors that other processes may use during a run that counts."""


def split_text(source: Path, folder: Path, count: int, times: int = 1) -> list[str]:
    """Split a text into `count` files of similar length, and repeat each part `times` times."""
    size, names = source.stat().st_size, []
    with open(source, "rb") as file:
        for k in range(count):
            names.append(str(folder / f"part-{k:03}.svm"))
            with open(names[-1], "wb") as part:
                while file.tell() < size * (k + 1) // count and (line := file.readline()):
                    part.write(line)
            if times > 1:
                Path(names[-1]).write_bytes(Path(names[-1]).read_bytes() * times)
    return names


# --- Throughput ---


def measure_throughput() -> None:
    """Compare text in long and in short shards, and compressed text."""
    with tempfile.TemporaryDirectory() as folder, connect(None, 1) as one, connect(None, 2) as two:
        names = split_text(Path(texts.path("rcv.svm")), Path(folder), SHARDS, LONG)
        compare_worker_counts("long text, Perceptron", Perceptron(), names, one, two)
        compare_worker_counts("long text, AdaGrad", SGD(), names, one, two)
        names = split_text(Path(texts.path("rcv.svm")), Path(folder), SHARDS)
        compare_worker_counts("short text, Perceptron", Perceptron(), names, one, two)
        compare_worker_counts("short text, AdaGrad", SGD(), names, one, two)
        for k, name in enumerate(names):
            names[k] = f"{name}.gz"
            Path(names[k]).write_bytes(gzip.compress(Path(name).read_bytes(), 1))
            Path(name).unlink()
        compare_worker_counts("gzip, Perceptron", Perceptron(), names, one, two)


def compare_worker_counts(title: str, learner: Any, names: list[str], one: Any, two: Any) -> None:
    """Measure pairs of runs; repeat those during which other processes used the machine."""
    pairs: list[tuple[float, float]] = []
    models, disturbed = set(), 0
    for times in range(TRIES + 1):
        seconds, others = [], 0.0
        wait_for_quiet(one, two)
        for client in (one, two):
            for name in names:
                Path(name).read_bytes()
            before, began = measure_other_load(one, two), time.perf_counter()
            done = DistributedLearner(learner, rounds=ROUNDS, client=client).fit(names)
            seconds.append(time.perf_counter() - began)
            others = max(others, (measure_other_load(one, two) - before) / seconds[-1])
            models.add(worker_tasks.serialize_model(done.model_))
        if times and others < DISTURBED:  # the first run loads machine code
            pairs.append((seconds[0], seconds[1]))
        disturbed += others >= DISTURBED
        if len(pairs) == TIMES:
            break
    assert len(models) == 1, "one worker and two gave different models"
    if not pairs:
        print(f"{title}: other processes used this machine all the time", flush=True)
        return
    ratios = [a / b for a, b in pairs]
    middle = [statistics.median(column) for column in zip(*pairs, strict=True)]
    print(
        f"{title}: 1 worker {middle[0]:.2f} s, 2 workers {middle[1]:.2f} s, {statistics.median(ratios):.2f} ×"
        f" ({min(ratios):.2f}–{max(ratios):.2f}); {done.ledger_.examples / middle[1]:,.0f} examples/s;"
        f" {len(pairs)} pairs, {disturbed} disturbed",
        flush=True,
    )


def wait_for_quiet(*clients: Any) -> None:
    """Wait for a second without other processes at work, at most PATIENCE seconds."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        before = measure_other_load(*clients)
        time.sleep(1.0)
        if measure_other_load(*clients) - before < DISTURBED:
            return


def measure_other_load(*clients: Any) -> float:
    """Return the processor seconds of other processes than these clusters, or 0 where Linux does not report them."""
    try:
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except OSError:
        return 0.0
    idle, waiting = ticks[3], ticks[4]
    own = sum(sum(client.run(time.process_time).values()) for client in clients) + time.process_time()
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK") - own


# --- Accuracy ---


def measure_accuracy() -> None:
    for title, split, around in (("a9a", _a9a, _return_learner), ("mnist", multiclass_data.mnist, Kesler)):
        try:
            X, y, X_test, y_test = split()
        except OSError as problem:
            print(f"{title}: not available ({problem})")
            continue
        for learner in (Perceptron, lambda **s: Perceptron(average=True, **s), SGD, AROW):
            for rounds in (1, 3, 10):
                alone = 100 * around(learner(passes=rounds, shuffle=False)).fit(X, y).score(X_test, y_test)
                found = []
                for shards in (2, 4, 8):
                    cuts = np.linspace(0, len(y), shards + 1).astype(int)
                    pairs = [(X[a:b], y[a:b]) for a, b in pairwise(cuts)]
                    done = DistributedLearner(around(learner()), rounds=rounds).fit(pairs)
                    found.append(100 * done.score(X_test, y_test) - alone)
                shown = "  ".join(f"{difference:+.2f}" for difference in found)
                print(f"{title:<6} {learner()!r:<26} {rounds:>2} passes: {alone:.2f}, 2/4/8 shards {shown}", flush=True)


def _a9a() -> tuple[Any, Any, Any, Any]:
    from sklearn.datasets import load_svmlight_file

    files = [str(multiclass_data.FOLDER / f"a9a.{part}.svm.gz") for part in ("train", "test")]
    (X, y), (X_test, y_test) = (load_svmlight_file(file, n_features=123, dtype=np.float32) for file in files)
    return X, y, X_test, y_test


def _return_learner(learner: Any) -> Any:
    return learner


# --- Costs of the parts of a round ---


def measure_best_time(function: Callable[..., Any], *arguments: Any, times: int = 3) -> tuple[float, Any]:
    best, found = float("inf"), None
    for _ in range(times):
        began = time.perf_counter()
        found = function(*arguments)
        best = min(best, time.perf_counter() - began)
    return best, found


def measure_costs() -> None:
    """Print the time of a non-zero, of a weight in each kind of task, and of the scheduler in a task."""
    with tempfile.TemporaryDirectory() as folder:
        names = split_text(Path(texts.path("rcv-50k.svm")), Path(folder), 4)
        for learner in (Perceptron(), SGD()):
            plan = Plan(prepare_model(learner, 1), 1, "uniform")
            files = [FileShard(name, ReadOptions()) for name in names]
            start = build_initial_model(LocalExecutor(), files, plan)
            seconds, _ = measure_best_time(worker_tasks.train_shard, files[0], None, start, False)
            print(f"{learner!r}: {seconds / (50_000 / 4 * 75) * 1e9:.1f} ns a non-zero from text, one thread")
    for bits in (18, 20, 22, 24):
        _weights(bits)
    _scheduler()


def _weights(bits: int) -> None:
    """Measure with all weights changed, the worst case for message sizes."""
    d, rng = 1 << bits, np.random.default_rng(0)
    row = rng.standard_normal((1, d)).astype(np.float32)
    plan = Plan(prepare_model(Perceptron(), 1), 1, "uniform", classes=[0, 1])
    shards, data = [BatchShard("a"), BatchShard("b")], [[(row, [0])], [(row + 1, [0])]]
    start = build_initial_model(LocalExecutor(data), shards, plan)
    learn, end = measure_best_time(worker_tasks.train_shard, shards[0], data[0], start, False)
    gather, part = measure_best_time(worker_tasks.sum_deltas, start, [end] * 8, [0.125] * 8)
    add, whole = measure_best_time(worker_tasks.add_partials, [part] * 8)
    mix, message = measure_best_time(worker_tasks.apply_mixture, start, whole)
    back, _ = measure_best_time(lambda: worker_tasks.serialize_model(worker_tasks.deserialize_model(message, start)))
    shown = ", ".join(
        f"{name} {seconds / d * 1e9:.1f}"
        for name, seconds in (("learn", learn), ("gather 8", gather), ("add 8", add), ("mix", mix), ("client", back))
    )
    print(f"d = 2^{bits}: ns a weight: {shown}; bytes sent {len(end.model) / d:.1f} and {len(part) / d:.1f} a weight")


def _scheduler() -> None:
    with connect(None, 2) as client:
        pairs = [[([[1.0, 0.0], [0.0, 1.0]], [1, 0])] for _ in range(200)]
        shards = [BatchShard(str(k)) for k in range(200)]
        engine = DaskExecutor(client, pairs)
        plan = Plan(prepare_model(Perceptron(), 3), 3, "uniform")
        seconds = []
        run_rounds(engine, shards, plan, None, lambda *_: seconds.append(time.perf_counter()))
        tasks_a_round = 200 + 25 + 25 + 4 + 1 + 1  # learn, notify, add on two levels, mix, share
        print(f"{min(np.diff(seconds)) / tasks_a_round * 1e3:.2f} ms a task of {tasks_a_round} on two workers")


if __name__ == "__main__":
    for what in sys.argv[1:] or ("throughput", "accuracy", "model"):
        {"throughput": measure_throughput, "accuracy": measure_accuracy, "model": measure_costs}[what]()
