"""Names of hashed features: dictionary columns for them, or the first name of each slot, to show to users."""

from __future__ import annotations

from collections.abc import Callable

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.canonical_rows import canonicalize
from novikoff.data.names.dictionary import NameTable
from novikoff.data.names.feature_names import FeatureNames
from novikoff.data.rows import Sparse

NAME_OVERHEAD_BYTES = 100  # memory of a kept name besides its characters

NameGetter = Callable[[int], str]
"""Returns the name of the feature of the term with this number, decoded from the text."""


class ColumnDictionary:
    """A growing dictionary: names get columns in order of first appearance."""

    def __init__(self, names: FeatureNames) -> None:
        self.names = names
        self.table = NameTable()
        self.numbered: set[int] = set()
        self.shared = False
        """Whether two different features have the same name, such as {"a": "b"} and "a=b"."""

    def number_columns(self, rows: Sparse, hashes: NDArray[np.uint64], name_of: NameGetter) -> Sparse:
        """Return the rows with columns in place of hashes."""

        def add_name(at: int) -> int:
            number = self.names.number(name_of(at))
            self.shared |= number in self.numbered
            self.numbered.add(number)
            return number

        found = rows._replace(indices=self.table.look_up_numbers(hashes, add_name))
        return canonicalize(found, 0, len(rows.starts) - 1, len(self.names)) if self.shared else found


class SlotNames:
    """The first name seen for each slot, as long as the memory limit allows."""

    def __init__(self, names: dict[int, str], capacity_bytes: int) -> None:
        self.kept, self.capacity_bytes = names, capacity_bytes
        self.taken = sum(len(name) + NAME_OVERHEAD_BYTES for name in names.values())
        self.table = NameTable()
        self.collisions = 0
        """Names that share a slot with another name, as far as names are kept."""

    def keep_names(self, rows: Sparse, hashes: NDArray[np.uint64], name_of: NameGetter) -> None:
        """Keep the names of slots that have none yet; count collisions."""

        def add_name(at: int) -> int:
            slot = int(rows.indices[at])
            if slot in self.kept:
                self.collisions += 1
            elif self.taken < self.capacity_bytes:
                name = name_of(at)
                self.kept[slot] = name
                self.taken += len(name) + NAME_OVERHEAD_BYTES
            return 0

        if self.table.count * 32 < self.capacity_bytes:
            self.table.look_up_numbers(hashes, add_name)
