"""Encoding of labels in files: from the keys of parsers to −1 and +1, class numbers, or sets of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any, Generic, TypeVar

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled_with_gil
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.labels.binary_labels import BinaryLabels, build_missing_label_error, merge_label, to_plain_label
from novikoff.data.labels.class_labels import ClassLabels, LabelSets
from novikoff.data.names.dictionary import NameTable
from novikoff.data.reader import FileBatch
from novikoff.errors import LabelError

ONE_LABEL_EXPECTED = "there must be one label: sets of labels are for MultiLabel (--multiclass multi-label)."

L = TypeVar("L", BinaryLabels, ClassLabels)


@compiled_with_gil
def look_up_codes(numbers: NDArray[np.uint32], codes: NDArray[Any], nothing: int, out: NDArray[Any]) -> int:
    """Write the code of each number; return how many of them are `nothing`."""
    count = 0
    for i in range(len(numbers)):
        out[i] = codes[numbers[i]]
        count += int(out[i] == nothing)
    return count


class _LabelEncoder(ABC, Generic[L]):
    """An encoder that learns labels in order of arrival; several keys may stand for one label.

    `leave_out` counts examples whose label can't be a class, which are left out; without it they are an error.
    """

    nothing: int
    """The code of an example to leave out."""

    def __init__(self, labels: L, *, leave_out: Counter[str] | None = None) -> None:
        self.labels: L = labels
        self.leave_out = leave_out
        self.table = NameTable()
        self.codes: NDArray[Any] = buffers.zeros(0, "int64")
        self.absent = 0
        """The number of examples of the last batch to leave out."""

    def encode(self, batch: FileBatch) -> Any:
        """Return the code of each example."""
        if batch.parsed.sets is not None:
            several = np.flatnonzero(np.diff(batch.parsed.sets[0]) != 1)
            if len(several):
                raise LabelError(f"{batch.get_location(int(several[0]))}: {ONE_LABEL_EXPECTED}")
        new: list[int] = []

        def number(at: int) -> int:
            new.append(self._code(batch, at))
            return len(self.codes) + len(new) - 1

        numbers = self.table.look_up_numbers(batch.parsed.keys, number)
        if new:
            self.codes = buffers.concatenate([self.codes, buffers.array(new, self.codes.dtype)])
        out: NDArray[Any] = buffers.empty(len(numbers), self.codes.dtype)
        self.absent = look_up_codes(numbers, self.codes, self.nothing, out)
        if self.absent and self.leave_out is not None:
            self.leave_out["label"] += self.absent
        return out

    def find_left_out(self, codes: Any) -> NDArray[np.bool_] | None:
        """Return which examples of the last batch to leave out; None if all are learned."""
        return np.asarray(codes == self.nothing) if self.absent else None

    def _code(self, batch: FileBatch, i: int) -> int:
        label: Any = False
        try:
            label = batch.parsed.label(i)
            if label is None:
                raise build_missing_label_error(batch.get_location(i))
        except LabelError as problem:
            if self.leave_out is not None:
                return self.nothing
            raise (problem if label is None else LabelError(f"{batch.get_location(i)}: {problem}")) from None
        try:
            return self._encode_label(label)
        except LabelError as problem:
            raise type(problem)(f"{batch.get_location(i)}: {problem}") from None

    @abstractmethod
    def _encode_label(self, label: Any) -> int:
        """Return the code of a label."""


class BinaryLabelEncoder(_LabelEncoder[BinaryLabels]):
    """Encoder to −1 or +1 for each example, 0 for one to leave out."""

    nothing = 0

    def __init__(self, labels: BinaryLabels, *, leave_out: Counter[str] | None = None) -> None:
        super().__init__(labels, leave_out=leave_out)
        self.codes = buffers.zeros(0, "int8")

    def _encode_label(self, label: Any) -> int:
        if self.labels.rest:
            self.labels.note_other(label)
        return int(self.labels.sign(merge_label(label, self.labels)))


class ClassLabelEncoder(_LabelEncoder[ClassLabels]):
    """Encoder to a class number for each example, −1 for one to leave out."""

    nothing = -1

    def _encode_label(self, label: Any) -> int:
        return self.labels.number(label)


class MultilabelEncoder(_LabelEncoder[ClassLabels]):
    """Encoder to the numbers of the labels of each example. A single label is a set of one; a list of labels is a set,
    too."""

    nothing = -1

    def __init__(self, labels: ClassLabels, *, leave_out: Counter[str] | None = None) -> None:
        super().__init__(labels, leave_out=leave_out)
        self.sets: list[list[int]] = []

    def encode(self, batch: FileBatch) -> LabelSets:
        label_sets = batch.parsed.sets
        if label_sets is not None:
            starts, values = label_sets[0], label_sets[1][: label_sets[0][-1]]
            distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
            numbers = buffers.zeros(len(distinct), "int64")
            for k in np.argsort(first):  # in the order of arrival
                numbers[k] = self.labels.number(to_plain_label(distinct[k]))
            return LabelSets(starts.copy(), numbers[inverse])
        codes = super().encode(batch)
        members = [self.sets[code] if code >= 0 else [] for code in codes.tolist()]
        lengths = buffers.array([len(m) for m in members], "int64")
        together = buffers.array([c for m in members for c in m], "int64")
        return LabelSets(buffers.concatenate([[0], np.cumsum(lengths)]), together, absent=codes < 0)

    def find_left_out(self, codes: LabelSets) -> NDArray[np.bool_] | None:
        return codes.absent if codes.absent is not None and codes.absent.any() else None

    def _encode_label(self, label: Any) -> int:
        labels = label if isinstance(label, list) else [label]
        self.sets.append(list(dict.fromkeys(self.labels.number(one) for one in labels)))
        return len(self.sets) - 1
