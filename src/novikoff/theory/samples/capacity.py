"""Sample sizes for a hypothesis of a class of VC dimension d without a mistake on m independent examples.

With probability 1 − δ its error is at most ε if m ≥ (1/ε)(8d·log₂(13/ε) + 4·log₂(2/δ)) (Blumer, Ehrenfeucht, Haussler
and Warmuth 1989, Theorem 2.1, with the sum for the larger of the two terms; Mitchell 1997, eq. 7.7).
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from novikoff.theory import validation
from novikoff.theory.directed_rounding import (
    UP,
    Number,
    decimal_above,
    decimal_below,
    exp_above,
    find_least_float,
    float_above,
    integer_above,
    ln_below,
    log2_above,
)


def examples(*, dimension: int, epsilon: Number, delta: Number) -> int:
    """Return the least m ≥ (1/ε)(8d·log₂(13/ε) + 4·log₂(2/δ)).

    >>> examples(dimension=3, epsilon=0.1, delta=0.05)  # half-planes
    1899
    """
    d, wrong, failed = (
        validation.check_dimension(dimension),
        validation.check_epsilon(epsilon),
        validation.check_delta(delta),
    )
    return integer_above(_required_examples(d, wrong, failed))


def error(*, dimension: int, examples: int, delta: Number) -> float:
    """Return the least ε with (1/ε)(8d·log₂(13/ε) + 4·log₂(2/δ)) ≤ m, or 1 where there is none.

    >>> round(error(dimension=3, examples=1899, delta=0.05), 5)
    0.09997
    """
    d, n_examples, failed = (
        validation.check_dimension(dimension),
        validation.check_examples(examples),
        validation.check_delta(delta),
    )
    return find_least_float(lambda wrong: _required_examples(d, wrong, failed) <= n_examples)


def failure(*, dimension: int, examples: int, epsilon: Number) -> float:
    """Return δ = 2·2^(2d·log₂(13/ε) − εm/4), at most 1.

    >>> round(failure(dimension=3, examples=1899, epsilon=0.1), 4)
    0.0494
    """
    d, n_examples, wrong = (
        validation.check_dimension(dimension),
        validation.check_examples(examples),
        validation.check_epsilon(epsilon),
    )
    power = UP.subtract(UP.multiply(2 * d, log2_above(13 / wrong)), decimal_below(wrong * n_examples / 4))
    # The sign of the exponent decides which rounding of ln 2 gives the larger product.
    ln2 = ln_below(Fraction(2)) if power < 0 else UP.next_plus(UP.ln(Decimal(2)))
    return min(1.0, float_above(UP.multiply(2, exp_above(UP.multiply(power, ln2)))))


def _required_examples(d: int, wrong: Fraction, failed: Fraction) -> Decimal:
    terms = UP.add(UP.multiply(8 * d, log2_above(13 / wrong)), UP.multiply(4, log2_above(2 / failed)))
    return UP.multiply(decimal_above(1 / wrong), terms)
