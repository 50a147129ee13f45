"""Hash tables that number names by the hashes of them: columns of a growing dictionary, or kept names of slots.

Names are distinguished by the 64 bits of their hash alone: among a million names the chance of any collision is 3 in
10⁸. A name is decoded once, when it is new.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from novikoff._compiled import buffers
from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import JIT_DISABLED, compiled, compiled_with_gil
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import to_int64
from novikoff.data.names.hashing import K2

EMPTY_ENTRY = -1
MIN_TABLE_SIZE = 1024
_MIXER: Any = uint64(K2)


# Keys that are bits of doubles differ in the highest bits only: without the shift the product would not mix them.
def _probe_start(h: Any, size: int) -> int:
    return to_int64(((h ^ (h >> np.uint64(32))) * _MIXER) >> np.uint64(24)) & (size - 1)


def _plain_probe_start(h: Any, size: int) -> int:
    return (((int(h) ^ int(h) >> 32) * K2 % 2**64) >> 24) & (size - 1)


probe_start = compiled(_plain_probe_start if JIT_DISABLED else _probe_start)


@compiled
def look_up_hashes(
    hashes: NDArray[np.uint64],
    start: int,
    keys: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    out: NDArray[np.uint32],
) -> int:
    """Write the number of each name from `start` on; return the position of the first new name, or the end."""
    size = len(keys)
    for k in range(start, len(hashes)):
        at = probe_start(hashes[k], size)
        while numbers[at] != EMPTY_ENTRY and keys[at] != hashes[k]:
            at = (at + 1) & (size - 1)
        if numbers[at] == EMPTY_ENTRY:
            return k
        out[k] = numbers[at]
    return len(hashes)


@compiled_with_gil
def insert_hash(h: Any, number: int, keys: NDArray[np.uint64], numbers: NDArray[np.int64]) -> None:
    """Enter a key that is not in the table."""
    at = probe_start(h, len(keys))
    while numbers[at] != EMPTY_ENTRY:
        at = (at + 1) & (len(keys) - 1)
    keys[at] = h
    numbers[at] = number


class HashTable:
    """Open-addressing table from 64-bit hashes to numbers. Linear probing; at most half of the places are used."""

    def __init__(self) -> None:
        self.count = 0
        self._allocate(MIN_TABLE_SIZE)

    def _allocate(self, size: int) -> None:
        self.keys = buffers.zeros(size, "uint64")
        self.numbers = buffers.full(size, EMPTY_ENTRY, "int64")


class NameTable(HashTable):
    """Numbers of names, which are known by their hashes alone."""

    def add(self, h: Any, number: int) -> None:
        """Enter the hash of a new name."""
        if 2 * (self.count + 1) > len(self.keys):
            self._grow()
        insert_hash(h, number, self.keys, self.numbers)
        self.count += 1

    def _grow(self) -> None:
        keys, numbers = self.keys, self.numbers
        self._allocate(4 * len(keys))
        for h, number in zip(keys[numbers != EMPTY_ENTRY], numbers[numbers != EMPTY_ENTRY].tolist(), strict=True):
            insert_hash(h, number, self.keys, self.numbers)

    def look_up_numbers(self, hashes: NDArray[np.uint64], new: Callable[[int], int]) -> NDArray[np.uint32]:
        """The number of each name; `new` is asked for that of the name at a position that was never seen."""
        out = buffers.empty(len(hashes), "uint32")
        at = look_up_hashes(hashes, 0, self.keys, self.numbers, out)
        while at < len(hashes):
            self.add(hashes[at], new(at))
            at = look_up_hashes(hashes, at, self.keys, self.numbers, out)
        return out
