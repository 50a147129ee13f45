"""Synthetic data, seeded: text-like sparse rows, and a dense table."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def text_like(rows: int = 500_000, features: int = 47_236, terms: int = 75, seed: int = 0) -> tuple[Any, Any]:
    """Rows of unit length, features drawn as words are (few often, most rarely), noisy labels of a random plane."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, features + 1) ** 0.9
    edges = np.cumsum(shares / shares.sum())
    indices = np.searchsorted(edges, rng.random((rows, terms))).astype(np.int32).clip(max=features - 1)
    indices.sort(axis=1)
    values = rng.random((rows, terms), dtype=np.float32)
    values /= np.sqrt((values**2).sum(axis=1, keepdims=True))
    plane = rng.standard_normal(features).astype(np.float32)
    scores = np.einsum("ij,ij->i", plane[indices], values) + 0.3 * rng.standard_normal(rows)
    X = sp.csr_matrix((values.ravel(), indices.ravel(), np.arange(0, rows * terms + 1, terms)), (rows, features))
    X.sum_duplicates()
    return X, np.where(scores > 0, 1, -1)


def table(rows: int = 1_000_000, columns: int = 100, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    scores = X @ rng.standard_normal(columns).astype(np.float32) + 3.0 * rng.standard_normal(rows)
    return X, np.where(scores > 0, 1, -1)
