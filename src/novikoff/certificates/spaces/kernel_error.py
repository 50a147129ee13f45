"""How far a computed value of a kernel may be from the true one.

Each step of the program is gone through once more with a bound on the error beside the value: |computed − true| ≤ E.
A sum of n products in double precision is off by at most n·2⁻⁵³·Σ|products|, a little more where products are rounded,
and Σ|products| ≤ ‖x‖·‖z‖; we allow twice that. Sums and products of inexact numbers follow the rules of intervals; exp
is off by what `exponential.py` says. The bounds themselves are computed in double precision and raised by 10⁻⁹ of
themselves at the end, which is far more than their own few operations can lose.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.kernels import bytecode as p
from novikoff.kernels.reproducible_exp import (ABSOLUTE, NOTES, RELATIVE, exponentials, powers_of_two)

UNIT = 2.0**-52
RAISED = 1.0 + 1e-9
LN2_UP = 0.6931471805599454


class Rough(NamedTuple):
    """Values, and how far each may be off."""

    value: NDArray[np.float64]
    error: NDArray[np.float64]

    def plus(self, other: Rough | float) -> Rough:
        value = self.value + (other.value if isinstance(other, Rough) else other)
        more = other.error if isinstance(other, Rough) else 0.0
        return Rough(value, self.error + more + UNIT * np.abs(value))

    def times(self, other: Rough | float) -> Rough:
        if not isinstance(other, Rough):
            value = self.value * other
            return Rough(value, abs(other) * self.error + UNIT * np.abs(value) + ABSOLUTE)
        value = self.value * other.value
        both = np.abs(self.value) * other.error + np.abs(other.value) * self.error + self.error * other.error
        return Rough(value, both + UNIT * np.abs(value) + ABSOLUTE)

    def raised(self, exponent: int) -> Rough:
        result, square = None, self
        while exponent > 0:
            if exponent % 2 == 1:
                result = square if result is None else result.times(square)
            square, exponent = square.times(square) if exponent > 1 else square, exponent // 2
        return result or self

    def exp(self, *, two: bool) -> Rough:
        """e^v, or 2^v. An argument that is off by d makes a factor of e^d, which is below 1 + d + d² for d ≤ 1."""
        flat = np.ascontiguousarray(self.value).reshape(-1).copy()
        notes = np.zeros((NOTES, max(1, flat.size)))
        (powers_of_two if two else exponentials)(flat, flat.size, notes, notes.view(np.int64))
        value = flat.reshape(self.value.shape)
        off = self.error * LN2_UP if two else self.error
        with np.errstate(over="ignore", invalid="ignore"):
            error = value * (off + off * off + 2.0 * RELATIVE) * (1.0 + 4.0 * RELATIVE) + 4.0 * ABSOLUTE
            return Rough(value, np.where(off <= 1.0, error, np.inf))


def rough(
    program: Any,
    dots: NDArray[np.float64],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    terms: int,
) -> Rough:
    """K with errors, without end where nothing is known: dots are x·z, as computed, left and right are ‖x‖² and ‖z‖²,
    in shapes that fit together, of so many terms at most."""
    slip, least = (terms + 4) * UNIT, 4.0 * (terms + 4) * ABSOLUTE  # a product may be too small to be a number
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.sqrt(left + least) * np.sqrt(right + least) * (1.0 + 2.0 * slip)
        dot = Rough(dots, slip * sizes + least)
        both = left + right
        apart = Rough(both, slip * both + 2.0 * least).plus(dot.times(-2.0))
        result = _run(program, dot, apart)
        known = np.isfinite(result.value) & np.isfinite(result.error)
        return Rough(np.where(known, result.value, 0.0), np.where(known, result.error * RAISED, np.inf))


def _run(program: Any, dot: Rough, apart: Rough) -> Rough:
    stack: list[Rough] = []
    for s in range(len(program.steps) // 2):
        step, whole, number = int(program.steps[2 * s]), int(program.steps[2 * s + 1]), float(program.numbers[s])
        if step == p.DOT:
            stack.append(dot)
        elif step == p.RBF:
            stack.append(Rough(np.maximum(apart.value, 0.0), apart.error).times(-number).exp(two=False))
        elif step == p.TWO:
            stack.append(dot.exp(two=True))
        elif step == p.AGREE:
            stack.append(apart.times(-1.0).exp(two=True))
        elif step == p.CONSTANT:
            stack.append(Rough(np.full(dot.value.shape, number), np.zeros(dot.value.shape)))
        elif step == p.TIMES:
            stack.append(stack.pop().times(number))
        elif step == p.PLUS:
            stack.append(stack.pop().plus(number))
        elif step == p.POWER:
            stack.append(stack.pop().raised(whole))
        elif step == p.EXP:
            stack.append(stack.pop().exp(two=False))
        elif step == p.SERIES:
            stack.append(_series(stack.pop(), program.numbers[whole : whole + int(number)].tolist()))
        else:
            top = stack.pop()
            stack.append(stack.pop().plus(top) if step == p.ADD else stack.pop().times(top))
    return stack[0]


def _series(k: Rough, coefficients: list[float]) -> Rough:
    total = Rough(np.full(k.value.shape, coefficients[-1]), np.zeros(k.value.shape))
    for c in reversed(coefficients[:-1]):
        total = total.times(k).plus(c)
    return total
