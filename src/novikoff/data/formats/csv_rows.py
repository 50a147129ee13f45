"""Compiled conversion of CSV cells to rows: dense numbers, or hashed features where there are categories.

Numbers are read eight cells at a time, at the cell ends that the tokenizer marked. An irregular cell (missing, quoted,
with an exponent or many digits) is parsed by itself. With categories, the numbers of a record are read first, so that a
bad record leaves no terms behind.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import compiled, compiled_not_inlined, generic
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import eight_cells, load_word
from novikoff.data.formats.base import LARGEST_VALUE, NO_LABEL_KEY
from novikoff.data.formats.csv_tokenizer import CARRIAGE_RETURN
from novikoff.data.formats.ngrams import NgramWorkspace, NoNgrams, append_text
from novikoff.data.merge_terms import HashedTerms, append_term, finish_row
from novikoff.data.names.hashing import hash_bytes
from novikoff.data.parse_float import parse_decimal

Bytes: TypeAlias = "NDArray[np.uint8]"
QUOTES_AS_TEXT = "--quote none reads quotes as text, --format text reads lines of a label and a text."
REASONS = {
    1: ("cells", "expected {expected} cells, got {found}."),
    2: (
        "quotes",
        f"unexpected quote inside a cell at {{found}}: double it, and put quotes around the cell. {QUOTES_AS_TEXT}",
    ),
    3: ("quotes", f"unterminated quoted cell: {{found}}. {QUOTES_AS_TEXT}"),
    4: ("no label", "the label, column {column}, is missing."),
    5: (
        "label",
        "the label, column {column}, must be a number of size up to 1e15, as on the first lines, got {found}.",
    ),
    6: ("number", "column {column} must be a number as on the first lines, got {found}."),
    7: ("range", "column {column} must be a finite number of size up to 1e15, got {found}."),
    8: ("missing", "column {column} has no value, which --missing error refuses."),
    9: ("weight", "the weight, column {column}, must be a number from 0 to 1e15, got {found}."),
    10: ("text", "column {column} must be UTF-8 text, got {found}."),
}
CELL_COUNT, STRAY_QUOTE, UNCLOSED_QUOTE, NO_LABEL, LABEL, NUMBER, RANGE, MISSING, WEIGHT, NOT_UTF8 = REASONS
BLANK = ABSENT = -1
NO_SEED: Any = uint64(0)
_CAPITALS, _THREE_BYTES, _FOUR_BYTES = uint64(0x4040404040404040), uint64(0xFFFFFF), uint64(0xFFFFFFFF)
_NAN, _INF = (uint64(int.from_bytes(name, "little")) for name in (b"nan", b"inf"))
_TRUE, _FALS = (uint64(int.from_bytes(name, "little")) for name in (b"true", b"fals"))
# Texts of up to four letters, with their length above them.
_MISSING = tuple(
    uint64(int.from_bytes(name, "little") | len(name) << 32) for name in (b"?", b"na", b"n/a", b"nan", b"null")
)
# Column types. Columns that are not features (label, weight, ignored and unknown ones) are skipped.
SKIPPED, NUMERIC, CATEGORY, TEXT = 0, 1, 2, 3
# Policies for missing values, in the order of `options.MISSING_VALUES`.
LEAVE_OUT, INDICATE, REFUSE = range(3)


class TableOutput(NamedTuple):
    """Output of a parser for each row, beside its features."""

    keys: NDArray[np.uint64]
    labels: NDArray[np.int64]
    """Start (ABSENT for none) and end of each label in the text."""
    line_of: NDArray[np.int64]
    weights: NDArray[np.float64]
    """Empty where no column holds weights."""
    problems: NDArray[np.int64]
    """Line, reason, column, and span of the offending text; for CELL_COUNT it starts with the number of cells."""


class NumericRows(NamedTuple):
    """Rows of a table in which all columns but the label are numeric features."""

    values: NDArray[np.float32]
    columns: int
    target: int
    missing: int
    """LEAVE_OUT or REFUSE."""
    quote: int


class SelectedRows(NamedTuple):
    """Rows whose numeric features are some columns of the file, in any order."""

    values: NDArray[np.float32]
    width: int
    """Number of features of a row."""
    places: NDArray[np.int64]
    """The feature of each column of the file; ABSENT for skipped columns."""
    numeric_mask: NDArray[np.uint8]
    """For each eight columns one byte, with a bit for each column that is NUMERIC."""
    numbers: NDArray[np.float32]
    """The numbers of the current record."""
    missing: int
    quote: int


class HashedRows(NamedTuple):
    """Rows of features that are known by their hash."""

    to: HashedTerms
    starts: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    """SKIPPED, NUMERIC, CATEGORY or TEXT for each column of the file."""
    columns: NDArray[np.int64]
    """The table's column for each column of the file."""
    sequence: NDArray[np.int64]
    """The cells with features in table order, which is the order of the features of a row: rounded sums depend on it.
    −1 − c stands for column c of the table, which the file lacks and whose missing value is a feature."""
    seeds: NDArray[np.uint64]
    """The hash of each table column's name."""
    letters: NDArray[np.uint64]
    """The seed for letter runs of each table column."""
    indicators: NDArray[np.uint64]
    """The hash of the missing-value feature of each table column."""
    numeric_mask: NDArray[np.uint8]
    """For each eight columns one byte, with a bit for each column that is NUMERIC."""
    numbers: NDArray[np.float32]
    """The numbers of the current record."""
    words: NoNgrams | NgramWorkspace
    missing: int
    quote: int


