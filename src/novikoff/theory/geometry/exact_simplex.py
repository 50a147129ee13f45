"""Gordan's alternative decided in whole numbers, for few examples: the simplex method without rounding.

It looks for λ ≥ 0 with Σ λ_i·sign_i·z_i = 0, Σλ = 1. What is missing or too much in each equation is an artificial
variable, and their sum is made as small as it can be. If it becomes 0, there is λ; if not, the dual variables are the
separator with the widest margin of all −1 ≤ u_j ≤ 1, so that it survives rounding. The table is kept in whole numbers
over one common denominator (Edmonds 1967), and the first variable that helps enters (Bland 1977), so that it ends.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class LpResult(NamedTuple):
    """One of the two."""

    weights: list[Fraction] | None
    """λ."""
    separator: list[Fraction] | None
    """u."""


def decide(columns: NDArray[Any], until: float) -> LpResult | None:
    """`columns` are the signed rows in whole numbers, one a column; None where time ran out."""
    equations, count = columns.shape
    table = _build_tableau(columns)
    basis = [count + k for k in range(equations + 1)]
    common = 1
    while time.perf_counter() < until:
        entering = next((j for j, cost in enumerate(table[-1, :-1].tolist()) if cost < 0), None)
        if entering is None:
            return _read_result(table, basis, common, count)
        leaving = _choose_leaving_row(table, basis, entering)
        common = _pivot(table, leaving, entering, common)
        basis[leaving] = entering
    return None


def _build_tableau(columns: NDArray[Any]) -> NDArray[Any]:
    """Equations, the last one Σλ = 1: λ, what is missing, what is too much, right sides; below, the costs."""
    equations, count = columns.shape
    table = np.zeros((equations + 2, count + 2 * equations + 2), object)
    table[:equations, :count] = columns
    # Multiplied by what no score exceeds, so that nothing but the box limits the margin.
    most = max(1, int(abs(columns).sum(axis=0).max()))
    table[equations, :count] = most
    for k in range(equations + 1):
        table[k, count + k] = 1
    for k in range(equations):
        table[k, count + equations + 1 + k] = -1
        table[-1, count + equations + 1 + k] = 2
    table[equations, -1] = most
    table[-1, :count] = -table[:-1, :count].sum(axis=0)
    table[-1, -1] = -most
    return table


def _choose_leaving_row(table: NDArray[Any], basis: list[int], entering: int) -> int:
    """The row with the smallest ratio, of several the one whose variable comes first. One is always there: the sum of
    the artificial variables has a least value."""
    rows = [i for i in range(len(basis)) if table[i, entering] > 0]
    return min(rows, key=lambda i: (Fraction(int(table[i, -1]), int(table[i, entering])), basis[i]))


def _pivot(table: NDArray[Any], row: int, column: int, common: int) -> int:
    """The divisions leave no remainder: every entry is a minor of the first table."""
    pivot = int(table[row, column])
    kept = table[row].copy()
    factors = table[:, column].copy()
    table *= pivot
    table -= factors[:, None] * kept[None, :]
    table //= common
    table[row] = kept
    return pivot


def _read_result(table: NDArray[Any], basis: list[int], common: int, count: int) -> LpResult:
    if table[-1, -1] == 0:
        weights = [Fraction(0)] * count
        for i, j in enumerate(basis):
            if j < count:
                weights[j] = Fraction(int(table[i, -1]), common)
        return LpResult(weights, None)
    # What is missing in equation k costs 1 − π_k by now; π·column ≤ 0 for every λ, and the last π is above 0.
    equations = len(basis) - 1
    return LpResult(None, [Fraction(int(table[-1, count + k]), common) - 1 for k in range(equations)])
