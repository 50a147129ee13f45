"""Any-time bounds: rounded outward against exact rationals, and never broken more often than stated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff.errors import InputError
from novikoff.theory import binomial
from novikoff.theory.streams import anytime_bounds, change_detection
from novikoff.theory.streams.anytime_bounds import LOWER_GRID, PAIRED_GRID, UPPER_GRID

DELTA = Fraction(1, 20)
STREAMS, LENGTH = 2500, 300
"""For each of four kinds of streams: 10,000 streams, looked at after every example."""
MAX_VIOLATIONS = 0.05 + 4.0 * np.sqrt(0.05 * 0.95 / STREAMS)
"""Four standard deviations above δ: a true rate of δ exceeds this with probability below 10⁻⁴."""


def exact_upper(p: Fraction, wrong: int, seen: int) -> Fraction:
    return sum(
        (
            Fraction(w) * (1 - Fraction(v)) ** wrong / (1 - p * Fraction(v)) ** seen
            for v, w in UPPER_GRID
            if p * Fraction(v) < 1
        ),
        Fraction(0),
    )


def exact_lower(p: Fraction, wrong: int, seen: int) -> Fraction:
    return sum(Fraction(w) * (1 + Fraction(v)) ** wrong / (1 + p * Fraction(v)) ** seen for v, w in LOWER_GRID)


def exact_paired(d: Fraction, plus: int, minus: int, seen: int) -> Fraction:
    return sum(
        Fraction(w) * (1 + Fraction(v)) ** plus * (1 - Fraction(v)) ** minus / (1 + Fraction(v) * d) ** seen
        for v, w in PAIRED_GRID
    )


@given(st.integers(0, 12), st.integers(0, 30))
@settings(max_examples=40)
def test_ends_are_rounded_outward_and_tight(wrong: int, right: int) -> None:
    seen = wrong + right
    high = anytime_bounds.upper(mistakes=wrong, examples=seen, delta=DELTA)
    low = anytime_bounds.lower(mistakes=wrong, examples=seen, delta=DELTA)
    if high < 1.0:
        assert exact_upper(Fraction(high), wrong, seen) >= 1 / DELTA
        assert exact_upper(Fraction(high) * (1 - Fraction(1, 10**9)), wrong, seen) < 1 / DELTA
    if low > 0.0:
        assert exact_lower(Fraction(low), wrong, seen) >= 1 / DELTA
        assert exact_lower(Fraction(low) * (1 + Fraction(1, 10**9)), wrong, seen) < 1 / DELTA
    assert low <= (wrong / seen if seen else 0.5) <= high


@given(st.integers(0, 10), st.integers(0, 10), st.integers(0, 10))
@settings(max_examples=25)
def test_ends_of_a_difference_are_rounded_outward(plus: int, minus: int, equal: int) -> None:
    seen = plus + minus + equal
    low, high = anytime_bounds.difference_interval(
        only_first_wrong=plus, only_second_wrong=minus, examples=seen, delta=DELTA
    )
    for end in (low, high):
        if abs(end) < 1.0:
            assert exact_paired(Fraction(end), plus, minus, seen) >= 1 / DELTA
            inside = Fraction(end) + (Fraction(plus - minus, max(seen, 1)) - Fraction(end)) / 10**9
            assert exact_paired(inside, plus, minus, seen) < 1 / DELTA
    assert low <= (plus - minus) / max(seen, 1) <= high


def test_weights_of_the_mixtures_add_up_to_at_most_one() -> None:
    for grid in (UPPER_GRID, LOWER_GRID, PAIRED_GRID):
        assert sum(Fraction(w) for _, w in grid) <= 1
    assert all(abs(v) < 1 for v, _ in PAIRED_GRID)


def test_the_bound_is_nearly_that_for_one_fixed_number_of_examples() -> None:
    found = anytime_bounds.upper(mistakes=100, examples=10_000, delta=0.05)
    assert binomial.upper(mistakes=100, examples=10_000, delta=0.05) < found < 0.0139


def test_millions_of_examples_keep_their_digits() -> None:
    low, high = anytime_bounds.interval(mistakes=10**8, examples=10**9, delta=0.05)
    assert 0.0999 < low < 0.1 < high < 0.1001


def bet_constant(rng: np.random.Generator, past: np.ndarray) -> np.ndarray:
    return np.full(len(past), 0.1)


def learning_curve(rng: np.random.Generator, past: np.ndarray) -> np.ndarray:
    return np.full(len(past), 0.02 + 0.4 / np.sqrt(past.shape[1] + 1.0))


def drift(rng: np.random.Generator, past: np.ndarray) -> np.ndarray:
    return np.full(len(past), 0.02 if past.shape[1] % 100 < 50 else 0.5)


def adversary(rng: np.random.Generator, past: np.ndarray) -> np.ndarray:
    """Raise the error probability while the stream looks good, to push the mean above the bound."""
    observed = past.mean(axis=1) if past.shape[1] else np.zeros(len(past))
    return np.where(observed < 0.1, 0.35, 0.01)


def simulate(kind, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return wrong predictions and their conditional probabilities."""
    rng = np.random.default_rng(seed)
    wrong, probabilities = np.zeros((STREAMS, LENGTH), bool), np.zeros((STREAMS, LENGTH))
    for t in range(LENGTH):
        probabilities[:, t] = kind(rng, wrong[:, :t])
        wrong[:, t] = rng.random(STREAMS) < probabilities[:, t]
    return wrong, probabilities


