"""Sample sizes for any hypothesis of a finite class H, consistent or not, on m independent examples.

By Hoeffding's inequality the true error of one hypothesis exceeds its observed error by more than ε with probability
at most e^(−2mε²). For some hypothesis of H this happens with probability at most |H|·e^(−2mε²). So with probability 1
− δ no true error exceeds the observed one by more than ε (Haussler 1992; Mitchell 1997, eq. 7.3).
"""

from __future__ import annotations

from fractions import Fraction

from novikoff.theory import validation
from novikoff.theory.class_size import Hypotheses, to_class_size
from novikoff.theory.directed_rounding import (
    UP,
    Number,
    decimal_below,
    exp_above,
    float_above,
    integer_above,
    ln_above,
    sqrt_above,
)


def examples(*, hypotheses: Hypotheses, epsilon: Number, delta: Number) -> int:
    """Return the least m ≥ (1/(2ε²))(ln|H| + ln(1/δ)).

    >>> examples(hypotheses=3**10, epsilon=0.1, delta=0.05)
    700
    """
    gap, failed = validation.check_epsilon(epsilon), validation.check_delta(delta)
    return integer_above(
        UP.divide(UP.add(to_class_size(hypotheses).ln, ln_above(1 / failed)), decimal_below(2 * gap**2))
    )


def error(*, hypotheses: Hypotheses, examples: int, delta: Number) -> float:
    """Return ε = √((ln|H| + ln(1/δ))/(2m)), the gap between observed and true error, at most 1.

    >>> round(error(hypotheses=3**10, examples=700, delta=0.05), 5)
    0.09994
    """
    n_examples, failed = validation.check_examples(examples), validation.check_delta(delta)
    square = UP.divide(
        UP.add(to_class_size(hypotheses).ln, ln_above(1 / failed)), decimal_below(Fraction(2 * n_examples))
    )
    return min(1.0, float_above(sqrt_above(square)))


def failure(*, hypotheses: Hypotheses, examples: int, epsilon: Number) -> float:
    """Return δ = |H|·e^(−2mε²), at most 1.

    >>> round(failure(hypotheses=3**10, examples=700, epsilon=0.1), 4)
    0.0491
    """
    n_examples, gap = validation.check_examples(examples), validation.check_epsilon(epsilon)
    return min(
        1.0, float_above(exp_above(UP.subtract(to_class_size(hypotheses).ln, decimal_below(2 * n_examples * gap**2))))
    )
