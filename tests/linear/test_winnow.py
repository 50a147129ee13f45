"""Winnow and Balanced Winnow: plain Python references, bounds, and weights that stay within double precision."""

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

from novikoff import BalancedWinnow, FeatureRangeError, InputError, Perceptron, Winnow
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.cli.main import main
from novikoff.data.synthetic import adversarial
from novikoff.theory import winnow_bounds as formulas
from tests.helpers.bound_checks import check_bounds, evidence_of_target
from tests.helpers.dot_product import dot_in_order
from tests.helpers.learners import OTHER_LEARNERS, clip_to_range, make_learner
from tests.helpers.streams import csr, evidence, real

pytestmark = pytest.mark.plain_python_coverage

BOTH = [-1, 1]
FAMILY = [name for name in OTHER_LEARNERS if "winnow" in name]


def compute_power(alpha: float, exponent: float) -> float:
    """α^exponent, as far as doubles go."""
    return alpha**exponent if exponent * math.log2(alpha) < 100.0 else 2.0**100


class ReferenceWinnow:
    """Exponents by slot (bias last, companions after it), and the sum of all hypotheses."""

    def __init__(self, model: Any, columns: int) -> None:
        self.s, self.n = model, columns
        self.doubled = getattr(model, "negations", False)
        self.balanced = isinstance(model, BalancedWinnow)
        size = columns * (2 if self.doubled else 1) + int(model.fit_intercept)
        self.theta = float(size if model.threshold == "n" else model.threshold)
        self.logs = [0.0] * (columns * (2 if self.doubled else 1) + 1)
        self.total = [0.0] * len(self.logs)
        self.mistakes = self.updates = self.t = 0

    def weight(self, j: int) -> float:
        minus = compute_power(self.s.alpha, -self.logs[j]) if self.balanced else 0.0
        return compute_power(self.s.alpha, self.logs[j]) - minus

    def weights(self) -> list[float]:
        return [self.weight(j) for j in range(len(self.logs))]

    def score(self, x: list[float]) -> float:
        w = self.weights()
        constant = float(self.s.fit_intercept) * w[self.n] - self.theta
        companions = [1.0 - v for v in x]
        # The companions are neighbours in memory: zeros among them keep their lanes.
        extra = dot_in_lanes(companions, w[self.n + 1 :]) if self.doubled else None
        own = dot_in_order(x, w[: self.n])
        return (own if extra is None else own + extra) + constant

    def run(self, X: Any, y: Any) -> ReferenceWinnow:
        floor = getattr(self.s, "floor", 0.0)
        lowest = math.log(floor) / math.log(self.s.alpha) if floor else -math.inf
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            s = self.score(x)
            self.t += 1
            wrong = (s >= 0) != (label > 0)
            self.mistakes += wrong
            if wrong or label * s < self.s.margin:
                self.updates += 1
                pulled = -math.inf if label < 0 and getattr(self.s, "elimination", False) else float(label)
                values = [*x, float(self.s.fit_intercept), *([1.0 - v for v in x] if self.doubled else [])]
                for j, v in enumerate(values):
                    if v != 0.0:
                        self.logs[j] = max(self.logs[j] + pulled * v, lowest)
            self.total = [a + w for a, w in zip(self.total, self.weights(), strict=True)]
        return self

    def linear(self, w: list[float]) -> list[float]:
        """(coef …, intercept)."""
        coef, constant = w[: self.n], float(self.s.fit_intercept) * w[self.n] - self.theta
        if self.doubled:
            coef = [a - b for a, b in zip(coef, w[self.n + 1 :], strict=True)]
            for more in w[self.n + 1 :]:
                constant += more
        return [*coef, constant]


def dot_in_lanes(a: list[float], b: list[float]) -> float:
    terms = [x * w for x, w in zip(a, b, strict=True)]
    return dot_in_order([1.0 if x else 2.0 for x in terms], [x if x else 0.0 for x in terms])


