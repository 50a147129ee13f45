"""Rows that are held out: not learned in any pass, and evaluated at the end.

Which rows are held out depends on the rule and on the row alone, not on blocks, threads or passes:

    random   a counter-based draw for each row number
    time     the last rows of the files
    column   a hash of the value, so that all rows with the same value are on the same side

Rows are numbered through all files. Lines that --bad-lines skip leaves out have no number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.column_values import ColumnValues
from novikoff.data.formats.base import ReadOptions
from novikoff.data.reader import DataReader, FileBatch
from novikoff.data.rows import Rows, Sparse
from novikoff.data.shuffle.gather import gather_rows
from novikoff.data.shuffle.permutation import mix64
from novikoff.errors import InputError

QUERY_COLUMN = "qid"
"""Names the queries of svmlight files as the column to hold out by."""
HOLDOUT_STREAM = 0x686F6C646F7574  # "holdout": makes these draws independent of all others with the same seed


class HoldoutRule(NamedTuple):
    """Which rows are held out, as the model file records it."""

    share: float
    """The share of the rows, or of the values of the column, that are held out."""
    by: str
    """random, time or column."""
    column: str | None = None
    random_state: int = 0

    def record(self) -> dict[str, Any]:
        """Return what the model file stores."""
        how = {} if self.by == "time" else {"random_state": self.random_state}
        return {"by": self.by, "share": self.share, **({} if self.column is None else {"column": self.column}), **how}

    def __str__(self) -> str:
        """Return the rule in words."""
        if self.by == "time":
            return f"the last {self.share:g} of the rows"
        what = "rows" if self.column is None else f"values of {self.column}"
        return f"a random {self.share:g} of the {what}, random state {self.random_state}"

    def draw(self, numbers: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which of these row numbers, or hashes of values, are held out."""
        with np.errstate(over="ignore"):
            words = mix64(numbers + mix64(np.uint64(self.random_state) ^ np.uint64(HOLDOUT_STREAM)))
        held: NDArray[np.bool_] = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 < self.share
        return held


@dataclass
class RowFilter:
    """Yields one side of the split of a reading: the held-out rows or the others."""

    rule: HoldoutRule
    options: ReadOptions
    held_out: bool
    """Whether to yield the held-out rows."""
    first_held_out: int | None = None
    """The number of the first row that is held out by time; None for other rules."""

    def select(self, reading: DataReader, batches: Iterator[FileBatch]) -> Iterator[FileBatch]:
        """Yield the rows of one side, in order; InputError where there are none."""
        values: ColumnValues | None = None
        rows, yielded = 0, False
        for batch in batches:
            if rows == 0:
                values = self._open_column(reading, batch.title)
            if not self.held_out and self.first_held_out is not None and rows >= self.first_held_out:
                break
            held = self._held(batch, rows, values)
            rows += len(batch)
            chosen = np.flatnonzero(held == self.held_out)
            if len(chosen):
                yielded = True
                yield _select_rows(batch.to_numpy(), chosen, reading)
        if not yielded:
            what = "no row is held out" if self.held_out else "every row is held out, so there is nothing to learn"
            raise InputError(
                f"{', '.join(reading.titles)}: {what}: choose another share with --holdout, or another --random-state."
            )

    def _open_column(self, reading: DataReader, title: str) -> ColumnValues | None:
        if self.rule.column in (None, QUERY_COLUMN):
            return None
        if reading.format is None or "label" not in reading.format.options:
            raise InputError(
                f"{title}: --holdout-by {self.rule.column}: the data has no columns. Use random or time, or"
                f" {QUERY_COLUMN} for queries."
            )
        return ColumnValues(reading.titles, self.options, str(self.rule.column), "--holdout-by")

    def _held(self, batch: FileBatch, start: int, values: ColumnValues | None) -> NDArray[np.bool_]:
        """Return which rows of a batch are held out; its first row has the number `start`."""
        if values is not None:
            return self._held_values(np.array(values.take(len(batch)), object))
        groups = batch.to_numpy().parsed.groups
        has_queries = groups is not None and bool((groups >= 0).any())
        if self.rule.column == QUERY_COLUMN:
            if not has_queries:
                raise InputError(f"{batch.title}: --holdout-by {QUERY_COLUMN}: its rows have no queries.")
            return self._held_values(groups)
        if has_queries:
            raise InputError(
                f"{batch.title}: has queries (qid), whose documents must stay together: use --holdout-by"
                f" {QUERY_COLUMN}."
            )
        if self.first_held_out is not None:
            return np.arange(start, start + len(batch)) >= self.first_held_out
        return self.rule.draw(np.arange(start, start + len(batch), dtype=np.uint64))

    def _held_values(self, values: Any) -> NDArray[np.bool_]:
        """Return which rows are held out by their values; each distinct value is hashed once."""
        distinct, inverse = np.unique(values, return_inverse=True)
        digests = [blake2b(str(value).encode("utf-8", "surrogatepass"), digest_size=8).digest() for value in distinct]
        return self.rule.draw(np.frombuffer(b"".join(digests), "<u8").astype(np.uint64))[inverse]


def find_first_held_out(rule: HoldoutRule, titles: list[str], options: ReadOptions) -> int | None:
    """Return the number of the first row that is held out by time, after counting the rows; otherwise None."""
    if rule.by != "time":
        return None
    reading = DataReader(list(titles), replace(options, feature_map=None, feature_map_bits=None))
    rows = sum(len(batch) for batch in reading.batches())
    return rows - round(rule.share * rows)


def _select_rows(batch: FileBatch, chosen: NDArray[np.int64], reading: DataReader) -> FileBatch:
    """Return a batch of the chosen rows of another batch."""
    parsed = batch.parsed
    if len(chosen) == len(batch):
        return batch
    rows = gather_rows(batch.rows, chosen)
    return replace(
        batch,
        rows=rows,
        features=_count_features(rows, batch, reading),
        parsed=parsed._replace(
            rows=rows,
            keys=parsed.keys[chosen],
            label=lambda i: parsed.label(int(chosen[i])),
            weights=parsed.weights[chosen] if len(parsed.weights) else parsed.weights,
            line_of=parsed.line_of[chosen],
            sets=None if parsed.sets is None else _select_sets(*parsed.sets, chosen),
            numbers=None if parsed.numbers is None else parsed.numbers[chosen],
            groups=None if parsed.groups is None else parsed.groups[chosen],
        ),
    )


def _count_features(rows: Rows, batch: FileBatch, reading: DataReader) -> int:
    """Return the number of features of the chosen rows; where columns have names or slots, that of all rows."""
    bits = None if reading.format is None else reading.format.bits_used
    if not isinstance(rows, Sparse) or bits is not None or reading.columns(batch.title) is not None:
        return batch.features
    return int(rows.indices[: int(rows.starts[-1])].max(initial=0)) + 1 if int(rows.starts[-1]) else 0


def _select_sets(
    starts: NDArray[np.int64], values: NDArray[np.float64], chosen: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the label sets of the chosen rows."""
    kept = [values[starts[i] : starts[i + 1]] for i in chosen]
    ends = np.cumsum([len(one) for one in kept])
    return np.concatenate([[0], ends]).astype(np.int64), np.concatenate(kept)
