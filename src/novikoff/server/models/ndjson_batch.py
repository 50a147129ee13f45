"""What lines of examples are read as: runs of usual ones, odd ones, and what is said of one that is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.data.formats.json.ndjson_events import ABSENT, EventRows, EventTerms
from novikoff.data.names.string_table import MAX_TEXT_BYTES, SPAN_LENGTH_BITS
from novikoff.errors import NovikoffError


class IrregularLine(NamedTuple):
    """A line that is not usual."""

    line: int
    """From 1 on."""
    data: bytes

    def iter_lines(self) -> Iterator[tuple[int, bytes]]:
        """As of a run: this one, with its number, if there is anything in it."""
        yield from [(self.line, self.data)] if self.data.strip() else []


class LineRun:
    """A stretch of lines that are usual; empty lines between them don't count."""

    def __init__(self, text: NDArray[np.uint8], found: EventRows, terms: EventTerms) -> None:
        self.text, self.found, self.terms = text, found, terms

    def __len__(self) -> int:
        return len(self.found.lines)

    @property
    def first(self) -> int:
        """The number of the first line, from 1 on."""
        return self.line(0)

    def line(self, i: int) -> int:
        return int(self.found.lines[i]) + 1

    def data(self, i: int) -> bytes:
        """The line of example i."""
        rest, size = self.text[int(self.found.begins[i]) :], 1 << 12
        while not (ends := np.flatnonzero(rest[:size] == 10)).size:  # there is one: the text ends with it
            size *= 8
        return rest[: ends[0]].tobytes()

    def features(self, i: int) -> dict[str, float]:
        row_slice = slice(int(self.found.starts[i]), int(self.found.starts[i + 1]))
        names = (self.spelled(span).decode() for span in self.terms.spans[row_slice].tolist())
        return dict(zip(names, self.terms.values[row_slice].tolist(), strict=True))

    def has_label(self, i: int) -> bool:
        return int(self.found.labels[i]) != ABSENT

    def label(self, i: int) -> Any:
        return json.loads(self.spelled(int(self.found.labels[i])))

    def spelled(self, span: int) -> bytes:
        return self.text[span >> SPAN_LENGTH_BITS :][: span & MAX_TEXT_BYTES].tobytes()

    def iter_lines(self) -> Iterator[tuple[int, bytes]]:
        """Each with its number."""
        return ((self.line(i), self.data(i)) for i in range(len(self)))

    def slice_block(self, block: bytes) -> bytes:
        """All of it, of the block that it was read from, with an end of the last line."""
        first, last = (int(self.found.begins[k]) - PADDING_BYTES for k in (0, -1))
        end = block.find(b"\n", last) + 1
        return block[first:end] if end else block[first:] + b"\n"

    def distinct_labels(self) -> list[Any]:
        """Each once, of those that have one."""
        labelled_rows = np.flatnonzero(self.found.labels != ABSENT)
        first = np.unique(self.found.label_hashes[labelled_rows], return_index=True)[1]
        return [self.label(i) for i in labelled_rows[first].tolist()]

    @property
    def labelled(self) -> int:
        """How many have a label."""
        return int(np.count_nonzero(self.found.labels != ABSENT))

    def after(self, count: int) -> LineRun:
        """The run without its first examples."""
        return LineRun(self.text, EventRows._make(array[count:] for array in self.found), self.terms)


class ExampleError(NovikoffError):
    """An example of a run was refused; those before it stand, and it and those after it have left no trace."""

    def __init__(self, taken: int, problem: Exception) -> None:
        super().__init__(str(problem))
        self.taken = taken
        """How many were taken: the number of this one in the run, from 0 on."""
        self.problem = problem
