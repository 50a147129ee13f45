"""Examples that others are compared with, and the products of others with them.

They stand in panels (`_compiled/simd/dot_panels.py`), or one after another with their terms, where there are many
features: both give the same sums. Those who come to be compared have their terms in growing columns, without zeros,
and no columns that `width` does not have.
"""

from __future__ import annotations

import os
from threading import Thread
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_read_only
from novikoff._compiled.simd.dot_panels import PANEL_EXAMPLES, panel_dots
from novikoff.data.rows import Sparse
from novikoff.errors import InputError
from novikoff.kernels.bytecode import Program, allocate_stack, evaluate

MAX_PANEL_FEATURES = 8192  # features up to which panels are made
MAX_VALUES_PER_NONZERO = 32  # at least one in this number of values is not 0
EVALUATION_BLOCK_VALUES = 512  # values that a program is run for: few enough to stay near
MIN_PRODUCTS_PER_THREAD = 4_000_000  # products from which on a second thread is worth its start


class SupportSet(NamedTuple):
    table: NDArray[np.floating]
    """Panels; empty where examples are kept by their terms."""
    width: int
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    """Example q has the terms begins[q] to ends[q] − 1; in a panel these are their number only."""
    indices: NDArray[np.uint32]
    values: NDArray[np.floating]
    squares: NDArray[np.float64]
    """‖x‖²."""


