"""Sample sizes and error bounds against textbooks, exact probabilities, other libraries, and each other."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import novikoff
from novikoff import InputError
from novikoff.theory import binomial, hypothesis_classes
from novikoff.theory.directed_rounding import float_above, float_below, ln_above, ln_below
from novikoff.theory.factorials import ln_factorial
from novikoff.theory.samples import agnostic, capacity, consistent, deviation, hoeffding, lower_bound
from novikoff.theory.samples.sample_size import SAMPLE_SIZE_BOUNDS, ask, check, table

SHARE = st.floats(1e-6, 0.999)
MANY = st.integers(1, 10**6)


# --- Published numbers ---


def test_mitchells_conjunctions_of_ten_variables() -> None:
    """Mitchell, Machine Learning (1997), section 7.3.2: ε = 0.1, δ = 0.05, n = 10 give 140."""
    assert consistent.examples(hypotheses=hypothesis_classes.conjunctions(variables=10), epsilon=0.1, delta=0.05) == 140


def test_the_vc_bound_of_learning_from_data() -> None:
    """Abu-Mostafa, Magdon-Ismail, Lin (2012): Example 2.6 (about 30,000), Exercise 2.5 (709, so nothing is said), and
    the homework of their course (d = 10, ε = δ = 0.05: of 400,000, 420,000 … 480,000 the nearest is 460,000)."""
    from scipy.optimize import brentq

    root = brentq(lambda m: m - 8 / 0.05**2 * (math.log(4 / 0.05) + 10 * math.log(2 * m)), 1e4, 1e7)
    assert 29_000 < deviation.examples(dimension=3, epsilon=0.1, delta=0.1) < 30_000
    assert deviation.examples(dimension=10, epsilon=0.05, delta=0.05) == math.ceil(root) == 452_957
    assert 4 * 201 * math.exp(-(0.1**2) * 100 / 8) == pytest.approx(709.5, abs=0.1)
    assert deviation.failure(dimension=1, examples=100, epsilon=0.1) == 1.0


@pytest.mark.parametrize(
    ("mistakes", "many", "low", "high"),
    [(0, 10, 0.0, 0.3085), (1, 10, 0.0025, 0.4450), (5, 10, 0.1871, 0.8129), (10, 10, 0.6915, 1.0),
     (10, 100, 0.0490, 0.1762), (0, 100, 0.0, 0.0362)],
)  # fmt: skip
def test_exact_limits_equal_published_tables(mistakes: int, many: int, low: float, high: float) -> None:
    """The 95 % limits of Clopper and Pearson (1934), as they are widely tabulated; SciPy's are below."""
    assert binomial.lower(mistakes=mistakes, examples=many, delta=0.025) == pytest.approx(low, abs=5e-5)
    assert binomial.upper(mistakes=mistakes, examples=many, delta=0.025) == pytest.approx(high, abs=5e-5)


def test_sizes_equal_those_of_reliability_demonstration() -> None:
    """95 % reliability with 95 % confidence: 59 trials without a failure (n = ln 0.05/ln 0.95), 93 with one, 124 with
    two."""
    assert [binomial.examples(mistakes=k, epsilon=0.05, delta=0.05) for k in range(3)] == [59, 93, 124]


# --- Against exact fractions and other libraries ---


@given(many=st.integers(1, 60), mistakes=st.integers(0, 60), percent=st.integers(1, 99))
@settings(max_examples=60, deadline=None)
def test_the_binomial_tail_equals_exact_fractions(many: int, mistakes: int, percent: int) -> None:
    k, p = min(mistakes, many), Fraction(percent, 100)
    truth = sum((math.comb(many, i) * p**i * (1 - p) ** (many - i) for i in range(k + 1)), Fraction(0))
    stated = Fraction(binomial.failure(mistakes=k, examples=many, epsilon=percent / 100))
    assert truth <= stated <= truth * (1 + Fraction(1, 10**14))


@given(many=st.integers(1, 40), mistakes=st.integers(0, 40), delta=st.sampled_from([0.3, 0.05, 0.001, 0.7]))
@settings(max_examples=40, deadline=None)
def test_interval_ends_are_rounded_outward(many: int, mistakes: int, delta: float) -> None:
    k = min(mistakes, many)

    def probability_at_most(count: int, p: Fraction) -> Fraction:
        return sum((math.comb(many, i) * p**i * (1 - p) ** (many - i) for i in range(count + 1)), Fraction(0))

    high, low = (f(mistakes=k, examples=many, delta=delta) for f in (binomial.upper, binomial.lower))
    limit, tiny = Fraction(repr(delta)), 1 + Fraction(1, 10**12)
    if k < many:
        assert probability_at_most(k, Fraction(high)) <= limit <= probability_at_most(k, Fraction(high) / tiny)
    else:
        assert high == 1.0
    if k > 0:
        assert (
            1 - probability_at_most(k - 1, Fraction(low))
            <= limit
            <= 1 - probability_at_most(k - 1, Fraction(low) * tiny)
        )
    else:
        assert low == 0.0


