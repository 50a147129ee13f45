"""Mistake bounds of the multiplicative learners, each a function of named numbers.

The target is a monotone disjunction of k of n Boolean variables unless said otherwise. Weights start at 1; they are
multiplied by α in a promotion and divided by α, or set to 0, in a demotion; the threshold is θ. A thick separator of
width g also promotes where w·x − θ < g and demotes where w·x − θ > −g; with g = 0 only mistakes do.
"""

from __future__ import annotations

import math

from novikoff.errors import InputError


def promotions(*, literals: float, alpha: float, threshold: float, width: float = 0.0, least: float = 1.0) -> float:
    """u ≤ k·(1 + log_α((θ + g)/w₀)): how often a target's literals can be promoted from weight w₀ on.

    A promotion multiplies the weight of a literal of the target, which no demotion touches, and happens only while that
    weight is below θ + g. With α = 2, θ = n, w₀ = 1 this is k·(1 + log₂ n).

    >>> promotions(literals=2, alpha=2.0, threshold=1024.0)
    22.0
    """
    _check_conditions(alpha, threshold, width)
    return literals * max(1.0, 1.0 + math.log((threshold + width) / least) / math.log(alpha))


def winnow(*, literals: float, features: float, alpha: float, threshold: float, width: float = 0.0) -> float:
    """Updates ≤ u + v, v < (n + u(α−1)(θ+g))·α/((α−1)(θ−g)): a demotion takes (1−1/α)(θ−g) off the total weight, which
    starts at n, stays above 0, and gains less than (α−1)(θ+g) by a promotion. With α = 2, θ = n: 2 + 3k(1 + log₂ n).

    >>> winnow(literals=2, features=1024, alpha=2.0, threshold=1024.0)
    68.0
    """
    u = promotions(literals=literals, alpha=alpha, threshold=threshold, width=width)
    gained = features + u * (alpha - 1.0) * (threshold + width)
    return u + gained * alpha / ((alpha - 1.0) * (threshold - width))


def winnow_elimination(*, literals: float, features: float, alpha: float, threshold: float) -> float:
    """Mistakes ≤ u + v with v ≤ n/θ + u(α−1): a demotion takes θ off the total weight for good.

    With α = 2, θ = n: 2k(1 + log₂ n) + 1. Littlestone's Winnow1 has αk(1 + log_α θ) + n/θ, the same number.

    >>> winnow_elimination(literals=2, features=1024, alpha=2.0, threshold=1024.0)
    45.0
    """
    u = promotions(literals=literals, alpha=alpha, threshold=threshold)
    return alpha * u + features / threshold


def winnow_r(
    *, gained: float, features: float, alpha: float, threshold: float, floor: float, width: float = 0.0
) -> float:
    """Updates ≤ u + v for a target that gains literals c times in all, those of its start included; weights stay ≥ f.

    u ≤ c(1 + log_α((θ+g)/f)). A demotion takes (1−1/α)(θ−g−f·n) off the total weight, which starts at n and stays above
    f·n: v ≤ ((1−f)n + u(α−1)(θ+g))·α/((α−1)(θ−g−f·n)). With α = 2, θ = n, f = ½: 2 + 5c(2 + log₂ n).

    >>> winnow_r(gained=2, features=1024, alpha=2.0, threshold=1024.0, floor=0.5)
    122.0
    """
    u = promotions(literals=gained, alpha=alpha, threshold=threshold, width=width, least=floor)
    taken = threshold - width - floor * features
    if not (0.0 < floor <= 1.0 and taken > 0.0):
        raise InputError("This bound needs a floor from 0 to 1 and a threshold above floor·n + margin.")
    return u + ((1.0 - floor) * features + u * (alpha - 1.0) * (threshold + width)) * alpha / ((alpha - 1.0) * taken)


def winnow2(*, separation: float, weight: float, features: float, threshold: float) -> float:
    """Mistakes ≤ (8/δ²)(n/θ) + (5/δ + 14 ln θ/δ²)·Σμ, for α = 1 + δ/2 and θ ≥ 1 (Littlestone 1988, Winnow2).

    The target is μ ≥ 0 with μ·x ≥ 1 on positive examples and μ·x ≤ 1 − δ on negative ones, 0 < δ ≤ 1. Only for features
    that are 0 or 1: for smaller values weights grow beyond αθ, which the proof rests on.

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
    """M ≤ (ln 2n + ηL)/(ηγ − η²X²/2), η = ln α, for any u with ‖u‖₁ = 1: γ > 0 any, L = Σ max(0, γ − y·u·x).

    From W = Σ (w⁺ + w⁻): a mistake multiplies it by e^(η²X²/2) at most (Hoeffding), because the mean of y·x under w/W
    is not positive; and ln W ≥ η·Σ y·u·x over the mistakes. `norm1`, `margin` and `loss` may be those of any multiple
    of u.
    With L = 0 and η = γ/X² it is 2 ln(2n)·(‖u‖₁X/γ)². math.inf where η ≥ 2γ/X².

    >>> round(balanced_winnow(features=500, learning_rate=0.1, radius_inf=1.0, norm1=10.0, margin=1.0, loss=0.0), 2)
    1381.55
    """
    gamma, total = margin / norm1, loss / norm1
    earned = learning_rate * gamma - (learning_rate * radius_inf) ** 2 / 2.0
    return (math.log(2.0 * features) + learning_rate * total) / earned if earned > 0.0 else math.inf


def _check_conditions(alpha: float, threshold: float, width: float) -> None:
    if not (alpha > 1.0 and 0.0 <= width < threshold):
        raise InputError(f"This bound needs alpha > 1 and a margin below the threshold: {alpha}, {width}, {threshold}.")
