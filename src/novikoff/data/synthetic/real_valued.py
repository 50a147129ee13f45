"""Streams of real numbers: a half-space with a stated margin, and an axis-parallel rectangle.

Every value is one of single precision, kept in double: what is written to a file and read again is the same number.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from novikoff.errors import InputError
from novikoff.data.synthetic.checks import share, whole
from novikoff.data.synthetic.sampling import CELLS_AT_A_TIME, ROWS_AT_A_TIME
from novikoff.data.synthetic.base import (CONCEPT, Block, Drawn, random_numbers)
from novikoff.data.synthetic.ground_truth import Phase, Side, Truth
from novikoff.data.rows import Dense

SLACK = 1e-6
"""Rounding to single precision moves u·x and ‖x‖ by less than this where both are at most 1."""
WIDEST = 0.999


def linear_threshold(
    n: int = 20,
    k: int | None = None,
    gamma: float = 0.1,
    *,
    balance: float = 0.5,
    noise: float = 0.0,
    examples: int = 1000,
    seed: int = 0,
) -> Drawn:
    """y·u·x ≥ γ for every example, ‖u‖ = 1, ‖x‖ ≤ 1, and no bias is needed; u weighs k attributes (default: all).

    >>> stream = linear_threshold(n=5, gamma=0.25, examples=1000)
    >>> X, y = stream.whole()
    >>> bool((y * (X @ stream.truth.witness[1:])).min() >= 0.25)
    True
    >>> stream.truth.margin, stream.truth.radius(bias=False)
    (0.25, 1.0)
    """
    k = n if k is None else k
    _check(n, k, examples, seed, balance, noise)
    if not 0.0 < gamma <= WIDEST:
        raise InputError(f"gamma, the margin, must be a number above 0 and at most {WIDEST}, but is {gamma!r}.")
    rng = random_numbers(seed, CONCEPT)
    columns = np.sort(rng.choice(n, k, replace=False))
    separator = np.zeros(n + 1)
    separator[columns + 1] = _unit(rng.standard_normal(k))
    separator.setflags(write=False)
    phases = (Phase(0, tuple((j,) for j in (columns + 1).tolist())),)
    rule = "the product with the separator is positive"
    truth = Truth("linear-threshold", rule, n, k, examples, phases, 1.0, separator, float(gamma))
    return Drawn(_HalfSpace(separator[1:], gamma, balance), truth, noise=noise, seed=seed)


def rectangle(
    n: int = 2,
    k: int | None = None,
    *,
    balance: float = 0.5,
    noise: float = 0.0,
    examples: int = 1000,
    seed: int = 0,
) -> Drawn:
    """Numbers from 0 to 1, positive if k of them (default: all) lie each between two bounds.

    >>> stream = rectangle(n=3, k=1, seed=4)
    >>> attribute, low, high = stream.truth.sides[0]
    >>> X, y = stream.whole()
    >>> inside = (X[:, attribute - 1] >= low) & (X[:, attribute - 1] <= high)
    >>> bool((inside == (y > 0)).all())
    True
    """
    k = n if k is None else k
    _check(n, k, examples, seed, balance, noise)
    rng = random_numbers(seed, CONCEPT)
    columns = np.sort(rng.choice(n, k, replace=False))
    side = balance ** (1.0 / k)
    lows = rng.random(k) * (1.0 - side)
    sides = tuple(Side(j + 1, low, low + side) for j, low in zip(columns.tolist(), lows.tolist(), strict=True))
    phases = (Phase(0, tuple((side.attribute,) for side in sides)),)
    truth = Truth("rectangle", "each side holds its attribute", n, k, examples, phases, float(n), sides=sides)
    return Drawn(_Box(n, sides), truth, noise=noise, seed=seed)


def _check(n: int, k: int, examples: int, seed: int, balance: float, noise: float) -> None:
    whole("n, the number of attributes,", n, 1, 2**31 - 2)
    whole("k, the number of relevant attributes,", k, 1, n)
    whole("examples, their number,", examples, 1)
    whole("seed", seed, 0)
    share("balance, the share of positive examples,", balance, inside=True)
    share("noise, how likely a label is flipped,", noise)


def _rows_at_a_time(n: int) -> int:
    return min(max(CELLS_AT_A_TIME // n, 1), ROWS_AT_A_TIME)


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return vector / np.linalg.norm(vector)


def _rounded(table: NDArray[np.float64]) -> Dense:
    return Dense(table.astype(np.float32).astype(np.float64).reshape(-1), table.shape[1])


class _HalfSpace:
    """x = y·s·u + r·v with v ⟂ u, ‖v‖ = 1, r² = 1 − s²; s is γ and as much more as a random direction has of u."""

    def __init__(self, u: NDArray[np.float64], gamma: float, balance: float) -> None:
        self.u, self.gamma, self.balance = u, gamma, balance
        self.rows_at_a_time = _rows_at_a_time(len(u))

    def draw(self, rng: Generator, count: int, phase: int) -> Block:
        y = np.where(rng.random(count) < self.balance, 1, -1).astype(np.int8)
        least, most = self.gamma + SLACK, 1.0 - SLACK
        s = np.minimum(least + np.abs(rng.standard_normal(count)) / len(self.u) ** 0.5, most)
        r = np.sqrt(most**2 - s**2)
        across = rng.standard_normal((count, len(self.u)))
        for _ in range(2):  # what the first leaves of u, where `across` nearly was u, the second takes
            across -= (across @ self.u)[:, None] * self.u
        norms = np.linalg.norm(across, axis=1)
        r /= np.where(norms > SLACK, norms, np.inf)  # of one attribute nothing is left but rounding
        return _rounded((y * s)[:, None] * self.u + r[:, None] * across), y


class _Box:
    def __init__(self, n: int, sides: tuple[Side, ...]) -> None:
        self.n = n
        self.columns = np.array([side.attribute - 1 for side in sides])
        self.lows, self.highs = np.array([s.low for s in sides]), np.array([s.high for s in sides])
        self.rows_at_a_time = _rows_at_a_time(n)

    def draw(self, rng: Generator, count: int, phase: int) -> Block:
        values = rng.random((count, self.n), np.float32).astype(np.float64)
        relevant = values[:, self.columns]
        inside = ((relevant >= self.lows) & (relevant <= self.highs)).all(axis=1)
        return Dense(values.reshape(-1), self.n), np.where(inside, 1, -1).astype(np.int8)
