"""Gordan's alternative decided in integers for few examples, by the simplex method without rounding.

The method looks for λ ≥ 0 with Σ λ_i·sign_i·z_i = 0 and Σλ = 1. Artificial variables hold the shortfall and the
excess of each equation, and their sum is minimized. If the minimum is 0, λ is found. If not, the dual variables are
the separator with the widest margin among −1 ≤ u_j ≤ 1, which survives rounding. The tableau holds integers over one
common denominator (Edmonds 1967). Bland's rule (1977) guarantees termination.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class LpResult(NamedTuple):
    """Either the weights λ or the separator u; the other is None."""

    weights: list[Fraction] | None
    """λ."""
    separator: list[Fraction] | None
    """u."""


def decide(columns: NDArray[Any], until: float) -> LpResult | None:
    """Return λ or a separator for integer signed rows, given as `columns`; None on timeout."""
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
    """Return the initial tableau: λ, shortfall, excess, right sides; last Σλ = 1, then the costs."""
    equations, count = columns.shape
    table = np.zeros((equations + 2, count + 2 * equations + 2), object)
    table[:equations, :count] = columns
    # The factor exceeds every score, so that only the box limits the margin.
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
    """Return the row with the smallest ratio; ties go to the lowest variable (Bland's rule).

    Such a row exists, because the sum of the artificial variables is bounded below.
    """
    rows = [i for i in range(len(basis)) if table[i, entering] > 0]
    return min(rows, key=lambda i: (Fraction(int(table[i, -1]), int(table[i, entering])), basis[i]))


def _pivot(table: NDArray[Any], row: int, column: int, common: int) -> int:
    """Pivot the tableau. The divisions are exact, because every entry is a minor of the first tableau."""
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
    # The reduced cost of the shortfall in equation k is 1 − π_k. π·column ≤ 0 for every λ, and the last π is above 0.
    equations = len(basis) - 1
    return LpResult(None, [Fraction(int(table[-1, count + k]), common) - 1 for k in range(equations)])
