"""Query–document ranking: documents of higher grade are to stand above those of lower grade, within each query.

Predict   a score w·x for each document; a query's documents are ranked by it
Update    of the preferences x_i ≻ x_j within a query, those that the learner's rule is not content with: the mean of
          x_i − x_j over them (`top`: the worst one alone) is a positive example of the binary learner
Bound     the binary learner's own, for queries: every query with a preference that is not met changes the weights.
          It bounds such queries, not the preferences nor NDCG or MAP. ‖x_i − x_j‖ ≤ 2·max‖x‖
Source    Herbrich, Graepel and Obermayer 2000; Har-Peled, Roth and Zimak 2002
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from novikoff.errors import InputError, ModelTooLarge, OverflowRefused
from novikoff.base.estimator import one_of
from novikoff.base.file_training import Following, Nobody, Onlooker
from novikoff.base.online_classifier import Learner
from novikoff.base.linear_weights import Linear
from novikoff.base.raw_rows import raw_batch
from novikoff.base.model_state import State
from novikoff.memory_limit import Growth
from novikoff.core.multiclass.pairwise_gradients import UPDATES
from novikoff.core.ranking_loop import Desk, Queries, learn_queries
from novikoff.schema import MAX_COUNT, Array, Entries, Schema
from novikoff.data import validation
from novikoff.data.feature_limit import name_row_too_wide
from novikoff.data.shuffle.gather import gather_rows
from novikoff.data.query_groups import Documents, whole_queries
from novikoff.data.rows import Rows, Sparse, how_many
from novikoff.data.canonical_rows import tidied
from novikoff.theory.bounds import Bound
from novikoff.multiclass.pairwise_bounds import with_new
from novikoff.meta.base import Stack, binary, takes_preferences

__all__ = ["QueryRanking"]

BOUNDED = "it bounds queries with a preference that is not met, not such preferences, NDCG or MAP"


DOCUMENTS = 1  # where they are counted, beside the preferences that were not met


class Ranked(NamedTuple):
    """How well queries are ranked, on average."""

    ndcg: float
    """NDCG@10 with gains 2^grade − 1; 0 for a query without a document above grade 0."""
    map: float
    """Mean average precision, documents above grade 0 being relevant; 0 for a query without any."""
    queries: int


class Grades:
    """Grades of documents, and where each query begins; can be cut like an array of queries."""

    def __init__(self, starts: NDArray[np.int64], grades: NDArray[np.float64]) -> None:
        self.starts, self.grades = starts, grades

    def __len__(self) -> int:
        return len(self.starts) - 1

    def rows_in_order(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of these queries, in this order of queries."""
        lengths = np.diff(self.starts)[order]
        ends = np.cumsum(lengths)
        return np.arange(int(lengths.sum())) + np.repeat(self.starts[order] - (ends - lengths), lengths)

    def gather(self, order: NDArray[np.int64], rows: NDArray[np.int64]) -> Grades:
        """Return the queries in this order; `rows` are their rows."""
        starts = np.concatenate([[0], np.cumsum(np.diff(self.starts)[order])]).astype(np.int64)
        return Grades(starts, self.grades[rows])


