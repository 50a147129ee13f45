"""Input of all separability proofs: a matrix of rows x, or (1, x) with a bias, and a sign for each row."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.data import validation
from novikoff.data.labels.binary_labels import BinaryLabels, find_distinct, to_plain_label
from novikoff.data.rows import Dense, Rows
from novikoff.errors import SPARSE_MATRIX_PURPOSE, InputError, import_optional

MAX_ABS_VALUE = 1e150
"""Largest absolute value, so that squares don't overflow."""


class SignedExamples:
    """Rows z_i = (1, x_i) with a bias, x_i without; u separates if sign_i·u·z_i > 0 for all i."""

    def __init__(self, X: Any, signs: NDArray[np.int8], *, bias: bool) -> None:
        batch = validation.validate_batch(X)
        if len(signs) != batch.examples:
            raise InputError(f"There must be a label for each row, got {batch.examples} rows and {len(signs)} labels.")
        self.bias, self.count, self.features = bias, batch.examples, batch.features
        self.signs = signs.astype(np.float64)
        self.matrix = _build_matrix(batch.rows, batch.examples, batch.features, bias)
        _check_values(self.matrix.data)

    @cached_property
    def sizes(self) -> Any:
        """|z|, term by term."""
        csr_matrix = import_optional("scipy.sparse", "scipy", SPARSE_MATRIX_PURPOSE).csr_matrix
        matrix = self.matrix
        return csr_matrix((np.abs(matrix.data), matrix.indices, matrix.indptr), matrix.shape)

    @cached_property
    def longest(self) -> int:
        """The largest number of terms in a row."""
        return int(np.diff(self.matrix.indptr).max(initial=0))

    @cached_property
    def lowest_exponents(self) -> NDArray[np.int64]:
        """For each column the largest e such that all its values are multiples of 2^e."""
        finest = np.full(self.matrix.shape[1], 2**20, np.int64)
        np.minimum.at(finest, self.matrix.indices, lowest_bit_exponents(self.matrix.data))
        return finest

    @cached_property
    def scale(self) -> NDArray[np.int64]:
        """For each column the e with 2^e ≤ max|z| < 2^(e+1), which normalizes the column."""
        most = np.zeros(self.matrix.shape[1])
        np.maximum.at(most, self.matrix.indices, self.sizes.data)
        return np.where(most > 0.0, np.frexp(most)[1] - 1, 0).astype(np.int64)

    @cached_property
    def row_exponents(self) -> NDArray[np.int64]:
        """For each row of the column-normalized matrix the e with 2^e ≤ max|z| < 2^(e+1)."""
        matrix = self.matrix
        owners = np.repeat(np.arange(self.count), np.diff(matrix.indptr))
        exponents = np.frexp(matrix.data)[1] - 1 - self.scale[matrix.indices]
        most = np.full(self.count, -(2**20), np.int64)
        np.maximum.at(most, owners, exponents)
        return np.where(most > -(2**20), most, 0)

    @cached_property
    def scaled(self) -> Any:
        """The matrix with columns, then rows, divided by their powers of two.

        This changes neither separability nor, barring underflow, any digit.
        """
        csr_matrix = import_optional("scipy.sparse", "scipy", SPARSE_MATRIX_PURPOSE).csr_matrix
        matrix = self.matrix
        exponents = self.scale[matrix.indices] + np.repeat(self.row_exponents, np.diff(matrix.indptr))
        return csr_matrix((np.ldexp(matrix.data, -exponents), matrix.indices, matrix.indptr), matrix.shape)

    def terms(self, i: int) -> Iterator[tuple[int, Fraction]]:
        """Return pairs (column, value) of sign_i·z_i, exactly."""
        start, stop = self.matrix.indptr[i], self.matrix.indptr[i + 1]
        sign = int(self.signs[i])
        columns, values = self.matrix.indices[start:stop].tolist(), self.matrix.data[start:stop].tolist()
        return ((j, sign * Fraction(v)) for j, v in zip(columns, values, strict=True))

    def integer_terms(self, i: int) -> Iterator[tuple[int, int]]:
        """Yield pairs (column, value/2^grain) of sign_i·z_i, which are integers."""
        start, stop = self.matrix.indptr[i], self.matrix.indptr[i + 1]
        columns, sign = self.matrix.indices[start:stop], int(self.signs[i])
        grains, values = self.lowest_exponents[columns].tolist(), self.matrix.data[start:stop].tolist()
        for j, e, value in zip(columns.tolist(), grains, values, strict=True):
            above, below = value.as_integer_ratio()
            yield j, sign * ((above << -e) // below if e <= 0 else above >> e)

    def is_integral(self) -> bool:
        """Whether all values are integers."""
        return bool((self.matrix.data == np.floor(self.matrix.data)).all())


def encode_signs(y: Any, labels: BinaryLabels | None = None) -> tuple[NDArray[np.int8], BinaryLabels]:
    """Encode labels as −1 or +1: the larger of two is +1. A single label is +1 if it is a positive number or True."""
    array = validation.validate_y(y)
    if labels is None:
        labels = BinaryLabels.sorted(array) if len(find_distinct(array)) != 1 else BinaryLabels()
    return labels.encode(array)


def encode_known_signs(y: Any, negative: Any, positive: Any) -> NDArray[np.int8] | None:
    """Encode labels as −1 or +1 by the known labels; None if there are others."""
    array = validation.validate_y(y)
    known = {v: s for v, s in ((negative, -1), (positive, 1)) if v is not None}
    found = [to_plain_label(v) for v in array.tolist()]
    if not set(found) <= set(known):
        return None
    return np.array([known[v] for v in found], np.int8)


def lowest_bit_exponents(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the exponent of the lowest set bit of each value; no value may be 0."""
    fraction, exponent = np.frexp(values)
    digits = np.ldexp(np.abs(fraction), 53).astype(np.int64)
    lowest = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return np.asarray(exponent - 53 + lowest, np.int64)


def scale_to_integers(table: NDArray[np.float64]) -> NDArray[Any]:
    """Multiply all numbers by the smallest power of two that makes them integers."""
    used = table[table != 0.0]
    shift = int(lowest_bit_exponents(used).min(initial=2**20))
    whole = np.zeros(table.shape, object)
    for place in zip(*np.nonzero(table), strict=True):
        whole[place] = int(Fraction(float(table[place])) / Fraction(2) ** shift)
    return whole


def _build_matrix(rows: Rows, count: int, features: int, bias: bool) -> Any:
    """Build a CSR matrix in double precision, with sorted columns, no zeros, and the bias first."""
    sparse = import_optional("scipy.sparse", "scipy", SPARSE_MATRIX_PURPOSE)
    csr_matrix, hstack = sparse.csr_matrix, sparse.hstack
    if isinstance(rows, Dense):
        matrix = csr_matrix(rows.values.reshape(count, features).astype(np.float64))
    else:
        end = int(rows.starts[-1])
        indices = rows.indices[:end].astype(np.int64)
        if indices.max(initial=0) >= features:
            raise InputError(f"X must name columns from 0 to {features - 1}, but names {indices.max()}: rebuild X.")
        parts = (rows.values[:end].astype(np.float64), indices, rows.starts)
        matrix = csr_matrix(parts, (count, features), copy=True)
        matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if bias:
        matrix = hstack([csr_matrix(np.ones((count, 1))), matrix], format="csr")
    matrix.sort_indices()
    return matrix


def _check_values(values: NDArray[np.float64]) -> None:
    good = np.abs(values) <= MAX_ABS_VALUE
    if not good.all():
        value = values[int(np.argmin(good))]
        raise InputError(
            f"X must hold finite numbers up to {MAX_ABS_VALUE:g}, but {value} is in it: remove or replace it."
        )
