"""Batches that end where a query ends: what a ranking learns from is whole queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.errors import InputError
from novikoff.data.reader import Batch
from novikoff.data.rows import Sparse, cut, how_many
from novikoff.data.canonical_rows import without_zeros


class Documents(NamedTuple):
    """Some whole queries: their rows, grades and where each query begins, with the place of each row."""

    rows: Sparse
    grades: NDArray[np.float64]
    starts: NDArray[np.int64]
    features: int
    title: str
    lines: NDArray[np.int64]
    """The line of each row, from 1."""

    def where(self, i: int) -> str:
        return f"{self.title}:{int(self.lines[i])}"


class _Part(NamedTuple):
    rows: Sparse
    grades: NDArray[np.float64]
    queries: NDArray[np.int64]
    lines: NDArray[np.int64]


def whole_queries(batches: Iterator[Batch]) -> Iterator[Documents]:
    """All documents, in their order; a query does not go on in the next file, and does not come again in a batch."""
    title, features, rest = "", 0, None
    for batch in batches:
        if rest is not None and batch.title != title:
            yield _documents(rest, features, title)
            rest = None
        title, features = batch.title, max(features, batch.features)
        part = _part(batch)
        if rest is not None:
            part = _joined(rest, part)
        last = (
            int(np.flatnonzero(part.queries != part.queries[-1])[-1]) + 1
            if (part.queries != part.queries[-1]).any()
            else 0
        )
        if last:
            yield _documents(_cut(part, 0, last), features, title)
        rest = _cut(part, last, len(part.queries))
    if rest is not None:
        yield _documents(rest, features, title)


def _part(batch: Batch) -> _Part:
    parsed, groups = batch.parsed, batch.parsed.groups
    if groups is None or (groups < 0).any():
        at = 0 if groups is None else int(np.flatnonzero(groups < 0)[0])
        raise InputError(
            f"{batch.where(at)}: has no query: for a ranking every line needs one, as in `2 qid:10 1:0.5`."
        )
    grades = np.array([_grade(batch, i) for i in range(len(batch))])
    lines = batch.lines_before + parsed.line_of + 1
    rows = without_zeros(batch.rows)
    return _Part(rows, grades, groups.copy(), lines)


def _grade(batch: Batch, i: int) -> float:
    label: Any = batch.parsed.label(i) if batch.parsed.numbers is None else float(batch.parsed.numbers[i])
    try:
        grade = float(label)
    except (TypeError, ValueError):
        grade = np.nan
    if not np.isfinite(grade):
        raise InputError(f"{batch.where(i)}: a grade must be a number, but {label!r} came.")
    return grade


def _joined(a: _Part, b: _Part) -> _Part:
    end = a.rows.starts[-1]
    rows = Sparse(
        np.concatenate([a.rows.starts, b.rows.starts[1:] + end]),
        np.concatenate([a.rows.indices[:end], b.rows.indices]),
        np.concatenate([a.rows.values[:end], b.rows.values]),
    )
    grades, queries, lines = (np.concatenate(pair) for pair in zip(a[1:], b[1:], strict=True))
    return _Part(rows, grades, queries, lines)


def _cut(part: _Part, start: int, stop: int) -> _Part:
    rows = cut(part.rows, start, stop)
    assert isinstance(rows, Sparse)  # noqa: S101 - rows without zeros are
    first, last = rows.starts[0], rows.starts[-1]
    own = Sparse(rows.starts - first, rows.indices[first:last], rows.values[first:last])
    return _Part(own, part.grades[start:stop], part.queries[start:stop], part.lines[start:stop])


def _documents(part: _Part, features: int, title: str) -> Documents:
    queries = part.queries
    starts = np.concatenate([[0], np.flatnonzero(queries[1:] != queries[:-1]) + 1, [how_many(part.rows)]])
    return Documents(part.rows, part.grades, starts.astype(np.int64), features, title, part.lines)
