"""Feature names of a JSON line, in the order in which `parser.py` emits its terms."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

from novikoff.data.formats.csv_sniffer import MISSING_PATTERN
from novikoff.data.formats.ngram_names import collapse_blanks, decode_name, to_lower
from novikoff.data.formats.ngrams import MAX_WORD_NGRAM, WORD_PATTERN


class ObjectPairs(list[tuple[str, Any]]):
    """The members of an object, as pairs: JSON allows duplicate names."""


class NumberText(bytes):
    """A number as it is written in the line."""

    def __new__(cls, text: str) -> NumberText:
        return super().__new__(cls, text.encode())

    def __str__(self) -> str:
        return self.decode()


@functools.lru_cache(maxsize=4)
def list_feature_names(
    line: bytes,
    label: str,
    texts: tuple[str, ...],
    words: int,
    letters: int,
    lower: bool,
    ignored: tuple[str, ...] = (),
    only: tuple[str, ...] = (),
    categorical: tuple[str, ...] = (),
    numeric: tuple[str, ...] = (),
    weight: str | None = None,
    missing: str = "absent",
) -> list[str]:
    """Return the names of all terms of a line that was parsed before."""

    def is_missing(value: Any, own: str) -> bool:
        """Return whether a value is missing. Strings can be where --missing is given, and in numeric fields."""
        if isinstance(value, str) and (missing != "absent" or own in numeric):
            return MISSING_PATTERN.fullmatch(value.encode()) is not None
        return value is None

    def walk(value: Any, path: str, own: str) -> Iterator[str]:
        """Yield the names of a value; `own` is the path of the list that contains it, or its own path."""
        if isinstance(value, ObjectPairs):
            for name, inner in value:
                if value is root and (name in ignored or (only and name not in only)):
                    continue
                below = f"{path}.{name}" if value is not root else name
                yield from walk(inner, below, below)
        elif isinstance(value, list) and path != label:
            for k, inner in enumerate(value):
                yield from walk(inner, f"{path}.{k}", path)
        elif (path if value is True or isinstance(value, NumberText) else own) == weight:
            return
        elif is_missing(value, own) and own != label:
            yield from [f"{own} is missing"] if missing == "indicator" else []
        elif isinstance(value, str):
            if own in numeric:
                yield own
            elif own in texts and own != label:
                yield from (f"{own}={name}" for name in list_text_names(value.encode(), words, letters, lower))
            elif own != label:
                yield f"{own}={value}"
        elif isinstance(value, NumberText) and path in categorical:
            yield f"{path}={value}"
        elif isinstance(value, NumberText):
            if path != label:
                yield path
        elif value is True and path != label:
            yield path

    root = json.loads(line, object_pairs_hook=ObjectPairs, parse_int=NumberText, parse_float=NumberText)
    return list(walk(root, "", ""))


def list_text_names(text: bytes, words: int, letters: int, lower: bool) -> list[str]:
    """Return the names of the words and letter runs in a text, each once, in the order of `ngrams.append_ngrams`."""
    text = to_lower(text) if lower else text
    found: list[bytes] = WORD_PATTERN.findall(text)
    runs: list[bytes] = []
    for k in range(len(found)):
        runs += [b" ".join(found[k - n : k + 1]) for n in range(min(words, k + 1, MAX_WORD_NGRAM))]
    names = [decode_name(run) for run in dict.fromkeys(runs)]
    if letters:
        flat = collapse_blanks(text).strip(b" ").decode()
        names += [f'"{run}"' for run in dict.fromkeys(flat[k : k + letters] for k in range(len(flat) - letters + 1))]
    return names
