"""Sample sizes for a hypothesis of a finite class H without a mistake on m independent examples.

A hypothesis with error above ε agrees with all of them with probability below (1 − ε)^m ≤ e^(−εm). So the probability
that some such hypothesis of H does is at most |H|·e^(−εm) (Blumer, Ehrenfeucht, Haussler and Warmuth 1987, "Occam's
razor"; Mitchell 1997, eq. 7.2).
"""

from __future__ import annotations

from fractions import Fraction

from novikoff.theory import validation
from novikoff.theory.class_size import Hypotheses, to_class_size
from novikoff.theory.directed_rounding import UP, Number, decimal_below, exp_above, float_above, integer_above, ln_above


def examples(*, hypotheses: Hypotheses, epsilon: Number, delta: Number) -> int:
    """Return the least m ≥ (1/ε)(ln|H| + ln(1/δ)), enough for an error of at most ε with probability 1 − δ.

    >>> examples(hypotheses=3**10, epsilon=0.1, delta=0.05)  # Mitchell's example: conjunctions of ten variables
    140
    """
    error, failed = validation.check_epsilon(epsilon), validation.check_delta(delta)
    return integer_above(UP.divide(UP.add(to_class_size(hypotheses).ln, ln_above(1 / failed)), decimal_below(error)))


def error(*, hypotheses: Hypotheses, examples: int, delta: Number) -> float:
    """Return ε = (ln|H| + ln(1/δ))/m, at most 1.

    >>> round(error(hypotheses=3**10, examples=140, delta=0.05), 5)
    0.09987
    """
    n_examples, failed = validation.check_examples(examples), validation.check_delta(delta)
    return min(
        1.0,
        float_above(
            UP.divide(UP.add(to_class_size(hypotheses).ln, ln_above(1 / failed)), decimal_below(Fraction(n_examples)))
        ),
    )


def failure(*, hypotheses: Hypotheses, examples: int, epsilon: Number) -> float:
    """Return δ = |H|·e^(−εm), the probability that a consistent hypothesis has an error above ε, at most 1.

    >>> round(failure(hypotheses=3**10, examples=140, epsilon=0.1), 4)
    0.0491
    """
    n_examples, wrong = validation.check_examples(examples), validation.check_epsilon(epsilon)
    return min(
        1.0, float_above(exp_above(UP.subtract(to_class_size(hypotheses).ln, decimal_below(wrong * n_examples))))
    )
