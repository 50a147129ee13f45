"""Memory limit of a model: its sources, and the arithmetic of growing arrays.

A model grows with features, classes, support examples and names. The limit is checked before an array is enlarged, so
examples without new features cost nothing. Spare capacity does not count: it is reduced before an example is
rejected.

The limit comes from the first of these: the enclosing `limit_memory` block, the environment variable
NOVIKOFF_MAX_MODEL_MEMORY, half of the memory of the machine or its control group. Of the last, a few values with
large indices may use only 1 GiB (`index_limit`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple

from novikoff.errors import InputError, ModelTooLarge

ENVIRONMENT_VARIABLE = "NOVIKOFF_MAX_MODEL_MEMORY"
COMMAND_LINE_OPTION = "--max-model-memory"
MODEL_MEMORY_FRACTION = 0.5
"""Share of the memory for one model. While an array grows, the old one, two thirds as large, exists too."""
INDEX_BYTES = 1 << 30
"""Memory that a few values may add to a model by their indices alone, unless a limit was set."""
WORK_ARRAYS = 16
"""Arrays as large as the weights of a Perceptron that the search for witnesses and the mixing of shards need."""
FALLBACK_BYTES = 2 << 30
"""Assumed memory of a machine that does not report it."""
UNLIMITED_BYTES = 1 << 60
"""Threshold of unlimited control groups, which report a number near 2^63."""
UNIT_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
NAME_BYTES = 150
"""A name in a dictionary, beside its characters: the text and number objects, the dictionary's entry, and the copy in
the table that readers use."""
LABEL_BYTES = 300
"""A label, likewise, with its characters and counters."""

_limit: ContextVar[int | None] = ContextVar("max_model_memory", default=None)
_index_limit: ContextVar[int | None] = ContextVar("max_index_memory", default=None)


class Growth(NamedTuple):
    """Upper bounds on what examples may add to a model."""

    features: int = 0
    """The number of features afterwards, if it grows."""
    labels: tuple[Any, ...] = ()
    """New labels."""
    examples: int = 0
    terms: int = 0
    """Number of nonzero values in these examples."""
    name_bytes: int = 0
    """Memory of the names of new features."""


# --- Sizes as text ---


def parse_size(text: str) -> int:
    """Return the bytes of a size such as 512M, 2G or 1500000. Units are powers of 1024.

    >>> parse_size("512M"), parse_size("1.5 GiB"), parse_size("4096")
    (536870912, 1610612736, 4096)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE | re.ASCII)
    size = round(float(found[1]) * UNIT_BYTES[found[2].upper()]) if found else 0
    if not 0 < size < UNLIMITED_BYTES:
        raise InputError(f"A size of memory must be a number with K, M, G or T, such as 512M or 2G, but is {text!r}.")
    return size


def format_size(size: int) -> str:
    """Format a number of bytes for readers.

    >>> format_size(10_100_000_000), format_size(2 << 30), format_size(900)
    ('9.41 GiB', '2 GiB', '900 bytes')
    """
    unit = next((unit for unit in ("T", "G", "M", "K") if size >= UNIT_BYTES[unit]), None)
    if unit is None:
        return f"{size} bytes"
    amount = size / UNIT_BYTES[unit]
    return f"{amount:.0f} {unit}iB" if amount >= 100 else f"{amount:.3g} {unit}iB"


# --- The memory of the machine ---


def read_machine_memory(root: str = "/") -> int | None:
    """Return the smaller of the machine's memory and the limits of this process's control group; None if unknown.

    Currently available memory does not count, so that the result does not depend on other processes.
    """
    found = [*_read_meminfo(root), *_read_cgroup_limits(root)]
    return min(found, default=None)


def _read_meminfo(root: str) -> Iterator[int]:
    for line in _read_text(os.path.join(root, "proc/meminfo")).splitlines():
        name, _, rest = line.partition(":")
        if name == "MemTotal" and rest.split()[:1]:
            yield int(rest.split()[0]) * 1024