@pytest.mark.parametrize(("mistakes", "many"), [(0, 3), (7, 1000), (500, 1000), (999, 1000), (1234, 100_000)])
def test_interval_ends_equal_those_of_scipy(mistakes: int, many: int) -> None:
    from scipy.stats import beta

    high, low = (f(mistakes=mistakes, examples=many, delta=0.05) for f in (binomial.upper, binomial.lower))
    assert high == pytest.approx(beta.isf(0.05, mistakes + 1, many - mistakes), rel=1e-9)
    assert low == pytest.approx(beta.ppf(0.05, mistakes, many - mistakes + 1) if mistakes else 0.0, rel=1e-9)


@given(many=st.integers(1, 5000), mistakes=st.integers(0, 5000), delta=SHARE)
@settings(max_examples=40, deadline=None)
def test_the_exact_end_is_never_above_hoeffdings(many: int, mistakes: int, delta: float) -> None:
    k = min(mistakes, many)
    limit = min(1.0, k / many + hoeffding.error(examples=many, delta=delta))
    assert binomial.upper(mistakes=k, examples=many, delta=delta) <= limit * (1 + 1e-12)


@pytest.mark.parametrize("n", [2, 10, 199, 200, 201, 500, 3000])
def test_factorials_lie_between_their_bounds(n: int) -> None:
    low, high = ln_factorial(n)
    truth = Fraction(math.factorial(n))
    assert low <= ln_above(truth)
    assert ln_below(truth) <= high
    assert high - low < Decimal("1e-40") * (1 + high)


def test_logarithms_are_rounded_outward() -> None:
    import flint

    flint.ctx.prec = 400
    for q in (Fraction(2), Fraction(1, 3), Fraction(10**80 + 1, 10**80), Fraction(7**4000), Fraction(3, 10**900)):
        truth = flint.arb(flint.fmpq(q.numerator, q.denominator)).log()
        low, high = (flint.arb(str(f(q))) for f in (ln_below, ln_above))
        assert low <= truth <= high
        assert high - low < flint.arb("1e-50") * (1 + abs(truth))


@given(value=st.decimals(min_value=Decimal("1e-300"), max_value=Decimal("1e300"), allow_nan=False))
def test_floats_are_rounded_outward(value: Decimal) -> None:
    assert Fraction(float_below(value)) <= Fraction(value) <= Fraction(float_above(value))
    assert float_above(value) <= math.nextafter(float(value), math.inf)


# --- Against formulas in floating point, and each direction against the others ---


@given(epsilon=SHARE, delta=SHARE, size=st.integers(1, 10**30), d=st.integers(1, 1000))
@settings(max_examples=200, deadline=None)
def test_sizes_equal_the_formulas(epsilon: float, delta: float, size: int, d: int) -> None:
    ln = math.log(size) + math.log(1 / delta)
    plain = {
        "consistent": ln / epsilon,
        "agnostic": ln / (2 * epsilon**2),
        "vc": (8 * d * math.log2(13 / epsilon) + 4 * math.log2(2 / delta)) / epsilon,
        "hoeffding": math.log(1 / delta) / (2 * epsilon**2),
    }
    for law, value in plain.items():
        stated = ask(law, epsilon=epsilon, delta=delta, hypotheses=size, dimension=d).value
        assert value * (1 - 1e-12) <= stated <= value * (1 + 1e-12) + 1


@given(epsilon=SHARE, delta=SHARE, size=st.integers(1, 10**30), d=st.integers(1, 50))
@settings(max_examples=60, deadline=None)
def test_the_three_directions_agree(epsilon: float, delta: float, size: int, d: int) -> None:
    """The computed number of examples gives the error and the probability back, and one fewer does not."""
    for law in ("consistent", "agnostic", "vc", "vc-agnostic", "hoeffding"):
        more: dict[str, Any] = {"hypotheses": size, "dimension": d}
        m = int(ask(law, epsilon=epsilon, delta=delta, **more).value)
        assert ask(law, examples=m, delta=delta, **more).value <= epsilon * (1 + 1e-14)
        assert ask(law, examples=m, epsilon=epsilon, **more).value <= delta * (1 + 1e-13)
        if m > 1:
            assert ask(law, examples=m - 1, delta=delta, **more).value >= epsilon * (1 - 1e-14)
            assert ask(law, examples=m - 1, epsilon=epsilon, **more).value >= delta * (1 - 1e-13)
        assert check(law, examples=m, epsilon=epsilon, delta=delta, **more).enough
        assert m == 1 or not check(law, examples=m - 1, epsilon=epsilon, delta=delta, **more).enough


