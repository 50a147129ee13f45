"""Batches of whole queries, which rankings learn from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.canonical_rows import remove_zeros
from novikoff.data.reader import FileBatch
from novikoff.data.rows import Sparse, count_rows, slice_rows
from novikoff.errors import InputError


class QueryBatch(NamedTuple):
    """Some whole queries: rows, grades and the start of each query, with the line of each row."""

    rows: Sparse
    grades: NDArray[np.float64]
    starts: NDArray[np.int64]
    features: int
    title: str
    lines: NDArray[np.int64]
    """The line of each row, from 1."""

    def get_location(self, i: int) -> str:
        return f"{self.title}:{int(self.lines[i])}"


class _QueryRows(NamedTuple):
    rows: Sparse
    grades: NDArray[np.float64]
    queries: NDArray[np.int64]
    lines: NDArray[np.int64]


def iter_whole_queries(batches: Iterator[FileBatch]) -> Iterator[QueryBatch]:
    """Yield all documents in order, in batches of whole queries. A query ends with its file."""
    title, features, rest = "", 0, None
    for batch in batches:
        if rest is not None and batch.title != title:
            yield _build_query_batch(rest, features, title)
            rest = None
        title, features = batch.title, max(features, batch.features)
        part = _to_query_rows(batch)
        if rest is not None:
            part = _concatenate(rest, part)
        last = (
            int(np.flatnonzero(part.queries != part.queries[-1])[-1]) + 1
            if (part.queries != part.queries[-1]).any()
            else 0
        )
        if last:
            yield _build_query_batch(_slice_part(part, 0, last), features, title)
        rest = _slice_part(part, last, len(part.queries))
    if rest is not None:
        yield _build_query_batch(rest, features, title)


def _to_query_rows(batch: FileBatch) -> _QueryRows:
    parsed, groups = batch.parsed, batch.parsed.groups
    if groups is None or (groups < 0).any():
        at = 0 if groups is None else int(np.flatnonzero(groups < 0)[0])
        raise InputError(
            f"{batch.get_location(at)}: has no query: rankings need one on every line, as in `2 qid:10 1:0.5`."
        )
    grades = np.array([_read_grade(batch, i) for i in range(len(batch))])
    lines = batch.lines_before + parsed.line_of + 1
    rows = remove_zeros(batch.rows)
    return _QueryRows(rows, grades, groups.copy(), lines)


def _read_grade(batch: FileBatch, i: int) -> float:
    label: Any = batch.parsed.label(i) if batch.parsed.numbers is None else float(batch.parsed.numbers[i])
    try:
        grade = float(label)
    except (TypeError, ValueError):
        grade = np.nan
    if not np.isfinite(grade):
        raise InputError(f"{batch.get_location(i)}: a grade must be a number, got {label!r}.")
    return grade


def _concatenate(a: _QueryRows, b: _QueryRows) -> _QueryRows:
    end = a.rows.starts[-1]
    rows = Sparse(
        np.concatenate([a.rows.starts, b.rows.starts[1:] + end]),
        np.concatenate([a.rows.indices[:end], b.rows.indices]),
        np.concatenate([a.rows.values[:end], b.rows.values]),
    )
    grades, queries, lines = (np.concatenate(pair) for pair in zip(a[1:], b[1:], strict=True))
    return _QueryRows(rows, grades, queries, lines)


def _slice_part(part: _QueryRows, start: int, stop: int) -> _QueryRows:
    rows = slice_rows(part.rows, start, stop)
    assert isinstance(rows, Sparse)  # noqa: S101 - rows without zeros are
    first, last = rows.starts[0], rows.starts[-1]
    own = Sparse(rows.starts - first, rows.indices[first:last], rows.values[first:last])
    return _QueryRows(own, part.grades[start:stop], part.queries[start:stop], part.lines[start:stop])


def _build_query_batch(part: _QueryRows, features: int, title: str) -> QueryBatch:
    queries = part.queries
    starts = np.concatenate([[0], np.flatnonzero(queries[1:] != queries[:-1]) + 1, [count_rows(part.rows)]])
    return QueryBatch(part.rows, part.grades, starts.astype(np.int64), features, title, part.lines)
