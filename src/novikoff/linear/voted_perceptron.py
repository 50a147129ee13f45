"""Voted Perceptron (Freund and Schapire 1999).

Predict   while learning: sign(v·x) with the current hypothesis v; afterwards sign Σ c_k·sign(v_k·x)
Update    on a mistake: v_{k+1} = v_k + y·x, c_{k+1} = 1; otherwise c_k += 1, the number of examples v_k survived
Bound     those of the Perceptron: it learns in the same way
Source    Freund and Schapire, Large margin classification using the perceptron algorithm, 1999

Hypotheses are not stored. v_k is the sum of the first k mistakes with their labels, so all v_k·x follow from one
product with each mistake. The mistakes and their times are stored: c_k is the time from one to the next. An example of
all zeros or a hypothesis 0 votes as a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.jit import compiled, compiled_read_only
from novikoff._compiled.simd.dot import get_unchecked, set_unchecked, sparse_dot_and_sq_norm
from novikoff.base.estimator import check_choice
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import TIE_SIGNS
from novikoff.core.losses import PERCEPTRON_LOSS, Loss
from novikoff.core.updaters.base import (
    accepts_row,
    max_sq_norm,
    predicted_score,
    resize_updater,
    update,
    update_weight,
    update_weights,
)
from novikoff.data.rows import Rows, dot_and_sq_norm, end_term, first_term, indices_sorted, slice_rows, weight_slot
from novikoff.errors import ModelTooLarge
from novikoff.linear.perceptron import perceptron_bounds
from novikoff.memory_limit import Growth, choose_capacity
from novikoff.schema import (
    EXAMPLES,
    FEATURES,
    MAX_COUNT,
    REAL,
    SLOTS,
    ArraySpec,
    Entries,
    Finite,
    Increasing,
    IndexInto,
    InRange,
    NamedSize,
    NotNaN,
    Offsets,
    Schema,
)
from novikoff.theory.bound_declaration import Bound

__all__ = ["VotedPerceptron"]

BLOCK_ROWS = 4096  # rows between two checks of the capacity for mistakes
N_MISTAKES, N_TERMS = 0, 1


class VotedWeights(NamedTuple):
    """The state of an additive updater with its mistakes: mistake k has the terms ends[k] to ends[k+1], label signs[k]
    and time born[k]."""

    weights: NDArray[np.floating]
    sizes: NDArray[np.int64]
    ends: NDArray[np.int64]
    born: NDArray[np.int64]
    signs: NDArray[np.float64]
    indices: NDArray[np.uint32]
    values: NDArray[np.floating]
    example: NDArray[np.float64]
    """Scratch of one zero for each slot."""
    bias: float


SCHEMA = Schema(
    {
        "sizes": ArraySpec("int64", 2, checks=[Entries(mistakes_kept=(0, MAX_COUNT), terms_kept=(0, MAX_COUNT))]),
        "weights": ArraySpec(REAL, SLOTS, checks=[NotNaN()]),
        "ends": ArraySpec("int64", NamedSize("mistakes_kept") + 1, checks=[Offsets(NamedSize("terms_kept"))]),
        "born": ArraySpec("int64", NamedSize("mistakes_kept"), checks=[InRange(1, EXAMPLES), Increasing()]),
        "signs": ArraySpec("float64", NamedSize("mistakes_kept"), checks=[Finite()]),
        "indices": ArraySpec("uint32", NamedSize("terms_kept"), checks=[IndexInto(FEATURES)]),
        "values": ArraySpec(REAL, NamedSize("terms_kept"), checks=[Finite()]),
    }
)
"""The permitted content of this state in a model file."""


@update_weight.of(VotedWeights)
def _update_weight_voted_weights(updater: VotedWeights, j: int, x: float, scaled_gradient: float, t: int) -> None:
    set_unchecked(updater.weights, j, np.float64(get_unchecked(updater.weights, j)) + scaled_gradient * x)


@accepts_row.of(VotedWeights)
def _accepts_row_voted_weights(updater: VotedWeights, rows: Rows, i: int) -> bool:
    """Return whether there is capacity for one more mistake. Otherwise `learn_one` takes the slow path, which allocates
    it."""
    terms = end_term(rows, i) - first_term(rows, i)
    return updater.sizes[N_MISTAKES] < len(updater.born) and updater.sizes[N_TERMS] + terms <= len(updater.values)


@update.of(VotedWeights)
def _update_voted_weights(updater: VotedWeights, rows: Rows, i: int, gradient: float, t: int) -> None:
    update_weights(updater, rows, i, gradient, t)
    k, end = updater.sizes[N_MISTAKES], updater.sizes[N_TERMS]
    for term in range(first_term(rows, i), end_term(rows, i)):
        updater.indices[end] = weight_slot(rows, i, term) - 1
        updater.values[end] = rows.values[term]
        end += 1
    updater.signs[k] = gradient
    updater.born[k] = t
    updater.ends[k + 1] = end
    updater.sizes[N_MISTAKES] = k + 1
    updater.sizes[N_TERMS] = end


@compiled_read_only
def count_votes(
    updater: VotedWeights,
    rows: Rows,
    slots: int,
    t: int,
    tie: float,
    canonical: bool,
    example: NDArray[np.float64],
    out: NDArray[np.float64],
) -> int:
    """Compute Σ c_k·sign(v_k·x) for each row, up to the first invalid one; return the number of scored rows. `example`
    is scratch of one zero for each slot."""
    for i in range(len(out)):
        if not (canonical or indices_sorted(rows, i, slots)):
            return i
        _, sq_norm = dot_and_sq_norm(rows, i, example)
        if not sq_norm < max_sq_norm(updater.weights):
            return i
        out[i] = count_row_votes(updater, rows, i, t, tie, example)
    return len(out)


@compiled
def count_row_votes(
    updater: VotedWeights, rows: Rows, i: int, t: int, tie: float, example: NDArray[np.float64]
) -> float:
    """Return Σ c_k·sign(v_k·x) for row i after t steps; `example` is scratch of one zero for each slot."""
    for term in range(first_term(rows, i), end_term(rows, i)):
        example[weight_slot(rows, i, term)] += np.float64(rows.values[term])
    n_mistakes, s, vote, since = updater.sizes[N_MISTAKES], 0.0, 0.0, 1
    for k in range(n_mistakes + 1):
        until = updater.born[k] if k < n_mistakes else t + 1
        vote += (until - since) * (np.sign(s) if s != 0.0 else tie)
        if k < n_mistakes:
            start = updater.ends[k]
            dot, _ = sparse_dot_and_sq_norm(
                updater.values, updater.indices, start, updater.ends[k + 1] - start, example
            )
            s += updater.signs[k] * (dot + updater.bias * updater.bias)
        since = until
    for term in range(first_term(rows, i), end_term(rows, i)):
        example[weight_slot(rows, i, term)] = 0.0
    return vote


@predicted_score.of(VotedWeights)
def _predicted_score_voted_weights(
    updater: VotedWeights, rows: Rows, i: int, last_score: float, tie: float, t: int
) -> float:
    return count_row_votes(updater, rows, i, t, tie, updater.example) / max(t, 1)


@final
class VotedPerceptron(LinearClassifier):
    """A Perceptron that predicts by the votes of all its hypotheses: sign Σ c_k·sign(v_k·x).

    v_k is the hypothesis after k mistakes and c_k the number of examples that it survived.

    Predicting one example takes one product with each mistake, so it is slow after many mistakes; the average
    (`Perceptron(average=True)`) is nearly as good and costs one product. A vote has no single weight vector: there is
    no `coef_`. `decision_function` returns the votes for classes_[1] minus those against it, as a share of all votes.

    Parameters
    ----------
    tie : str
        What a score of exactly 0 predicts: positive or negative.
    fit_intercept : bool
        Add a feature that is always 1, the bias.
    calibrate : bool
        Learn probabilities for predict_proba along with the weights.
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

    def __init__(
        self,
        *,
        tie: Literal["positive", "negative"] = "positive",
        fit_intercept: bool = True,
        calibrate: bool = True,
        passes: int = 1,
        shuffle: bool = True,
        random_state: int = 0,
    ) -> None:
        self.tie = tie
        self.fit_intercept = fit_intercept
        self.calibrate = calibrate
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_choice(("positive", "negative"), tie=self.tie)

    def _spec(self) -> LearnerSpec:
        return LearnerSpec(
            loss=Loss(PERCEPTRON_LOSS),
            build_updater=self._build_updater,
            build_schema=lambda _: SCHEMA,
            has_weights=False,
            scores_by_weights=False,
            learns_dense_rows=False,
            learns_dense_examples=False,
            learns_dense_columns=False,
            scores_dense_rows=False,
        )

    def _build_updater(self, slots: int, dtype: Any) -> VotedWeights:
        none = np.zeros(0, np.int64)
        return VotedWeights(
            weights=np.zeros(slots, dtype),
            sizes=np.zeros(2, np.int64),
            ends=np.zeros(1, np.int64),
            born=none,
            signs=np.zeros(0),
            indices=np.zeros(0, np.uint32),
            values=np.zeros(0, dtype),
            example=np.zeros(slots),
            bias=float(self.fit_intercept),
        )

    def _reserve(self, state: ModelState, examples: int, terms: int) -> None:
        voted = state.updater
        n_mistakes, used = voted.sizes.tolist()
        if n_mistakes + examples <= len(voted.born) and used + terms <= len(voted.values):
            return
        more = Growth(examples=examples, terms=terms)
        if n_mistakes + examples > len(voted.born):
            capacity = _choose_capacity(state, more, n_mistakes + examples, len(voted.born), 16 + voted.signs.itemsize)
            voted = voted._replace(
                ends=_resize(voted.ends, capacity + 1),
                born=_resize(voted.born, capacity),
                signs=_resize(voted.signs, capacity),
            )
        if used + terms > len(voted.values):
            capacity = _choose_capacity(state, more, used + terms, len(voted.values), 4 + voted.values.itemsize)
            voted = voted._replace(indices=_resize(voted.indices, capacity), values=_resize(voted.values, capacity))
        state.updater = voted

    def _trim_state(self, state: ModelState) -> VotedWeights:
        n_mistakes, used = (int(n) for n in state.updater.sizes)
        voted = resize_updater(state.updater, state.features + 1)
        return voted._replace(
            ends=voted.ends[: n_mistakes + 1],
            born=voted.born[:n_mistakes],
            signs=voted.signs[:n_mistakes],
            indices=voted.indices[:used],
            values=voted.values[:used],
        )

    def _run_loop(
        self, state: ModelState, rows: Rows, signs: NDArray[np.int8], weights: NDArray[np.float64], canonical: bool
    ) -> int:
        """Learn block by block: capacity is allocated for the mistakes of one block, not of the whole batch."""
        start, most = 0, BLOCK_ROWS
        while start < len(signs):
            stop = min(start + most, len(signs))
            block = slice_rows(rows, start, stop)
            terms = end_term(block, stop - start - 1) - first_term(block, 0)
            try:
                self._reserve(state, stop - start, int(terms))
            except ModelTooLarge:  # capacity is allocated for all rows of a block, of which few may be mistakes
                if stop - start == 1:
                    raise
                most = (stop - start) // 2
                continue
            taken = super()._run_loop(state, block, signs[start:stop], weights, canonical)
            if taken < stop - start:
                return start + taken
            start = stop
        return len(signs)

    def _build_loop_scorer(self, state: ModelState) -> Callable[[Rows, bool, NDArray[np.float64]], int]:
        updater, slots, t, tie = state.updater, state.features + 1, state.ledger.examples, TIE_SIGNS[self.tie]
        example = np.zeros(state.room + 1)

        def score(rows: Rows, canonical: bool, out: NDArray[np.float64]) -> int:
            judged = count_votes(updater, rows, slots, t, tie, canonical, example, out)
            out /= max(t, 1)
            return judged

        return score

    def _hypothesis(self, state: ModelState) -> NDArray[np.float64]:
        raise AttributeError("A vote has no single weight vector: use Perceptron(average=True) for coef_.")

    def bounds(self) -> Sequence[Bound]:
        return perceptron_bounds(0.0, self._checked_state().ledger.energy)


def _choose_capacity(state: ModelState, more: Growth, needed: int, now: int, bytes_each: int) -> int:
    """Return the capacity for a list of this many entries: half as much again as now if the memory limit permits."""
    least, n_mistakes = state.bytes_needed(more), int(state.updater.sizes[N_MISTAKES]) + more.examples
    what, advice = f"{n_mistakes:,} kept mistakes", "Use Perceptron(average=True)"
    return choose_capacity(
        needed, now * 3 // 2, lambda capacity: least + (capacity - needed) * bytes_each, what, advice
    )


def _resize(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.zeros(size, array.dtype)
    larger[: len(array)] = array
    return larger
