"""Names of features that were hashed: columns of their own for them, or a note which name has which slot."""

from __future__ import annotations

from collections.abc import Callable

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.canonical_rows import canonicalize
from novikoff.data.names.dictionary import NameTable
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.rows import Sparse

NAME_OVERHEAD_BYTES = 100  # bytes that a kept name takes besides its letters

NameGetter = Callable[[int], str]
"""The name of the feature of a term, as it is spelled in the text."""


class ColumnDictionary:
    """A dictionary: names get columns in the order in which they come."""

    def __init__(self, names: FeatureNames) -> None:
        self.names = names
        self.table = NameTable()
        self.numbered: set[int] = set()
        self.shared = False
        """Whether two features are spelled alike, such as {"a": "b"} and "a=b"."""

    def of(self, rows: Sparse, hashes: NDArray[np.uint64], name_of: NameGetter) -> Sparse:
        """The rows with columns in place of hashes."""

        def new(at: int) -> int:
            number = self.names.number(name_of(at))
            self.shared |= number in self.numbered
            self.numbered.add(number)
            return number

        found = rows._replace(indices=self.table.numbers_of(hashes, new))
        return canonicalize(found, 0, len(rows.starts) - 1, len(self.names)) if self.shared else found


class SlotNames:
    """The first name that came for each slot, as long as there is room for names."""

    def __init__(self, names: dict[int, str], capacity_bytes: int) -> None:
        self.kept, self.room = names, capacity_bytes
        """The room is in bytes."""
        self.taken = sum(len(name) + NAME_OVERHEAD_BYTES for name in names.values())
        self.table = NameTable()
        self.collisions = 0
        """Names that came to a slot which another name has, as far as names are kept."""

    def note(self, rows: Sparse, hashes: NDArray[np.uint64], name_of: NameGetter) -> None:
        def new(at: int) -> int:
            slot = int(rows.indices[at])
            if slot in self.kept:
                self.collisions += 1
            elif self.taken < self.room:
                name = name_of(at)
                self.kept[slot] = name
                self.taken += len(name) + NAME_OVERHEAD_BYTES
            return 0

        if self.table.count * 32 < self.room:
            self.table.numbers_of(hashes, new)
