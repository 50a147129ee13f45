"""Witness search for competing classes: the multiclass SVM of Crammer and Singer, as `witness_search.py` uses the
binary one.

The loss of an example is that of its worst preference, and R² = stretch·max‖x‖². As for two classes, the sharper
hinge bound is smallest at C = B_L/(2R²·B_a). For separable data C increases until the margin stops growing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.multiclass_sample import MulticlassSample
from novikoff.certificates.search.witness_search import MIN_PASS_TERMS, compute_cost
from novikoff.core.multiclass.class_scores import dot_rows, pad_classes
from novikoff.core.multiclass.crammer_singer import DualPoint, build_problem, initial_point, solve
from novikoff.data.rows import count_rows

MAX_DUAL_VARIABLES = 40_000_000  # multipliers in memory
MAX_ROUNDS = 8  # of solving and updating C


class CrammerSingerSolver:
    """Crammer and Singer's SVM, solved repeatedly with warm starts."""

    def __init__(self, sample: MulticlassSample, classes: int, features: int, *, bias: bool, budget: int) -> None:
        self.classes, self.budget, self.share = classes, budget, sample.share()
        self.there = sample.labels != 0
        numbers = np.where(self.there, sample.codes, 0)
        self.problem = build_problem(sample.rows, numbers, self.there.astype(np.float64), classes, float(bias))
        self.point: DualPoint = initial_point(self.problem, features)
        # A term meets the weights of all classes, several at once; each step goes through the classes by itself.
        terms = len(sample.rows.values) + 4 * count_rows(sample.rows)
        self.terms = max(MIN_PASS_TERMS, int(terms * pad_classes(classes) / 16))

    def solve(self, limit: float, budget: int, tolerance: float) -> None:
        passes = min(budget, self.budget) // self.terms
        if passes < 1:
            return
        problem = self.problem._replace(limits=limit * self.there)
        reached = solve(problem, self.point, passes, tolerance=tolerance)
        self.budget -= self.terms * max(1, reached.visits // max(1, len(self.there)))

    @property
    def norm(self) -> float:
        return float(np.sqrt(np.square(self.point.weights).sum()))

    def margins(self) -> NDArray[np.float64]:
        """Return the margin of each example's worst preference."""
        scores = np.empty((len(self.there), self.point.weights.shape[1]))
        dot_rows(self.problem.rows, self.point.weights, self.problem.bias, scores)
        scores = scores[self.there, : self.classes]
        every, own = np.arange(len(scores)), self.problem.labels[self.there]
        mine = scores[every, own]
        scores[every, own] = -math.inf
        reached: NDArray[np.float64] = mine - scores.max(axis=1)
        return reached

    def copy_weights(self) -> NDArray[np.float64]:
        """Return a column of weights for each class."""
        return self.point.weights[:, : self.classes].copy()


def find_directions(
    sample: MulticlassSample, classes: int, features: int, *, bias: bool, stretch: float, budget: int
) -> dict[str, NDArray[np.float64]]:
    """Return the SVM solution for the hinge bounds, and the one of the largest margin if the sample is separable.

    Solutions are indexed [slot][class].
    """
    if classes < 2 or count_rows(sample.rows) * pad_classes(classes) > MAX_DUAL_VARIABLES:
        return {}
    machine = CrammerSingerSolver(sample, classes, features, bias=bias, budget=budget)
    radius = math.sqrt(stretch * float(machine.problem.sizes.max(initial=0.0)))
    if radius == 0.0 or not machine.there.any():
        return {}
    limit = 1.0 / radius**2
    for _ in range(MAX_ROUNDS):
        machine.solve(limit, budget // 16, 0.01)
        loss = machine.share * float(np.maximum(0.0, 1.0 - machine.margins()).sum())
        better = compute_cost((radius * machine.norm) ** 2, loss, radius) * machine.share
        settled, limit = abs(better - limit) < 0.02 * limit, better
        if settled:
            break
    machine.solve(limit, budget // 3, 0.001)
    found = {"hinge": machine.copy_weights()}
    wide = _find_max_margin(machine, radius)
    return found if wide is None else {**found, "margin": wide}


def _find_max_margin(machine: CrammerSingerSolver, radius: float) -> NDArray[np.float64] | None:
    """Return the direction of the largest margin, found with increasing limits; None where nothing separates."""
    limit, best, witness = 100.0 / radius**2, 0.0, None
    share = machine.budget // 6
    while machine.budget >= machine.terms and share >= machine.terms:
        machine.solve(limit, share, 0.001)
        least = float(machine.margins().min()) / max(machine.norm, 1e-300)
        if least > best:
            grown = least > best * 1.001
            best, witness = least, machine.copy_weights()
            if not grown:
                break
        elif best == 0.0 and limit > 1e4 / radius**2:
            return None
        limit *= 8.0
    return witness
