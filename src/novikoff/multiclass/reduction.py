"""Theorems for reductions: a binary learner for each column of weights, and what its mistakes mean for the whole.

A mistake of the whole takes some mistakes of columns, or brings a class that had never come before; so the sum of what
the columns are allowed bounds it. A column that begins later has seen a part of the stream, and what bounds its
mistakes on the whole stream bounds them on a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import column_bounds_of
from novikoff.core.multiclass.schemes import binary_target
from novikoff.data.labels.class_labels import LabelSets
from novikoff.multiclass.base import MulticlassClassifier
from novikoff.theory.bound_declaration import Bound, Evidence


class Reduction(MulticlassClassifier):
    """Abstract. Each column of weights learns a binary problem of its own."""

    _outcome_type = "columns"

    def _mistakes_per_column(self) -> tuple[float, str]:
        """A mistake of the whole takes so many mistakes of columns at least, in words; 0 where that is not known."""
        return 1.0, "a mistake takes one of a column"

    def _inner_column_bounds(self) -> Sequence[Bound]:
        state: Any = self._checked_state()
        found: Sequence[Bound] = column_bounds_of(
            self._inner_learner, state, variables=state.features + int(self.fit_intercept)
        )
        return found

    def bounds(self) -> Sequence[Bound]:
        state: Any = self._checked_state()
        inner, (needed, why) = self._inner_column_bounds(), self._mistakes_per_column()
        if state.ledger.weighted or not inner or needed <= 0.0:
            return ()
        new = max(state.new, len(state.labels) - state.labels.told)
        more = "" if not new else f" + {new}, for the classes that came as new"
        share = "" if needed == 1.0 else f"/{needed:g}"

        def value(e: Evidence) -> float | None:
            each = [[allowed for bound in inner if (allowed := bound.value(part)) is not None] for part in e.parts]
            return sum(map(min, each)) / needed + new if all(each) else None

        names = " or ".join(bound.name for bound in inner)
        statement = f"M ≤ Σ_c M_c{share}{more}; {why}, and each column c is allowed M_c by {names}"
        return (Bound("sum of columns", "mistakes", statement, value),)

    def _column_sides(self, codes: Any, column: int) -> NDArray[np.int8]:
        """On which side of a column's problem examples are, 0 for those that it has nothing to learn from."""
        if isinstance(codes, LabelSets):
            return _encode_membership(codes, column)
        state: Any = self._require_fitted()
        scheme = self._scheme(state.labels)
        word = np.array([binary_target(scheme, y, column) for y in range(len(state.labels))] + [0], np.int8)
        return word[codes]  # −1, for those that are left out, is the last

    def _run_facts(self) -> dict[str, Any]:
        state: Any = self._require_fitted()
        if self._outcome_type != "columns":
            return super()._run_facts()
        return {
            **super()._run_facts(),
            "mistakes_of_columns": state.column_counters.mistakes[: self._n_used_columns(state)].tolist(),
        }


def _encode_membership(codes: LabelSets, label: int) -> NDArray[np.int8]:
    sides = np.full(len(codes), -1, np.int8)
    members = codes.members[int(codes.starts[0]) : int(codes.starts[-1])]
    sides[np.repeat(np.arange(len(codes)), np.diff(codes.starts))[members == label]] = 1
    if codes.absent is not None:
        sides[codes.absent] = 0
    return sides