@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize("boolean", [True, False])
@pytest.mark.parametrize("name", FAMILY)
def test_it_equals_its_reference_to_the_last_bit(name: str, boolean: bool, form: Any) -> None:
    for seed in range(4):
        X, y = real(seed)
        X = clip_to_range(name, X)
        X = np.sign(X) if boolean else X
        model = make_learner(name).fit(form(X), y)
        reference = ReferenceWinnow(model, X.shape[1]).run(X, y)
        assert (model.ledger_.mistakes, model.ledger_.updates) == (reference.mistakes, reference.updates)
        shown = [*model.coef_[0].tolist(), *model.intercept_.tolist()]
        if model.average:
            assert shown == pytest.approx(
                reference.linear([a / reference.t for a in reference.total]), rel=1e-9, abs=1e-12
            )
        else:
            assert shown == reference.linear(reference.weights())


def test_negations_are_winnow_on_twice_the_features() -> None:
    for seed in range(10):
        X = np.random.default_rng(seed).integers(0, 2, (200, 6)).astype(float)
        y = np.where((X[:, 0] > 0) | (X[:, 3] == 0), 1, -1)
        y[:2] = BOTH
        inside = Winnow(negations=True).fit(X, y)
        doubled = Winnow().fit(np.hstack([X, 1 - X]), y)
        assert inside.ledger_.mistake_times.tolist() == doubled.ledger_.mistake_times.tolist()
        w = doubled.coef_[0]
        assert inside.coef_[0].tolist() == (w[:6] - w[6:]).tolist()
        assert inside.intercept_[0] == w[6:].sum() - 12.0
        assert (inside.predict(X) == doubled.predict(np.hstack([X, 1 - X]))).all()


def test_balanced_winnow_is_winnow_with_two_weights() -> None:
    """w⁺ and w⁻, kept apart and multiplied one by one, in whole powers of two: exact."""
    X = np.random.default_rng(0).integers(-1, 2, (400, 8)).astype(float)
    y = np.where(X[:, 1] - X[:, 4] + 0.5 > 0, 1, -1)
    model = BalancedWinnow(fit_intercept=False, shuffle=False).fit(X, y)
    plus, minus, mistakes = np.ones(8), np.ones(8), 0
    for x, label in zip(X, y, strict=True):
        if (1 if (plus - minus) @ x >= 0 else -1) != label:
            mistakes += 1
            plus, minus = plus * 2.0 ** (label * x), minus * 2.0 ** (-label * x)
    assert model.ledger_.mistakes == mistakes
    assert model.coef_[0].tolist() == (plus - minus).tolist()


# --- Theorems ---


def play_adversary(model: Any, truth: Any, rng: Any, n: int, rounds: int, density: float, tries: int = 30) -> None:
    """An adversary that looks for examples on which the learner errs (or is narrow), and shows it those."""
    model.partial_fit(np.zeros((1, n)), [truth(np.zeros((1, n)))[0]], classes=BOTH)
    for _ in range(rounds):
        X = (rng.random((tries, n)) < density).astype(float)
        y = truth(X)
        bad = np.flatnonzero(y * model.decision_function(X) < getattr(model, "margin", 0.0))
        at = bad[:1] if len(bad) else np.array([0])
        model.partial_fit(X[at], y[at])


WINNOWS = [
    {},
    {"elimination": True},
    {"alpha": 1.5},
    {"alpha": 3.0, "threshold": 7.0},
    {"alpha": 1.1, "threshold": 2.0},
    {"alpha": 2.0, "threshold": 1.0, "elimination": True},
    {"margin": 1.5},
    {"alpha": 1.4, "threshold": 20.0, "margin": 4.0, "average": True},
    {"fit_intercept": True},
]


def disjunction_stream(seed: int, rounds: int) -> int:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(2, 40)), int(rng.integers(1, 4))
    relevant = rng.permutation(n)[: min(k, n)]
    model = Winnow(**WINNOWS[seed % len(WINNOWS)])

    def truth(X: Any) -> Any:
        return np.where(X[:, relevant].any(axis=1), 1, -1)

    density = float(rng.choice([0.02, 0.1, 0.3, 0.7]))
    if seed % 2:
        play_adversary(model, truth, rng, n, rounds, density)
    else:
        X = (rng.random((rounds * 5, n)) < density).astype(float)
        model.partial_fit(X, truth(X), classes=BOTH)
    return check_bounds(model, evidence_of_target(disjunction=float(len(relevant))))


