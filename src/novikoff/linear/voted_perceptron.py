"""Voted Perceptron (Freund and Schapire 1999).

Predict   while learning: sign(v·x) with the hypothesis v of the moment; afterwards sign Σ c_k·sign(v_k·x)
Update    on a mistake: v_{k+1} = v_k + y·x, c_{k+1} = 1; otherwise c_k += 1, the number of examples v_k survived
Bound     those of the Perceptron, which it is while it learns
Source    Freund and Schapire, Large margin classification using the perceptron algorithm, 1999

Hypotheses are not kept. v_k is the sum of the first k mistakes with their labels, so that all v_k·x come out one after
another from one product with each mistake. Kept are the mistakes, and when they were made: c_k is the time from one to
the next. An example of all zeros or a hypothesis 0 votes as a tie does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled_reader
from novikoff._compiled.simd.dot import element, put, sparse_sums
from novikoff.errors import ModelTooLarge
from novikoff.base.estimator import one_of
from novikoff.base.online import OneByOne
from novikoff.base.online_classifier import TIES
from novikoff.base.model_lock import lock_free
from novikoff.linear.perceptron import perceptron_bounds
from novikoff.base.model_state import State
from novikoff.memory_limit import Growth, size_with_spare
from novikoff.core.updaters.base import (limit, move, move_all, resized, update)
from novikoff.core.losses import MISTAKE, Loss
from novikoff.schema import (
    EXAMPLES,
    FEATURES,
    MAX_COUNT,
    REAL,
    SLOTS,
    Array,
    Between,
    Entries,
    Finite,
    Increasing,
    IndexInto,
    NotNaN,
    Offsets,
    Schema,
    Size,
)
from novikoff.data.rows import (Rows, cut, first, last, measure, proper, slot)
from novikoff.theory.bounds import Bound

__all__ = ["VotedPerceptron"]

BLOCK = 4096  # rows between two looks at the room for mistakes
KEPT, TERMS = 0, 1


class Voted(NamedTuple):
    """Additive, with the mistakes: mistake k has the terms ends[k] to ends[k+1], label signs[k] and time born[k]."""

    slots: NDArray[np.floating]
    sizes: NDArray[np.int64]
    ends: NDArray[np.int64]
    born: NDArray[np.int64]
    signs: NDArray[np.float64]
    indices: NDArray[np.uint32]
    values: NDArray[np.floating]
    bias: float


SCHEMA = Schema(
    {
        "sizes": Array("int64", 2, checks=[Entries(mistakes_kept=(0, MAX_COUNT), terms_kept=(0, MAX_COUNT))]),
        "slots": Array(REAL, SLOTS, checks=[NotNaN()]),
        "ends": Array("int64", Size("mistakes_kept") + 1, checks=[Offsets(Size("terms_kept"))]),
        "born": Array("int64", Size("mistakes_kept"), checks=[Between(1, EXAMPLES), Increasing()]),
        "signs": Array("float64", Size("mistakes_kept"), checks=[Finite()]),
        "indices": Array("uint32", Size("terms_kept"), checks=[IndexInto(FEATURES)]),
        "values": Array(REAL, Size("terms_kept"), checks=[Finite()]),
    }
)
"""What a model file may hold of this state."""


@move.of(Voted)
def _(geometry: Voted, j: int, x: float, pulled: float, t: int) -> None:
    put(geometry.slots, j, np.float64(element(geometry.slots, j)) + pulled * x)


@update.of(Voted)
def _(geometry: Voted, rows: Rows, i: int, signal: float, t: int) -> None:
    move_all(geometry, rows, i, signal, t)
    k, end = geometry.sizes[KEPT], geometry.sizes[TERMS]
    for term in range(first(rows, i), last(rows, i)):
        geometry.indices[end] = slot(rows, i, term) - 1
        geometry.values[end] = rows.values[term]
        end += 1
    geometry.signs[k] = signal
    geometry.born[k] = t
    geometry.ends[k + 1] = end
    geometry.sizes[KEPT] = k + 1
    geometry.sizes[TERMS] = end


@compiled_reader
def votes(
    geometry: Voted,
    rows: Rows,
    slots: int,
    t: int,
    tie: float,
    tidy: bool,
    example: NDArray[np.float64],
    out: NDArray[np.float64],
) -> int:
    """Σ c_k·sign(v_k·x) for each row, up to one that is to be refused; `example` is scratch of as many zeros as there
    are slots. Returns how many rows were judged."""
    kept = geometry.sizes[KEPT]
    for i in range(len(out)):
        if not (tidy or proper(rows, i, slots)):
            return i
        _, square = measure(rows, i, example)
        if not square < limit(geometry.slots):
            return i
        for term in range(first(rows, i), last(rows, i)):
            example[slot(rows, i, term)] += np.float64(rows.values[term])
        s = 0.0
        vote = 0.0
        since = 1
        for k in range(kept + 1):
            until = geometry.born[k] if k < kept else t + 1
            vote += (until - since) * (np.sign(s) if s != 0.0 else tie)
            if k < kept:
                start = geometry.ends[k]
                dot, _ = sparse_sums(geometry.values, geometry.indices, start, geometry.ends[k + 1] - start, example)
                s += geometry.signs[k] * (dot + geometry.bias * geometry.bias)
            since = until
        out[i] = vote
        for term in range(first(rows, i), last(rows, i)):
            example[slot(rows, i, term)] = 0.0
    return len(out)


@final
class VotedPerceptron(OneByOne):
    """The Perceptron, predicting by the votes of all its hypotheses: sign Σ c_k·sign(v_k·x).

    v_k is the hypothesis after k mistakes and c_k the number of examples that it survived.

    Predicting one example takes one product with each mistake, so it is slow where mistakes are many; the average
    (`Perceptron(average=True)`) is nearly as good and costs one product. A vote has no single weight vector: there is
    no `coef_`. `decision_function` gives the votes for classes_[1] less those against it, as a share of all.

    Parameters
    ----------
    tie : str
        What a score of exactly 0 predicts: positive or negative.
    bias : bool
        Add a feature that is always 1.
    passes : int
        How often fit goes over the data.
    shuffle : bool
        Whether fit learns the rows in random order, a new one in each pass. Otherwise in the given order.
    random_state : int
        The seed of the random order.

    Examples
    --------
    >>> from novikoff import VotedPerceptron
    >>> X, y = [[0, 1], [1, 0], [2, 1], [0, 3], [3, 1], [1, 4]], ["up", "right", "right", "up", "right", "up"]
    >>> VotedPerceptron().fit(X, y).predict([[0, 5], [5, 0]]).tolist()
    ['up', 'right']
    """

    learns_sparse_only = scores_sparse_only = True
    has_fast_path = False  # a mistake may need more room

    def __init__(
        self,
        *,
        tie: Literal["positive", "negative"] = "positive",
        bias: bool = True,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.tie = tie
        self.bias = bias
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_settings(self) -> None:
        one_of(("positive", "negative"), tie=self.tie)

    def _rule(self) -> Loss:
        return Loss(MISTAKE)

    def _schema(self, features: int) -> Schema:
        return SCHEMA

    def _geometry(self, slots: int, kind: Any) -> Voted:
        none = np.zeros(0, np.int64)
        return Voted(
            slots=np.zeros(slots, kind),
            sizes=np.zeros(2, np.int64),
            ends=np.zeros(1, np.int64),
            born=none,
            signs=np.zeros(0),
            indices=np.zeros(0, np.uint32),
            values=np.zeros(0, kind),
            bias=float(self.bias),
        )

    @lock_free  # what it calls takes the lock
    def learn_one(self, x: Any, y: Any) -> VotedPerceptron:
        """Learns one example, as every learner does."""
        self._learn_unusual(x, y)
        return self

    def _reserve(self, state: State, examples: int, terms: int) -> None:
        voted = state.geometry
        kept, used = voted.sizes.tolist()
        if kept + examples <= len(voted.born) and used + terms <= len(voted.values):
            return
        more = Growth(examples=examples, terms=terms)
        if kept + examples > len(voted.born):
            room = _room(state, more, kept + examples, len(voted.born), 16 + voted.signs.itemsize)
            voted = voted._replace(
                ends=_sized(voted.ends, room + 1), born=_sized(voted.born, room), signs=_sized(voted.signs, room)
            )
        if used + terms > len(voted.values):
            room = _room(state, more, used + terms, len(voted.values), 4 + voted.values.itemsize)
            voted = voted._replace(indices=_sized(voted.indices, room), values=_sized(voted.values, room))
        state.geometry = voted

    def _compact(self, state: State) -> Voted:
        kept, used = (int(n) for n in state.geometry.sizes)
        voted = resized(state.geometry, state.features + 1)
        return voted._replace(
            ends=voted.ends[: kept + 1],
            born=voted.born[:kept],
            signs=voted.signs[:kept],
            indices=voted.indices[:used],
            values=voted.values[:used],
        )

    def _take(self, state: State, rows: Rows, signs: NDArray[np.int8], weights: NDArray[np.float64], tidy: bool) -> int:
        """Block by block: room is made for the mistakes of one block, not for a whole batch of them."""
        start, most = 0, BLOCK
        while start < len(signs):
            stop = min(start + most, len(signs))
            block = cut(rows, start, stop)
            terms = last(block, stop - start - 1) - first(block, 0)
            try:
                self._reserve(state, stop - start, int(terms))
            except ModelTooLarge:  # room is made for all rows of a block, of which few may be mistakes
                if stop - start == 1:
                    raise
                most = (stop - start) // 2
                continue
            taken = super()._take(state, block, signs[start:stop], weights, tidy)
            if taken < stop - start:
                return start + taken
            start = stop
        return len(signs)

    def _scorer(self, state: State) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        geometry, slots, t, tie = state.geometry, state.features + 1, state.ledger.examples, TIES[self.tie]
        example = np.zeros(state.room + 1)

        def score(rows: Rows, tidy: bool, out: NDArray[np.float64]) -> int:
            judged = votes(geometry, rows, slots, t, tie, tidy, example, out)
            out /= max(t, 1)
            return judged

        return score

    _score_terms = OneByOne._score_row
    shows_weights = False

    def _hypothesis(self, state: State) -> NDArray[np.float64]:
        raise AttributeError("A vote has no single weight vector: use Perceptron(average=True) for coef_.")

    def bounds(self) -> Sequence[Bound]:
        return perceptron_bounds(0.0, self._run_so_far().ledger.energy)


def _room(state: State, more: Growth, needed: int, now: int, bytes_each: int) -> int:
    """Return the places for a list that needs so many, half as many again as now where the limit of memory allows."""
    least, kept = state.bytes_needed(more), int(state.geometry.sizes[KEPT]) + more.examples
    what, advice = f"{kept:,} kept mistakes", "Use Perceptron(average=True)"
    return size_with_spare(needed, now * 3 // 2, lambda room: least + (room - needed) * bytes_each, what, advice)


def _sized(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.zeros(size, array.dtype)
    larger[: len(array)] = array
    return larger
