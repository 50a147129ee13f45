"""Labelled text, one example a line: `label<TAB>text`, or `label<BLANK>text` where the first line has no tab.

A first line that begins with `__label__` (fastText) is of the second kind, too; there that prefix is not part of the
label. The label is what stands before the separator, blanks at its ends left out; one that is a whole number is that
number. Everything after it is text: its words, runs of words and runs of letters are the features (see `words.py`). A
text may have no words (`:-)`): an example without features. Lines that are empty or blank are no examples. Where
examples may be without a label, a line without a tab is all text, and nothing before the tab is no label; where a blank
separates, nothing tells a label from the first word, and there must be one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from novikoff._compiled.simd.byte_scan import (PADDING, equal, lowest, upto, word)
from novikoff._compiled.buffers import uint64
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import compiled
from novikoff.data.merge_terms import Slots, finished_row, slots
from novikoff.data.text_source import Block
from novikoff.data.formats.base import (NO_LABEL_KEY, Format, Parsed, Parser, Problem, shown)
from novikoff.data.formats.control_bytes import find_nul, has_nul
from novikoff.data.formats.ngram_names import letters_name, spelled, words_name
from novikoff.data.formats.ngrams import (DEFAULT_SCALE, Words, check, letters_seed, refuse, room_for, terms_in, words_of)
from novikoff.data.names.hashing import DEFAULT_BITS, hash_of
from novikoff.data.rows import Sparse

PREFIX = b"__label__"
_PREFIX = uint64(int.from_bytes(PREFIX[:8], "little"))
REASONS = {
    1: ("no label", "expected a label, {separator} and a text, but there is no label before {came}."),
    2: ("no text", "expected a label, {separator} and a text, but no text comes after {came}."),
    3: ("several labels", "there must be one label, but a second one came: {came}."),
    4: ("control byte", "a line must not contain NUL bytes, but {came} came (is the file binary, damaged or UTF-16?)."),
}
NO_LABEL, NO_TEXT, SEVERAL, NUL = REASONS
TAB, BLANK = 0, 1
ABSENT = -1
SEPARATORS = ("tab", "blank")
_NO_SEED: Any = uint64(0)
_WHOLE = re.compile(rb"[+-]?[0-9]{1,15}")


class Out(NamedTuple):
    """What a parser fills, beside the terms."""

    starts: NDArray[np.int64]
    keys: NDArray[np.uint64]
    labels: NDArray[np.int64]
    """Where the label of each row stands: from (ABSENT where there is none), to."""
    line_of: NDArray[np.int64]
    problems: NDArray[np.int64]
    """Line, reason, and from where to where what came stands."""


@compiled
def next_of(text: NDArray[np.uint8], k: int, stop: int, byte: int) -> int:
    """Where the next such byte is, or stop."""
    found = equal(text, k, byte)
    while found == 0 and k + 64 < stop:
        k += 64
        found = equal(text, k, byte)
    return min(k + lowest(found), stop)


@compiled
def next_blank(text: NDArray[np.uint8], k: int) -> int:
    """Where the next blank is; every line ends with one."""
    found = upto(text, k, 32)
    while found == 0:
        k += 64
        found = upto(text, k, 32)
    return k + lowest(found)


@compiled
def has_prefix(text: NDArray[np.uint8], k: int, stop: int) -> bool:
    """Whether `__label__` stands here."""
    return stop - k >= len(PREFIX) and word(text, k) == _PREFIX and text[k + 8] == 95


@compiled
def label_of(text: NDArray[np.uint8], start: int, stop: int, separator: int) -> tuple[int, int, int, int]:
    """The label of a line without blanks at its ends: (reason or 0, from, to, where the text begins)."""
    end = next_blank(text, start) if separator == BLANK else next_of(text, start, stop, 9)
    begin, after = start, end
    if separator == BLANK:
        if has_prefix(text, begin, end):
            begin += len(PREFIX)
            while after < stop and text[after] <= 32:
                after += 1
            if has_prefix(text, after, stop):
                return SEVERAL, after, next_blank(text, after), after
    else:
        while begin < end and text[begin] <= 32:
            begin += 1
        while end > begin and text[end - 1] <= 32:
            end -= 1
    if begin == end:
        return NO_LABEL, after, stop, after
    return 0, begin, end, after


@compiled
def parse(
    text: NDArray[np.uint8],
    block_stop: int,
    separator: int,
    unlabelled: bool,
    room: Words,
    letters_seed: Any,
    to: Slots,
    out: Out,
) -> tuple[int, int, int]:
    """All lines of a block: (rows, lines, problems)."""
    row = line = at = wrong = 0
    start = PADDING
    out.starts[0] = 0
    nuls = has_nul(text, PADDING, block_stop)
    while start < block_stop:
        line_end = next_of(text, start, block_stop, 10)
        stop = line_end
        bad = find_nul(text, start, stop) if nuls else -1
        while stop > start and text[stop - 1] <= 32:
            stop -= 1
        if separator == BLANK:
            while start < stop and text[start] <= 32:
                start += 1
        if bad >= 0:
            out.problems[wrong, 0] = line
            out.problems[wrong, 1] = NUL
            out.problems[wrong, 2] = bad
            out.problems[wrong, 3] = bad + 1
            wrong += 1
        elif start < stop:
            # A tab at the end of the line, after which nothing comes, has just been left out with the blanks there.
            reason, begin, end, after = label_of(text, start, line_end, separator)
            absent = False
            if unlabelled and separator == TAB:
                if after == line_end:  # no tab: all of it is text
                    absent, after = True, start
                elif reason == NO_LABEL:
                    absent, reason = True, 0
            if reason == 0 and after >= stop:
                reason = NO_TEXT
            if reason != 0:
                out.problems[wrong, 0] = line
                out.problems[wrong, 1] = reason
                out.problems[wrong, 2] = begin
                out.problems[wrong, 3] = min(end, stop)
                wrong += 1
            else:
                last = words_of(text, after, stop, _NO_SEED, letters_seed, room, to, at)
                at = finished_row(to, at, last)
                out.keys[row] = NO_LABEL_KEY if absent else hash_of(text, begin, end, _NO_SEED)
                out.labels[row, 0] = ABSENT if absent else begin
                out.labels[row, 1] = end
                out.line_of[row] = line
                row += 1
                out.starts[row] = at
        line += 1
        start = line_end + 1
    return row, line, wrong


class TextParser(Parser):
    def __init__(self, settled: Text, named: bool, unlabelled: bool) -> None:
        self.settled, self.unlabelled = settled, unlabelled
        self.named = named or settled.bits == 0
        self.letters_seed = np.uint64(letters_seed(0))
        self.used = slots(0, bits=settled.bits, signed=settled.signed, named=False).used
        self.size = 0

    def _make_room(self, size: int) -> None:
        """For a block of so many bytes. Memory that is never written costs nothing."""
        self.size = size
        fmt = self.settled
        lines, terms = size // 2 + 2, terms_in(size, fmt.words, fmt.letters)
        made = slots(terms, bits=fmt.bits, signed=fmt.signed, named=self.named, largest=fmt.largest)
        self.to = made._replace(used=self.used)
        self.room = room_for(size, fmt.words, fmt.letters, fmt.lower, fmt.scale)
        self.out = Out(
            starts=np.zeros(lines + 1, np.int64),
            keys=np.zeros(lines, np.uint64),
            labels=np.zeros((lines, 2), np.int64),
            line_of=np.zeros(lines, np.int64),
            problems=np.zeros((lines, 4), np.int64),
        )

    def parse(self, block: Block) -> Parsed:
        if block.size > self.size:
            self._make_room(block.size)
        out, to, fmt = self.out, self.to, self.settled
        separator = SEPARATORS.index(fmt.separator)
        rows, lines, wrong = parse(
            block.text, block.stop, separator, self.unlabelled, self.room, self.letters_seed, to, out
        )
        return Parsed(
            rows=Sparse(out.starts[: rows + 1], to.indices, to.values),
            keys=out.keys[:rows],
            label=text_label(block, out.labels),
            weights=np.zeros(0),
            line_of=out.line_of[:rows],
            lines=lines,
            features=1 << fmt.bits if fmt.bits else 0,
            problems=[
                Problem(line, REASONS[reason][0], self._sentence(reason, shown(block, start, stop)))
                for line, reason, start, stop in out.problems[:wrong].tolist()
            ],
            hashes=to.hashes if self.named else to.hashes[:0],
            spans=to.spans,
        )

    def _sentence(self, reason: int, came: str) -> str:
        return REASONS[reason][1].format(separator=f"a {self.settled.separator}", came=came)


def text_label(block: Block, places: NDArray[np.int64]) -> Callable[[int], int | str | None]:
    """Labels by the places where they stand: whole numbers, or texts."""

    def label(i: int) -> int | str | None:
        if places[i, 0] == ABSENT:
            return None
        text = block.text[places[i, 0] : places[i, 1]].tobytes()
        return int(text) if _WHOLE.fullmatch(text) else spelled(text)

    return label


@dataclass(frozen=True)
class Text(Format):
    separator: str = "tab"
    words: int = 1
    letters: int = 0
    lower: bool = True
    scale: str = DEFAULT_SCALE
    bits: int = DEFAULT_BITS
    signed: bool = False
    largest: bool = False

    name: ClassVar[str] = "text"
    options: ClassVar[tuple[str, ...]] = ("signed", "largest", "words", "letters", "scale")

    @classmethod
    def settled(cls, options: Any, head: bytes, title: str) -> Text:
        refuse(options, "text", ("label", "text", "delimiter", "header", "several_labels", "interactions"))
        first = next((line for line in head.split(b"\n") if line.strip()), b"")
        separator = "tab" if b"\t" in first.rstrip() and not first.startswith(PREFIX) else "blank"
        bits = DEFAULT_BITS if options.bits is None else options.bits
        how: dict[str, Any] = {"bits": bits, "signed": bool(options.signed), "largest": bool(options.largest)}
        return cls(separator, **how, **check(options))

    def parser(self, *, named: bool, unlabelled: bool = False) -> TextParser:
        return TextParser(self, named, unlabelled)

    def feature_name(self, block: Block, span: NDArray[np.int64]) -> str:
        start, stop, letters, _ = (int(n) for n in span)
        text = block.text[start:stop].tobytes()
        return letters_name(text, self.lower) if letters else words_name(text, self.lower)

    @property
    def bits_used(self) -> int:
        return self.bits
