"""Compute the curves of a run: the number of mistakes and the error rate against the number of examples."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.ledger import Ledger

GRID_POINTS = 800
"""Points of the running error on each of two grids: one linear, one geometric."""


class MistakeCurve(NamedTuple):
    """The exact number of mistakes, `counts[k]`, after `examples[k]` examples.

    The ledger of a long run lists only every `stride`-th mistake. The curve is then off by less than `stride` mistakes
    between its points.
    """

    examples: tuple[int, ...]
    counts: tuple[int, ...]
    stride: int
    """1 if every mistake is listed: the curve is a step function, exact everywhere."""


class ErrorCurve(NamedTuple):
    """Mistakes per example, and a confidence band for the mean error of the hypotheses used so far on i.i.d. examples.

    Each end of the band holds at each single point with the certificate's confidence.
    """

    examples: tuple[int, ...]
    errors: tuple[float, ...]
    band: tuple[tuple[float, float], ...]
    """The lower and upper ends, for the points of the first pass."""


def build_mistake_curve(ledger: Ledger, first: int, passes: int) -> MistakeCurve:
    """Return the curve of a run of `passes` passes, the first of which made `first` mistakes."""
    times, stride = ledger.mistake_times, ledger.stride
    known = {0: 0, **{int(t): (k + 1) * stride for k, t in enumerate(times)}}
    known |= {ledger.examples // passes: first, ledger.examples: ledger.mistakes}
    return MistakeCurve(tuple(sorted(known)), tuple(known[t] for t in sorted(known)), stride)


def build_error_curve(curve: MistakeCurve, first_pass: int, delta: float) -> ErrorCurve:
    """Return the running error at a few thousand points at most, with the ends of the first pass and of the run."""
    times, counts = np.array(curve.examples), np.array(curve.counts)
    last = int(times[-1])
    if last == 0:
        return ErrorCurve((), (), ())
    wanted = _build_grid(last, first_pass)
    places = np.searchsorted(times, wanted, side="right") - 1
    if curve.stride > 1:  # only where the count is exact
        places = np.unique(places[places > 0])
        wanted = times[places]
    made = counts[places]
    band = [_confidence_interval(int(m), int(t), delta) for t, m in zip(wanted, made, strict=True) if t <= first_pass]
    return ErrorCurve(tuple(wanted.tolist()), tuple((made / wanted).tolist()), tuple(band))


def _build_grid(last: int, first_pass: int) -> NDArray[np.int64]:
    even, growing = np.linspace(1, last, GRID_POINTS), np.geomspace(1, last, GRID_POINTS)
    grid: NDArray[np.int64] = np.unique(np.concatenate([even, growing, [first_pass, last]]).round().astype(np.int64))
    return grid


def _confidence_interval(made: int, examples: int, delta: float) -> tuple[float, float]:
    """Return the ends of progressive validation (theory/online_to_batch.py) without outward rounding. The bound on
    correct predictions gives the lower end."""
    error, reach = made / examples, math.sqrt(math.log(1.0 / delta) / (2.0 * examples))
    return max(0.0, error - reach), min(1.0, error + reach)
