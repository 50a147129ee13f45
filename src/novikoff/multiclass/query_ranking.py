"""Query–document ranking: within each query, documents of higher grade should be ranked above those of lower grade.

Predict   a score w·x for each document; a query's documents are ranked by it
Update    learn those of the preferences x_i ≻ x_j within a query that violate the learner's loss: the mean of x_i − x_j
          over them (`top`: only the worst) is a positive example of the binary learner
Bound     the binary learner's own, for queries: every query with a violated preference changes the weights. It
          bounds such queries, not preferences, NDCG or MAP. ‖x_i − x_j‖ ≤ 2·max‖x‖
Source    Herbrich, Graepel and Obermayer 2000; Har-Peled, Roth and Zimak 2002
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from novikoff.base.class_weights import refuse_class_weight
from novikoff.base.estimator import check_choice
from novikoff.base.file_training import EncodedBatch, FileTrainer
from novikoff.base.internals import (
    build_empty_labels,
    build_state,
    check_settings,
    ensure_capacity,
    preference_bounds_of,
    set_state,
    spec_of,
)
from novikoff.base.learner_spec import LearnerSpec
from novikoff.base.model_state import ModelState
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.base.raw_rows import encode_raw_batch
from novikoff.base.scoring import LoopScorer, build_weight_scorer, final_weights
from novikoff.core.multiclass.pairwise_gradients import UPDATE_NAMES
from novikoff.core.ranking_loop import Queries, RankingWorkspace, learn_queries
from novikoff.data import validation
from novikoff.data.canonical_rows import canonicalize
from novikoff.data.feature_limit import MIN_FEATURES_ADDED, build_row_too_wide_error, check_isolated_terms
from novikoff.data.query_groups import QueryBatch, iter_whole_queries
from novikoff.data.rows import Rows, Sparse, count_rows
from novikoff.data.shuffle.gather import gather_rows
from novikoff.errors import InputError, ModelTooLarge, WeightOverflowError
from novikoff.evaluation.ranking import RankingQuality, find_query_starts, measure_ranking, validate_grades
from novikoff.memory_limit import Growth
from novikoff.meta.base import MetaEstimator, check_binary_learner, check_preference_learner
from novikoff.multiclass.pairwise_bounds import add_new_classes
from novikoff.schema import MAX_COUNT, ArraySpec, Entries, Schema
from novikoff.theory.bound_declaration import Bound

__all__ = ["QueryRanking"]

BOUND_NOTE = "it bounds queries with a preference that is not met, not such preferences, NDCG or MAP"


DOCUMENT_COUNT = 1  # index of the count, after that of violated preferences


class GradedQueries:
    """Grades of documents, and the first row of each query; can be sliced like an array of queries."""

    def __init__(self, starts: NDArray[np.int64], grades: NDArray[np.float64]) -> None:
        self.starts, self.grades = starts, grades

    def __len__(self) -> int:
        return len(self.starts) - 1

    def rows_in_order(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of these queries, in this order of queries."""
        lengths = np.diff(self.starts)[order]
        ends = np.cumsum(lengths)
        return np.arange(int(lengths.sum())) + np.repeat(self.starts[order] - (ends - lengths), lengths)

    def gather(self, order: NDArray[np.int64], rows: NDArray[np.int64]) -> GradedQueries:
        """Return the queries in this order; `rows` are their rows."""
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[order])]).astype(np.int64)
        return GradedQueries(starts, self.grades[rows])