def mixture(grid, S, t, mean, sign) -> np.ndarray:
    """Return the mixture at the true mean, up to e⁵⁰; where the bound is violated it is at least 1/δ."""
    total = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for v, w in grid:
            logs = np.where(S > 0, S * np.log1p(sign * v), 0.0) - t * np.log1p(sign * mean * v)
            total = total + w * np.exp(np.minimum(logs, 50.0))
    return total


@pytest.mark.parametrize("kind", [bet_constant, learning_curve, drift, adversary])
def test_the_mean_error_leaves_the_interval_no_more_often_than_stated(kind) -> None:
    wrong, probabilities = simulate(kind, 1)
    t = np.arange(1, LENGTH + 1)
    S, mean = wrong.cumsum(axis=1), probabilities.cumsum(axis=1) / t
    for grid, sign in ((UPPER_GRID, -1.0), (LOWER_GRID, 1.0)):
        broken = (mixture(grid, S, t, mean, sign) >= 20.0).any(axis=1)
        assert broken.mean() <= MAX_VIOLATIONS


def test_simulated_violations_are_those_of_the_bound_itself() -> None:
    """The simulation compares mixtures, which is faster; the bound itself gives the same result."""
    wrong, probabilities = simulate(adversary, 2)
    for row in range(5):
        S, mean = int(wrong[row].sum()), float(probabilities[row].mean())
        at_truth = mixture(UPPER_GRID, np.array([S]), LENGTH, np.array([mean]), -1.0)[0]
        assert (mean > anytime_bounds.upper(mistakes=S, examples=LENGTH, delta=DELTA)) == (at_truth >= 20.0)


def test_a_fixed_sample_bound_fails_when_it_is_looked_at_all_the_time() -> None:
    """Clopper and Pearson at 95 % after every example: this shows why an any-time bound is needed."""
    wrong, _ = simulate(bet_constant, 3)
    ends = {}
    broken = 0
    for row in wrong[:60]:
        S = row.cumsum()
        for t in range(20, LENGTH, 20):
            key = int(S[t - 1]), t
            if key not in ends:
                ends[key] = binomial.upper(mistakes=key[0], examples=t, delta=0.05)
            if ends[key] < 0.1:
                broken += 1
                break
    assert broken / 60 > 0.1


@pytest.mark.parametrize("gap", [0.0, 0.08])
def test_the_difference_of_two_predictors_stays_in_its_interval(gap: float) -> None:
    rng = np.random.default_rng(4)
    first, second = rng.random((STREAMS, LENGTH)) < 0.15 + gap, rng.random((STREAMS, LENGTH)) < 0.15
    plus, minus = (first & ~second).cumsum(axis=1), (second & ~first).cumsum(axis=1)
    t = np.arange(1, LENGTH + 1)
    total = 0.0
    for v, w in PAIRED_GRID:
        logs = plus * np.log1p(v) + minus * np.log1p(-v) - t * np.log1p(v * gap)
        total = total + w * np.exp(np.minimum(logs, 50.0))
    broken = (total >= 20.0).any(axis=1)
    assert broken.mean() <= MAX_VIOLATIONS


def test_the_detector_keeps_its_mean_time_to_a_false_alarm() -> None:
    """At the tolerated rate, in 400 streams: the mean of the times to the first alarm is at least the stated 200. Runs
    without an alarm within 1,500 steps count as 1,500, which only lowers the mean."""
    rng = np.random.default_rng(5)
    start = change_detection.start_detector(tolerated_rate=0.1, mean_time_to_false_alarm=200.0)
    values, bets = np.zeros((400, len(start.bets))), np.array(start.bets)
    times = np.full(400, 1500.0)
    for t in range(1500):
        x = rng.random((400, 1)) < 0.1
        values = (1.0 + values) * (1.0 + bets * (x - 0.1))
        alarm = (values.mean(axis=1) >= 200.0) & (times == 1500.0)
        times[alarm] = t + 1
    assert times.mean() >= 200.0


def test_a_jump_of_the_error_rate_raises_the_alarm_soon() -> None:
    rng = np.random.default_rng(6)
    delays = []
    for _ in range(50):
        detector = change_detection.start_detector(tolerated_rate=0.1, mean_time_to_false_alarm=1000.0)
        steps = 0
        while not detector.is_alarming:
            detector = change_detection.update_detector(detector, wrong=bool(rng.random() < 0.4))
            steps += 1
        delays.append(steps)
    assert np.mean(delays) < 60


def test_bad_input_is_refused() -> None:
    for arguments in ({"mistakes": 5, "examples": 3}, {"mistakes": -1, "examples": 3}):
        with pytest.raises(InputError):
            anytime_bounds.upper(**arguments, delta=0.05)
    with pytest.raises(InputError):
        anytime_bounds.lower(mistakes=0, examples=3, delta=0.0)
    with pytest.raises(InputError):
        anytime_bounds.difference_interval(only_first_wrong=3, only_second_wrong=2, examples=4, delta=0.05)
    for rate, time in ((0.0, 10.0), (1.0, 10.0), (0.1, 0.5)):
        with pytest.raises(InputError):
            change_detection.start_detector(tolerated_rate=rate, mean_time_to_false_alarm=time)
