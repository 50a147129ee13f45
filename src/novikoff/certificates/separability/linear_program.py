"""Widest separator in a box by linear programming; its dual solution shows which rows contradict each other.

maximise t   subject to   sign_i·u·z_i ≥ t·w_i for all i,   −1 ≤ u_j ≤ 1,   t ≥ 0

Separable rows have t > 0. Otherwise t = 0, and the dual variables are λ of Gordan's alternative at a vertex: at most
one row more than there are columns. Results are in floating point, and callers verify them exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import SPARSE_MATRIX_PURPOSE, import_optional

HIGHS_TOLERANCE = 1e-10
"""The smallest tolerance that HiGHS accepts."""


class MaxMarginSolution(NamedTuple):
    separator: NDArray[np.float64]
    gain: float
    """t."""
    weights: NDArray[np.float64]
    """λ."""


def solve_max_margin(rows: Any, heights: NDArray[np.float64], seconds: float) -> MaxMarginSolution | None:
    """Solve for signed `rows` and `heights` w_i; return None on timeout or failure of HiGHS."""
    sparse = import_optional("scipy.sparse", "scipy", SPARSE_MATRIX_PURPOSE)
    csr_matrix, hstack = sparse.csr_matrix, sparse.hstack
    linprog = import_optional("scipy.optimize", "scipy", "A linear program").linprog

    count, width = rows.shape
    costs = np.zeros(width + 1)
    costs[-1] = -1.0
    found = linprog(
        costs,
        A_ub=hstack([-rows, csr_matrix(heights[:, None])], format="csr"),
        b_ub=np.zeros(count),
        bounds=[(-1.0, 1.0)] * width + [(0.0, None)],
        method="highs-ds",
        options={
            "time_limit": max(seconds, 0.01),
            "primal_feasibility_tolerance": HIGHS_TOLERANCE,
            "dual_feasibility_tolerance": HIGHS_TOLERANCE,
        },
    )
    if found.status != 0 or found.x is None:
        return None
    # The heights w_i only change the normalization of λ, not the combination.
    return MaxMarginSolution(found.x[:-1], float(found.x[-1]), np.maximum(-found.ineqlin.marginals, 0.0))
