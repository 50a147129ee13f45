"""Learn from files: each batch of a reader is encoded, then learned, in order.

    training = build_file_trainer(model, reading)
    for batch in training.iter_batches(reading.batches()):
        training.learn(training.encode(batch))
    training.end_pass()

The model does not depend on batch boundaries.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.base.class_weights import check_weighted_labels
from novikoff.base.model_state import ModelState
from novikoff.data.feature_limit import MIN_FEATURES_ADDED, build_batch_too_wide_error, check_isolated_indices
from novikoff.data.labels.binary_labels import build_one_vs_rest_labels
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.reader import DataReader, FileBatch
from novikoff.data.rows import Rows, slice_rows
from novikoff.errors import FeatureRangeError, InputError, ModelTooLarge, WeightOverflowError
from novikoff.memory_limit import Growth


class EncodedBatch(NamedTuple):
    """A batch as the model learns it."""

    batch: FileBatch
    rows: Rows
    """The rows, in the precision of the model."""
    codes: Any
    """The labels as the loop takes them: −1 and +1 for two classes, and 0 for rows that are left out."""
    weights: NDArray[np.float64]


class FileTrainer:
    """A run of a model over files."""

    def __init__(self, model: Any, reading: DataReader, *, positive: str | None = None) -> None:
        self.model, self.reading, self.positive = model, reading, positive
        self.state: ModelState | None = model._state
        self.label_encoder: Any = None
        self.resumed = self.state is not None
        self.label_order: LabelOrder | None = LabelOrder()
        """Counts label changes in the first pass; None in later ones."""

    def iter_batches(self, batches: Iterable[FileBatch]) -> Iterator[Any]:
        """Yield the batches in which examples are encoded and learned; by default those of the reader."""
        return iter(batches)

    def learn_pass(self) -> Iterator[EncodedBatch]:
        """Learn all examples of the reader; yield each batch after learning it."""
        for batch in self.iter_batches(self.reading.batches()):
            encoded = self.encode(batch)
            self.learn(encoded)
            yield encoded
        self.end_pass()

    def encode(self, batch: FileBatch) -> EncodedBatch:
        """Encode the labels of the next batch, and allocate weights for its features."""
        state = self._prepare_state(batch)
        batch = batch.to_numpy()
        codes, weights = self.label_encoder.encode(batch), batch.parsed.weights
        if self.label_order is not None:
            self.label_order.add(codes, len(state.labels))
        else:  # a later pass
            state.pause_probabilities()
        absent = self.label_encoder.find_left_out(codes)
        if absent is not None:
            weights = (weights if len(weights) else np.ones(len(batch))) * ~absent
        rows: Rows = batch.rows
        if rows.values.dtype != state.kind:
            rows = rows._replace(values=rows.values.astype(state.kind))
        return EncodedBatch(batch, rows, codes, weights)

    def learn(self, encoded: EncodedBatch, start: int = 0, stop: int = sys.maxsize) -> int:
        """Learn the examples start … stop − 1 of an encoded batch; return where the next piece begins."""
        stop = min(stop, len(encoded.codes))
        while start < stop:
            start = self._learn_until_refused(encoded, start, stop)
        return stop

    def _learn_until_refused(self, encoded: EncodedBatch, start: int, stop: int) -> int:
        """Learn up to `stop`, or up to a row that is skipped; return the row after."""
        state, batch, codes = self._require_state(), encoded.batch, encoded.codes
        before = state.ledger.examples
        try:
            if (start, stop) == (0, len(codes)):
                self.model._learn_checked_rows(state, encoded.rows, codes, state.labels, encoded.weights)
            else:
                rows, weights = slice_rows(encoded.rows, start, stop), encoded.weights[start:stop]
                self.model._learn_checked_rows(state, rows, codes[start:stop], state.labels, weights)
        except FeatureRangeError as problem:
            row = start + problem.row
            if self.reading.options.bad_lines != "skip":
                raise InputError(f"{batch.get_location(row)}: {problem}") from None
            self.reading.left_out["range"] += 1
            if buffers.is_array(codes):
                codes[row] = self.label_encoder.nothing
            return row + 1
        except ModelTooLarge as problem:
            row = start + state.ledger.examples - before
            raise ModelTooLarge(f"{batch.get_location(row)}: {problem}", problem.needed, problem.limit) from None
        except WeightOverflowError:
            row = start + state.ledger.examples - before
            raise InputError(
                f"{batch.get_location(row)}: the weights grew out of range at example {state.ledger.examples + 1:,},"
                " and nothing was saved: scale the features, lower --learning-rate, or choose a --schedule whose steps"
                " shrink."
            ) from None
        return stop

    def end_pass(self) -> None:
        """Complete the state after the last batch; raise InputError if the positive label was not found."""
        state = self._require_state()
        self.label_order = None
        state.resume_probabilities()
        if not self.resumed and self.model._weighs_classes():
            check_weighted_labels(self.model, state.labels)
        if self.reading.row_filter is not None and self.reading.names is not None:
            # The last rows may be held out, and still have added names to the dictionary.
            self.model._ensure_capacity(state, len(self.reading.names))
        if self.reading.kept:
            state.slot_names = dict(self.reading.kept)
        if self.positive is not None and state.ledger.examples and not self.resumed and not self.saw_positive_label():
            raise InputError(f"--positive-label {self.positive}: no example has that label.")

    def saw_positive_label(self) -> bool:
        return self.label_encoder is not None and bool((self.label_encoder.codes > 0).any())

    def _require_state(self) -> ModelState:
        if self.state is None:  # readers raise an error for files without examples
            raise InputError("There were no examples.")
        return self.state

    def _prepare_state(self, batch: FileBatch) -> ModelState:
        """Return the state, with capacity for the features of the batch."""
        columns = self.reading.columns(batch.title)
        if self.state is None:
            labels = self.model._empty_labels() if self.positive is None else build_one_vs_rest_labels(self.positive)
            # The width of a first batch of sparse rows depends on where the batch ends, so it is not used.
            width = batch.features if batch.table else 0
            self.state = self.model._build_state(width, batch.rows.values.dtype, columns, labels)
            self.state.shuffle = self.reading.shuffle_record()
        state = self.state
        if self.label_encoder is None:
            state.label_order = self.label_order
            skips = self.reading.options.bad_lines == "skip"
            self.label_encoder = self.model._label_reader(state.labels, self.reading.left_out if skips else None)
        if self.reading.names is not None:
            state.names = self.reading.names
        elif columns != (None if state.names is None else list(state.names.columns)):
            raise self._column_mismatch_error(batch.title, state.names, columns)
        if state.reading is None:
            state.reading = self.reading.settings()
        if batch.table and state.features and batch.features != state.features:
            raise InputError(
                f"{batch.title}: has {batch.features} columns of features, but the model has {state.features}."
            )
        self._ensure_capacity(state, batch)
        return state

    def _ensure_capacity(self, state: ModelState, batch: FileBatch) -> None:
        """Allocate weights for the batch; raise ModelTooLarge, with the row of the first feature beyond the limit."""

        def needed(features: int) -> int:
            return state.bytes_needed(Growth(features))

        if batch.features - state.features > MIN_FEATURES_ADDED:
            check_isolated_indices(batch, self.reading, needed, state.features)
        try:
            self.model._ensure_capacity(state, batch.features)
        except ModelTooLarge as problem:
            columns = None if state.names is None else state.names.columns
            raise build_batch_too_wide_error(batch.to_numpy(), self.reading, needed, problem.limit, columns) from None

    def _column_mismatch_error(self, title: str, names: FeatureNames | None, columns: list[str] | None) -> InputError:
        known = [] if names is None else list(names.columns)
        return InputError(
            f"{title}: its features are not those of the model: one has the columns"
            f" {', '.join((known or columns or [])[:3])} …, the other does not."
        )
