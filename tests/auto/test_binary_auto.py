"""Auto on two classes: a plain Python reference, its bound against adversaries, and invariance to units."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import Hierarchical, Kesler, MultiLabel, OneVsAll, certify, load, save, verify
from novikoff.certificates.certificate import Certificate
from novikoff.cli.main import main
from novikoff.core.updaters.weighted_majority import MEMBER_PREDICTIONS, PREDICTED, VOTES, update_votes
from novikoff.errors import InputError
from novikoff.linear.auto import BinaryAuto
from novikoff.model_file import to_bytes
from novikoff.theory import mistake_bounds
from tests.helpers.streams import csr, real

pytestmark = pytest.mark.plain_python_coverage

R, RATE, TAILS = 0.1, 1.0, (6.0, 4.0)


class ReferenceAuto:
    """Members over columns of weights, one for each class; two labels have one column, whose sign tells."""

    def __init__(self, columns: int, features: int, model: Any, precision: Any) -> None:
        self.beta, self.alpha, self.bias = model.beta, model.fixed_share, float(model.fit_intercept)
        self.kind = precision
        self.scale, self.lengths, self.t = [0.0] * features, 0.0, 0
        shape = (columns, features + 1)
        self.w, self.sums = np.zeros((3, *shape), precision), np.zeros((2, *shape))
        self.variance, self.G = np.ones(shape, precision), np.zeros(shape, precision)
        self.votes, self.errors, self.spreads, self.mistakes = [0.25] * 4, [0] * 4, [0.0] * 3, 0

    def seen(self, x: Any) -> tuple[list[int], list[float], float]:
        here = [j for j, v in enumerate(x) if v != 0]
        scale = {j: max(self.scale[j], abs(float(x[j]))) for j in here}
        values = [float(self.kind(float(x[j]) / scale[j])) for j in here]
        length = 0.0
        for j in here:
            length += (float(x[j]) / scale[j]) ** 2
        total = self.lengths + length
        by = math.sqrt((self.t + 1.0) / total) if total > 0 else 1.0
        return [*here, -1], [*(float(self.kind(v * by)) for v in values), by * self.bias], length

    def score(self, c: int, at: list[int], values: list[float]) -> list[float]:
        """AROW's last and mean, AdaGrad's last and mean, the Perceptron's."""
        t = max(1.0, float(self.t))
        found = []
        for member in range(2):
            last = mean = 0.0
            for j, v in zip(at, values, strict=True):
                last += v * float(self.w[member, c, j])
                mean += v * self.sums[member, c, j]
            found += [last, last - mean / t ** TAILS[member]]
        last = 0.0
        for j, v in zip(at, values, strict=True):
            last += v * float(self.w[2, c, j])
        return [*found, last]

    def unit(self, member: int) -> float:
        return math.sqrt(self.t / self.spreads[member]) if self.spreads[member] > 0 else 0.0

    def said(self, s: list[float]) -> list[float]:
        a, b = self.unit(0) * s[1], self.unit(1) * s[3]
        return [a, b, a + b, self.unit(2) * s[4]]

    def move(self, member: int, c: int, j: int, change: float) -> None:
        before = float(self.w[member, c, j])
        self.w[member, c, j] = before + change
        if member < 2:
            self.sums[member, c, j] += float(self.t - 1) ** TAILS[member] * (float(self.w[member, c, j]) - before)

    def follow(self, wrong: list[bool], failed: bool) -> None:
        self.mistakes += failed
        for m in range(4):
            self.errors[m] += wrong[m]
            self.votes[m] *= self.beta if wrong[m] else 1.0
        total = 0.0
        for vote in self.votes:
            total += vote
        share = self.alpha if failed else 0.0
        self.votes = [max(1e-300, (1 - share) * (vote / total) + share / 4) for vote in self.votes]

    def keep(self, x: Any, length: float) -> None:
        self.scale = [max(s, abs(float(v))) for s, v in zip(self.scale, x, strict=True)]
        self.lengths += length
        self.t += 1

    def step(self, sides: list[tuple[int, float]], at: list[int], values: list[float], member: int, g: float) -> None:
        """Moves columns, each to its side."""
        if member == 0:
            v = 0.0
            for c, _ in sides:
                one = 0.0
                for j, a in zip(at, values, strict=True):
                    one += a * a * float(self.variance[c, j])
                v += one
            beta = 1.0 / (v + R)
            for c, side in sides:
                for j, a in zip(at, values, strict=True):
                    variance = float(self.variance[c, j])
                    reach = variance * a
                    self.move(0, c, j, beta * (side * g) * reach)
                    self.variance[c, j] = max(0.0, variance - beta * (reach * reach))
        for c, side in sides if member else ():
            for j, a in zip(at, values, strict=True):
                if member == 1 and a != 0.0:
                    self.G[c, j] = float(self.G[c, j]) + (side * g * a) ** 2
                    self.move(1, c, j, RATE * (side * g * a) / math.sqrt(float(self.G[c, j])))
                elif member == 2:
                    self.move(2, c, j, side * g * a)


