"""The mean of all hypotheses, kept by the changes of the weights alone; the later ones may weigh more.

The hypothesis after step t weighs t^p − (t−1)^p, about p·t^(p−1): all the same for p = 1, those of the last steps most
for larger p. A change δ at step t is part of the hypotheses of steps t … T, which together weigh T^p − (t−1)^p, so that

    w̄ = T^(−p)·Σ (t^p − (t−1)^p)·w_{t+1} = w − T^(−p)·Σ (t−1)^p·δ

Only weights that move are touched; an updater's `sums` are Σ (t−1)^p·δ, and its `tail` is p.
"""

from __future__ import annotations

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import np

MAX_AVERAGING_POWER = 20.0
"""The largest p: T^p must stay a number, with room for weights, however long the stream is."""


@compiled
def step_power(t: int, power: float) -> float:
    """Return t^p; the usual p = 1 needs no logarithm, which would take longer than a short example."""
    return np.float64(t) if power == 1.0 else np.float64(t) ** power


@compiled
def averaged_weight(w: float, total: float, t: int, power: float) -> float:
    """Return w̄ after t steps, from the last w and Σ (t−1)^p·δ."""
    return w - total / step_power(max(t, 1), power)
