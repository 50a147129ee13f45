"""Schemas of the arrays in model files, and the verifier that checks a file against them.

Compiled code indexes arrays without bounds checks, with numbers that a model file holds. Each module that defines a
state says here, in a few declarative terms, which numbers its arrays may hold. `verify_arrays` checks all of them
before compiled code sees an array. It looks at the arrays of the file only: it allocates nothing of a size that a
file claims.

    Schema({
        "counts": Array("int64", 2, checks=[Entries(kept=(0, MAX_COUNT), terms=(0, MAX_COUNT))]),
        "ends": Array("int64", Size("kept") + 1, checks=[Offsets(Size("terms"))]),
        "indices": Array("uint32", Size("terms"), checks=[IndexInto(FEATURES)]),
    })

Sizes have names. Those in capitals below are known for every model; `Entries` and `FreeSize` add the counts of a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff.errors import InputError

MAX_COUNT = 2**53
"""The largest count in a file: every count up to here is exact as a float, and sums of two don't overflow."""
REAL = "real"
"""The dtype of values and weights: the model's precision."""
INFINITY = float("inf")


class SchemaError(InputError):
    """An array or a field of a file violates its schema."""

    def __init__(self, name: str, expected: str, found: str | float) -> None:
        super().__init__(f"{name} must be {expected}, but is {found}")


