"""Positions of the delimiters of svmlight and Vowpal Wabbit text, found 64 bytes at a time."""

from __future__ import annotations

from typing import Any

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import JIT_DISABLED, compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import (
    PADDING_BYTES,
    count_bits,
    lowest_bit,
    mask_at_most,
    mask_equal,
    to_int64,
    write_bit_positions,
)

EXTRA_MARKS = 24  # valid marks behind the last one: eight terms are read at a time
_ZERO: Any = uint64(0)
_ONE: Any = uint64(1)
_LAST: Any = uint64(63)


def _find_terms(
    text: NDArray[np.uint8],
    stop: int,
    special: int,
    marks: NDArray[np.uint32],
    ends: NDArray[np.int64],
    lines: NDArray[np.int64],
) -> tuple[int, bool]:
    at, count = 1, _ZERO  # unsigned: a signed index needs the length of its array, and the loop has no register for it
    carry, low_bytes = _ONE, _ZERO
    marks[0] = PADDING_BYTES - 1
    for base in range(PADDING_BYTES, stop, 64):
        blanks = mask_at_most(text, base, 32)
        newlines = mask_equal(text, base, 10)
        found = mask_equal(text, base, 58) | mask_equal(text, base, special) | (blanks & ~((blanks << _ONE) | carry))
        carry = blanks >> _LAST
        low = mask_at_most(text, base, 31) & ~newlines
        if base + 64 > stop:
            inside = (_ONE << np.uint64(stop - base)) - _ONE
            found &= inside
            newlines &= inside
            low &= inside
        low_bytes |= low
        while newlines != _ZERO:
            line = lowest_bit(newlines)
            ends[count] = at + count_bits(found & ((np.uint64(2) << np.uint64(line)) - _ONE))
            lines[count] = base + line
            count += _ONE
            newlines &= newlines - _ONE
        at = write_bit_positions(marks, at, base, found)
    for k in range(at, at + EXTRA_MARKS):
        marks[k] = stop
    return to_int64(count), low_bytes != _ZERO


def _plain_find_terms(text: Any, stop: int, special: int, marks: Any, ends: Any, lines: Any) -> tuple[int, bool]:
    at, count = 1, 0
    before, has_low_bytes = 10, False
    marks[0] = PADDING_BYTES - 1
    for k in range(PADDING_BYTES, stop):
        byte = int(text[k])
        if byte in (58, special) or byte <= 32 < before:
            marks[at] = k
            at += 1
        if byte == 10:
            ends[count], lines[count] = at, k
            count += 1
        has_low_bytes |= byte < 32 and byte != 10
        before = byte
    marks[at : at + EXTRA_MARKS] = stop
    return count, has_low_bytes


find_terms = compiled(_plain_find_terms if JIT_DISABLED else _find_terms)
"""Write the positions of every colon, every special character, and every blank that ends a token to `marks`.

For each line, `ends` gets the number of marks up to its end, and `lines` the position of its line feed. Return the
number of lines, and whether there is a byte below 32 other than a line feed: only then must `has_controls` scan the
text again. marks[0] is the position before the first line, so that every mark has one before it. The text ends with a
line feed.
"""
