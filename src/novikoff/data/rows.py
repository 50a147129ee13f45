"""Rows of examples, dense or CSR, and all that knows which.

The loop sees rows only through the generic functions here; a new kind of rows is a NamedTuple with `measure`, `inside`,
`proper`, `first`, `last` and `slot`, and with those of the others whose default, for dense rows, is not true of it.
Terms of a row are numbered through the whole batch, as the values are stored.

Where there are many columns of weights, one for each class, `Column` is how one of them sees the rows: all that works
on one vector of weights works on a column too.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from novikoff._compiled.simd.dot_columns import (BLOCK, dense_columns, dense_columns_2, dense_columns_3, dense_columns_5, sparse_columns, sparse_columns_2, sparse_columns_3, sparse_columns_5, square)
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.jit import compiled, compiled_apart, generic
from novikoff._compiled.simd.dot import (LANES, ask, dense_sums, dense_two, element, grow, sparse_sums)

SHORT = 104  # columns
NEAR = 1 << 18  # weights: what the nearer caches of a processor hold


class Dense(NamedTuple):
    """Row i is values[i·width : (i+1)·width]."""

    values: NDArray[np.floating]
    width: int


class Sparse(NamedTuple):
    """Row i has the terms starts[i] to starts[i+1]; indices are uint32, which is faster to gather by than int32."""

    starts: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.floating]


class Holed(NamedTuple):
    """Dense rows some of whose values are 0, and are no terms."""

    values: NDArray[np.floating]
    width: int


class Column(NamedTuple):
    """Rows whose weights are in column `at` of a table `across` columns wide: slot j is number j·across + at there."""

    rows: Dense | Sparse
    values: NDArray[np.floating]
    across: int
    at: int
    sums: NDArray[np.float64]
    """Room for the sums of a block of columns."""


class Scaled(NamedTuple):
    """One row as a column of weights sees it, with other values: those of its terms stand at the beginning of
    `values`, whichever row it is."""

    rows: Dense | Sparse
    values: NDArray[np.floating]
    across: int
    at: int


Rows: TypeAlias = Dense | Sparse
Seen: TypeAlias = Dense | Sparse | Holed | Column | Scaled
"""Rows as one vector of weights sees them: the rows themselves, or a column's view of them."""


@generic
def first(rows: Seen, i: int) -> int:
    """The number of row i's first term."""
    return i * rows.width  # type: ignore[union-attr]


@generic
def last(rows: Seen, i: int) -> int:
    """One more than the number of row i's last term."""
    return (i + 1) * rows.width  # type: ignore[union-attr]


@generic
def slot(rows: Seen, i: int, k: int) -> int:
    """The weight slot of term k, a term of row i."""
    return k - i * rows.width + 1  # type: ignore[union-attr]


@generic
def inside(rows: Rows, i: int, slots: int) -> bool:
    """Whether every term of row i has a slot: an index past the weights must not be followed."""
    return rows.width < slots  # type: ignore[union-attr]


@generic
def proper(rows: Rows, i: int, slots: int) -> bool:
    """… and no feature comes twice, which would make ‖x‖² wrong: in a batch the columns of a row must grow."""
    return rows.width < slots  # type: ignore[union-attr]


@generic
def measure(rows: Seen, i: int, slots: NDArray[np.floating]) -> tuple[float, float]:
    """(w·x, ‖x‖²) of row i with the weights in `slots`, the bias not counted; ‖x‖² is NaN where a value is 0."""
    return dense_sums(rows.values, i * rows.width, rows.width, slots)  # type: ignore[union-attr]


@generic
def measure_two(rows: Seen, i: int, count: int, slots: NDArray[np.floating]) -> tuple[float, float, float, float, bool]:
    """The same of row i and of the next, of `count` rows, where that takes hardly longer than row i alone; at the end
    whether it was done. Of short rows in single precision, which the processor works on longer than memory takes to
    give them; of others two at once would come up to twice as slowly as one after another."""
    if i + 1 < count and rows.width <= SHORT and rows.values.itemsize == 4:  # type: ignore[union-attr]
        dot, square, next_dot, next_square = dense_two(rows.values, i * rows.width, rows.width, slots)  # type: ignore[union-attr]
        return dot, square, next_dot, next_square, True
    dot, square = dense_sums(rows.values, i * rows.width, rows.width, slots)  # type: ignore[union-attr]
    return dot, square, 0.0, 0.0, False


@measure_two.of(Sparse)
def _(rows: Sparse, i: int, count: int, slots: NDArray[np.floating]) -> tuple[float, float, float, float, bool]:
    dot, square = measure(rows, i, slots)
    return dot, square, 0.0, 0.0, False


@generic
def is_term(rows: Seen, x: float) -> bool:
    """Whether a value counts: all that are given do, by default."""
    return True


@is_term.of(Holed)
def _(rows: Holed, x: float) -> bool:
    return x != 0.0


@generic
def holes(rows: Rows, i: int) -> bool:
    """Whether row i is dense and has values of 0."""
    found = False
    for k in range(i * rows.width, (i + 1) * rows.width):  # type: ignore[union-attr]
        found |= element(rows.values, k) == 0.0
    return found


