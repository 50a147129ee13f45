"""Whether a function is a kernel on given examples: is its Gram matrix symmetric and positive semi-definite?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError
from novikoff.kernels import expression as e
from novikoff.kernels.parser import to_kernel

MACHINE_EPSILON = 2.0**-52
MAX_EXAMPLES = 5000  # examples


class Validity(NamedTuple):
    """True where the Gram matrix is positive semi-definite to within `tolerance`."""

    valid: bool
    least: float
    """The least eigenvalue of the symmetric part, as computed."""
    tolerance: float
    asymmetry: float
    """The largest |K(x, z) − K(z, x)|."""
    vector: NDArray[np.float64] | None
    """Where it is not valid: c with Σ c_i c_j K(x_i, x_j) < −tolerance, ‖c‖ = 1; None where only symmetry fails."""

    def __bool__(self) -> bool:
        return self.valid


def is_valid(kernel: Any, X: Any, *, tolerance: float | None = None) -> Validity:
    """Whether K is positive semi-definite on the rows of X, by the eigenvalues of its Gram matrix G.

    An eigenvalue counts as negative below −tolerance, by default 64·n·2⁻⁵²·max|G|: what rounding may do to n examples.
    For a kernel that is "precomputed", X is G. Validity on some examples proves nothing about others; a vector c with
    cᵀGc < 0 proves that it is not a kernel.

    >>> from novikoff import kernels
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> bool(kernels.is_valid(kernels.rbf(0.5), X))
    True
    >>> found = kernels.is_valid(lambda X, Z: -((X[:, None] - Z[None]) ** 2).sum(axis=2), X)
    >>> found.valid, bool(found.least < -1), found.vector.shape
    (False, True, (3,))
    """
    expression = to_kernel(kernel)
    G = np.asarray(X, np.float64) if isinstance(expression, e.Precomputed) else expression(X)
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        raise InputError(f"A Gram matrix must be square, but has the shape {G.shape}.")
    if len(G) > MAX_EXAMPLES:
        raise InputError(f"is_valid takes up to {MAX_EXAMPLES:,} examples, got {len(G):,}: take a sample of them.")
    if not np.isfinite(G).all():
        raise InputError("The Gram matrix must be finite, but is not: scale the features.")
    largest = float(np.abs(G).max(initial=0.0))
    allowed = 64.0 * len(G) * MACHINE_EPSILON * largest if tolerance is None else float(tolerance)
    asymmetry = float(np.abs(G - G.T).max(initial=0.0))
    values, vectors = np.linalg.eigh((G + G.T) / 2.0)
    least = float(values[0])
    if least < -allowed:
        return Validity(False, least, allowed, asymmetry, vectors[:, 0].copy())
    return Validity(asymmetry <= allowed, least, allowed, asymmetry, None)
