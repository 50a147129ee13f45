"""Gram matrices: K of every row of one table with every row of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError
from novikoff.kernels import expression as e
from novikoff.kernels.support_set import (Kept, compared, in_panels, kept_from, room, squares_of)
from novikoff.kernels.bytecode import Asked, Program, compiled_from
from novikoff.data import validation
from novikoff.data.rows import (Dense, Rows, Sparse, cut, how_many, narrowed)
from novikoff.data.canonical_rows import first_that_falls, in_order, without_zeros

BLOCK = 1 << 20  # values at once


def in_terms(rows: Rows, features: int) -> Sparse:
    """The rows with growing columns, no zeros and no column twice; InputError where a column is past the features."""
    if isinstance(rows, Sparse):
        if first_that_falls(rows, how_many(rows), features + 1) < how_many(rows):
            wrong = rows.indices[rows.starts[0] : rows.starts[-1]] >= features
            if wrong.any():
                row = int(np.searchsorted(rows.starts, rows.starts[0] + int(wrong.argmax()), side="right")) - 1
                raise InputError(validation.why_refused(rows, row, features))
            start, stop = int(rows.starts[0]), int(rows.starts[-1])
            rows = in_order(Sparse(rows.starts - start, rows.indices[start:stop], rows.values[start:stop]))
        if bool(rows.values[rows.starts[0] : rows.starts[-1]].all()):
            return rows
    return without_zeros(rows)


def answers(asked: list[Asked], X: Any, Z: Any) -> NDArray[np.float64]:
    """What the Python functions say of each row of X, a dense table, with each of Z: one table for each function."""
    found = np.empty((len(asked), len(X), len(Z)))
    for k, (function, pairs) in enumerate(asked):
        try:
            if pairs:
                found[k] = np.asarray(function(X, Z), np.float64).reshape(len(X), len(Z))
            else:
                f, g = (np.asarray(function(T), np.float64).reshape(len(T)) for T in (X, Z))
                found[k] = f[:, None] * g[None, :]
        except (TypeError, ValueError) as problem:
            wanted = f"a table of {len(X)} × {len(Z)} numbers" if pairs else "a number for each row"
            raise InputError(f"The function of a kernel must give {wanted}: {problem}.") from None
    return found


def table_of(rows: Rows, features: int) -> NDArray[Any]:
    """The rows as a dense table, for functions in Python."""
    if isinstance(rows, Dense):
        return rows.values.reshape(-1, rows.width)
    table = np.zeros((how_many(rows), features), rows.values.dtype)
    terms = slice(int(rows.starts[0]), int(rows.starts[-1]))
    table[np.repeat(np.arange(len(table)), np.diff(rows.starts)), rows.indices[terms].astype(np.int64)] = rows.values[
        terms
    ]
    return table


def gram(kernel: e.Kernel, X: Any, Z: Any) -> NDArray[np.float64]:
    """K of each row of X with each of Z."""
    left, right = validation.batch(X), validation.batch(Z)
    if left.features != right.features:
        raise InputError(f"X and Z must have the same columns, but have {left.features} and {right.features}.")
    if isinstance(kernel, e.Precomputed):
        raise InputError("A precomputed kernel is a Gram matrix already: there is nothing to compute.")
    program, asked = compiled_from(kernel)
    others = in_terms(right.rows, right.features)
    kept = kept_from(others, right.features, panels=in_panels(right.features, right.examples, len(others.values)))
    rows = in_terms(left.rows, left.features)
    if rows.values.dtype != kept.values.dtype:
        rows = rows._replace(values=rows.values.astype(np.float64))
    count = right.examples
    out = np.empty((left.examples, count))
    each = max(1, BLOCK // room(count))
    written = table_of(right.rows, right.features) if asked else None
    for start in range(0, left.examples, each):
        part = cut(rows, start, min(start + each, left.examples))
        some = np.zeros((len(asked), 1)) if written is None else np.zeros((len(asked), count))
        block = np.empty((how_many(part), room(count)))
        if written is None:
            values_of(kept, program, part, count, some, block)
        else:
            for i in range(how_many(part)):
                one = cut(part, i, i + 1)
                some = answers(asked, table_of(one, left.features), written)[:, 0]
                values_of(kept, program, one, count, np.ascontiguousarray(some), block[i : i + 1])
        out[start : start + len(block)] = block[:, :count]
    return out


def values_of(
    kept: Kept, program: Program, rows: Any, count: int, given: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """K of these rows, in terms, with the first `count` that are kept; columns that those don't have count in ‖x‖²."""
    squares = np.empty(how_many(rows))
    squares_of(rows, squares)
    known: Any = narrowed(rows, kept.width)
    compared(kept, program, known, squares, count, given, out)
