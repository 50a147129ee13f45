"""Compiled tokenizer for tables: positions of cells and records, with the quoting rules of RFC 4180.

A cell that begins with a quote ends at the next single quote; a doubled quote stands for one, and delimiters and
newlines inside are text. With NO_QUOTE, no cell is quoted. A quote anywhere else is stray: it opens nothing, so that it
spoils only its own record. The text begins at a record. 64 bytes are scanned at once; bits are visited one by one only
where there are quotes.

The spans of cells include their quotes. `csv_rows.unquote_in_place` removes them and merges doubled quotes when a cell
is parsed.
"""

from __future__ import annotations

from typing import Any

from novikoff._compiled import buffers
from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import JIT_DISABLED, compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import count_bits, lowest_bit, mask_equal, write_bit_positions

QUOTE, NEWLINE, CARRIAGE_RETURN = 34, 10, 13
NO_QUOTE = 1
"""The quote character where quotes are text: a byte that no text contains."""
_ZERO: Any = uint64(0)
_ONE: Any = uint64(1)
_TWO: Any = uint64(2)
_ALL: Any = uint64(2**64 - 1)
NO_STRAYS: NDArray[np.int64] = buffers.zeros(0, "int64")


@compiled_not_inlined
def ends_cell(text: NDArray[np.uint8], k: int, delimiter: int) -> bool:
    """Return whether a cell may end before position k."""
    byte = int(text[k])
    return byte in (delimiter, NEWLINE) or (byte == CARRIAGE_RETURN and text[k + 1] == NEWLINE)


@compiled_not_inlined
def _find_quoted(
    text: NDArray[np.uint8],
    start: int,
    base: int,
    quotes: Any,
    inside: bool,
    after: int,
    delimiter: int,
    quote: int,
    strays: NDArray[np.int64],
    odd: int,
) -> tuple[Any, bool, int, int]:
    """Return (mask of quoted bytes, whether the next byte is quoted, end of processed quotes, number of stray quotes).

    The masks are of the 64 bytes at `base`; `quotes` marks all quote characters.
    """
    hidden = _ZERO
    begin = 0
    while quotes != _ZERO:
        bit = lowest_bit(quotes)
        quotes &= quotes - _ONE
        k = base + bit
        if k < after:
            continue
        if inside:
            if np.int64(text[k + 1]) == quote:
                after = k + 2
            else:
                inside = False
                hidden |= (_ALL << np.uint64(begin)) & (_ALL >> np.uint64(63 - bit))
                if not ends_cell(text, k + 1, delimiter) and odd < len(strays):
                    strays[odd] = k
                    odd += 1
        elif k == start or text[k - 1] == NEWLINE or np.int64(text[k - 1]) == delimiter:
            inside = True
            begin = bit
        elif odd < len(strays):
            strays[odd] = k
            odd += 1
    if inside:
        hidden |= _ALL << np.uint64(begin)
    return hidden, inside, after, odd


def _find_cells(
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    delimiter: int,
    quote: int,
    marks: NDArray[np.uint32],
    ends: NDArray[np.int64],
    lines: NDArray[np.int64],
    strays: NDArray[np.int64],
) -> tuple[int, int, bool, int]:
    at = count = seen = odd = 0
    inside = False
    after = start
    lines[0] = 0
    for base in range(start, stop, 64):
        quotes: Any = mask_equal(text, base, quote)
        newlines: Any = mask_equal(text, base, NEWLINE)
        found: Any = mask_equal(text, base, delimiter) | newlines
        if base + 64 > stop:
            within = (_ONE << np.uint64(stop - base)) - _ONE
            quotes &= within
            newlines &= within
            found &= within
        ended = newlines
        if inside or quotes != _ZERO:
            hidden, inside, after, odd = _find_quoted(
                text, start, base, quotes, inside, after, delimiter, quote, strays, odd
            )
            found &= ~hidden
            ended &= ~hidden
        while ended != _ZERO:
            upto = (_TWO << np.uint64(lowest_bit(ended))) - _ONE
            ends[count] = at + count_bits(found & upto)
            count += 1
            lines[count] = seen + count_bits(newlines & upto)
            ended &= ended - _ONE
        seen += count_bits(newlines)
        at = write_bit_positions(marks, at, base, found)
    if inside:
        marks[at] = stop - 1
        at += 1
        ends[count] = at
        count += 1
    for k in range(8):
        marks[at + k] = stop
    return count, odd, inside, seen


def _plain_find_cells(
    text: Any, start: int, stop: int, delimiter: int, quote: int, marks: Any, ends: Any, lines: Any, strays: Any
) -> tuple[int, int, bool, int]:
    """Reference implementation of `find_cells`."""
    at = count = seen = odd = 0
    inside, after = False, start
    lines[0] = 0
    for k in range(start, stop):
        byte = int(text[k])
        if byte == quote and k >= after:
            if inside and text[k + 1] == quote:
                after = k + 2
            elif inside or (k > start and text[k - 1] not in (NEWLINE, delimiter)):
                if not inside or not ends_cell(text, k + 1, delimiter):
                    strays[odd] = k
                    odd += 1
                inside = False
            else:
                inside = True
        seen += byte == NEWLINE
        if byte in (NEWLINE, delimiter) and not inside:
            marks[at] = k
            at += 1
            if byte == NEWLINE:
                ends[count] = at
                count += 1
                lines[count] = seen
    if inside:
        marks[at] = stop - 1
        at += 1
        ends[count] = at
        count += 1
    marks[at : at + 8] = stop
    return count, odd, inside, seen


find_cells = compiled(_plain_find_cells if JIT_DISABLED else _find_cells)
"""Mark every delimiter and newline that ends a cell, and eight more positions at the end of the text.

For each record, `ends` gets the number of marks up to its end, and `lines` the line on which it begins; `strays` gets
the positions of stray quotes, as many as fit. Return the number of records, the number of strays, whether the last
record ends inside quotes, and the number of newlines. The text ends with a newline.
"""


def _find_last_record_end(
    text: NDArray[np.uint8], start: int, stop: int, delimiter: int, quote: int, strays: NDArray[np.int64]
) -> int:
    inside = False
    after = place = start
    latest = _ZERO
    for base in range(start, stop, 64):
        quotes: Any = mask_equal(text, base, quote)
        newlines: Any = mask_equal(text, base, NEWLINE)
        if base + 64 > stop:
            within = (_ONE << np.uint64(stop - base)) - _ONE
            quotes &= within
            newlines &= within
        if inside or quotes != _ZERO:
            hidden, inside, after, _ = _find_quoted(
                text, start, base, quotes, inside, after, delimiter, quote, strays, 0
            )
            newlines &= ~hidden
        if newlines != _ZERO:
            place = base
            latest = newlines
    end = place
    while latest != _ZERO:
        end = place + lowest_bit(latest) + 1
        latest &= latest - _ONE
    return end


def _plain_find_last_record_end(text: Any, start: int, stop: int, delimiter: int, quote: int, strays: Any) -> int:
    end, inside, after = start, False, start
    for k in range(start, stop):
        byte = int(text[k])
        if byte == quote and k >= after:
            if inside and text[k + 1] == quote:
                after = k + 2
            else:
                inside = not inside and (k == start or text[k - 1] in (NEWLINE, delimiter))
        if byte == NEWLINE and not inside:
            end = k + 1
    return end


find_last_record_end = compiled(_plain_find_last_record_end if JIT_DISABLED else _find_last_record_end)
"""Return the end of the last whole record; `start` where there is none. Pass NO_STRAYS as the last argument."""
