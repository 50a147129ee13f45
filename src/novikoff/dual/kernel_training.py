"""Learning in the dual form: blocks of kernel values, and the loop over them.

Values of a block of examples with all that are kept are computed at once, by several threads; then the examples are
learned one after another, and those of the block that are kept meanwhile are compared one by one. Every value is the
same number in whichever way it is computed (`_panels.py`, `kernels/program.py`), so that it does not matter how a
stream is cut.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError, ModelTooLarge
from novikoff.kernels.expression import Kernel, Precomputed
from novikoff.kernels.gram import answers, table_of, values_of
from novikoff.kernels.support_set import (compared, room, room_for_features, rows_kept)
from novikoff.kernels.bytecode import compiled_from, evaluate_selves, stack_for
from novikoff.dual.kernel_state import DualState
from novikoff.core.kernel.support_budget import chosen, drop, projection
from novikoff.core.kernel.expansion import (ENTRIES, FRESH, KEPT, Ways)
from novikoff.core.kernel.loop import add_entry, follow
from novikoff.data.shuffle.gather import gather_rows
from novikoff.data.rows import Sparse, cut

VALUES = 1 << 20  # kernel values that are computed at once
MOST_ROWS, LEAST_ROWS = 256, 16


class Told(NamedTuple):
    """Examples to learn: rows in terms, their ‖x‖², the numbers of their classes, and weights or none."""

    rows: Sparse
    squares: NDArray[np.float64]
    labels: NDArray[np.int64]
    weights: NDArray[np.float64]
    numbers: NDArray[np.int64]
    """The number of each row in its batch: in a Gram matrix, its column."""

    def part(self, start: int, stop: int) -> Told:
        rows: Any = cut(self.rows, start, stop)
        weights = self.weights[start:stop] if len(self.weights) else self.weights
        return Told(rows, self.squares[start:stop], self.labels[start:stop], weights, self.numbers[start:stop])

    def gather(self, order: NDArray[np.int64]) -> Told:
        """Return a copy with the rows in this order."""
        rows: Any = gather_rows(self.rows, order)
        weights = self.weights[order] if len(self.weights) else self.weights
        return Told(rows, self.squares[order], self.labels[order], weights, self.numbers[order])


def rows_at_once(kept: int) -> int:
    return min(MOST_ROWS, max(LEAST_ROWS, VALUES // max(room(kept), 1)))


class Run:
    """One pass of a state over some examples."""

    def __init__(self, state: DualState, kernel: Kernel, ways: Ways, dropping: str) -> None:
        self.state, self.kernel, self.ways, self.dropping = state, kernel, ways, dropping
        self.program, self.asked = compiled_from(kernel)
        self.buffer = np.empty(0)

    def all(self, told: Told) -> int:
        """Returns how many examples were taken: fewer than there are where one was refused."""
        end, begin = len(told.labels), 0
        if self.state.columns == 1:  # the first of a third class begins a new way of counting
            counts = told.labels >= 2
            third = np.flatnonzero(counts & (told.weights > 0.0) if len(told.weights) else counts)
            begin = int(third[0]) if third.size else end
            taken = self._some(told, 0, begin)
            if taken < begin or begin == end:
                return taken
        self.state.widen(max(self.state.columns, int(told.labels.max(initial=0)) + 1))
        return self._some(told, begin, end)

    def _some(self, told: Told, start: int, end: int) -> int:
        """Examples from `start` to `end`, block by block."""
        scores, example = np.zeros(self.state.columns), room_for_features(max(self.state.features, 1))
        most = MOST_ROWS
        while start < end:
            kept = int(self.state.dual.counts[KEPT])
            stop = min(end, start + (1 if self.asked else min(most, rows_at_once(kept))))
            try:
                taken = self._block(told.part(start, stop), kept, scores, example)
            except ModelTooLarge:  # room is made for all of a block, of which few may be kept
                if stop - start == 1:
                    raise
                most = (stop - start) // 2
                continue
            if start + taken < stop:
                return start + taken
            start = stop
        return end

    def _block(self, told: Told, kept: int, scores: NDArray[np.float64], example: NDArray[np.float64]) -> int:
        state, count = self.state, len(told.labels)
        stored = _units(told.numbers, state.kind) if isinstance(self.kernel, Precomputed) else told.rows
        state.reserve(count, int(stored.starts[-1] - stored.starts[0]))
        wide = room(kept + count)
        if self.buffer.size < count * wide:
            self.buffer = np.empty(count * wide)
        block = self.buffer[: count * wide].reshape(count, wide)
        given = np.zeros((len(self.asked), wide))
        if self.asked and kept:
            given[:, :kept] = state.answered(self.asked, table_of(told.rows, state.features))
        own = self._own_values(told)
        compared(state.dual.kept, self.program, told.rows, told.squares, kept, given, block)
        stack, bits = stack_for(self.program, 1)
        done = 0
        while done < count:
            done = follow(
                state.dual,
                self.program,
                self.ways,
                told.rows,
                stored,
                told.squares,
                own,
                told.labels,
                told.weights,
                done,
                block,
                given,
                example,
                stack,
                bits,
                scores,
                state.ledger.book,
            )
            if 0 < self.ways.budget < state.dual.counts[KEPT]:
                self._drop_one()
            elif done < count:
                return done
        return count

    def _own_values(self, told: Told) -> NDArray[np.float64]:
        """K(x, x) of each example."""
        count, features = len(told.squares), self.state.features
        if isinstance(self.kernel, Precomputed):
            return table_of(told.rows, features)[np.arange(count), told.numbers].astype(np.float64)
        own, given = np.empty(count), np.zeros((len(self.asked), count))
        if self.asked:
            x = table_of(told.rows, features)
            given[:] = np.stack([np.diagonal(answers([one], x, x)[0]) for one in self.asked])
        evaluate_selves(self.program, told.squares, given, *stack_for(self.program, 1), own)
        return own

    def _drop_one(self) -> None:
        dual, kept = self.state.dual, int(self.state.dual.counts[KEPT])
        q = chosen(dual, self.dropping)
        if self.dropping == "project" and kept > 1:
            self._project(q, kept)
        drop(self.state.dual, q)

    def _project(self, q: int, kept: int) -> None:
        """Gives the share that kept example q has in the weights to the others."""
        if self.asked or isinstance(self.kernel, Precomputed):
            raise InputError("drop='project' needs a kernel that is computed here: choose oldest or smallest.")
        state = self.state
        G = np.empty((kept, room(kept)))
        values_of(state.dual.kept, self.program, rows_kept(state.dual.kept, kept), kept, np.zeros((0, 1)), G)
        shares = projection(np.ascontiguousarray(G[:, :kept]), q)
        fresh = state.dual.fresh[: int(state.dual.counts[FRESH])].copy()
        state.reserve(kept + len(fresh), 0)
        dual, count = state.dual, int(state.dual.counts[ENTRIES])
        dual.fresh[: len(fresh)], dual.counts[FRESH] = fresh, len(fresh)
        mine = [(int(dual.into[e]), float(dual.amounts[e])) for e in np.flatnonzero(dual.rows[:count] == q)]
        others = np.delete(np.arange(kept), q).tolist()
        for c, amount in mine:
            for i, share in zip(others, shares.tolist(), strict=True):
                add_entry(dual, i, c, amount * share, state.ledger.examples, False)


def _units(numbers: NDArray[np.int64], kind: Any) -> Sparse:
    """Examples of a Gram matrix, each by its number."""
    return Sparse(np.arange(len(numbers) + 1), numbers.astype(np.uint32), np.ones(len(numbers), kind))
