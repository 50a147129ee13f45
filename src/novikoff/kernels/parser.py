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
PLAIN: dict[str, type[Any]] = {
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
    "scaled": e.Scaled,
    "own": e.Own,
    "precomputed": e.Precomputed,
}
NAMES = {kind: name for name, kind in PLAIN.items()}
SIMPLE = {"linear": e.Linear(), "quadratic": e.Polynomial(2), "precomputed": e.Precomputed()}
DEEPEST = 100


def parse(text: str) -> e.Kernel:
    """The kernel that a text spells.

    >>> parse("poly:4")
    Polynomial(degree=4, constant=1.0, scale=1.0)
    >>> print(parse("(linear + 1)^3 + 0.5*exp(0.1*linear)"))
    (linear + 1)^3 + 0.5*exp(0.1*linear)
    """
    reader = _Reader(text)
    kernel = reader.sum()
    if reader.at < len(reader.tokens):
        raise reader.problem()
    return kernel


def spelled(kernel: Any) -> str:
    """A text that `parse` reads again, as far as there is no Python function in it."""
    if isinstance(kernel, e.Sum):
        return f"{spelled(kernel.left)} + {_in_brackets(kernel.right, (e.Sum,))}"
    if isinstance(kernel, e.Product):
        left = _in_brackets(kernel.left, (e.Sum,))
        return f"{left}*{_in_brackets(kernel.right, (e.Sum, e.Product, e.Multiple))}"
    if isinstance(kernel, e.Multiple):
        return f"{_number(kernel.factor)}*{_in_brackets(kernel.kernel, (e.Sum, e.Product, e.Multiple))}"
    if isinstance(kernel, e.Power):
        return f"{_in_brackets(kernel.kernel, (e.Sum, e.Product, e.Multiple))}^{kernel.exponent}"
    if isinstance(kernel, e.Exp):
        return f"exp({spelled(kernel.kernel)})"
    return _atom(kernel)


def _atom(kernel: Any) -> str:
    text = NAMES[type(kernel)]
    if isinstance(kernel, e.Polynomial):
        more = [kernel.constant] if kernel.constant != 1.0 or kernel.scale != 1.0 else []
        more += [kernel.scale] if kernel.scale != 1.0 else []
        text = ":".join([f"poly:{kernel.degree}", *map(_number, more)])
    elif isinstance(kernel, e.Rbf):
        text = f"rbf:{_number(kernel.gamma)}"
    elif isinstance(kernel, e.Constant):
        text = _number(kernel.value)
    elif isinstance(kernel, e.Conjunctions):
        text += ":negations" if kernel.negations else ""
    elif isinstance(kernel, e.Series):
        parts = [_term(c, n, kernel.kernel) for n, c in enumerate(kernel.coefficients) if c or n == 0]
        text = f"({' + '.join(parts)})"
    elif isinstance(kernel, e.Scaled):
        text += f"({spelled(kernel.kernel)}, {name_of(kernel.function)})"
    elif isinstance(kernel, e.Own):
        text += f"({name_of(kernel.function)})"
    return text


def _number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _term(coefficient: float, exponent: int, kernel: e.Kernel) -> str:
    return _number(coefficient) if exponent == 0 else f"{_number(coefficient)}*({spelled(kernel)})^{exponent}"


def _in_brackets(kernel: Any, kinds: tuple[type, ...]) -> str:
    return f"({spelled(kernel)})" if isinstance(kernel, kinds) else spelled(kernel)


def name_of(function: Any) -> str:
    return str(getattr(function, "name", None) or getattr(function, "__name__", None) or type(function).__name__)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.tokens: list[str] = []
        place = 0
        while text[place:].strip():
            found = TOKEN.match(text, place)
            if found is None:
                raise self.problem()
            self.tokens.append(found[0].strip())
            place = found.end()

    def problem(self) -> InputError:
        return InputError(
            f"kernel must be such as linear, poly:4, poly:3:1:0.5 (degree, constant, scale), rbf:0.1, conjunctions, or"
            f" made of these with +, *, ^ and exp(...), but is {self.text!r}."
        )

    def take(self, *wanted: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at] in wanted:
            self.at += 1
            return True
        return False

    def sum(self) -> e.Kernel:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.problem()
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
            kernel = e.Power(kernel, self.whole())
        return kernel

    def atom(self) -> e.Kernel:
        if self.take("("):
            return self.closed(self.sum())
        if self.take("exp"):
            if not self.take("("):
                raise self.problem()
            return e.Exp(self.closed(self.sum()))
        if self.at < len(self.tokens) and self.tokens[self.at][0] in "0123456789.":
            return e.Constant(self.number())
        return self.named()

    def closed(self, kernel: e.Kernel) -> e.Kernel:
        if not self.take(")"):
            raise self.problem()
        return kernel

    def named(self) -> e.Kernel:
        for name, kernel in SIMPLE.items():
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
        raise self.problem()

    def polynomial(self) -> e.Kernel:
        degree, more = self.whole(), list[float]()
        while len(more) < 2 and self.take(":"):
            more.append(self.number())
        return e.Polynomial(degree, *more)

    def number(self) -> float:
        try:
            value = float(self.tokens[self.at])
        except (IndexError, ValueError):
            raise self.problem() from None
        self.at += 1
        return value

    def whole(self) -> int:
        value = self.number()
        if not value.is_integer():
            raise self.problem()
        return int(value)


def plain(kernel: Any) -> Any:
    """For a file: texts, numbers, lists and dicts only; of a Python function its name."""
    if not isinstance(kernel, e.Kernel):
        return {"python": name_of(kernel)} if callable(kernel) else kernel
    parts = fields(kernel)  # type: ignore[arg-type]  # every kernel is a dataclass
    told = {part.name: _plain_value(getattr(kernel, part.name)) for part in parts}
    return {"is": NAMES[type(kernel)], **told}


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, e.Kernel) or callable(value):
        return plain(value)
    return value.item() if hasattr(value, "item") else value


def from_plain(told: Any) -> Any:
    """The inverse of `plain`."""
    if isinstance(told, dict) and "python" in told:
        return e.Missing(str(told["python"]))
    if not isinstance(told, dict):
        return told
    kind = PLAIN.get(told["is"]) if isinstance(told.get("is"), str) else None
    if kind is None:
        raise InputError(f"There is no kernel {told.get('is')!r}.")
    values = {name: from_plain(value) for name, value in told.items() if name != "is"}
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def kernel_of(setting: Any) -> e.Kernel:
    """The kernel that a setting means: an expression, a text, or a function of two tables."""
    if isinstance(setting, e.Kernel):
        return setting
    if isinstance(setting, str):
        return parse(setting)
    if callable(setting):
        return e.Own(setting)
    raise InputError(
        f"kernel must be a text such as 'rbf:0.1', an expression of novikoff.kernels, or a function, not {setting!r}."
    )
