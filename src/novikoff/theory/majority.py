"""The error of a vote from the errors of its members, each judged on examples that it has not seen.

Where a vote errs, at least half of its members err: those for the right label are no more than those for the label that
won. So if F is the share of members that err on a new example, Markov's inequality for F and for F² gives

    error of the vote ≤ 2·E[F]  = 2·mean of the members' errors
    error of the vote ≤ 4·E[F²] = 4·mean over all pairs of the probability that both err

(the second one: Masegosa, Lorenzen, Igel and Seldin 2020). Each mean is over quantities that are each seen on a sample
of its own: the examples out of the bag of a member, or of both members of a pair. These samples overlap and are not
independent of each other, but by Jensen's inequality E[exp(λ·mean X)] ≤ mean E[exp(λX)], so that Hoeffding's bound
for the smallest of the samples holds for the mean.

It is assumed that examples are independent draws from one distribution, that bags are drawn without looking at them,
and that a member depends on the examples in its bag only.
"""

from __future__ import annotations

from novikoff.errors import InputError
from novikoff.theory.directed_rounding import Number
from novikoff.theory.samples import agnostic

OUTWARD_FACTOR = 1.0 + 2.0**-40


def single(*, seen: float, examples: int, delta: Number) -> float:
    """2·(mean error seen + √(ln(1/δ)/(2m))), m the fewest examples of a member; 1 where that is more.

    >>> round(single(seen=0.1, examples=10_000, delta=0.05), 4)
    0.2245
    """
    return min(1.0, 2.0 * _bound_mean(seen, examples, delta) * OUTWARD_FACTOR)


def pairs(*, seen: float, examples: int, delta: Number) -> float:
    """4·(mean share seen where both err + √(ln(1/δ)/(2m))), m the fewest examples of a pair; 1 where that is more.

    >>> round(pairs(seen=0.02, examples=10_000, delta=0.05), 4)
    0.129
    """
    return min(1.0, 4.0 * _bound_mean(seen, examples, delta) * OUTWARD_FACTOR)


def _bound_mean(seen: float, examples: int, delta: Number) -> float:
    if not 0.0 <= seen <= 1.0:
        raise InputError(f"The mean that was seen must be from 0 to 1, but is {seen}.")
    return 1.0 if examples < 1 else seen * OUTWARD_FACTOR + agnostic.error(hypotheses=1, examples=examples, delta=delta)
