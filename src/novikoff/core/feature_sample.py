"""The spread of every feature, estimated from a sample of the examples: what `feature_std_` and importances come from.

Which examples are sampled depends on their number t in the run alone (core/stratified_schedule.py). The weight of one
is the square root of the size of its stratum, rounded down to a power of 2. Equal weights would be the most precise
where the data does not change in the course of the run, and weights equal to the size have no bias where it does; with
this one the second half of a run has a quarter to a third of the total weight.

The moments of a feature are kept for its values other than 0, as sums of x − s and (x − s)² with s the first of these
values: so no digits are lost where the mean is large. Zeros are counted in when the deviation is read. Where there are
few features, each has its own row in a table. Where there are many, the table is a hash table with open addressing,
whose size follows from the features that the sample has met; of these, the first MAX_HASHED_FEATURES are kept.

Source: Chan, Golub and LeVeque, Algorithms for computing the sample variance, 1983 (shifted sums, merging).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled, compiled_not_inlined, compiled_read_only, generic
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.dot import get_unchecked, prefetch_slot
from novikoff.core.stratified_schedule import GOLDEN, NEVER_SAMPLED, WORD_MASK, next_sampled_example
from novikoff.data.rows import Rows, Sparse, end_term, first_term, indices_sorted, weight_slot
from novikoff.data.shuffle.gather import gather_rows
from novikoff.schema import (
    FEATURES,
    INFINITY,
    MAX_COUNT,
    REAL,
    ArraySpec,
    Entries,
    FreeSize,
    Increasing,
    IndexInto,
    InRange,
    NamedSize,
    NotNaN,
    Schema,
)

FULLY_SAMPLED_EXAMPLES = 128
STRATA_PER_OCTAVE = 32
MAX_STRATUM_EXAMPLES = 4096
# The entries of Moments.clock: the number of the next example to be sampled, how many were sampled, their
# total weight, and how many features they have met.
NEXT, SAMPLED, WEIGHT, N_FEATURES_MET = 0, 1, 2, 3
# The columns of Moments.table: the total weight of the sampled examples with a value other than 0, the shift s, and the
# weighted sums of x − s and of (x − s)² over them.
COUNT, SHIFT, SUM, SQUARES = 0, 1, 2, 3
N_MOMENTS = 4
MIN_WEIGHT = 1.0
MIN_TABLE_ROWS = 64
MAX_DIRECT_SLOTS = 1 << 16  # slots, up to which each has its own row
MAX_HASHED_FEATURES = 1 << 18  # features in a hash table
DONE = -1
MAX_SEARCHED_TERMS = 256  # terms
DIGITS, RADIX = 4, 256
CACHE_LINE_TERMS = 16  # terms in a line of the cache; of float64 two lines, and neighbours are fetched together


class Moments(NamedTuple):
    keys: NDArray[np.uint32]
    """The slot in each row of a hash table, 0 where the row is free; empty where row j is for slot j."""
    table: NDArray[np.floating]
    clock: NDArray[np.int64]


FEATURE_SAMPLE_SCHEMA = Schema(
    {
        "counts": ArraySpec("int64", 2, checks=[Entries(sampled=(0, MAX_COUNT), sampled_weight=(0, MAX_COUNT))]),
        "columns": ArraySpec("uint32", FreeSize("met"), checks=[IndexInto(FEATURES), Increasing()]),
        "moments": ArraySpec(
            REAL, NamedSize("met"), N_MOMENTS, checks=[NotNaN(), InRange(MIN_WEIGHT, INFINITY, column=COUNT)]
        ),
    }
)
"""The schema of a sample in a model file. A row with the count 0 would be a free one."""


# --- The schedule ---


@compiled
def sampled_weight(t: int) -> int:
    """Return the weight of the sampled example number t."""
    if t <= FULLY_SAMPLED_EXAMPLES:
        return 1
    start, size, weight = FULLY_SAMPLED_EXAMPLES, FULLY_SAMPLED_EXAMPLES // STRATA_PER_OCTAVE, 1
    while size < MAX_STRATUM_EXAMPLES and 2 * start < t:
        start, size = 2 * start, 2 * size
    while 4 * weight * weight <= size:
        weight *= 2
    return weight


@compiled
def next_sampled(t: int) -> int:
    """Return the number of the first sampled example after example t."""
    return next_sampled_example(t, FULLY_SAMPLED_EXAMPLES, STRATA_PER_OCTAVE, MAX_STRATUM_EXAMPLES)


# --- Recording ---


@compiled
def has_capacity(moments: Moments, terms: int, slots: int) -> bool:
    """Return whether the table can take an example with this number of terms. It needs a row for each slot; as a hash
    table, a quarter of its rows must stay free."""
    if len(moments.keys) == 0:
        return slots <= len(moments.table)
    return 4 * min(moments.clock[N_FEATURES_MET] + terms, MAX_HASHED_FEATURES) <= 3 * len(moments.table)


@compiled
def find_row(moments: Moments, j: int) -> int:
    """Return the row of the table for slot j: its own, or in a hash table the free one that it may take."""
    size = len(moments.keys)
    if size == 0:
        return j
    p = (((j * GOLDEN) & WORD_MASK) * size) >> 32
    while moments.keys[p] != 0 and moments.keys[p] != j:
        p = (p + 1) & (size - 1)
    return p


@compiled
def add_value(table: NDArray[np.floating], p: Any, x: float, weight: float) -> bool:
    """Add a value of a feature to its row of the table, with this weight; return whether it is the first one.

    There is no branch: whether a feature is new can't be predicted.
    """
    count = np.float64(table[p, COUNT])
    shift = x if count == 0.0 else np.float64(table[p, SHIFT])
    deviation = x - shift
    table[p, COUNT] = count + weight
    table[p, SHIFT] = shift
    table[p, SUM] = np.float64(table[p, SUM]) + weight * deviation
    table[p, SQUARES] = np.float64(table[p, SQUARES]) + weight * (deviation * deviation)
    return count == 0.0 and weight > 0.0


@compiled_not_inlined
def record_row(moments: Moments, rows: Rows, i: int, t: int) -> None:
    """Record row i, in which no feature comes twice, as the sampled example number t; there must be room."""
    table, clock = moments.table, moments.clock
    share, met = sampled_weight(t), 0
    weight = np.float64(share)
    if len(moments.keys) == 0:
        for k in range(first_term(rows, i), end_term(rows, i)):
            x = np.float64(get_unchecked(rows.values, k))
            # unsigned: an index that may be negative costs a comparison
            met += add_value(table, np.uint64(weight_slot(rows, i, k)), x, weight if x != 0.0 else 0.0)
    else:
        for k in range(first_term(rows, i), end_term(rows, i)):
            x = np.float64(get_unchecked(rows.values, k))
            j = weight_slot(rows, i, k)
            p = find_row(moments, j)
            if x != 0.0 and (moments.keys[p] != 0 or clock[N_FEATURES_MET] + met < MAX_HASHED_FEATURES):
                moments.keys[p] = j
                met += add_value(table, p, x, weight)
    clock[N_FEATURES_MET] += met
    clock[SAMPLED] += 1
    clock[WEIGHT] += share
    clock[NEXT] = next_sampled(t)


@compiled
def has_duplicates(rows: Rows, i: int) -> bool:
    """Return whether a feature may come twice in row i, whose columns are not ascending. Each term is compared with all
    earlier ones; rows with more than MAX_SEARCHED_TERMS terms are not searched."""
    start, stop = first_term(rows, i), end_term(rows, i)
    if stop - start > MAX_SEARCHED_TERMS:
        return True
    duplicated = False
    for k in range(start, stop):
        for earlier in range(start, k):
            duplicated |= weight_slot(rows, i, k) == weight_slot(rows, i, earlier)
    return duplicated


@generic
def prefetch_terms(rows: Rows, k: int) -> None:
    prefetch_slot(rows.values, k)


@prefetch_terms.of(Sparse)
def _prefetch_sparse_terms(rows: Sparse, k: int) -> None:
    prefetch_slot(rows.values, k)
    prefetch_slot(rows.indices, k)


@compiled
def record_rows(
    moments: Moments, rows: Rows, weights: NDArray[np.float64], before: int, after: int, slots: int, known: bool
) -> int:
    """Record the sampled rows of a batch: those that were learned are the examples before + 1 … after of the run; rows
    of weight 0 are left out. `known` says that no feature comes twice in a row.

    Return DONE; or 2·i where the table has no room for row i, and 2·i + 1 where a feature comes twice in it.
    """
    i, t = 0, before
    while moments.clock[NEXT] <= after:
        if len(weights) == 0:
            i, t = moments.clock[NEXT] - before - 1, moments.clock[NEXT]
        else:
            while t < moments.clock[NEXT]:
                t += weights[i] != 0.0
                i += 1
            i -= 1
        if not has_capacity(moments, end_term(rows, i) - first_term(rows, i), slots):
            return 2 * i
        if not (known or indices_sorted(rows, i, slots)) and has_duplicates(rows, i):
            return 2 * i + 1
        coming = next_sampled(t)
        if len(weights) == 0 and coming <= after:  # prefetch: it was learned long ago, and has left the caches
            for k in range(
                first_term(rows, coming - before - 1), end_term(rows, coming - before - 1), CACHE_LINE_TERMS
            ):
                prefetch_terms(rows, k)
        record_row(moments, rows, i, t)
        i += 1
    return DONE


@compiled
def list_sampled(start: int, after: int, times: NDArray[np.int64]) -> int:
    """Write the numbers of the sampled examples from `start`, which is one, to `after`; return how many there are."""
    count, t = 0, start
    while t <= after:
        times[count] = t
        count += 1
        t = next_sampled(t)
    return count


@compiled
def record_sample(moments: Moments, rows: Rows, times: NDArray[np.int64], slots: int) -> int:
    """Record rows that were chosen as the sampled examples of these numbers; those recorded before are passed over.
    Return as `record_rows` does."""
    for i in range(len(times)):
        if times[i] >= moments.clock[NEXT]:
            if not has_capacity(moments, end_term(rows, i) - first_term(rows, i), slots):
                return 2 * i
            if not indices_sorted(rows, i, slots) and has_duplicates(rows, i):
                return 2 * i + 1
            record_row(moments, rows, i, times[i])
    return DONE


# --- Files, and larger tables ---


@compiled_read_only
def export_features(
    moments: Moments,
    columns: NDArray[np.uint32],
    places: NDArray[np.int64],
    columns_2: NDArray[np.uint32],
    places_2: NDArray[np.int64],
    ends: NDArray[np.int64],
    found: NDArray[np.floating],
) -> None:
    """Write the features that were met, in the order of their columns, and the row of each. The other arrays are room
    for sorting by one digit after another, RADIX numbers in `ends`."""
    table, count = moments.table, 0
    for p in range(len(table)):
        if table[p, COUNT] > 0.0:
            columns[count] = np.uint32((p if len(moments.keys) == 0 else int(moments.keys[p])) - 1)
            places[count] = p
            count += 1
    for digit in range(DIGITS):
        ends[:] = 0
        for k in range(count):
            ends[(int(columns[k]) >> (8 * digit)) & (RADIX - 1)] += 1
        total = 0
        for d in range(RADIX):
            total += ends[d]
            ends[d] = total - ends[d]
        for k in range(count):
            d = (int(columns[k]) >> (8 * digit)) & (RADIX - 1)
            columns_2[ends[d]] = columns[k]
            places_2[ends[d]] = places[k]
            ends[d] += 1
        columns, columns_2 = columns_2, columns
        places, places_2 = places_2, places
    for k in range(count):  # after an even number of digits everything is where it began
        for part in range(N_MOMENTS):
            found[k, part] = table[places[k], part]


@compiled
def load_features(moments: Moments, columns: NDArray[np.uint32], given: NDArray[np.floating]) -> None:
    """Put features, which must differ, into an empty table that has room for them: the inverse of `export_features`."""
    for k in range(len(columns)):
        p = find_row(moments, int(columns[k]) + 1)
        if len(moments.keys) > 0:
            moments.keys[p] = columns[k] + np.uint32(1)
        for part in range(N_MOMENTS):
            moments.table[p, part] = given[k, part]
    moments.clock[N_FEATURES_MET] = len(columns)


@compiled
def copy_features(larger: Moments, moments: Moments) -> None:
    """Copy all features to an empty table that has room for them."""
    for p in range(len(moments.table)):
        if moments.table[p, COUNT] != 0.0:
            j = p if len(moments.keys) == 0 else int(moments.keys[p])
            q = find_row(larger, j)
            if len(larger.keys) > 0:
                larger.keys[q] = j
            for part in range(N_MOMENTS):
                larger.table[q, part] = moments.table[p, part]


class FeatureSample:
    """The sample of one run: a schedule, and the moments of every feature that it has met, in the precision of the
    data."""

    def __init__(self, dtype: Any = "float64") -> None:
        self.kind = buffers.dtype(dtype)
        clock = buffers.zeros(4, "int64")
        clock[NEXT] = 1
        self.moments = Moments(buffers.zeros(0, "uint32"), buffers.zeros((1, N_MOMENTS), self.kind), clock)
        self.direct = 1  # rows of a table that has one for each slot; 0 for a hash table

    @classmethod
    def never(cls) -> FeatureSample:
        """Return a sample that records nothing, for learners without `coef_`."""
        made = cls()
        made.moments.clock[NEXT] = NEVER_SAMPLED
        return made

    @property
    def is_recording(self) -> bool:
        return int(self.moments.clock[NEXT]) != NEVER_SAMPLED

    @property
    def sampled(self) -> int:
        """The number of examples in the sample."""
        return int(self.moments.clock[SAMPLED])

    @property
    def weight(self) -> int:
        """The total weight of these examples."""
        return int(self.moments.clock[WEIGHT])

    def continue_after(self, t: int) -> None:
        """Set the schedule to the first sampled example after example t."""
        self.moments.clock[NEXT] = next_sampled.function(int(t))

    def record(
        self, rows: Rows, weights: NDArray[np.float64], before: int, after: int, features: int, *, known: bool = False
    ) -> None:
        """Record the sampled rows of a batch that was learned (see `record_rows`)."""
        if self.moments.clock[NEXT] > after:
            return
        if not self.moments.clock[N_FEATURES_MET]:
            self.reserve(0, features)
        self._until_done(
            rows, features, lambda: record_rows(self.moments, rows, weights, before, after, features + 1, known)
        )

    def choose(
        self, order: NDArray[np.int64], weights: NDArray[np.float64], before: int, after: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the numbers of the sampled examples in before + 1 … after, and their rows in a batch that was learned
        in this order."""
        if not self.is_recording:
            return buffers.zeros(0, "int64"), buffers.zeros(0, "int64")
        start = next_sampled.function(before)
        most = max(
            0, min(after - start + 1, FULLY_SAMPLED_EXAMPLES + STRATA_PER_OCTAVE * 64 + after // MAX_STRATUM_EXAMPLES)
        )
        times = buffers.zeros(most, "int64")
        times = times[: list_sampled(start, after, times)]
        learned = order[weights[order] != 0.0] if len(weights) else order
        return times, learned[times - (before + 1)]

    def record_chosen(self, rows: Rows, chosen: NDArray[np.int64], times: NDArray[np.int64], features: int) -> None:
        """Record the chosen rows of a batch as the examples of these numbers."""
        if len(times) == 0:
            return
        if not self.moments.clock[N_FEATURES_MET]:
            self.reserve(0, features)
        some = gather_rows(rows, chosen)
        self._until_done(some, features, lambda: record_sample(self.moments, some, times, features + 1))

    def _until_done(self, rows: Rows, features: int, attempt: Callable[[], int]) -> None:
        """Repeat an attempt to record rows until it returns DONE; in between make the room that it lacks, or record the
        row in which a feature comes twice."""
        while (stopped := attempt()) != DONE:
            i = stopped // 2
            self.reserve(int(end_term(rows, i) - first_term(rows, i)), features)
            if stopped % 2:
                self._record_summed(rows, i, features)

    def _record_summed(self, rows: Rows, i: int, features: int) -> None:
        """Record row i, in which a feature comes twice, as it was learned: with the values of the feature added up."""
        from novikoff.data.canonical_rows import canonicalize

        t = int(self.moments.clock[NEXT])
        record_rows(
            self.moments, canonicalize(rows, i, i + 1, features), buffers.zeros(0), t - 1, t, features + 1, True
        )

    # --- Room ---

    def reserve(self, terms: int, features: int) -> None:
        """Make room for one more example with this number of terms."""
        if features < self.direct:
            return
        now = self.moments
        needed = min(int(now.clock[N_FEATURES_MET]) + terms, MAX_HASHED_FEATURES)
        if self.direct or 4 * needed > 3 * len(now.table):
            self._make_table(needed, features + 1)
            if now.clock[N_FEATURES_MET]:
                copy_features(self.moments, now)

    def _make_table(self, needed: int, slots: int) -> None:
        """Begin an empty table with room for `needed` features. Sizes at least double: a stream of new features costs
        little."""
        if self.direct and slots <= MAX_DIRECT_SLOTS:
            self.direct = size = max(slots, min(2 * self.direct, MAX_DIRECT_SLOTS))
            self.moments = self.moments._replace(table=buffers.zeros((size, N_MOMENTS), self.kind))
            return
        self.direct, size = 0, MIN_TABLE_ROWS
        while 4 * needed > 3 * size:
            size *= 2
        self.moments = self.moments._replace(
            keys=buffers.zeros(size, "uint32"), table=buffers.zeros((size, N_MOMENTS), self.kind)
        )

    def copy(self) -> FeatureSample:
        made = FeatureSample(self.kind)
        made.direct = self.direct
        made.moments = Moments(self.moments.keys.copy(), self.moments.table.copy(), self.moments.clock.copy())
        return made

    # --- What is known of the features ---

    def as_arrays(self) -> tuple[NDArray[np.uint32], NDArray[np.floating]]:
        """Return the columns of the features that the sample has met, in ascending order, and COUNT, SHIFT, SUM and
        SQUARES of each."""
        met = int(self.moments.clock[N_FEATURES_MET])
        columns, columns_2 = buffers.zeros(met, "uint32"), buffers.zeros(met, "uint32")
        places, places_2 = buffers.zeros(met, "int64"), buffers.zeros(met, "int64")
        found = buffers.zeros((met, N_MOMENTS), self.kind)
        export_features(self.moments, columns, places, columns_2, places_2, buffers.zeros(RADIX, "int64"), found)
        return columns, found

    def _centred(self) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the columns of the features that were met; the total weight of the examples that have each; and the
        mean and the sum of squared deviations of their values."""
        columns, found = self.as_arrays()
        count, shift, total, squares = found.astype(np.float64).T
        with np.errstate(over="ignore", invalid="ignore"):  # squares of values near the largest that are learned
            return columns, count, shift + total / count, np.maximum(squares - total * (total / count), 0.0)

    def deviations(self, features: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the standard deviation of every feature, and whether it is known.

        It is known where a sampled example has a value other than 0; elsewhere the estimate is 0.
        """
        columns, count, mean, squares = self._centred()
        deviations, known = buffers.zeros(features), buffers.zeros(features, "bool")
        share = np.minimum(count / max(1, self.weight), 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.sqrt(squares / max(1, self.weight) + share * (1.0 - share) * mean**2)
        known[columns] = np.isfinite(found)
        deviations[columns] = np.where(np.isfinite(found), found, 0.0)
        return deviations, known

    # --- Files ---

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return what goes to a model file."""
        if not self.is_recording:
            return {}
        columns, found = self.as_arrays()
        counts = buffers.array([self.sampled, self.weight], "int64")
        return {"sample.counts": counts, "sample.columns": columns, "sample.moments": found}

    @classmethod
    def from_tensors(cls, tensors: dict[str, NDArray[Any]], dtype: Any, examples: int, features: int) -> FeatureSample:
        """Return the sample that a model file holds. Its arrays fit `FEATURE_SAMPLE_SCHEMA`."""
        if "sample.counts" not in tensors:
            return cls.never()
        made = cls(dtype)
        counts, columns, found = (tensors[f"sample.{name}"] for name in ("counts", "columns", "moments"))
        made._load(int(counts[0]), int(counts[1]), columns, found, features)
        made.continue_after(examples)
        return made

    def _load(self, sampled: int, weight: int, columns: Any, found: Any, features: int) -> None:
        self._make_table(len(columns), features + 1)
        load_features(self.moments, buffers.ascontiguousarray(columns), buffers.ascontiguousarray(found))
        self.moments.clock[SAMPLED], self.moments.clock[WEIGHT] = sampled, weight

    # --- Shards ---

    def merge(self, other: FeatureSample) -> None:
        """Add the sample of other examples to this one."""
        (mine, *a), (theirs, *b) = self._centred(), other._centred()
        columns = np.union1d(mine, theirs).astype(np.uint32)
        both = buffers.zeros((2, 3, len(columns)))
        both[0][:, np.searchsorted(columns, mine)] = a
        both[1][:, np.searchsorted(columns, theirs)] = b
        (n, mean, squares), (m, mean_2, squares_2) = both
        deviation, share = mean_2 - mean, m / (n + m)
        with np.errstate(over="ignore", invalid="ignore"):
            apart = np.where(n * m > 0.0, deviation * deviation * (n * share), 0.0)
        mean = np.where(n == 0.0, mean_2, mean + deviation * share)
        found = np.stack([n + m, mean, buffers.zeros(len(columns)), squares + squares_2 + apart], axis=1)
        if len(columns) > max(MAX_HASHED_FEATURES, MAX_DIRECT_SLOTS):  # those that most examples have
            most = np.sort(np.lexsort((columns, -(n + m)))[:MAX_HASHED_FEATURES])
            columns, found = columns[most], found[most]
        features = int(columns[-1]) + 1 if len(columns) else 0
        sampled, weight = self.sampled + other.sampled, self.weight + other.weight
        self._load(sampled, weight, columns, found.astype(self.kind), max(features, self.direct - 1))
