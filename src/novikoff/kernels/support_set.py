"""Examples that others are compared with, and the products of others with them.

They stand in panels (`_panels.py`), or one after another with their terms, where there are many features: both give
the same sums. Those who come to be compared have their terms in growing columns, without zeros, and no columns that
`width` does not have.
"""

from __future__ import annotations

import os
from threading import Thread
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_reader
from novikoff._compiled.simd.dot_panels import ACROSS, panel_sums
from novikoff.errors import InputError
from novikoff.kernels.bytecode import Program, evaluate, stack_for
from novikoff.data.rows import Sparse

WIDEST = 8192  # features up to which panels are made
SPARSEST = 32  # one in so many values must not be 0
AT_ONCE = 512  # values that a program is run for: few enough to stay near
WORTH = 4_000_000  # products from which on a second thread is worth its start


class Kept(NamedTuple):
    table: NDArray[np.floating]
    """Panels; empty where examples are kept by their terms."""
    width: int
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    """Example q has the terms begins[q] to ends[q]; so many, too, where it is in a panel."""
    indices: NDArray[np.uint32]
    values: NDArray[np.floating]
    squares: NDArray[np.float64]
    """‖x‖²."""


@compiled
def put_row(kept: Kept, q: int, rows: Sparse, i: int, begin: int) -> None:
    """Writes row i as example q; its terms, where they are kept, from `begin` on."""
    count = rows.starts[i + 1] - rows.starts[i]
    kept.begins[q] = begin
    kept.ends[q] = begin + count
    if len(kept.table) > 0:
        first = (q // ACROSS) * kept.width * ACROSS + q % ACROSS
        for j in range(kept.width):
            kept.table[first + j * ACROSS] = 0.0
        for k in range(rows.starts[i], rows.starts[i + 1]):
            kept.table[first + np.int64(rows.indices[k]) * ACROSS] = rows.values[k]
    else:
        for k in range(count):
            kept.indices[begin + k] = rows.indices[rows.starts[i] + k]
            kept.values[begin + k] = rows.values[rows.starts[i] + k]


@compiled
def single(kept: Kept, q: int, rows: Sparse, i: int, example: NDArray[np.float64]) -> float:
    """x·z of row i, which stands in `example` too, with example q."""
    total = 0.0
    if len(kept.table) > 0:
        first = (q // ACROSS) * kept.width * ACROSS + q % ACROSS
        for k in range(rows.starts[i], rows.starts[i + 1]):
            total += np.float64(rows.values[k]) * np.float64(kept.table[first + np.int64(rows.indices[k]) * ACROSS])
    else:
        for k in range(kept.begins[q], kept.ends[q]):
            total += np.float64(kept.values[k]) * example[kept.indices[k]]
    return total


@compiled
def same(kept: Kept, q: int, rows: Sparse, i: int) -> bool:
    """Whether row i is example q."""
    start, count = rows.starts[i], rows.starts[i + 1] - rows.starts[i]
    if kept.ends[q] - kept.begins[q] != count:
        return False
    if len(kept.table) > 0:
        first = (q // ACROSS) * kept.width * ACROSS + q % ACROSS
        for k in range(start, start + count):
            if kept.table[first + np.int64(rows.indices[k]) * ACROSS] != rows.values[k]:
                return False
    else:
        begin = kept.begins[q]
        for k in range(count):
            if kept.indices[begin + k] != rows.indices[start + k] or kept.values[begin + k] != rows.values[start + k]:
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
def squares_of(rows: Sparse, out: NDArray[np.float64]) -> None:
    """‖x‖² of each row, added up as products are."""
    for i in range(len(out)):
        total = 0.0
        for k in range(rows.starts[i], rows.starts[i + 1]):
            x = np.float64(rows.values[k])
            total += x * x
        out[i] = total


@compiled_reader
def compare(
    kept: Kept,
    program: Program,
    rows: Sparse,
    squares: NDArray[np.float64],
    start: int,
    stop: int,
    given: NDArray[np.float64],
    example: NDArray[np.float64],
    stack: NDArray[np.float64],
    bits: NDArray[np.int64],
    out: NDArray[np.float64],
) -> None:
    """K of each row with the examples from `start`, a multiple of ACROSS, to `stop`; rows of `out` have room for whole
    panels, `example` is as many zeros as there are features."""
    count = len(squares)
    if len(kept.table) > 0:
        for panel in range(start // ACROSS, (stop + ACROSS - 1) // ACROSS):
            for i in range(count):
                begin = rows.starts[i]
                terms = rows.starts[i + 1] - begin
                first = panel * kept.width * ACROSS
                panel_sums(rows.values, rows.indices, begin, terms, kept.table, first, out[i], panel * ACROSS)
    else:
        for i in range(count):
            scatter(rows, i, example)
            for q in range(start, stop):
                total = 0.0
                for k in range(kept.begins[q], kept.ends[q]):
                    total += np.float64(kept.values[k]) * example[kept.indices[k]]
                out[i, q] = total
            unscatter(rows, i, example)
    for i in range(count):
        for at in range(start, stop, stack.shape[1]):
            some = min(stack.shape[1], stop - at)
            evaluate(program, some, out[i], at, squares[i], kept.squares, given, stack, bits, out[i])


def compared(
    kept: Kept,
    program: Program,
    rows: Sparse,
    squares: NDArray[np.float64],
    count: int,
    given: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """K of each row with the first `count` examples, by as many threads as there are cores: the same numbers."""
    work = count * int(rows.starts[-1] - rows.starts[0])
    threads = min(os.cpu_count() or 1, 1 + work // WORTH, -(-count // ACROSS)) if count else 1
    share = -(-count // threads // ACROSS) * ACROSS if count else 0

    def part(start: int, stop: int) -> None:
        example = room_for_features(0 if len(kept.table) else kept.width)
        stack, bits = stack_for(program, min(AT_ONCE, stop - start))
        compare(kept, program, rows, squares, start, stop, given, example, stack, bits, out)

    parts = [(start, min(start + share, count)) for start in range(0, count, share)] if count else []
    others = [Thread(target=part, args=each) for each in parts[1:]]
    for thread in others:
        thread.start()
    if parts:
        part(*parts[0])
    for thread in others:
        thread.join()


def room_for_features(count: int) -> NDArray[np.float64]:
    """Return zeros for the features of one example; InputError where there is no memory for them."""
    try:
        return np.zeros(count)
    except MemoryError:
        raise InputError(f"There is no memory for {count:,} features: hash or renumber them.") from None


def room(count: int) -> int:
    """So many rounded up to whole panels."""
    return -(-count // ACROSS) * ACROSS


def in_panels(width: int, examples: int, terms: int) -> bool:
    """Whether so many examples with so many terms in all are better kept in panels: where zeros are not too many, for
    they take room there, and not time."""
    return 0 < width <= WIDEST and terms * SPARSEST >= width * examples


def fresh(width: int, kind: np.dtype[np.floating], *, panels: bool, examples: int = 0, terms: int = 0) -> Kept:
    """Room for so many examples."""
    examples = room(max(examples, 1))
    return Kept(
        table=np.zeros(width * examples if panels else 0, kind),
        width=width,
        begins=np.zeros(examples, np.int64),
        ends=np.zeros(examples, np.int64),
        indices=np.zeros(0 if panels else terms, np.uint32),
        values=np.zeros(0 if panels else terms, kind),
        squares=np.zeros(examples),
    )


@compiled
def move_row(kept: Kept, source: int, q: int) -> None:
    """Example `source` takes the place of example q."""
    kept.begins[q] = kept.begins[source]
    kept.ends[q] = kept.ends[source]
    kept.squares[q] = kept.squares[source]
    if len(kept.table) > 0:
        here = (q // ACROSS) * kept.width * ACROSS + q % ACROSS
        there = (source // ACROSS) * kept.width * ACROSS + source % ACROSS
        for j in range(kept.width):
            kept.table[here + j * ACROSS] = kept.table[there + j * ACROSS]


@compiled
def put_rows(kept: Kept, rows: Sparse, count: int) -> None:
    """The first so many rows, as the first examples."""
    begin = 0
    for i in range(count):
        put_row(kept, i, rows, i, begin)
        begin += rows.starts[i + 1] - rows.starts[i]


def kept_from(rows: Sparse, width: int, *, panels: bool) -> Kept:
    """These rows, all of them, to be compared with."""
    count = len(rows.starts) - 1
    kept = fresh(width, rows.values.dtype, panels=panels, examples=count, terms=int(rows.starts[-1] - rows.starts[0]))
    put_rows(kept, rows, count)
    squares_of(rows, kept.squares[:count])
    return kept


@compiled_reader
def read_row(kept: Kept, q: int, begin: int, indices: NDArray[np.uint32], values: NDArray[np.floating]) -> None:
    """The terms of example q, written from `begin` on."""
    if len(kept.table) > 0:
        first = (q // ACROSS) * kept.width * ACROSS + q % ACROSS
        for j in range(kept.width):
            value = kept.table[first + j * ACROSS]
            if value != 0.0:
                indices[begin] = j
                values[begin] = value
                begin += 1
    else:
        for k in range(kept.begins[q], kept.ends[q]):
            indices[begin] = kept.indices[k]
            values[begin] = kept.values[k]
            begin += 1


def rows_kept(kept: Kept, count: int) -> Sparse:
    """The first so many examples as rows."""
    lengths = kept.ends[:count] - kept.begins[:count]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = Sparse(starts, np.zeros(int(starts[-1]), np.uint32), np.zeros(int(starts[-1]), kept.values.dtype))
    for q in range(count):
        read_row(kept, q, int(starts[q]), rows.indices, rows.values)
    return rows
