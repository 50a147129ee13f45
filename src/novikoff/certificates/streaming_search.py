"""Witnesses for streams that don't fit in memory.

A sample is enough to find out which C is about right, not which u: with many features u knows the sample by heart, and
is far worse on the rest of the stream. So we look in three steps.

1. The machine is solved on one half of the sample. The other half judges: which length suits u, and what C follows.
2. Dual coordinate descent goes over the whole stream, which lies in a temporary file, as often as the budget allows
   (Yu et al. 2010, in hands that are dealt anew for each tour). A dual that has seen each example once is within a few
   percent of the best; the mean over the end of a tour is often better than where it stops. No u has seen more of the
   judging half than of any other examples, so that it goes on judging fairly, and the best u of all is taken.
3. Where u has nearly all examples on the right side after the first tour, the largest margin is looked for as well,
   among the few examples that matter for it; they are gathered on the later tours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.measure import margins, power_sums
from novikoff.certificates.sampling import halves
from novikoff.certificates.shuffle_buffer import Hand, Spool
from novikoff.certificates.wide_search import Widening
from novikoff.certificates.witness_search import (SMALL, Machine, Sample, descend, directions, length_of, limit_for, lowest, squares)
from novikoff.theory import mistake_bounds

ROUNDS = 8  # of solving and computing C anew
SWEEPS = 2  # over the half of the sample in each
FOR_SAMPLE, FOR_MARGIN, FOR_TOURS = 0.2, 0.15, 0.75  # of the budget


class Searched(NamedTuple):
    directions: dict[str, NDArray[np.float64]]
    judge: Sample
    """Examples that lengths can be chosen by, for all of the directions."""


class Verdict(NamedTuple):
    """The sharper hinge bound of u at its best length, as far as the judging examples tell."""

    allowed: float
    limit: float
    """The C that follows."""
    witness: NDArray[np.float64]


def searched(sample: Sample, spool: Spool, features: int, *, bias: bool, budget: int) -> Searched:
    """`budget` is a number of terms to be looked at. The spool is empty where the sample is all there is, or all that
    is to be looked at."""
    if sample.total == len(sample.labels):
        return Searched(directions(sample, features, bias=bias, budget=budget), sample)
    half, judge = halves(sample)
    radius = power_sums(sample.rows, sample.labels, 2.0, float(bias)) ** 0.5
    if radius == 0.0:
        return Searched({}, judge)
    verdict_of = partial(_verdict, judge, float(bias), radius)
    machine = Machine(half, features, bias=bias, budget=int(budget * FOR_SAMPLE))
    best, limit = _in_sample(machine, radius, verdict_of)
    widening = Widening(machine, radius, budget=int(budget * FOR_MARGIN))
    share = sample.total / max(1, spool.rows)
    # A tour over a share of the stream is worth less than one over all of it: what is left out counts half.
    tours = int(budget * FOR_TOURS / (0.5 * spool.terms * (1.0 + share))) if spool.terms else 0
    if tours < 2:
        widening.in_sample()
    for tour, verdict in enumerate(_on_tour(spool, share, tours, limit, float(bias), best, verdict_of, widening)):
        best = verdict
        if tour == 0 and tours > 1:
            widening.begin(best.witness, judge)
    found = {"hinge": best.witness}
    return Searched(found if widening.witness is None else {**found, "margin": widening.witness}, judge)


def _verdict(judge: Sample, bias: float, radius: float, u: NDArray[np.float64]) -> Verdict:
    reached = np.empty(len(judge.labels))
    margins(judge.rows, judge.labels, u, bias, reached)
    reached, share, norm = reached[judge.labels != 0], judge.share(), length_of(u)

    def loss(length: float) -> float:
        return share * float(np.maximum(0.0, 1.0 - length * reached).sum())

    def allowed(logarithm: float) -> float:
        length = float(np.exp(logarithm))
        return mistake_bounds.hinge(radius=radius, norm=length * norm, loss=loss(length))

    at = lowest(allowed, -4.0, 4.0, steps=24)
    length = float(np.exp(at))
    return Verdict(allowed(at), limit_for((radius * length * norm) ** 2, loss(length), radius), length * u)


def _in_sample(
    machine: Machine, radius: float, verdict_of: Callable[[NDArray[np.float64]], Verdict]
) -> tuple[Verdict, float]:
    """The best of the machine's u by the way, and the C that it settles at."""
    share, best = machine.sample.share(), None
    limit = 1.0 / (radius**2 * share)
    for _ in range(ROUNDS):
        machine.solve(limit * share, SWEEPS * machine.terms)
        now = verdict_of(machine.w)
        best = now if best is None or now.allowed < best.allowed else best
        limit = now.limit
    assert best is not None  # noqa: S101 - there are rounds
    return best, limit


def _on_tour(
    spool: Spool,
    share: float,
    tours: int,
    limit: float,
    bias: float,
    best: Verdict,
    verdict_of: Callable[[NDArray[np.float64]], Verdict],
    widening: Widening,
) -> Iterator[Verdict]:
    """Descends over the whole stream again and again; after each tour the best u that has come by."""
    random = np.random.default_rng(0)
    w, factor = np.zeros_like(best.witness), 0.0  # multipliers of an earlier search are forgotten
    for _ in range(tours):
        mean, worst = np.zeros_like(w), 0.0
        for k, hand in enumerate(spool.hands(random, factor)):
            worst = max(worst, _descend(hand, random, bias, limit * share, w))
            widening.see(hand)
            # Weights that grow make of all u that came by a mean of those at the end.
            mean += (w - mean) * (4.0 / (k + 4.0))
        widening.widen()
        best = min((best, verdict_of(w), verdict_of(mean)), key=lambda verdict: verdict.allowed)
        # A smaller C: all multipliers shrink alike, which keeps w what they make it.
        factor = min(1.0, best.limit / limit)
        w *= factor
        limit = best.limit
        yield best
        if worst < SMALL and widening.done:
            break


def _descend(hand: Hand, random: np.random.Generator, bias: float, limit: float, w: NDArray[np.float64]) -> float:
    count = len(hand.labels)
    sizes = np.zeros(count)
    squares(hand.rows, count, bias, sizes)
    return descend(hand.rows, hand.labels, sizes, random.permutation(count), bias, limit, hand.multipliers, w)
