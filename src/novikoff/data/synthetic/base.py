"""Base classes of generated streams: the same examples in batches of any size, in constant memory.

Examples are drawn block by block; a block's random numbers depend only on the seed and the block's number.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

from novikoff.data.rows import Dense, Rows, Sparse, count_rows, slice_rows
from novikoff.data.synthetic.ground_truth import GroundTruth
from novikoff.errors import SPARSE_MATRIX_PURPOSE, InputError, import_optional

RowsAndLabels = tuple[Rows, NDArray[np.int8]]
CONCEPT_RNG, EXAMPLES_RNG, NOISE_RNG = range(3)
"""Purposes of random numbers. Each has its own generator, so that noise does not change the examples."""


def build_rng(seed: int, purpose: int, number: int = 0) -> Generator:
    return default_rng(SeedSequence(seed, spawn_key=(purpose, number)))


class SyntheticStream(ABC):
    """A stream with known ground truth. Abstract: see `RandomStream` and `FixedStream`."""

    n: int
    """Number of attributes."""
    examples: int

    @property
    @abstractmethod
    def truth(self) -> GroundTruth:
        """The ground truth of the stream."""

    @abstractmethod
    def blocks(self) -> Iterator[RowsAndLabels]:
        """Yield rows and their labels, −1 and +1, from the start, in blocks as they are drawn."""

    def batches(self, size: int | None = None) -> Iterator[tuple[Any, NDArray[np.int8]]]:
        """Return an iterator over (X, y) of `size` rows each (the last may be smaller), by default in blocks as drawn.

        X is a SciPy CSR matrix of float32 for Boolean attributes and an array of float64 for real ones, y is −1 and +1.
        """
        if size is not None and size < 1:
            raise InputError(f"size must be at least 1, but is {size}.")
        blocks = self.blocks() if size is None else _rebatch(self.blocks(), size)
        return ((self._matrix(rows), y) for rows, y in blocks)

    def to_arrays(self) -> tuple[Any, NDArray[np.int8]]:
        """Return the whole stream as one matrix, and its labels."""
        rows, y = _concatenate_blocks(list(self.blocks()))
        return self._matrix(rows), y

    def radius(self, bias: bool = True) -> float:
        """Return the largest ‖x‖, or ‖(1, x)‖, of the stream, by a pass over it."""
        return math.sqrt(max(_find_max_sq_norm(rows) for rows, _ in self.blocks()) + bias)

    def _matrix(self, rows: Rows) -> Any:
        if isinstance(rows, Dense):
            return rows.values.reshape(-1, rows.width)
        csr_matrix = import_optional("scipy.sparse", "scipy", SPARSE_MATRIX_PURPOSE).csr_matrix
        shape = (count_rows(rows), self.n)
        return csr_matrix((rows.values, rows.indices.view(np.int32), rows.starts), shape=shape)


class FixedStream(SyntheticStream):
    """A stream whose examples are all in memory."""

    def __init__(self, rows: Sparse, y: NDArray[np.int8], truth: GroundTruth) -> None:
        self._rows, self._y, self._truth = rows, y, truth
        self.n, self.examples = truth.n, truth.examples

    @property
    def truth(self) -> GroundTruth:
        return self._truth

    def blocks(self) -> Iterator[RowsAndLabels]:
        starts, indices, values = self._rows
        yield Sparse(starts.copy(), indices.copy(), values.copy()), self._y.copy()  # copies: callers may modify them


class ExampleSource(Protocol):
    """Generator of the examples of a `RandomStream`."""

    block_rows: int

    def draw(self, rng: Generator, count: int, phase: int) -> RowsAndLabels:
        """Draw `count` rows and their true labels."""


class RandomStream(SyntheticStream):
    """A stream of random examples; each label is flipped with probability `noise`."""

    def __init__(self, source: ExampleSource, truth: GroundTruth, *, noise: float, seed: int) -> None:
        self._source, self._noise, self._seed = source, noise, seed
        self._without_noise = truth
        self.n, self.examples = truth.n, truth.examples

    @cached_property
    def truth(self) -> GroundTruth:
        """The ground truth, computed on first use: the flipped labels of a long stream must be counted."""
        return replace(self._without_noise, flipped=self.count_flipped())

    def blocks(self) -> Iterator[RowsAndLabels]:
        for number, (phase, count) in enumerate(self._plan()):
            rows, y = self._source.draw(build_rng(self._seed, EXAMPLES_RNG, number), count, phase)
            y[self._draw_flips(number, count)] *= -1
            yield rows, y

    def count_flipped(self, examples: int | None = None) -> int:
        """Return how many of the first `examples` labels are flipped; of all by default."""
        left = self.examples if examples is None else examples
        found = 0
        for number, (_, count) in enumerate(self._plan()):
            if left <= 0 or self._noise == 0.0:
                break
            found += int(self._draw_flips(number, count)[:left].sum())
            left -= count
        return found

    def _draw_flips(self, number: int, count: int) -> NDArray[np.bool_]:
        return build_rng(self._seed, NOISE_RNG, number).random(count) < self._noise

    def _plan(self) -> Iterator[tuple[int, int]]:
        """Yield the phase and the number of rows of each block."""
        starts = [*(phase.start for phase in self._without_noise.phases), self.examples]
        for phase, (start, stop) in enumerate(pairwise(starts)):
            for first in range(start, stop, self._source.block_rows):
                yield phase, min(self._source.block_rows, stop - first)


def _rebatch(blocks: Iterator[RowsAndLabels], size: int) -> Iterator[RowsAndLabels]:
    held: list[RowsAndLabels] = []
    remaining = size
    for rows, y in blocks:
        start = 0
        while start < len(y):
            stop = min(start + remaining, len(y))
            held.append((slice_rows(rows, start, stop), y[start:stop]))
            remaining -= stop - start
            start = stop
            if remaining == 0:
                yield _concatenate_blocks(held)
                held, remaining = [], size
    if held:
        yield _concatenate_blocks(held)


def _concatenate_blocks(blocks: list[RowsAndLabels]) -> RowsAndLabels:
    y = np.concatenate([y for _, y in blocks])
    first = blocks[0][0]
    if isinstance(first, Dense):
        return Dense(np.concatenate([rows.values for rows, _ in blocks]), first.width), y
    parts = [rows for rows, _ in blocks if isinstance(rows, Sparse)]
    lengths = np.concatenate([np.diff(part.starts) for part in parts])
    used = [slice(part.starts[0], part.starts[-1]) for part in parts]
    return Sparse(
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate([part.indices[s] for part, s in zip(parts, used, strict=True)]),
        np.concatenate([part.values[s] for part, s in zip(parts, used, strict=True)]),
    ), y


def _find_max_sq_norm(rows: Rows) -> float:
    """Return the largest ‖x‖² of these rows."""
    if isinstance(rows, Dense):
        table = rows.values.reshape(-1, rows.width)
        return float((table * table).sum(axis=1).max())
    return float(np.diff(rows.starts).max())  # every value is 1