@compiled
def get_cell_end(marks: NDArray[np.uint32], k: int) -> int:
    """Return the end of a cell."""
    return np.int64(marks[k])  # type: ignore[return-value]


@compiled
def get_next_cell_start(marks: NDArray[np.uint32], k: int) -> int:
    """Return the start of the cell after this one."""
    return np.int64(marks[k]) + 1  # type: ignore[return-value]


@compiled
def is_blank(byte: int) -> bool:
    return byte in (32, 9)


@compiled
def lower_bytes(letters: Any) -> Any:
    """Convert the letters of a word to lower case; other bytes may change, but never become a letter, / or ?."""
    return letters | ((letters & _CAPITALS) >> np.uint64(1))


@compiled
def is_nan(text: Bytes, k: int) -> bool:
    return bool(lower_bytes(load_word(text, k) & _THREE_BYTES) == _NAN)


@compiled
def trim_blanks(text: Bytes, start: int, stop: int) -> tuple[int, int]:
    """Return the span without blanks at both ends."""
    while start < stop and is_blank(text[start]):
        start += 1
    while start < stop and is_blank(text[stop - 1]):
        stop -= 1
    return start, stop


@compiled_not_inlined
def is_missing(text: Bytes, start: int, stop: int) -> bool:
    """Return whether a cell is a missing value: empty, ?, NA, N/A, NaN or null, in any case."""
    start, stop = trim_blanks(text, start, stop)
    length = stop - start
    if length == 4 and (text[start] == 43 or text[start] == 45):
        start += 1
        length = 3 if is_nan(text, start) else 4
    if length == 0 or length > 4:
        return length == 0
    letters = lower_bytes(load_word(text, start) & (_FOUR_BYTES >> np.uint64(32 - 8 * length))) | (
        np.uint64(length) << np.uint64(32)
    )
    return letters in _MISSING


@compiled
def may_be_missing(text: Bytes, start: int, stop: int) -> bool:
    """Return whether a cell may be missing, by its first byte: this saves most calls of `is_missing`."""
    if start == stop:
        return True
    first = text[start]
    return first in (63, 110, 78, 32, 9, 43, 45)


@compiled_not_inlined
def unquote_in_place(text: Bytes, start: int, stop: int, quote: int) -> tuple[int, int]:
    """Remove the quotes of a cell, in place, and merge doubled ones; return its new span. Must be called only once."""
    if start == stop or np.int64(text[start]) != quote:
        return start, stop
    start += 1
    stop -= 1
    end = k = start
    while k < stop:
        text[end] = text[k]
        k += 2 if np.int64(text[k]) == quote else 1
        end += 1
    return start, end


@compiled
def is_infinite(text: Bytes, start: int, stop: int) -> bool:
    """Return whether this is as long as inf or infinity and begins like them, with or without a sign."""
    if start < stop and (text[start] == 43 or text[start] == 45):
        start += 1
    return lower_bytes(load_word(text, start) & _THREE_BYTES) == _INF and (stop - start == 3 or stop - start == 8)


@compiled
def parse_boolean(text: Bytes, start: int, stop: int) -> int:
    """Return 1 for true and 0 for false, in any case; ABSENT for anything else."""
    letters = lower_bytes(load_word(text, start) & _FOUR_BYTES)
    if stop - start == 4 and letters == _TRUE:
        return 1
    if stop - start == 5 and letters == _FALS and (text[stop - 1] | 32) == 101:
        return 0
    return ABSENT


