"""Sources: the name that a user gives becomes a stream of chunks of examples."""

from __future__ import annotations

import contextlib
import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError
from novikoff.stream import builtin
from novikoff.stream.rows import Rows, Sparse


class Chunk(NamedTuple):
    """Some examples: `features` is one more than the largest column number, or the width of a table."""

    rows: Rows
    labels: NDArray[Any]
    features: int


class Source(NamedTuple):
    """Where examples come from; `names` are those of the columns, where there are any."""

    title: str
    names: list[str] | None

    def chunks(self) -> Iterator[Chunk]:
        """All examples, from the beginning."""
        if self.names is not None:
            yield Chunk(*builtin.read(self.title))
            return
        from novikoff.stream.formats import svmlight

        with opened(self.title) as file:
            for rows, labels in svmlight.read(file, "standard input" if self.title == "-" else self.title):
                yield Chunk(rows, labels, int(rows.indices.max()) + 1 if rows.indices.size else 0)


def find(title: str) -> Source:
    """A built-in stream, `-` for standard input, or a file."""
    if title in builtin.STREAMS and not Path(title).exists():
        return Source(title, builtin.STREAMS[title].names)
    if title != "-" and not Path(title).exists():
        known = ", ".join(builtin.STREAMS)
        raise InputError(f"{title}: no such file, and no built-in stream of that name (there are {known}).")
    return Source(title, None)


@contextlib.contextmanager
def opened(title: str) -> Iterator[IO[bytes]]:
    """The bytes of a file or of standard input, unpacked if they are gzip's."""
    with contextlib.ExitStack() as stack:
        file: Any = sys.stdin.buffer if title == "-" else stack.enter_context(open(title, "rb"))
        packed = file.peek(2)[:2] == b"\x1f\x8b"
        unpacked: Any = stack.enter_context(gzip.GzipFile(fileobj=file)) if packed else file
        yield unpacked


def without_unknown(rows: Rows, features: int) -> Rows:
    """The rows without the terms of features that the model has never seen: they weigh nothing."""
    if not isinstance(rows, Sparse) or not rows.indices.size or rows.indices.max() < features:
        return rows
    known = rows.indices < features
    starts = np.concatenate([[0], np.cumsum(known)])[rows.starts]
    return Sparse(starts.astype(np.int64), rows.indices[known], rows.values[known])
