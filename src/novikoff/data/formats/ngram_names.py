"""Names of words and runs of letters, from their positions in the text: the inverse of `ngrams.py`, in plain Python."""

from __future__ import annotations

import re

from novikoff.data.formats.ngrams import WORD_PATTERN, lower_two_byte


def to_lower(text: bytes) -> bytes:
    """Convert text to lower case like `ngrams.write_lower_case`.

    >>> to_lower("ΣΟΦΙΑ Été Ｗ".encode()).decode()
    'σοφια été Ｗ'
    """

    def lower(match: re.Match[bytes]) -> bytes:
        return chr(lower_two_byte(ord(match[0].decode()))).encode()

    return re.sub(rb"[\xc2-\xdf][\x80-\xbf]", lower, text.lower())


def decode_name(name: bytes) -> str:
    """Decode a name; bytes that are not UTF-8 become \\x.., so that different names stay different."""
    return name.decode("utf-8", "backslashreplace")


def format_word_ngram(text: bytes, lower: bool) -> str:
    """Return the name of a run of words."""
    return decode_name(b" ".join(WORD_PATTERN.findall(to_lower(text) if lower else text)))


def format_char_ngram(text: bytes, lower: bool) -> str:
    """Return the name of a run of letters: in quotes, which no word contains."""
    return f'"{decode_name(collapse_blanks(to_lower(text) if lower else text))}"'


def collapse_blanks(text: bytes) -> bytes:
    return re.sub(rb"[\x00-\x20]+", b" ", text)
