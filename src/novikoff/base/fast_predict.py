"""The fast lane for predicting single examples: as `lane.py` is for learning them.

Several threads may predict with one model: each example takes a set of buffers for itself, and gives it back.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable
from itertools import repeat
from operator import itemgetter
from typing import Any

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.dict_reader import Terms, desk, reader
from novikoff._compiled.jit import DISABLED, Like
from novikoff._compiled.simd.dot import pack
from novikoff.base.fast_learn import LENGTHS
from novikoff.base.model_state import State
from novikoff.core.updaters.base import arrays
from novikoff.core.scoring import (CLOSED, FEATURES_AT, Asked, score_one)
from novikoff.data.validation import LARGEST_INDEX

UNUSUAL = float("nan")
NEVER_LEARNED = LARGEST_INDEX - 1  # a column that no feature with a name has
NOTHING = buffers.zeros(0, "uint32")

Score = Callable[[State, Any], float | None]
"""score(state, x) → the score; NaN where x must go the way around, None where the lane is of another state."""


class ScoreLane:
    def __init__(self, state: State, *, unseen: float, least: float, most: float) -> None:
        self.unseen, self.least, self.most, self.kind = unseen, least, most, state.kind
        self.buffers: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
        self._pack(state)
        _, _, weights, block, terms = self._buffers(1)
        self.read = reader(block, terms)
        like, values = Like(self.asked), terms.values
        self.score = score_one.bound(self.block, like, terms.indices, values, values, weights)

    def _pack(self, state: State) -> None:
        book = state.ledger.book
        self.asked = Asked(state.geometry, book, state.features, self.unseen, self.least, self.most)
        self.block = pack(self.asked)
        self.types = _types(state)

    def refreshed(self, state: State, *, unseen: float) -> bool:
        """After features, or the room for them, have changed; False where a new lane is due."""
        if _types(state) != self.types:
            return False
        self.unseen = unseen
        self._pack(state)
        return True

    def close(self) -> None:
        """Make all scores NaN, also for threads that are about to ask for one."""
        if not DISABLED:
            self.block[FEATURES_AT] = CLOSED

    def open(self, state: State) -> None:
        """Undo `close`, unless the lane is no longer that of this state."""
        if not DISABLED and self.asked.geometry is state.geometry and self.asked.features == state.features:
            self.block[FEATURES_AT] = state.features

    def _buffers(self, terms: int) -> tuple[Any, ...]:
        """For examples of so many terms: a buffer, first the column numbers, then the values; room for weights; and the
        terms, packed and as they are."""
        if len(self.buffers) > LENGTHS:
            self.buffers.clear()
        layout = struct.Struct(f"{terms}I{terms}{self.kind.char}")
        buffer = bytearray(layout.size)
        indices = np.frombuffer(buffer, np.uint32, terms)
        values = np.frombuffer(buffer, self.kind, terms, layout.size - terms * self.kind.itemsize)
        room = Terms(desk(guarded=False), indices, values)  # each thread takes one for itself
        return layout.pack_into, buffer, buffers.empty(terms + 1), pack(room), room

    def scores(self, state: State) -> Score:
        """A function whose names are all its own, to be made anew after the lane was refreshed."""
        block, score_terms, buffers, make = self.block, self.score, self.buffers, self._buffers
        geometry, features, names = state.geometry, state.features, state.names
        known = None if names is None else names.columns
        never, read, at = repeat(NEVER_LEARNED), self.read, 0 if known is None else id(known)

        def score(now: State, x: Any, alive: Any = self.asked) -> float | None:  # the arrays that the block points to
            if now is not state or now.geometry is not geometry or now.features != features or now.names is not names:
                return None
            kind = type(x)
            try:
                if kind is list:
                    terms = len(x)
                    x = dict.fromkeys(x, 1.0)
                    if len(x) != terms:
                        return UNUSUAL
                elif kind is not dict:
                    return self.score_array(x) if kind is np.ndarray else UNUSUAL
                terms = len(x)
                if terms == 0:
                    return UNUSUAL
                free = buffers[terms]
                room = free.pop() if free else make(terms)
                pack_into, buffer, weights, packed, (_, indices, values) = room
                if read(packed, None, id(x), at) != terms:
                    try:
                        columns = x if known is None else itemgetter(*x)(known)
                        pack_into(buffer, 0, *columns, *x.values())
                    except (KeyError, TypeError):  # a new name, or one alone, which is no tuple
                        pack_into(buffer, 0, *map(known.get, x, never), *x.values())  # type: ignore[union-attr]
            except (AttributeError, TypeError, OverflowError, IndexError, struct.error):
                return UNUSUAL
            found: float = score_terms(block, None, indices, values, values, weights)
            free.append(room)
            return found

        return score

    def score_array(self, x: NDArray[Any]) -> float:
        if x.dtype is not self.kind or x.ndim != 1 or x.size != self.asked.features or x.size == 0:
            return UNUSUAL
        terms = x.size
        free = self.buffers[terms]
        room = free.pop() if free else self._buffers(terms)
        found: float = self.score(self.block, None, NOTHING, x, room[4][2], room[2])
        free.append(room)
        return found


def _types(state: State) -> tuple[Any, ...]:
    """What the compiled code depends on."""
    return type(state.geometry), state.kind, *(a.flags.num for a in arrays(state.geometry).values())