@compiled_not_inlined
def parse_number_cell(text: Bytes, start: int, stop: int, quote: int) -> tuple[int, float]:
    """Parse a cell with a number, exactly; return (reason or 0 or ABSENT, value)."""
    start, stop = unquote_in_place(text, start, stop, quote)
    start, stop = trim_blanks(text, start, stop)
    value, good = parse_decimal(text, start, stop)
    if good:
        return (0 if abs(value) <= LARGEST_VALUE else RANGE), value
    if is_missing(text, start, stop):
        return ABSENT, 0.0
    truth = parse_boolean(text, start, stop)
    if truth != ABSENT:
        return 0, float(truth)
    return (RANGE if is_infinite(text, start, stop) else NUMBER), 0.0


@compiled_not_inlined
def read_text_label(text: Bytes, start: int, stop: int, quote: int, out: TableOutput, row: int) -> int:
    """Store the label of a row, a text; return a reason or 0."""
    start, stop = unquote_in_place(text, start, stop, quote)
    out.labels[row, 0] = start
    out.labels[row, 1] = stop
    out.keys[row] = hash_bytes(text, start, stop, NO_SEED)
    return NO_LABEL if is_missing(text, start, stop) else 0


# `read_numbers` is inlined into the bodies of `parse_row`: one call per record would cost 10 % of the parsing time.


@compiled
def read_numbers(
    text: Bytes,
    marks: NDArray[np.uint32],
    k: int,
    numeric_mask: Bytes,
    numbers: NDArray[np.float32],
    missing: int,
    quote: int,
) -> tuple[int, int]:
    """Read the numbers of a record whose first cell ends at marks[k]; return (reason or 0, column of the problem).

    `numeric_mask` has a bit for each numeric column. A missing value is 0, or NaN where it becomes a feature.
    """
    for group in range(len(numeric_mask)):
        bits = np.int64(numeric_mask[group])
        if bits == 0:
            continue
        cell = 8 * group
        flags = eight_cells(text, marks, k + cell, numbers, cell) & bits
        for odd in range(cell, cell + 8 if flags != 0 else cell):
            if flags >> (odd - cell) & 1 == 1:
                reason, value = parse_number_cell(
                    text, get_next_cell_start(marks, k + odd - 1), get_cell_end(marks, k + odd), quote
                )
                if reason > 0 or (reason == ABSENT and missing == REFUSE):
                    return (reason if reason > 0 else MISSING), odd
                numbers[odd] = math.nan if reason == ABSENT and missing == INDICATE else value
    return 0, 0


@generic
def parse_row(
    into: NumericRows | SelectedRows | HashedRows, text: Bytes, marks: NDArray[np.uint32], k: int, row: int
) -> tuple[int, int]:
    """Read the features of a record whose first cell ends at marks[k]; return (reason or 0, column of the problem)."""
    return 0, 0


@parse_row.of(NumericRows)
def _parse_row_numeric_rows(
    into: NumericRows, text: Bytes, marks: NDArray[np.uint32], k: int, row: int
) -> tuple[int, int]:
    at = row * (into.columns - 1)
    cell = 0 if into.target > 0 else 1
    stop = into.target if into.target > 0 else into.columns
    while cell < into.columns:
        left = stop - cell
        flags = eight_cells(text, marks, k + cell, into.values, at) & ((1 << min(left, 8)) - 1)
        for odd in range(8 if flags != 0 else 0):
            if flags >> odd & 1 == 1:
                reason, value = parse_number_cell(
                    text,
                    get_next_cell_start(marks, k + cell + odd - 1),
                    get_cell_end(marks, k + cell + odd),
                    into.quote,
                )
                if reason > 0 or (reason == ABSENT and into.missing == REFUSE):
                    return (reason if reason > 0 else MISSING), cell + odd
                into.values[at + odd] = value
        at += min(left, 8)
        cell += 8
        if left <= 8:  # continue behind the label, if there are columns
            cell = stop + 1
            stop = into.columns
    return 0, 0


@parse_row.of(SelectedRows)
def _parse_row_selected_rows(
    into: SelectedRows, text: Bytes, marks: NDArray[np.uint32], k: int, row: int
) -> tuple[int, int]:
    numbers, first = into.numbers, row * into.width
    reason, bad = read_numbers(text, marks, k, into.numeric_mask, numbers, into.missing, into.quote)
    if reason != 0:
        return reason, bad
    for place in range(into.width):  # for columns that the file lacks
        into.values[first + place] = 0.0
    for cell in range(len(into.places)):
        if into.places[cell] != ABSENT:
            into.values[first + into.places[cell]] = numbers[cell]
    return 0, 0


