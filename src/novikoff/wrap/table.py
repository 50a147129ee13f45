"""What a model with many columns of weights knows: its state, which grows with features and with classes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._columns import BLOCK
from novikoff.errors import InputError
from novikoff.learners.state import State
from novikoff.parts.columns import laid_out, wide_enough
from novikoff.parts.geometry import APPENDED, arrays
from novikoff.parts.many import KNOWN, NEW, UNMET
from novikoff.parts.schemes import Room, Tally


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
            self._lay_out(self._larger_room(features) + 1, self.across, features)
        self.features = max(self.features, features)

    def make_columns(self, columns: int) -> None:
        """Room for so many columns, a third as much again at least, so that new classes cost little."""
        begun = self.across % BLOCK == 0
        if columns > self.across or not begun:
            wide = wide_enough(max(columns, self.across + self.across // 3 if begun else 0))
            self._lay_out(self.room + 1, wide, self.features)
            grown = [np.zeros(wide, np.int64) for _ in range(2)]
            for new, old in zip(grown, self.tally[1:], strict=True):
                new[: len(old)] = old
            self.tally = self.tally._replace(times=grown[0], mistakes=grown[1])

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
