"""Dot products of several columns at once equal those of single columns, above all around multiples of eight."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from novikoff._compiled.jit import compiled
from novikoff._compiled.simd import dot, dot_columns
from novikoff._compiled.simd.dot_columns import BLOCK_COLUMNS
from novikoff.core.multiclass.weight_matrix import padded_columns
from novikoff.data.rows import Dense, Sparse, sum_columns

pytestmark = pytest.mark.plain_python

LENGTHS = range(41)
KINDS = pytest.mark.parametrize(
    ("value_kind", "slot_kind"),
    [(np.float32, np.float32), (np.float32, np.float64), (np.float64, np.float32), (np.float64, np.float64)],
)


@compiled
def call_sparse(values: Any, indices: Any, start: int, count: int, slots: Any, width: int, at: int, out: Any) -> None:
    dot_columns.sparse_dot_columns(values, indices, start, count, slots, width, at, out)


@compiled
def call_dense(values: Any, start: int, count: int, slots: Any, width: int, at: int, out: Any) -> None:
    dot_columns.dense_dot_columns(values, start, count, slots, width, at, out)


@compiled
def call_all(rows: Any, slots: Any, width: int, columns: int, out: Any) -> None:
    sum_columns(rows, 0, slots, width, columns, out)


@compiled
def call_square(values: Any, start: int, count: int) -> float:
    return dot_columns.sum_of_squares(values, start, count)


def sum_column(x: Any, at: Any, slots: Any, width: int, column: int) -> float:
    """Return Σ x·w of one column, from its own array of slots."""
    weights = (slots[:, 0] if slots.ndim == 2 else slots).reshape(-1, width)[:, column].copy()
    return dot._sparse_dot(x, at, 0, len(x), weights)[0]


def table(rng: Any, kind: Any, slots: int, width: int, pairs: bool) -> Any:
    shape = (slots * width, 2) if pairs else (slots * width,)
    # Of very different sizes, so that every other order of summation would show.
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 7, shape)).astype(kind)


@KINDS
@pytest.mark.parametrize("pairs", [False, True])
def test_sums_of_a_block_equal_those_of_single_columns(value_kind: Any, slot_kind: Any, pairs: bool) -> None:
    rng = np.random.default_rng(0)
    for count in LENGTHS:
        width = BLOCK_COLUMNS * int(rng.integers(1, 4))
        slots = table(rng, slot_kind, 51, width, pairs)
        values = rng.standard_normal(count + 7).astype(value_kind)
        indices = rng.integers(0, 50, count + 7).astype(np.uint32)
        for start in (0, 3):
            x, at = values[start : start + count], indices[start : start + count]
            for block in range(0, width, BLOCK_COLUMNS):
                dense, sparse = np.full(width, 77.0), np.full(width, 77.0)
                call_dense(values, start, count, slots, width, block, dense)
                call_sparse(values, indices, start, count, slots, width, block, sparse)
                for c in range(width):
                    if block <= c < block + BLOCK_COLUMNS:
                        assert sparse[c] == sum_column(x, at, slots, width, c)
                        assert dense[c] == sum_column(x, np.arange(count, dtype=np.uint32), slots, width, c)
                    else:
                        assert sparse[c] == dense[c] == 77.0


@KINDS
def test_compiled_sums_equal_their_python_definition(value_kind: Any, slot_kind: Any) -> None:
    rng = np.random.default_rng(1)
    for count in LENGTHS:
        slots = table(rng, slot_kind, 51, 8, pairs=True)
        values = rng.standard_normal(count + 1).astype(value_kind)
        indices = rng.integers(0, 50, count + 1).astype(np.uint32)
        got, meant = np.zeros((2, 8)), np.zeros((2, 8))
        call_dense(values, 1, count, slots, 8, 4, got[0])
        call_sparse(values, indices, 1, count, slots, 8, 4, got[1])
        dot_columns._dense_dot_columns(1)(values, 1, count, slots, 8, 4, meant[0])
        dot_columns._sparse_dot_columns(1)(values, indices, 1, count, slots, 8, 4, meant[1])
        assert got.tobytes() == meant.tobytes()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_of_all_columns_equal_those_of_single_columns(kind: Any) -> None:
    """The sums do not depend on the sizes of the blocks of columns."""
    rng = np.random.default_rng(3)
    for columns in range(1, 31):
        count, width = int(rng.integers(0, 41)), padded_columns(columns) + BLOCK_COLUMNS * int(rng.integers(2))
        slots = table(rng, kind, 51, width, pairs=bool(columns % 2))
        values, indices = rng.standard_normal(count).astype(kind), rng.integers(0, 50, count).astype(np.uint32)
        got, every = np.zeros((2, width)), np.arange(count, dtype=np.uint32)
        call_all(Sparse(np.array([0, count]), indices, values), slots, width, columns, got[0])
        call_all(Dense(values, count), slots, width, columns, got[1])
        for c in range(columns):
            assert got[0, c] == sum_column(values, indices, slots, width, c)
            assert got[1, c] == sum_column(values, every, slots, width, c)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_of_squares_equal_their_definition(kind: Any) -> None:
    rng = np.random.default_rng(2)
    tiny = np.nextafter(kind(0), kind(1))
    for count in LENGTHS:
        values = rng.standard_normal(count + 5).astype(kind)
        x = values[2 : 2 + count].astype(np.float64)
        assert call_square(values, 2, count) == dot.sum_in_lanes(x * x) == dot_columns._sum_of_squares(values, 2, count)
        slots = np.ones(count + 1)
        assert call_square(values, 2, count) == dot._dense_dot(values, 2, count, slots)[1]
        for place in range(count):
            for value in (0.0, -0.0, tiny, np.nan, np.inf):
                changed = values.copy()
                changed[2 + place] = value
                got = call_square(changed, 2, count)
                assert math.isnan(got) == (value == 0 or bool(np.isnan(value)))
                np.testing.assert_equal(got, dot_columns._sum_of_squares(changed, 2, count))


def test_weight_matrices_are_padded_to_whole_blocks() -> None:
    assert [padded_columns(columns) for columns in (0, 1, 4, 5, 8, 300)] == [4, 4, 4, 8, 8, 300]
