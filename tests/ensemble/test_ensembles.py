"""Ensembles: the bound of AdaBoost, bagging and forests, trees as plain arrays, files, threads."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from novikoff import (
    AdaBoost,
    Bagging,
    DecisionTree,
    InputError,
    Kesler,
    ModelFileError,
    MulticlassSVM,
    Perceptron,
    RandomForest,
    load,
    save,
)
from novikoff.core.trees import Trees, concatenate_trees, trees_schema
from novikoff.ensemble import adaboost
from novikoff.ensemble.out_of_bag import bound_vote_error, count_out_of_bag
from novikoff.ensemble.sklearn_trees import extract_arrays
from novikoff.model_file import from_bytes, to_bytes
from novikoff.schema import SchemaError, verify_arrays
from novikoff.theory import boosting, majority
from tests.helpers.paths import DATA_FOLDER

real_data = pytest.mark.skipif(not DATA_FOLDER.is_dir(), reason="the data sets are not here: set NOVIKOFF_DATA")
CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)


def table(seed: int, rows: int = 40, columns: int = 4, classes: int = 2, kind: Any = np.float64) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (rows, columns)).astype(kind)
    y = np.argmax(X @ rng.standard_normal((columns, classes)) + rng.standard_normal((rows, classes)), axis=1)
    y[:classes] = np.arange(classes)
    return X, y


# --- scikit-learn's checks ---


ROUNDED = "weights of repeated examples are summed in another order, which decides between equally good splits"


def expected(model: Any) -> dict[str, str]:
    checks = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(checks, ROUNDED) if isinstance(model, AdaBoost) else {}


@parametrize_with_checks([AdaBoost(n_estimators=5), RandomForest(n_estimators=8)], expected_failed_checks=expected)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [DecisionTree(), Bagging(n_estimators=5), Bagging(Kesler(Perceptron(passes=5)), n_estimators=5)],
    expected_failed_checks=expected,
)
def test_scikit_learn_checks_of_others(estimator: Any, check: Any) -> None:
    check(estimator)


def test_settings_of_the_base_learner_are_parameters() -> None:
    model = AdaBoost(DecisionTreeClassifier(max_depth=2), n_estimators=3)
    assert model.get_params()["estimator__max_depth"] == 2
    assert model.set_params(estimator__max_depth=3).estimator.max_depth == 3
    copy = clone(Bagging(Kesler(Perceptron(learning_rate=2.0))))
    assert copy.estimator.estimator.learning_rate == 2.0
    assert clone(AdaBoost()).estimator is None
    with pytest.raises(InputError, match="estimator has no settings"):
        AdaBoost().set_params(estimator__learning_rate=1)


# --- Trees as plain arrays ---


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 4), st.sampled_from([1, 2, None]), st.booleans())
def test_a_tree_predicts_as_in_scikit_learn(seed: int, classes: int, depth: int | None, sparse: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 5)) * (rng.random((50, 5)) < 0.6)
    y, new = rng.integers(0, classes, 50), rng.standard_normal((80, 5)) * (rng.random((80, 5)) < 0.6)
    theirs = DecisionTreeClassifier(max_depth=depth, random_state=3).fit(X, y)
    ours = DecisionTree(max_depth=depth, random_state=3).fit(sp.csr_matrix(X) if sparse else X, y)
    asked = sp.csr_matrix(new) if sparse else new
    assert (ours.predict(asked) == theirs.predict(new)).all()
    assert (ours.predict_proba(asked) == theirs.predict_proba(new)).all()


def test_thresholds_are_compared_as_in_scikit_learn() -> None:
    """Values that differ in float64 only fall on the same side."""
    X = np.array([[1.0], [1.0 + 1e-12], [2.0], [2.0 - 1e-12], [1.5]])
    theirs = DecisionTreeClassifier().fit(X, [0, 0, 1, 1, 0])
    ours = DecisionTree().fit(X, [0, 0, 1, 1, 0])
    cut = theirs.tree_.threshold[0]
    near = np.array([[cut], [np.nextafter(cut, 2)], [np.nextafter(cut, 0)], [cut + 1e-9], [cut - 1e-9]])
    assert (ours.predict(near) == theirs.predict(near)).all()
    with pytest.raises(InputError, match="float32"):
        DecisionTree().fit([[1e300], [0.0]], [0, 1])


def is_well_formed(trees: Trees, features: int) -> bool:
    try:
        verify_arrays(
            trees_schema(soft=False), trees._asdict(), {"features": features, "classes": 3, "members": 2}, "float64"
        )
    except SchemaError:
        return False
    return True


def test_malformed_trees_are_detected() -> None:
    tree = extract_arrays(DecisionTreeClassifier().fit(*IRIS), 3)
    forest = concatenate_trees([tree, tree])
    assert is_well_formed(forest, 4)
    assert forest.many == 2
    assert not is_well_formed(forest, 1)
    for name, at, value in [
        ("left", 0, 10**6), ("right", 0, 0), ("feature", 0, 99), ("feature", 0, -1), ("codes", 1, 3), ("codes", 1, -1),
        ("starts", 1, 0), ("starts", 2, 1), ("left", 0, len(tree.left)),
    ]:  # fmt: skip
        broken = getattr(forest, name).copy()
        broken[at] = value
        assert not is_well_formed(forest._replace(**{name: broken}), 4), (name, at, value)
    assert not is_well_formed(forest._replace(codes=forest.codes[:-1]), 4)


def test_a_file_with_malformed_trees_is_refused() -> None:
    model = DecisionTree().fit(*IRIS)
    trees: Trees = model._require_fitted().members
    model._require_fitted().members = trees._replace(left=np.where(trees.left > 0, 10**6, -1).astype(np.int32))
    with pytest.raises(ModelFileError, match="children come after their node"):
        from_bytes(to_bytes(model), "m")


# --- AdaBoost ---


def reference_adaboost(X: Any, y: Any, rounds: int) -> tuple[list[float], Any]:
    """AdaBoost with the best stump of each round, y being −1 and +1, in plain Python."""
    m = len(y)
    D, alphas, f = [1.0 / m] * m, [], [0.0] * m
    for _ in range(rounds):
        stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, sample_weight=np.array(D) * m)
        h = stump.predict(X)
        error = sum(d for d, a, b in zip(D, h, y, strict=True) if a != b)
        if not 0.0 < error < 0.5:
            break
        alpha = 0.5 * np.log((1.0 - error) / error)
        D = [d * np.exp(-alpha * a * b) for d, a, b in zip(D, h, y, strict=True)]
        total = sum(D)
        D = [d / total for d in D]
        f = [s + alpha * a for s, a in zip(f, h, strict=True)]
        alphas.append(alpha)
    return alphas, f


@pytest.mark.parametrize("seed", range(3))
def test_adaboost_equals_its_reference(seed: int) -> None:
    X, y = table(seed, rows=60)
    X = X + np.random.default_rng(seed).random(X.shape)  # no two splits alike
    alphas, f = reference_adaboost(X, 2 * y - 1, 12)
    model = AdaBoost(n_estimators=12).fit(X, y)
    assert np.allclose(model.estimator_weights_, alphas, rtol=1e-9)
    assert np.allclose(model.decision_function(X), f, rtol=1e-9, atol=1e-12)
    assert (model.predict(X) == (np.array(f) > 0)).all()


def exact_product(model: AdaBoost, X: Any, y: Any, weights: Any) -> Decimal:
    """Σ D_1·exp(Σ a_t([h_t wrong] − ½)): the product of the theorem for this very model, to fifty digits."""
    state = model._require_fitted()
    from novikoff.data import validation
    from novikoff.ensemble.members import predict_codes, prepare_data

    codes = np.searchsorted(model.classes_, y)
    wrong = predict_codes(state.members, prepare_data(validation.validate_batch(X), X.shape[1])) != codes
    with localcontext() as context:
        context.prec = 50
        votes = [Decimal(a) for a in state.weights.tolist()]
        total = Decimal(0)
        for i, weight in enumerate(weights.tolist()):
            power = sum((a if wrong[t, i] else Decimal(0)) - a / 2 for t, a in enumerate(votes))
            total += Decimal(weight) * power.exp()
        return total / sum(Decimal(w) for w in weights.tolist())


def check_training_error(seed: int, classes: int, rounds: int, weighted: bool, resample: bool, linear: bool) -> None:
    X, y = table(seed, classes=classes)
    weights = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float) if weighted else np.ones(len(y))
    weights[:classes] = 1.0
    learner = (Kesler(Perceptron()) if classes > 2 else Perceptron()) if linear else None
    model = AdaBoost(learner, n_estimators=rounds, resample=resample, random_state=seed)
    try:
        model.fit(X, y, sample_weight=weights if weighted else None)
    except InputError as problem:
        assert "better than chance" in str(problem)  # noqa: PT017 - a learner may be too weak for such data
        return
    assert model.training_error_ <= model.bound_
    wrong = model.predict(X) != y
    assert np.isclose(model.training_error_, weights[wrong].sum() / weights.sum(), rtol=1e-12)
    margins = model.margins(X, y)
    assert (margins[wrong] <= 0.0).all()
    assert (margins[~wrong] >= 0.0).all()
    if model.estimator_errors_[0] == 0.0:
        assert model.bound_ == model.training_error_ == 0.0
        return
    exact = exact_product(model, X, y, weights)
    assert Decimal(model.bound_) >= min(exact, Decimal(1))
    stated = boosting.training_error(errors=model.estimator_errors_.tolist(), classes=classes)
    assert np.isclose(model.bound_, stated, rtol=1e-9)


RUNS = st.tuples(
    st.integers(0, 10**6), st.integers(2, 4), st.integers(1, 15), st.booleans(), st.booleans(), st.booleans()
)


@settings(max_examples=20, deadline=None)
@given(RUNS)
def test_the_training_error_is_never_above_the_bound(run: Any) -> None:
    check_training_error(*run)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(RUNS)
def test_the_training_error_is_never_above_the_bound_in_many_runs(run: Any) -> None:
    check_training_error(*run)


def test_a_learner_without_errors_is_the_only_member() -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    model = AdaBoost(n_estimators=9).fit(X, y)
    assert len(model.estimator_errors_) == 1
    assert (model.bound_, model.training_error_) == (0.0, 0.0)
    assert model.margin_distribution_.tolist() == [1.0] * 101


def test_a_learner_no_better_than_chance_is_refused() -> None:
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    with pytest.raises(InputError, match="better than chance"):
        AdaBoost().fit(X, y)
    assert AdaBoost(DecisionTree(max_depth=2)).fit(X, y).predict(X).tolist() == y


def test_boosting_stops_where_no_round_helps() -> None:
    model = AdaBoost(Perceptron(), n_estimators=500).fit(*CANCER)
    assert 0 < len(model.estimator_errors_) < 500
    assert (model.estimator_errors_ < 0.5).all()


def test_stumps_are_as_accurate_as_those_of_scikit_learn() -> None:
    X, y = CANCER
    train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    ours = AdaBoost(n_estimators=50).fit(X[train], y[train])
    theirs = AdaBoostClassifier(n_estimators=50, random_state=0).fit(X[train], y[train])
    assert abs(ours.score(X[test], y[test]) - theirs.score(X[test], y[test])) <= 0.01
    assert np.allclose(ours.estimator_errors_[:5], theirs.estimator_errors_[:5])


@real_data
def test_stumps_are_as_accurate_on_text_messages() -> None:
    with gzip.open(DATA_FOLDER / "sms_spam.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if len(row) == 2]
    y = np.array([label for label, _ in rows])
    X = HashingVectorizer(n_features=2**9, norm=None, alternate_sign=False).transform([text for _, text in rows])
    train, test = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    ours = AdaBoost(n_estimators=20).fit(X[train], y[train])
    theirs = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X[train], y[train])
    assert ours.score(X[test], y[test]) > 0.9
    assert abs(ours.score(X[test], y[test]) - theirs.score(X[test], y[test])) <= 0.01
    assert ours.training_error_ <= ours.bound_


@pytest.mark.parametrize("learner", [KNeighborsClassifier(3), GaussianNB()])
def test_estimators_of_scikit_learn_are_boosted_and_not_saved(learner: Any, tmp_path: Path) -> None:
    """With weights, by drawing where `fit` takes none, and with more classes than two."""
    X, y = IRIS
    model = AdaBoost(learner, n_estimators=3, random_state=1).fit(X, y)
    assert model.training_error_ <= min(model.bound_, 0.1)
    assert (model.predict(X) == AdaBoost(learner, n_estimators=3, random_state=1).fit(X, y).predict(X)).all()
    with pytest.raises(InputError, match="can't be written"):
        save(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_weights_that_differ_too_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the user's, which is refused, and of the rounds, which ends them."""
    X, y = table(3)
    weights = np.ones(len(y))
    weights[3] = 1e-200
    with pytest.raises(InputError, match=r"10\^100"):
        AdaBoost().fit(X, y, sample_weight=weights)
    X = np.arange(100.0)[:, None]
    y = (X[:, 0] > 50).astype(int)
    y[7] = 1
    weights = np.where(np.arange(100) == 7, 1e-90, 1.0)
    model = AdaBoost(n_estimators=400).fit(X, y, sample_weight=weights)
    assert model.training_error_ <= model.bound_ < 1e-30
    assert len(model.estimator_errors_) == 400
    monkeypatch.setattr(adaboost, "MAX_LOG_WEIGHT_RANGE", 5.0)
    shorter = AdaBoost(n_estimators=400).fit(*table(5))
    assert len(shorter.estimator_errors_) < 400
    assert shorter.training_error_ <= shorter.bound_


