"""Sample sizes for one hypothesis that was chosen before the m examples were drawn (Hoeffding 1963).

Pr[p > p̂ + ε] ≤ e^(−2mε²), where p is the true error and p̂ the share of mistakes on the examples. It is the agnostic
bound of a class with one hypothesis. For both sides, Pr[|p − p̂| > ε], use δ/2 for δ. `novikoff.theory.binomial` is
exact and never looser.
"""

from __future__ import annotations

from novikoff.theory.directed_rounding import Number
from novikoff.theory.samples import agnostic


def examples(*, epsilon: Number, delta: Number) -> int:
    """Return the least m ≥ ln(1/δ)/(2ε²).

    >>> examples(epsilon=0.05, delta=0.05)
    600
    """
    return agnostic.examples(hypotheses=1, epsilon=epsilon, delta=delta)


def error(*, examples: int, delta: Number) -> float:
    """Return ε = √(ln(1/δ)/(2m)), at most 1.

    >>> round(error(examples=600, delta=0.05), 5)
    0.04996
    """
    return agnostic.error(hypotheses=1, examples=examples, delta=delta)


def failure(*, examples: int, epsilon: Number) -> float:
    """Return δ = e^(−2mε²).

    >>> round(failure(examples=600, epsilon=0.05), 5)
    0.04979
    """
    return agnostic.failure(hypotheses=1, examples=examples, epsilon=epsilon)
