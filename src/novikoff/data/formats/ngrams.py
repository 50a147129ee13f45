"""The words of a text as features: runs of words, runs of letters, and what each is worth.

A word is a run of letters, digits and underscores, where every byte from 0x80 on is a letter, whatever it means; an
apostrophe between two of these is part of the word. Everything else separates. So Latin-1, or text that is damaged, is
read as well as UTF-8, by its bytes.

Lower case is made of A to Z, and of every two-byte character of UTF-8 (U+0080 to U+07FF: Latin, Greek, Cyrillic,
Armenian, …) whose lower-case form is one such character, too, letter by letter: Σ is σ, also at the end of a word. What
has three bytes or more stays as it is, and so does İ (U+0130), whose lower-case form is two characters.

Hashes: a word is hashed under the seed of its text (0 for labelled text, the hash of its path for a field); a run of
words is `both` of the run without its last word, and that word. A run of N letters is taken from the whole text with
each run of blanks (bytes up to 32) made one, those at its ends left out; its seed is hashed(b"\\x01letters", seed). A
letter is a character of UTF-8: a byte that is not 0x80 to 0xBF, and those that are, after it.

A name that comes n times is worth: count n, binary 1, log 1 + ln n, unit n divided by √(sum of all n²) of the text. By
default log: in one pass over SMS, TREC questions and Reuters news it is the best or next to it with perceptrons, and
not far behind with SGD, which does better with unit where texts are long.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from novikoff._compiled.simd.byte_scan import (PADDING, equal, signed, spread, upto, word)
from novikoff._compiled.buffers import uint64
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import (DISABLED, compiled, compiled_apart, generic)
from novikoff._compiled.simd.dot import element
from novikoff.errors import InputError
from novikoff.data.merge_terms import Slots, merged, put
from novikoff.data.names.hashing import both, hash_of, hashed

MOST_WORDS, MOST_LETTERS = 8, 16
SCALES = ("count", "binary", "log", "unit")
DEFAULT_SCALE = "log"
COUNT, BINARY, LOG, UNIT = range(4)
LETTERS = b"\x01letters"
FIRST_WIDE, LAST_WIDE = 0x80, 0x7FF  # characters of two bytes
WORD = re.compile(rb"[0-9A-Za-z_\x80-\xff]+(?:'[0-9A-Za-z_\x80-\xff]+)*")
_ZERO, _ONE, _LAST, _TOP = (uint64(n) for n in (0, 1, 63, 1 << 63))
_HIGH, _REST = uint64(0x8080808080808080), uint64(0x7F7F7F7F7F7F7F7F)
# Added to seven bits these reach the eighth from A on, and from the one after Z on.
_FROM_A, _PAST_Z = uint64(0x3F3F3F3F3F3F3F3F), uint64(0x2525252525252525)
_TWO = uint64(2)


def lower_of(character: int) -> int:
    """The lower-case form of a two-byte character, as far as it is one itself.

    >>> [chr(lower_of(ord(c))) for c in "ÄΣЖİ×"]
    ['ä', 'σ', 'ж', 'İ', '×']
    """
    lower = chr(character).lower()
    return ord(lower) if len(lower) == 1 and FIRST_WIDE <= ord(lower) <= LAST_WIDE else character


class Words(NamedTuple):
    """What it takes to find the words of one text: settings, and room to work."""

    words: int
    letters: int
    lower: int
    scale: int
    cases: NDArray[np.uint16]
    """The lower-case form of each two-byte character."""
    octets: NDArray[np.uint64]
    low: NDArray[np.uint8]
    """The text in lower case, from PADDING on, seen as words of eight bytes and as bytes."""
    marks: NDArray[np.uint32]
    runs: NDArray[np.uint64]
    begins: NDArray[np.int64]
    """The runs of words that end with the last word, the shortest first, and where they begin."""
    flat: NDArray[np.uint8]
    origin: NDArray[np.uint32]
    """The text without the blanks that are too many, and where each byte comes from."""


def refuse(options: Any, name: str, unfit: tuple[str, ...]) -> None:
    """Options that say nothing about this format are mistakes, not to be passed over."""
    for option in unfit:
        if getattr(options, option) not in (None, False, ()):
            raise InputError(f"--{option.replace('_', '-')} has no meaning for {name}: leave it out.")


def check(options: Any) -> dict[str, Any]:
    """What the user has said about words, with what was left open settled."""
    words = 1 if options.words is None else options.words
    letters = options.letters or 0
    scale = options.scale or DEFAULT_SCALE
    if not 1 <= words <= MOST_WORDS:
        raise InputError(f"--words must be from 1 to {MOST_WORDS}, but is {words}.")
    if not 0 <= letters <= MOST_LETTERS:
        raise InputError(f"--letters must be from 1 to {MOST_LETTERS}, but is {letters}.")
    if scale not in SCALES:
        raise InputError(f"--scale must be one of {', '.join(SCALES)}, but is {scale!r}.")
    return {"words": words, "letters": letters, "lower": bool(options.lower), "scale": scale}


def terms_in(size: int, words: int, letters: int) -> int:
    """How many terms a text of so many bytes can have at most: a word and what separates it have two bytes or more."""
    return words * (size // 2 + 1) + (size if letters else 0) + 16


def room_for(size: int, words: int, letters: int, lower: bool, scale: str) -> Words:
    """For texts of up to so many bytes; memory that is never written costs nothing."""
    octets = np.zeros((size + 3 * PADDING) // 8, np.uint64)
    return Words(
        words=words,
        letters=letters,
        lower=int(lower),
        scale=SCALES.index(scale),
        cases=np.array([lower_of(c) for c in range(FIRST_WIDE, LAST_WIDE + 1)], np.uint16),
        octets=octets,
        low=octets.view(np.uint8),
        marks=np.zeros(size + 64, np.uint32),
        runs=np.zeros(MOST_WORDS, np.uint64),
        begins=np.zeros(MOST_WORDS, np.int64),
        flat=np.zeros(size + 2 * PADDING if letters else 0, np.uint8),
        origin=np.zeros(size + 2 * PADDING if letters else 0, np.uint32),
    )


# --- Lower case ---


@compiled
def to_low(text: NDArray[np.uint8], start: int, stop: int, room: Words) -> None:
    """The text in lower case, or as it is, to `room.low`."""
    seen = _ZERO
    for i in range((stop - start + 7) >> 3):
        letters = np.uint64(word(text, start + 8 * i))
        seen |= letters
        if room.lower != 0:
            rest = letters & _REST
            capital = ~letters & _HIGH & ((rest + _FROM_A) ^ (rest + _PAST_Z))
            letters |= capital >> _TWO
        room.octets[(PADDING >> 3) + i] = letters
    if room.lower != 0 and seen & _HIGH != _ZERO:
        lower_wide(room.low, PADDING, PADDING + stop - start, room.cases)


@compiled_apart
def lower_wide(low: NDArray[np.uint8], start: int, stop: int, cases: NDArray[np.uint16]) -> None:
    """The two-byte characters, in place; what is none is left as it is."""
    k = start
    while k < stop - 1:
        lead, more = signed(low[k]), signed(low[k + 1])
        if 0xC2 <= lead <= 0xDF and 0x80 <= more <= 0xBF:
            character = signed(cases[((lead & 31) << 6 | (more & 63)) - FIRST_WIDE])
            low[k] = 0xC0 | character >> 6
            low[k + 1] = 0x80 | character & 63
            k += 1
        k += 1


# --- Words ---


@compiled
def is_letter(byte: int) -> bool:
    return byte >= 128 or 97 <= byte <= 122 or 65 <= byte <= 90 or 48 <= byte <= 57 or byte == 95


def _find(low: NDArray[np.uint8], start: int, stop: int, marks: NDArray[np.uint32]) -> int:
    at = 0
    before = inside = _ZERO  # whether the byte before is a letter, and whether it is in a word
    for base in range(start, stop, 64):
        letters = ~upto(low, base, 127) | equal(low, base, 95)
        letters |= upto(low, base, 122) & ~upto(low, base, 96)
        letters |= upto(low, base, 90) & ~upto(low, base, 64)
        letters |= upto(low, base, 57) & ~upto(low, base, 47)
        if base + 64 > stop:
            letters &= (_ONE << np.uint64(stop - base)) - _ONE
        members = letters
        apostrophes = equal(low, base, 39)
        if apostrophes != _ZERO:
            after = _TOP if base + 64 < stop and is_letter(signed(low[base + 64])) else _ZERO
            members |= apostrophes & (letters << _ONE | before) & (letters >> _ONE | after)
        at = spread(marks, at, base, members ^ (members << _ONE | inside))
        before, inside = letters >> _LAST, members >> _LAST
    if inside != _ZERO:
        marks[at] = stop
        at += 1
    return at


def _plain_find(low: Any, start: int, stop: int, marks: Any) -> int:
    """What `find_words` means."""
    edges = [start + k for match in WORD.finditer(bytes(low[start:stop])) for k in match.span()]
    marks[: len(edges)] = edges
    return len(edges)


find_words = compiled(_plain_find if DISABLED else _find)
"""Marks where each word begins and where it ends; returns how many marks there are."""


@compiled
def put_words(room: Words, count: int, shift: int, seed: Any, to: Slots, at: int) -> int:
    """Each word between two marks, then the runs that end with it, the shortest first."""
    known = 0
    for j in range(0, count, 2):
        start, stop = signed(element(room.marks, j)), signed(element(room.marks, j + 1))
        h = hash_of(room.low, start, stop, seed)
        at = put(to, at, h, 1.0, start + shift, stop + shift, 0)
        if room.words > 1:
            for n in range(known, 0, -1):
                room.runs[n] = both(room.runs[n - 1], h)
                room.begins[n] = room.begins[n - 1]
            room.runs[0] = h
            room.begins[0] = start
            for n in range(1, known + 1):
                at = put(to, at, room.runs[n], 1.0, room.begins[n] + shift, stop + shift, 0)
            known = min(known + 1, room.words - 1)
    return at


@compiled_apart
def put_letters(room: Words, size: int, shift: int, seed: Any, to: Slots, at: int) -> int:
    """Runs of letters of `room.low`, in their order."""
    end = PADDING
    for k in range(PADDING, PADDING + size):
        byte = room.low[k]
        if byte <= 32:
            if end == PADDING or room.flat[end - 1] == 32:
                continue
            byte = np.uint8(32)
        room.flat[end] = byte
        room.origin[end] = k
        end += 1
    if end > PADDING and room.flat[end - 1] == 32:
        end -= 1
    count = 0
    for k in range(PADDING, end):
        if k == PADDING or room.flat[k] & 0xC0 != 0x80:
            room.marks[count] = k
            count += 1
    room.marks[count] = end
    for i in range(count - room.letters + 1):
        start, stop = signed(room.marks[i]), signed(room.marks[i + room.letters])
        h = hash_of(room.flat, start, stop, seed)
        first, last = signed(room.origin[start]), signed(room.origin[stop - 1]) + 1
        at = put(to, at, h, 1.0, first + shift, last + shift, 1)
    return at


@compiled
def scale_values(values: NDArray[np.float32], first: int, last: int, scale: int) -> None:
    if scale == BINARY:
        for k in range(first, last):
            values[k] = 1.0
    elif scale == LOG:
        for k in range(first, last):
            values[k] = 1.0 + math.log(np.float64(values[k]))
    elif scale == UNIT:
        total = 0.0
        for k in range(first, last):
            total += np.float64(values[k]) * np.float64(values[k])
        length = math.sqrt(total)
        for k in range(first, last):
            values[k] = np.float64(values[k]) / length


@compiled
def words_of(
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    seed: Any,
    letters_seed: Any,
    room: Words,
    to: Slots,
    first: int,
) -> int:
    """The names in text[start:stop], each once, with what it is worth, from term `first` on; returns where they end.

    Spans, where wanted: from, to, and 1 for letters.
    """
    to_low(text, start, stop, room)
    count = find_words(room.low, PADDING, PADDING + stop - start, room.marks)
    shift = start - PADDING
    at = put_words(room, count, shift, seed, to, first)
    if room.letters != 0:
        at = put_letters(room, stop - start, shift, letters_seed, to, at)
    at = merged(to.hashes, to, first, at)
    scale_values(to.values, first, at, room.scale)
    return at


class NoWords(NamedTuple):
    """In place of `Words` where nothing is text: all that has to do with words need not be compiled then."""

    unused: int


@generic
def put_text(
    room: NoWords | Words, text: NDArray[np.uint8], s: int, e: int, seed: Any, letters: Any, to: Slots, at: int
) -> int:
    """The words of a text; returns where their terms end."""
    return at


@put_text.of(Words)
def _(room: Words, text: NDArray[np.uint8], s: int, e: int, seed: Any, letters: Any, to: Slots, at: int) -> int:
    return words_of(text, s, e, seed, letters, room, to, at)


def letters_seed(seed: int) -> int:
    return hashed(LETTERS, seed)