def shorten(value: Any) -> str:
    """Return a value for a message, truncated if it is long."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}…"


# --- Sizes ---


class NamedSize:
    """A size that is known by name when a file is verified, or a sum or product of such sizes."""

    def __init__(self, text: str, value: Callable[[Mapping[str, int]], int] | None = None) -> None:
        self.text, self.value = text, value

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        return sizes[self.text] if self.value is None else self.value(sizes)

    def __add__(self, other: int) -> NamedSize:
        return NamedSize(
            f"{self.text} {'+' if other >= 0 else '-'} {abs(other)}", lambda sizes: self.evaluate(sizes) + other
        )

    def __mul__(self, factor: int) -> NamedSize:
        return NamedSize(f"{factor} {self.text}", lambda sizes: self.evaluate(sizes) * factor)


class FreeSize:
    """A size that the first array with this name determines; the others must agree."""

    def __init__(self, name: str) -> None:
        self.name = name


FEATURES = NamedSize("features")
SLOTS = NamedSize("slots")
"""The entries of arrays with one entry per slot: (features + 1) × columns of weights."""
COLUMNS = NamedSize("columns")
CLASSES = NamedSize("classes")
EXAMPLES = NamedSize("examples")

Limit = int | float | NamedSize
Dimension = int | NamedSize | FreeSize


def _resolve(bound: Limit, sizes: Mapping[str, int]) -> int | float:
    return bound.evaluate(sizes) if isinstance(bound, NamedSize) else bound


# --- Checks of the numbers in an array ---


class ArrayCheck(ABC):
    """A condition on the numbers of one array."""

    @abstractmethod
    def problem(self, array: NDArray[Any], sizes: dict[str, int]) -> tuple[str, Any] | None:
        """Return what was expected and what was found, or None for a valid array."""


class InRange(ArrayCheck):
    """Check that all numbers are from `low` to `high` and not NaN. `column` selects one column of a table."""

    def __init__(self, low: Limit, high: Limit, column: int | None = None) -> None:
        self.low, self.high, self.column = low, high, column

    def problem(self, array: NDArray[Any], sizes: dict[str, int]) -> tuple[str, Any] | None:
        part = array if self.column is None else array[:, self.column]
        low, high = _resolve(self.low, sizes), _resolve(self.high, sizes)
        if part.size == 0:
            return None
        least, most = part.min().item(), part.max().item()  # False for NaN
        if low <= least and most <= high:
            return None
        where = "" if self.column is None else f" in column {self.column}"
        return f"numbers from {low} to {high}{where}", f"from {least} to {most}"


def IndexInto(size: Limit) -> InRange:  # noqa: N802 - reads as the other checks
    """Return the check that all numbers are indices of an array with this many entries."""
    return InRange(0, size + -1)


def Finite(column: int | None = None) -> InRange:  # noqa: N802
    """Return the check that no number is NaN or infinite."""
    largest = 1.7976931348623157e308
    return InRange(-largest, largest, column)


def NotNaN(column: int | None = None) -> InRange:  # noqa: N802
    """Return the check that no number is NaN."""
    return InRange(-INFINITY, INFINITY, column)


class OneOf(ArrayCheck):
    """Check that all numbers are among these."""

    def __init__(self, values: tuple[float, ...]) -> None:
        self.values = values

    def problem(self, array: NDArray[Any], sizes: dict[str, int]) -> tuple[str, Any] | None:
        strange = array[~np.isin(array, self.values)]
        return (f"numbers among {self.values}", strange.flat[0].item()) if strange.size else None


class Increasing(ArrayCheck):
    """Check that each number is larger than the one before it, or not smaller unless `strictly`."""

    def __init__(self, *, strictly: bool = True) -> None:
        self.strictly = strictly

    def problem(self, array: NDArray[Any], sizes: dict[str, int]) -> tuple[str, Any] | None:
        ahead, behind = array[1:], array[:-1]
        if bool((ahead > behind).all() if self.strictly else (ahead >= behind).all()):
            return None
        return "in increasing order" if self.strictly else "in ascending order", "not"


class Offsets(ArrayCheck):
    """Check for offsets of the parts of an array of this size: ascending from 0 to the size."""

    def __init__(self, size: Limit) -> None:
        self.size = size

    def problem(self, array: NDArray[Any], sizes: dict[str, int]) -> tuple[str, Any] | None:
        end = _resolve(self.size, sizes)
        if len(array) and array[0] == 0 and array[-1] == end and bool((array[1:] >= array[:-1]).all()):
            return None
        return f"offsets that ascend from 0 to {end}", "not"


class DistinctWithin(ArrayCheck):
    """Check that no number is repeated within a part given by another array of offsets, which is checked before."""

    def __init__(self, offsets: str) -> None:
        self.offsets = offsets

    def problem(self, array: NDArray[Any], sizes: dict[str, int]) -> tuple[str, Any] | None:
        return None  # `verify_arrays` does it, as it has the other array


class Entries(ArrayCheck):
    """Names and ranges of the entries of a short array. Later arrays can use the names as sizes."""

    def __init__(self, **ranges: tuple[Limit, Limit]) -> None:
        self.ranges = ranges

    def problem(self, array: NDArray[Any], sizes: dict[str, int]) -> tuple[str, Any] | None:
        if len(array) < len(self.ranges):
            return f"an array of {len(self.ranges)} counts", f"one of {len(array)}"
        for value, (name, (low, high)) in zip(array.tolist(), self.ranges.items(), strict=False):
            least, most = _resolve(low, sizes), _resolve(high, sizes)
            if not least <= value <= most:
                return f"an array whose entry {name!r} is from {least} to {most}", value
            sizes[name] = value
        return None


class EqualTo(ArrayCheck):
    """Check that the array equals this one, which follows from the settings."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def problem(self, array: NDArray[Any], sizes: dict[str, int]) -> tuple[str, Any] | None:
        return None if array.tolist() == list(self.values) else (f"{list(self.values)}", shorten(array.tolist()))


# --- Arrays and schemas ---


class ArraySpec:
    """One array of a state: its dtype, its shape, and checks of its numbers."""

    def __init__(
        self, dtype: str, *shape: Dimension, checks: Sequence[ArrayCheck] = (), optional: bool = False
    ) -> None:
        self.dtype, self.shape, self.checks, self.optional = dtype, shape, checks, optional


class Constraint:
    """A condition on several arrays at once."""

    def __init__(self, text: str, holds: Callable[[Mapping[str, NDArray[Any]], Mapping[str, int]], bool]) -> None:
        self.text, self.holds = text, holds


class Schema:
    """The arrays of one state by their names, in the order in which they are checked."""

    def __init__(self, arrays: Mapping[str, ArraySpec], rules: Sequence[Constraint] = ()) -> None:
        self.arrays, self.rules = arrays, rules


EMPTY_SCHEMA = Schema({})