class ReferenceTwoLabels(ReferenceAuto):
    def run(self, X: Any, y: Any) -> ReferenceTwoLabels:
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            at, values, length = self.seen(x)
            s = self.score(0, at, values)
            said, side = self.said(s), float(label)
            plus, minus = 0.0, 0.0
            for z, vote in zip(said, self.votes, strict=True):
                plus, minus = (plus + vote, minus) if z >= 0 else (plus, minus + vote)
            self.follow([(z >= 0) != (side > 0) for z in said], (plus >= minus) != (side > 0))
            self.spreads = [a + b * b for a, b in zip(self.spreads, (s[1], s[3], s[4]), strict=True)]
            self.keep(x, length)
            if 1 - side * s[0] > 0:
                self.step([(0, side)], at, values, 0, 1 - side * s[0])
            if side * s[2] <= 1:
                self.step([(0, side)], at, values, 1, 1.0)
            if side * s[4] < 0 or (s[4] == 0 and side < 0):
                self.step([(0, side)], at, values, 2, 1.0)
        return self


class ReferenceClasses(ReferenceAuto):
    def run(self, X: Any, y: Any) -> ReferenceClasses:
        columns = len(self.w[0])
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            at, values, length = self.seen(x)
            s = [self.score(c, at, values) for c in range(columns)]
            said = [[self.said(one)[m] for one in s] for m in range(4)]
            choice = [max(range(columns), key=lambda c, z=z: (z[c], -c)) for z in said]
            votes = [0.0] * columns
            for m in range(4):
                votes[choice[m]] += self.votes[m]
            winner = max(range(columns), key=lambda c: (votes[c], -c))
            self.follow([c != label for c in choice], winner != label)
            for m, k in enumerate((1, 3, 4)):
                total = squares = 0.0
                for one in s:
                    total, squares = total + one[k], squares + one[k] * one[k]
                self.spreads[m] += max(0.0, (squares - total * total / columns) / columns)
            self.keep(x, length)
            for member, k in enumerate((0, 2, 4)):
                other = max((c for c in range(columns) if c != label), key=lambda c, k=k: (s[c][k], -c))
                margin = s[label][k] - s[other][k]
                g = (max(0.0, 1 - margin), float(margin <= 1), float(margin <= 0))[member]
                if g:
                    self.step([(label, 1.0), (other, -1.0)], at, values, member, g)
        return self


def numbers(state: Any) -> tuple[Any, ...]:
    """What the votes and the first column of weights are after a run: all that a member has learned."""
    slots = state.updater.weights.reshape(-1, getattr(state, "stride", 1), 6)[: state.features + 1]
    return state.updater.scalars.tolist(), [slots[..., k] for k in (1, 3, 5, 2, 4)]


