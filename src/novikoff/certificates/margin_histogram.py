"""Histograms of the margins y·u·x/‖u‖ of a stream, in one pass and constant memory.

Bin widths are powers of 2, and 0 is always an edge, so examples on the wrong side lie left of it. Whenever a value
does not fit, the width doubles and neighbouring bins are merged, from 0 outwards. The final width depends only on the
largest value, not on the order of the examples or on their batches.

Values are rounded to nearest: they are for plots, not for claims.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.measure import SignedBatch, compute_margins

BINS_PER_SIDE = 4096
"""Number of bins on either side of 0."""
MIN_BIN_WIDTH = 2.0**-100


class Histogram(NamedTuple):
    """Counts of values in bins of equal width; bin k, from `first` on, covers k·width to (k+1)·width."""

    width: float
    first: int
    counts: tuple[int, ...]
    """Counts from the first to the last non-empty bin."""
    wrong: int
    """Number of examples with y·u·x < 0."""
    zero: int
    """Number of examples with y·u·x = 0."""
    least: float
    greatest: float

    @property
    def examples(self) -> int:
        return sum(self.counts)

    def rebin(self, width: float) -> Histogram:
        """Return the histogram with this larger bin width, a power of 2."""
        times = round(width / self.width)
        first = self.first // times
        counts = np.zeros((self.first + len(self.counts) - 1) // times - first + 1, np.int64)
        np.add.at(counts, (self.first + np.arange(len(self.counts))) // times - first, self.counts)
        return self._replace(width=width, first=first, counts=tuple(counts.tolist()))


class HistogramBuilder:
    """Accumulator of a histogram, filled batch by batch."""

    def __init__(self) -> None:
        self.width = MIN_BIN_WIDTH
        self.counts = np.zeros(2 * BINS_PER_SIDE, np.int64)
        self.wrong = self.zero = 0
        self.least, self.greatest = math.inf, -math.inf

    def add(self, values: NDArray[np.float64]) -> None:
        values = values if np.isfinite(values).all() else values[np.isfinite(values)]
        if not len(values):
            return
        self.least, self.greatest = min(self.least, float(values.min())), max(self.greatest, float(values.max()))
        self.wrong += int(np.count_nonzero(values < 0.0))
        self.zero += int(np.count_nonzero(values == 0.0))
        while not -BINS_PER_SIDE * self.width <= self.least <= self.greatest < BINS_PER_SIDE * self.width:
            self._double_width()
        bins = np.floor(values / self.width).astype(np.int64) + BINS_PER_SIDE
        self.counts += np.bincount(bins, minlength=2 * BINS_PER_SIDE)

    def _double_width(self) -> None:
        self.width *= 2.0
        if self.counts.any():
            merged = self.counts.reshape(-1, 2).sum(axis=1)
            self.counts = np.zeros(2 * BINS_PER_SIDE, np.int64)
            self.counts[BINS_PER_SIDE // 2 : BINS_PER_SIDE // 2 + BINS_PER_SIDE] = merged

    def build_histogram(self) -> Histogram:
        filled = np.flatnonzero(self.counts)
        start, stop = (int(filled[0]), int(filled[-1]) + 1) if len(filled) else (BINS_PER_SIDE, BINS_PER_SIDE)
        counts = tuple(self.counts[start:stop].tolist())
        return Histogram(self.width, start - BINS_PER_SIDE, counts, self.wrong, self.zero, self.least, self.greatest)


def build_histograms(
    batches: Iterable[SignedBatch], directions: Sequence[NDArray[np.floating]]
) -> list[Histogram | None]:
    """Return a histogram for each direction, in one pass; None for a zero direction.

    The first number of a direction is the weight of the bias.
    """
    wide = [normalize(np.asarray(u, np.float64)) for u in directions]
    tallies = [None if u is None else HistogramBuilder() for u in wide]
    buffer = np.empty(0)
    for rows, labels in batches:
        labelled = labels != 0
        buffer = buffer if len(buffer) >= len(labels) else np.empty(len(labels))
        for u, tally in zip(wide, tallies, strict=True):
            if u is not None and tally is not None:
                reached = buffer[: len(labels)]
                compute_margins(rows, labels, u, 1.0, reached)
                tally.add(reached if labelled.all() else reached[labelled])
    return [tally.build_histogram() if tally is not None and tally.counts.any() else None for tally in tallies]


def normalize(u: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return u/‖u‖, also where squares would overflow or underflow; None for zero or non-finite vectors."""
    largest = float(np.abs(u).max(initial=0.0))
    if largest == 0.0 or not math.isfinite(largest):
        return None
    scaled = u / largest
    unit: NDArray[np.float64] = scaled / math.sqrt(float((scaled * scaled).sum()))
    return unit
