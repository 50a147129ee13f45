"""Names of words and letters, spelled from the places where they stand: what `words.py` has found, in plain Python."""

from __future__ import annotations

import re

from novikoff.data.formats.ngrams import WORD_PATTERN, lower_two_byte


def to_lower(text: bytes) -> bytes:
    """What `to_low` means.

    >>> to_lower("ΣΟΦΙΑ Été Ｗ".encode()).decode()
    'σοφια été Ｗ'
    """

    def lower(match: re.Match[bytes]) -> bytes:
        return chr(lower_two_byte(ord(match[0].decode()))).encode()

    return re.sub(rb"[\xc2-\xdf][\x80-\xbf]", lower, text.lower())


def decode_name(name: bytes) -> str:
    """Bytes that are not UTF-8 as \\x.., so that different names look different."""
    return name.decode("utf-8", "backslashreplace")


def format_word_ngram(text: bytes, lower: bool) -> str:
    """The name of a run of words, from the place where it stands."""
    return decode_name(b" ".join(WORD_PATTERN.findall(to_lower(text) if lower else text)))


def format_char_ngram(text: bytes, lower: bool) -> str:
    """… of a run of letters: in quotes, which no word has."""
    return f'"{decode_name(collapse_blanks(to_lower(text) if lower else text))}"'


def collapse_blanks(text: bytes) -> bytes:
    return re.sub(rb"[\x00-\x20]+", b" ", text)
