"""Mistake bounds of the additive learners, as functions of measured numbers.

u is any vector, the witness. R = max‖x_t‖, γ = min y_t·u·x_t for ‖u‖ = 1, L = Σ max(0, 1 − y_t·u·x_t). Every u gives
a valid bound; a better u gives a tighter one. All learners here update on every mistake, so a bound on the number of
updates also bounds the mistakes.
"""

from __future__ import annotations

import math

from novikoff.errors import InputError


def novikoff(*, radius: float, margin: float) -> float:
    """Return M ≤ (R/γ)², for ‖u‖ = 1 with y_t·u·x_t ≥ γ > 0 for all t (Novikoff 1962).

    R is `radius`, γ is `margin`.

    >>> novikoff(radius=1.0, margin=0.1)
    100.0
    """
    _check_positive(margin=margin)
    return (radius / margin) ** 2


def hinge_plain(*, radius: float, norm: float, loss: float) -> float:
    """Return M ≤ R²‖u‖² + 2L, for any u and any order of the examples.

    R is `radius`, ‖u‖ is `norm`, L is `loss`.

    >>> hinge_plain(radius=1.0, norm=10.0, loss=0.0)
    100.0
    """
    return (radius * norm) ** 2 + 2.0 * loss


def hinge(*, radius: float, norm: float, loss: float) -> float:
    """Return M ≤ (a + 2L + √(a² + 4aL))/2 with a = R²‖u‖², the solution of (M − L)² ≤ a·M.

    R is `radius`, ‖u‖ is `norm`, L is `loss`. The bound is never above `hinge_plain`.

    >>> hinge(radius=1.0, norm=10.0, loss=0.0)
    100.0
    """
    a = (radius * norm) ** 2
    return (a + 2.0 * loss + math.sqrt(a * a + 4.0 * a * loss)) / 2.0


def this_run(*, energy: float, norm: float, loss: float) -> float:
    """Return M ≤ L + ‖u‖√S for this run only, with S = Σ‖x_t‖² over the mistakes that were made.

    S is `energy`, ‖u‖ is `norm`, L is `loss`.

    >>> this_run(energy=4.0, norm=1.5, loss=1.0)
    4.0
    """
    return loss + norm * math.sqrt(energy)


def squared_slack(*, radius: float, margin: float, slack: float) -> float:
    """Return M ≤ ((R + D₂)/γ)², for ‖u‖ = 1, any γ > 0, D₂² = Σ max(0, γ − y_t·u·x_t)².

    R is `radius`, γ is `margin`, D₂ is `slack` (Freund and Schapire 1999).

    >>> squared_slack(radius=1.0, margin=0.5, slack=1.0)
    16.0
    """
    _check_positive(margin=margin)
    return ((radius + slack) / margin) ** 2


def thick_radius(*, radius: float, width: float) -> float:
    """Return √(R² + 2g), which replaces R for a learner of rate 1 that updates on every y·w·x < g.

    R is `radius`, g is `width`. An update then lengthens ‖w‖² by at most R² + 2g instead of R². The rest of each
    proof is unchanged.

    >>> thick_radius(radius=1.0, width=1.5)
    2.0
    """
    return math.sqrt(radius**2 + 2.0 * width)


def margin_perceptron(*, radius: float, margin: float, epsilon: float) -> float:
    """Return the bound on updates 2(R/(εγ))² + 2R/(εγ), for data with margin ≥ γ.

    R is `radius`, γ is `margin`, ε is `epsilon`. With ε = ½ the bound is 8(R/γ)² + 4R/γ.

    >>> margin_perceptron(radius=1.0, margin=0.5, epsilon=0.5)
    40.0
    """
    _check_positive(margin=margin, epsilon=epsilon)
    ratio = radius / (epsilon * margin)
    return 2.0 * ratio**2 + 2.0 * ratio


def additive(*, norm2: float, radius2: float, margin: float) -> float:
    """Return M_p = ‖u‖₂²·max‖x‖₂² / (min y·u·x)², the bound of additive updates for the target u.

    ‖u‖₂ is `norm2`, max‖x‖₂ is `radius2`, min y·u·x is `margin`.

    >>> additive(norm2=2.0, radius2=3.0, margin=1.0)
    36.0
    """
    _check_positive(margin=margin)
    return (norm2 * radius2 / margin) ** 2


def multiplicative(*, features: int, norm1: float, radius_inf: float, margin: float) -> float:
    """Return M_w = 2·ln n·‖u‖₁²·max‖x‖_∞² / (min y·u·x)², the bound of multiplicative updates for the target u.

    n is `features`, ‖u‖₁ is `norm1`, max‖x‖_∞ is `radius_inf`, min y·u·x is `margin`.

    >>> round(multiplicative(features=1000, norm1=2.0, radius_inf=1.0, margin=1.0), 2)
    55.26
    """
    _check_positive(margin=margin, features=features)
    return 2.0 * math.log(features) * (norm1 * radius_inf / margin) ** 2


def p_norm(*, p: float, radius_p: float, norm_q: float, margin: float) -> float:
    """Return M ≤ (p−1)·(X_p·‖u‖_q/γ)², 1/p + 1/q = 1, p ≥ 2 (Grove, Littlestone and Schuurmans 2001).

    X_p is `radius_p`, ‖u‖_q is `norm_q`, γ is `margin`.

    >>> p_norm(p=2.0, radius_p=1.0, norm_q=1.0, margin=0.1)
    100.0
    """
    _check_positive(margin=margin)
    if p < 2.0:
        raise InputError(f"p must be at least 2, got {p}.")
    return (p - 1.0) * (radius_p * norm_q / margin) ** 2


def _check_positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not value > 0.0:
            raise InputError(f"{name} must be above 0 for this bound, got {value}.")
