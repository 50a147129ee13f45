"""From mistakes on a stream to the error on new data, for examples that are drawn independently from one distribution.

M of m examples were predicted wrongly, in progressive validation: H_0 predicts the first, H_1, which has seen one,
the second, and so on to H_(m−1). What the sentences below say holds with probability at least 1 − δ over the stream,
but for random stopping, which is about a mean. Numbers are rounded to the side that keeps them true.
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
    """The mean error of the hypotheses that were used is at most M/m + √(ln(1/δ)/(2m)) (Blum, Kalai, Langford 1999).

    >>> round(progressive(mistakes=100, examples=1000, delta=0.05), 4)
    0.1387
    """
    share, many, failed = *_mistake_rate(mistakes, examples), validation.check_delta(delta)
    return float_above(UP.add(share, _deviation(ln_above(1 / failed), 2 * many)))


def random_stopping(*, mistakes: int, examples: int) -> float:
    """M/m: the expected error of the hypothesis at a time that is drawn at random, in the mean over all streams.

    >>> random_stopping(mistakes=100, examples=1000)
    0.1
    """
    return float_above(_mistake_rate(mistakes, examples)[0])


def voted(*, mistakes: int, examples: int, delta: Number) -> float:
    """The vote of the hypotheses that were used: 2·(M/m + √(ln(1/δ)/(2m))). Where the vote errs, half of them do.

    >>> round(voted(mistakes=100, examples=1000, delta=0.05), 4)
    0.2774
    """
    share, many, failed = *_mistake_rate(mistakes, examples), validation.check_delta(delta)
    return float_above(UP.multiply(2, UP.add(share, _deviation(ln_above(1 / failed), 2 * many))))


# --- One of them, chosen by how long it lasts ---


def trial_length(*, stretch: int, epsilon: Number, delta: Number) -> int:
    """Controlled testing: (1/ε)·ln(1/δ_i) examples in a row without a mistake, δ_i = δ/(i + 2)², show an error of at
    most ε of the hypothesis of stretch i = 0, 1, 2 …

    One whose error is above ε lasts so long with probability below (1 − ε)^n ≤ δ_i, and Σ δ_i < δ.

    >>> [trial_length(stretch=i, epsilon=0.1, delta=0.05) for i in (0, 1, 100)]
    [44, 52, 123]
    """
    number = validation.check_count("i, the number of the stretch,", stretch, 0)
    error, failed = validation.check_epsilon(epsilon), validation.check_delta(delta)
    return integer_above(UP.divide(ln_above((number + 2) ** 2 / failed), decimal_below(error)))


def trial_lengths(*, first: int, count: int, epsilon: Number, delta: Number) -> list[int]:
    """Those of many stretches, sooner: floating-point numbers decide where they are far enough from a whole one.

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
    """Next-stretch: (1/ε)·ln(M/δ) examples in a row without a mistake, for a learner that changes M times at most.

    After M changes the error is 0, so that M hypotheses need the test; and of M·n examples some n in a row pass, or all
    M changes are made.

    >>> stretch_length(changes=100, epsilon=0.1, delta=0.05)
    77
    """
    most = validation.check_count("M, the most changes,", changes, 1)
    error, failed = validation.check_epsilon(epsilon), validation.check_delta(delta)
    return integer_above(UP.divide(ln_above(most / failed), decimal_below(error)))


def sample_size(*, changes: int, epsilon: Number, delta: Number) -> int:
    """(M/ε)·ln(M/δ), as M stretches: so many examples are enough for next-stretch.

    >>> sample_size(changes=100, epsilon=0.1, delta=0.05)
    7700
    """
    return changes * stretch_length(changes=changes, epsilon=epsilon, delta=delta)


def max_mistakes(*, radius: Number, margin: Number, width: Number = 0) -> int:
    """The whole number in (R/γ)², for the Perceptron; in (R² + 2g)/γ² where it updates on every y·w·x < g.

    >>> max_mistakes(radius=1, margin=0.1), max_mistakes(radius=1, margin=0.1, width=0.5)
    (100, 200)
    """
    for name, value in (("R, the radius,", radius), ("γ, the margin,", margin)):
        if isinstance(value, bool) or not isinstance(value, Number) or not 0 < value < math.inf:
            raise InputError(f"{name} must be a number above 0, but is {value!r}.")
    ratio = to_fraction(radius) / to_fraction(margin)
    if ratio < 1:
        raise InputError(
            f"R, the radius, must not be below γ, the margin, for y·u·x ≤ ‖x‖ where ‖u‖ = 1; they are {radius} and"
            f" {margin}."
        )
    return math.floor(ratio**2 + 2 * to_fraction(width) / to_fraction(margin) ** 2)


def survivor(*, stretch: int, length: int, delta: Number) -> float:
    """The hypothesis of stretch i = 0, 1, 2 … that was right S times in a row: 1 − δ_i^(1/S), δ_i = δ/((i+1)(i+2)).

    One with error p lasts s examples with probability (1 − p)^s, so that (1 − p)^S < δ_i has a probability below δ_i;
    Σ δ_i = δ. It holds for all stretches at once and at any time, hence for the longest.

    >>> round(survivor(stretch=7, length=1000, delta=0.05), 4)
    0.0072
    """
    number = validation.check_count("i, the number of the stretch,", stretch, 0)
    many = validation.check_count("S, the length of the stretch,", length, 1)
    failed = validation.check_delta(delta) / ((number + 1) * (number + 2))
    power = UP.divide(ln_above(1 / failed), decimal_below(Fraction(many)))
    # For tiny powers the difference has no digits left, and 1 − e^(−x) ≤ x has all of them.
    return min(1.0, float_above(min(power, UP.subtract(1, DOWN.next_minus(DOWN.exp(-power))))))


# --- One of them, chosen by its mistakes later on ---


def penalised(*, mistakes: int, examples: int, delta: Number) -> float:
    """The suffix hypothesis with the least penalised error: M/m + 6·√(ln(2(m+1)/δ)/m) (Cesa-Bianchi et al. 2004).

    >>> round(penalised(mistakes=100, examples=100_000, delta=0.05), 4)
    0.075
    """
    share, many, failed = *_mistake_rate(mistakes, examples), validation.check_delta(delta)
    return float_above(UP.add(share, UP.multiply(6, _deviation(ln_above(2 * (many + 1) / failed), many))))


def penalised_error(*, mistakes: int, left: int, examples: int, delta: Number) -> float:
    """What that choice makes least: k/n + √(ln(2m(m+1)/δ)/(2n)), k mistakes on the n of m examples that came after the
    hypothesis was there. By Hoeffding no hypothesis has an error above it, but for a probability of δ/(2(m+1)).

    >>> round(penalised_error(mistakes=3, left=900, examples=1000, delta=0.05), 4)
    0.1019
    """
    many, failed = validation.check_examples(examples), validation.check_delta(delta)
    share, rest = _mistake_rate(mistakes, left)
    if rest > many:
        raise InputError(f"n, the examples that came after, can't be more than all of them: {rest}, {many}.")
    return float_above(UP.add(share, _deviation(ln_above(2 * many * (many + 1) / failed), 2 * rest)))


def _mistake_rate(mistakes: int, examples: int) -> tuple[Decimal, int]:
    """M/m, rounded up, and m."""
    many = validation.check_examples(examples)
    return decimal_above(Fraction(validation.check_count("M, the number of mistakes,", mistakes, 0, many), many)), many


def _deviation(ln: Decimal, many: int) -> Decimal:
    """√(ln/many), rounded up."""
    return sqrt_above(UP.divide(ln, decimal_below(Fraction(many))))
