"""KernelPerceptron: a plain Python reference, the primal on the explicit map, budget, memory, classes, files."""

from __future__ import annotations

from itertools import chain, combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import novikoff
from novikoff import InputError, KernelPerceptron, OneVsAll, Perceptron, VotedPerceptron, WeightOverflowError, kernels
from novikoff.cli.main import main
from novikoff.model_file import from_bytes, to_bytes
from tests.helpers.paths import DATA_FOLDER

pytestmark = pytest.mark.plain_python_coverage


def half(X: Any, Z: Any) -> Any:
    return 0.5 * (X @ Z.T) + 1.0


# --- A reference ---


class ReferenceKernelPerceptron:
    """The algorithm, one example and one class at a time. Classes are numbers from 0, all known in advance."""

    def __init__(self, k: Any, classes: int, margin: float = 0.0, tie: float = 1.0, budget: int = 0) -> None:
        self.k, self.margin, self.tie, self.budget = k, margin, tie, budget
        self.columns = [1] if classes == 2 else list(range(classes))
        self.updates: list[tuple[int, tuple[float, ...], int, float]] = []
        self.time = self.mistakes = 0

    def value(self, x: Any, z: Any) -> float:
        return float(self.k(np.array([x]), np.array([z]))[0, 0])

    def scores(self, x: Any) -> list[float]:
        """An example that was kept twice in one column counts once, as often as it was learned."""
        found = []
        for c in self.columns:
            merged: dict[Any, float] = {}
            for _, z, column, amount in self.updates:
                if column == c:
                    merged[z] = merged.get(z, 0.0) + amount
            total = 0.0
            for z, amount in merged.items():
                total += amount * self.value(x, z)
            found.append(total)
        return found

    def learn(self, x: Any, y: int) -> None:
        self.time += 1
        scores = self.scores(x)
        sides = [1.0 if y == c else -1.0 for c in self.columns]
        wrong = [s * z < 0 or (z == 0 and s * self.tie < 0) for s, z in zip(sides, scores, strict=True)]
        self.mistakes += wrong[0] if len(wrong) == 1 else scores.index(max(scores)) != y
        for c, side, z, bad in zip(self.columns, sides, scores, wrong, strict=True):
            if bad or side * z < self.margin:
                self.updates.append((self.time, tuple(x), c, side))
        kept = list(dict.fromkeys(z for _, z, _, _ in self.updates))
        if self.budget and len(kept) > self.budget:
            self.updates = [update for update in self.updates if update[1] != kept[0]]

    def averaged(self, x: Any) -> list[float]:
        return [
            sum(a * (self.time + 1 - t) * self.value(x, z) for t, z, column, a in self.updates if column == c)
            / self.time
            for c in self.columns
        ]

    def votes(self, x: Any) -> list[float]:
        found = []
        for c in self.columns:
            score, votes, since = 0.0, 0.0, 1
            for t, z, column, amount in self.updates:
                if column == c:
                    votes += (t - since) * (np.sign(score) if score else self.tie)
                    score, since = score + amount * self.value(x, z), t
            found.append((votes + (self.time + 1 - since) * (np.sign(score) if score else self.tie)) / self.time)
        return found


