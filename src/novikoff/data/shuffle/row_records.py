"""Binary records of examples, one after another in an array of 64-bit words, for temporary files.

    word 0    size of the record in words; number of labels in its set; whether it has a weight
    word 1    sort key
    word 2    label key, as parsers give it
    word 3    place: file number and line
    then      weight (one word, if there is one), labels of the set (one word each), columns and values

Columns are 32 bits each, values 32 or 64 bits; rows of a table have values only.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from novikoff._compiled.jit import compiled
from novikoff._compiled.lazy_numpy import NDArray, np

HEADER_WORDS = 4
SIZE_MASK = (1 << 31) - 1
SET_SHIFT = 31
SET_MASK = (1 << 31) - 1
WEIGHT_BIT = 62

Words: TypeAlias = "NDArray[np.int64]"


class RecordArrays(NamedTuple):
    """The arrays of some examples. 64-bit numbers are viewed as int64, values as 32-bit words."""

    keys: Words
    labels: Words
    places: Words
    weights: Words
    """Empty where all weights are 1."""
    set_starts: Words
    """Empty where examples have one label each."""
    set_values: Words
    starts: Words
    """Row i has the terms starts[i] to starts[i + 1]."""
    indices: NDArray[np.uint32]
    """Empty for a table."""
    values: NDArray[np.uint32]
    value_words: int
    """32-bit words of a value: 1 or 2."""


class Layout(NamedTuple):
    """What is the same for all records of a file."""

    width: int
    """Columns of a table; 0 for sparse rows."""
    value_words: int


@compiled
def encode(fields: RecordArrays, start: int, out: Words, out_halves: NDArray[np.uint32], at: int) -> tuple[int, int]:
    """Write the records of the rows from `start` on to out[at:], as far as there is room. Return the number of the
    first row that was not written and the end of the records. `out_halves` is a view of `out`."""
    weighted, has_sets = len(fields.weights) > 0, len(fields.set_starts) > 0
    value_words = fields.value_words
    for i in range(start, len(fields.keys)):
        labels = fields.set_starts[i + 1] - fields.set_starts[i] if has_sets else 0
        first = fields.starts[i]
        terms = fields.starts[i + 1] - first
        columns = terms if len(fields.indices) > 0 else 0
        halves = columns + terms * value_words
        size = HEADER_WORDS + int(weighted) + labels + (halves + 1) // 2
        if at + size > len(out):
            return i, at
        out[at] = size | labels << SET_SHIFT | int(weighted) << WEIGHT_BIT
        out[at + 1] = fields.keys[i]
        out[at + 2] = fields.labels[i]
        out[at + 3] = fields.places[i]
        to = at + HEADER_WORDS
        if weighted:
            out[to] = fields.weights[i]
            to += 1
        if has_sets:
            for k in range(labels):
                out[to + k] = fields.set_values[fields.set_starts[i] + k]
            to += labels
        to *= 2
        for k in range(columns):
            out_halves[to + k] = fields.indices[first + k]
        to += columns
        for k in range(terms * value_words):
            out_halves[to + k] = fields.values[first * value_words + k]
        if halves % 2:
            out_halves[to + terms * value_words] = 0
        at += size
    return len(fields.keys), at


@compiled
def count_records(records: Words) -> int:
    """Return the number of records."""
    count, k = 0, 0
    while k < len(records):
        k += records[k] & SIZE_MASK
        count += 1
    return count


@compiled
def list_records(records: Words, at: Words, keys: Words) -> None:
    """Write the offset and the sort key of each record."""
    count, k = 0, 0
    while k < len(records):
        at[count] = k
        keys[count] = records[k + 1]
        k += records[k] & SIZE_MASK
        count += 1


@compiled
def scatter(records: Words, used_bits: int, bits: int, out: Words, bounds: Words, counts: Words) -> None:
    """Group the records by the `bits` bits of their keys that follow the first `used_bits`, in ascending order; a
    group keeps the order of its records. Group b is out[bounds[b]:bounds[b + 1]] then; its rows are added to counts[b].
    """
    shift, mask = 64 - used_bits - bits, (1 << bits) - 1
    groups = 1 << bits
    for b in range(groups + 1):
        bounds[b] = 0
    k = 0
    while k < len(records):
        b = (records[k + 1] >> shift) & mask
        size = records[k] & SIZE_MASK
        bounds[b] += size
        counts[b] += 1
        k += size
    end = 0
    for b in range(groups):  # sizes become beginnings
        size = bounds[b]
        bounds[b] = end
        end += size
    k = 0
    while k < len(records):
        b = (records[k + 1] >> shift) & mask
        size = records[k] & SIZE_MASK
        for j in range(size):
            out[bounds[b] + j] = records[k + j]
        bounds[b] += size
        k += size
    for b in range(groups, 0, -1):  # each beginning has moved to its end, which is the next group's beginning
        bounds[b] = bounds[b - 1]
    bounds[0] = 0


@compiled
def count_contents(records: Words, at: Words, layout: Layout) -> tuple[int, int]:
    """Count the terms and the labels in sets of the records at these offsets."""
    terms, labels = 0, 0
    for i in range(len(at)):
        head = records[at[i]]
        members = (head >> SET_SHIFT) & SET_MASK
        labels += members
        words = (head & SIZE_MASK) - HEADER_WORDS - ((head >> WEIGHT_BIT) & 1) - members
        terms += layout.width if layout.width else 2 * words // (1 + layout.value_words)
    return terms, labels


@compiled
def decode(records: Words, halves: NDArray[np.uint32], at: Words, layout: Layout, one: int, out: RecordArrays) -> None:
    """Write the records at these offsets, in this order, to the arrays of `out`, except for their sort keys. `halves`
    is a view of `records`; `one` are the bits of a weight of 1, for records without a weight."""
    value_words = layout.value_words
    weighted, has_sets = len(out.weights) > 0, len(out.set_starts) > 0
    term, label = 0, 0
    for i in range(len(at)):
        head, k = records[at[i]], at[i] + HEADER_WORDS
        own_weight, members = (head >> WEIGHT_BIT) & 1, (head >> SET_SHIFT) & SET_MASK
        words = (head & SIZE_MASK) - HEADER_WORDS - own_weight - members
        terms = layout.width if layout.width else 2 * words // (1 + value_words)
        out.labels[i] = records[at[i] + 2]
        out.places[i] = records[at[i] + 3]
        if weighted:
            out.weights[i] = records[k] if own_weight else one
        k += own_weight
        if has_sets:
            out.set_starts[i] = label
            for j in range(members):
                out.set_values[label + j] = records[k + j]
        k += members
        label += members
        out.starts[i] = term
        k *= 2
        if layout.width == 0:
            for j in range(terms):
                out.indices[term + j] = halves[k + j]
            k += terms
        for j in range(terms * value_words):
            out.values[term * value_words + j] = halves[k + j]
        term += terms
    out.starts[len(at)] = term
    if has_sets:
        out.set_starts[len(at)] = label
