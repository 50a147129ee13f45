"""Random streams, small and with known properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from novikoff.theory.bound_declaration import Evidence


def real(seed: int, rows: int = 60, columns: int = 13, kind: Any = np.float64) -> tuple[Any, Any]:
    """Draw real values with labels from a noisy plane; some columns are mostly zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    X[:, ::3] *= rng.random((rows, len(range(0, columns, 3)))) < 0.3
    y = np.where(X @ rng.standard_normal(columns) + 0.5 * rng.standard_normal(rows) > 0.2, 1, -1)
    y[:2] = [-1, 1]
    return X.astype(kind), y


def whole(seed: int, rows: int = 60, columns: int = 13) -> tuple[Any, Any]:
    """Draw small integers, for which every order of summation gives the same result."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (rows, columns)).astype(float)
    y = np.where(X @ rng.integers(-3, 4, columns) > 0, 1, -1)
    y[:2] = [-1, 1]
    return X, y


def csr(X: Any) -> Any:
    return sp.csr_matrix(X)


def make_witnessed(seed: int, rows: int, columns: int, kind: str, noise: float, gap: float, repeats: int) -> Any:
    """Draw (X, y, u): a stream and a witness (bias first) that separates it by `gap`, apart from noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, columns))
    if kind == "sign":
        X = np.sign(X)
    elif kind == "sparse":
        X *= rng.random((rows, columns)) < 0.4
    elif kind == "scaled":
        X *= 10.0 ** rng.integers(-3, 4, columns)
    u = rng.standard_normal(columns + 1)
    y = np.where(X @ u[1:] + u[0] >= 0, 1.0, -1.0)
    X = X + (gap * y / (u[1:] @ u[1:]))[:, None] * u[1:]
    y = np.where(rng.random(rows) < noise, -y, y)
    return np.tile(X, (repeats, 1)), np.tile(y, repeats), u


KINDS, NOISES, GAPS = ("gauss", "sign", "sparse", "scaled"), (0.0, 0.0, 0.1, 0.5), (0.0, 0.05, 0.5)


@st.composite
def streams(draw: st.DrawFn) -> Any:
    """Draw a stream with hypothesis, which shrinks failures to small streams."""
    return make_witnessed(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(1, 40)),
        draw(st.integers(1, 8)),
        draw(st.sampled_from(KINDS)),
        draw(st.sampled_from(NOISES)),
        draw(st.sampled_from(GAPS)),
        draw(st.integers(1, 4)),
    )


def make_random_witnessed(seed: int) -> Any:
    """Generate a stream from one seed, for searches too large for hypothesis."""
    pick = np.random.default_rng(seed)
    return make_witnessed(
        seed,
        int(pick.integers(1, 60)),
        int(pick.integers(1, 12)),
        str(pick.choice(KINDS)),
        float(pick.choice(NOISES)),
        float(pick.choice(GAPS)),
        int(pick.integers(1, 5)),
    )


def evidence(X: Any, y: Any, u: Any, bias: bool) -> Evidence:
    """Measure the witness u = (bias, weights …) by a slow reference implementation."""
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
