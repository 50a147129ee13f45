"""Feature importance: |weight| × standard deviation, the latter from one sample that all ways to learn share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer

import novikoff
from novikoff import (
    AROW,
    SGD,
    Auto,
    InputError,
    KernelPerceptron,
    Kesler,
    MultilayerPerceptron,
    OneVsAll,
    OnlineToBatch,
    Perceptron,
    QueryRanking,
    Rectangle,
    VotedPerceptron,
    Winnow,
)
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.cli.main import main
from novikoff.core.feature_sample import (
    FEATURE_SAMPLE_SCHEMA,
    FULLY_SAMPLED_EXAMPLES,
    MAX_DIRECT_SLOTS,
    MAX_HASHED_FEATURES,
    MAX_STRATUM_EXAMPLES,
    STRATA_PER_OCTAVE,
    FeatureSample,
    next_sampled,
    sampled_weight,
)
from novikoff.data.rows import Dense, Sparse
from novikoff.data.shuffle.permutation import permutation
from novikoff.distributed import DistributedLearner
from novikoff.model_file import from_bytes, to_bytes
from novikoff.reports.weights import rank_features
from novikoff.schema import SchemaError, verify_arrays
from tests.helpers.multiclass_schemes import slow_unless

NO_WEIGHTS = np.zeros(0)
LABELS = ["no", "yes"]


def stream(seed: int, rows: int, columns: int = 6, kind: Any = np.float64) -> tuple[Any, Any]:
    """Draw columns with zeros, of very different means and scales, and two labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.6)
    X = X * 10.0 ** rng.integers(-2, 2, columns) + np.where(np.arange(columns) == 1, 50.0, 0.0)
    scores = X @ rng.standard_normal(columns)
    y = np.where(scores > np.median(scores), "yes", "no")
    return X.astype(kind), y


# --- The schedule ---


def list_sampled_up_to(last: int) -> list[int]:
    times, t = [], 0
    while (t := next_sampled.function(t)) <= last:
        times.append(t)
    return times


