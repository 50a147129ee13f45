"""Bitwise reproducibility: every way to learn a stream gives the same model file, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import novikoff
from novikoff import SGD, InputError, Perceptron
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.base.internals import require_state
from novikoff.model_file import from_bytes, to_bytes
from tests.helpers.learners import ALL_LEARNERS, GROWING_LEARNERS, clip_to_range, make_learner
from tests.helpers.model_bytes import to_bytes_without_calibration
from tests.helpers.streams import csr, real, whole

pytestmark = pytest.mark.plain_python_slow

EVERYONE = pytest.mark.parametrize("name", ALL_LEARNERS)
GROWS = pytest.mark.parametrize("name", GROWING_LEARNERS)
BOTH = {"classes": [-1, 1]}


def chunks(model: Any, X: Any, y: Any, cuts: list[int]) -> Any:
    for start, stop in zip([0, *cuts], [*cuts, X.shape[0]], strict=True):
        if stop > start:
            model.partial_fit(X[start:stop], y[start:stop], **BOTH)
    return model


@EVERYONE
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, csr])
def test_batches_chunks_and_single_rows_give_the_same_bytes(name: str, kind: Any, form: Any) -> None:
    X, y = real(1, kind=kind)
    X = clip_to_range(name, X)
    X = form(X)
    batch = to_bytes(make_learner(name).fit(X, y))
    assert to_bytes(chunks(make_learner(name), X, y, [7, 8, 30])) == batch
    assert to_bytes(chunks(make_learner(name), X, y, list(range(1, X.shape[0])))) == batch


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(0, 60), max_size=6).map(sorted), seed=st.integers(0, 1000))
def test_batch_boundaries_do_not_change_the_bytes(cuts: list[int], seed: int) -> None:
    X, y = real(seed)
    for name in ("perceptron-averaged", "sgd-logistic-sqrt-elastic", "voted-perceptron", "winnow-thick-averaged"):
        Z = clip_to_range(name, X)
        assert to_bytes(chunks(make_learner(name), Z, y, cuts)) == to_bytes(make_learner(name).fit(Z, y))


@EVERYONE
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_single_examples_from_arrays_and_dicts_give_the_same_bytes(name: str, kind: Any) -> None:
    X, y = real(2, kind=kind)
    X = clip_to_range(name, X)
    batch = to_bytes(make_learner(name).fit(X, y))
    arrays, dicts = make_learner(name), make_learner(name)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        arrays.learn_one(x, label)
        # A dict has no precision: the first example, an array, decides it.
        dicts.learn_one(x if t == 0 else dict(enumerate(x.tolist())), label)
    assert to_bytes(arrays) == batch
    assert to_bytes(dicts) == batch


@GROWS
def test_a_stream_with_new_names_can_be_resumed_at_every_example(name: str) -> None:
    X, y = real(12, rows=30)
    X = clip_to_range(name, X)
    examples = [{f"f{j}": float(v) for j, v in enumerate(x[: 3 + t // 3]) if v} for t, x in enumerate(X)]
    straight, resumed = make_learner(name), make_learner(name)
    for x, label in zip(examples, y.tolist(), strict=True):
        straight.learn_one(x, label)
        resumed = from_bytes(to_bytes(resumed.learn_one(x, label)), "m")
    assert to_bytes(straight) == to_bytes(resumed)


@GROWS
def test_names_are_the_columns_of_a_data_frame(name: str) -> None:
    pd = pytest.importorskip("pandas", reason="data frames need pandas")
    X, y = real(3)
    X = clip_to_range(name, X)
    names = [f"f{j}" for j in range(X.shape[1])]
    batch = make_learner(name).fit(pd.DataFrame(X, columns=names), y)
    dicts = make_learner(name)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        dicts.learn_one(dict(zip(names, x, strict=True)), label)
    assert to_bytes(dicts) == to_bytes(batch)


@EVERYONE
def test_saving_and_resuming_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    X, y = real(4)
    X = clip_to_range(name, X)
    path = tmp_path / "half.model"
    novikoff.save(make_learner(name).partial_fit(X[:23], y[:23], **BOTH), path)
    resumed = novikoff.load(path).partial_fit(X[23:], y[23:])
    assert to_bytes(resumed) == to_bytes(make_learner(name).fit(X, y))
    half = from_bytes(path.read_bytes(), "half")
    for x, label in zip(X[23:], y[23:].tolist(), strict=True):
        half.learn_one(x, label)
    assert to_bytes(half) == to_bytes(resumed)


@EVERYONE
def test_loading_changes_nothing(name: str) -> None:
    X, y = real(5)
    X = clip_to_range(name, X)
    model = make_learner(name).fit(X, y)
    again = from_bytes(to_bytes(model), "again")
    assert to_bytes(again) == to_bytes(model)
    assert again.get_params() == model.get_params()
    assert (again.decision_function(X) == model.decision_function(X)).all()


def without_zeros(seed: int, rows: int = 60) -> tuple[Any, Any]:
    X, y = real(seed, rows)
    return X + 0.01, y


def make_rows_with_zeros(seed: int, rows: int = 60) -> tuple[Any, Any]:
    """Draw rows without zeros, with some, and of zeros only: at the beginning, inside and at the end."""
    X, y = real(seed, rows, columns=21)
    X[rows // 3 : rows // 2] += 0.01
    X[[0, rows // 2, -1]] = 0.0
    X[3] *= -1.0  # its zeros are negative
    return X, y


def with_stored_zeros(X: Any) -> Any:
    """Return a CSR matrix with explicit zeros."""
    rows, columns = X.shape
    every = np.tile(np.arange(columns), rows)
    return sp.csr_matrix((X.ravel(), every, np.arange(0, X.size + 1, columns)), X.shape)


STREAMS = pytest.mark.parametrize("stream", [whole, real, without_zeros, make_rows_with_zeros])


@EVERYONE
@STREAMS
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_dense_equals_csr_to_the_last_bit(name: str, kind: Any, stream: Any) -> None:
    X, y = stream(6)
    X = clip_to_range(name, X)
    X = X.astype(kind)
    dense = make_learner(name).fit(X, y)
    scores = dense.decision_function(X)
    for form in (csr, with_stored_zeros):
        sparse = make_learner(name).fit(form(X), y)
        assert to_bytes(sparse) == to_bytes(dense)
        assert (sparse.decision_function(X) == scores).all()
        assert (dense.decision_function(form(X)) == scores).all()
    arrays, dicts, filled = make_learner(name), make_learner(name), make_learner(name)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        arrays.learn_one(x, label)
        dicts.learn_one(x if t == 0 else {j: float(x[j]) for j in np.flatnonzero(x).tolist()}, label)
        filled.learn_one(x if t == 0 else dict(enumerate(x.tolist())), label)
    assert to_bytes(arrays) == to_bytes(dicts) == to_bytes(filled) == to_bytes(dense)


@EVERYONE
@STREAMS
def test_one_example_is_scored_as_in_a_batch(name: str, stream: Any) -> None:
    X, y = stream(9)
    X = clip_to_range(name, X)
    model = make_learner(name).fit(X, y)
    for x, score, label in zip(X, model.decision_function(X), model.predict(X), strict=True):
        assert model.score_one(x) == score
        assert model.score_one(dict(enumerate(x.tolist()))) == score
        assert model.score_one({j: float(v) for j, v in enumerate(x) if v != 0.0}) == score
        assert model.predict_one(x) == label


@pytest.mark.parametrize("share", [0.0, 1e-5, 1e-3, 0.3])
@pytest.mark.parametrize("name", ["perceptron-averaged", "voted-perceptron", "sgd-hinge-adagrad-elastic"])
def test_large_tables_with_few_and_many_zeros_give_the_same_bytes(name: str, share: float) -> None:
    """Many blocks of rows are canonicalized, with canonical rows in between."""
    X, y = without_zeros(5, rows=400 if JIT_DISABLED else 30_000)
    X = clip_to_range(name, X)
    X[np.random.default_rng(5).random(X.shape) < share] = 0.0
    X[-1, 3] = 0.0
    dense = make_learner(name).fit(X, y)
    for form in (csr, with_stored_zeros):
        assert to_bytes(make_learner(name).fit(form(X), y)) == to_bytes(dense)
    few = X[:4000] if name == "voted-perceptron" else X
    assert (dense.decision_function(few) == dense.decision_function(csr(few))).all()


@pytest.mark.parametrize("zeros", [5, 400])
@pytest.mark.parametrize(
    "learner",
    [Perceptron(), Perceptron(margin=0.5, average=True), SGD(loss="hinge", schedule="constant", average=True)],
)
def test_a_few_zeros_and_sample_weights_do_not_change_the_bytes(learner: Any, zeros: int) -> None:
    """The loop takes some dense rows with zeros by itself, and scores two rows at once; an example of weight 0 is
    passed over, and one that can't be learned is found wherever it is."""
    rng = np.random.default_rng(zeros)
    X, y = without_zeros(zeros, rows=3001)
    X = X.astype(np.float32)
    X[rng.integers(0, len(X), zeros), rng.integers(0, X.shape[1], zeros)] = -0.0
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], len(y))
    dense, sparse = (clone(learner).fit(form(X), y, sample_weight=weights) for form in (np.asarray, csr))
    assert to_bytes(dense) == to_bytes(sparse)
    for row in (0, 1, 2, 3, 30, 31, 3000):
        worse = X.copy()
        worse[row, 2] = np.inf
        with pytest.raises(InputError, match=f"row {row}, column 2"):
            dense.partial_fit(worse, y, sample_weight=np.where(np.arange(len(y)) == row, 1.0, weights))
        assert to_bytes(dense) == to_bytes(sparse)


