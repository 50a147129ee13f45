"""Compiled reading of whole lines of a file into a small buffer, a tile.

A tile fits into the fastest cache and is reused: its text stays in the cache while it is marked and parsed. A span of
some megabytes is parsed by one call of compiled code, during which other threads run.
"""

from __future__ import annotations

import os
from typing import Any

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled, primitive
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data.text_source import NEWLINE

TILE_BYTES = 1 << 17
NO_LINES = -1


def _read_at(fd: int, start: int, text: Any, at: int, count: int) -> int:
    try:
        return os.preadv(fd, [memoryview(text)[at : at + count]], start)
    except OSError:
        return -1


def _read_at_code(numba: Any, *_: Any) -> Any:
    types = numba.types
    pread = types.ExternalFunction("pread", types.int64(types.intc, types.intp, types.uintp, types.int64))

    def read(fd: int, start: int, text: Any, at: int, count: int) -> int:
        return pread(types.intc(fd), text.ctypes.data + at, types.uintp(count), start)

    return read


read_at = primitive(_read_at, _read_at_code)
"""Read up to `count` bytes of a file at `start` into text[at:]; return their number, 0 at its end, -1 on errors."""


def allocate_tile_text(size: int) -> NDArray[np.uint8]:
    return buffers.zeros(PADDING_BYTES + size + 1 + PADDING_BYTES, "uint8")


@compiled
def read_lines(fd: int, start: int, stop: int, text: NDArray[np.uint8]) -> int:
    """Read as many whole lines from `start` on as fit, up to `stop`, where a line ends; return the end of the text.

    The text begins at PADDING_BYTES. A newline is added to a last line that lacks it. Return NO_LINES where the file
    ends early, can't be read, or has a line longer than the tile.
    """
    size = min(len(text) - 2 * PADDING_BYTES - 1, stop - start)
    n_read = 0
    while n_read < size:
        count = read_at(fd, start + n_read, text, PADDING_BYTES + n_read, size - n_read)
        if count <= 0:
            return NO_LINES
        n_read += count
    end = PADDING_BYTES + n_read
    if start + n_read < stop:
        while end > PADDING_BYTES and text[end - 1] != NEWLINE:
            end -= 1
        if end == PADDING_BYTES:
            return NO_LINES
    elif text[end - 1] != NEWLINE:
        text[end] = NEWLINE
        end += 1
    for k in range(end, end + PADDING_BYTES):
        text[k] = 0
    return end
