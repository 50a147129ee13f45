"""From the keys of labels, as parsers give them, to the sides that the learner knows: −1 and +1."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from novikoff._jit import compiled
from novikoff.errors import LabelError
from novikoff.stream.labels import Labels, merged_label, missing_label
from novikoff.stream.reading import Batch


@compiled
def known_signs(
    keys: NDArray[np.uint64], known: NDArray[np.uint64], signs: NDArray[np.int8], start: int, out: NDArray[np.int8]
) -> int:
    """Writes the sign of each key from `start` on; returns where it met one that is not known, or the end."""
    for i in range(start, len(keys)):
        k = 0
        while k < len(known) and known[k] != keys[i]:
            k += 1
        if k == len(known):
            return i
        out[i] = signs[k]
    return len(keys)


class Sides:
    """Labels become known in the order in which they come; several keys may spell one label."""

    def __init__(self, labels: Labels, *, leave_out: Counter[str] | None = None) -> None:
        """`leave_out` counts examples whose label can't be a class, which are left out then; without it, an error."""
        self.labels, self.leave_out = labels, leave_out
        self.keys = np.zeros(0, np.uint64)
        self.signs = np.zeros(0, np.int8)

    def of(self, batch: Batch) -> NDArray[np.int8]:
        """−1 or +1 for each example, 0 for one to be left out."""
        keys, out = batch.parsed.keys, np.empty(len(batch), np.int8)
        at = known_signs(keys, self.keys, self.signs, 0, out)
        while at < len(keys):
            sign = self._sign(batch, at)
            self.keys = np.append(self.keys, keys[at])
            self.signs = np.append(self.signs, np.int8(sign))
            at = known_signs(keys, self.keys, self.signs, at, out)
        if self.leave_out is not None:
            self.leave_out["label"] += int(np.count_nonzero(out == 0))
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
