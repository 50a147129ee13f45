"""The types of a call, as a key and as text.

A kernel is compiled once for each combination of argument types. The text of a combination stands in the manifest, and
the name of the compiled function is made of it. Its parts, separated by spaces:

    q Q d ?            int64, uint64, float64, bool
    <f82C              an array: NumPy's name of its type, dimensions, C-contiguous (A: any layout), r: read-only
    (module.Class … )  a NamedTuple and its fields; (tuple … ) a plain tuple
    like               the type that follows is a sample only: None is passed in its place
"""

from __future__ import annotations

import functools
from typing import Any

from novikoff._compiled.buffers import Buffer

SCALAR_CODES = {
    "bool": "?",
    "bool_": "?",
    "int": "q",
    "int64": "q",
    "UInt64": "Q",
    "uint64": "Q",
    "float": "d",
    "float64": "d",
}
"""How compiled functions take Python's numbers, and NumPy's: by the names of their types."""
ARRAY_CODES = {
    "d": "<f8",
    "f": "<f4",
    "q": "<i8",
    "l": "<i8",
    "Q": "<u8",
    "L": "<u8",
    "i": "<i4",
    "I": "<u4",
    "h": "<i2",
    "H": "<u2",
    "b": "|i1",
    "B": "|u1",
    "?": "|b1",
}
"""NumPy's names of the types of memory views."""
SAMPLE_MARK = "like"


class UnsupportedArgument(TypeError):
    """A compiled function can't take it."""


class TypeSample:
    """A sample that stands for a type only: None is passed in its place (see `unpacked` in `_compiled/simd/dot.py`)."""

    def __init__(self, value: Any) -> None:
        self.value = value


def describe_type(value: Any) -> str:
    """Return the text of the type of a value."""
    kind = type(value)
    if kind.__name__ in SCALAR_CODES:
        return SCALAR_CODES[kind.__name__]
    if issubclass(kind, tuple):
        return f"({_class_name(kind)} {' '.join(map(describe_type, value))}{' ' if value else ''})"
    if kind is Buffer:
        return f"{value.dtype.str}{len(value.shape)}{_layout(True, not value.cells.readonly)}"
    if kind is TypeSample:
        return f"{SAMPLE_MARK} {describe_type(value.value)}"
    if hasattr(kind, "__array_interface__"):
        if not value.flags.aligned or value.dtype.str not in ARRAY_CODES.values():
            raise UnsupportedArgument(
                f"an array of {value.dtype} that is not aligned, or of a type that kernels don't have"
            )
        return f"{value.dtype.str}{value.ndim}{_layout(value.flags.c_contiguous, value.flags.writeable)}"
    raise UnsupportedArgument(f"a value of type {kind.__name__}")


def describe_call(args: tuple[Any, ...]) -> str:
    return " ".join(map(describe_type, args))


def without_read_only(signature: str) -> str:
    """Return the signature with all arrays writeable."""
    return " ".join(word.removesuffix("r") if word[:1] in "<|" else word for word in signature.split(" "))


def _layout(contiguous: bool, writeable: bool) -> str:
    return f"{'C' if contiguous else 'A'}{'' if writeable else 'r'}"


@functools.cache
def _class_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}" if hasattr(kind, "_fields") else "tuple"
