"""Summary of the data on stderr before learning: format, kinds of columns, label and classes."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from typing import Any, Protocol

from novikoff.cli.options.data_options import is_stream
from novikoff.data.formats.base import ReadOptions
from novikoff.data.reader import DataReader, check_sources

MAX_CLASSES_SHOWN = 6
MAX_COLUMNS_SHOWN = 40


class DataSummary(Protocol):
    """A description of data: a `DataReader` that has read its first examples, or the result of a worker."""

    @property
    def description(self) -> dict[str, Any] | None: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def doubts(self) -> list[str]: ...


def describe_files(titles: list[str], options: ReadOptions) -> DataReader:
    """Return a reader that describes the first examples of files, for commands that read them again later. Streams,
    which can be read only once, are not read."""
    check_sources(titles)
    reading = DataReader(titles, replace(options, threads=1))
    if not any(is_stream(title) for title in titles):
        batches: Any = reading.batches()
        with closing(batches):
            reading.describe(next(batches))
    return reading


def show_description(reading: DataSummary, *, quiet: bool) -> None:
    """Print the description of the data, unless `quiet`, and warnings about it."""
    if not quiet:
        for line in description_lines(reading.description) if reading.description else ():
            print(line, file=sys.stderr)
    show_notes(reading, quiet=quiet)


def show_notes(reading: DataSummary, *, quiet: bool) -> None:
    """Print notes about the data, unless `quiet`, and warnings."""
    for note in () if quiet else reading.notes:
        print(f"note: {note}", file=sys.stderr)
    for doubt in reading.doubts:
        print(f"warning: {doubt}", file=sys.stderr)


def description_lines(about: dict[str, Any]) -> list[str]:
    """Return the lines for the result of `DataReader.describe`."""
    files = about["files"]
    name = "standard input" if files[0] == "-" else files[0]
    more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
    lines = [f"{'reading':<12}{name}{more}: {about['format']}"]
    counts: dict[str, int] = about["label"]
    if counts:
        shown = ", ".join(f"{label} {count:,}" for label, count in list(counts.items())[:MAX_CLASSES_SHOWN])
        rest = f" and {len(counts) - MAX_CLASSES_SHOWN:,} more classes" if len(counts) > MAX_CLASSES_SHOWN else ""
        first = f" of the first {sum(counts.values()):,} rows"
        column = f"{about['label_column']}: " if "label_column" in about else ""
        lines.append(f"{'label':<12}{column}{shown}{rest}{first}")
    for title in ("numeric", "categorical", "nested", "text", "weight", "ignored"):
        if title in about:
            lines.append(f"{title:<12}{_format_columns(about, title)}")
    return lines


def _format_columns(about: dict[str, Any], title: str) -> str:
    """Return the columns of a kind, up to MAX_COLUMNS_SHOWN: categorical ones with the number of their categories,
    nested ones with how they are read."""
    names = about[title]
    if isinstance(names, str):
        return names
    details = {name: f"{count:,}" for name, count in about.get("categories", {}).items()}
    details = names if isinstance(names, dict) else details if title == "categorical" else {}
    shown = [f"{name} ({details[name]})" if name in details else name for name in list(names)[:MAX_COLUMNS_SHOWN]]
    more = f" and {len(names) - MAX_COLUMNS_SHOWN:,} more" if len(names) > MAX_COLUMNS_SHOWN else ""
    return ", ".join(shown) + more
