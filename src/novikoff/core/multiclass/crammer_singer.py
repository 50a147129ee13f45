"""The multiclass support vector machine of Crammer and Singer, solved by the sequential dual method.

    Problem    least P(w) = ½ Σ_c ‖w_c‖² + Σ_i C_i·max(0, max_{c≠yᵢ} 1 − (w_{yᵢ} − w_c)·xᵢ)
    Dual       largest D(α) = Σ_i αᵢ_{yᵢ} − ½ Σ_c ‖w_c‖²  where  w_c = Σ_i αᵢ_c·xᵢ,  Σ_c αᵢ_c = 0,
               αᵢ_{yᵢ} ≤ C_i  and  αᵢ_c ≤ 0 for c ≠ yᵢ
    Gap        P(w) − D(α) ≥ 0 for any such w and α, and 0 at the optimum: no w is better by more than the gap
    Pass       each example once, in random order: D is made as large as the multipliers of this one example can make it
    Resting    an example whose step was nothing k times in a row sits out k passes, but not more than 32; all come back
               when those that did not sit out had nothing to do either
    Source     Crammer, Singer: On the algorithmic implementation of multiclass kernel-based vector machines, 2001.
               Keerthi, Sundararajan, Chang, Hsieh, Lin: A sequential dual method for large scale multi-class linear
               SVMs, 2008: Algorithm 1, with the step of its section 3.1 (see `dual_step.py`)

The bias is one more feature, of the value `bias` in each example; 0 means that there is none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.dual_coordinate_step import solve_subproblem
from novikoff.core.multiclass.class_scores import add_to_classes, compute_sq_norms, dot_classes, pad_classes
from novikoff.data.rows import Rows

MAX_REST_PASSES = 32  # passes
GAP_CHECK_FRACTION = (
    0.1  # the gap is measured whenever the search has become longer by this share, and once for each full pass
)


class SvmProblem(NamedTuple):
    """Examples, and what their losses cost. Rows are validated, their columns are unique and have slots."""

    rows: Rows
    labels: NDArray[np.int64]
    """Class numbers from 0 on."""
    limits: NDArray[np.float64]
    """C_i."""
    sizes: NDArray[np.float64]
    """‖xᵢ‖² with the bias."""
    bias: float
    classes: int


class DualPoint(NamedTuple):
    """Where a search is. Both arrays have `room(classes)` columns, and w_c = Σ_i αᵢ_c·xᵢ."""

    duals: NDArray[np.float64]
    """α, [example][class]."""
    weights: NDArray[np.float64]
    """w, [slot][class]."""


class SolverResult(NamedTuple):
    """The optimum lies between dual and primal."""

    primal: float
    dual: float
    passes: int = 0
    visits: int = 0
    """Examples that were looked at to get there."""

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    def within(self, tolerance: float) -> bool:
        return self.gap <= tolerance * self.primal


def build_problem(
    rows: Rows, labels: NDArray[np.int64], limits: NDArray[np.float64] | float, classes: int, bias: float
) -> SvmProblem:
    """Return the problem; `limits` is C, or one limit for each example."""
    sizes = np.empty(len(labels))
    compute_sq_norms(rows, bias, sizes)
    return SvmProblem(rows, labels, np.full(len(labels), limits, np.float64), sizes, bias, classes)


def initial_point(problem: SvmProblem, features: int) -> DualPoint:
    """Return the point α = 0, w = 0."""
    padded = pad_classes(problem.classes)
    return DualPoint(np.zeros((len(problem.labels), padded)), np.zeros((features + 1, padded)))


def solve(problem: SvmProblem, point: DualPoint, passes: int, *, tolerance: float = 0.0, seed: int = 0) -> SolverResult:
    """Optimise the point until gap ≤ tolerance·P, or for this number of passes.

    The point may be any one for the same rows, such as the solution for other limits. The result is measured with
    weights that are recomputed from α.
    """
    shrink_to_limits(problem, point)
    examples, random = len(problem.labels), np.random.default_rng(seed)
    idle, due, scratch = np.zeros(examples, np.int64), np.zeros(examples, np.int64), _allocate_scratch(point)
    visits = measured_at = 0
    for now in range(passes):
        order = random.permutation(np.flatnonzero(due <= now))
        moved = sweep(problem, point, order, now, idle, due, scratch)
        visits += len(order)
        if not moved:
            due[:] = 0
        if visits - measured_at >= max(examples, GAP_CHECK_FRACTION * visits):
            measured_at = visits
            if measure_objectives(problem, point).within(tolerance) and rebuild_and_measure(problem, point).within(
                tolerance
            ):
                return measure_objectives(problem, point)._replace(passes=now + 1, visits=visits)
    return rebuild_and_measure(problem, point)._replace(passes=passes, visits=visits)


def shrink_to_limits(problem: SvmProblem, point: DualPoint) -> None:
    """Scale all multipliers down where the limits are lower than those of the point; w stays their sum."""
    own = point.duals[np.arange(len(problem.labels)), problem.labels]
    above_limit = own > problem.limits
    if above_limit.any():
        shrinkage = float((problem.limits[above_limit] / own[above_limit]).min())
        point.duals[:] *= shrinkage
        point.weights[:] *= shrinkage


def measure_objectives(problem: SvmProblem, point: DualPoint) -> SolverResult:
    """Return both objectives at this point."""
    scratch = _allocate_scratch(point)
    half_norm = half_sq_norm(point.weights, scratch[0])
    loss = total_loss(problem, point.weights, scratch[0])
    linear = float(point.duals[np.arange(len(problem.labels)), problem.labels].sum())
    return SolverResult(half_norm + loss, linear - half_norm)


def rebuild_and_measure(problem: SvmProblem, point: DualPoint) -> SolverResult:
    """Return both objectives with weights recomputed from α, which carry no accumulated rounding errors."""
    point.weights[:] = 0.0
    accumulate_weights(problem, point)
    return measure_objectives(problem, point)


def _allocate_scratch(point: DualPoint) -> NDArray[np.float64]:
    return np.zeros((2, point.weights.shape[1]))


@compiled
def sweep(
    problem: SvmProblem,
    point: DualPoint,
    order: NDArray[np.int64],
    now: int,
    idle: NDArray[np.int64],
    due: NDArray[np.int64],
    scratch: NDArray[np.float64],
) -> int:
    """Take a step for each example of `order`; return the number of steps that changed something.

    `idle` counts the steps in a row of an example that changed nothing, `due` is the next pass in which it is visited.
    """
    moved = 0
    scores, sums = scratch[0], scratch[1]
    for at in range(len(order)):
        i = order[at]
        dot_classes(problem.rows, i, point.weights, problem.bias, scores)
        limit, size = problem.limits[i], problem.sizes[i]
        if solve_subproblem(problem.classes, problem.labels[i], limit, size, point.duals[i], scores, sums):
            add_to_classes(problem.rows, i, scores, problem.bias, point.weights)
            idle[i] = 0
            moved += 1
        else:
            idle[i] += 1
        due[i] = now + 1 + min(idle[i], MAX_REST_PASSES)
    return moved


@compiled
def total_loss(problem: SvmProblem, weights: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    """Return Σ_i C_i·max(0, max_{c≠yᵢ} 1 − (w_{yᵢ} − w_c)·xᵢ)."""
    total = 0.0
    for i in range(len(problem.labels)):
        dot_classes(problem.rows, i, weights, problem.bias, scores)
        y = problem.labels[i]
        own, most = scores[y], 0.0
        scores[y] -= 1.0
        for c in range(problem.classes):
            most = max(most, scores[c] - own + 1.0)
        total += problem.limits[i] * most
    return total


@compiled
def half_sq_norm(weights: NDArray[np.float64], sums: NDArray[np.float64]) -> float:
    """Return ½ Σ_c ‖w_c‖²."""
    for c in range(len(sums)):
        sums[c] = 0.0
    for slot in range(len(weights)):
        for c in range(len(sums)):
            sums[c] += weights[slot, c] * weights[slot, c]
    total = 0.0
    for c in range(len(sums)):
        total += sums[c]
    return 0.5 * total


@compiled
def accumulate_weights(problem: SvmProblem, point: DualPoint) -> None:
    """Add Σ_i αᵢ_c·xᵢ to w_c."""
    for i in range(len(problem.labels)):
        add_to_classes(problem.rows, i, point.duals[i], problem.bias, point.weights)
