"""Axis-parallel rectangles, learned as the tightest fit.

Predict   + where x lies in the smallest box around the positive examples on which it erred
Update    on a positive example outside: extend the box to contain it
Bound     M ≤ 1 + Σ_j (d_j − 1)        d_j: the number of distinct values of feature j among the positive examples
Source    Blumer, Ehrenfeucht, Haussler, Warmuth, Learnability and the Vapnik–Chervonenkis dimension, 1989

Positive examples inside change nothing, so it is the tightest box around all of them. While some rectangle agrees with
all labels, it errs on positive examples only. Unseen features are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState
from novikoff.boolean.sample_check import SampleCheckMixin, explain_false_positives
from novikoff.core.losses import FALSE_NEGATIVE, Loss
from novikoff.core.updaters.base import max_sq_norm, predicted_score, score, update
from novikoff.data.rows import Rows, clear_row, dot_and_sq_norm, scatter_row
from novikoff.schema import REAL, SLOTS, ArraySpec, InRange, NotNaN, Schema
from novikoff.theory import boolean_bounds
from novikoff.theory.bound_declaration import Bound, Evidence

__all__ = ["Rectangle"]

HAS_POSITIVE = 0
EDGE_DEPTH = 1e-300  # depth of an example on the edge, which is inside: its score must be above 0


class Intervals(NamedTuple):
    weights: NDArray[np.floating]
    """The lowest and the highest value of each feature."""
    scalars: NDArray[np.int64]
    example: NDArray[np.float64]
    """Scratch: the values of one example; zeros between examples."""
    bias: float


SCHEMA = Schema(
    {"weights": ArraySpec(REAL, SLOTS, 2, checks=[NotNaN()]), "scalars": ArraySpec("int64", 1, checks=[InRange(0, 1)])}
)
"""The permitted content of this state in a model file."""


@compiled
def measure_depth(updater: Intervals, rows: Rows, i: int) -> float:
    """Return the depth of row i inside the box, in the feature where it is least; negative outside. Features that are 0
    throughout don't count: their number is not known."""
    if updater.scalars[HAS_POSITIVE] == 0:
        return -1.0
    scatter_row(rows, i, updater.example)
    least = np.inf
    for j in range(1, len(updater.weights)):
        x, low, high = updater.example[j], np.float64(updater.weights[j, 0]), np.float64(updater.weights[j, 1])
        if x != 0.0 or low != 0.0 or high != 0.0:
            least = min(least, x - low, high - x)
    clear_row(rows, i, updater.example)
    return max(least, EDGE_DEPTH) if 0.0 <= least < np.inf else min(least, EDGE_DEPTH)


@predicted_score.of(Intervals)
def _predicted_score_intervals(updater: Intervals, rows: Rows, i: int, last_score: float, tie: float, t: int) -> float:
    return last_score


@score.of(Intervals)
def _score_intervals(updater: Intervals, rows: Rows, i: int) -> tuple[float, float]:
    _, sq_norm = dot_and_sq_norm(rows, i, updater.weights)
    if not sq_norm < max_sq_norm(updater.weights):
        return 0.0, sq_norm
    return measure_depth(updater, rows, i), sq_norm


@update.of(Intervals)
def _update_intervals(updater: Intervals, rows: Rows, i: int, gradient: float, t: int) -> None:
    scatter_row(rows, i, updater.example)
    begun = updater.scalars[HAS_POSITIVE] != 0
    for j in range(1, len(updater.weights)):
        x = updater.example[j]
        updater.weights[j, 0] = min(np.float64(updater.weights[j, 0]), x) if begun else x
        updater.weights[j, 1] = max(np.float64(updater.weights[j, 1]), x) if begun else x
    updater.scalars[HAS_POSITIVE] = 1
    clear_row(rows, i, updater.example)


@final
class Rectangle(SampleCheckMixin, LinearClassifier):
    """The tightest axis-parallel box around the positive examples.

    `decision_function` returns the depth of an example inside the box, in the feature where it is least.

    Parameters
    ----------
    passes : int
        How often fit goes over the data.
    shuffle : bool
        Whether fit learns the rows in random order, a new one in each pass. Otherwise in the given order.
    random_state : int
        The seed of the random order.

    Examples
    --------
    >>> from novikoff import Rectangle
    >>> model = Rectangle().fit([[1, 1], [5, 5], [3, 2], [0, 2]], ["yes", "no", "yes", "no"])
    >>> model.box_.tolist(), model.predict([[2, 1.5], [4, 1]]).tolist()
    ([[1.0, 3.0], [1.0, 2.0]], ['yes', 'no'])
    """

    fit_intercept = False

    def __init__(self, *, passes: int = 1, shuffle: bool = True, random_state: int = 0) -> None:
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _spec(self) -> LearnerSpec:
        return LearnerSpec(
            loss=Loss(FALSE_NEGATIVE),
            build_updater=self._build_updater,
            build_schema=lambda _: SCHEMA,
            unseen_weight=self._unseen_weight,
            has_weights=False,
            scores_by_weights=False,
            learns_dense_rows=False,
            learns_dense_examples=False,
            learns_dense_columns=False,
            scores_dense_rows=False,
        )

    def _build_updater(self, slots: int, dtype: Any) -> Intervals:
        return Intervals(np.zeros((slots, 2), dtype), np.zeros(1, np.int64), np.zeros(slots), 1.0)

    def _unseen_weight(self, state: ModelState) -> float:
        return -1.0 if state.updater.scalars[HAS_POSITIVE] else 0.0  # 0 in every positive example: must be 0

    @property
    def box_(self) -> NDArray[np.float64]:
        """The lowest and the highest value of each feature; NaN before the first positive example."""
        state = self._require_attribute("box_")
        box = state.updater.weights[1 : state.features + 1].astype(np.float64)
        return box if state.updater.scalars[HAS_POSITIVE] else np.full_like(box, np.nan)

    def describe(self) -> str:
        state = self._require_fitted()
        names = [str(j) for j in range(state.features)] if state.names is None else list(state.names.columns)
        return "\n".join(f"{low:g} ≤ {name} ≤ {high:g}" for name, (low, high) in zip(names, self.box_, strict=True))

    def _hypothesis_class(self) -> tuple[str, dict[str, Any], str]:
        n = self._require_fitted().features
        return "vc", {"dimension": 2 * n}, f"boxes of {n:,} features, of VC dimension {2 * n:,}"

    def _find_contradiction(self) -> str | None:
        return explain_false_positives(self._require_fitted().ledger)

    def bounds(self) -> Sequence[Bound]:
        self._checked_state()

        def bound(e: Evidence) -> float | None:
            steps = e.target.get("steps")
            return None if steps is None else boolean_bounds.rectangle(steps=int(steps))

        return (
            Bound("tightest fit", "mistakes", "M ≤ 1 + Σ (d_j − 1), a rectangle of d_j values", bound, by_target=True),
        )
