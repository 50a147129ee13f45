"""svmlight text, one example a line: `label index:value index:value … # comment`.

Index k is column k, whether the file counts from 0 or from 1; indices grow from left to right and are below 2^31 - 1.
Values are float32 numbers of size up to 1e15. `qid:n` may come first. Several labels may stand side by side, `1,3,7`,
where that is asked for; an example with none of them begins with a blank. A comment begins with #. Where examples may
be without a label, one that begins with a term has none.

Regular files are read by the compiled code itself, in spans (see `tiles.py`); what comes from a pipe or is packed, and
lines too long for a tile, as blocks of text.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from novikoff._compiled import buffers
from novikoff._compiled.buffers import uninitialised
from novikoff.data.validation import LARGEST_INDEX
from novikoff.data.text_source import Block, Feed, Span
from novikoff.data.formats.base import (Format, Parsed, Parser, Problem, Spelled, no_bits, number_label, shown)
from novikoff.data.formats.control_bytes import SENTENCE
from novikoff.data.formats.svmlight_parser import (CONTROL, INDEX, LABEL, LARGE_LABEL, ORDER, QID, RANGE, SEVERAL, VALUE, Out, Tile, parse, parse_span, room_for_marks)
from novikoff.data.rows import Sparse
from novikoff.data.line_reader import TILE, tile_text

REASONS = {
    LABEL: ("label", "the label must be a number, but {} came."),
    INDEX: ("index", f"expected index:value with an index from 0 to {LARGEST_INDEX - 1}, but {{}} came."),
    VALUE: ("value", "expected index:value with a number as value, but {} came."),
    ORDER: ("order", "indices must grow from left to right, but {} comes after one that is not smaller."),
    SEVERAL: ("several labels", "there must be one label, but {} came: several labels are for multi-label learners."),
    QID: ("qid", "qid must be a whole number right after the label, but {} came."),
    CONTROL: ("control byte", SENTENCE),
    LARGE_LABEL: ("label", "labels must be numbers of size up to 2^53 - 1 = 9007199254740991, but {} came."),
    RANGE: ("range", "values must be finite numbers of size up to 1e15, but {} came."),
}
SPAN = 1 << 22
"""Bytes of a file that are parsed in one go: enough that what is done once for each costs little."""


_own = threading.local()


def own_tile() -> Tile:
    """This thread's: what another one has written is in the cache of another processor."""
    if not hasattr(_own, "tile"):
        _own.tile = Tile(tile_text(TILE), *room_for_marks(TILE))
    found: Tile = _own.tile
    return found


class SvmlightParser(Parser):
    def __init__(self, several: bool, unlabelled: bool) -> None:
        self.several, self.unlabelled = several, unlabelled
        self.size = self.marked = 0
        self.in_tiles = True
        """Whether lines have been short enough for tiles so far."""

    def _make_room(self, size: int, *, marks: bool = True) -> None:
        """For so many bytes of text. A line has at least 2 bytes, a term at least 4; memory that is never written costs
        nothing. Tiles have room of their own for marks."""
        self.size = size
        if marks:
            self.marked = size
            self.marks, self.ends, self.lines = room_for_marks(size)
        lines, terms = size // 2 + 2, size // 4 + 16
        self.out = Out(
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

    def parse(self, block: Block) -> Parsed:
        span = self.piece
        if span is not None:
            found = self._of_span(span) if self.in_tiles else None
            if found is not None:
                block.come = span.stop - span.start
                return found
            span.fill(block)
        if block.size > min(self.size, self.marked):
            self._make_room(max(block.size, self.size))
        tile = Tile(block.text, self.marks, self.ends, self.lines)
        return self._parsed(block, *parse(tile, block.stop, self.several, self.unlabelled, self.out))

    def _of_span(self, span: Span) -> Parsed | None:
        """None where a line is too long for a tile, or the file can't be read to the end of the span."""
        size = max(span.stop - span.start, span.most + span.most // 8)  # a span ends with the line that it is in
        if size > self.size:
            self._make_room(size, marks=False)
        where = span.number, span.start, span.stop
        found = parse_span(*where, own_tile(), self.several, self.unlabelled, self.out)
        self.in_tiles = found[0] >= 0
        return self._parsed(span, *found) if self.in_tiles else None

    def _parsed(self, text: Spelled, lines: int, rows: int, wrong: int, features: int) -> Parsed:
        out = self.out
        keys = out.labels[:rows].view("uint64")
        return Parsed(
            rows=Sparse(out.starts[: rows + 1], out.indices, out.values),
            keys=keys,
            label=number_label(keys),
            numbers=out.labels[:rows],
            weights=buffers.zeros(0),
            line_of=out.line_of[:rows],
            lines=lines,
            features=int(features),
            problems=[
                Problem(line, REASONS[reason][0], REASONS[reason][1].format(shown(text, start, stop)))
                for line, reason, start, stop in out.problems[:wrong].tolist()
            ],
            hashes=buffers.zeros(0, "uint64"),
            spans=buffers.zeros((0, 4), "int64"),
            sets=(out.set_starts[: rows + 1], out.set_values) if self.several else None,
            groups=out.groups[:rows],
        )


LOOKED_AT = 1000  # lines


@dataclass(frozen=True)
class Svmlight(Format):
    several: bool = False
    """Whether an example may have several labels."""

    name: ClassVar[str] = "svmlight"
    usual_block: ClassVar[int] = 1 << 21
    options: ClassVar[tuple[str, ...]] = ("several_labels",)

    @classmethod
    def settled(cls, options: Any, head: bytes, title: str) -> Svmlight:
        no_bits(options, "svmlight")
        return cls(bool(options.several_labels) or has_sets(head))

    def pieces(self, feed: Feed, size: int | None) -> Iterator[Span] | None:
        return feed.spans(size or SPAN) if feed.size else None  # some files of the system's say 0, and are not empty

    def parser(self, *, named: bool, unlabelled: bool = False) -> SvmlightParser:
        return SvmlightParser(self.several, unlabelled)


def has_sets(head: bytes) -> bool:
    """Whether the first lines have several labels: two of them and a tenth at least, for a few may be mistakes."""
    if b"," not in head:
        return False
    lines = [line.split(b"#", 1)[0].split(None, 1) for line in head.split(b"\n")[:LOOKED_AT]]
    several = sum(bool(parts) and b"," in parts[0] for parts in lines)
    return several > 1 and 10 * several >= sum(map(bool, lines))
