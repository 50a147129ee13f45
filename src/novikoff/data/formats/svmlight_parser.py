"""Compiled parser for svmlight lines.

Parsing has two steps: all blanks and colons of a text are marked, then each line is read along its marks, eight terms
at a time. An irregular term (with an exponent or many digits) is parsed by itself. An irregular line is parsed again
from left to right, slowly and exactly, which also finds its error.
"""

from __future__ import annotations

from typing import NamedTuple

from novikoff._compiled.buffers import uninitialised
from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES, eight_terms, to_int64
from novikoff.data.delimiters import find_terms
from novikoff.data.formats.base import LARGEST_LABEL, LARGEST_VALUE
from novikoff.data.formats.control_bytes import find_control, has_controls
from novikoff.data.line_reader import read_lines
from novikoff.data.parse_float import parse_decimal
from novikoff.data.validation import MAX_INDEX

LABEL, INDEX, VALUE, ORDER, SEVERAL, QID, RANGE, CONTROL, LARGE_LABEL = range(1, 10)
"""Errors of a line."""
NO_GROUP = -1
COLON = ord(":")


class Tile(NamedTuple):
    """A piece of text with buffers for the marks that `find_terms` writes."""

    text: NDArray[np.uint8]
    marks: NDArray[np.uint32]
    ends: NDArray[np.int64]
    lines: NDArray[np.int64]


def allocate_marks(size: int) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """Allocate, for a text of `size` bytes, its marks, the end of the marks of each line, and the ends of lines."""
    return uninitialised(size + 64, "uint32"), uninitialised(size + 1, "int64"), uninitialised(size + 1, "int64")


class SvmlightOutput(NamedTuple):
    """Output of the parser; the `set_…` arrays are filled only where examples have label sets."""

    starts: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float32]
    labels: NDArray[np.float64]
    groups: NDArray[np.int64]
    line_of: NDArray[np.int64]
    set_starts: NDArray[np.int64]
    set_values: NDArray[np.float64]
    problems: NDArray[np.int64]
    """Line, reason, and start and end of the offending text."""


@compiled
def parse_number(text: NDArray[np.uint8], start: int, stop: int) -> tuple[float, bool]:
    """Parse a number; one-digit integers take a fast path."""
    first = text[start]
    if stop - start == 1 and 48 <= first <= 57:
        return np.float64(first) - 48.0, True
    if stop - start == 2 and 48 <= text[start + 1] <= 57 and (first == 43 or first == 45):
        value = np.float64(text[start + 1]) - 48.0
        return (-value if first == 45 else value), True
    return parse_decimal(text, start, stop)


