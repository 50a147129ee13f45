"""Elimination, Halving and Rectangle: plain Python references, bounds against an adversary, and invalid input."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from novikoff import Elimination, FeatureRangeError, Halving, InputError, Rectangle
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.core.updaters.version_space import HYPOTHESIS_CLASSES
from novikoff.model_file import to_bytes
from novikoff.theory import boolean_bounds
from tests.helpers.bound_checks import check_bounds, evidence_of_target
from tests.helpers.streams import csr

pytestmark = pytest.mark.plain_python_coverage

BOTH = [-1, 1]
TABLES = st.lists(st.tuples(*[st.integers(0, 1)] * 5), min_size=1, max_size=40)
LABELS = st.randoms(use_true_random=False)


def clauses(n: int, k: int) -> list[frozenset[tuple[int, int]]]:
    """All clauses of up to k literals, a literal being (variable, the value that makes it true)."""
    return [
        frozenset(zip(variables, values, strict=True))
        for size in range(1, k + 1)
        for variables in combinations(range(n), size)
        for values in product((0, 1), repeat=size)
    ]


def reference_elimination(X: Any, y: Any, k: int) -> tuple[set[frozenset[tuple[int, int]]], list[int]]:
    left, mistakes = set(clauses(len(X[0]), k)), []
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        true = {c for c in left if any(x[j] == v for j, v in c)}
        if (len(true) == len(left)) != (label > 0):
            mistakes.append(t)
            left = true if label > 0 else left
    return left, mistakes


def to_formula(left: Any, k: int, names: Any = None) -> set[str]:
    literal = lambda j, v: f"{'' if v else '¬'}x{j}"  # noqa: E731
    texts = {" ∨ ".join(literal(j, v) for j, v in sorted(c, key=lambda p: (p[0], -p[1]))) for c in left}
    return texts if k == 1 else {f"({text})" for text in texts}


@pytest.mark.parametrize("form", [np.asarray, csr])
@pytest.mark.parametrize("k", [1, 2, 3])
@settings(max_examples=40, deadline=None)
@given(rows=TABLES, random=LABELS)
def test_elimination_equals_its_reference(k: int, form: Any, rows: Any, random: Any) -> None:
    y = [random.choice(BOTH) for _ in rows]
    model = Elimination(k=k).partial_fit(form(np.array(rows, float)), y, classes=BOTH)
    left, mistakes = reference_elimination(rows, y, k)
    assert model.ledger_.mistake_times.tolist() == mistakes
    if 1 in [label for t, label in enumerate(y, start=1) if t in mistakes]:
        assert set(model.formula_.replace("⊤", "").split(" ∧ ")) - {""} == to_formula(left, k)
    elif k == 1:
        assert model.formula_ == "⊥"
    expected = [1 if all(any(x[j] == v for j, v in c) for c in left) else -1 for x in rows]
    assert model.predict(form(np.array(rows, float))).tolist() == expected
    assert [model.predict_one(np.array(x, float)) for x in rows] == expected


@settings(max_examples=100, deadline=None)
@given(rows=TABLES, target=st.dictionaries(st.integers(0, 4), st.integers(0, 1)))
def test_elimination_errs_on_positive_examples_only_and_n_plus_one_times(rows: Any, target: Any) -> None:
    X = np.array(rows, float)
    y = np.where([all(x[j] == v for j, v in target.items()) for x in rows], 1, -1)
    model = Elimination().partial_fit(X, y, classes=BOTH)
    assert (y[model.ledger_.mistake_times - 1] > 0).all()
    assert check_bounds(model, evidence_of_target(clause=1.0)) == 1
    assert boolean_bounds.elimination(features=5) == 6


def test_an_adversary_forces_n_plus_one_mistakes_of_elimination() -> None:
    """All ones, then each feature missing once: the target is the empty conjunction, true of everything."""
    for n in (1, 4, 30):
        X = np.vstack([np.ones((1, n)), 1 - np.eye(n)])
        model = Elimination().partial_fit(X, np.ones(n + 1, int), classes=BOTH)
        assert model.ledger_.mistakes == n + 1


def k_cnf_stream(seed: int, rounds: int) -> int:
    """An adversary that shows it examples of a random k-CNF on which it errs, while it finds some."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 4))
    n = int(rng.integers(k, 8))
    every = clauses(n, k)
    target = [every[i] for i in rng.integers(0, len(every), 3)]
    model = Elimination(k=k)
    for _ in range(rounds):
        X = rng.integers(0, 2, (20, n)).astype(float)
        y = np.array([1 if all(any(x[j] == v for j, v in c) for c in target) else -1 for x in X])
        bad = np.flatnonzero(model.predict(X) != y) if model._state is not None else np.arange(1)
        at = bad[:1] if len(bad) else np.array([0])
        model.partial_fit(X[at], y[at], classes=BOTH)
    return check_bounds(model, evidence_of_target(clause=float(k)))


