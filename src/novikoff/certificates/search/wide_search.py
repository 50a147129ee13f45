"""Maximum margin of a stream that does not fit in memory, from the few examples that determine it.

A pass over the stream gathers the examples inside the margin of a guide, at first the witness for the hinge bound.
The widest margin of the gathered examples is the next guide, and the next pass adds the examples inside its margin.
When a pass adds none, the margin is the largest of the stream.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.measure import compute_margins
from novikoff.certificates.search.witness_search import BinarySample, LinearSvmSolver, find_max_margin, join_batches
from novikoff.certificates.shuffle_buffer import ShuffledChunk
from novikoff.data.rows import Rows, Sparse

MAX_GATHERED_TERMS = 2_000_000  # over all passes
MARGIN_TOLERANCE = 0.999  # share of the margin below which an example is inside
MAX_WRONG_FRACTION = 0.05  # of the judge on the wrong side; streams above it are taken as not separable


class MaxMarginSearch:
    """Search for the maximum margin that starts from an SVM on a sample and adds gathered examples."""

    def __init__(self, machine: LinearSvmSolver, radius: float, *, budget: int) -> None:
        self.machine, self.radius, self.budget = machine, radius, budget
        self.guide: NDArray[np.float64] | None = None
        self.witness: NDArray[np.float64] | None = None
        self.gathered: list[tuple[Rows, NDArray[np.int8]]] = []
        self.terms, self.done = 0, True

    def begin(self, guide: NDArray[np.float64], judge: BinarySample) -> None:
        wrong = self._compute_margins(guide, judge.rows, judge.labels) < 0.0
        if float(wrong.mean()) < MAX_WRONG_FRACTION:
            self.guide, self.done = guide, False

    def add_chunk(self, chunk: ShuffledChunk) -> None:
        """Keep the examples of a chunk inside the margin, up to MAX_GATHERED_TERMS."""
        if self.guide is not None and self.terms < MAX_GATHERED_TERMS:
            inside = np.flatnonzero(
                (self._compute_margins(self.guide, chunk.rows, chunk.labels) < MARGIN_TOLERANCE) & (chunk.labels != 0)
            )
            if len(inside):
                rows = _take_rows(chunk.rows, inside)
                self.gathered.append((rows, chunk.labels[inside]))
                self.terms += len(rows.values)

    def widen(self) -> None:
        """Maximize the margin of all kept examples after a pass; stop if they are not separable."""
        if self.guide is None or (self.witness is not None and not self.gathered):
            self.done = True
            return
        old = self.machine
        rows, labels = join_batches([(old.sample.rows, old.sample.labels), *self.gathered])
        machine = LinearSvmSolver(
            BinarySample(rows, labels, len(labels)), len(old.w) - 1, bias=bool(old.bias), budget=self.budget
        )
        machine.alphas[: len(old.alphas)], machine.w[:] = old.alphas, old.w
        self.machine, self.gathered = machine, []
        self.guide = find_max_margin(machine, self.radius)
        self.witness = self.witness if self.guide is None else self.guide

    def search_sample(self) -> None:
        """Maximize the margin of the sample alone, if there are too few passes."""
        self.machine.budget = self.budget
        self.witness = find_max_margin(self.machine, self.radius)

    def _compute_margins(self, u: NDArray[np.float64], rows: Rows, labels: NDArray[np.int8]) -> NDArray[np.float64]:
        out = np.empty(len(labels))
        compute_margins(rows, labels, u, self.machine.bias, out)
        return out


def _take_rows(rows: Sparse, which: NDArray[np.int64]) -> Sparse:
    """Copy the selected rows."""
    lengths = np.diff(rows.starts)[which]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    terms = np.arange(starts[-1]) + np.repeat(rows.starts[which] - starts[:-1], lengths)
    return Sparse(starts, rows.indices[terms], rows.values[terms])
