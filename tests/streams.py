"""Random streams, small and with known properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from novikoff.theory.bounds import Evidence


def real(seed: int, rows: int = 60, columns: int = 13, kind: Any = np.float64) -> tuple[Any, Any]:
    """Real values, labels from a noisy plane, some columns mostly zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    X[:, ::3] *= rng.random((rows, len(range(0, columns, 3)))) < 0.3
    y = np.where(X @ rng.standard_normal(columns) + 0.5 * rng.standard_normal(rows) > 0.2, 1, -1)
    y[:2] = [-1, 1]
    return X.astype(kind), y


def whole(seed: int, rows: int = 60, columns: int = 13) -> tuple[Any, Any]:
    """Small whole numbers, for which every order of summation gives the same."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (rows, columns)).astype(float)
    y = np.where(X @ rng.integers(-3, 4, columns) > 0, 1, -1)
    y[:2] = [-1, 1]
    return X, y


def csr(X: Any) -> Any:
    return sp.csr_matrix(X)


@st.composite
def streams(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """(X, y, u): a random stream and a witness, separable by u with a margin or noisy."""
    seed = draw(st.integers(0, 2**32 - 1))
    rows, columns = draw(st.integers(1, 40)), draw(st.integers(1, 8))
    kind = draw(st.sampled_from(["gauss", "sign", "sparse", "scaled"]))
    noise = draw(st.sampled_from([0.0, 0.0, 0.1, 0.5]))
    gap = draw(st.sampled_from([0.0, 0.05, 0.5]))
    repeats = draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    if kind == "sign":
        X = np.sign(X)
    elif kind == "sparse":
        X *= rng.random((rows, columns)) < 0.4
    elif kind == "scaled":
        X *= 10.0 ** rng.integers(-3, 4, columns)
    u = rng.standard_normal(columns + 1)
    s = X @ u[1:] + u[0]
    y = np.where(s >= 0, 1.0, -1.0)
    X = X + (gap * y / (u[1:] @ u[1:]))[:, None] * u[1:]
    y = np.where(rng.random(rows) < noise, -y, y)
    return np.tile(X, (repeats, 1)), np.tile(y, repeats), u


def evidence(X: Any, y: Any, u: Any, bias: bool) -> Evidence:
    """What is measured of the witness u = (bias, weights …), plainly and slowly."""
    Z = np.hstack([np.full((len(X), 1), float(bias)), X])
    margins = y * (Z @ u)
    norm = float(np.linalg.norm(u))
    return Evidence(
        radius=float(np.linalg.norm(Z, axis=1).max()),
        radius_p=lambda p: float(np.linalg.norm(Z, ord=p, axis=1).max()),
        norm=norm,
        norm_q=lambda q: float(np.linalg.norm(u, ord=q)),
        margin=float(margins.min()),
        losses={
            "hinge": float(np.maximum(0, 1 - margins).sum()),
            "logistic": float(np.logaddexp(0, -margins).sum()),
            "squared": float(0.5 * ((1 - margins) ** 2).sum()),
        },
        slack=lambda gamma: float(np.sqrt((np.maximum(0, gamma - margins / norm) ** 2).sum())),
    )
