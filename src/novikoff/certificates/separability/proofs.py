"""The three results of `separable`, each with a proof that `check` verifies from the data alone.

A proof is about z = (1, x) with a bias and z = x without, and about signs: −1 for the label `negative`, +1 for
`positive`. All its numbers follow exactly from the witness and the data, rounded once to the safe side. `check`
recomputes them, so it detects any changed digit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.separability import exact_arithmetic, gordan
from novikoff.certificates.separability.cycling_perceptron import Cycle, verify_cycle
from novikoff.certificates.separability.signed_rows import SignedExamples, encode_known_signs

MAX_ROWS_SHOWN = 8
"""Number of rows of a combination that are printed."""
MAX_DENOMINATOR_SHOWN = 10**6
"""Largest denominator of a weight that is printed as a fraction."""


class DataDescription(NamedTuple):
    """The data that a proof is about."""

    examples: int
    features: int
    bias: bool
    negative: Any
    positive: Any

    def __str__(self) -> str:
        return f"{self.examples:,} examples, {self.features:,} features{' and a bias' if self.bias else ', no bias'}"


@dataclass(frozen=True, eq=False)
class Proof(ABC):
    """Abstract base class of `Separable`, `NotSeparable` and `Undecided`."""

    about: DataDescription
    separable: ClassVar[bool | None] = None

    def check(self, X: Any, y: Any) -> bool:
        """Verify the proof on these examples in exact arithmetic."""
        signs = encode_known_signs(y, self.about.negative, self.about.positive)
        if signs is None:
            return False
        examples = SignedExamples(X, signs, bias=bool(self.about.bias))
        if (examples.count, examples.features) != (self.about.examples, self.about.features):
            return False
        return self._check_exactly(examples)

    @abstractmethod
    def _check_exactly(self, examples: SignedExamples) -> bool:
        """Verify the proof on examples of the described shape."""

    @abstractmethod
    def _proof_to_dict(self) -> dict[str, Any]:
        """Return the numbers of the proof as plain values."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, which `proof_from` reads back. Rows and features are numbered from 0."""
        about = self.about
        return {
            "separable": self.separable,
            "examples": about.examples,
            "features": about.features,
            "fit_intercept": about.bias,
            "labels": {"negative": about.negative, "positive": about.positive},
            **self._proof_to_dict(),
        }


@final
@dataclass(frozen=True, eq=False)
class Separable(Proof):
    """sign_i·u·z_i ≥ γ‖u‖ > 0 and ‖z_i‖ ≤ R for all i: the Perceptron makes at most (R/γ)² mistakes, in any order."""

    witness: NDArray[np.float64]
    """u; its first number is the weight of the bias if there is one."""
    margin: float
    """γ, rounded down."""
    radius: float
    """R, rounded up."""
    allowance: float
    """(R/γ)², rounded up."""
    separable: ClassVar[bool | None] = True

    @classmethod
    def from_witness(
        cls, examples: SignedExamples, about: DataDescription, witness: NDArray[np.float64]
    ) -> Separable | None:
        """Build the proof, or return None if the witness does not separate."""
        measured = exact_arithmetic.measure_separator(examples, witness)
        return None if measured is None else cls(about, witness, *measured)

    def _check_exactly(self, examples: SignedExamples) -> bool:
        return (self.margin, self.radius, self.allowance) == exact_arithmetic.measure_separator(examples, self.witness)

    def _proof_to_dict(self) -> dict[str, Any]:
        numbers = {"margin": self.margin, "radius": self.radius, "allowance": self.allowance}
        return {**numbers, "witness": _to_sparse_dict(self.witness, self.about.bias)}

    def __str__(self) -> str:
        return (
            f"separable   {self.about}\n"
            f"margin      {self.margin:.6g}   (γ = min y·u·x/‖u‖, rounded down)\n"
            f"radius      {self.radius:.6g}   (R = max‖x‖, rounded up)\n"
            f"allowance   {self.allowance:,.6g}   ((R/γ)²: the Perceptron makes no more mistakes, in any order)"
        )


