"""Compiled features of texts: words, runs of words, runs of letters, and their values.

A word is a run of letters, digits and underscores, where every byte from 0x80 on is a letter; an apostrophe between two
of these is part of the word. Everything else separates. So Latin-1 and damaged text are read by their bytes, like
UTF-8.

Lower case covers A to Z and every two-byte UTF-8 character (U+0080 to U+07FF: Latin, Greek, Cyrillic, Armenian, …)
whose lower-case form is one such character, letter by letter: Σ becomes σ, also at the end of a word. Characters of
three bytes or more stay unchanged, and so does İ (U+0130), whose lower-case form has two characters.

Hashes: the seed of a word is that of its text (0 for labelled text, the hash of its path for a field). A run of words
is `combine_hashes` of the run without its last word, and that word. Runs of N letters are taken from the whole text
with each run of blanks (bytes up to 32) collapsed and those at its ends removed; their seed is hash(b"\\x01letters",
seed). A letter is a UTF-8 character: a byte outside of 0x80 to 0xBF with the bytes in that range after it.

A name that occurs n times has the value: count n, binary 1, log 1 + ln n, unit n divided by √(sum of all n²) of the
text. The default is log: in one pass over SMS, TREC questions and Reuters news it is the best or nearly so with
perceptrons, and not far behind with SGD, which does better with unit on long texts.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import JIT_DISABLED, compiled, compiled_not_inlined, generic
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import (
    PADDING_BYTES,
    load_word,
    mask_at_most,
    mask_equal,
    to_int64,
    write_bit_positions,
)
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.data.merge_terms import HashedTerms, append_term, merge_duplicates
from novikoff.data.names.hashing import combine_hashes, hash_bytes, hash_name
from novikoff.errors import InputError

MAX_WORD_NGRAM, MAX_CHAR_NGRAM = 8, 16
SCALES = ("count", "binary", "log", "unit")
DEFAULT_SCALE = "log"
COUNT, BINARY, LOG, UNIT = range(4)
CHAR_NGRAM_KEY = b"\x01letters"
FIRST_TWO_BYTE, LAST_TWO_BYTE = 0x80, 0x7FF  # range of two-byte characters
WORD_PATTERN = re.compile(rb"[0-9A-Za-z_\x80-\xff]+(?:'[0-9A-Za-z_\x80-\xff]+)*")
_ZERO, _ONE, _LAST, _TOP = (uint64(n) for n in (0, 1, 63, 1 << 63))
_HIGH, _REST = uint64(0x8080808080808080), uint64(0x7F7F7F7F7F7F7F7F)
# SWAR constants: added to seven bits they set the eighth from A on, and from the byte after Z on.
_FROM_A, _PAST_Z = uint64(0x3F3F3F3F3F3F3F3F), uint64(0x2525252525252525)
_TWO = uint64(2)


def lower_two_byte(character: int) -> int:
    """Return the lower-case form of a two-byte character, if that is a two-byte character; else the character.

    >>> [chr(lower_two_byte(ord(c))) for c in "ÄΣЖİ×"]
    ['ä', 'σ', 'ж', 'İ', '×']
    """
    lower = chr(character).lower()
    return ord(lower) if len(lower) == 1 and FIRST_TWO_BYTE <= ord(lower) <= LAST_TWO_BYTE else character


class NgramWorkspace(NamedTuple):
    """Settings and buffers to extract the features of one text."""

    words: int
    letters: int
    lower: int
    scale: int
    cases: NDArray[np.uint16]
    """The lower-case form of each two-byte character."""
    octets: NDArray[np.uint64]
    low: NDArray[np.uint8]
    """The text in lower case, from PADDING_BYTES on, viewed as 64-bit words and as bytes."""
    marks: NDArray[np.uint32]
    runs: NDArray[np.uint64]
    begins: NDArray[np.int64]
    """Hashes and starts of the runs of words that end with the last word, the shortest first."""
    flat: NDArray[np.uint8]
    origin: NDArray[np.uint32]
    """The text with blanks collapsed, and the position in the text of each byte."""


def reject_options(options: Any, name: str, unfit: tuple[str, ...]) -> None:
    """Raise InputError for options that have no effect on a format."""
    for option in unfit:
        if getattr(options, option) not in (None, False, ()):
            raise InputError(f"--{option.replace('_', '-')} has no meaning for {name}: leave it out.")


def resolve_ngram_options(options: Any) -> dict[str, Any]:
    """Return the options about words, with defaults filled in; raise InputError for invalid ones."""
    words = 1 if options.word_ngrams is None else options.word_ngrams
    letters = options.char_ngrams or 0
    scale = options.term_weighting or DEFAULT_SCALE
    if not 1 <= words <= MAX_WORD_NGRAM:
        raise InputError(f"--word-ngrams must be from 1 to {MAX_WORD_NGRAM}, but is {words}.")
    if not 0 <= letters <= MAX_CHAR_NGRAM:
        raise InputError(f"--char-ngrams must be from 1 to {MAX_CHAR_NGRAM}, but is {letters}.")
    if scale not in SCALES:
        raise InputError(f"--term-weighting must be one of {', '.join(SCALES)}, but is {scale!r}.")
    return {"word_ngrams": words, "char_ngrams": letters, "lowercase": bool(options.lowercase), "term_weighting": scale}


def count_max_terms(size: int, words: int, letters: int) -> int:
    """Return the largest number of terms in `size` bytes of text: a word and its separator have at least two."""
    return words * (size // 2 + 1) + (size if letters else 0) + 16


def allocate_workspace(size: int, words: int, letters: int, lower: bool, scale: str) -> NgramWorkspace:
    """Allocate a workspace for texts of up to `size` bytes; pages that are never written cost nothing."""
    octets = np.zeros((size + 3 * PADDING_BYTES) // 8, np.uint64)
    return NgramWorkspace(
        words=words,
        letters=letters,
        lower=int(lower),
        scale=SCALES.index(scale),
        cases=np.array([lower_two_byte(c) for c in range(FIRST_TWO_BYTE, LAST_TWO_BYTE + 1)], np.uint16),
        octets=octets,
        low=octets.view(np.uint8),
        marks=np.zeros(size + 64, np.uint32),
        runs=np.zeros(MAX_WORD_NGRAM, np.uint64),
        begins=np.zeros(MAX_WORD_NGRAM, np.int64),
        flat=np.zeros(size + 2 * PADDING_BYTES if letters else 0, np.uint8),
        origin=np.zeros(size + 2 * PADDING_BYTES if letters else 0, np.uint32),
    )


# --- Lower case ---


@compiled
def write_lower_case(text: NDArray[np.uint8], start: int, stop: int, workspace: NgramWorkspace) -> None:
    """Write the text to `workspace.low`, in lower case if the settings say so."""
    seen = _ZERO
    for i in range((stop - start + 7) >> 3):
        letters = np.uint64(load_word(text, start + 8 * i))
        seen |= letters
        if workspace.lower != 0:
            rest = letters & _REST
            capital = ~letters & _HIGH & ((rest + _FROM_A) ^ (rest + _PAST_Z))
            letters |= capital >> _TWO
        workspace.octets[(PADDING_BYTES >> 3) + i] = letters
    if workspace.lower != 0 and seen & _HIGH != _ZERO:
        lower_two_bytes_in_place(workspace.low, PADDING_BYTES, PADDING_BYTES + stop - start, workspace.cases)


@compiled_not_inlined
def lower_two_bytes_in_place(low: NDArray[np.uint8], start: int, stop: int, cases: NDArray[np.uint16]) -> None:
    """Convert two-byte characters to lower case in place; other bytes stay unchanged."""
    k = start
    while k < stop - 1:
        lead, more = to_int64(low[k]), to_int64(low[k + 1])
        if 0xC2 <= lead <= 0xDF and 0x80 <= more <= 0xBF:
            character = to_int64(cases[((lead & 31) << 6 | (more & 63)) - FIRST_TWO_BYTE])
            low[k] = 0xC0 | character >> 6
            low[k + 1] = 0x80 | character & 63
            k += 1
        k += 1


# --- Words ---


@compiled
def is_word_byte(byte: int) -> bool:
    return byte >= 128 or 97 <= byte <= 122 or 65 <= byte <= 90 or 48 <= byte <= 57 or byte == 95


def _find_words(low: NDArray[np.uint8], start: int, stop: int, marks: NDArray[np.uint32]) -> int:
    at = 0
    before = inside = _ZERO  # flags of the previous byte: a letter, in a word
    for base in range(start, stop, 64):
        letters = ~mask_at_most(low, base, 127) | mask_equal(low, base, 95)
        letters |= mask_at_most(low, base, 122) & ~mask_at_most(low, base, 96)
        letters |= mask_at_most(low, base, 90) & ~mask_at_most(low, base, 64)
        letters |= mask_at_most(low, base, 57) & ~mask_at_most(low, base, 47)
        if base + 64 > stop:
            letters &= (_ONE << np.uint64(stop - base)) - _ONE
        members = letters
        apostrophes = mask_equal(low, base, 39)
        if apostrophes != _ZERO:
            after = _TOP if base + 64 < stop and is_word_byte(to_int64(low[base + 64])) else _ZERO
            members |= apostrophes & (letters << _ONE | before) & (letters >> _ONE | after)
        at = write_bit_positions(marks, at, base, members ^ (members << _ONE | inside))
        before, inside = letters >> _LAST, members >> _LAST
    if inside != _ZERO:
        marks[at] = stop
        at += 1
    return at


def _plain_find_words(low: Any, start: int, stop: int, marks: Any) -> int:
    """Reference implementation of `find_words`."""
    edges = [start + k for match in WORD_PATTERN.finditer(bytes(low[start:stop])) for k in match.span()]
    marks[: len(edges)] = edges
    return len(edges)


find_words = compiled(_plain_find_words if JIT_DISABLED else _find_words)
"""Write the start and the end of each word to `marks`; return the number of marks."""


@compiled
def append_word_ngrams(workspace: NgramWorkspace, count: int, shift: int, seed: Any, to: HashedTerms, at: int) -> int:
    """Append each marked word, followed by the runs that end with it, the shortest first."""
    known = 0
    for j in range(0, count, 2):
        start, stop = to_int64(get_unchecked(workspace.marks, j)), to_int64(get_unchecked(workspace.marks, j + 1))
        h = hash_bytes(workspace.low, start, stop, seed)
        at = append_term(to, at, h, 1.0, start + shift, stop + shift, 0)
        if workspace.words > 1:
            for n in range(known, 0, -1):
                workspace.runs[n] = combine_hashes(workspace.runs[n - 1], h)
                workspace.begins[n] = workspace.begins[n - 1]
            workspace.runs[0] = h
            workspace.begins[0] = start
            for n in range(1, known + 1):
                at = append_term(to, at, workspace.runs[n], 1.0, workspace.begins[n] + shift, stop + shift, 0)
            known = min(known + 1, workspace.words - 1)
    return at


@compiled_not_inlined
def append_char_ngrams(workspace: NgramWorkspace, size: int, shift: int, seed: Any, to: HashedTerms, at: int) -> int:
    """Append the runs of letters of `workspace.low`, in order."""
    end = PADDING_BYTES
    for k in range(PADDING_BYTES, PADDING_BYTES + size):
        byte = workspace.low[k]
        if byte <= 32:
            if end == PADDING_BYTES or workspace.flat[end - 1] == 32:
                continue
            byte = np.uint8(32)
        workspace.flat[end] = byte
        workspace.origin[end] = k
        end += 1
    if end > PADDING_BYTES and workspace.flat[end - 1] == 32:
        end -= 1
    count = 0
    for k in range(PADDING_BYTES, end):
        if k == PADDING_BYTES or workspace.flat[k] & 0xC0 != 0x80:
            workspace.marks[count] = k
            count += 1
    workspace.marks[count] = end
    for i in range(count - workspace.letters + 1):
        start, stop = to_int64(workspace.marks[i]), to_int64(workspace.marks[i + workspace.letters])
        h = hash_bytes(workspace.flat, start, stop, seed)
        first, last = to_int64(workspace.origin[start]), to_int64(workspace.origin[stop - 1]) + 1
        at = append_term(to, at, h, 1.0, first + shift, last + shift, 1)
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
def append_ngrams(
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    seed: Any,
    letters_seed: Any,
    workspace: NgramWorkspace,
    to: HashedTerms,
    first: int,
) -> int:
    """Append the features of text[start:stop], each once with its value, from term `first` on; return the new end.

    Spans, where wanted, are start, end, and 1 for runs of letters.
    """
    write_lower_case(text, start, stop, workspace)
    count = find_words(workspace.low, PADDING_BYTES, PADDING_BYTES + stop - start, workspace.marks)
    shift = start - PADDING_BYTES
    at = append_word_ngrams(workspace, count, shift, seed, to, first)
    if workspace.letters != 0:
        at = append_char_ngrams(workspace, stop - start, shift, letters_seed, to, at)
    at = merge_duplicates(to.hashes, to, first, at)
    scale_values(to.values, first, at, workspace.scale)
    return at


class NoNgrams(NamedTuple):
    """Takes the place of `NgramWorkspace` where there is no text: then nothing about words is compiled."""

    unused: int


@generic
def append_text(
    workspace: NoNgrams | NgramWorkspace,
    text: NDArray[np.uint8],
    s: int,
    e: int,
    seed: Any,
    letters: Any,
    to: HashedTerms,
    at: int,
) -> int:
    """Append the features of a text; return the new end."""
    return at


@append_text.of(NgramWorkspace)
def _append_text_ngram_workspace(
    workspace: NgramWorkspace,
    text: NDArray[np.uint8],
    s: int,
    e: int,
    seed: Any,
    letters: Any,
    to: HashedTerms,
    at: int,
) -> int:
    return append_ngrams(text, s, e, seed, letters, workspace, to, at)


def derive_char_seed(seed: int) -> int:
    return hash_name(CHAR_NGRAM_KEY, seed)
