"""Learn and predict with one model in several threads, for tests/base/test_thread_safety.py.

`python -m tests.helpers.thread_safety_check SECONDS NAME …` checks the models of these names.

Checked: no exception; all scores of one batch of equal rows are equal (a model that changes within the call would give
others); each prediction is a label that was learned; and the model that results is, byte for byte, that of a serial
order of the same calls. The order is known where all examples are the same, so that all calls commute.
"""

from __future__ import annotations

import copy
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from novikoff import AdaBoost, Auto, Bagging, OnlineBagging, OnlineBoosting, OnlineToBatch, Perceptron, RandomForest
from novikoff.model_file import to_bytes
from tests.helpers import learners, multiclass_schemes

FEATURES = 6
ROWS = 40
MANY_LABELS = ("other:auto", "other:online-bagging", "other:online-boosting", "learner:kernel-perceptron")
FIT_ONLY = ("other:adaboost", "other:bagging", "other:random-forest")


def make(name: str) -> Any:
    kind, _, own = name.partition(":")
    if kind == "learner":
        return learners.make_learner(own)
    if kind == "scheme":
        return multiclass_schemes.make_scheme(own)
    return {
        "auto": lambda: Auto(shuffle=False),
        "online-to-batch": lambda: OnlineToBatch(Perceptron(shuffle=False)),
        "online-bagging": lambda: OnlineBagging(Perceptron(shuffle=False), n_estimators=3),
        "online-boosting": lambda: OnlineBoosting(Perceptron(shuffle=False), n_estimators=3),
        "adaboost": lambda: AdaBoost(n_estimators=3),
        "bagging": lambda: Bagging(Perceptron(), n_estimators=3),
        "random-forest": lambda: RandomForest(n_estimators=3),
    }[own]()


def data(name: str, seed: int, rows: int = ROWS) -> tuple[Any, list[Any]]:
    kind, _, own = name.partition(":")
    if kind == "scheme":
        X, y = multiclass_schemes.draw_labelled(own, seed, rows, columns=FEATURES)
        return X, list(y)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, FEATURES)) * (rng.random((rows, FEATURES)) < 0.8)
    X[:, 0] += 0.1
    labels = 3 if name in MANY_LABELS else 2
    y = [("no", "yes", "new")[int(value > 0) + int(value > 1.0) * (labels - 2)] for value in X[:, 1]]
    y[:2] = ["no", "yes"]
    return (learners.clip_to_range(own, X) if kind == "learner" else X), y


def yield_thread(turn: int) -> None:
    """Let other threads run at times: two threads that only learn would make them wait."""
    if turn % 50 == 49:
        time.sleep(0.0002)


def as_dict(x: Any, names: int) -> dict[int, float]:
    return {int(k): float(x[k]) for k in np.flatnonzero(x) if k < names} or {0: 1.0}


