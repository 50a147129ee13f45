"""Witnesses in a kernel's space: support vector machines on a few examples, by dual coordinate descent.

u = Σ β_j·φ(x_j) with β_j = α_j·y_j, 0 ≤ α_j ≤ C, minimises ½‖u‖² + C·Σ hinge loss. Every u gives a true bound; here we
look for good ones, in double precision and to the nearest number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled

COSTS = (1.0, 30.0, 1e3, 1e8)
"""C, where the largest K(x, x) is 1; the last asks for all examples to be separated. Each begins where the one before
has ended."""
GRADIENT_TOLERANCE = 1e-4
PRODUCTS_PER_TERM = 20  # products of these small tables for one term of the budget


@compiled
def solve_kernel_dual(
    K: NDArray[np.float64],
    y: NDArray[np.float64],
    cost: float,
    alpha: NDArray[np.float64],
    score: NDArray[np.float64],
    most: int,
) -> int:
    """Goes through all examples again and again until nothing is far from its optimum, or there were so many products;
    `score` is Σ α·y·K. Returns how many there were."""
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
    """β of each machine; K has been scaled so that its largest value is 1. An example of side 0 takes no part."""
    found, left = {}, PRODUCTS_PER_TERM * budget
    alpha, score = np.zeros(len(y)), np.zeros(len(y))
    for k, cost in enumerate(COSTS):
        left -= solve_kernel_dual(K, y, cost, alpha, score, left // (len(COSTS) - k))
        found[f"machine {cost:g}"] = alpha * y
    return found
