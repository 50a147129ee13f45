"""Bounds on the error on new data from the mistakes on a stream of independent draws from one distribution.

Progressive validation predicts each of m examples before learning it; M predictions are wrong. Hypothesis H_0
predicts the first example, H_1 (after one example) the second, and so on to H_(m−1). Each bound holds with
probability at least 1 − δ over the stream, except `random_stopping`, which is about a mean. Results are rounded to
the safe side.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from novikoff.errors import InputError
from novikoff.theory import validation
from novikoff.theory.directed_rounding import (
    DOWN,
    UP,
    Number,
    decimal_above,
    decimal_below,
    float_above,
    integer_above,
    ln_above,
    sqrt_above,
    to_fraction,
)

# --- All hypotheses together ---


def progressive(*, mistakes: int, examples: int, delta: Number) -> float:
    """Return M/m + √(ln(1/δ)/(2m)), a bound on the mean error of the hypotheses H_0 … H_(m−1).

    M is `mistakes`, m is `examples`, δ is `delta` (Blum, Kalai and Langford 1999).

    >>> round(progressive(mistakes=100, examples=1000, delta=0.05), 4)
    0.1387
    """
    share, many, failed = *_mistake_rate(mistakes, examples), validation.check_delta(delta)
    return float_above(UP.add(share, _deviation(ln_above(1 / failed), 2 * many)))


def random_stopping(*, mistakes: int, examples: int) -> float:
    """Return M/m, the expected error of a hypothesis drawn uniformly from H_0 … H_(m−1), over all streams.

    M is `mistakes`, m is `examples`.

    >>> random_stopping(mistakes=100, examples=1000)
    0.1
    """
    return float_above(_mistake_rate(mistakes, examples)[0])


def voted(*, mistakes: int, examples: int, delta: Number) -> float:
    """Return 2·(M/m + √(ln(1/δ)/(2m))), a bound for the vote of H_0 … H_(m−1).

    M is `mistakes`, m is `examples`, δ is `delta`. Where the vote is wrong, at least half of the hypotheses are
    wrong.

    >>> round(voted(mistakes=100, examples=1000, delta=0.05), 4)
    0.2774
    """
    share, many, failed = *_mistake_rate(mistakes, examples), validation.check_delta(delta)
    return float_above(UP.multiply(2, UP.add(share, _deviation(ln_above(1 / failed), 2 * many))))


# --- One hypothesis, chosen by its run without a mistake ---


def trial_length(*, stretch: int, epsilon: Number, delta: Number) -> int:
    """Return the number of examples without a mistake that proves an error of at most ε in controlled testing.

    It is (1/ε)·ln(1/δ_i) with δ_i = δ/(i + 2)², where i = 0, 1, 2 … is `stretch`, ε is `epsilon` and δ is `delta`. A
    hypothesis with error above ε survives that long with probability below (1 − ε)^n ≤ δ_i, and Σ δ_i < δ.

    >>> [trial_length(stretch=i, epsilon=0.1, delta=0.05) for i in (0, 1, 100)]
    [44, 52, 123]
    """
    number = validation.check_count("i, the number of the stretch,", stretch, 0)
    error, failed = validation.check_epsilon(epsilon), validation.check_delta(delta)
    return integer_above(UP.divide(ln_above((number + 2) ** 2 / failed), decimal_below(error)))


def trial_lengths(*, first: int, count: int, epsilon: Number, delta: Number) -> list[int]:
    """Return `trial_length` for `count` consecutive stretches.

    Floating-point arithmetic decides wherever the result is far enough from an integer.

    >>> trial_lengths(first=0, count=3, epsilon=0.1, delta=0.05)
    [44, 52, 58]
    """
    error, failed, found = float(validation.check_epsilon(epsilon)), float(validation.check_delta(delta)), []
    for i in range(first, first + count):
        near = (2.0 * math.log(i + 2) - math.log(failed)) / error
        clear = abs(near - round(near)) > 1e-12 * (1.0 + near) and failed > 1e-300 and error > 1e-300
        found.append(math.ceil(near) if clear else trial_length(stretch=i, epsilon=epsilon, delta=delta))
    return found


def stretch_length(*, changes: int, epsilon: Number, delta: Number) -> int:
    """Return (1/ε)·ln(M/δ), the number of examples without a mistake that next-stretch needs.

    M is `changes`, the maximum number of changes of the learner; ε is `epsilon` and δ is `delta`. After M changes the
    error is 0, so M hypotheses need the test. Among M·n examples, either n in a row pass or all M changes occur.

    >>> stretch_length(changes=100, epsilon=0.1, delta=0.05)
    77
    """
    most = validation.check_count("M, the most changes,", changes, 1)
    error, failed = validation.check_epsilon(epsilon), validation.check_delta(delta)
    return integer_above(UP.divide(ln_above(most / failed), decimal_below(error)))


def sample_size(*, changes: int, epsilon: Number, delta: Number) -> int:
    """Return (M/ε)·ln(M/δ) as M stretches, a number of examples that is enough for next-stretch.

    >>> sample_size(changes=100, epsilon=0.1, delta=0.05)
    7700
    """
    return changes * stretch_length(changes=changes, epsilon=epsilon, delta=delta)


def max_mistakes(*, radius: Number, margin: Number, width: Number = 0) -> int:
    """Return ⌊(R/γ)²⌋ for the Perceptron, or ⌊(R² + 2g)/γ²⌋ where it updates on every y·w·x < g.

    R is `radius`, γ is `margin`, g is `width`.

    >>> max_mistakes(radius=1, margin=0.1), max_mistakes(radius=1, margin=0.1, width=0.5)
    (100, 200)
    """
    for name, value in (("R, the radius,", radius), ("γ, the margin,", margin)):
        if isinstance(value, bool) or not isinstance(value, Number) or not 0 < value < math.inf:
            raise InputError(f"{name} must be a number above 0, got {value!r}.")
    ratio = to_fraction(radius) / to_fraction(margin)
    if ratio < 1:
        raise InputError(
            f"R, the radius, must not be below γ, the margin, for y·u·x ≤ ‖x‖ where ‖u‖ = 1; they are {radius} and"
            f" {margin}."
        )
    return math.floor(ratio**2 + 2 * to_fraction(width) / to_fraction(margin) ** 2)


def survivor(*, stretch: int, length: int, delta: Number) -> float:
    """Return 1 − δ_i^(1/S), δ_i = δ/((i+1)(i+2)), a bound for a hypothesis that was correct S times in a row.

    i = 0, 1, 2 … is `stretch`, S is `length`, δ is `delta`. A hypothesis with error p survives S examples with
    probability (1 − p)^S, so (1 − p)^S < δ_i has probability below δ_i, and Σ δ_i = δ. The bound holds for all
    stretches at once and at any time, hence for the longest.

    >>> round(survivor(stretch=7, length=1000, delta=0.05), 4)
    0.0072
    """
    number = validation.check_count("i, the number of the stretch,", stretch, 0)
    many = validation.check_count("S, the length of the stretch,", length, 1)
    failed = validation.check_delta(delta) / ((number + 1) * (number + 2))
    power = UP.divide(ln_above(1 / failed), decimal_below(Fraction(many)))
    # For tiny powers the difference cancels, while the upper bound 1 − e^(−x) ≤ x is accurate.
    return min(1.0, float_above(min(power, UP.subtract(1, DOWN.next_minus(DOWN.exp(-power))))))


# --- One hypothesis, chosen by its later mistakes ---


def penalised(*, mistakes: int, examples: int, delta: Number) -> float:
    """Return M/m + 6·√(ln(2(m+1)/δ)/m), a bound for the suffix hypothesis with the least penalised error.

    M is `mistakes`, m is `examples`, δ is `delta` (Cesa-Bianchi, Conconi and Gentile 2004).

    >>> round(penalised(mistakes=100, examples=100_000, delta=0.05), 4)
    0.075
    """
    share, many, failed = *_mistake_rate(mistakes, examples), validation.check_delta(delta)
    return float_above(UP.add(share, UP.multiply(6, _deviation(ln_above(2 * (many + 1) / failed), many))))


def penalised_error(*, mistakes: int, left: int, examples: int, delta: Number) -> float:
    """Return k/n + √(ln(2m(m+1)/δ)/(2n)), the penalised error that the choice minimizes.

    k is `mistakes` on the n examples (`left`) that followed the hypothesis, out of m (`examples`). By Hoeffding's
    inequality no hypothesis has an error above it, except with probability δ/(2(m+1)).

    >>> round(penalised_error(mistakes=3, left=900, examples=1000, delta=0.05), 4)
    0.1019
    """
    many, failed = validation.check_examples(examples), validation.check_delta(delta)
    share, rest = _mistake_rate(mistakes, left)
    if rest > many:
        raise InputError(f"n, the later examples, can't be more than m, all examples: got n = {rest}, m = {many}.")
    return float_above(UP.add(share, _deviation(ln_above(2 * many * (many + 1) / failed), 2 * rest)))


def _mistake_rate(mistakes: int, examples: int) -> tuple[Decimal, int]:
    """Return M/m, rounded up, and m."""
    many = validation.check_examples(examples)
    return decimal_above(Fraction(validation.check_count("M, the number of mistakes,", mistakes, 0, many), many)), many


def _deviation(ln: Decimal, many: int) -> Decimal:
    """Return √(ln/many), rounded up."""
    return sqrt_above(UP.divide(ln, decimal_below(Fraction(many))))
