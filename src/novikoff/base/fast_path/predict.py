"""Fast path that scores single examples: the counterpart of `learn.py`.

Several threads may predict with one model: each call takes a set of buffers for itself and returns it.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable
from itertools import repeat
from operator import itemgetter
from typing import Any

from novikoff._compiled import buffers
from novikoff._compiled.dict_reader import DictTerms, allocate_workspace, bind_reader
from novikoff._compiled.jit import JIT_DISABLED, Like
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import pack_block
from novikoff.base.fast_path.learn import MAX_CACHED_LENGTHS
from novikoff.base.model_state import ModelState
from novikoff.core.scoring import FAST_PATH_CLOSED, FEATURES_OFFSET, ScoringContext, score_one
from novikoff.core.updaters.base import state_arrays
from novikoff.data.validation import MAX_INDEX

SLOW_PATH_SCORE = float("nan")
UNSEEN_COLUMN = MAX_INDEX - 1  # a column that no feature with a name has
NO_INDICES = buffers.zeros(0, "uint32")

ScoreFunction = Callable[[ModelState, Any], float | None]
"""score(state, x) → the score; NaN if x needs the slow path, None if the fast path belongs to another state."""


class FastPredictPath:
    def __init__(self, state: ModelState, *, unseen: float, least: float, most: float) -> None:
        self.unseen, self.least, self.most, self.kind = unseen, least, most, state.kind
        self.buffers: defaultdict[int, list[tuple[Any, ...]]] = defaultdict(list)
        self._pack(state)
        _, _, weights, block, terms = self._buffers(1)
        self.read = bind_reader(block, terms)
        like, values = Like(self.asked), terms.values
        self.score = score_one.bound(self.block, like, terms.indices, values, values, weights)

    def _pack(self, state: ModelState) -> None:
        counters = state.ledger.book
        self.asked = ScoringContext(state.updater, counters, state.features, self.unseen, self.least, self.most)
        self.block = pack_block(self.asked)
        self.types = _compiled_types(state)

    def try_refresh(self, state: ModelState, *, unseen: float) -> bool:
        """Update the fast path after the number of features, or their capacity, has changed; return False if a new one
        must be built."""
        if _compiled_types(state) != self.types:
            return False
        self.unseen = unseen
        self._pack(state)
        return True

    def close(self) -> None:
        """Make all scores NaN, also for threads that are about to compute one."""
        if not JIT_DISABLED:
            self.block[FEATURES_OFFSET] = FAST_PATH_CLOSED

    def open(self, state: ModelState) -> None:
        """Undo `close`, unless the fast path belongs to another state."""
        if not JIT_DISABLED and self.asked.updater is state.updater and self.asked.features == state.features:
            self.block[FEATURES_OFFSET] = state.features

    def _buffers(self, terms: int) -> tuple[Any, ...]:
        """Return buffers for examples with this number of terms: a buffer for the column numbers and then the values;
        space for weights; and the terms, packed and as arrays."""
        if len(self.buffers) > MAX_CACHED_LENGTHS:
            self.buffers.clear()
        layout = struct.Struct(f"{terms}I{terms}{self.kind.char}")
        buffer = bytearray(layout.size)
        indices = np.frombuffer(buffer, np.uint32, terms)
        values = np.frombuffer(buffer, self.kind, terms, layout.size - terms * self.kind.itemsize)
        workspace = DictTerms(allocate_workspace(guarded=False), indices, values)  # each thread takes one set
        return layout.pack_into, buffer, buffers.empty(terms + 1), pack_block(workspace), workspace

    def scores(self, state: ModelState, *, scale: float) -> ScoreFunction:
        """Return the scoring function. It uses local variables only, which are fast; build it again after
        `try_refresh`."""
        self.scale = scale
        block, score_terms, buffers, make = self.block, self.score, self.buffers, self._buffers
        updater, features, names = state.updater, state.features, state.names
        known = None if names is None else names.columns
        never, read, names_id = repeat(UNSEEN_COLUMN), self.read, 0 if known is None else id(known)

        def score(
            now: ModelState, x: Any, alive: Any = self.asked
        ) -> float | None:  # keeps the arrays alive to which the block points
            if now is not state or now.updater is not updater or now.features != features or now.names is not names:
                return None
            example_type = type(x)
            try:
                if example_type is list:
                    terms = len(x)
                    x = dict.fromkeys(x, 1.0)
                    if len(x) != terms:
                        return SLOW_PATH_SCORE
                elif example_type is not dict:
                    return self.score_array(x) if example_type is np.ndarray else SLOW_PATH_SCORE
                terms = len(x)
                if terms == 0:
                    return SLOW_PATH_SCORE
                free = buffers[terms]
                workspace = free.pop() if free else make(terms)
                pack_into, buffer, weights, packed, (_, indices, values) = workspace
                if read(packed, None, id(x), names_id) != terms:
                    try:
                        columns = x if known is None else itemgetter(*x)(known)
                        pack_into(buffer, 0, *columns, *x.values())
                    except (KeyError, TypeError):  # a new name, or a single one, for which itemgetter returns no tuple
                        pack_into(buffer, 0, *map(known.get, x, never), *x.values())  # type: ignore[union-attr]
            except (AttributeError, TypeError, OverflowError, IndexError, struct.error):
                return SLOW_PATH_SCORE
            found: float = score_terms(block, None, indices, values, values, weights)
            free.append(workspace)
            return found * scale

        return score

    def score_array(self, x: NDArray[Any]) -> float:
        if x.dtype is not self.kind or x.ndim != 1 or x.size != self.asked.features or x.size == 0:
            return SLOW_PATH_SCORE
        terms = x.size
        free = self.buffers[terms]
        workspace = free.pop() if free else self._buffers(terms)
        found: float = self.score(self.block, None, NO_INDICES, x, workspace[4][2], workspace[2])
        free.append(workspace)
        return found * self.scale


def _compiled_types(state: ModelState) -> tuple[Any, ...]:
    """Return the types on which the compiled code depends."""
    return type(state.updater), state.kind, *(a.flags.num for a in state_arrays(state.updater).values())