def drifting_stream(seed: int, rounds: int) -> int:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    settings = [{}, {"alpha": 1.5}, {"threshold": 3.0 * n, "floor": 0.3}, {"margin": 0.2}][seed % 4]
    model = Winnow(**{"floor": 0.5, **settings})
    target = set(rng.permutation(n)[:2].tolist())
    gained = len(target)
    model.partial_fit(np.zeros((1, n)), [-1], classes=BOTH)
    for phase in range(4):
        relevant = sorted(target)

        def truth(X: Any, relevant: Any = relevant) -> Any:
            return np.where(X[:, relevant].any(axis=1), 1, -1) if relevant else np.full(len(X), -1)

        for _ in range(rounds // 4):
            X = (rng.random((20, n)) < 0.15).astype(float)
            y = truth(X)
            bad = np.flatnonzero(y * model.decision_function(X) < model.margin)
            at = bad[:1] if len(bad) else np.array([0])
            model.partial_fit(X[at], y[at])
        new = int(rng.integers(n))
        gained += new not in target
        target.add(new)
        if phase % 2:
            target.discard(relevant[0])
    return check_bounds(model, evidence_of_target(gained=float(gained)))


def threshold_stream(seed: int, rounds: int) -> int:
    """At least r of k features, μ = 1/r each: separation δ = 1/r, Σμ = k/r."""
    rng = np.random.default_rng(seed)
    k, r = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    n = int(rng.integers(k, 40))
    relevant = rng.permutation(n)[:k]
    delta = 1.0 / r
    model = Winnow(alpha=1.0 + delta / 2.0, threshold=float(n))
    play_adversary(model, lambda X: np.where(X[:, relevant].sum(axis=1) >= r, 1, -1), rng, n, rounds, 0.4)
    return check_bounds(model, evidence_of_target(separation=delta, weight=k * delta))


def balanced_stream(seed: int, rounds: int) -> int:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    bias = bool(seed % 2)
    u = rng.standard_normal(n + 1) * (rng.random(n + 1) < 0.5)
    u[0] *= bias
    X = np.clip(rng.standard_normal((rounds * 4, n)), -1, 1)
    X = np.sign(X) if seed % 3 == 0 else X
    y = np.where(X @ u[1:] + u[0] >= 0, 1, -1)
    y = np.where(rng.random(len(y)) < float(rng.choice([0.0, 0.0, 0.1])), -y, y)
    keep = np.abs(X @ u[1:] + u[0]) >= 0.1 * np.abs(u).sum()
    X, y = X[keep], y[keep]
    if len(y) == 0:
        return 0
    model = BalancedWinnow(alpha=float(rng.choice([1.02, 1.1, 1.3])), fit_intercept=bias).partial_fit(
        X, y, classes=BOTH
    )
    return sum(check_bounds(model, evidence(X, y, c * u, bias)) for c in (0.3, 1.0, 3.0, 10.0))


KINDS = [disjunction_stream, drifting_stream, threshold_stream, balanced_stream]


@pytest.mark.parametrize("kind", KINDS)
def test_no_bound_is_broken(kind: Any) -> None:
    spoke = sum(kind(seed, 30) for seed in range(6 if JIT_DISABLED else 40))
    assert spoke > (3 if JIT_DISABLED else 20)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 3000, 250))
@pytest.mark.parametrize("kind", KINDS)
def test_no_bound_is_broken_by_twelve_thousand_streams(kind: Any, start: int) -> None:
    spoke = sum(kind(seed, 80) for seed in range(start, start + 250))
    assert spoke > 100


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=60),
    relevant=st.sets(st.integers(0, 4), min_size=1, max_size=3),
    kind=st.sampled_from(WINNOWS),
)
def test_no_drawn_stream_breaks_a_bound(rows: Any, relevant: Any, kind: Any) -> None:
    X = np.array(rows, float)
    y = np.where(X[:, sorted(relevant)].any(axis=1), 1, -1)
    model = Winnow(**kind).partial_fit(X, y, classes=BOTH)
    assert check_bounds(model, evidence_of_target(disjunction=float(len(relevant)))) == 1


