"""Memory between guard pages: a read or a write outside of a buffer ends the process.

Compiled parsers check no bounds. In these tests a text, and every array of a parser, lies at the very end or at the
very beginning of readable memory; on the other side, where pages do not fit, a canary of known bytes shows writes.
"""

from __future__ import annotations

import ctypes
import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data.formats.base import Parser
from novikoff.data.text_source import TextBlock

PAGE = mmap.PAGESIZE
CANARY_SIZE = 512
CANARY = b"\xc5" * CANARY_SIZE
GARBAGE = 0xA5
LARGE_ARRAY_BYTES = 1 << 20  # bytes of an array from which on it is not filled: most of it is never touched
NO_ACCESS = 0  # PROT_NONE
ZERO_ARRAYS = {"filter", "used"}
"""Arrays that must be zero at the start."""
FIRST_ZERO_ARRAYS = {"starts", "set_starts"}
"""Arrays whose first element must be zero at the start; a parser may rely on nothing else."""


def has_guard_pages() -> bool:
    """Return whether this system can make memory unreadable."""
    return hasattr(ctypes.CDLL(None), "mprotect") if hasattr(mmap, "MAP_PRIVATE") else False


class GuardedMemory:
    """Memory for an array between two guard pages; it grows on demand."""

    def __init__(self) -> None:
        self.room: NDArray[np.uint8] = np.zeros(0, np.uint8)
        self.rim: NDArray[np.uint8] = np.full(CANARY_SIZE, CANARY[0], np.uint8)

    def place(self, shape: tuple[int, ...], kind: Any, *, late: bool) -> NDArray[Any]:
        """Return an array at the end of the memory (`late`) or at its beginning."""
        kind = np.dtype(kind)
        size = kind.itemsize * math.prod(shape)
        if size + CANARY_SIZE > len(self.room):
            self.room = _allocate_between_pages(2 * size + CANARY_SIZE)
        whole = len(self.room)
        start, rim = (whole - size, whole - size - CANARY_SIZE) if late else (0, size)
        self.rim = self.room[rim : rim + CANARY_SIZE]
        self.rim[:] = CANARY[0]
        return self.room[start : start + size].view(kind).reshape(shape)

    def is_intact(self) -> bool:
        return self.rim.tobytes() == CANARY


def _allocate_between_pages(size: int) -> NDArray[np.uint8]:
    pages = -(-size // PAGE)
    memory = mmap.mmap(-1, (pages + 2) * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    all_bytes = np.frombuffer(memory, np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for page in (0, pages + 1):
        if protect(all_bytes.ctypes.data + page * PAGE, PAGE, NO_ACCESS) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")
    return all_bytes[PAGE:-PAGE]


class GuardedArrays:
    """Guarded memory for a text and for each array of a parser, by name."""

    def __init__(self) -> None:
        self.by_name: dict[tuple[str, bool], GuardedMemory] = {}

    def block(self, content: bytes, *, late: bool) -> TextBlock:
        """Return the text in the shortest block that a text source can give."""
        assert content.endswith(b"\n")
        added = len(content) > 1 and content[-2:-1] != b"\n"  # the newline, maybe, by the feed, for which there is room
        size = len(content) - added
        block = TextBlock(0)
        block.text = self.memory("text", late).place((PADDING_BYTES + size + 1 + PADDING_BYTES,), np.uint8, late=late)
        block.text[:] = 0
        block.stop = PADDING_BYTES + len(content)
        block.text[PADDING_BYTES : block.stop] = np.frombuffer(content, np.uint8)
        return block

    def enclose(self, parser: Parser, *, late: bool, garbage: bool) -> None:
        """Move all arrays of a parser into guarded memory; `garbage` fills those that need not be zero."""
        done: dict[tuple[int, int], NDArray[Any]] = {}
        for name, value in list(vars(parser).items()):
            setattr(parser, name, self._enclose_value(name, value, late, garbage, done))

    def _enclose_value(self, name: str, value: Any, late: bool, garbage: bool, done: dict[Any, NDArray[Any]]) -> Any:
        if isinstance(value, tuple) and hasattr(value, "_replace"):
            fields = value._asdict()
            moved = {n: self._enclose_value(f"{name}.{n}", v, late, garbage, done) for n, v in fields.items()}
            return value._replace(**moved)
        if not isinstance(value, np.ndarray):
            return value
        key = value.ctypes.data, value.nbytes
        if value.nbytes and key in done:  # the same memory, seen in another way
            return done[key].view(value.dtype).reshape(value.shape)
        placed = self.memory(name, late).place(value.shape, value.dtype, late=late)
        if value.nbytes < LARGE_ARRAY_BYTES:
            placed[...] = value
            short = name.rpartition(".")[2]
            if garbage and short not in ZERO_ARRAYS and not value.any():
                placed.reshape(-1).view(np.uint8)[value.itemsize * (short in FIRST_ZERO_ARRAYS) :] = GARBAGE
        else:
            placed.reshape(-1)[0] = value.reshape(-1)[0]
        done[key] = placed
        return placed

    def memory(self, name: str, late: bool) -> GuardedMemory:
        if (name, late) not in self.by_name:
            self.by_name[name, late] = GuardedMemory()
        return self.by_name[name, late]

    def list_overruns(self) -> list[str]:
        """Return the names of the arrays whose canary was overwritten."""
        return [name for (name, _), memory in self.by_name.items() if not memory.is_intact()]