@parse_row.of(HashedRows)
def _parse_row_hashed_rows(
    into: HashedRows, text: Bytes, marks: NDArray[np.uint32], k: int, row: int
) -> tuple[int, int]:
    to, numbers, named = into.to, into.numbers, len(into.to.spans) > 0
    reason, bad = read_numbers(text, marks, k, into.numeric_mask, numbers, into.missing, into.quote)
    if reason != 0:
        return reason, bad
    first = at = into.starts[row]
    for step in range(len(into.sequence)):
        cell = into.sequence[step]
        if cell < 0:
            column = -1 - cell
            at = append_term(to, at, into.indicators[column], 1.0, column, 0, ABSENT)
            if named:
                to.spans[at - 1, 3] = 0
            continue
        kind, column = into.kinds[cell], into.columns[cell]
        start = stop = 0
        h, value, absent = into.seeds[column], 1.0, False
        if kind == NUMERIC:
            value = np.float64(numbers[cell])
            absent = math.isnan(value)
        else:
            start, stop = get_next_cell_start(marks, k + cell - 1), get_cell_end(marks, k + cell)
            start, stop = unquote_in_place(text, start, stop, into.quote)
            absent = may_be_missing(text, start, stop) and is_missing(text, start, stop)
            if absent and into.missing == REFUSE:
                return MISSING, cell
            if absent:
                value = 0.0
            elif kind == CATEGORY:
                h = hash_bytes(text, start, stop, h)
            else:
                before = at
                at = append_text(into.words, text, start, stop, h, into.letters[column], to, at)
                for term in range(before, at if named else before):
                    to.spans[term, 3] = column + 1
                value = 0.0
        if absent and into.missing == INDICATE:
            h, value, stop = into.indicators[column], 1.0, ABSENT
        if value != 0.0:
            at = append_term(to, at, h, value, column, start, stop)
            if named:
                to.spans[at - 1, 3] = 0
    into.starts[row + 1] = finish_row(to, first, at)
    return 0, 0


@compiled
def is_blank_line(text: Bytes, start: int, stop: int) -> bool:
    start, stop = trim_blanks(text, start, stop)
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
    weight: int,
    unlabelled: bool,
    quote: int,
    into: NumericRows | SelectedRows | HashedRows,
    out: TableOutput,
) -> tuple[int, int]:
    """Parse all records that `find_cells` has marked from marks[1] on; return (rows, problems).

    The target and the weight are columns of the file, ABSENT where it has none.
    """
    row = wrong = stray = 0
    k = 1
    for record in range(count):
        last = ends[record]
        cells = last - k + 1
        start, stop = get_next_cell_start(marks, k - 1), get_cell_end(marks, last)
        # With \r\n, the last cell ends before \r, but the first cell of the next record begins after \n.
        ended = stop - 1 if text[stop - 1] == CARRIAGE_RETURN else stop
        marks[last] = ended
        reason, column, found_start, found_stop = 0, 0, start, ended
        if unended and record == count - 1:
            reason = UNCLOSED_QUOTE
        elif stray < odd and strays[stray] < stop:
            reason, found_start = STRAY_QUOTE, strays[stray]
        elif cells != columns or (cells == 1 and is_blank_line(text, start, ended)):
            reason, found_start = CELL_COUNT, cells
            if cells == 1 and is_blank_line(text, start, ended):
                reason = BLANK
        else:
            column = max(target, 0)
            found_start = get_next_cell_start(marks, k + column - 1)
            found_stop = found_start if target == ABSENT else get_cell_end(marks, k + column)
            if numeric:
                reason, label = parse_number_cell(text, found_start, found_stop, quote)
                reason = NO_LABEL if reason == ABSENT else LABEL if reason != 0 else 0
                out.keys[row] = np.float64(label).view(np.uint64)
            else:
                reason = read_text_label(text, found_start, found_stop, quote, out, row)
            if unlabelled and reason == NO_LABEL:
                reason = 0
                out.keys[row] = NO_LABEL_KEY
                out.labels[row, 0] = ABSENT
            if reason == 0 and weight != ABSENT:
                column = weight
                reason, out.weights[row] = parse_number_cell(
                    text, get_next_cell_start(marks, k + weight - 1), get_cell_end(marks, k + weight), quote
                )
                if reason != 0 or out.weights[row] < 0.0:
                    reason = WEIGHT
            if reason == 0:
                reason, column = parse_row(into, text, marks, k, row)
            found_start, found_stop = get_next_cell_start(marks, k + column - 1), get_cell_end(marks, k + column)
        while stray < odd and strays[stray] < stop:
            stray += 1
        if reason == 0:
            out.line_of[row] = lines[record]
            row += 1
        elif reason != BLANK:
            out.problems[wrong, 0] = lines[record]
            out.problems[wrong, 1] = reason
            out.problems[wrong, 2] = column
            out.problems[wrong, 3] = found_start
            out.problems[wrong, 4] = found_stop
            wrong += 1
        marks[last] = stop
        k = last + 1
    return row, wrong
