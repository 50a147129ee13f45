"""What every table has, whatever the file: columns with names, which of them are numbers, and one that is the label.

A table whose features are all numbers gives dense rows, in which a missing value is 0. Any other gives hashed rows, and
so does one for which --bits is said: a number is the feature named as its column, a category the feature column=value
with value 1, hashed under the hash of the column's name; a missing value is no feature. Columns without names are named
by their number from 1.

The label is the column that --label says, by name or number from 1; else the one that is named label, class, target or
y; else the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._records import dataclass
from novikoff.errors import InputError
from novikoff.stream.bag import Slots, slots
from novikoff.stream.feed import Block
from novikoff.stream.formats.cells import ABSENT, CATEGORY, CELLS, NUMERIC, REASONS, TARGET, Out
from novikoff.stream.formats.contract import Format, Parser, Problem, number_label, shown
from novikoff.stream.formats.survey import is_label_name
from novikoff.stream.hashing import DEFAULT_BITS, hashed


@dataclass
class Opened:
    """What is known of a file when it was opened."""

    narrow: bool = False
    """Whether it has all columns but that of the label."""
    certain: bool = False
    """Whether its names say so."""


@dataclass(frozen=True)
class Table(Format):
    names: tuple[str, ...]
    """Of all columns, in the order of the file."""
    numeric: tuple[bool, ...]
    """Whether each column is numbers."""
    target: int
    """The column of the label."""
    label: str
    """That column as the user has said it, or else by its name."""
    header: bool
    """Whether the names are from the file."""
    bits: int | None
    """Of hashed features, 0 for a dictionary; None where rows are dense."""
    signed: bool
    largest: bool

    @property
    def columns(self) -> list[str] | None:
        return self.feature_columns if self.header and self.bits is None else None

    @property
    def bits_used(self) -> int | None:
        return self.bits

    @property
    def feature_columns(self) -> list[str]:
        return [name for c, name in enumerate(self.names) if c != self.target]

    def feature_name(self, block: Block, span: NDArray[np.int64]) -> str:
        """A span is the column, and from where to where its value stands."""
        column, start, stop = (int(place) for place in span[:3])
        name = self.names[column]
        return name if self.numeric[column] else f"{name}={block.spelled(start, stop)}"

    @cached_property
    def opened(self) -> Opened:
        """Of the file that is being read. It belongs to no model."""
        return Opened()

    def same_columns(self, names: Sequence[str], title: str) -> None:
        """Raises InputError where a file has other columns than those before."""
        if tuple(names) == self.names:
            return
        for k, (mine, came) in enumerate(zip(self.names, names, strict=False)):
            if mine != came:
                raise InputError(
                    f"{title}: its columns must be those of the data before, but column {k + 1} is {came!r} and not"
                    f" {mine!r}."
                )
        raise InputError(f"{title}: must have {len(self.names)} columns as the data before, but has {len(names)}.")


def unique_names(names: Sequence[str], title: str) -> tuple[str, ...]:
    """Columns without a name are named by their number; InputError where two have the same name."""
    filled = [name or str(k + 1) for k, name in enumerate(names)]
    first: dict[str, int] = {}
    for k, name in enumerate(filled):
        if first.setdefault(name, k) != k:
            raise InputError(f"{title}: columns {first[name] + 1} and {k + 1} are both named {name!r}: rename one.")
    return tuple(filled)


def settled_columns(
    options: Any, names: Sequence[str], numeric: Sequence[bool], title: str, *, header: bool
) -> dict[str, Any]:
    """The fields of `Table`, from what a first look has found and the user has said."""
    if len(names) < 2:
        raise InputError(f"{title}: has one column only, but there must be a label and at least one feature.")
    target = label_column(options.label, names, title, header=header)
    dense = all(kind for c, kind in enumerate(numeric) if c != target) and options.bits is None
    return {
        "names": tuple(names),
        "numeric": tuple(numeric),
        "target": target,
        "label": options.label or names[target],
        "header": header,
        "bits": None if dense else DEFAULT_BITS if options.bits is None else options.bits,
        "signed": bool(options.signed) and not dense,
        "largest": bool(options.largest) and not dense,
    }


def label_column(said: str | None, names: Sequence[str], title: str, *, header: bool) -> int:
    if said is not None:
        if header and said in names:
            return list(names).index(said)
        if said.isdecimal() and 1 <= int(said) <= len(names):
            return int(said) - 1
        known = ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
        raise InputError(f"{title}: --label must be a column ({known}) or a number up to {len(names)}, not {said!r}.")
    named = [k for k, name in enumerate(names) if is_label_name(name.encode())] if header else []
    if len(named) > 1:
        both = " and ".join(repr(names[k]) for k in named)
        raise InputError(f"{title}: the columns {both} may both be the label: say which by --label.")
    return named[0] if named else 0


class TableParser(Parser):
    """What parsers of tables share: room for labels and problems, and for hashed features."""

    def __init__(self, table: Table, named: bool, unlabelled: bool) -> None:
        self.table, self.named, self.unlabelled = table, named, unlabelled
        self.width = len(table.names) - 1
        kinds = [NUMERIC if numeric else CATEGORY for numeric in table.numeric]
        kinds[table.target] = TARGET
        self.kinds = np.array(kinds, np.uint8)
        self.seeds = np.array([hashed(name.encode()) for name in table.names], np.uint64)

    @property
    def cells(self) -> int:
        """How many a record must have."""
        return len(self.table.names)

    def make_slots(self, terms: int) -> Slots:
        """Room for so many terms; which slots were ever used is not forgotten."""
        bits = self.table.bits or 0
        made = slots(terms, bits=bits, signed=self.table.signed, named=self.named, largest=self.table.largest)
        made.used[: len(self.used)] = self.used
        self.used = made.used
        return made

    def make_out(self, rows: int) -> Out:
        return Out(
            keys=np.zeros(rows, np.uint64),
            labels=np.zeros((rows, 2), np.int64),
            line_of=np.zeros(rows, np.int64),
            problems=np.zeros((rows, 5), np.int64),
        )

    def label(
        self, block: Block, keys: NDArray[np.uint64], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> Callable[[int], Any]:
        """The label of row i: a number by its key, a text by where it stands in the block."""
        if self.table.numeric[self.table.target]:
            return number_label(keys)
        return lambda i: None if starts[i] == ABSENT else block.spelled(int(starts[i]), int(stops[i]))

    def problems(self, block: Block, out: Out, wrong: int) -> list[Problem]:
        return [
            self.problem(line, reason, column, str(start) if reason == CELLS else shown(block, start, stop))
            for line, reason, column, start, stop in out.problems[:wrong].tolist()
        ]

    def problem(self, line: int, reason: int, column: int, came: str) -> Problem:
        """A bad line in words."""
        kind, sentence = REASONS[reason]
        name = repr(self.table.names[column]) if self.table.header else str(column + 1)
        return Problem(line, kind, sentence.format(expected=self.cells, column=name, came=came))
