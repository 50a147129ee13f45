"""Exact hash table that numbers texts in order of first appearance, for compiled code.

Texts with equal hashes are compared byte by byte, so that two texts are never confused. The hash has a random seed in
each process: clients can't choose texts that collide.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES, load_word
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.data.names.dictionary import EMPTY_ENTRY, HashTable, insert_hash, probe_start
from novikoff.data.names.hashing import hash_bytes

SPAN_LENGTH_BITS = 16  # a span is the start of a text, shifted by this, plus its length
MAX_TEXT_BYTES = (1 << SPAN_LENGTH_BITS) - 1
HASH_SEED = np.array([secrets.randbits(64)], np.uint64)


class StringTableArrays(NamedTuple):
    """The table as compiled code sees it."""

    keys: NDArray[np.uint64]
    numbers: NDArray[np.int64]
    spans: NDArray[np.int64]
    """The span of each text in `letters`, by its number."""
    letters: NDArray[np.uint8]


@compiled
def equal_text(text: NDArray[np.uint8], s: int, letters: NDArray[np.uint8], a: int, length: int) -> bool:
    j = 0
    while j + 8 <= length:
        if load_word(text, s + j) != load_word(letters, a + j):
            return False
        j += 8
    while j < length:
        if get_unchecked(text, s + j) != get_unchecked(letters, a + j):
            return False
        j += 1
    return True


@compiled
def look_up_text(h: Any, text: NDArray[np.uint8], span: int, table: StringTableArrays) -> int:
    """Return the number of a text; EMPTY_ENTRY for a new one."""
    size = len(table.keys)
    at = probe_start(h, size)
    while table.numbers[at] != EMPTY_ENTRY:
        number = table.numbers[at]
        if table.keys[at] == h:
            mine = table.spans[number]
            length = span & MAX_TEXT_BYTES
            if mine & MAX_TEXT_BYTES == length and equal_text(
                text, span >> SPAN_LENGTH_BITS, table.letters, mine >> SPAN_LENGTH_BITS, length
            ):
                return int(number)
        at = (at + 1) & (size - 1)
    return EMPTY_ENTRY


@compiled
def look_up_texts(
    hashes: NDArray[np.uint64],
    text: NDArray[np.uint8],
    spans: NDArray[np.int64],
    table: StringTableArrays,
    unknown: int,
    out: NDArray[np.uint32],
) -> int:
    """Write the number of each text, or `unknown`; return how many are unknown."""
    missing = 0
    for k in range(len(hashes)):
        number = look_up_text(hashes[k], text, spans[k], table)
        if number == EMPTY_ENTRY:
            missing += 1
            number = unknown
        out[k] = number
    return missing


@compiled
def insert_texts(first: int, last: int, seed: NDArray[np.uint64], table: StringTableArrays) -> None:
    """Enter the texts first … last − 1, whose bytes are in the table already."""
    for number in range(first, last):
        begin, length = table.spans[number] >> SPAN_LENGTH_BITS, table.spans[number] & MAX_TEXT_BYTES
        h = hash_bytes(table.letters, begin, begin + length, seed[0])
        insert_hash(h, number, table.keys, table.numbers)


class StringTable(HashTable):
    """Exact numbers of texts; the texts are stored one after another in `letters`."""

    def __init__(self) -> None:
        super().__init__()
        self.used = 0
        self.spans = np.zeros(512, np.int64)
        self.letters = np.zeros(1 << 14, np.uint8)

    @property
    def arrays(self) -> StringTableArrays:
        return StringTableArrays(self.keys, self.numbers, self.spans, self.letters)

    def add(self, texts: Sequence[bytes]) -> None:
        """Add new texts, which get the next numbers. A text above MAX_TEXT_BYTES takes a number but is never found."""
        stored = [text if len(text) <= MAX_TEXT_BYTES else b"" for text in texts]
        total, more = sum(map(len, stored)), self.count + len(stored)
        if PADDING_BYTES + self.used + total + PADDING_BYTES > len(self.letters):
            self.letters = _grow_array(self.letters, 2 * (self.used + total + 2 * PADDING_BYTES))
        if more > len(self.spans):
            self.spans = _grow_array(self.spans, 2 * more)
        lengths = np.fromiter(map(len, stored), np.int64, len(stored))
        begins = PADDING_BYTES + self.used + np.cumsum(lengths) - lengths
        self.letters[PADDING_BYTES + self.used :][:total] = np.frombuffer(b"".join(stored), np.uint8)
        self.spans[self.count : more] = begins << SPAN_LENGTH_BITS | lengths
        first, self.count, self.used = self.count, more, self.used + total
        if 2 * more > len(self.keys):
            first = 0
            self._allocate(1 << (4 * more - 1).bit_length())
        insert_texts(first, more, HASH_SEED, self.arrays)

    def find(self, hashes: Any, text: Any, spans: Any, unknown: int) -> tuple[NDArray[np.uint32], int]:
        """Return the number of each text, `unknown` for those not in the table, and how many of these there are."""
        out = np.empty(len(hashes), np.uint32)
        return out, look_up_texts(hashes, text, spans, self.arrays, unknown, out)


def _grow_array(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.zeros(size, array.dtype)
    larger[: len(array)] = array
    return larger
