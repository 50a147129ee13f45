"""Choice of a witness for each bound: the direction and length of u that minimize the bound on the sample.

A bound is a function of evidence, so the best length is found by evaluating it; this module knows no formulas. The
sample only estimates the measurements on the stream. A poor estimate gives a looser bound, never an invalid one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.measure import compute_margins, max_power_sum
from novikoff.certificates.search.witness_search import BinarySample, compute_norm, minimize_golden_section
from novikoff.data.rows import count_rows
from novikoff.theory.bound_declaration import Bound, Evidence

MAX_MARGINS = 50_000  # for choosing lengths
REUSE_TOLERANCE = 1.0005
LOG_LENGTH_RANGE = 14.0  # lengths from e^−14 to e^14 around R‖u‖ = 1
MIN_NORM = 1e-100  # smaller vectors are rounding errors of 0


class NamedWitness(NamedTuple):
    name: str
    witness: NDArray[np.float32]
    """u; its first number is the weight of the bias, 0 for no bias."""
    widths: tuple[float, ...]
    """The γ·‖u‖ at which squared slacks are measured."""


class _Losses(dict[str, float]):
    """Losses of these margins, each summed on first use."""

    def __init__(self, reached: NDArray[np.float64], share: float) -> None:
        super().__init__()
        self.reached, self.share = reached, share

    def __missing__(self, name: str) -> float:
        m = self.reached
        if name == "hinge":
            each = np.maximum(0.0, 1.0 - m)
        else:
            each = np.logaddexp(0.0, -m) if name == "logistic" else 0.5 * (1.0 - m) ** 2
        self[name] = self.share * float(each.sum())
        return self[name]


class SampleEvidence:
    """Evidence that the sample gives for a direction, at any length."""

    def __init__(
        self, sample: BinarySample, direction: NDArray[np.float64], *, bias: bool, target: Mapping[str, float]
    ) -> None:
        stride = -(-count_rows(sample.rows) // MAX_MARGINS)
        reached = self._compute_margins(sample, direction, bias=bias)
        self.margins = reached[sample.labels != 0][::stride]
        self.least = float(reached[sample.labels != 0].min(initial=math.inf))
        self.share = sample.total / max(1, len(self.margins))
        self.sample, self.direction, self.bias, self.target = sample, direction, bias, target
        self.norm = compute_norm(direction)
        self.powers: dict[float, float] = {}

    def _compute_margins(self, sample: Any, direction: NDArray[np.float64], *, bias: bool) -> NDArray[np.float64]:
        """Return the margin of each example."""
        reached = np.empty(len(sample.labels))
        compute_margins(sample.rows, sample.labels, direction, float(bias), reached)
        return reached

    def evidence(self, length: float, widths: tuple[float, ...] = ()) -> Evidence:
        reached = self.margins * length
        norm = self.norm * length
        return Evidence(
            radius=self.radius_p(2.0),
            radius_p=self.radius_p,
            norm=norm,
            norm_q=lambda q: length * float(np.linalg.norm(self.direction, q)),
            margin=self.least * length,
            losses=_Losses(reached, self.share),
            slack=lambda gamma: math.sqrt(self.share * float((np.maximum(0.0, gamma - reached / norm) ** 2).sum())),
            target=self.target,
            gammas=tuple(width / norm for width in widths),
        )

    def radius_p(self, p: float) -> float:
        if p not in self.powers:
            if p == math.inf:
                largest = float(np.abs(self.sample.rows.values).max(initial=0.0))
                self.powers[p] = max(largest, float(self.bias))
            else:
                self.powers[p] = max_power_sum(self.sample.rows, self.sample.labels, p, float(self.bias)) ** (1.0 / p)
        return self.powers[p]

    @cached_property
    def width(self) -> float:
        """The γ·‖u‖ that minimizes ((R + D₂)/γ)², at length 1; it scales with the length."""
        reached = self.margins
        r = self.radius_p(2.0) * self.norm

        def bound(logarithm: float) -> float:
            width = math.exp(logarithm)
            missing = np.maximum(0.0, width - reached)
            return (r + math.sqrt(self.share * float((missing**2).sum()))) / width

        top = math.log(max(float(np.abs(reached).max(initial=1.0)), 1e-6))
        return math.exp(minimize_golden_section(bound, top - 14.0, top + 2.0))


def select_witnesses(
    bounds: Sequence[Bound],
    directions: Mapping[str, NDArray[np.float64]],
    sample: BinarySample,
    *,
    bias: bool,
    target: Mapping[str, float],
) -> list[NamedWitness]:
    """Return the witness that makes each bound smallest; one witness may serve several bounds."""
    radius = math.sqrt(max_power_sum(sample.rows, sample.labels, 2.0, float(bias)))
    guesses = {
        name: SampleEvidence(sample, direction / (compute_norm(direction) * radius), bias=bias, target=target)
        for name, direction in directions.items()
        if radius > 0.0 and MIN_NORM < compute_norm(direction) < math.inf
    }
    return select_best_witnesses(bounds, guesses)


def select_best_witnesses(bounds: Sequence[Bound], guesses: Mapping[str, SampleEvidence]) -> list[NamedWitness]:
    """Return the witness that makes each bound smallest, among these directions."""
    found: dict[str, NamedWitness] = {}
    taken: list[tuple[str, float]] = []
    for bound in bounds:
        best = min((_find_best_length(bound, guess, name) for name, guess in guesses.items()), default=None)
        if best is not None and math.isfinite(best[0]):
            value, name, length = best
            guess = guesses[name]
            if any(_is_nearly_as_good(bound, guesses[other], at, value) for other, at in taken):
                continue
            taken.append((name, length))
            title = f"{name} for {bound.name}"
            u = (guess.direction * length).astype(np.float32)
            found[title] = NamedWitness(title, u, (1.0, guess.width * length))
    return list(found.values())


def _is_nearly_as_good(bound: Bound, guess: SampleEvidence, length: float, best: float) -> bool:
    """Whether an already selected witness gives a bound within REUSE_TOLERANCE of the best."""
    allowed = bound.value(guess.evidence(length, (guess.width * length,)))
    return allowed is not None and allowed <= best * REUSE_TOLERANCE


def _find_best_length(bound: Bound, guess: SampleEvidence, name: str) -> tuple[float, str, float]:
    """Return the smallest bound, the name of the direction and the length that gives it."""

    def value(logarithm: float) -> float:
        length = math.exp(logarithm)
        allowed = bound.value(guess.evidence(length, (guess.width * length,)))
        return math.inf if allowed is None else allowed

    grid = np.linspace(-LOG_LENGTH_RANGE, LOG_LENGTH_RANGE, 15)
    values = [value(float(at)) for at in grid]
    k = int(np.argmin(values))
    if not math.isfinite(values[k]):
        return math.inf, name, 1.0
    low, high = float(grid[max(0, k - 1)]), float(grid[min(len(grid) - 1, k + 1)])
    at = minimize_golden_section(value, low, high, steps=24)
    if value(at) > values[k]:
        at = float(grid[k])
    return value(at), name, math.exp(at)


def extract_direction(model: Any, bias: bool) -> NDArray[np.float64] | None:
    """Return the model's own weight vector, bias first; None if it has none."""
    try:
        weights = np.concatenate([model.intercept_, model.coef_[0]])
    except AttributeError:
        return None
    if not bias:
        weights[0] = 0.0
    return weights
