"""Declarations of a learner's theorems: the count that each theorem bounds, its statement and its formula."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Evidence(NamedTuple):
    """Measurements of a witness u on a stream, in the space in which the learner works, bias included.

    All sums run over the whole sequence as it was learned, repeated passes included.
    """

    radius: float
    """R = max‖x_t‖₂."""
    radius_p: Callable[[float], float]
    """p ↦ max‖x_t‖_p."""
    norm: float
    """‖u‖₂."""
    norm_q: Callable[[float], float]
    """q ↦ ‖u‖_q; math.inf gives the largest |u_j|."""
    margin: float
    """min_t y_t·u·x_t; at most 0 where u does not separate."""
    losses: dict[str, float]
    """Σ ℓ_t(u) for hinge, logistic and squared."""
    slack: Callable[[float], float]
    """γ ↦ D₂ = √Σ max(0, γ − y_t·u·x_t/‖u‖)²."""
    target: Mapping[str, float] = MappingProxyType({})
    """Facts about a target that agrees with every label, by name.

    - `disjunction`: number of literals of a monotone disjunction of Boolean features.
    - `gained`: number of literals that a changing disjunction gains, those of its start included.
    - `separation`, `weight`: δ and Σμ of Winnow2, for Boolean features.
    - `clause`: number of literals of the longest clause of a conjunction of clauses.
    - `errors`: errors of the best hypothesis of a class.
    - `steps`: steps of a rectangle (`boolean_bounds.rectangle`).
    """
    gammas: tuple[float, ...] = ()
    """Margins γ for which the squared slack was measured."""
    parts: tuple[Any, ...] = ()
    """Evidence of each column of weights, for models whose columns learn independently."""

    @property
    def geometric_margin(self) -> float:
        return self.margin / self.norm if self.norm > 0.0 else -math.inf


class Bound(NamedTuple):
    """A theorem as it applies to one learner."""

    name: str
    counts: str
    """The bounded count: 'mistakes' or 'updates'."""
    statement: str
    value: Callable[[Evidence], float | None]
    """Maps evidence to the bound, or to None where the condition of the theorem is not met."""
    any_order: bool = True
    """Whether the bound holds for every order of the examples, or for this run only."""
    by_target: bool = False
    """Whether the theorem needs `Evidence.target` instead of a witness."""
    by_run: bool = False
    """Whether the theorem needs only the counts of the run."""

    @property
    def by_witness(self) -> bool:
        return not (self.by_target or self.by_run)
