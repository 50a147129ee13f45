"""Fast search for a wide margin: dual coordinate descent with unbounded multipliers.

minimise ½‖w‖²   subject to   sign_i·w·z_i ≥ 1 for all i

‖w‖/Σα exceeds the margin of every separator, which bounds the possible gain.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.search.witness_search import run_dual_pass
from novikoff.certificates.separability.signed_rows import SignedExamples
from novikoff.data.rows import Sparse

MAX_TERMS = 10**8
"""Budget of terms, less than a second. It is not a time, so that the same data give the same witness."""
SUFFICIENT_MARGIN_RATIO = 0.999
"""Share of the maximum margin at which the search stops."""
MAX_ROUNDS = 1000
MAX_STALLED_ROUNDS = 100
"""Rounds that may gain less than one part in a thousand."""
INNER_PASSES = 10
"""Passes over the rows with a nonzero multiplier for each pass over all rows."""


def maximize_margin(examples: SignedExamples) -> NDArray[np.float64]:
    """Return weights for the columns of the examples, those of the widest margin found."""
    matrix = examples.matrix
    rows = Sparse(matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32), matrix.data)
    labels = examples.signs.astype(np.int8)
    sizes = np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()
    alphas, w = np.zeros(examples.count), np.zeros(matrix.shape[1] + 1)  # slot 0 is for a separate bias
    best, found, budget, since, reached = 0.0, w[1:].copy(), MAX_TERMS, 0, 0.0
    random = np.random.default_rng(0)

    def descend(order: NDArray[np.int64], times: int) -> int:
        orders = np.concatenate([random.permutation(order) for _ in range(times)])
        run_dual_pass(rows, labels, sizes, orders, 0.0, math.inf, alphas, w)
        return times * (int(np.diff(rows.starts)[order].sum()) + len(order))

    everything = np.arange(examples.count)
    for now in range(MAX_ROUNDS):
        budget -= descend(everything, 1) + matrix.nnz
        budget -= descend(np.flatnonzero(alphas), INNER_PASSES)
        margin, most = _margin_and_limit(examples, w[1:], float(alphas.sum()))
        if margin > best:
            best, found = margin, w[1:].copy()
        if best > 1.001 * reached:
            since, reached = now, best
        if budget <= 0 or now - since > MAX_STALLED_ROUNDS or not best < SUFFICIENT_MARGIN_RATIO * most:
            break
    return found


def _margin_and_limit(examples: SignedExamples, w: NDArray[np.float64], total: float) -> tuple[Any, float]:
    """Return the margin of w and an upper bound on every margin."""
    size = float(np.linalg.norm(w))
    if not 0.0 < size < math.inf or not 0.0 < total < math.inf:
        return 0.0, 0.0
    return float((examples.signs * (examples.matrix @ w)).min()) / size, size / total
