"""Kernels: K(x, z) = φ(x)·φ(z) without writing φ out. An expression is plain data, and new ones are made of old ones.

>>> from novikoff import kernels
>>> k = 2 * kernels.rbf(0.1) + kernels.polynomial(2) * kernels.linear()
>>> print(k)
2*rbf:0.1 + poly:2*linear
>>> kernels.parse("2*rbf:0.1 + poly:2*linear") == k
True
>>> kernels.polynomial(2)([[1.0, 2.0]], [[3.0, 1.0], [0.0, 1.0]])
array([[36.,  9.]])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Kernel": "expression",
    "conjunctions": "expression",
    "constant": "expression",
    "exp": "expression",
    "linear": "expression",
    "own": "expression",
    "polynomial": "expression",
    "precomputed": "expression",
    "quadratic": "expression",
    "rbf": "expression",
    "scaled": "expression",
    "parse": "parser",
    "is_valid": "psd_check",
    "choose_representation": "dual_or_primal",
}
__all__ = list(_HOME)

if TYPE_CHECKING:
    from novikoff.kernels.dual_or_primal import choose_representation as choose_representation
    from novikoff.kernels.expression import Kernel as Kernel
    from novikoff.kernels.expression import conjunctions as conjunctions
    from novikoff.kernels.expression import constant as constant
    from novikoff.kernels.expression import exp as exp
    from novikoff.kernels.expression import linear as linear
    from novikoff.kernels.expression import own as own
    from novikoff.kernels.expression import polynomial as polynomial
    from novikoff.kernels.expression import precomputed as precomputed
    from novikoff.kernels.expression import quadratic as quadratic
    from novikoff.kernels.expression import rbf as rbf
    from novikoff.kernels.expression import scaled as scaled
    from novikoff.kernels.parser import parse as parse
    from novikoff.kernels.psd_check import is_valid as is_valid


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module 'novikoff.kernels' has no attribute {name!r}")