def same(state: Any, reference: ReferenceAuto) -> None:
    scalars, parts = numbers(state)
    assert scalars[:2] == [reference.t, reference.lengths]
    assert scalars[2:6] == reference.votes
    assert [int(e) for e in scalars[6:10]] == reference.errors
    assert [scalars[10], scalars[11], scalars[13]] == reference.spreads
    columns = len(reference.w[0])
    for part, mine in zip(parts, (*reference.w, reference.variance, reference.G), strict=True):
        expected = np.concatenate([mine[:, -1:], mine[:, :-1]], axis=1).T
        assert np.array_equal(part[:, :columns], expected)


@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_two_labels_equal_the_reference_to_the_last_bit(form: Any, kind: Any) -> None:
    for seed in range(3):
        X, y = real(seed, rows=120)
        X = X.astype(kind)
        model = BinaryAuto(shuffle=False, fit_intercept=seed != 1, beta=0.7, fixed_share=0.01).fit(form(X), y)
        reference = ReferenceTwoLabels(1, X.shape[1], model, kind).run(X, y)
        same(model._state, reference)
        assert model.ledger_.mistakes == reference.mistakes


@pytest.mark.parametrize("form", [np.asarray, csr])
def test_many_classes_equal_the_reference_to_the_last_bit(form: Any) -> None:
    for seed, kind in ((0, np.float64), (1, np.float32)):
        X, _ = real(seed, rows=120)
        X = X.astype(kind)
        y = np.random.default_rng(seed).integers(0, 4, len(X))
        y[:4] = range(4)
        model = Kesler(BinaryAuto(shuffle=False)).fit(form(X), y)
        reference = ReferenceClasses(4, X.shape[1], model.estimator, kind).run(X, y)
        same(model._state, reference)
        assert model.ledger_.mistakes == reference.mistakes


