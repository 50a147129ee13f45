"""MulticlassSVM: the gap is correct, the optimum is reached, and every form of data is accepted."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from novikoff import InputError, LabelError, ModelFileError, MulticlassSVM, WeightOverflowError, load, save
from novikoff.core.multiclass.class_scores import pad_classes
from novikoff.core.multiclass.crammer_singer import (
    DualPoint,
    SvmProblem,
    build_problem,
    initial_point,
    measure_objectives,
    rebuild_and_measure,
    shrink_to_limits,
    solve,
    sweep,
)
from novikoff.data.canonical_rows import to_sparse
from novikoff.data.rows import Dense
from tests.helpers.paths import DATA_FOLDER

pytestmark = pytest.mark.plain_python_coverage

real_data = pytest.mark.skipif(not DATA_FOLDER.is_dir(), reason="the data sets are not here: set NOVIKOFF_DATA")


class Case(NamedTuple):
    X: Any
    y: Any
    limits: Any
    bias: float
    classes: int

    def problem(self) -> SvmProblem:
        rows = to_sparse(Dense(np.ascontiguousarray(self.X).reshape(-1), self.X.shape[1]))
        return build_problem(rows, self.y, self.limits, self.classes, self.bias)

    def whole(self) -> Any:
        """The examples with their bias feature in front."""
        return np.column_stack([np.full(len(self.y), self.bias), self.X])

    def primal(self, W: Any) -> float:
        """P(w), w a row for each slot and a column for each class: as it is written."""
        total = 0.5 * float((W**2).sum())
        for x, y, limit in zip(self.whole(), self.y, self.limits, strict=True):
            scores = x @ W
            others = [1.0 - (scores[y] - scores[c]) for c in range(self.classes) if c != y]
            total += limit * max([0.0, *others])
        return total

    def dual(self, duals: Any) -> float:
        W = self.whole().T @ duals
        return float(duals[np.arange(len(self.y)), self.y].sum() - 0.5 * (W**2).sum())


@st.composite
def cases(draw: Any) -> Case:
    seed, n, d = draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 12)), draw(st.integers(1, 9))
    classes = draw(st.integers(1, 11))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** draw(st.integers(-3, 2))
    X[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = 0.0
    limits = 10.0 ** rng.uniform(-3, 2) * rng.choice([0.0, 1.0, 1.0, 2.5], n)
    return Case(X, rng.integers(0, classes, n), limits, draw(st.sampled_from([0.0, 1.0])), classes)


# --- One pass, as the paper has it ---


def step_by_sorting(scores: Any, y: int, limit: float, size: float, duals: Any) -> Any:
    """The subproblem of one example, its threshold found among the sorted breakpoints."""
    classes, own = len(scores), np.arange(len(scores)) == y
    if size == 0.0:
        return np.where(own, limit, -limit / (classes - 1)) if classes > 1 else np.zeros(1)
    D = scores + (~own) - size * duals + size * limit * own
    ordered = np.sort(D)[::-1]
    for r in range(1, classes + 1):
        beta = (ordered[:r].sum() - size * limit) / r
        if r == classes or beta >= ordered[r]:
            break
    return np.minimum(limit * own, (beta - D + size * limit * own) / size)


@given(cases())
def test_a_pass_equals_that_of_the_naive_reference(case: Case) -> None:
    problem, n = case.problem(), len(case.y)
    point, scratch = initial_point(problem, case.X.shape[1]), np.zeros((2, pad_classes(case.classes)))
    idle, due = np.zeros(n, np.int64), np.zeros(n, np.int64)
    order = np.random.default_rng(0).permutation(n)
    sweep(problem, point, order, 0, idle, due, scratch)
    X, duals = case.whole(), np.zeros((n, case.classes))
    for i in order:
        new = step_by_sorting(X[i] @ (X.T @ duals), case.y[i], case.limits[i], X[i] @ X[i], duals[i])
        duals[i] = new
    sizes = problem.sizes[problem.sizes > 0.0]
    rounding = 1e-9 * case.limits.max() + 1e-13 / min(sizes, default=1.0)  # a score's error is divided by ‖x‖²
    assert np.allclose(point.duals[:, : case.classes], duals, rtol=1e-7, atol=rounding)
    assert not point.duals[:, case.classes :].any()
    assert ((idle == 0) == (point.duals != 0.0).any(axis=1)).all()
    assert (due == 1 + idle).all()


# --- The gap ---


@given(cases(), st.integers(1, 30), st.integers(0, 3))
def test_the_duality_gap_equals_its_definition(case: Case, passes: int, seed: int) -> None:
    problem = case.problem()
    point = initial_point(problem, case.X.shape[1])
    reached = solve(problem, point, passes, seed=seed)
    duals, W = point.duals[:, : case.classes], point.weights[:, : case.classes]
    rounding = 1e-9 * reached.primal + 1e-12 * case.limits.sum()
    assert abs(reached.primal - case.primal(W)) <= rounding
    assert abs(reached.dual - case.dual(duals)) <= rounding
    assert reached.gap >= -rounding
    check_feasible(case, duals)
    assert (abs(W - case.whole().T @ duals) <= 1e-12 * (abs(case.whole()).T @ abs(duals))).all()


def check_feasible(case: Case, duals: Any) -> None:
    own = np.arange(case.classes) == case.y[:, None]
    assert (duals <= case.limits[:, None] * own).all()
    assert (abs(duals.sum(axis=1)) <= 1e-12 * case.limits).all()


@given(cases(), st.integers(0, 2**32 - 1))
def test_no_weights_are_better_than_the_dual_bound(case: Case, seed: int) -> None:
    problem = case.problem()
    reached = solve(problem, initial_point(problem, case.X.shape[1]), 20)
    rng = np.random.default_rng(seed)
    for scale in (0.01, 0.1, 1.0, 10.0):
        W = scale * rng.standard_normal((case.X.shape[1] + 1, case.classes))
        assert case.primal(W) >= reached.dual * (1.0 - 1e-9) - 1e-12 * case.limits.sum()


@settings(max_examples=40)
@given(cases())
def test_the_optimum_is_reached(case: Case) -> None:
    """The gap closes, also with rows of zeros and weights of 0. It is what is missing of the conditions of Karush, Kuhn
    and Tucker: a multiplier is not 0 only where the class is one of those that hurt most."""
    case = case._replace(X=case.X / max(abs(case.X).max(), 1e-9), limits=np.minimum(case.limits, 1.0))
    problem = case.problem()
    point = initial_point(problem, case.X.shape[1])
    reached = solve(problem, point, 20_000, tolerance=1e-6)
    assert reached.within(1e-6)
    scores = case.whole() @ point.weights[:, : case.classes]
    own = np.arange(case.classes) == case.y[:, None]
    hurts = scores + (~own)
    masses = case.limits[:, None] * own - point.duals[:, : case.classes]
    slack = (masses * (hurts.max(axis=1, keepdims=True) - hurts)).sum()
    assert abs(slack - reached.gap) <= 1e-9 * reached.primal + 1e-12 * case.limits.sum()


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_equals_that_of_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d, classes, bias = 7, 2, 3, float(seed % 2)
    case = Case(rng.standard_normal((n, d)), rng.integers(0, classes, n), rng.uniform(0.1, 2.0, n), bias, classes)
    X, others = case.whole(), [(i, c) for i in range(n) for c in range(classes) if c != case.y[i]]

    def split(v: Any) -> Any:
        return v[: (d + 1) * classes].reshape(d + 1, classes), v[(d + 1) * classes :]

    def objective(v: Any) -> Any:
        W, losses = split(v)
        return 0.5 * (W**2).sum() + case.limits @ losses, np.concatenate([W.ravel(), case.limits])

    def margins(v: Any) -> Any:
        W, losses = split(v)
        scores = X @ W
        return np.array([scores[i, case.y[i]] - scores[i, c] - 1.0 + losses[i] for i, c in others])

    start = np.concatenate([np.zeros((d + 1) * classes), np.ones(n)])
    limits = [(None, None)] * ((d + 1) * classes) + [(0.0, None)] * n
    best = minimize(
        objective,
        start,
        jac=True,
        bounds=limits,
        method="SLSQP",
        constraints={"type": "ineq", "fun": margins},
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    problem = case.problem()
    point = initial_point(problem, d)
    reached = solve(problem, point, 50_000, tolerance=1e-10)
    assert reached.within(1e-10)
    assert best.fun == pytest.approx(reached.primal, rel=1e-7)
    assert np.allclose(split(best.x)[0], point.weights[:, :classes], atol=1e-4)


# --- From where a search begins ---


def blobs(n: int = 60, d: int = 4, classes: int = 4, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return rng.standard_normal((n, d)) + 1.5 * rng.standard_normal((classes, d))[y], y


def test_the_solution_is_shrunk_to_any_new_limits() -> None:
    X, y = blobs()
    case = Case(X, y, np.ones(len(y)), 1.0, 4)
    problem = case.problem()
    point = initial_point(problem, X.shape[1])
    for limit in (1.0, 0.01, 5.0, 0.3):
        problem = problem._replace(limits=np.full(len(y), limit))
        shrink_to_limits(problem, point)
        before = measure_objectives(problem, point)
        check_feasible(case._replace(limits=problem.limits), point.duals[:, :4])
        assert before.gap >= 0.0
        assert rebuild_and_measure(problem, DualPoint(point.duals, point.weights.copy())).gap == pytest.approx(
            before.gap
        )
        reached = solve(problem, point, 20_000, tolerance=1e-8)
        alone = solve(problem, initial_point(problem, X.shape[1]), 20_000, tolerance=1e-8)
        assert reached.within(1e-8)
        assert reached.primal == pytest.approx(alone.primal, rel=3e-8)


def test_examples_without_progress_are_skipped() -> None:
    X, y = load_digits(return_X_y=True)
    model = MulticlassSVM(C=0.01).fit(X / 16.0, y)
    rows = to_sparse(Dense(np.ascontiguousarray(X / 16.0).reshape(-1), X.shape[1]))
    problem = build_problem(rows, y.astype(np.int64), 0.01, 10, 1.0)
    reached = solve(problem, initial_point(problem, X.shape[1]), 5000, tolerance=1e-3)
    assert (reached.primal, reached.dual, reached.passes) == (model.objective_, model.dual_objective_, model.n_iter_)
    assert reached.visits < reached.passes * len(y)


# --- The estimator ---

TIGHT = MulticlassSVM(tol=1e-12, max_iter=10_000)
WITHIN = "both are right to within the tolerance: the optimum itself is the same, as the tight tolerance shows"


def expected_failures(model: MulticlassSVM) -> dict[str, str]:
    checks = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(checks, WITHIN) if model.tol > 1e-6 else {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([MulticlassSVM(), TIGHT], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_attributes_match_the_solution() -> None:
    X, y = blobs()
    model = MulticlassSVM(C=0.3, tol=1e-4).fit(X, y)
    case = Case(X, y, np.full(len(y), 0.3), 1.0, 4)
    assert model.objective_ == pytest.approx(case.primal(np.vstack([model.intercept_, model.coef_.T])))
    assert model.gap_ == model.objective_ - model.dual_objective_
    assert 0.0 <= model.gap_ <= 1e-4 * model.objective_
    scores = X @ model.coef_.T + model.intercept_
    assert np.allclose(model.decision_function(X), scores)
    assert (model.predict(X) == scores.argmax(axis=1)).all()
    assert model.score(X, y) == (model.predict(X) == y).mean()


def test_too_few_passes_warn_with_the_gap() -> None:
    X, y = blobs()
    with pytest.warns(ConvergenceWarning, match="After 2 passes the objective") as caught:
        model = MulticlassSVM(C=10.0, max_iter=2).fit(X, y)
    assert f"is within {model.gap_:.3g} of the optimum" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 2


def test_a_single_class_is_always_predicted() -> None:
    model = MulticlassSVM().fit([[1.0], [2.0]], ["only", "only"])
    assert model.predict([[5.0], [-5.0]]).tolist() == ["only", "only"]
    assert model.decision_function([[5.0]]).tolist() == [[0.0]]
    assert (model.objective_, model.gap_) == (0.0, 0.0)


def test_two_classes_equal_the_binary_svm() -> None:
    X, y = blobs(classes=2)
    model = MulticlassSVM(C=0.4, tol=1e-10, max_iter=100_000).fit(X, y)
    other = LinearSVC(loss="hinge", C=0.8, tol=1e-10, max_iter=1_000_000, random_state=0).fit(X, y)
    assert model.coef_.shape == (1, X.shape[1])
    assert np.allclose(model.coef_, other.coef_, atol=1e-4)
    assert np.allclose(model.intercept_, other.intercept_, atol=1e-4)
    assert np.allclose(model.decision_function(X), other.decision_function(X), atol=1e-3)


@settings(max_examples=20)
@given(st.permutations(range(4)), st.permutations(range(40)))
def test_the_names_of_classes_and_the_order_of_rows_change_nothing(names: list[int], order: list[int]) -> None:
    X, y = blobs(n=40)
    tight = {"tol": 1e-11, "max_iter": 100_000}
    plain = MulticlassSVM(**tight).fit(X, y)
    other = MulticlassSVM(**tight).fit(X[order], np.array(list("abcd"))[names][y[order]])
    assert other.objective_ == pytest.approx(plain.objective_, rel=1e-10)
    assert np.allclose(other.coef_[names], plain.coef_, atol=1e-4)
    assert np.allclose(other.intercept_[names], plain.intercept_, atol=1e-4)


def test_dense_and_sparse_give_the_same_bytes() -> None:
    rng = np.random.default_rng(1)
    X, y = blobs(n=80, d=12, classes=11)
    for share in (0.2, 0.8):
        X[rng.random(X.shape) < share] = 0.0
        table = sp.csr_matrix(X)
        halves = sp.csr_matrix((np.repeat(table.data / 2, 2), np.repeat(table.indices, 2), 2 * table.indptr), X.shape)
        stored = sp.csr_matrix((X.ravel(), np.tile(np.arange(12), 80), np.arange(81) * 12), X.shape)
        for kind in (np.float32, np.float64):
            models = [MulticlassSVM(C=0.2).fit(t.astype(kind), y) for t in (X, table, halves, stored)]
            for model in models[1:]:
                assert (model.coef_ == models[0].coef_).all()
                assert model.gap_ == models[0].gap_
                assert (model.decision_function(halves) == models[0].decision_function(X)).all()


def test_the_seed_determines_the_model() -> None:
    X, y = blobs()
    first, again, other = (MulticlassSVM(random_state=seed).fit(X, y) for seed in (3, 3, 4))
    assert (first.coef_ == again.coef_).all()
    assert (first.coef_ != other.coef_).any()


@pytest.mark.parametrize("bias", [True, False])
def test_settings_changed_after_fit_change_no_prediction(bias: bool) -> None:
    X, y = blobs()
    model = MulticlassSVM(C=0.1, fit_intercept=bias).fit(X, y)
    before = model.decision_function(X)
    assert (model.set_params(fit_intercept=not bias).decision_function(X) == before).all()
    assert model.intercept_.any() == bias


def test_an_integer_weight_equals_repeated_examples() -> None:
    X, y = blobs()
    weights = np.arange(len(y)) % 3
    weighed = MulticlassSVM(tol=1e-10, max_iter=100_000).fit(X, y, sample_weight=weights)
    repeated = MulticlassSVM(tol=1e-10, max_iter=100_000).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighed.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    assert np.allclose(weighed.coef_, repeated.coef_, atol=1e-4)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("C", 0.0),
        ("C", "1"),
        ("tol", 0.0),
        ("max_iter", 0),
        ("fit_intercept", "yes"),
        ("random_state", -1),
        ("random_state", 0.5),
    ],
)
def test_invalid_settings_are_refused(setting: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"{setting} must be"):
        MulticlassSVM(**{setting: value}).fit(*blobs())


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_bad_numbers_are_refused_with_their_row(value: float, form: Any) -> None:
    X, y = blobs()
    model = MulticlassSVM().fit(X, y)
    before = model.coef_
    X[17, 2] = value
    with pytest.raises(InputError, match="row 17"):
        model.fit(form(X), y)
    assert (model.coef_ == before).all()
    if not np.isfinite(value):
        with pytest.raises(InputError, match="row 17, column 2"):
            model.predict(form(X))


def test_missing_columns_are_refused() -> None:
    X, y = blobs()
    table = sp.csr_matrix(X)
    model = MulticlassSVM().fit(table, y)
    table.indices[9] = 77
    with pytest.raises(InputError, match="row 2 names 77"):
        model.fit(table, y)
    with pytest.raises(InputError, match="row 2 names 77"):
        model.predict(table)


def test_unfitted_models_continuous_labels_and_overflow_are_refused() -> None:
    X, y = blobs()
    with pytest.raises(NotFittedError):
        MulticlassSVM().predict(X)
    with pytest.raises(LabelError, match="continuous"):
        MulticlassSVM().fit(X, y + 0.5)
    with pytest.raises(WeightOverflowError, match="out of range"):
        MulticlassSVM(C=1e300, max_iter=3).fit(X * 1e100, y)
    assert not hasattr(MulticlassSVM(), "coef_")


# --- Beside scikit-learn (LIBLINEAR) ---


def fit_both(X: Any, y: Any, C: float) -> tuple[MulticlassSVM, LinearSVC]:
    """Both solutions; ours is as good as the gap says, and so not worse than theirs by more than that."""
    mine = MulticlassSVM(C=C).fit(X, y)
    other = LinearSVC(multi_class="crammer_singer", C=C, tol=1e-3, max_iter=100_000, random_state=0).fit(X, y)
    case = Case(X, np.unique(y, return_inverse=True)[1], np.full(len(y), C), 1.0, len(other.classes_))
    theirs = case.primal(np.vstack([other.intercept_, other.coef_.T]))
    assert mine.objective_ - mine.gap_ <= theirs
    assert mine.objective_ <= theirs * 1.001
    return mine, other


def test_iris_is_solved_as_scikit_learn_solves_it() -> None:
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    mine, other = fit_both(X, y, 1.0)
    assert abs(mine.score(X, y) - other.score(X, y)) <= 0.01


def table(name: str) -> tuple[Any, Any]:
    with gzip.open(DATA_FOLDER / name, "rt") as file:
        rows = list(csv.reader(file))
    return np.array([row[1:] for row in rows], float), np.array([row[0] for row in rows])


@real_data
def test_accuracy_on_usps_equals_that_of_liblinear() -> None:
    mine, other = fit_both(*table("usps.train.csv.gz"), 0.01)
    X, y = table("usps.test.csv.gz")
    assert abs(mine.score(X, y) - other.score(X, y)) <= 0.003


@real_data
def test_accuracy_on_letters_equals_that_of_liblinear() -> None:
    X, y = table("letter.csv.gz")
    X = StandardScaler().fit(X[:16000]).transform(X)
    mine, other = fit_both(X[:16000], y[:16000], 0.1)
    assert abs(mine.score(X[16000:], y[16000:]) - other.score(X[16000:], y[16000:])) <= 0.003


def test_a_file_stores_the_whole_model(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = MulticlassSVM(C=0.01).fit(X, y)
    save(model, tmp_path / "iris.model")
    again = load(tmp_path / "iris.model")
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert (again.gap_, again.objective_, again.n_iter_) == (model.gap_, model.objective_, model.n_iter_)
    content = (tmp_path / "iris.model").read_bytes()
    (tmp_path / "iris.model").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(ModelFileError, match="checksum"):
        load(tmp_path / "iris.model")
