"""Multiclass schemes equal binary learners on the examples that the scheme stands for."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import AllVsAll, OneVsAll, OutputCode, Perceptron
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.core.multiclass.schemes import ONE_VS_ONE, Scheme, binary_target
from tests.helpers.dot_product import dot_in_order
from tests.helpers.multiclass_schemes import (
    BASE_LEARNERS,
    WORDS,
    clip_to_range,
    draw_examples,
    draw_labelled,
    make_scheme,
    slow_unless,
    slow_with_jit,
)
from tests.helpers.streams import csr

pytestmark = [pytest.mark.plain_python_slow, pytest.mark.plain_python_coverage]

UPDATES = ("top", "uniform", "proportional")


def make_base_learner(name: str, **changes: Any) -> Any:
    model = BASE_LEARNERS[name]
    return type(model)(**{**model.get_params(), **changes})


def columns_of(model: Any) -> list[list[float]]:
    return np.column_stack([model.coef_, model.intercept_]).tolist()


def scores_of(w: list[list[float]], x: list[float], bias: float) -> list[float]:
    """Of each column, in the order of summation that is promised."""
    return [dot_in_order(x, column[:-1]) + bias * column[-1] for column in w]


# --- Kesler's construction: one binary learner in k·(n + 1) dimensions ---


def compute_violation(inner: Any, s: float, norm: float) -> float | None:
    """How far s is below what the learner asks for; None where it is content."""
    if type(inner).__name__ == "SGD":
        return 1.0 - s if s <= 1.0 else None
    if type(inner).__name__ == "MarginPerceptron":
        return 0.0 if s <= 0 or norm == 0 or s < (1 - inner.epsilon) * inner.gamma * norm else None
    margin = getattr(inner, "margin", 0.0) / getattr(inner, "learning_rate", 1.0)
    return margin - s if s <= 0 or s < margin else None


def mean_of_rivals(inner: Any, update: str, s: list[float], y: int, norm: float) -> dict[int, float]:
    """Return the rivals of y and their shares; any rival where none counts, since nothing is learned then."""
    rivals = [j for j in range(len(s)) if j != y]
    first = max(rivals, key=lambda j: s[j])
    short = {j: compute_violation(inner, s[y] - s[j], norm) for j in rivals}
    unmet = {j: far for j, far in short.items() if far is not None}
    if update == "top" or not unmet:
        return {first: 1.0}
    total = sum(unmet.values())
    if update == "uniform" or total == 0:
        return dict.fromkeys(unmet, 1.0 / len(unmet))
    return {j: far / total for j, far in unmet.items()}


def is_penalised(inner: Any) -> bool:
    return bool(getattr(inner, "l1", 0) or getattr(inner, "l2", 0))


class KeslerReference:
    """The binary learner on x_yj: all blocks, each with its bias, written out one after another."""

    def __init__(self, inner: Any, classes: int, features: int) -> None:
        self.inner, self.k, self.n = inner, classes, features + 1
        self.bias = float(inner.fit_intercept)
        self.binary = type(inner)(**{**inner.get_params(), "fit_intercept": False})
        self.binary.tie = "negative"
        self.mistakes = self.unmet = 0

    def blocks(self, of: Any) -> list[list[float]]:
        return np.reshape(of, (self.k, self.n)).tolist() if of is not None else [[0.0] * self.n] * self.k

    def now(self) -> Any:
        """The weights of this moment, which an average does not show."""
        if self.binary._state is None:
            return None
        if is_penalised(self.inner):
            return self.binary.coef_[0]
        slots = self.binary._state.updater.weights
        return (slots[:, 0] if slots.ndim == 2 else slots)[1 : self.k * self.n + 1].astype(float)

    def learn(self, x: list[float], y: int, update: str) -> None:
        w = self.now()
        s = scores_of(self.blocks(w), x, self.bias)
        self.mistakes += int(np.argmax(s)) != y
        self.unmet += s[y] <= max(s[j] for j in range(self.k) if j != y)
        norm = float(np.sqrt(self.binary._state.updater.scalars[0])) if self._measures() and w is not None else 0.0
        example, z = np.zeros((self.k, self.n)), np.array([*x, self.bias])
        example[y] = z
        for j, share in mean_of_rivals(self.inner, update, s, y, norm).items():
            example[j] = -share * z
        self.binary.learn_one(example.ravel(), 1)

    def _measures(self) -> bool:
        return type(self.inner).__name__ == "MarginPerceptron"


BY_SCORE = ("sgd-logistic-adagrad", "sgd-squared-sqrt")
"""Each preference pulls as hard as its score says: only `top` has one example in the large space, and the score is a
sum in another order."""
PENALISED = ("sgd-hinge-adagrad-elastic", "sgd-logistic-sqrt-ridge")
"""Penalties that were put off are paid in other portions."""
QUICK_IN_KESLER = ("perceptron", "perceptron-averaged", "balanced-winnow")


def run_kesler_reference() -> Any:
    for name in BASE_LEARNERS:
        if name == "winnow":
            continue
        for update in UPDATES:
            inexact = name in (*BY_SCORE, *PENALISED)
            if update == "top" or not (inexact or (update, name) == ("proportional", "margin-perceptron")):
                yield pytest.param(name, update, marks=slow_unless(name in QUICK_IN_KESLER))


@pytest.mark.parametrize(("name", "update"), list(run_kesler_reference()))
def test_kesler_equals_a_binary_learner_on_the_kesler_construction(name: str, update: str) -> None:
    for seed, whole in ((0, False), (1, True)):
        X, y = draw_examples(seed, rows=80, classes=4)
        X = clip_to_range(BASE_LEARNERS[name], np.round(2 * X) / 4 if whole else X)
        model = make_scheme("kesler", make_base_learner(name), update=update)
        model.partial_fit(csr(X), y, classes=range(4))
        large = KeslerReference(make_base_learner(name), 4, X.shape[1])
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            large.learn(x, label, update)
        expected = large.blocks(large.binary.coef_[0])
        if name in (*BY_SCORE, *PENALISED):
            assert columns_of(model) == pytest.approx(np.array(expected), rel=1e-9, abs=1e-12)
            continue
        assert columns_of(model) == expected
        ledger, theirs = model.ledger_, large.binary.ledger_
        assert (ledger.examples, ledger.mistakes, ledger.updates) == (80, large.mistakes, theirs.updates)
        assert model._state.unmet == large.unmet
        if update == "top":
            assert large.unmet == theirs.mistakes
            assert ledger.energy == pytest.approx(theirs.energy)
            assert ledger.radius == pytest.approx(theirs.radius)


@pytest.mark.parametrize(
    ("name", "loss_slope"),
    [
        pytest.param("sgd-logistic-adagrad", lambda s: 1 / (1 + np.exp(s))),
        pytest.param("sgd-squared-sqrt", lambda s: 1 - s, marks=slow_unless(False)),
    ],
)
def test_kesler_follows_the_mean_loss_of_all_preferences(name: str, loss_slope: Any) -> None:
    X, y = draw_examples(2, classes=4)
    model = make_scheme("kesler", make_base_learner(name), update="uniform").partial_fit(csr(X), y, classes=range(4))
    Z = np.column_stack([X, np.ones(len(X))])
    w, G = np.zeros((4, Z.shape[1])), np.zeros((4, Z.shape[1]))
    for t, (z, label) in enumerate(zip(Z, y, strict=True), 1):
        slope = loss_slope(w[label] @ z - w @ z) / 3
        slope[label] = 0.0
        step = -slope[:, None] * z
        step[label] = slope.sum() * z
        G += step**2
        rate = model.estimator.learning_rate
        w += rate * np.divide(step, np.sqrt(G), out=np.zeros_like(G), where=G > 0) if t and "adagrad" in name else (
            rate / np.sqrt(t) * step
        )  # fmt: skip
    assert columns_of(model) == pytest.approx(w, rel=1e-9, abs=1e-12)
    assert model.ledger_.updates == len(y)


@slow_with_jit
def test_a_preference_that_cancels_takes_no_adagrad_step() -> None:
    """Three labels and three others pull the threshold equally to both sides; what is left is nothing, not rounding."""
    words = WORDS[:6]
    for update in ("uniform", "proportional"):
        model = make_scheme("multi-label-uniform", make_base_learner("sgd-hinge-adagrad"), update=update)
        model.partial_fit([[1.0, 3.0]], [words[:3]], classes=words)
        assert columns_of(model)[0] == [0.0, 0.0, 0.0]
    tree = make_scheme("hierarchical", make_base_learner("sgd-hinge-adagrad"), update="uniform")
    tree.partial_fit([[1.0, 0.7]], ["a/0"], classes=[f"a/{c}" for c in range(10)])
    assert dict(zip(tree._column_names(), columns_of(tree), strict=True))["a"] == [0.0, 0.0, 0.0]


# --- Reductions: a binary learner for each column ---


class SeparateLearners:
    """A binary learner of its own for each column, one example after another; a column begins when it is there."""

    def __init__(self, model: Any, inner: Any) -> None:
        self.model, self.inner = model, inner
        self.learners: list[Any] = []
        self.known = self.mistakes = self.updates = 0

    def sides(self, y: int) -> list[int]:
        if isinstance(self.model, OneVsAll):
            return [1 if c == y else -1 for c in range(self.known)]
        if isinstance(self.model, AllVsAll):  # pairs with a new class come after all others
            pairs = [(low, high) for high in range(self.known) for low in range(high)]
            return [1 if y == high else -1 if y == low else 0 for low, high in pairs]
        words = self.model._code_words(self.known)
        return [int(bit) for bit in words[y]]

    def learn(self, x: Any, y: int) -> None:
        before, scores = self.known, [self.score(one, x) for one in self.learners]
        self.known = max(self.known, y + 1)
        self.mistakes += self.known > before or self.choose(scores) != y
        sides = self.sides(y)
        while len(self.learners) < len(sides):
            self.learners.append(type(self.inner)(**self.inner.get_params()))
        moved = False
        for learner, side in zip(self.learners, sides, strict=True):
            if side:
                done = learner.ledger_.updates if learner._state else 0
                learner.partial_fit(x, [side], classes=[-1, 1])
                moved |= learner.ledger_.updates > done
        self.updates += moved

    def score(self, learner: Any, x: Any) -> float:
        """As the loop sees it: the rate of a Perceptron is multiplied in when scores are shown."""
        return float(learner.decision_function(x)[0]) / learner._spec().weight_scale if learner._state else 0.0

    def choose(self, scores: list[float]) -> int:
        return naive_choice(self.model, scores, self.known) if self.known else -1


def naive_choice(model: Any, s: list[float], k: int) -> int:
    positive = model._inner_learner.tie == "positive"
    if isinstance(model, OneVsAll):
        return int(np.argmax(s))
    if isinstance(model, AllVsAll):

        def wins(high: int, low: int) -> bool:
            score = s[high * (high - 1) // 2 + low]
            return score > 0 or (score == 0 and positive)

        if model.decision == "tournament":
            best = 0
            for c in range(1, k):
                best = c if wins(c, best) else best
            return best
        votes = [0] * k
        for low, high in combinations(range(k), 2):
            votes[high if wins(high, low) else low] += 1
        return votes.index(max(votes))
    words = model._code_words(k)[:k]
    if model.decoding == "loss":
        far = [
            sum(naive_loss(model._inner_learner, bit * v) for bit, v in zip(w.tolist(), s, strict=False)) for w in words
        ]
    else:
        bits = [1 if v > 0 or (v == 0 and positive) else -1 for v in s]
        far = [sum(abs(bit - b) / 2 for bit, b in zip(w.tolist(), bits, strict=False)) for w in words]
    return far.index(min(far))


def naive_loss(inner: Any, margin: float) -> float:
    if getattr(inner, "loss", "hinge") == "logistic":
        return float(np.log1p(np.exp(-abs(margin))) + max(0.0, -margin))
    return (1 - margin) ** 2 / 2 if getattr(inner, "loss", "hinge") == "squared" else max(0.0, 1 - margin)


SOME_ONLY = ("all-vs-all", "code-sparse")
QUICK_APART = {("one-vs-all", "perceptron"), ("one-vs-all", "sgd-logistic-adagrad"), ("all-vs-all", "perceptron"),
               ("all-vs-all-tournament", "perceptron"), ("code-dense", "perceptron"), ("code-exhaustive", "perceptron"),
               ("code-sparse-loss", "perceptron"), ("code-given", "perceptron"),
               ("one-vs-all", "balanced-winnow")}  # fmt: skip
GIVEN = [[1, 1, -1, 0], [1, -1, 1, 1], [-1, 1, 0, -1], [-1, -1, -1, 1], [0, 1, 1, 1]]


def reductions() -> Any:
    for name in ("one-vs-all", "all-vs-all", "all-vs-all-tournament", "code-dense", "code-sparse-loss",
                 "code-exhaustive", "code-given"):  # fmt: skip
        for inner in BASE_LEARNERS:
            if inner not in ("margin-perceptron", "p-norm-perceptron", *PENALISED):
                yield pytest.param(name, inner, marks=slow_unless((name, inner) in QUICK_APART))


def reduction(name: str, inner: str) -> Any:
    return (
        make_scheme("code-dense", make_base_learner(inner), code=GIVEN)
        if name == "code-given"
        else make_scheme(name, make_base_learner(inner))
    )


def check_separate_learners(name: str, inner: str, X: Any, y: Any) -> None:
    X = clip_to_range(BASE_LEARNERS[inner], X)
    model = reduction(name, inner).partial_fit(csr(X), y)
    apart, order = (
        SeparateLearners(model, model._inner_learner),
        {label: c for c, label in enumerate(dict.fromkeys(y.tolist()))},
    )
    for x, label in zip(X, y.tolist(), strict=True):
        apart.learn(csr(x[None]), order[label])
    n = X.shape[1] + 1
    ours = columns_of(model)
    assert len(ours) == len(apart.learners)
    for column, learner in zip(ours, apart.learners, strict=True):
        if learner._state is not None:
            assert column == [*learner.coef_[0].tolist(), *learner.intercept_.tolist()]
        elif inner != "winnow":  # nothing to learn from yet
            assert column == [0.0] * n
    made = [one.ledger_.mistakes if one._state else 0 for one in apart.learners]
    assert model._state.column_counters.mistakes[: len(made)].tolist() == made
    assert model._state.unmet == sum(made)
    assert model.ledger_.updates == apart.updates
    if not getattr(model._inner_learner, "average", False) and inner != "winnow":
        assert model.ledger_.mistakes == apart.mistakes


@pytest.mark.parametrize(("name", "inner"), list(reductions()))
def test_reductions_equal_separate_binary_learners(name: str, inner: str) -> None:
    check_separate_learners(name, inner, *draw_examples(3, rows=40))


@settings(max_examples=15)
@given(seed=st.integers(0, 2**20), rows=st.integers(1, 25), columns=st.integers(1, 19), classes=st.integers(1, 5))
@pytest.mark.parametrize("name", ["one-vs-all", "all-vs-all", "code-exhaustive"])
def test_random_streams_equal_separate_binary_learners(
    name: str, seed: int, rows: int, columns: int, classes: int
) -> None:
    check_separate_learners(name, "perceptron", *draw_examples(seed, rows, columns, classes))


@pytest.mark.slow
@settings(max_examples=60)
@given(seed=st.integers(0, 2**20), rows=st.integers(1, 60), columns=st.integers(1, 40), classes=st.integers(1, 9))
@pytest.mark.parametrize(
    "inner", ["perceptron-averaged", "sgd-logistic-adagrad", "sgd-squared-sqrt", "balanced-winnow"]
)
@pytest.mark.parametrize("name", ["one-vs-all", "all-vs-all", "code-dense", "code-sparse-loss"])
def test_random_streams_and_learners_equal_binary_learners(
    name: str, inner: str, seed: int, rows: int, columns: int, classes: int
) -> None:
    check_separate_learners(name, inner, *draw_examples(seed, rows, columns, classes))


QUICK_FORM = ("sgd-logistic-adagrad", csr, np.float32)


@pytest.mark.parametrize(
    ("inner", "form", "kind"),
    [
        pytest.param(inner, form, kind, marks=slow_unless((inner, form, kind) == QUICK_FORM))
        for inner in ("perceptron", "sgd-logistic-adagrad", "balanced-winnow")
        for form in (np.asarray, csr)
        for kind in (np.float32, np.float64)
    ],
)
def test_one_vs_all_equals_binary_learners_in_both_precisions(inner: str, form: Any, kind: Any) -> None:
    X, y = draw_examples(4, columns=21, kind=kind)
    X = clip_to_range(BASE_LEARNERS[inner], X)
    X[::2] += kind(0.01) * (X[::2] == 0)  # every second row without zeros
    model = make_scheme("one-vs-all", make_base_learner(inner)).fit(form(X), y)
    for c, column in enumerate(columns_of(model)):
        alone = make_base_learner(inner).fit(form(X), np.where(y == c, 1, -1))
        assert column == [*alone.coef_[0].tolist(), *alone.intercept_.tolist()]
        assert model._state.column_counters.mistakes[c] == alone.ledger_.mistakes


@pytest.mark.parametrize("inner", [pytest.param(name, marks=slow_unless(False)) for name in PENALISED])
@pytest.mark.parametrize("name", ["one-vs-all", "code-dense"])
def test_penalised_columns_equal_penalised_binary_learners(name: str, inner: str) -> None:
    X, y = draw_examples(5)
    model = make_scheme(name, make_base_learner(inner)).fit(csr(X), y)
    sides = 2 * np.eye(5) - 1 if name == "one-vs-all" else model._code_words(5)
    for column, side in zip(columns_of(model), sides.T, strict=True):
        if len(set(side)) == 2:
            alone = make_base_learner(inner).fit(csr(X), side[y])
            assert column == [*alone.coef_[0].tolist(), *alone.intercept_.tolist()]


@pytest.mark.parametrize("p", [pytest.param(3.0, marks=slow_unless(False))])
def test_p_norm_columns_have_one_unit(p: float) -> None:
    """Else scores of different classes could not be compared; θ is that of the learner alone."""
    X, y = draw_examples(6)
    model = make_scheme("one-vs-all", make_base_learner("p-norm-perceptron", p=p)).fit(csr(X), y)
    slots = model._state.updater.weights.reshape(-1, model._state.stride, 2)
    for c in range(5):
        alone = make_base_learner("p-norm-perceptron", p=p).fit(csr(X), np.where(y == c, 1, -1))
        theirs = alone._state.updater
        assert slots[: X.shape[1] + 1, c, 1].tolist() == theirs.weights[:, 1].tolist()
        unit = (theirs.scalars[0] / model._state.updater.scalars[0]) ** (p - 1)
        assert model.coef_[c] == pytest.approx(alone.coef_[0] * unit, rel=1e-12)


# --- Decisions ---


@pytest.mark.parametrize("tie", ["positive", "negative"])
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("one-vs-all", {}),
        ("all-vs-all", {}),
        ("all-vs-all-tournament", {}),
        ("code-dense", {}),
        ("code-dense", {"code": "sparse"}),
        ("code-dense", {"code": "sparse", "decoding": "loss"}),
        ("code-dense", {"code": GIVEN}),
        ("code-exhaustive", {"decoding": "loss"}),
    ],
)
def test_decisions_equal_those_of_naive_code(name: str, changes: dict[str, Any], tie: str) -> None:
    """Scores are small whole numbers, for the ties above all."""
    model = make_scheme(name, Perceptron(tie=tie), **changes).fit(np.eye(5), list(range(5)))
    rng, state = np.random.default_rng(7), model._state
    scores = rng.integers(-2, 3, (200, state.stride)).astype(float)
    used = model._n_used_columns(state)
    expected = [naive_choice(model, row[:used].tolist(), 5) for row in scores]
    assert model._decide(scores).tolist() == expected
    shown, winners = model._class_scores(scores)
    assert winners.tolist() == shown.argmax(axis=1).tolist() == expected


@slow_with_jit
@pytest.mark.parametrize("inner", ["sgd-logistic-adagrad", "sgd-squared-sqrt"])
def test_loss_based_decoding_uses_the_loss_of_the_learner(inner: str) -> None:
    """A bit of 0 costs what a score of 0 costs, whatever the score is (Allwein, Schapire and Singer)."""
    X, y = draw_examples(8)
    for code in ("dense", "sparse", GIVEN):
        model = make_scheme("code-dense", make_base_learner(inner), code=code, decoding="loss").fit(csr(X), y)
        columns = OnlineClassifier.decision_function(model, X)[:, : model._n_used_columns(model._state)]
        words = model._code_words(5)
        far = np.array([[[naive_loss(model._inner_learner, b * s) for b, s in zip(w, row, strict=True)] for w in words]
                        for row in columns.tolist()]).sum(axis=2)  # fmt: skip
        assert model.decision_function(X) == pytest.approx(-far, rel=1e-12)
        assert (model.predict(X) == far.argmin(axis=1)).all()


def test_every_pair_has_its_column() -> None:
    pairs = [(low, high) for high in range(120) for low in range(high)]
    for c, (low, high) in enumerate(pairs):
        if c % 7 == 0 or low in (0, high - 1):
            sides = [binary_target(Scheme(ONE_VS_ONE, 1.0), y, c) for y in (low, high, (high + 1) % 120)]
            assert sides[:2] == [-1.0, 1.0]
            assert sides[2] == (-1.0 if (high + 1) % 120 == low else 0.0)


def test_output_codes_are_valid() -> None:
    exhaustive = OutputCode(code="exhaustive")
    for k in range(2, 7):
        words = exhaustive._code_words(k)
        assert words.shape == (k, 2 ** (k - 1) - 1)
        columns = {tuple(column * column[0]) for column in words.T.tolist() for column in [np.array(column)]}
        assert len(columns) == words.shape[1]  # no division twice, not even with its sides exchanged
        assert all(len(set(column)) == 2 for column in words.T.tolist())
        assert (exhaustive._code_words(k + 1)[:k, : words.shape[1]] == words).all()  # what was learned stays right
    for code in ("dense", "sparse"):
        model = OutputCode(code=code, code_length=20)
        words = model._code_words(40)
        assert (model._code_words(12) == words[:12]).all()
        assert len({tuple(word) for word in words.tolist()}) == 40
        assert (words == 0).any() == (code == "sparse")
        assert not (OutputCode(code=code, code_length=20, random_state=1)._code_words(40) == words).all()


# --- Preferences: label sets, rankings, trees ---


class PreferenceReference:
    """Perceptron with margin g. A thing's score is the sum of its columns' scores; an example is a list of pairs (a, b)
    of things, a to be above b."""

    def __init__(self, update: str, margin: float, features: int) -> None:
        self.update, self.margin, self.n = update, margin, features
        self.w: list[list[float]] = []
        self.mistakes = self.updates = self.unmet = 0

    def scores(self, x: list[float], things: list[list[int]]) -> list[float]:
        while len(self.w) <= max((c for columns in things for c in columns), default=-1):
            self.w.append([0.0] * (self.n + 1))
        s = scores_of(self.w, x, 1.0)
        return [sum(s[c] for c in columns) for columns in things]

    def learn(self, x: list[float], things: list[list[int]], pairs: list[tuple[int, int]]) -> list[float]:
        """Returns the scores before anything moved."""
        s = self.scores(x, things)
        apart = {(a, b): s[a] - s[b] for a, b in sorted(pairs)}
        self.unmet += sum(v <= 0 for v in apart.values())
        short = {pair: self.margin - v for pair, v in apart.items() if v <= 0 or v < self.margin}
        if self.update == "top" and apart:
            least = min(apart, key=lambda pair: apart[pair])
            short = {least: 1.0} if least in short else {}
        elif self.update == "uniform" or sum(short.values()) == 0:
            short = dict.fromkeys(short, 1.0)
        signals = [0.0] * len(self.w)
        for (a, b), share in short.items():
            for c in things[a]:
                signals[c] += share * (c not in things[b])
            for c in things[b]:
                signals[c] -= share * (c not in things[a])
        total = sum(short.values())
        for c, signal in enumerate(signals):
            for j, v in enumerate([*x, 1.0]):
                self.w[c][j] += signal / total * v if signal else 0.0
        self.updates += any(signals)
        return s


def naive_pairs(one: Any) -> set[tuple[Any, Any]]:
    if isinstance(one, dict):
        return {(a, b) for a, b in ((a, b) for a in one for b in one) if one[a] > one[b]}
    return one if isinstance(one, set) else set(combinations(one, 2))


def numbers_in_order(known: list[Any], labels: Any) -> None:
    known += [label for label in labels if label not in known]


MARGINS = pytest.mark.parametrize("margin", [0.0, 0.75])
EACH_UPDATE = pytest.mark.parametrize("update", UPDATES)


@EACH_UPDATE
@MARGINS
def test_label_sets_equal_their_reference(update: str, margin: float) -> None:
    X, y = draw_labelled("multi-label", 11)
    model = make_scheme("multi-label-uniform", Perceptron(margin=margin), update=update).partial_fit(csr(X), y)
    reference, known = PreferenceReference(update, margin, X.shape[1]), list[str]()
    for x, labels in zip(X.tolist(), y, strict=True):
        before = len(known)
        numbers_in_order(known, sorted(labels) if isinstance(labels, set) else labels)
        mine = {known.index(label) + 1 for label in labels}
        others = set(range(1, len(known) + 1)) - mine
        pairs = [(a, b) for a in mine for b in {0} | others] + [(0, b) for b in others]
        s = reference.learn(x, [[c] for c in range(len(known) + 1)], pairs)
        reference.mistakes += len(known) > before or {c for c in range(1, len(s)) if s[c] > s[0]} != mine
    check_reference(model, reference, known)


@EACH_UPDATE
@MARGINS
def test_rankings_equal_their_reference(update: str, margin: float) -> None:
    X, y = draw_labelled("label-ranking", 12)
    model = make_scheme("label-ranking", Perceptron(margin=margin), update=update).partial_fit(csr(X), y)
    reference, known = PreferenceReference(update, margin, X.shape[1]), list[str]()
    for x, one in zip(X.tolist(), y, strict=True):
        before, unmet = len(known), reference.unmet
        said = [(a, b) for a in one for b in one if one[a] > one[b]] if isinstance(one, dict) else (
            sorted(one) if isinstance(one, set) else list(combinations(one, 2))
        )  # fmt: skip
        numbers_in_order(known, dict.fromkeys(label for pair in said for label in pair))
        reference.learn(x, [[c] for c in range(len(known))], [(known.index(a), known.index(b)) for a, b in said])
        reference.mistakes += len(known) > before or reference.unmet > unmet
        assert set(said) == naive_pairs(one)
    check_reference(model, reference, known)


@EACH_UPDATE
@MARGINS
def test_trees_equal_their_reference(update: str, margin: float) -> None:
    X, y = draw_labelled("hierarchical", 13, classes=7, rows=90)
    model = make_scheme("hierarchical", Perceptron(margin=margin), update=update).partial_fit(csr(X), y)
    reference, known, nodes = PreferenceReference(update, margin, X.shape[1]), list[str](), list[str]()
    edges = []
    for x, label in zip(X.tolist(), y, strict=True):
        before = len(known)
        numbers_in_order(known, [label])
        parts = label.split("/")
        numbers_in_order(nodes, ["/".join(parts[: d + 1]) for d in range(len(parts))])
        mine = known.index(label)
        things = [[c for c, node in enumerate(nodes) if f"{name}/".startswith(f"{node}/")] for name in known]
        unmet = reference.unmet
        s = reference.learn(x, things, [(mine, j) for j in range(len(known)) if j != mine])
        reference.unmet = unmet + (reference.unmet > unmet)
        reference.mistakes += len(known) > before or int(np.argmax(s)) != mine
        edges.append(things)
    if update == "top":
        check_reference(model, reference, known)
    else:  # shares are summed up along a path: equal up to rounding
        assert columns_of(model) == pytest.approx(np.array(reference.w), rel=1e-9, abs=1e-12)
        assert model.ledger_.mistakes == reference.mistakes
    assert model._column_names() == nodes
    far = [len(set(edges[-1][known.index(a)]) ^ set(edges[-1][known.index(b)]))
           for a, b in zip(model.predict(X).tolist(), y, strict=True)]  # fmt: skip
    assert model.tree_loss(X, y) == np.mean(far)


def check_reference(model: Any, reference: PreferenceReference, known: list[Any]) -> None:
    assert model.classes_.tolist() == known
    assert columns_of(model) == reference.w
    ledger = model.ledger_
    assert (ledger.mistakes, ledger.updates, model._state.unmet) == (
        reference.mistakes,
        reference.updates,
        reference.unmet,
    )


@pytest.mark.parametrize("inner", ["perceptron", pytest.param("sgd-logistic-adagrad", marks=slow_unless(False))])
def test_independent_labels_equal_binary_learners(inner: str) -> None:
    X, y = draw_labelled("multi-label", 14)
    model = make_scheme("multi-label", make_base_learner(inner)).partial_fit(csr(X), y)
    known, learners, mistakes = list[str](), list[Any](), 0
    for x, labels in zip(X, y, strict=True):
        before, row = len(known), csr(x[None])
        predicted = {name for name, one in zip(known, learners, strict=True) if one.decision_function(row)[0] >= 0}
        mistakes += predicted != set(labels)
        numbers_in_order(known, sorted(labels) if isinstance(labels, set) else labels)
        learners += [make_base_learner(inner) for _ in known[before:]]
        for name, one in zip(known, learners, strict=True):
            one.partial_fit(row, [1 if name in labels else -1], classes=[-1, 1])
    assert model.classes_.tolist() == known
    assert columns_of(model) == [[*one.coef_[0].tolist(), *one.intercept_.tolist()] for one in learners]
    assert model._state.column_counters.mistakes[: len(known)].tolist() == [one.ledger_.mistakes for one in learners]
    assert model.ledger_.mistakes == mistakes
