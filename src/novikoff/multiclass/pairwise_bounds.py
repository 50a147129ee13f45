"""Theorems for schemes that learn from preferences.

A preference a ≻ b of an example is a positive example x_ab of the binary learner, in a space that has its features once
for each column of weights. The direction of an update is a mean of such x_ab (core/multiclass/pairwise_gradients.py),
so the learner's own theorems bound the updates there, with R² = stretch·max‖x‖². A mistake is an update, or an example
with a new class: it can't be predicted, and need not be an update. The number of such examples is at most the number of
classes that were not declared in advance, in any order.
"""

from __future__ import annotations

from typing import Any

from novikoff.base.internals import checked_state_of, inner_learner_of, preference_bounds_of
from novikoff.core.multiclass.schemes import columns_needed
from novikoff.theory.bound_declaration import Bound


def build_preference_bounds(stack: Any, bounded: str) -> tuple[Bound, ...]:
    """Return the theorems of the inner learner for the run so far; `bounded` says what a mistake is, and what is
    not."""
    state = checked_state_of(stack)
    if state.ledger.weighted:
        return ()
    classes = len(state.labels)
    columns = int(columns_needed(stack._scheme(state.labels), classes))
    variables = columns * (state.features + int(stack.fit_intercept))
    inner = preference_bounds_of(inner_learner_of(stack), state, variables=variables, top=stack.update == "top")
    new = max(state.new, classes - state.labels.declared_count)
    return tuple(bound if bound.by_run else add_new_classes(bound, new, bounded) for bound in inner)


def add_new_classes(bound: Bound, new: int, bounded: str) -> Bound:
    """Return the bound of updates as a bound of mistakes, where it applies."""
    if bound.counts != "mistakes":
        return bound._replace(statement=f"{bound.statement}; {bounded}")
    more = "" if not new else f"; and {new} more, for new classes"

    def value(evidence: Any) -> float | None:
        allowed = bound.value(evidence)
        return None if allowed is None else allowed + new

    return bound._replace(statement=f"{bound.statement}{more}; {bounded}", value=value)
