"""The theorem of Auto holds: for random streams, and for adversaries that know the prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import Auto, Kesler
from novikoff.base.internals import require_state
from novikoff.core.column_scaling import N_ROWS
from novikoff.core.stacking import LEAST_WEIGHT, next_weights
from novikoff.core.updaters.stacked_learners import DRIFT_LOSS, FORECAST_LOSS, log_loss_of
from novikoff.linear.auto import BinaryAuto
from novikoff.theory import regret

pytestmark = pytest.mark.plain_python_coverage

SHARES = (0.0, 0.0003, 0.01, 0.1)
Example = tuple[dict[str, float], Any]


def learn_stream(model: Any, stream: Any) -> float:
    """Learn a stream, to which the label that is predicted is sent; return the log-loss of the probabilities that were
    predicted for labels that were known."""
    loss, label = 0.0, None
    try:
        while True:
            x, choose = stream.send(label) if label is not None else next(stream)
            predicted = model.predict_proba_one(x) if hasattr(model, "classes_") else {}
            label = choose(model.predict_one(x) if predicted else None)
            loss -= math.log(predicted.get(label, 1.0))
            model.learn_one(x, label)
    except StopIteration:
        return loss


def check_theorem(model: Any, loss: float) -> None:
    """Check both parts of the theorem: the log-loss of the mixture, and the mistakes."""
    state = require_state(getattr(model, "_model", model))
    stack, seen = state.updater.stack, int(state.updater.totals[N_ROWS])
    share = model.get_params()["fixed_share"] if not isinstance(model, Kesler) else model.estimator.fixed_share
    losses = [log_loss_of(stack, entry) for entry in (FORECAST_LOSS, DRIFT_LOSS)]
    assert loss <= min(losses) + regret.fixed_share(forecasts=2, share=share, examples=seen)
    [bound] = model.bounds()
    assert bound.name == "log-loss of a mixture"
    assert model.ledger_.mistakes <= bound.value(None)  # type: ignore[arg-type]


def from_list(examples: list[Example]) -> Iterator[Any]:
    for x, label in examples:
        yield x, lambda _, label=label: label


@pytest.mark.parametrize("share", SHARES)
@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.sampled_from("abc")), min_size=1, max_size=60),
    form=st.sampled_from(["two", "auto", "kesler"]),
)
def test_no_stream_breaks_the_bound(share: float, rows: list[tuple[int, int, str]], form: str) -> None:
    """New classes come as they come; with two classes the third is merged into the second."""
    model: Any = {
        "two": BinaryAuto(fixed_share=share),
        "auto": Auto(fixed_share=share),
        "kesler": Kesler(BinaryAuto(fixed_share=share)),
    }[form]
    examples = [({"p": float(a), "q": float(b)}, min(c, "b") if form == "two" else c) for a, b, c in rows]
    loss = learn_stream(model, from_list(examples))
    check_theorem(model, loss)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    classes=st.sampled_from([2, 3, 5]),
    share=st.sampled_from(SHARES),
    largest=st.sampled_from([1.0, 30.0, 1e6, 1e12]),
    bias=st.booleans(),
)
def test_weights_of_examples_neither_break_the_bound_nor_the_numbers(
    seed: int, classes: int, share: float, largest: float, bias: bool
) -> None:
    draw = np.random.default_rng(seed)
    X, y = draw.normal(size=(120, 3)), draw.integers(0, classes, 120)
    y[:classes] = range(classes)
    weights = np.where(draw.random(120) < 0.2, largest, draw.random(120))
    model = Auto(fixed_share=share, fit_intercept=bias, shuffle=False).fit(X, y, weights)
    for bound in model.bounds():  # Kesler states none where examples have weights
        assert model.ledger_.mistakes <= bound.value(None)  # type: ignore[arg-type]
    updater = require_state(model._model).updater
    arrays = (updater.weights, updater.sums, updater.statistics, updater.totals, updater.stack)
    assert all(np.isfinite(array).all() for array in arrays)
    assert np.isfinite(model.predict_proba(X)).all()


# --- Adversaries ---


def oppose(seed: int, rows: int, labels: str) -> Iterator[Any]:
    """Each label is one that is not predicted."""
    draw = np.random.default_rng(seed)
    for t in range(rows):
        x = {f"f{j}": float(v) for j, v in enumerate(draw.normal(size=3))}
        here = labels[:2] if t < 50 else labels

        def choose(predicted: Any, here: str = here) -> str:
            wrong = [label for label in here if label != predicted]
            return wrong[int(draw.integers(len(wrong)))]

        yield x, choose


def alternate(_: int, rows: int, labels: str) -> Iterator[Any]:
    for t in range(rows):
        yield {"one": 1.0}, lambda _, t=t: labels[t % len(labels)]


def turn_around(seed: int, rows: int, labels: str) -> Iterator[Any]:
    """Noise, with which the forecast from the scores is better; then the labels turn around again and again, and the
    other one is."""
    draw = np.random.default_rng(seed)
    for t in range(rows):
        x = draw.normal(size=3)
        y = int(np.argmax([x[0], 0.0, x[1]][: len(labels)]))
        noise = draw.random() < 0.25
        if 4 * t < rows:
            y = int(draw.integers(len(labels))) if noise else y
        else:
            y += t // 60 % 2
        yield {f"f{j}": float(v) for j, v in enumerate(x)}, lambda _, y=y: labels[y % len(labels)]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("adversary", [oppose, alternate, turn_around])
def test_an_adversary_does_not_break_the_bound(adversary: Callable[..., Any], labels: str, share: float) -> None:
    rows = 3000 if adversary is turn_around else 500
    model = Auto(fixed_share=share)
    loss = learn_stream(model, adversary(3, rows, labels))
    check_theorem(model, loss)
    if adversary is oppose:
        assert model.ledger_.mistakes >= rows - 1  # before both labels are known there is nothing to be the opposite of


@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_a_forecast_that_lost_its_weight_recovers_without_a_share(labels: str) -> None:
    """The drift forecast has a weight below the rounding of 1 after the first quarter, and nearly all at the end."""
    model, half = Auto(fixed_share=0.0), 2000
    learn_stream(model, (one for t, one in zip(range(half), turn_around(0, 4 * half, labels), strict=False)))
    early = model.forecast_weights_["drift"]
    learn_stream(model, turn_around(0, 3000, labels))
    assert 0.0 < early < (1e-6 if labels == "ab" else 2.0**-53)
    assert model.forecast_weights_["drift"] > 0.999


def test_weights_of_the_mixture_stay_above_zero() -> None:
    v, u = 0.5, 0.5
    for _ in range(1000):
        v, u = next_weights.function(v, u, 0.9999, 0.0001, 0.0)
    assert (v, u) == (1.0, LEAST_WEIGHT)
    for _ in range(1000):
        v, u = next_weights.function(v, u, 0.0001, 0.9999, 0.0)
    assert (v, u) == (LEAST_WEIGHT, 1.0)
