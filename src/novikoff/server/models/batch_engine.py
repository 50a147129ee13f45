"""Learning and predicting many examples at once, from bytes of lines, without interpreted Python code per example.

The results are byte-identical to those of `learn_one` and `predict_one` called for one line after another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.base.internals import (
    build_scorer,
    check_settings_unchanged,
    ensure_capacity,
    feature_range_of,
    fixed_width_reason_of,
    positive_scores_of,
    run_pass,
    scores_by_weights,
    set_state,
    state_of,
    unseen_weight_of,
    uses_linear_loop,
    weight_scale_of,
)
from novikoff.base.linear_classifier import LinearClassifier
from novikoff.core.scoring import ScoringContext, score_each_row
from novikoff.data.formats.json.ndjson_events import (
    ABSENT,
    IRREGULAR_LINE,
    EventLimits,
    EventRows,
    EventTerms,
    parse_events,
)
from novikoff.data.labels.binary_labels import BinaryLabels
from novikoff.data.labels.class_labels import ClassLabels
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.names.string_table import HASH_SEED, MAX_TEXT_BYTES, StringTable
from novikoff.data.rows import Sparse
from novikoff.data.validation import MAX_INDEX
from novikoff.errors import InputError, ModelTooLarge, NovikoffError
from novikoff.multiclass.base import MulticlassClassifier
from novikoff.multiclass.internals import class_scores_of, has_single_labels
from novikoff.server.models.features import get_encoder, get_served_encoding, keep_names, predict_with_score
from novikoff.server.models.line_runs import ExampleError, IrregularLine, LineRun
from novikoff.server.models.validation import count_label

UNKNOWN_COLUMN = MAX_INDEX - 1  # a column that is never assigned to a named feature
MAX_RUN_ROWS, MAX_RUN_TERMS = 4096, 1 << 17  # of one run
MAX_UNBATCHED_EXAMPLES = 8  # up to this number, learning one by one is faster than building a batch
MAX_CACHED_LABELS = 100_000
NO_SAMPLE_WEIGHTS = np.zeros(0)
NO_CODES: NDArray[Any] = np.zeros(0, np.int8)


class BatchEngine:
    """Learns and predicts batches of one model, with buffers and caches that are reused between calls.

    >>> from novikoff import Perceptron
    >>> engine, model = BatchEngine(), Perceptron()
    >>> lines = b'{"features":{"rain":1},"label":"umbrella"}\\n{"features":{"sun":2},"label":"hat"}\\n'
    >>> [engine.learn(model, run) for run in engine.runs(lines)]
    [2]
    >>> engine.predict(model, next(engine.runs(b'{"features":{"sun":1,"wind":3}}')))
    (['hat'], [2.0])
    """

    def __init__(self, *, most_features: int = 10_000, longest_name: int = 1_000) -> None:
        if not (1 <= most_features <= 1 << 20 and 1 <= longest_name <= MAX_TEXT_BYTES):
            raise InputError(
                f"most_features must be from 1 to {1 << 20:,}, and longest_name from 1 to {MAX_TEXT_BYTES:,}."
            )
        self.limits = EventLimits(most_features, longest_name)
        capacity = max(MAX_RUN_TERMS, 2 * most_features)
        self._terms = EventTerms(np.empty(capacity, np.uint64), np.empty(capacity, np.int64), np.empty(capacity))
        self._found = EventRows(
            starts=np.empty(MAX_RUN_ROWS + 1, np.int64),
            labels=np.empty(MAX_RUN_ROWS, np.int64),
            label_hashes=np.empty(MAX_RUN_ROWS, np.uint64),
            lines=np.empty(MAX_RUN_ROWS, np.int64),
            begins=np.empty(MAX_RUN_ROWS, np.int64),
        )
        self._marks = np.empty(max(64, 1 << (4 * most_features - 1).bit_length()), np.int64)
        self._names: Any = None
        self._table = StringTable()
        self._label_table, self._labels = StringTable(), list[Any]()

    # --- Reading ---

    def runs(self, data: bytes) -> Iterator[LineRun | IrregularLine]:
        """Yield the lines of NDJSON in order: runs of regular lines, and irregular lines one by one."""
        text = np.zeros(len(data) + 2 * PADDING_BYTES + 1, np.uint8)
        text[PADDING_BYTES : PADDING_BYTES + len(data)] = np.frombuffer(data, np.uint8)
        start, stop, line = PADDING_BYTES, PADDING_BYTES + len(data), 0
        text[stop] = 10
        while start < stop:
            rows, start, line, what = parse_events(
                text, start, stop, line, HASH_SEED, self.limits, self._terms, self._marks, self._found
            )
            if rows:
                terms = int(self._found.starts[rows])
                found = EventRows._make(array[:rows].copy() for array in self._found)
                found = found._replace(starts=self._found.starts[: rows + 1].copy())
                yield LineRun(text, found, EventTerms._make(array[:terms].copy() for array in self._terms))
            if what == IRREGULAR_LINE:
                line += 1
                end = data.find(b"\n", start - PADDING_BYTES)
                end = len(data) if end < 0 else end
                yield IrregularLine(line, data[start - PADDING_BYTES : end])
                start = PADDING_BYTES + end + 1

    # --- Learning ---

    def learn(self, model: Any, run: LineRun, order: LabelOrder | None = None) -> int:
        """Learn all examples of a run, with the same result as learn_one; return their number.

        Raise ExampleError if an example is refused. `order` counts label changes.
        """
        done, order = 0, LabelOrder(warns=False) if order is None else order
        while done < len(run):
            if len(run) - done > MAX_UNBATCHED_EXAMPLES and _learns_batches(model):
                done = self._learn_batch(model, run, done, order)
            else:
                self._learn_one(model, run, done, order)
                done += 1
        return done

    def _learn_one(self, model: Any, run: LineRun, i: int, order: LabelOrder) -> None:
        try:
            if not run.has_label(i):
                raise InputError("The example has no label. Learning needs a label for each example.")
            label = run.label(i)
            model.learn_one(get_encoder(model)(run.features(i)), label)
        except NovikoffError as problem:
            raise ExampleError(i, problem) from problem
        count_label(order, model, label)

    def _learn_batch(self, model: Any, run: LineRun, start: int, order: LabelOrder) -> int:
        """Learn a batch from example `start` up to one that may be refused, and that one separately.

        Return the number of examples processed.
        """
        state = state_of(model)
        before = _SizesBefore(state.features, len(state.labels), state.updater, state.feature_sample.moments)
        examples, taken, codes = state.ledger.examples, 0, NO_CODES
        new, too_large = _NewItems([], []), None
        try:
            check_settings_unchanged(model, state)
            codes = self._encode_codes(state.labels, run, start, new.labels)
            rows = self._rows(model, state, run, start, start + len(codes), new.names)
            ensure_capacity(model, state, len(state.names))
            taken = run_pass(model, state, rows, codes[: len(rows.starts) - 1], NO_SAMPLE_WEIGHTS, known=True)
            state.feature_sample.record(
                rows, NO_SAMPLE_WEIGHTS, examples, state.ledger.examples, state.features, known=True
            )
        except ModelTooLarge as problem:
            taken, too_large = 0, problem
        except InputError:  # learn one by one, so that the error names its example
            taken = 0
        finally:
            names = before.names + sum(row < taken for row in new.names)
            labels = before.labels + sum(row < taken for row in new.labels)
            state.forget(names, labels, True)
            moved = state.updater is not before.updater or state.feature_sample.moments is not before.moments
            if names > before.names or labels > before.labels or moved:
                set_state(model, state)
        if too_large is not None:  # the model is stopped, so the exact example does not matter
            raise ExampleError(start, too_large) from too_large
        order.add(codes[:taken], len(state.labels))
        done = start + taken
        if done < len(run):
            self._learn_one(model, run, done, order)
            done += 1
        return done

    def _encode_codes(self, labels: Any, run: LineRun, start: int, new: list[int]) -> NDArray[Any]:
        """Return the codes of the labels from example `start` on, up to the first missing or invalid label.

        For each new label, the index of its example, relative to `start`, is appended to `new`.
        """
        absent = np.flatnonzero(run.found.labels[start:] == ABSENT)
        stop = start + int(absent[0]) if len(absent) else len(run)
        numbers = self._lookup_labels(run, start, stop)
        distinct, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        codes = np.zeros(len(distinct), np.int8 if isinstance(labels, BinaryLabels) else np.int64)
        count = stop - start
        for k in np.argsort(first).tolist():  # in order of first occurrence
            known = len(labels)
            label = self._labels[int(distinct[k])]
            try:
                codes[k] = labels.sign(label) if isinstance(labels, BinaryLabels) else labels.number(label)
            except InputError:
                count = int(first[k])
                break
            new += [int(first[k])] * (len(labels) - known)
        return codes[inverse[:count]]

    def _lookup_labels(self, run: LineRun, start: int, stop: int) -> NDArray[np.uint32]:
        """Return the indices of labels in `self._labels`."""
        if self._label_table.count > MAX_CACHED_LABELS:
            self._label_table, self._labels = StringTable(), []
        hashes, spans = run.found.label_hashes[start:stop], run.found.labels[start:stop]
        while True:
            numbers, missing = self._label_table.find(hashes, run.text, spans, UNKNOWN_COLUMN)
            if not missing:
                return numbers
            fresh = dict.fromkeys(run.get_text(span) for span in spans[numbers == UNKNOWN_COLUMN].tolist())
            self._label_table.add(list(fresh))
            self._labels += [json.loads(label) for label in fresh]

    def _rows(self, model: Any, state: Any, run: LineRun, start: int, stop: int, new: list[int]) -> Sparse:
        """Return the examples from start to stop as rows, and add new names to the model.

        For each new name, the index of its example, relative to `start`, is appended to `new`. If the learner needs a
        fixed number of features, the rows end before the first example with a new name.
        """
        self._sync_names(state.names)
        starts = run.found.starts[start : stop + 1]
        terms = slice(int(starts[0]), int(starts[-1]))
        columns, missing = self._table.find(run.terms.hashes[terms], run.text, run.terms.spans[terms], UNKNOWN_COLUMN)
        starts = starts - starts[0]
        if missing:
            where = np.flatnonzero(columns == UNKNOWN_COLUMN)
            owners = np.searchsorted(starts, where, side="right") - 1
            if fixed_width_reason_of(model) is not None:
                starts = starts[: owners[0] + 1]
            else:
                spans = run.terms.spans[terms][where].tolist()
                for at, row, span in zip(where.tolist(), owners.tolist(), spans, strict=True):
                    known = len(state.names)
                    columns[at] = state.names.number(run.get_text(span).decode())
                    new += [row] * (len(state.names) - known)
        with np.errstate(over="ignore"):  # values too large for the model's precision become inf, and are refused
            values = run.terms.values[terms].astype(state.kind)
        return Sparse(starts, columns, values)

    def _sync_names(self, names: Any) -> None:
        """Update the table of names from the model."""
        if names is not self._names or len(names) < self._table.count:
            self._names, self._table = names, StringTable()
        missing = len(names) - self._table.count
        if missing:
            latest = [name for name, _ in zip(reversed(names.columns), range(missing), strict=False)]
            self._table.add([name.encode("utf-8", "surrogatepass") for name in reversed(latest)])

    # --- Predicting ---

    def predict(self, model: Any, run: LineRun) -> tuple[list[Any], list[float]]:
        """Return labels and scores of all examples of a run; raise ExampleError if one can't be predicted."""
        if state_of(model) is None:
            return [None] * len(run), [0.0] * len(run)
        found = self._predict_raw(model, run) if len(run) > MAX_UNBATCHED_EXAMPLES else None
        if found is not None:
            return found
        if len(run) > MAX_UNBATCHED_EXAMPLES and _has_names(model):
            if isinstance(model, LinearClassifier) and _scores_by_weights(model):
                return self._predict_binary(model, run)
            if (
                isinstance(model, MulticlassClassifier)
                and type(model).predict_one is MulticlassClassifier.predict_one
                and _is_batch_faster(model, run)
            ):
                return self._predict_multiclass(model, run)
        labels, scores = [], []
        for i in range(len(run)):
            label, score = self._predict_one(model, run, i)
            labels.append(label)
            scores.append(score)
        return labels, scores

    def _predict_raw(self, model: Any, run: LineRun) -> tuple[list[Any], list[float]] | None:
        """Predict raw rows with a model trained from files; return None if they must be predicted one by one."""
        state = state_of(model)
        encoding = get_served_encoding(state)
        if encoding is None or not encoding.accepts_dicts:
            return None
        score, raw = build_scorer(model, known=True), [run.features(i) for i in range(len(run))]
        try:
            columns = np.concatenate([score(batch.rows) for batch in encoding.batches(raw, state.names)])
        except NovikoffError:  # predict one by one, so that the error names its example
            return None
        if isinstance(model, LinearClassifier) and type(model).predict_one is LinearClassifier.predict_one:
            return _decode_signs(model, columns), columns.tolist()
        if isinstance(model, MulticlassClassifier) and type(model).predict_one is MulticlassClassifier.predict_one:
            return _decode_classes(model, columns)
        return None

    def _predict_one(self, model: Any, run: LineRun, i: int) -> tuple[Any, float]:
        try:
            return predict_with_score(model, get_encoder(model)(run.features(i)))
        except NovikoffError as problem:
            raise ExampleError(i, problem) from problem

    def _lookup_rows(self, state: Any, run: LineRun) -> Sparse:
        """Return all examples as rows, with UNKNOWN_COLUMN for features that were never learned."""
        self._sync_names(state.names)
        columns, _ = self._table.find(run.terms.hashes, run.text, run.terms.spans, UNKNOWN_COLUMN)
        starts = run.found.starts
        with np.errstate(over="ignore"):
            return Sparse(starts, columns, run.terms.values.astype(state.kind))

    def _predict_binary(self, model: Any, run: LineRun) -> tuple[list[Any], list[float]]:
        state, rows = state_of(model), self._lookup_rows(state_of(model), run)
        least, most = feature_range_of(model)
        context = ScoringContext(
            state.updater, state.ledger.book, state.features, float(unseen_weight_of(model, state)), least, most
        )
        longest, out = int(np.diff(rows.starts).max()), np.empty(len(run))
        score_each_row(context, rows, np.empty(longest + 1, state.kind), np.empty(longest + 1), out)
        scores = out * weight_scale_of(model)
        for i in np.flatnonzero(np.isnan(out)).tolist():  # invalid rows: predict_one raises the error or scores them
            scores[i] = self._predict_one(model, run, i)[1]
        return _decode_signs(model, scores), scores.tolist()

    def _predict_multiclass(self, model: Any, run: LineRun) -> tuple[list[Any], list[float]]:
        rows = self._lookup_rows(state_of(model), run)
        try:
            columns = build_scorer(model, known=True)(rows)
        except NovikoffError:
            for i in range(len(run)):
                self._predict_one(model, run, i)
            raise
        return _decode_classes(model, columns)


