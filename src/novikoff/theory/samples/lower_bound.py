"""Number of examples that every learner needs for a class of VC dimension d.

With fewer than ln(1/δ)/ln(1/(1−ε)) examples, a point whose probability is a little above ε stays unseen with
probability above δ. With fewer than (d − 1)/(32ε), for ε ≤ 1/8 and δ ≤ 1/100, some distribution over a shattered set
makes the learner fail with probability above δ (Ehrenfeucht, Haussler, Kearns and Valiant 1989). Both hold for
deterministic learners and a class in which two concepts agree on one point and differ on another.

Textbooks print (1/ε)ln(1/δ) for the first term (Mitchell 1997, Theorem 7.3), which is slightly more than can be
proved: two concepts that differ in one point only are learned from ⌈ln(1/δ)/ln(1/(1−ε))⌉ examples, which is fewer.
Blumer, Ehrenfeucht, Haussler and Warmuth (1989) have ((1−ε)/ε)·ln(1/δ), which is not more.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from novikoff.theory import validation
from novikoff.theory.directed_rounding import DOWN, Number, integer_above, ln_above, ln_below

MAX_EPSILON, MAX_DELTA = Fraction(1, 8), Fraction(1, 100)
"""Up to which the second term is proved."""


def examples(*, dimension: int, epsilon: Number, delta: Number) -> int:
    """Return max[ln(1/δ)/ln(1/(1−ε)), (d−1)/(32ε)], rounded up; the second term only for ε ≤ 1/8 and δ ≤ 1/100.

    >>> examples(dimension=3, epsilon=0.1, delta=0.01), examples(dimension=1000, epsilon=0.1, delta=0.01)
    (44, 313)
    """
    d, wrong, failed = (
        validation.check_dimension(dimension),
        validation.check_epsilon(epsilon),
        validation.check_delta(delta),
    )
    rare = DOWN.divide(ln_below(1 / failed), ln_above(1 / (1 - wrong)))
    return integer_above(max(rare, _shattered_set_bound(d, wrong, failed)))


def _shattered_set_bound(d: int, wrong: Fraction, failed: Fraction) -> Decimal:
    if d < 2 or wrong > MAX_EPSILON or failed > MAX_DELTA:
        return Decimal(0)
    ratio = (d - 1) / (32 * wrong)
    return DOWN.divide(ratio.numerator, ratio.denominator)
