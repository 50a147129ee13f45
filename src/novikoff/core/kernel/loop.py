"""The loop of the dual form: K with what is kept, scores, labels, and what is kept of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.kernel.expansion import (
    N_CLASSES,
    N_ENTRIES,
    N_FRESH,
    N_SUPPORT,
    N_TERMS,
    NEW_CLASS_EXAMPLES,
    TERMS_END,
    KernelExpansion,
    KernelOptions,
    last_scores,
)
from novikoff.data.rows import Sparse
from novikoff.kernels.bytecode import Program, evaluate
from novikoff.kernels.support_set import dot_one, is_same_row, scatter, unscatter, write_row
from novikoff.ledger import ENERGY, EXAMPLES, SQUARED_RADIUS, UPDATES, WEIGHTED, LedgerCounters, count_mistake

MAX_ABS_SCORE = 1e300


@compiled
def find_support(expansion: KernelExpansion, rows: Sparse, i: int, sq_norm: float) -> int:
    """Which kept example row i is; −1 where it is none."""
    for q in range(expansion.counts[N_SUPPORT]):
        if expansion.kept.squares[q] == sq_norm and is_same_row(expansion.kept, q, rows, i):
            return q
    return -1


@compiled
def add_entry(expansion: KernelExpansion, q: int, c: int, amount: float, t: int, as_new_entry: bool) -> None:
    """So much of kept example q in column c; as an entry of its own (apart), or added to the one that is there."""
    last = expansion.counts[N_ENTRIES]
    e = last
    if not as_new_entry:
        e = 0
        while e < last and not (expansion.rows[e] == q and expansion.into[e] == c):
            e += 1
    if e == last:
        expansion.rows[e], expansion.into[e], expansion.amounts[e], expansion.moments[e], expansion.born[e] = (
            q,
            c,
            0.0,
            0.0,
            t,
        )
        expansion.counts[N_ENTRIES] += 1
    expansion.amounts[e] += amount
    expansion.moments[e] += amount * t


@compiled
def add_support(expansion: KernelExpansion, stored: Sparse, i: int, sq_norm: float, self_kernel: float, t: int) -> int:
    """One more kept example, row i of what is to be stored; returns its number."""
    q = expansion.counts[N_SUPPORT]
    write_row(expansion.kept, q, stored, i, expansion.counts[TERMS_END])
    expansion.kept.squares[q] = sq_norm
    expansion.own[q] = self_kernel
    expansion.first[q] = t
    expansion.counts[N_SUPPORT] += 1
    expansion.counts[N_TERMS] += stored.starts[i + 1] - stored.starts[i]
    expansion.counts[TERMS_END] += stored.starts[i + 1] - stored.starts[i]
    expansion.fresh[expansion.counts[N_FRESH]] = q
    expansion.counts[N_FRESH] += 1
    return q


@compiled
def fill_kernel_row(
    expansion: KernelExpansion,
    program: Program,
    rows: Sparse,
    i: int,
    sq_norm: float,
    example: NDArray[np.float64],
    user_values: NDArray[np.float64],
    stack: NDArray[np.float64],
    bits: NDArray[np.int64],
    K: NDArray[np.float64],
) -> None:
    """K of row i, which stands in `example`, with what was kept since the block was computed."""
    for f in range(expansion.counts[N_FRESH]):
        q = expansion.fresh[f]
        if q < expansion.counts[N_SUPPORT]:
            K[q] = dot_one(expansion.kept, q, rows, i, example)
            evaluate(program, 1, K, q, sq_norm, expansion.kept.squares, user_values, stack, bits, K)


@compiled
def is_memory_full(expansion: KernelExpansion, options: KernelOptions, terms: int) -> bool:
    """Whether one more example would take more memory than there may be."""
    used = expansion.counts[N_SUPPORT] * options.row_bytes + (expansion.counts[N_TERMS] + terms) * options.term_bytes
    return (
        used + options.row_bytes + (expansion.counts[N_ENTRIES] + len(expansion.since)) * options.per_entry
        > options.memory
    )


@compiled
def column_target(y: int, c: int, columns: int) -> float:
    """On which side of column c an example of class y is; the only column of two labels is for number 1."""
    return 1.0 if y == (c if columns > 1 else 1) else -1.0


@compiled
def is_misclassified(score: float, target: float, tie: float) -> bool:
    return target * score < 0.0 or (score == 0.0 and target * tie < 0.0)


@compiled
def needs_update(options: KernelOptions, scores: NDArray[np.float64], y: int, n_classes: int) -> bool:
    """Whether any column that is there learns from an example with these scores."""
    for c in range(min(len(scores), n_classes)):
        target = column_target(y, c, len(scores))
        if is_misclassified(scores[c], target, options.tie) or target * scores[c] < options.margin:
            return True
    return False


@compiled
def is_mistake(options: KernelOptions, scores: NDArray[np.float64], y: int, n_classes_before: int) -> bool:
    """Whether another label was predicted, given the classes that were known; the first of equal scores is."""
    if len(scores) == 1:
        return is_misclassified(scores[0], column_target(y, 0, 1), options.tie)
    best = 0
    for c in range(1, n_classes_before):
        best = c if scores[c] > scores[best] else best
    return y >= n_classes_before or best != y


@compiled
def are_finite(self_kernel: float, scores: NDArray[np.float64]) -> bool:
    """Whether these are finite, and K(x, x) is not negative."""
    all_finite = 0.0 <= self_kernel < MAX_ABS_SCORE
    for c in range(len(scores)):
        all_finite = all_finite and abs(scores[c]) < MAX_ABS_SCORE
    return all_finite


@compiled
def update_kernel_columns(
    expansion: KernelExpansion,
    options: KernelOptions,
    scores: NDArray[np.float64],
    y: int,
    q: int,
    weight: float,
    t: int,
) -> int:
    """Updates the columns that want it with kept example q; returns how many did."""
    updated, as_new_entry = 0, options.vote or expansion.first[q] == t  # what was kept just now has no entries yet
    for c in range(min(len(scores), expansion.counts[N_CLASSES])):
        target = column_target(y, c, len(scores))
        wrong = is_misclassified(scores[c], target, options.tie)
        expansion.errors[c] += wrong
        if wrong or target * scores[c] < options.margin:
            add_entry(expansion, q, c, target * weight, t, as_new_entry)
            updated += 1
    return updated


@compiled
def learn_kernel_rows(
    expansion: KernelExpansion,
    program: Program,
    options: KernelOptions,
    rows: Sparse,
    stored: Sparse,
    sq_norms: NDArray[np.float64],
    self_kernel: NDArray[np.float64],
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
    begin: int,
    block: NDArray[np.float64],
    user_values: NDArray[np.float64],
    example: NDArray[np.float64],
    stack: NDArray[np.float64],
    bits: NDArray[np.int64],
    scores: NDArray[np.float64],
    counters: LedgerCounters,
) -> int:
    """Learns rows from number `begin` on, K of which with what was kept before is in `block`; labels below 0 are left
    out. Returns where it stopped: at the end, before a row that is refused, or after one that is one too many to keep.
    With two labels there is one column, else one for each class."""
    for i in range(begin, len(labels)):
        y, weight = labels[i], weights[i] if len(weights) > 0 else 1.0
        if y < 0 or weight == 0.0:
            continue
        scatter(rows, i, example)
        fill_kernel_row(expansion, program, rows, i, sq_norms[i], example, user_values, stack, bits, block[i])
        unscatter(rows, i, example)
        last_scores(expansion, block[i], scores)
        n_classes_before = expansion.counts[N_CLASSES]
        n_classes = max(n_classes_before, y + 1)
        learns = needs_update(options, scores, y, n_classes)
        q = find_support(expansion, stored, i, sq_norms[i]) if learns else -1
        if not are_finite(self_kernel[i], scores) or (
            learns and q < 0 and is_memory_full(expansion, options, stored.starts[i + 1] - stored.starts[i])
        ):
            return i
        counters.counts[EXAMPLES] += 1
        t = counters.counts[EXAMPLES]
        counters.counts[WEIGHTED] += weight != 1.0
        counters.sums[SQUARED_RADIUS] = max(counters.sums[SQUARED_RADIUS], self_kernel[i])
        if is_mistake(options, scores, y, n_classes_before):
            count_mistake(counters)
        for c in range(max(n_classes_before, 2), n_classes):
            expansion.since[c] = t - 1
        expansion.counts[N_CLASSES] = n_classes
        expansion.counts[NEW_CLASS_EXAMPLES] += len(scores) > 1 and n_classes > n_classes_before
        if learns:
            q = add_support(expansion, stored, i, sq_norms[i], self_kernel[i], t) if q < 0 else q
            counters.counts[UPDATES] += 1
            counters.sums[ENERGY] += (
                update_kernel_columns(expansion, options, scores, y, q, weight, t) * weight * weight * self_kernel[i]
            )
            if 0 < options.budget < expansion.counts[N_SUPPORT]:
                return i + 1
    return len(labels)
