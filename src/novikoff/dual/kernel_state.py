"""State of kernel learners: support examples, blocks of kernel values, and arrays of model files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.base.model_state import NO_GROWTH, ModelState
from novikoff.core.kernel.expansion import (
    N_CLASSES,
    N_DROPPED,
    N_ENTRIES,
    N_FILED_COUNTS,
    N_FRESH,
    N_SUPPORT,
    N_TERMS,
    TERMS_END,
    KernelExpansion,
)
from novikoff.data.rows import Sparse
from novikoff.errors import InputError
from novikoff.kernels.gram import call_user_functions, to_dense
from novikoff.kernels.support_set import (
    SupportSet,
    allocate_support,
    build_support_set,
    pad_to_panels,
    should_use_panels,
    support_rows,
)
from novikoff.memory_limit import Growth, check_size, choose_capacity, count_bytes
from novikoff.schema import (
    CLASSES,
    EXAMPLES,
    FEATURES,
    INFINITY,
    MAX_COUNT,
    REAL,
    ArraySpec,
    Constraint,
    DistinctWithin,
    Entries,
    Finite,
    FreeSize,
    IndexInto,
    InRange,
    NamedSize,
    NotNaN,
    Offsets,
    Schema,
)

ENTRY_BYTES = 40
ROW_BYTES = 48
SET_BUDGET_ADVICE = "Set a budget of kept examples"


class StoredExpansion(NamedTuple):
    """The learned state for a model file: without spare capacity, and independent of the storage layout."""

    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.floating]
    squares: NDArray[np.float64]
    own: NDArray[np.float64]
    first: NDArray[np.int64]
    rows: NDArray[np.int64]
    into: NDArray[np.int64]
    amounts: NDArray[np.float64]
    moments: NDArray[np.float64]
    born: NDArray[np.int64]
    since: NDArray[np.int64]
    errors: NDArray[np.int64]


_KEPT, _TERMS, _ENTRIES, _COLUMNS = (
    NamedSize("kept"),
    NamedSize("terms"),
    NamedSize("entries"),
    NamedSize("weight_columns"),
)
SCHEMA = Schema(
    {
        "counts": ArraySpec(
            "int64",
            N_FILED_COUNTS,
            checks=[
                Entries(
                    kept=(0, MAX_COUNT),
                    terms=(0, MAX_COUNT),
                    entries=(0, MAX_COUNT),
                    dropped=(0, MAX_COUNT),
                    known=(0, CLASSES),
                    new=(0, MAX_COUNT),
                )
            ],
        ),
        "starts": ArraySpec("int64", _KEPT + 1, checks=[Offsets(_TERMS)]),
        "indices": ArraySpec("uint32", _TERMS, checks=[IndexInto(FEATURES), DistinctWithin("starts")]),
        "values": ArraySpec(REAL, _TERMS, checks=[Finite()]),
        "squares": ArraySpec("float64", _KEPT, checks=[InRange(0.0, INFINITY)]),
        "own": ArraySpec("float64", _KEPT, checks=[NotNaN()]),
        "first": ArraySpec("int64", _KEPT, checks=[InRange(0, EXAMPLES)]),
        "rows": ArraySpec("int64", _ENTRIES, checks=[IndexInto(_KEPT)]),
        "since": ArraySpec("int64", FreeSize("weight_columns"), checks=[InRange(0, EXAMPLES)]),
        "errors": ArraySpec("int64", _COLUMNS, checks=[InRange(0, MAX_COUNT)]),
        "into": ArraySpec("int64", _ENTRIES, checks=[IndexInto(_COLUMNS)]),
        "amounts": ArraySpec("float64", _ENTRIES, checks=[Finite()]),
        "moments": ArraySpec("float64", _ENTRIES, checks=[Finite()]),
        "born": ArraySpec("int64", _ENTRIES, checks=[InRange(0, EXAMPLES)]),
    },
    [
        Constraint(
            "there is one column of weights for two labels, and otherwise one for each class",
            lambda _, sizes: sizes["weight_columns"] == (sizes["classes"] if sizes["classes"] > 2 else 1),
        )
    ],
)
"""The permitted content of support examples in a model file."""


def build_empty_stored_expansion(dtype: Any) -> StoredExpansion:
    """Return an empty expansion: one column."""
    real = ("squares", "own", "amounts", "moments")
    empty = {name: np.zeros(0, np.float64 if name in real else np.int64) for name in StoredExpansion._fields}
    arrays = {"counts": np.zeros(N_FILED_COUNTS, np.int64), "starts": np.zeros(1, np.int64)}
    sides = {"since": np.zeros(1, np.int64), "errors": np.zeros(1, np.int64)}
    terms = {"indices": np.zeros(0, np.uint32), "values": np.zeros(0, dtype)}
    every: dict[str, Any] = {**empty, **arrays, **sides, **terms}
    return StoredExpansion(**every)


@dataclass
class KernelState(ModelState):
    table: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 0)))
    """A second copy of the support examples, for kernels that are Python functions."""
    drops: int = 0

    @property
    def dual(self) -> KernelExpansion:
        found: KernelExpansion = self.updater
        return found

    @property
    def room(self) -> int:
        return self.dual.kept.width

    @property
    def columns(self) -> int:
        return len(self.dual.since)

    @property
    def known(self) -> int:
        return int(self.dual.counts[N_CLASSES])

    def ensure_capacity(self, features: int) -> None:
        """Allocate a new feature: panels, which have a place for each feature, are given up."""
        dual = self.dual
        if features > dual.kept.width:
            check_size(self._bytes_at(features), f"{features:,} features", "Hash or renumber the features")
            if len(dual.kept.table):
                kept = int(dual.counts[N_SUPPORT])
                rows = support_rows(dual.kept, kept)
                by_terms = build_support_set(rows, features, panels=False)
                by_terms.squares[:kept] = dual.kept.squares[:kept]
                dual.counts[TERMS_END] = dual.counts[N_TERMS]
                size = len(by_terms.begins)
                self.updater = dual._replace(
                    kept=by_terms, own=_resize(dual.own, size), first=_resize(dual.first, size)
                )
            else:
                self.updater = dual._replace(kept=dual.kept._replace(width=features))
        self.features = max(self.features, features)

    def reserve(self, examples: int, terms: int) -> None:
        """Allocate capacity for this number of further support examples, with this number of terms in total, and for
        their entries."""
        dual = self.dual
        kept, counts = dual.kept, dual.counts
        needed = int(counts[N_SUPPORT]) + examples
        if needed > len(kept.begins):
            size = pad_to_panels(self._size(needed, 2 * len(kept.begins), examples, terms))
            try:
                if len(kept.table):
                    kept = kept._replace(table=_resize(kept.table, size * kept.width))
                begins, ends, squares = (_resize(a, size) for a in (kept.begins, kept.ends, kept.squares))
            except MemoryError:
                raise InputError(f"There is no memory for {needed:,} support examples: choose a budget.") from None
            kept = kept._replace(begins=begins, ends=ends, squares=squares)
            dual = dual._replace(kept=kept, own=_resize(dual.own, size), first=_resize(dual.first, size))
        if not len(kept.table):
            dual = dual._replace(kept=self._with_terms(kept, examples, terms))
        entries = int(counts[N_ENTRIES]) + examples * self.columns
        if entries > len(dual.rows):
            size = self._size(entries, 2 * len(dual.rows), examples, terms, per_place=ENTRY_BYTES)
            names = ("rows", "into", "amounts", "moments", "born")
            larger: dict[str, Any] = {name: _resize(getattr(dual, name), size) for name in names}
            dual = dual._replace(**larger)
        if len(dual.fresh) < 2 * examples + 2:
            dual = dual._replace(fresh=np.zeros(2 * examples + 2, np.int64))
        counts[N_FRESH] = 0
        self.updater = dual

    def _with_terms(self, kept: SupportSet, examples: int, terms: int) -> SupportSet:
        """Allocate capacity for this number of further terms. Terms of dropped examples are removed when they are as
        many as the others."""
        counts = self.dual.counts
        if int(counts[TERMS_END]) + terms <= len(kept.values):
            return kept
        if counts[TERMS_END] >= 2 * counts[N_TERMS]:
            rows = support_rows(kept, int(counts[N_SUPPORT]))
            begins, ends = kept.begins.copy(), kept.ends.copy()
            begins[: int(counts[N_SUPPORT])], ends[: int(counts[N_SUPPORT])] = rows.starts[:-1], rows.starts[1:]
            counts[TERMS_END] = counts[N_TERMS]
            kept = kept._replace(begins=begins, ends=ends, indices=rows.indices, values=rows.values)
        needed, wanted = int(counts[TERMS_END]) + terms, 2 * len(kept.values)
        size = self._size(needed, wanted, examples, terms, per_place=self.term_bytes())
        return kept._replace(indices=_resize(kept.indices, size), values=_resize(kept.values, size))

    def widen(self, columns: int) -> None:
        """Allocate columns for this number of classes. Two labels have one column; when a third arrives, the second
        label continues with its weights w and the first with −w, as if each had had a column from the start."""
        dual = self.dual
        since, errors = _resize(dual.since, columns), _resize(dual.errors, columns)
        if self.columns == 1:
            count = int(dual.counts[N_ENTRIES])
            twice: dict[str, Any] = {
                name: np.repeat(getattr(dual, name)[:count], 2) for name in ("rows", "born", "amounts", "moments")
            }
            for name in ("amounts", "moments"):
                twice[name][::2] *= -1.0
            dual = dual._replace(**twice, into=np.tile(np.array([0, 1], np.int64), count))
            dual.counts[N_ENTRIES] = 2 * count
            dual.counts[N_CLASSES] = max(2, dual.counts[N_CLASSES])
            errors[1] = errors[0]
        self.updater = dual._replace(since=since, errors=errors)

    def row_bytes(self) -> int:
        """Return the bytes of a support example without its terms."""
        kept = self.dual.kept
        return ROW_BYTES + (kept.width * kept.table.itemsize if len(kept.table) else 0)

    def term_bytes(self) -> int:
        kept = self.dual.kept
        return 0 if len(kept.table) else kept.values.itemsize + 4

    def support_bytes(self) -> int:
        """Return the bytes of the support examples and their entries, without spare capacity."""
        counts = self.dual.counts
        rows, terms = int(counts[N_SUPPORT]) * self.row_bytes(), int(counts[N_TERMS]) * self.term_bytes()
        return rows + terms + int(counts[N_ENTRIES]) * ENTRY_BYTES

    def bytes_used(self) -> int:
        return count_bytes((self.updater, self.table)) + self._dictionary_bytes()

    def _bytes_at(self, features: int, growth: Growth = NO_GROWTH) -> int:
        """Return the bytes: every update is an entry for each column, and comparing an example needs one value for each
        feature."""
        counts, columns = self.dual.counts, self.columns_after_growth(growth)
        kept, terms = int(counts[N_SUPPORT]) + growth.examples, int(counts[N_TERMS]) + growth.terms
        entries = int(counts[N_ENTRIES]) * (2 if self.columns == 1 < columns else 1) + growth.examples * columns
        row, term = self.row_bytes(), self.term_bytes()
        if features > self.dual.kept.width and len(self.dual.kept.table):  # without panels
            row, term = ROW_BYTES, self.dual.kept.values.itemsize + 4
        own = 8 * features + 16 * columns
        return own + kept * row + terms * term + entries * ENTRY_BYTES + self._dictionary_bytes(growth)

    def columns_after_growth(self, growth: Growth) -> int:
        """Return the number of columns with new labels: one for two labels, otherwise one for each."""
        classes = len(self.labels) + len(growth.labels)
        return max(self.columns, 1 if classes <= 2 else classes)

    def _size(self, needed: int, wanted: int, examples: int, terms: int, *, per_place: int | None = None) -> int:
        """Return the capacity for a list that needs `needed` entries for more examples; each takes `per_place` bytes,
        by default those of a support example."""
        least = self._bytes_at(self.features, Growth(examples=examples, terms=terms))
        each = self.row_bytes() if per_place is None else per_place
        what = f"{int(self.dual.counts[N_SUPPORT]) + examples:,} kept examples"
        return choose_capacity(needed, wanted, lambda size: least + (size - needed) * each, what, SET_BUDGET_ADVICE)

    def answered(self, asked: list[Any], x: NDArray[Any]) -> NDArray[np.float64]:
        """Return the kernel values of one example with all support examples, computed by Python functions."""
        dual, kept = self.dual, int(self.dual.counts[N_SUPPORT])
        drops = int(dual.counts[N_DROPPED])
        if len(self.table) != kept or self.drops != drops or self.table.shape[1:] != x.shape[1:]:
            self.table, self.drops = to_dense(support_rows(dual.kept, kept), x.shape[1]), drops
        return np.ascontiguousarray(call_user_functions(asked, x, self.table)[:, 0])


def to_stored_expansion(state: KernelState) -> StoredExpansion:
    dual = state.dual
    kept, entries = int(dual.counts[N_SUPPORT]), int(dual.counts[N_ENTRIES])
    rows = support_rows(dual.kept, kept)
    return StoredExpansion(
        counts=dual.counts[:N_FILED_COUNTS].copy(),
        starts=rows.starts,
        indices=rows.indices,
        values=rows.values,
        squares=dual.kept.squares[:kept],
        own=dual.own[:kept],
        first=dual.first[:kept],
        rows=dual.rows[:entries],
        into=dual.into[:entries],
        amounts=dual.amounts[:entries],
        moments=dual.moments[:entries],
        born=dual.born[:entries],
        since=dual.since,
        errors=dual.errors,
    )


def from_stored_expansion(stored: StoredExpansion, features: int) -> KernelExpansion:
    """Set the state from a model file: the inverse of `to_stored_expansion`."""
    rows = Sparse(stored.starts, stored.indices.copy(), stored.values.copy())
    kept = len(stored.first)
    panels = kept > 0 and should_use_panels(features, kept, len(rows.values))
    compared = build_support_set(rows, features, panels=panels)
    compared.squares[:kept] = stored.squares
    counts = np.zeros(N_FRESH + 1, np.int64)
    counts[:N_FILED_COUNTS] = stored.counts
    counts[TERMS_END] = counts[N_TERMS]
    size = len(compared.begins)
    copies = {name: getattr(stored, name).copy() for name in StoredExpansion._fields[7:]}
    own, first = _resize(stored.own, size), _resize(stored.first, size)
    return KernelExpansion(compared, counts, own, first, **copies, fresh=np.zeros(2, np.int64))


def build_empty_expansion(features: int, dtype: Any, *, panels: bool) -> KernelExpansion:
    """Return an empty expansion."""
    return from_stored_expansion(build_empty_stored_expansion(dtype), features)._replace(
        kept=allocate_support(features, np.dtype(dtype), panels=panels)
    )


def _resize(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.zeros(size, array.dtype)
    larger[: min(len(array), size)] = array[:size]
    return larger