def test_margins_need_known_labels() -> None:
    model = AdaBoost(n_estimators=3).fit(*IRIS)
    assert model.margins(*IRIS).shape == (150,)
    with pytest.raises(InputError, match="'dog'"):
        model.margins(IRIS[0][:1], ["dog"])


def test_bad_settings_are_refused() -> None:
    X, y = IRIS
    for model, words in [
        (AdaBoost(n_estimators=0), "n_estimators"), (AdaBoost(random_state=-1), "random_state"),
        (AdaBoost(resample=2), "resample"),
        (AdaBoost(42), "fit and predict"), (Bagging(n_estimators=0.5), "n_estimators"), (Bagging(voting="x"), "voting"),
        (Bagging(n_jobs=0), "n_jobs"), (Bagging(Perceptron()), "Kesler"),
        (RandomForest(n_estimators=0), "n_estimators"),
        (Bagging(Kesler(), voting="soft"), "trees"), (RandomForest(max_features="some"), "max_features"),
        (DecisionTree(max_depth=0), "max_depth"), (DecisionTree(criterion="chance"), "criterion"),
        (DecisionTree(min_samples_leaf=0), "min_samples_leaf"),
        (RandomForest(max_features=0), "max_features"), (RandomForest(oob_score=3), "oob_score"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=words):
            model.fit(X, y)  # type: ignore[attr-defined]


# --- Bagging and forests ---


@pytest.mark.parametrize(
    "model",
    [RandomForest(n_estimators=12), Bagging(Perceptron(passes=2), n_estimators=6),
     Bagging(GaussianNB(), n_estimators=4), RandomForest(n_estimators=5, voting="soft", max_depth=2)],
)  # fmt: skip
def test_two_threads_give_the_model_of_one(model: Any) -> None:
    X, y = CANCER
    one, two = clone(model).fit(X, y), clone(model).set_params(n_jobs=2).fit(X, y)
    assert one.out_of_bag_ == two.out_of_bag_
    assert (one.predict_proba(X) == two.predict_proba(X)).all()
    if not isinstance(model.estimator, GaussianNB):
        assert to_bytes(one) == to_bytes(two)


def test_a_forest_is_as_good_as_that_of_scikit_learn() -> None:
    X, y = load_digits(return_X_y=True)
    ours = RandomForest(n_estimators=60, n_jobs=2).fit(X, y)
    theirs = RandomForestClassifier(60, oob_score=True, random_state=0).fit(X, y)
    assert abs(ours.out_of_bag_.error - (1.0 - theirs.oob_score_)) < 0.015
    assert ours.score(X, y) == 1.0


def test_out_of_bag_votes_are_counted_as_in_plain_python() -> None:
    rng = np.random.default_rng(5)
    members, m, classes = 7, 50, 3
    said, bags, codes = rng.integers(0, 3, (members, m)), rng.random((members, m)) < 0.6, rng.integers(0, 3, m)
    found = count_out_of_bag(said, bags, codes, classes)
    judged = errors = 0
    for i in range(m):
        votes = [[said[k, i] for k in range(members) if not bags[k, i]].count(c) for c in range(classes)]
        if any(votes):
            judged += 1
            errors += votes.index(max(votes)) != codes[i]
    assert (found.examples, found.judged, found.errors) == (m, judged, errors)

    def both(a: int, b: int) -> tuple[int, int]:
        out = [i for i in range(m) if not bags[a, i] and not bags[b, i]]
        return sum(said[a, i] != codes[i] != said[b, i] for i in out), len(out)

    pairs = [both(a, b) for a in range(members) for b in range(members)]
    assert np.isclose(found.pair_mean, np.mean([k / n for k, n in pairs]))
    assert found.fewest_of_pair == min(n for _, n in pairs)
    alone = [both(a, a) for a in range(members)]
    assert np.isclose(found.mean, np.mean([k / n for k, n in alone]))
    assert found.fewest == min(n for _, n in alone)


def test_the_bound_of_a_vote_holds_on_fresh_data() -> None:
    """Twenty forests at confidence ½ each, all of them judged on a large sample: the bound is above the true error, for
    these by far."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[Any, Any]:
        X = rng.standard_normal((n, 3))
        return X, ((X[:, 0] + X[:, 1] > 0) ^ (rng.random(n) < 0.1)).astype(int)

    new = draw(4000)
    for seed in range(20):
        model = RandomForest(n_estimators=8, max_depth=3, random_state=seed).fit(*draw(150))
        assert model.error_bound(delta=0.5).value >= 1.0 - model.score(*new)
        assert model.error_bound(delta=0.5).value <= model.error_bound(delta=0.01).value <= 1.0


@pytest.mark.parametrize("sparse", [False, True])
def test_a_member_depends_on_its_bag_only(sparse: bool) -> None:
    """What the bound assumes of members: other rows, and other labels of them, change nothing."""
    X, y = table(4, rows=60, classes=3)
    rng = np.random.default_rng([5, 0])  # of member 0
    rng.integers(2**31)
    out = np.setdiff1d(np.arange(60), rng.integers(60, size=60))
    other, changed_labels = X.copy(), y.copy()
    other[out], changed_labels[out] = 100.0 - X[out], (y[out] + 1) % 3
    assert set(changed_labels) == set(y)
    for model in (
        RandomForest(n_estimators=1, random_state=5),
        Bagging(Kesler(Perceptron()), n_estimators=1, random_state=5),
    ):
        one, two = (
            clone(model).fit(sp.csr_matrix(a) if sparse else a, b) for a, b in ((X, y), (other, changed_labels))
        )
        assert out.size == one.out_of_bag_.judged == two.out_of_bag_.judged
        for new in (X, other):
            assert (one.predict(new) == two.predict(new)).all()


def test_markov_holds_for_every_vote() -> None:
    """The step of the proof that is not an inequality for samples: on any examples whatever, the error of a vote is at
    most twice the members' mean error and four times that of pairs."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        said, y = rng.integers(0, 3, (int(rng.integers(1, 8)), 30)), rng.integers(0, 3, 30)
        votes = np.stack([(said == c).sum(axis=0) for c in range(3)])
        error, wrong = (votes.argmax(axis=0) != y).mean(), (said != y).astype(float)
        assert error <= 2 * wrong.mean() + 1e-12
        assert error <= 4 * (wrong @ wrong.T).mean() / 30 + 1e-12


def test_missing_error_bounds_are_explained() -> None:
    model = RandomForest(n_estimators=5).fit(*CANCER)
    assert "estimate" in model.error_bound().not_shown
    with pytest.raises(InputError, match="soft"):
        RandomForest(n_estimators=5, voting="soft").fit(*CANCER).error_bound()
    with pytest.raises(AttributeError, match="oob_score=False"):
        _ = RandomForest(n_estimators=5, oob_score=False).fit(*CANCER).out_of_bag_
    with pytest.raises(InputError, match="delta"):
        model.error_bound(delta=0.0)
    nothing = model.out_of_bag_._replace(fewest=0, fewest_of_pair=0)
    assert bound_vote_error(nothing, 0.9).value == 1.0
    assert majority.single(seen=0.0, examples=10**9, delta=0.5) < 1e-4
    with pytest.raises(InputError, match="from 0 to 1"):
        majority.pairs(seen=1.5, examples=3, delta=0.5)
    with pytest.raises(InputError, match="from 0 to 1"):
        boosting.training_error(errors=[1.5])


# --- Files ---


@pytest.mark.filterwarnings("ignore::novikoff.SortedLabelsWarning")
@pytest.mark.parametrize(
    "model",
    [
        DecisionTree(max_depth=3),
        AdaBoost(n_estimators=4),
        AdaBoost(Kesler(Perceptron()), n_estimators=4),
        AdaBoost(ExtraTreeClassifier(max_depth=3), n_estimators=4),
        AdaBoost(MulticlassSVM(tol=0.1), n_estimators=2),
        Bagging(DecisionTreeClassifier(max_depth=2), n_estimators=3, voting="soft"),
        Bagging(Kesler(Perceptron(passes=2)), n_estimators=3, oob_score=False),
        Bagging(AdaBoost(n_estimators=2), n_estimators=2),
        RandomForest(n_estimators=4),
    ],
)
def test_a_file_stores_the_whole_model(model: Any, tmp_path: Path) -> None:
    X, y = IRIS[0], np.array(["setosa", "versicolor", "virginica"])[IRIS[1]]
    model = clone(model).fit(X, y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert to_bytes(again) == (tmp_path / "m").read_bytes() == to_bytes(clone(model).fit(X, y))
    assert (again.decision_function(X) == model.decision_function(X)).all()
    assert (again.predict(sp.csr_matrix(X)) == model.predict(X)).all()
    assert again.describe() == model.describe()
    assert repr(again) == repr(model)
    content = (tmp_path / "m").read_bytes()
    for at in range(0, len(content), max(1, len(content) // 50)):
        damaged = bytearray(content)
        damaged[at] ^= 4
        with pytest.raises(ModelFileError):
            from_bytes(bytes(damaged), "m")


def test_a_loaded_forest_needs_neither_pickle_nor_scikit_learn(tmp_path: Path) -> None:
    X, y = IRIS
    model = RandomForest(n_estimators=5).fit(X, y)
    save(model, tmp_path / "m")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, json, numpy as np;"
        "from novikoff import load; m = load(sys.argv[1]); p = m.predict(np.load(sys.argv[2])).tolist();"
        "print(json.dumps([p, 'sklearn' in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m"), str(tmp_path / "X.npy")], capture_output=True, check=True
    )
    predicted, imported = json.loads(done.stdout)
    assert predicted == model.predict(X).tolist()
    assert not imported
    assert b"pickle" not in (tmp_path / "m").read_bytes()


def test_feature_names_and_both_precisions_are_supported() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = IRIS
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    model = from_bytes(to_bytes(RandomForest(n_estimators=3).fit(frame, y)), "m")
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(InputError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))
    small = RandomForest(n_estimators=3).fit(X.astype(np.float32), y)
    assert (small.predict(X) == RandomForest(n_estimators=3).fit(X, y).predict(X)).mean() > 0.95
