"""Kernel expressions: a tree of plain data. Whatever the rules here make of kernels is a kernel.

Sums, products, non-negative multiples, polynomials with non-negative coefficients and exponentials of kernels are
kernels, and so is f(x)·K(x, z)·f(z) for any function f: the Gram matrix stays positive semi-definite. A factor or
coefficient below 0 is refused, because nothing would be left of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, overload

from numpy.typing import NDArray

from novikoff.errors import InputError

MAX_DEGREE = 1000  # degree


class Kernel:
    """An expression. `k(X, Z)` is the Gram block of two tables, `k(X)` that of one with itself."""

    def __call__(self, X: Any, Z: Any = None) -> NDArray[Any]:
        from novikoff.kernels.gram import gram

        return gram(self, X, X if Z is None else Z)

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, _to_kernel(other)) if _is_kernel_or_number(other) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        return Sum(_to_kernel(other), self) if _is_kernel_or_number(other) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Multiple(_check_nonnegative("A factor", other), self) if _is_kernel_or_number(other) else NotImplemented

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> Kernel:
        return Power(self, exponent)

    def __str__(self) -> str:
        from novikoff.kernels.parser import format_kernel

        return format_kernel(self)


@dataclass(frozen=True)
class Linear(Kernel):
    """x·z."""


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(scale·x·z + constant)^degree."""

    degree: int
    constant: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        _check_degree("The degree of a polynomial kernel", self.degree)
        _check_nonnegative("The constant of a polynomial kernel", self.constant)
        _check_nonnegative("The scale of a polynomial kernel", self.scale)


@dataclass(frozen=True)
class Rbf(Kernel):
    """exp(−gamma·‖x − z‖²)."""

    gamma: float

    def __post_init__(self) -> None:
        if _check_nonnegative("gamma of an RBF kernel", self.gamma) == 0.0:
            raise InputError("gamma of an RBF kernel must be above 0: with 0 all examples are one.")


@dataclass(frozen=True)
class Conjunctions(Kernel):
    """Of Boolean examples: 2^(x·z), the number of monotone conjunctions that are true of both; with negations
    2^(−‖x − z‖²), which is 2^(−n) times that of all conjunctions of literals over n features."""

    negations: bool = False


@dataclass(frozen=True)
class Constant(Kernel):
    value: float

    def __post_init__(self) -> None:
        _check_nonnegative("A constant kernel", self.value)


@dataclass(frozen=True)
class Multiple(Kernel):
    """factor·K."""

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        _check_nonnegative("A factor", self.factor)


@dataclass(frozen=True)
class Sum(Kernel):
    left: Kernel
    right: Kernel


@dataclass(frozen=True)
class Product(Kernel):
    left: Kernel
    right: Kernel


@dataclass(frozen=True)
class Power(Kernel):
    kernel: Kernel
    exponent: int

    def __post_init__(self) -> None:
        _check_degree("The exponent of a kernel", self.exponent)


@dataclass(frozen=True)
class Series(Kernel):
    """c₀ + c₁·K + c₂·K² + …"""

    kernel: Kernel
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.coefficients:
            raise InputError("A polynomial of a kernel needs coefficients, the constant first.")
        for coefficient in self.coefficients:
            _check_nonnegative("A coefficient", coefficient)


@dataclass(frozen=True)
class Exp(Kernel):
    """exp(K)."""

    kernel: Kernel


@dataclass(frozen=True)
class ScaledKernel(Kernel):
    """f(x)·K(x, z)·f(z)."""

    kernel: Kernel
    function: Callable[[Any], Any]
    """Of a table: a number for each row."""


@dataclass(frozen=True)
class UserKernel(Kernel):
    """A function of two tables that gives their Gram block."""

    function: Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Precomputed(Kernel):
    """X is the Gram matrix itself: row i holds K of example i with every example that is learned from."""


@dataclass(frozen=True)
class MissingFunction:
    """Stands for a Python function that a model file can't hold."""

    name: str

    def __call__(self, *args: Any) -> Any:
        raise InputError(
            f"The kernel of this model has a Python function, {self.name!r}, that a file can't hold: give the kernel"
            " again with load(path, kernel=...)."
        )


def linear() -> Kernel:
    """Return x·z."""
    return Linear()


@overload
def polynomial(of: int, constant: float = ..., scale: float = ...) -> Kernel: ...


@overload
def polynomial(of: Kernel, coefficients: Sequence[float], /) -> Kernel: ...


def polynomial(of: Any, constant: Any = 1.0, scale: float = 1.0) -> Kernel:
    """polynomial(degree, constant, scale) is (scale·x·z + constant)^degree; polynomial(k, coefficients) is
    c₀ + c₁·K + c₂·K² + …, all c ≥ 0."""
    if isinstance(of, Kernel):
        if not hasattr(constant, "__iter__"):
            raise InputError(f"A polynomial of a kernel needs its coefficients, such as [0, 1, 2], got {constant!r}.")
        return Series(of, tuple(float(c) for c in constant))
    return Polynomial(of, constant, scale)


def quadratic() -> Kernel:
    """Return (x·z + 1)²."""
    return Polynomial(2)


def rbf(gamma: float) -> Kernel:
    """Return exp(−gamma·‖x − z‖²)."""
    return Rbf(gamma)


def conjunctions(*, negations: bool = False) -> Kernel:
    """Return the number of conjunctions of features (with negations: of literals) that are true for both Boolean
    examples."""
    return Conjunctions(negations)


def constant(value: float) -> Kernel:
    """Return a constant kernel: added to a kernel, it is a bias feature of √value."""
    return Constant(value)


def exp(kernel: Kernel) -> Kernel:
    """Return exp(K)."""
    return Exp(kernel)


def scaled(kernel: Kernel, function: Callable[[Any], Any]) -> Kernel:
    """Return f(x)·K(x, z)·f(z); f takes a table and gives a number for each row."""
    return ScaledKernel(kernel, function)


def own(function: Callable[[Any, Any], Any]) -> Kernel:
    """Return a kernel from a function of two tables that gives their Gram block.

    `is_valid` checks for given examples whether it is one.
    """
    return UserKernel(function)


def precomputed() -> Kernel:
    """Return a kernel for which X is the Gram matrix itself."""
    return Precomputed()


def _is_kernel_or_number(other: Any) -> bool:
    return isinstance(other, Kernel) or (hasattr(other, "__float__") and getattr(other, "ndim", 0) == 0)


def _to_kernel(other: Any) -> Kernel:
    return other if isinstance(other, Kernel) else Constant(_check_nonnegative("What is added to a kernel", other))


def _check_nonnegative(what: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, str) or not 0.0 <= number < math.inf:
        raise InputError(f"{what} must be a finite number of at least 0, or no kernel is left, but is {value!r}.")
    return number


def _check_degree(what: str, value: Any) -> None:
    if isinstance(value, bool | str) or not hasattr(value, "__index__") or not 1 <= value <= MAX_DEGREE:
        raise InputError(f"{what} must be a whole number from 1 to {MAX_DEGREE}, but is {value!r}.")
