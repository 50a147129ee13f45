"""Arrays without NumPy, for what `novikoff learn FILE` does beside calling compiled functions.

A `Buffer` is C-contiguous memory that knows its type, shape and address. It can be cut into parts that share its
memory, copied and written out. What else is asked of it NumPy does, which is imported then, on the same memory.

`zeros`, `empty`, `full`, `array`, `frombuffer`, `concatenate` and `dtype` mean what they mean in NumPy. They give
buffers in a process that has asked for them (`use_buffers`, as the command `learn` does) as long as NumPy is not
imported, and NumPy's arrays otherwise.
"""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
import struct
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

MMAP_MIN_BYTES = 1 << 16  # bytes: memory that comes from the system is zero, and costs nothing before it is written
HUGE_PAGE_MIN_BYTES = 1 << 25  # … and in large pages from here on: of what parsers make room for most is never written
MMAP_FLAGS = (
    mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
)  # what processes share has no large pages, and its small ones cost more

_wanted = False


def use_buffers() -> None:
    """Use buffers for arrays until NumPy is imported."""
    global _wanted  # noqa: PLW0603 - of the process
    _wanted = True


def buffers_in_use() -> bool:
    """Return whether arrays are buffers now."""
    return _wanted and "numpy" not in sys.modules


def numpy_module() -> Any:
    import numpy

    return numpy


def as_numpy(value: Any) -> Any:
    """Return an array, or a tuple with arrays, as those of NumPy."""
    if isinstance(value, Buffer | UInt64):
        return value.numpy()
    if isinstance(value, tuple):
        items = [as_numpy(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def is_array(value: Any) -> bool:
    return isinstance(value, Buffer) or ("numpy" in sys.modules and isinstance(value, numpy_module().ndarray))


def is_numpy_number(value: Any) -> bool:
    return "numpy" in sys.modules and isinstance(value, numpy_module().generic)


class DType:
    """What the elements of a buffer are."""

    def __init__(self, name: str, char: str, code: str) -> None:
        self.name, self.char, self.str, self.kind = name, char, code, code[1]
        self.itemsize = struct.calcsize(char)

    @property
    def dtype(self) -> Any:
        """NumPy takes it for its own by this."""
        return numpy_module().dtype(self.name)

    def __eq__(self, other: object) -> bool:
        return bool(self.name == dtype_name(other))

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"dtype({self.name!r})"


class UInt64(int):
    """A number that compiled functions take as unsigned: they tell kinds of numbers apart."""

    def numpy(self) -> Any:
        return numpy_module().uint64(int(self))


class Flags(NamedTuple):
    writeable: bool
    c_contiguous: bool = True
    aligned: bool = True


DTYPES = {
    dtype.name: dtype
    for dtype in (
        DType("float64", "d", "<f8"),
        DType("float32", "f", "<f4"),
        DType("int64", "q", "<i8"),
        DType("uint64", "Q", "<u8"),
        DType("int32", "i", "<i4"),
        DType("uint32", "I", "<u4"),
        DType("int16", "h", "<i2"),
        DType("uint16", "H", "<u2"),
        DType("int8", "b", "|i1"),
        DType("uint8", "B", "|u1"),
        DType("bool", "?", "|b1"),
    )
}


def dtype_name(kind: Any) -> Any:
    """Of a type of elements, in whatever form."""
    if isinstance(kind, str) or kind is float:
        return "float64" if kind is float else kind
    found = getattr(kind, "name", None) or getattr(kind, "__name__", None)
    return "bool" if found == "bool_" else found


class Buffer:
    """An array of numbers that lie side by side."""

    __slots__ = ("__weakref__", "_array", "_call_arguments", "address", "cells", "dtype", "shape")

    def __init__(self, cells: Any, dtype: DType, shape: tuple[int, ...], address: int) -> None:
        self.cells, self.dtype, self.shape, self.address = cells, dtype, shape, address
        self._array: Any = None
        self._call_arguments: tuple[int, ...] | None = None

    def numpy(self) -> Any:
        """Return the same memory as a NumPy array."""
        if self._array is None:
            self._array = numpy_module().frombuffer(self.cells, self.dtype.name).reshape(self.shape)
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

    def call_arguments(self) -> tuple[int, ...]:
        """Return the arguments that entry points of compiled functions take for it."""
        if self._call_arguments is None:
            self._call_arguments = (self.address, *self.shape, *self.strides)
        return self._call_arguments

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, self.cells.readonly),
        }

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return numpy_module().array(self.numpy(), dtype, copy=copy)

    def __len__(self) -> int:
        return self.shape[0]

    # --- Parts of it ---

    def __getitem__(self, at: Any) -> Any:
        if type(at) is slice:
            start, stop, step = at.indices(self.shape[0])
            if step == 1:
                return self if stop - start == self.shape[0] else self._part(start, max(start, stop))
        elif isinstance(at, int) and len(self.shape) > 1:
            return self._row(at if at >= 0 else at + self.shape[0])
        elif isinstance(at, int):
            value = self.cells[at]
            return UInt64(value) if self.dtype.char == "Q" else value
        return self.numpy()[as_numpy(at)]

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
            self.numpy()[as_numpy(at)] = value

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
        wanted = DTYPES.get(dtype_name(kind))
        if wanted is None or wanted.itemsize != self.itemsize or len(self.shape) != 1:
            return self.numpy().view(kind)
        return Buffer(_cast(self.cells.cast("B"), wanted), wanted, self.shape, self.address)

    # --- What is in it ---

    def copy(self) -> Buffer:
        out = _make(self.shape, self.dtype)
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
        return self.numpy().max(*args, **options) if args or options else max(self.cells)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.numpy(), name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.numpy().__reduce_ex__(protocol)

    __hash__ = None  # type: ignore[assignment]


