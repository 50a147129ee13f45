"""Results of parsing lines of examples: runs of regular lines, irregular lines, and errors of examples in a run."""

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
    """A line that the fast parser does not handle."""

    line: int
    """Number of the line, from 1."""
    data: bytes

    def iter_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the line with its number, like `LineRun.iter_lines`, unless it is blank."""
        yield from [(self.line, self.data)] if self.data.strip() else []


class LineRun:
    """Consecutive regular lines, parsed by the fast parser. Blank lines between them are ignored."""

    def __init__(self, text: NDArray[np.uint8], found: EventRows, terms: EventTerms) -> None:
        self.text, self.found, self.terms = text, found, terms

    def __len__(self) -> int:
        return len(self.found.lines)

    @property
    def first(self) -> int:
        """Number of the first line, from 1."""
        return self.line(0)

    def line(self, i: int) -> int:
        return int(self.found.lines[i]) + 1

    def data(self, i: int) -> bytes:
        """Return the line of example i."""
        rest, size = self.text[int(self.found.begins[i]) :], 1 << 12
        while not (ends := np.flatnonzero(rest[:size] == 10)).size:  # terminates: the text ends with a line end
            size *= 8
        return rest[: ends[0]].tobytes()

    def features(self, i: int) -> dict[str, float]:
        row_slice = slice(int(self.found.starts[i]), int(self.found.starts[i + 1]))
        names = (self.get_text(span).decode() for span in self.terms.spans[row_slice].tolist())
        return dict(zip(names, self.terms.values[row_slice].tolist(), strict=True))

    def has_label(self, i: int) -> bool:
        return int(self.found.labels[i]) != ABSENT

    def label(self, i: int) -> Any:
        return json.loads(self.get_text(int(self.found.labels[i])))

    def get_text(self, span: int) -> bytes:
        return self.text[span >> SPAN_LENGTH_BITS :][: span & MAX_TEXT_BYTES].tobytes()

    def iter_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line with its number."""
        return ((self.line(i), self.data(i)) for i in range(len(self)))

    def slice_block(self, block: bytes) -> bytes:
        """Return the bytes of the run, given the block that it was parsed from. The last line ends with a line end."""
        first, last = (int(self.found.begins[k]) - PADDING_BYTES for k in (0, -1))
        end = block.find(b"\n", last) + 1
        return block[first:end] if end else block[first:] + b"\n"

    def distinct_labels(self) -> list[Any]:
        """Return the distinct labels of the labelled examples."""
        labelled_rows = np.flatnonzero(self.found.labels != ABSENT)
        first = np.unique(self.found.label_hashes[labelled_rows], return_index=True)[1]
        return [self.label(i) for i in labelled_rows[first].tolist()]

    @property
    def labelled(self) -> int:
        """Number of labelled examples."""
        return int(np.count_nonzero(self.found.labels != ABSENT))

    def after(self, count: int) -> LineRun:
        """Return the run without its first examples."""
        return LineRun(self.text, EventRows._make(array[count:] for array in self.found), self.terms)


class ExampleError(NovikoffError):
    """An example of a run was refused. The examples before it were learned, it and those after it were not."""

    def __init__(self, taken: int, problem: Exception) -> None:
        super().__init__(str(problem))
        self.taken = taken
        """Number of learned examples, which is the index of the refused one in the run."""
        self.problem = problem
