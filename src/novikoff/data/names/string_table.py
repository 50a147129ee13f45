"""Texts and their numbers, in the order in which they came: an exact table for compiled code.

A text is found by its hash and then compared byte by byte: two texts are never taken for one, whoever chose them. The
hash has a seed of its own in each process, so that nobody can make many texts fall on one place beforehand.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

from novikoff._compiled.simd.byte_scan import PADDING, word
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import compiled
from novikoff._compiled.simd.dot import element
from novikoff.data.names.dictionary import EMPTY, place
from novikoff.data.names.hashing import hash_of

SPAN = 16  # bits for the length of a text: a span is its beginning, shifted by so many, and its length
LONGEST = (1 << SPAN) - 1
SEED = np.array([secrets.randbits(64)], np.uint64)


class Book(NamedTuple):
    """The table as compiled code sees it."""

    keys: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    spans: NDArray[np.int64]
    """Where each text stands in `letters`, by its number."""
    letters: NDArray[np.uint8]


@compiled
def same_text(text: NDArray[np.uint8], s: int, letters: NDArray[np.uint8], a: int, length: int) -> bool:
    j = 0
    while j + 8 <= length:
        if word(text, s + j) != word(letters, a + j):
            return False
        j += 8
    while j < length:
        if element(text, s + j) != element(letters, a + j):
            return False
        j += 1
    return True


@compiled
def number_of(h: Any, text: NDArray[np.uint8], span: int, book: Book) -> int:
    """The number of a text; EMPTY for one that is new."""
    size = len(book.keys)
    at = place(h, size)
    while book.numbers[at] != EMPTY:
        number = book.numbers[at]
        if book.keys[at] == h:
            mine = book.spans[number]
            length = span & LONGEST
            if mine & LONGEST == length and same_text(text, span >> SPAN, book.letters, mine >> SPAN, length):
                return int(number)
        at = (at + 1) & (size - 1)
    return EMPTY


@compiled
def numbers_of(
    hashes: NDArray[np.uint64],
    text: NDArray[np.uint8],
    spans: NDArray[np.int64],
    book: Book,
    unknown: int,
    out: NDArray[np.uint32],
) -> int:
    """The number of each text, or `unknown`; returns how many are not known."""
    missing = 0
    for k in range(len(hashes)):
        number = number_of(hashes[k], text, spans[k], book)
        if number == EMPTY:
            missing += 1
            number = unknown
        out[k] = number
    return missing


@compiled
def put_all(first: int, last: int, seed: NDArray[np.uint64], book: Book) -> None:
    """Enters the texts with these numbers, whose letters are there."""
    size = len(book.keys)
    for number in range(first, last):
        begin, length = book.spans[number] >> SPAN, book.spans[number] & LONGEST
        h = hash_of(book.letters, begin, begin + length, seed[0])
        at = place(h, size)
        while book.numbers[at] != EMPTY:
            at = (at + 1) & (size - 1)
        book.keys[at] = h
        book.numbers[at] = number


class Spellings:
    def __init__(self) -> None:
        self.count = self.used = 0
        self.spans = np.zeros(512, np.int64)
        self.letters = np.zeros(1 << 14, np.uint8)
        self._lay_out(1024)

    def _lay_out(self, size: int) -> None:
        self.keys, self.numbers = np.zeros(size, np.uint64), np.full(size, EMPTY, np.int64)

    @property
    def book(self) -> Book:
        return Book(self.keys, self.numbers, self.spans, self.letters)

    def add(self, texts: Sequence[bytes]) -> None:
        """Texts that are new, each with the next number. One that is too long to be asked for takes its number, too."""
        kept = [text if len(text) <= LONGEST else b"" for text in texts]
        total, more = sum(map(len, kept)), self.count + len(kept)
        if PADDING + self.used + total + PADDING > len(self.letters):
            self.letters = _grown(self.letters, 2 * (self.used + total + 2 * PADDING))
        if more > len(self.spans):
            self.spans = _grown(self.spans, 2 * more)
        lengths = np.fromiter(map(len, kept), np.int64, len(kept))
        begins = PADDING + self.used + np.cumsum(lengths) - lengths
        self.letters[PADDING + self.used :][:total] = np.frombuffer(b"".join(kept), np.uint8)
        self.spans[self.count : more] = begins << SPAN | lengths
        first, self.count, self.used = self.count, more, self.used + total
        if 2 * more > len(self.keys):
            first = 0
            self._lay_out(1 << (4 * more - 1).bit_length())
        put_all(first, more, SEED, self.book)

    def find(self, hashes: Any, text: Any, spans: Any, unknown: int) -> tuple[NDArray[np.uint32], int]:
        """The number of each of these texts, `unknown` for those that are not known; and how many these are."""
        out = np.empty(len(hashes), np.uint32)
        return out, numbers_of(hashes, text, spans, self.book, unknown, out)


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.zeros(size, array.dtype)
    larger[: len(array)] = array
    return larger
