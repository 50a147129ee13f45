"""Adversarial streams: they force the claimed number of mistakes, and a concept of the class fits all labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Perceptron as OtherPerceptron

from novikoff import Halving, InputError, Perceptron, Winnow
from novikoff.data.synthetic.adversarial import (
    SHATTERED_SETS,
    drifting_disjunction,
    halving_worst_case,
    irrelevant,
    orthonormal,
    vc_adversary,
)
from tests.helpers.learners import ALL_LEARNERS, clip_to_range, make_learner


def winnow(stream: Any, floor: float = 0.0) -> int:
    """Count the mistakes of plain Winnow with α = 2 and θ = n; with floor ½ it is Winnow-R."""
    X, y = stream.to_arrays()
    n = X.shape[1]
    weights, mistakes = [1.0] * n, 0
    for t, label in enumerate(y):
        active = X.indices[X.indptr[t] : X.indptr[t + 1]]
        predicted = 1 if sum(weights[j] for j in active) >= n else -1
        if predicted != label:
            mistakes += 1
            for j in active:
                weights[j] = weights[j] * 2 if label > 0 else max(weights[j] / 2, floor)
    return mistakes


class Majority:
    """Reference implementation of Halving."""

    class ledger_:  # noqa: N801
        mistakes = 0

    def __init__(self, hypotheses: Any, tie: int) -> None:
        self.left, self.tie, self.ledger_ = hypotheses, tie, type(self).ledger_()

    def partial_fit(self, X: Any, y: Any, classes: Any) -> None:
        votes = self.left[:, X[0].argmax()]
        self.ledger_.mistakes += (np.sign(votes.sum(dtype=int)) or self.tie) != y[0]
        self.left = self.left[votes == y[0]]


def is_realised(name: str, points: Any, labels: Any) -> bool:
    """Return whether a concept of the class has these labels; tries the simplest one."""
    d, positive = points.shape[1], labels > 0
    if name == "half-spaces":
        bias = labels[0] / 2.0
        return bool((np.sign(points @ (labels[1:] - bias) + bias) == labels).all())
    if name == "disjunctions":
        relevant = [j for j in range(d) if points[positive][:, j].any()]
        return bool((points[:, relevant].any(axis=1) == positive).all())
    if name == "conjunctions":
        relevant = [j for j in range(d) if points[positive][:, j].all()]
        return bool((points[:, relevant].all(axis=1) == positive).all())
    inside = points[positive] if name == "intervals" else np.vstack([points[positive], np.zeros(d)])
    if not len(inside):
        return True
    return bool((((points >= inside.min(0)) & (points <= inside.max(0))).all(axis=1) == positive).all())


def get_shattered_set(name: str, d: int) -> Any:
    return SHATTERED_SETS[name]() if name == "intervals" else SHATTERED_SETS[name](d)


@pytest.mark.parametrize("name", SHATTERED_SETS)
def test_every_labelling_of_a_shattered_set_is_realised(name: str) -> None:
    for d in (1, 2, 3, 4):
        points = get_shattered_set(name, d)
        size = {"half-spaces": d + 1, "intervals": 2, "rectangles": 2 * d}.get(name, d)
        assert len(points) == size
        for bits in range(2**size):
            labels = np.where(bits >> np.arange(size) & 1, 1, -1)
            assert is_realised(name, points, labels)


SLOW = ("kernel-perceptron", "auto")
"""Learners whose kernels are compiled for this test only."""


def accepts_points(learner: str, points: Any) -> bool:
    return bool((clip_to_range(learner, points) == points).all())


@pytest.mark.parametrize(
    ("learner", "name"),
    [
        pytest.param(one, name, marks=[pytest.mark.slow] * (one in SLOW))
        for one in ALL_LEARNERS
        for name in SHATTERED_SETS
        if accepts_points(one, get_shattered_set(name, 6))
    ],
)
def test_every_learner_errs_on_every_point(learner: str, name: str) -> None:
    points, model = get_shattered_set(name, 6), make_learner(learner)
    labels = vc_adversary(model, points)
    assert (model.ledger_.examples, model.ledger_.mistakes) == (len(points), len(points))
    assert is_realised(name, points, labels)


def test_a_learner_without_a_ledger_is_queried_by_predict() -> None:
    points = SHATTERED_SETS["half-spaces"](5)
    model = OtherPerceptron(shuffle=False)
    first = OtherPerceptron(shuffle=False)
    labels = vc_adversary(model, points)
    first.partial_fit(points[:1], labels[:1], classes=[-1, 1])
    for t in range(1, len(points)):
        assert first.predict(points[t : t + 1])[0] == -labels[t]
        first.partial_fit(points[t : t + 1], labels[t : t + 1])


@settings(max_examples=60)
@given(st.integers(1, 300), st.sampled_from([-1, 1]))
def test_the_worst_case_of_halving_meets_its_bound(size: int, tie: int) -> None:
    points, hypotheses = halving_worst_case(size)
    assert len(np.unique(hypotheses, axis=0)) == size
    model = Majority(hypotheses, tie)
    labels = vc_adversary(model, points, hypotheses)
    assert model.ledger_.mistakes == math.floor(math.log2(size))
    assert (hypotheses == labels).all(axis=1).sum() == 1


@pytest.mark.parametrize("size", [1, 2, 13, 64])
def test_halving_errs_log_n_times_on_its_worst_case(size: int) -> None:
    points, hypotheses = halving_worst_case(size)
    if size == 1:
        assert points.shape == (0, 0)
        return
    predictors = [lambda x, labels=labels: labels[x.argmax()] > 0 for labels in hypotheses]
    model = Halving(hypotheses=predictors)
    vc_adversary(model, points, hypotheses)
    assert model.ledger_.mistakes == math.floor(math.log2(size))


def test_the_adversary_stays_consistent_with_the_class() -> None:
    labels = vc_adversary(Perceptron(), np.eye(3), [[1, 1, 1], [1, -1, 1]])
    assert labels[0] == labels[2] == 1
    with pytest.raises(InputError, match="a column for each point"):
        vc_adversary(Perceptron(), np.eye(3), [[1, 1]])


@pytest.mark.parametrize("n", [1, 2, 17, 500])
def test_orthonormal_meets_the_bound_with_equality(n: int) -> None:
    stream = orthonormal(n)
    truth = stream.truth
    made = Perceptron(fit_intercept=False).partial_fit(*stream.to_arrays(), classes=[-1, 1]).ledger_.mistakes
    assert made == n == truth.largest * (truth.separator @ truth.separator) / truth.margin**2
    assert stream.radius(bias=False) == truth.radius(bias=False) == 1.0


def check_truth(stream: Any) -> None:
    """Return labels and separator of a stream of positive literals."""
    X, y = stream.to_arrays()
    truth, table = stream.truth, X.toarray()
    assert len(y) == truth.examples
    starts = [phase.start for phase in truth.phases]
    for t, x in enumerate(table):
        phase = truth.phases[int(np.searchsorted(starts, t, side="right")) - 1]
        assert y[t] == (1 if any(x[a - 1] for group in phase.literals for a in group) else -1)
    assert (table**2).sum(axis=1).max() == truth.largest
    if truth.separator is not None:
        assert (y * (table @ truth.separator[1:] + truth.separator[0])).min() == truth.margin


@given(st.integers(2, 40), st.data())
@settings(max_examples=30)
def test_irrelevant_attributes_cost_the_perceptron_n_and_winnow_log_n(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, n - 1))
    stream = irrelevant(n, k)
    check_truth(stream)
    made = Perceptron(fit_intercept=False).partial_fit(*stream.to_arrays(), classes=[-1, 1]).ledger_.mistakes
    assert made == n - k <= stream.truth.largest * (stream.truth.separator @ stream.truth.separator)
    assert winnow(stream) <= k * math.ceil(math.log2(n)) <= 2 + 3 * k * (1 + math.log2(n))


def test_irrelevant_attributes_hardly_matter_to_winnow() -> None:
    counts = {n: winnow(irrelevant(n, 5)) for n in (128, 1024, 8192)}
    assert counts == {128: 5 * 7, 1024: 5 * 10, 8192: 5 * 13}
    assert Winnow().partial_fit(*irrelevant(1024, 5).to_arrays(), classes=[-1, 1]).ledger_.mistakes == counts[1024]


@given(st.sampled_from([8, 32, 128]), st.data())
@settings(max_examples=20)
def test_drift_breaks_winnow_but_not_winnow_r(n: int, data: st.DataObject) -> None:
    """Winnow errs on all examples; Winnow-R recovers."""
    k = data.draw(st.integers(1, 5))
    drift = data.draw(st.integers(k + 1, min(n - 2, 25))) if k + 1 <= n - 2 else None
    if drift is None:
        return
    stream = drifting_disjunction(n, k, drift)
    check_truth(stream)
    c, levels, helpers = stream.truth.cost, int(math.log2(n)), drift - k
    assert c == 1 + drift
    assert winnow(stream) == stream.truth.examples
    robust = winnow(stream, floor=0.5)
    assert robust == (levels - 1) * (1 + 2 * helpers) + k * (levels + 1)
    assert robust <= 2 + 5 * c * (2 + levels)


def test_winnow_breaks_the_bound_that_winnow_r_keeps() -> None:
    stream = drifting_disjunction(256, 20, 80)
    bound = 2 + 5 * stream.truth.cost * (2 + 8)
    assert winnow(stream, floor=0.5) <= bound < winnow(stream)
    for floor in (0.0, 0.5):
        made = Winnow(floor=floor).partial_fit(*stream.to_arrays(), classes=[-1, 1]).ledger_.mistakes
        assert made == winnow(stream, floor)


@pytest.mark.parametrize("n", [0, 3, 100])
def test_invalid_sizes_are_refused(n: int) -> None:
    with pytest.raises(InputError):
        drifting_disjunction(n)
    with pytest.raises(InputError):
        irrelevant(n, k=n)
    with pytest.raises(InputError):
        orthonormal(-n)
