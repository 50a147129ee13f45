"""Fast path that learns single examples of a known type, with everything prepared in advance.

In Python, inspecting argument types and building arrays costs more than learning itself. The fast path therefore keeps:

- the compiled steps for the current types (`CompiledFunction.bound`), their constant arguments packed into one block;
- buffers that are filled directly from a dict, by compiled code or, for numbers that are not Python's own, by `struct`;
- the tables of labels and feature names.

Any other example (a new label, a new feature, another precision, an invalid value) takes the slow path,
`LinearClassifier._learn_slow_path`, which raises all errors.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

from novikoff._compiled.dict_reader import OCCUPIED, WAITING_AT, DictTerms, allocate_workspace, bind_reader, terms_view
from novikoff._compiled.jit import JIT_DISABLED, Like
from novikoff._compiled.lazy_numpy import np
from novikoff._compiled.simd.dot import pack_block
from novikoff.base.model_state import ModelState
from novikoff.core.loop import (
    FAST_PATH_CLOSED,
    HAS_ZEROS,
    NEEDS_SLOW_PATH,
    StepContext,
    learn_one_dense,
    learn_one_sparse,
)
from novikoff.data.rows import Sparse

MAX_CACHED_LENGTHS = 1000  # numbers of terms for which buffers are kept


class SparseFallback(NamedTuple):
    """The arguments of the sparse step, which learns an array with zeros after the dense step has left its other terms
    in `spare`."""

    sparse: Callable[..., int]
    spare: Sparse
    setting: StepContext
    """Keeps the arrays alive to which the block points."""


class FastLearnPath:
    def __init__(self, loss: Any, tie: float, state: ModelState, *, sparse_only: bool = False) -> None:
        self.rule, self.tie, self.kind = loss, tie, state.kind
        self.signs = state.labels.sides
        self.starts = np.zeros(3, np.int64)
        self.packers: dict[int, tuple[Callable[..., None], bytearray, Any, Any, Any]] = {}
        self.setting: StepContext | None = None
        self.workspace = allocate_workspace()
        self.spare = Sparse(terms_view(self.workspace), np.zeros(0, np.uint32), np.zeros(0, state.kind))
        self.own_spare = Sparse(np.zeros(3, np.int64), np.zeros(0, np.uint32), np.zeros(0, state.kind))
        """Buffer of the thread that holds the model's lock: it must not wait until another thread has emptied
        `spare`."""
        self.all_starts, self.all_indices = np.zeros(2, np.int64), np.zeros(0, np.uint32)
        """Row starts and column numbers with which the sparse step takes an array; built for the first array."""
        self.own_words: Any = None
        self.refresh(state)
        self.read = bind_reader(self.terms_block, self.terms)
        like, indices, values = Like(self.setting), np.zeros(1, np.uint32), np.zeros(2, state.kind)
        self.sparse = learn_one_sparse.bound(self.block, like, self.starts, indices, values, 1.0)
        # The array is typed as "any layout": the step itself checks whether it is contiguous.
        self.dense = None if sparse_only else learn_one_dense.bound(self.block, like, values[::2], 1.0)

    def refresh(self, state: ModelState) -> None:
        """Update the fast path after the number of features, or their capacity, has changed."""
        self.columns = None if state.names is None else state.names.columns
        old = self.setting
        moments = state.feature_sample.moments
        if (
            old is None
            or old.updater is not state.updater
            or old.features != state.features
            or old.moments is not moments
        ):
            if len(self.spare.values) < state.features:
                self.spare, self.own_spare = (
                    Sparse(old.starts, np.empty(state.room, np.uint32), np.empty(state.room, self.kind))
                    for old in (self.spare, self.own_spare)
                )
                self.own_words = None
            self.all_starts = np.array([0, state.features])
            counters = state.ledger.book
            self.setting = StepContext(
                self.rule, state.updater, self.tie, counters, state.features, self.spare, moments
            )
            if old is None or old.spare is not self.spare:
                self.terms = DictTerms(self.workspace, self.spare.indices, self.spare.values)
                self.terms_block = pack_block(self.terms)
            elif not JIT_DISABLED and old.book is counters and old.moments is moments:
                self._pack_geometry(state)
                return
            self.block = pack_block(self.setting)
            self.own_block = self._pack_own()

    def _pack_geometry(self, state: ModelState) -> None:
        """Rebuild both blocks where only the arrays of the updater and the number of features have changed: packing all
        arguments takes twice as long. Threads may still hold the old block, which stays closed."""
        words = pack_block(state.updater)
        self.block = self.block.copy()
        for block in (self.block, self.own_block):
            block[self.geometry_at : self.geometry_at + len(words)] = words
            block[self.features_at] = state.features

    def _pack_own(self) -> Any:
        """Return a copy of the block that is never closed, with the buffer of the thread that holds the lock."""
        setting: Any = self.setting
        if JIT_DISABLED:
            return setting._replace(spare=self.own_spare)
        block = self.block.copy()
        if self.own_words is None:
            self.own_words = pack_block(self.own_spare)
            self.geometry_at = len(pack_block(self.rule))
            self.features_at = len(block) - len(pack_block(setting.moments)) - len(self.own_words) - 1
        start = self.features_at + 1
        block[start : start + len(self.own_words)] = self.own_words
        return block

    def is_abandoned(self) -> bool:
        """Return whether the shared buffers hold an example that was not learned, after an interrupt.
        A thread that is about to learn it finds its block closed, and learns under the lock."""
        return bool(self.workspace[WAITING_AT] > 0)

    def close(self) -> None:
        """Make both steps return NEEDS_SLOW_PATH, also to threads that are about to call them."""
        if not JIT_DISABLED:
            self.block[self.features_at] = FAST_PATH_CLOSED

    def open(self, state: ModelState) -> None:
        """Undo `close`, unless the fast path belongs to another state."""
        setting: Any = self.setting
        if not JIT_DISABLED and setting.updater is state.updater and setting.features == state.features:
            self.block[self.features_at] = state.features

    def build_array_learner(self) -> tuple[Any, ...] | None:
        """Return the arguments for learning an array; None if no column numbers exist yet for arrays of this width.
        They are the step, its block, the precision, the signs of the labels, starts and column numbers if the step is
        the sparse one, and the fallback for arrays with zeros. Build them again after `refresh`."""
        setting: Any = self.setting
        rest = SparseFallback(self.sparse, self.spare, setting)
        if self.dense is not None:
            return self.dense, self.block, self.kind, self.signs, None, rest
        if len(self.all_indices) < setting.features:
            return None
        return self.sparse, self.block, self.kind, self.signs, (self.all_starts, self.all_indices), rest

    def learn_array(self, x: Any, sign: float) -> int:
        """Learn an array; the calling thread holds the model's lock."""
        if self.dense is None:
            if len(self.all_indices) < len(x):
                self.all_indices = np.arange(len(x), dtype=np.uint32)
            taken = self.sparse(self.own_block, None, self.all_starts, self.all_indices, x, sign)
        else:
            taken = self.dense(self.own_block, None, x, sign)
        return self.sparse(self.own_block, None, *self.own_spare, sign) if taken == HAS_ZEROS else taken

    def learn_terms(self, columns: Any, values: Any, sign: float) -> int:
        """Learn an example with these terms; zeros may be removed from both arrays. The calling thread holds the
        model's lock."""
        self.starts[1] = len(columns)
        taken = self.sparse(self.own_block, None, self.starts, columns, values, sign)
        return self.sparse(self.own_block, None, self.starts, columns, values, sign) if taken == HAS_ZEROS else taken

    def prepare(self, terms: int) -> None:
        """Create the buffer for examples with this number of terms: first the column numbers, then the values."""
        if terms == 0 or terms in self.packers:
            return
        if len(self.packers) >= MAX_CACHED_LENGTHS:
            self.packers.clear()
        layout = struct.Struct(f"{terms}I{terms}{self.kind.char}")
        buffer = bytearray(layout.size)
        indices = np.frombuffer(buffer, np.uint32, terms)
        values = np.frombuffer(buffer, self.kind, terms, layout.size - terms * self.kind.itemsize)
        self.packers[terms] = layout.pack_into, buffer, np.zeros(3, np.int64), indices, values

    def build_dict_learner(self) -> Callable[[Any, Any], int]:
        """Return learn(x, y) → RIGHT or WRONG; negative, with nothing changed, if the example needs the slow path.

        The function uses local variables only: attribute lookups would take as long as the step itself. Build it again
        after `refresh`.
        """
        block, sparse, signs, packers = self.block, self.sparse, self.signs, self.packers
        columns = self.columns
        read, terms_block, spare = self.read, self.terms_block, self.spare
        names = 0 if columns is None else id(columns)

        # `alive` keeps the arrays alive to which the blocks point.
        def learn(x: Any, y: Any, alive: Any = (self.setting, self.terms)) -> int:
            try:
                sign, terms = signs[y], len(x)
                if type(x) is not dict:
                    x = dict.fromkeys(x, 1.0) if type(x) is list else x
                    if type(x) is not dict or len(x) != terms:
                        return NEEDS_SLOW_PATH
                found = read(terms_block, None, id(x), names)
                if found == terms > 0:
                    taken = sparse(block, None, *spare, sign)
                    return sparse(block, None, *spare, sign) if taken == HAS_ZEROS else taken
                if found == OCCUPIED:
                    return NEEDS_SLOW_PATH
                packer = packers.pop(terms)  # removed while in use, so that no other thread fills the same buffer
                pack_into, buffer, starts, indices, values = packer
                pack_into(buffer, 0, *(x if columns is None else itemgetter(*x)(columns)), *x.values())
            except (KeyError, TypeError, OverflowError, struct.error):
                return NEEDS_SLOW_PATH
            starts[1] = terms
            taken = sparse(block, None, starts, indices, values, sign)
            if taken == HAS_ZEROS:
                taken = sparse(block, None, starts, indices, values, sign)
            packers[terms] = packer
            return taken

        return learn
