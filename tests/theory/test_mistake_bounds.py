"""The mistake bounds against exact rationals, textbook values and each other."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from novikoff.errors import InputError
from novikoff.theory import mistake_bounds, regret

pytestmark = pytest.mark.plain_python_slow

POSITIVE = st.floats(1e-3, 1e3)
LOSS = st.floats(0.0, 1e4)


@given(radius=POSITIVE, norm=POSITIVE, loss=LOSS)
def test_the_sharper_hinge_bound_solves_its_inequality(radius: float, norm: float, loss: float) -> None:
    """It is the largest M with (M − L)² ≤ a·M: the inequality holds just below and fails just above, in rationals."""
    bound = Fraction(mistake_bounds.hinge(radius=radius, norm=norm, loss=loss))
    a, total = (Fraction(radius) * Fraction(norm)) ** 2, Fraction(loss)
    below, above = bound * (1 - Fraction(1, 10**9)), bound * (1 + Fraction(1, 10**9))
    assert (below - total) ** 2 <= a * below or below <= total
    assert (above - total) ** 2 > a * above


@given(radius=POSITIVE, norm=POSITIVE, loss=LOSS)
def test_the_sharper_form_is_never_above_the_plain_one(radius: float, norm: float, loss: float) -> None:
    sharp = mistake_bounds.hinge(radius=radius, norm=norm, loss=loss)
    assert sharp <= mistake_bounds.hinge_plain(radius=radius, norm=norm, loss=loss) * (1 + 1e-12)


@given(radius=POSITIVE, margin=POSITIVE)
def test_forms_agree_where_they_meet(radius: float, margin: float) -> None:
    plain = mistake_bounds.novikoff(radius=radius, margin=margin)
    assert mistake_bounds.squared_slack(radius=radius, margin=margin, slack=0.0) == plain
    assert mistake_bounds.hinge(radius=radius, norm=1 / margin, loss=0.0) == pytest.approx(plain)
    assert mistake_bounds.p_norm(p=2.0, radius_p=radius, norm_q=1.0, margin=margin) == pytest.approx(plain)
    assert mistake_bounds.additive(norm2=1.0, radius2=radius, margin=margin) == pytest.approx(plain)
    assert mistake_bounds.thick_radius(radius=radius, width=0.0) == pytest.approx(radius)


@given(radius=POSITIVE, margin=POSITIVE)
def test_margin_perceptron_with_one_half_has_the_published_constant(radius: float, margin: float) -> None:
    ratio = radius / margin
    general = mistake_bounds.margin_perceptron(radius=radius, margin=margin, epsilon=0.5)
    assert general == pytest.approx(8 * ratio**2 + 4 * ratio)


def test_few_relevant_features_favour_multiplicative_updates() -> None:
    """k = 2 of n = 10⁴ Boolean features relevant, half of them active: M_w is far below M_p."""
    n, k = 10_000, 2
    additive = mistake_bounds.additive(norm2=math.sqrt(k), radius2=math.sqrt(n / 2), margin=1.0)
    multiplicative = mistake_bounds.multiplicative(features=n, norm1=k, radius_inf=1.0, margin=1.0)
    assert additive == pytest.approx(k * n / 2)
    assert multiplicative == pytest.approx(2 * math.log(n) * k * k)
    assert multiplicative < additive / 100


def test_regret_gives_mistakes_by_the_least_loss_of_one() -> None:
    assert regret.mistakes(loss_name="hinge", loss=3.0, regret=4.0) == 7.0
    assert regret.mistakes(loss_name="logistic", loss=0.0, regret=math.log(2)) == 1.0
    best = regret.constant_step(learning_rate=2.0 / 3.0, norm=2.0, energy=9.0)
    assert best == pytest.approx(2.0 * 3.0)  # ‖u‖·√S, at the best rate ‖u‖/√S


@pytest.mark.parametrize(
    "call",
    [
        lambda: mistake_bounds.novikoff(radius=1.0, margin=0.0),
        lambda: mistake_bounds.squared_slack(radius=1.0, margin=-1.0, slack=0.0),
        lambda: mistake_bounds.margin_perceptron(radius=1.0, margin=1.0, epsilon=0.0),
        lambda: mistake_bounds.p_norm(p=1.5, radius_p=1.0, norm_q=1.0, margin=1.0),
        lambda: mistake_bounds.multiplicative(features=0, norm1=1.0, radius_inf=1.0, margin=1.0),
        lambda: regret.adagrad(learning_rate=0.0, diameter=1.0, roots=1.0),
        lambda: mistake_bounds.novikoff(radius=1.0, margin=math.nan),
    ],
)
def test_invalid_numbers_are_refused(call: object) -> None:
    with pytest.raises(InputError, match="must be"):
        call()  # type: ignore[operator]