@holes.of(Sparse)
def _(rows: Sparse, i: int) -> bool:
    return False


@measure.of(Holed)
def _(rows: Holed, i: int, slots: NDArray[np.floating]) -> tuple[float, float]:
    return sums_past_zeros(rows.values, i * rows.width, rows.width, slots)


@first.of(Sparse)
def _(rows: Sparse, i: int) -> int:
    return rows.starts[i]


@last.of(Sparse)
def _(rows: Sparse, i: int) -> int:
    return rows.starts[i + 1]


@slot.of(Sparse)
def _(rows: Sparse, i: int, k: int) -> int:
    return int(element(rows.indices, k)) + 1


@inside.of(Sparse)
def _(rows: Sparse, i: int, slots: int) -> bool:
    largest = np.uint32(0)
    for k in range(rows.starts[i], rows.starts[i + 1]):
        largest = max(largest, element(rows.indices, k))
    return bool(rows.starts[i] == rows.starts[i + 1]) or int(largest) + 1 < slots


@proper.of(Sparse)
def _(rows: Sparse, i: int, slots: int) -> bool:
    start, stop = rows.starts[i], rows.starts[i + 1]
    return grow(rows.indices, start, stop) and (start == stop or int(element(rows.indices, stop - 1)) + 1 < slots)


@measure.of(Sparse)
def _(rows: Sparse, i: int, slots: NDArray[np.floating]) -> tuple[float, float]:
    return sparse_sums(rows.values, rows.indices, rows.starts[i], rows.starts[i + 1] - rows.starts[i], slots)


@generic
def ask_for(rows: Rows, i: int, count: int, slots: NDArray[np.floating]) -> None:
    """Asks memory for the weights of row i, if there is one, where there are too many weights to be near."""


@ask_for.of(Sparse)
def _(rows: Sparse, i: int, count: int, slots: NDArray[np.floating]) -> None:
    if slots.size > NEAR and i < count:
        for k in range(rows.starts[i], rows.starts[i + 1]):
            ask(slots, int(element(rows.indices, k)) + 1)


@generic
def origin(rows: Seen) -> int:
    """The weight slot of the bias."""
    return 0


@generic
def squared(rows: Seen, i: int) -> float:
    """‖x‖² of row i, the bias not counted; NaN where a value is 0."""
    return square(rows.values, i * rows.width, rows.width)  # type: ignore[union-attr]


@squared.of(Sparse)
def _(rows: Sparse, i: int) -> float:
    return square(rows.values, rows.starts[i], rows.starts[i + 1] - rows.starts[i])


@generic
def sum_block(rows: Rows, i: int, slots: NDArray[np.floating], across: int, at: int, out: NDArray[np.float64]) -> None:
    """w·x of row i, the bias not counted, for the block of columns that begins at `at`."""
    dense_columns(rows.values, i * rows.width, rows.width, slots, across, at, out)  # type: ignore[union-attr]


@generic
def sum_columns(
    rows: Rows, i: int, slots: NDArray[np.floating], across: int, columns: int, out: NDArray[np.float64]
) -> None:
    """w·x of row i, the bias not counted, for the first so many columns; whole blocks of them are written."""
    start, count = i * rows.width, rows.width  # type: ignore[union-attr]
    at = 0
    while columns - at > 4 * BLOCK:
        dense_columns_5(rows.values, start, count, slots, across, at, out)
        at += 5 * BLOCK
    if columns - at > 2 * BLOCK:
        dense_columns_3(rows.values, start, count, slots, across, at, out)
        at += 3 * BLOCK
    if columns - at > BLOCK:
        dense_columns_2(rows.values, start, count, slots, across, at, out)
    elif columns > at:
        dense_columns(rows.values, start, count, slots, across, at, out)


@sum_block.of(Sparse)
def _(rows: Sparse, i: int, slots: NDArray[np.floating], across: int, at: int, out: NDArray[np.float64]) -> None:
    start, count = rows.starts[i], rows.starts[i + 1] - rows.starts[i]
    sparse_columns(rows.values, rows.indices, start, count, slots, across, at, out)


@sum_columns.of(Sparse)
def _(rows: Sparse, i: int, slots: NDArray[np.floating], across: int, columns: int, out: NDArray[np.float64]) -> None:
    start, count = rows.starts[i], rows.starts[i + 1] - rows.starts[i]
    at = 0
    while columns - at > 4 * BLOCK:
        sparse_columns_5(rows.values, rows.indices, start, count, slots, across, at, out)
        at += 5 * BLOCK
    if columns - at > 2 * BLOCK:
        sparse_columns_3(rows.values, rows.indices, start, count, slots, across, at, out)
        at += 3 * BLOCK
    if columns - at > BLOCK:
        sparse_columns_2(rows.values, rows.indices, start, count, slots, across, at, out)
    elif columns > at:
        sparse_columns(rows.values, rows.indices, start, count, slots, across, at, out)