# --- The theorems themselves, on classes so small that every sample can be listed ---


def samples(weights: list[Fraction], many: int) -> Any:
    """Yield all samples of points 0 … n − 1, with their probabilities."""
    for drawn in itertools.product(range(len(weights)), repeat=many):
        yield drawn, math.prod((weights[x] for x in drawn), start=Fraction(1))


WEIGHTS = [Fraction(1, 2), Fraction(1, 4), Fraction(3, 20), Fraction(1, 10)]


@pytest.mark.parametrize("many", [1, 2, 4, 6])
@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.2, 0.3])
def test_a_consistent_hypothesis_fails_no_more_often_than_stated(many: int, epsilon: float) -> None:
    """All 16 functions of four points, the target 0: the exact probability that a bad one is consistent."""
    bad = [
        h
        for h in range(16)
        if sum((w for x, w in enumerate(WEIGHTS) if h >> x & 1), Fraction(0)) > Fraction(repr(epsilon))
    ]
    failed = sum(
        (p for drawn, p in samples(WEIGHTS, many) if any(not any(h >> x & 1 for x in drawn) for h in bad)), Fraction(0)
    )
    assert failed <= Fraction(consistent.failure(hypotheses=16, examples=many, epsilon=epsilon))
    assert failed <= Fraction(capacity.failure(dimension=4, examples=many, epsilon=epsilon))


@pytest.mark.parametrize("many", [1, 3, 6])
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.6])
def test_true_errors_exceed_the_bound_no_more_often_than_stated(many: int, epsilon: float) -> None:
    """Half-lines on four points, the target is {1}: every sample, every hypothesis."""
    half_lines = [{x for x in range(4) if x >= a} for a in range(5)]
    wrong = [one ^ {1} for one in half_lines]
    true = [sum((WEIGHTS[x] for x in one), Fraction(0)) for one in wrong]
    failed = sum(
        (
            p
            for drawn, p in samples(WEIGHTS, many)
            if any(
                t - Fraction(sum(x in w for x in drawn), many) > Fraction(repr(epsilon))
                for w, t in zip(wrong, true, strict=True)
            )
        ),
        Fraction(0),
    )
    assert failed <= Fraction(agnostic.failure(hypotheses=5, examples=many, epsilon=epsilon))
    assert failed <= Fraction(deviation.failure(dimension=1, examples=many, epsilon=epsilon))


@given(epsilon=st.integers(1, 50), delta=st.integers(1, 99))
def test_the_lower_bound_is_met_by_two_concepts(epsilon: int, delta: int) -> None:
    """The concepts differ in one point of probability p > ε. The learner says 0 there until it sees it, so it fails
    with probability (1 − p)^m. The bound's number of examples is enough for all p > ε, and one fewer is not, for p a
    little above ε. The number (1/ε)ln(1/δ) is larger, so it is not a lower bound."""
    wrong, failed = Fraction(epsilon, 100), Fraction(delta, 100)
    m = lower_bound.examples(dimension=1, epsilon=epsilon / 100, delta=delta / 100)
    assert (1 - wrong) ** m <= failed
    assert m == 0 or (1 - wrong) ** (m - 1) > failed
    assert m <= math.ceil(math.log(100 / delta) / (epsilon / 100) + 1e-9)


def test_the_textbook_form_of_the_lower_bound_is_refuted() -> None:
    assert lower_bound.examples(dimension=2, epsilon=0.1, delta=0.01) == 44 < math.log(100) / 0.1
    assert Fraction(9, 10) ** 44 < Fraction(1, 100)


def test_the_second_term_of_the_lower_bound_only_where_it_is_proved() -> None:
    assert lower_bound.examples(dimension=3201, epsilon=0.125, delta=0.01) == 800
    assert lower_bound.examples(dimension=3201, epsilon=0.126, delta=0.01) < 50
    assert lower_bound.examples(dimension=3201, epsilon=0.125, delta=0.02) < 50


@given(d=st.integers(1, 500), epsilon=st.floats(1e-6, 0.125), delta=st.floats(1e-9, 0.01))
def test_no_upper_bound_is_below_the_lower_one(d: int, epsilon: float, delta: float) -> None:
    least = lower_bound.examples(dimension=d, epsilon=epsilon, delta=delta)
    assert least <= capacity.examples(dimension=d, epsilon=epsilon, delta=delta)
    assert least <= consistent.examples(hypotheses=2**d, epsilon=epsilon, delta=delta)


# --- Words, huge numbers, absurd ones ---


def test_decimal_arguments_are_taken_exactly() -> None:
    """In binary 0.3 is a little less, and ten times as many hypotheses would need one example more."""
    assert lower_bound.examples(dimension=1, epsilon=0.5, delta=0.25) == 2
    assert lower_bound.examples(dimension=1, epsilon=0.3, delta=0.49) == 2  # (7/10)² = 49/100
    assert binomial.failure(mistakes=0, examples=2, epsilon=0.3) == pytest.approx(0.49)


