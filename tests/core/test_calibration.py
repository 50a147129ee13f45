"""Online calibration follows its definition, keeps its regret bound, and is the same when saved and compiled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff.core.calibration import (
    CURVATURE,
    FORGETTING,
    MAX_DISTANCE,
    MAX_LINEAR_SCORE,
    NEXT_ABOVE_HALF,
    NEXT_BELOW_HALF,
    RIDGE,
    SQUARES,
    WEIGHT,
    bound_regret,
    build_calibration,
    predict_agreeing_probability,
    update_calibration,
    update_softmax_calibration,
    write_class_probabilities,
    write_logistic_probabilities,
    write_probabilities,
)
from novikoff.evaluation.probabilities import expected_calibration_error, reliability_bins

pytestmark = pytest.mark.plain_python

SCORES = st.floats(-1e3, 1e3).filter(lambda s: s == 0.0 or abs(s) > 1e-9)
SIGNS, WEIGHTS = st.sampled_from([-1.0, 1.0]), st.sampled_from([0.5, 1.0, 3.0])
STREAMS = st.lists(st.tuples(SCORES, SIGNS, WEIGHTS), min_size=1, max_size=60)
CLASS_STREAMS = st.lists(
    st.tuples(st.lists(SCORES, min_size=4, max_size=4), st.integers(0, 3), WEIGHTS), min_size=1, max_size=40
)


def shorten(z):
    beyond = np.maximum(np.abs(z) - MAX_LINEAR_SCORE, 0.0)
    return np.where(np.abs(z) <= MAX_LINEAR_SCORE, z, np.sign(z) * (MAX_LINEAR_SCORE + np.log1p(beyond)))


class SlowCalibration:
    """The definition with matrices; sums with forgetting are made from the start each time."""

    def __init__(self):
        self.theta, self.past, self.total = np.array([0.0, 1.0, 0.0]), [], 0.0

    def forget(self, start, terms):
        found = start
        for kept, term in terms:
            found = kept * found + term
        return found

    def unit(self):
        squares = self.forget(0.0, [(kept, w * s) for kept, _, w, s in self.past])
        weights = self.forget(0.0, [(kept, w) for kept, _, w, _ in self.past])
        return math.sqrt(weights / squares) if squares > 0.0 else 0.0

    def learn(self, gradient, curvature, weight, mean_square):
        kept = (self.total + 1.0) / (self.total + 1.0 + FORGETTING * weight)
        self.past.append((kept, weight * CURVATURE * curvature, weight, mean_square))
        self.total += weight
        eye = RIDGE * np.eye(3)
        A = self.forget(eye, [(kept, (1.0 - kept) * eye + term) for kept, term, _, _ in self.past])
        self.theta = self.theta - np.linalg.solve(A, weight * gradient)

    # Two classes

    def features(self, score):
        z = float(shorten(np.array(score * self.unit())))
        return np.array([1.0, z, np.sign(z) * np.log(1.0 + abs(z))])

    def slopes(self):
        """The factors of z and of its logarithm with which probabilities grow with the score."""
        a, b = self.theta[1:]
        if a + b <= 0.0 or a + b / (1.0 + MAX_LINEAR_SCORE) <= 0.0:
            return max(a + math.log(2.0) * b, 2.0**-20), 0.0
        return a, b

    def predict(self, score):
        return 1.0 / (1.0 + np.exp(-np.array([self.theta[0], *self.slopes()]) @ self.features(score)))

    def update(self, score, sign, weight):
        x = self.features(score)
        with np.errstate(over="ignore"):
            p = 1.0 / (1.0 + np.exp(-self.theta @ x))
        self.learn((p - (sign > 0)) * x, p * (1.0 - p) * np.outer(x, x), weight, score * score)

    # Many classes

    def class_features(self, scores):
        z = shorten((scores - scores.mean()) * self.unit())
        return np.stack([np.zeros(len(z)), z, np.sign(z) * np.log1p(np.abs(z))])

    def predict_classes(self, scores):
        x = self.class_features(scores)
        a, b = self.slopes()
        odds = a * x[1] + b * x[2]
        e = np.exp(odds - odds.max())
        return e / e.sum()

    def update_classes(self, scores, y, weight):
        x, p = self.class_features(scores), self.predict_classes(scores)
        mean = x @ p
        curvature = (x * p) @ x.T - np.outer(mean, mean)
        self.learn(mean - x[:, y], curvature, weight, np.square(scores - scores.mean()).mean())


def predict(state, score):
    """Return the probability of the positive class, which a score of 0 predicts."""
    return predict_agreeing_probability(state, score, 1.0)


@given(STREAMS)
@settings(deadline=None)
def test_probabilities_are_those_of_the_definition(stream):
    state, slow = build_calibration(), SlowCalibration()
    for score, sign, weight in stream:
        wanted = (
            max(slow.predict(score), NEXT_ABOVE_HALF) if score >= 0.0 else min(slow.predict(score), NEXT_BELOW_HALF)
        )
        assert predict(state, score) == pytest.approx(wanted, rel=1e-6, abs=1e-10)
        update_calibration(state, score, sign, weight)
        slow.update(score, sign, weight)


@given(CLASS_STREAMS)
@settings(deadline=None)
def test_probabilities_of_classes_are_those_of_the_definition(stream):
    state, slow, scratch = build_calibration(), SlowCalibration(), np.zeros(4)
    for scores, y, weight in stream:
        given_scores, out = np.array([scores]), np.empty((1, 4))
        write_class_probabilities(state, given_scores, out)
        assert out[0] == pytest.approx(slow.predict_classes(given_scores[0]), rel=1e-5, abs=1e-9)
        assert out[0][given_scores[0].argmax()] == out[0].max()
        update_softmax_calibration(state, given_scores[0], 4, y, weight, scratch)
        slow.update_classes(given_scores[0], y, weight)


def features(state, score):
    """Return x of the definition."""
    rms = math.sqrt(state[SQUARES] / state[WEIGHT]) if state[SQUARES] > 1e-300 else math.inf
    z = float(shorten(np.array(score / rms)))
    return np.array([1.0, z, math.copysign(math.log1p(abs(z)), z)])


def log_loss(log_odds, sign):
    return math.log1p(math.exp(-abs(log_odds))) + max(0.0, -sign * log_odds)


@given(STREAMS, st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
@settings(deadline=None, max_examples=300)
def test_the_regret_bound_holds_for_parameters_within_its_distance(stream, intercept, slope, log_slope):
    state, mine, theirs, distance = build_calibration(), 0.0, 0.0, 0.0
    for score, sign, weight in stream:
        x = features(state, score)
        predicted, fixed = float(state[:3] @ x), float(np.array([intercept, slope, log_slope]) @ x)
        mine += weight * log_loss(predicted, sign)
        theirs += weight * log_loss(fixed, sign)
        distance = max(distance, abs(predicted - fixed))
        update_calibration(state, score, sign, weight)
        if distance <= MAX_DISTANCE:
            assert mine - theirs <= bound_regret(state, intercept, slope, log_slope) + 1e-9 * (1.0 + mine)


@given(STREAMS, SCORES, SCORES)
def test_probabilities_grow_with_the_score(stream, low, high):
    state, (low, high) = build_calibration(), sorted((low, high))
    for example in stream:
        update_calibration(state, *example)
    assert predict(state, low) <= predict(state, high)


@given(STREAMS, st.integers(0, 60))
def test_a_saved_state_continues_to_the_same_bytes(stream, cut):
    whole, part = build_calibration(), build_calibration()
    for k, example in enumerate(stream):
        update_calibration(whole, *example)
        if k == cut:
            part = np.frombuffer(part.tobytes()).copy()
        update_calibration(part, *example)
    assert whole.tobytes() == part.tobytes()


@given(STREAMS)
def test_one_score_has_the_probability_of_a_batch(stream):
    state = build_calibration()
    for example in stream:
        update_calibration(state, *example)
    scores = np.array([score for score, _, _ in stream])
    for tie in (-1.0, 1.0):
        out = np.empty(len(scores))
        write_probabilities(state, scores, tie, out)
        assert out.tolist() == [predict_agreeing_probability(state, score, tie) for score in scores.tolist()]
        predicted = (scores > 0.0) | ((scores == 0.0) & (tie > 0.0))
        assert ((out > 0.5) == predicted).all()


def test_the_logistic_function_gives_the_probabilities_of_log_odds():
    scores, out = np.array([-800.0, -1.0, 0.0, 1e-9, 2.0, 800.0]), np.empty(6)
    write_logistic_probabilities(scores, 1.0, out)
    assert out == pytest.approx(1.0 / (1.0 + np.exp(-np.clip(scores, -700.0, 700.0))), abs=1e-15)


def test_probabilities_do_not_depend_on_the_unit_of_the_scores():
    rng = np.random.default_rng(1)
    one, other = build_calibration(), build_calibration()
    for score, sign in zip(rng.normal(size=200).tolist(), rng.choice([-1.0, 1.0], 200).tolist(), strict=True):
        update_calibration(one, score, sign, 1.0)
        update_calibration(other, 1024.0 * score, sign, 1.0)
    assert predict(one, 0.5) == predict(other, 512.0)


@pytest.mark.parametrize(("intercept", "slope"), [(-2.0, 3.0), (0.5, 0.3), (0.0, 0.0), (1.0, 6.0)])
def test_probabilities_become_calibrated(intercept, slope):
    """Labels follow a logistic model. With 15 bins of 1000 examples the error of a perfect calibration is about 0.01:
    the mean of |observed − p| is at most √(2/π)·0.5/√1000 = 0.0126 in a bin, to which the error of the parameters adds
    less than 0.01. The seed is fixed. The probabilities are those before the sign of the score
    keeps them on its side of ½."""
    rng, state, found = np.random.default_rng(2), build_calibration(), []
    scores = rng.normal(size=20_000)
    labels = rng.random(20_000) < 1.0 / (1.0 + np.exp(-intercept - slope * scores))
    for score, label in zip(scores.tolist(), labels.tolist(), strict=True):
        found.append(1.0 / (1.0 + math.exp(-float(state[:3] @ features(state, score)))))
        update_calibration(state, score, 1.0 if label else -1.0, 1.0)
    p, y = np.array(found[5000:]), labels[5000:]
    assert expected_calibration_error(reliability_bins(np.sort(p[y]), np.sort(p[~y]))) < 0.0226


@pytest.mark.parametrize("slope", [0.5, 3.0])
def test_probabilities_of_classes_become_calibrated(slope):
    """The classes follow a softmax model of the scores, whose slope is found: the parameters have a standard error of
    less than a tenth after 20,000 examples. The seed is fixed."""
    rng, state, scratch = np.random.default_rng(3), build_calibration(), np.zeros(3)
    scores = rng.normal(size=(20_000, 3))
    for row in scores:
        p = np.exp(slope * row)
        update_softmax_calibration(state, row, 3, int(rng.choice(3, p=p / p.sum())), 1.0, scratch)
    out = np.empty((1000, 3))
    write_class_probabilities(state, np.ascontiguousarray(scores[:1000]), out)
    wanted = np.exp(slope * scores[:1000])
    wanted /= wanted.sum(axis=1, keepdims=True)
    assert np.abs(out - wanted).max() < 0.05
    assert (out.argmax(axis=1) == scores[:1000].argmax(axis=1)).all()


@pytest.mark.parametrize("score", [0.0, 5e-324, 1e-300, 1e149, -1e149])
def test_extreme_scores_give_probabilities(score):
    state = build_calibration()
    for sign in [1.0, -1.0, 1.0, 1.0]:
        assert 0.0 <= predict(state, score) <= 1.0
        update_calibration(state, score, sign, 1.0)
    assert 0.0 <= predict(state, -score) <= 1.0
    assert np.isfinite(state).all()