@pytest.mark.parametrize("n", [2, 10, 1000])
@pytest.mark.parametrize("k", [1, 3])
def test_the_constants_are_those_of_the_sources(n: int, k: int) -> None:
    numbers = {"features": n, "alpha": 2.0, "threshold": float(n)}
    assert formulas.winnow(literals=k, **numbers) == pytest.approx(2 + 3 * k * (1 + math.log2(n)))
    assert formulas.winnow_elimination(literals=k, **numbers) == pytest.approx(2 * k * (1 + math.log2(n)) + 1)
    assert formulas.winnow_r(gained=k, floor=0.5, **numbers) == pytest.approx(2 + 5 * k * (2 + math.log2(n)))
    littlestone = 3.0 * k * (math.log(n, 3.0) + 1) + 1
    assert formulas.winnow_elimination(literals=k, features=n, alpha=3.0, threshold=n) == pytest.approx(littlestone)
    best = 0.1  # η = γ/X²
    tuned = formulas.balanced_winnow(features=n, learning_rate=best, radius_inf=1.0, norm1=1.0, margin=0.1, loss=0.0)
    assert tuned == pytest.approx(2 * math.log(2 * n) / 0.1**2)


def test_formulas_refuse_what_they_do_not_hold_for() -> None:
    with pytest.raises(InputError, match="alpha > 1"):
        formulas.promotions(literals=1, alpha=1.0, threshold=2.0)
    with pytest.raises(InputError, match="threshold above floor"):
        formulas.winnow_r(gained=1, features=10, alpha=2.0, threshold=5.0, floor=0.5)
    with pytest.raises(InputError, match="separation"):
        formulas.winnow2(separation=0.0, weight=1.0, features=1.0, threshold=1.0)
    assert (
        formulas.balanced_winnow(features=5, learning_rate=1.0, radius_inf=1.0, norm1=1.0, margin=0.1, loss=0.0)
        == math.inf
    )


def test_irrelevant_attributes_cost_their_logarithm() -> None:
    """k = 5; n from 10² to 10⁵ (10³ without Numba): Winnow follows log n, the Perceptron n itself."""
    sizes = [10**p for p in (2, 2.5, 3)] if JIT_DISABLED else [10**p for p in (2, 2.5, 3, 3.5, 4, 4.5, 5)]
    logs, winnow_made, perceptron_made = [], [], []
    for n in (int(size) for size in sizes):
        X, y = adversarial.irrelevant(n, 5).to_arrays()
        logs.append(math.log2(n))
        winnow_made.append(Winnow().partial_fit(X, y, classes=BOTH).ledger_.mistakes)
        perceptron_made.append(Perceptron(fit_intercept=False).partial_fit(X, y, classes=BOTH).ledger_.mistakes)
        assert winnow_made[-1] <= formulas.winnow(literals=5, features=n, alpha=2.0, threshold=n)
        assert perceptron_made[-1] >= n - 5
    slope, intercept = np.polyfit(logs, winnow_made, 1)
    fitted = slope * np.array(logs) + intercept
    assert np.abs(fitted - winnow_made).max() <= 5.0  # each of the k literals takes a whole number of promotions
    assert 0.0 < slope <= 3 * 5
    assert np.polyfit(logs, np.log2(perceptron_made), 1)[0] > 0.95


