"""The dictionary of feature names and their column numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.validation import MAX_INDEX
from novikoff.errors import InputError
from novikoff.memory_limit import NAME_BYTES

UNKNOWN_COLUMN = 2**32 - 2


class FeatureNames:
    """Columns in order of first appearance of their names."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.columns: dict[str, int] = {}
        for name in names:
            self.columns.setdefault(name, len(self.columns))
        self._measured = self._bytes = 0
        """Names that `bytes_used` has added up so far, and their bytes."""

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterable[str]:
        return iter(self.columns)

    def number(self, name: str) -> int:
        """Return the column of a name; a new name gets a new column."""
        return self.columns.setdefault(name, len(self.columns))

    def copy(self) -> FeatureNames:
        return FeatureNames(self.columns)

    def add(self, keys: Sequence[str]) -> NDArray[np.uint32]:
        """Return the columns of these names; new names get new columns."""
        columns = self.columns
        try:
            return np.fromiter(map(columns.__getitem__, keys), np.uint32, len(keys))
        except KeyError:
            for key in keys:
                if not isinstance(key, str):
                    raise build_mixed_keys_error(key) from None
            return np.fromiter((columns.setdefault(key, len(columns)) for key in keys), np.uint32, len(keys))
        except TypeError:
            raise InputError("Feature names must be strings or column numbers; a key of x is neither.") from None

    def find(self, keys: Sequence[str]) -> NDArray[np.uint32]:
        """Return the columns of these names; UNKNOWN_COLUMN for names that were never learned."""
        return np.fromiter((self.columns.get(key, UNKNOWN_COLUMN) for key in keys), np.uint32, len(keys))

    def forget(self, count: int) -> None:
        """Drop all names but the first `count`."""
        while len(self.columns) > count:
            name, column = self.columns.popitem()
            if column < self._measured:
                self._measured, self._bytes = column, self._bytes - count_name_bytes(name)

    def bytes_used(self) -> int:
        """Return the memory of all names. Only names added since the last call are measured."""
        missing = len(self.columns) - self._measured
        if missing:
            self._bytes += sum(map(count_name_bytes, islice(reversed(self.columns), missing)))
            self._measured = len(self.columns)
        return self._bytes


def count_name_bytes(name: str) -> int:
    """Return the memory of one name, in this dictionary and in the hash table of readers."""
    return NAME_BYTES + 2 * len(name)


def check_column_numbers(keys: Sequence[Any]) -> NDArray[np.uint32]:
    """Return column numbers as an array; raise InputError for keys that are not."""
    for key in keys:
        if not isinstance(key, int | np.integer):
            raise build_mixed_keys_error(key)
    try:
        columns = np.fromiter(keys, np.int64, len(keys))
    except OverflowError:
        raise InputError(f"Column numbers must be from 0 to {MAX_INDEX - 1}, got a larger one.") from None
    if len(columns) and (columns.min() < 0 or columns.max() >= MAX_INDEX):
        raise InputError(f"Column numbers must be from 0 to {MAX_INDEX - 1}, got {columns.min()}…{columns.max()}.")
    return columns.astype(np.uint32)


def build_mixed_keys_error(key: Any) -> InputError:
    return InputError(
        f"All features must be named by strings, or all by column numbers; got the key {key!r} among keys of the other"
        " kind."
    )
