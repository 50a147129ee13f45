"""The fast lane for single examples: all that the next example of the usual kind needs, made ready once.

From Python, looking at the types of arguments and building arrays costs more than learning. The lane keeps the compiled
steps for the types at hand (`Compiled.bound`), their unchanging arguments packed into one block, room that is filled
straight from a dict, by compiled code or, for numbers that are not Python's own, by `struct`, and the tables of labels
and names. Whatever is not usual (a new label, a new feature,
another precision, anything wrong) it leaves to the way around, `OneByOne._learn_unusual`: so it needs no messages.
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

MAX_CACHED_LENGTHS = 1000  # of examples for which buffers are kept ready


class SparseFallback(NamedTuple):
    """What is needed for an array with zeros, after the step for arrays has left its other terms in `spare`."""

    sparse: Callable[..., int]
    spare: Sparse
    setting: StepContext
    """Keeps the arrays alive that the block points to."""


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
        """For the thread that holds the model's lock, which must not wait until another has emptied `spare`."""
        self.all_starts, self.all_indices = np.zeros(2, np.int64), np.zeros(0, np.uint32)
        """With which the step for sparse examples takes an array; made when the first array is learned."""
        self.own_words: Any = None
        self.refresh(state)
        self.read = bind_reader(self.terms_block, self.terms)
        like, indices, values = Like(self.setting), np.zeros(1, np.uint32), np.zeros(2, state.kind)
        self.sparse = learn_one_sparse.bound(self.block, like, self.starts, indices, values, 1.0)
        # An array typed as "any layout": the step itself looks whether it is in one piece.
        self.dense = None if sparse_only else learn_one_dense.bound(self.block, like, values[::2], 1.0)

    def refresh(self, state: ModelState) -> None:
        """After features, or the room for them, have changed."""
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
        """Make both blocks anew where only geometry and features have changed: to pack all takes twice as long. Threads
        may still hold the old block, which stays closed."""
        words = pack_block(state.updater)
        self.block = self.block.copy()
        for block in (self.block, self.own_block):
            block[self.geometry_at : self.geometry_at + len(words)] = words
            block[self.features_at] = state.features

    def _pack_own(self) -> Any:
        """Return a copy of the block that is never closed, with the spare room of the thread that holds the lock."""
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
        """Whether the shared buffers hold an example that was not learned: an interrupt may have come in between. A
        thread that is about to learn it finds its block closed, and learns under the lock."""
        return bool(self.workspace[WAITING_AT] > 0)

    def close(self) -> None:
        """Make both steps answer NEEDS_SLOW_PATH, also to threads that are about to call them."""
        if not JIT_DISABLED:
            self.block[self.features_at] = FAST_PATH_CLOSED

    def open(self, state: ModelState) -> None:
        """Undo `close`, unless the lane is no longer that of this state."""
        setting: Any = self.setting
        if not JIT_DISABLED and setting.updater is state.updater and setting.features == state.features:
            self.block[self.features_at] = state.features

    def build_array_learner(self) -> tuple[Any, ...] | None:
        """Return what an array needs, to be made anew after the lane was refreshed: the step, its block, the precision,
        the signs of the labels, starts and indices where the step is the one for sparse examples, and what the step for
        the rest of an array with zeros needs. None where there are no indices for arrays of this width yet."""
        setting: Any = self.setting
        rest = SparseFallback(self.sparse, self.spare, setting)
        if self.dense is not None:
            return self.dense, self.block, self.kind, self.signs, None, rest
        if len(self.all_indices) < setting.features:
            return None
        return self.sparse, self.block, self.kind, self.signs, (self.all_starts, self.all_indices), rest

    def learn_array(self, x: Any, sign: float) -> int:
        """An array, by the thread that holds the model's lock."""
        if self.dense is None:
            if len(self.all_indices) < len(x):
                self.all_indices = np.arange(len(x), dtype=np.uint32)
            taken = self.sparse(self.own_block, None, self.all_starts, self.all_indices, x, sign)
        else:
            taken = self.dense(self.own_block, None, x, sign)
        return self.sparse(self.own_block, None, *self.own_spare, sign) if taken == HAS_ZEROS else taken

    def learn_terms(self, columns: Any, values: Any, sign: float) -> int:
        """The same for an example of these terms, two arrays of which zeros may be taken out."""
        self.starts[1] = len(columns)
        taken = self.sparse(self.own_block, None, self.starts, columns, values, sign)
        return self.sparse(self.own_block, None, self.starts, columns, values, sign) if taken == HAS_ZEROS else taken

    def prepare(self, terms: int) -> None:
        """Makes a buffer for examples of so many terms: first the column numbers, then the values."""
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
        """learn(x, y) → RIGHT or WRONG; negative, with nothing changed, where an example must go the way around.

        A function whose names are all its own: looking each up in the lane would take as long as the step itself. It is
        to be made anew after the lane was refreshed.
        """
        block, sparse, signs, packers = self.block, self.sparse, self.signs, self.packers
        columns = self.columns
        read, terms_block, spare = self.read, self.terms_block, self.spare
        names = 0 if columns is None else id(columns)

        # The arrays that blocks point to must live on.
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
                packer = packers.pop(terms)  # no other thread may fill the same buffer
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
