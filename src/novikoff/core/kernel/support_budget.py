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
from novikoff.kernels.support_set import move_row
from novikoff.core.kernel.expansion import (DROPPED, ENTRIES, FRESH, KEPT, TERMS, Dual)

RIDGE = 1e-10


@compiled
def sizes_of(dual: Dual, out: NDArray[np.float64]) -> None:
    """Σ|a| of each kept example."""
    for q in range(len(out)):
        out[q] = 0.0
    for e in range(dual.counts[ENTRIES]):
        out[dual.rows[e]] += abs(dual.amounts[e])


def chosen(dual: Dual, how: str) -> int:
    """Which kept example is to go."""
    kept = int(dual.counts[KEPT])
    first = dual.first[:kept]
    if how == "oldest":
        return int(first.argmin())
    sizes = np.empty(kept)
    sizes_of(dual, sizes)
    return int(np.lexsort((first, sizes))[0])


@compiled
def drop(dual: Dual, q: int) -> None:
    """Kept example q goes, with its entries; the last one takes its place."""
    last = dual.counts[KEPT] - 1
    dual.counts[TERMS] -= dual.kept.ends[q] - dual.kept.begins[q]
    end = 0
    for e in range(dual.counts[ENTRIES]):
        if dual.rows[e] != q:
            dual.rows[end] = q if dual.rows[e] == last else dual.rows[e]
            dual.into[end] = dual.into[e]
            dual.amounts[end] = dual.amounts[e]
            dual.moments[end] = dual.moments[e]
            dual.born[end] = dual.born[e]
            end += 1
    dual.counts[ENTRIES] = end
    if q != last:
        move_row(dual.kept, last, q)
        dual.own[q] = dual.own[last]
        dual.first[q] = dual.first[last]
        dual.fresh[dual.counts[FRESH]] = q
        dual.counts[FRESH] += 1
    dual.counts[KEPT] = last
    dual.counts[DROPPED] += 1


@compiled
def solved(G: NDArray[np.float64], g: NDArray[np.float64]) -> None:
    """Puts the solution of G·β = g into g by Cholesky's factors, which are put into G; always in the same order."""
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


def projection(G: NDArray[np.float64], q: int) -> NDArray[np.float64]:
    """β for the others, in their order, where G is the Gram matrix of all."""
    others = np.delete(np.arange(len(G)), q)
    rest, g = np.ascontiguousarray(G[np.ix_(others, others)]), G[others, q].copy()
    rest[np.diag_indices(len(others))] += RIDGE * float(np.diag(G).max(initial=0.0))
    solved(rest, g)
    return g
