"""Kernels as text, for the command line, and as plain values, for files.

    sum     = product ("+" product)*
    product = power ("*" power)*
    power   = atom ("^" whole)*
    atom    = "(" sum ")" | "exp(" sum ")" | number | name (":" number)*

with the names linear, poly:DEGREE[:CONSTANT[:SCALE]], quadratic, rbf:GAMMA, conjunctions, conjunctions:negations and
precomputed. Nothing is evaluated that is not of this grammar.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from novikoff.errors import InputError
from novikoff.kernels import expression as e

TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z]+)|([+*^():]))")
KERNEL_TYPES: dict[str, type[Any]] = {
    "linear": e.Linear,
    "polynomial": e.Polynomial,
    "rbf": e.Rbf,
    "conjunctions": e.Conjunctions,
    "constant": e.Constant,
    "multiple": e.Multiple,
    "sum": e.Sum,
    "product": e.Product,
    "power": e.Power,
    "series": e.Series,
    "exp": e.Exp,
    "scaled": e.ScaledKernel,
    "own": e.UserKernel,
    "precomputed": e.Precomputed,
}
KERNEL_NAMES = {kernel_type: name for name, kernel_type in KERNEL_TYPES.items()}
NAMED_KERNELS = {"linear": e.Linear(), "quadratic": e.Polynomial(2), "precomputed": e.Precomputed()}
MAX_DEPTH = 100


def parse(text: str) -> e.Kernel:
    """The kernel that a text spells.

    >>> parse("poly:4")
    Polynomial(degree=4, constant=1.0, scale=1.0)
    >>> print(parse("(linear + 1)^3 + 0.5*exp(0.1*linear)"))
    (linear + 1)^3 + 0.5*exp(0.1*linear)
    """
    reader = _Parser(text)
    kernel = reader.sum()
    if reader.at < len(reader.tokens):
        raise reader.build_error()
    return kernel


def format_kernel(kernel: Any) -> str:
    """Return a text that `parse` reads, for kernels without Python functions."""
    if isinstance(kernel, e.Sum):
        return f"{format_kernel(kernel.left)} + {_parenthesize(kernel.right, (e.Sum,))}"
    if isinstance(kernel, e.Product):
        left = _parenthesize(kernel.left, (e.Sum,))
        return f"{left}*{_parenthesize(kernel.right, (e.Sum, e.Product, e.Multiple))}"
    if isinstance(kernel, e.Multiple):
        return f"{_format_number(kernel.factor)}*{_parenthesize(kernel.kernel, (e.Sum, e.Product, e.Multiple))}"
    if isinstance(kernel, e.Power):
        return f"{_parenthesize(kernel.kernel, (e.Sum, e.Product, e.Multiple))}^{kernel.exponent}"
    if isinstance(kernel, e.Exp):
        return f"exp({format_kernel(kernel.kernel)})"
    return _format_atom(kernel)


def _format_atom(kernel: Any) -> str:
    text = KERNEL_NAMES[type(kernel)]
    if isinstance(kernel, e.Polynomial):
        more = [kernel.constant] if kernel.constant != 1.0 or kernel.scale != 1.0 else []
        more += [kernel.scale] if kernel.scale != 1.0 else []
        text = ":".join([f"poly:{kernel.degree}", *map(_format_number, more)])
    elif isinstance(kernel, e.Rbf):
        text = f"rbf:{_format_number(kernel.gamma)}"
    elif isinstance(kernel, e.Constant):
        text = _format_number(kernel.value)
    elif isinstance(kernel, e.Conjunctions):
        text += ":negations" if kernel.negations else ""
    elif isinstance(kernel, e.Series):
        parts = [_format_term(c, n, kernel.kernel) for n, c in enumerate(kernel.coefficients) if c or n == 0]
        text = f"({' + '.join(parts)})"
    elif isinstance(kernel, e.ScaledKernel):
        text += f"({format_kernel(kernel.kernel)}, {function_name(kernel.function)})"
    elif isinstance(kernel, e.UserKernel):
        text += f"({function_name(kernel.function)})"
    return text


def _format_number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _format_term(coefficient: float, exponent: int, kernel: e.Kernel) -> str:
    return (
        _format_number(coefficient)
        if exponent == 0
        else f"{_format_number(coefficient)}*({format_kernel(kernel)})^{exponent}"
    )


def _parenthesize(kernel: Any, kernel_types: tuple[type, ...]) -> str:
    return f"({format_kernel(kernel)})" if isinstance(kernel, kernel_types) else format_kernel(kernel)


def function_name(function: Any) -> str:
    return str(getattr(function, "name", None) or getattr(function, "__name__", None) or type(function).__name__)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.tokens: list[str] = []
        position = 0
        while text[position:].strip():
            found = TOKEN.match(text, position)
            if found is None:
                raise self.build_error()
            self.tokens.append(found[0].strip())
            position = found.end()

    def build_error(self) -> InputError:
        return InputError(
            f"kernel must be such as linear, poly:4, poly:3:1:0.5 (degree, constant, scale), rbf:0.1, conjunctions, or"
            f" made of these with +, *, ^ and exp(...), but is {self.text!r}."
        )

    def take(self, *expected: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at] in expected:
            self.at += 1
            return True
        return False

    def sum(self) -> e.Kernel:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.build_error()
        kernel = self.product()
        while self.take("+"):
            kernel = e.Sum(kernel, self.product())
        self.depth -= 1
        return kernel

    def product(self) -> e.Kernel:
        kernel = self.power()
        while self.take("*"):
            right = self.power()
            kernel = e.Multiple(kernel.value, right) if isinstance(kernel, e.Constant) else e.Product(kernel, right)
        return kernel

    def power(self) -> e.Kernel:
        kernel = self.atom()
        while self.take("^"):
            kernel = e.Power(kernel, self.parse_integer())
        return kernel

    def atom(self) -> e.Kernel:
        if self.take("("):
            return self.close(self.sum())
        if self.take("exp"):
            if not self.take("("):
                raise self.build_error()
            return e.Exp(self.close(self.sum()))
        if self.at < len(self.tokens) and self.tokens[self.at][0] in "0123456789.":
            return e.Constant(self.number())
        return self.parse_named()

    def close(self, kernel: e.Kernel) -> e.Kernel:
        if not self.take(")"):
            raise self.build_error()
        return kernel

    def parse_named(self) -> e.Kernel:
        for name, kernel in NAMED_KERNELS.items():
            if self.take(name):
                return kernel
        if self.take("conjunctions"):
            if not self.take(":"):
                return e.Conjunctions()
            if self.take("negations"):
                return e.Conjunctions(True)
        elif self.take("rbf") and self.take(":"):
            return e.Rbf(self.number())
        elif self.take("poly", "polynomial") and self.take(":"):
            return self.polynomial()
        raise self.build_error()

    def polynomial(self) -> e.Kernel:
        degree, more = self.parse_integer(), list[float]()
        while len(more) < 2 and self.take(":"):
            more.append(self.number())
        return e.Polynomial(degree, *more)

    def number(self) -> float:
        try:
            value = float(self.tokens[self.at])
        except (IndexError, ValueError):
            raise self.build_error() from None
        self.at += 1
        return value

    def parse_integer(self) -> int:
        value = self.number()
        if not value.is_integer():
            raise self.build_error()
        return int(value)


def to_plain_data(kernel: Any) -> Any:
    """Return texts, numbers, lists and dicts for a file; a Python function is stored by name."""
    if not isinstance(kernel, e.Kernel):
        return {"python": function_name(kernel)} if callable(kernel) else kernel
    parts = fields(kernel)  # type: ignore[arg-type]  # every kernel is a dataclass
    data = {part.name: _to_plain_value(getattr(kernel, part.name)) for part in parts}
    return {"is": KERNEL_NAMES[type(kernel)], **data}


def _to_plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, e.Kernel) or callable(value):
        return to_plain_data(value)
    return value.item() if hasattr(value, "item") else value


def from_plain_data(data: Any) -> Any:
    """Return the kernel from the result of `to_plain_data`."""
    if isinstance(data, dict) and "python" in data:
        return e.MissingFunction(str(data["python"]))
    if not isinstance(data, dict):
        return data
    kernel_type = KERNEL_TYPES.get(data["is"]) if isinstance(data.get("is"), str) else None
    if kernel_type is None:
        raise InputError(f"There is no kernel {data.get('is')!r}.")
    values = {name: from_plain_data(value) for name, value in data.items() if name != "is"}
    return kernel_type(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def to_kernel(setting: Any) -> e.Kernel:
    """Return the kernel of a setting: an expression, a text, or a function of two tables."""
    if isinstance(setting, e.Kernel):
        return setting
    if isinstance(setting, str):
        return parse(setting)
    if callable(setting):
        return e.UserKernel(setting)
    raise InputError(
        f"kernel must be a text such as 'rbf:0.1', an expression of novikoff.kernels, or a function, not {setting!r}."
    )