@EVERYONE
def test_small_batches_with_zeros_give_the_same_bytes(name: str) -> None:
    """Batches smaller than the model are scanned before they are learned."""
    X, y = real(4, rows=12, columns=300)
    X = clip_to_range(name, X)
    models = [make_learner(name) for _ in range(3)]
    for k in range(0, len(X), 2):
        for model, form in zip(models, (np.asarray, csr, with_stored_zeros), strict=True):
            model.partial_fit(form(X[k : k + 1]), y[k : k + 1], **BOTH)
            model.partial_fit(form(X[k + 1 : k + 2]), y[k + 1 : k + 2])
    assert len({to_bytes(model) for model in models}) == 1


WEIGHED = [
    name
    for name, model in ALL_LEARNERS.items()
    if type(model).__name__ in ("Perceptron", "SGD", "Winnow", "BalancedWinnow")
]


@pytest.mark.parametrize("name", WEIGHED)
def test_sample_weights_give_the_same_bytes_dense_and_sparse(name: str) -> None:
    X, y = make_rows_with_zeros(7)
    X = clip_to_range(name, X)
    weights = np.random.default_rng(7).choice([0.0, 0.5, 1.0, 2.0], len(y))
    dense = make_learner(name, passes=2).fit(X, y, sample_weight=weights)
    for form in (csr, with_stored_zeros):
        assert to_bytes(make_learner(name, passes=2).fit(form(X), y, sample_weight=weights)) == to_bytes(dense)
    assert dense.ledger_.weighted == 2 * int(((weights != 0.0) & (weights != 1.0)).sum())