def stream(seed: int, rows: int = 40, classes: int = 2, columns: int = 3) -> Any:
    """Some examples come twice."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns)).round(1)
    X[rows // 2 :: 4] = X[: len(X[rows // 2 :: 4])]
    y = np.digitize(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(rows), np.linspace(-0.5, 0.5, classes - 1))
    y[:classes] = np.arange(classes)
    return X, y


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    "how",
    [{}, {"average": True, "margin": 0.4}, {"vote": True, "tie": "negative"}, {"budget": 6}, {"passes": 3}],
    ids=str,
)
def test_it_equals_the_reference(classes: int, how: Any) -> None:
    X, y = stream(classes, classes=classes)
    k = kernels.rbf(0.5) + kernels.polynomial(2, 1.0, 0.5)
    model = KernelPerceptron(kernel=k, shuffle=False, **how).fit(X, y)
    tie = -1.0 if how.get("tie") == "negative" else 1.0
    reference = ReferenceKernelPerceptron(k, classes, how.get("margin", 0.0), tie, how.get("budget", 0))
    for x, label in [*zip(X.tolist(), y.tolist(), strict=True)] * how.get("passes", 1):
        reference.learn(x, label)
    assert model.ledger_.mistakes == reference.mistakes
    assert model.n_support_ == len({z for _, z, _, _ in reference.updates})
    by = reference.averaged if how.get("average") else reference.votes if how.get("vote") else reference.scores
    wanted = np.array([by(x) for x in X[:15].tolist()])
    found = model.decision_function(X[:15]).reshape(15, -1)
    if how.get("vote"):
        assert (found == wanted).all()
    assert np.allclose(found, wanted, rtol=1e-12, atol=1e-12)


# --- The primal on the explicit map ---


def tuples(X: Any, degree: int) -> Any:
    """(x·z + 1)^d is the product of these: one feature for each d-tuple of (1, x), all whole numbers."""
    ones = np.hstack([np.ones((len(X), 1)), X])
    return np.array([[np.prod(place) for place in product(x, repeat=degree)] for x in ones])


def subsets(X: Any) -> Any:
    """One feature for each monotone conjunction, the empty one included."""
    sets = list(chain.from_iterable(combinations(range(X.shape[1]), n) for n in range(X.shape[1] + 1)))
    return np.array([[float(all(x[j] for j in s)) for s in sets] for x in X])


MAPS: dict[str, Any] = {
    "poly:2": (lambda X: tuples(X, 2), lambda rng: rng.integers(-2, 3, (60, 3))),
    "poly:3": (lambda X: tuples(X, 3), lambda rng: rng.integers(-2, 3, (60, 3))),
    "conjunctions": (subsets, lambda rng: rng.integers(0, 2, (60, 5))),
    "conjunctions:negations": (lambda X: subsets(np.hstack([X, 1 - X])), lambda rng: rng.integers(0, 2, (60, 4))),
}


class Primal:
    """One-vs-all Perceptrons with explicit weights, one for two labels; hypotheses are summed up for their mean."""

    def __init__(self, features: int, classes: int) -> None:
        self.sides = np.array([[-1.0, 1.0]]) if classes == 2 else 2.0 * np.eye(classes) - 1.0
        self.w, self.total = np.zeros((2, len(self.sides), features))
        self.mistakes = self.updates = 0

    def learn(self, x: Any, y: int) -> None:
        scores, side = self.w @ x, self.sides[:, y]
        wrong = np.where(scores >= 0.0, 1.0, -1.0) != side
        self.mistakes += bool(wrong[0]) if len(side) == 1 else int(scores.argmax()) != y
        self.updates += bool(wrong.any())
        self.w += np.outer(wrong * side, x)
        self.total += self.w


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("classes", [2, 3])
def test_dual_and_primal_agree_prediction_for_prediction(name: str, classes: int) -> None:
    """Numbers are whole, so that sums are exact in both and ties are the same."""
    explicit, draw = MAPS[name]
    rng = np.random.default_rng(len(name))
    X = draw(rng).astype(float)
    y, phi = rng.integers(0, classes, len(X)), explicit(X)
    scale = 2.0 ** X.shape[1] if name == "conjunctions:negations" else 1.0
    primal = Primal(phi.shape[1], classes)
    last, mean = (KernelPerceptron(kernel=name, average=average) for average in (False, True))
    for turn in range(2):
        for t in range(len(X)):
            known = {"classes": np.arange(classes)} if turn == t == 0 else {}
            primal.learn(phi[t], int(y[t]))
            last.partial_fit(X[t : t + 1], y[t : t + 1], **known)
            mean.partial_fit(X[t : t + 1], y[t : t + 1], **known)
            assert (last.ledger_.mistakes, last.ledger_.updates) == (primal.mistakes, primal.updates)
        scores = (phi @ primal.w.T).reshape(len(X), -1)
        assert (scale * last.decision_function(X).reshape(len(X), -1) == scores).all()
        chosen = (scores[:, 0] >= 0.0).astype(int) if classes == 2 else scores.argmax(axis=1)
        assert (last.predict(X) == chosen).all()
        sums = (phi @ primal.total.T).reshape(len(X), -1)
        chosen = (sums[:, 0] >= 0.0).astype(int) if classes == 2 else sums.argmax(axis=1)
        assert (mean.predict(X) == chosen).all()


@pytest.mark.slow
def test_a_linear_kernel_gives_the_perceptron_and_the_voted_perceptron() -> None:
    X, y = stream(3)
    voted = KernelPerceptron(kernel="linear + 1", vote=True).fit(X, y)
    assert (voted.decision_function(X) == VotedPerceptron().fit(X, y).decision_function(X)).all()
    X, y = stream(3, classes=4)
    dual = KernelPerceptron(kernel="linear + 1", average=True).fit(X, y)
    primal = OneVsAll(Perceptron(average=True)).fit(X, y)
    assert np.allclose(dual.decision_function(X), primal.decision_function(X))
    assert dual.ledger_.mistakes == primal.ledger_.mistakes


# --- One arithmetic ---


@pytest.mark.parametrize(
    "how",
    [{"kernel": "rbf:0.7"}, {"budget": 5, "drop": "project", "average": True}, {"budget": 7, "drop": "smallest"}],
    ids=str,
)
def test_batches_single_rows_and_resumption_give_the_same_model(how: Any) -> None:
    X, y = stream(5, classes=4)
    for known in ({"classes": [0, 1, 2, 3]}, {}):
        whole = KernelPerceptron(**how).partial_fit(X, y, **known)
        cut, one = KernelPerceptron(**how), KernelPerceptron(**how)
        for start, stop in ((0, 1), (1, 2), (2, 9), (9, 30), (30, len(X))):
            cut.partial_fit(sp.csr_matrix(X[start:stop]), y[start:stop], **(known if start == 0 else {}))
            cut = from_bytes(to_bytes(cut), "cut")
        one.partial_fit(X[:1], y[:1], **known)
        for x, label in zip(X[1:], y[1:].tolist(), strict=True):
            one.learn_one(dict(enumerate(x.tolist())), label)
        assert to_bytes(cut) == to_bytes(whole) == to_bytes(one)
        assert (cut.decision_function(X) == whole.decision_function(X)).all()
        assert [whole.predict_one(x) for x in X] == whole.predict(X).tolist()
    how = {**how, "shuffle": False}
    assert to_bytes(KernelPerceptron(**how).fit(X, y)) == to_bytes(
        KernelPerceptron(**how).partial_fit(X, y, classes=[0, 1, 2, 3])
    )


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 120), max_size=6).map(sorted),
    seed=st.integers(0, 1000),
    k=st.sampled_from(["rbf:0.3", "poly:3", "conjunctions", "exp(0.1*linear)*quadratic"]),
    how=st.sampled_from([{}, {"vote": True}, {"average": True, "budget": 11}, {"budget": 9, "drop": "project"}]),
    classes=st.integers(2, 5),
)
def test_batch_boundaries_do_not_change_the_model(cuts: list[int], seed: int, k: str, how: Any, classes: int) -> None:
    X, y = stream(seed, rows=120, classes=classes, columns=5)
    model = KernelPerceptron(kernel=k, **how)
    for start, stop in zip([0, *cuts], [*cuts, len(X)], strict=True):
        if stop > start:
            model.partial_fit(X[start:stop], y[start:stop])
    assert to_bytes(model) == to_bytes(KernelPerceptron(kernel=k, **how).partial_fit(X, y))


def test_several_threads_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    import novikoff.kernels.support_set as module

    X, y = stream(6, rows=300)
    one = KernelPerceptron(kernel="rbf:0.4").fit(X, y)
    monkeypatch.setattr(module, "MIN_PRODUCTS_PER_THREAD", 1)
    monkeypatch.setattr(module.os, "cpu_count", lambda: 3)
    assert to_bytes(KernelPerceptron(kernel="rbf:0.4").fit(X, y)) == to_bytes(one)


# --- Classes that come later ---


@pytest.mark.filterwarnings("ignore::novikoff.SortedLabelsWarning")
def test_a_third_class_may_arrive_in_the_middle_of_a_stream() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(center, 0.3, (40, 2)) for center in ((0, 0), (2, 0), (0, 2), (2, 2))])
    y = np.repeat(["a", "b", "c", "d"], 40)
    model = KernelPerceptron(kernel="rbf:1")
    model.partial_fit(X[:80], y[:80])
    two = model.decision_function(X[:80])
    assert two.ndim == 1
    model.partial_fit(X[80:], y[80:])
    for _ in range(3):
        model.partial_fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.score(X, y) > 0.97
    assert model.decision_function(X).shape == (160, 4)
    assert set(model.score_one(X[0])) == {"a", "b", "c", "d"}
    state = model._require_fitted()
    assert state.dual.since.tolist() == [0, 0, 80, 120]


def test_a_refused_example_changes_nothing() -> None:
    X, y = stream(8)
    model = KernelPerceptron(kernel="poly:3").fit(X, y)
    before = to_bytes(model)
    for bad in ({0: np.nan}, {0: 1e200}, {"a": 1.0}):
        with pytest.raises((InputError, WeightOverflowError)):
            model.learn_one(bad, 2)
    with pytest.raises(InputError):
        model.partial_fit([[1.0, np.inf, 2.0]], [7])
    assert to_bytes(model) == before


def test_features_that_were_never_learned_count_in_the_length_only() -> None:
    model = KernelPerceptron(kernel="rbf:0.5")
    model.learn_one({"a": 1.0, "b": 2.0}, "no").learn_one({"a": -1.0}, "yes")
    wide = kernels.rbf(0.5)([[1.0, 0.5, 2.0, 3.0]], [[1.0, 2.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]])
    wanted = -float(wide[0, 0]) if model.n_support_ == 1 else float(wide[0, 1]) - float(wide[0, 0])
    assert model.score_one({"c": 2.0, "a": 1.0, "d": 3.0, "b": 0.5}) == wanted
    assert model.predict_one(["e", "f"]) in ("yes", "no")
    assert KernelPerceptron(kernel=half).fit([[1.0, 0.0], [0.0, 1.0]], [0, 1]).score_one({0: 1.0, 10**9: 5.0}) != 0.0


def test_an_example_refused_at_the_beginning_leaves_nothing() -> None:
    model = KernelPerceptron(kernel="poly:900")
    with pytest.raises(WeightOverflowError):
        model.learn_one({0: 1e3}, 1)
    assert not model.__sklearn_is_fitted__()


def test_declared_classes_wait_for_their_examples() -> None:
    X, y = stream(12)
    model = KernelPerceptron().fit(X, y)
    model.partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    assert model.classes_.tolist() == [0, 1, 2]
    assert set(model.predict(X)) <= {0, 1}
    assert set(model.partial_fit(X[:3], [2, 2, 2]).predict(X)) <= {0, 1, 2}
    assert model.decision_function(X).shape == (len(X), 3)


# --- Budget and memory ---


def test_a_budget_is_kept_and_withdraws_the_bounds() -> None:
    X, y = stream(9, rows=200)
    for drop in ("oldest", "smallest", "project"):
        model = KernelPerceptron(kernel="rbf:1", budget=10, drop=drop).fit(X, y)
        assert (model.n_support_, model.n_dropped_ > 0) == (10, True)
        assert list(model.bounds()) == []
    free = KernelPerceptron(kernel="rbf:1", budget=500).fit(X, y)
    assert free.n_dropped_ == 0
    assert len(free.bounds()) == 4
    assert (
        free.decision_function(X) == KernelPerceptron(kernel="rbf:1").fit(X, y).decision_function(X)
    ).all()  # nothing has changed until then


def test_projection_onto_the_other_support_vectors_loses_nothing() -> None:
    """In two dimensions three examples span no more than two: with a linear kernel dropping one changes nothing."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2))
    y = np.where(X[:, 0] + 0.1 * X[:, 1] >= rng.normal(0, 0.5, 60), 1, -1)
    few = KernelPerceptron(kernel="linear", budget=4, drop="project").fit(X, y)
    many = KernelPerceptron(kernel="linear").fit(X, y)
    assert few.n_dropped_ > 3
    assert np.allclose(few.decision_function(X), many.decision_function(X), atol=1e-5)


