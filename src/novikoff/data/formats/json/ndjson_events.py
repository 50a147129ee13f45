"""Lines of {"features": {"name": number, …}, "label": …} to terms: the usual ones, and where the others are.

A line is usual if it has these two members (the label may be absent), in either order, with names and texts of UTF-8
without escapes, no name twice, and numbers as JSON writes them that are finite. All others are left to the caller,
who has the time to find out what is meant or what is wrong. Whatever is read here is what `json.loads` reads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import load_word, to_int64
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.data.formats.json.strings import QUOTE, find_invalid_utf8, find_string_end
from novikoff.data.formats.json.tokens import is_digit, parse_json_number, skip_whitespace
from novikoff.data.names.hashing import hash_bytes
from novikoff.data.names.string_table import SPAN_LENGTH_BITS
from novikoff.data.parse_float import POWERS_OF_TEN

ABSENT = 0  # in place of the span of a label
MAX_LABEL_NUMBER_BYTES = 15  # bytes
MAX_PAIRWISE_TERMS = 24  # terms up to which names are compared each with each
ALL_PARSED, IRREGULAR_LINE = 0, 1


def _pack_bytes(text: bytes) -> Any:
    return np.uint64(int.from_bytes(text, "little"))


_FEATURES, _LABEL, _LABEL_BITS = _pack_bytes(b"features"), _pack_bytes(b"label"), uint64((1 << 40) - 1)
_TRUE, _TRUE_BITS = _pack_bytes(b"true"), uint64((1 << 32) - 1)
_FALSE, _FALSE_BITS = _pack_bytes(b"false"), uint64((1 << 40) - 1)


class EventLimits(NamedTuple):
    most_features: int
    longest_name: int


class EventTerms(NamedTuple):
    """What is found, one after another."""

    hashes: NDArray[np.uint64]
    spans: NDArray[np.int64]
    """Of names: where they begin and how long they are (see `spellings.py`)."""
    values: NDArray[np.float64]


class EventRows(NamedTuple):
    """What is found of each line."""

    starts: NDArray[np.int64]
    labels: NDArray[np.int64]
    """The spans of labels as they are spelled, quotes included; ABSENT."""
    label_hashes: NDArray[np.uint64]
    lines: NDArray[np.int64]
    """The number of the line."""
    begins: NDArray[np.int64]
    """Where the line begins."""


@compiled
def parse_short_number(text: NDArray[np.uint8], k: int) -> tuple[int, float]:
    """The number at k and where it ends, if it is a short one: −1 where not. Digits and power of ten are exact."""
    negative = get_unchecked(text, k) == 45
    if negative:
        k += 1
    first, number = k, 0
    digit = int(get_unchecked(text, k)) - 48
    while 0 <= digit <= 9 and k - first < 16:
        number = number * 10 + digit
        k += 1
        digit = int(get_unchecked(text, k)) - 48
    whole, after = k - first, 0
    if whole == 0 or (whole > 1 and get_unchecked(text, first) == 48):
        return -1, 0.0
    if get_unchecked(text, k) == 46:
        k += 1
        point = k
        digit = int(get_unchecked(text, k)) - 48
        while 0 <= digit <= 9 and k - first < 18:
            number = number * 10 + digit
            k += 1
            digit = int(get_unchecked(text, k)) - 48
        after = k - point
        if after == 0:
            return -1, 0.0
    if whole + after > 15 or 0 <= digit <= 9 or int(get_unchecked(text, k)) | 32 == 101:
        return -1, 0.0
    value = np.float64(number) / get_unchecked(POWERS_OF_TEN, after)
    return k, -value if negative else value


@compiled_not_inlined
def has_duplicate_hash(hashes: NDArray[np.uint64], first: int, last: int, marks: NDArray[np.int64]) -> bool:
    """Whether a hash among these is there twice. `marks` are room for four times as many terms as a line may have."""
    if last - first <= MAX_PAIRWISE_TERMS:
        for k in range(first + 1, last):
            for j in range(first, k):
                if hashes[j] == hashes[k]:
                    return True
        return False
    size = 64
    while size < 2 * (last - first):
        size *= 2
    for at in range(size):
        marks[at] = -1
    for k in range(first, last):
        at = to_int64(hashes[k] >> np.uint64(20)) & (size - 1)
        while marks[at] >= 0:
            if hashes[marks[at]] == hashes[k]:
                return True
            at = (at + 1) & (size - 1)
        marks[at] = k
    return False


@compiled_not_inlined
def scan_label(text: NDArray[np.uint8], k: int) -> int:
    """Where the label at k ends; −1 for one that is not usual."""
    byte = to_int64(get_unchecked(text, k))
    if byte == QUOTE:
        end, wide = find_string_end(text, k + 1)
        if get_unchecked(text, end) != QUOTE or end - k > 1000 or (wide and find_invalid_utf8(text, k + 1, end) < end):
            return -1
        return end + 1
    if byte == 45 or is_digit(byte):
        reason, after, _ = parse_json_number(text, k)
        return -1 if reason != 0 or after - k > MAX_LABEL_NUMBER_BYTES else after
    letters = load_word(text, k)
    if letters & _TRUE_BITS == _TRUE:
        return k + 4
    return k + 5 if letters & _FALSE_BITS == _FALSE else -1


@compiled_not_inlined
def parse_features(
    text: NDArray[np.uint8], k: int, seed: NDArray[np.uint64], limits: EventLimits, at: int, out: EventTerms
) -> tuple[int, int]:
    """The object at k: where it ends, or −1 for one that is not usual; and where its terms end."""
    first = at
    if get_unchecked(text, k) != 123:
        return -1, at
    k = skip_whitespace(text, k + 1)
    if get_unchecked(text, k) == 125:
        return k + 1, at
    while True:
        if get_unchecked(text, k) != QUOTE:
            return -1, at
        begin = k + 1
        end, wide = find_string_end(text, begin)
        if get_unchecked(text, end) != QUOTE or end - begin > limits.longest_name or at - first >= limits.most_features:
            return -1, at
        if wide and find_invalid_utf8(text, begin, end) < end:
            return -1, at
        out.hashes[at] = hash_bytes(text, begin, end, seed[0])
        out.spans[at] = begin << SPAN_LENGTH_BITS | (end - begin)
        k = skip_whitespace(text, end + 1)
        if get_unchecked(text, k) != 58:
            return -1, at
        k = skip_whitespace(text, k + 1)
        after, value = parse_short_number(text, k)
        if after < 0:
            byte = to_int64(get_unchecked(text, k))
            if byte != 45 and not is_digit(byte):
                return -1, at
            reason, after, value = parse_json_number(text, k)
            if reason != 0 or not abs(value) < np.inf:
                return -1, at
        out.values[at] = value
        at += 1
        k = skip_whitespace(text, after)
        byte = to_int64(get_unchecked(text, k))
        if byte == 125:
            return k + 1, at
        if byte != 44:
            return -1, at
        k = skip_whitespace(text, k + 1)


@compiled
def parse_event(
    text: NDArray[np.uint8],
    k: int,
    seed: NDArray[np.uint64],
    limits: EventLimits,
    first: int,
    out: EventTerms,
    marks: NDArray[np.int64],
    found: EventRows,
    row: int,
) -> tuple[int, int]:
    """The line whose first byte is at k: where its terms end, −1 for one that is not usual; and where it ends. Nothing
    here goes past a line feed: it is no blank, and no part of a text."""
    last = -1
    found.labels[row] = ABSENT
    found.label_hashes[row] = np.uint64(0)
    if get_unchecked(text, k) != 123:
        return -1, k
    k = skip_whitespace(text, k + 1)
    while True:
        if get_unchecked(text, k) != QUOTE:
            return -1, k
        letters = load_word(text, k + 1)
        is_label = letters & _LABEL_BITS == _LABEL and get_unchecked(text, k + 6) == QUOTE
        if not (is_label or (letters == _FEATURES and get_unchecked(text, k + 9) == QUOTE)):
            return -1, k
        k = skip_whitespace(text, k + (7 if is_label else 10))
        if get_unchecked(text, k) != 58:
            return -1, k
        k = skip_whitespace(text, k + 1)
        if is_label:
            after = scan_label(text, k) if found.labels[row] == ABSENT else -1
            if after < 0:
                return -1, k
            found.labels[row] = k << SPAN_LENGTH_BITS | (after - k)
            found.label_hashes[row] = hash_bytes(text, k, after, seed[0])
        else:
            after = -1
            if last < 0:
                after, last = parse_features(text, k, seed, limits, first, out)
            if after < 0:
                return -1, k
        k = skip_whitespace(text, after)
        byte = to_int64(get_unchecked(text, k))
        if byte != 44 and byte != 125:
            return -1, k
        k = skip_whitespace(text, k + 1)
        if byte == 125:
            break
    if get_unchecked(text, k) != 10 or last < 0 or has_duplicate_hash(out.hashes, first, last, marks):
        return -1, k
    return last, k


@compiled
def parse_events(
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    line: int,
    seed: NDArray[np.uint64],
    limits: EventLimits,
    out: EventTerms,
    marks: NDArray[np.int64],
    found: EventRows,
) -> tuple[int, int, int, int]:
    """Lines from start on, as many as there is room for, up to one that is not usual: (how many are usual, where the
    next line begins, its number, ODD if that one is not usual). A line ends with a line feed; so does the text."""
    row = at = 0
    found.starts[0] = 0
    while start < stop and row < len(found.lines) and at + limits.most_features <= len(out.values):
        end = skip_whitespace(text, start)
        if get_unchecked(text, end) != 10:
            last, end = parse_event(text, end, seed, limits, at, out, marks, found, row)
            if last < 0:
                return row, start, line, IRREGULAR_LINE
            found.lines[row] = line
            found.begins[row] = start
            at = last
            row += 1
            found.starts[row] = at
        line += 1
        start = end + 1
    return row, start, line, ALL_PARSED
