"""Scores of rows: by a weight vector, or by the updater of learners without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.model_state import ModelState
from novikoff.base.row_checks import check_range
from novikoff.core import loop
from novikoff.core.updaters.base import ALL_FEATURES, SCRATCH_FIELDS, max_sq_norm, write_final_weights
from novikoff.data import validation
from novikoff.data.canonical_rows import for_each_canonical_block
from novikoff.data.rows import Rows, Sparse, count_rows, drop_columns, get_width
from novikoff.errors import InputError

U = TypeVar("U", bound=Any)

LoopScorer = Callable[[Rows, bool, Any], int]
"""score(rows, canonical, out) → how many rows were scored, up to the first invalid one."""


def final_weights(state: ModelState) -> NDArray[np.float64]:
    """Return the weight vector of a state, bias first."""
    weights = np.empty(state.room + 1)
    write_final_weights(state.updater, 1, 1, np.array([state.ledger.examples]), ALL_FEATURES, weights)
    return weights


def build_weight_scorer(state: ModelState, weights: NDArray[np.float64]) -> LoopScorer:
    """Return a function that scores canonical rows by w·x."""
    bias, slots = state.updater.bias, state.features + 1
    largest = max_sq_norm.function(state.updater.weights)
    return lambda rows, canonical, out: loop.score_rows(weights, rows, bias, slots, largest, canonical, out)


def build_updater_scorer(state: ModelState) -> LoopScorer:
    """Return a function that scores canonical rows by the updater."""
    updater, slots = copy_scratch(state.updater), state.features + 1
    return lambda rows, canonical, out: loop.score_rows_with_updater(updater, rows, slots, canonical, out)


def copy_scratch(updater: U) -> U:
    """Return the updater with separate scratch arrays: several threads may predict with one model, and the arrays of a
    model may be read-only."""
    scratch = [name for name in (*SCRATCH_FIELDS, "notes") if hasattr(updater, name)]
    return updater._replace(**{name: np.zeros_like(getattr(updater, name)) for name in scratch})


def build_scorer(model: Any, *, known: bool) -> Callable[[Rows], NDArray[np.float64]]:
    """Return a function of rows to scores, with the current hypothesis.

    `known` says that a reader has checked the rows: no column occurs twice, but some may be unseen.
    """
    state, spec = model._require_fitted(), model._spec()
    score, has_extra_feature = model._build_loop_scorer(state), False
    shape, unseen_weight = model._score_shape(state), spec.unseen_weight_in(state) if known else 0.0

    def score_batch(rows: Rows) -> NDArray[np.float64]:
        nonlocal state, score, has_extra_feature
        out = np.zeros((count_rows(rows), *shape))  # scores of unused columns stay 0
        if known and unseen_weight == 0.0:
            rows = drop_columns(rows, state.features)
        elif known and isinstance(rows, Sparse) and get_width(rows) > state.features:
            if not has_extra_feature:  # one more feature stands for all unseen ones
                state, has_extra_feature = state.copy(), True
                state.ensure_capacity(state.features + 1)
                score = model._build_loop_scorer(state)
            rows = rows._replace(indices=np.minimum(rows.indices, np.uint32(state.features - 1)))

        def take(part: Rows, start: int, canonical: bool) -> int:
            check_range(model, part, start)
            return score(part, canonical, out[start : start + count_rows(part)])

        sparse_only = not spec.scores_dense_rows
        good = for_each_canonical_block(rows, state.features, take, known=known, sparse_only=sparse_only)
        if good < len(out):
            raise InputError(validation.explain_rejection(rows, good, state.features))
        return out * spec.weight_scale

    return score_batch
