"""A plain Python reference for CSV and Parquet tables, on the `csv` module of the standard library."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import numpy as np

from novikoff.data.formats.csv import Csv
from novikoff.data.names.hashing import hash_name
from novikoff.data.reader import DataReader, FileBatch, ReadOptions
from novikoff.data.rows import Dense
from novikoff.data.text_source import TextBlock, TextSource

MISSING = re.compile(r"[ \t]*(|\?|na|n/a|[+-]?nan|null)[ \t]*", re.I | re.A)
Row = dict[int, float]


def parse_cells(text: str, delimiter: str = ",") -> list[list[str]]:
    """Parse records with the standard library, without blank lines."""
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return [cells for cells in records if cells and not (len(cells) == 1 and not cells[0].strip(" \t"))]


def is_missing(cell: str) -> bool:
    return MISSING.fullmatch(cell) is not None


def hash_row(cells: list[str], names: list[str], numeric: list[bool], target: int, bits: int = 18) -> Row:
    """Return slot → value of one record, by the documented rules."""
    row: Row = {}
    for c, cell in enumerate(cells):
        if c == target or is_missing(cell):
            continue
        name = hash_name(names[c].encode())
        h, value = (name, float(np.float32(float(cell)))) if numeric[c] else (hash_name(cell.encode(), name), 1.0)
        slot = h & ((1 << bits) - 1)
        if value:
            row[slot] = row.get(slot, 0.0) + value
    return {slot: value for slot, value in row.items() if value}


def list_rows(batch: FileBatch) -> list[Any]:
    """Return each row as a list of numbers, or as index → value."""
    rows = batch.rows
    if isinstance(rows, Dense):
        return rows.values[: len(batch) * rows.width].reshape(len(batch), rows.width).tolist()
    bounds = list(zip(rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True))
    return [dict(zip(rows.indices[a:b].tolist(), rows.values[a:b].tolist(), strict=True)) for a, b in bounds]


def read_table(path: Any, **options: Any) -> tuple[list[Any], list[Any], list[str], DataReader]:
    """Return rows, labels and places of a file, and its reader."""
    reading = DataReader([str(path)], ReadOptions(**{"threads": 1, **options}))
    rows: list[Any] = []
    labels: list[Any] = []
    places: list[str] = []
    for batch in reading.batches():
        rows += list_rows(batch)
        labels += [batch.parsed.label(i) for i in range(len(batch))]
        places += [batch.get_location(i).removeprefix(str(path)) for i in range(len(batch))]
    return rows, labels, places, reading


def parse_in_blocks(
    table: Csv, content: bytes, size: int
) -> tuple[list[Any], list[Any], list[int], list[tuple[int, str]]]:
    """Parse a text in blocks of `size` bytes (more for longer records): rows, labels, lines, bad lines."""
    left_out, before = table.find_data_start(content, "it")
    feed = TextSource("it", io.BytesIO(content[left_out:]), size=None, waits=None)
    parser, block = table.parser(named=False), TextBlock(size)
    rows: list[Any] = []
    labels: list[Any] = []
    lines: list[int] = []
    bad: list[tuple[int, str]] = []
    while feed.fill(block, table.find_last_record_end):
        parsed = parser.parse(block)
        rows += list_rows(FileBatch(parsed.rows, parsed, "it", before, parsed.features))
        labels += [parsed.label(i) for i in range(len(parsed.keys))]
        lines += [before + int(line) + 1 for line in parsed.line_of]
        bad += [(before + p.line + 1, p.sentence) for p in parsed.problems]
        before += parsed.lines
    return rows, labels, lines, bad