def test_no_k_cnf_breaks_the_bound() -> None:
    assert sum(k_cnf_stream(seed, 20) for seed in range(2 if JIT_DISABLED else 30)) > 1


@pytest.mark.slow
def test_no_k_cnf_breaks_the_bound_in_a_thousand_streams() -> None:
    assert sum(k_cnf_stream(seed, 60) for seed in range(1000)) == 1000


def test_elimination_grows_with_its_features() -> None:
    """A feature that was never there was 0 on every positive example: its negation is part of the conjunction."""
    model = Elimination()
    for x, label in [(["a", "b"], 1), (["c"], 0), (["a"], 1), (["a", "d"], 0)]:
        model.learn_one(x, label)
    assert model.formula_ == "a ∧ ¬c ∧ ¬d"
    assert model.predict_one(["a"]) == 1
    assert model.predict_one(["a", "never seen"]) == 0
    assert model.learn_one(["a", "never seen"], 1).predict_one(["a", "never seen"]) == 1
    for k, x in ((2, ["a"]), (3, {0: 1.0})):
        with pytest.raises(InputError, match="must know the features in advance"):
            Elimination(k=k).learn_one(x, 1)
    with pytest.raises(InputError, match="too many"):
        Elimination(k=6).fit(np.eye(200), [0, 1] * 100)


@pytest.mark.parametrize("model", [Elimination(), Elimination(k=2), Halving(hypotheses="conjunctions")])
def test_features_must_be_zero_or_one(model: Any) -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 1.0]])
    with pytest.raises(FeatureRangeError, match=r"features that are 0 or 1, but row 2, column 0 has 0\.5"):
        model.fit(X, [1, -1, 1])
    model.fit(X[:2], [1, -1])
    with pytest.raises(FeatureRangeError, match="row 2, column 0"):
        model.predict(X)
    before = to_bytes(model)
    with pytest.raises(FeatureRangeError, match=r"feature 0 has 0\.5"):
        model.learn_one(X[2], 1)
    assert to_bytes(model) == before


# --- Halving ---

PLAIN: dict[str, Any] = {
    "conjunctions": [lambda x, s=s: all(x[j] for j in s) for r in range(3) for s in combinations(range(5), r)],
    "disjunctions": [lambda x, s=s: any(x[j] for j in s) for r in range(3) for s in combinations(range(5), r)],
    "stumps": [
        lambda x, j=j, c=c, up=up: (x[j] >= c) == up
        for j in range(5)
        for c in np.linspace(-1, 1, 5)
        for up in (True, False)
    ],
    "intervals": [
        *(lambda x, j=j, a=a, b=b: a <= x[j] <= b for j in range(5) for a, b in combinations(np.linspace(-1, 1, 5), 2)),
        lambda _: False,
    ],
}


