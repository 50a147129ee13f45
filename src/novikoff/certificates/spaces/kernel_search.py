"""Witness search in a kernel's space: SVMs on a few examples, solved by dual coordinate descent.

u = Σ β_j·φ(x_j) with β_j = α_j·y_j, 0 ≤ α_j ≤ C, minimises ½‖u‖² + C·Σ hinge loss. Every u gives a valid bound, so
the search rounds to nearest.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled

COSTS = (1.0, 30.0, 1e3, 1e8)
"""Values of C where the largest K(x, x) is 1; the last one forces separation. Each solve starts from the previous
one.
"""
GRADIENT_TOLERANCE = 1e-4
PRODUCTS_PER_TERM = 20  # products per term of the budget, as kernel tables are small


@compiled
def solve_kernel_dual(
    K: NDArray[np.float64],
    y: NDArray[np.float64],
    cost: float,
    alpha: NDArray[np.float64],
    score: NDArray[np.float64],
    most: int,
) -> int:
    """Run passes until the optimum is reached or `most` products are computed; return the number of products.

    `score` is Σ α·y·K.
    """
    done, worst = 0, np.inf
    while worst >= GRADIENT_TOLERANCE and done < most:
        worst = 0.0
        done += len(y)
        for i in range(len(y)):
            gradient = y[i] * score[i] - 1.0
            free = (gradient < 0.0 and alpha[i] < cost) or (gradient > 0.0 and alpha[i] > 0.0)
            if not free or abs(gradient) < GRADIENT_TOLERANCE or not K[i, i] > 0.0:
                continue
            worst = max(worst, abs(gradient))
            new = min(max(alpha[i] - gradient / K[i, i], 0.0), cost)
            change = (new - alpha[i]) * y[i]
            alpha[i] = new
            for j in range(len(y)):
                score[j] += change * K[i, j]
            done += len(y)
    return done


def find_directions(K: NDArray[np.float64], y: NDArray[np.float64], budget: int) -> dict[str, NDArray[np.float64]]:
    """Return β for each C. K must be scaled to a maximum of 1; examples of side 0 are ignored."""
    found, left = {}, PRODUCTS_PER_TERM * budget
    alpha, score = np.zeros(len(y)), np.zeros(len(y))
    for k, cost in enumerate(COSTS):
        left -= solve_kernel_dual(K, y, cost, alpha, score, left // (len(COSTS) - k))
        found[f"machine {cost:g}"] = alpha * y
    return found
