"""Labels of two classes: any two values, encoded as −1 and +1.

If all labels are known in advance (fit, or partial_fit with `classes`), they are sorted and the larger one is +1. In a
stream the first label determines the signs: a positive number or True is +1, any other label −1, and the second label
gets the other sign. For −1/+1, 0/1 and False/True both rules agree.
"""

from __future__ import annotations

import math
from typing import Any

from novikoff._compiled import buffers
from novikoff._compiled.jit import compiled_read_only
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.data.validation import validate_y
from novikoff.errors import InputError, LabelError, TooManyLabelsError

MAX_LABEL_RANGE = 1 << 16  # labels
MAX_LABEL_NUMBER = 10**15
"""Largest size of numeric labels, which is the limit of values: equal for every reader, the server and Python."""
ALL_EQUAL, THIRD_LABEL = -1, -2
UNSEEN, ONE, SEVERAL = "unseen", "one", "several"


class BinaryLabels:
    """The two labels of a binary learner, as they become known: `negative` or `positive` may be missing."""

    def __init__(self, negative: Any = None, positive: Any = None, *, rest: str = "") -> None:
        self.negative = negative
        self.positive = positive
        self.rest = rest
        """Set if the negative label stands for all labels other than the positive one: how many of these were seen, as
        "unseen", "one" or "several"."""
        self.sides: dict[Any, float] = {}
        """−1 or +1 for each known label, in order of arrival."""
        for label, sign in ((negative, -1.0), (positive, 1.0)):
            if label is not None:
                self.sides[label] = sign

    @staticmethod
    def parse(y: Any, examples: int) -> Any:
        """Return y as an array of one label for each example."""
        return validate_y(y, examples)

    @classmethod
    def from_file(cls, listed: list[Any], *, rest: str) -> BinaryLabels:
        """Return the labels that a model file lists."""
        return cls(*listed, rest=rest)

    @classmethod
    def sorted(cls, known: Any) -> BinaryLabels:
        values = find_distinct(np.asarray(known))
        if len(values) < 2:
            raise LabelError(
                f"There must be two classes, but all labels are {', '.join(map(repr, values)) or 'missing'}: with one"
                " class there is nothing to tell apart. In a stream, name both with partial_fit(..., classes=[...])."
            )
        if len(values) > 2:
            raise build_too_many_labels_error(values)
        return cls(*values)

    @classmethod
    def found(cls, y: NDArray[Any]) -> tuple[NDArray[np.int8], BinaryLabels]:
        """Return −1 or +1 for each label of y, and the labels; y contains all labels."""
        split = split_in_two(y)
        if split is None:
            return cls.sorted(y).encode(y)
        negative, positive, signs = split
        return signs, cls(negative, positive)

    def named(self, classes: Any) -> BinaryLabels:
        """Return these labels after both classes were declared."""
        declared = BinaryLabels.sorted(classes)
        if set(self.sides) - set(declared.sides):
            raise LabelError(f"classes must contain the known labels {self.known()}, got {declared.known()}.")
        return self if len(self) == 2 else declared if not self.sides else self

    def encode(self, y: NDArray[Any]) -> tuple[NDArray[np.int8], BinaryLabels]:
        """Return −1 or +1 for each label, and the labels known after that; self is not changed."""
        if len(self) == 2 and y.dtype.kind in "biuf" and isinstance(self.positive, int):  # the usual case, quickly
            positive = y == self.positive
            if np.count_nonzero(positive) + np.count_nonzero(y == self.negative) == len(y):
                return _to_signs(positive), BinaryLabels(self.negative, self.positive)
        values = find_distinct(y)
        if len(values) > 2:
            raise build_too_many_labels_error(values)
        known = BinaryLabels(self.negative, self.positive, rest=self.rest)
        low, high = values[0], values[-1]
        for label in (to_plain_label(y[0]), low, high):  # in the order of arrival
            known.sign(label)
        upper, lower = int(known.sign(high)), int(known.sign(low))
        return np.asarray(y == high).view("int8") * np.int8(upper - lower) + np.int8(lower), known

    def encode_one(self, label: Any) -> tuple[NDArray[np.int8], BinaryLabels]:
        """Return −1 or +1 for one label as an array; a new label becomes known."""
        return np.array([self.sign(label)], np.int8), self

    def build_encoder(self, left_out: Any) -> Any:
        """Return an encoder of labels in files; `left_out` counts examples without a label."""
        from novikoff.data.labels.label_encoding import BinaryLabelEncoder

        return BinaryLabelEncoder(self, leave_out=left_out)

    def format(self, label: Any) -> str:
        """Return a label, predicted or given, as a text."""
        return str(merge_label(label, self))

    def sign(self, label: Any) -> float:
        """Return −1 or +1 for one label; a new label becomes known."""
        try:
            sign = self.sides.get(label)
        except TypeError:
            raise LabelError(f"A label must be a whole number, a text or a truth value, not {label!r}.") from None
        return self._learn(to_plain_label(label)) if sign is None else sign

    def _learn(self, label: Any) -> float:
        if label in self.sides:
            return self.sides[label]
        if len(self.sides) == 2:
            raise build_too_many_labels_error([self.negative, self.positive, label])
        if self.sides:
            sign = 1.0 if self.positive is None else -1.0
        else:
            sign = 1.0 if not isinstance(label, str) and label > 0 else -1.0
        if sign > 0:
            self.positive = label
        else:
            self.negative = label
        self.sides[label] = sign
        return sign

    def note_other(self, label: Any) -> None:
        """Record a label in a run that learns one label against the rest.

        The only other label names the negative side. From the second one on the negative side is "not …". The result
        depends on the set of labels only, so resuming a run gives the same model as one run.
        """
        name = str(label)
        if name == self.positive or self.rest in ("", SEVERAL):
            return
        if self.rest == UNSEEN:
            self._name_rest(ONE, name)
        elif name != self.negative:
            self._name_rest(SEVERAL, f"not {self.positive}")

    def add_others(self, rest: str, negative: str) -> None:
        """Record the other labels of another run that learns one label against the rest."""
        if rest == ONE:
            self.note_other(negative)
        elif rest == SEVERAL:
            self._name_rest(SEVERAL, negative)

    def _name_rest(self, rest: str, negative: str) -> None:
        self.rest, self.negative = rest, negative
        self.sides.clear()  # in place: the fast path for single examples refers to this dict
        self.sides.update({self.negative: -1.0, self.positive: 1.0})

    def forget(self, count: int) -> None:
        """Drop all labels but the first `count`."""
        for label in list(self.sides)[count:]:
            del self.sides[label]
            self.negative = None if self.negative == label else self.negative
            self.positive = None if self.positive == label else self.positive

    def __len__(self) -> int:
        return len(self.sides)

    def listed(self) -> list[Any]:
        """Return the labels for a file: negative and positive, None for a missing one."""
        return [self.negative, self.positive]

    def known(self) -> list[Any]:
        """Return the known labels, negative first."""
        return [v for v in (self.negative, self.positive) if v is not None]

    def name(self, positive: bool) -> Any:
        """Return the label to predict; while only one is known, that one."""
        chosen = self.positive if positive else self.negative
        return self.known()[0] if chosen is None else chosen