def reference_halving(hypotheses: Any, X: Any, y: Any) -> tuple[int, list[int], int]:
    left, mistakes, restarts = list(hypotheses), [], 0
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        votes = sum(1 if h(x) else -1 for h in left)
        if (votes >= 0) != (label > 0):
            mistakes.append(t)
        left = [h for h in left if bool(h(x)) == (label > 0)]
        if not left:
            left, restarts = list(hypotheses), restarts + 1
    return len(left), mistakes, restarts


@pytest.mark.parametrize("name", HYPOTHESIS_CLASSES)
@settings(max_examples=40, deadline=None)
@given(rows=TABLES, random=LABELS)
def test_halving_equals_its_reference_and_keeps_its_bound(name: str, rows: Any, random: Any) -> None:
    hypotheses = PLAIN[name]
    truth = random.choice(hypotheses)
    y = [1 if truth(x) ^ (random.random() < 0.1) else -1 for x in rows]
    model = Halving(hypotheses=name, steps=5).partial_fit(np.array(rows, float), y, classes=BOTH)
    left, mistakes, restarts = reference_halving(hypotheses, rows, y)
    assert model.size_ == len(hypotheses)
    assert (model.hypotheses_left_, model.restarts_) == (left, restarts)
    assert model.ledger_.mistake_times.tolist() == mistakes
    errors = min(sum(bool(h(x)) != (label > 0) for x, label in zip(rows, y, strict=True)) for h in hypotheses)
    assert check_bounds(model, evidence_of_target(errors=float(errors))) == 1
    own = Halving(hypotheses=hypotheses).partial_fit(np.array(rows, float), y, classes=BOTH)
    assert own.ledger_.mistake_times.tolist() == mistakes
    assert own.predict(np.array(rows, float)).tolist() == model.predict(np.array(rows, float)).tolist()


def test_halving_over_fitted_estimators_and_functions() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 3))
    y = np.where(X[:, 1] > 0.2, 1, -1)
    trees = [DecisionTreeClassifier(max_depth=1, random_state=s).fit(X[s : s + 9], y[s : s + 9]) for s in range(6)]
    best = DecisionTreeClassifier(max_depth=1).fit(X, y)
    model = Halving(hypotheses=[*trees, best, lambda x: x[0] > 0])
    assert model.fit(X, y).ledger_.mistakes <= boolean_bounds.halving(hypotheses=8)
    assert (model.predict(X) == y).all()
    one = Halving(hypotheses=[*trees, best, lambda x: x[0] > 0])
    for x, label in zip(X, y.tolist(), strict=True):
        one.learn_one(x, label)
    assert one.ledger_.mistake_times.tolist() == model.ledger_.mistake_times.tolist()
    with pytest.raises(InputError, match="can't be written to a file"):
        to_bytes(model)
    with pytest.raises(InputError, match="as a 1-D array"):
        model.learn_one({"a": 1.0}, 1)
    for wrong in ([], [3], {"a": 1}):
        with pytest.raises(InputError, match="functions or objects that predict, at least one"):
            Halving(hypotheses=wrong).fit(X, y)
    with pytest.raises(InputError, match="must return True, False or a number"):
        Halving(hypotheses=[lambda _: "yes"]).fit(X, y)
    assert model.set_params(hypotheses=[best]).fit(X, y).size_ == 1
    with pytest.raises(InputError, match="name a class"):
        Halving(hypotheses=7).fit(X, y)
    with pytest.raises(InputError, match="one of conjunctions"):
        Halving(hypotheses="circles").fit(X, y)
    with pytest.raises(InputError, match="more than"):
        Halving(hypotheses="conjunctions", size=20).fit(np.eye(40), [0, 1] * 20)


# --- Rectangles ---


