"""Generate small deterministic streams for pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]


def make_two_sides(examples: int = 120, *, gap: float = 0.15, noise: float = 0.0, seed: int = 1) -> tuple[Table, Any]:
    """Generate points of [−1, 1]² at least `gap` from a line through (0, 0.1); a share `noise` of labels is flipped."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (20 * examples, 2))
    score = (X[:, 0] + 0.6 * X[:, 1] - 0.06) / np.hypot(1, 0.6)
    X, score = X[np.abs(score) > gap][:examples], score[np.abs(score) > gap][:examples]
    y = np.where(score > 0, 1, 0)
    flipped = rng.random(examples) < noise
    return X, np.where(flipped, 1 - y, y)


def make_clusters(examples: int = 150, *, classes: int = 3, spread: float = 0.22, seed: int = 2) -> tuple[Table, Any]:
    """Generate clouds around points of a circle."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, examples)
    angle = 2 * np.pi * y / classes + 0.5
    X = 0.6 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + spread * rng.standard_normal((examples, 2))
    return np.clip(X, -1, 1), y


def make_ring(examples: int = 160, *, seed: int = 3) -> tuple[Table, Any]:
    """Generate points inside and outside of a circle, with a gap in between."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (20 * examples, 2))
    far = np.hypot(X[:, 0], X[:, 1])
    X, far = X[np.abs(far - 0.62) > 0.08][:examples], far[np.abs(far - 0.62) > 0.08][:examples]
    return X, np.where(far < 0.62, 1, 0)


def make_disjunction(examples: int, attributes: int, relevant: int, *, active: float = 0.1, seed: int = 4) -> Any:
    """Generate Boolean rows; positive if one of the first `relevant` attributes is active."""
    rng = np.random.default_rng(seed)
    X = (rng.random((examples, attributes)) < active).astype(float)
    return X, X[:, :relevant].max(axis=1).astype(int)


def make_grid(wide: int, tall: int, reach: float = 1.0) -> Table:
    """Return the centres of the cells of [−reach, reach]², row by row from below."""
    a = reach * (2 * (np.arange(wide) + 0.5) / wide - 1)
    b = reach * (2 * (np.arange(tall) + 0.5) / tall - 1)
    return np.stack([np.tile(a, tall), np.repeat(b, wide)], axis=1)
