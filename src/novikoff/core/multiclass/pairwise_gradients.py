"""Compute the gradients of preferences i ≻ j among scored items: which items are updated where scores disagree.

A preference is an example of the binary learner in a larger space: x_ij has x in block i and −x in block j, and is
positive. Its score is s = s_i − s_j; the learner's loss gives its gradient. Of several preferences of one example

    top            only the one with the least s counts
    uniform        all that pull, each 1/how many
    proportional   all with a gradient, each by its margin deficit

so that what the weights move along is a mean of the x_ij: at most as long as they are, and every u that separates them
by γ separates it by γ too. A tie, s = 0, is a mistake: a preference that is not shown is not met.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, generic
from novikoff.core.losses import gradient, required_margin

UPDATE_NAMES = ("top", "uniform", "proportional")
TOP, UNIFORM, PROPORTIONAL = 0, 1, 2


@compiled
def pair_gradient(loss: Any, s: float, norm: float) -> float:
    """Return the gradient of a preference of score s."""
    return gradient(loss, s, 1.0, s <= 0.0, norm)


@compiled
def compute_margin_gradients(
    update: int,
    loss: Any,
    norm: float,
    scores: NDArray[np.float64],
    count: int,
    preferred_item: int,
    gradients: NDArray[np.float64],
) -> bool:
    """Write the gradients of the preferences of one item to all others; return whether a preference is not met."""
    for j in range(count):
        gradients[j] = 0.0
    if count < 2:
        return False
    own_score, scores[preferred_item] = scores[preferred_item], -np.inf  # so that it is not found as its own rival
    highest = max_score(scores, count)
    if update == TOP:
        g = pair_gradient(loss, own_score - highest, norm)
        if g != 0.0:
            gradients[preferred_item] = g
            gradients[index_of_score(scores, count, highest)] = -g
        scores[preferred_item] = own_score
    else:
        scores[preferred_item] = own_score
        total, n_updating = 0.0, 0
        for j in range(count):
            if j != preferred_item:
                g = pair_gradient(loss, scores[preferred_item] - scores[j], norm)
                gradients[j] = g
                n_updating += g != 0.0
                total += margin_deficit(loss, scores[preferred_item] - scores[j], g)
        by_deficit = update == PROPORTIONAL and total > 0.0
        total_weight = total if by_deficit else np.float64(n_updating)
        total_gradient = 0.0
        for j in range(count):
            if gradients[j] != 0.0:
                g = gradients[j]
                pair_weight = margin_deficit(loss, scores[preferred_item] - scores[j], g) if by_deficit else 1.0
                gradients[j] = -pair_weight * g / total_weight
                total_gradient += pair_weight * g
        gradients[preferred_item] = total_gradient / total_weight if n_updating > 0 else 0.0
    return own_score <= highest


@compiled
def max_score(scores: NDArray[np.float64], count: int) -> float:
    """Return the highest score.

    Its index is computed only where it matters: the branch on each score that is higher than all before is often
    mispredicted.
    """
    highest = -np.inf
    for j in range(count):
        highest = scores[j] if scores[j] > highest else highest
    return highest


@compiled
def index_of_score(scores: NDArray[np.float64], count: int, score: float) -> int:
    """Return the first item with that score; the last one where there is none, as among NaN scores."""
    for j in range(count - 1):
        if scores[j] == score:
            return j
    return count - 1


@compiled
def margin_deficit(loss: Any, s: float, g: float) -> float:
    """Return how far s is below the margin that the loss requires, where it has a gradient."""
    return required_margin(loss) - s if g != 0.0 else 0.0


class GradePairs(NamedTuple):
    """Items of higher grade are preferred to those of lower grade; items with the grade NaN are in no pair."""

    grades: NDArray[np.float64]


class ExplicitPairs(NamedTuple):
    """a is preferred to b where marks[a·things + b] is not 0."""

    marks: NDArray[np.float64]
    n_items: int


@generic
def is_preferred(order: Any, a: int, b: int) -> bool:
    """Return whether item a is to be above item b."""
    return order.grades[a] > order.grades[b]


@is_preferred.of(ExplicitPairs)
def _is_preferred_explicit_pairs(order: ExplicitPairs, a: int, b: int) -> bool:
    return order.marks[a * order.n_items + b] != 0.0


@compiled
def compute_pair_gradients(  # noqa: PLR0912 - twice through all pairs
    update: int,
    loss: Any,
    norm: float,
    scores: NDArray[np.float64],
    order: Any,
    count: int,
    gradients: NDArray[np.float64],
) -> int:
    """Write the gradients of all preferences among `count` items; return the number of preferences that are not met."""
    for j in range(count):
        gradients[j] = 0.0
    violations, n_updating, total, min_score, top_a, top_b = 0, 0, 0.0, np.inf, -1, -1
    for a in range(count):
        for b in range(count):
            if is_preferred(order, a, b):
                s = scores[a] - scores[b]
                violations += s <= 0.0
                if s < min_score:
                    min_score, top_a, top_b = s, a, b
                if update != TOP:
                    g = pair_gradient(loss, s, norm)
                    n_updating += g != 0.0
                    total += margin_deficit(loss, s, g)
    if top_a < 0:
        return 0
    if update == TOP:
        g = pair_gradient(loss, min_score, norm)
        gradients[top_a] += g
        gradients[top_b] -= g
        return violations
    if n_updating == 0:
        return violations
    by_deficit = update == PROPORTIONAL and total > 0.0
    total_weight = total if by_deficit else np.float64(n_updating)
    for a in range(count):
        for b in range(count):
            if is_preferred(order, a, b):
                s = scores[a] - scores[b]
                g = pair_gradient(loss, s, norm)
                if g != 0.0:
                    # Divided at the end: what is pulled to both sides alike must stay, and not move by a rounding
                    # error, which AdaGrad would make a whole step of.
                    pair_weight = margin_deficit(loss, s, g) if by_deficit else 1.0
                    gradients[a] += pair_weight * g
                    gradients[b] -= pair_weight * g
    for j in range(count):
        gradients[j] /= total_weight
    return violations
