"""Online-to-batch conversion: every method equals a plain reference that stores all hypotheses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from novikoff import (
    AROW,
    SGD,
    BalancedWinnow,
    Elimination,
    Halving,
    InputError,
    MarginPerceptron,
    OnlineToBatch,
    Perceptron,
    PNormPerceptron,
    Rectangle,
    VotedPerceptron,
    Winnow,
)
from novikoff.core import hypothesis_log
from novikoff.data.labels.binary_labels import BinaryLabels
from novikoff.data.rows import Dense
from novikoff.model_file import from_bytes, to_bytes
from novikoff.online_to_batch.online_to_batch import METHOD_NAMES
from novikoff.online_to_batch.state import CHOSEN, NEXT_DRAW, OnlineToBatchState
from tests.helpers.known_distributions import wrap_learner
from tests.helpers.streams import csr, real

pytestmark = pytest.mark.plain_python_coverage

BOTH = {"classes": [-1, 1]}
INNER: dict[str, Any] = {
    "perceptron": Perceptron(),
    "perceptron-b": Perceptron(tie="negative", fit_intercept=False, learning_rate=0.3),
    "perceptron-thick": Perceptron(margin=0.7, learning_rate=0.5),
    "margin-perceptron": MarginPerceptron(gamma=0.05),
    "p-norm-perceptron": PNormPerceptron(p=4.5),
    "sgd-hinge-constant": SGD(loss="hinge", schedule="constant", learning_rate=0.1),
    "sgd-hinge-sqrt": SGD(loss="hinge", schedule="sqrt"),
    "sgd-logistic-adagrad": SGD(),
    "arow": AROW(average=False),
    "winnow": Winnow(threshold=3.0),
    "winnow-negations": Winnow(negations=True, alpha=1.3),
    "balanced-winnow": BalancedWinnow(alpha=1.2),
    "elimination": Elimination(),
    "elimination-2": Elimination(k=2),
    "halving": Halving(),
    "halving-conjunctions": Halving(hypotheses="conjunctions"),
    "rectangle": Rectangle(),
}
for _learner in INNER.values():
    _learner.set_params(shuffle=False)
EVERYONE = list(INNER)
HOW: dict[str, dict[str, Any]] = {
    "controlled-testing": {"epsilon": 0.6, "delta": 0.5},
    "next-stretch": {"epsilon": 0.5, "delta": 0.5, "max_mistakes": 30},
}


def make_model(method: str, inner: Any = None, **changes: Any) -> OnlineToBatch:
    return wrap_learner(inner, method, **{**HOW.get(method, {}), **changes})


def stream(name: str, seed: int, rows: int = 60) -> tuple[Any, Any]:
    X, y = real(seed, rows=rows, columns=5)
    least, most = INNER[name]._spec().feature_range
    if least == most:
        X = (X > 0).astype(float)
        y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
        y[5] = -y[5]
        y[:2] = [-1, 1]
    elif least > -np.inf:
        X = np.clip(X if least < 0 else np.abs(X), least, most)
    return X, y


class ReferenceMethods:
    """Keeps every hypothesis, as a model of its own, and does what the methods say in plain words."""

    def __init__(self, inner: Any, X: Any, y: Any) -> None:
        model = type(inner)(**inner.get_params())
        model._set_state(model._build_state(X.shape[1], np.float64, None, BinaryLabels(-1, 1)))
        self.X, self.y, self.hypotheses, self.wrong, self.ends = X, y, [], [], []
        for t in range(len(y)):
            self.hypotheses.append(from_bytes(to_bytes(model), "h"))
            self.wrong.append(bool(model.predict(X[t : t + 1])[0] != y[t]))
            updates = model.ledger_.updates
            model.partial_fit(X[t : t + 1], y[t : t + 1])
            self.ends.append(self.wrong[-1] or model.ledger_.updates > updates)
        self.last = model

    def stretches(self) -> list[tuple[int, int]]:
        """(where it begins, how many it got right without a change), in order."""
        found, start = [], 0
        for t, ends in enumerate(self.ends):
            if ends:
                found.append((start, t - start))
                start = t + 1
        return [*found, (start, len(self.ends) - start)]

    def tested(self, length: Callable[[int], int]) -> tuple[Any, int, bool]:
        """The first hypothesis to last so long, after how many examples that was, and whether there was one."""
        for i, (start, lasted) in enumerate(self.stretches()):
            if lasted >= length(i):
                return self.hypotheses[start], start + length(i), True
        return self.last, len(self.y), False

    def changed(self) -> list[int]:
        """The times at which hypotheses are new."""
        counts = [h.ledger_.updates for h in self.hypotheses]
        return [t for t in range(len(counts)) if t == 0 or counts[t] > counts[t - 1]]

    def penalised(self, delta: float) -> tuple[Any, float]:
        m, best = len(self.y), (math.inf, None)
        for t in self.changed():
            errors = int((self.hypotheses[t].predict(self.X[t:]) != self.y[t:]).sum())
            value = errors / (m - t) + math.sqrt(math.log(2 * m * (m + 1) / delta) / (2 * (m - t)))
            if value < best[0]:
                best = (value, self.hypotheses[t])
        return best[1], best[0]

    def votes(self, X: Any) -> Any:
        said = [np.where(h.predict(X) == 1, 1.0, -1.0) for h in self.hypotheses]
        return sum(said) / len(said)


@pytest.mark.parametrize("name", EVERYONE)
def test_every_method_equals_its_reference(name: str) -> None:
    inner = INNER[name]
    X, y = stream(name, 3)
    probes, _ = stream(name, 4, rows=30)
    reference = ReferenceMethods(inner, X, y)

    def scores(model: Any) -> Any:
        return model.decision_function(probes)

    drawn = make_model("random-stopping", inner).partial_fit(X, y, **BOTH)
    when = int(drawn._state.counts[CHOSEN])
    assert scores(drawn) == pytest.approx(scores(reference.hypotheses[when - 1]), rel=1e-12)
    for method, length in (
        ("controlled-testing", lambda i: math.ceil(math.log((i + 2) ** 2 / 0.5) / 0.6)),
        ("next-stretch", lambda _: math.ceil(math.log(30 / 0.5) / 0.5)),
    ):
        model, (chosen, used, passed) = make_model(method, inner).partial_fit(X, y, **BOTH), reference.tested(length)
        if model._state.counts[0] != 2:  # not where all changes were made
            assert (model.stopped_, model.examples_used_) == (passed, used), (method, model.stop_reason_)
            assert scores(model) == pytest.approx(scores(chosen), rel=1e-12)
            later = int((chosen.predict(X[used:]) != y[used:]).sum()) if used < len(y) else 0
            assert model._describe_guarantee()["later_mistakes"] == later
    longest = make_model("longest-survivor", inner).partial_fit(X, y, **BOTH)
    lasted = [length for _, length in reference.stretches()]
    at = int(np.argmax(lasted))
    if max(lasted) > 0:
        assert longest.guarantee_.numbers == {"stretch": at, "length": max(lasted)}
        start = min(reference.stretches()[at][0], len(y) - 1)
        assert scores(longest) == pytest.approx(scores(reference.hypotheses[start]), rel=1e-12)
    chosen, value = reference.penalised(0.05)
    best = make_model("penalised", inner).partial_fit(X, y, **BOTH)
    assert best.bound_ == pytest.approx(value, rel=1e-12)
    assert scores(best) == pytest.approx(scores(chosen), rel=1e-12)
    assert scores(make_model("vote", inner).partial_fit(X, y, **BOTH)) == pytest.approx(
        reference.votes(probes), abs=1e-12
    )


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_the_wrapped_run_equals_that_of_the_learner(method: str) -> None:
    X, y = real(8, columns=5)
    model = make_model(method, Perceptron(shuffle=False)).fit(X, y)
    alone = Perceptron(average=True, shuffle=False).fit(X, y)
    used = model.examples_used_
    assert repr(model.ledger_) == repr(Perceptron(shuffle=False).fit(X[:used], y[:used]).ledger_)
    if method == "average":
        assert (model.coef_ == alone.coef_).all()
        assert (model.decision_function(X) == alone.decision_function(X)).all()
        assert model.bound_ is None
        assert "Nothing is guaranteed" in model.guarantee_.sentence
    assert [b.name for b in model.bounds()] == [b.name for b in alone.bounds()]


# --- One arithmetic ---


def check_same_bytes(method: str, name: str, seed: int) -> None:
    inner = INNER[name]
    X, y = stream(name, seed)
    batch = to_bytes(make_model(method, inner).fit(X, y))
    assert to_bytes(make_model(method, inner).fit(csr(X), y)) == batch
    for cuts in ([7, 8, 30], list(range(1, len(y)))):
        model = make_model(method, inner)
        for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
            model.partial_fit(X[start:stop], y[start:stop], **BOTH)
            model = from_bytes(to_bytes(model), "m")
        assert to_bytes(model) == batch
    model = make_model(method, inner)
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn_one(x, label)
    assert to_bytes(model) == batch
    again = from_bytes(batch, "m")
    assert (again.decision_function(X) == model.decision_function(X)).all()
    assert [again.predict_one(x) for x in X[:5]] == model.predict(X[:5]).tolist()
    assert again._describe_guarantee() == model._describe_guarantee()


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_every_way_to_learn_gives_the_same_bytes(method: str) -> None:
    check_same_bytes(method, "perceptron", 11)


@settings(max_examples=10)
@given(cuts=st.lists(st.integers(0, 80), max_size=6).map(sorted), seed=st.integers(0, 1000))
def test_batch_boundaries_do_not_change_the_model(cuts: list[int], seed: int) -> None:
    X, y = real(seed, rows=80, columns=4)
    for method in METHOD_NAMES:
        model = make_model(method, random_state=seed, max_hypotheses=5)
        for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
            if stop > start:
                model.partial_fit(X[start:stop], y[start:stop], **BOTH)
        assert to_bytes(model) == to_bytes(make_model(method, random_state=seed, max_hypotheses=5).fit(X, y))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("name", INNER)
def test_every_way_to_learn_gives_the_same_bytes_with_every_learner(method: str, name: str) -> None:
    if method == "average" and not hasattr(INNER[name], "average"):
        pytest.skip("a learner that does not average")
    for seed in range(3):
        check_same_bytes(method, name, seed)


@pytest.mark.parametrize("name", ["perceptron", "perceptron-thick", "sgd-hinge-sqrt", "arow", "winnow", "elimination"])
@pytest.mark.parametrize("method", ["controlled-testing", "next-stretch", "longest-survivor"])
def test_run_lengths_do_not_depend_on_how_many_rows_the_loop_learns_at_once(method: str, name: str) -> None:
    X, y = stream(name, 21, rows=700)
    more = {"next-stretch": {"epsilon": 0.02, "max_mistakes": 400}, "controlled-testing": {"epsilon": 0.1}}
    batch, single = (make_model(method, INNER[name], **more.get(method, {})) for _ in range(2))
    batch.partial_fit(X, y, **BOTH)
    for t in range(len(y)):
        single.partial_fit(X[t : t + 1], y[t : t + 1], **BOTH)
    assert to_bytes(batch) == to_bytes(single)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_rows_of_weight_0_are_left_out(method: str) -> None:
    X, y = real(14, rows=300, columns=4)
    weights = np.where(np.arange(300) % 3 == 1, 0.0, 1.0)
    weights[40:90] = 0.0
    weighted = make_model(method)._partial_fit(X, y, BOTH["classes"], weights)
    plain = make_model(method).partial_fit(X[weights > 0], y[weights > 0], **BOTH)
    assert to_bytes(weighted) == to_bytes(plain)


@pytest.mark.parametrize("name", INNER)
def test_votes_of_few_rows_are_those_of_many(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = stream(name, 15, rows=200)
    model = make_model("vote", INNER[name]).partial_fit(X, y, **BOTH)
    monkeypatch.setattr(hypothesis_log, "PROBE_BLOCK_ROWS", 50)
    few = np.concatenate([model.decision_function(X[start : start + 7]) for start in range(0, 200, 7)])
    monkeypatch.setattr(hypothesis_log, "MAX_PROBED_ROWS", -1)
    assert (model.decision_function(X) == few).all()


def test_a_vote_on_scores_that_are_too_large_to_learn_from() -> None:
    X, y = np.array([[1e149], [-1e149], [1e149], [1e149]]), np.array([-1, 1, -1, 1])
    model = make_model("vote", Perceptron(fit_intercept=False, learning_rate=1e20, shuffle=False)).partial_fit(
        X, y, **BOTH
    )
    assert model.decision_function([[1e149], [1.0]]).tolist() == [-0.5, -0.5]


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_late_features_are_accepted(method: str) -> None:
    X, y = real(12, columns=6)
    rows = [{f"f{j}": float(v) for j, v in enumerate(x[: 3 + t // 12]) if v} for t, x in enumerate(X)]
    straight, resumed = make_model(method), make_model(method)
    for x, label in zip(rows, y.tolist(), strict=True):
        straight.learn_one(x, label)
        resumed = from_bytes(to_bytes(resumed.learn_one(x, label)), "m")
    assert to_bytes(straight) == to_bytes(resumed)
    assert straight.predict_one({"f0": 1.0, "never": 2.0}) == straight.predict_one({"f0": 1.0})


def test_a_refused_batch_changes_nothing() -> None:
    X, y = real(5, rows=40, columns=4)
    bad = X.copy()
    bad[30, 2] = np.inf
    for method in METHOD_NAMES:
        model = make_model(method).partial_fit(X, y, **BOTH)
        before = to_bytes(model)
        with pytest.raises(InputError, match="infinity"):
            model.partial_fit(bad, y)
        assert to_bytes(model) == before


# --- Storage ---


def test_memory_is_constant_or_proportional_to_the_updates() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 8))
    y = np.where(X[:, 0] + 0.2 * rng.standard_normal(30_000) > 0, 1, -1)
    sizes = {}
    for method in ("random-stopping", "controlled-testing", "longest-survivor", "vote"):
        model = make_model(method, epsilon=0.001, delta=0.05)
        half = len(to_bytes(model.partial_fit(X[:15_000], y[:15_000], **BOTH)))
        changes = model.ledger_.updates
        sizes[method] = len(to_bytes(model.partial_fit(X[15_000:], y[15_000:]))) - half
    listed = 8 * 4096  # the ledger's own list of mistakes
    assert max(sizes[m] for m in sizes if m != "vote") <= listed
    # A change is an example: eight values and eight columns, its time, its end and its label.
    assert sizes["vote"] <= listed + (8 * 12 + 17) * (model.ledger_.updates - changes)


def test_the_penalised_method_evaluates_a_limited_number_of_hypotheses() -> None:
    X, y = real(1, rows=300, columns=6)
    every, some = (make_model("penalised", max_hypotheses=n).fit(X, y) for n in (1000, 8))
    assert every._state.changes.sizes[0] + 1 == len(every._state.picked) > 8 == len(some._state.picked)
    born = np.concatenate([[0], every._state.changes.born, [301]])
    lasted = np.diff(born[: len(every._state.picked) + 1])[:-1]  # of those that have ended
    kept = some._state.picked[:-1]
    assert lasted[kept].min() >= np.sort(lasted)[-len(kept)] - 1 or lasted[kept].min() >= np.median(lasted)
    both = dict(zip(every._state.picked.tolist(), every._state.mistakes.tolist(), strict=True))
    assert all(both[h] == k for h, k in zip(some._state.picked.tolist(), some._state.mistakes.tolist(), strict=True))
    theorem = "M/m + 6√(ln(2(m+1)/δ)/m)"
    assert theorem in every.guarantee_.numbers
    assert theorem not in some.guarantee_.numbers  # it compares with all of them
    assert every.bound_ <= some.bound_


# --- Random stopping ---


def test_stopping_times_are_uniform() -> None:
    counts = np.zeros(12)
    for seed in range(6000):
        state = OnlineToBatchState(None, None, None, 0, None, None, {})  # type: ignore[arg-type]
        chosen = 0
        while state.counts[NEXT_DRAW] <= 12:
            chosen = int(state.counts[NEXT_DRAW])
            state.schedule_next_draw(seed)
        counts[chosen - 1] += 1
    assert chisquare(counts).pvalue > 1e-6


# --- What is refused ---


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OnlineToBatch(method="chance"), "method must be one of random-stopping"),  # type: ignore[arg-type]
        (OnlineToBatch(epsilon=1.0), "ε, the error, must be a number between 0 and 1, but is 1.0"),
        (OnlineToBatch(delta=0.0), "δ, the probability to fail, must be a number between 0 and 1, but is 0.0"),
        (OnlineToBatch(delta=math.nan), "δ.*but is nan"),
        (OnlineToBatch(method="next-stretch"), "next-stretch must know how often"),
        (OnlineToBatch(method="next-stretch", max_mistakes=0), "max_mistakes must be a whole number"),
        (OnlineToBatch(method="next-stretch", stream_radius=1.0, stream_margin=2.0), "must not be below γ"),
        (OnlineToBatch(method="next-stretch", stream_radius=1.0, stream_margin=1e-9), "whole number from 1 to"),
        (OnlineToBatch(Winnow(), method="next-stretch", stream_radius=1.0, stream_margin=0.1), "Perceptron's bound"),
        (OnlineToBatch(Perceptron(passes=2)), "passes must be 1, but is 2"),
        (OnlineToBatch(VotedPerceptron()), "predict by themselves"),
        (OnlineToBatch(Halving(hypotheses=[lambda _: True])), "predict by themselves"),
        (OnlineToBatch(MarginPerceptron(), method="average"), "needs a learner that averages"),
        (OnlineToBatch(SGD(l2=0.1)), "the hypothesis changes at every example"),
        (OnlineToBatch(OnlineToBatch()), "needs a binary learner of this package"),  # type: ignore[arg-type]
        (OnlineToBatch("perceptron"), "needs a binary learner of this package"),  # type: ignore[arg-type]
        (OnlineToBatch(max_hypotheses=1), "max_hypotheses must be a whole number from 2"),
        (OnlineToBatch(random_state=-1), "random_state must be a whole number"),
    ],
)
def test_invalid_settings_are_refused(model: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model.fit([[0.0], [1.0]], [0, 1])


@pytest.mark.filterwarnings("ignore::novikoff.SortedLabelsWarning")
def test_no_bound_is_given_without_a_guarantee() -> None:
    X, y = real(1, rows=20, columns=3)
    open_ = make_model("controlled-testing", epsilon=0.01, delta=0.01).fit(X, y)
    assert (open_.stopped_, open_.bound_) == (False, None)
    assert "no hypothesis has passed its test yet" in open_.guarantee_.sentence
    alike = np.tile([[1.0, 2.0]], (200, 1))
    wide = make_model("next-stretch", max_mistakes=None, stream_radius=2.0, stream_margin=0.5).fit(
        np.vstack([alike, -alike]), [1] * 200 + [-1] * 200
    )
    assert wide.stopped_
    assert wide.bound_ is None
    assert "more than the radius that was given" in wide.guarantee_.sentence
    wrong = make_model("next-stretch", max_mistakes=1, epsilon=0.01).fit(X, y)
    assert wrong.stopped_
    assert "so that the bound M does not hold" in wrong.guarantee_.sentence
    assert make_model("longest-survivor").partial_fit(X[:1], [-1], **BOTH).bound_ is None  # the first was wrong


def test_the_first_survivor_has_the_bound_of_the_paper() -> None:
    """Numbers by hand: three mistakes, then 60 right answers; ε = 0.1, δ = 0.05."""
    X, y = np.eye(4)[[0, 1, 2, *[3] * 70]], np.array([-1, -1, -1, *[1] * 70])
    model = OnlineToBatch(Perceptron(fit_intercept=False, shuffle=False), method="controlled-testing").fit(X, y)
    needed = math.ceil(10 * math.log(25 / 0.05))  # stretch 3
    assert (model.stopped_, model.examples_used_, model.bound_) == (True, 3 + needed, 0.1)
    longest = OnlineToBatch(Perceptron(fit_intercept=False, shuffle=False), delta=0.05).fit(X, y)
    assert longest.bound_ == pytest.approx(1 - (0.05 / 20) ** (1 / 70), rel=1e-12)


def test_sample_weights_are_refused() -> None:
    model = OnlineToBatch()
    state = model._build_state(1, np.float64, None, BinaryLabels(-1, 1))
    with pytest.raises(InputError, match="takes examples of weight 1"):
        model._run_loop(state, Dense(np.ones(1), 1), np.ones(1, np.int8), np.array([2.0]), True)


# --- scikit-learn ---


@parametrize_with_checks([OnlineToBatch()])
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([make_model(method, Perceptron()) for method in METHOD_NAMES if method != "longest-survivor"])
def test_scikit_learn_checks_of_other_methods(estimator: Any, check: Any) -> None:
    check(estimator)


def test_clone_keeps_settings_and_drops_the_fitted_state() -> None:
    model = make_model("penalised", Perceptron(learning_rate=0.5)).fit([[0.0], [1.0]], [0, 1])
    copy = clone(model)
    assert repr(copy) == repr(model) == "OnlineToBatch(estimator=Perceptron(learning_rate=0.5), method='penalised')"
    assert not hasattr(copy, "guarantee_")
    assert copy.set_params(estimator__learning_rate=2.0).estimator.learning_rate == 2.0
    assert model.estimator.learning_rate == 0.5


def test_the_chosen_hypothesis_is_a_learner() -> None:
    X, y = real(2, columns=4)
    for method in METHOD_NAMES:
        model = make_model(method).fit(X, y)
        if method == "vote":
            with pytest.raises(AttributeError, match="no single hypothesis"):
                _ = model.hypothesis_
            assert not hasattr(model, "coef_")
            continue
        alone = model.hypothesis_
        assert (alone.predict(X) == model.predict(X)).all()
        assert (alone.coef_ == model.coef_).all()
        before = to_bytes(model)
        alone.partial_fit(X, y)
        assert to_bytes(model) == before