def verify_arrays(
    schema: Schema, tensors: Mapping[str, NDArray[Any]], sizes: dict[str, int], precision: str, prefix: str = ""
) -> set[str]:
    """Check the arrays of a file and return the names that the schema knows; raise SchemaError for the first problem.

    `sizes` are the sizes that are known by name; those that the file determines are added.
    """
    found: dict[str, NDArray[Any]] = {}
    for name, wanted in schema.arrays.items():
        array = tensors.get(prefix + name)
        if array is None:
            if wanted.optional:
                continue
            raise SchemaError(f"the array {prefix}{name}", "there", "missing")
        _verify_array(f"the array {prefix}{name}", wanted, array, sizes, precision, found)
        found[name] = array
    for rule in schema.rules:
        if not rule.holds(found, sizes):
            raise SchemaError(f"the arrays {prefix}{', '.join(found)}", f"such that {rule.text}", "not so")
    return {prefix + name for name in found}


def _verify_array(
    title: str,
    wanted: ArraySpec,
    array: NDArray[Any],
    sizes: dict[str, int],
    precision: str,
    others: Mapping[str, NDArray[Any]],
) -> None:
    dtype = precision if wanted.dtype == REAL else wanted.dtype
    shape = tuple(_dimension(one, k, array, sizes) for k, one in enumerate(wanted.shape))
    if array.dtype.name != dtype or array.shape != shape:
        raise SchemaError(title, f"of {dtype} and shape {shape}", f"an array of {array.dtype.name} {array.shape}")
    for check in wanted.checks:
        if isinstance(check, DistinctWithin):
            if _has_duplicates(array, others[check.offsets]):
                raise SchemaError(title, f"distinct within each part of {check.offsets}", "not")
            continue
        problem = check.problem(array, sizes)
        if problem is not None:
            raise SchemaError(title, *problem)


def _dimension(wanted: Dimension, axis: int, array: NDArray[Any], sizes: dict[str, int]) -> int:
    if isinstance(wanted, FreeSize):
        return sizes.setdefault(wanted.name, array.shape[axis] if axis < array.ndim else 0)
    return int(_resolve(wanted, sizes))


def _has_duplicates(array: NDArray[Any], offsets: NDArray[Any]) -> bool:
    """Whether a number is repeated within a part."""
    parts = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint64), np.diff(offsets))
    keys = np.sort((parts << np.uint64(32)) | array.astype(np.uint64))
    return bool((keys[1:] == keys[:-1]).any())


# --- Plain values of the header ---


def check_int(name: str, value: Any, low: int, high: int) -> int:
    """Return an integer from `low` to `high`; raise SchemaError for anything else."""
    if type(value) is not int or not low <= value <= high:
        raise SchemaError(name, f"a whole number from {low} to {high}", shorten(value))
    return value


def check_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SchemaError(name, "a text", shorten(value))
    return value


def check_dict(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SchemaError(name, "an object", shorten(value))
    return value


def check_list(name: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise SchemaError(name, "a list", shorten(value))
    return value


def check_names(name: str, value: Any) -> list[str]:
    """Return a list of distinct texts."""
    names = check_list(name, value)
    if not all(isinstance(one, str) for one in names) or len(set(names)) != len(names):
        raise SchemaError(name, "a list of distinct texts", shorten(names))
    return names


FIELD_TYPES: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: type(value) is int,
    "str | None": lambda value: value is None or isinstance(value, str),
    "int | None": lambda value: value is None or type(value) is int,
    "tuple[str, ...]": lambda value: isinstance(value, list | tuple) and all(isinstance(one, str) for one in value),
    "tuple[int, ...]": lambda value: isinstance(value, list | tuple) and all(type(one) is int for one in value),
    "tuple[bool, ...]": lambda value: isinstance(value, list | tuple) and all(isinstance(one, bool) for one in value),
}


def check_fields(title: str, record: Any, values: Mapping[str, Any]) -> None:
    """Check that values fit the fields of a dataclass, by their annotations."""
    wanted = {name: str(one.type) for name, one in record.__dataclass_fields__.items() if one.init}
    for name, value in values.items():
        if name not in wanted:
            raise SchemaError(title, f"one with fields among {sorted(wanted)}", f"one with {shorten(name)}")
        if not FIELD_TYPES[wanted[name]](value):
            raise SchemaError(f"the field {name} of {title}", wanted[name], shorten(value))
