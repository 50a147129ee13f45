"""Machine code of an earlier run, loaded without Numba: importing that takes longer than learning a small file.

When Numba has compiled a function, its object code is kept beside Numba's own cache. A later process maps it into
memory by itself and calls it through ctypes. Numba makes such code for the "large" model, in which every address is
written out in full: all there is to do is to fill in addresses of 64 bits. This is for Linux on x86-64; elsewhere, and
wherever a file is missing, damaged or of another kind than expected, Numba does what it always does, with the same
results.

Nothing is loaded from a folder that others can write (see `_jit.cache_folder`), and nothing whose SHA-256 is not the
one that was written down with it.

A compiled function takes, after two addresses for its result and for an error (there are none), its arguments taken
apart: a number is a number, a tuple is its items, an array is seven words and more: two that are for Numba's memory
management, the number of elements, the size of one, the address, the shape, the strides.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import struct
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from novikoff import _arrays
from novikoff._records import NamedTuple
from novikoff._sources import sha256

POSSIBLE = sys.platform == "linux" and os.uname().machine == "x86_64" and sys.maxsize > 2**32
RESULTS = {"int64": "q", "uint64": "Q", "int32": "i", "uint32": "I", "float64": "d", "bool": "?", "none": ""}
ABSOLUTE_64 = 1  # the one kind of relocation that there is in the code itself
MAGIC = b"novikoff code 2\n"
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
KEPT_ARRAYS = 512
NUMBERS = {"bool": "?", "bool_": "?", "int": "q", "int64": "q", "uint64": "Q", "float": "d", "float64": "d"}
"""How compiled functions take Python's numbers, and NumPy's: by the names of their types."""


class Unsuitable(Exception):
    """This code can't be loaded in this way."""


# --- Arguments ---


class _Kept:
    """Arrays taken apart already, as long as they live."""

    def __init__(self) -> None:
        self.words: dict[int, tuple[Any, str, tuple[int, ...]]] = {}

    def of(self, array: Any) -> tuple[str, tuple[int, ...]]:
        found = self.words.get(id(array))
        if found is not None and found[0]() is array:
            return found[1], found[2]
        kind, words = _taken_apart(array)
        if len(self.words) >= KEPT_ARRAYS:
            self.words.clear()
        self.words[id(array)] = (weakref.ref(array), kind, words)
        return kind, words


def _taken_apart(array: Any) -> tuple[str, tuple[int, ...]]:
    flags = array.flags
    layout = "C" if flags.c_contiguous else "A"
    kind = f"{array.dtype.str}{array.ndim}{layout}{'' if flags.writeable else 'r'}{'' if flags.aligned else 'u'}"
    address = array.__array_interface__["data"][0]
    return kind, (0, 0, array.size, array.itemsize, address, *array.shape, *array.strides)


_kept = threading.local()