def test_the_memory_limit_gives_an_error() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 10)), rng.integers(0, 2, 400)
    model = KernelPerceptron(kernel="rbf:5", max_memory_mb=0.01)
    with pytest.raises(InputError, match=r"max_memory_mb, 0\.01 MB; nothing of this batch"):
        model.fit(X, y)
    with pytest.raises(InputError, match="what was learned up to there stands"):
        model.partial_fit(X[:5], y[:5]).partial_fit(X, y)
    assert 5000 < model.memory_bytes_ <= 10_000
    assert KernelPerceptron(kernel="rbf:5", max_memory_mb=0.01, budget=20).fit(X, y).n_support_ == 20


def test_an_example_that_errs_again_is_stored_once() -> None:
    model = KernelPerceptron(kernel="quadratic", passes=10).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0])
    assert model.n_support_ == 4
    assert np.abs(model.dual_coef_).sum() == model.ledger_.updates > 4


# --- Kernels of one's own, and Gram matrices ---


def test_a_custom_kernel_must_be_passed_to_load(tmp_path: Path) -> None:
    X, y = stream(10, classes=3)
    model = KernelPerceptron(kernel=half).fit(X, y)
    assert (model.predict(X) == KernelPerceptron(kernel="0.5*linear + 1").fit(X, y).predict(X)).mean() > 0.9
    novikoff.save(model, tmp_path / "own.model")
    with pytest.raises(InputError, match=r"half.*load\(path, kernel=...\)"):
        novikoff.load(tmp_path / "own.model").predict(X)
    again = novikoff.load(tmp_path / "own.model", kernel=half)
    assert (again.predict(X) == model.predict(X)).all()
    assert to_bytes(again.partial_fit(X, y)) == to_bytes(model.partial_fit(X, y))
    with pytest.raises(InputError, match="was learned with the kernel"):
        novikoff.load(tmp_path / "own.model", kernel="linear")


