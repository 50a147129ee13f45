"""Mistake bounds, each a function of measured numbers.

u is any vector, the witness. R = max‖x_t‖, γ = min y_t·u·x_t for ‖u‖ = 1, L = Σ max(0, 1 − y_t·u·x_t). Every u gives a
true bound, a better u a tighter one. A bound on the number of updates bounds the mistakes too where every mistake is an
update, which holds for all learners here.
"""

from __future__ import annotations

import math

from novikoff.errors import InputError

ROUNDING_PER_EXAMPLE = 16.0 * 2.0**-52
"""What a few roundings of votes in one example may come to."""


def novikoff(*, radius: float, margin: float) -> float:
    """M ≤ (R/γ)², for ‖u‖ = 1 with y_t·u·x_t ≥ γ > 0 for all t (Novikoff 1962).

    >>> novikoff(radius=1.0, margin=0.1)
    100.0
    """
    _check_positive(margin=margin)
    return (radius / margin) ** 2


def hinge_plain(*, radius: float, norm: float, loss: float) -> float:
    """M ≤ R²‖u‖² + 2L, for any u, in any order of the examples.

    >>> hinge_plain(radius=1.0, norm=10.0, loss=0.0)
    100.0
    """
    return (radius * norm) ** 2 + 2.0 * loss


def hinge(*, radius: float, norm: float, loss: float) -> float:
    """M ≤ (a + 2L + √(a² + 4aL))/2 with a = R²‖u‖²: what (M − L)² ≤ a·M says about M; never above `hinge_plain`.

    >>> hinge(radius=1.0, norm=10.0, loss=0.0)
    100.0
    """
    a = (radius * norm) ** 2
    return (a + 2.0 * loss + math.sqrt(a * a + 4.0 * a * loss)) / 2.0


def this_run(*, energy: float, norm: float, loss: float) -> float:
    """M ≤ L + ‖u‖√S with S = Σ‖x_t‖² over the mistakes made: explains this very run, says nothing of another order.

    >>> this_run(energy=4.0, norm=1.5, loss=1.0)
    4.0
    """
    return loss + norm * math.sqrt(energy)


def weighted_majority(
    *, experts: int, mistakes: int, beta: float, fixed_share: float = 0.0, examples: int = 0
) -> float:
    """M ≤ (ln N + M*·ln(1/β)) / (ln(2/(1+β)) − ln(1/(1−α))): predictions by the most votes of N experts, the best of
    whom makes M* mistakes; a vote is multiplied by β when its expert errs, and of all votes a share α is dealt out
    evenly when the prediction errs (Littlestone and Warmuth 1994; Herbster and Warmuth 1998). Infinite where α deals
    out more than β takes. Votes are rounded a few times in each of so many `examples`, which is allowed for.

    >>> round(weighted_majority(experts=4, mistakes=100, beta=0.8), 1)
    224.9
    >>> weighted_majority(experts=1, mistakes=0, beta=0.5)
    0.0
    """
    if not (0.0 < beta < 1.0 and 0.0 <= fixed_share < 1.0):
        raise InputError(
            f"beta must be above 0, fixed_share not below it, and both below 1: {beta!r} and {fixed_share!r} came."
        )
    gain = math.log(2.0 / (1.0 + beta)) - math.log(1.0 / (1.0 - fixed_share)) - ROUNDING_PER_EXAMPLE
    if not gain > ROUNDING_PER_EXAMPLE:
        return math.inf
    total = math.log(experts) + mistakes * math.log(1.0 / beta) + examples * ROUNDING_PER_EXAMPLE
    return total / gain * (1.0 + 2.0**-40)


def squared_slack(*, radius: float, margin: float, slack: float) -> float:
    """M ≤ ((R + D₂)/γ)², for ‖u‖ = 1, any γ > 0, D₂² = Σ max(0, γ − y_t·u·x_t)² (Freund and Schapire 1999).

    >>> squared_slack(radius=1.0, margin=0.5, slack=1.0)
    16.0
    """
    _check_positive(margin=margin)
    return ((radius + slack) / margin) ** 2


def thick_radius(*, radius: float, width: float) -> float:
    """√(R² + 2g): what takes the place of R when every y·w·x < g is an update, for a learner of rate 1.

    An update then lengthens ‖w‖² by at most R² + 2g instead of R²; the rest of each proof stays as it is.

    >>> thick_radius(radius=1.0, width=1.5)
    2.0
    """
    return math.sqrt(radius**2 + 2.0 * width)


def margin_perceptron(*, radius: float, margin: float, epsilon: float) -> float:
    """Updates ≤ 2(R/(εγ))² + 2R/(εγ), for data with margin ≥ γ; with ε = ½ it is 8(R/γ)² + 4R/γ.

    >>> margin_perceptron(radius=1.0, margin=0.5, epsilon=0.5)
    40.0
    """
    _check_positive(margin=margin, epsilon=epsilon)
    ratio = radius / (epsilon * margin)
    return 2.0 * ratio**2 + 2.0 * ratio


def additive(*, norm2: float, radius2: float, margin: float) -> float:
    """M_p = ‖u‖₂²·max‖x‖₂² / (min y·u·x)²: what additive updates pay for this target.

    >>> additive(norm2=2.0, radius2=3.0, margin=1.0)
    36.0
    """
    _check_positive(margin=margin)
    return (norm2 * radius2 / margin) ** 2


def multiplicative(*, features: int, norm1: float, radius_inf: float, margin: float) -> float:
    """M_w = 2·ln n·‖u‖₁²·max‖x‖_∞² / (min y·u·x)²: what multiplicative updates pay for it.

    >>> round(multiplicative(features=1000, norm1=2.0, radius_inf=1.0, margin=1.0), 2)
    55.26
    """
    _check_positive(margin=margin, features=features)
    return 2.0 * math.log(features) * (norm1 * radius_inf / margin) ** 2


def p_norm(*, p: float, radius_p: float, norm_q: float, margin: float) -> float:
    """M ≤ (p−1)·(X_p·‖u‖_q/γ)², 1/p + 1/q = 1, p ≥ 2 (Grove, Littlestone and Schuurmans 2001).

    >>> p_norm(p=2.0, radius_p=1.0, norm_q=1.0, margin=0.1)
    100.0
    """
    _check_positive(margin=margin)
    if p < 2.0:
        raise InputError(f"p must be at least 2, but is {p}.")
    return (p - 1.0) * (radius_p * norm_q / margin) ** 2


def _check_positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not value > 0.0:
            raise InputError(f"{name} must be above 0 for this bound, but is {value}.")
