"""The regret of a mixture with fixed share: its formula, and the theorem for mixtures that are computed exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novikoff.errors import InputError
from novikoff.theory import regret

pytestmark = pytest.mark.plain_python_slow

SHARE = st.floats(1e-6, 0.5)


def mixture_loss(likelihoods: list[list[Fraction]], share: Fraction) -> float:
    """Return the log-loss of the mixture: the weights are multiplied by the likelihoods, then shared."""
    n = len(likelihoods[0])
    weights, total_loss = [Fraction(1, n)] * n, 0.0
    for row in likelihoods:
        products = [v * p for v, p in zip(weights, row, strict=True)]
        total = sum(products)
        total_loss -= math.log(total)
        weights = [(1 - share) * product / total + share / n for product in products]
    return total_loss


def best_sequence_loss(likelihoods: list[list[Fraction]], switches: int) -> float:
    """Return the least log-loss of a sequence of forecasts with exactly this number of switches."""
    n = len(likelihoods[0])
    best = {(k, 0): -math.log(likelihoods[0][k]) for k in range(n)}
    for row in likelihoods[1:]:
        found: dict[tuple[int, int], float] = {}
        for (before, s), loss in best.items():
            for k in range(n):
                key = (k, s + (k != before))
                if key[1] <= switches:
                    found[key] = min(found.get(key, math.inf), loss - math.log(row[k]))
        best = found
    return min((loss for (_, s), loss in best.items() if s == switches), default=math.inf)


@given(
    share=st.sampled_from([Fraction(0), Fraction(1, 3000), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]),
    forecasts=st.integers(2, 3),
    switches=st.integers(0, 3),
    rows=st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=1, max_size=12),
)
def test_no_mixture_loses_more(share: Fraction, forecasts: int, switches: int, rows: list[list[int]]) -> None:
    if share == 0 and switches:
        return
    likelihoods = [[Fraction(p, 10) for p in row[:forecasts]] for row in rows]
    lost = regret.fixed_share(forecasts=forecasts, share=float(share), examples=len(rows), switches=switches)
    assert mixture_loss(likelihoods, share) <= best_sequence_loss(likelihoods, switches) + lost


@given(share=SHARE, forecasts=st.integers(1, 9), examples=st.integers(1, 10**6), switches=st.integers(0, 50))
def test_the_regret_equals_its_formula_and_allows_for_rounding(
    share: float, forecasts: int, examples: int, switches: int
) -> None:
    kept = max(0, examples - 1 - switches) * math.log(1.0 / (1.0 - share + share / forecasts))
    exact = math.log(forecasts) + switches * math.log(forecasts / share) + kept
    found = regret.fixed_share(forecasts=forecasts, share=share, examples=examples, switches=switches)
    assert found > exact * (1.0 - 1e-9)
    assert found == pytest.approx(exact, rel=1e-8, abs=1e-5)


@given(share=SHARE, examples=st.integers(0, 10**6), more=st.integers(1, 1000))
def test_the_regret_grows_with_the_share_the_examples_and_the_switches(share: float, examples: int, more: int) -> None:
    base = regret.fixed_share(forecasts=2, share=share, examples=examples)
    assert regret.fixed_share(forecasts=2, share=share, examples=examples + more) > base
    assert regret.fixed_share(forecasts=2, share=share * (1.0 + 0.0009 * more), examples=examples) >= base
    assert regret.fixed_share(forecasts=2, share=share, examples=examples, switches=more) > base


def test_without_a_share_a_mixture_loses_the_logarithm_of_the_number_of_forecasts() -> None:
    for forecasts in (1, 2, 5):
        found = regret.fixed_share(forecasts=forecasts, share=0.0, examples=1000)
        assert math.log(forecasts) <= found <= math.log(forecasts) + 2e-9
    assert regret.fixed_share(forecasts=2, share=0.0003, examples=10_001) == pytest.approx(math.log(2) + 1.5, rel=1e-3)


@pytest.mark.parametrize(("share", "switches"), [(-0.1, 0), (1.0, 0), (2.0, 0), (math.nan, 0), (0.0, 1)])
def test_shares_without_a_theorem_are_refused(share: float, switches: int) -> None:
    with pytest.raises(InputError, match="share must be from 0 to below 1"):
        regret.fixed_share(forecasts=2, share=share, examples=10, switches=switches)
