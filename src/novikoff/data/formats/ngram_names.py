"""Names of words and letters, spelled from the places where they stand: what `words.py` has found, in plain Python."""

from __future__ import annotations

import re

from novikoff.data.formats.ngrams import WORD, lower_of


def lowered(text: bytes) -> bytes:
    """What `to_low` means.

    >>> lowered("ΣΟΦΙΑ Été Ｗ".encode()).decode()
    'σοφια été Ｗ'
    """

    def lower(match: re.Match[bytes]) -> bytes:
        return chr(lower_of(ord(match[0].decode()))).encode()

    return re.sub(rb"[\xc2-\xdf][\x80-\xbf]", lower, text.lower())


def spelled(name: bytes) -> str:
    """Bytes that are not UTF-8 as \\x.., so that different names look different."""
    return name.decode("utf-8", "backslashreplace")


def words_name(text: bytes, lower: bool) -> str:
    """The name of a run of words, from the place where it stands."""
    return spelled(b" ".join(WORD.findall(lowered(text) if lower else text)))


def letters_name(text: bytes, lower: bool) -> str:
    """… of a run of letters: in quotes, which no word has."""
    return f'"{spelled(collapsed(lowered(text) if lower else text))}"'


def collapsed(text: bytes) -> bytes:
    return re.sub(rb"[\x00-\x20]+", b" ", text)