class Check:
    """One model, the threads that use it, and what went wrong."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name, self.seconds = name, seconds
        self.model = make(name)
        self.problems: list[str] = []
        self.stopped = threading.Event()
        self.X, self.y = data(name, 0)
        self.grows = name not in FIT_ONLY and (
            not hasattr(self.model, "_spec") or self.model._spec().fixed_width_reason is None
        )
        self.has_one = hasattr(self.model, "learn_one")
        self.model.fit(self.X, self.y)

    def repeat(self, step: Callable[[int], None]) -> threading.Thread:
        """Return a thread that takes this step again and again, at least once."""

        def work() -> None:
            turn = 0
            try:
                while turn == 0 or not self.stopped.is_set():
                    step(turn)
                    turn += 1
            except BaseException as problem:
                import traceback

                self.problems.append(f"{step.__name__}: {problem!r}\n{traceback.format_exc()}")

        return threading.Thread(target=work, name=step.__name__)

    # --- Steps ---

    def predict_batch(self, turn: int) -> None:
        same = np.repeat(self.X[turn % ROWS][None], 400, axis=0)
        width = self.model.n_features_in_
        if same.shape[1] < width:
            same = np.hstack([same, np.zeros((400, width - same.shape[1]))])
        try:
            scores = self.model.decision_function(same) if hasattr(self.model, "decision_function") else None
            chosen = self.model.predict(same)
        except ValueError as problem:  # features were added between reading their number and the call
            if "feature" not in str(problem):
                raise
            return
        if scores is not None and not (scores == scores[:1]).all():
            raise AssertionError("scores of equal rows differ within one call")
        if not all(str(label) == str(chosen[0]) for label in chosen):
            raise AssertionError("labels of equal rows differ within one call")

    def predict_one(self, turn: int) -> None:
        x = as_dict(self.X[turn % ROWS], FEATURES)
        self.model.predict_one(x)
        self.model.score_one(x)

    def predict_array(self, turn: int) -> None:
        try:
            self.model.predict_one(self.X[turn % ROWS])
        except ValueError as problem:
            if "feature" not in str(problem):
                raise

    def read_model(self, turn: int) -> None:
        copy.deepcopy(self.model)
        to_bytes(self.model)
        time.sleep(0.002)

    def learn_dict(self, turn: int) -> None:
        at = turn % ROWS
        x = as_dict(self.X[at], FEATURES)
        if self.grows and turn % 7 == 0:
            x[FEATURES + turn // 7 % 60] = 1.0
        self.model.learn_one(x, self.y[at])

    def learn_batch(self, turn: int) -> None:
        width = self.model.n_features_in_
        X = np.hstack([self.X, np.zeros((ROWS, width - FEATURES))]) if width > FEATURES else self.X
        try:
            self.model.partial_fit(X, self.y)
        except ValueError as problem:
            if "feature" not in str(problem):
                raise

    def learn_all(self, turn: int) -> None:
        self.model.fit(self.X, self.y)

    # --- Checks ---

    def run(self) -> None:
        """Learn and predict anything at once."""
        steps: list[Any] = [self.predict_batch, self.read_model]
        if self.has_one:
            steps += [self.predict_one, self.predict_array, self.learn_dict, self.learn_dict]
        steps.append(self.learn_batch if hasattr(self.model, "partial_fit") else self.learn_all)
        self._run_together([self.repeat(step) for step in steps])

    def run_same(self) -> None:
        """Learn one example over and over, in several ways at once: the result is that of as many in a row."""
        if not self.has_one:
            return
        counts = [0, 0, 0]
        row, label = self.X[1].copy(), self.y[1]
        example = as_dict(row, FEATURES)
        self.model = make(self.name).fit(self.X, self.y)
        serial = copy.deepcopy(self.model)

        def one_dict(turn: int) -> None:
            self.model.learn_one(example, label)
            counts[0] += 1
            yield_thread(turn)

        def one_array(turn: int) -> None:
            self.model.learn_one(row, label)
            counts[1] += 1
            yield_thread(turn)

        def batch(turn: int) -> None:
            self.model.partial_fit(row[None], [label])
            counts[2] += 1
            time.sleep(0.001)

        self._run_together([self.repeat(step) for step in (one_dict, one_array, batch, self.predict_batch)])
        for _ in range(sum(counts)):
            serial.learn_one(row, label)
        if to_bytes(self.model) != to_bytes(serial):
            self.problems.append(f"the model is not that of {counts} examples in a row")

    def run_streams(self) -> None:
        """Learn two streams of one feature each in two threads; each weight must be that of its own stream."""
        if not isinstance(self.model, Perceptron) or self.model.average:
            return
        make_one = lambda: make(self.name).set_params(fit_intercept=False)  # noqa: E731
        streams = [[({feature: 1.0 + k % 3}, k * k % 5 < 2) for k in range(4000)] for feature in "ab"]
        model = make_one()

        def learn(stream: Any) -> None:
            for x, y in stream:
                model.learn_one(x, y)

        threads = [threading.Thread(target=learn, args=(stream,)) for stream in streams]
        _run(threads)
        for feature, stream in zip("ab", streams, strict=True):
            alone = make_one()
            for x, y in stream:
                alone.learn_one(x, y)
            if model.classes_.tolist() == alone.classes_.tolist() and model.score_one([feature]) != alone.score_one(
                [feature]
            ):
                self.problems.append(f"feature {feature!r} has the weight of another stream")

    def _run_together(self, threads: list[threading.Thread]) -> None:
        self.stopped.clear()
        timer = threading.Timer(self.seconds, self.stopped.set)
        timer.start()
        _run(threads)
        timer.cancel()


def _run(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> int:
    warnings.simplefilter("ignore")
    sys.setswitchinterval(1e-5)
    seconds, names = float(sys.argv[1]), sys.argv[2:]
    bad = 0
    for name in names:
        check = Check(name, seconds)
        for part in (check.run, check.run_same, check.run_streams):
            part()
        for problem in check.problems:
            print(f"{name}: {problem}")
        bad += bool(check.problems)
    return bad


if __name__ == "__main__":
    sys.exit(main())
