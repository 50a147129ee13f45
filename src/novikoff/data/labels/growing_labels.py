"""Labels that may stay two or become more: −1 and +1 as long as there are two, classes from the third on.

Numbers are 0 for the negative and 1 for the positive label, as `labels.py` decides which is which; the third label and
those after it get the numbers 2, 3, … Where all are known beforehand and more than two, they are sorted.
"""

from __future__ import annotations

from typing import Any

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.errors import LabelError
from novikoff.data.labels.class_labels import (Classes, coded, ordered, same_kind)
from novikoff.data.labels.binary_labels import Labels, merged_label, plain


class Growing:
    def __init__(self, two: Labels | None = None, more: Classes | None = None) -> None:
        self.two = Labels() if two is None else two
        self.more = more
        """All of them, from the third on."""
        self.told = 0 if more is None else len(more)
        """How many were known before the first example of theirs came, where they are more than two."""

    @classmethod
    def of(cls, known: list[Any]) -> Growing:
        """All labels that there are, beforehand."""
        if len(known) < 3:
            return cls(Labels.sorted(np.array(known, object) if isinstance(known[0], str) else known))
        return cls(Labels(*known[:2]), Classes(known))

    @property
    def rest(self) -> str:
        """Set if the negative label stands for all labels other than the positive one (see `Labels.rest`)."""
        return self.two.rest

    @property
    def negative(self) -> Any:
        return self.two.negative

    @property
    def positive(self) -> Any:
        return self.two.positive

    def named(self, classes: Any) -> Growing:
        """These after being told of others; what is known keeps its number."""
        told = ordered({plain(label) for label in (classes.tolist() if isinstance(classes, np.ndarray) else classes)})
        if self.more is None and len({*told, *self.two.sides}) <= 2:
            return Growing(self.two.named(told))
        if len(self) == 0:
            return Growing.of(told)
        if self.more is None and len(self) < 2:
            raise LabelError(
                f"classes must be named at the first call, not after {self.known()}: begin anew, or leave them out."
            )
        return Growing(self.two, (self.more or Classes(self.known())).named(told))

    def number(self, label: Any) -> int:
        """The number of a label, which becomes known if it was not."""
        if self.two.rest:
            self.two.note_other(label)
            label = merged_label(label, self.two)
        if self.more is None:
            label = plain(label)
            if label in self.two.sides or len(self.two) < 2:
                same_kind(self.two.sides, label)
                return int(self.two.sign(label) > 0.0)
            self.more = Classes([self.two.negative, self.two.positive])
        return self.more.number(label)

    def coded(self, y: NDArray[Any]) -> tuple[NDArray[np.int64], Growing]:
        """The number of each label, and the labels that are known then: self is left as it is."""
        return coded(y, self.copy())

    def copy(self) -> Growing:
        twin = Growing(Labels(self.two.negative, self.two.positive, rest=self.two.rest))
        twin.two.sides = dict(self.two.sides)
        twin.more, twin.told = None if self.more is None else self.more.copy(), self.told
        return twin

    def forget(self, count: int) -> None:
        """Back to the first `count` labels."""
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
        """For a file."""
        return self.two.listed() if self.more is None else self.more.listed()