# --- The theorem ---


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.sampled_from("abc")), min_size=2, max_size=60),
    shrink=st.sampled_from([0.1, 0.5, 0.8, 0.97]),
    share=st.sampled_from([0.0, 0.001, 0.01]),
)
def test_no_stream_breaks_the_bound(rows: list[tuple[int, int, str]], shrink: float, share: float) -> None:
    """Labels as drawn, of two and three classes; new classes come as they come."""
    for classes in ("ab", "abc"):
        learner = BinaryAuto(shuffle=False, beta=shrink, fixed_share=share)
        model = learner if classes == "ab" else Kesler(learner)
        for a, b, label in rows:
            if label in classes:
                model.learn_one({"p": float(a), "q": float(b)}, label)
        if getattr(model, "_state", None) is None:
            continue
        [bound] = model.bounds()
        assert model.ledger_.mistakes <= bound.value(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("shrink", [0.2, 0.8])
def test_an_adversary_does_not_break_the_bound(shrink: float) -> None:
    """Every label is the opposite of the prediction: the master errs always, so that the best member must err often."""
    model = BinaryAuto(shuffle=False, beta=shrink)
    draw = np.random.default_rng(5)
    for _ in range(400):
        x = {f"f{j}": float(v) for j, v in enumerate(draw.normal(size=3))}
        said = model.predict_one(x) if getattr(model, "_state", None) is not None else "+"
        model.learn_one(x, "-" if said == "+" else "+")
    assert model.ledger_.mistakes >= 398  # before both labels are known there is nothing to be the opposite of
    [bound] = model.bounds()
    assert model.ledger_.mistakes <= bound.value(None)  # type: ignore[arg-type]
    assert min(model._run_facts()["members"].values()) >= 150


def test_an_expert_that_lost_its_weight_recovers() -> None:
    """Without shares, and with votes that shrink to a hundredth: one that all others have outrun is still there."""
    model = BinaryAuto(shuffle=False, beta=0.01, fixed_share=0.0).fit([[1.0], [-1.0]], [1, -1])
    geometry = model._state.updater  # type: ignore[union-attr]
    before = geometry.scalars[VOTES : VOTES + 4].copy()
    for _ in range(400):
        geometry.notes[MEMBER_PREDICTIONS : MEMBER_PREDICTIONS + 4] = [1.0, 1.0, 1.0, -1.0]
        geometry.notes[PREDICTED] = 1.0
        update_votes(geometry, 1.0, True)
    votes = geometry.scalars[VOTES : VOTES + 4]
    assert before.min() > 0.0
    assert 0.0 < votes[3] < 1e-250
    geometry.notes[MEMBER_PREDICTIONS : MEMBER_PREDICTIONS + 4] = [-1.0, -1.0, -1.0, 1.0]
    for _ in range(400):
        update_votes(geometry, 1.0, True)
    assert votes[3] > 0.99


def test_the_bound_equals_its_formula() -> None:
    assert (
        mistake_bounds.weighted_majority(experts=4, mistakes=5, beta=0.84, fixed_share=0.08, examples=100) == math.inf
    )
    with pytest.raises(InputError, match="beta must be"):
        mistake_bounds.weighted_majority(experts=4, mistakes=5, beta=0.0)
    exact = (math.log(4) + 10 * math.log(2)) / math.log(4 / 3)
    assert mistake_bounds.weighted_majority(experts=4, mistakes=10, beta=0.5) == pytest.approx(exact, rel=1e-12)
    more = mistake_bounds.weighted_majority(experts=4, mistakes=10, beta=0.5, fixed_share=0.01, examples=10**6)
    assert exact < more < 1.1 * exact
    assert mistake_bounds.weighted_majority(experts=4, mistakes=0, beta=0.99, fixed_share=0.1) == math.inf


def test_the_certificate_states_the_bound_and_is_verified() -> None:
    X, y = real(4, rows=200)
    model = BinaryAuto(shuffle=False, passes=2).fit(X, y)
    certificate = certify(model, X, y)
    headline = certificate.headline
    assert headline is not None
    assert headline["name"] == "weighted majority"
    assert headline["verdict"] == "holds"
    assert certificate.document["observed"]["members"] == model._run_facts()["members"]
    assert verify(certificate, X, y) == []
    lie = json.loads(certificate.as_json())
    lie["observed"]["members"]["perceptron"] -= 1
    assert verify(Certificate(lie), X, y) != []
    classes = np.arange(len(y)) % 3
    certificate = certify(Kesler(BinaryAuto(shuffle=False)).fit(X, classes), X, classes)
    assert certificate.headline is not None
    assert verify(certificate, X, classes) == []


# --- Scales and changes ---


def test_scaling_a_column_does_not_change_predictions() -> None:
    """Columns times powers of two, which no rounding sees: the same votes to the last bit, and the same predictions."""
    X, y = real(7, rows=300)
    by = 2.0 ** np.random.default_rng(0).integers(-10, 11, X.shape[1])
    one, other = BinaryAuto(shuffle=False).fit(X, y), BinaryAuto(shuffle=False).fit(X * by, y)
    assert one.votes_ == other.votes_
    assert one.ledger_.mistakes == other.ledger_.mistakes
    assert one.predict(X).tolist() == other.predict(X * by).tolist()
    assert np.array_equal(one.coef_, other.coef_ * by)


def test_coefficients_and_intercept_give_the_prediction_of_their_member() -> None:
    """With all other votes gone, the sign of w·x + b is the prediction."""
    X, y = real(8, rows=300)
    model = BinaryAuto(shuffle=False).fit(X, y)
    votes = model._state.updater.scalars[2:6]  # type: ignore[union-attr]
    votes[:] = [0.0, 0.0, 1.0, 0.0]
    X = X[np.abs(X).max(axis=1) < 2.0]
    linear = X @ model.coef_[0] + model.intercept_[0]
    clear = np.abs(linear) > 0.2 * np.abs(linear).max()
    assert clear.any()
    assert (model.decision_function(X)[clear] > 0).tolist() == (linear[clear] > 0).tolist()


def test_weights_of_all_classes_are_in_the_same_units() -> None:
    """A feature grows a thousandfold, while two of three classes don't move: their weights shrink with it."""
    model = Kesler(BinaryAuto(shuffle=False, fit_intercept=False))
    for _ in range(3):
        for label in "abc":
            model.learn_one({"x": 1.0 + ord(label) - ord("a"), label: 1.0}, label)
    model.learn_one({"x": 3000.0, "a": 1.0}, "a")
    slots = model._state.updater.weights.reshape(-1, model._state.stride, 6)  # type: ignore[union-attr]
    x = list(model.feature_names_in_).index("x") + 1
    assert slots[x, :3, 0].tolist() == [3000.0] * 3


def test_after_a_drift_the_best_member_dominates() -> None:
    """Labels turn around every 200 examples: the means remember, the last hypothesis of the Perceptron turns too."""
    draw = np.random.default_rng(1)
    X = draw.normal(size=(2000, 2))
    y = np.sign(X[:, 0]) * np.where(np.arange(2000) // 200 % 2, 1, -1)
    model = BinaryAuto(shuffle=False).fit(X, y)
    counted = model._run_facts()["members"]
    assert counted["perceptron"] == min(counted.values())
    assert model.ledger_.mistakes < (counted["arow"] + counted["perceptron"]) / 2


# --- Faces ---


def test_files_and_batches_give_the_same_bytes(tmp_path: Path) -> None:
    X, _ = real(9, rows=90)
    y = np.arange(len(X)) % 3
    whole = Kesler(BinaryAuto(shuffle=False)).partial_fit(X, y)
    part = Kesler(BinaryAuto(shuffle=False)).partial_fit(X[:1], y[:1])
    for k in range(1, 40):
        part.partial_fit(sp.csr_matrix(X[k : k + 1]), y[k : k + 1])
    save(part, tmp_path / "part.model")
    part = load(tmp_path / "part.model")
    for x, label in zip(X[40:], y[40:].tolist(), strict=True):
        part.learn_one(x, label)
    assert to_bytes(part) == to_bytes(whole)
    assert [part.predict_one(x) for x in X] == whole.predict(X).tolist()
    assert [part.predict_one(dict(enumerate(x.tolist()))) for x in X] == whole.predict(X).tolist()


def test_other_schemes_refuse_auto() -> None:
    X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    for scheme in (
        OneVsAll(BinaryAuto(shuffle=False)),
        Hierarchical(BinaryAuto(shuffle=False)),
        Kesler(BinaryAuto(shuffle=False), update="uniform"),
    ):
        with pytest.raises(InputError, match="takes learners"):
            scheme.fit(X, [str(label) for label in y])
    with pytest.raises(InputError, match="takes learners"):
        MultiLabel(BinaryAuto(shuffle=False)).fit(X, [["a"], ["b"]])


@pytest.mark.parametrize(
    ("lines", "learner", "scheme"),
    [
        ("+1 1:1\n-1 2:1\n", "auto", None),
        ("1 1:1\n2 2:1\n3 3:1\n", "auto", "kesler"),
        ("1,2 1:1\n3,2 2:1\n1 2:1\n", "arow", "multi-label"),
        ("1 qid:1 1:1\n0 qid:1 2:1\n", "arow", "query-ranking"),
    ],
)
def test_auto_is_the_default_of_the_command_line(
    lines: str, learner: str, scheme: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.svm"
    data.write_text(lines)
    assert main(["learn", str(data), "--json", "--quiet", "--save", str(tmp_path / "m")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["learner"], report.get("multiclass")) == (learner, scheme)
    assert main(["predict", str(tmp_path / "m"), str(data), "--quiet"]) == 0
    assert main(["inspect", str(tmp_path / "m")]) == 0


def test_an_error_names_the_learner_that_has_the_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["learn", "iris", "--averaging-power", "3"])
    assert "--averaging-power is a setting of arow, perceptron, sgd" in capsys.readouterr().err
