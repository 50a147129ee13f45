"""Whole lines of a file, a tile at a time, read by compiled code.

A tile is small enough for the cache next to a processor, and used again and again: there the text is while it is
marked and parsed, and all of a span of a file, some megabytes, is one call of compiled code, during which other threads
run.
"""

from __future__ import annotations

import os
from typing import Any

from novikoff._compiled.simd.byte_scan import PADDING
from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import compiled, primitive
from novikoff.data.text_source import NEWLINE

TILE = 1 << 17
NONE = -1


def _read_at(number: int, start: int, text: Any, at: int, count: int) -> int:
    try:
        return os.preadv(number, [memoryview(text)[at : at + count]], start)
    except OSError:
        return -1


def _read_at_code(numba: Any, *_: Any) -> Any:
    types = numba.types
    pread = types.ExternalFunction("pread", types.int64(types.intc, types.intp, types.uintp, types.int64))

    def read(number: int, start: int, text: Any, at: int, count: int) -> int:
        return pread(types.intc(number), text.ctypes.data + at, types.uintp(count), start)

    return read


read_at = primitive(_read_at, _read_at_code)
"""Reads up to `count` bytes of an open file from `start` on into text[at:]; returns how many they were, 0 at the end of
the file and -1 where it can't be read."""


def tile_text(size: int) -> NDArray[np.uint8]:
    return buffers.zeros(PADDING + size + 1 + PADDING, "uint8")


@compiled
def take_lines(number: int, start: int, stop: int, text: NDArray[np.uint8]) -> int:
    """As many whole lines from `start` on as there is room for, up to `stop`, where a line ends: text[PADDING:end]. The
    last line of a file may lack its newline, which is put there. NONE where the file ends before, can't be read, or has
    a line that is longer than the tile."""
    size = min(len(text) - 2 * PADDING - 1, stop - start)
    come = 0
    while come < size:
        count = read_at(number, start + come, text, PADDING + come, size - come)
        if count <= 0:
            return NONE
        come += count
    end = PADDING + come
    if start + come < stop:
        while end > PADDING and text[end - 1] != NEWLINE:
            end -= 1
        if end == PADDING:
            return NONE
    elif text[end - 1] != NEWLINE:
        text[end] = NEWLINE
        end += 1
    for k in range(end, end + PADDING):
        text[k] = 0
    return end
