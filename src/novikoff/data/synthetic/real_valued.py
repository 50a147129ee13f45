"""Real-valued streams: a half-space with a known margin, and an axis-parallel rectangle.

All values are single-precision numbers stored as doubles: writing them to a file and reading them restores them
exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from novikoff.data.rows import Dense
from novikoff.data.synthetic.base import CONCEPT_RNG, RandomStream, RowsAndLabels, build_rng
from novikoff.data.synthetic.checks import check_fraction, check_integer
from novikoff.data.synthetic.ground_truth import ConceptPhase, GroundTruth, RectangleSide
from novikoff.data.synthetic.sampling import CELLS_PER_BLOCK, MAX_ROWS_PER_BLOCK
from novikoff.errors import InputError

ROUNDING_SLACK = 1e-6
"""Bound for the change of u·x and ‖x‖ by rounding to single precision, where both are at most 1."""
MAX_MARGIN = 0.999


def linear_threshold(
    n: int = 20,
    k: int | None = None,
    gamma: float = 0.1,
    *,
    balance: float = 0.5,
    noise: float = 0.0,
    examples: int = 1000,
    random_state: int = 0,
) -> RandomStream:
    """y·u·x ≥ γ for every example, ‖u‖ = 1, ‖x‖ ≤ 1, and no bias is needed; u weighs k attributes (default: all).

    >>> stream = linear_threshold(n=5, gamma=0.25, examples=1000)
    >>> X, y = stream.to_arrays()
    >>> bool((y * (X @ stream.truth.witness[1:])).min() >= 0.25)
    True
    >>> stream.truth.margin, stream.truth.radius(bias=False)
    (0.25, 1.0)
    """
    k = n if k is None else k
    _check_settings(n, k, examples, random_state, balance, noise)
    if not 0.0 < gamma <= MAX_MARGIN:
        raise InputError(f"gamma, the margin, must be a number above 0 and at most {MAX_MARGIN}, but is {gamma!r}.")
    rng = build_rng(random_state, CONCEPT_RNG)
    columns = np.sort(rng.choice(n, k, replace=False))
    separator = np.zeros(n + 1)
    separator[columns + 1] = _normalize(rng.standard_normal(k))
    separator.setflags(write=False)
    phases = (ConceptPhase(0, tuple((j,) for j in (columns + 1).tolist())),)
    rule = "the product with the separator is positive"
    truth = GroundTruth("linear-threshold", rule, n, k, examples, phases, 1.0, separator, float(gamma))
    return RandomStream(_HalfSpaceSource(separator[1:], gamma, balance), truth, noise=noise, seed=random_state)


def rectangle(
    n: int = 2,
    k: int | None = None,
    *,
    balance: float = 0.5,
    noise: float = 0.0,
    examples: int = 1000,
    random_state: int = 0,
) -> RandomStream:
    """Numbers from 0 to 1, positive if k of them (default: all) lie each between two bounds.

    >>> stream = rectangle(n=3, k=1, random_state=4)
    >>> attribute, low, high = stream.truth.sides[0]
    >>> X, y = stream.to_arrays()
    >>> inside = (X[:, attribute - 1] >= low) & (X[:, attribute - 1] <= high)
    >>> bool((inside == (y > 0)).all())
    True
    """
    k = n if k is None else k
    _check_settings(n, k, examples, random_state, balance, noise)
    rng = build_rng(random_state, CONCEPT_RNG)
    columns = np.sort(rng.choice(n, k, replace=False))
    side = balance ** (1.0 / k)
    lows = rng.random(k) * (1.0 - side)
    sides = tuple(RectangleSide(j + 1, low, low + side) for j, low in zip(columns.tolist(), lows.tolist(), strict=True))
    phases = (ConceptPhase(0, tuple((side.attribute,) for side in sides)),)
    truth = GroundTruth("rectangle", "each side holds its attribute", n, k, examples, phases, float(n), sides=sides)
    return RandomStream(_RectangleSource(n, sides), truth, noise=noise, seed=random_state)


def _check_settings(n: int, k: int, examples: int, random_state: int, balance: float, noise: float) -> None:
    check_integer("n, the number of attributes,", n, 1, 2**31 - 2)
    check_integer("k, the number of relevant attributes,", k, 1, n)
    check_integer("examples, their number,", examples, 1)
    check_integer("random_state", random_state, 0)
    check_fraction("balance, the share of positive examples,", balance, inside=True)
    check_fraction("noise, how likely a label is flipped,", noise)


def _choose_block_rows(n: int) -> int:
    return min(max(CELLS_PER_BLOCK // n, 1), MAX_ROWS_PER_BLOCK)


def _normalize(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return vector / np.linalg.norm(vector)


def _round_to_single(table: NDArray[np.float64]) -> Dense:
    return Dense(table.astype(np.float32).astype(np.float64).reshape(-1), table.shape[1])


class _HalfSpaceSource:
    """x = y·s·u + r·v with v ⟂ u, ‖v‖ = 1, r² = 1 − s²; s is γ and as much more as a random direction has of u."""

    def __init__(self, u: NDArray[np.float64], gamma: float, balance: float) -> None:
        self.u, self.gamma, self.balance = u, gamma, balance
        self.block_rows = _choose_block_rows(len(u))

    def draw(self, rng: Generator, count: int, phase: int) -> RowsAndLabels:
        y = np.where(rng.random(count) < self.balance, 1, -1).astype(np.int8)
        least, most = self.gamma + ROUNDING_SLACK, 1.0 - ROUNDING_SLACK
        s = np.minimum(least + np.abs(rng.standard_normal(count)) / len(self.u) ** 0.5, most)
        r = np.sqrt(most**2 - s**2)
        orthogonal = rng.standard_normal((count, len(self.u)))
        for _ in range(2):  # twice: vectors close to u leave a remainder
            orthogonal -= (orthogonal @ self.u)[:, None] * self.u
        norms = np.linalg.norm(orthogonal, axis=1)
        r /= np.where(norms > ROUNDING_SLACK, norms, np.inf)  # with one attribute only rounding errors are left
        return _round_to_single((y * s)[:, None] * self.u + r[:, None] * orthogonal), y


class _RectangleSource:
    def __init__(self, n: int, sides: tuple[RectangleSide, ...]) -> None:
        self.n = n
        self.columns = np.array([side.attribute - 1 for side in sides])
        self.lows, self.highs = np.array([s.low for s in sides]), np.array([s.high for s in sides])
        self.block_rows = _choose_block_rows(n)

    def draw(self, rng: Generator, count: int, phase: int) -> RowsAndLabels:
        values = rng.random((count, self.n), np.float32).astype(np.float64)
        relevant = values[:, self.columns]
        inside = ((relevant >= self.lows) & (relevant <= self.highs)).all(axis=1)
        return Dense(values.reshape(-1), self.n), np.where(inside, 1, -1).astype(np.int8)
