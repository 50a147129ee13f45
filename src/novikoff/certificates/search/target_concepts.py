"""Target concepts that explain every label of a stream, for the theorems that assume one.

The whole stream must be in memory: a target that explains only some labels proves nothing about the rest. Any
consistent target gives a valid bound. The disjunction is found greedily, so it need not be the shortest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.base.internals import count_min_errors
from novikoff.certificates.search.witness_search import BinarySample
from novikoff.data.rows import Sparse
from novikoff.errors import import_optional

MAX_RECTANGLE_VALUES = 20_000_000  # values of the dense table


def find_targets(model: Any, sample: BinarySample, features: int, passes: int) -> Mapping[str, float]:
    """Return facts about targets, keyed as in `Evidence.target`; empty if the stream was too long to keep."""
    if sample.total != len(sample.labels) or not isinstance(sample.rows, Sparse):
        return {}
    sp = import_optional(
        "scipy.sparse", "scipy", "A certificate"
    )  # imported late: it takes longer than small certificates

    rows = sample.rows
    table = sp.csr_matrix((rows.values, rows.indices.astype(np.int64), rows.starts), (len(sample.labels), features))
    labelled = sample.labels != 0
    table, labels = table[labelled], sample.labels[labelled]
    shown: dict[str, float] = {}
    if (table.data == 1.0).all():
        shown |= _find_disjunction(table, labels) | _find_conjunction(table, labels)
    if table.shape[0] * table.shape[1] <= MAX_RECTANGLE_VALUES:
        shown |= _find_rectangle(table.toarray(), labels)
    errors = count_min_errors(model, sample.rows, sample.labels)
    return shown if errors is None else {**shown, "errors": float(errors * passes)}


def _find_disjunction(table: Any, labels: NDArray[np.int8]) -> dict[str, float]:
    """Choose features that no negative example has, greedily, until every positive example has one."""
    allowed = np.asarray(table[labels < 0].sum(axis=0)).ravel() == 0
    rows = table[labels > 0].tocsr()
    columns = rows.tocsc()
    open_rows = np.ones(rows.shape[0], bool)
    counts = np.where(allowed, np.diff(columns.indptr), 0)
    chosen = 0
    while open_rows.any():
        best = int(counts.argmax()) if len(counts) else 0
        if not len(counts) or counts[best] == 0:
            return {}
        covered = columns.indices[columns.indptr[best] : columns.indptr[best + 1]]
        new = covered[open_rows[covered]]
        open_rows[new] = False
        counts -= np.bincount(rows[new].indices, minlength=len(counts)) * allowed
        chosen += 1
    return {"disjunction": float(chosen), "gained": float(chosen), "separation": 1.0, "weight": float(chosen)}


def _find_conjunction(table: Any, labels: NDArray[np.int8]) -> dict[str, float]:
    """Test the longest conjunction that every positive example satisfies against the negative ones."""
    positive = table[labels > 0]
    counts = np.asarray(positive.sum(axis=0)).ravel()
    always, never = counts == positive.shape[0], counts == 0
    negative = table[labels < 0]
    satisfied = (negative @ always.astype(float) == always.sum()) & (negative @ never.astype(float) == 0.0)
    return {} if positive.shape[0] and satisfied.any() else {"clause": 1.0}


def _find_rectangle(table: NDArray[np.floating], labels: NDArray[np.int8]) -> dict[str, float]:
    """Test the tightest box around the positive examples against the negative ones."""
    positive, negative = table[labels > 0], table[labels < 0]
    if not len(positive):
        return {"steps": 0.0}
    low, high = positive.min(axis=0), positive.max(axis=0)
    if ((negative >= low) & (negative <= high)).all(axis=1).any():
        return {}
    ordered = np.sort(positive, axis=0)
    return {"steps": float((np.diff(ordered, axis=0) > 0).sum())}
