"""Fork while another thread uses a model, and check what the children do.

`python -m tests.helpers.fork_safety_check` ends with code 0 if every child behaves as expected. An alarm ends a child
that deadlocks: it waits for a lock whose owner thread does not exist after the fork.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import novikoff
from novikoff.base.model_lock import exclusive_lock, shared_lock
from novikoff.errors import TornModelError

SECONDS = 10
X = np.random.default_rng(0).normal(size=(60, 5))
Y = (X[:, 0] > 0).astype(int)
MODELS: list[Callable[[], Any]] = [
    novikoff.Perceptron,
    novikoff.AROW,
    novikoff.Auto,
    novikoff.VotedPerceptron,
    novikoff.KernelPerceptron,
    lambda: novikoff.Kesler(novikoff.Perceptron()),
    lambda: novikoff.OneVsAll(novikoff.AROW()),
    lambda: novikoff.MultilayerPerceptron(hidden_layer_sizes=(3,)),
    lambda: novikoff.OnlineToBatch(novikoff.Perceptron()),
    lambda: novikoff.OnlineBagging(novikoff.Perceptron(), n_estimators=3),
    lambda: novikoff.Bagging(n_estimators=3),
    novikoff.MulticlassSVM,
]


def run_in_child(use: Callable[[], None]) -> int:
    """Return the exit code of a child that does this, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(SECONDS)
        code = 1
        try:
            use()
            code = 0
        except BaseException as problem:  # the child must not return into the parent's stack
            print(f"child: {type(problem).__name__}: {problem}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def hold(enter: Callable[[], Any]) -> Callable[[], None]:
    """Have another thread enter this; return what makes it leave."""
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with enter():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    entered.wait()

    def end() -> None:
        leave.set()
        thread.join()

    return end


def use(model: Any) -> None:
    model.predict(X)
    pickle.loads(pickle.dumps(model))  # noqa: S301 - written in this line
    model.fit(X, Y)
    if hasattr(model, "learn_one"):
        for x, y in zip(X, Y, strict=True):
            model.learn_one(x, y)
            model.predict_one(x)


def is_torn(use: Callable[[], Any]) -> None:
    try:
        use()
    except TornModelError:
        return
    raise AssertionError("a model that is half updated was used")


def use_torn(model: Any) -> None:
    learn = model.partial_fit if hasattr(model, "partial_fit") else model.fit
    uses: list[Callable[[], Any]] = [lambda: model.predict(X), lambda: learn(X, Y), lambda: pickle.dumps(model)]
    if hasattr(model, "learn_one"):
        uses += [lambda: model.learn_one(X[0], 1), lambda: model.predict_one(X[0])]
    for one in uses:
        is_torn(one)


def check(name: str, make: Callable[[], Any]) -> list[str]:
    model = make().fit(X, Y)
    other, failures = make().fit(X, Y), []

    def expect(what: str, enter: Callable[[], Any], do: Callable[[], None]) -> None:
        end = hold(enter)
        try:
            code = run_in_child(do)
        finally:
            end()
        if code:
            failures.append(f"{name}, forked while another thread {what}: exit code {code}")

    inner = model._working_model() if hasattr(model, "_working_model") else model
    expect("predicts", lambda: shared_lock(inner), lambda: use(model))
    expect("learns it", lambda: exclusive_lock(inner), lambda: use_torn(model))
    expect("learns another model", lambda: exclusive_lock(inner), lambda: use(other))
    use(model)  # the parent is not affected
    return failures


def check_while_learning(rounds: int) -> list[str]:
    """Fork again and again while two threads learn and predict without a break."""
    model = novikoff.Perceptron().fit(X, Y)
    done = threading.Event()

    def work(use: Callable[[], Any]) -> None:
        while not done.is_set():
            use()

    threads = [
        threading.Thread(target=work, args=(u,)) for u in (lambda: model.partial_fit(X, Y), lambda: model.predict(X))
    ]
    for thread in threads:
        thread.start()

    def child() -> None:
        try:
            use(model)
        except TornModelError:
            return

    codes = [run_in_child(child) for _ in range(rounds)]
    done.set()
    for thread in threads:
        thread.join()
    return [f"forked while learning: exit codes {set(codes)}"] if any(codes) else []


def main() -> int:
    failures = [line for make in MODELS for line in check(repr(make()), make)]
    failures += check_while_learning(20)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
