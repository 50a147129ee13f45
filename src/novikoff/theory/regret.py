"""Regret bounds: how far the total loss of a learner can exceed that of any fixed vector u.

Σ ℓ_t(w_t) − Σ ℓ_t(u) ≤ regret. On a mistake the hinge loss is at least 1, the logistic loss at least ln 2 and the
squared loss at least ½. A regret bound therefore also bounds the mistakes.
"""

from __future__ import annotations

import math

from novikoff.errors import InputError

ROUNDING_PER_EXAMPLE = 1e-12
"""More than the rounding of the log-losses of one example, each of which is below 20."""
ROUNDING = 2.0**-40
MIN_LOSS_OF_MISTAKE = {"hinge": 1.0, "logistic": math.log(2.0), "squared": 0.5}


def constant_step(*, learning_rate: float, norm: float, energy: float) -> float:
    """Return ‖u‖²/(2r) + (r/2)·Σ‖g_t‖², for gradient steps of constant rate r from w = 0 and convex losses.

    r is `learning_rate`, ‖u‖ is `norm`, Σ‖g_t‖² is `energy` (Zinkevich 2003).

    >>> constant_step(learning_rate=0.5, norm=2.0, energy=8.0)
    6.0
    """
    _check_positive(learning_rate)
    return norm**2 / (2.0 * learning_rate) + learning_rate / 2.0 * energy


def adagrad(*, learning_rate: float, diameter: float, roots: float) -> float:
    """Return (D²/(2r) + r)·Σ_j √G_j with D = max_t ‖w_t − u‖_∞ and G_j = Σ_t g_{t,j}².

    r is `learning_rate`, D is `diameter`, Σ_j √G_j is `roots` (Duchi, Hazan and Singer 2011).

    >>> adagrad(learning_rate=1.0, diameter=2.0, roots=3.0)
    9.0
    """
    _check_positive(learning_rate)
    return (diameter**2 / (2.0 * learning_rate) + learning_rate) * roots


def fixed_share(*, forecasts: int, share: float, examples: int, switches: int = 0) -> float:
    """Return ln N + s·ln(N/α) + (m − 1 − s)·ln(1/(1 − α + α/N)): what a mixture of N forecasts, whose weights are
    multiplied by their likelihoods, can lose in log-loss beyond the best of them, or the best sequence with s switches.

    A `share` α of all weights is redistributed evenly after each of m `examples`; s is `switches`. The bound allows for
    the rounding of each example. (Herbster and Warmuth 1998.)

    >>> round(fixed_share(forecasts=2, share=0.0, examples=1000), 6)
    0.693147
    """
    if not 0.0 <= share < 1.0 or (switches > 0 and share == 0.0):
        raise InputError(f"share must be from 0 to below 1, and above 0 with switches, got {share!r}.")
    kept = max(0, examples - 1 - switches) * -math.log1p(share / forecasts - share)
    switched = switches * math.log(forecasts / share) if switches else 0.0
    return (math.log(forecasts) + kept + switched + examples * ROUNDING_PER_EXAMPLE) * (1.0 + ROUNDING)


def mistakes(*, loss_name: str, loss: float, regret: float) -> float:
    """Return M ≤ (Σ ℓ_t(u) + regret) / (the least loss of a mistake).

    Σ ℓ_t(u) is `loss`; `loss_name` selects the least loss of a mistake.

    >>> mistakes(loss_name="squared", loss=1.0, regret=2.0)
    6.0
    """
    return (loss + regret) / MIN_LOSS_OF_MISTAKE[loss_name]


def _check_positive(learning_rate: float) -> None:
    if not learning_rate > 0.0:
        raise InputError(f"learning_rate must be above 0 for this bound, got {learning_rate}.")
