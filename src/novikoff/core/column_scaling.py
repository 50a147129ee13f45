"""Scale the columns of a stream online: units and origins of columns then make no difference.

For row t, with statistics that include it, n the number of non-zeros of a column:

    dense columns    x̂ = (x − μ)/s, μ = Σx/t, s = mean |x − μ| since the column became dense; zeros count
    other columns    x̂ = x·n/Σ|x|: in units of the mean size of a value
    all              x̂ is clipped to ±4, then x̃ = x̂·√(t/ΣΣx̂²): rows have a mean squared length of 1

A column becomes dense where n ≥ (t + 1)/2, and ceases to be dense where n < 0.4·(t + 2). A row without a value for a
dense column has one all the same, (0 − μ)/s: a *visited* column is a column of the row or a dense one. But where a
column had a value in all rows before, its first 0 is taken as a missing value: x̂ = 0, that of the mean.

Learners that must not be centred take x·n/Σ|x| of all columns, scaled by a √(t/ΣΣ) of its own, without clipping.

A row is scored before it is learned: `write_row` writes it to buffers and changes no statistics, `include_column` and
`include_row` include it in them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from novikoff._compiled.jit import compiled, compiled_not_inlined
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.rows import Rows, end_term, first_term, weight_slot
from novikoff.schema import FEATURES, INFINITY, MAX_COUNT, ArraySpec, Constraint, InRange, NotNaN

# Statistics of a column. DENSE_SINCE is the row from which on deviations are summed, 0 where the column is not dense.
# The learners that use the scaled rows add statistics of their own.
COUNT, TOTAL, TOTAL_ABS, DEVIATIONS, DENSE_SINCE = 0, 1, 2, 3, 4
N_STATISTICS = 5
# Totals of the stream.
N_ROWS, SQ_LENGTHS, UNCENTRED_SQ_LENGTHS, N_DENSE = 0, 1, 2, 3
N_TOTALS = 4
# Notes on the row that was scaled last.
N_VISITED, FACTOR, SQ_LENGTH, UNCENTRED_FACTOR, UNCENTRED_SQ_LENGTH, DENSE_CHANGED = range(6)
N_ROW_NOTES = 6
# Numbers of a visited column in the buffer of a row: x, 0 where the row has none; x̂; x·n/Σ|x|; |x − μ| or NOT_DENSE.
# Learners scale the second and the third in place.
RAW, VALUE, UNCENTRED, COLUMN_DEVIATION = 0, 1, 2, 3
N_BUFFERED = 4
MAX_ABS_VALUE = 4.0
NOT_DENSE = -1.0
"""Stands for the deviation of a column that is not dense."""
ROUNDING = 2.0**-30
"""A deviation from the mean of less than this, relative to the mean, may be due to rounding: it counts as 0."""


class ColumnScaler(NamedTuple):
    statistics: NDArray[np.float64]
    """A row of numbers for each slot."""
    dense_slots: NDArray[np.uint32]
    """The slots of the dense columns in increasing order, then zeros."""
    totals: NDArray[np.float64]
    slots: NDArray[np.uint32]
    """Buffer for the slots of the visited columns of one row."""
    row: NDArray[np.float64]
    """Buffer for N_BUFFERED numbers of each visited column."""
    notes: NDArray[np.float64]


@compiled
def centre(x: float, mean: float) -> float:
    """Return x − μ; 0 where the difference may be due to rounding."""
    deviation = x - mean
    return deviation if abs(deviation) > ROUNDING * abs(mean) else 0.0


@compiled
def clip(x: float, limit: float) -> float:
    return min(max(x, -limit), limit)


@compiled
def list_columns(s: ColumnScaler, rows: Rows, i: int) -> int:
    """Write the slots and the values of the visited columns of row i to the buffers, in the order of the slots, which
    need not be that of the row; return their number."""
    n, last, is_sorted, n_dense = 0, -1, True, int(s.totals[N_DENSE])
    for k in range(first_term(rows, i), end_term(rows, i)):
        j = weight_slot(rows, i, k)
        s.slots[n], s.row[n, RAW] = j, np.float64(rows.values[k])
        is_sorted &= j > last
        n, last = n + 1, j
    if not is_sorted:
        sort_columns(s, n)
    at, n_absent = 0, 0
    for d in range(n_dense):
        while at < n and s.slots[at] < s.dense_slots[d]:
            at += 1
        n_absent += int(at == n or s.slots[at] != s.dense_slots[d])
    # Absent columns are inserted from the end.
    read, write, d = n - 1, n + n_absent - 1, n_dense - 1
    while write > read:
        if read >= 0 and s.slots[read] >= s.dense_slots[d]:
            d -= int(s.slots[read] == s.dense_slots[d])
            s.slots[write], s.row[write, RAW] = s.slots[read], s.row[read, RAW]
            read -= 1
        else:
            s.slots[write], s.row[write, RAW] = s.dense_slots[d], 0.0
            d -= 1
        write -= 1
    return n + n_absent


@compiled_not_inlined
def sort_columns(s: ColumnScaler, n: int) -> None:
    """Sort the first n columns in the buffers by their slots: a Shell sort."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            slot, x, at = s.slots[k], s.row[k, RAW], k
            while at >= gap and s.slots[at - gap] > slot:
                s.slots[at], s.row[at, RAW] = s.slots[at - gap], s.row[at - gap, RAW]
                at -= gap
            s.slots[at], s.row[at, RAW] = slot, x
        gap //= 3