@final
@dataclass(frozen=True, eq=False)
class NotSeparable(Proof):
    """Σ λ_i·sign_i·z_i = 0 with λ ≥ 0, Σλ = 1 (Gordan): a separator u would make Σ λ_i·sign_i·u·z_i both 0 and > 0."""

    rows: tuple[int, ...]
    counts: tuple[int, ...]
    """λ_i = count_i/Σcount for these rows, and 0 for all others."""
    cycle: Cycle | None = None
    """The repetition, if the combination comes from a Perceptron whose weights repeat."""
    separable: ClassVar[bool | None] = False

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """λ of these rows, exactly."""
        total = sum(self.counts)
        return tuple(Fraction(count, total) for count in self.counts)

    def _check_exactly(self, examples: SignedExamples) -> bool:
        whole = all(type(n) is int for n in (*self.rows, *self.counts))
        if not (whole and self.rows and len(self.rows) == len(self.counts) == len(set(self.rows))):
            return False
        if min(self.counts) <= 0 or not 0 <= min(self.rows) <= max(self.rows) < examples.count:
            return False
        cycle_holds = self.cycle is None or verify_cycle(examples, self.cycle)
        return cycle_holds and gordan.sums_to_zero(examples, self.rows, self.counts)

    def _proof_to_dict(self) -> dict[str, Any]:
        # Hexadecimal is fast for long integers; Python limits decimal text to 4300 digits.
        texts = [str(count) if count < 2**63 else hex(count) for count in self.counts]
        proof: dict[str, Any] = {"combination": [list(pair) for pair in zip(self.rows, texts, strict=True)]}
        if self.cycle is not None:
            weights = [str(w) for w in self.cycle.weights]
            proof["cycle"] = {"first": self.cycle.first, "last": self.cycle.last, "weights": weights}
        return proof

    def __str__(self) -> str:
        lines = [
            f"not separable   {self.about}",
            f"Σ λ·y·x = 0     exactly, λ ≥ 0, Σλ = 1, over {len(self.rows):,} rows, numbered from 0 (Gordan)",
        ]
        total = sum(self.counts)
        for row, count in list(zip(self.rows, self.counts, strict=True))[:MAX_ROWS_SHOWN]:
            share = Fraction(count, total)
            text = str(share) if share.denominator < MAX_DENOMINATOR_SHOWN else f"{float(share):.6g} (rounded)"
            lines.append(f"  row {row:<9,} λ = {text}")
        lines += [f"  … and {len(self.rows) - MAX_ROWS_SHOWN:,} more"] if len(self.rows) > MAX_ROWS_SHOWN else []
        if self.cycle is not None:
            first, last = self.cycle.first, self.cycle.last
            lines.append(f"cycle           the Perceptron has the same weights after pass {last} as after pass {first}")
        return "\n".join(lines)


@final
@dataclass(frozen=True, eq=False)
class Undecided(Proof):
    """No decision within the budget, with true facts about the best u found."""

    witness: NDArray[np.float64]
    wrong: int
    """Number of rows with sign_i·u·z_i ≤ 0."""
    margin: float
    """min sign_i·u·z_i/‖u‖, at most 0, rounded down; 0 for u = 0."""
    seconds: float
    """The time limit."""
    tried: tuple[str, ...]

    @classmethod
    def from_witness(
        cls,
        examples: SignedExamples,
        about: DataDescription,
        witness: NDArray[np.float64],
        seconds: float,
        tried: tuple[str, ...],
    ) -> Undecided:
        return cls(about, witness, *exact_arithmetic.count_misclassified(examples, witness), seconds, tried)

    def _check_exactly(self, examples: SignedExamples) -> bool:
        return exact_arithmetic.has_matching_shape(examples, self.witness) and (
            self.wrong,
            self.margin,
        ) == exact_arithmetic.count_misclassified(examples, self.witness)

    def _proof_to_dict(self) -> dict[str, Any]:
        return {
            "wrong": self.wrong,
            "margin": self.margin,
            "time_limit": self.seconds,
            "tried": list(self.tried),
            "witness": _to_sparse_dict(self.witness, self.about.bias),
        }

    def __str__(self) -> str:
        return "\n".join(
            [
                f"undecided   {self.about}",
                f"time limit  {self.seconds:g} seconds; tried: {'; '.join(self.tried)}",
                f"best so far {self.wrong:,} examples on the wrong side, margin {self.margin:.6g}",
            ]
        )


def _to_sparse_dict(u: NDArray[np.float64], bias: bool) -> dict[str, Any]:
    features = u[1:] if bias else u
    used = np.flatnonzero(features)
    pairs = [[int(j), float(features[j])] for j in used]
    return {"intercept": float(u[0]) if bias else None, "weights": pairs}