def test_huge_numbers_do_not_overflow() -> None:
    huge = hypothesis_classes.boolean_functions(variables=1000)
    m = consistent.examples(hypotheses=huge, epsilon=1e-9, delta=1e-300)
    assert math.log10(m) == pytest.approx(1000 * math.log10(2) + math.log10(math.log(2)) + 9)
    assert consistent.error(hypotheses=huge, examples=m, delta=1e-300) <= 1e-9 * (1 + 1e-12)
    assert consistent.failure(hypotheses=huge, examples=2 * m, epsilon=1e-9) == 5e-324
    assert consistent.failure(hypotheses=huge, examples=1, epsilon=1e-9) == 1.0
    assert deviation.examples(dimension=10**30, epsilon=1e-9, delta=0.5) > 10**48
    assert capacity.examples(dimension=10**100, epsilon=1e-300, delta=1e-300) > 10**400
    with pytest.raises(InputError, match="more than 10"):
        consistent.examples(hypotheses=hypothesis_classes.boolean_functions(variables=100_000), epsilon=0.1, delta=0.1)
    for law in SAMPLE_SIZE_BOUNDS:
        assert "10^" in str(ask(law, epsilon=1e-100, delta=1e-100, hypotheses=10**1000, dimension=10**100))


ABSURD = [
    {"epsilon": 1.0, "delta": 0.1},
    {"epsilon": 0.0, "delta": 0.1},
    {"epsilon": -0.1, "delta": 0.1},
    {"epsilon": math.nan, "delta": 0.1},
    {"epsilon": 0.1, "delta": 0.0},
    {"epsilon": 0.1, "delta": 1.5},
    {"epsilon": 0.1, "delta": math.inf},
    {"epsilon": "0.1", "delta": 0.1},
    {"examples": 0, "delta": 0.1},
    {"examples": -5, "epsilon": 0.1},
    {"examples": 2.5, "epsilon": 0.1},
    {"examples": True, "epsilon": 0.1},
]


@pytest.mark.parametrize("law", SAMPLE_SIZE_BOUNDS)
@pytest.mark.parametrize("absurd", ABSURD, ids=str)
def test_invalid_numbers_are_refused(law: str, absurd: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be"):
        ask(law, hypotheses=10, dimension=3, **absurd)


def test_invalid_classes_are_refused() -> None:
    two: dict[str, Any] = {"epsilon": 0.1, "delta": 0.1}
    for law in ("vc", "vc-agnostic", "lower"):
        for d in (-1, 1.5, None):
            with pytest.raises(InputError, match="must be"):
                ask(law, dimension=d, **two)  # type: ignore[arg-type]
    for size in (0, -1, 0.5, None):
        with pytest.raises(InputError, match="must be"):
            ask("consistent", hypotheses=size, **two)  # type: ignore[arg-type]
    for call in (
        lambda: ask("vc", dimension=1),
        lambda: check("vc", dimension=1, examples=0, epsilon=0.1, delta=0.1),
        lambda: ask("vc", dimension=1, epsilon=0.1),
        lambda: ask("vc", dimension=1, epsilon=0.1, delta=0.1, examples=3),
        lambda: binomial.upper(mistakes=11, examples=10, delta=0.1),
        lambda: binomial.upper(mistakes=-1, examples=10, delta=0.1),
        lambda: binomial.upper(mistakes=0, examples=0, delta=0.1),
        lambda: binomial.examples(mistakes=0, epsilon=1e-12, delta=0.1),
    ):
        with pytest.raises(InputError):
            call()


def test_the_answer_is_explained_in_text() -> None:
    answer = ask("consistent", hypotheses=3**10, epsilon=0.1, delta=0.05)
    assert answer.filled == "m ≥ (1/0.1)·(10.99 + ln(1/0.05)), so m = 140"
    assert "Mitchell" in str(answer)
    assert answer.as_dict()["value"] == 140
    assert "at most 0.12345678 on" in ask("vc", dimension=1, epsilon=0.12345678, delta=0.1).sentence
    assert ask("vc", dimension=0, examples=1, delta=0.5).sentence.endswith("there are too few examples.")
    assert "0.9999" in ask("hoeffding", examples=10, delta=1e-4).sentence
    assert table("consistent", delta=0.05, hypotheses=3**10)[2] == (0.1, 140)


def test_the_module_is_a_public_name() -> None:
    assert novikoff.theory.consistent.examples(hypotheses=3**10, epsilon=0.1, delta=0.05) == 140
    assert {"vc", "sample_size", "binomial"} <= set(dir(novikoff.theory))
    with pytest.raises(AttributeError, match="no attribute 'gold'"):
        _ = novikoff.theory.gold