@compiled
def write_row(s: ColumnScaler, rows: Rows, i: int) -> None:
    """Write the visited columns of row i to the buffers, in the order of their slots; note the factors that scale them,
    and what they add to the totals."""
    t, sq_length, uncentred_sq_length, changed = s.totals[N_ROWS] + 1.0, 0.0, 0.0, False
    by_t, n_visited, enough, least = 1.0 / t, list_columns(s, rows, i), 0.5 * (t + 1.0), 0.4 * (t + 2.0)
    for k in range(n_visited):
        j, x = int(s.slots[k]), s.row[k, RAW]
        n, since = s.statistics[j, COUNT] + (1.0 if x != 0.0 else 0.0), s.statistics[j, DENSE_SINCE]
        uncentred = x * n / (s.statistics[j, TOTAL_ABS] + abs(x)) if x != 0.0 else 0.0
        value, deviation = uncentred, NOT_DENSE
        if n >= (least if since > 0.0 else enough):
            is_missing = x == 0.0 and n == t - 1.0
            difference = 0.0 if is_missing else centre(x, (s.statistics[j, TOTAL] + x) * by_t)
            deviation = abs(difference)
            total, rows_since = deviation, 1.0
            if since > 0.0:
                total, rows_since = s.statistics[j, DEVIATIONS] + deviation, t - since + 1.0
            value = difference * rows_since / total if deviation > 0.0 else 0.0
        value = clip(value, MAX_ABS_VALUE)
        changed |= (deviation >= 0.0) != (since > 0.0)
        s.row[k, UNCENTRED], s.row[k, VALUE], s.row[k, COLUMN_DEVIATION] = uncentred, value, deviation
        sq_length += value * value
        uncentred_sq_length += uncentred * uncentred

    factor = mean_length_factor(s.totals[SQ_LENGTHS] + sq_length, t)
    uncentred_factor = mean_length_factor(s.totals[UNCENTRED_SQ_LENGTHS] + uncentred_sq_length, t)
    s.notes[N_VISITED], s.notes[FACTOR], s.notes[SQ_LENGTH] = n_visited, factor, sq_length
    s.notes[UNCENTRED_FACTOR], s.notes[UNCENTRED_SQ_LENGTH] = uncentred_factor, uncentred_sq_length
    s.notes[DENSE_CHANGED] = 1.0 if changed else 0.0


@compiled
def mean_length_factor(sq_lengths: float, t: float) -> float:
    """Return the factor that brings rows to a mean squared length of 1."""
    return math.sqrt(t / sq_lengths) if sq_lengths > 0.0 else 1.0


@compiled
def include_column(s: ColumnScaler, at: int, j: int) -> None:
    """Include the visited column number `at`, in slot j, in its statistics."""
    x, deviation = s.row[at, RAW], s.row[at, COLUMN_DEVIATION]
    s.statistics[j, COUNT] += 1.0 if x != 0.0 else 0.0
    s.statistics[j, TOTAL] += x
    s.statistics[j, TOTAL_ABS] += abs(x)
    s.statistics[j, DEVIATIONS] += max(0.0, deviation)


@compiled
def include_row(s: ColumnScaler) -> None:
    """Include the row that was written last in the totals, and in the list of dense columns."""
    t = s.totals[N_ROWS] + 1.0
    if s.notes[DENSE_CHANGED] != 0.0:
        update_dense_slots(s, t)
    s.totals[N_ROWS] = t
    s.totals[SQ_LENGTHS] += s.notes[SQ_LENGTH]
    s.totals[UNCENTRED_SQ_LENGTHS] += s.notes[UNCENTRED_SQ_LENGTH]


@compiled
def update_dense_slots(s: ColumnScaler, t: float) -> None:
    """Record which of the visited columns, among which are all that were dense, are dense now."""
    n_dense = 0
    for k in range(int(s.notes[N_VISITED])):
        j = int(s.slots[k])
        if s.row[k, COLUMN_DEVIATION] >= 0.0:
            if s.statistics[j, DENSE_SINCE] == 0.0:
                s.statistics[j, DENSE_SINCE] = t
            s.dense_slots[n_dense] = j
            n_dense += 1
        elif s.statistics[j, DENSE_SINCE] > 0.0:
            s.statistics[j, DENSE_SINCE] = s.statistics[j, DEVIATIONS] = 0.0
    for k in range(n_dense, int(s.totals[N_DENSE])):
        s.dense_slots[k] = 0
    s.totals[N_DENSE] = n_dense


def dense_slots_are_valid(arrays: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]) -> bool:
    """Return whether the first entries of `dense_slots` are increasing slots of features, as many as the totals say."""
    slots, totals = arrays["dense_slots"], arrays["totals"]
    count = totals[N_DENSE]
    if not (0 <= count <= sizes["features"] and count == int(count)):
        return False
    used = slots[: int(count)].astype(np.int64)
    return bool(len(used) == 0 or (used[0] >= 1 and used[-1] <= sizes["features"] and (np.diff(used) > 0).all()))


def scaling_arrays(n_statistics: int) -> dict[str, ArraySpec]:
    """Return the schemas of the arrays of the scaling in a model file, for rows of this number of statistics."""
    return {
        "statistics": ArraySpec(
            "float64",
            FEATURES + 1,
            n_statistics,
            checks=[
                NotNaN(),
                InRange(0.0, MAX_COUNT, column=COUNT),
                InRange(0.0, INFINITY, column=TOTAL_ABS),
                InRange(0.0, INFINITY, column=DEVIATIONS),
                InRange(0.0, MAX_COUNT, column=DENSE_SINCE),
            ],
        ),
        "dense_slots": ArraySpec("uint32", FEATURES + 1),
        "totals": ArraySpec("float64", N_TOTALS, checks=[InRange(0.0, INFINITY)]),
    }


DENSE_SLOTS_RULE = Constraint(
    "dense_slots begins with as many increasing slots as the totals say", dense_slots_are_valid
)
