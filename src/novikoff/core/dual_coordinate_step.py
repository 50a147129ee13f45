"""The step of the sequential dual method: the best multipliers of one example, with all others fixed.

With the multipliers moved to α_c − C·[c = y], which are never above 0 and add up to −C, there is a simplex: we look for
α_c = −max(0, t − e_c), where t is the number for which they add up to −C, and e_c = (max d − d_c)/‖x‖² says by how much
class c falls short of the one that hurts most, by d_c = w_c·x − [c = y] − ‖x‖²·α_c at the multipliers of before. As t
and the e_c that count are no larger than C, the multipliers keep their sum however short or long the example is.

Arrays have room for a multiple of eight classes; a loop over four at a time does not wait for its own last result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff._compiled.simd.dot import get_unchecked

MIN_SQ_NORM = float(np.finfo(np.float64).tiny)  # stands for ‖x‖² of a row without terms, which is divided by


@compiled
def solve_subproblem(
    n_classes: int,
    y: int,
    limit: float,
    size: float,
    duals: NDArray[np.float64],
    scores: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> bool:
    """Puts the best multipliers of an example of class y into `duals`, and their changes into `scores`, where w_c·x
    was; whether there are any. `size` is ‖x‖², `limit` is C; `sums` is scratch room."""
    size = max(size, MIN_SQ_NORM)
    before = duals[y]
    duals[y] -= limit
    scores[y] -= 1.0
    for c in range(n_classes):
        sums[c] = scores[c] - size * duals[c]
    for c in range(n_classes, len(sums)):
        sums[c] = -np.inf
    _shortfalls(sums, 1.0 / size)
    t = _threshold(sums, limit, _initial_threshold(sums, duals, limit))
    for c in range(len(sums)):
        above = t - sums[c]
        new = -above if above > 0.0 else 0.0
        scores[c] = new - duals[c]
        duals[c] = new
    duals[y] += limit
    scores[y] = duals[y] - before  # exactly 0 where nothing has changed, which C − … + C might not be
    moved = False
    for c in range(len(scores)):
        moved |= scores[c] != 0.0
    return moved


@compiled
def _shortfalls(sums: NDArray[np.float64], scale: float) -> None:
    """By how much each falls short of the largest."""
    a, b, c, d = sums[0], sums[1], sums[2], sums[3]
    for k in range(4, len(sums), 4):
        a = max(a, get_unchecked(sums, k))
        b = max(b, get_unchecked(sums, k + 1))
        c = max(c, get_unchecked(sums, k + 2))
        d = max(d, get_unchecked(sums, k + 3))
    a, c = max(a, b), max(c, d)
    largest = max(a, c)
    for k in range(len(sums)):
        sums[k] = (largest - sums[k]) * scale


@compiled
def _initial_threshold(shortfalls: NDArray[np.float64], duals: NDArray[np.float64], limit: float) -> float:
    """A t that is not too small, and mostly right: the one for which the classes that have multipliers would do. (For
    any set of classes Σ (t − e_c) ≤ Σ max(0, t − e_c) = C.)"""
    a, b, c, d, count = limit, 0.0, 0.0, 0.0, 0
    for k in range(0, len(shortfalls), 4):
        in_a, in_b = get_unchecked(duals, k) < 0.0, get_unchecked(duals, k + 1) < 0.0
        in_c, in_d = get_unchecked(duals, k + 2) < 0.0, get_unchecked(duals, k + 3) < 0.0
        a += get_unchecked(shortfalls, k) if in_a else 0.0
        b += get_unchecked(shortfalls, k + 1) if in_b else 0.0
        c += get_unchecked(shortfalls, k + 2) if in_c else 0.0
        d += get_unchecked(shortfalls, k + 3) if in_d else 0.0
        count = count + in_a + in_b + in_c + in_d
    return min(limit, ((a + b) + (c + d)) / max(count, 1))


@compiled
def _threshold(shortfalls: NDArray[np.float64], limit: float, t: float) -> float:
    """The t with Σ max(0, t − e) = limit, by Newton's method from above: the sum is convex in t, so that no step goes
    too far, each but the last leaves classes behind, and the last is exact."""
    while True:
        a, b, c, d, count = limit, 0.0, 0.0, 0.0, 0
        for k in range(0, len(shortfalls), 4):
            e, f = get_unchecked(shortfalls, k), get_unchecked(shortfalls, k + 1)
            g, h = get_unchecked(shortfalls, k + 2), get_unchecked(shortfalls, k + 3)
            a += e if e < t else 0.0
            b += f if f < t else 0.0
            c += g if g < t else 0.0
            d += h if h < t else 0.0
            count = count + (e < t) + (f < t) + (g < t) + (h < t)
        better = ((a + b) + (c + d)) / max(count, 1)
        if not better < t:
            return t
        t = better
