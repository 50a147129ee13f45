"""Labels of any number of classes: any values, encoded as numbers from 0.

If all classes are known in advance (fit, or partial_fit with `classes`), they are sorted. In a stream a new class gets
the next number. Sets of labels are numbered likewise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self, TypeVar

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.labels.binary_labels import convert_label, find_unique, to_plain_label
from novikoff.data.validation import validate_y
from novikoff.errors import LabelError

K = TypeVar("K", bound=Any)


class ClassLabels:
    """The classes known so far, in the order of their numbers."""

    def __init__(self, known: Iterable[Any] = ()) -> None:
        self.numbers: dict[Any, int] = {}
        for label in map(convert_label, known):
            check_same_type(self.numbers, label)
            self.numbers.setdefault(label, len(self.numbers))
        self.declared_count = len(self.numbers)
        """The number of classes that were declared before their first example."""

    @staticmethod
    def parse(y: Any, examples: int) -> Any:
        """Return y as an array of one label for each example."""
        return validate_y(y, examples)

    @classmethod
    def from_file(cls, listed: list[Any], *, rest: str) -> ClassLabels:
        """Return the labels that a model file lists."""
        return cls(listed)

    @classmethod
    def sorted(cls, y: Iterable[Any]) -> Self:
        labels = {to_plain_label(label) for label in y}
        if not labels:
            raise LabelError("There are no labels: every row needs one.")
        return cls(sort_labels(labels))

    @classmethod
    def found(cls, y: Any) -> tuple[Any, Self]:
        """Return the number of each label of y, and the sorted classes; y contains all of them."""
        values, _, inverse = find_unique(y)
        return inverse, cls(map(to_plain_label, values))

    def named(self, classes: Any) -> Self:
        """Return these classes and the declared ones; a known class keeps its number."""
        declared = self.sorted(np.asarray(classes).tolist() if isinstance(classes, np.ndarray) else classes)
        return type(self)([*self.numbers, *declared.numbers])

    def number(self, label: Any) -> int:
        """Return the number of a class; a new class becomes known."""
        try:
            found = self.numbers.get(label)
        except TypeError:
            raise LabelError(f"A label must be a whole number, a text or a truth value, not {label!r}.") from None
        if found is not None:
            return found
        label = to_plain_label(label)
        check_same_type(self.numbers, label)
        return self.numbers.setdefault(label, len(self.numbers))

    def encode(self, y: Any) -> tuple[Any, Self]:
        """Return the number of each label, and the classes known after that; self is not changed."""
        return encode_in_order(y, self.copy())

    def encode_one(self, label: Any) -> tuple[Any, Self]:
        """Return the number of one label as an array, and the classes known after that."""
        known = self.copy()
        return np.array([known.number(label)]), known

    def build_encoder(self, left_out: Any) -> Any:
        """Return an encoder of labels in files; `left_out` counts examples without a label."""
        from novikoff.data.labels.label_encoding import ClassLabelEncoder

        return ClassLabelEncoder(self, leave_out=left_out)

    def format(self, label: Any) -> str:
        """Return a label, predicted or given, as a text."""
        return str(label)

    def encode_sets(self, sets: Sequence[Iterable[Any]]) -> tuple[LabelSets, Self]:
        """Return the numbers of the labels of each example, and the labels known after that."""
        known, starts, members = self.copy(), [0], list[int]()
        for labels in sets:
            if isinstance(labels, str):
                raise LabelError(f"A set of labels must be a list or a set, got the text {labels!r}.")
            members += dict.fromkeys(known.number(label) for label in labels)
            starts.append(len(members))
        return LabelSets(np.array(starts, np.int64), np.array(members, np.int64)), known

    def copy(self) -> Self:
        twin = type(self)()
        twin.numbers, twin.declared_count = dict(self.numbers), self.declared_count
        return twin

    def forget(self, count: int) -> None:
        """Drop all classes but the first `count`."""
        while len(self.numbers) > count:
            self.numbers.popitem()

    def __len__(self) -> int:
        return len(self.numbers)

    def known(self) -> list[Any]:
        return list(self.numbers)

    def listed(self) -> list[Any]:
        """Return the classes for a file."""
        return self.known()


class LabelSets:
    """The labels of each example, by number; can be sliced like an array."""

    def __init__(
        self, starts: NDArray[np.int64], members: NDArray[np.int64], absent: NDArray[np.bool_] | None = None
    ) -> None:
        self.starts, self.members, self.absent = starts, members, absent
        """Store the numbers of all labels and the end of each example; `absent` are examples to leave out, if any."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, part: slice) -> LabelSets:
        start, stop, _ = part.indices(len(self))
        return LabelSets(
            self.starts[start : stop + 1], self.members, None if self.absent is None else self.absent[start:stop]
        )

    def gather(self, chosen: NDArray[np.int64]) -> LabelSets:
        """Return a copy with the chosen examples, in this order."""
        lengths = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], lengths)
        return LabelSets(starts, self.members[places], None if self.absent is None else self.absent[chosen])


def encode_in_order(y: NDArray[Any], known: K) -> tuple[NDArray[np.int64], K]:
    """Return the number of each label; new labels are added to the known ones, in order of arrival."""
    values, first, inverse = find_unique(y)
    numbers: NDArray[np.int64] = np.zeros(len(values), np.int64)
    for k in np.argsort(first):
        numbers[k] = known.number(values[k])
    return numbers[inverse], known


def check_same_type(known: Iterable[Any], label: Any) -> None:
    first = next(iter(known), label)
    if isinstance(first, str) != isinstance(label, str):
        raise LabelError(f"Labels must be of one type, all texts or all numbers, got {first!r} and {label!r}.")


def sort_labels(labels: Iterable[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        raise LabelError("Labels must be of one type: all texts or all numbers.") from None