@EVERYONE
def test_terms_of_a_sparse_row_keep_their_order(name: str) -> None:
    """The order of terms is the order of summation, as for a dict."""
    X, y = real(8, rows=400)
    X = clip_to_range(name, X)
    rng = np.random.default_rng(8)
    shuffled = [rng.permutation(np.flatnonzero(x)) for x in X]
    indices = np.concatenate(shuffled)
    values = np.concatenate([x[columns] for x, columns in zip(X, shuffled, strict=True)])
    starts = np.cumsum([0, *map(len, shuffled)])
    untidy = sp.csr_matrix((values, indices, starts), X.shape)
    batch, dicts = make_learner(name).partial_fit(untidy, y), make_learner(name).partial_fit(untidy[:1], y[:1])
    for x, columns, label in zip(X[1:], shuffled[1:], y[1:].tolist(), strict=True):
        dicts.learn_one({int(j): float(x[j]) for j in columns}, label)
    assert to_bytes(batch) == to_bytes(dicts)
    scores = [batch.score_one({int(j): float(x[j]) for j in columns}) for x, columns in zip(X, shuffled, strict=True)]
    assert batch.decision_function(untidy).tolist() == scores


def test_a_name_with_only_zeros_is_known() -> None:
    model = novikoff.Perceptron().learn_one({"a": 1.0, "b": 0.0}, 0).learn_one({"c": 0}, 1)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.coef_.tolist() == [[-1.0, 0.0, 0.0]]


@EVERYONE
def test_passes_equal_the_repeated_stream(name: str) -> None:
    X, y = real(10)
    X = clip_to_range(name, X)
    twice = make_learner(name, passes=2).fit(X, y)
    again = make_learner(name, passes=2).partial_fit(X, y, **BOTH)
    require_state(again).pause_probabilities()  # Auto's forecasts learn in the first pass only
    again.partial_fit(X, y)
    assert to_bytes_without_calibration(twice) == to_bytes_without_calibration(again)