def test_all_of_the_first_examples_and_one_of_every_later_stratum_are_sampled() -> None:
    times = list_sampled_up_to(2**20)
    assert times[:FULLY_SAMPLED_EXAMPLES] == list(range(1, FULLY_SAMPLED_EXAMPLES + 1))
    start, size = FULLY_SAMPLED_EXAMPLES, FULLY_SAMPLED_EXAMPLES // STRATA_PER_OCTAVE
    while start < 2**20:
        inside = np.array([t for t in times if start < t <= 2 * start]) - start - 1
        assert (inside // size).tolist() == list(range(start // size))
        start, size = 2 * start, min(2 * size, MAX_STRATUM_EXAMPLES)


def test_the_next_sampled_example_depends_on_the_number_of_examples_alone() -> None:
    times = list_sampled_up_to(300_000)
    for before, after in zip(
        times[FULLY_SAMPLED_EXAMPLES - 3 :: 7], times[FULLY_SAMPLED_EXAMPLES - 2 :: 7], strict=False
    ):
        for t in {before, (before + after) // 2, after - 1}:
            assert next_sampled.function(t) == after


def test_every_part_of_a_long_run_is_sampled() -> None:
    for rows in (1_000, 20_000, 500_000):
        times = list_sampled_up_to(rows)
        weights = np.array([sampled_weight.function(t) for t in times], float)
        late = np.array(times) > rows / 2
        assert weights[late].sum() > 0.2 * weights.sum()
        assert weights.sum() ** 2 / (weights**2).sum() > 120  # as precise as that number of examples of equal weight


# --- The deviations ---


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_short_runs_give_the_deviation_of_the_data(kind: Any, form: Any) -> None:
    X, y = stream(0, FULLY_SAMPLED_EXAMPLES, kind=kind)
    model = Perceptron().fit(form(X), y)
    assert model.feature_std_ == pytest.approx(X.std(axis=0, dtype=np.float64), rel=1e-4)
    assert model.feature_importances_ == pytest.approx(np.abs(model.coef_[0]) * X.std(axis=0), rel=1e-4)


def test_long_runs_give_about_the_deviation_of_the_data() -> None:
    X, y = stream(1, 20_000)
    model = Perceptron().fit(X, y)
    assert model.feature_std_ == pytest.approx(X.std(axis=0), rel=0.2)


def test_late_features_have_the_deviation_over_all_examples() -> None:
    X = np.random.default_rng(3).standard_normal((20_000, 2))
    X[:10_000, 1] = 0.0
    y = np.where(X[:, 0] > 0, "yes", "no")
    assert Perceptron().fit(X, y).feature_std_ == pytest.approx(X.std(axis=0), rel=0.35)


def test_large_means_lose_no_digits() -> None:
    X = 1e9 + np.random.default_rng(4).standard_normal((FULLY_SAMPLED_EXAMPLES, 1))
    y = np.where(X[:, 0] > 1e9, "yes", "no")
    assert AROW().fit(X, y).feature_std_[0] == pytest.approx(X.std(), rel=1e-6)


def test_a_constant_feature_has_no_importance() -> None:
    X, y = stream(5, 300)
    X[:, 2] = 7.0
    model = Perceptron(shuffle=False).fit(X, y)
    assert model.coef_[0, 2] != 0.0
    assert model.feature_importances_[2] == 0.0


def test_many_passes_give_about_the_same() -> None:
    X, y = stream(6, 400)
    assert Perceptron(passes=5).fit(X, y).feature_std_ == pytest.approx(X.std(axis=0), rel=0.2)


def test_examples_of_weight_zero_are_not_sampled() -> None:
    X, y = stream(7, 900)
    weights = np.arange(900) % 3 != 1
    some = Perceptron(shuffle=False).fit(X, y, sample_weight=weights.astype(float))
    assert to_bytes(some) == to_bytes(Perceptron(shuffle=False).partial_fit(X[weights], y[weights], classes=LABELS))
    shuffled, order = Perceptron().fit(X, y, sample_weight=weights.astype(float)), permutation(0, 0, 900)
    learned = order[weights[order]]
    again = Perceptron().partial_fit(X[learned], y[learned], classes=LABELS)
    mine, theirs = (m._state.feature_sample.as_arrays()[1].tobytes() for m in (shuffled, again))
    assert mine == theirs


# --- One arithmetic ---


MODELS: dict[str, Any] = {
    "perceptron": Perceptron,
    "averaged": lambda: Perceptron(average=True),
    "sgd": SGD,
    "auto": Auto,
    "kesler": lambda: Kesler(Perceptron()),
    "kesler-auto": lambda: Kesler(Auto()),
    "ova": lambda: OneVsAll(AROW()),
    "online-to-batch": lambda: OnlineToBatch(Perceptron()),
}
ROWS = 200 if JIT_DISABLED else 3 * FULLY_SAMPLED_EXAMPLES
EACH = pytest.mark.parametrize("name", MODELS)


def learn(name: str, X: Any, y: Any, **more: Any) -> Any:
    return MODELS[name]().partial_fit(X, y, classes=LABELS, **more)


@EACH
@pytest.mark.parametrize("kind", [pytest.param(np.float32, marks=slow_unless(False)), np.float64])
def test_every_way_to_learn_gives_the_same_sample(name: str, kind: Any) -> None:
    X, y = stream(10, ROWS, kind=kind)
    batch = to_bytes(learn(name, X, y))
    assert from_bytes(batch, "").ledger_.examples <= ROWS
    chunks, resumed, ones, dicts = (learn(name, X[:1], y[:1]) for _ in range(4))
    for start in range(1, ROWS, 97):
        chunks.partial_fit(X[start : start + 97], y[start : start + 97])
        resumed = from_bytes(to_bytes(resumed), "").partial_fit(X[start : start + 97], y[start : start + 97])
    for x, label in zip(X[1:], y[1:], strict=True):
        ones.learn_one(x, label)
        dicts.learn_one({j: float(v) for j, v in enumerate(x)}, label)
    for other in (chunks, resumed, ones, dicts, learn(name, sp.csr_matrix(X), y)):
        assert to_bytes(other) == batch


@EACH
def test_duplicate_and_unsorted_features_are_recorded_as_learned(name: str) -> None:
    X, y = stream(11, ROWS)
    plain = sp.csr_matrix(X)
    halves = np.repeat(plain.data / 2.0, 2), np.repeat(plain.indices, 2), 2 * plain.indptr
    assert to_bytes(learn(name, sp.csr_matrix(halves, plain.shape), y)) == to_bytes(learn(name, plain, y))


def make_wide_data(rows: int, columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(12)
    X = sp.random(rows, columns, 12 / columns, "lil", random_state=12, data_rvs=rng.standard_normal)
    X[0, columns - 1] = 2.0
    return X.tocsr(), np.where(rng.random(rows) < 0.5, "yes", "no")


@pytest.mark.parametrize("name", ["perceptron", pytest.param("kesler", marks=slow_unless(False))])
def test_with_more_features_than_table_rows_batches_do_not_matter(name: str) -> None:
    rows, columns = (150, MAX_DIRECT_SLOTS + 500) if JIT_DISABLED else (900, 2 * MAX_DIRECT_SLOTS)
    X, y = make_wide_data(rows, columns)
    batch = learn(name, X, y)
    sample = batch._state.feature_sample
    assert 0 < len(sample.moments.keys) == len(sample.moments.table) < columns
    chunks, grown, ones = learn(name, X[:1], y[:1]), MODELS[name](), learn(name, X[:1], y[:1])
    for start in range(1, rows, 61):
        chunks.partial_fit(X[start : start + 61], y[start : start + 61])
        chunks = from_bytes(to_bytes(chunks), "")
    for i in range(rows):
        x = dict(zip(X[i].indices.tolist(), X[i].data.tolist(), strict=True))
        ones = ones if i == 0 else ones.learn_one(x, str(y[i]))
        grown.learn_one(x, str(y[i]))
    assert to_bytes(chunks) == to_bytes(ones) == to_bytes(batch)
    assert grown._state.feature_sample.as_arrays()[1].tobytes() == sample.as_arrays()[1].tobytes()
    if rows <= FULLY_SAMPLED_EXAMPLES:
        dense = np.sqrt(np.asarray(X.multiply(X).mean(axis=0)) - np.square(np.asarray(X.mean(axis=0))))[0]
        assert batch.feature_std_ == pytest.approx(dense)


def test_a_growing_table_keeps_its_rows() -> None:
    narrow, late = Dense(np.arange(1.0, 7.0), 2), Sparse(np.array([0, 2]), np.array([0, 10**6], np.uint32), np.ones(2))
    sample = FeatureSample()
    sample.record(narrow, NO_WEIGHTS, 0, 3, 2)
    sample.record(late, NO_WEIGHTS, 3, 4, 10**6 + 1, known=True)
    deviations, known = sample.deviations(10**6 + 1)
    assert deviations[[0, 1]] == pytest.approx([np.std([1, 3, 5, 1]), np.std([2, 4, 6, 0])])
    assert deviations[10**6] == pytest.approx(np.std([0, 0, 0, 1]))
    assert np.flatnonzero(known).tolist() == [0, 1, 10**6]


def test_a_sample_keeps_a_bounded_number_of_features() -> None:
    if JIT_DISABLED:
        pytest.skip("without compilation so long a row takes minutes")
    terms = MAX_HASHED_FEATURES + 1000
    row = Sparse(np.array([0, terms]), np.arange(terms, dtype=np.uint32), np.ones(terms, np.float32))
    sample = FeatureSample("float32")
    for t in range(2):
        sample.record(row, NO_WEIGHTS, t, t + 1, terms, known=True)
    columns, _ = sample.as_arrays()
    assert columns.tolist() == list(range(MAX_HASHED_FEATURES))
    assert sum(array.nbytes for array in sample.moments) < 12e6


def test_a_refused_batch_leaves_the_sample_as_it_was() -> None:
    X, y = stream(13, 100)
    model = Perceptron().partial_fit(X, y, classes=LABELS)
    before = to_bytes(model)
    bad = X.copy()
    bad[70, 3] = np.nan
    for rows in (bad, bad[60:80]):
        with pytest.raises(InputError):
            model.partial_fit(rows, y[: len(rows)])
    with pytest.raises(InputError):
        model.learn_one(bad[70], "yes")
    assert to_bytes(model) == before


def test_batches_and_single_examples_may_alternate() -> None:
    X, y = stream(14, ROWS)
    mixed = Perceptron().partial_fit(X[:1], y[:1], classes=LABELS)
    for start in range(1, ROWS, 50):
        for x, label in zip(X[start : start + 20], y[start : start + 20], strict=True):
            mixed.learn_one(x, label)
        if start + 20 < ROWS:
            mixed.partial_fit(X[start + 20 : start + 50], y[start + 20 : start + 50])
    assert to_bytes(mixed) == to_bytes(learn("perceptron", X, y))


# --- Learners of other kinds ---


def test_the_largest_weight_over_all_classes_counts() -> None:
    X, y = stream(20, FULLY_SAMPLED_EXAMPLES)
    y = np.where(X[:, 0] > 0.2, "many", y)
    model = Kesler(Perceptron()).fit(X, y)
    assert model.feature_importances_ == pytest.approx(np.abs(model.coef_).max(axis=0) * X.std(axis=0))


@pytest.mark.parametrize("model", [VotedPerceptron(), Rectangle(), KernelPerceptron(), MultilayerPerceptron()])
def test_learners_without_weights_keep_no_sample(model: Any) -> None:
    X, y = stream(21, 40)
    model = type(model)(**model.get_params()).fit(X, y)
    assert not hasattr(model, "feature_importances_")
    assert not hasattr(model, "feature_std_")
    assert b"sample.columns" not in to_bytes(model)


def test_an_unfitted_model_has_no_importances() -> None:
    assert not hasattr(Perceptron(), "feature_importances_")


def test_the_chosen_hypothesis_continues_without_its_run() -> None:
    X, y = stream(22, 300)
    run = OnlineToBatch(Perceptron()).fit(X, y)
    before = to_bytes(run)
    chosen = run.hypothesis_
    assert chosen.feature_std_.tolist() == run.feature_std_.tolist()
    chosen.partial_fit(X, y)
    assert to_bytes(run) == before


def test_ranking_samples_documents() -> None:
    rng = np.random.default_rng(23)
    X, grades, qid = rng.standard_normal((400, 3)) * [1, 10, 100], rng.integers(0, 3, 400), np.arange(400) // 8
    model = QueryRanking(Perceptron(shuffle=False)).fit(X, grades, qid)
    assert model.feature_std_ == pytest.approx(X.std(axis=0), rel=0.25)
    half = QueryRanking(Perceptron(shuffle=False)).partial_fit(X[:200], grades[:200], qid[:200])
    assert to_bytes(from_bytes(to_bytes(half), "").partial_fit(X[200:], grades[200:], qid[200:])) == to_bytes(model)


def test_samples_of_shards_are_merged() -> None:
    X, y = stream(24, 180)
    shards = [(X[k : k + 60], y[k : k + 60]) for k in (0, 60, 120)]
    model = DistributedLearner(Perceptron(), rounds=1).fit(shards).model_
    assert model.feature_std_ == pytest.approx(X.std(axis=0))
    assert model._state.feature_sample.sampled == 180
    more = DistributedLearner(Perceptron(), rounds=3).fit(shards * 4).model_
    assert more.feature_std_ == pytest.approx(X.std(axis=0), rel=0.2)


def test_merging_equals_recording_everything() -> None:
    X = np.random.default_rng(25).standard_normal((60, 5)) + np.array([0, 0, 1e6, 0, 0])
    X[:30, 1], X[30:, 3] = 0.0, 0.0
    both, parts = FeatureSample(), [FeatureSample(), FeatureSample()]
    both.record(Dense(X.ravel(), 5), NO_WEIGHTS, 0, 60, 5)
    for part, rows in zip(parts, (X[:30], X[30:]), strict=True):
        part.record(Dense(np.ascontiguousarray(rows).ravel(), 5), NO_WEIGHTS, 0, 30, 5)
    parts[0].merge(parts[1])
    assert parts[0].deviations(5)[0] == pytest.approx(both.deviations(5)[0], rel=1e-9)
    assert parts[0].deviations(5)[0] == pytest.approx(X.std(axis=0), rel=1e-9)


# --- Files ---


@pytest.mark.parametrize(
    "damage",
    [
        {"sample.columns": np.array([0, 0, 1, 2, 3, 4], np.uint32)},
        {"sample.columns": np.array([0, 1, 2, 3, 4, 6], np.uint32)},
        {"sample.moments": np.zeros((6, 3))},
        {"sample.moments": np.zeros((6, 4), np.float32)},
        {"sample.counts": np.zeros(2, np.int32)},
    ],
)
def test_an_invalid_sample_is_refused(damage: dict[str, Any]) -> None:
    X, y = stream(30, 50)
    tensors = Perceptron().fit(X, y)._state.feature_sample.tensors()
    assert FeatureSample.from_tensors(tensors, "float64", 50, 6).sampled == 50
    verify_arrays(FEATURE_SAMPLE_SCHEMA, tensors, {"features": 6}, "float64", "sample.")
    with pytest.raises(SchemaError, match="the array sample"):
        verify_arrays(FEATURE_SAMPLE_SCHEMA, {**tensors, **damage}, {"features": 6}, "float64", "sample.")


def test_files_are_sampled_as_arrays_are(tmp_path: Path) -> None:
    X, y = stream(31, ROWS, kind=np.float32)
    data, model = tmp_path / "data.svm", str(tmp_path / "m.model")
    lines = (" ".join(f"{j + 1}:{v:.9g}" for j, v in enumerate(x) if v) for x in X)
    data.write_text("".join(f"{int(label == 'yes')} {line}\n" for label, line in zip(y, lines, strict=True)))
    assert main(["learn", str(data), "--learner", "perceptron", "--save", model, "--quiet"]) == 0
    sample = novikoff.load(model)._state.feature_sample
    arrays = Perceptron(shuffle=False).fit(sp.csr_matrix(X), y)._state.feature_sample
    assert sample.sampled == arrays.sampled
    assert sample.as_arrays()[1].tobytes() == arrays.as_arrays()[1].tobytes()


# --- Output ---


@pytest.fixture(scope="module")
def cancer(tmp_path_factory: pytest.TempPathFactory) -> str:
    model = str(tmp_path_factory.mktemp("cancer") / "m.model")
    assert main(["learn", "breast-cancer", "--save", model, "--quiet"]) == 0
    return model


def inspect_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["inspect", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_inspect_ranks_by_weight_times_deviation(cancer: str, capsys: pytest.CaptureFixture[str]) -> None:
    X, _ = load_breast_cancer(return_X_y=True)
    found = inspect_json(capsys, cancer, "--top", "30")
    model = novikoff.load(cancer)._working_model()
    exact = np.abs(model.coef_[0]) * X.std(axis=0)
    names = list(model._state.names.columns)
    shown = [names.index(row["feature"]) for row in found["weights"]]
    assert spearmanr(exact[shown], -np.arange(len(shown))).statistic > 0.95
    assert exact[shown[:5]].sum() > 0.95 * np.sort(exact)[-5:].sum()
    off = []
    for row in found["weights"]:
        assert list(row) == ["feature", "weight", "importance", "std"]
        at = names.index(row["feature"])
        assert row["weight"] == model.coef_[0, at]
        assert row["importance"] == pytest.approx(abs(row["weight"]) * row["std"])
        off.append(abs(row["importance"] / exact[at] - 1.0))
    assert np.median(off) < 0.1  # deviations are estimated from a sample
    assert found["intercept"] == model.intercept_[0]
    assert found["sampled_examples"] == model._state.feature_sample.sampled > 150


def test_inspect_explains_importance(cancer: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["inspect", cancer, "--top", "3"]) == 0
    text = capsys.readouterr().out
    sampled = novikoff.load(cancer)._working_model()._state.feature_sample.sampled
    assert "importance   weight" in text
    assert "intercept   " in text
    assert f"importance = |weight| × standard deviation of the feature, from {sampled} sampled examples" in text


@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_the_units_of_a_column_do_not_change_the_ranks_of_auto(factor: float) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    scaled = X.copy()
    scaled[:, 7] *= factor
    one, two = (np.argsort(-Auto().fit(Z, y).feature_importances_).tolist() for Z in (X, scaled))
    assert one == two


def test_features_without_a_deviation_are_listed_last() -> None:
    X = sp.lil_matrix((2000, 4))
    X[:, 0] = np.random.default_rng(1).standard_normal((2000, 1))
    late = next(t for t in range(1500, 2000) if next_sampled.function(t) != t + 1)
    X[late, 3] = 1e6
    y = np.where(X[:, 0].toarray()[:, 0] > 0.0, "yes", "no")
    y[late] = (
        "no"
        if Perceptron(shuffle=False).fit(X.tocsr()[:late], y[:late]).predict(X.tocsr()[late])[0] == "yes"
        else "yes"
    )
    model = Perceptron(shuffle=False).fit(X.tocsr(), y)
    assert abs(model.coef_[0, 3]) > abs(model.coef_[0, 0])
    found = rank_features(model, 10) or []
    assert [(w.feature, w.importance is None, w.std is None) for w in found] == [(0, False, False), (3, True, True)]
    assert model.feature_std_[3] == model.feature_importances_[3] == 0.0


def test_inspect_shows_many_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(tmp_path / "m.model")
    assert main(["learn", "iris", "--learner", "perceptron", "--multiclass", "kesler", "--save", model, "--quiet"]) == 0
    found = inspect_json(capsys, model, "--top", "50")
    importances = [row["importance"] for row in found["weights"]]
    assert importances == sorted(importances, reverse=True)
    assert set(found["intercept"]) == {row["speaks_for"] for row in found["weights"]}
    assert main(["inspect", model]) == 0
    assert "intercept   setosa: " in capsys.readouterr().out


def test_reports_show_importance_and_weight(tmp_path: Path) -> None:
    model, report, certificate = (str(tmp_path / name) for name in ("m.model", "r.html", "c.json"))
    assert main(["learn", "breast-cancer", "--learner", "perceptron", "--save", model, "--quiet"]) == 0
    made = ["--output", certificate, "--report", report, "--search-effort", "0.1", "--quiet"]
    assert main(["certify", model, "breast-cancer", *made]) == 0
    page = Path(report).read_text()
    assert "Most important features" in page
    sampled = novikoff.load(model)._state.feature_sample.sampled
    said = f"Importance is |weight| × standard deviation of the feature, estimated from {sampled} sampled examples"
    assert said in page
    assert '<th scope="col">importance</th><th scope="col">weight</th>' in page


def test_winnow_and_maps_have_importances(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X = (np.random.default_rng(2).random((FULLY_SAMPLED_EXAMPLES, 5)) < 0.3).astype(float)
    model = Winnow(threshold=2.0).fit(X, np.where(X[:, 1] > 0, "yes", "no"))
    assert model.feature_importances_ == pytest.approx(np.abs(model.coef_[0]) * X.std(axis=0))
    file = str(tmp_path / "m.model")
    assert (
        main(["learn", "iris", "--positive-label", "setosa", "--feature-map", "poly:2", "--save", file, "--quiet"]) == 0
    )
    found = inspect_json(capsys, file)
    assert all(row["importance"] is not None for row in found["weights"])
    assert any("·" in str(row["feature"]) or "*" in str(row["feature"]) for row in found["weights"])
