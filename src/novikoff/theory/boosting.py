"""Upper bound on the training error of AdaBoost from the errors of its rounds (Freund and Schapire 1997).

Round t adds a hypothesis h_t with weighted error ε_t and vote a_t > 0. The weights of the examples that h_t gets
wrong are multiplied by e^{a_t}. Where the weighted vote is wrong, the correct members hold at most half of all votes,
so Σ_t a_t·([h_t wrong] − ½) ≥ 0 and

training error ≤ Π_t e^{−a_t/2}·((1 − ε_t) + ε_t·e^{a_t}).

This holds for all h_t and a_t, and for any number of classes. With two classes and a_t = 2α_t = ln((1−ε_t)/ε_t)
each factor is 2√(ε_t(1−ε_t)). With K classes and the votes of SAMME, a_t = ln((1−ε_t)/ε_t) + ln(K−1), each factor is
K√(ε_t(1−ε_t)/(K−1)), which is below 1 only for small ε_t.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction

from novikoff.errors import InputError
from novikoff.theory import validation
from novikoff.theory.directed_rounding import UP, Number, decimal_above, exp_above, float_above, sqrt_above, to_fraction

UNIT_ROUNDOFF = Fraction(1, 2**53)
"""Half the distance from 1 to the next floating-point number."""
SUM_ROUNDING_UNITS = 72
"""Allowed rounding error, in units, of one exponential and of a pairwise sum of any number of weights."""


def training_error(*, errors: Iterable[Number], classes: int = 2) -> float:
    """Return Π K√(ε_t(1−ε_t)/(K−1)), rounded up and at most 1; ε_t are the `errors`, K the `classes`.

    >>> training_error(errors=[0.5]), round(training_error(errors=[0.2, 0.1]), 9), training_error(errors=[0.1, 0.0])
    (1.0, 0.48, 0.0)
    """
    many = validation.check_count("K, the number of classes,", classes, 2)
    square = Decimal(1)
    for error in errors:
        wrong = to_fraction(error)
        if not 0 <= wrong <= 1:
            raise InputError(f"The error of a round must be from 0 to 1, but is {error}.")
        square = UP.multiply(square, decimal_above(many**2 * wrong * (1 - wrong) / (many - 1)))
    return min(1.0, float_above(sqrt_above(square)) if square else 0.0)


def compute_error_bound(*, errors: Sequence[Fraction], votes: Sequence[float]) -> float:
    """Return Π e^{−a/2}·((1−ε) + ε·e^a), rounded up and at most 1.

    The errors ε must not be below the true ones. A factor allows for the rounding of the sums of votes a.
    """
    total, all_votes = Decimal(1), sum(map(Fraction, votes), Fraction(0))
    for wrong, vote in zip(errors, votes, strict=True):
        a = decimal_above(Fraction(vote))
        grown = UP.add(decimal_above(1 - wrong), UP.multiply(decimal_above(wrong), exp_above(a)))
        total = UP.multiply(total, UP.multiply(grown, exp_above(decimal_above(-Fraction(vote) / 2))))
    total = UP.multiply(total, exp_above(decimal_above(len(votes) * UNIT_ROUNDOFF * all_votes)))
    return min(1.0, float_above(total))


def compute_error_share_bound(error: float, *, rounds: int, votes: float) -> Fraction:
    """Return an upper bound on the share of weights that was computed as `error`.

    The weights are exponentials of sums of votes, which add up to `votes`; every sum and every exponential was
    rounded.
    """
    lost = (2 * rounds + 1) * UNIT_ROUNDOFF * Fraction(votes) + SUM_ROUNDING_UNITS * UNIT_ROUNDOFF
    return min(Fraction(1), Fraction(error) * (1 + 4 * lost))
