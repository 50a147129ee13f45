"""The values of one column of some files, row after row, read beside the examples."""

from __future__ import annotations

from dataclasses import replace

from novikoff._compiled.lazy_numpy import np
from novikoff.data.formats.base import ReadOptions
from novikoff.data.reader import DataReader, FileBatch
from novikoff.errors import InputError

SHARED_OPTIONS = ("format", "delimiter", "quote", "header", "encoding", "threads", "hash_bits")
"""Options with which the examples and the column are read."""


class ColumnValues:
    """The values of one column, read as if the column were the label. Messages call it `flag`."""

    def __init__(self, titles: list[str], options: ReadOptions, column: str, flag: str) -> None:
        shared = {name: getattr(options, name) for name in SHARED_OPTIONS}
        reading = DataReader(list(titles), replace(ReadOptions(), **shared, label=column, unlabelled=True))
        self.batches, self.flag = reading.batches(), flag
        self.waiting: list[str] = []

    def take(self, count: int) -> list[str]:
        """Return the values of the next rows."""
        while len(self.waiting) < count:
            try:
                batch = next(self.batches, None)
            except InputError as problem:
                raise InputError(str(problem).replace("--label", self.flag)) from None
            if batch is None:
                raise InputError(f"{self.flag}: the column has fewer rows than the data: use --bad-lines error.")
            self.waiting += _label_texts(batch)
        found, self.waiting = self.waiting[:count], self.waiting[count:]
        return found


def _label_texts(batch: FileBatch) -> list[str]:
    _, first, inverse = np.unique(batch.parsed.keys, return_index=True, return_inverse=True)
    labels = [batch.parsed.label(int(i)) for i in first]
    texts = np.array(["(missing)" if label is None else str(label) for label in labels], object)
    return list(texts[inverse])
