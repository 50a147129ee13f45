"""Gordan's alternative: either some u has sign_i·u·z_i > 0 for all i, or Σ λ_i·sign_i·z_i = 0 with λ ≥ 0, Σλ = 1.

A linear program in floating point finds the rows that λ needs. On these rows, λ solves a system of linear equations
over the integers, which FLINT solves exactly by Dixon's p-adic lifting: a thousand equations take seconds instead of
days. Independent equations are found modulo a prime.

The result is integer: counts c_i > 0 without a common divisor, λ_i = c_i/Σc.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.separability.signed_rows import SignedExamples

PRIME = 2**61 - 1
MAX_SYSTEM_VALUES = 10**7
"""Largest number of values in a system: about three thousand equations, solved in minutes."""
MAX_ROW_DROPS = 20
"""Maximum number of rows dropped, one at a time, from combinations with negative weights."""

Combination = tuple[tuple[int, ...], tuple[int, ...]]
"""Rows and their positive integer counts."""


def find_contradiction(examples: SignedExamples) -> Combination | None:
    """Return a zero row, or two opposite rows: proofs that need no computation."""
    matrix = examples.matrix
    empty = np.flatnonzero(np.diff(matrix.indptr) == 0)
    if len(empty):
        return (int(empty[0]),), (1,)
    keys = fingerprint_rows(examples)
    low, high = np.flatnonzero(keys < 0.0), np.flatnonzero(keys > 0.0)
    _, i, j = np.intersect1d(-keys[low], keys[high], return_indices=True)
    for a, b in zip(low[i].tolist(), high[j].tolist(), strict=True):
        if _are_opposite(examples, a, b):
            return (min(a, b), max(a, b)), (1, 1)
    return None


def fingerprint_rows(examples: SignedExamples) -> NDArray[np.float64]:
    """Return a number for each signed row; equal rows have equal numbers, opposite rows opposite ones."""
    mix = np.random.default_rng(0).uniform(0.5, 1.0, examples.matrix.shape[1])
    keys: NDArray[np.float64] = examples.signs * (examples.matrix @ mix)
    return keys


def _are_opposite(examples: SignedExamples, a: int, b: int) -> bool:
    matrix, signs = examples.matrix, examples.signs
    one, other = (slice(matrix.indptr[i], matrix.indptr[i + 1]) for i in (a, b))
    return np.array_equal(matrix.indices[one], matrix.indices[other]) and np.array_equal(
        signs[a] * matrix.data[one], -signs[b] * matrix.data[other]
    )


def sums_to_zero(examples: SignedExamples, rows: Sequence[int], counts: Sequence[int]) -> bool:
    """Whether Σ c_i·sign_i·z_i = 0, exactly."""
    total: dict[int, int] = {}
    for i, count in zip(rows, counts, strict=True):
        for j, number in examples.integer_terms(i):
            total[j] = total.get(j, 0) + count * number
    return not any(total.values())


def find_combination(
    examples: SignedExamples, rows: NDArray[np.int64], weights: NDArray[np.float64]
) -> Combination | None:
    """Return the vanishing combination of these rows near `weights`; None if there is none."""
    order = np.argsort(-weights, kind="stable")
    rows, weights = rows[order], weights[order]
    if len(np.unique(examples.matrix[rows].indices)) * len(rows) > MAX_SYSTEM_VALUES:
        return None
    for _ in range(MAX_ROW_DROPS):
        circuit = _find_dependency(examples, rows)
        if circuit is None:
            return None
        places, values = circuit
        if min(values) > 0:
            return to_integer_counts([int(rows[k]) for k in places], values)
        rows, weights = _drop_row(rows, weights, places, values)
    return None


def to_integer_counts(rows: list[int], values: list[Fraction]) -> Combination:
    common = math.lcm(*(v.denominator for v in values))
    counts = [v.numerator * (common // v.denominator) for v in values]
    divisor = math.gcd(*counts)
    pairs = sorted(zip(rows, (c // divisor for c in counts), strict=True))
    return tuple(i for i, _ in pairs), tuple(c for _, c in pairs)


def _drop_row(
    rows: NDArray[np.int64], weights: NDArray[np.float64], places: list[int], values: list[Fraction]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Move λ along v until the first weight is 0 (Carathéodory): one row fewer, the same sum."""
    step = np.array([float(v) for v in values])
    at = np.array(places)
    up = step > 0.0
    ratios = np.where(up, weights[at] / np.where(up, step, 1.0), np.inf)
    weights[at] -= ratios.min() * step
    keep = np.arange(len(rows)) != at[int(ratios.argmin())]
    rows, weights = rows[keep], weights[keep]
    order = np.argsort(-weights, kind="stable")
    return rows[order], weights[order]


def _find_dependency(examples: SignedExamples, rows: NDArray[np.int64]) -> tuple[list[int], list[Fraction]] | None:
    """Return the positions and coefficients of the first vanishing combination of leading rows; the last coefficient
    is 1.

    Rows with coefficient 0 are omitted. None if the rows are independent.
    """
    table = _build_integer_columns(examples, rows)
    reduced, rank = _row_reduce(table)
    pivots = _find_pivots(reduced, rank)
    last = next((k for k in range(len(rows)) if k >= rank or pivots[k] != k), None)
    if last is None:
        return None
    places = [k for k in range(last) if int(reduced[k, last]) != 0]
    if not places:  # a zero row
        return [last], [Fraction(1)]
    equations = _find_pivots(*_row_reduce(table[:, places].T))
    return [*places, last], [*_solve_exactly(table[np.ix_(equations, places)], -table[equations, last]), Fraction(1)]


def has_exact_solver() -> bool:
    """Whether the optional library for large exact systems is installed."""
    return find_spec("flint") is not None


def _solve_exactly(left: NDArray[Any], right: NDArray[Any]) -> list[Fraction]:
    import flint

    size = len(right)
    found = flint.fmpz_mat(size, size, left.ravel().tolist()).solve(flint.fmpz_mat(size, 1, right.tolist()))
    return [Fraction(int(found[k, 0].p), int(found[k, 0].q)) for k in range(size)]


def _row_reduce(table: NDArray[Any]) -> tuple[Any, int]:
    """Return the reduced echelon form modulo the prime, and the rank."""
    import flint

    found: tuple[Any, int] = flint.nmod_mat(
        table.shape[0], table.shape[1], (table % PRIME).ravel().tolist(), PRIME
    ).rref()
    return found


def _find_pivots(reduced: Any, rank: int) -> list[int]:
    """Return the pivot column of each row of a reduced matrix."""
    found, column = [], 0
    for i in range(rank):
        while int(reduced[i, column]) == 0:
            column += 1
        found.append(column)
        column += 1
    return found


def _build_integer_columns(examples: SignedExamples, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the signed rows as integer columns, one equation per feature, each divided by 2^grain."""
    part = examples.matrix[rows]
    columns, places = np.unique(part.indices, return_inverse=True)
    table = np.zeros((len(columns), len(rows)), object)
    owners = np.repeat(np.arange(len(rows)), np.diff(part.indptr))
    table[places, owners] = [number for i in rows.tolist() for _, number in examples.integer_terms(i)]
    return table