@pytest.mark.filterwarnings("ignore::novikoff.SortedLabelsWarning")
def test_weights_survive_ten_million_updates() -> None:
    """Demoted without end, then promoted as often: each weight is where it was, to the last bit."""
    count, columns = (300, 3) if JIT_DISABLED else (5_000_000, 3)
    X = sp.csr_matrix(np.tile(np.array([[1, 1, 1], [1, 0, 1]], np.float32), (count // 2, 1)))
    for floor in (0.0, 0.5):
        model = Winnow(alpha=1.7, threshold=4.0, margin=5.0, floor=floor)
        start = np.ones(columns)
        down = model.partial_fit(X, np.full(count, -1), classes=BOTH)
        assert down.ledger_.updates == count
        assert np.isfinite(down.coef_).all()
        assert np.isfinite(down.decision_function(X[:2])).all()
        assert (down.coef_ >= floor * (1 - 1e-6)).all()
        if floor == 0.0:
            assert down.coef_.max() == 0.0
            up = down.partial_fit(X, np.full(count, 1))
            assert up.ledger_.updates == 2 * count
            assert up.coef_[0].tolist() == start.tolist()
    balanced = BalancedWinnow(alpha=1.3, margin=1e9)
    signs = np.where(np.arange(count) % 5 < 3, 1, -1)
    balanced.partial_fit(X, signs, classes=BOTH)
    assert np.isfinite(balanced.coef_).all()
    assert balanced.partial_fit(X, signs).ledger_.examples == 2 * count
    assert np.isfinite(balanced.decision_function(X[:2])).all()


# --- What it refuses ---


@pytest.mark.parametrize("form", [np.asarray, csr, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize(
    ("model", "value", "takes"),
    [(Winnow(), -0.5, "from 0 to 1"), (Winnow(), 1.25, "from 0 to 1"), (BalancedWinnow(), -1.5, "from -1 to 1")],
)
def test_values_out_of_range_are_refused_with_row_and_column(model: Any, value: float, takes: str, form: Any) -> None:
    X = np.random.default_rng(0).random((50, 7))
    y = np.where(X[:, 0] > 0.5, 1, -1)
    model.fit(form(X), y)
    before = model.coef_.copy()
    worse = X.copy()
    worse[33, 4] = value
    for call in (model.fit, model.partial_fit):
        with pytest.raises(FeatureRangeError, match=rf"{takes}, but row 33, column 4 has {value}: scale"):
            call(form(worse), y)
    with pytest.raises(FeatureRangeError, match="row 33, column 4"):
        model.predict(form(worse))
    with pytest.raises(FeatureRangeError, match=rf"feature 4 has {value}"):
        model.learn_one(worse[33], 1)
    with pytest.raises(FeatureRangeError, match="row 33, column 4"):
        model.fit(form(worse), y, sample_weight=np.where(np.arange(50) == 33, 0.0, 1.0))
    assert (model.coef_ == before).all()
    twice = sp.csr_matrix(([0.75, 0.75], [2, 2], [0, 2]), (1, 7))
    with pytest.raises(FeatureRangeError, match=r"column 2 has 1\.5"):
        model.partial_fit(twice, [1])


def test_the_threshold_n_needs_the_number_of_features() -> None:
    with pytest.raises(InputError, match="set it to a number"):
        Winnow().learn_one({"a": 1.0}, 1)
    model = Winnow().learn_one(np.array([1.0, 0.0, 1.0]), 1)
    assert model.intercept_[0] == -3.0
    with pytest.raises(InputError, match="began with 3 features, got 10"):
        model.learn_one({9: 1.0}, 1)
    assert model.n_features_in_ == 3
    grown = Winnow(threshold=2.0).learn_one(["a", "b"], 1).learn_one(["c"], 0)
    assert grown.n_features_in_ == 3
    assert grown.score_one(["a", "never seen"]) == grown.coef_[0, 0] + 1.0 - 2.0  # weights start at 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 1.0}, "alpha must be a number above 1"),
        ({"threshold": 0.0}, "threshold must be a number above 0"),
        ({"threshold": "m"}, "threshold must be"),
        ({"floor": 2.0}, "floor must be from 0 to 1"),
        ({"floor": 0.5, "elimination": True}, "exclude each other"),
        ({"negations": 3}, "negations must be True or False"),
        ({"threshold": 1e31}, r"below 2\^100"),
        ({"threshold": 1e30, "margin": 1e30}, r"below 2\^100"),
    ],
)
def test_invalid_settings_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Winnow(**settings).fit([[0.0], [1.0]], [0, 1])


def test_sample_weights_scale_the_exponents_and_withdraw_the_bounds() -> None:
    model = Winnow(threshold=2.0).fit([[1.0, 1.0], [0.5, 0.0]], [0, 1], sample_weight=[2.0, 4.0])
    assert model.coef_[0].tolist() == [2.0**-2 * 2.0**2, 0.25]
    assert list(model.bounds()) == []
    assert len(BalancedWinnow().fit([[1.0], [0.0]], [0, 1]).bounds()) == 2
    assert list(BalancedWinnow(margin=1.0).fit([[1.0], [0.0]], [0, 1]).bounds()) == []


def test_single_examples_are_checked_before_they_are_predicted() -> None:
    model = Winnow(threshold=2.0).learn_one({"a": 1.0}, 1).learn_one({"b": 1.0}, 0)
    for call in (model.predict_one, model.score_one):
        with pytest.raises(FeatureRangeError, match=r"feature 'a' has 5\.0"):
            call({"a": 5.0})
    with pytest.raises(InputError, match="threshold must be a finite number"):
        BalancedWinnow(threshold="n").fit([[0.0], [1.0]], [0, 1])  # type: ignore[arg-type]


def test_a_refusal_survives_pickling() -> None:
    import pickle

    with pytest.raises(FeatureRangeError) as refused:
        Winnow().fit([[0.0], [2.0]], [0, 1])
    again = pickle.loads(pickle.dumps(refused.value))  # noqa: S301 - our own
    assert (str(again), again.row) == (str(refused.value), 1)


def test_hashed_names_that_share_a_slot_count_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With few slots every line has collisions; the largest value stands for all that share one."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(300):
        words = rng.choice(200, 12, replace=False)
        label = 1 if 7 in words or 11 in words else -1
        lines.append(f"{label} |a " + " ".join(f"w{k}" for k in words))
    data, model = tmp_path / "words.vw", str(tmp_path / "m.model")
    data.write_text("\n".join(lines) + "\n")
    for name in ("winnow", "balanced-winnow", "elimination"):
        more = ["--threshold", "6"] if name == "winnow" else []
        learn = ["learn", str(data), "--learner", name, *more, "--hash-bits", "5", "--quiet"]
        assert main([*learn, "--save", model]) == 0
        first = Path(model).read_bytes()
        assert main([*learn, "--save", model, "--threads", "2"]) == 0
        assert Path(model).read_bytes() == first
        assert main(["predict", model, str(data), "--quiet"]) == 0
        assert main(["learn", str(data), "--resume", model, "--quiet"]) == 0
        capsys.readouterr()
        assert main([*learn, "--collisions", "sum"]) == 2
        assert "has 2.0" in capsys.readouterr().err or "has 3.0" in capsys.readouterr().err
    learn = ["learn", str(data), "--learner", "perceptron", "--hash-bits", "5", "--quiet", "--json"]
    assert main(learn) == 0
    summed = json.loads(capsys.readouterr().out)["radius"]
    assert main([*learn, "--collisions", "max"]) == 0
    assert json.loads(capsys.readouterr().out)["radius"] < summed


def test_predict_names_the_line_of_a_value_out_of_range(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = tmp_path / "d.svm", str(tmp_path / "m.model")
    data.write_text("1 1:1\n-1 2:1\n")
    assert main(["learn", str(data), "--learner", "winnow", "--threshold", "2", "--save", model, "--quiet"]) == 0
    data.write_text("1 1:1\n\n-1 400000000:1\n-1 2:3\n")
    assert main(["predict", model, str(data), "--quiet"]) == 2
    assert f"{data}:4: Winnow takes numbers from 0 to 1, but row 2, column 2 has 3.0" in capsys.readouterr().err
    data.write_text("1 1:1\n-1 5:1 6:1 400000000:1\n")
    assert main(["predict", model, str(data), "--quiet", "--scores"]) == 0
    scores = [float(line.split("\t")[1]) for line in capsys.readouterr().out.splitlines()]
    assert scores[1] == 3.0 - 2.0  # weights that were never seen are 1
