"""The dual form: weights are Σ a·φ(x) over examples that are kept, and only K(x, z) = φ(x)·φ(z) is ever computed.

What is added to the weights is a list of entries: so much (a) of this kept example, in this column of weights, since
this time. There is one column for two labels; for more there is one for each class, and all share the kernel's values.
A score is Σ a·K over the entries, one after another. Where hypotheses vote, each update is an entry of its own, in
order of time, so that all hypotheses come out one after another; otherwise there is one entry for each kept example and
column, and with Σ a·t beside it the mean of all hypotheses follows from the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_read_only
from novikoff.kernels.support_set import SupportSet

N_SUPPORT, N_TERMS, N_ENTRIES, N_DROPPED, N_CLASSES, NEW_CLASS_EXAMPLES, TERMS_END, N_FRESH = range(8)
N_FILED_COUNTS = TERMS_END  # counts that a file holds
LAST, MEAN, VOTES = range(3)


class KernelExpansion(NamedTuple):
    """The learned state: stored examples, their entries and counters. Arrays have spare room."""

    kept: SupportSet
    counts: NDArray[np.int64]
    """Kept examples, their terms, entries, dropped examples, classes met, of these new ones; the end of the terms that
    were written, dropped ones included; and examples that are new since the last block of values."""
    own: NDArray[np.float64]
    """K(x, x) of each kept example."""
    first: NDArray[np.int64]
    """The number of the example that it was when it was kept."""
    rows: NDArray[np.int64]
    """Of each entry: the kept example."""
    into: NDArray[np.int64]
    """… and the column of weights."""
    amounts: NDArray[np.float64]
    moments: NDArray[np.float64]
    """Σ a·t, where t is when a was added."""
    born: NDArray[np.int64]
    since: NDArray[np.int64]
    """Of each column: after how many examples it began."""
    errors: NDArray[np.int64]
    """… and the mistakes that it has made."""
    fresh: NDArray[np.int64]
    """Kept examples that are new since the last block of values."""


class KernelOptions(NamedTuple):
    """The settings."""

    margin: float
    tie: float
    vote: bool
    budget: int
    """The most kept examples; 0 for any number."""
    memory: float
    """The most bytes."""
    row_bytes: int
    term_bytes: int
    per_entry: int
    averaging: int
    """The hypothesis that predicts: LAST, MEAN or VOTES."""


@compiled
def last_scores(expansion: KernelExpansion, K: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    """Write the score of each column, given K of an example with all stored examples."""
    for c in range(len(scores)):
        scores[c] = 0.0
    for e in range(expansion.counts[N_ENTRIES]):
        scores[expansion.into[e]] += expansion.amounts[e] * K[expansion.rows[e]]


@compiled
def mean_scores(expansion: KernelExpansion, t: int, K: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    """Write the score of each column under the mean of all hypotheses of the first t examples."""
    for c in range(len(scores)):
        scores[c] = 0.0
    for e in range(expansion.counts[N_ENTRIES]):
        scores[expansion.into[e]] += (expansion.amounts[e] * (t + 1.0) - expansion.moments[e]) * K[expansion.rows[e]]
    for c in range(len(scores)):
        scores[c] /= max(t - expansion.since[c], 1)


@compiled
def vote_scores(
    expansion: KernelExpansion,
    t: int,
    tie: float,
    K: NDArray[np.float64],
    sums: NDArray[np.float64],
    until: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """Write the votes of all hypotheses, those for less those against, as a share of all; sums and until are
    scratch."""
    for c in range(len(scores)):
        scores[c], sums[c], until[c] = 0.0, 0.0, expansion.since[c] + 1.0
    for e in range(expansion.counts[N_ENTRIES]):
        c = expansion.into[e]
        scores[c] += (expansion.born[e] - until[c]) * (np.sign(sums[c]) if sums[c] != 0.0 else tie)
        until[c] = expansion.born[e]
        sums[c] += expansion.amounts[e] * K[expansion.rows[e]]
    for c in range(len(scores)):
        scores[c] += (t + 1.0 - until[c]) * (np.sign(sums[c]) if sums[c] != 0.0 else tie)
        scores[c] /= max(t - expansion.since[c], 1)


@compiled_read_only
def score_kernel_rows(
    expansion: KernelExpansion,
    averaging: int,
    t: int,
    tie: float,
    K: NDArray[np.float64],
    scratch: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the scores of each row of K, of the last hypothesis, of the mean, or by votes."""
    for i in range(len(K)):
        predicted_scores(expansion, averaging, t, tie, K[i], scratch, out[i])


@compiled
def predicted_scores(
    expansion: KernelExpansion,
    averaging: int,
    t: int,
    tie: float,
    K: NDArray[np.float64],
    scratch: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """Write the score of each column by the hypothesis that predicts after t examples."""
    if averaging == LAST:
        last_scores(expansion, K, scores)
    elif averaging == MEAN:
        mean_scores(expansion, t, K, scores)
    else:
        vote_scores(expansion, t, tie, K, scratch[0], scratch[1], scores)
