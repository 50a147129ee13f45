"""Fast parser for the server's event lines, {"features": {"name": number, …}, "label": …}; it stops at irregular lines.

A regular line has these two members (the label is optional), in either order, with names and texts in UTF-8 without
escapes, no duplicate name, and finite JSON numbers. The caller parses irregular lines with `json.loads` and reports
their errors. Regular lines give the same result as `json.loads`.

The parser of JSON lines (`parser.py`) reads any object and reports errors, in 2.8–3.5 × the time for the same lines.
The two share numbers, strings and literals (`tokens.py`, `strings.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import load_word, to_int64
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.data.formats.json.strings import QUOTE, find_plain_string_end
from novikoff.data.formats.json.tokens import FALSE, TRUE, is_digit, parse_number, read_literal, skip_whitespace
from novikoff.data.names.hashing import hash_bytes
from novikoff.data.names.string_table import SPAN_LENGTH_BITS

ABSENT = 0  # the span of a missing label
MAX_LABEL_NUMBER_BYTES, MAX_LABEL_TEXT_BYTES = 15, 1000
MAX_PAIRWISE_TERMS = 24  # up to this many terms, names are compared pairwise
ALL_PARSED, IRREGULAR_LINE = 0, 1


def _pack_bytes(text: bytes) -> Any:
    return np.uint64(int.from_bytes(text, "little"))


_FEATURES, _LABEL, _LABEL_BITS = _pack_bytes(b"features"), _pack_bytes(b"label"), uint64((1 << 40) - 1)


class EventLimits(NamedTuple):
    most_features: int
    longest_name: int


class EventTerms(NamedTuple):
    """Output of the parser: the terms of all rows, one after another."""

    hashes: NDArray[np.uint64]
    spans: NDArray[np.int64]
    """The start and length of each name (see `string_table.py`)."""
    values: NDArray[np.float64]


class EventRows(NamedTuple):
    """Output of the parser for each line."""

    starts: NDArray[np.int64]
    labels: NDArray[np.int64]
    """The spans of labels as they are written, quotes included; ABSENT for none."""
    label_hashes: NDArray[np.uint64]
    lines: NDArray[np.int64]
    """Line numbers."""
    begins: NDArray[np.int64]
    """Positions where the lines begin."""


@compiled_not_inlined
def has_duplicate_hash(hashes: NDArray[np.uint64], first: int, last: int, marks: NDArray[np.int64]) -> bool:
    """Return whether two of hashes[first:last] are equal. `marks` has room for four times the terms of a line."""
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
    """Return the end of the label at k; −1 for an irregular one."""
    byte = to_int64(get_unchecked(text, k))
    if byte == QUOTE:
        end = find_plain_string_end(text, k)
        return end + 1 if 0 <= end <= k + MAX_LABEL_TEXT_BYTES else -1
    if byte == 45 or is_digit(byte):
        reason, after, _ = parse_number(text, k)
        return after if reason == 0 and after - k <= MAX_LABEL_NUMBER_BYTES else -1
    literal, after = read_literal(text, k)
    return after if literal in (TRUE, FALSE) else -1


@compiled_not_inlined
def parse_features(
    text: NDArray[np.uint8], k: int, seed: NDArray[np.uint64], limits: EventLimits, at: int, out: EventTerms
) -> tuple[int, int]:
    """Parse the object at k; return its end, or −1 where it is irregular, and the end of its terms."""
    first = at
    if get_unchecked(text, k) != 123:
        return -1, at
    k = skip_whitespace(text, k + 1)
    if get_unchecked(text, k) == 125:
        return k + 1, at
    while True:
        if get_unchecked(text, k) != QUOTE:
            return -1, at
        begin, end = k + 1, find_plain_string_end(text, k)
        if end < 0 or end - begin > limits.longest_name or at - first >= limits.most_features:
            return -1, at
        out.hashes[at] = hash_bytes(text, begin, end, seed[0])
        out.spans[at] = begin << SPAN_LENGTH_BITS | (end - begin)
        k = skip_whitespace(text, end + 1)
        if get_unchecked(text, k) != 58:
            return -1, at
        reason, after, value = parse_number(text, skip_whitespace(text, k + 1))
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
    """Parse the line that begins at k; return the end of its terms, or −1 where it is irregular, and the line's end.

    Parsing never passes a line feed: it is neither whitespace here nor part of a string.
    """
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
    """Parse lines from `start` on until the buffers are full or a line is irregular. Every line ends with a line feed.

    Return (rows, start of the next line, its number, IRREGULAR_LINE if that line is irregular, else ALL_PARSED).
    """
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
