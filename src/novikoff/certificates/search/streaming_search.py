"""Witness search for streams that don't fit in memory.

A sample is enough to estimate C, but not u: with many features u overfits the sample and is much worse on the rest of
the stream. The search therefore has three steps.

1. The SVM is solved on one half of the sample. The other half, the judge, determines the best length of u and the
   next C.
2. Dual coordinate descent runs over the whole stream, which lies in a temporary file, as often as the budget allows
   (Yu et al. 2010, with random groups of chunks in each pass). After one pass the dual is within a few percent of the
   optimum. The mean over the end of a pass is often better than its last point. No u has seen more of the judge than
   of other examples, so the judge stays fair, and the best u of all is taken.
3. If u has nearly all examples on the correct side after the first pass, the largest margin is searched as well, among
   the few examples that determine it. These are gathered on the later passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.certificates.measure import compute_margins, max_power_sum
from novikoff.certificates.sampling import split_in_halves
from novikoff.certificates.search.wide_search import MaxMarginSearch
from novikoff.certificates.search.witness_search import (
    VIOLATION_TOLERANCE,
    BinarySample,
    LinearSvmSolver,
    compute_cost,
    compute_norm,
    compute_sq_norms,
    find_directions,
    minimize_golden_section,
    run_dual_pass,
)
from novikoff.certificates.shuffle_buffer import ShuffleBuffer, ShuffledChunk
from novikoff.theory import mistake_bounds

MAX_ROUNDS = 8  # of solving and updating C
SWEEPS_PER_ROUND = 2  # over the half of the sample
SAMPLE_BUDGET_FRACTION, MARGIN_BUDGET_FRACTION, PASSES_BUDGET_FRACTION = 0.2, 0.15, 0.75  # of the budget


class SearchResult(NamedTuple):
    directions: dict[str, NDArray[np.float64]]
    judge: BinarySample
    """Examples for choosing the lengths of all directions."""


class HingeEvaluation(NamedTuple):
    """The sharper hinge bound of u at its best length, estimated on the judge."""

    allowed: float
    limit: float
    """The C that follows from u."""
    witness: NDArray[np.float64]


def search_stream(
    sample: BinarySample, shuffle_buffer: ShuffleBuffer, features: int, *, bias: bool, budget: int
) -> SearchResult:
    """Search witnesses within `budget` terms. The shuffle buffer is empty if only the sample is to be searched."""
    if sample.total == len(sample.labels):
        return SearchResult(find_directions(sample, features, bias=bias, budget=budget), sample)
    half, judge = split_in_halves(sample)
    radius = max_power_sum(sample.rows, sample.labels, 2.0, float(bias)) ** 0.5
    if radius == 0.0:
        return SearchResult({}, judge)
    evaluate_direction = partial(_evaluate_direction, judge, float(bias), radius)
    svm = LinearSvmSolver(half, features, bias=bias, budget=int(budget * SAMPLE_BUDGET_FRACTION))
    best, limit = _search_sample(svm, radius, evaluate_direction)
    margin_search = MaxMarginSearch(svm, radius, budget=int(budget * MARGIN_BUDGET_FRACTION))
    share = sample.total / max(1, shuffle_buffer.rows)
    # A pass over a share of the stream is worth less than one over all of it: omitted examples count half.
    tours = (
        int(budget * PASSES_BUDGET_FRACTION / (0.5 * shuffle_buffer.terms * (1.0 + share)))
        if shuffle_buffer.terms
        else 0
    )
    if tours < 2:
        margin_search.search_sample()
    for tour, verdict in enumerate(
        _descend_over_stream(shuffle_buffer, share, tours, limit, float(bias), best, evaluate_direction, margin_search)
    ):
        best = verdict
        if tour == 0 and tours > 1:
            margin_search.begin(best.witness, judge)
    found = {"hinge": best.witness}
    return SearchResult(found if margin_search.witness is None else {**found, "margin": margin_search.witness}, judge)


def _evaluate_direction(judge: BinarySample, bias: float, radius: float, u: NDArray[np.float64]) -> HingeEvaluation:
    reached = np.empty(len(judge.labels))
    compute_margins(judge.rows, judge.labels, u, bias, reached)
    reached, share, norm = reached[judge.labels != 0], judge.share(), compute_norm(u)

    def loss(length: float) -> float:
        return share * float(np.maximum(0.0, 1.0 - length * reached).sum())

    def compute_bound(logarithm: float) -> float:
        length = float(np.exp(logarithm))
        return mistake_bounds.hinge(radius=radius, norm=length * norm, loss=loss(length))

    at = minimize_golden_section(compute_bound, -4.0, 4.0, steps=24)
    length = float(np.exp(at))
    cost = compute_cost((radius * length * norm) ** 2, loss(length), radius)
    return HingeEvaluation(compute_bound(at), cost, length * u)


def _search_sample(
    svm: LinearSvmSolver, radius: float, evaluate_direction: Callable[[NDArray[np.float64]], HingeEvaluation]
) -> tuple[HingeEvaluation, float]:
    """Return the best u found on the sample, and the final C."""
    share, best = svm.sample.share(), None
    limit = 1.0 / (radius**2 * share)
    for _ in range(MAX_ROUNDS):
        svm.solve(limit * share, SWEEPS_PER_ROUND * svm.terms)
        now = evaluate_direction(svm.w)
        best = now if best is None or now.allowed < best.allowed else best
        limit = now.limit
    assert best is not None  # noqa: S101 - there are rounds
    return best, limit


def _descend_over_stream(
    shuffle_buffer: ShuffleBuffer,
    share: float,
    tours: int,
    limit: float,
    bias: float,
    best: HingeEvaluation,
    evaluate_direction: Callable[[NDArray[np.float64]], HingeEvaluation],
    margin_search: MaxMarginSearch,
) -> Iterator[HingeEvaluation]:
    """Descend over the stream pass by pass; yield the best u so far after each."""
    random = np.random.default_rng(0)
    w, factor = np.zeros_like(best.witness), 0.0  # discards multipliers of an earlier search
    for _ in range(tours):
        mean, worst = np.zeros_like(w), 0.0
        for k, chunk in enumerate(shuffle_buffer.iter_shuffled(random, factor)):
            worst = max(worst, _descend_chunk(chunk, random, bias, limit * share, w))
            margin_search.add_chunk(chunk)
            # Increasing weights give a mean over the last part of the pass.
            mean += (w - mean) * (4.0 / (k + 4.0))
        margin_search.widen()
        best = min((best, evaluate_direction(w), evaluate_direction(mean)), key=lambda verdict: verdict.allowed)
        # For a smaller C, scale all multipliers and w by the same factor.
        factor = min(1.0, best.limit / limit)
        w *= factor
        limit = best.limit
        yield best
        if worst < VIOLATION_TOLERANCE and margin_search.done:
            break


def _descend_chunk(
    chunk: ShuffledChunk, random: np.random.Generator, bias: float, limit: float, w: NDArray[np.float64]
) -> float:
    count = len(chunk.labels)
    sizes = np.zeros(count)
    compute_sq_norms(chunk.rows, count, bias, sizes)
    return run_dual_pass(chunk.rows, chunk.labels, sizes, random.permutation(count), bias, limit, chunk.multipliers, w)
