"""Counter-based permutations: the order in which `fit` and `learn --shuffle` go through the rows.

In pass p the row i has the key mix(i + offset(seed, p)), where mix is the finalizer of SplitMix64 (Steele, Lea and
Flood 2014), a bijection of 64-bit words. Rows are learned in ascending order of their keys. All keys of a pass differ,
and the key of a row depends on (seed, p, i) alone: an array in memory and a file that is partitioned on disk by key
ranges are learned in the same order. The algorithm's name, the seed and the number of rows reproduce it.
"""

from __future__ import annotations

from typing import Any

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np

ALGORITHM = "splitmix64-keys"
"""The name that models and certificates store; another way to make keys must get another name."""

MAX_SEED = 2**63 - 1
GOLDEN, MIX_1, MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
SHUFFLE_STREAM = 0x73687566666C65  # "shuffle": makes these draws independent of all others with the same seed


def mix64(words: Any) -> Any:
    """Apply SplitMix64's finalizer to unsigned 64-bit words."""
    words = words + GOLDEN
    words = (words ^ (words >> 30)) * MIX_1
    words = (words ^ (words >> 27)) * MIX_2
    return words ^ (words >> 31)


def sort_keys(seed: int, pass_number: int, start: int, stop: int) -> NDArray[np.uint64]:
    """Return the keys of the rows start … stop − 1 in the given pass, counted from 0."""
    with np.errstate(over="ignore"):
        offset = mix64(mix64(np.uint64(seed) ^ np.uint64(SHUFFLE_STREAM)) + np.uint64(pass_number))
        keys: NDArray[np.uint64] = mix64(np.arange(start, stop, dtype=np.uint64) + offset)
    return keys


def describe_shuffle(seed: int, rows: int) -> dict[str, Any]:
    """Return the record of a shuffled run that models and certificates store."""
    return {"algorithm": ALGORITHM, "random_state": int(seed), "rows": int(rows)}


def permutation(seed: int, pass_number: int, rows: int) -> NDArray[np.int64]:
    """Return the row numbers 0 … rows − 1 in the order in which the given pass learns them.

    >>> permutation(0, 0, 8).tolist(), permutation(0, 1, 8).tolist()
    ([1, 0, 4, 7, 3, 5, 2, 6], [7, 0, 6, 5, 3, 2, 1, 4])
    """
    keys, order = sort_keys(seed, pass_number, 0, rows), np.empty(rows, np.int64)
    bits = max(1, rows.bit_length() - 2)  # so that a bucket has some four keys
    _sort_by_buckets(keys, np.uint64(64 - bits), np.zeros(1 << bits, np.int64), order)
    return order


@compiled
def _sort_by_buckets(keys: NDArray[np.uint64], shift: Any, ends: NDArray[np.int64], order: NDArray[np.int64]) -> None:
    """Write the places of the keys in ascending order: a bucket for each value of the high bits, then insertion sort.

    Keys are uniform, so buckets are short: a third of the time of a general sort.
    """
    for i in range(len(keys)):
        ends[np.int64(keys[i] >> shift)] += 1
    total = 0
    for b in range(len(ends)):
        count = ends[b]
        ends[b] = total
        total += count
    for i in range(len(keys)):
        bucket = np.int64(keys[i] >> shift)
        order[ends[bucket]] = i
        ends[bucket] += 1
    start = 0
    for b in range(len(ends)):
        for k in range(start + 1, ends[b]):
            row, at = order[k], k
            while at > start and keys[order[at - 1]] > keys[row]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = row
        start = ends[b]
