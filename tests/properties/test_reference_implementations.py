"""Each compiled loop equals the algorithm in a few lines of plain Python, to the last bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.helpers.dot_product import dot_in_order
from tests.helpers.learners import ADDITIVE_LEARNERS, make_learner
from tests.helpers.streams import csr, real, whole

pytestmark = pytest.mark.plain_python


class Reference:
    """Weights w (bias last), steps t, mistakes, and the sum of all hypotheses, the one after step t counted
    t^p − (t−1)^p times."""

    def __init__(self, model: Any, columns: int) -> None:
        self.s, self.n, self.p = model, columns, getattr(model, "averaging_power", 1.0)
        self.w, self.total, self.G, self.theta = ([0.0] * (columns + 1) for _ in range(4))
        self.t = self.mistakes = self.updates = 0
        self.votes: list[tuple[list[float], int]] = [([0.0] * (columns + 1), 0)]

    def score(self, x: Any) -> float:
        return dot_in_order(x, self.w[: self.n]) + float(self.s.fit_intercept) * self.w[self.n]

    def list_slots(self, x: Any) -> list[int]:
        """Return the slots of the terms of a row, and of the bias."""
        return [*(j for j, v in enumerate(x) if v != 0), self.n]

    def run(self, X: Any, y: Any) -> Reference:
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            s = self.score(x)
            self.t += 1
            positive = s > 0 or (s == 0 and self.s.tie == "positive")
            wrong = positive != (label > 0)
            self.mistakes += wrong
            self.learn([*x, float(self.s.fit_intercept)], float(label), s, wrong)
            counts = self.t**self.p - (self.t - 1) ** self.p
            self.total = [a + counts * w for a, w in zip(self.total, self.w, strict=True)]
            last = self.votes[-1]
            self.votes[-1] = (last[0], last[1] + 1) if last[0] == self.w else last
            if last[0] != self.w:
                self.votes.append((list(self.w), 1))
        return self

    def mean(self) -> list[float]:
        return [a / self.t**self.p for a in self.total]


class ReferencePerceptron(Reference):
    def learn(self, x: Any, y: float, s: float, wrong: bool) -> None:
        if wrong or y * s < self.s.margin / self.s.learning_rate:
            self.updates += 1
            self.w = [w + y * v for w, v in zip(self.w, x, strict=True)]


class ReferenceVotedPerceptron(Reference):
    def learn(self, x: Any, y: float, s: float, wrong: bool) -> None:
        if wrong:
            self.updates += 1
            self.w = [w + y * v for w, v in zip(self.w, x, strict=True)]


class ReferenceMarginPerceptron(Reference):
    square = 0.0

    def learn(self, x: Any, y: float, s: float, wrong: bool) -> None:
        size = math.sqrt(max(0.0, self.square))
        if wrong or size == 0 or y * s < (1 - self.s.epsilon) * self.s.gamma * size:
            self.updates += 1
            for j, v in enumerate(x):
                old, self.w[j] = self.w[j], self.w[j] + y * v
                self.square += self.w[j] * self.w[j] - old * old


class ReferencePNormPerceptron(Reference):
    unit = 1.0

    def learn(self, x: Any, y: float, s: float, wrong: bool) -> None:
        if wrong:
            self.updates += 1
            for j, v in enumerate(x):
                self.theta[j] += y * v
                while abs(self.theta[j]) > 2 * self.unit:
                    self.unit *= 2
            self.w = [math.copysign((abs(th) / self.unit) ** (self.s.p - 1), th) for th in self.theta]


class ReferenceSGD(Reference):
    """Penalties are paid by every weight at every step, as the definition says: equal up to rounding only."""

    def signal(self, y: float, s: float) -> float:
        if self.s.loss == "hinge":
            return y if y * s <= 1 else 0.0
        if self.s.loss == "squared":
            return y - s
        e = math.exp(-abs(s))
        return y * (e / (1 + e) if y * s > 0 else 1 / (1 + e))

    def learn(self, x: Any, y: float, s: float, wrong: bool) -> None:
        g = self.signal(y, s)
        self.updates += g != 0
        power = {"constant": 0, "sqrt": 0.5, "inverse": 1, "adagrad": None}[self.s.schedule]
        r = self.s.learning_rate
        if power is not None:
            r = r if power == 0 else r / math.sqrt(self.t) if power == 0.5 else r / self.t
        for j, v in enumerate(x):
            if power is None:
                self.G[j] += (g * v) * (g * v)
                if self.G[j] == 0:
                    continue
                if g * v != 0:
                    self.w[j] += self.s.learning_rate * (g * v) / math.sqrt(self.G[j])
                r = self.s.learning_rate / math.sqrt(self.G[j])
            elif g != 0:
                self.w[j] += (r * g) * v
            w = self.w[j]
            w = math.copysign(max(0.0, abs(w) - r * self.s.l1), w)
            self.w[j] = w / (1 + r * self.s.l2)


class ReferenceAROW(Reference):
    def __init__(self, model: Any, columns: int) -> None:
        super().__init__(model, columns)
        self.variances = [1.0] * (columns + 1)

    def learn(self, x: Any, y: float, s: float, wrong: bool) -> None:
        short = 1 - y * s
        if short > 0:
            self.updates += 1
            v = 0.0
            for a, variance in zip(x, self.variances, strict=True):
                v += a * a * variance
            beta = 1 / (v + self.s.r)
            for j, a in enumerate(x):
                reach = self.variances[j] * a
                self.w[j] += beta * (y * short) * reach
                self.variances[j] = max(0.0, self.variances[j] - beta * (reach * reach))


def average_by_changes(reference: Any, X: Any, y: Any) -> list[float]:
    """Return the mean of all hypotheses as w − Σ (t−1)^p·δ/T^p, as the compiled loop computes it."""
    sums, learn = [0.0] * (reference.n + 1), reference.learn

    def learn_and_sum(*args: Any) -> None:
        before = list(reference.w)
        learn(*args)
        for j, (w, b) in enumerate(zip(reference.w, before, strict=True)):
            sums[j] += float(reference.t - 1) ** reference.p * (w - b)

    reference.learn = learn_and_sum
    reference.run(X, y)
    return [w - u / float(reference.t) ** reference.p for w, u in zip(reference.w, sums, strict=True)]


class ReferenceLazyDecay(ReferenceSGD):
    """w = scale·soft(v, shift − seen): penalties as the compiled loop pays them, rounding included."""

    scale, shift, area = 1.0, 0.0, 0.0

    def __init__(self, model: Any, columns: int) -> None:
        super().__init__(model, columns)
        self.seen, self.sums = [0.0] * (columns + 1), [0.0] * (columns + 1)

    def shrink(self, j: int) -> float:
        v, pull = self.w[j], self.shift - self.seen[j]
        return max(0.0, v - pull) if v > 0 else min(0.0, v + pull)

    def score(self, x: Any) -> float:
        if self.s.l1 > 0:
            for j in self.list_slots(x):
                self.w[j], self.seen[j] = self.shrink(j), self.shift
        return super().score(x) * self.scale

    def learn(self, x: Any, y: float, s: float, wrong: bool) -> None:
        g = self.signal(y, s)
        r = self.s.learning_rate / (math.sqrt(self.t) if self.s.schedule == "sqrt" else self.t)
        for j, v in enumerate(x) if g else ():
            before, self.w[j] = self.w[j], self.w[j] + (r * g / self.scale) * v
            self.sums[j] += self.area * (self.w[j] - before)
        self.shift += r * self.s.l1 / self.scale
        self.scale /= 1 + r * self.s.l2
        self.area += self.scale

    def final_weights(self) -> list[float]:
        if self.s.average:
            return [(self.area * v - u) / self.t for v, u in zip(self.w, self.sums, strict=True)]
        return [self.scale * (self.shrink(j) if self.s.l1 > 0 else self.w[j]) for j in range(self.n + 1)]


class ReferenceLazyAdaGrad(ReferenceSGD):
    """Missed steps made up for in closed form, as the compiled loop does it."""

    def __init__(self, model: Any, columns: int) -> None:
        super().__init__(model, columns)
        self.seen, self.sums, self.steps = [0.0] * (columns + 1), [0.0] * (columns + 1), 0.0

    def made_up(self, j: int) -> tuple[float, float]:
        """Return w after the skipped steps, and what these add to the sum."""
        w, missed, l1, l2 = self.w[j], self.steps - self.seen[j], self.s.l1, self.s.l2
        if w == 0 or missed == 0:
            return w, 0.0
        rho = self.s.learning_rate / math.sqrt(self.G[j])
        change = math.expm1(-missed * math.log1p(rho * l2))
        size = abs(w) + change * abs(w) + l1 / l2 * change
        return math.copysign(max(0.0, size), w), -w * change / (rho * l2)

    def score(self, x: Any) -> float:
        for j in self.list_slots(x):
            w, more = self.made_up(j)
            self.w[j], self.sums[j], self.seen[j] = w, self.sums[j] + more, self.steps
        return super().score(x)

    def learn(self, x: Any, y: float, s: float, wrong: bool) -> None:
        g = self.signal(y, s)
        for j, v in enumerate(x):
            if g * v != 0:
                self.G[j] += (g * v) * (g * v)
                self.w[j] += self.s.learning_rate * (g * v) / math.sqrt(self.G[j])
        self.steps = float(self.t)

    def final_weights(self) -> list[float]:
        made_up = [self.made_up(j) for j in range(self.n + 1)]
        if self.s.average:
            return [(u + more) / self.t for u, (_, more) in zip(self.sums, made_up, strict=True)]
        return [w for w, _ in made_up]


LAZY = {
    "sgd-hinge-adagrad-elastic": ReferenceLazyAdaGrad,
    "sgd-squared-adagrad-averaged": ReferenceLazyAdaGrad,
    "sgd-logistic-sqrt-ridge": ReferenceLazyDecay,
    "sgd-squared-inverse-lasso": ReferenceLazyDecay,
    "sgd-logistic-sqrt-elastic": ReferenceLazyDecay,
    "sgd-hinge-inverse-averaged-ridge": ReferenceLazyDecay,
}

REFERENCES = {
    "Perceptron": ReferencePerceptron,
    "MarginPerceptron": ReferenceMarginPerceptron,
    "VotedPerceptron": ReferenceVotedPerceptron,
    "PNormPerceptron": ReferencePNormPerceptron,
    "SGD": ReferenceSGD,
    "AROW": ReferenceAROW,
}


def build_reference(model: Any, columns: int) -> Any:
    return REFERENCES[type(model).__name__](model, columns)


def weights(model: Any) -> list[float]:
    return [*model.coef_[0].tolist(), *model.intercept_.tolist()]


PENALISED = [name for name, m in ADDITIVE_LEARNERS.items() if getattr(m, "l1", 0) or getattr(m, "l2", 0)]
AVERAGED = [name for name, m in ADDITIVE_LEARNERS.items() if getattr(m, "average", False)]
EXACT = [name for name in ADDITIVE_LEARNERS if name not in (*PENALISED, *AVERAGED, "voted-perceptron")]


@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize("stream", [real, whole])
@pytest.mark.parametrize("name", EXACT)
def test_learners_equal_their_reference_to_the_last_bit(name: str, stream: Any, form: Any) -> None:
    for seed in range(4):
        X, y = stream(seed)
        model = make_learner(name).fit(form(X), y)
        reference = build_reference(model, X.shape[1]).run(X, y)
        assert weights(model) == [w * model._spec().weight_scale for w in reference.w]
        assert (model.ledger_.mistakes, model.ledger_.updates) == (reference.mistakes, reference.updates)


@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize("stream", [real, whole])
@pytest.mark.parametrize("name", LAZY)
def test_lazy_updates_equal_their_reference_to_the_last_bit(name: str, stream: Any, form: Any) -> None:
    assert set(LAZY) == set(PENALISED)
    for rows in (30, 300):
        X, y = stream(2, rows=rows)
        model = make_learner(name).fit(form(X), y)
        reference: Any = LAZY[name](model, X.shape[1]).run(X, y)
        assert weights(model) == reference.final_weights()
        assert model.ledger_.mistakes == reference.mistakes


@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize("name", [name for name in AVERAGED if name not in PENALISED])
def test_incremental_averages_equal_their_reference_to_the_last_bit(name: str, form: Any) -> None:
    X, y = real(3, rows=200)
    model = make_learner(name).fit(form(X), y)
    expected = average_by_changes(build_reference(model, X.shape[1]), X, y)
    assert weights(model) == [w * model._spec().weight_scale for w in expected]


@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize("name", EXACT)
def test_rows_without_zeros_equal_the_reference(name: str, form: Any) -> None:
    X, y = real(13)
    X = X + 0.01
    model = make_learner(name).fit(form(X), y)
    assert weights(model) == [w * model._spec().weight_scale for w in build_reference(model, X.shape[1]).run(X, y).w]


@pytest.mark.parametrize("name", PENALISED)
def test_lazy_penalties_equal_those_paid_at_every_step(name: str) -> None:
    for seed in range(4):
        X, y = real(seed, rows=400)
        model = make_learner(name, passes=2).fit(X, y)
        reference = build_reference(model, X.shape[1]).run(np.vstack([X, X]), np.concatenate([y, y]))
        expected = reference.mean() if model.average else reference.w
        assert weights(model) == pytest.approx(expected, rel=1e-7, abs=1e-10)
        assert model.ledger_.mistakes == reference.mistakes


@pytest.mark.parametrize("name", AVERAGED)
def test_lazy_averages_equal_the_mean_of_all_hypotheses(name: str) -> None:
    X, y = real(7, rows=300)
    model = make_learner(name).fit(X, y)
    reference = build_reference(model, X.shape[1]).run(X, y)
    expected = [w * model._spec().weight_scale for w in reference.mean()]
    assert weights(model) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tie", ["positive", "negative"])
def test_votes_equal_those_of_all_hypotheses(bias: bool, tie: str) -> None:
    X, y = whole(3)
    model = make_learner("voted-perceptron", fit_intercept=bias, tie=tie).fit(X, y)
    reference = build_reference(model, X.shape[1]).run(X, y)
    at_zero = 1 if tie == "positive" else -1
    for x, votes in zip(X, model.decision_function(X), strict=True):
        scores = [(float(np.dot([*x, float(bias)], v)), c) for v, c in reference.votes]
        assert votes == sum(c * (np.sign(s) if s else at_zero) for s, c in scores) / len(X)


def test_rescaling_after_long_decay_does_not_change_the_weights() -> None:
    """A strong L2 makes the common scale underflow often; this must not change the weights."""
    X, y = real(11, rows=700)
    for changes in ({"average": True}, {"l1": 0.001}):
        model = make_learner("sgd-logistic-sqrt-ridge", l2=40.0, schedule="constant", **changes).fit(X, y)
        reference = build_reference(model, X.shape[1]).run(X, y)
        expected = reference.mean() if model.average else reference.w
        assert weights(model) == pytest.approx(expected, rel=1e-7, abs=1e-12)
