"""Bounds on the error of a running learner that hold at all times, without an i.i.d. assumption.

X_t is 1 where prediction t was wrong, p_t = P(X_t = 1 | the past), p̄_t the mean of p_1 … p_t, S_t = Σ X. Each
prediction must be made before its label is seen, and each label must arrive; drift and adaptive learners are allowed.

Upper   Π_i (1−v)^{X_i}/(1−v·p_i) is a martingale with mean 1 for each v in (0, 1]. By concavity of the logarithm it is
        at least (1−v)^S·(1−v·p̄)^(−t). The mixture over a grid of v exceeds 1/δ at some t with probability at most δ
        (Ville's inequality). It increases in p̄, so p̄_t ≤ U_t at all times with probability 1 − δ, where it is 1/δ
        at U_t.
Lower   the same with (1+v)^S·(1+v·p̄)^(−t) for v > 0, which decreases in p̄.
Paired  for two predictors D_t = X_t − X'_t ∈ {−1, 0, 1}: the mixture of (1+λ)^{n₊}·(1−λ)^{n₋}·(1+λ·d)^(−t) over
        |λ| < 1 at the mean conditional expectation d of D. It is convex in d, so {d: mixture < 1/δ} is an interval.
Source  Ville 1939; Howard, Ramdas, McAuliffe and Sekhon 2021; Waudby-Smith and Ramdas 2024 (betting)

All ends are rounded outward: a sum counts only as far as it is certain, where each logarithm and exponential of the
platform is taken to be wrong by up to MATH_ERROR of its value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from novikoff.theory import validation
from novikoff.theory.directed_rounding import Number

MATH_ERROR = 8 * 2.0**-52
"""Assumed maximum relative error of each logarithm, exponential, product and sum."""
MAX_EXAMPLES = 2**53


class AnytimeInterval(NamedTuple):
    """An interval that holds at all times with probability 1 − δ."""

    low: float
    high: float


def _slow_weights(ranks: Sequence[int]) -> list[float]:
    """Return weights proportional to 1/((k+2)·ln²(k+2)) that add up to slightly less than 1."""
    raw = [1.0 / ((k + 2) * math.log(k + 2) ** 2) for k in ranks]
    total = math.fsum(raw)
    return [math.floor(w / total * 2**40) / 2**40 for w in raw]


_UPPER_RANKS = [*range(32), *range(2, 9)]
UPPER_GRID = list(
    zip([2.0**-k for k in range(32)] + [1.0 - 2.0**-k for k in range(2, 9)], _slow_weights(_UPPER_RANKS), strict=True)
)
"""Pairs (v, weight) for the upper bound. Values near 1 make it sharp for few mistakes."""
LOWER_GRID = list(zip([2.0**-k for k in range(-8, 32)], _slow_weights([abs(k) for k in range(-8, 32)]), strict=True))
"""Pairs (v, weight) for the lower bound."""
_PAIRED_VALUES = [2.0**-k for k in range(1, 32)] + [1.0 - 2.0**-k for k in range(2, 9)]
_PAIRED_RANKS = [*range(1, 32), *range(2, 9)]
PAIRED_GRID = [
    (sign * value, weight / 2.0)
    for value, weight in zip(_PAIRED_VALUES, _slow_weights(_PAIRED_RANKS), strict=True)
    for sign in (1.0, -1.0)
]
"""Pairs (λ, weight) for the difference of two predictors, symmetric."""


def upper(*, mistakes: int, examples: int, delta: Number) -> float:
    """Return U_t: the mean error so far is at most this at all times, with probability 1 − δ.

    >>> round(upper(mistakes=100, examples=10_000, delta=0.05), 4), upper(mistakes=1, examples=1, delta=0.05)
    (0.0138, 1.0)
    """
    wrong, seen, limit = _check(mistakes, examples, delta)

    def exceeds(p: float) -> bool:
        return _certain_log_sum([_upper_term(v, w, wrong, seen, p) for v, w in UPPER_GRID]) >= limit

    return _least_point(exceeds, 0.0, 1.0)


def lower(*, mistakes: int, examples: int, delta: Number) -> float:
    """Return L_t: the mean error so far is at least this at all times, with probability 1 − δ.

    >>> round(lower(mistakes=100, examples=10_000, delta=0.05), 4)
    0.0071
    """
    wrong, seen, limit = _check(mistakes, examples, delta)

    def exceeds(p: float) -> bool:
        return _certain_log_sum([_lower_term(v, w, wrong, seen, p) for v, w in LOWER_GRID]) >= limit

    return _largest_point(exceeds, 0.0, 1.0)


def interval(*, mistakes: int, examples: int, delta: Number) -> AnytimeInterval:
    """Return an interval for the mean error so far, with δ/2 on each side.

    >>> low, high = interval(mistakes=100, examples=10_000, delta=0.05)
    >>> round(low, 4), round(high, 4)
    (0.007, 0.0141)
    """
    half = validation.check_delta(delta) / 2
    return AnytimeInterval(
        lower(mistakes=mistakes, examples=examples, delta=half), upper(mistakes=mistakes, examples=examples, delta=half)
    )


def difference_interval(
    *, only_first_wrong: int, only_second_wrong: int, examples: int, delta: Number
) -> AnytimeInterval:
    """Return an interval for the mean error of a first predictor less that of a second one, on the same examples.

    >>> low, high = difference_interval(only_first_wrong=300, only_second_wrong=200, examples=10_000, delta=0.05)
    >>> round(low, 4), round(high, 4)
    (0.0021, 0.0181)
    """
    seen = validation.check_count("t, the number of examples,", examples, 0, MAX_EXAMPLES)
    plus = validation.check_count("the number of mistakes of the first alone", only_first_wrong, 0, seen)
    minus = validation.check_count("the number of mistakes of the second alone", only_second_wrong, 0, seen - plus)
    limit = _log_limit(delta)

    def exceeds(d: float) -> bool:
        return _certain_log_sum([_paired_term(v, w, plus, minus, seen, d) for v, w in PAIRED_GRID]) >= limit

    observed = (plus - minus) / seen if seen else 0.0  # The mixture is at most 1 here (Jensen).
    return AnytimeInterval(
        _largest_point(exceeds, -1.0, observed, otherwise=-1.0), _least_point(exceeds, observed, 1.0)
    )


class _Term(NamedTuple):
    """The logarithm of one term of a mixture, and how much too large it may be."""

    value: float
    error: float


def _combine(weight: float, *factors: tuple[float, float]) -> _Term:
    """Return ln weight + Σ count·ln(base) for (count, ln base) pairs."""
    products = [count * log for count, log in factors if count]
    size = math.fsum(map(abs, products)) - math.log(weight)
    return _Term(math.fsum([math.log(weight), *products]), MATH_ERROR * size)


def _upper_term(v: float, weight: float, wrong: int, seen: int, p: float) -> _Term:
    if p * v >= 1.0:
        impossible = v >= 1.0 and wrong > 0
        return _Term(-math.inf if impossible or not seen else math.inf, 0.0)
    if v >= 1.0:
        return _Term(-math.inf, 0.0) if wrong else _combine(weight, (-seen, math.log1p(-p)))
    return _combine(weight, (wrong, math.log1p(-v)), (-seen, math.log1p(-p * v)))


def _lower_term(v: float, weight: float, wrong: int, seen: int, p: float) -> _Term:
    return _combine(weight, (wrong, math.log1p(v)), (-seen, math.log1p(p * v)))


def _paired_term(v: float, weight: float, plus: int, minus: int, seen: int, d: float) -> _Term:
    return _combine(weight, (plus, math.log1p(v)), (minus, math.log1p(-v)), (-seen, math.log1p(v * d)))


def _certain_log_sum(terms: Sequence[_Term]) -> float:
    """Return ln Σ exp(term), rounded down."""
    certain = [term.value - term.error for term in terms]
    largest = max(certain)
    if math.isinf(largest):
        return largest
    total = math.fsum(math.exp(value - largest) for value in certain) * (1.0 - MATH_ERROR * len(certain))
    found = largest + math.log(total)
    return found - MATH_ERROR * (abs(largest) + abs(found) + 1.0)


def _log_limit(delta: Number) -> float:
    """Return ln(1/δ), rounded up."""
    found = -math.log(float(validation.check_delta(delta)))
    return found + MATH_ERROR * (found + 1.0)


def _check(mistakes: int, examples: int, delta: Number) -> tuple[int, int, float]:
    seen = validation.check_count("t, the number of examples,", examples, 0, MAX_EXAMPLES)
    return validation.check_count("S, the number of mistakes,", mistakes, 0, seen), seen, _log_limit(delta)


def _least_point(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the least point up to `high` from which on the predicate holds, or `high` if there is none."""
    if not holds(high):
        return high
    while True:
        middle = low + (high - low) / 2.0
        if middle in (low, high):
            return high
        low, high = (low, middle) if holds(middle) else (middle, high)


def _largest_point(holds: Callable[[float], bool], low: float, high: float, otherwise: float = 0.0) -> float:
    """Return the largest point from `low` to `high` up to which the predicate holds."""
    if not holds(low):
        return otherwise
    while True:
        middle = low + (high - low) / 2.0
        if middle in (low, high):
            return low
        low, high = (middle, high) if holds(middle) else (low, middle)
