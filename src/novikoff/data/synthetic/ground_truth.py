"""What is known of a generated stream: its concept, a separator with its margin, how long examples can be, its noise.

Literals are whole numbers, as in DIMACS files: 3 says that attribute 3 is active, −3 that it is not. Attributes are
numbered from 1, as in svmlight files; attribute j is column j − 1 of X.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Literals = tuple[tuple[int, ...], ...]
"""The literals, clause by clause or term by term; concepts without groups have one group per literal."""


class ConceptPhase(NamedTuple):
    """The literals from example `start` on, counted from 0, until the next phase."""

    start: int
    literals: Literals


class RectangleSide(NamedTuple):
    """The condition low ≤ attribute ≤ high."""

    attribute: int
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """All quantities that the bounds need, guaranteed by construction, not measured on the stream."""

    concept: str
    rule: str
    """When an example is positive."""
    n: int
    """Number of attributes."""
    k: int
    """Number of relevant literals at any time."""
    examples: int
    phases: tuple[ConceptPhase, ...]
    """The literals; more than one phase where the concept drifts."""
    largest: float
    """Upper bound for ‖x‖², without bias."""
    separator: NDArray[np.float64] | None = None
    """(bias, weights …): n + 1 numbers, integers for Boolean concepts; None for drift or where no half-space fits."""
    margin: float | None = None
    """Lower bound for y·separator·(1, x), for every example whose label is not flipped."""
    sides: tuple[RectangleSide, ...] = ()
    """The sides of a rectangle."""
    flipped: int = 0
    """Number of flipped labels in the whole stream."""

    @property
    def literals(self) -> tuple[int, ...]:
        """The literals of the first phase, without groups."""
        return tuple(literal for group in self.phases[0].literals for literal in group)

    @property
    def cost(self) -> int:
        """c: the number of literals gained, including those of the first phase."""
        held = [{literal for group in phase.literals for literal in group} for phase in self.phases]
        return len(held[0]) + sum(len(after - before) for before, after in pairwise(held))

    @property
    def norm(self) -> float | None:
        """The norm of the separator."""
        return None if self.separator is None else float(np.linalg.norm(self.separator))

    @property
    def witness(self) -> NDArray[np.float64] | None:
        """u: the separator, normalised."""
        return None if self.separator is None else self.separator / np.linalg.norm(self.separator)

    @property
    def gamma(self) -> float | None:
        """γ: the margin of the normalised separator, for examples whose label is not flipped."""
        if self.separator is None or self.margin is None:
            return None
        return self.margin / float(np.linalg.norm(self.separator))

    def radius(self, bias: bool = True) -> float:
        """R ≥ ‖x‖, or ≥ ‖(1, x)‖: no example can be longer. The longest one that comes may well be shorter; the
        stream's own `radius` measures it.

        Without a bias a separator counts only if its first number is 0.
        """
        return math.sqrt(self.largest + bias)

    def as_dict(self) -> dict[str, Any]:
        """Return the ground truth for JSON; of the separator only nonzero weights."""
        known: dict[str, Any] = {
            "concept": self.concept,
            "rule": self.rule,
            "attributes": self.n,
            "relevant": self.k,
            "examples": self.examples,
            "flipped": self.flipped,
            "cost": self.cost,
            "phases": [{"start": start, "literals": literals} for start, literals in self.phases],
            "radius": self.radius(bias=False),
            "radius_with_bias": self.radius(bias=True),
            "separator": None,
            "margin": self.margin,
            "gamma": self.gamma,
        }
        if self.separator is not None:
            weights = {int(j): float(self.separator[j]) for j in np.flatnonzero(self.separator[1:]) + 1}
            known["separator"] = {"bias": float(self.separator[0]), "weights": weights}
        if self.sides:
            known["sides"] = [side._asdict() for side in self.sides]
        return known