@compiled
def parse_unsigned(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Parse an integer without a sign; -1 where it is invalid or too large."""
    if start == stop or stop - start > 18:
        return -1
    total = 0
    for k in range(start, stop):
        digit = to_int64(text[k]) - 48
        if digit < 0 or digit > 9:
            return -1
        total = 10 * total + digit
    return total


@compiled
def is_non_finite(text: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Return whether this begins like nan or inf."""
    k = start + 1 if start < stop and (text[start] == 43 or text[start] == 45) else start
    return k < stop and (text[k] | 32 == 110 or text[k] | 32 == 105)


@compiled_not_inlined
def parse_term(
    text: NDArray[np.uint8], start: int, colon: int, stop: int, before: int, out: SvmlightOutput, at: int
) -> tuple[int, int]:
    """Parse one term exactly; return (reason or 0, index)."""
    index = parse_unsigned(text, start, colon)
    if index < 0 or index >= MAX_INDEX:
        return INDEX, before
    value, good = parse_decimal(text, colon + 1, stop)
    if not good:
        return RANGE if is_non_finite(text, colon + 1, stop) else VALUE, before
    if index <= before:
        return ORDER, before
    if not abs(value) <= LARGEST_VALUE:
        return RANGE, before
    out.indices[at] = index
    out.values[at] = value
    return 0, index


@compiled
def drop_zeros(out: SvmlightOutput, start: int, stop: int) -> int:
    """Drop terms whose value is 0 in single precision; return the new end."""
    end = start
    for k in range(start, stop):
        if out.values[k] != 0.0:
            out.indices[end] = out.indices[k]
            out.values[end] = out.values[k]
            end += 1
    return end


@compiled_not_inlined
def parse_irregular_terms(
    text: NDArray[np.uint8], marks: NDArray[np.uint32], first: int, terms: int, out: SvmlightOutput, at: int
) -> bool:
    """Parse the terms of a regular line again, irregular ones by themselves; return whether all are valid.

    A function of its own, so that the loop for regular terms keeps all registers.
    """
    before = -1
    for done in range(0, terms, 8):
        k = first + 1 + 2 * done
        flags, latest = eight_terms(text, marks, k, before, out.indices, out.values, at + done)
        left = min(terms - done, 8)
        if flags & ((1 << left) - 1) == 0:
            before = latest
            continue
        for i in range(left):
            here = k + 2 * i
            if text[marks[here]] != 58 or text[marks[here + 1]] > 32:
                return False
            colon, stop = to_int64(marks[here]), to_int64(marks[here + 1])
            reason, before = parse_term(text, to_int64(marks[here - 1]) + 1, colon, stop, before, out, at + done + i)
            if reason != 0:
                return False
    return True


@compiled
def parse_line_fast(
    text: NDArray[np.uint8],
    start: int,
    marks: NDArray[np.uint32],
    first: int,
    last: int,
    unlabelled: bool,
    out: SvmlightOutput,
    row: int,
    at: int,
) -> int:
    """Parse a line of `label index:value …` along its marks; return the end of its terms, -1 for an irregular line.

    In a line without a label, where that is allowed, the mark before the line takes the place of the label's end.
    """
    if text[start] <= 32:
        return -1
    if (last - first) & 1 == 0:
        first -= 1
        if not unlabelled or to_int64(marks[first]) != start - 1:
            return -1
        out.labels[row] = np.nan
    else:
        label, good = parse_number(text, start, to_int64(marks[first]))
        if not good or abs(label) > LARGEST_LABEL:
            return -1
        out.labels[row] = label
    terms = (last - first) >> 1
    before = -1
    flags = 0
    for done in range(0, terms, 8):
        found, before = eight_terms(text, marks, first + 1 + 2 * done, before, out.indices, out.values, at + done)
        left = terms - done
        flags |= found & ((1 << left) - 1) * 257 if left < 8 else found
        if flags & 255 != 0:  # the marks may exceed the buffer for terms
            break
    if flags == 0:
        return at + terms
    if flags & 255 != 0 and not parse_irregular_terms(text, marks, first, terms, out, at):
        return -1
    return drop_zeros(out, at, at + terms)


@compiled
def skip_blanks(text: NDArray[np.uint8], k: int, stop: int) -> int:
    while k < stop and text[k] <= 32:
        k += 1
    return k


@compiled
def find_token_end(text: NDArray[np.uint8], k: int, stop: int) -> int:
    while k < stop and text[k] > 32:
        k += 1
    return k


@compiled
def parse_labels(text: NDArray[np.uint8], start: int, stop: int, several: bool, out: SvmlightOutput, row: int) -> int:
    """Parse the label or the label set; return a reason or 0."""
    end = out.set_starts[row] if several else 0
    begin = start
    for k in range(start, stop + 1):
        if k == stop or text[k] == 44:
            value, good = parse_number(text, begin, k)
            if not good:
                return LABEL
            if not abs(value) <= LARGEST_LABEL:
                return LARGE_LABEL
            if begin == start:
                out.labels[row] = value
            elif not several:
                return SEVERAL
            if several:
                out.set_values[end] = value
                end += 1
            begin = k + 1
    if several:
        out.set_starts[row + 1] = end
    return 0


@compiled_not_inlined
def parse_line_slow(
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    several: bool,
    unlabelled: bool,
    out: SvmlightOutput,
    row: int,
    at: int,
) -> tuple[int, int, int, int]:
    """Parse a line exactly; return (reason or 0, end of terms or -1 for no example, span of the offending text)."""
    for k in range(start, stop):
        if text[k] == 35:
            stop = k
            break
    k = skip_blanks(text, start, stop)
    if k == stop:
        return 0, -1, 0, 0
    end = find_token_end(text, k, stop)
    if (several or unlabelled) and has_colon(text, k, end):
        if several:
            out.set_starts[row + 1] = out.set_starts[row]
        out.labels[row] = np.nan
    else:
        reason = parse_labels(text, k, end, several, out, row)
        if reason != 0:
            return reason, at, k, end
        k = skip_blanks(text, end, stop)
    before = -1
    first = True
    while k < stop:
        end = find_token_end(text, k, stop)
        colon = k
        while colon < end and text[colon] != 58:
            colon += 1
        if colon - k == 3 and text[k] == 113 and text[k + 1] == 105 and text[k + 2] == 100:  # qid
            group = parse_unsigned(text, colon + 1, end)
            if group < 0 or not first:
                return QID, at, k, end
            out.groups[row] = group
        elif colon == end:
            return INDEX, at, k, end
        else:
            reason, before = parse_term(text, k, colon, end, before, out, at)
            if reason != 0:
                return reason, at, k, end
            at += int(out.values[at] != 0.0)
        first = False
        k = skip_blanks(text, end, stop)
    return 0, at, 0, 0


@compiled
def has_colon(text: NDArray[np.uint8], start: int, stop: int) -> bool:
    for k in range(start, stop):
        if text[k] == 58:
            return True
    return False


@compiled
def parse_lines(
    tile: Tile,
    count: int,
    has_low_bytes: bool,
    several: bool,
    unlabelled: bool,
    out: SvmlightOutput,
    done: tuple[int, int, int, int],
    away: int,
) -> tuple[int, int, int]:
    """Parse the marked lines of a tile; return the new numbers of rows, problems, and largest index plus one.

    `done` are the numbers so far: lines, rows, problems, largest index plus one. `away` is the distance of the text
    from its position in the file.
    """
    text, marks = tile.text, tile.marks
    before, row, wrong, features = done
    at = out.starts[row]
    first = 1
    start = PADDING_BYTES
    controls = has_low_bytes and count > 0 and has_controls(text, PADDING_BYTES, tile.lines[count - 1] + 1)
    for line in range(count):
        last = tile.ends[line]
        stop = tile.lines[line]
        out.groups[row] = NO_GROUP
        end = -1
        bad = find_control(text, start, stop) if controls else -1
        if last > first and not several and bad < 0:
            end = parse_line_fast(text, start, marks, first, last, unlabelled, out, row, at)
        reason = 0
        if end < 0:
            reason, end, found_start, found_stop = CONTROL, at, bad, bad + 1
            if bad < 0:
                reason, end, found_start, found_stop = parse_line_slow(
                    text, start, stop, several, unlabelled, out, row, at
                )
            if reason != 0:
                out.problems[wrong, 0] = before + line
                out.problems[wrong, 1] = reason
                out.problems[wrong, 2] = found_start + away
                out.problems[wrong, 3] = found_stop + away
                wrong += 1
        if reason == 0 and end >= 0:
            if end > at:
                features = max(features, to_int64(out.indices[end - 1]) + 1)
            out.line_of[row] = before + line
            row += 1
            out.starts[row] = end
            at = end
        first = last
        start = stop + 1
    return row, wrong, features


@compiled
def parse_svmlight_block(
    tile: Tile, stop: int, several: bool, unlabelled: bool, out: SvmlightOutput
) -> tuple[int, int, int, int]:
    """Parse all lines of a block; return (lines, rows, problems, largest index plus one)."""
    out.starts[0] = 0
    count, has_low_bytes = find_terms(tile.text, stop, COLON, tile.marks, tile.ends, tile.lines)
    rows, wrong, features = parse_lines(tile, count, has_low_bytes, several, unlabelled, out, (0, 0, 0, 0), 0)
    return count, rows, wrong, features


@compiled
def parse_span(
    fd: int, start: int, stop: int, tile: Tile, several: bool, unlabelled: bool, out: SvmlightOutput
) -> tuple[int, int, int, int]:
    """Parse the lines from `start` to `stop` of a file like `parse_svmlight_block`; -1 lines where tiles can't do
    it."""
    lines = rows = wrong = features = 0
    out.starts[0] = 0
    while start < stop:
        end = read_lines(fd, start, stop, tile.text)
        if end < 0:
            return -1, 0, 0, 0
        count, has_low_bytes = find_terms(tile.text, end, COLON, tile.marks, tile.ends, tile.lines)
        done = (lines, rows, wrong, features)
        away = start - PADDING_BYTES
        rows, wrong, features = parse_lines(tile, count, has_low_bytes, several, unlabelled, out, done, away)
        lines += count
        start += end - PADDING_BYTES
    return lines, rows, wrong, features
