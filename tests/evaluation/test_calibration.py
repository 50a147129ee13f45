"""Online calibration follows its definition, keeps its regret bound, and is the same when saved and compiled."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff.evaluation.calibration import (
    CURVATURE,
    FORGETTING,
    MAX_DISTANCE,
    MAX_SCORE,
    SQUARES,
    WEIGHT,
    bound_regret,
    build_calibration,
    predict_probability,
    update_calibration,
)
from novikoff.evaluation.probabilities import expected_calibration_error, reliability_bins

SCORES = st.floats(-1e3, 1e3).filter(lambda s: s == 0.0 or abs(s) > 1e-9)
STREAMS = st.lists(st.tuples(SCORES, st.integers(0, 1), st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=60)


class SlowCalibration:
    """The definition with matrices; sums with forgetting are made from the start each time."""

    def __init__(self):
        self.theta, self.past, self.total = np.array([0.0, 1.0, 0.0]), [], 0.0

    def forget(self, start, terms):
        found = start
        for kept, term in terms:
            found = kept * found + term
        return found

    def features(self, score):
        squares = self.forget(0.0, [(kept, w * s * s) for kept, _, w, s in self.past])
        weights = self.forget(0.0, [(kept, w) for kept, _, w, _ in self.past])
        z = np.clip(score / math.sqrt(squares / weights) if squares > 0.0 else 0.0, -MAX_SCORE, MAX_SCORE)
        return np.array([1.0, z, np.sign(z) * np.log(1.0 + abs(z))])

    def predict(self, score):
        return 1.0 / (1.0 + np.exp(-self.theta @ self.features(score)))

    def update(self, score, label, weight):
        x, p = self.features(score), self.predict(score)
        kept = (self.total + 1.0) / (self.total + 1.0 + FORGETTING * weight)
        self.past.append((kept, weight * CURVATURE * p * (1.0 - p) * np.outer(x, x), weight, score))
        self.total += weight
        A = self.forget(np.eye(3), [(kept, (1.0 - kept) * np.eye(3) + term) for kept, term, _, _ in self.past])
        self.theta = self.theta - np.linalg.solve(A, weight * (p - label) * x)


@given(STREAMS)
@settings(deadline=None)
def test_probabilities_are_those_of_the_definition(stream):
    state, slow = build_calibration(), SlowCalibration()
    for score, label, weight in stream:
        assert predict_probability(state, score) == pytest.approx(slow.predict(score), rel=1e-7, abs=1e-12)
        update_calibration(state, score, label, weight)
        slow.update(score, label, weight)


def log_loss(log_odds, label):
    return math.log1p(math.exp(-abs(log_odds))) + max(0.0, log_odds if label == 0 else -log_odds)


@given(STREAMS, st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
@settings(deadline=None, max_examples=300)
def test_the_regret_bound_holds_for_parameters_within_its_distance(stream, intercept, slope, log_slope):
    state, mine, theirs, distance = build_calibration(), 0.0, 0.0, 0.0
    for score, label, weight in stream:
        rms = math.sqrt(state[SQUARES] / state[WEIGHT]) if state[SQUARES] > 1e-300 else math.inf
        z = max(-MAX_SCORE, min(MAX_SCORE, score / rms))
        x = np.array([1.0, z, math.copysign(math.log1p(abs(z)), z)])
        predicted, fixed = float(state[:3] @ x), float(np.array([intercept, slope, log_slope]) @ x)
        mine += weight * log_loss(predicted, label)
        theirs += weight * log_loss(fixed, label)
        distance = max(distance, abs(predicted - fixed))
        update_calibration(state, score, label, weight)
        if distance <= MAX_DISTANCE:
            assert mine - theirs <= bound_regret(state, intercept, slope, log_slope) + 1e-9 * (1.0 + mine)


@given(STREAMS, st.integers(0, 60))
def test_a_saved_state_continues_to_the_same_bytes(stream, cut):
    whole, part = build_calibration(), build_calibration()
    for k, example in enumerate(stream):
        update_calibration(whole, *example)
        if k == cut:
            part = np.frombuffer(part.tobytes()).copy()
        update_calibration(part, *example)
    assert whole.tobytes() == part.tobytes()


def test_compiled_functions_give_the_same_bytes():
    update, predict = (numba.njit(f, error_model="numpy") for f in (update_calibration, predict_probability))
    rng = np.random.default_rng(0)
    plain, compiled = build_calibration(), build_calibration()
    for score, label in zip(rng.normal(size=500).tolist(), (rng.random(500) < 0.3).astype(int).tolist(), strict=True):
        assert predict(compiled, score) == predict_probability(plain, score)
        update_calibration(plain, score, label, 1.0)
        update(compiled, score, label, 1.0)
    assert plain.tobytes() == compiled.tobytes()


def test_probabilities_do_not_depend_on_the_unit_of_the_scores():
    rng = np.random.default_rng(1)
    one, other = build_calibration(), build_calibration()
    for score, label in zip(rng.normal(size=200).tolist(), rng.integers(0, 2, 200).tolist(), strict=True):
        update_calibration(one, score, label, 1.0)
        update_calibration(other, 1024.0 * score, label, 1.0)
    assert predict_probability(one, 0.5) == predict_probability(other, 512.0)


@pytest.mark.parametrize(("intercept", "slope"), [(-2.0, 3.0), (0.5, 0.3), (0.0, 0.0), (1.0, 6.0)])
def test_probabilities_become_calibrated(intercept, slope):
    """Labels follow a logistic model. With 15 bins of 1000 examples the error of a perfect calibration is about 0.01:
    the mean of |observed − p| is at most √(2/π)·0.5/√1000 = 0.0126 in a bin. The seed is fixed."""
    rng, state, found = np.random.default_rng(2), build_calibration(), []
    scores = rng.normal(size=20_000)
    labels = rng.random(20_000) < 1.0 / (1.0 + np.exp(-intercept - slope * scores))
    for score, label in zip(scores.tolist(), labels.tolist(), strict=True):
        found.append(predict_probability(state, score))
        update_calibration(state, score, int(label), 1.0)
    p, y = np.array(found[5000:]), labels[5000:]
    assert expected_calibration_error(reliability_bins(np.sort(p[y]), np.sort(p[~y]))) < 0.02


@pytest.mark.parametrize("score", [0.0, 5e-324, 1e-300, 1e150, 1e300, -1e300])
def test_extreme_scores_give_probabilities(score):
    state = build_calibration()
    for label in [1, 0, 1, 1]:
        assert 0.0 <= predict_probability(state, score) <= 1.0
        update_calibration(state, score, label, 1.0)
    assert 0.0 <= predict_probability(state, -score) <= 1.0
    assert np.isfinite(state[:SQUARES]).all()
