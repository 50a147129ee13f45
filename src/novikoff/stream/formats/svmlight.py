"""svmlight text, one example a line: `label index:value index:value … # comment`.

Index k is column k, whether the file counts from 0 or from 1. Values are float32. Indices grow from left to right;
`qid:…` is read over.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError
from novikoff.stream.door import LARGEST_INDEX
from novikoff.stream.labels import plain
from novikoff.stream.rows import Sparse

LINES = 4096
LARGEST_VALUE = 1e30  # sums of squares stay within float32


def read(file: IO[bytes], title: str) -> Iterator[tuple[Sparse, NDArray[np.int64]]]:
    """Chunks of rows and labels; InputError with file:line at the first line that is not understood."""
    starts, indices, values, labels = [0], list[int](), list[float](), list[int]()
    examples = 0
    for number, line in enumerate(_lines(file, title), start=1):
        try:
            label = _parse(line, indices, values)
        except ValueError as problem:
            raise InputError(f"{title}:{number}: {problem}") from None
        if label is None:
            continue
        examples += 1
        labels.append(label)
        starts.append(len(indices))
        if len(labels) == LINES:
            yield _chunk(starts, indices, values, labels)
            starts, indices, values, labels = [0], [], [], []
    if labels:
        yield _chunk(starts, indices, values, labels)
    elif examples == 0:
        raise InputError(f"{title}: is empty, or has comments only: there are no examples in it.")


def _lines(file: IO[bytes], title: str) -> Iterator[bytes]:
    try:
        yield from file
    except (EOFError, OSError, zlib.error) as problem:
        raise InputError(f"{title}: can't be read to its end: {problem}.") from None


def _chunk(
    starts: list[int], indices: list[int], values: list[float], labels: list[int]
) -> tuple[Sparse, NDArray[np.int64]]:
    rows = Sparse(np.array(starts, np.int64), np.array(indices, np.uint32), np.array(values, np.float32))
    return rows, np.array(labels)


def _parse(line: bytes, indices: list[int], values: list[float]) -> int | None:
    """Adds a line's terms and returns its label; None for a line without an example; ValueError says what is wrong."""
    tokens = line.partition(b"#")[0].split()
    if not tokens:
        return None
    label = _label(tokens[0])
    before = -1
    for token in tokens[1:]:
        name, colon, text = token.partition(b":")
        if name == b"qid":
            continue
        index, value = _whole(name, token), _number(text, token)
        if not colon or index <= before:
            raise ValueError(f"indices must grow from left to right, but {_shown(token)} comes after {before}.")
        before = index
        indices.append(index)
        values.append(value)
    return label


def _label(token: bytes) -> int:
    try:
        if b"_" in token:  # which Python would take as part of a number
            raise ValueError
        return int(plain(float(token)))
    except (ValueError, OverflowError):
        raise ValueError(f"the label must be a whole number, but {_shown(token)} came.") from None


def _whole(name: bytes, token: bytes) -> int:
    if not name.isdigit() or int(name) >= LARGEST_INDEX:
        raise ValueError(f"expected index:value with an index from 0 to {LARGEST_INDEX - 1}, but {_shown(token)} came.")
    return int(name)


def _number(text: bytes, token: bytes) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"expected index:value with a number as value, but {_shown(token)} came.") from None
    if not abs(value) <= LARGEST_VALUE or b"_" in text:
        raise ValueError(f"values must be finite numbers of size up to 1e30, but {_shown(token)} came.")
    return value


def _shown(token: bytes) -> str:
    return repr(token[:40].decode("utf-8", "replace"))
