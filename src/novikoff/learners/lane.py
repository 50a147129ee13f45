"""The fast lane for single examples: all that the next example of the usual kind needs, bound once.

From Python, looking at the types of arguments and building arrays costs more than learning. The lane keeps the compiled
steps for the types at hand (`Compiled.bound`), buffers that `struct` fills straight from a dict, and the tables of labels
and names. Whatever is not usual (a new label, a new feature, another precision, anything wrong) it leaves to the way
around, `OneByOne._learn_unusual`, and so it needs no message of its own.
"""

from __future__ import annotations

import struct
from operator import itemgetter
from typing import Any

import numpy as np

from novikoff.learners.state import State
from novikoff.parts import loop

FIRST_ROOM = 64


class Lane:
    def __init__(self, rule: Any, tie: float, state: State) -> None:
        self.rule, self.tie, self.kind = rule, tie, state.kind
        self.book = state.ledger.book
        self.signs = state.labels.sides
        self.starts = np.zeros(2, np.int64)
        self.packers: dict[int, tuple[struct.Struct, struct.Struct]] = {}
        self.refresh(state)
        self._make_buffers(FIRST_ROOM)
        spread = np.zeros(2, state.kind)[::2]  # typed as "any layout": the step looks whether an array is in one piece
        self.dense = loop.learn_dense.bound(rule, self.geometry, spread, 1.0, tie, self.book)
        self.sparse = loop.learn_sparse.bound(
            rule, self.geometry, self.starts, self.indices, self.values, 1, 1.0, tie, self.book
        )

    def refresh(self, state: State) -> None:
        """After features or room have changed."""
        self.geometry = state.geometry
        self.features = state.features
        self.slots = state.features + 1
        self.columns = None if state.names is None else state.names.columns

    def prepare(self, terms: int) -> None:
        """Makes room for examples of so many terms."""
        if terms > len(self.indices):
            self._make_buffers(2 * terms)
        self.packers[terms] = struct.Struct(f"{terms}I"), struct.Struct(f"{terms}{self.kind.char}")

    def _make_buffers(self, terms: int) -> None:
        self.indices, self.values = np.zeros(terms, np.uint32), np.zeros(terms, self.kind)

    def learn(self, x: Any, y: Any) -> int:
        """RIGHT or WRONG; negative, with nothing changed, where this example must go the way around."""
        try:
            sign = self.signs[y]
            if type(x) is np.ndarray:
                if x.dtype is not self.kind or x.ndim != 1 or x.size != self.features:
                    return loop.UNUSUAL
                return self.dense(self.rule, self.geometry, x, sign, self.tie, self.book)
            if type(x) is not dict:
                return loop.UNUSUAL
            terms = len(x)
            pack_indices, pack_values = self.packers[terms]
            if self.columns is None:
                pack_indices.pack_into(self.indices, 0, *x)
            else:
                pack_indices.pack_into(self.indices, 0, *itemgetter(*x)(self.columns))
            pack_values.pack_into(self.values, 0, *x.values())
        except (KeyError, TypeError, OverflowError, struct.error):
            return loop.UNUSUAL
        self.starts[1] = terms
        return self.sparse(
            self.rule, self.geometry, self.starts, self.indices, self.values, self.slots, sign, self.tie, self.book
        )
