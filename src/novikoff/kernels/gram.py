"""Gram matrices: K of every row of one table with every row of another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.data import validation
from novikoff.data.canonical_rows import find_first_unsorted, remove_zeros, sort_and_sum
from novikoff.data.rows import Dense, Rows, Sparse, count_rows, drop_columns, slice_rows
from novikoff.errors import InputError
from novikoff.kernels import expression as e
from novikoff.kernels.bytecode import Program, UserFunction, compile_kernel
from novikoff.kernels.support_set import (
    SupportSet,
    build_support_set,
    compute_gram_threaded,
    compute_sq_norms,
    pad_to_panels,
    should_use_panels,
)

BLOCK_VALUES = 1 << 20  # values at once


def to_canonical_sparse(rows: Rows, features: int) -> Sparse:
    """Return the rows with ascending columns, without zeros and duplicates; InputError where a column is past the
    features."""
    if isinstance(rows, Sparse):
        if find_first_unsorted(rows, count_rows(rows), features + 1) < count_rows(rows):
            wrong = rows.indices[rows.starts[0] : rows.starts[-1]] >= features
            if wrong.any():
                row = int(np.searchsorted(rows.starts, rows.starts[0] + int(wrong.argmax()), side="right")) - 1
                raise InputError(validation.explain_rejection(rows, row, features))
            start, stop = int(rows.starts[0]), int(rows.starts[-1])
            rows = sort_and_sum(Sparse(rows.starts - start, rows.indices[start:stop], rows.values[start:stop]))
        if bool(rows.values[rows.starts[0] : rows.starts[-1]].all()):
            return rows
    return remove_zeros(rows)


def call_user_functions(user_functions: list[UserFunction], X: Any, Z: Any) -> NDArray[np.float64]:
    """Return the values of the Python functions for each row of X, a dense table, with each of Z: one table per
    function."""
    found = np.empty((len(user_functions), len(X), len(Z)))
    for k, (function, pairs) in enumerate(user_functions):
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


def to_dense(rows: Rows, features: int) -> NDArray[Any]:
    """Return the rows as a dense table, for functions in Python."""
    if isinstance(rows, Dense):
        return rows.values.reshape(-1, rows.width)
    table = np.zeros((count_rows(rows), features), rows.values.dtype)
    terms = slice(int(rows.starts[0]), int(rows.starts[-1]))
    table[np.repeat(np.arange(len(table)), np.diff(rows.starts)), rows.indices[terms].astype(np.int64)] = rows.values[
        terms
    ]
    return table


def gram(kernel: e.Kernel, X: Any, Z: Any) -> NDArray[np.float64]:
    """Return K of each row of X with each of Z."""
    left, right = validation.validate_batch(X), validation.validate_batch(Z)
    if left.features != right.features:
        raise InputError(f"X and Z must have the same columns, but have {left.features} and {right.features}.")
    if isinstance(kernel, e.Precomputed):
        raise InputError("A precomputed kernel is a Gram matrix already: there is nothing to compute.")
    program, user_functions = compile_kernel(kernel)
    others = to_canonical_sparse(right.rows, right.features)
    support = build_support_set(
        others, right.features, panels=should_use_panels(right.features, right.examples, len(others.values))
    )
    rows = to_canonical_sparse(left.rows, left.features)
    if rows.values.dtype != support.values.dtype:
        rows = rows._replace(values=rows.values.astype(np.float64))
    count = right.examples
    out = np.empty((left.examples, count))
    rows_at_once = max(1, BLOCK_VALUES // pad_to_panels(count))
    dense_right = to_dense(right.rows, right.features) if user_functions else None
    for start in range(0, left.examples, rows_at_once):
        block_rows = slice_rows(rows, start, min(start + rows_at_once, left.examples))
        user_values_of_row = (
            np.zeros((len(user_functions), 1)) if dense_right is None else np.zeros((len(user_functions), count))
        )
        block = np.empty((count_rows(block_rows), pad_to_panels(count)))
        if dense_right is None:
            compute_kernel_values(support, program, block_rows, count, user_values_of_row, block)
        else:
            for i in range(count_rows(block_rows)):
                one = slice_rows(block_rows, i, i + 1)
                user_values_of_row = call_user_functions(user_functions, to_dense(one, left.features), dense_right)[
                    :, 0
                ]
                compute_kernel_values(
                    support, program, one, count, np.ascontiguousarray(user_values_of_row), block[i : i + 1]
                )
        out[start : start + len(block)] = block[:, :count]
    return out


def compute_kernel_values(
    support: SupportSet,
    program: Program,
    rows: Any,
    count: int,
    user_values: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Return K of these rows with the first `count` stored examples; columns that those lack count in ‖x‖²."""
    sq_norms = np.empty(count_rows(rows))
    compute_sq_norms(rows, sq_norms)
    shared_columns: Any = drop_columns(rows, support.width)
    compute_gram_threaded(support, program, shared_columns, sq_norms, count, user_values, out)
