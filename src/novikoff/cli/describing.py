"""What was read, on stderr before anything is learned: the format, kinds of columns, the label and its classes."""

from __future__ import annotations

import sys
from typing import Any

from novikoff.stream.reading import Reading

MOST_CLASSES_SHOWN = 6


def show_description(reading: Reading, *, quiet: bool) -> None:
    """Print what was read, unless `quiet`, and warnings about it."""
    if not quiet:
        for line in description_lines(reading.description or {}):
            print(line, file=sys.stderr)
    show_notes(reading, quiet=quiet)


def show_notes(reading: Reading, *, quiet: bool) -> None:
    """Print notes about what was read, unless `quiet`, and warnings."""
    for note in () if quiet else reading.notes:
        print(f"note: {note}", file=sys.stderr)
    for doubt in reading.doubts:
        print(f"warning: {doubt}", file=sys.stderr)


def description_lines(about: dict[str, Any]) -> list[str]:
    """Return the lines for what `Reading.describe` found."""
    files = about["files"]
    name = "standard input" if files[0] == "-" else files[0]
    more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
    lines = [f"{'reading':<12}{name}{more}: {about['format']}"]
    counts: dict[str, int] = about["label"]
    if counts:
        shown = ", ".join(f"{label} {count:,}" for label, count in list(counts.items())[:MOST_CLASSES_SHOWN])
        rest = f" and {len(counts) - MOST_CLASSES_SHOWN:,} more classes" if len(counts) > MOST_CLASSES_SHOWN else ""
        first = f" of the first {sum(counts.values()):,} rows"
        column = f"{about['label_column']}: " if "label_column" in about else ""
        lines.append(f"{'label':<12}{column}{shown}{rest}{first}")
    for title in ("numeric", "categorical", "text", "weight", "ignored"):
        if title in about:
            lines.append(f"{title:<12}{about[title]}")
    return lines
