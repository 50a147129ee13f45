"""How a learner declares its theorems: what each one counts, what it says, and the formula with its numbers put in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Evidence(NamedTuple):
    """What was measured of a witness u on a stream, in the space the learner works in, bias included.

    All sums run over the whole sequence as it was learned, repeated passes and all.
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
    """min_t y_t·u·x_t; not positive where u does not separate."""
    losses: dict[str, float]
    """Σ ℓ_t(u) for hinge, logistic and squared."""
    slack: Callable[[float], float]
    """γ ↦ D₂ = √Σ max(0, γ − y_t·u·x_t/‖u‖)²."""
    target: Mapping[str, float] = MappingProxyType({})
    """What is known of a target that agrees with every label, by what the theorems call it: `disjunction` (its
    literals, of Boolean features, none negated), `gained` (how often a disjunction that may change gains a literal,
    those of its start included), `separation` and `weight` (δ and Σμ of Winnow2, of Boolean features), `clause` (the
    literals of the longest clause of a conjunction of clauses), `errors` (of the best hypothesis of a class), `steps`
    (of a rectangle)."""
    gammas: tuple[float, ...] = ()
    """Margins γ for which the squared slack is worth asking."""
    parts: tuple[Any, ...] = ()
    """The same for each column of weights that learns by itself, where there are such."""

    @property
    def geometric_margin(self) -> float:
        return self.margin / self.norm if self.norm > 0.0 else -math.inf


class Bound(NamedTuple):
    """A theorem as it applies to one learner."""

    name: str
    counts: str
    """What is bounded: 'mistakes' or 'updates'."""
    statement: str
    value: Callable[[Evidence], float | None]
    """The bound for this evidence; None where the theorem's condition is not met."""
    any_order: bool = True
    """Whether it holds for every order of the examples, or only explains this one."""
    by_target: bool = False
    """Whether it asks for `Evidence.target` instead of a witness."""
    by_run: bool = False
    """Whether it asks for nothing but what was counted during the run."""

    @property
    def by_witness(self) -> bool:
        return not (self.by_target or self.by_run)
