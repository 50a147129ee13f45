"""JSON strings: find their end, decode escapes, and check them against RFC 8259."""

from __future__ import annotations

from typing import Any

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import JIT_DISABLED, compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES, lowest_bit, mask_at_most, mask_equal, to_int64
from novikoff._compiled.simd.dot import get_unchecked

QUOTE, BACKSLASH = 34, 92
UNCLOSED_STRING, CONTROL_CHARACTER, BAD_ESCAPE, LONE_SURROGATE, ENCODING = 1, 2, 3, 4, 5
"""Errors in a string: no end, a control character, an invalid escape, an unpaired surrogate, invalid UTF-8."""
_ZERO, _ONE = uint64(0), uint64(1)


def _find_string_end(text: NDArray[np.uint8], k: int) -> tuple[int, bool]:
    wide = False
    while True:
        high = ~mask_at_most(text, k, 127)
        found = mask_equal(text, k, QUOTE) | mask_equal(text, k, BACKSLASH) | mask_at_most(text, k, 31)
        if found != _ZERO:
            place = lowest_bit(found)
            return k + place, wide or high & ((_ONE << np.uint64(place)) - _ONE) != _ZERO
        wide |= high != _ZERO
        k += 64


def _plain_find_string_end(text: Any, k: int) -> tuple[int, bool]:
    wide = False
    while text[k] > 31 and text[k] != QUOTE and text[k] != BACKSLASH:
        wide |= bool(text[k] >= 128)
        k += 1
    return k, wide


find_string_end = compiled(_plain_find_string_end if JIT_DISABLED else _find_string_end)
"""Return the next quote, backslash or control character, such as a line feed, and whether non-ASCII precedes it."""


@compiled
def parse_hex_digit(byte: int) -> int:
    """Return the value of a hexadecimal digit; for other bytes a number so large that a sum of four shows it."""
    if 48 <= byte <= 57:
        return byte - 48
    small = byte | 32
    return small - 87 if 97 <= small <= 102 else 1 << 20


@compiled_not_inlined
def parse_four_hex_digits(text: NDArray[np.uint8], k: int) -> int:
    """Return the number after \\u; -1 where there are not four hexadecimal digits."""
    total = 0
    for j in range(k, k + 4):
        digit = parse_hex_digit(to_int64(text[j]))
        if digit > 15:
            return -1
        total = total * 16 + digit
    return total


@compiled_not_inlined
def append_utf8(out: NDArray[np.uint8], end: int, character: int) -> int:
    """Append a character in UTF-8; return the new end."""
    if character < 0x80:
        out[end] = character
        return end + 1
    count = 1 if character < 0x800 else 2 if character < 0x10000 else 3
    out[end] = (0xFF00 >> (count + 1) & 0xFF) | character >> 6 * count
    for j in range(1, count + 1):
        out[end + j] = 0x80 | character >> 6 * (count - j) & 63
    return end + count + 1


@compiled
def decode_escape(byte: int) -> int:
    """Return the character of an escape such as \\n; -1 for an invalid one."""
    if byte in (QUOTE, BACKSLASH, 47):
        return byte
    if byte == 110:
        return 10
    if byte == 116:
        return 9
    if byte == 114:
        return 13
    if byte == 98:
        return 8
    return 12 if byte == 102 else -1


@compiled_not_inlined
def unescape_string(text: NDArray[np.uint8], k: int, stop: int, out: NDArray[np.uint8]) -> tuple[int, int, int, bool]:
    """Decode the string that begins at k, in a line that ends at `stop`, to `out` from PADDING_BYTES on.

    Return (error or 0, end of the string or position of the error, end in `out`, whether it has bytes that are not
    ASCII).
    """
    end = PADDING_BYTES
    wide = False
    while True:
        special, high = find_string_end(text, k)
        wide |= high
        for j in range(special - k):
            out[end + j] = text[k + j]
        end += special - k
        k = special
        byte = to_int64(text[k])
        if byte == QUOTE:
            return 0, k, end, wide
        if byte < 32:
            return (UNCLOSED_STRING if k >= stop else CONTROL_CHARACTER), k, end, wide
        after = to_int64(text[k + 1])
        if after != 117:
            meant = decode_escape(after)
            if meant < 0:
                return BAD_ESCAPE, k, end, wide
            out[end] = meant
            end += 1
            k += 2
            continue
        character = parse_four_hex_digits(text, k + 2)
        if character < 0:
            return BAD_ESCAPE, k, end, wide
        if 0xD800 <= character <= 0xDFFF:
            low = parse_four_hex_digits(text, k + 8) if text[k + 6] == BACKSLASH and text[k + 7] == 117 else -1
            if character >= 0xDC00 or not 0xDC00 <= low <= 0xDFFF:
                return LONE_SURROGATE, k, end, wide
            character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00)
            k += 6
        end = append_utf8(out, end, character)
        k += 6


@compiled_not_inlined
def find_invalid_utf8(text: NDArray[np.uint8], k: int, stop: int) -> int:
    """Return the position of the first byte of text[k:stop] that is not valid UTF-8; `stop` where all is valid."""
    while k < stop:
        lead = to_int64(text[k])
        if lead < 0x80:
            k += 1
            continue
        if lead < 0xC2 or lead > 0xF4:
            return k
        more = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
        if k + more >= stop:
            return k
        # No longer than need be, no surrogates, nothing past U+10FFFF: all that is seen from the second byte.
        least = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
        most = 0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF
        second = to_int64(text[k + 1])
        if second < least or second > most:
            return k
        for j in range(2, more + 1):
            if text[k + j] & 0xC0 != 0x80:
                return k
        k += more + 1
    return stop


@compiled
def find_plain_string_end(text: NDArray[np.uint8], quote: int) -> int:
    """Return the position of the quote that ends a string without escapes; -1 where it has any, or is invalid."""
    end, wide = find_string_end(text, quote + 1)
    if get_unchecked(text, end) != QUOTE or (wide and find_invalid_utf8(text, quote + 1, end) < end):
        return -1
    return end


@compiled
def read_string(
    text: NDArray[np.uint8], quote: int, stop: int, out: NDArray[np.uint8]
) -> tuple[int, int, NDArray[np.uint8], int, int]:
    """Read the string that begins at `quote`, in a line that ends at `stop`.

    Return (error or 0, position after the string or of the error, the array that holds its characters, their start and
    end there). Escapes are decoded to `out`.
    """
    source, start = text, quote + 1
    end, wide = find_string_end(text, start)
    after = end + 1
    if get_unchecked(text, end) != QUOTE:
        error, after, end, wide = unescape_string(text, start, stop, out)
        if error != 0:
            return error, after, source, start, end
        source, start, after = out, PADDING_BYTES, after + 1
    if wide and find_invalid_utf8(source, start, end) < end:
        return ENCODING, quote, source, start, end
    return 0, after, source, start, end
