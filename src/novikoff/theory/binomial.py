"""Exact confidence bounds for the error of one hypothesis from its mistakes on m independent examples.

If the true error is p, at most k mistakes in m are made with probability Σ_{i≤k} C(m, i)·p^i·(1−p)^(m−i). The largest
p for which this probability is at least δ is an upper bound that holds with probability 1 − δ. No method that sees
only k and m has a smaller bound for every k. It is never above Hoeffding's p̂ + √(ln(1/δ)/(2m)).

Source: Clopper and Pearson 1934.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from math import comb

from novikoff.errors import InputError
from novikoff.theory import validation
from novikoff.theory.directed_rounding import (
    DOWN,
    UP,
    Number,
    decimal_above,
    decimal_below,
    find_largest_float,
    find_least_float,
    float_above,
    ln_above,
    ln_below,
)
from novikoff.theory.factorials import ln_factorial

NEGLIGIBLE_RATIO = Decimal("1e-25")
"""Terms below this share of the sum so far are bounded together by a geometric series."""
MAX_EXACT_BITS = 2000
"""Largest number of bits of the fractions for which the tail is summed exactly."""
MAX_EXAMPLES = 10**8
"""Largest number of examples. Beyond it the sums are slow, and Hoeffding's inequality is nearly as sharp."""


def upper(*, mistakes: int, examples: int, delta: Number) -> float:
    """Return the least p with Pr[at most k mistakes in m] ≤ δ, an upper bound on the true error with probability 1 −
    δ.

    >>> round(upper(mistakes=0, examples=10, delta=0.025), 4), round(upper(mistakes=10, examples=100, delta=0.025), 4)
    (0.3085, 0.1762)
    """
    k, n_examples, failed = *_check_counts(mistakes, examples), validation.check_delta(delta)
    limit = DOWN.divide(failed.numerator, failed.denominator)
    return find_least_float(lambda p: _tail_probability(k, n_examples, p) <= limit)


def lower(*, mistakes: int, examples: int, delta: Number) -> float:
    """Return the largest p with Pr[at least k mistakes in m] ≤ δ, a lower bound on the true error with probability 1
    − δ.

    >>> round(lower(mistakes=10, examples=100, delta=0.025), 4)
    0.049
    """
    k, n_examples, failed = *_check_counts(mistakes, examples), validation.check_delta(delta)
    limit = DOWN.divide(failed.numerator, failed.denominator)
    # By symmetry: swap mistakes and correct predictions.
    return find_largest_float(lambda p: _tail_probability(n_examples - k, n_examples, 1 - p) <= limit) if k else 0.0


def failure(*, mistakes: int, examples: int, epsilon: Number) -> float:
    """Return δ = Pr[at most k mistakes in m] for the error ε.

    >>> failure(mistakes=0, examples=3, epsilon=0.5)
    0.125
    """
    k, n_examples, wrong = *_check_counts(mistakes, examples), validation.check_epsilon(epsilon)
    return min(1.0, float_above(_tail_probability(k, n_examples, wrong)))


def examples(*, mistakes: int, epsilon: Number, delta: Number) -> int:
    """Return the least m for which k mistakes prove an error of at most ε with probability 1 − δ.

    >>> examples(mistakes=0, epsilon=0.05, delta=0.05), examples(mistakes=1, epsilon=0.05, delta=0.05)
    (59, 93)
    """
    k = validation.check_count("k, the number of mistakes,", mistakes, 0, MAX_EXAMPLES)
    wrong, failed = validation.check_epsilon(epsilon), validation.check_delta(delta)
    limit = DOWN.divide(failed.numerator, failed.denominator)

    def holds(n_examples: int) -> bool:
        return n_examples > k and _tail_probability(k, n_examples, wrong) <= limit

    high = k + 1
    while not holds(high):
        high *= 2
        if high > MAX_EXAMPLES:
            raise InputError(f"This takes more than {MAX_EXAMPLES:,} examples: choose a larger ε or δ.")
    low = k
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _check_counts(mistakes: int, examples: int) -> tuple[int, int]:
    n_examples = validation.check_count("m, the number of examples,", examples, 1, MAX_EXAMPLES)
    return validation.check_count("k, the number of mistakes,", mistakes, 0, n_examples), n_examples


def _tail_probability(k: int, n_examples: int, p: Fraction) -> Decimal:
    """Return Pr[at most k of m], rounded up. Above the mean, compute 1 minus the other tail."""
    if k >= n_examples:
        return Decimal(1)
    if n_examples * p.denominator.bit_length() <= MAX_EXACT_BITS:
        return decimal_above(
            sum((comb(n_examples, i) * p**i * (1 - p) ** (n_examples - i) for i in range(k + 1)), Fraction(0))
        )
    if k <= p * n_examples:
        return _sum_tail(k, n_examples, p, UP)
    return UP.subtract(1, _sum_tail(n_examples - k - 1, n_examples, 1 - p, DOWN))


def _sum_tail(k: int, n_examples: int, p: Fraction, side: Context) -> Decimal:
    """Return Pr[at most k of m] for k up to the mean, summed from the largest term down.

    The terms decrease at least as fast as a geometric series, which bounds the ones that are left out.
    """
    odds = decimal_above((1 - p) / p) if side is UP else decimal_below((1 - p) / p)
    term = total = _tail_term(k, n_examples, p, side)
    for i in range(k, 0, -1):
        ratio = side.divide(side.multiply(odds, i), n_examples - i + 1)
        term = side.multiply(term, ratio)
        total = side.add(total, term)
        if ratio < 1 and term < side.multiply(total, NEGLIGIBLE_RATIO):
            rest = UP.divide(UP.multiply(term, ratio), DOWN.subtract(1, ratio))
            return UP.add(total, rest) if side is UP else total
    return total


def _tail_term(k: int, n_examples: int, p: Fraction, side: Context) -> Decimal:
    """Return C(m, k)·p^k·(1 − p)^(m − k)."""
    every, some, others = (ln_factorial(n) for n in (n_examples, k, n_examples - k))
    if side is UP:
        ln = UP.subtract(UP.subtract(every.high, some.low), others.low)
        ln = UP.add(ln, UP.multiply(k, ln_above(p)))
        return UP.next_plus(UP.exp(UP.add(ln, UP.multiply(n_examples - k, ln_above(1 - p)))))
    ln = DOWN.subtract(DOWN.subtract(every.low, some.high), others.high)
    ln = DOWN.add(ln, DOWN.multiply(k, ln_below(p)))
    return DOWN.next_minus(DOWN.exp(DOWN.add(ln, DOWN.multiply(n_examples - k, ln_below(1 - p)))))
