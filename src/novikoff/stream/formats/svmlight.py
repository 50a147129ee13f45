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
LARGEST_VALUE = 1e15  # sums of squares stay within float32


def read(file: IO[bytes], title: str) -> Iterator[tuple[Sparse, NDArray[np.int64]]]:
    """Chunks of rows and labels; InputError with file:line at the first line that is not understood."""
    lines: list[bytes] = []
    number = examples = 0
    for number, line in enumerate(_lines(file, title), start=1):
        lines.append(line)
        if len(lines) == LINES:
            rows, labels = _chunk(lines, title, number)
            examples += len(labels)
            yield rows, labels
            lines = []
    rows, labels = _chunk(lines, title, number)
    if len(labels):
        yield rows, labels
    elif examples == 0:
        raise InputError(f"{title}: is empty, or has comments only: there are no examples in it.")


def _chunk(lines: list[bytes], title: str, last: int) -> tuple[Sparse, NDArray[np.int64]]:
    """These lines, of which the last has this number: at once if they are plain, one by one if anything is unusual."""
    try:
        return _plain_lines(lines)
    except (ValueError, OverflowError, IndexError):
        return _careful_lines(lines, title, last)


def _plain_lines(lines: list[bytes]) -> tuple[Sparse, NDArray[np.int64]]:
    """Lines of nothing but `label index:value …`; ValueError, without a reason, for all others."""
    labels, counts = list[float](), [0]
    indices, values = list[bytes](), list[bytes]()
    for line in lines:
        words = line.split()
        tokens = line.replace(b":", b" ").split()
        mine, theirs = tokens[1::2], tokens[2::2]
        if b"_" in line or list(map(b":".join, zip(mine, theirs, strict=True))) != words[1:]:
            raise ValueError
        labels.append(float(words[0]))
        indices += mine
        values += theirs
        counts.append(len(mine))
    starts = np.cumsum(counts)
    if not b"".join(indices).isdigit() and indices:
        raise ValueError
    columns = np.fromiter(map(int, indices), np.int64, len(indices))
    numbers = np.fromiter(map(float, values), np.float64, len(values))
    signs = np.array(labels)
    ends = np.zeros(len(columns) + 1, bool)
    ends[starts] = True
    good = (np.abs(numbers) <= LARGEST_VALUE).all() and (signs == np.floor(signs)).all() and np.abs(signs).max() < 2**53
    if not good or columns.max(initial=0) >= LARGEST_INDEX or (np.diff(columns)[~ends[1:-1]] <= 0).any():
        raise ValueError
    return Sparse(starts, columns.astype(np.uint32), numbers.astype(np.float32)), signs.astype(np.int64)


def _careful_lines(lines: list[bytes], title: str, last: int) -> tuple[Sparse, NDArray[np.int64]]:
    starts, indices, values, labels = [0], list[int](), list[float](), list[int]()
    for number, line in enumerate(lines, start=last - len(lines) + 1):
        try:
            label = _parse(line, indices, values)
        except ValueError as problem:
            raise InputError(f"{title}:{number}: {problem}") from None
        if label is not None:
            labels.append(label)
            starts.append(len(indices))
    rows = Sparse(np.array(starts, np.int64), np.array(indices, np.uint32), np.array(values, np.float32))
    return rows, np.array(labels, np.int64)


def _lines(file: IO[bytes], title: str) -> Iterator[bytes]:
    try:
        yield from file
    except (EOFError, OSError, zlib.error) as problem:
        raise InputError(f"{title}: can't be read to its end: {problem}.") from None


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
        value = float(token)
        if b"_" in token or not abs(value) < 2**53:  # Python would take 1_0 for a number
            raise ValueError
        return int(plain(value))
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
        raise ValueError(f"values must be finite numbers of size up to 1e15, but {_shown(token)} came.")
    return value


def _shown(token: bytes) -> str:
    return repr(token[:40].decode("utf-8", "replace"))
