"""CSV and TSV: tables as text, a record a line, cells as RFC 4180 has them (see `records.py`).

The first file settles how all are read. Its delimiter is , ; tab or | (TSV: tab); its first record is names or not; a
column is numbers if all its cells in the first MiB are numbers or missing, else categories. Numbers may have blanks on
both sides and may be quoted; categories are their bytes. A missing value is an empty cell, ?, NA, N/A, NaN or null, in
small or capital letters, quoted or not. Blank lines are skipped. What the columns become: see `table.py`.

A later file may begin with the same names; if its first record has a number where numbers are to come, it has none. It
may be without the column of the label: so its names say or, where it has none, most of its first records. Then there is
no label to learn from, but all that is needed to predict.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from novikoff._arrays import room
from novikoff._bytes import PADDING
from novikoff._records import dataclass
from novikoff.errors import InputError
from novikoff.stream.feed import Block
from novikoff.stream.formats import survey
from novikoff.stream.formats.cells import ABSENT, NO_LABEL, NUMERIC, Hashed, Numbers, parse_records
from novikoff.stream.formats.contract import Parsed, Problem
from novikoff.stream.formats.records import NOWHERE, find_cells, last_record_end
from novikoff.stream.formats.table import Table, TableParser, settled_columns, unique_names
from novikoff.stream.rows import Dense, Sparse

SPELLED = {"tab": "\t", "\\t": "\t", "space": " "}


class CsvParser(TableParser):
    def __init__(self, table: Csv, named: bool, unlabelled: bool) -> None:
        super().__init__(table, named, unlabelled)
        self.delimiter = table.separator[0]
        self.size = 0

    def _make_room(self, size: int) -> None:
        """For a block of so many bytes, each of which may end a cell; memory that is never written costs nothing."""
        self.size = size
        records = size + 2
        self.marks = room(size + 80, np.uint32)
        self.ends, self.lines, self.strays = (room(records, np.int64) for _ in range(3))
        self.out = self.make_out(size // self.width + 2)
        self.out = self.out._replace(problems=room((records, 5), np.int64))
        self.into = self._hashed(size) if self.table.bits is not None else self._numbers(size)
        self.into_narrow = self._without_label(self.into)

    def _numbers(self, size: int) -> Numbers | Hashed:
        return Numbers(room(size + 16, np.float32), len(self.kinds), self.table.target)

    def _without_label(self, into: Numbers | Hashed) -> Numbers | Hashed:
        """The same for records without a label: numbers end where it would be if it were the last."""
        if isinstance(into, Numbers):
            return into._replace(target=self.width)
        kinds = np.delete(self.kinds, self.table.target)
        return into._replace(kinds=kinds, seeds=np.delete(self.seeds, self.table.target), wanted=_bits_of(kinds))

    def _hashed(self, size: int) -> Numbers | Hashed:
        return Hashed(
            to=self.make_slots(size + 16),
            starts=np.zeros(len(self.out.keys) + 1, np.int64),
            kinds=self.kinds,
            seeds=self.seeds,
            wanted=_bits_of(self.kinds),
            numbers=np.zeros(len(self.kinds) + 8, np.float32),
        )

    @property
    def narrow(self) -> bool:
        """Whether records are to be without a label. Where only their cells say so, a learner takes them for bad."""
        return self.table.opened.narrow and (self.unlabelled or self.table.opened.certain)

    @property
    def cells(self) -> int:
        return len(self.kinds) - self.narrow

    def problem(self, line: int, reason: int, column: int, came: str) -> Problem:
        """A bad line in words; the column is counted among those that are there."""
        target = self.table.target
        if self.narrow:
            column = target if reason == NO_LABEL else column + (column >= target)
        return super().problem(line, reason, column, came)

    def parse(self, block: Block) -> Parsed:
        if block.size > self.size:
            self._make_room(block.size)
        table, out, text, narrow = self.table, self.out, block.text, self.narrow
        into = self.into_narrow if narrow else self.into
        numeric = table.numeric[table.target]
        self.marks[0] = PADDING - 1
        count, odd, unended, lines = find_cells(
            text, PADDING, block.stop, self.delimiter, self.marks[1:], self.ends, self.lines, self.strays
        )
        rows, wrong = parse_records(
            text, self.marks, self.ends, self.lines, self.strays, count, odd, unended,
            self.cells, ABSENT if narrow else table.target, numeric, self.unlabelled, into, out,
        )  # fmt: skip
        if narrow and isinstance(into, Hashed):
            places = into.to.spans[: into.starts[rows], 0]
            places += places >= table.target
        return Parsed(
            rows=Sparse(into.starts[: rows + 1], into.to.indices, into.to.values)
            if isinstance(into, Hashed)
            else Dense(into.values[: rows * self.width], self.width),
            keys=out.keys[:rows],
            label=self.label(block, out.keys[:rows], out.labels[:, 0], out.labels[:, 1]),
            weights=np.zeros(0),
            line_of=out.line_of[:rows],
            lines=lines,
            features=1 << table.bits if table.bits else self.width,
            problems=self.problems(block, out, wrong),
            hashes=into.to.hashes[: len(into.to.spans)] if isinstance(into, Hashed) else np.zeros(0, np.uint64),
            spans=into.to.spans if isinstance(into, Hashed) else np.zeros((0, 4), np.int64),
            numbers=out.keys[:rows].view(np.float64) if numeric else None,
        )


@dataclass(frozen=True)
class Csv(Table):
    delimiter: str
    """As the user has said it, or as it was found."""

    name: ClassVar[str] = "csv"
    options: ClassVar[tuple[str, ...]] = ("label", "delimiter", "signed", "largest")
    patience: ClassVar[float] = 0.2
    usual: ClassVar[str | None] = None
    """The delimiter where nothing is said; None where it is to be found."""

    @classmethod
    def settled(cls, options: Any, head: bytes, title: str) -> Csv:
        survey.must_be_text(head, title)
        said = options.delimiter or cls.usual
        found = said if said is not None else survey.found_delimiter(head, title).decode()
        separator = separator_of(found)
        rows = [cells for cells, _ in survey.records(head, separator)]
        if not rows:
            raise InputError(f"{title}: is empty: there are no examples in it.")
        width = len(rows[0])
        rows = [cells for cells in rows if len(cells) == width]
        header = survey.has_header(rows) if options.header is None else bool(options.header)
        names = [_spelled(cell) for cell in rows[0]] if header else [str(k + 1) for k in range(width)]
        numeric = [survey.is_numeric(column) for column in zip(*rows[header:], strict=True)] or [True] * width
        fields = settled_columns(options, unique_names(names, title), numeric, title, header=header)
        return cls(**fields, delimiter=found)

    @classmethod
    def enough(cls, head: bytes) -> bool:
        """One record may be the names; what columns are can be seen on the second."""
        return head.rstrip(b"\r\n").lstrip(b"\r\n").count(b"\n") > 0

    @property
    def separator(self) -> bytes:
        return separator_of(self.delimiter)

    def parser(self, *, named: bool, unlabelled: bool = False) -> CsvParser:
        return CsvParser(self, named, unlabelled)

    def last_end(self, text: NDArray[np.uint8], start: int, stop: int) -> int:
        return last_record_end(text, start, stop, self.separator[0], NOWHERE)

    def opening(self, head: bytes, title: str) -> tuple[int, int]:
        survey.must_be_text(head, title)
        first = list(islice(survey.records(head, self.separator), survey.SNIFFED))
        widths, columns, opened = [len(cells) for cells, _ in first], len(self.names), self.opened
        opened.narrow, opened.certain = widths.count(columns - 1) > widths.count(columns), False
        if not self.header:
            return 0, 0
        cells, end = first[0] if first else ([], 0)
        narrow = len(cells) == columns - 1
        places = [c for c in range(columns) if c != self.target or not narrow]
        names = [_spelled(cell) or str(c + 1) for c, cell in zip(places, cells, strict=False)]
        if len(cells) == len(places) and names == [self.names[c] for c in places]:
            opened.narrow = opened.certain = narrow
        elif any(self.numeric[c] and survey.NUMBER.fullmatch(cell) for c, cell in zip(places, cells, strict=False)):
            return 0, 0
        else:
            self.same_columns([_spelled(cell) or str(k + 1) for k, cell in enumerate(cells)], title)
        return end, head.count(b"\n", 0, end)


@dataclass(frozen=True)
class Tsv(Csv):
    name: ClassVar[str] = "tsv"
    options: ClassVar[tuple[str, ...]] = ("label", "delimiter", "signed", "largest")
    usual: ClassVar[str | None] = "\t"


def separator_of(spelled: str) -> bytes:
    """The one byte between cells; InputError where it can't be one."""
    character = SPELLED.get(spelled, spelled)
    if len(character) != 1 or not character.isascii() or character.isalnum() or character in '"\r\n\0.+-':
        raise InputError(
            f"--delimiter must be one character such as , ; | or tab, none that belongs to numbers or quotes, but is"
            f" {spelled!r}."
        )
    return character.encode()


def _bits_of(kinds: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.packbits(kinds == NUMERIC, bitorder="little")


def _spelled(cell: bytes) -> str:
    return cell.decode("utf-8", "replace")
