"""Binary problems of columns of weights: the labels of each, and the sum of their mistake bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import checked_state_of
from novikoff.core.multiclass.schemes import binary_target
from novikoff.data.labels.class_labels import LabelSets
from novikoff.theory.bound_declaration import Bound, Evidence

ONE_PER_MISTAKE = (1.0, "a mistake takes one of a column")
"""The statement for schemes in which a mistake takes at least one mistake of a column."""


def build_column_bounds(model: Any) -> Sequence[Bound]:
    """Return the theorem that sums the bounds of columns, each of which learns a separate binary problem."""
    state, inner, per_mistake = checked_state_of(model), model._inner_column_bounds(), model._mistakes_per_column()
    if state.ledger.weighted or not inner or per_mistake is None or per_mistake[0] <= 0.0:
        return ()
    needed, why = per_mistake
    new = max(state.new, len(state.labels) - state.labels.declared_count)
    more = "" if not new else f" + {new}, for new classes"
    share = "" if needed == 1.0 else f"/{needed:g}"

    def value(e: Evidence) -> float | None:
        each = [[allowed for bound in inner if (allowed := bound.value(part)) is not None] for part in e.parts]
        return sum(map(min, each)) / needed + new if all(each) else None

    names = " or ".join(bound.name for bound in inner)
    statement = f"M ≤ Σ_c M_c{share}{more}; {why}, and each column c is allowed M_c by {names}"
    return (Bound("sum of columns", "mistakes", statement, value),)


def encode_column(scheme: Any, codes: Any, column: int, classes: int) -> NDArray[np.int8]:
    """Return the label of each example in the binary problem of a column: −1, 1, or 0 for not learned."""
    if isinstance(codes, LabelSets):
        return _encode_membership(codes, column)
    word = np.array([binary_target(scheme, y, column) for y in range(classes)] + [0], np.int8)
    signs: NDArray[np.int8] = word[codes]  # −1, for examples that are left out, indexes the last entry
    return signs


def _encode_membership(codes: LabelSets, label: int) -> NDArray[np.int8]:
    sides = np.full(len(codes), -1, np.int8)
    members = codes.members[int(codes.starts[0]) : int(codes.starts[-1])]
    sides[np.repeat(np.arange(len(codes)), np.diff(codes.starts))[members == label]] = 1
    if codes.absent is not None:
        sides[codes.absent] = 0
    return sides
