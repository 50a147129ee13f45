"""Labels that may grow from two to more: −1 and +1 for two labels, classes from the third on.

The negative label has number 0 and the positive one 1, by the rules of `binary_labels.py`; further labels get the
numbers 2, 3, … If more than two labels are known in advance, they are sorted.
"""

from __future__ import annotations

from typing import Any

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.labels.binary_labels import BinaryLabels, find_distinct, merge_label, to_plain_label
from novikoff.data.labels.class_labels import ClassLabels, check_same_type, encode_in_order, sort_labels
from novikoff.data.validation import validate_y
from novikoff.errors import LabelError


class GrowingLabels:
    """Two labels, or classes from the third label on."""

    def __init__(self, two: BinaryLabels | None = None, more: ClassLabels | None = None) -> None:
        self.two = BinaryLabels() if two is None else two
        self.more = more
        """All labels as classes, from the third on."""
        self.declared_count = 0 if more is None else len(more)
        """The number of labels that were declared before their first example, if there are more than two."""

    @staticmethod
    def parse(y: Any, examples: int) -> Any:
        """Return y as an array of one label for each example."""
        return validate_y(y, examples)

    @classmethod
    def from_file(cls, listed: list[Any], *, rest: str) -> GrowingLabels:
        """Return the labels that a model file lists."""
        if len(listed) < 2:
            raise LabelError(f"there must be at least two labels, got {listed!r}.")
        return cls(BinaryLabels(*listed, rest=rest)) if len(listed) == 2 else cls.from_known(listed)

    @classmethod
    def found(cls, y: NDArray[Any]) -> tuple[NDArray[np.int64], GrowingLabels]:
        """Return the number of each label of y, and the labels; y contains all of them."""
        return cls.from_known(find_distinct(y)).encode(y)

    @classmethod
    def from_known(cls, known: list[Any]) -> GrowingLabels:
        """Return labels that are all known in advance."""
        if len(known) < 3:
            return cls(BinaryLabels.sorted(np.array(known, object) if isinstance(known[0], str) else known))
        return cls(BinaryLabels(*known[:2]), ClassLabels(known))

    @property
    def rest(self) -> str:
        """Set if the negative label stands for all labels other than the positive one (see `BinaryLabels.rest`)."""
        return self.two.rest

    @property
    def negative(self) -> Any:
        return self.two.negative

    @property
    def positive(self) -> Any:
        return self.two.positive

    def named(self, classes: Any) -> GrowingLabels:
        """Return these labels after others were declared; a known label keeps its number."""
        declared = sort_labels(
            {to_plain_label(label) for label in (classes.tolist() if isinstance(classes, np.ndarray) else classes)}
        )
        if self.more is None and len({*declared, *self.two.sides}) <= 2:
            return GrowingLabels(self.two.named(declared))
        if len(self) == 0:
            return GrowingLabels.from_known(declared)
        if self.more is None and len(self) < 2:
            raise LabelError(
                f"classes must be given in the first call, not after {self.known()}: start with a new model, or leave"
                " them out."
            )
        return GrowingLabels(self.two, (self.more or ClassLabels(self.known())).named(declared))

    def number(self, label: Any) -> int:
        """Return the number of a label; a new label becomes known."""
        if self.two.rest:
            self.two.note_other(label)
            label = merge_label(label, self.two)
        if self.more is None:
            label = to_plain_label(label)
            if label in self.two.sides or len(self.two) < 2:
                check_same_type(self.two.sides, label)
                return int(self.two.sign(label) > 0.0)
            self.more = ClassLabels([self.two.negative, self.two.positive])
        return self.more.number(label)

    def encode_one(self, label: Any) -> tuple[NDArray[np.int64], GrowingLabels]:
        """Return the number of one label as an array, and the labels known after that."""
        known = self.copy()
        return np.array([known.number(label)]), known

    def build_encoder(self, left_out: Any) -> Any:
        """Return an encoder of labels in files; `left_out` counts examples without a label."""
        from novikoff.data.labels.label_encoding import ClassLabelEncoder

        return ClassLabelEncoder(self, leave_out=left_out)  # type: ignore[arg-type]

    def format(self, label: Any) -> str:
        """Return a label, predicted or given, as a text."""
        return str(merge_label(label, self.two))

    def encode(self, y: NDArray[Any]) -> tuple[NDArray[np.int64], GrowingLabels]:
        """Return the number of each label, and the labels known after that; self is not changed."""
        return encode_in_order(y, self.copy())

    def copy(self) -> GrowingLabels:
        twin = GrowingLabels(BinaryLabels(self.two.negative, self.two.positive, rest=self.two.rest))
        twin.two.sides = dict(self.two.sides)
        twin.more, twin.declared_count = None if self.more is None else self.more.copy(), self.declared_count
        return twin

    def forget(self, count: int) -> None:
        """Drop all labels but the first `count`."""
        if count <= 2:
            self.more = None
            self.two.forget(count)
        elif self.more is not None:
            self.more.forget(count)

    def __len__(self) -> int:
        return len(self.two) if self.more is None else len(self.more)

    def known(self) -> list[Any]:
        return self.two.known() if self.more is None else self.more.known()

    def listed(self) -> list[Any]:
        """Return the labels for a file."""
        return self.two.listed() if self.more is None else self.more.listed()