def build_one_vs_rest_labels(positive: str) -> BinaryLabels:
    """Return the labels of a run that learns one label against all others."""
    return BinaryLabels(f"not {positive}", positive, rest=UNSEEN)


def merge_others(y: NDArray[Any], positive: str) -> NDArray[Any]:
    """Replace all labels but one by the name of the rest: the other label if there is only one, else "not …"."""
    is_positive = buffers.array([str(label) == positive for label in y.tolist()], "bool")
    if not is_positive.any():
        raise InputError(f"--positive-label {positive}: no example has that label; there are others only.")
    labels = build_one_vs_rest_labels(positive)
    for label in find_distinct(y[~is_positive]):
        labels.note_other(label)
    return np.where(is_positive, positive, labels.negative)


def merge_label(label: Any, labels: BinaryLabels) -> Any:
    """Return a label as named by `build_one_vs_rest_labels`, if `labels` are of that kind; otherwise unchanged."""
    if not labels.rest:
        return label
    return labels.positive if str(label) == labels.positive else labels.negative


def find_distinct(y: NDArray[Any]) -> list[Any]:
    """Return the distinct labels, sorted."""
    split = split_in_two(y)
    return [to_plain_label(v) for v in find_unique(y)[0]] if split is None else list(split[:2])


@compiled_read_only
def write_signs(y: NDArray[Any], signs: NDArray[np.int8]) -> int:
    """Write −1 for the smaller and +1 for the larger label; return the index of the first label that differs from y[0].

    Return ALL_EQUAL if no label differs, and THIRD_LABEL if there are more than two.
    """
    first, k = y[0], 1
    while k < len(y) and y[k] == first:
        k += 1
    if k == len(y):
        return ALL_EQUAL
    other = y[k]
    sign, has_third = 1 if other > first else -1, False
    for i in range(len(y)):  # the compiler vectorises this loop
        signs[i] = -sign if y[i] == first else sign
        has_third |= (y[i] != first) & (y[i] != other)
    return THIRD_LABEL if has_third else k


