"""Witnesses for streams larger than memory: nearly as good as in memory, and independent of batches."""

from __future__ import annotations

import errno
import tempfile
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from novikoff import InputError, Perceptron, PNormPerceptron
from novikoff._compiled.jit import JIT_DISABLED
from novikoff.certificates import certificate, sampling, shuffle_buffer
from novikoff.certificates.certificate import build_certificate
from novikoff.certificates.data_source import ArraySource, FileSource
from novikoff.certificates.sampling import StreamSampler, sample_stream, split_in_halves
from novikoff.certificates.search.streaming_search import search_stream
from novikoff.certificates.shuffle_buffer import ShuffleBuffer
from novikoff.certificates.verify import find_differences, verify
from novikoff.data.reader import ReadOptions
from novikoff.data.rows import Dense, Sparse, count_rows

ROWS, TERMS, FEATURES = (600, 8, 60) if JIT_DISABLED else (6000, 12, 400)


def planes(order: str, noise: float, rows: int = ROWS) -> tuple[Any, Any]:
    """Draw sparse rows labelled by a plane; without noise, keep only rows at a distance from it."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.random((2 * rows, FEATURES)).argsort(axis=1)[:, :TERMS], axis=1)
    values = rng.standard_normal(columns.shape).astype(np.float32)
    scores = (values * rng.standard_normal(FEATURES)[columns]).sum(axis=1)
    far = np.flatnonzero(np.abs(scores) > 1.0)[:rows] if noise == 0.0 else np.arange(rows)
    y = np.where(scores[far] + noise * rng.standard_normal(len(far)) > 0, 1, -1)
    if order == "sorted":
        far, y = far[np.argsort(y)], np.sort(y)
    starts = np.arange(len(far) + 1) * TERMS
    return sp.csr_matrix((values[far].ravel(), columns[far].ravel(), starts), (len(far), FEATURES)), y


@pytest.fixture
def small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the buffers to an eighth of the examples, and the budget to that of long streams."""
    monkeypatch.setattr(sampling, "MAX_SAMPLE_TERMS", ROWS * TERMS // 8)
    monkeypatch.setattr(sampling, "CHUNK_ROWS", 16)
    monkeypatch.setattr(shuffle_buffer, "CHUNK_TERMS", ROWS * TERMS // 8)
    monkeypatch.setattr(certificate, "MIN_BUDGET_TERMS", 0)


def get_bound(X: Any, y: Any, theorem: str, budget: float = 1.0) -> float:
    found, _ = build_certificate(Perceptron(), ArraySource(X, y), passes=1, search_effort=budget)
    assert verify(found, X, y) == []
    return float({b["name"]: b for b in found.bounds}[theorem]["bound"])


@pytest.mark.parametrize("learner", [Perceptron, lambda: PNormPerceptron(p=3.0)])
def test_measurements_of_a_file_equal_those_of_the_data(learner: Any, small_buffers: None) -> None:
    """Explicit zeros and duplicate features, which a file does not store, must not change the result."""
    X, y = planes("mixed", noise=1.0)
    table = X.toarray()[: ROWS // 4, : FEATURES // 2]
    twice = sp.csr_matrix((X.data, X.indices // 2, X.indptr), X.shape)
    for data in (table, sp.csr_matrix(table), twice):
        labels = y[: data.shape[0]]
        found, _ = build_certificate(learner(), ArraySource(data, labels), passes=1)
        assert verify(found, data, labels) == []


@pytest.mark.parametrize("order", ["mixed", "sorted"])
def test_the_streaming_witness_is_nearly_as_good_as_in_memory(
    order: str, small_buffers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = planes(order, noise=1.0)
    streamed, longer = get_bound(X, y, "hinge"), get_bound(X, y, "hinge", budget=8.0)
    sampled = get_bound(X, y, "hinge", budget=0.09)
    monkeypatch.setattr(sampling, "MAX_SAMPLE_TERMS", 1 << 30)
    whole = get_bound(X, y, "hinge", budget=30.0)
    assert whole <= streamed <= 1.05 * whole
    assert longer <= 1.01 * whole
    assert streamed < sampled


@pytest.mark.skipif(JIT_DISABLED, reason="takes many passes")
def test_the_largest_margin_is_found_too(small_buffers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = planes("mixed", noise=0.0)
    streamed = get_bound(X, y, "novikoff", budget=1000.0)
    monkeypatch.setattr(sampling, "MAX_SAMPLE_TERMS", 1 << 30)
    assert streamed <= 1.03 * get_bound(X, y, "novikoff", budget=1000.0)


@pytest.mark.parametrize(("block", "threads"), [(1 << 10, 1), (1 << 12, 2), (1 << 20, 3)])
def test_the_certificate_does_not_depend_on_how_the_file_is_read(
    block: int, threads: int, small_buffers: None, tmp_path: Path
) -> None:
    X, y = planes("mixed", noise=1.0, rows=ROWS // 4)
    path = tmp_path / "data.svm"
    lines = [
        " ".join([str(label), *(f"{j + 1}:{v:.4f}" for j, v in zip(x.indices, x.data, strict=True))])
        for x, label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    usual, _ = build_certificate(Perceptron(), FileSource([str(path)], ReadOptions()), passes=1)
    other, _ = build_certificate(
        Perceptron(), FileSource([str(path)], ReadOptions(block=block, threads=threads)), passes=1
    )
    assert other.as_json() == usual.as_json()
    assert find_differences(other.document, FileSource([str(path)], ReadOptions())) == []


@settings(max_examples=20, deadline=None)
@given(cuts=st.lists(st.integers(1, 299), unique=True), dense=st.booleans())
def test_samples_do_not_depend_on_batches(cuts: list[int], dense: bool) -> None:
    X = np.random.default_rng(0).integers(0, 3, (300, 5)).astype(np.float32)
    y = np.where(X[:, 0] > 1, 1, -1).astype(np.int8)
    edges = [0, *sorted(cuts), 300]
    parts = [(_rows(X[a:b], dense), y[a:b]) for a, b in pairwise(edges)]
    with pytest.MonkeyPatch.context() as patch, ShuffleBuffer() as whole, ShuffleBuffer() as cut:
        patch.setattr(sampling, "MAX_SAMPLE_TERMS", 200)
        patch.setattr(sampling, "CHUNK_ROWS", 8)
        one, other = sample_stream([(_rows(X, True), y)], whole), sample_stream(parts, cut)
        assert one is not None
        assert other is not None
        _check_same_rows(one.rows, other.rows)
        assert whole.index == cut.index
        for a, b in zip(*(s.iter_shuffled(np.random.default_rng(1), 1.0) for s in (whole, cut)), strict=True):
            _check_same_rows(a.rows, b.rows)
            np.testing.assert_array_equal(a.labels, b.labels)


def _rows(X: Any, dense: bool) -> Any:
    if dense:
        return Dense(np.ascontiguousarray(X).ravel(), X.shape[1])
    table = sp.csr_matrix(X)
    return Sparse(table.indptr.astype(np.int64), table.indices.astype(np.uint32), table.data)


def _check_same_rows(a: Sparse, b: Sparse) -> None:
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


def make_numbered_chunks(count: int, kind: Any = np.float32) -> Any:
    """Yield chunks of four rows of two terms; each term holds the number of its row."""
    for start in range(0, count, 4):
        number = np.arange(start, start + 4)
        yield (
            Sparse(np.arange(5) * 2, np.repeat(number, 2).astype(np.uint32), np.repeat(number + 0.5, 2).astype(kind)),
            np.ones(4, np.int8),
        )


@pytest.mark.parametrize("most", [1 << 20, 100])
def test_the_shuffle_buffer_yields_every_block_once_and_keeps_multipliers(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shuffle_buffer, "CHUNK_TERMS", 40)
    monkeypatch.setattr(shuffle_buffer, "MAX_TERMS", most)
    with ShuffleBuffer() as pieces:
        for piece in make_numbered_chunks(400):
            pieces.add(*piece)
            assert pieces.terms <= most
            assert pieces.file.seek(0, 2) == 17 * pieces.rows + 8 * pieces.terms
        seen = []
        for tour in range(3):
            firsts = []
            for hand in pieces.iter_shuffled(np.random.default_rng(tour), 0.5):
                first = hand.rows.indices[hand.rows.starts[:-1]]
                assert (np.diff(hand.rows.starts) == 2).all()
                np.testing.assert_array_equal(hand.rows.values, hand.rows.indices + np.float32(0.5))
                np.testing.assert_array_equal(hand.multipliers, 0.5 * first * (tour > 0) * 0.5 ** (tour - 1))
                hand.multipliers[:] = first if tour == 0 else hand.multipliers
                firsts += first.tolist()
            seen.append(firsts)
        kept = sorted(seen[0])
        assert kept == sorted(seen[1]) == sorted(seen[2])
        assert seen[0] != seen[1]
        assert pieces.rows == len(kept)
        assert kept == list(range(400)) if most > 800 else np.ptp(np.diff(kept[::4])) == 0


def test_the_number_of_rows_is_limited_per_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle_buffer, "MAX_ROWS_PER_FEATURE", 2)
    monkeypatch.setattr(shuffle_buffer, "MIN_TERMS", 80)
    with ShuffleBuffer() as pieces:
        for rows, labels in make_numbered_chunks(4000):
            pieces.add(rows._replace(indices=rows.indices % 50), labels)
            assert pieces.rows <= max(2 * pieces.features, 40)
        assert pieces.rows >= 50


def test_blocks_may_have_different_dtypes() -> None:
    with ShuffleBuffer() as pieces:
        for piece in (*make_numbered_chunks(8), *make_numbered_chunks(8, np.float64)):
            pieces.add(*piece)
        (hand,) = pieces.iter_shuffled(np.random.default_rng(0), 1.0)
        assert hand.rows.values.dtype == np.float64
        np.testing.assert_array_equal(hand.rows.values, hand.rows.indices + 0.5)


def test_one_half_of_the_sample_evaluates_the_other(small_buffers: None) -> None:
    X, y = planes("mixed", noise=1.0)
    part = sample_stream(ArraySource(X, y).batches(Perceptron().fit(X, y)._require_fitted().labels, FEATURES))
    assert part is not None
    assert part.share() > 4
    one, other = split_in_halves(part)
    assert count_rows(one.rows) + count_rows(other.rows) == count_rows(part.rows)
    assert one.total == other.total == ROWS


def test_streams_that_fit_in_memory_use_no_temporary_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    X, y = planes("mixed", noise=1.0, rows=100)
    assert get_bound(X, y, "hinge", budget=1e-3 if JIT_DISABLED else 1.0) > 0.0


def test_a_full_disk_is_reported(small_buffers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_no_space(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shuffle_buffer.os, "pwritev", raise_no_space)
    X, y = planes("mixed", noise=1.0)
    with pytest.raises(InputError, match=r"No space left on device.*TMPDIR"):
        build_certificate(Perceptron(), ArraySource(X, y), passes=1)
    assert get_bound(X, y, "hinge", budget=0.09) > 0.0


@pytest.mark.skipif(JIT_DISABLED, reason="what is compiled takes no memory")
def test_memory_does_not_grow_with_the_stream(small_buffers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "CHUNK_ROWS", 128)
    X, y = planes("mixed", noise=1.0)
    table, signs = _rows(X.toarray(), False), y.astype(np.int8)

    def peak(times: int) -> int:
        tracemalloc.start()
        with ShuffleBuffer() as pieces:
            gatherer = StreamSampler(pieces)
            for _ in range(times):
                gatherer.add(table, signs)
            part = gatherer.sample()
            assert part is not None
            search_stream(part, pieces, FEATURES, bias=True, budget=5 * TERMS * part.total)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1)
    assert peak(16) < 1.25 * peak(2)