def test_a_precomputed_gram_matrix_is_accepted() -> None:
    X, y = stream(11, classes=3)
    X += np.random.default_rng(0).standard_normal(X.shape)  # none comes twice: its number tells an example from others
    k = kernels.rbf(0.5)
    for how in ({}, {"vote": True}, {"passes": 2, "average": True}):
        gram = KernelPerceptron(kernel="precomputed", **how).fit(k(X), y)
        plain = KernelPerceptron(kernel=k, **how).fit(X, y)
        new = X + 0.1
        assert (gram.decision_function(k(new, X)) == plain.decision_function(new)).all()
        assert gram.ledger_.mistakes == plain.ledger_.mistakes
        assert (from_bytes(to_bytes(gram), "gram").predict(k(new, X)) == plain.predict(new)).all()
    with pytest.raises(InputError, match="square"):
        KernelPerceptron(kernel="precomputed").fit(k(X)[:5], y[:5])
    with pytest.raises(InputError, match="whole Gram matrix"):
        KernelPerceptron(kernel="precomputed").learn_one(np.ones(3), 1)


@pytest.mark.parametrize(
    "bad",
    [
        {"kernel": "rbf"},
        {"kernel": 3},
        {"budget": 0},
        {"drop": "newest"},
        {"average": True, "vote": True},
        {"vote": True, "drop": "project"},
        {"max_memory_mb": 0},
        {"margin": -1},
    ],
    ids=str,
)
def test_settings_are_checked_when_learning_begins(bad: Any) -> None:
    with pytest.raises(InputError):
        KernelPerceptron(**bad).fit([[0.0], [1.0]], [0, 1])