def _read_cgroup_limits(root: str) -> Iterator[int]:
    """Yield the limits of the process's control group and its ancestors, versions 1 and 2."""
    for line in _read_text(os.path.join(root, "proc/self/cgroup")).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            yield from _read_limits(os.path.join(root, "sys/fs/cgroup"), path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _read_limits(os.path.join(root, "sys/fs/cgroup/memory"), path, "memory.limit_in_bytes")


def _read_limits(top: str, path: str, name: str) -> Iterator[int]:
    """Read the limits along a path; in a container the mounted root may hold them instead of the group's path."""
    parts = [part for part in path.split("/") if part and part != ".."]
    for depth in range(len(parts), -1, -1):
        text = _read_text(os.path.join(top, *parts[:depth], name)).strip()
        if text.isdigit() and 0 < int(text) < UNLIMITED_BYTES:
            yield int(text)


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


# --- The limit ---


@cache
def default_memory(share: float) -> int:
    """Return a share of the machine's memory, as measured on the first call."""
    return int((read_machine_memory() or FALLBACK_BYTES) * share)


def model_limit() -> int:
    """Return the current limit of a model in bytes."""
    limit = _limit.get()
    if limit is not None:
        return limit
    text = os.environ.get(ENVIRONMENT_VARIABLE)
    return default_memory(MODEL_MEMORY_FRACTION) if not text else _parse_variable(text)


def index_limit() -> int:
    """Return the bytes that a few values with large indices may add to a model: all of a limit that was set, or
    INDEX_BYTES of the default. A wrong index in a file then ends the run before it takes half of the memory."""
    limit = _index_limit.get()
    if limit is not None:
        return limit
    return model_limit() if _is_limit_set() else min(INDEX_BYTES, model_limit())


def _is_limit_set() -> bool:
    return _limit.get() is not None or bool(os.environ.get(ENVIRONMENT_VARIABLE))


@cache
def _parse_variable(text: str) -> int:
    try:
        return parse_size(text)
    except InputError as problem:
        raise InputError(f"{ENVIRONMENT_VARIABLE}: {problem}") from None


@contextmanager
def limit_memory(size: int | None, *, index_bytes: int | None = None) -> Iterator[None]:
    """Limit models that grow in this block and thread to this number of bytes; None keeps the current limit.

    `index_bytes` replaces `index_limit`; by default both limits are equal.
    """
    if size is None:
        yield
        return
    token, index_token = _limit.set(size), _index_limit.set(size if index_bytes is None else index_bytes)
    try:
        yield
    finally:
        _limit.reset(token)
        _index_limit.reset(index_token)


@contextmanager
def share_limits(models: int) -> Iterator[None]:
    """Give each of this number of models an equal share of the limits."""
    with limit_memory(model_limit() // models, index_bytes=index_limit() // models):
        yield


@contextmanager
def reserve_work_arrays() -> Iterator[None]:
    """Divide the default of `index_limit` by WORK_ARRAYS, for work that needs as many arrays as wide as the model."""
    with limit_memory(None if _is_limit_set() else model_limit(), index_bytes=index_limit() // WORK_ARRAYS):
        yield


def check_size(needed: int, what: str, advice: str) -> None:
    """Raise ModelTooLarge if a model would need more bytes than the limit. `what` is the subject of the message."""
    limit = model_limit()
    if needed > limit:
        raise build_too_large_error(
            what, needed, limit, f"{advice}, or raise the limit ({COMMAND_LINE_OPTION}, or {ENVIRONMENT_VARIABLE})."
        )


def build_too_large_error(what: str, needed: int, limit: int, advice: str) -> ModelTooLarge:
    """Return the error with the needed size, the limit and the advice."""
    sizes = f"{format_size(needed)} for the model, but the limit is {format_size(limit)}"
    return ModelTooLarge(f"{what} would need {sizes}. {advice}", needed, limit)


def choose_capacity(needed: int, wanted: int, bytes_of: Callable[[int], int], what: str, advice: str) -> int:
    """Return a capacity of at least `needed` and at most `wanted` entries that keeps the model within the limit.

    Spare entries are halved until it fits. Raise ModelTooLarge if it does not fit without any.
    """
    limit, extra = model_limit(), max(wanted - needed, 0)
    while extra and bytes_of(needed + extra) > limit:
        extra //= 2
    if not extra:
        check_size(bytes_of(needed), what, advice)
    return needed + extra


# --- Arrays ---


def count_bytes(value: Any) -> int:
    """Return the bytes of an array, or of all arrays in a tuple."""
    if isinstance(value, tuple):
        return sum(map(count_bytes, value))
    return int(getattr(value, "nbytes", 0))


def bytes_per_row(array: Any) -> int:
    """Return the bytes of one row of an array; 0 for an array without rows."""
    return int(array.nbytes) // len(array) if array is not None and len(array) else 0
