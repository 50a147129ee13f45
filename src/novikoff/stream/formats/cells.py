"""From the cells of a table to rows: numbers in their columns, or hashed features where there are categories.

A table of numbers is read along its marks, eight cells at a time; a cell that is not plain (missing, quoted, with an
exponent or many digits) is read by itself. Where there are categories, the numbers of a record are read first in the
same way, so that a record with a mistake leaves nothing behind.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._bytes import eight_cells, word
from novikoff._jit import compiled, compiled_apart, generic
from novikoff.stream.bag import Slots, finished_row, put
from novikoff.stream.decimals import decimal
from novikoff.stream.formats.contract import LARGEST_VALUE, NO_LABEL_KEY
from novikoff.stream.formats.records import QUOTE, RETURN
from novikoff.stream.hashing import hash_of

Bytes = NDArray[np.uint8]
REASONS = {
    1: ("cells", "expected {expected} cells, but {came} came."),
    2: ("quotes", "a quote stands inside a cell, at {came}: write it twice, and quotes around the cell."),
    3: ("quotes", "a quoted cell begins here that has no end: {came}."),
    4: ("no label", "the label, column {column}, is missing."),
    5: ("label", "the label, column {column}, must be a number as on the first lines, but {came} came."),
    6: ("number", "column {column} must be a number as on the first lines, but {came} came."),
    7: ("range", "column {column} must be a finite number of size up to 1e15, but {came} came."),
}
CELLS, STRAY, UNENDED, NO_LABEL, LABEL, NUMBER, RANGE = REASONS
BLANK = ABSENT = -1
NO_SEED: Any = np.uint64(0)
_CAPITALS, _THREE, _FOUR = np.uint64(0x4040404040404040), np.uint64(0xFFFFFF), np.uint64(0xFFFFFFFF)
_NAN, _INF = (np.uint64(int.from_bytes(spelled, "little")) for spelled in (b"nan", b"inf"))
# Of up to four letters, with their number above them.
_MISSING = tuple(
    np.uint64(int.from_bytes(spelled, "little") | len(spelled) << 32)
    for spelled in (b"?", b"na", b"n/a", b"nan", b"null")
)
TARGET, NUMERIC, CATEGORY = 0, 1, 2


class Out(NamedTuple):
    """What a parser fills beside the rows."""

    keys: NDArray[np.uint64]
    labels: NDArray[np.int64]
    """From where (ABSENT where there is none) to where each label stands."""
    line_of: NDArray[np.int64]
    problems: NDArray[np.int64]
    """Line, reason, column, and from where to where what came stands; for CELLS the first of these is their number."""


class Numbers(NamedTuple):
    """Rows of a table that is all numbers."""

    values: NDArray[np.float32]
    columns: int
    target: int


class Hashed(NamedTuple):
    """Rows of features that are known by their hash."""

    to: Slots
    starts: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    """TARGET, NUMERIC or CATEGORY for each column."""
    seeds: NDArray[np.uint64]
    """The hash of each column's name."""
    wanted: NDArray[np.uint8]
    """For each eight columns a bit for each that is NUMERIC."""
    numbers: NDArray[np.float32]
    """The numbers of the current record."""


@compiled
def mark(marks: NDArray[np.uint32], k: int) -> int:
    """Where a cell ends."""
    return np.int64(marks[k])  # type: ignore[return-value]


@compiled
def after(marks: NDArray[np.uint32], k: int) -> int:
    """… and where the next one begins."""
    return np.int64(marks[k]) + 1  # type: ignore[return-value]


@compiled
def is_blank(byte: int) -> bool:
    return byte in (32, 9)


@compiled
def small(letters: Any) -> Any:
    """The letters of a word as small ones; what is no letter may become something else, but no letter, / or ?."""
    return letters | ((letters & _CAPITALS) >> np.uint64(1))


@compiled
def is_nan(text: Bytes, k: int) -> bool:
    return bool(small(word(text, k) & _THREE) == _NAN)


@compiled
def trimmed(text: Bytes, start: int, stop: int) -> tuple[int, int]:
    """Without the blanks on both sides."""
    while start < stop and is_blank(text[start]):
        start += 1
    while start < stop and is_blank(text[stop - 1]):
        stop -= 1
    return start, stop


