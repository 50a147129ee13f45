"""From the keys of labels, as parsers give them, to the sides that the learner knows: −1 and +1."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff.errors import LabelError
from novikoff.stream.dictionary import NameTable
from novikoff.stream.labels import Labels, merged_label, missing_label
from novikoff.stream.reading import Batch


class Sides:
    """Labels become known in the order in which they come; several keys may spell one label."""

    def __init__(self, labels: Labels, *, leave_out: Counter[str] | None = None) -> None:
        """`leave_out` counts examples whose label can't be a class, which are left out then; without it, an error."""
        self.labels, self.leave_out = labels, leave_out
        self.table = NameTable()
        self.signs = np.zeros(0, np.int8)

    def of(self, batch: Batch) -> NDArray[np.int8]:
        """−1 or +1 for each example, 0 for one to be left out."""
        new: list[float] = []

        def number(at: int) -> int:
            new.append(self._sign(batch, at))
            return len(self.signs) + len(new) - 1

        numbers = self.table.numbers_of(batch.parsed.keys, number)
        if new:
            self.signs = np.concatenate([self.signs, np.array(new, np.int8)])
        out: NDArray[np.int8] = self.signs[numbers]
        left_out = int(np.count_nonzero(out == 0))
        if left_out and self.leave_out is not None:
            self.leave_out["label"] += left_out
        return out

    def _sign(self, batch: Batch, i: int) -> float:
        label: Any = False
        try:
            label = batch.parsed.label(i)
            if label is None:
                raise missing_label(batch.where(i))
        except LabelError as problem:
            if self.leave_out is not None:
                return 0.0
            raise (problem if label is None else LabelError(f"{batch.where(i)}: {problem}")) from None
        try:
            return self.labels.sign(merged_label(label, self.labels))
        except LabelError as problem:
            raise LabelError(f"{batch.where(i)}: {problem}") from None
