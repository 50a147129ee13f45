"""Upper bounds on the error of a majority vote from the errors of its members on held-out examples.

Where the vote is wrong, at least half of its members are wrong: the members that predict the correct label are at
most as many as those that predict the winning label. Let F be the share of members that are wrong on a new example.
Markov's inequality for F and for F² gives

error of the vote ≤ 2·E[F]  = 2·mean of the members' errors
error of the vote ≤ 4·E[F²] = 4·mean over all pairs of the probability that both are wrong

The second is from Masegosa, Lorenzen, Igel and Seldin (2020). Each error is measured on a sample of its own: the
out-of-bag examples of a member, or of both members of a pair. These samples overlap and are not independent. By
Jensen's inequality E[exp(λ·mean X)] ≤ mean E[exp(λX)], so Hoeffding's bound for the smallest sample holds for the
mean.

Assumptions: examples are independent draws from one distribution, bags are drawn without looking at the examples, and
a member depends only on the examples in its bag.
"""

from __future__ import annotations

from novikoff.errors import InputError
from novikoff.theory.directed_rounding import Number
from novikoff.theory.samples import agnostic

OUTWARD_FACTOR = 1.0 + 2.0**-40


def single(*, seen: float, examples: int, delta: Number) -> float:
    """Return 2·(p̂ + √(ln(1/δ)/(2m))), at most 1.

    p̂ is `seen`, the mean out-of-bag error of the members; m is `examples`, the smallest sample of a member.

    >>> round(single(seen=0.1, examples=10_000, delta=0.05), 4)
    0.2245
    """
    return min(1.0, 2.0 * _bound_mean(seen, examples, delta) * OUTWARD_FACTOR)


def pairs(*, seen: float, examples: int, delta: Number) -> float:
    """Return 4·(p̂ + √(ln(1/δ)/(2m))), at most 1.

    p̂ is `seen`, the mean share of examples on which both members of a pair are wrong; m is `examples`, the smallest
    sample of a pair.

    >>> round(pairs(seen=0.02, examples=10_000, delta=0.05), 4)
    0.129
    """
    return min(1.0, 4.0 * _bound_mean(seen, examples, delta) * OUTWARD_FACTOR)


def _bound_mean(seen: float, examples: int, delta: Number) -> float:
    if not 0.0 <= seen <= 1.0:
        raise InputError(f"seen, the observed mean, must be from 0 to 1, got {seen}.")
    return 1.0 if examples < 1 else seen * OUTWARD_FACTOR + agnostic.error(hypotheses=1, examples=examples, delta=delta)
