"""Detection of control bytes in text lines: bytes below 32 other than a tab, and a carriage return at a line's end.

They are refused: they come from damaged files and UTF-16, and would otherwise be read as blanks. A block is scanned as
a whole, 64 bytes at a time; single lines are scanned only in a block that has such a byte.
"""

from __future__ import annotations

from typing import Any

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import mask_at_most, mask_equal

TAB, LINE_FEED, CARRIAGE_RETURN = 9, 10, 13
CONTROL_BYTE_MESSAGE = "a line must not contain control bytes, got byte {} (is the file binary, damaged or UTF-16?)."
_ZERO: Any = uint64(0)
_ONE: Any = uint64(1)
_LAST: Any = uint64(63)


@compiled
def has_controls(text: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Return whether text[start:stop], which are whole lines, has a control byte."""
    seen = _ZERO
    for base in range(start, stop, 64):
        found = mask_at_most(text, base, 31) & ~(mask_equal(text, base, TAB) | mask_equal(text, base, LINE_FEED))
        if base + 64 > stop:
            found &= (_ONE << np.uint64(stop - base)) - _ONE
        seen |= found
    return seen != _ZERO and has_more_than_line_ends(text, start, stop)


@compiled_not_inlined
def has_more_than_line_ends(text: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Return whether there is a control byte other than a carriage return before a line feed."""
    for base in range(start, stop, 64):
        ends = mask_equal(text, base, LINE_FEED)
        after = _ONE << _LAST if base + 64 < stop and text[base + 64] == LINE_FEED else _ZERO
        found = mask_at_most(text, base, 31) & ~(mask_equal(text, base, TAB) | ends)
        found &= ~(mask_equal(text, base, CARRIAGE_RETURN) & (ends >> _ONE | after))
        if base + 64 > stop:
            found &= (_ONE << np.uint64(stop - base)) - _ONE
        if found != _ZERO:
            return True
    return False


@compiled_not_inlined
def find_control(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the position of the first control byte of a line that ends before text[stop], or -1."""
    for k in range(start, stop):
        if text[k] < 32 and text[k] != TAB and not (text[k] == CARRIAGE_RETURN and k + 1 == stop):
            return k
    return -1


@compiled
def has_nul(text: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Return whether text[start:stop] has a NUL byte."""
    seen = _ZERO
    for base in range(start, stop, 64):
        found = mask_equal(text, base, 0)
        if base + 64 > stop:
            found &= (_ONE << np.uint64(stop - base)) - _ONE
        seen |= found
    return seen != _ZERO


@compiled_not_inlined
def find_nul(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the position of the first NUL byte, or -1."""
    for k in range(start, stop):
        if text[k] == 0:
            return k
    return -1
