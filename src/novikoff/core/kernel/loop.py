"""Learn online in the dual form: the weights are a sum over stored examples, the support."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled
from novikoff.core.calibration import (
    MAX_CALIBRATED_SCORE,
    next_calibrated_example,
    update_calibration,
    update_softmax_calibration,
)
from novikoff.core.cursor import sample_weight
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
    predicted_scores,
)
from novikoff.data.rows import Sparse
from novikoff.kernels.bytecode import Program, evaluate
from novikoff.kernels.support_set import dot_one, is_same_row, scatter, unscatter, write_row
from novikoff.ledger import (
    CALIBRATED_NEXT,
    LedgerCounters,
    count_example,
    count_mistake,
    count_sample_weight,
    count_update,
)

MAX_ABS_SCORE = 1e300


@compiled
def find_support(expansion: KernelExpansion, rows: Sparse, i: int, sq_norm: float) -> int:
    """Return the number of the stored example that equals row i, or −1."""
    for q in range(expansion.counts[N_SUPPORT]):
        if expansion.kept.squares[q] == sq_norm and is_same_row(expansion.kept, q, rows, i):
            return q
    return -1


@compiled
def add_entry(expansion: KernelExpansion, q: int, c: int, amount: float, t: int, as_new_entry: bool) -> None:
    """Add `amount` to the coefficient of stored example q in column c, in a new entry or in that of an earlier step."""
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
    """Store row i of `stored`; return the number of the new stored example."""
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
    """Complete the kernel values K of row i: those with examples that were stored since the block was computed.

    `example` is row i as a dense row.
    """
    for f in range(expansion.counts[N_FRESH]):
        q = expansion.fresh[f]
        if q < expansion.counts[N_SUPPORT]:
            K[q] = dot_one(expansion.kept, q, rows, i, example)
            evaluate(program, 1, K, q, sq_norm, expansion.kept.squares, user_values, stack, bits, K)


@compiled
def is_memory_full(expansion: KernelExpansion, options: KernelOptions, terms: int) -> bool:
    """Return whether one more stored example would exceed the memory limit."""
    used = expansion.counts[N_SUPPORT] * options.row_bytes + (expansion.counts[N_TERMS] + terms) * options.term_bytes
    return (
        used + options.row_bytes + (expansion.counts[N_ENTRIES] + len(expansion.since)) * options.per_entry
        > options.memory
    )


@compiled
def column_target(y: int, c: int, columns: int) -> float:
    """Return the label ±1 of an example of class y in column c; the only column of two classes is for class 1."""
    return 1.0 if y == (c if columns > 1 else 1) else -1.0


@compiled
def is_misclassified(score: float, target: float, tie: float) -> bool:
    return target * score < 0.0 or (score == 0.0 and target * tie < 0.0)


@compiled
def needs_update(options: KernelOptions, scores: NDArray[np.float64], y: int, n_classes: int) -> bool:
    """Return whether any column learns from an example with these scores."""
    for c in range(min(len(scores), n_classes)):
        target = column_target(y, c, len(scores))
        if is_misclassified(scores[c], target, options.tie) or target * scores[c] < options.margin:
            return True
    return False


@compiled
def is_mistake(options: KernelOptions, scores: NDArray[np.float64], y: int, n_classes_before: int) -> bool:
    """Return whether another class than y was predicted, of those seen before; the first of equal scores wins."""
    if len(scores) == 1:
        return is_misclassified(scores[0], column_target(y, 0, 1), options.tie)
    best = 0
    for c in range(1, n_classes_before):
        best = c if scores[c] > scores[best] else best
    return y >= n_classes_before or best != y


@compiled
def are_finite(self_kernel: float, scores: NDArray[np.float64]) -> bool:
    """Return whether K(x, x) is at least 0, and it and the scores are finite."""
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
    """Add stored example q to the columns that learn from it; return their number."""
    updated, as_new_entry = 0, options.vote or expansion.first[q] == t  # an example stored in this step has no entries
    for c in range(min(len(scores), expansion.counts[N_CLASSES])):
        target = column_target(y, c, len(scores))
        wrong = is_misclassified(scores[c], target, options.tie)
        expansion.errors[c] += wrong
        if wrong or target * scores[c] < options.margin:
            add_entry(expansion, q, c, target * weight, t, as_new_entry)
            updated += 1
    return updated


@compiled
def calibrate_kernel(
    expansion: KernelExpansion,
    options: KernelOptions,
    y: int,
    weight: float,
    n_classes: int,
    t: int,
    K: NDArray[np.float64],
    scratch: NDArray[np.float64],
    counters: LedgerCounters,
) -> None:
    """Calibrate the probabilities by an example of class y, number t, before it is learned."""
    counters.counts[CALIBRATED_NEXT] = next_calibrated_example(t)
    scores = scratch[2]
    predicted_scores(expansion, options.averaging, t - 1, options.tie, K, scratch, scores)
    in_range = True
    for c in range(len(scores)):
        in_range &= abs(scores[c]) < MAX_CALIBRATED_SCORE
    if in_range and len(scores) == 1:
        update_calibration(counters.calibration, scores[0], column_target(y, 0, 1), weight)
    elif in_range and n_classes > 1 and y < n_classes:
        update_softmax_calibration(counters.calibration, scores, n_classes, y, weight, scratch[3])


# The online algorithm in its dual form, w = Σ a·φ(z) over the support (the stored examples z), for t = 1, 2, …:
#
#     k = K(z, x) for all stored z     fill_kernel_row
#     s_c = Σ a·k of column c          last_scores
#     if the prediction is wrong:      count_mistake
#     if any y_c·s_c < margin:         count_update
#         store x                      add_support            unless it is stored
#         a += weight · y_c            update_kernel_columns  in each such column c
LEARNED, REJECTED, OVER_BUDGET = 0, -1, 1


@compiled
def step_kernel(
    expansion: KernelExpansion,
    options: KernelOptions,
    stored: Sparse,
    i: int,
    sq_norm: float,
    self_kernel: float,
    y: int,
    weight: float,
    K: NDArray[np.float64],
    scores: NDArray[np.float64],
    scratch: NDArray[np.float64],
    counters: LedgerCounters,
) -> int:
    """Learn row i, of class y with these kernel values and scores; return LEARNED, OVER_BUDGET or REJECTED.

    A rejected row changes nothing.
    """
    n_classes_before = expansion.counts[N_CLASSES]
    n_classes = max(n_classes_before, y + 1)
    is_update = needs_update(options, scores, y, n_classes)
    q = find_support(expansion, stored, i, sq_norm) if is_update else -1
    if not are_finite(self_kernel, scores):
        return REJECTED
    if is_update and q < 0 and is_memory_full(expansion, options, stored.starts[i + 1] - stored.starts[i]):
        return REJECTED
    t = count_example(counters, self_kernel)
    if t == counters.counts[CALIBRATED_NEXT]:
        calibrate_kernel(expansion, options, y, weight, n_classes_before, t, K, scratch, counters)
    count_sample_weight(counters, weight)
    if is_mistake(options, scores, y, n_classes_before):
        count_mistake(counters)
    for c in range(max(n_classes_before, 2), n_classes):
        expansion.since[c] = t - 1
    expansion.counts[N_CLASSES] = n_classes
    expansion.counts[NEW_CLASS_EXAMPLES] += len(scores) > 1 and n_classes > n_classes_before
    if not is_update:
        return LEARNED
    if q < 0:
        q = add_support(expansion, stored, i, sq_norm, self_kernel, t)
    n_updated = update_kernel_columns(expansion, options, scores, y, q, weight, t)
    count_update(counters, n_updated * weight * weight * self_kernel)
    return OVER_BUDGET if 0 < options.budget < expansion.counts[N_SUPPORT] else LEARNED


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
    scratch: NDArray[np.float64],
    counters: LedgerCounters,
) -> int:
    """Learn the rows from number `begin` on; `block` holds K of each row with the support at the start of the block.

    Rows with labels below 0 are left out. Return where the pass stopped: at the end, before a row that is rejected, or
    after one with which the support is larger than its budget. Two classes have one column, more have one each.
    `scratch` is four rows of a number for each column.
    """
    for i in range(begin, len(labels)):
        y, weight = labels[i], sample_weight(weights, i)
        if y < 0 or weight == 0.0:
            continue
        scatter(rows, i, example)
        fill_kernel_row(expansion, program, rows, i, sq_norms[i], example, user_values, stack, bits, block[i])
        unscatter(rows, i, example)
        last_scores(expansion, block[i], scores)
        outcome = step_kernel(
            expansion,
            options,
            stored,
            i,
            sq_norms[i],
            self_kernel[i],
            y,
            weight,
            block[i],
            scores,
            scratch,
            counters,
        )
        if outcome == REJECTED:
            return i
        if outcome == OVER_BUDGET:
            return i + 1
    return len(labels)
