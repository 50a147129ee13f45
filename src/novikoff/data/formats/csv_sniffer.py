"""Detection of a table's delimiter, header and column types from its first records, in plain Python.

Records and cells are split exactly like in the compiled `csv_tokenizer.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from novikoff.errors import InputError

DELIMITERS = (b",", b";", b"\t", b"|")
LABEL_NAMES = (b"label", b"class", b"target", b"y")
SNIFFED_RECORDS = 100
"""Records that are sampled to detect the delimiter."""
_QUOTED = re.compile(rb'"([^"]*(?:""[^"]*)*)"')
_DECIMAL = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[iI][nN][fF](?:[iI][nN][iI][tT][yY])?"
_MISSING = rb"(?:[nN][aA]|[nN]/[aA]|[+-]?[nN][aA][nN]|[nN][uU][lL][lL]|\?)?"
# Infinity matches as a number, which parsers refuse: otherwise one would turn a numeric column into categories.
NUMBER_PATTERN = re.compile(rb"[ \t]*(?:" + _DECIMAL + rb")[ \t]*")
MISSING_PATTERN = re.compile(rb"[ \t]*" + _MISSING + rb"[ \t]*")
NUMERIC_PATTERN = re.compile(rb"[ \t]*(?:" + _DECIMAL + rb"|" + _MISSING + rb")[ \t]*")
_PLAIN = rb"-?[0-9]+(?:\.[0-9]+)?"
_NUMERIC_LINES = re.compile(
    rb"(?>" + _PLAIN + rb"\n|[ \t]*(?:" + _DECIMAL + rb"|" + _MISSING + rb")[ \t]*\n)*+"
)  # one cell per line; most cells are plain numbers
BOOLEAN_PATTERN = re.compile(rb"[ \t]*(?:true|false)[ \t]*", re.IGNORECASE)
Record = list[bytes]


def check_is_text(head: bytes, title: str) -> None:
    """Raise InputError for UTF-16 and for binary data."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{title}: is UTF-16 text, but a table must be UTF-8: convert it (iconv -f UTF-16 -t UTF-8).")
    place = head.find(b"\0")
    if place >= 0:
        raise InputError(
            f"{title}: has a NUL byte on line {head.count(10, 0, place) + 1}: a table must be UTF-8 text; is it the"
            " right file, or of another --format?"
        )


def iter_records(text: bytes, delimiter: bytes, quote: str = '"') -> Iterator[tuple[Record, int]]:
    """Yield the cells of each record, quotes removed, and its end.

    Blank lines are skipped. A last record that ends inside quotes is dropped, unless it is the only one.
    """
    at, alone = 0, True
    while at < len(text):
        stop = text.find(b"\n", at)
        stop = len(text) if stop < 0 else stop
        whole = True
        if quote != "none" and b'"' in text[at:stop]:
            cells, stop, whole = _parse_quoted_record(text, at, delimiter)
        else:
            cells = text[at:stop].removesuffix(b"\r").split(delimiter)
        at = min(stop + 1, len(text))
        if (len(cells) > 1 or cells[0].strip(b" \t")) and (whole or alone):
            alone = False
            yield cells, at


def split_cells(text: bytes, delimiter: bytes, quote: str = '"') -> list[Record]:
    """Return the cells of all records, like `iter_records`, but twice as fast for text without quotes."""
    if quote != "none" and b'"' in text:
        return [cells for cells, _ in iter_records(text, delimiter, quote)]
    lines = text.split(b"\n")
    if b"\r" in text:
        lines = [line.removesuffix(b"\r") for line in lines]
    return [line.split(delimiter) for line in lines if delimiter in line or line.strip(b" \t")]


def _parse_quoted_record(text: bytes, at: int, delimiter: bytes) -> tuple[Record, int, bool]:
    """Parse one record with quotes; return its cells, the position of its newline, and whether it is complete."""
    rest = re.compile(rb"[^\n" + re.escape(delimiter) + rb"]*")
    cells: Record = []
    while True:
        value = b""
        if text[at : at + 1] == b'"':
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                return [*cells, text[at:]], len(text), False
            value, at = quoted[1].replace(b'""', b'"'), quoted.end()
        unquoted = rest.match(text, at)
        assert unquoted is not None  # noqa: S101 - the pattern matches any text
        at = unquoted.end()
        last = text[at : at + 1] != delimiter
        cells.append(value + (unquoted[0].removesuffix(b"\r") if last else unquoted[0]))
        if last:
            return cells, at, True
        at += 1


def detect_delimiter(head: bytes, title: str, quote: str = '"') -> bytes:
    """Return the delimiter with which most records have as many cells as the first; on ties the one with most cells."""

    def rate(delimiter: bytes) -> tuple[float, int]:
        counts = [
            len(cells)
            for (cells, _), _ in zip(iter_records(head, delimiter, quote), range(SNIFFED_RECORDS), strict=False)
        ]
        return (counts.count(counts[0]) / len(counts), counts[0]) if counts and counts[0] > 1 else (0.0, 0)

    best = max(DELIMITERS, key=rate)
    if rate(best) == (0.0, 0):
        raise InputError(
            f"{title}: none of , ; | and tab separates columns on its first line: use --delimiter, or another --format."
        )
    return best


def has_header(rows: Sequence[Record]) -> bool:
    """Return whether the first record is a header.

    Without numbers in it, it is one if its cells are distinct or numbers follow. With integers in it, as column names
    may be, it is one if a column is numeric except for its name, or is named as labels are.
    """
    first, later = rows[0], rows[1:]
    distinct = len(set(first)) == len(first)
    if not any(NUMBER_PATTERN.fullmatch(cell) for cell in first):
        return distinct or any(NUMBER_PATTERN.fullmatch(cell) for row in later for cell in row)
    if not distinct or not all(cell.isdigit() or not NUMBER_PATTERN.fullmatch(cell) for cell in first):
        return False
    return any(
        not NUMERIC_PATTERN.fullmatch(name) and (_has_name(column) or (is_label_name(name) and name not in column))
        for name, column in zip(first, zip(*later, strict=True), strict=False)
    )


def _has_name(column: Sequence[bytes]) -> bool:
    """Return whether a text above this column must be its name."""
    return is_numeric(column) and any(map(NUMBER_PATTERN.fullmatch, column))


def is_label_name(name: bytes) -> bool:
    return name.strip().lower() in LABEL_NAMES


def is_boolean(cells: Sequence[bytes]) -> bool:
    """Return whether all cells are true, false or missing, and some are not missing."""
    return any(map(BOOLEAN_PATTERN.fullmatch, cells[:SNIFFED_RECORDS])) and all(
        BOOLEAN_PATTERN.fullmatch(c) or MISSING_PATTERN.fullmatch(c) for c in cells
    )


def is_numeric(cells: Iterable[bytes]) -> bool:
    """Return whether all cells are numbers or missing."""
    cells = list(cells)
    lines = b"\n".join(cells) + b"\n"
    if lines.count(b"\n") != len(cells):  # some cells have several lines
        return all(map(NUMERIC_PATTERN.fullmatch, cells))
    return _NUMERIC_LINES.fullmatch(lines) is not None
