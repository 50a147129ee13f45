"""Arrays without NumPy: memory, and the little that is done with it where files are learned by machine code.

A `Buffer` is what NumPy calls a C-contiguous array. It knows its address and how it is laid out, which is all that
compiled functions ask for, can be cut into parts that share its memory, copied and written out. Everything else that is
asked of it NumPy does, which is imported then, on the same memory and with the same result: the stand-in for the module
(`Numpy`) and its arrays both hand over what they don't know.
"""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
import struct
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from novikoff import _arrays
from novikoff._records import NamedTuple

LARGE = 1 << 16  # bytes: memory that comes from the system is zero, and costs nothing before it is written
HUGE = 1 << 25  # … and in large pages from here on: of what parsers make room for most is never written
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # what processes share has no large pages, and its small ones cost more


class Kind:
    """What the elements of an array are."""

    def __init__(self, name: str, char: str, code: str) -> None:
        self.name, self.char, self.str, self.kind = name, char, code, code[1]
        self.itemsize = struct.calcsize(char)

    @property
    def dtype(self) -> Any:
        return self.of_numpy()

    def of_numpy(self) -> Any:
        return _arrays.settled().dtype(self.name)

    def __eq__(self, other: object) -> bool:
        return bool(self.name == name_of(other))

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"dtype({self.name!r})"

    def __call__(self, value: Any = 0) -> Any:
        """A number of this kind. Where there are different machine words for them, compiled functions tell kinds of
        numbers apart: Python's own are int64, float64 and bool."""
        if self.name == "uint64":
            return uint64(value)
        return PLAIN[self.name](value) if self.name in PLAIN else getattr(_arrays.settled(), self.name)(value)


class uint64(int):  # noqa: N801 - NumPy's name
    """A number that is not signed."""

    def of_numpy(self) -> Any:
        return _arrays.settled().uint64(int(self))


class Flags(NamedTuple):
    writeable: bool
    c_contiguous: bool = True
    aligned: bool = True


KINDS = {
    kind.name: kind
    for kind in (
        Kind("float64", "d", "<f8"),
        Kind("float32", "f", "<f4"),
        Kind("int64", "q", "<i8"),
        Kind("uint64", "Q", "<u8"),
        Kind("int32", "i", "<i4"),
        Kind("uint32", "I", "<u4"),
        Kind("int8", "b", "|i1"),
        Kind("uint8", "B", "|u1"),
        Kind("bool", "?", "|b1"),
    )
}
PLAIN = {"int64": int, "float64": float, "bool": bool}


def name_of(kind: Any) -> Any:
    """Of a kind of elements, however it is said."""
    if isinstance(kind, str) or kind is float:
        return "float64" if kind is float else kind
    found = getattr(kind, "name", None) or getattr(kind, "__name__", None)
    return "bool" if found == "bool_" else found


