"""The error of one hypothesis that was chosen before the m examples were drawn: Hoeffding's inequality (1963).

Pr[p > p̂ + ε] ≤ e^(−2mε²), p the true error and p̂ the share of mistakes on the examples. It is the agnostic bound of a
class with one hypothesis. For both sides, Pr[|p − p̂| > ε], put δ/2 for δ. What it gives away is seen beside the exact
binomial (`novikoff.theory.binomial`).
"""

from __future__ import annotations

from novikoff.theory.directed_rounding import Number
from novikoff.theory.samples import agnostic


def examples(*, epsilon: Number, delta: Number) -> int:
    """m ≥ ln(1/δ)/(2ε²).

    >>> examples(epsilon=0.05, delta=0.05)
    600
    """
    return agnostic.examples(hypotheses=1, epsilon=epsilon, delta=delta)


def error(*, examples: int, delta: Number) -> float:
    """ε ≤ √(ln(1/δ)/(2m)); 1 where that is more.

    >>> round(error(examples=600, delta=0.05), 5)
    0.04996
    """
    return agnostic.error(hypotheses=1, examples=examples, delta=delta)


def failure(*, examples: int, epsilon: Number) -> float:
    """δ ≤ e^(−2mε²).

    >>> round(failure(examples=600, epsilon=0.05), 5)
    0.04979
    """
    return agnostic.failure(hypotheses=1, examples=examples, epsilon=epsilon)
