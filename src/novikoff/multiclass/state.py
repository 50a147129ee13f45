"""State of models with several columns of weights, which grows with features and with classes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.simd.dot_columns import BLOCK_COLUMNS
from novikoff.base.model_state import NO_GROWTH, ModelState, bytes_per_slot, fixed_bytes
from novikoff.core.multiclass.loop import N_CLASSES, NEW_CLASS_EXAMPLES, VIOLATIONS
from novikoff.core.multiclass.schemes import ColumnCounters, MulticlassWorkspace
from novikoff.core.multiclass.weight_matrix import padded_columns, resize_table
from novikoff.core.updaters.base import APPENDED_FIELDS, state_arrays
from novikoff.errors import InputError
from novikoff.memory_limit import Growth, choose_capacity

FEWER_COLUMNS_ADVICE = "Hash the features into fewer slots, or choose a scheme with fewer columns"


def _empty_counts() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass
class MulticlassState(ModelState):
    """The state of a multiclass model. The arrays of the updater have `stride` columns for each slot."""

    stride: int = 1
    column_counters: ColumnCounters = field(
        default_factory=lambda: ColumnCounters(np.zeros(3, np.int64), _empty_counts(), _empty_counts())
    )

    @property
    def room(self) -> int:
        return len(self.updater.weights) // self.stride - 1

    @property
    def known(self) -> int:
        """The number of classes that the loop has seen or that were declared."""
        return int(self.column_counters.counts[N_CLASSES])

    @property
    def new(self) -> int:
        """The number of examples with a new class, which could not be predicted."""
        return int(self.column_counters.counts[NEW_CLASS_EXAMPLES])

    @property
    def unmet(self) -> int:
        """The number of mistakes on binary problems, or of violated preferences."""
        return int(self.column_counters.counts[VIOLATIONS])

    def ensure_capacity(self, features: int) -> None:
        if features > self.room:
            what = f"{features:,} features with {self.stride:,} columns of weights"
            capacity = choose_capacity(
                features, self._grown_capacity(features), self._bytes_with_capacity, what, FEWER_COLUMNS_ADVICE
            )
            self._lay_out(capacity + 1, self.stride, features)
        self.features = max(self.features, features)

    def ensure_columns(self, columns: int) -> None:
        """Allocate this number of columns, with at least a third as much spare capacity, so that new classes cost
        little."""
        begun = self.stride % BLOCK_COLUMNS == 0
        if columns > self.stride or not begun:
            wide = self._choose_stride(columns, self.stride + self.stride // 3 if begun else 0)
            what = f"{self.features:,} features with {wide:,} columns of weights"
            capacity = choose_capacity(
                self.features, self.room, lambda capacity: self.table_bytes(capacity, wide), what, FEWER_COLUMNS_ADVICE
            )
            self._lay_out(capacity + 1, wide, self.features)
            grown = [np.zeros(wide, np.int64) for _ in range(2)]
            for new, old in zip(grown, self.column_counters[1:], strict=True):
                new[: len(old)] = old
            self.column_counters = self.column_counters._replace(times=grown[0], mistakes=grown[1])

    def _choose_stride(self, columns: int, wanted: int) -> int:
        """Return the width of a table for this number of columns: the given width, or less if it exceeds the memory
        limit."""
        needed, wanted = padded_columns(columns), padded_columns(max(columns, wanted))
        what = f"{self.features:,} features with {needed:,} columns of weights"
        wide = choose_capacity(
            needed, wanted, lambda wide: self.table_bytes(self.features, wide), what, FEWER_COLUMNS_ADVICE
        )
        return wide - wide % BLOCK_COLUMNS

    def table_bytes(self, features: int, stride: int, growth: Growth = NO_GROWTH) -> int:
        """Return the memory of this state with a table of another size."""
        weights, tally = bytes_per_slot(self.updater, stride) * (features + 1), 2 * 8 * stride
        return weights + tally + fixed_bytes(self.updater) + self._dictionary_bytes(growth)

    def _bytes_at(self, features: int, growth: Growth = NO_GROWTH) -> int:
        return self.table_bytes(features, self.stride, growth)

    def _lay_out(self, slots: int, stride: int, features: int) -> None:
        try:
            self.updater = resize_table(self.updater, self.room + 1, self.stride, slots, stride)
        except MemoryError:
            raise InputError(
                f"There is no memory for {features:,} features with {stride:,} columns of weights: hash the features"
                " into fewer slots (--hash-bits), or choose a scheme with fewer columns."
            ) from None
        self.stride = stride

    def scratch(self, size: int) -> MulticlassWorkspace:
        return MulticlassWorkspace(
            np.zeros(self.stride), np.zeros(self.stride), np.zeros(size), np.zeros(self.stride + 2 * size)
        )

    def copy(self) -> MulticlassState:
        copies = {name: a.copy() for name, a in state_arrays(self.updater).items() if name not in APPENDED_FIELDS}
        tally, more = (
            ColumnCounters(*(a.copy() for a in self.column_counters)),
            {name: array.copy() for name, array in self.more.items()},
        )
        updater = self.updater._replace(**copies)
        return replace(self, updater=updater, ledger=self.ledger.copy(), column_counters=tally, more=more)

    def compact(self, columns: int) -> tuple[Any, ColumnCounters]:
        """Return the updater and the tally without spare capacity, for a model file."""
        updater = resize_table(self.updater, self.room + 1, self.stride, self.features + 1, columns)
        return updater, self.column_counters._replace(
            times=self.column_counters.times[:columns], mistakes=self.column_counters.mistakes[:columns]
        )
