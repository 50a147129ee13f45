"""CSV and TSV: tables as text, one record per line, cells as in RFC 4180 (see `csv_tokenizer.py`).

The first file determines how all files are read. Its delimiter is , ; tab or | (TSV: tab); its first record is a header
or not. A column is numeric if all its cells in the first MiB are numbers or missing, else categorical. Numbers may have
blanks around them and may be quoted; categories are compared as bytes. A missing value is an empty cell, ?, NA, N/A,
NaN or null, in any case, quoted or not. Blank lines are skipped. How columns become features: see `table_base.py`.

A later file must begin with a header of the same columns, in any order. Columns are matched by position only with
--no-header, or where another file of the same run had the header; then there is a note. A first line of numbers is
never taken for a header: it is refused. The label column may be absent, as the header says or, without a header, most
of the first records. Such a file can be used for prediction, but not for learning.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from novikoff._compiled import buffers
from novikoff._compiled.buffers import uninitialised
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data.formats import csv_rows, csv_sniffer
from novikoff.data.formats.base import BadLine, ParsedBlock
from novikoff.data.formats.column_survey import survey_columns
from novikoff.data.formats.csv_tokenizer import NO_QUOTE, NO_STRAYS, QUOTE, find_cells, find_last_record_end
from novikoff.data.formats.ngrams import NoNgrams, allocate_workspace, count_max_terms
from novikoff.data.formats.table_base import TableFormat, TableParser, resolve_columns
from novikoff.data.names.column_names import join_names, make_names_unique
from novikoff.data.rows import Dense, Sparse
from novikoff.data.text_source import TextBlock
from novikoff.errors import InputError

TABLE_OPTIONS = (
    "label", "delimiter", "signed_hash", "collisions", "text", "word_ngrams", "char_ngrams", "term_weighting",
    "ignore", "columns", "categorical", "numeric", "weight", "missing", "quote",
)  # fmt: skip
DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "space": " "}


class CsvParser(TableParser):
    """Parser of CSV and TSV blocks."""

    def __init__(self, table: Csv, named: bool, unlabelled: bool) -> None:
        super().__init__(table, named, unlabelled)
        self.delimiter, self.quote = table.separator[0], NO_QUOTE if table.quote == "none" else QUOTE
        self.size = 0
        self.places: tuple[int, ...] = ()

    def _current_places(self) -> tuple[int, ...]:
        """Return the table's column for each column of the file.

        Where only the cell count says that the label is absent, records without it are bad lines for learners.
        """
        opened = self.table.opened
        return opened.places if opened.matched_by_name or self.unlabelled else tuple(range(len(self.table.names)))

    def _ensure_capacity(self, size: int, places: tuple[int, ...]) -> None:
        """Allocate buffers for blocks of `size` bytes, each of which may end a cell. Unused pages cost nothing."""
        self.size, self.places = size, places
        records, rows = size + 2, size // max(1, len(places) - 1) + 2
        self.marks = uninitialised(size + 80, "uint32")
        self.ends, self.lines, self.strays = (uninitialised(records, "int64") for _ in range(3))
        self.out = self.allocate_output(rows)._replace(problems=uninitialised((records, 5), "int64"))
        self.target = places.index(self.table.target) if self.table.target in places else csv_rows.ABSENT
        self.weight = (
            csv_rows.ABSENT if self.table.weight is None or not self.has_weights() else places.index(self.table.weight)
        )
        if self.table.hash_bits is not None:
            self.into: csv_rows.NumericRows | csv_rows.SelectedRows | csv_rows.HashedRows = self._build_hashed_rows(
                size, rows
            )
        else:
            self.into = self._build_numeric_rows(size) if self._is_plain() else self._build_selected_rows(rows)

    def _is_plain(self) -> bool:
        """Return whether all columns of the file but the label are features, in table order."""
        return [c for c in self.places if c != self.table.target] == self.table.features

    def _build_numeric_rows(self, size: int) -> csv_rows.NumericRows:
        # Without a label column, numbers end where the label would be if it were the last column.
        target = self.width if self.target == csv_rows.ABSENT else self.target
        return csv_rows.NumericRows(
            uninitialised(size + 16, "float32"), self.width + 1, target, self.missing_policy, self.quote
        )

    def _build_selected_rows(self, rows: int) -> csv_rows.SelectedRows:
        place = {c: k for k, c in enumerate(self.table.features)}
        kinds = self._list_column_types()
        return csv_rows.SelectedRows(
            values=uninitialised(rows * self.width + 16, "float32"),
            width=self.width,
            places=buffers.array([place.get(c, csv_rows.ABSENT) for c in self.places], "int64"),
            numeric_mask=_build_numeric_mask(kinds),
            numbers=buffers.zeros(len(kinds) + 8, "float32"),
            missing=self.missing_policy,
            quote=self.quote,
        )

    def _list_column_types(self) -> NDArray[np.uint8]:
        return buffers.array([self.table.column_type(c) for c in self.places], "uint8")

    def _build_hashed_rows(self, size: int, rows: int) -> csv_rows.HashedRows:
        table, kinds = self.table, self._list_column_types()
        there = [c for c in table.features if c in self.places or self.missing_policy == csv_rows.INDICATE]
        lacking = sum(c not in self.places for c in there)
        terms = (
            size
            + 16
            + rows * lacking
            + (count_max_terms(size, table.word_ngrams, table.char_ngrams) if table.texts else 0)
        )
        return csv_rows.HashedRows(
            to=self.allocate_terms(terms),
            starts=buffers.zeros(rows + 1, "int64"),
            kinds=kinds,
            columns=buffers.array(list(self.places), "int64"),
            sequence=buffers.array([self.places.index(c) if c in self.places else -1 - c for c in there], "int64"),
            seeds=self.seeds,
            letters=self.char_seeds,
            indicators=self.indicators,
            numeric_mask=_build_numeric_mask(kinds),
            numbers=buffers.zeros(len(kinds) + 8, "float32"),
            words=allocate_workspace(size, table.word_ngrams, table.char_ngrams, table.lowercase, table.term_weighting)
            if table.texts
            else NoNgrams(0),
            missing=self.missing_policy,
            quote=self.quote,
        )

    @property
    def cells(self) -> int:
        return len(self._current_places())

    def problem(self, line: int, reason: int, column: int, found: str) -> BadLine:
        """Return a bad line with its message; `column` counts the columns of the file."""
        places = self._current_places()
        known = self.table.target if reason == csv_rows.NO_LABEL else places[column] if column < len(places) else 0
        return super().problem(line, reason, known, found)

    def parse(self, block: TextBlock) -> ParsedBlock:
        places = self._current_places()
        if block.size > self.size or places != self.places:
            self._ensure_capacity(max(block.size, self.size), places)
        table, into, out, text = self.table, self.into, self.out, block.text
        numeric = table.numeric[table.target]
        self.marks[0] = PADDING_BYTES - 1
        count, odd, unended, lines = find_cells(
            text, PADDING_BYTES, block.stop, self.delimiter, self.quote, self.marks[1:], self.ends, self.lines,
            self.strays,
        )  # fmt: skip
        rows, wrong = csv_rows.parse_records(
            text, self.marks, self.ends, self.lines, self.strays, count, odd, unended,
            self.cells, self.target, numeric, self.weight, self.unlabelled, self.quote, into, out,
        )  # fmt: skip
        return ParsedBlock(
            rows=Sparse(into.starts[: rows + 1], into.to.indices, into.to.values)
            if isinstance(into, csv_rows.HashedRows)
            else Dense(into.values[: rows * self.width], self.width),
            keys=out.keys[:rows],
            label=self.label(block, out.keys[:rows], lambda i: out.labels[i].tolist()),
            weights=out.weights[:rows],
            line_of=out.line_of[:rows],
            lines=lines,
            features=1 << table.hash_bits if table.hash_bits else self.width,
            problems=self.problems(block, out, wrong),
            hashes=into.to.hashes[: len(into.to.spans)]
            if isinstance(into, csv_rows.HashedRows)
            else buffers.zeros(0, "uint64"),
            spans=into.to.spans if isinstance(into, csv_rows.HashedRows) else buffers.zeros((0, 4), "int64"),
            numbers=out.keys[:rows].view("float64") if numeric else None,
        )


@dataclass(frozen=True)
class Csv(TableFormat):
    """CSV with the settings that the data of one model shares."""

    delimiter: str = ","
    """The delimiter as the user gave it, or as it was detected."""
    quote: str = '"'
    """The quote character, or none."""

    name: ClassVar[str] = "csv"
    options: ClassVar[tuple[str, ...]] = TABLE_OPTIONS
    pipe_wait_seconds: ClassVar[float] = 0.2
    default_delimiter: ClassVar[str | None] = None
    """The delimiter if the user gives none; None to detect it."""

    @classmethod
    def from_options(cls, options: Any, head: bytes, title: str) -> Csv:
        csv_sniffer.check_is_text(head, title)
        said, quote = options.delimiter or cls.default_delimiter, options.quote or '"'
        found = said if said is not None else csv_sniffer.detect_delimiter(head, title, quote).decode()
        separator = parse_delimiter(found)
        rows = csv_sniffer.split_cells(head, separator, quote)
        if not rows:
            raise InputError(f"{title}: is empty: there are no examples in it.")
        width = len(rows[0])
        rows = [cells for cells in rows if len(cells) == width]
        header = csv_sniffer.has_header(rows) if options.header is None else bool(options.header)
        names = make_names_unique([_decode_cell(cell) for cell in rows[0]] if header else [""] * width, title)
        numeric = [csv_sniffer.is_numeric(column) for column in zip(*rows[header:], strict=True)] or [True] * width
        columns = survey_columns(names, rows[header:])
        truths = [csv_sniffer.is_boolean(column) for column in zip(*rows[header:], strict=True)] or [False] * width
        fields = resolve_columns(options, names, numeric, columns, title, header=header, truths=truths)
        table = cls(**fields, delimiter=found, quote=quote)
        table.opened.survey = columns
        return table

    def describe(self) -> dict[str, Any]:
        delimiter = {"\t": "tab", " ": "blank"}.get(
            DELIMITER_NAMES.get(self.delimiter, self.delimiter), repr(self.delimiter)
        )
        quotes = ", quotes are text" if self.quote == "none" else ""
        how = f"{self.name}, delimiter {delimiter}{quotes}, {'with' if self.header else 'without'} a line of names"
        return {**super().describe(), "format": how}

    @classmethod
    def is_sufficient(cls, head: bytes) -> bool:
        """Return whether there are two records: the first may be a header, and the second shows the column types."""
        return head.rstrip(b"\r\n").lstrip(b"\r\n").count(b"\n") > 0

    @property
    def separator(self) -> bytes:
        return parse_delimiter(self.delimiter)

    def parser(self, *, named: bool, unlabelled: bool = False) -> CsvParser:
        return CsvParser(self, named, unlabelled)

    def find_last_record_end(self, text: NDArray[np.uint8], start: int, stop: int) -> int:
        quote = NO_QUOTE if self.quote == "none" else QUOTE
        return find_last_record_end(text, start, stop, self.separator[0], quote, NO_STRAYS)

    def find_data_start(
        self, head: bytes, title: str, *, header: bool | None = None, same_run: bool = False
    ) -> tuple[int, int]:
        csv_sniffer.check_is_text(head, title)
        first = list(islice(csv_sniffer.iter_records(head, self.separator, self.quote), csv_sniffer.SNIFFED_RECORDS))
        widths, columns, opened = [len(cells) for cells, _ in first], len(self.names), self.opened
        everything, opened.title = tuple(range(columns)), title
        without_label = tuple(c for c in everything if c != self.target)
        narrow = widths.count(columns - 1) > widths.count(columns)
        opened.places, opened.matched_by_name, opened.notes = without_label if narrow else everything, not narrow, []
        if header is False or (header is None and not self.header):
            return 0, 0
        cells, end = first[0] if first else ([], 0)
        left_out = end, head.count(b"\n", 0, end)
        if not self.header:
            return left_out
        names = [_decode_cell(cell) or str(c + 1) for c, cell in enumerate(cells)]
        if header is None and not self._is_header(names, cells):
            if not same_run:
                raise InputError(
                    f"{title}: begins with {join_names(names)}, which are not the names of the columns"
                    f" ({join_names(self.feature_columns)}): --no-header reads a file without names, whose columns are"
                    " matched by position."
                )
            opened.notes = [f"{title}: has no line of names: its columns are matched by position"]
            return 0, 0
        self.match(make_names_unique(names, title), title)
        return left_out

    def _is_header(self, names: list[str], cells: list[bytes]) -> bool:
        """Return whether a file's first record is a header: it has more column names than other numbers."""
        known = sum(name in self.names for name in names)
        numbers = sum(
            name not in self.names and csv_sniffer.NUMBER_PATTERN.fullmatch(cell) is not None
            for name, cell in zip(names, cells, strict=True)
        )
        return known > numbers or numbers == 0


@dataclass(frozen=True)
class Tsv(Csv):
    """CSV with tabs."""

    name: ClassVar[str] = "tsv"
    options: ClassVar[tuple[str, ...]] = TABLE_OPTIONS
    default_delimiter: ClassVar[str | None] = "\t"


def parse_delimiter(text: str) -> bytes:
    """Return the delimiter as one byte; raise InputError where it can't be one."""
    character = DELIMITER_NAMES.get(text, text)
    if len(character) != 1 or not character.isascii() or character.isalnum() or character in '"\r\n\0.+-':
        raise InputError(
            "--delimiter must be one character such as , ; | or tab that is not part of numbers or quotes,"
            f" got {text!r}."
        )
    return character.encode()


def _build_numeric_mask(kinds: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return one bit per column, the first in the lowest bit: whether it is numeric."""
    bits = bytearray((len(kinds) + 7) // 8)
    for k, kind in enumerate(kinds.tolist()):
        bits[k // 8] |= (kind == csv_rows.NUMERIC) << k % 8
    return buffers.array(list(bits), "uint8")


def _decode_cell(cell: bytes) -> str:
    return cell.decode("utf-8", "replace")
