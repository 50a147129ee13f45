"""Labelled text, one example per line: `label<TAB>text`, or `label<BLANK>text` where the first line has no tab.

Lines that begin with `__label__` (fastText) are of the second kind; the prefix is not part of the label. The label is
what precedes the separator, without blanks at its ends; integers become numbers. Everything after it is text: its
words, runs of words and runs of letters are the features (see `ngrams.py`). A text without words (`:-)`) is an example
without features. Blank lines are skipped. Where labels are optional, a line without a tab is all text, and one that
begins with a tab has no label; with blanks as separators, the label can't be left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES, load_word, lowest_bit, mask_at_most, mask_equal
from novikoff.data.formats.base import NO_LABEL_KEY, BadLine, Format, ParsedBlock, Parser, format_excerpt
from novikoff.data.formats.control_bytes import find_nul, has_nul
from novikoff.data.formats.ngram_names import decode_name, format_char_ngram, format_word_ngram
from novikoff.data.formats.ngrams import (
    DEFAULT_SCALE,
    NgramWorkspace,
    allocate_workspace,
    append_ngrams,
    count_max_terms,
    derive_char_seed,
    reject_options,
    resolve_ngram_options,
)
from novikoff.data.merge_terms import HashedTerms, allocate_terms, finish_row
from novikoff.data.names.hashing import DEFAULT_HASH_BITS, hash_bytes
from novikoff.data.rows import Sparse
from novikoff.data.text_source import TextBlock

FASTTEXT_PREFIX = b"__label__"
_PREFIX_WORD = uint64(int.from_bytes(FASTTEXT_PREFIX[:8], "little"))
REASONS = {
    1: ("no label", "expected a label, {separator} and a text, but there is no label before {found}."),
    2: ("no text", "expected a label, {separator} and a text, but there is no text after {found}."),
    3: ("several labels", "expected one label, got a second one: {found}."),
    4: ("control byte", "a line must not contain NUL bytes, got {found} (is the file binary, damaged or UTF-16?)."),
}
NO_LABEL, NO_TEXT, SEVERAL, NUL = REASONS
TAB, BLANK = 0, 1
ABSENT = -1
SEPARATORS = ("tab", "blank")
_NO_SEED: Any = uint64(0)
_INTEGER = re.compile(rb"[+-]?[0-9]{1,15}")


class TextOutput(NamedTuple):
    """Output of the parser for each row, beside its terms."""

    starts: NDArray[np.int64]
    keys: NDArray[np.uint64]
    labels: NDArray[np.int64]
    """Start (ABSENT for none) and end of each label in the text."""
    line_of: NDArray[np.int64]
    problems: NDArray[np.int64]
    """Line, reason, and start and end of the offending text."""


@compiled
def find_byte(text: NDArray[np.uint8], k: int, stop: int, byte: int) -> int:
    """Return the position of the next such byte, or `stop`."""
    found = mask_equal(text, k, byte)
    while found == 0 and k + 64 < stop:
        k += 64
        found = mask_equal(text, k, byte)
    return min(k + lowest_bit(found), stop)


@compiled
def find_blank(text: NDArray[np.uint8], k: int) -> int:
    """Return the position of the next blank; every line ends with one."""
    found = mask_at_most(text, k, 32)
    while found == 0:
        k += 64
        found = mask_at_most(text, k, 32)
    return k + lowest_bit(found)


@compiled
def has_prefix(text: NDArray[np.uint8], k: int, stop: int) -> bool:
    """Return whether `__label__` stands at k."""
    return stop - k >= len(FASTTEXT_PREFIX) and load_word(text, k) == _PREFIX_WORD and text[k + 8] == 95


@compiled
def split_label(text: NDArray[np.uint8], start: int, stop: int, separator: int) -> tuple[int, int, int, int]:
    """Split a line without blanks at its ends; return (reason or 0, start and end of the label, start of the text)."""
    end = find_blank(text, start) if separator == BLANK else find_byte(text, start, stop, 9)
    begin, after = start, end
    if separator == BLANK:
        if has_prefix(text, begin, end):
            begin += len(FASTTEXT_PREFIX)
            while after < stop and text[after] <= 32:
                after += 1
            if has_prefix(text, after, stop):
                return SEVERAL, after, find_blank(text, after), after
    else:
        while begin < end and text[begin] <= 32:
            begin += 1
        while end > begin and text[end - 1] <= 32:
            end -= 1
    if begin == end:
        return NO_LABEL, after, stop, after
    return 0, begin, end, after


@compiled
def parse_text_block(
    text: NDArray[np.uint8],
    block_stop: int,
    separator: int,
    unlabelled: bool,
    workspace: NgramWorkspace,
    letters_seed: Any,
    to: HashedTerms,
    out: TextOutput,
) -> tuple[int, int, int]:
    """Parse all lines of a block; return (rows, lines, problems)."""
    row = line = at = wrong = 0
    start = PADDING_BYTES
    out.starts[0] = 0
    nuls = has_nul(text, PADDING_BYTES, block_stop)
    while start < block_stop:
        line_end = find_byte(text, start, block_stop, 10)
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
            # A tab at the end of the line was skipped above with other trailing blanks: then there is no text.
            reason, begin, end, after = split_label(text, start, line_end, separator)
            absent = False
            if unlabelled and separator == TAB:
                if after == line_end:  # no tab: the whole line is text
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
                last = append_ngrams(text, after, stop, _NO_SEED, letters_seed, workspace, to, at)
                at = finish_row(to, at, last)
                out.keys[row] = NO_LABEL_KEY if absent else hash_bytes(text, begin, end, _NO_SEED)
                out.labels[row, 0] = ABSENT if absent else begin
                out.labels[row, 1] = end
                out.line_of[row] = line
                row += 1
                out.starts[row] = at
        line += 1
        start = line_end + 1
    return row, line, wrong


class TextParser(Parser):
    """Parser of labelled text."""

    def __init__(self, fmt: Text, named: bool, unlabelled: bool) -> None:
        self.format, self.unlabelled = fmt, unlabelled
        self.named = named or fmt.hash_bits == 0
        self.letters_seed = np.uint64(derive_char_seed(0))
        self.used = allocate_terms(0, bits=fmt.hash_bits, signed=fmt.signed_hash, named=False).used
        self.size = 0

    def _ensure_capacity(self, size: int) -> None:
        """Allocate buffers for blocks of `size` bytes. Pages that are never written cost nothing."""
        self.size = size
        fmt = self.format
        lines, terms = size // 2 + 2, count_max_terms(size, fmt.word_ngrams, fmt.char_ngrams)
        made = allocate_terms(
            terms, bits=fmt.hash_bits, signed=fmt.signed_hash, named=self.named, largest=fmt.collisions == "max"
        )
        self.to = made._replace(used=self.used)
        self.workspace = allocate_workspace(size, fmt.word_ngrams, fmt.char_ngrams, fmt.lowercase, fmt.term_weighting)
        self.out = TextOutput(
            starts=np.zeros(lines + 1, np.int64),
            keys=np.zeros(lines, np.uint64),
            labels=np.zeros((lines, 2), np.int64),
            line_of=np.zeros(lines, np.int64),
            problems=np.zeros((lines, 4), np.int64),
        )

    def parse(self, block: TextBlock) -> ParsedBlock:
        if block.size > self.size:
            self._ensure_capacity(block.size)
        out, to, fmt = self.out, self.to, self.format
        separator = SEPARATORS.index(fmt.separator)
        rows, lines, wrong = parse_text_block(
            block.text, block.stop, separator, self.unlabelled, self.workspace, self.letters_seed, to, out
        )
        return ParsedBlock(
            rows=Sparse(out.starts[: rows + 1], to.indices, to.values),
            keys=out.keys[:rows],
            label=build_text_decoder(block, out.labels),
            weights=np.zeros(0),
            line_of=out.line_of[:rows],
            lines=lines,
            features=1 << fmt.hash_bits if fmt.hash_bits else 0,
            problems=[
                BadLine(line, REASONS[reason][0], self._sentence(reason, format_excerpt(block, start, stop)))
                for line, reason, start, stop in out.problems[:wrong].tolist()
            ],
            hashes=to.hashes if self.named else to.hashes[:0],
            spans=to.spans,
        )

    def _sentence(self, reason: int, found: str) -> str:
        return REASONS[reason][1].format(separator=f"a {self.format.separator}", found=found)


def build_text_decoder(block: TextBlock, places: NDArray[np.int64]) -> Callable[[int], int | str | None]:
    """Return a decoder of labels by their positions: integers, or texts."""

    def label(i: int) -> int | str | None:
        if places[i, 0] == ABSENT:
            return None
        text = block.text[places[i, 0] : places[i, 1]].tobytes()
        return int(text) if _INTEGER.fullmatch(text) else decode_name(text)

    return label


@dataclass(frozen=True)
class Text(Format):
    """Labelled text with the settings that the data of one model shares."""

    separator: str = "tab"
    word_ngrams: int = 1
    char_ngrams: int = 0
    lowercase: bool = True
    term_weighting: str = DEFAULT_SCALE
    hash_bits: int = DEFAULT_HASH_BITS
    signed_hash: bool = False
    collisions: str = "sum"

    name: ClassVar[str] = "text"
    options: ClassVar[tuple[str, ...]] = ("signed_hash", "collisions", "word_ngrams", "char_ngrams", "term_weighting")

    @classmethod
    def from_options(cls, options: Any, head: bytes, title: str) -> Text:
        reject_options(options, "text", ("label", "text", "delimiter", "header", "multilabel", "interactions"))
        first = next((line for line in head.split(b"\n") if line.strip()), b"")
        separator = "tab" if b"\t" in first.rstrip() and not first.startswith(FASTTEXT_PREFIX) else "blank"
        bits = DEFAULT_HASH_BITS if options.hash_bits is None else options.hash_bits
        how: dict[str, Any] = {
            "hash_bits": bits, "signed_hash": bool(options.signed_hash), "collisions": options.collisions,
        }  # fmt: skip
        return cls(separator, **how, **resolve_ngram_options(options))

    def parser(self, *, named: bool, unlabelled: bool = False) -> TextParser:
        return TextParser(self, named, unlabelled)

    def feature_name(self, block: TextBlock, span: NDArray[np.int64]) -> str:
        start, stop, letters, _ = (int(n) for n in span)
        text = block.text[start:stop].tobytes()
        return format_char_ngram(text, self.lowercase) if letters else format_word_ngram(text, self.lowercase)

    @property
    def bits_used(self) -> int:
        return self.hash_bits
