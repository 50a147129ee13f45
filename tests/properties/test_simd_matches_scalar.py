"""The SIMD code equals its scalar definition in Python, above all around multiples of eight."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from novikoff._compiled.jit import Like, compiled
from novikoff._compiled.simd import dot
from novikoff.data.rows import dot_skipping_zeros

pytestmark = pytest.mark.plain_python


class Pair(NamedTuple):
    first: Any
    second: float


class Nest(NamedTuple):
    pair: Pair
    table: Any
    count: int


@compiled
def call_dense(values: Any, start: int, count: int, slots: Any) -> Any:
    return dot.dense_dot_and_sq_norm(values, start, count, slots)


@compiled
def call_sparse(values: Any, indices: Any, start: int, count: int, slots: Any) -> Any:
    return dot.sparse_dot_and_sq_norm(values, indices, start, count, slots)


@compiled
def call_grow(indices: Any, start: int, stop: int) -> bool:
    return dot.is_increasing(indices, start, stop)


@compiled
def use_block(block: Any, like: Any, x: float) -> float:
    nest = dot.unpack_block(block, like)
    nest.pair.first[1] += x
    nest.table[1, 2] = nest.pair.second
    return nest.count + nest.table.shape[1]  # type: ignore[no-any-return]


@pytest.mark.parametrize("value_kind", [np.float32, np.float64])
@pytest.mark.parametrize("slot_kind", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [None, 2])
def test_sums_equal_the_scalar_sums(value_kind: Any, slot_kind: Any, columns: int | None) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(60).astype(value_kind)
    indices = rng.integers(0, 50, 60).astype(np.uint32)
    slots = rng.standard_normal((51,) if columns is None else (51, columns)).astype(slot_kind)
    for start in (0, 3):
        for count in range(35):
            assert call_dense(values, start, count, slots) == dot._dense_dot(values, start, count, slots)
            expected = dot._sparse_dot(values, indices, start, count, slots)
            assert call_sparse(values, indices, start, count, slots) == expected


@pytest.mark.parametrize("value_kind", [np.float32, np.float64])
@pytest.mark.parametrize("slot_kind", [np.float32, np.float64])
def test_sums_that_skip_zeros_equal_those_of_a_sparse_row(value_kind: Any, slot_kind: Any) -> None:
    rng = np.random.default_rng(2)
    for count in range(1, 60):
        for share in (0.0, 0.1, 0.5, 0.9):
            values = rng.standard_normal(count + 2).astype(value_kind) * 10.0 ** rng.integers(-6, 7, count + 2)
            values = np.where(rng.random(count + 2) < share, -0.0, values).astype(value_kind)
            slots = rng.standard_normal(count + 1).astype(slot_kind)
            there = np.flatnonzero(values[2:]).astype(np.uint32)
            meant = call_sparse(values[2:][there], there, 0, len(there), slots)
            assert dot_skipping_zeros(values, 2, count, slots) == meant


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_report_zeros(kind: Any) -> None:
    """Test zeros of both signs at all positions; the smallest positive number is not a zero."""
    tiny, slots = np.nextafter(kind(0), kind(1)), np.ones(40)
    for count in range(1, 35):
        indices = np.arange(count, dtype=np.uint32)
        for place in range(count):
            for value in (0.0, -0.0, tiny, -tiny, np.nan, np.inf):
                padded = np.zeros(count + 4, kind)
                padded[2:-2] = 1.0
                padded[2 + place] = value
                sums = call_dense(padded, 2, count, slots), call_sparse(padded[2:], indices, 0, count, slots)
                for got, meant in zip(
                    sums,
                    (
                        dot._dense_dot(padded, 2, count, slots),
                        dot._sparse_dot(padded[2:], indices, 0, count, slots),
                    ),
                    strict=True,
                ):
                    assert np.isnan(got[1]) == np.isnan(meant[1]) == (value == 0 or np.isnan(value))
                    np.testing.assert_equal(got, meant)


def test_unsorted_and_duplicate_indices_are_found() -> None:
    rng = np.random.default_rng(1)
    for length in range(40):
        good = np.sort(rng.choice(2**32 - 1, length, replace=False)).astype(np.uint32)
        padded = np.concatenate([[7, 7, 7], good, [0, 0]]).astype(np.uint32)
        assert call_grow(padded, 3, 3 + length)
        assert call_grow(good, 0, length)
        for place in range(length - 1):
            for bad in (padded[3 + place], np.uint32(0)):
                changed = padded.copy()
                changed[4 + place] = bad
                assert not call_grow(changed, 3, 3 + length)


def test_packed_blocks_are_unpacked() -> None:
    nest = Nest(Pair(np.zeros(3), 0.25), np.zeros((2, 3), np.float32), 7)
    step = use_block.bound(dot.pack_block(nest), Like(nest), 1.0)
    assert step(dot.pack_block(nest), None, 1.5) == 10
    assert nest.pair.first.tolist() == [0.0, 1.5, 0.0]
    assert nest.table[1].tolist() == [0.0, 0.0, 0.25]
