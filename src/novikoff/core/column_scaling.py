"""Scale the columns of a stream online: units and origins of columns then make no difference.

For row t, with statistics that include it, n the number of non-zeros of a column:

    dense columns    x̂ = (x − μ)/s, μ = Σx/t, s = mean |x − μ| since the column became dense; zeros count
    other columns    x̂ = x·n/Σ|x|: in units of the mean size of a value
    all              x̂ is clipped to ±4, then x̃ = x̂·√(t/ΣΣx̂²): rows have a mean squared length of 1

A column becomes dense where n ≥ (t + 1)/2, and ceases to be dense where n < 0.4·(t + 2). A row without a value for a
dense column has one all the same, (0 − μ)/s: a *visited* column is a column of the row or a dense one.

Learners that must not be centred take x·n/Σ|x| of all columns, scaled by a √(t/ΣΣ) of its own, without clipping.

A row is scored before it is learned: `write_row` writes it to buffers and changes no statistics, `include_column` and
`include_row` include it in them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from novikoff._compiled.jit import compiled
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
N_VISITED, FACTOR, SQ_LENGTH, UNCENTRED_FACTOR, UNCENTRED_SQ_LENGTH, DENSE_CHANGED, BY_ROWS = range(7)
N_ROW_NOTES = 7
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
def write_column(s: ColumnScaler, at: int, j: int, x: float, n: float, uncentred: float) -> float:
    """Write the column in slot j, which has n non-zeros, as the visited column number `at`; return x̂."""
    t = s.totals[N_ROWS] + 1.0
    since = s.statistics[j, DENSE_SINCE]
    value, deviation = clip(uncentred, MAX_ABS_VALUE), NOT_DENSE
    if n >= (0.4 * (t + 2.0) if since > 0.0 else 0.5 * (t + 1.0)):
        difference = centre(x, (s.statistics[j, TOTAL] + x) * s.notes[BY_ROWS])
        deviation = abs(difference)
        total, rows = deviation, 1.0
        if since > 0.0:
            total, rows = s.statistics[j, DEVIATIONS] + deviation, t - since + 1.0
        value = clip(difference * rows / total, MAX_ABS_VALUE) if deviation > 0.0 else 0.0
    if (deviation >= 0.0) != (since > 0.0):
        s.notes[DENSE_CHANGED] = 1.0
    s.slots[at], s.row[at, RAW], s.row[at, UNCENTRED] = j, x, uncentred
    s.row[at, VALUE], s.row[at, COLUMN_DEVIATION] = value, deviation
    return value


@compiled
def write_row(s: ColumnScaler, rows: Rows, i: int) -> None:
    """Write the visited columns of row i to the buffers, in the order of their slots; note the factors that scale them,
    and what they add to the totals."""
    t, at, sq_length, uncentred_sq_length = s.totals[N_ROWS] + 1.0, 0, 0.0, 0.0
    dense, n_dense = 0, int(s.totals[N_DENSE])
    s.notes[BY_ROWS], s.notes[DENSE_CHANGED] = 1.0 / t, 0.0
    for k in range(first_term(rows, i), end_term(rows, i)):
        j, x = weight_slot(rows, i, k), np.float64(rows.values[k])
        while dense < n_dense and int(s.dense_slots[dense]) < j:
            absent = int(s.dense_slots[dense])
            value = write_column(s, at, absent, 0.0, s.statistics[absent, COUNT], 0.0)
            sq_length += value * value
            at, dense = at + 1, dense + 1
        dense += int(dense < n_dense and int(s.dense_slots[dense]) == j)
        n = s.statistics[j, COUNT] + 1.0
        uncentred = x * n / (s.statistics[j, TOTAL_ABS] + abs(x))
        value = write_column(s, at, j, x, n, uncentred)
        sq_length += value * value
        uncentred_sq_length += uncentred * uncentred
        at += 1
    for d in range(dense, n_dense):
        absent = int(s.dense_slots[d])
        value = write_column(s, at, absent, 0.0, s.statistics[absent, COUNT], 0.0)
        sq_length += value * value
        at += 1

    factor = mean_length_factor(s.totals[SQ_LENGTHS] + sq_length, t)
    uncentred_factor = mean_length_factor(s.totals[UNCENTRED_SQ_LENGTHS] + uncentred_sq_length, t)
    s.notes[N_VISITED], s.notes[FACTOR], s.notes[SQ_LENGTH] = at, factor, sq_length
    s.notes[UNCENTRED_FACTOR], s.notes[UNCENTRED_SQ_LENGTH] = uncentred_factor, uncentred_sq_length


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


def dense_slots_are_valid(arrays: object, sizes: object) -> bool:
    """Return whether the first entries of `dense_slots` are increasing slots of features, as many as the totals say."""
    slots, totals = arrays["dense_slots"], arrays["totals"]  # type: ignore[index]
    count = totals[N_DENSE]
    if not (0 <= count <= sizes["features"] and count == int(count)):  # type: ignore[index]
        return False
    used = slots[: int(count)].astype(np.int64)
    return bool(len(used) == 0 or (used[0] >= 1 and used[-1] <= sizes["features"] and (np.diff(used) > 0).all()))  # type: ignore[index]


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
