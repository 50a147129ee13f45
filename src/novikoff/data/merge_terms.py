"""The terms of a row by hash: duplicates are merged into the place of the first, zeros are dropped.

Duplicates are summed, or the one of largest size is kept, for learners that take features up to 1. They are found by a
hash table with four times as many places as the row has terms, so that the time per term doesn't depend on the length
of the row. A bit filter first tells whether two terms can share a slot: most short rows skip the merge.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.buffers import uint64, uninitialised
from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import to_int64
from novikoff._compiled.simd.dot import get_unchecked
from novikoff.data.names.hashing import hash_to_slot, is_negative

FILTER_BITS = 16
_ZERO, _ONE = uint64(0), uint64(1)


class HashedTerms(NamedTuple):
    """Output of a parser: features known by their hash, row after row."""

    indices: NDArray[np.uint32]
    values: NDArray[np.float32]
    hashes: NDArray[np.uint64]
    spans: NDArray[np.int64]
    """Four numbers per term that locate its name, as the format defines them; empty where names are not wanted."""
    table: NDArray[np.uint32]
    """Hash table of a row, for the merge."""
    filter: NDArray[np.uint64]
    """A bit for each slot (modulo 2^16) in the current row; all zeros between rows."""
    used: NDArray[np.uint64]
    """A bit for each slot that was used in any row."""
    mask: int
    """The slot is hash & mask; -1 where a dictionary of names replaces slots."""
    signed: int
    largest: int
    """1: of features that share a slot, keep the largest; 0: sum them."""


def allocate_terms(terms: int, *, bits: int, signed: bool, named: bool, largest: bool = False) -> HashedTerms:
    """Allocate buffers for `terms` terms; `named` asks for room for names. Pages never written cost nothing."""
    return HashedTerms(
        indices=uninitialised(terms, "uint32"),
        values=uninitialised(terms, "float32"),
        hashes=uninitialised(terms, "uint64"),
        spans=uninitialised((terms if named or bits == 0 else 0, 4), "int64"),
        table=uninitialised(1 << max(4, (4 * terms - 1).bit_length()), "uint32"),
        filter=buffers.zeros(1 << (FILTER_BITS - 6), "uint64"),
        used=buffers.zeros(max(1, (1 << bits) >> 6) if bits else 0, "uint64"),
        mask=(1 << bits) - 1 if bits else -1,
        signed=int(signed),
        largest=int(largest),
    )


@compiled
def append_term(to: HashedTerms, at: int, h: Any, value: float, where: int, start: int, stop: int) -> int:
    """Append a term with three numbers that locate its name; return the new end."""
    to.hashes[at] = h
    to.values[at] = value
    if len(to.spans) > 0:
        to.spans[at, 0] = where
        to.spans[at, 1] = start
        to.spans[at, 2] = stop
    return at + 1


@compiled
def move_term(to: HashedTerms, k: int, end: int) -> None:
    """Move term k to position `end`, except for its value."""
    to.hashes[end] = to.hashes[k]
    to.indices[end] = to.indices[k]
    if len(to.spans) > 0:
        for j in range(4):
            to.spans[end, j] = to.spans[k, j]


@compiled_not_inlined
def merge_duplicates(keys: NDArray[Any], to: HashedTerms, first: int, last: int) -> int:
    """Merge the terms of a row that have the same key (`to.hashes` or `to.indices`); return the new end.

    Keys are hashes already: their lowest bits select the place in the table. An entry is the number of a term in the
    row, from 1.
    """
    table = to.table
    size = 16
    while size < 4 * (last - first):
        size *= 2
    for p in range(size):
        table[p] = 0
    low = np.uint64(size - 1)
    end = first
    for k in range(first, last):
        key = get_unchecked(keys, k)
        p = to_int64(np.uint64(key) & low)
        entry = to_int64(get_unchecked(table, p))
        while entry != 0 and get_unchecked(keys, first + entry - 1) != key:
            p = (p + 1) & (size - 1)
            entry = to_int64(get_unchecked(table, p))
        if entry == 0:
            table[p] = end - first + 1
            if end != k:
                move_term(to, k, end)
                to.values[end] = to.values[k]
            end += 1
        else:
            there, more = to.values[first + entry - 1], to.values[k]
            if to.largest != 0:
                to.values[first + entry - 1] = more if abs(more) > abs(there) else there
            else:
                to.values[first + entry - 1] = there + more
    return end


@compiled
def assign_slots(to: HashedTerms, first: int, last: int) -> bool:
    """Compute the slots of hashes; return whether two of them may be the same, or a value is 0."""
    low = (1 << FILTER_BITS) - 1
    odd = _ZERO
    for k in range(first, last):
        at = np.uint64(k)  # unsigned: the compiler emits no check for negative indices
        h = to.hashes[at]
        index = hash_to_slot(h, to.mask)
        to.indices[at] = index
        word, bit = np.uint64(index >> 6), _ONE << np.uint64(index & 63)
        to.used[word] |= bit
        value = to.values[at]
        if to.signed != 0 and is_negative(h):
            to.values[at] = -value
        word = np.uint64((index & low) >> 6)
        odd |= (to.filter[word] & bit) | np.uint64(value == 0.0)
        to.filter[word] |= bit
    for k in range(first, last):
        index = to_int64(get_unchecked(to.indices, k))
        to.filter[np.uint64((index & low) >> 6)] = _ZERO
    return bool(odd != _ZERO)


@compiled
def finish_row(to: HashedTerms, first: int, last: int) -> int:
    """Finish a row of hashes and values: compute slots, merge duplicates, drop zeros. Return the end of the row.

    With a dictionary of names instead of slots, terms with the same hash are merged.
    """
    if to.mask < 0:
        last = merge_duplicates(to.hashes, to, first, last)
    elif assign_slots(to, first, last):
        last = merge_duplicates(to.indices, to, first, last)
    else:
        return last
    end = first
    for k in range(first, last):
        if to.values[k] != 0.0:
            if end != k:
                move_term(to, k, end)
                to.values[end] = to.values[k]
            end += 1
    return end
