"""svmlight text, one example per line: `label index:value index:value … # comment`.

Index k is column k, whether the file counts from 0 or from 1; indices increase within a line and are below 2^31 - 1.
Values are float32 numbers of size up to 1e15. `qid:n` may come first. With label sets, several labels are separated by
commas, `1,3,7`, and an example without labels begins with a blank. A comment begins with #. Where labels are optional,
a line that begins with a term has none.

Regular files are read by the compiled code itself, in spans (see `line_reader.py`). Pipes, compressed files and files
with lines longer than a tile are read as blocks of text.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from novikoff._compiled import buffers
from novikoff._compiled.buffers import uninitialised
from novikoff.data.formats.base import (
    LARGE_LABEL_MESSAGE,
    BadLine,
    Format,
    ParsedBlock,
    Parser,
    TextSpan,
    build_number_decoder,
    check_no_bits,
    format_excerpt,
)
from novikoff.data.formats.control_bytes import CONTROL_BYTE_MESSAGE
from novikoff.data.formats.svmlight_parser import (
    CONTROL,
    INDEX,
    LABEL,
    LARGE_LABEL,
    ORDER,
    QID,
    RANGE,
    SEVERAL,
    VALUE,
    SvmlightOutput,
    Tile,
    allocate_marks,
    parse_span,
    parse_svmlight_block,
)
from novikoff.data.line_reader import TILE_BYTES, allocate_tile_text
from novikoff.data.rows import Sparse
from novikoff.data.text_source import FileSpan, TextBlock, TextSource
from novikoff.data.validation import MAX_INDEX

REASONS = {
    LABEL: ("label", "the label must be a number, got {}."),
    INDEX: ("index", f"expected index:value with an index from 0 to {MAX_INDEX - 1}, got {{}}."),
    VALUE: ("value", "expected index:value with a number as value, got {}."),
    ORDER: ("order", "indices must grow from left to right, got {} after an equal or larger one."),
    SEVERAL: ("several labels", "expected one label, got {}: only multi-label learners take several."),
    QID: ("qid", "qid must be a whole number right after the label, got {}."),
    CONTROL: ("control byte", CONTROL_BYTE_MESSAGE),
    LARGE_LABEL: ("label", LARGE_LABEL_MESSAGE),
    RANGE: ("range", "values must be finite numbers of size up to 1e15, got {}."),
}
SPAN_BYTES = 1 << 22
"""Bytes of a file that are parsed at once: enough to amortise the cost per call."""


_thread_local = threading.local()


def get_thread_tile() -> Tile:
    """Return the tile of this thread: one that another thread has written lies in another processor's cache."""
    if not hasattr(_thread_local, "tile"):
        _thread_local.tile = Tile(allocate_tile_text(TILE_BYTES), *allocate_marks(TILE_BYTES))
    found: Tile = _thread_local.tile
    return found


class SvmlightParser(Parser):
    """Parser of svmlight blocks and file spans."""

    def __init__(self, several: bool, unlabelled: bool) -> None:
        self.several, self.unlabelled = several, unlabelled
        self.size = self.marked = 0
        self.in_tiles = True
        """Whether all lines so far were short enough for tiles."""

    def _ensure_capacity(self, size: int, *, marks: bool = True) -> None:
        """Allocate buffers for `size` bytes of text. A line has at least 2 bytes, a term at least 4.

        Pages that are never written cost nothing. Tiles have their own marks.
        """
        self.size = size
        if marks:
            self.marked = size
            self.marks, self.ends, self.lines = allocate_marks(size)
        lines, terms = size // 2 + 2, size // 4 + 16
        self.out = SvmlightOutput(
            starts=uninitialised(lines + 1, "int64"),
            indices=uninitialised(terms, "uint32"),
            values=uninitialised(terms, "float32"),
            labels=uninitialised(lines, "float64"),
            groups=uninitialised(lines, "int64"),
            line_of=uninitialised(lines, "int64"),
            set_starts=buffers.zeros(lines + 1 if self.several else 0, "int64"),
            set_values=uninitialised(lines if self.several else 0, "float64"),
            problems=uninitialised((lines, 4), "int64"),
        )

    def parse(self, block: TextBlock) -> ParsedBlock:
        span = self.piece
        if span is not None:
            found = self._parse_span(span) if self.in_tiles else None
            if found is not None:
                block.text_bytes_read = span.stop - span.start
                return found
            span.fill(block)
        if block.size > min(self.size, self.marked):
            self._ensure_capacity(max(block.size, self.size))
        tile = Tile(block.text, self.marks, self.ends, self.lines)
        return self._build_block(
            block, *parse_svmlight_block(tile, block.stop, self.several, self.unlabelled, self.out)
        )

    def _parse_span(self, span: FileSpan) -> ParsedBlock | None:
        """Parse a span; None where a line is longer than a tile, or the file can't be read to the end of the span."""
        size = max(span.stop - span.start, span.most + span.most // 8)  # a span is extended to the end of its last line
        if size > self.size:
            self._ensure_capacity(size, marks=False)
        where = span.number, span.start, span.stop
        found = parse_span(*where, get_thread_tile(), self.several, self.unlabelled, self.out)
        self.in_tiles = found[0] >= 0
        return self._build_block(span, *found) if self.in_tiles else None

    def _build_block(self, text: TextSpan, lines: int, rows: int, wrong: int, features: int) -> ParsedBlock:
        out = self.out
        keys = out.labels[:rows].view("uint64")
        return ParsedBlock(
            rows=Sparse(out.starts[: rows + 1], out.indices, out.values),
            keys=keys,
            label=build_number_decoder(keys),
            numbers=out.labels[:rows],
            weights=buffers.zeros(0),
            line_of=out.line_of[:rows],
            lines=lines,
            features=int(features),
            problems=[
                BadLine(line, REASONS[reason][0], REASONS[reason][1].format(format_excerpt(text, start, stop)))
                for line, reason, start, stop in out.problems[:wrong].tolist()
            ],
            hashes=buffers.zeros(0, "uint64"),
            spans=buffers.zeros((0, 4), "int64"),
            sets=(out.set_starts[: rows + 1], out.set_values) if self.several else None,
            groups=out.groups[:rows],
        )


SNIFFED_LINES = 1000


@dataclass(frozen=True)
class Svmlight(Format):
    """svmlight text with the settings that the data of one model shares."""

    several: bool = False
    """Whether examples have label sets."""

    name: ClassVar[str] = "svmlight"
    default_block_bytes: ClassVar[int] = 1 << 21
    options: ClassVar[tuple[str, ...]] = ("multilabel",)

    @classmethod
    def from_options(cls, options: Any, head: bytes, title: str) -> Svmlight:
        check_no_bits(options, "svmlight")
        return cls(bool(options.multilabel) or has_label_sets(head))

    def pieces(self, feed: TextSource, size: int | None) -> Iterator[FileSpan] | None:
        return feed.spans(size or SPAN_BYTES) if feed.size else None  # files of /proc have size 0 and content

    def parser(self, *, named: bool, unlabelled: bool = False) -> SvmlightParser:
        return SvmlightParser(self.several, unlabelled)


def has_label_sets(head: bytes) -> bool:
    """Return whether the first lines have label sets: at least two and a tenth of all, since few may be errors."""
    if b"," not in head:
        return False
    lines = [line.split(b"#", 1)[0].split(None, 1) for line in head.split(b"\n")[:SNIFFED_LINES]]
    several = sum(bool(parts) and b"," in parts[0] for parts in lines)
    return several > 1 and 10 * several >= sum(map(bool, lines))
