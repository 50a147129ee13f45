"""exp and 2^t in plain arithmetic: the same bits on every machine and in every loop, with an error that is known.

x = k·ln 2 + r, k the nearest whole number, so that |r| ≤ ½ln 2 and a little; exp(r) by its series up to r¹³, whose rest
is below 2⁻⁵⁷; then times 2^k. k·ln 2 is taken off in two pieces, the first of which is exact: r is off by less than
2⁻⁵³·0.35 + 2⁻⁶², and the last steps of Horner's rule are 1 + r·(…), each off by 2⁻⁵³ of less than 1.42: together less
than 4 units of 2⁻⁵³ of the result, where it is a normal number. Below that it is off by less than 2⁻¹⁰⁷⁴.

There is no jump and no table in it, so that several are computed side by side. Adding 1½·2⁵² rounds to a whole number,
which is then in the last bits; 2^k is made by putting k where a number has its exponent, in two halves, for 2^k alone
may be too small or too large to be a number.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_not_inlined

EXP_RELATIVE_ERROR = 4.0 * 2.0**-53
EXP_ABSOLUTE_ERROR = 2.0**-1074
SCRATCH_ROWS = 2
"""Rows that are needed to write notes on."""
ROUNDING_SHIFT = 1.5 * 2.0**52
ROUNDING_SHIFT_BITS = 0x4338000000000000
LN2, LOG2E = math.log(2.0), 1.0 / math.log(2.0)
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10


@compiled
def exp_series(r: float) -> float:
    """Return exp(r) for small r."""
    s = 1.0 / 6227020800.0
    s = s * r + 1.0 / 479001600.0
    s = s * r + 1.0 / 39916800.0
    s = s * r + 1.0 / 3628800.0
    s = s * r + 1.0 / 362880.0
    s = s * r + 1.0 / 40320.0
    s = s * r + 1.0 / 5040.0
    s = s * r + 1.0 / 720.0
    s = s * r + 1.0 / 120.0
    s = s * r + 1.0 / 24.0
    s = s * r + 1.0 / 6.0
    s = s * r + 0.5
    s = s * r + 1.0
    return s * r + 1.0


@compiled
def scale_by_power_of_two(
    row: NDArray[np.float64], count: int, scratch: NDArray[np.float64], bits: NDArray[np.int64]
) -> None:
    """Multiply each number by 2^k; k + ROUNDING_SHIFT is in the first row of notes, `bits` are the notes as
    integers."""
    for q in range(count):
        k = bits[0, q] - ROUNDING_SHIFT_BITS
        half = k >> 1
        bits[0, q] = (half + 1023) << 52
        bits[1, q] = (k - half + 1023) << 52
    for q in range(count):
        row[q] = row[q] * scratch[0, q] * scratch[1, q]


@compiled_not_inlined
def exp_in_place(row: NDArray[np.float64], count: int, scratch: NDArray[np.float64], bits: NDArray[np.int64]) -> None:
    """Replace each of the first `count` numbers by its exponential."""
    for q in range(count):
        x = row[q]
        x = -746.0 if x < -746.0 else x
        x = 710.0 if x > 710.0 else x
        y = x * LOG2E + ROUNDING_SHIFT
        k = y - ROUNDING_SHIFT
        row[q] = exp_series((x - k * LN2_HIGH) - k * LN2_LOW)
        scratch[0, q] = y
    scale_by_power_of_two(row, count, scratch, bits)


@compiled_not_inlined
def exp2_in_place(row: NDArray[np.float64], count: int, scratch: NDArray[np.float64], bits: NDArray[np.int64]) -> None:
    """Replace each t by 2^t, exactly where t is a whole number."""
    for q in range(count):
        t = row[q]
        t = -1076.0 if t < -1076.0 else t
        t = 1025.0 if t > 1025.0 else t
        y = t + ROUNDING_SHIFT
        row[q] = exp_series((t - (y - ROUNDING_SHIFT)) * LN2)
        scratch[0, q] = y
    scale_by_power_of_two(row, count, scratch, bits)