def flattened(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """What kinds of arguments these are, and their words."""
    kinds: list[str] = []
    words: list[Any] = []
    arrays = getattr(_kept, "arrays", None)
    if arrays is None:
        arrays = _kept.arrays = _Kept()
    _flatten(args, kinds, words, arrays)
    return " ".join(kinds), words


def _flatten(args: Any, kinds: list[str], words: list[Any], arrays: _Kept) -> None:
    for value in args:
        kind: Any = type(value)
        way = _ways.get(kind) or _way(kind)
        if way is TUPLE:
            kinds.append(_spelled(kind))
            _flatten(value, kinds, words, arrays)
            kinds.append(")")
        elif way is ARRAY:
            found, more = arrays.of(value)
            kinds.append(found)
            words += more
        elif way is STAND_IN:
            found, more = value.taken_apart()
            kinds.append(found)
            words += more
        else:
            kinds.append(way)
            words.append(float(value) if way == "d" else int(value))


TUPLE, ARRAY, STAND_IN = "tuple", "array", "a stand-in for an array, which knows its words by itself"
_ways: dict[type, str] = {}
"""How each type is taken apart; that of a number is its letter."""


def _way(kind: type) -> str:
    found = NUMBERS.get(kind.__name__)
    # Some formats import NumPy by themselves: what they make are arrays, too.
    array = (_arrays.settled() if "numpy" in sys.modules else _arrays.np).ndarray
    if found is None and hasattr(kind, "taken_apart"):
        found = STAND_IN
    elif found is None and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        found = TUPLE
    elif found is None and issubclass(kind, array):
        found = ARRAY
    if found is None:
        raise Unsuitable
    _ways[kind] = found
    return found


@functools.cache
def _spelled(kind: type) -> str:
    return f"({kind.__module__}.{kind.__qualname__}"


# --- The store ---


class Code(NamedTuple):
    """What is kept of a compiled function: its symbol in the object code, and its result as `struct` would spell it."""

    symbol: str
    result: str
    object: bytes


def _file(folder: str, name: str, kinds: str) -> str:
    return os.path.join(folder, f"{sha256(f'{name} {kinds}'.encode()).hexdigest()[:32]}.code")


def keep(folder: str, name: str, kinds: str, code: Code) -> None:
    """Written beside its place, then renamed: another process sees all of it or nothing."""
    head = "\n".join((name, kinds, code.symbol, code.result)).encode()
    body = len(head).to_bytes(8, "little") + head + code.object
    path = _file(folder, name, kinds)
    temporary = os.path.join(folder, f".{os.path.basename(path)}.{os.urandom(6).hex()}.part")
    try:
        with open(temporary, "wb") as file:
            file.write(MAGIC + sha256(body).digest() + body)
        os.replace(temporary, path)
    except OSError:  # a full disk, say: it is only slower without
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def find(folder: str, name: str, kinds: str) -> Code | None:
    """What was kept, if it is whole."""
    try:
        with open(_file(folder, name, kinds), "rb") as file:
            content = file.read()
    except OSError:
        return None
    start = len(MAGIC) + 32
    body = content[start:]
    if not content.startswith(MAGIC) or sha256(body).digest() != content[len(MAGIC) : start]:
        return None
    size = int.from_bytes(body[:8], "little")
    head = body[8 : 8 + size].decode().split("\n")
    if head[:2] != [name, kinds]:
        return None
    return Code(head[2], head[3], body[8 + size :])


# --- Loading ---


def loaded(code: Code, kinds_of_words: list[Any], *, brief: bool = False) -> Callable[[list[Any]], Any]:
    """The function, to be called with the words of its arguments; these are samples of them. Other threads may run
    meanwhile, unless it is brief."""
    address, memory = _mapped(code.object, code.symbol)
    word = [ctypes.c_double if isinstance(w, float) else ctypes.c_int64 for w in kinds_of_words]
    function = ctypes.PYFUNCTYPE if brief else ctypes.CFUNCTYPE
    native = function(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *word)(address)
    layout = struct.Struct(f"@{code.result}")
    room_for = ctypes.c_char * max(layout.size, 8)

    def call(words: list[Any], alive: Any = memory) -> Any:
        room = room_for()
        if native(room, room, *words) != 0:  # there is either a result or an error
            raise RuntimeError("A compiled function ended with an error.")
        values = layout.unpack_from(room)
        return values[0] if len(values) == 1 else values or None

    return call


def _mapped(content: bytes, symbol: str) -> tuple[int, Any]:
    """The address of a symbol after its object file was put into memory, and that memory."""
    if content[:6] != b"\x7fELF\x02\x01" or content[16:20] != b"\x01\x00\x3e\x00":  # to be linked, for x86-64
        raise Unsuitable
    table, count = int.from_bytes(content[40:48], "little"), int.from_bytes(content[60:62], "little")
    sections = [SECTION.unpack_from(content, table + 64 * k) for k in range(count)]
    offsets, size = _layout(sections)
    memory = mmap.mmap(-1, size or 1, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for k, offset in offsets.items():
        kind, start, length = sections[k][1], sections[k][4], sections[k][5]
        if kind != NO_CONTENT:
            memory[offset : offset + length] = content[start : start + length]
    symbols = _symbols(content, sections)
    places = [_place(s, base, offsets) for s in symbols]
    for section in sections:
        if section[1] == RELOCATIONS and section[7] in offsets:
            for at in range(section[4], section[4] + section[5], RELOCATION.size):
                offset, info, addend = RELOCATION.unpack_from(content, at)
                if info & 0xFFFFFFFF != ABSOLUTE_64:
                    raise Unsuitable
                value = (places[info >> 32] + addend) % 2**64
                struct.pack_into("<Q", memory, offsets[section[7]] + offset, value)
    _make_executable(base, size)
    return next(p for s, p in zip(symbols, places, strict=True) if s[0] == symbol), memory


LOADED = 2
RELOCATIONS, NO_CONTENT, SYMBOLS = 4, 8, 2
UNDEFINED = 0
# Beside each function stands one that Python would call, and that tells of errors; it is never called here, so that
# what it needs of Python and Numba need not be there.
FOR_PYTHON = {
    "numba_adapt_ndarray",
    "numba_do_raise",
    "numba_gil_ensure",
    "numba_gil_release",
    "numba_runtime_build_excinfo_struct",
    "numba_unpickle",
}


def _layout(sections: list[Any]) -> tuple[dict[int, int], int]:
    """Where each section that is needed at run time goes, and the size of all."""
    offsets, size = {}, 0
    for k, (_, kind, flags, _, _, length, _, _, alignment, _) in enumerate(sections):
        unwinding = kind == 0x70000001  # for exceptions, of which there are none
        if flags & LOADED and length and not unwinding:
            size += -size % max(alignment, 1)
            offsets[k] = size
            size += length
    return offsets, size


def _symbols(content: bytes, sections: list[Any]) -> list[tuple[str, int, int]]:
    """(name, section, value) of each symbol."""
    table = next((s for s in sections if s[1] == SYMBOLS), None)
    if table is None:
        raise Unsuitable
    names = sections[table[6]][4]
    found = []
    for at in range(table[4], table[4] + table[5], SYMBOL.size):
        name, _, _, section, value, _ = SYMBOL.unpack_from(content, at)
        end = content.index(b"\0", names + name)
        found.append((content[names + name : end].decode(), section, value))
    return found


def _place(symbol: tuple[str, int, int], base: int, offsets: dict[int, int]) -> int:
    name, section, value = symbol
    if section in offsets:
        return base + offsets[section] + value
    if section == UNDEFINED and name and not name.startswith(("Py", "_Py")) and name not in FOR_PYTHON:
        try:
            return ctypes.cast(getattr(_library("libm.so.6"), name), ctypes.c_void_p).value or 0
        except (AttributeError, OSError):
            raise Unsuitable from None
    return 0


@functools.cache
def _library(name: str | None) -> ctypes.CDLL:
    """Of the system; None is what this process has already."""
    return ctypes.CDLL(name)


def _make_executable(base: int, size: int) -> None:
    """From now on to be read and run, not written."""
    protect = _library(None).mprotect
    if protect(ctypes.c_void_p(base), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise Unsuitable