def split_in_two(y: NDArray[Any]) -> tuple[Any, Any, NDArray[np.int8]] | None:
    """Return the smaller label, the larger one, and −1 or +1 for each label of y; None unless y has exactly two
    numbers.

    This is the usual case, found without sorting.
    """
    if y.dtype.kind not in "biuf" or y.dtype == np.uint64 or y.dtype.itemsize > 8 or not y.size:
        return None
    codes = np.require(y, np.float64 if y.dtype.kind == "f" else np.int64, ["C", "ALIGNED"])
    signs = np.empty(y.size, np.int8)
    k = write_signs(codes, signs)
    return None if k < 0 else (*sorted((to_plain_label(y[0]), to_plain_label(y[k]))), signs)


def _to_signs(positive: NDArray[np.bool_]) -> NDArray[np.int8]:
    return positive.view("int8") * np.int8(2) - np.int8(1)


def find_unique(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct labels in order, the first position of each, and the index of each label of y: as
    `np.unique`, but without sorting for whole numbers in a small range."""
    if y.dtype.kind in "iu" and y.size:
        low, high = int(y.min()), int(y.max())
        if high - low < MAX_LABEL_RANGE and low >= -(2**62) and high < 2**62:
            places = np.subtract(y, low, dtype=np.int64, casting="unsafe")
            first = buffers.full(high - low + 1, y.size, "int64")
            first[places[::-1]] = np.arange(y.size - 1, -1, -1)  # of equal labels, the last one written remains
            found = np.flatnonzero(first < y.size)
            numbers = buffers.zeros(len(first), "int64")
            numbers[found] = np.arange(len(found))
            return (found + low).astype(y.dtype), first[found], numbers[places]
    if y.dtype.kind == "c":
        raise LabelError("Unknown label type: complex. Labels must be classes.")
    try:
        values, first, inverse = np.unique(y, return_index=True, return_inverse=True)
    except TypeError:
        raise LabelError("Labels must be of one type: all texts or all numbers.") from None
    return values, first, inverse


def to_plain_label(label: Any) -> Any:
    """Return a label as a Python value, whole floats as integers, so that 1 and 1.0 are one label. Raise LabelError if
    it can't be a label, or is a number larger than MAX_LABEL_NUMBER."""
    value = convert_label(label)
    if not isinstance(value, str) and abs(value) > MAX_LABEL_NUMBER:
        raise LabelError(
            f"A label that is a number must be of size up to 1e15, got {value}. Renumber the labels, or use texts."
        )
    return value


def convert_label(label: Any) -> Any:
    """Return a label as `to_plain_label` does, of any size: old model files have larger numbers."""
    value = label.item() if buffers.is_numpy_number(label) else label
    if isinstance(value, float):
        if not math.isfinite(value):
            raise LabelError("Input y contains NaN or infinity: every row needs a label.")
        if not value.is_integer():
            raise LabelError(
                f"Unknown label type: continuous. Labels must be classes, got {value!r}: these learners classify."
            )
        return int(value)
    if not isinstance(value, (bool, int, str)):
        raise LabelError(f"Unknown label type: a label must be a whole number, a text or a truth value, not {value!r}.")
    return value


def build_missing_label_error(where: str) -> LabelError:
    return LabelError(f"{where}: there is no label: every example to learn from needs one.")


def build_too_many_labels_error(values: list[Any]) -> TooManyLabelsError:
    shown = ", ".join(repr(v) for v in values[:5]) + (", …" if len(values) > 5 else "")
    return TooManyLabelsError(
        f"Only binary classification is supported: the data has {len(values)} classes ({shown}). Use Kesler or OneVsAll"
        " (--multiclass kesler) for more than two, or choose one label against the rest."
    )
