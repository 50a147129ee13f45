"""Training passes over a batch of rows, in the given or a shuffled order. A batch with an invalid row is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.model_state import ModelState
from novikoff.base.row_checks import build_overflow_error
from novikoff.data.rows import Rows
from novikoff.data.shuffle.gather import gather_blocks, gather_codes

RowOrders: TypeAlias = "Iterable[NDArray[np.int64] | None]"
"""The order of the rows in each pass; None is the given order."""
IN_GIVEN_ORDER: RowOrders = (None,)
"""The order of a single pass over the rows as given."""


class PassRecord(NamedTuple):
    """The record of a pass for `FeatureSample`: the number of examples of the run before and after it and, if the rows
    were shuffled, the numbers of the sampled examples and their rows."""

    before: int
    after: int
    times: NDArray[np.int64] | None = None
    chosen: NDArray[np.int64] | None = None


def learn_passes(
    model: Any, state: ModelState, rows: Rows, codes: Any, weights: NDArray[np.float64], orders: RowOrders
) -> int:
    """Learn all rows, one pass for each order; return the mistakes of the first pass.

    If a row is invalid, no row is learned. A batch smaller than the model is checked first. A larger one is learned at
    once, and the model is restored if that fails: copying the model is then cheaper than reading the batch twice.

    Weights that grow out of range are found only while learning. Then a model without a backup keeps what it has
    learned before that row. A new model is dropped by the caller.
    """
    backup = state.copy() if len(rows.values) >= state.updater.weights.size else None
    if backup is None:
        model._check_rows(state, rows)
    before, first = state.ledger.mistakes, -1
    done = list[PassRecord]()
    for order in orders:
        start = state.ledger.examples
        taken = _learn_in_order(model, state, rows, codes, weights, order)
        done.append(_record_pass(state, weights, order, start))
        if taken < len(codes):
            if backup is not None:
                model._restore(state, backup)
                model._check_rows(state, rows)
            else:
                _sample_passes(state, rows, weights, done)
            row = taken if order is None else int(order[taken])
            raise build_overflow_error(row, nothing_stands=backup is not None or state is not model._state)
        first = state.ledger.mistakes - before if first < 0 else first
        state.pause_probabilities()
    state.resume_probabilities()
    _sample_passes(state, rows, weights, done)
    return first


def _learn_in_order(
    model: Any, state: ModelState, rows: Rows, codes: Any, weights: NDArray[np.float64], order: NDArray[np.int64] | None
) -> int:
    """Learn all rows once in this order; return how many were taken."""
    if order is None:
        taken: int = model._run_pass(state, rows, codes, weights)
        return taken
    for part, block in gather_blocks(rows, order):
        chosen = order[part]
        block_weights = weights[chosen] if len(weights) else weights
        taken = model._run_pass(state, block, gather_codes(codes, chosen), block_weights)
        if taken < len(chosen):
            return part.start + taken
    return len(order)


def _record_pass(
    state: ModelState, weights: NDArray[np.float64], order: NDArray[np.int64] | None, before: int
) -> PassRecord:
    """Return the record of a pass in this order. The order itself is dropped: many passes would need much memory."""
    after = state.ledger.examples
    if order is None:
        return PassRecord(before, after)
    return PassRecord(before, after, *state.feature_sample.choose(order, weights, before, after))


def _sample_passes(state: ModelState, rows: Rows, weights: NDArray[np.float64], passes: list[PassRecord]) -> None:
    """Record the sampled examples of all passes."""
    for before, after, times, chosen in passes:
        if times is None or chosen is None:
            state.feature_sample.record(rows, weights, before, after, state.features)
        else:
            state.feature_sample.record_chosen(rows, chosen, times, state.features)