def _delegate_to_numpy(name: str) -> Any:
    def operation(self: Buffer, *args: Any) -> Any:
        return getattr(self.numpy(), name)(*map(as_numpy, args))

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
    setattr(Buffer, f"__{_operation}__", _delegate_to_numpy(f"__{_operation}__"))


def _cast(memory: Any, kind: DType) -> Any:
    view: Any = memoryview(memory)
    return view.cast(kind.char)


def _make(shape: Any, kind: DType, *, huge: bool = True) -> Buffer:
    """Return an array of zeros; `huge` puts a large one in large pages."""
    return _empty(kind) if shape == 0 else _allocate(shape if isinstance(shape, tuple) else (shape,), kind, huge=huge)


@functools.cache
def _empty(kind: DType) -> Buffer:
    """Return the empty array: it cannot be written, so that one is enough."""
    return _allocate((0,), kind, huge=False)


def _allocate(shape: tuple[int, ...], kind: DType, *, huge: bool) -> Buffer:
    count = math.prod(shape)
    size = count * kind.itemsize
    try:
        memory: Any = bytearray(size) if size < MMAP_MIN_BYTES else mmap.mmap(-1, size, MMAP_FLAGS)
    except OSError:
        raise MemoryError(f"There is no room for {size:,} bytes.") from None
    if huge and size >= HUGE_PAGE_MIN_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory)) if size else 0
    return Buffer(_cast(memory, kind), kind, shape, address)


# --- Making them ---


def zeros(shape: Any, dtype: Any = "float64") -> Any:
    return _make(shape, DTYPES[dtype_name(dtype)]) if buffers_in_use() else numpy_module().zeros(shape, dtype)


def empty(shape: Any, dtype: Any = "float64") -> Any:
    return zeros(shape, dtype) if buffers_in_use() else numpy_module().empty(shape, dtype)


def uninitialised(shape: int | tuple[int, ...], dtype: Any = "float64") -> Any:
    """An array for what parsers make room for, most of which is never written and costs nothing then. NumPy asks the
    system for large pages: of each such array the first byte to be written costs two megabytes."""
    made = _make(shape, DTYPES[dtype_name(dtype)], huge=False)
    return made if buffers_in_use() else made.numpy()


def full(shape: Any, fill: Any, dtype: Any) -> Any:
    if not buffers_in_use():
        return numpy_module().full(shape, fill, dtype)
    fill = 0 if type(fill) is float and repr(fill) == "0.0" else fill  # which it is in all types
    out = _make(shape, DTYPES[dtype_name(dtype)])
    if not out._is_item(fill):
        return numpy_module().full(shape, fill, dtype_name(dtype))
    out._fill(fill, fresh=True)
    return out


def array(values: Any, dtype: Any = None) -> Any:
    types = set(map(type, values)) if type(values) is list else {list}
    if dtype is None and types in ({int}, {float}):
        dtype = "int64" if types == {int} else "float64"
    kind = DTYPES.get(dtype_name(dtype)) if buffers_in_use() else None
    if kind is None or types - ({int, UInt64} if kind.kind in "iub" else {int, float}):
        return numpy_module().array(as_numpy(values), dtype)
    out = _make(len(values), kind)
    out.cells[:] = _cast(struct.pack(f"{len(values)}{kind.char}", *values), kind)
    return out


def frombuffer(memory: Any, dtype: Any) -> Any:
    if not buffers_in_use() or type(memory) is not bytes:
        return numpy_module().frombuffer(memory, dtype)
    kind = DTYPES[dtype_name(dtype)]
    address = ctypes.cast(ctypes.c_char_p(memory), ctypes.c_void_p).value or 0  # bytes stay where they are
    return Buffer(_cast(memory, kind), kind, (len(memory) // kind.itemsize,), address)


def concatenate(parts: Any) -> Any:
    kinds = {part.dtype for part in parts if type(part) is Buffer and part.ndim == 1}
    if len(kinds) != 1 or any(type(part) is not Buffer for part in parts):
        return numpy_module().concatenate([as_numpy(part) for part in parts])
    out, at = _make(sum(len(part) for part in parts), kinds.pop()), 0
    for part in parts:
        out[at : at + len(part)] = part
        at += len(part)
    return out


def ascontiguousarray(values: Any) -> Any:
    return values if type(values) is Buffer else numpy_module().ascontiguousarray(values)


def dtype(kind: Any) -> Any:
    return DTYPES[dtype_name(kind)] if buffers_in_use() else numpy_module().dtype(dtype_name(kind))


def uint64(value: int) -> Any:
    return UInt64(value) if buffers_in_use() else numpy_module().uint64(value)