@compiled
def write_row(support: SupportSet, q: int, rows: Sparse, i: int, begin: int) -> None:
    """Write row i as example q; its terms, where they are stored, go to `begin` and after."""
    count = rows.starts[i + 1] - rows.starts[i]
    support.begins[q] = begin
    support.ends[q] = begin + count
    if len(support.table) > 0:
        first = (q // PANEL_EXAMPLES) * support.width * PANEL_EXAMPLES + q % PANEL_EXAMPLES
        for j in range(support.width):
            support.table[first + j * PANEL_EXAMPLES] = 0.0
        for k in range(rows.starts[i], rows.starts[i + 1]):
            support.table[first + np.int64(rows.indices[k]) * PANEL_EXAMPLES] = rows.values[k]
    else:
        for k in range(count):
            support.indices[begin + k] = rows.indices[rows.starts[i] + k]
            support.values[begin + k] = rows.values[rows.starts[i] + k]


@compiled
def dot_one(support: SupportSet, q: int, rows: Sparse, i: int, example: NDArray[np.float64]) -> float:
    """Return x·z of row i, which is also in `example`, with example q."""
    total = 0.0
    if len(support.table) > 0:
        first = (q // PANEL_EXAMPLES) * support.width * PANEL_EXAMPLES + q % PANEL_EXAMPLES
        for k in range(rows.starts[i], rows.starts[i + 1]):
            total += np.float64(rows.values[k]) * np.float64(
                support.table[first + np.int64(rows.indices[k]) * PANEL_EXAMPLES]
            )
    else:
        for k in range(support.begins[q], support.ends[q]):
            total += np.float64(support.values[k]) * example[support.indices[k]]
    return total


@compiled
def is_same_row(support: SupportSet, q: int, rows: Sparse, i: int) -> bool:
    """Return whether row i equals example q."""
    start, count = rows.starts[i], rows.starts[i + 1] - rows.starts[i]
    if support.ends[q] - support.begins[q] != count:
        return False
    if len(support.table) > 0:
        first = (q // PANEL_EXAMPLES) * support.width * PANEL_EXAMPLES + q % PANEL_EXAMPLES
        for k in range(start, start + count):
            if support.table[first + np.int64(rows.indices[k]) * PANEL_EXAMPLES] != rows.values[k]:
                return False
    else:
        begin = support.begins[q]
        for k in range(count):
            if (
                support.indices[begin + k] != rows.indices[start + k]
                or support.values[begin + k] != rows.values[start + k]
            ):
                return False
    return True


@compiled
def scatter(rows: Sparse, i: int, example: NDArray[np.float64]) -> None:
    for k in range(rows.starts[i], rows.starts[i + 1]):
        example[rows.indices[k]] = np.float64(rows.values[k])


@compiled
def unscatter(rows: Sparse, i: int, example: NDArray[np.float64]) -> None:
    for k in range(rows.starts[i], rows.starts[i + 1]):
        example[rows.indices[k]] = 0.0


@compiled
def compute_sq_norms(rows: Sparse, out: NDArray[np.float64]) -> None:
    """Write ‖x‖² of each row, summed as products are."""
    for i in range(len(out)):
        total = 0.0
        for k in range(rows.starts[i], rows.starts[i + 1]):
            x = np.float64(rows.values[k])
            total += x * x
        out[i] = total


@compiled_read_only
def compute_gram_block(
    support: SupportSet,
    program: Program,
    rows: Sparse,
    sq_norms: NDArray[np.float64],
    start: int,
    stop: int,
    user_values: NDArray[np.float64],
    example: NDArray[np.float64],
    stack: NDArray[np.float64],
    bits: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """K of each row with the examples from `start`, a multiple of PANEL_EXAMPLES, to `stop`; rows of `out` have room
    for whole panels, `example` is as many zeros as there are features."""
    count = len(sq_norms)
    if len(support.table) > 0:
        for panel in range(start // PANEL_EXAMPLES, (stop + PANEL_EXAMPLES - 1) // PANEL_EXAMPLES):
            for i in range(count):
                begin = rows.starts[i]
                terms = rows.starts[i + 1] - begin
                first = panel * support.width * PANEL_EXAMPLES
                panel_dots(
                    rows.values, rows.indices, begin, terms, support.table, first, out[i], panel * PANEL_EXAMPLES
                )
    else:
        for i in range(count):
            scatter(rows, i, example)
            for q in range(start, stop):
                total = 0.0
                for k in range(support.begins[q], support.ends[q]):
                    total += np.float64(support.values[k]) * example[support.indices[k]]
                out[i, q] = total
            unscatter(rows, i, example)
    for i in range(count):
        for offset in range(start, stop, stack.shape[1]):
            n_values = min(stack.shape[1], stop - offset)
            evaluate(program, n_values, out[i], offset, sq_norms[i], support.squares, user_values, stack, bits, out[i])


def compute_gram_threaded(
    support: SupportSet,
    program: Program,
    rows: Sparse,
    sq_norms: NDArray[np.float64],
    count: int,
    user_values: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Compute K of each row with the first `count` examples, with one thread per core: the result does not depend on
    their number."""
    work = count * int(rows.starts[-1] - rows.starts[0])
    threads = min(os.cpu_count() or 1, 1 + work // MIN_PRODUCTS_PER_THREAD, -(-count // PANEL_EXAMPLES)) if count else 1
    examples_per_thread = -(-count // threads // PANEL_EXAMPLES) * PANEL_EXAMPLES if count else 0

    def part(start: int, stop: int) -> None:
        example = allocate_features(0 if len(support.table) else support.width)
        stack, bits = allocate_stack(program, min(EVALUATION_BLOCK_VALUES, stop - start))
        compute_gram_block(support, program, rows, sq_norms, start, stop, user_values, example, stack, bits, out)

    parts = (
        [(start, min(start + examples_per_thread, count)) for start in range(0, count, examples_per_thread)]
        if count
        else []
    )
    others = [Thread(target=part, args=each) for each in parts[1:]]
    for thread in others:
        thread.start()
    if parts:
        part(*parts[0])
    for thread in others:
        thread.join()


def allocate_features(count: int) -> NDArray[np.float64]:
    """Return zeros for the features of one example; InputError where there is no memory for them."""
    try:
        return np.zeros(count)
    except MemoryError:
        raise InputError(f"There is no memory for {count:,} features: hash or renumber them.") from None


def pad_to_panels(count: int) -> int:
    """Return this number rounded up to whole panels."""
    return -(-count // PANEL_EXAMPLES) * PANEL_EXAMPLES


def should_use_panels(width: int, examples: int, terms: int) -> bool:
    """Return whether panels suit this number of examples and terms: zeros take room there, and no time."""
    return 0 < width <= MAX_PANEL_FEATURES and terms * MAX_VALUES_PER_NONZERO >= width * examples


def allocate_support(
    width: int, dtype: np.dtype[np.floating], *, panels: bool, examples: int = 0, terms: int = 0
) -> SupportSet:
    """Return an empty set with room for this number of examples."""
    examples = pad_to_panels(max(examples, 1))
    return SupportSet(
        table=np.zeros(width * examples if panels else 0, dtype),
        width=width,
        begins=np.zeros(examples, np.int64),
        ends=np.zeros(examples, np.int64),
        indices=np.zeros(0 if panels else terms, np.uint32),
        values=np.zeros(0 if panels else terms, dtype),
        squares=np.zeros(examples),
    )


@compiled
def copy_row(support: SupportSet, source: int, q: int) -> None:
    """Copy example `source` to example q."""
    support.begins[q] = support.begins[source]
    support.ends[q] = support.ends[source]
    support.squares[q] = support.squares[source]
    if len(support.table) > 0:
        here = (q // PANEL_EXAMPLES) * support.width * PANEL_EXAMPLES + q % PANEL_EXAMPLES
        there = (source // PANEL_EXAMPLES) * support.width * PANEL_EXAMPLES + source % PANEL_EXAMPLES
        for j in range(support.width):
            support.table[here + j * PANEL_EXAMPLES] = support.table[there + j * PANEL_EXAMPLES]


@compiled
def write_rows(support: SupportSet, rows: Sparse, count: int) -> None:
    """Write the first rows as the first examples."""
    begin = 0
    for i in range(count):
        write_row(support, i, rows, i, begin)
        begin += rows.starts[i + 1] - rows.starts[i]


def build_support_set(rows: Sparse, width: int, *, panels: bool) -> SupportSet:
    """Return a set of all these rows, to compare others with."""
    count = len(rows.starts) - 1
    support = allocate_support(
        width, rows.values.dtype, panels=panels, examples=count, terms=int(rows.starts[-1] - rows.starts[0])
    )
    write_rows(support, rows, count)
    compute_sq_norms(rows, support.squares[:count])
    return support


@compiled_read_only
def read_row(
    support: SupportSet, q: int, begin: int, indices: NDArray[np.uint32], values: NDArray[np.floating]
) -> None:
    """Write the terms of example q to the arrays, from `begin` on."""
    if len(support.table) > 0:
        first = (q // PANEL_EXAMPLES) * support.width * PANEL_EXAMPLES + q % PANEL_EXAMPLES
        for j in range(support.width):
            value = support.table[first + j * PANEL_EXAMPLES]
            if value != 0.0:
                indices[begin] = j
                values[begin] = value
                begin += 1
    else:
        for k in range(support.begins[q], support.ends[q]):
            indices[begin] = support.indices[k]
            values[begin] = support.values[k]
            begin += 1


def support_rows(support: SupportSet, count: int) -> Sparse:
    """Return the first `count` examples as rows."""
    lengths = support.ends[:count] - support.begins[:count]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = Sparse(starts, np.zeros(int(starts[-1]), np.uint32), np.zeros(int(starts[-1]), support.values.dtype))
    for q in range(count):
        read_row(support, q, int(starts[q]), rows.indices, rows.values)
    return rows
