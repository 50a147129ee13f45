"""Numbers collected batch by batch and sorted at the end: in memory, or beyond a limit in a temporary file."""

from __future__ import annotations

import tempfile
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

DEFAULT_MEMORY_BYTES = 1 << 24
"""Numbers beyond this size go to a temporary file."""


class ScoreStore:
    """Collects float64 numbers in bounded memory. A context manager: the temporary file is deleted at the end.

    The file has no name, so it also disappears when the process is killed.

    Examples
    --------
    >>> with ScoreStore() as store:
    ...     store.add(np.array([2.0, 1.0]))
    ...     store.add(np.array([1.5]))
    ...     store.get_sorted().tolist()
    [1.0, 1.5, 2.0]
    """

    def __init__(self, memory_bytes: int = DEFAULT_MEMORY_BYTES) -> None:
        self.memory_bytes = memory_bytes
        self.count = 0
        self._batches: list[NDArray[np.float64]] = []
        self._file: IO[bytes] | None = None
        self._sorted: NDArray[np.float64] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._batches, self._sorted = [], None
        if self._file is not None:
            self._file.close()
            self._file = None

    def add(self, numbers: NDArray[np.float64]) -> None:
        """Add a batch, which is copied."""
        self._sorted = None
        self.count += len(numbers)
        self._batches.append(np.array(numbers, np.float64))
        if sum(batch.nbytes for batch in self._batches) > self.memory_bytes:
            self._spill()

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="novikoff-scores-")  # noqa: SIM115 - `close` closes it
        for batch in self._batches:
            self._file.write(batch.tobytes())
        self._batches = []

    def get_sorted(self) -> NDArray[np.float64]:
        """Return all numbers in ascending order. Those of a file are sorted in place in a memory map, whose pages the
        operating system can write back when memory is short."""
        if self._sorted is None:
            numbers = self._gather()
            numbers.sort()
            self._sorted = numbers
        return self._sorted

    def _gather(self) -> NDArray[Any]:
        if self._file is None:
            return np.concatenate([np.zeros(0), *self._batches])
        self._spill()
        self._file.flush()
        return np.memmap(self._file, np.float64, "r+", shape=(self.count,))
