"""Any hypothesis of a finite class H, consistent or not, on m independent examples.

By Hoeffding's inequality the true error of one hypothesis is more than ε above the error that was seen with probability
e^(−2mε²) at most, so that this happens for some hypothesis of H with probability |H|·e^(−2mε²) at most: with
probability 1 − δ no true error is more than ε above what was seen (Haussler 1992; Mitchell 1997, eq. 7.3).
"""

from __future__ import annotations

from fractions import Fraction

from novikoff.theory import validation
from novikoff.theory.directed_rounding import (UP, Number, below, exp_above, float_above, ln_above, root_above, whole_above)
from novikoff.theory.class_size import Hypotheses, of


def examples(*, hypotheses: Hypotheses, epsilon: Number, delta: Number) -> int:
    """m ≥ (1/(2ε²))(ln|H| + ln(1/δ)).

    >>> examples(hypotheses=3**10, epsilon=0.1, delta=0.05)
    700
    """
    gap, failed = validation.epsilon(epsilon), validation.delta(delta)
    return whole_above(UP.divide(UP.add(of(hypotheses).ln, ln_above(1 / failed)), below(2 * gap**2)))


def error(*, hypotheses: Hypotheses, examples: int, delta: Number) -> float:
    """ε ≤ √((ln|H| + ln(1/δ))/(2m)): the gap between what was seen and the truth; 1 where that is more.

    >>> round(error(hypotheses=3**10, examples=700, delta=0.05), 5)
    0.09994
    """
    many, failed = validation.examples(examples), validation.delta(delta)
    square = UP.divide(UP.add(of(hypotheses).ln, ln_above(1 / failed)), below(Fraction(2 * many)))
    return min(1.0, float_above(root_above(square)))


def failure(*, hypotheses: Hypotheses, examples: int, epsilon: Number) -> float:
    """δ ≤ |H|·e^(−2mε²); 1 where that is more.

    >>> round(failure(hypotheses=3**10, examples=700, epsilon=0.1), 4)
    0.0491
    """
    many, gap = validation.examples(examples), validation.epsilon(epsilon)
    return min(1.0, float_above(exp_above(UP.subtract(of(hypotheses).ln, below(2 * many * gap**2)))))
