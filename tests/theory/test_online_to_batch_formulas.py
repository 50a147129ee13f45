"""Online-to-batch formulas: against independent values, at their limits, and for invalid input."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novikoff.errors import InputError
from novikoff.theory import binomial, online_to_batch
from novikoff.theory.hypothesis_classes import conjunctions_or_never
from novikoff.theory.samples import sample_size

getcontext().prec = 80
DELTA = st.floats(1e-9, 0.999)
EPSILON = st.floats(1e-6, 0.999)
MANY = st.integers(1, 10**9)


def is_rounded_up(value: float, exact: Decimal) -> bool:
    """Return whether a value is rounded up, by at most a few units of the last digit."""
    return exact <= Decimal(value) <= exact * (1 + Decimal("1e-15")) + Decimal("1e-320")


def to_decimal(value: float) -> Decimal:
    """Return the decimal number that the float is printed as."""
    return Decimal(repr(value))


@given(examples=MANY, share=st.floats(0, 1), delta=DELTA)
def test_bounds_equal_independent_decimal_values(examples: int, share: float, delta: float) -> None:
    mistakes = min(examples, int(share * examples))
    numbers: dict[str, int] = {"mistakes": mistakes, "examples": examples}
    rate, m = Decimal(mistakes) / examples, Decimal(examples)
    progressive = rate + ((1 / to_decimal(delta)).ln() / (2 * m)).sqrt()
    assert is_rounded_up(online_to_batch.progressive(**numbers, delta=delta), progressive)
    assert is_rounded_up(online_to_batch.voted(**numbers, delta=delta), 2 * progressive)
    assert is_rounded_up(online_to_batch.random_stopping(**numbers), rate)
    theorem = rate + 6 * ((2 * (m + 1) / to_decimal(delta)).ln() / m).sqrt()
    assert is_rounded_up(online_to_batch.penalised(**numbers, delta=delta), theorem)


@given(stretch=st.integers(0, 10**6), epsilon=EPSILON, delta=DELTA)
def test_trial_lengths_are_minimal(stretch: int, epsilon: float, delta: float) -> None:
    length = online_to_batch.trial_length(stretch=stretch, epsilon=epsilon, delta=delta)
    wanted = ((stretch + 2) ** 2 / to_decimal(delta)).ln() / to_decimal(epsilon)
    assert length - 1 < wanted <= length
    both = online_to_batch.trial_lengths(first=stretch, count=2, epsilon=epsilon, delta=delta)
    assert both == [length, online_to_batch.trial_length(stretch=stretch + 1, epsilon=epsilon, delta=delta)]
    changes = stretch + 1
    length = online_to_batch.stretch_length(changes=changes, epsilon=epsilon, delta=delta)
    wanted = (changes / to_decimal(delta)).ln() / to_decimal(epsilon)
    assert length - 1 < wanted <= length
    assert online_to_batch.sample_size(changes=changes, epsilon=epsilon, delta=delta) == changes * length


def test_the_shares_of_the_tests_sum_up_to_less_than_all() -> None:
    """Σ 1/(i + 2)² = π²/6 − 1, and Σ 1/((i + 1)(i + 2)) = 1."""
    assert sum(1 / (i + 2) ** 2 for i in range(10**5)) < math.pi**2 / 6 - 1 < 1
    assert sum(Fraction(1, (i + 1) * (i + 2)) for i in range(500)) == 1 - Fraction(1, 501)


@given(stretch=st.integers(0, 1000), length=st.integers(1, 10**6), delta=st.floats(1e-6, 0.999))
def test_the_survivor_bound_is_a_binomial_tail(stretch: int, length: int, delta: float) -> None:
    found = online_to_batch.survivor(stretch=stretch, length=length, delta=delta)
    share = Fraction(repr(delta)) / ((stretch + 1) * (stretch + 2))
    power = (Decimal(share.numerator) / share.denominator).ln() / length
    assert is_rounded_up(found, 1 - power.exp()) or found == 1.0
    exact = binomial.upper(mistakes=0, examples=length, delta=share)
    assert found == pytest.approx(exact, rel=1e-12)


@given(examples=st.integers(1, 10**7), share=st.floats(0, 1), rest=st.floats(0, 1), delta=DELTA)
def test_the_penalised_error_equals_its_formula(examples: int, share: float, rest: float, delta: float) -> None:
    left = max(1, int(share * examples))
    wrong, m = int(rest * left), Decimal(examples)
    wanted = Decimal(wrong) / left + ((2 * m * (m + 1) / to_decimal(delta)).ln() / (2 * left)).sqrt()
    assert is_rounded_up(
        online_to_batch.penalised_error(mistakes=wrong, left=left, examples=examples, delta=delta), wanted
    )


@given(radius=st.floats(1e-3, 1e6), ratio=st.floats(1e-6, 1), width=st.floats(0, 100))
def test_the_most_mistakes_are_a_whole_number(radius: float, ratio: float, width: float) -> None:
    margin = radius * ratio
    wanted = (to_decimal(radius) ** 2 + 2 * to_decimal(width)) / to_decimal(margin) ** 2
    if margin <= radius:
        found = online_to_batch.max_mistakes(radius=radius, margin=margin, width=width)
        assert found <= wanted < found + 1
    assert online_to_batch.max_mistakes(radius=0.3, margin=0.1) == 9  # as they are written


def test_huge_numbers_do_not_overflow() -> None:
    many = 10**400
    assert online_to_batch.progressive(mistakes=0, examples=many, delta=1e-300) < 1e-190
    assert online_to_batch.penalised(mistakes=many // 10, examples=many, delta=0.05) == pytest.approx(0.1)
    assert online_to_batch.survivor(stretch=many, length=many, delta=0.05) < 1e-300
    assert online_to_batch.trial_length(stretch=many, epsilon=1e-300, delta=1e-300) > 10**300
    assert online_to_batch.sample_size(changes=many, epsilon=0.1, delta=0.05) > many
    assert online_to_batch.max_mistakes(radius=1e300, margin=1e-300) > 10**1199
    assert conjunctions_or_never(variables=10**6).exact is None
    assert conjunctions_or_never(variables=3).exact == 28


@pytest.mark.parametrize(
    ("function", "numbers", "message"),
    [
        ("progressive", {"mistakes": 1, "examples": 0, "delta": 0.1}, "m, the number of examples, must be"),
        ("progressive", {"mistakes": -1, "examples": 5, "delta": 0.1}, "M, the number of mistakes, must be"),
        ("voted", {"mistakes": 6, "examples": 5, "delta": 0.1}, "M, the number of mistakes, must be"),
        ("penalised", {"mistakes": 1, "examples": 5, "delta": 0.0}, "δ, the probability to fail, must be"),
        ("random_stopping", {"mistakes": 1, "examples": 2.5}, "m, the number of examples, must be"),
        (
            "penalised_error",
            {"mistakes": 1, "left": 9, "examples": 5, "delta": 0.1},
            "can't be more than m, all examples",
        ),
        ("penalised_error", {"mistakes": 0, "left": 0, "examples": 5, "delta": 0.1}, "number of examples, must be"),
        ("trial_length", {"stretch": -1, "epsilon": 0.1, "delta": 0.1}, "number of the stretch, must be"),
        ("trial_length", {"stretch": 1, "epsilon": 1.0, "delta": 0.1}, "ε, the error, must be"),
        ("stretch_length", {"changes": 0, "epsilon": 0.1, "delta": 0.1}, "the most changes, must be"),
        ("stretch_length", {"changes": 2, "epsilon": 0.1, "delta": math.nan}, "δ, the probability to fail, must be"),
        ("survivor", {"stretch": 0, "length": 0, "delta": 0.1}, "the length of the stretch, must be"),
        ("max_mistakes", {"radius": 1.0, "margin": 0.0}, "γ, the margin, must be"),
        ("max_mistakes", {"radius": math.inf, "margin": 0.1}, "R, the radius, must be"),
        ("max_mistakes", {"radius": 0.1, "margin": 0.2}, "must not be below γ"),
    ],
)
def test_invalid_input_is_refused(function: str, numbers: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        getattr(online_to_batch, function)(**numbers)


def test_the_vc_dimension_is_not_below_zero() -> None:
    with pytest.raises(InputError, match="The VC dimension must be a whole number of at least 0, but is -1"):
        sample_size.ask("vc", dimension=-1, epsilon=0.1, delta=0.1)
