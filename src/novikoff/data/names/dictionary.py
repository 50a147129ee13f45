"""Names by their hash: the columns of a dictionary that grows, or the names of hashed slots that are kept to be shown.

Names are told apart by the 64 bits of their hash: among a million names the chance that any two have the same is 3 in
10⁸. A name is spelled out once, when it is new.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from novikoff._compiled.simd.byte_scan import signed
from novikoff._compiled import buffers
from novikoff._compiled.buffers import uint64
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import DISABLED, compiled, compiled_brief
from novikoff.data.names.hashing import K2

EMPTY = -1
_MIXER: Any = uint64(K2)


# Numbers as keys differ in their highest bits only, which a product alone would leave where they are.
def _place(h: Any, size: int) -> int:
    return signed(((h ^ (h >> np.uint64(32))) * _MIXER) >> np.uint64(24)) & (size - 1)


def _plain_place(h: Any, size: int) -> int:
    return (((int(h) ^ int(h) >> 32) * K2 % 2**64) >> 24) & (size - 1)


place = compiled(_plain_place if DISABLED else _place)


@compiled
def look_up(
    hashes: NDArray[np.uint64],
    start: int,
    keys: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    out: NDArray[np.uint32],
) -> int:
    """Writes the number of each name from `start` on; returns where it met one that is new, or the end."""
    size = len(keys)
    for k in range(start, len(hashes)):
        at = place(hashes[k], size)
        while numbers[at] != EMPTY and keys[at] != hashes[k]:
            at = (at + 1) & (size - 1)
        if numbers[at] == EMPTY:
            return k
        out[k] = numbers[at]
    return len(hashes)


@compiled_brief
def put_in(h: Any, number: int, keys: NDArray[np.uint64], numbers: NDArray[np.int64]) -> None:
    at = place(h, len(keys))
    while numbers[at] != EMPTY:
        at = (at + 1) & (len(keys) - 1)
    keys[at] = h
    numbers[at] = number


class NameTable:
    """Numbers for names, in the order in which they came."""

    def __init__(self) -> None:
        self.keys = buffers.zeros(1024, "uint64")
        self.numbers = buffers.full(1024, EMPTY, "int64")
        self.count = 0

    def add(self, h: Any, number: int) -> None:
        if 2 * (self.count + 1) > len(self.keys):
            self._grow()
        put_in(h, number, self.keys, self.numbers)
        self.count += 1

    def _grow(self) -> None:
        keys, numbers = self.keys, self.numbers
        self.keys, self.numbers = buffers.zeros(4 * len(keys), "uint64"), buffers.full(4 * len(keys), EMPTY, "int64")
        for h, number in zip(keys[numbers != EMPTY], numbers[numbers != EMPTY].tolist(), strict=True):
            put_in(h, number, self.keys, self.numbers)

    def numbers_of(self, hashes: NDArray[np.uint64], new: Callable[[int], int]) -> NDArray[np.uint32]:
        """The number of each name; `new` is asked for that of the name at a position that was never seen."""
        out = buffers.empty(len(hashes), "uint32")
        at = look_up(hashes, 0, self.keys, self.numbers, out)
        while at < len(hashes):
            self.add(hashes[at], new(at))
            at = look_up(hashes, at, self.keys, self.numbers, out)
        return out
