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
from typing import Any

from novikoff._compiled.lazy_numpy import np
from novikoff._dicts import Terms, desk, reader
from novikoff._jit import Like
from novikoff._machine import pack
from novikoff.learners.state import State
from novikoff.parts.loop import UNUSUAL, ZEROS, Setting, learn_dense, learn_sparse
from novikoff.stream.rows import Dense, Sparse
from novikoff.stream.terms import drop_zeros

LENGTHS = 1000  # of examples for which buffers are kept ready


class Lane:
    def __init__(self, rule: Any, tie: float, state: State, *, sparse_only: bool = False) -> None:
        self.rule, self.tie, self.kind = rule, tie, state.kind
        self.signs = state.labels.sides
        self.starts = np.zeros(2, np.int64)
        self.packers: dict[int, tuple[Callable[..., None], bytearray, Any, Any]] = {}
        self.setting: Setting | None = None
        self.spare = Sparse(np.zeros(2, np.int64), np.zeros(0, np.uint32), np.zeros(0, state.kind))
        self.desk = desk()
        self.refresh(state)
        self.read = reader(self.terms_block, self.terms)
        like, indices, values = Like(self.setting), np.zeros(1, np.uint32), np.zeros(2, state.kind)
        self.sparse = learn_sparse.bound(self.block, like, self.starts, indices, values, 1.0)
        # An array typed as "any layout": the step itself looks whether it is in one piece.
        self.dense = self._learn_converted if sparse_only else learn_dense.bound(self.block, like, values[::2], 1.0)

    def refresh(self, state: State) -> None:
        """After features, or the room for them, have changed."""
        self.columns = None if state.names is None else state.names.columns
        old = self.setting
        moments = state.feature_sample.moments
        if (
            old is None
            or old.geometry is not state.geometry
            or old.features != state.features
            or old.moments is not moments
        ):
            if len(self.spare.values) < state.features:
                self.spare = Sparse(self.spare.starts, np.empty(state.room, np.uint32), np.empty(state.room, self.kind))
            self.terms = Terms(self.desk, self.spare.indices, self.spare.values)
            self.terms_block = pack(self.terms)
            book = state.ledger.book
            self.setting = Setting(self.rule, state.geometry, self.tie, book, state.features, self.spare, moments)
            self.block = pack(self.setting)

    def learn_array(self, x: Any, sign: float) -> int:
        taken = self.dense(self.block, None, x, sign)
        return self.learn_spare(sign) if taken == ZEROS else taken

    def _learn_converted(self, block: Any, like: Any, x: Any, sign: float) -> int:
        """Learn an array as a sparse example, for learners whose step is compiled for these only."""
        if self.setting is None or x.size != self.setting.features or not x.flags.c_contiguous or x.dtype != self.kind:
            return UNUSUAL
        drop_zeros(Dense(x, x.size), 1, self.spare)
        return self.sparse(block, None, *self.spare, sign)

    def learn_spare(self, sign: float) -> int:
        """What a step that answered ZEROS has left of an array."""
        return self.sparse(self.block, None, *self.spare, sign)

    def learn_terms(self, columns: Any, values: Any, sign: float) -> int:
        """An example of these terms, two arrays of which zeros may be taken out."""
        self.starts[1] = len(columns)
        taken = self.sparse(self.block, None, self.starts, columns, values, sign)
        return self.sparse(self.block, None, self.starts, columns, values, sign) if taken == ZEROS else taken

    def prepare(self, terms: int) -> None:
        """Makes a buffer for examples of so many terms: first the column numbers, then the values."""
        if terms == 0 or terms in self.packers:
            return
        if len(self.packers) == LENGTHS:
            self.packers.clear()
        layout = struct.Struct(f"{terms}I{terms}{self.kind.char}")
        buffer = bytearray(layout.size)
        indices = np.frombuffer(buffer, np.uint32, terms)
        values = np.frombuffer(buffer, self.kind, terms, layout.size - terms * self.kind.itemsize)
        self.packers[terms] = layout.pack_into, buffer, indices, values

    def for_dicts(self) -> Callable[[Any, Any], int]:
        """learn(x, y) → RIGHT or WRONG; negative, with nothing changed, where an example must go the way around.

        A function whose names are all its own: looking each up in the lane would take as long as the step itself. It is
        to be made anew after the lane was refreshed.
        """
        block, sparse, signs, packers = self.block, self.sparse, self.signs, self.packers
        starts, columns = self.starts, self.columns
        read, room, spare = self.read, self.terms_block, self.spare
        names = 0 if columns is None else id(columns)

        # The arrays that blocks point to must live on.
        def learn(x: Any, y: Any, alive: Any = (self.setting, self.terms)) -> int:
            try:
                sign, terms = signs[y], len(x)
                if type(x) is not dict:
                    x = dict.fromkeys(x, 1.0) if type(x) is list else x
                    if type(x) is not dict or len(x) != terms:
                        return UNUSUAL
                if read(room, None, id(x), names) == terms > 0:
                    spare.starts[1] = terms
                    taken = sparse(block, None, *spare, sign)
                    return sparse(block, None, *spare, sign) if taken == ZEROS else taken
                pack_into, buffer, indices, values = packers[terms]
                pack_into(buffer, 0, *(x if columns is None else itemgetter(*x)(columns)), *x.values())
            except (KeyError, TypeError, OverflowError, struct.error):
                return UNUSUAL
            starts[1] = terms
            taken = sparse(block, None, starts, indices, values, sign)
            return sparse(block, None, starts, indices, values, sign) if taken == ZEROS else taken

        return learn
