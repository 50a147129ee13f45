"""A limit to the number of kept examples: which one goes, and what becomes of its share in the weights.

oldest     the one that was kept first
smallest   the one with the least Σ|a|, the oldest of equals
project    as smallest, but φ(x) is replaced by what comes nearest to it of the others: weights change as little as they
           can. With G the Gram matrix of the others and g their K with x, that is Σ β_i φ(x_i) with (G + λ)β = g, where
           a λ of 10⁻¹⁰ of the largest K(x, x) keeps examples apart that are nearly the same.

No bound on mistakes is shown to hold once something was dropped: the proofs ask for w·u to grow with every mistake, and
what is dropped may have been what grew. Until then nothing has changed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.kernel.expansion import N_DROPPED, N_ENTRIES, N_FRESH, N_SUPPORT, N_TERMS, KernelExpansion
from novikoff.kernels.support_set import copy_row

RIDGE = 1e-10


@compiled
def coefficient_sums(expansion: KernelExpansion, out: NDArray[np.float64]) -> None:
    """Write Σ|a| of each stored example."""
    for q in range(len(out)):
        out[q] = 0.0
    for e in range(expansion.counts[N_ENTRIES]):
        out[expansion.rows[e]] += abs(expansion.amounts[e])


def select_removal(expansion: KernelExpansion, policy: str) -> int:
    """Return the number of the stored example to remove."""
    n_support = int(expansion.counts[N_SUPPORT])
    first = expansion.first[:n_support]
    if policy == "oldest":
        return int(first.argmin())
    sizes = np.empty(n_support)
    coefficient_sums(expansion, sizes)
    return int(np.lexsort((first, sizes))[0])


@compiled
def remove_support(expansion: KernelExpansion, q: int) -> None:
    """Remove stored example q and its entries; the last stored example takes its number."""
    last = expansion.counts[N_SUPPORT] - 1
    expansion.counts[N_TERMS] -= expansion.kept.ends[q] - expansion.kept.begins[q]
    end = 0
    for e in range(expansion.counts[N_ENTRIES]):
        if expansion.rows[e] != q:
            expansion.rows[end] = q if expansion.rows[e] == last else expansion.rows[e]
            expansion.into[end] = expansion.into[e]
            expansion.amounts[end] = expansion.amounts[e]
            expansion.moments[end] = expansion.moments[e]
            expansion.born[end] = expansion.born[e]
            end += 1
    expansion.counts[N_ENTRIES] = end
    if q != last:
        copy_row(expansion.kept, last, q)
        expansion.own[q] = expansion.own[last]
        expansion.first[q] = expansion.first[last]
        expansion.fresh[expansion.counts[N_FRESH]] = q
        expansion.counts[N_FRESH] += 1
    expansion.counts[N_SUPPORT] = last
    expansion.counts[N_DROPPED] += 1


@compiled
def solve_cholesky(G: NDArray[np.float64], g: NDArray[np.float64]) -> None:
    """Solve G·β = g by Cholesky factors, in place and always in the same order: β replaces g, the factors replace G."""
    n = len(g)
    for i in range(n):
        for j in range(i + 1):
            total = G[i, j]
            for k in range(j):
                total -= G[i, k] * G[j, k]
            G[i, j] = total / G[j, j] if j < i else math.sqrt(max(total, 1e-300))
    for i in range(n):
        total = g[i]
        for k in range(i):
            total -= G[i, k] * g[k]
        g[i] = total / G[i, i]
    for i in range(n - 1, -1, -1):
        total = g[i]
        for k in range(i + 1, n):
            total -= G[k, i] * g[k]
        g[i] = total / G[i, i]


def project_onto_others(G: NDArray[np.float64], q: int) -> NDArray[np.float64]:
    """Return β for the other stored examples, in their order, where G is the Gram matrix of all."""
    others = np.delete(np.arange(len(G)), q)
    rest, g = np.ascontiguousarray(G[np.ix_(others, others)]), G[others, q].copy()
    rest[np.diag_indices(len(others))] += RIDGE * float(np.diag(G).max(initial=0.0))
    solve_cholesky(rest, g)
    return g