@final
class QueryRanking(Stack, Linear):
    """Ranks documents within queries by one vector of weights, learned from preferences.

    Parameters
    ----------
    learner : Learner
        The binary learner, AROW() where none is given. Its settings are those of the whole, but for the bias,
        which is the same for all documents and left out.
    update : str
        Which of the preferences that are not met are learned from: top, uniform or proportional.

    Examples
    --------
    >>> from novikoff import Perceptron, QueryRanking
    >>> X, grades, qid = [[0, 1], [1, 0], [1, 1], [0, 1], [2, 1]], [0, 1, 1, 0, 2], [7, 7, 7, 8, 8]
    >>> model = QueryRanking(Perceptron(passes=5)).fit(X, grades, qid)
    >>> model.predict([[0, 3], [1, 0]]).argmax().item(), model.rank(X, grades, qid)
    (1, Ranked(ndcg=1.0, map=1.0, queries=2))
    """

    def __init__(
        self, learner: Learner | None = None, *, update: Literal["top", "uniform", "proportional"] = "uniform"
    ) -> None:
        self.learner = learner
        self.update = update

    # --- What the learner inside provides ---

    bias = False
    two_classes = False
    predicts_one_label = False
    outcomes = "queries"

    @property
    def passes(self) -> int:  # type: ignore[override]
        return int(self.inner.passes)

    @property
    def shuffle(self) -> bool:  # type: ignore[override]
        return bool(self.inner.shuffle)

    @property
    def random_state(self) -> int:  # type: ignore[override]
        return int(self.inner.random_state)

    @property
    def mistake_rows_(self) -> NDArray[np.int64]:
        raise AttributeError("QueryRanking has no mistake_rows_: its mistakes are made on queries, not on rows.")

    def _check_all(self) -> None:
        binary(self.learner, type(self).__name__)
        self.inner._check_all()
        one_of(UPDATES, update=self.update)
        takes_preferences(self, self.update)

    def _rule(self) -> Any:
        return self.inner._rule()

    def _scale(self) -> float:
        return float(self.inner._scale())

    def _range(self) -> tuple[float, float]:
        low, high = self.inner._range()
        return low / 2.0, high / 2.0  # differences must be in the learner's range

    def _schema(self, features: int) -> Schema:
        schema: Schema = self.inner._schema(features)
        return schema

    def _more_schemas(self, features: int, present: Collection[str]) -> dict[str, Schema]:
        counts = Entries(unmet=(0, MAX_COUNT), documents=(0, MAX_COUNT))
        return {"more.": Schema({"counts": Array("int64", 2, checks=[counts], optional=True)})}

    def _geometry(self, slots: int, kind: Any) -> Any:
        geometry = self.inner._geometry(slots, kind)
        return geometry._replace(**({"dummy": 0.0} if hasattr(geometry, "dummy") else {"bias": 0.0}))

    def _run_settings(self) -> dict[str, Any]:
        return {"update": self.update, **self._inner_settings()}

    # --- Learning ---

    def fit(self, X: Any, y: Any, qid: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Forget what was learned, then learn the queries, as often and in such an order as the learner inside says.

        `qid` names the query of each row; rows of a query stand together. `sample_weight` is for queries.
        """
        self.fit_rows(X, y, sample_weight, qid=qid)
        return self

    def fit_rows(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, qid: Any = None
    ) -> int:
        self._check_all()
        batch = validation.batch(X)
        grades, weights = self._graded(y, qid, batch.examples, sample_weight)
        state = self.fresh_state(batch.features, batch.rows.values.dtype, batch.names, self._no_labels())
        first = -1
        for order in self._orders(state, len(grades)):
            if order is None:
                self._learn_queries(state, batch.rows, grades, weights)
            else:
                rows, mine = grades.rows_in_order(order), weights[order] if len(weights) else weights
                self._learn_queries(state, gather_rows(batch.rows, rows), grades.gather(order, rows), mine, order)
            first = state.ledger.mistakes if first < 0 else first
        self._adopt(state)
        return first

    def partial_fit(self, X: Any, y: Any, qid: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learns these queries once, going on from before; queries must be whole."""
        if self._state is None:
            self._check_all()
        raw = None if self._state is None else raw_batch(self._state, X)
        batch = validation.batch(X, kind=None if self._state is None else self._state.kind) if raw is None else raw
        grades, weights = self._graded(y, qid, batch.examples, sample_weight)
        state = self._state
        if state is None:
            state = self.fresh_state(batch.features, batch.rows.values.dtype, batch.names, self._no_labels())
        else:
            self._goes_on(state)
            if raw is None:
                self._same_features(batch)
            else:
                self._make_room(state, batch.features)
        self._learn_queries(state, batch.rows, grades, weights)
        self._adopt(state)
        return self

    def _graded(
        self, y: Any, qid: Any, examples: int, sample_weight: ArrayLike | None
    ) -> tuple[Grades, NDArray[np.float64]]:
        if qid is None:
            raise InputError("QueryRanking needs qid, the query of each row: fit(X, y, qid).")
        grades = Grades(query_starts(validation.label_array(qid, examples)), grade_array(y, examples))
        return grades, validation.weight_array(sample_weight, len(grades))

    def _learn_queries(
        self,
        state: State,
        rows: Rows,
        grades: Grades,
        weights: NDArray[np.float64],
        order: NDArray[np.int64] | None = None,
    ) -> None:
        """Learn all queries, or none where one is refused; `order` has their numbers, where they were shuffled."""
        self._check_rows(state, rows)
        kept = state.copy()
        taken = self._take_queries(state, rows, grades, weights)
        if taken < len(grades):
            self._put_back(state, kept)
            query = taken if order is None else int(order[taken])
            raise OverflowRefused(
                f"The weights grew out of range before query {query}; nothing of this batch was learned. Scale the"
                " features, lower the rate, or choose a schedule whose steps shrink."
            )

    def _take_queries(self, state: State, rows: Rows, grades: Grades, weights: NDArray[np.float64]) -> int:
        rows = tidied(rows, 0, how_many(rows), state.features)
        counts = state.more.setdefault("counts", np.zeros(2, np.int64))
        taken = learn_queries(
            UPDATES.index(self.update),
            self._rule(),
            state.geometry,
            rows,
            Queries(grades.starts, grades.grades),
            weights,
            state.features + 1,
            counts,
            self._desk(state, rows, grades),
            state.ledger.book,
            True,
        )
        if taken == len(grades):
            self._record_documents(state, rows, grades, weights)
        return taken

    def _record_documents(self, state: State, rows: Rows, grades: Grades, weights: NDArray[np.float64]) -> None:
        """Record the sampled documents. They have their own count, for the ledger counts queries."""
        counts, learned = state.more["counts"], np.zeros(0)
        before, documents = int(counts[DOCUMENTS]), how_many(rows)
        if len(weights):
            learned = np.repeat(weights, np.diff(grades.starts))
            documents = int(np.count_nonzero(learned))
        counts[DOCUMENTS] += documents
        state.feature_sample.record(rows, learned, before, before + documents, state.features, known=True)

    def _completed(self, state: State, tensors: dict[str, NDArray[Any]]) -> State:
        state = super()._completed(state, tensors)
        if "counts" in state.more:
            state.feature_sample.continue_after(int(state.more["counts"][DOCUMENTS]))
        return state

    def _desk(self, state: State, rows: Sparse, grades: Grades) -> Desk:
        documents = int(np.diff(grades.starts).max(initial=0))
        slots = len(state.geometry.slots)
        row = Sparse(np.zeros(2, np.int64), np.zeros(slots, np.uint32), np.zeros(slots, rows.values.dtype))
        return Desk(np.zeros(documents), np.zeros(documents), np.zeros(slots), np.zeros(slots, np.int64), row)

    def following(self, reading: Any, *, positive: str | None = None) -> Any:
        return FollowingQueries(self, reading)

    # --- Predicting ---

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The score of each document."""
        return self.decision_function(X)

    def spelled(self, label: Any) -> str:
        return repr(float(label))

    def choose(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        return scores

    def rank(self, X: Any, y: Any, qid: Any) -> Ranked:
        """How well these queries are ranked."""
        scores = self.decision_function(X)
        return ranked(scores, grade_array(y, len(scores)), query_starts(validation.label_array(qid, len(scores))))

    def score(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> float:
        """NDCG@10; without qid all rows are documents of one query."""
        return self.rank(X, y, np.zeros(len(y)) if qid is None else qid).ndcg

    @property
    def classes_(self) -> NDArray[Any]:
        raise AttributeError("QueryRanking has grades, not classes.")

    def bounds(self) -> Sequence[Bound]:
        state = self._run_so_far()
        if state.ledger.weighted:
            return ()
        inner = self.inner.preference_theorems(state, variables=state.features, top=self.update == "top")
        return tuple(with_new(bound, 0, BOUNDED) for bound in inner)

    # --- What was learned from, for certificates ---

    def told_arrays(self, X: Any, y: Any, qid: Any = None) -> Iterator[tuple[Rows, Any]]:
        batch = validation.batch(X)
        grades, _ = self._graded(y, qid, batch.examples, None)
        yield tidied(batch.rows, 0, batch.examples, self._fitted().features), grades

    def told_files(self, reading: Any) -> Iterator[tuple[Rows, Any]]:
        for documents in whole_queries(reading.batches()):
            yield documents.rows, Grades(documents.starts, documents.grades)

    def observed(self) -> dict[str, Any]:
        counts = self._fitted().more.get("counts")
        return {"unmet": 0 if counts is None else int(counts[0])}


class FollowingQueries(Following):
    """One run over some files: whole queries, wherever batches end."""

    def all(self, batches: Any, onlooker: Onlooker | None = None) -> None:
        for documents in whole_queries(batches):
            self._take(documents)
            (onlooker or Nobody()).show(self.model.ledger_)

    def shown(self, batches: Any, see: Any) -> None:
        for documents in whole_queries(batches):
            self._take(documents)
            if see is not None:
                see(documents.rows, Grades(documents.starts, documents.grades))

    def _take(self, documents: Documents) -> None:
        state = self.state
        if state is None:
            state = self.model.fresh_state(0, documents.rows.values.dtype, None, self.model._no_labels())
        if state.reading is None:
            state.reading = self.reading.settings()
        self.state = state
        self._make_room(state, documents)
        grades = Grades(documents.starts, documents.grades)
        taken = self.model._take_queries(state, documents.rows, grades, np.zeros(0))
        self.model._adopt(state)
        if taken < len(grades):
            raise InputError(
                f"{documents.where(int(documents.starts[taken]))}: the weights grew out of range at query"
                f" {state.ledger.examples + 1:,}, and nothing was saved: scale the features, lower --rate, or choose a"
                " --schedule whose steps shrink."
            )

    def _make_room(self, state: State, documents: Documents) -> None:
        def needed(features: int) -> int:
            return state.bytes_needed(Growth(features))

        try:
            self.model._make_room(state, documents.features)
        except ModelTooLarge as problem:
            rows = documents.rows
            width = int(rows.indices[: int(rows.starts[-1])].max(initial=0)) + 1
            if needed(width) > problem.limit:
                raise name_row_too_wide(rows, width, documents.where, needed, problem.limit) from None
            self.model._make_room(state, width)  # the row that is too wide is in a later query, which names it


def query_starts(qid: NDArray[Any]) -> NDArray[np.int64]:
    """Where each query begins, and the end; InputError where a query comes again after another one."""
    if not len(qid):
        return np.zeros(1, np.int64)
    starts = np.concatenate([[0], np.flatnonzero(qid[1:] != qid[:-1]) + 1, [len(qid)]]).astype(np.int64)
    names = qid[starts[:-1]]
    if len(np.unique(names)) < len(names):
        values, counts = np.unique(names, return_counts=True)
        raise InputError(
            f"The documents of a query must stand together, but query {values[counts > 1][0]} comes again after another"
            " one: sort the rows by query."
        )
    return starts


def grade_array(y: Any, examples: int) -> NDArray[np.float64]:
    grades = validation.label_array(y, examples)
    try:
        grades = grades.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError("Grades must be numbers, higher ones for documents that are to stand above others.") from None
    if not np.isfinite(grades).all():
        raise InputError("Grades must be finite numbers: every document needs one.")
    return grades


def ranked(scores: NDArray[np.float64], grades: NDArray[np.float64], starts: NDArray[np.int64]) -> Ranked:
    """The means over all queries; documents of equal score stand in the order in which they came."""
    gains, precisions = [], []
    for start, stop in pairwise(starts.tolist()):
        there = grades[start:stop][np.argsort(-scores[start:stop], kind="stable")]
        gains.append(_ndcg(there, 10))
        relevant = there > 0
        at = np.flatnonzero(relevant) + 1
        precisions.append(float((np.arange(1, len(at) + 1) / at).mean()) if len(at) else 0.0)
    count = len(gains)
    return Ranked(sum(gains) / count, sum(precisions) / count, count) if count else Ranked(0.0, 0.0, 0)


def _ndcg(there: NDArray[np.float64], depth: int) -> float:
    def gain(order: NDArray[np.float64]) -> float:
        shown = order[:depth]
        return float(((2.0**shown - 1.0) / np.log2(np.arange(2, len(shown) + 2))).sum())

    best = gain(np.sort(there)[::-1])
    return gain(there) / best if best > 0.0 else 0.0
