"""Online ensembles: members as columns of weights, and how often each member learns an example.

Every member tells all classes from each other by one column a class (one-vs-all); member m of class c is column
c·members + m, so that columns of a new class come after all others. Bagged members learn each example k times, k drawn
from Poisson's distribution of mean 1; of boosted members the mean is what those before them have left of it.
To learn an example k times is one step of k times the length.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.counter_rng import poisson
from novikoff.core.losses import gradient, loss_value
from novikoff.core.multiclass.schemes import ONLINE_BOOSTING, ColumnCounters, MulticlassWorkspace, Scheme, Targets


@compiled
def one_vs_rest_target(y: int, c: int) -> float:
    return 1.0 if c == y else -1.0


@compiled
def is_misclassified(scheme: Scheme, s: float, target: float) -> bool:
    return target * s < 0.0 or (s == 0.0 and target * scheme.tie < 0.0)


@compiled
def member_vote(scheme: Scheme, scores: NDArray[np.float64], m: int, n_classes: int) -> int:
    """Return the class that member m predicts, the first of equals."""
    best = 0
    for c in range(1, n_classes):
        if scores[c * scheme.members + m] > scores[best * scheme.members + m]:
            best = c
    return best


@compiled
def compute_one_member_gradients(
    scheme: Scheme, y: int, m: int, times: float, loss: Any, norm: float, n_classes: int, workspace: MulticlassWorkspace
) -> int:
    """Write the gradients of the columns of member m, which learns the example `times` times; return the number of
    wrong ones."""
    scores, gradients = workspace.scores, workspace.gradients
    violations = 0
    for c in range(n_classes):
        column, target = c * scheme.members + m, one_vs_rest_target(y, c)
        wrong = is_misclassified(scheme, scores[column], target)
        gradients[column] = times * gradient(loss, scores[column], target, wrong, norm) if times > 0.0 else 0.0
        violations += wrong
    return violations


@compiled
def count_member(
    scheme: Scheme,
    y: int,
    m: int,
    times: float,
    loss: Any,
    weight: float,
    n_classes: int,
    workspace: MulticlassWorkspace,
    column_counters: ColumnCounters,
) -> float:
    """Count an example that a member has learned; return its loss."""
    total = 0.0
    if times > 0.0:
        for c in range(n_classes):
            column, target = c * scheme.members + m, one_vs_rest_target(y, c)
            column_counters.times[column] += 1
            column_counters.mistakes[column] += is_misclassified(scheme, workspace.scores[column], target)
            total += weight * times * loss_value(loss, workspace.scores[column], target)
    return total


@compiled
def vote_weight(scheme: Scheme, m: int, n_classes: int) -> float:
    """Return the weight of the vote of a boosted member m: ln((1−ε)/ε) + ln(K−1), half an example added to either side;
    not below 0."""
    odds = (scheme.sums[m, 0] + 0.5) / (scheme.sums[m, 1] + 0.5)
    return max(0.0, math.log(odds) + (math.log(n_classes - 1.0) if n_classes > 2 else 0.0))


@compiled
def score_by_votes(scheme: Scheme, scores: NDArray[np.float64], n_classes: int, workspace: NDArray[np.float64]) -> None:
    """Write the votes for each class."""
    total = 0.0
    for c in range(n_classes):
        workspace[c] = 0.0
    if scheme.kind == ONLINE_BOOSTING:
        for m in range(scheme.members):
            total += vote_weight(scheme, m, n_classes)
    for m in range(scheme.members if n_classes > 0 else 0):
        # Bagged members weigh the same, and boosted ones where none is better than chance.
        workspace[member_vote(scheme, scores, m, n_classes)] += (
            vote_weight(scheme, m, n_classes) if total > 0.0 else 1.0
        )


@compiled
def compute_member_gradients(
    scheme: Scheme, targets: Targets, i: int, loss: Any, norm: float, n_classes: int, workspace: MulticlassWorkspace
) -> int:
    """Write the gradients of all members, and the mean of the draw of each boosted member behind the first `n_classes`
    numbers of the spare buffer."""
    y, violations, mean = targets.classes[i], 0, 1.0
    for m in range(scheme.members):
        if scheme.kind == ONLINE_BOOSTING:
            workspace.spare[n_classes + m] = mean
        violations += compute_one_member_gradients(
            scheme, y, m, poisson(scheme.uniforms[i, m], mean), loss, norm, n_classes, workspace
        )
        if scheme.kind == ONLINE_BOOSTING:
            wrong = 0 if member_vote(scheme, workspace.scores, m, n_classes) == y else 1
            total = scheme.sums[m, 0] + scheme.sums[m, 1] + mean
            mean *= total / (2.0 * (scheme.sums[m, wrong] + mean))
    return violations


@compiled
def count_members(
    scheme: Scheme,
    targets: Targets,
    i: int,
    loss: Any,
    weight: float,
    n_classes: int,
    workspace: MulticlassWorkspace,
    column_counters: ColumnCounters,
) -> float:
    """Count an example for all members; return their loss."""
    y, total = targets.classes[i], 0.0
    for m in range(scheme.members):
        mean = workspace.spare[n_classes + m] if scheme.kind == ONLINE_BOOSTING else 1.0
        times = poisson(scheme.uniforms[i, m], mean)
        total += count_member(scheme, y, m, times, loss, weight, n_classes, workspace, column_counters)
        if scheme.kind == ONLINE_BOOSTING:
            scheme.sums[m, 0 if member_vote(scheme, workspace.scores, m, n_classes) == y else 1] += mean
    return total
