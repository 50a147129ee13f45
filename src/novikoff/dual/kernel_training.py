"""Learning in the dual form: blocks of kernel values, and the loop over them.

The kernel values of a block of examples with all support examples are computed at once, by several threads. Then the
examples are learned one after another; values with support examples from the block itself are computed one by one.
Every value is the same number in both ways (`_compiled/simd/dot_panels.py`, `kernels/bytecode.py`), so the model does
not depend on batch boundaries.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.core.kernel.expansion import N_ENTRIES, N_FRESH, N_SUPPORT, KernelOptions
from novikoff.core.kernel.loop import add_entry, learn_kernel_rows
from novikoff.core.kernel.support_budget import project_onto_others, remove_support, select_removal
from novikoff.data.rows import Sparse, slice_rows
from novikoff.data.shuffle.gather import gather_rows
from novikoff.dual.kernel_state import KernelState
from novikoff.errors import InputError, ModelTooLarge
from novikoff.kernels.bytecode import allocate_stack, compile_kernel, evaluate_diagonal
from novikoff.kernels.expression import Kernel, Precomputed
from novikoff.kernels.gram import call_user_functions, compute_kernel_values, to_dense
from novikoff.kernels.support_set import allocate_features, compute_gram_threaded, pad_to_panels, support_rows

MAX_BLOCK_VALUES = 1 << 20  # number of kernel values in a block
MAX_BLOCK_ROWS, MIN_BLOCK_ROWS = 256, 16


class LabelledRows(NamedTuple):
    """Examples to learn: rows as sparse terms, their ‖x‖², the numbers of their classes, and optional weights."""

    rows: Sparse
    squares: NDArray[np.float64]
    labels: NDArray[np.int64]
    weights: NDArray[np.float64]
    numbers: NDArray[np.int64]
    """The number of each row in its batch: in a Gram matrix, its column."""

    def part(self, start: int, stop: int) -> LabelledRows:
        rows: Any = slice_rows(self.rows, start, stop)
        weights = self.weights[start:stop] if len(self.weights) else self.weights
        return LabelledRows(rows, self.squares[start:stop], self.labels[start:stop], weights, self.numbers[start:stop])

    def gather(self, order: NDArray[np.int64]) -> LabelledRows:
        """Return a copy with the rows in this order."""
        rows: Any = gather_rows(self.rows, order)
        weights = self.weights[order] if len(self.weights) else self.weights
        return LabelledRows(rows, self.squares[order], self.labels[order], weights, self.numbers[order])


def choose_block_rows(n_support: int) -> int:
    return min(MAX_BLOCK_ROWS, max(MIN_BLOCK_ROWS, MAX_BLOCK_VALUES // max(pad_to_panels(n_support), 1)))


class KernelTraining:
    """A training pass of a state over some examples."""

    def __init__(self, state: KernelState, kernel: Kernel, options: KernelOptions, drop_policy: str) -> None:
        self.state, self.kernel, self.options, self.drop_policy = state, kernel, options, drop_policy
        self.program, self.asked = compile_kernel(kernel)
        self.buffer = np.empty(0)

    def all(self, labelled_rows: LabelledRows) -> int:
        """Learn all examples; return how many were learned, up to the first refused one."""
        end, begin = len(labelled_rows.labels), 0
        if self.state.columns == 1:  # the first example of a third class changes the number of columns
            counts = labelled_rows.labels >= 2
            third = np.flatnonzero(counts & (labelled_rows.weights > 0.0) if len(labelled_rows.weights) else counts)
            begin = int(third[0]) if third.size else end
            taken = self._learn_range(labelled_rows, 0, begin)
            if taken < begin or begin == end:
                return taken
        self.state.widen(max(self.state.columns, int(labelled_rows.labels.max(initial=0)) + 1))
        return self._learn_range(labelled_rows, begin, end)

    def _learn_range(self, labelled_rows: LabelledRows, start: int, end: int) -> int:
        """Learn the examples from `start` to `end`, block by block."""
        scores, example = np.zeros((5, self.state.columns)), allocate_features(max(self.state.features, 1))
        most = MAX_BLOCK_ROWS
        while start < end:
            n_support = int(self.state.dual.counts[N_SUPPORT])
            stop = min(end, start + (1 if self.asked else min(most, choose_block_rows(n_support))))
            try:
                taken = self._learn_block(labelled_rows.part(start, stop), n_support, scores, example)
            except ModelTooLarge:  # capacity for all examples of a block, of which few may be stored
                if stop - start == 1:
                    raise
                most = (stop - start) // 2
                continue
            if start + taken < stop:
                return start + taken
            start = stop
        return end

    def _learn_block(
        self, labelled_rows: LabelledRows, n_support: int, scores: NDArray[np.float64], example: NDArray[np.float64]
    ) -> int:
        state, count = self.state, len(labelled_rows.labels)
        stored = (
            _one_hot_rows(labelled_rows.numbers, state.kind)
            if isinstance(self.kernel, Precomputed)
            else labelled_rows.rows
        )
        state.reserve(count, int(stored.starts[-1] - stored.starts[0]))
        wide = pad_to_panels(n_support + count)
        if self.buffer.size < count * wide:
            self.buffer = np.empty(count * wide)
        block = self.buffer[: count * wide].reshape(count, wide)
        given = np.zeros((len(self.asked), wide))
        if self.asked and n_support:
            given[:, :n_support] = state.answered(self.asked, to_dense(labelled_rows.rows, state.features))
        own = self._own_values(labelled_rows)
        compute_gram_threaded(
            state.dual.kept, self.program, labelled_rows.rows, labelled_rows.squares, n_support, given, block
        )
        stack, bits = allocate_stack(self.program, 1)
        done = 0
        while done < count:
            done = learn_kernel_rows(
                state.dual,
                self.program,
                self.options,
                labelled_rows.rows,
                stored,
                labelled_rows.squares,
                own,
                labelled_rows.labels,
                labelled_rows.weights,
                done,
                block,
                given,
                example,
                stack,
                bits,
                scores[0],
                scores[1:],
                state.ledger.book,
            )
            if 0 < self.options.budget < state.dual.counts[N_SUPPORT]:
                self._drop_one()
            elif done < count:
                return done
        return count

    def _own_values(self, labelled_rows: LabelledRows) -> NDArray[np.float64]:
        """Return K(x, x) of each example."""
        count, features = len(labelled_rows.squares), self.state.features
        if isinstance(self.kernel, Precomputed):
            return to_dense(labelled_rows.rows, features)[np.arange(count), labelled_rows.numbers].astype(np.float64)
        own, given = np.empty(count), np.zeros((len(self.asked), count))
        if self.asked:
            x = to_dense(labelled_rows.rows, features)
            given[:] = np.stack([np.diagonal(call_user_functions([one], x, x)[0]) for one in self.asked])
        evaluate_diagonal(self.program, labelled_rows.squares, given, *allocate_stack(self.program, 1), own)
        return own

    def _drop_one(self) -> None:
        dual, n_support = self.state.dual, int(self.state.dual.counts[N_SUPPORT])
        q = select_removal(dual, self.drop_policy)
        if self.drop_policy == "project" and n_support > 1:
            self._project(q, n_support)
        remove_support(self.state.dual, q)

    def _project(self, q: int, n_support: int) -> None:
        """Project support example q onto the others: distribute its contribution to the weights among them."""
        if self.asked or isinstance(self.kernel, Precomputed):
            raise InputError("drop='project' needs a kernel that is computed here: choose oldest or smallest.")
        state = self.state
        G = np.empty((n_support, pad_to_panels(n_support)))
        compute_kernel_values(
            state.dual.kept, self.program, support_rows(state.dual.kept, n_support), n_support, np.zeros((0, 1)), G
        )
        shares = project_onto_others(np.ascontiguousarray(G[:, :n_support]), q)
        fresh = state.dual.fresh[: int(state.dual.counts[N_FRESH])].copy()
        state.reserve(n_support + len(fresh), 0)
        dual, count = state.dual, int(state.dual.counts[N_ENTRIES])
        dual.fresh[: len(fresh)], dual.counts[N_FRESH] = fresh, len(fresh)
        mine = [(int(dual.into[e]), float(dual.amounts[e])) for e in np.flatnonzero(dual.rows[:count] == q)]
        others = np.delete(np.arange(n_support), q).tolist()
        for c, amount in mine:
            for i, share in zip(others, shares.tolist(), strict=True):
                add_entry(dual, i, c, amount * share, state.ledger.examples, False)


def _one_hot_rows(numbers: NDArray[np.int64], dtype: Any) -> Sparse:
    """Return the examples of a Gram matrix, each as its number."""
    return Sparse(np.arange(len(numbers) + 1), numbers.astype(np.uint32), np.ones(len(numbers), dtype))