@compiled_apart
def is_missing(text: Bytes, start: int, stop: int) -> bool:
    """Whether a cell says that there is no value: empty, ?, NA, N/A, NaN or null, in small or capital letters."""
    start, stop = trimmed(text, start, stop)
    length = stop - start
    if length == 4 and (text[start] == 43 or text[start] == 45):
        start += 1
        length = 3 if is_nan(text, start) else 4
    if length == 0 or length > 4:
        return length == 0
    letters = small(word(text, start) & (_FOUR >> np.uint64(32 - 8 * length))) | (np.uint64(length) << np.uint64(32))
    return letters in _MISSING


@compiled
def may_be_missing(text: Bytes, start: int, stop: int) -> bool:
    """Whether it is worth a call to ask: all but a few cells are told by their first byte."""
    if start == stop:
        return True
    first = text[start]
    return first in (63, 110, 78, 32, 9, 43, 45)


@compiled_apart
def bare(text: Bytes, start: int, stop: int) -> tuple[int, int]:
    """A cell without its quotes, doubled ones joined in place: where it stands then. To be done once only."""
    if start == stop or text[start] != QUOTE:
        return start, stop
    start += 1
    stop -= 1
    end = k = start
    while k < stop:
        text[end] = text[k]
        k += 2 if text[k] == QUOTE else 1
        end += 1
    return start, end


@compiled
def is_infinite(text: Bytes, start: int, stop: int) -> bool:
    """Whether this begins as inf does, with a sign or not."""
    if start < stop and (text[start] == 43 or text[start] == 45):
        start += 1
    return small(word(text, start) & _THREE) == _INF and (stop - start == 3 or stop - start == 8)


@compiled_apart
def one_number(text: Bytes, start: int, stop: int) -> tuple[int, float]:
    """A cell with a number, exactly: (reason or 0 or ABSENT, value)."""
    start, stop = bare(text, start, stop)
    start, stop = trimmed(text, start, stop)
    value, good = decimal(text, start, stop)
    if good:
        return (0 if abs(value) <= LARGEST_VALUE else RANGE), value
    if is_missing(text, start, stop):
        return ABSENT, 0.0
    return (RANGE if is_infinite(text, start, stop) else NUMBER), 0.0


@compiled_apart
def text_label(text: Bytes, start: int, stop: int, out: Out, row: int) -> int:
    """The label of a row, a text; returns a reason or 0."""
    start, stop = bare(text, start, stop)
    out.labels[row, 0] = start
    out.labels[row, 1] = stop
    out.keys[row] = hash_of(text, start, stop, NO_SEED)
    return NO_LABEL if is_missing(text, start, stop) else 0


# The two bodies of `put_row` and the loop call `one_number` themselves: each function in between would be compiled with
# all that is in it once more.


@generic
def put_row(into: Numbers | Hashed, text: Bytes, marks: NDArray[np.uint32], k: int, row: int) -> tuple[int, int]:
    """Reads the features of a record whose first cell ends at marks[k]: (reason or 0, the column that it is about)."""
    return 0, 0


@put_row.of(Numbers)
def _(into: Numbers, text: Bytes, marks: NDArray[np.uint32], k: int, row: int) -> tuple[int, int]:
    at = row * (into.columns - 1)
    cell = 0 if into.target > 0 else 1
    stop = into.target if into.target > 0 else into.columns
    while cell < into.columns:
        left = stop - cell
        flags = eight_cells(text, marks, k + cell, into.values, at) & ((1 << min(left, 8)) - 1)
        for odd in range(8 if flags != 0 else 0):
            if flags >> odd & 1 == 1:
                reason, value = one_number(text, after(marks, k + cell + odd - 1), mark(marks, k + cell + odd))
                if reason > 0:
                    return reason, cell + odd
                into.values[at + odd] = value
        at += min(left, 8)
        cell += 8
        if left <= 8:  # what comes after the label, if anything
            cell = stop + 1
            stop = into.columns
    return 0, 0