class Buffer:
    """An array of numbers that lie side by side."""

    __slots__ = ("__weakref__", "_apart", "_array", "address", "cells", "dtype", "shape")

    def __init__(self, cells: Any, dtype: Kind, shape: tuple[int, ...], address: int) -> None:
        self.cells, self.dtype, self.shape, self.address = cells, dtype, shape, address
        self._array: Any = None
        self._apart: Any = None

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """NumPy's own, where that is there: it is an array to whoever asks."""
        return _arrays.settled().ndarray if _arrays.is_settled() else Buffer

    def of_numpy(self) -> Any:
        """The same memory as an array of NumPy's."""
        if self._array is None:
            self._array = _arrays.settled().frombuffer(self.cells, self.dtype.name).reshape(self.shape)
        return self._array

    # --- How it is laid out ---

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: len(self.cells))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self.cells.nbytes)
    data = property(lambda self: self.cells)
    flags = property(lambda self: Flags(not self.cells.readonly))

    @property
    def strides(self) -> tuple[int, ...]:
        if len(self.shape) == 1:
            return (self.itemsize,)
        return tuple(self.itemsize * math.prod(self.shape[k + 1 :]) for k in range(len(self.shape)))

    def taken_apart(self) -> tuple[str, tuple[int, ...]]:
        """As compiled functions take it: see `_lean.py`, where the same is made of NumPy's."""
        if self._apart is None:
            kind = f"{self.dtype.str}{len(self.shape)}C{'r' if self.cells.readonly else ''}"
            self._apart = kind, (0, 0, self.size, self.itemsize, self.address, *self.shape, *self.strides)
        found: tuple[str, tuple[int, ...]] = self._apart
        return found

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, self.cells.readonly),
        }

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return _arrays.settled().array(self.of_numpy(), dtype, copy=copy)

    def __len__(self) -> int:
        return self.shape[0]

    # --- Parts of it ---

    def __getitem__(self, at: Any) -> Any:
        if type(at) is slice:
            start, stop, step = at.indices(self.shape[0])
            if step == 1:
                return self if stop - start == self.shape[0] else self._part(start, max(start, stop))
        elif isinstance(at, int) and len(self.shape) == 1:
            value = self.cells[at]
            return uint64(value) if self.dtype.char == "Q" else value
        return self.of_numpy()[_arrays.of_numpy(at)]

    def _part(self, start: int, stop: int) -> Buffer:
        inner = math.prod(self.shape[1:]) if len(self.shape) > 1 else 1
        cells = self.cells[start * inner : stop * inner]
        return Buffer(cells, self.dtype, (stop - start, *self.shape[1:]), self.address + start * inner * self.itemsize)

    def __setitem__(self, at: Any, value: Any) -> None:
        if isinstance(at, int) and len(self.shape) == 1 and isinstance(value, float if self.dtype.kind == "f" else int):
            self.cells[at] = value
        elif type(at) is slice and type(value) is Buffer and value.dtype is self.dtype:
            part = self[at]
            if type(part) is not Buffer or part.shape != value.shape:
                raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {part.shape}")
            part.cells[:] = value.cells
        elif type(at) is slice and at.step is None and self._is_item(value):
            self[at]._fill(value)
        else:
            self.of_numpy()[_arrays.of_numpy(at)] = value

    def _is_item(self, value: Any) -> bool:
        """Whether it is a number, or a tuple of numbers, that can stand in each row."""
        numbers = value if type(value) is tuple and self.shape[1:] == (len(value),) else (value,)
        return all(type(number) is int or (type(number) is float and self.dtype.kind == "f") for number in numbers)

    def _fill(self, value: Any, *, fresh: bool = False) -> None:
        numbers = value if type(value) is tuple else (value,)
        item = struct.pack(self.dtype.char * len(numbers), *numbers)
        if any(item) or not fresh:  # zeros that were never written cost nothing
            self.cells.cast("B")[:] = item * (self.size // len(numbers))

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def view(self, kind: Any) -> Any:
        wanted = KINDS.get(name_of(kind))
        if wanted is None or wanted.itemsize != self.itemsize or len(self.shape) != 1:
            return self.of_numpy().view(kind)
        return Buffer(_cast(self.cells.cast("B"), wanted), wanted, self.shape, self.address)

    # --- What is in it ---

    def copy(self) -> Buffer:
        out = made(self.shape, self.dtype)
        out.cells[:] = self.cells
        return out

    def tobytes(self) -> bytes:
        return bytes(self.cells)

    def tolist(self) -> Any:
        if len(self.shape) == 1:
            return self.cells.tolist()
        return [part.tolist() for part in map(self._row, range(len(self)))]

    def _row(self, at: int) -> Buffer:
        part = self._part(at, at + 1)
        return Buffer(part.cells, self.dtype, self.shape[1:], part.address)

    def all(self) -> Any:
        return all(self.cells)

    def any(self) -> Any:
        return any(self.cells)

    def max(self, *args: Any, **options: Any) -> Any:
        return self.of_numpy().max(*args, **options) if args or options else max(self.cells)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.of_numpy(), name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.of_numpy().__reduce_ex__(protocol)

    __hash__ = None  # type: ignore[assignment]


def _by_numpy(name: str) -> Any:
    def operation(self: Buffer, *args: Any) -> Any:
        return getattr(self.of_numpy(), name)(*map(_arrays.of_numpy, args))

    return operation


for _operation in (
    *("lt", "le", "eq", "ne", "gt", "ge", "neg", "pos", "abs", "invert", "contains", "bool", "int", "float", "index"),
    *(
        f"{side}{name}"
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
        for side in ("", "r", "i")
    ),
    *(f"{side}{name}" for name in ("and", "or", "xor", "lshift", "rshift") for side in ("", "r", "i")),
    *("matmul", "rmatmul"),
):
    setattr(Buffer, f"__{_operation}__", _by_numpy(f"__{_operation}__"))


def _cast(memory: Any, kind: Kind) -> Any:
    view: Any = memoryview(memory)
    return view.cast(kind.char)


def made(shape: Any, kind: Kind, *, huge: bool = True) -> Buffer:
    """An array of zeros; `huge`: a large one in large pages."""
    return _nothing(kind) if shape == 0 else _new(shape if isinstance(shape, tuple) else (shape,), kind, huge=huge)


@functools.cache
def _nothing(kind: Kind) -> Buffer:
    """There is nothing in it to be written: one will do for all."""
    return _new((0,), kind, huge=False)


def _new(shape: tuple[int, ...], kind: Kind, *, huge: bool) -> Buffer:
    count = math.prod(shape)
    size = count * kind.itemsize
    try:
        memory: Any = bytearray(size) if size < LARGE else mmap.mmap(-1, size, PRIVATE)
    except OSError:
        raise MemoryError(f"There is no room for {size:,} bytes.") from None
    if huge and size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory)) if size else 0
    return Buffer(_cast(memory, kind), kind, shape, address)


