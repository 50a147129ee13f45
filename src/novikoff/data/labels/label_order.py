"""Detection of data that is sorted by label, from the number of label changes.

A model that learns one example at a time forgets early classes if all examples of a class come together. With n
examples, of which n_c have label c, a random order has (n² − Σ n_c²)/n changes of the label on average. Data is called
sorted if it has less than a tenth of them. A significance test would also fire on ordinary streams, whose labels are
correlated over time.
"""

from __future__ import annotations

import warnings
from typing import Any

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled_with_gil
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.errors import SortedLabelsWarning, find_user_stacklevel

MIN_EXPECTED_CHANGES = 20
MAX_CHANGE_RATIO = 0.1
SORTED_LABELS_REASON = "A model that learns one example at a time forgets early classes on sorted data."

EXAMPLES, CHANGES, LAST, COUNTS = 0, 1, 2, 4
"""Places in the tally. The count of code c is at COUNTS + c; codes are −1 and +1 for two labels, 0, 1, … for more."""
NO_LABEL = -2
INITIAL_CLASS_CAPACITY = 64  # classes
MAX_PENDING_EXAMPLES = 8192


@compiled_with_gil
def tally_labels(codes: NDArray[Any], absent: int, tally: NDArray[np.int64]) -> int:
    """Add codes to the tally, in their order; codes equal to `absent` are skipped. Returns the number of changes."""
    skipped, differ, positive = 0, 0, 0
    if len(codes) > 0:
        skipped, positive = int(codes[0] == absent), int(codes[0] > 0)
    for i in range(1, len(codes)):  # the compiler vectorises this loop
        skipped += int(codes[i] == absent)
        differ += int(codes[i] != codes[i - 1])
        positive += int(codes[i] > 0)
    changes, last = 0, int(tally[LAST])
    if skipped == 0 and len(codes) > 0:  # the usual case
        changes = differ + int(last != NO_LABEL and last != codes[0])
        last = int(codes[len(codes) - 1])
        if absent == 0:
            tally[COUNTS + 1] += positive
            tally[COUNTS - 1] += len(codes) - positive
        else:
            for i in range(len(codes)):
                tally[COUNTS + int(codes[i])] += 1
    else:
        for i in range(len(codes)):
            code = int(codes[i])
            if code != absent:
                if last != NO_LABEL:
                    changes += int(last != code)
                last = code
                tally[COUNTS + code] += 1
    tally[EXAMPLES] += len(codes) - skipped
    tally[CHANGES] += changes
    tally[LAST] = last
    return changes