@pytest.mark.parametrize("form", [np.asarray, csr])
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=40), random=LABELS, true=st.booleans())
def test_rectangles_equal_their_reference_and_keep_their_bound(form: Any, rows: Any, random: Any, true: bool) -> None:
    sides = [sorted(random.sample(range(-3, 4), 2)) for _ in range(3)]
    inside = lambda x, box: all(low <= v <= high for v, (low, high) in zip(x, box, strict=True))  # noqa: E731
    y = [(1 if inside(x, sides) else -1) if true else random.choice(BOTH) for x in rows]
    model = Rectangle().partial_fit(form(np.array(rows, float)), y, classes=BOTH)
    box, mistakes = None, []
    for t, (x, label) in enumerate(zip(rows, y, strict=True), start=1):
        if (box is not None and inside(x, box)) != (label > 0):
            mistakes.append(t)
            if label > 0:
                box = [(v, v) for v in x] if box is None else [
                    (min(v, low), max(v, high)) for v, (low, high) in zip(x, box, strict=True)
                ]  # fmt: skip
    assert model.ledger_.mistake_times.tolist() == mistakes
    if box is None:
        assert np.isnan(model.box_).all()
    else:
        assert model.box_.tolist() == [list(side) for side in box]
        assert model.predict(np.array(rows, float)).tolist() == [1 if inside(x, box) else -1 for x in rows]
    if true:
        positives = [x for x, label in zip(rows, y, strict=True) if label > 0]
        steps = sum(len({x[j] for x in positives}) - 1 for j in range(3)) if positives else 0
        assert check_bounds(model, evidence_of_target(steps=float(steps))) == 1


def test_a_rectangle_grows_with_new_feature_names() -> None:
    model = Rectangle().learn_one({"a": 1.0}, 1).learn_one({"a": 1.0, "b": 2.0}, 0).learn_one({"a": 3.0}, 1)
    assert model.box_.tolist() == [[1.0, 3.0], [0.0, 0.0]]
    assert model.score_one({"a": 1.5}) == 0.5
    assert model.predict_one({"a": 2.0, "b": 1.0}) == 0


def test_features_that_were_never_seen_are_outside_of_a_rectangle() -> None:
    rng = np.random.default_rng(3)
    model, disagreed = Rectangle(), 0
    for _ in range(300):
        x = {f"f{j}": float(v) for j, v in enumerate(rng.integers(-2, 3, 4)) if v and rng.random() < 0.7}
        x |= {f"g{rng.integers(40)}": 1.0} if rng.random() < 0.3 else {}
        label = int(rng.random() < 0.4)
        expected = model.predict_one(x) if model._state is not None and len(model.classes_) == 2 else None
        before = model.ledger_.mistakes if model._state is not None else 0
        model.learn_one(x, label)
        disagreed += expected is not None and (expected != label) != (model.ledger_.mistakes > before)
    assert disagreed == 0


@pytest.mark.parametrize("form", ["past the columns", "twice", "nan"])
def test_custom_predictors_see_only_valid_rows(form: str) -> None:
    seen: list[list[float]] = []

    def predictor(x: Any) -> bool:
        seen.append(x.tolist())
        return bool(x[0] > 0)

    model = Halving(hypotheses=[predictor])
    if form == "twice":
        X = sp.csr_matrix(([5.0, 1.0, 2.0], [1, 0, 0], [0, 1, 3]), (2, 2))
        model.fit(X, [1, 0])
        assert [3.0, 0.0] in seen
        assert [2.0, 0.0] not in seen
        return
    X = sp.csr_matrix(([5.0, 1.0, 2.0], [1, 0, 1], [0, 1, 3]), (2, 2))
    if form == "nan":
        X.data[2] = np.nan
    else:
        X.indices = np.array([1, 0, 2**30], np.int32)
    with pytest.raises(InputError, match="row 1"):
        model.fit(X, [1, 0])
    good = Halving(hypotheses=[predictor]).fit([[1.0, 2.0], [-1.0, 1.0]], [1, 0])
    with pytest.raises(InputError, match="row 1"):
        good.predict(X)


def test_a_k_above_the_number_of_features_changes_nothing() -> None:
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), [1, 0]
    assert Elimination(k=10**9).fit(X, y).formula_ == Elimination(k=2).fit(X, y).formula_