class Numpy(ModuleType):
    """Stands in for the module. What it has, has NumPy's meaning; for the rest NumPy is imported."""

    ndarray = Buffer

    class generic:  # noqa: N801 - NumPy's name
        """No number here is one of NumPy's."""

    def __getattr__(self, name: str) -> Any:
        if name == "bool_":
            return KINDS["bool"]
        return KINDS[name] if name in KINDS else getattr(_arrays.settled(), name)

    def zeros(self, shape: Any, dtype: Any = "float64") -> Any:
        kind = KINDS.get(name_of(dtype))
        return _arrays.settled().zeros(shape, dtype) if kind is None else made(shape, kind)

    empty = zeros

    def full(self, shape: Any, fill: Any, dtype: Any) -> Any:
        kind = KINDS.get(name_of(dtype))
        fill = 0 if type(fill) is float and repr(fill) == "0.0" else fill  # which it is in all kinds
        out = None if kind is None else made(shape, kind)
        if out is None or not out._is_item(fill):
            return _arrays.settled().full(shape, fill, dtype)
        out._fill(fill, fresh=True)
        return out

    def array(self, values: Any, dtype: Any = None) -> Any:
        types = set(map(type, values)) if type(values) is list else {list}
        if dtype is None and types in ({int}, {float}):
            dtype = "int64" if types == {int} else "float64"
        kind = KINDS.get(name_of(dtype))
        if kind is None or types - ({int} if kind.kind in "iub" else {int, float}):
            return _arrays.settled().array(_arrays.of_numpy(values), dtype)
        out = made(len(values), kind)
        out.cells[:] = _cast(struct.pack(f"{len(values)}{kind.char}", *values), kind)
        return out

    def frombuffer(self, memory: Any, dtype: Any, *part: Any) -> Any:
        kind = KINDS.get(name_of(dtype))
        if kind is None or type(memory) is not bytes or part:
            return _arrays.settled().frombuffer(memory, dtype, *part)
        address = ctypes.cast(ctypes.c_char_p(memory), ctypes.c_void_p).value or 0  # bytes stay where they are
        return Buffer(_cast(memory, kind), kind, (len(memory) // kind.itemsize,), address)

    def concatenate(self, parts: Any) -> Any:
        kinds = {part.dtype for part in parts if type(part) is Buffer and part.ndim == 1}
        if len(kinds) != 1 or any(type(part) is not Buffer for part in parts):
            return _arrays.settled().concatenate([_arrays.of_numpy(part) for part in parts])
        out, at = made(sum(len(part) for part in parts), kinds.pop()), 0
        for part in parts:
            out[at : at + len(part)] = part
            at += len(part)
        return out

    def ascontiguousarray(self, array: Any) -> Any:
        return array if type(array) is Buffer else _arrays.settled().ascontiguousarray(array)

    def dtype(self, kind: Any) -> Any:
        found = KINDS.get(name_of(kind))
        return _arrays.settled().dtype(kind) if found is None else found