class LabelOrder:
    """Number of label changes and of examples of each class, over the examples that are learned in one pass.

    >>> order = LabelOrder()
    >>> order.add(np.repeat([0, 1, 2], 50), classes=3)
    >>> order.changes, order.expected_changes, order.is_sorted
    (2, 100.0, True)
    """

    def __init__(self, *, warns: bool = True) -> None:
        self.warns = warns
        """Whether `warn` still has something to say: a run warns once."""
        self._tally = _empty_tally(INITIAL_CLASS_CAPACITY)
        self._pending: list[Any] = []
        """Codes of small batches, which are added up together: a call of compiled code costs microseconds."""
        self._waiting, self._wait_for = 0, 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelOrder):
            return NotImplemented
        mine, theirs = self._flush_and_get_tally().tolist(), other._flush_and_get_tally().tolist()
        return mine[:COUNTS] == theirs[:COUNTS] and self.class_counts == other.class_counts

    __hash__ = None  # type: ignore[assignment]

    def add(self, codes: Any, classes: int) -> None:
        """Add the codes of some examples in the order in which they are learned.

        Codes are −1 and +1 (int8; 0 for an example that is left out), or class numbers below `classes` (−1 for one
        that is left out). Sets of labels are not counted.
        """
        if hasattr(codes, "dtype"):
            self._ensure_capacity(classes)
            self._waiting += len(codes)
            if self._waiting >= self._wait_for:
                self._pending.append(codes)
                self._add_pending()
            else:
                self._pending.append(codes.copy())  # the array may be filled with other codes meanwhile

    def add_one(self, code: int) -> None:
        """Add the code of one example."""
        if self._pending:
            self._add_pending()
        self._ensure_capacity(code + 1)
        tally = self._tally
        tally[EXAMPLES] += 1
        tally[CHANGES] += int(tally[LAST] not in (NO_LABEL, code))
        tally[LAST] = code
        tally[COUNTS + code] += 1

    def with_class_numbers(self) -> LabelOrder:
        """Return the same counts for codes 0 and 1 in place of −1 and +1: after a third label has arrived."""
        old, made = self._flush_and_get_tally(), LabelOrder(warns=self.warns)
        made._tally[: len(old)] = old[: len(made._tally)]
        made._tally[COUNTS - 1], made._tally[COUNTS] = 0, old[COUNTS - 1]
        made._tally[LAST] = NO_LABEL if old[LAST] == NO_LABEL else (old[LAST] + 1) // 2
        return made

    def merge(self, following: LabelOrder) -> None:
        """Add the counts of the examples that follow these. Which label the first of them has is not known: the label
        is taken to change there."""
        theirs = following._flush_and_get_tally()
        self._tally[CHANGES] += int(self.examples > 0 and following.examples > 0)
        self._ensure_capacity(len(theirs) - COUNTS)
        for place in (EXAMPLES, CHANGES):
            self._tally[place] += theirs[place]
        self._tally[COUNTS - 1 : len(theirs)] += theirs[COUNTS - 1 :]
        self._tally[LAST] = theirs[LAST]

    def _add_pending(self) -> None:
        codes = self._pending[0] if len(self._pending) == 1 else buffers.concatenate(self._pending)
        self._pending, self._waiting = [], 0
        tally_labels(codes, 0 if codes.itemsize == 1 else -1, self._tally)
        self._wait_for = min(MAX_PENDING_EXAMPLES, max(1, int(self._tally[EXAMPLES]) // 4))

    def _ensure_capacity(self, classes: int) -> None:
        capacity = len(self._tally) - COUNTS
        if classes > capacity:
            old, self._tally = self._tally, _empty_tally(max(classes, 2 * capacity))
            self._tally[: len(old)] = old

    def _flush_and_get_tally(self) -> NDArray[np.int64]:
        if self._pending:
            self._add_pending()
        return self._tally

    @property
    def examples(self) -> int:
        return int(self._flush_and_get_tally()[EXAMPLES])

    @property
    def changes(self) -> int:
        """How many examples have another label than the example before."""
        return int(self._flush_and_get_tally()[CHANGES])

    @property
    def class_counts(self) -> list[int]:
        """How many examples there are of each code, −1 first, up to the last one that occurs."""
        counts: list[int] = self._flush_and_get_tally()[COUNTS - 1 :].tolist()
        while counts and counts[-1] == 0:
            counts.pop()
        return counts

    @property
    def expected_changes(self) -> float:
        """The mean number of changes over all orders of these labels."""
        n = self.examples
        return (n * n - sum(count * count for count in self.class_counts)) / n if n else 0.0

    @property
    def is_sorted(self) -> bool:
        if not self.changes < MAX_CHANGE_RATIO * self.examples:  # the usual case: fewer than `examples` are expected
            return False
        expected = self.expected_changes
        return expected >= MIN_EXPECTED_CHANGES and self.changes < MAX_CHANGE_RATIO * expected

    def describe(self, subject: str) -> str:
        """Return what was seen and why it matters, in two sentences."""
        changed = "once" if self.changes == 1 else f"{self.changes:,} times"
        seen = f"the label changed {changed} in {self.examples:,} examples"
        return (
            f"{subject} looks sorted by label: {seen}, about {self.expected_changes:,.0f} changes are expected in"
            f" random order. {SORTED_LABELS_REASON}"
        )

    def warn(self, advice: str) -> None:
        """Issue SortedLabelsWarning if the labels are sorted, once. Small batches are looked at now and then."""
        if self.warns and not self._pending and self.is_sorted:
            self.warns = False
            warnings.warn(
                f"{self.describe('The data')} {advice}", SortedLabelsWarning, stacklevel=find_user_stacklevel()
            )


def _empty_tally(classes: int) -> NDArray[np.int64]:
    tally = buffers.zeros(COUNTS + classes, "int64")
    tally[LAST] = NO_LABEL
    return tally
