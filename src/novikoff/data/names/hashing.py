"""The stable hash of feature names, and the slots that hashes select.

The hash of a name under a seed, all arithmetic modulo 2^64, words little-endian:

    h = seed ⊕ (length · K2)
    for each piece of 16 bytes, the last (or only) one zero-padded, as words a and b:
        h = fold(a ⊕ K0, b ⊕ h)              fold(p, q): XOR of the two halves of the 128-bit product
    h = fold(h ⊕ K1, K2)

The seed of a name in a namespace, or of a value in a column, is the hash of the namespace (or column); without a
namespace it is 0. The slot of a feature is the lowest `bits` bits of its hash; with signs, the highest bit makes its
value negative. An interaction of features has the hash fold(h₁ ⊕ K0, h₂ ⊕ K1), and so on from left to right.
"""

from __future__ import annotations

from typing import Any

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import JIT_DISABLED, compiled
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import fold_multiply, load_word
from novikoff._compiled.simd.byte_scan import to_int64 as signed_number

K0, K1, K2 = 0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3
_K0: Any = uint64(K0)
_K1: Any = uint64(K1)
_K2: Any = uint64(K2)
_ALL: Any = uint64(2**64 - 1)
_U64 = 2**64 - 1
DEFAULT_HASH_BITS = 18
MAX_HASH_BITS = 31


def hash_name(name: bytes, seed: int = 0) -> int:
    """Return the hash of a name, as the module docstring defines it.

    >>> f"{hash_name(b'colour'):016x} {hash_name(b'red', hash_name(b'colour')):016x}"
    '6553dfd4c8713615 72a30ff63b0b9eb9'
    """
    h = seed ^ (len(name) * K2 & _U64)
    for k in range(0, max(len(name), 1), 16):
        piece = name[k : k + 16].ljust(16, b"\0")
        a, b = int.from_bytes(piece[:8], "little"), int.from_bytes(piece[8:], "little")
        h = fold_multiply(a ^ K0, b ^ h)
    return fold_multiply(h ^ K1, K2)


def _plain_hash_bytes(text: Any, start: int, stop: int, seed: int) -> int:
    return hash_name(bytes(text[start:stop]), int(seed))


def _hash_bytes(text: NDArray[np.uint8], start: int, stop: int, seed: Any) -> Any:
    length = stop - start
    h = seed ^ (np.uint64(length) * _K2)
    while length > 16:
        h = fold_multiply(load_word(text, start) ^ _K0, load_word(text, start + 8) ^ h)
        start += 16
        length -= 16
    if length > 8:
        h = fold_multiply(load_word(text, start) ^ _K0, _keep_first_bytes(load_word(text, start + 8), length - 8) ^ h)
    else:
        h = fold_multiply(_keep_first_bytes(load_word(text, start), length) ^ _K0, h)
    return fold_multiply(h ^ _K1, _K2)


@compiled
def _keep_first_bytes(letters: Any, count: int) -> Any:
    """Keep the first `count` bytes of a word (0 to 8) and clear the others."""
    if count == 0:
        return np.uint64(0)
    return letters & (_ALL >> np.uint64(64 - 8 * count))


hash_bytes = compiled(_plain_hash_bytes if JIT_DISABLED else _hash_bytes)
"""Return the hash of text[start:stop] under a seed."""


def _plain_combine_hashes(a: int, b: int) -> int:
    return fold_multiply(int(a) ^ K0, int(b) ^ K1)


def _combine_hashes(a: Any, b: Any) -> Any:
    return fold_multiply(a ^ _K0, b ^ _K1)


combine_hashes = compiled(_plain_combine_hashes if JIT_DISABLED else _combine_hashes)
"""Return the hash of an interaction of two features."""


def _plain_hash_to_slot(h: int, mask: int) -> int:
    return int(h) & mask


def _hash_to_slot(h: Any, mask: int) -> int:
    return signed_number(h & np.uint64(mask))


def _plain_is_negative(h: int) -> bool:
    return int(h) >> 63 == 1


def _is_negative(h: Any) -> bool:
    return signed_number(h) < 0


hash_to_slot = compiled(_plain_hash_to_slot if JIT_DISABLED else _hash_to_slot)
is_negative = compiled(_plain_is_negative if JIT_DISABLED else _is_negative)
