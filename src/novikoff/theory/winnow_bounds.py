"""Mistake bounds of the multiplicative learners, as functions of named numbers.

The target is a monotone disjunction of k of n Boolean variables unless stated differently. Weights start at 1. A
promotion multiplies them by α; a demotion divides them by α or sets them to 0. The threshold is θ. A thick separator
of width g also promotes where w·x − θ < g and demotes where w·x − θ > −g. With g = 0 only mistakes cause updates.
"""

from __future__ import annotations

import math

from novikoff.errors import InputError


def promotions(*, literals: float, alpha: float, threshold: float, width: float = 0.0, least: float = 1.0) -> float:
    """Return u ≤ k·(1 + log_α((θ + g)/w₀)), the maximum number of promotions of the target's literals.

    k is `literals`, α is `alpha`, θ is `threshold`; w₀ is the least weight. A promotion multiplies the weight of a
    literal of the target, which no demotion changes. It happens only while that weight is below θ + g. With α = 2, θ
    = n and w₀ = 1 the bound is k·(1 + log₂ n).

    >>> promotions(literals=2, alpha=2.0, threshold=1024.0)
    22.0
    """
    _check_conditions(alpha, threshold, width)
    return literals * max(1.0, 1.0 + math.log((threshold + width) / least) / math.log(alpha))


def winnow(*, literals: float, features: float, alpha: float, threshold: float, width: float = 0.0) -> float:
    """Return the bound u + v on updates, v < (n + u(α−1)(θ+g))·α/((α−1)(θ−g)), with u from `promotions`.

    A demotion removes (1−1/α)(θ−g) of the total weight. The total starts at n, stays above 0 and grows by less than
    (α−1)(θ+g) in a promotion. With α = 2 and θ = n the bound is 2 + 3k(1 + log₂ n).

    >>> winnow(literals=2, features=1024, alpha=2.0, threshold=1024.0)
    68.0
    """
    u = promotions(literals=literals, alpha=alpha, threshold=threshold, width=width)
    gained = features + u * (alpha - 1.0) * (threshold + width)
    return u + gained * alpha / ((alpha - 1.0) * (threshold - width))


def winnow_elimination(*, literals: float, features: float, alpha: float, threshold: float) -> float:
    """Return the bound u + v on mistakes with v ≤ n/θ + u(α−1): a demotion removes θ of the total weight for good.

    With α = 2 and θ = n the bound is 2k(1 + log₂ n) + 1. Littlestone's bound of Winnow1, αk(1 + log_α θ) + n/θ, is
    the same number.

    >>> winnow_elimination(literals=2, features=1024, alpha=2.0, threshold=1024.0)
    45.0
    """
    u = promotions(literals=literals, alpha=alpha, threshold=threshold)
    return alpha * u + features / threshold


def winnow_r(
    *, gained: float, features: float, alpha: float, threshold: float, floor: float, width: float = 0.0
) -> float:
    """Return the bound u + v on updates for a changing target that gains c literals in all, those of its start
    included.

    c is `gained`, and no weight falls below f, the `floor`. u ≤ c(1 + log_α((θ+g)/f)). A demotion removes
    (1−1/α)(θ−g−f·n) of the total weight, which starts at n and stays above f·n:
    v ≤ ((1−f)n + u(α−1)(θ+g))·α/((α−1)(θ−g−f·n)). With α = 2, θ = n and f = ½ the bound is 2 + 5c(2 + log₂ n).

    >>> winnow_r(gained=2, features=1024, alpha=2.0, threshold=1024.0, floor=0.5)
    122.0
    """
    u = promotions(literals=gained, alpha=alpha, threshold=threshold, width=width, least=floor)
    taken = threshold - width - floor * features
    if not (0.0 < floor <= 1.0 and taken > 0.0):
        raise InputError("This bound needs a floor from 0 to 1 and a threshold above floor·n + margin.")
    return u + ((1.0 - floor) * features + u * (alpha - 1.0) * (threshold + width)) * alpha / ((alpha - 1.0) * taken)


def winnow2(*, separation: float, weight: float, features: float, threshold: float) -> float:
    """Return M ≤ (8/δ²)(n/θ) + (5/δ + 14 ln θ/δ²)·Σμ, for α = 1 + δ/2 and θ ≥ 1 (Littlestone 1988, Winnow2).

    δ is `separation`, Σμ is `weight`, n is `features`, θ is `threshold`. The target is μ ≥ 0 with μ·x ≥ 1 on positive
    examples and μ·x ≤ 1 − δ on negative ones, 0 < δ ≤ 1. Features must be 0 or 1: for smaller values weights grow
    beyond αθ, which contradicts the proof.

    >>> winnow2(separation=1.0, weight=2.0, features=100.0, threshold=100.0)
    146.94476520766656
    """
    if not (0.0 < separation <= 1.0 and threshold >= 1.0):
        raise InputError("This bound needs a separation from 0 to 1 and a threshold of at least 1.")
    delta = separation
    return 8.0 / delta**2 * features / threshold + (5.0 / delta + 14.0 * math.log(threshold) / delta**2) * weight


def balanced_winnow(
    *, features: float, learning_rate: float, radius_inf: float, norm1: float, margin: float, loss: float
) -> float:
    """Return M ≤ (ln 2n + ηL)/(ηγ − η²X²/2), η = ln α, for any u with ‖u‖₁ = 1 and any γ > 0.

    n is `features`, η is `learning_rate`, X is `radius_inf`, ‖u‖₁ is `norm1`, γ is `margin`, L = Σ max(0, γ − y·u·x)
    is `loss`. `norm1`, `margin` and `loss` may be those of any multiple of u. The proof uses W = Σ (w⁺ + w⁻). A
    mistake multiplies W by at most e^(η²X²/2) (Hoeffding), because the mean of y·x under w/W is not positive. And ln
    W ≥ η·Σ y·u·x over the mistakes. With L = 0 and η = γ/X² the bound is 2 ln(2n)·(‖u‖₁X/γ)². It is infinite where η
    ≥ 2γ/X².

    >>> round(balanced_winnow(features=500, learning_rate=0.1, radius_inf=1.0, norm1=10.0, margin=1.0, loss=0.0), 2)
    1381.55
    """
    gamma, total = margin / norm1, loss / norm1
    earned = learning_rate * gamma - (learning_rate * radius_inf) ** 2 / 2.0
    return (math.log(2.0 * features) + learning_rate * total) / earned if earned > 0.0 else math.inf


def _check_conditions(alpha: float, threshold: float, width: float) -> None:
    if not (alpha > 1.0 and 0.0 <= width < threshold):
        raise InputError(
            f"This bound needs alpha > 1 and margin < threshold, got {alpha=}, margin={width}, {threshold=}."
        )
