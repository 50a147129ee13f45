"""A run as curves: how many mistakes there were, and which error, after so many examples.

A ledger of a long run lists every `stride`-th mistake only. Curves are then drawn through the examples at which the
count is known exactly, and nothing is made up in between: there they are off by less than `stride` mistakes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.ledger import Ledger

GRID_POINTS = 800
"""Of the running error, on each of two grids: one even, one that grows by a factor."""


class MistakeCurve(NamedTuple):
    """After `examples[k]` examples there were `counts[k]` mistakes, exactly."""

    examples: tuple[int, ...]
    counts: tuple[int, ...]
    stride: int
    """1 where every mistake is listed: the curve is a staircase then, known everywhere."""


class ErrorCurve(NamedTuple):
    """Mistakes per example after so many examples, and between which ends the mean error of the hypotheses used so far
    lies for examples drawn independently: each end at each point for itself with the certificate's confidence."""

    examples: tuple[int, ...]
    errors: tuple[float, ...]
    band: tuple[tuple[float, float], ...]
    """The lower and upper ends, for the points of the first pass."""


def build_mistake_curve(ledger: Ledger, first: int, passes: int) -> MistakeCurve:
    """The curve of a run of so many passes, the first of which made `first` mistakes."""
    times, stride = ledger.mistake_times, ledger.stride
    known = {0: 0, **{int(t): (k + 1) * stride for k, t in enumerate(times)}}
    known |= {ledger.examples // passes: first, ledger.examples: ledger.mistakes}
    return MistakeCurve(tuple(sorted(known)), tuple(known[t] for t in sorted(known)), stride)


def build_error_curve(curve: MistakeCurve, first_pass: int, delta: float) -> ErrorCurve:
    """The running error at no more than a few thousand points, the ends of the first pass and of the run among them."""
    times, counts = np.array(curve.examples), np.array(curve.counts)
    last = int(times[-1])
    if last == 0:
        return ErrorCurve((), (), ())
    wanted = _build_grid(last, first_pass)
    places = np.searchsorted(times, wanted, side="right") - 1
    if curve.stride > 1:  # only where the count is known
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
    """Progressive validation (theory/online_to_batch.py), as exactly as can be drawn. It holds for mistakes, and as
    well for what was right: that is the lower end."""
    error, reach = made / examples, math.sqrt(math.log(1.0 / delta) / (2.0 * examples))
    return max(0.0, error - reach), min(1.0, error + reach)
