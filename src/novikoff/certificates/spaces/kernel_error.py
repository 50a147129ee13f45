"""Error bounds of computed kernel values.

Each step of the kernel's program is repeated with an error bound beside the value: |computed − true| ≤ E. A sum of n
products in double precision is off by at most n·2⁻⁵³·Σ|products|, plus the rounding of the products, and Σ|products|
≤ ‖x‖·‖z‖; the code allows twice that. Sums and products of inexact numbers follow interval arithmetic. The error of
exp is documented in `kernels.reproducible_exp`. The bounds are computed in double precision and raised by the factor
1 + 10⁻⁹ at the end, which exceeds their own rounding errors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.kernels import bytecode as p
from novikoff.kernels.reproducible_exp import (
    EXP_ABSOLUTE_ERROR,
    EXP_RELATIVE_ERROR,
    SCRATCH_ROWS,
    exp2_in_place,
    exp_in_place,
)

MACHINE_EPSILON = 2.0**-52
ROUND_UP_FACTOR = 1.0 + 1e-9
LN2_UP = 0.6931471805599454


class ValueWithError(NamedTuple):
    """Values with the maximum error of each."""

    value: NDArray[np.float64]
    error: NDArray[np.float64]

    def add(self, other: ValueWithError | float) -> ValueWithError:
        value = self.value + (other.value if isinstance(other, ValueWithError) else other)
        more = other.error if isinstance(other, ValueWithError) else 0.0
        return ValueWithError(value, self.error + more + MACHINE_EPSILON * np.abs(value))

    def multiply(self, other: ValueWithError | float) -> ValueWithError:
        if not isinstance(other, ValueWithError):
            value = self.value * other
            return ValueWithError(value, abs(other) * self.error + MACHINE_EPSILON * np.abs(value) + EXP_ABSOLUTE_ERROR)
        value = self.value * other.value
        both = np.abs(self.value) * other.error + np.abs(other.value) * self.error + self.error * other.error
        return ValueWithError(value, both + MACHINE_EPSILON * np.abs(value) + EXP_ABSOLUTE_ERROR)

    def to_power(self, exponent: int) -> ValueWithError:
        result, square = None, self
        while exponent > 0:
            if exponent % 2 == 1:
                result = square if result is None else result.multiply(square)
            square, exponent = square.multiply(square) if exponent > 1 else square, exponent // 2
        return result or self

    def exp(self, *, two: bool) -> ValueWithError:
        """Return e^v, or 2^v. An error d of the argument gives a factor e^d, which is below 1 + d + d² for d ≤ 1."""
        flat = np.ascontiguousarray(self.value).reshape(-1).copy()
        notes = np.zeros((SCRATCH_ROWS, max(1, flat.size)))
        (exp2_in_place if two else exp_in_place)(flat, flat.size, notes, notes.view(np.int64))
        value = flat.reshape(self.value.shape)
        off = self.error * LN2_UP if two else self.error
        with np.errstate(over="ignore", invalid="ignore"):
            error = (
                value * (off + off * off + 2.0 * EXP_RELATIVE_ERROR) * (1.0 + 4.0 * EXP_RELATIVE_ERROR)
                + 4.0 * EXP_ABSOLUTE_ERROR
            )
            return ValueWithError(value, np.where(off <= 1.0, error, np.inf))


def evaluate_with_error(
    program: Any, dots: NDArray[np.float64], left: NDArray[np.float64], right: NDArray[np.float64], terms: int
) -> ValueWithError:
    """Evaluate K with errors, infinite where nothing is known.

    `dots` are the computed x·z; `left` and `right` are ‖x‖² and ‖z‖², in broadcastable shapes; `terms` is the maximum
    number of terms of a row.
    """
    slip, least = ((terms + 4) * MACHINE_EPSILON, 4.0 * (terms + 4) * EXP_ABSOLUTE_ERROR)  # products may underflow
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = np.sqrt(left + least) * np.sqrt(right + least) * (1.0 + 2.0 * slip)
        dot = ValueWithError(dots, slip * sizes + least)
        both = left + right
        apart = ValueWithError(both, slip * both + 2.0 * least).add(dot.multiply(-2.0))
        result = _run_program(program, dot, apart)
        known = np.isfinite(result.value) & np.isfinite(result.error)
        return ValueWithError(
            np.where(known, result.value, 0.0), np.where(known, result.error * ROUND_UP_FACTOR, np.inf)
        )


def _run_program(program: Any, dot: ValueWithError, apart: ValueWithError) -> ValueWithError:
    stack: list[ValueWithError] = []
    for s in range(len(program.steps) // 2):
        step, whole, number = int(program.steps[2 * s]), int(program.steps[2 * s + 1]), float(program.numbers[s])
        if step == p.DOT:
            stack.append(dot)
        elif step == p.RBF:
            stack.append(ValueWithError(np.maximum(apart.value, 0.0), apart.error).multiply(-number).exp(two=False))
        elif step == p.CONJUNCTIONS:
            stack.append(dot.exp(two=True))
        elif step == p.SIGNED_CONJUNCTIONS:
            stack.append(apart.multiply(-1.0).exp(two=True))
        elif step == p.CONSTANT:
            stack.append(ValueWithError(np.full(dot.value.shape, number), np.zeros(dot.value.shape)))
        elif step == p.MULTIPLY_BY:
            stack.append(stack.pop().multiply(number))
        elif step == p.ADD_CONSTANT:
            stack.append(stack.pop().add(number))
        elif step == p.POWER:
            stack.append(stack.pop().to_power(whole))
        elif step == p.EXP:
            stack.append(stack.pop().exp(two=False))
        elif step == p.SERIES:
            stack.append(_evaluate_series(stack.pop(), program.numbers[whole : whole + int(number)].tolist()))
        else:
            top = stack.pop()
            stack.append(stack.pop().add(top) if step == p.ADD else stack.pop().multiply(top))
    return stack[0]


def _evaluate_series(k: ValueWithError, coefficients: list[float]) -> ValueWithError:
    total = ValueWithError(np.full(k.value.shape, coefficients[-1]), np.zeros(k.value.shape))
    for c in reversed(coefficients[:-1]):
        total = total.multiply(k).add(c)
    return total
