"""Error guarantees on many streams of known distributions: how often the true error exceeds the bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from novikoff import Elimination, Halving, InputError, Rectangle
from tests.helpers.known_distributions import (
    DISTRIBUTIONS,
    METHODS,
    STRETCH_SETTINGS,
    Distribution,
    max_failures,
    run_trials,
    wrap_learner,
)

BOTH = {"classes": [-1, 1]}


CASES = [
    pytest.param(world, method, count, id=f"{method}-{world}-{count}")
    for world in DISTRIBUTIONS
    for method in METHODS
    if method != "next-stretch" or world in STRETCH_SETTINGS
    for count in (60, 400)
]


def failures(name: str, method: str, count: int, runs: int) -> tuple[int, int]:
    """How often the true error was above what was promised, and how often something was."""
    world, learner = DISTRIBUTIONS[name]
    more = STRETCH_SETTINGS[name] if method == "next-stretch" else {}
    how = {**METHODS[method], **more}
    error, promised, _ = run_trials(world, lambda _: wrap_learner(learner, method, **how), runs, count, 7)
    is_bounded = ~np.isnan(promised)
    return int((error[is_bounded] > promised[is_bounded]).sum()), int(is_bounded.sum())


@pytest.mark.slow
@pytest.mark.parametrize(("name", "method", "count"), CASES)
def test_guarantees_hold_with_the_stated_confidence(name: str, method: str, count: int) -> None:
    """2,500 streams: a true guarantee fails this test with probability 1e-6 at most."""
    failed, _ = failures(name, method, count, 2500)
    assert failed <= max_failures(2500, METHODS[method]["delta"])


@pytest.mark.parametrize("method", METHODS)
def test_guarantees_hold_on_some_streams(method: str) -> None:
    """The same, small: 120 streams."""
    failed, is_bounded = failures("rare", method, 200, 120)
    assert is_bounded == 120
    assert failed <= max_failures(120, METHODS[method]["delta"])


def test_a_bound_that_is_too_tight_fails_the_test() -> None:
    """The trial itself is tried: half the bound of the longest survivor is broken too often on noisy labels, and so is
    ε after tests of half the length."""
    world, learner = DISTRIBUTIONS["noisy corners"]
    error, promised, _ = run_trials(world, lambda _: wrap_learner(learner, "longest-survivor", delta=0.2), 200, 100, 3)
    assert (error > promised / 2).sum() > max_failures(200, 0.2)
    world, learner = DISTRIBUTIONS["coin"]
    short = lambda _: wrap_learner(learner, "controlled-testing", epsilon=0.2, delta=0.2)  # noqa: E731 - half as long
    error, promised, _ = run_trials(world, short, 200, 400, 3)
    assert (error[~np.isnan(promised)] > 0.1).sum() > max_failures(200, 0.2)


def consistent_runs(make: Callable[[], Any], world: Distribution, count: int, runs: int) -> int:
    """How often the true error was above what a consistent hypothesis promises with δ = 0.2."""
    rng, failed = np.random.default_rng(5), 0
    for _ in range(runs):
        X, y = world.stream(rng, count)
        model = make().partial_fit(X, y, **BOTH)
        said = model._describe_guarantee(delta=0.2)
        assert said["consistent"]
        failed += said["bound"] is not None and world.error(model) > said["bound"]
    return failed


def boolean_distribution() -> Distribution:
    points = np.array([[i >> j & 1 for j in range(3)] for i in range(8)], float)
    return Distribution(points, np.full(8, 1 / 8), (points[:, 0] * (1 - points[:, 2]) > 0).astype(float))


def halving() -> Halving:
    return Halving(hypotheses="conjunctions", size=3)


@pytest.mark.parametrize(
    ("make", "runs"),
    [
        (Elimination, 60),
        *(pytest.param(kind, 2500, marks=pytest.mark.slow) for kind in (Elimination, halving, Rectangle)),
    ],
)
def test_consistent_hypotheses_keep_their_guarantee(make: Any, runs: int) -> None:
    world = boolean_distribution()
    if make is halving:  # a conjunction without negations
        world = world._replace(positive=(world.points[:, 0] * world.points[:, 1]).astype(float))
    assert consistent_runs(make, world, 40, runs) <= max_failures(runs, 0.2)


def test_a_sample_check_reports_the_needed_size() -> None:
    world = boolean_distribution()
    X, y = world.stream(np.random.default_rng(0), 100)
    model = Elimination().fit(X, y)
    few, many = model.sample_check(epsilon=0.1, delta=0.05), model.sample_check(epsilon=0.01, delta=0.05)
    assert (few.enough, few.needed, few.examples) == (True, 64, 100)  # (ln(27 + 1) + ln 20)/0.1
    assert not many.enough
    assert many.sentence == (
        "This hypothesis is consistent with 100 examples if any of its class is;"
        " for ε = 0.01 and δ = 0.05 it needs 633."
    )
    box = Rectangle().fit(X, y).sample_check(epsilon=0.5, delta=0.5)
    assert box.needed == math.ceil((8 * 6 * math.log2(26) + 4 * math.log2(4)) / 0.5)
    noisy = Elimination().partial_fit([[1.0, 0.0], [1.0, 0.0]], [1, 0], classes=[0, 1])
    assert not noisy.sample_check(epsilon=0.1, delta=0.05).consistent
    assert noisy._describe_guarantee()["bound"] is None
    with pytest.raises(InputError, match="ε, the error, must be a number between 0 and 1"):
        model.sample_check(epsilon=1.5, delta=0.05)


def test_a_majority_needs_twice_as_much() -> None:
    model = Halving(hypotheses="stumps", steps=9).partial_fit([[0.5, 0.5], [-0.5, 0.5]], [1, -1], classes=[-1, 1])
    assert model.hypotheses_left_ > 1
    needed = model.sample_check(epsilon=0.2, delta=0.05).needed
    assert needed == math.ceil((math.log(model.size_) + math.log(20)) / 0.1)


@pytest.mark.parametrize("runs", [300, pytest.param(4000, marks=pytest.mark.slow)])
def test_random_stopping_has_the_mean_error_of_the_run(runs: int) -> None:
    """E[err] = E[M]/m: the difference of the means is a few standard errors; five leave 6e-7 to chance."""
    for number, (world, learner) in enumerate(DISTRIBUTIONS.values()):
        error, promised, made = run_trials(
            world, lambda run, i=learner: wrap_learner(i, "random-stopping", random_state=run), runs, 40, number
        )
        difference = error - made
        assert abs(difference.mean()) <= 5.0 * difference.std() / math.sqrt(runs)
        assert (promised >= made).all()