@final
class QueryRanking(MetaEstimator, OnlineClassifier):
    """Ranks documents within queries by one vector of weights, learned from preferences.

    Parameters
    ----------
    estimator : estimator
        The binary learner, by default AROW(). Its settings are settings of the whole model, except for the bias, which
        is the same for all documents and left out.
    update : str
        Which of the violated preferences are learned: top, uniform or proportional.

    Examples
    --------
    >>> from novikoff import Perceptron, QueryRanking
    >>> X, grades, qid = [[0, 1], [1, 0], [1, 1], [0, 1], [2, 1]], [0, 1, 1, 0, 2], [7, 7, 7, 8, 8]
    >>> model = QueryRanking(Perceptron(passes=5)).fit(X, grades, qid)
    >>> model.predict([[0, 3], [1, 0]]).argmax().item(), model.rank(X, grades, qid)
    (1, RankingQuality(ndcg=1.0, map=1.0, queries=2))
    """

    def __init__(
        self,
        estimator: OnlineClassifier | None = None,
        *,
        update: Literal["top", "uniform", "proportional"] = "uniform",
    ) -> None:
        self.estimator = estimator
        self.update = update

    # --- What the inner learner provides ---

    fit_intercept = False
    _needs_two_classes = False
    _predicts_one_label = False
    _has_probabilities = False
    _outcome_type = "queries"

    @property
    def mistake_rows_(self) -> NDArray[np.int64]:
        raise AttributeError("QueryRanking has no mistake_rows_: its mistakes are made on queries, not on rows.")

    @property
    def learn_one(self) -> Any:
        raise AttributeError("QueryRanking has no learn_one: it learns whole queries, by partial_fit.")

    def _check_all(self) -> None:
        check_binary_learner(self.estimator, type(self).__name__)
        check_settings(self._inner_learner)
        check_choice(UPDATE_NAMES, update=self.update)
        check_preference_learner(self, self.update)
        refuse_class_weight(self, "documents have grades, not classes")

    def _spec(self) -> LearnerSpec:
        inner = spec_of(self._inner_learner)
        low, high = inner.feature_range
        return inner._replace(
            build_updater=partial(_build_updater_without_bias, inner),
            feature_range=(low / 2.0, high / 2.0),  # differences must be in the learner's range
            has_weights=True,
            multiclass_support="no",
        )

    def _extra_schemas(self, features: int, present: Collection[str]) -> dict[str, Schema]:
        counts = Entries(unmet=(0, MAX_COUNT), documents=(0, MAX_COUNT))
        return {"more.": Schema({"counts": ArraySpec("int64", 2, checks=[counts], optional=True)})}

    # --- Learning ---

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Forget what was learned, then learn the queries, with the passes and the order of the inner learner.

        `qid` names the query of each row; rows of a query must be contiguous. `sample_weight` is for queries.
        """
        self._fit_rows(X, y, sample_weight, qid=qid)
        return self

    def _fit_rows(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, qid: Any = None
    ) -> int:
        self._check_all()
        batch = validation.validate_batch(X)
        grades, weights = self._encode_grades(y, qid, batch.examples, sample_weight)
        state = self._build_state(batch.features, batch.rows.values.dtype, batch.names, self._empty_labels())
        first = -1
        for order in self._begin_passes(state, len(grades)):
            if order is None:
                self._learn_queries(state, batch.rows, grades, weights)
            else:
                rows, mine = grades.rows_in_order(order), weights[order] if len(weights) else weights
                self._learn_queries(state, gather_rows(batch.rows, rows), grades.gather(order, rows), mine, order)
            first = state.ledger.mistakes if first < 0 else first
        self._set_state(state)
        return first

    def partial_fit(self, X: Any, y: Any, qid: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Continue learning with one pass over these queries; queries must be whole."""
        if self._state is None:
            self._check_all()
        raw = None if self._state is None else encode_raw_batch(self._state, X)
        kind = None if self._state is None else self._state.kind
        batch = validation.validate_batch(X, kind=kind) if raw is None else raw
        grades, weights = self._encode_grades(y, qid, batch.examples, sample_weight)
        state = self._state
        if state is None:
            state = self._build_state(batch.features, batch.rows.values.dtype, batch.names, self._empty_labels())
        else:
            self._check_settings_unchanged(state)
            if raw is None:
                self._check_features(batch)
            else:
                self._ensure_capacity(state, batch.features)
        self._learn_queries(state, batch.rows, grades, weights)
        self._set_state(state)
        return self

    def _encode_grades(
        self, y: Any, qid: Any, examples: int, sample_weight: ArrayLike | None
    ) -> tuple[GradedQueries, NDArray[np.float64]]:
        if qid is None:
            raise InputError("QueryRanking needs qid, the query of each row: fit(X, y, qid).")
        grades = GradedQueries(find_query_starts(validation.validate_y(qid, examples)), validate_grades(y, examples))
        return grades, validation.validate_sample_weight(sample_weight, len(grades))

    def _learn_queries(
        self,
        state: ModelState,
        rows: Rows,
        grades: GradedQueries,
        weights: NDArray[np.float64],
        order: NDArray[np.int64] | None = None,
    ) -> None:
        """Learn all queries; if one is refused, learn none. `order` has their numbers if they were shuffled."""
        self._check_rows(state, rows)
        backup = state.copy()
        taken = self._run_queries(state, rows, grades, weights)
        if taken < len(grades):
            self._restore(state, backup)
            query = taken if order is None else int(order[taken])
            raise WeightOverflowError(
                f"The weights grew out of range before query {query}; nothing of this batch was learned. Scale the"
                " features, lower the learning rate, or choose a schedule whose steps shrink."
            )

    def _run_queries(self, state: ModelState, rows: Rows, grades: GradedQueries, weights: NDArray[np.float64]) -> int:
        rows = canonicalize(rows, 0, count_rows(rows), state.features)
        counts = state.more.setdefault("counts", np.zeros(2, np.int64))
        taken = learn_queries(
            UPDATE_NAMES.index(self.update),
            self._spec().loss,
            state.updater,
            rows,
            Queries(grades.starts, grades.grades),
            weights,
            state.features + 1,
            counts,
            self._workspace(state, rows, grades),
            state.ledger.book,
            True,
        )
        if taken == len(grades):
            self._record_documents(state, rows, grades, weights)
        return taken

    def _record_documents(
        self, state: ModelState, rows: Rows, grades: GradedQueries, weights: NDArray[np.float64]
    ) -> None:
        """Record the sampled documents. They have a separate count, because the ledger counts queries."""
        counts, learned = state.more["counts"], np.zeros(0)
        before, documents = int(counts[DOCUMENT_COUNT]), count_rows(rows)
        if len(weights):
            learned = np.repeat(weights, np.diff(grades.starts))
            documents = int(np.count_nonzero(learned))
        counts[DOCUMENT_COUNT] += documents
        state.feature_sample.record(rows, learned, before, before + documents, state.features, known=True)

    def _state_from_file(self, state: ModelState, tensors: dict[str, NDArray[Any]]) -> ModelState:
        state = super()._state_from_file(state, tensors)
        if "counts" in state.more:
            state.feature_sample.continue_after(int(state.more["counts"][DOCUMENT_COUNT]))
        return state

    def _workspace(self, state: ModelState, rows: Sparse, grades: GradedQueries) -> RankingWorkspace:
        documents = int(np.diff(grades.starts).max(initial=0))
        slots = len(state.updater.weights)
        row = Sparse(np.zeros(2, np.int64), np.zeros(slots, np.uint32), np.zeros(slots, rows.values.dtype))
        return RankingWorkspace(
            np.zeros(documents), np.zeros(documents), np.zeros(slots), np.zeros(slots, np.int64), row
        )

    def _build_file_trainer(self, reading: Any, *, positive: str | None = None) -> Any:
        return QueryFileTrainer(self, reading)

    # --- Predicting ---

    def _hypothesis(self, state: ModelState) -> NDArray[np.float64]:
        return final_weights(state)

    def _build_loop_scorer(self, state: ModelState) -> LoopScorer:
        return build_weight_scorer(state, final_weights(state))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each document."""
        return self.decision_function(X)

    def _format_label(self, label: Any) -> str:
        return repr(float(label))

    def _decide(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        return scores

    def rank(self, X: Any, y: Any, qid: Any) -> RankingQuality:
        """Return the ranking quality of these queries."""
        scores = self.decision_function(X)
        return measure_ranking(
            scores, validate_grades(y, len(scores)), find_query_starts(validation.validate_y(qid, len(scores)))
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> float:
        """Return NDCG@10; without qid all rows are documents of one query."""
        return self.rank(X, y, np.zeros(len(y)) if qid is None else qid).ndcg

    @property
    def classes_(self) -> NDArray[Any]:
        raise AttributeError("QueryRanking has grades, not classes.")

    def bounds(self) -> Sequence[Bound]:
        state = self._checked_state()
        if state.ledger.weighted:
            return ()
        inner = preference_bounds_of(self._inner_learner, state, variables=state.features, top=self.update == "top")
        return tuple(add_new_classes(bound, 0, BOUND_NOTE) for bound in inner)

    # --- Examples, for certificates ---

    def _iter_encoded_arrays(self, X: Any, y: Any, qid: Any = None) -> Iterator[tuple[Rows, Any]]:
        batch = validation.validate_batch(X)
        grades, _ = self._encode_grades(y, qid, batch.examples, None)
        yield canonicalize(batch.rows, 0, batch.examples, self._require_fitted().features), grades

    def _iter_encoded_files(self, reading: Any) -> Iterator[tuple[Rows, Any]]:
        for documents in iter_whole_queries(reading.batches()):
            yield documents.rows, GradedQueries(documents.starts, documents.grades)

    def _run_facts(self) -> dict[str, Any]:
        counts = self._require_fitted().more.get("counts")
        return {"unmet": 0 if counts is None else int(counts[0])}


def _build_updater_without_bias(inner: LearnerSpec, slots: int, dtype: Any) -> Any:
    """Return an updater of the inner learner without the bias, which is the same for all documents."""
    updater = inner.build_updater(slots, dtype)
    return updater._replace(**({"bias_value": 0.0} if hasattr(updater, "bias_value") else {"bias": 0.0}))


class QueryFileTrainer(FileTrainer):
    """A run over files that learns whole queries, independent of batch boundaries."""

    def iter_batches(self, batches: Any) -> Iterator[QueryBatch]:
        return iter_whole_queries(batches)

    def encode(self, batch: Any) -> EncodedBatch:
        state = self.state
        if state is None:
            state = build_state(self.model, 0, batch.rows.values.dtype, None, build_empty_labels(self.model))
        if state.reading is None:
            state.reading = self.reading.settings()
        self.state = state
        self._ensure_capacity(state, batch)
        return EncodedBatch(batch, batch.rows, GradedQueries(batch.starts, batch.grades), np.zeros(0))

    def learn(self, encoded: EncodedBatch, start: int = 0, stop: int = sys.maxsize) -> int:
        """Learn all queries of the batch: batches contain whole queries."""
        state, documents, queries = self._require_state(), encoded.batch, encoded.codes
        taken = self.model._run_queries(state, encoded.rows, queries, encoded.weights)
        set_state(self.model, state)
        if taken < len(queries):
            raise InputError(
                f"{documents.get_location(int(queries.starts[taken]))}: the weights grew out of range at query"
                f" {state.ledger.examples + 1:,}, and nothing was saved: scale the features, lower --learning-rate, or"
                " choose a --schedule whose steps shrink."
            )
        return len(queries)

    def end_pass(self) -> None:
        """Do nothing: there are no labels to check."""

    def _ensure_capacity(self, state: ModelState, documents: Any) -> None:
        def needed(features: int) -> int:
            return state.bytes_needed(Growth(features))

        if documents.features - state.features > MIN_FEATURES_ADDED:
            check_isolated_terms(documents, documents.features, needed, state.features)
        try:
            ensure_capacity(self.model, state, documents.features)
        except ModelTooLarge as problem:
            rows = documents.rows
            width = int(rows.indices[: int(rows.starts[-1])].max(initial=0)) + 1
            if needed(width) > problem.limit:
                raise build_row_too_wide_error(rows, width, documents.get_location, needed, problem.limit) from None
            ensure_capacity(
                self.model, state, width
            )  # the row that is too wide is in a later query, which raises the error
