"""Compiled kernels for feature maps: all products of a row's features, and their powers.

Products of k features are enumerated like the digits of a number: the first k − 1 positions stay while the last one
runs through the row. Partial column numbers, hashes, values and coefficients are kept for each position, so that a
product costs a few operations at any degree.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from novikoff._compiled.jit import JIT_DISABLED, compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.names.hashing import combine_hashes, hash_to_slot
from novikoff.data.rows import Sparse

NO_HASHING = -1


class ProductPlan(NamedTuple):
    """Settings of a map for compiled code."""

    degree: int
    repeated: bool
    """Whether a feature may occur several times in a product."""
    weighted: bool
    """Whether products are scaled by the root of their multinomial coefficient, as in the kernel (1 + x·z)^degree."""
    mask: int
    """Mask of hashed slots; NO_HASHING for a column per product."""


class ProductBuffers(NamedTuple):
    """Partial results for the current row, by position in a product."""

    order: NDArray[np.int64]
    """The row's terms in order of their columns."""
    ahead: NDArray[np.int64]
    """Number of products before term p's feature at position k, at [k · terms + p]: see `product_index.py`."""
    at: NDArray[np.int64]
    column: NDArray[np.int64]
    hash: NDArray[np.uint64]
    value: NDArray[np.float64]
    share: NDArray[np.float64]
    """The square of the coefficient so far."""
    run: NDArray[np.int64]
    """How many of the last positions hold the same feature."""


def allocate_buffers(terms: int, degree: int) -> ProductBuffers:
    def int_zeros(count: int) -> NDArray[np.int64]:
        return np.zeros(count, np.int64)

    places = degree + 1
    hashes, values = np.zeros(places, np.uint64), np.zeros(places)
    return ProductBuffers(
        int_zeros(terms), int_zeros(places * terms), int_zeros(places), int_zeros(places), hashes, values,
        values.copy(), int_zeros(places),
    )  # fmt: skip


def _plain_to_uint64(number: Any) -> Any:
    return int(number)


def _to_uint64(number: Any) -> Any:
    return np.uint64(number)


to_uint64 = compiled(_plain_to_uint64 if JIT_DISABLED else _to_uint64)
"""Convert a column number to the type of hashes."""


@compiled
def sort_terms(rows: Sparse, start: int, stop: int, order: NDArray[np.int64]) -> None:
    """Sort terms by column, by insertion: rows are short or nearly sorted, and have as many products as steps."""
    for k in range(start, stop):
        at = k - start
        while at > 0 and rows.indices[order[at - 1]] > rows.indices[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k


@compiled
def write_products(
    rows: Sparse, first: int, stop: int, plan: ProductPlan, buffers: ProductBuffers, out: Sparse
) -> None:
    """Write the products of rows `first` to `stop`, which are canonical, at the positions in `out.starts`."""
    for i in range(first, stop):
        start = rows.starts[i]
        terms = rows.starts[i + 1] - start
        sort_terms(rows, start, rows.starts[i + 1], buffers.order)
        for p in range(terms):
            column = np.int64(rows.indices[buffers.order[p]])
            ahead, some = np.int64(1), np.int64(1)
            for k in range(1, plan.degree + 1):
                some = some * (column + k if plan.repeated else column - k + 1) // k
                ahead = some if plan.repeated else ahead + some
                buffers.ahead[k * terms + p] = ahead
        end = out.starts[i - first]
        for k in range(1, plan.degree + 1):
            end = write_products_of_size(k, terms, rows, plan, buffers, out, end)


@compiled
def write_products_of_size(
    k: int, terms: int, rows: Sparse, plan: ProductPlan, buffers: ProductBuffers, out: Sparse, end: int
) -> int:
    """Write all products of k features; return the new end."""
    apart = 0 if plan.repeated else 1
    if terms == 0 or (not plan.repeated and k > terms):
        return end
    at, place = buffers.at, plan.degree - k
    share = 1.0
    for j in range(k if plan.weighted else 0):
        share *= plan.degree - j
    buffers.column[0], buffers.value[0], buffers.share[0], buffers.run[0] = -1, 1.0, share, 0
    depth = 1
    at[1] = 0
    while depth > 0:
        p = at[depth]
        if p + apart * (k - depth) >= terms:  # too few terms are left for the remaining positions
            depth -= 1
            at[depth] += 1
            continue
        term = buffers.order[p]
        same = depth > 1 and p == at[depth - 1]
        run = buffers.run[depth - 1] + 1 if same else 1
        value = buffers.value[depth - 1] * np.float64(rows.values[term])
        smaller = buffers.share[depth - 1] / np.float64(run) if plan.weighted else 1.0
        column = buffers.column[depth - 1] + buffers.ahead[(place + depth) * terms + p]
        name = to_uint64(rows.indices[term])
        if depth > 1:
            name = combine_hashes(buffers.hash[depth - 1], name)
        if depth == k:
            out.indices[end] = column if plan.mask == NO_HASHING else hash_to_slot(name, plan.mask)
            out.values[end] = value * math.sqrt(smaller)
            end += 1
            at[depth] = p + 1
        else:
            buffers.column[depth], buffers.value[depth], buffers.share[depth] = column, value, smaller
            buffers.hash[depth], buffers.run[depth] = name, run
            depth += 1
            at[depth] = p + apart
    return end


@compiled
def merge_collisions(rows: Sparse, stamps: NDArray[np.int64], before: int) -> int:
    """Sum the terms of each row that share a slot, in place; return the number of terms left.

    `stamps` holds for each slot where it was last used, counted over all terms of the stream; `before` is their number
    so far.
    """
    end = 0
    for i in range(len(rows.starts) - 1):
        begin, start = end, rows.starts[i]
        rows.starts[i] = begin
        for k in range(start, rows.starts[i + 1]):
            j = rows.indices[k]
            at = stamps[j] - before - 1
            if at >= begin:
                rows.values[at] += rows.values[k]
            else:
                stamps[j] = before + end + 1
                rows.indices[end], rows.values[end] = j, rows.values[k]
                end += 1
    rows.starts[len(rows.starts) - 1] = end
    return end


@compiled
def write_powers(rows: Sparse, first: int, stop: int, plan: ProductPlan, out: Sparse) -> None:
    """Write x, x², …, x^degree of each feature."""
    for i in range(first, stop):
        end = out.starts[i - first]
        for k in range(rows.starts[i], rows.starts[i + 1]):
            value = 1.0
            for power in range(1, plan.degree + 1):
                value *= np.float64(rows.values[k])
                name = to_uint64(rows.indices[k])
                if power > 1:
                    name = combine_hashes(name, to_uint64(power))
                column = np.int64(rows.indices[k]) * plan.degree + power - 1
                out.indices[end] = column if plan.mask == NO_HASHING else hash_to_slot(name, plan.mask)
                out.values[end] = value
                end += 1