def test_a_kernel_that_overflows_is_refused() -> None:
    with pytest.raises(WeightOverflowError, match="Scale the features"):
        KernelPerceptron(kernel="poly:900").fit([[1e3], [2e3]], [0, 1])


# --- The command line ---


def test_files_are_learned_resumed_predicted_and_inspected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, more = str(tmp_path / "iris.model"), str(tmp_path / "more.model")
    learn = ["learn", "iris", "--learner", "kernel-perceptron", "--kernel", "rbf:0.5", "--quiet", "--no-shuffle"]
    assert main([*learn, "--vote", "--save", path]) == 0
    assert "one-vs-all" in capsys.readouterr().out
    assert main(["learn", "iris", "--no-shuffle", "--resume", path, "--save", more, "--quiet"]) == 0
    assert main([*learn, "--vote", "--passes", "2", "--save", path]) == 0
    assert Path(path).read_bytes() != b""
    twice, resumed = novikoff.load(path), novikoff.load(more)
    assert (twice.ledger_.mistakes, twice.n_support_) == (resumed.ledger_.mistakes, resumed.n_support_)
    capsys.readouterr()
    assert main(["inspect", path]) == 0
    assert f"{twice.n_support_} examples are kept" in capsys.readouterr().out
    assert main(["predict", path, "iris", "--scores", "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 150
    assert main([*learn, "--budget", "4", "--drop", "smallest", "--save", path]) == 0
    assert novikoff.load(path).n_support_ == 4
    assert main([*learn, "--positive-label", "setosa", "--save", path]) == 0
    assert main(["learn", "iris", "--positive-label", "setosa", "--resume", path, "--save", path, "--quiet"]) == 0
    assert novikoff.load(path).ledger_.examples == 300
    capsys.readouterr()
    assert main(["predict", path, "iris"]) == 0
    assert "accuracy 100.00 %" in capsys.readouterr().err
    assert main([*learn, "--multiclass", "ova"]) == 0
    assert main([*learn, "--multiclass", "kesler"]) != 0
    assert main([*learn[:5], "tanh:1"]) != 0
    assert "kernel must be such as" in capsys.readouterr().err


# --- Real data ---

needs_data = pytest.mark.skipif(not DATA_FOLDER.is_dir(), reason="the data sets are not here: set NOVIKOFF_DATA")


@pytest.mark.slow
@needs_data
def test_letters_are_classified_with_95_percent_accuracy() -> None:
    from benchmarks.multiclass_data import letter

    split = letter()
    model = KernelPerceptron(kernel="rbf:0.5", margin=0.2, average=True).fit(split.X, split.y)
    assert model.score(split.X_test, split.y_test) >= 0.95


@pytest.mark.slow
@needs_data
def test_the_published_experiment_is_reproduced() -> None:
    """Freund and Schapire 1999: one epoch, degree 4, ten one-vs-all classifiers that vote."""
    from benchmarks.multiclass_data import mnist

    split = mnist()
    model = KernelPerceptron(kernel="poly:4", vote=True).fit(split.X, split.y)
    assert 1.0 - model.score(split.X_test, split.y_test) <= 0.024