@put_row.of(Hashed)
def _(into: Hashed, text: Bytes, marks: NDArray[np.uint32], k: int, row: int) -> tuple[int, int]:
    to, numbers = into.to, into.numbers
    for cell in range(0, len(into.kinds), 8):
        wanted = np.int64(into.wanted[cell >> 3])
        flags = eight_cells(text, marks, k + cell, numbers, cell) & wanted if wanted != 0 else wanted
        for odd in range(cell, cell + 8 if flags != 0 else cell):
            if flags >> (odd - cell) & 1 == 1:
                reason, value = one_number(text, after(marks, k + odd - 1), mark(marks, k + odd))
                if reason > 0:
                    return reason, odd
                numbers[odd] = value
    first = at = into.starts[row]
    for cell in range(len(into.kinds)):
        kind = into.kinds[cell]
        start = stop = 0
        h = into.seeds[cell]
        value = 1.0
        if kind == NUMERIC:
            value = np.float64(numbers[cell])
        elif kind == CATEGORY:
            start, stop = after(marks, k + cell - 1), mark(marks, k + cell)
            if start < stop and text[start] == QUOTE:
                start, stop = bare(text, start, stop)
            if may_be_missing(text, start, stop) and is_missing(text, start, stop):
                value = 0.0
            else:
                h = hash_of(text, start, stop, h)
        if kind != TARGET and value != 0.0:
            at = put(to, at, h, value, cell, start, stop)
    into.starts[row + 1] = finished_row(to, first, at)
    return 0, 0


@compiled
def is_blank_line(text: Bytes, start: int, stop: int) -> bool:
    start, stop = trimmed(text, start, stop)
    return start == stop


@compiled
def parse_records(
    text: Bytes,
    marks: NDArray[np.uint32],
    ends: NDArray[np.int64],
    lines: NDArray[np.int64],
    strays: NDArray[np.int64],
    count: int,
    odd: int,
    unended: bool,
    columns: int,
    target: int,
    numeric: bool,
    unlabelled: bool,
    into: Numbers | Hashed,
    out: Out,
) -> tuple[int, int]:
    """All records of a block, found by `find_cells` with the marks from marks[1] on: (rows, problems). The target is
    ABSENT where the records have no label; the columns are those that are there."""
    row = wrong = stray = 0
    k = 1
    for record in range(count):
        last = ends[record]
        cells = last - k + 1
        start, stop = after(marks, k - 1), mark(marks, last)
        # The last cell ends before the return of a return and newline; the first of the next record begins after both.
        ended = stop - 1 if text[stop - 1] == RETURN else stop
        marks[last] = ended
        reason, column, came, until = 0, 0, start, ended
        if unended and record == count - 1:
            reason = UNENDED
        elif stray < odd and strays[stray] < stop:
            reason, came = STRAY, strays[stray]
        elif cells != columns or (cells == 1 and is_blank_line(text, start, ended)):
            reason, came = CELLS, cells
            if cells == 1 and is_blank_line(text, start, ended):
                reason = BLANK
        else:
            column = max(target, 0)
            came = after(marks, k + column - 1)
            until = came if target == ABSENT else mark(marks, k + column)
            if numeric:
                reason, label = one_number(text, came, until)
                reason = NO_LABEL if reason == ABSENT else LABEL if reason != 0 else 0
                out.keys[row] = np.float64(label).view(np.uint64)
            else:
                reason = text_label(text, came, until, out, row)
            if unlabelled and reason == NO_LABEL:
                reason = 0
                out.keys[row] = NO_LABEL_KEY
                out.labels[row, 0] = ABSENT
            if reason == 0:
                reason, column = put_row(into, text, marks, k, row)
            came, until = after(marks, k + column - 1), mark(marks, k + column)
        while stray < odd and strays[stray] < stop:
            stray += 1
        if reason == 0:
            out.line_of[row] = lines[record]
            row += 1
        elif reason != BLANK:
            out.problems[wrong, 0] = lines[record]
            out.problems[wrong, 1] = reason
            out.problems[wrong, 2] = column
            out.problems[wrong, 3] = came
            out.problems[wrong, 4] = until
            wrong += 1
        marks[last] = stop
        k = last + 1
    return row, wrong