def _decode_signs(model: Any, scores: NDArray[np.float64]) -> list[Any]:
    """Return the labels of a binary model for these scores."""
    positive = positive_scores_of(model, scores)
    no, yes = state_of(model).labels.name(False), state_of(model).labels.name(True)
    return [yes if side else no for side in positive.tolist()]


def _decode_classes(model: Any, columns: NDArray[np.float64]) -> tuple[list[Any], list[float]]:
    """Return the predicted classes for the scores of the weight columns, and the score of each."""
    shown, winners = class_scores_of(model, columns)
    known = np.array(state_of(model).labels.known()).tolist()
    return [known[c] for c in winners.tolist()], shown[np.arange(len(columns)), winners].tolist()


class _SizesBefore(NamedTuple):
    names: int
    labels: int
    updater: Any
    moments: Any


class _NewItems(NamedTuple):
    """For each new label and each new name, the index of the example that introduced it."""

    labels: list[int]
    names: list[int]


def _has_names(model: Any) -> bool:
    state = state_of(model)
    return state is not None and getattr(state, "names", None) is not None and get_encoder(model) is keep_names


def _learns_batches(model: Any) -> bool:
    """Return whether learning a batch is equivalent to learning its examples one by one, up to a refused one."""
    if isinstance(model, LinearClassifier):
        plain = type(model).learn_one is LinearClassifier.learn_one and uses_linear_loop(model)
        return plain and _has_names(model) and type(state_of(model).labels) is BinaryLabels
    plain = isinstance(model, MulticlassClassifier) and has_single_labels(model)
    return plain and _has_names(model) and type(state_of(model).labels) is ClassLabels


def _scores_by_weights(model: LinearClassifier) -> bool:
    """Return whether the model is scored by its weights, with the standard `score_one`."""
    return scores_by_weights(model) and type(model).score_one is LinearClassifier.score_one


def _is_batch_faster(model: Any, run: LineRun) -> bool:
    """Return whether scoring against the whole weight matrix is faster than scoring each example."""
    return int(state_of(model).features) * int(state_of(model).stride) < 5_000 * len(run)
