"""One arithmetic: every way to learn a stream gives the same model file, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import novikoff
from novikoff.store import from_bytes, to_bytes
from tests.learners import EVERY, fresh
from tests.streams import csr, real, whole

EVERYONE = pytest.mark.parametrize("name", EVERY)
BOTH = {"classes": [-1, 1]}


def chunks(model: Any, X: Any, y: Any, cuts: list[int]) -> Any:
    for start, stop in zip([0, *cuts], [*cuts, X.shape[0]], strict=True):
        if stop > start:
            model.partial_fit(X[start:stop], y[start:stop], **BOTH)
    return model


@EVERYONE
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, csr])
def test_batch_chunks_and_rows(name: str, kind: Any, form: Any) -> None:
    X, y = real(1, kind=kind)
    X = form(X)
    batch = to_bytes(fresh(name).fit(X, y))
    assert to_bytes(chunks(fresh(name), X, y, [7, 8, 30])) == batch
    assert to_bytes(chunks(fresh(name), X, y, list(range(1, X.shape[0])))) == batch


@settings(max_examples=25, deadline=None)
@given(cuts=st.lists(st.integers(0, 60), max_size=6).map(sorted), seed=st.integers(0, 1000))
def test_any_cut(cuts: list[int], seed: int) -> None:
    X, y = real(seed)
    for name in ("perceptron-averaged", "sgd-logistic-sqrt-elastic", "voted-perceptron"):
        assert to_bytes(chunks(fresh(name), X, y, cuts)) == to_bytes(fresh(name).fit(X, y))


@EVERYONE
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_one_by_one_from_arrays_and_dicts(name: str, kind: Any) -> None:
    X, y = real(2, kind=kind)
    batch = to_bytes(fresh(name).fit(X, y))
    arrays, dicts = fresh(name), fresh(name)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        arrays.learn_one(x, label)
        # A dict has no precision: the first example, an array, decides it.
        dicts.learn_one(x if t == 0 else dict(enumerate(x.tolist())), label)
    assert to_bytes(arrays) == batch
    assert to_bytes(dicts) == batch


@EVERYONE
def test_a_named_growing_stream_resumed_at_every_example(name: str) -> None:
    X, y = real(12, rows=30)
    examples = [{f"f{j}": float(v) for j, v in enumerate(x[: 3 + t // 3]) if v} for t, x in enumerate(X)]
    straight, resumed = fresh(name), fresh(name)
    for x, label in zip(examples, y.tolist(), strict=True):
        straight.learn_one(x, label)
        resumed = from_bytes(to_bytes(resumed.learn_one(x, label)), "m")
    assert to_bytes(straight) == to_bytes(resumed)


@EVERYONE
def test_names_are_the_columns_of_a_data_frame(name: str) -> None:
    pd = pytest.importorskip("pandas", reason="data frames need pandas")
    X, y = real(3)
    names = [f"f{j}" for j in range(X.shape[1])]
    batch = fresh(name).fit(pd.DataFrame(X, columns=names), y)
    dicts = fresh(name)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        dicts.learn_one(dict(zip(names, x, strict=True)), label)
    assert to_bytes(dicts) == to_bytes(batch)


@EVERYONE
def test_save_and_resume_in_the_middle(name: str, tmp_path: Path) -> None:
    X, y = real(4)
    path = tmp_path / "half.model"
    novikoff.save(fresh(name).partial_fit(X[:23], y[:23], **BOTH), path)
    resumed = novikoff.load(path).partial_fit(X[23:], y[23:])
    assert to_bytes(resumed) == to_bytes(fresh(name).fit(X, y))
    half = from_bytes(path.read_bytes(), "half")
    for x, label in zip(X[23:], y[23:].tolist(), strict=True):
        half.learn_one(x, label)
    assert to_bytes(half) == to_bytes(resumed)


@EVERYONE
def test_loading_changes_nothing(name: str) -> None:
    X, y = real(5)
    model = fresh(name).fit(X, y)
    again = from_bytes(to_bytes(model), "again")
    assert to_bytes(again) == to_bytes(model)
    assert again.get_params() == model.get_params()
    assert (again.decision_function(X) == model.decision_function(X)).all()


@EVERYONE
def test_dense_equals_csr_to_the_last_bit_on_whole_numbers(name: str) -> None:
    """Learners that only add examples have whole weights then, and every sum is exact. Gradient steps and powers make
    fractions of them: there the order of summation shows in the last digits."""
    X, y = whole(6)
    dense, sparse = fresh(name).fit(X, y), fresh(name).fit(csr(X), y)
    assert sparse.decision_function(csr(X)) == pytest.approx(dense.decision_function(X), rel=1e-9, abs=1e-12)
    if not name.startswith(("sgd", "p-norm")):
        assert to_bytes(sparse) == to_bytes(dense)


@EVERYONE
def test_dense_equals_csr_where_no_value_is_zero(name: str) -> None:
    rng = np.random.default_rng(8)
    X = rng.standard_normal((50, 21)) + 0.1
    y = np.where(X[:, 0] > 0, 1, -1)
    assert to_bytes(fresh(name).fit(csr(X), y)) == to_bytes(fresh(name).fit(X, y))


@EVERYONE
def test_one_example_scores_as_in_a_batch(name: str) -> None:
    X, y = real(9)
    model = fresh(name).fit(X, y)
    batch, sparse = model.decision_function(X), model.decision_function(csr(X))
    for x, score, sparse_score in zip(X, batch, sparse, strict=True):
        assert model.score_one(x) == score
        assert model.score_one(dict(enumerate(x.tolist()))) == score
        assert model.score_one({j: float(v) for j, v in enumerate(x) if v != 0.0}) == sparse_score
        assert model.predict_one(x) == model.predict(x[None])[0]


@EVERYONE
def test_passes_are_the_stream_again(name: str) -> None:
    X, y = real(10)
    twice = fresh(name, passes=2).fit(X, y)
    again = fresh(name, passes=2).partial_fit(X, y, **BOTH).partial_fit(X, y)
    assert to_bytes(twice) == to_bytes(again)
