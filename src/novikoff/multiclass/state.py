"""What a model with many columns of weights knows: its state, which grows with features and with classes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._compiled.simd.dot_columns import BLOCK
from novikoff.errors import InputError
from novikoff.base.model_state import NO_GROWTH, State
from novikoff.memory_limit import Growth, size_with_spare
from novikoff.core.multiclass.weight_matrix import laid_out, wide_enough
from novikoff.core.updaters.base import APPENDED, arrays
from novikoff.core.multiclass.loop import KNOWN, NEW, UNMET
from novikoff.core.multiclass.schemes import Room, Tally
from novikoff.core.memory_sizes import bytes_per_slot, other_bytes

ADVICE = "Hash the features into fewer slots, or choose a scheme with fewer columns"


def _nothing() -> NDArray[np.int64]:
    return np.zeros(0, np.int64)


@dataclass
class Table(State):
    """The arrays of the geometry hold `across` columns for each slot."""

    across: int = 1
    tally: Tally = field(default_factory=lambda: Tally(np.zeros(3, np.int64), _nothing(), _nothing()))

    @property
    def room(self) -> int:
        return len(self.geometry.slots) // self.across - 1

    @property
    def known(self) -> int:
        """How many classes the loop has met or was told of."""
        return int(self.tally.counts[KNOWN])

    @property
    def new(self) -> int:
        """Examples whose class could not be predicted, because it had never come before."""
        return int(self.tally.counts[NEW])

    @property
    def unmet(self) -> int:
        """Binary problems, or preferences, that were got wrong."""
        return int(self.tally.counts[UNMET])

    def make_room(self, features: int) -> None:
        if features > self.room:
            what = f"{features:,} features with {self.across:,} columns of weights"
            room = size_with_spare(features, self._larger_room(features), self._bytes_with_room, what, ADVICE)
            self._lay_out(room + 1, self.across, features)
        self.features = max(self.features, features)

    def make_columns(self, columns: int) -> None:
        """Room for so many columns, a third as much again at least, so that new classes cost little."""
        begun = self.across % BLOCK == 0
        if columns > self.across or not begun:
            wide = self._wide(columns, self.across + self.across // 3 if begun else 0)
            what = f"{self.features:,} features with {wide:,} columns of weights"
            room = size_with_spare(self.features, self.room, lambda room: self.bytes_laid_out(room, wide), what, ADVICE)
            self._lay_out(room + 1, wide, self.features)
            grown = [np.zeros(wide, np.int64) for _ in range(2)]
            for new, old in zip(grown, self.tally[1:], strict=True):
                new[: len(old)] = old
            self.tally = self.tally._replace(times=grown[0], mistakes=grown[1])

    def _wide(self, columns: int, wanted: int) -> int:
        """Return the width of a table for so many columns: as wide as wanted, or less where that is not within the
        limit of memory."""
        needed, wanted = wide_enough(columns), wide_enough(max(columns, wanted))
        what = f"{self.features:,} features with {needed:,} columns of weights"
        wide = size_with_spare(needed, wanted, lambda wide: self.bytes_laid_out(self.features, wide), what, ADVICE)
        return wide - wide % BLOCK

    def bytes_laid_out(self, features: int, across: int, growth: Growth = NO_GROWTH) -> int:
        """Return the memory of this state with a table of another size."""
        weights, tally = bytes_per_slot(self.geometry, across) * (features + 1), 2 * 8 * across
        return weights + tally + other_bytes(self.geometry) + self._dictionary_bytes(growth)

    def _bytes_at(self, features: int, growth: Growth = NO_GROWTH) -> int:
        return self.bytes_laid_out(features, self.across, growth)

    def _lay_out(self, slots: int, across: int, features: int) -> None:
        try:
            self.geometry = laid_out(self.geometry, self.room + 1, self.across, slots, across)
        except MemoryError:
            raise InputError(
                f"There is no memory for {features:,} features with {across:,} columns of weights: hash the features"
                " into fewer slots (--bits), or choose a scheme with fewer columns."
            ) from None
        self.across = across

    def scratch(self, spare: int) -> Room:
        return Room(np.zeros(self.across), np.zeros(self.across), np.zeros(spare))

    def copy(self) -> Table:
        copies = {name: a.copy() for name, a in arrays(self.geometry).items() if name not in APPENDED}
        tally, more = Tally(*(a.copy() for a in self.tally)), {name: array.copy() for name, array in self.more.items()}
        geometry = self.geometry._replace(**copies)
        return replace(self, geometry=geometry, ledger=self.ledger.copy(), tally=tally, more=more)

    def compact(self, columns: int) -> tuple[Any, Tally]:
        """Geometry and tally without room to spare, as they go to a file."""
        geometry = laid_out(self.geometry, self.room + 1, self.across, self.features + 1, columns)
        return geometry, self.tally._replace(times=self.tally.times[:columns], mistakes=self.tally.mistakes[:columns])
