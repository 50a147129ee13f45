"""A learner follows what is read from files, batch by batch, in order."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Protocol

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import np
from novikoff.base.model_state import ModelState
from novikoff.data.feature_limit import build_batch_too_wide_error, check_isolated_indices
from novikoff.data.labels.binary_labels import build_one_vs_rest_labels
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.reader import Batch, DataReader
from novikoff.data.rows import Rows, slice_rows
from novikoff.errors import FeatureRangeError, InputError, ModelTooLarge, WeightOverflowError
from novikoff.ledger import Ledger
from novikoff.memory_limit import Growth


class ProgressCallback(Protocol):
    """Who wants to see the ledger now and then: after so many more examples."""

    def until_next(self, ledger: Ledger) -> int: ...

    def show(self, ledger: Ledger) -> None: ...


class NullProgress:
    def until_next(self, ledger: Ledger) -> int:
        return sys.maxsize

    def show(self, ledger: Ledger) -> None:
        return


class FileTrainer:
    """One run over some files. How they are cut into batches changes nothing."""

    def __init__(self, model: Any, reading: DataReader, *, positive: str | None = None) -> None:
        self.model, self.reading, self.positive = model, reading, positive
        self.state: ModelState | None = model._state
        self.sides: Any = None
        self.resumed = self.state is not None
        self.label_order: LabelOrder | None = LabelOrder()
        """Counts label changes in the first pass; None in later ones."""

    def once(self, onlooker: ProgressCallback | None = None) -> None:
        """All examples, in order."""
        self.all(self.reading.batches(), onlooker)

    def all(self, batches: Iterable[Batch], onlooker: ProgressCallback | None = None) -> None:
        """All of these examples of the reading, in order."""
        for batch in batches:
            self.take(batch, onlooker)
        self.end()

    def take(self, batch: Batch, onlooker: ProgressCallback | None = None) -> Any:
        """The next examples of the reading; returns their labels as the model takes them: −1 and +1, 0 for those that
        are left out, of two."""
        return self._learn(self._prepare_state(batch), batch.to_numpy(), onlooker or NullProgress())

    def shown(self, batches: Iterable[Batch], see: Any) -> None:
        """All of these examples, and each batch with its labels to `see`, where there is one."""
        for batch in batches:
            codes = self.take(batch)
            if see is not None:
                see(batch.rows, codes)
        self.end()

    def end(self) -> None:
        """After the last of them."""
        state = self._require_state()
        self.label_order = None
        if self.reading.kept:
            state.slot_names = dict(self.reading.kept)
        if self.positive is not None and state.ledger.examples and not self.resumed and not self.saw_positive_label():
            raise InputError(f"--positive-label {self.positive}: no example has that label; there are others only.")

    def saw_positive_label(self) -> bool:
        return self.sides is not None and bool((self.sides.codes > 0).any())

    def _require_state(self) -> ModelState:
        if self.state is None:  # a reading without examples ends with an error
            raise InputError("There were no examples.")
        return self.state

    def _prepare_state(self, batch: Batch) -> ModelState:
        """The state, with room for what the batch brings."""
        columns = self.reading.columns(batch.title)
        if self.state is None:
            labels = self.model._empty_labels() if self.positive is None else build_one_vs_rest_labels(self.positive)
            # How many features a first batch of sparse rows has says nothing: it depends on where the batch ends.
            width = batch.features if batch.table else 0
            self.state = self.model._build_state(width, batch.rows.values.dtype, columns, labels)
            self.state.shuffle = self.reading.shuffle_record()
        state = self.state
        if self.sides is None:
            state.label_order = self.label_order
            skips = self.reading.options.bad_lines == "skip"
            self.sides = self.model._label_reader(state.labels, self.reading.left_out if skips else None)
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
        check_isolated_indices(batch, self.reading, lambda n: state.bytes_needed(Growth(n)), state.features)
        try:
            self.model._ensure_capacity(state, batch.features)
        except ModelTooLarge as problem:
            raise self._too_wide_error(state, batch.to_numpy(), problem.limit) from None
        return state

    def _too_wide_error(self, state: ModelState, batch: Batch, limit: int) -> ModelTooLarge:
        """Return the error that says which row has the first feature for which there is no memory."""
        columns = None if state.names is None else state.names.columns
        return build_batch_too_wide_error(
            batch, self.reading, lambda features: state.bytes_needed(Growth(features)), limit, columns
        )

    def _column_mismatch_error(self, title: str, names: FeatureNames | None, columns: list[str] | None) -> InputError:
        mine = [] if names is None else list(names.columns)
        return InputError(
            f"{title}: its features are not those of the model: one has the columns"
            f" {', '.join((mine or columns or [])[:3])} …, the other does not."
        )

    def _learn(self, state: ModelState, batch: Batch, onlooker: ProgressCallback) -> Any:
        """In pieces that end where the onlooker wants to look."""
        signs, weights = self.sides.of(batch), batch.parsed.weights
        if self.label_order is not None:
            self.label_order.add(signs, len(state.labels))
        absent = self.sides.left_out(signs)
        if absent is not None:
            weights = (weights if len(weights) else np.ones(len(batch))) * ~absent
        rows: Rows = batch.rows
        if rows.values.dtype != state.kind:
            rows = rows._replace(values=rows.values.astype(state.kind))
        start, count = 0, len(batch)
        while start < count:
            stop = min(count, start + onlooker.until_next(state.ledger))
            before = state.ledger.examples
            try:
                self.model._learn_rows(
                    state, slice_rows(rows, start, stop), signs[start:stop], state.labels, weights[start:stop]
                )
            except FeatureRangeError as problem:
                row = start + problem.row
                if self.reading.options.bad_lines != "skip":
                    raise InputError(f"{batch.where(row)}: {problem}") from None
                self.reading.left_out["range"] += 1
                if buffers.is_array(signs):
                    signs[row] = self.sides.nothing
                start = row + 1
                continue
            except ModelTooLarge as problem:
                row = start + state.ledger.examples - before
                raise ModelTooLarge(f"{batch.where(row)}: {problem}", problem.needed, problem.limit) from None
            except WeightOverflowError:
                row = start + state.ledger.examples - before
                raise InputError(
                    f"{batch.where(row)}: the weights grew out of range at example {state.ledger.examples + 1:,}, and"
                    " nothing was saved: scale the features, lower --learning-rate, or choose a --schedule whose steps"
                    " shrink."
                ) from None
            onlooker.show(state.ledger)
            start = stop
        return signs
