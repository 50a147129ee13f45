"""A hypothesis of a finite class H that makes no mistake on m independent examples.

One whose error is above ε agrees with all of them with probability below (1 − ε)^m ≤ e^(−εm), so that the probability
that some such hypothesis of H does is at most |H|·e^(−εm) (Blumer, Ehrenfeucht, Haussler and Warmuth 1987, "Occam's
razor"; Mitchell 1997, eq. 7.2).
"""

from __future__ import annotations

from fractions import Fraction

from novikoff.theory import validation
from novikoff.theory.directed_rounding import (UP, Number, below, exp_above, float_above, ln_above, whole_above)
from novikoff.theory.class_size import Hypotheses, of


def examples(*, hypotheses: Hypotheses, epsilon: Number, delta: Number) -> int:
    """m ≥ (1/ε)(ln|H| + ln(1/δ)): so many are enough for an error of at most ε with probability 1 − δ.

    >>> examples(hypotheses=3**10, epsilon=0.1, delta=0.05)  # Mitchell's example: conjunctions of ten variables
    140
    """
    error, failed = validation.epsilon(epsilon), validation.delta(delta)
    return whole_above(UP.divide(UP.add(of(hypotheses).ln, ln_above(1 / failed)), below(error)))


def error(*, hypotheses: Hypotheses, examples: int, delta: Number) -> float:
    """ε ≤ (ln|H| + ln(1/δ))/m; 1 where that is more.

    >>> round(error(hypotheses=3**10, examples=140, delta=0.05), 5)
    0.09987
    """
    many, failed = validation.examples(examples), validation.delta(delta)
    return min(1.0, float_above(UP.divide(UP.add(of(hypotheses).ln, ln_above(1 / failed)), below(Fraction(many)))))


def failure(*, hypotheses: Hypotheses, examples: int, epsilon: Number) -> float:
    """δ ≤ |H|·e^(−εm): how likely a consistent hypothesis has an error above ε; 1 where that is more.

    >>> round(failure(hypotheses=3**10, examples=140, epsilon=0.1), 4)
    0.0491
    """
    many, wrong = validation.examples(examples), validation.epsilon(epsilon)
    return min(1.0, float_above(exp_above(UP.subtract(of(hypotheses).ln, below(wrong * many)))))