@origin.of(Column)
def _(rows: Column) -> int:
    return rows.at


@first.of(Column)
def _(rows: Column, i: int) -> int:
    return first(rows.rows, i)


@last.of(Column)
def _(rows: Column, i: int) -> int:
    return last(rows.rows, i)


@slot.of(Column)
def _(rows: Column, i: int, k: int) -> int:
    return slot(rows.rows, i, k) * rows.across + rows.at


@squared.of(Column)
def _(rows: Column, i: int) -> float:
    return squared(rows.rows, i)


@measure.of(Column)
def _(rows: Column, i: int, slots: NDArray[np.floating]) -> tuple[float, float]:
    begin = rows.at - rows.at % BLOCK
    sum_block(rows.rows, i, slots, rows.across, begin, rows.sums)
    return rows.sums[rows.at], squared(rows.rows, i)


@origin.of(Scaled)
def _(rows: Scaled) -> int:
    return rows.at


@first.of(Scaled)
def _(rows: Scaled, i: int) -> int:
    return 0


@last.of(Scaled)
def _(rows: Scaled, i: int) -> int:
    return last(rows.rows, i) - first(rows.rows, i)


@slot.of(Scaled)
def _(rows: Scaled, i: int, k: int) -> int:
    return slot(rows.rows, i, k + first(rows.rows, i)) * rows.across + rows.at


@compiled_apart
def sums_past_zeros(
    values: NDArray[np.floating], start: int, count: int, slots: NDArray[np.floating]
) -> tuple[float, float]:
    """(w·x, ‖x‖²) of a dense row whose zeros are no terms, in the order of `_machine.py`: as if it were sparse."""
    terms = 0
    for k in range(start, start + count):
        terms += values[k] != 0.0
    # One lane after another, for there are as many sums as lanes; of fewer terms than lanes there is one sum.
    a, a2 = lane_past_zeros(values, start, count, slots, terms, 0)
    if terms < LANES:
        return a, a2
    b, b2 = lane_past_zeros(values, start, count, slots, terms, 4)
    dot, square = a + b, a2 + b2
    a, a2 = lane_past_zeros(values, start, count, slots, terms, 2)
    b, b2 = lane_past_zeros(values, start, count, slots, terms, 6)
    dot, square = dot + (a + b), square + (a2 + b2)
    a, a2 = lane_past_zeros(values, start, count, slots, terms, 1)
    b, b2 = lane_past_zeros(values, start, count, slots, terms, 5)
    odd, odd2 = a + b, a2 + b2
    a, a2 = lane_past_zeros(values, start, count, slots, terms, 3)
    b, b2 = lane_past_zeros(values, start, count, slots, terms, 7)
    odd, odd2 = odd + (a + b), odd2 + (a2 + b2)
    return dot + odd, square + odd2


@compiled_apart
def lane_past_zeros(
    values: NDArray[np.floating], start: int, count: int, slots: NDArray[np.floating], terms: int, lane: int
) -> tuple[float, float]:
    """What that lane adds up, of so many terms."""
    whole = terms - terms % LANES
    dot, square, term = 0.0, 0.0, 0
    for k in range(count):
        x = np.float64(values[start + k])
        if x != 0.0:
            its = term % LANES if term < whole else LANES - terms + term
            if its == lane or terms < LANES:
                dot += x * np.float64(slots[k + 1])
                square += x * x
            term += 1
    return dot, square


@compiled
def write_out(rows: Rows, i: int, example: NDArray[np.float64]) -> None:
    """Puts the values of row i into the slots of an example that is all zeros."""
    for k in range(first(rows, i), last(rows, i)):
        example[slot(rows, i, k)] = np.float64(rows.values[k])


@compiled
def wipe(rows: Rows, i: int, example: NDArray[np.float64]) -> None:
    for k in range(first(rows, i), last(rows, i)):
        example[slot(rows, i, k)] = 0.0


def how_many(rows: Rows) -> int:
    if isinstance(rows, Sparse):
        return len(rows.starts) - 1
    return len(rows.values) // rows.width


def cut(rows: Rows, start: int, stop: int) -> Rows:
    """The rows from start to stop, without copying values."""
    if isinstance(rows, Sparse):
        return rows._replace(starts=rows.starts[start : stop + 1])
    return rows._replace(values=rows.values[start * rows.width : stop * rows.width])


def narrowed(rows: Rows, width: int) -> Rows:
    """The rows without the terms in columns from `width` on."""
    if isinstance(rows, Dense):
        return rows
    end = int(rows.starts[-1])
    if not end or rows.indices[:end].max() < width:
        return rows
    known = rows.indices[:end] < width
    starts = np.concatenate([[0], np.cumsum(known)])[rows.starts]
    return rows._replace(
        starts=starts.astype(np.int64), indices=rows.indices[:end][known], values=rows.values[:end][known]
    )


def width(rows: Rows) -> int:
    """How many columns there are at least."""
    if isinstance(rows, Dense):
        return rows.width
    return int(rows.indices[rows.starts[0] : rows.starts[-1]].max(initial=0)) + 1
