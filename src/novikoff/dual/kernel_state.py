"""What a learner in the dual form knows and does: kept examples that grow, blocks of kernel values, files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import InputError
from novikoff.kernels.gram import answers, table_of
from novikoff.kernels.support_set import (Kept, fresh, in_panels, kept_from, room, rows_kept)
from novikoff.base.model_state import NO_GROWTH, State
from novikoff.memory_limit import Growth, check_size, count_bytes, size_with_spare
from novikoff.core.kernel.expansion import (DROPPED, END, ENTRIES, FILED, FRESH, KEPT, KNOWN, TERMS, Dual)
from novikoff.schema import (
    CLASSES,
    EXAMPLES,
    FEATURES,
    INFINITY,
    MAX_COUNT,
    REAL,
    Array,
    Between,
    DistinctWithin,
    Entries,
    Finite,
    Free,
    IndexInto,
    NotNaN,
    Offsets,
    Rule,
    Schema,
    Size,
)
from novikoff.data.rows import Sparse

PER_ENTRY = 40
PER_ROW = 48
ADVICE = "Set a budget of kept examples"


class Filed(NamedTuple):
    """What was learned as it goes to a file: without room to spare, and the same however it was kept."""

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


_KEPT, _TERMS, _ENTRIES, _COLUMNS = Size("kept"), Size("terms"), Size("entries"), Size("weight_columns")
SCHEMA = Schema(
    {
        "counts": Array(
            "int64",
            FILED,
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
        "starts": Array("int64", _KEPT + 1, checks=[Offsets(_TERMS)]),
        "indices": Array("uint32", _TERMS, checks=[IndexInto(FEATURES), DistinctWithin("starts")]),
        "values": Array(REAL, _TERMS, checks=[Finite()]),
        "squares": Array("float64", _KEPT, checks=[Between(0.0, INFINITY)]),
        "own": Array("float64", _KEPT, checks=[NotNaN()]),
        "first": Array("int64", _KEPT, checks=[Between(0, EXAMPLES)]),
        "rows": Array("int64", _ENTRIES, checks=[IndexInto(_KEPT)]),
        "since": Array("int64", Free("weight_columns"), checks=[Between(0, EXAMPLES)]),
        "errors": Array("int64", _COLUMNS, checks=[Between(0, MAX_COUNT)]),
        "into": Array("int64", _ENTRIES, checks=[IndexInto(_COLUMNS)]),
        "amounts": Array("float64", _ENTRIES, checks=[Finite()]),
        "moments": Array("float64", _ENTRIES, checks=[Finite()]),
        "born": Array("int64", _ENTRIES, checks=[Between(0, EXAMPLES)]),
    },
    [
        Rule(
            "there is one column of weights for two labels, and otherwise one for each class",
            lambda _, sizes: sizes["weight_columns"] == (sizes["classes"] if sizes["classes"] > 2 else 1),
        )
    ],
)
"""What a model file may hold of kept examples."""


def nothing(kind: Any) -> Filed:
    """Before anything was learned: one column."""
    real = ("squares", "own", "amounts", "moments")
    empty = {name: np.zeros(0, np.float64 if name in real else np.int64) for name in Filed._fields}
    arrays = {"counts": np.zeros(FILED, np.int64), "starts": np.zeros(1, np.int64)}
    sides = {"since": np.zeros(1, np.int64), "errors": np.zeros(1, np.int64)}
    terms = {"indices": np.zeros(0, np.uint32), "values": np.zeros(0, kind)}
    every: dict[str, Any] = {**empty, **arrays, **sides, **terms}
    return Filed(**every)


@dataclass
class DualState(State):
    table: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 0)))
    """The kept examples once more, for kernels that are Python functions."""
    drops: int = 0

    @property
    def dual(self) -> Dual:
        found: Dual = self.geometry
        return found

    @property
    def room(self) -> int:
        return self.dual.kept.width

    @property
    def columns(self) -> int:
        return len(self.dual.since)

    @property
    def known(self) -> int:
        return int(self.dual.counts[KNOWN])

    def make_room(self, features: int) -> None:
        """A new feature: panels, which have a place for each, are given up."""
        dual = self.dual
        if features > dual.kept.width:
            check_size(self._bytes_at(features), f"{features:,} features", "Hash or renumber the features")
            if len(dual.kept.table):
                kept = int(dual.counts[KEPT])
                rows = rows_kept(dual.kept, kept)
                by_terms = kept_from(rows, features, panels=False)
                by_terms.squares[:kept] = dual.kept.squares[:kept]
                dual.counts[END] = dual.counts[TERMS]
                size = len(by_terms.begins)
                self.geometry = dual._replace(kept=by_terms, own=_sized(dual.own, size), first=_sized(dual.first, size))
            else:
                self.geometry = dual._replace(kept=dual.kept._replace(width=features))
        self.features = max(self.features, features)

    def reserve(self, examples: int, terms: int) -> None:
        """Room for so many more kept examples with so many terms in all, and for their entries."""
        dual = self.dual
        kept, counts = dual.kept, dual.counts
        needed = int(counts[KEPT]) + examples
        if needed > len(kept.begins):
            size = room(self._size(needed, 2 * len(kept.begins), examples, terms))
            try:
                if len(kept.table):
                    kept = kept._replace(table=_sized(kept.table, size * kept.width))
                begins, ends, squares = (_sized(a, size) for a in (kept.begins, kept.ends, kept.squares))
            except MemoryError:
                raise InputError(f"There is no memory for {needed:,} kept examples: choose a budget.") from None
            kept = kept._replace(begins=begins, ends=ends, squares=squares)
            dual = dual._replace(kept=kept, own=_sized(dual.own, size), first=_sized(dual.first, size))
        if not len(kept.table):
            dual = dual._replace(kept=self._with_terms(kept, examples, terms))
        entries = int(counts[ENTRIES]) + examples * self.columns
        if entries > len(dual.rows):
            size = self._size(entries, 2 * len(dual.rows), examples, terms, per_place=PER_ENTRY)
            names = ("rows", "into", "amounts", "moments", "born")
            larger: dict[str, Any] = {name: _sized(getattr(dual, name), size) for name in names}
            dual = dual._replace(**larger)
        if len(dual.fresh) < 2 * examples + 2:
            dual = dual._replace(fresh=np.zeros(2 * examples + 2, np.int64))
        counts[FRESH] = 0
        self.geometry = dual

    def _with_terms(self, kept: Kept, examples: int, terms: int) -> Kept:
        """Room for so many more terms; those of dropped examples are cleared away when they are as many as the others
        are."""
        counts = self.dual.counts
        if int(counts[END]) + terms <= len(kept.values):
            return kept
        if counts[END] >= 2 * counts[TERMS]:
            rows = rows_kept(kept, int(counts[KEPT]))
            begins, ends = kept.begins.copy(), kept.ends.copy()
            begins[: int(counts[KEPT])], ends[: int(counts[KEPT])] = rows.starts[:-1], rows.starts[1:]
            counts[END] = counts[TERMS]
            kept = kept._replace(begins=begins, ends=ends, indices=rows.indices, values=rows.values)
        needed, wanted = int(counts[END]) + terms, 2 * len(kept.values)
        size = self._size(needed, wanted, examples, terms, per_place=self.per_term())
        return kept._replace(indices=_sized(kept.indices, size), values=_sized(kept.values, size))

    def widen(self, columns: int) -> None:
        """Columns for so many classes. Two labels have one column; when a third comes, the second label goes on with
        its weights w and the first with −w, which is what it would have learned."""
        dual = self.dual
        since, errors = _sized(dual.since, columns), _sized(dual.errors, columns)
        if self.columns == 1:
            count = int(dual.counts[ENTRIES])
            twice: dict[str, Any] = {
                name: np.repeat(getattr(dual, name)[:count], 2) for name in ("rows", "born", "amounts", "moments")
            }
            for name in ("amounts", "moments"):
                twice[name][::2] *= -1.0
            dual = dual._replace(**twice, into=np.tile(np.array([0, 1], np.int64), count))
            dual.counts[ENTRIES] = 2 * count
            dual.counts[KNOWN] = max(2, dual.counts[KNOWN])
            errors[1] = errors[0]
        self.geometry = dual._replace(since=since, errors=errors)

    def per_row(self) -> int:
        """Bytes of a kept example beside its terms."""
        kept = self.dual.kept
        return PER_ROW + (kept.width * kept.table.itemsize if len(kept.table) else 0)

    def per_term(self) -> int:
        kept = self.dual.kept
        return 0 if len(kept.table) else kept.values.itemsize + 4

    def bytes_kept(self) -> int:
        """Return the bytes of the kept examples and their entries, without spare room."""
        counts = self.dual.counts
        rows, terms = int(counts[KEPT]) * self.per_row(), int(counts[TERMS]) * self.per_term()
        return rows + terms + int(counts[ENTRIES]) * PER_ENTRY

    def bytes_used(self) -> int:
        return count_bytes((self.geometry, self.table)) + self._dictionary_bytes()

    def _bytes_at(self, features: int, growth: Growth = NO_GROWTH) -> int:
        """Every update is an entry for each column; one value for each feature is needed to compare an example."""
        counts, columns = self.dual.counts, self.columns_after(growth)
        kept, terms = int(counts[KEPT]) + growth.examples, int(counts[TERMS]) + growth.terms
        entries = int(counts[ENTRIES]) * (2 if self.columns == 1 < columns else 1) + growth.examples * columns
        row, term = self.per_row(), self.per_term()
        if features > self.dual.kept.width and len(self.dual.kept.table):  # panels are given up
            row, term = PER_ROW, self.dual.kept.values.itemsize + 4
        own = 8 * features + 16 * columns
        return own + kept * row + terms * term + entries * PER_ENTRY + self._dictionary_bytes(growth)

    def columns_after(self, growth: Growth) -> int:
        """Return the number of columns with new labels: one for two labels, one for each of more."""
        classes = len(self.labels) + len(growth.labels)
        return max(self.columns, 1 if classes <= 2 else classes)

    def _size(self, needed: int, wanted: int, examples: int, terms: int, *, per_place: int | None = None) -> int:
        """Return the number of places for a list of which `needed` are needed now for more examples; each place takes
        `per_place` bytes, by default those of a kept example."""
        least = self._bytes_at(self.features, Growth(examples=examples, terms=terms))
        each = self.per_row() if per_place is None else per_place
        what = f"{int(self.dual.counts[KEPT]) + examples:,} kept examples"
        return size_with_spare(needed, wanted, lambda size: least + (size - needed) * each, what, ADVICE)

    def answered(self, asked: list[Any], x: NDArray[Any]) -> NDArray[np.float64]:
        """What Python functions say of one example with all that are kept."""
        dual, kept = self.dual, int(self.dual.counts[KEPT])
        drops = int(dual.counts[DROPPED])
        if len(self.table) != kept or self.drops != drops or self.table.shape[1:] != x.shape[1:]:
            self.table, self.drops = table_of(rows_kept(dual.kept, kept), x.shape[1]), drops
        return np.ascontiguousarray(answers(asked, x, self.table)[:, 0])


def filed(state: DualState) -> Filed:
    dual = state.dual
    kept, entries = int(dual.counts[KEPT]), int(dual.counts[ENTRIES])
    rows = rows_kept(dual.kept, kept)
    return Filed(
        counts=dual.counts[:FILED].copy(),
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


def unfiled(told: Filed, features: int) -> Dual:
    """The inverse."""
    rows = Sparse(told.starts, told.indices.copy(), told.values.copy())
    kept = len(told.first)
    panels = kept > 0 and in_panels(features, kept, len(rows.values))
    compared = kept_from(rows, features, panels=panels)
    compared.squares[:kept] = told.squares
    counts = np.zeros(FRESH + 1, np.int64)
    counts[:FILED] = told.counts
    counts[END] = counts[TERMS]
    size = len(compared.begins)
    copies = {name: getattr(told, name).copy() for name in Filed._fields[7:]}
    own, first = _sized(told.own, size), _sized(told.first, size)
    return Dual(compared, counts, own, first, **copies, fresh=np.zeros(2, np.int64))


def blank(features: int, kind: Any, *, panels: bool) -> Dual:
    """A dual that has learned nothing."""
    return unfiled(nothing(kind), features)._replace(kept=fresh(features, np.dtype(kind), panels=panels))


def _sized(array: NDArray[Any], size: int) -> NDArray[Any]:
    larger = np.zeros(size, array.dtype)
    larger[: min(len(array), size)] = array[:size]
    return larger
