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
"""The literals, clause by clause or term by term; a group of its own for each where a concept has no groups."""


class ConceptPhase(NamedTuple):
    """What holds from example `start` on, counted from 0, until the next phase."""

    start: int
    literals: Literals


class RectangleSide(NamedTuple):
    """low ≤ attribute ≤ high."""

    attribute: int
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """Everything that the bounds ask for, guaranteed by how the stream is made and not measured on it."""

    concept: str
    rule: str
    """When an example is positive."""
    n: int
    """Attributes."""
    k: int
    """Relevant literals at any time."""
    examples: int
    phases: tuple[ConceptPhase, ...]
    """The literals; more than one phase where the concept drifts."""
    largest: float
    """‖x‖² is at most this, without bias."""
    separator: NDArray[np.float64] | None = None
    """(bias, weights …), n + 1 numbers, whole ones for Boolean concepts; None where the concept is not a half-space,
    and where it drifts."""
    margin: float | None = None
    """y·separator·(1, x) is at least this for every example whose label is not flipped."""
    sides: tuple[RectangleSide, ...] = ()
    """Of a rectangle."""
    flipped: int = 0
    """How many labels of the whole stream are wrong."""

    @property
    def literals(self) -> tuple[int, ...]:
        """Those of the beginning, in one row."""
        return tuple(literal for group in self.phases[0].literals for literal in group)

    @property
    def cost(self) -> int:
        """c: literals gained in all, those of the beginning included."""
        held = [{literal for group in phase.literals for literal in group} for phase in self.phases]
        return len(held[0]) + sum(len(after - before) for before, after in pairwise(held))

    @property
    def norm(self) -> float | None:
        """‖separator‖."""
        return None if self.separator is None else float(np.linalg.norm(self.separator))

    @property
    def witness(self) -> NDArray[np.float64] | None:
        """u: the separator at length 1."""
        return None if self.separator is None else self.separator / np.linalg.norm(self.separator)

    @property
    def gamma(self) -> float | None:
        """γ: y·u·(1, x) ≥ γ for every example whose label is not flipped."""
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
        """For JSON; of the separator only what is not 0."""
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
