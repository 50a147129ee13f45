"""Shards: the parts of the data. Each shard is learned in order by one task.

A shard object is a small description that is sent to a worker, which reads or computes the data.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import uuid
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from novikoff.base import internals
from novikoff.base.online_classifier import OnlineClassifier
from novikoff.data import formats, validation
from novikoff.data.formats.base import ReadOptions
from novikoff.data.labels.binary_labels import find_distinct
from novikoff.data.labels.label_order import LabelOrder
from novikoff.data.reader import DataReader, is_builtin
from novikoff.data.rows import Rows
from novikoff.errors import InputError, NovikoffError, TooManyNamesError
from novikoff.memory_limit import reserve_work_arrays

SAMPLED_BLOCKS, SAMPLED_BYTES = 64, 1 << 12
"""Number and size of the blocks of a file that are compared between rounds."""
FILE_END_BYTES = 1 << 16
"""Number of bytes at both ends of a file that identify it."""
Pairs = Sequence[tuple[Any, Any]]
"""Batches (X, y)."""


class ShardSummary(NamedTuple):
    """The properties of a shard that all shards must agree on before training."""

    name: str
    labels: tuple[Any, ...]
    """Labels in order of first occurrence."""
    features: int
    """Number of features; 0 for sparse rows, whose number may grow."""
    kind: str
    names: list[str] | None
    reading: dict[str, Any] | None
    several: bool
    """Whether examples have label sets or queries."""


class Fingerprint(NamedTuple):
    """The state of a file when it was learned, to detect that it is replaced between two rounds."""

    machine: str
    """The machine that read it (`identify_machine`). Device, inode and time are comparable only on one machine."""
    device: int
    inode: int
    modified_ns: int
    size: int
    digest: str
    """Digest of evenly spaced blocks."""

    def matches(self, other: Fingerprint) -> bool:
        """Return whether both fingerprints can be of the same content."""
        return self == other if self.machine == other.machine else self[-2:] == other[-2:]


@functools.cache
def identify_machine() -> str:
    """Return a unique id of this machine: its name, its boot id, and its mount namespace, which differs in containers.

    Names alone are not unique: many machines and containers are called localhost. Without /proc the hardware address of
    the network card replaces the boot id and the namespace.
    """
    try:
        started = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{platform.node()} {started} {os.readlink('/proc/self/ns/mnt')}"
    except OSError:
        return f"{platform.node()} {uuid.getnode():012x}"


class FirstExamples(NamedTuple):
    """A description of the beginning of a file; see `DataReader.describe`."""

    description: dict[str, Any]
    notes: list[str]
    doubts: list[str]


class Shard(Protocol):
    """A part of the data."""

    @property
    def name(self) -> str: ...

    def digest(self, data: Pairs | None) -> dict[str, Any]:
        """Return a digest of the whole content."""

    def mark(self, data: Pairs | None) -> dict[str, Any]:
        """Return an identification of the content that is fast to compute."""

    def fingerprint(self) -> Fingerprint | None:
        """Return the current fingerprint of its file; None if it is not a file."""

    def summarize(self, model: OnlineClassifier, data: Pairs | None, *, all_labels: bool) -> ShardSummary:
        """Read its first block, or all of it for `all_labels`, and return its properties."""

    def learn(self, model: OnlineClassifier, data: Pairs | None) -> bool:
        """Train the model in one pass over the shard.

        Return False if the run learns one label against all others, and the shard does not have it.
        """

    def iter_encoded(self, model: OnlineClassifier, data: Pairs | None) -> Iterator[tuple[Rows, Any]]:
        """Yield its rows with encoded labels, as the model learns them."""


@dataclass(frozen=True)
class FileShard:
    """A file that every worker can read under the same name, or a built-in stream."""

    title: str
    options: ReadOptions
    positive: str | None = None

    @property
    def name(self) -> str:
        return self.title

    def digest(self, data: Pairs | None) -> dict[str, Any]:
        from novikoff.certificates.data_source import FileSource

        return dict(FileSource([self.title], self.options).describe()["files"][0])

    def mark(self, data: Pairs | None) -> dict[str, Any]:
        """Return its length and a digest of both ends. Reading all of it would take as long as a round."""
        if is_builtin(self.title):
            return {"stream": self.title}
        self._check_exists()
        with open(self.title, "rb") as file:
            digest, length = hashlib.sha256(file.read(FILE_END_BYTES)), file.seek(0, 2)
            file.seek(max(0, length - FILE_END_BYTES))
            digest.update(file.read())
        return {"bytes": length, "ends": digest.hexdigest()}

    def fingerprint(self) -> Fingerprint | None:
        if is_builtin(self.title):
            return None
        self._check_exists()
        with open(self.title, "rb", buffering=0) as file:
            about, digest = os.fstat(file.fileno()), hashlib.sha256()
            last = max(0, about.st_size - SAMPLED_BYTES)
            for k in range(SAMPLED_BLOCKS):
                file.seek(last * k // (SAMPLED_BLOCKS - 1))
                digest.update(file.read(SAMPLED_BYTES))
                if last == 0:
                    break
        place = about.st_dev, about.st_ino, about.st_mtime_ns
        return Fingerprint(identify_machine(), *place, about.st_size, digest.hexdigest())

    def summarize(self, model: OnlineClassifier, data: Pairs | None, *, all_labels: bool) -> ShardSummary:
        """Read the first block, or all of it for `all_labels`, and return the properties of the shard."""
        reading = self._open_reader(model)
        reader = internals.build_label_reader(
            model, internals.build_empty_labels(model), Counter() if self.options.bad_lines == "skip" else None
        )
        with closing(cast(Generator[Any], reading.batches())) as batches:
            first = next(batches)
            if self.options.hash_bits == 0 and reading.format is not None and reading.format.bits_used == 0:
                raise InputError(
                    f"{self.title}: a dictionary of names (--hash-bits 0) would number them differently on each worker."
                    " Hash the names, for example with --hash-bits 22."
                )
            parsed = first.parsed
            several = parsed.sets is not None or (parsed.groups is not None and bool((parsed.groups >= 0).any()))
            kind, width = first.rows.values.dtype.name, first.features if first.table else 0
            labels: tuple[Any, ...] = ()
            if self.positive is None and not several:
                reader.encode(first)
                for batch in batches if all_labels else ():
                    reader.encode(batch)
                labels = tuple(getattr(reader.labels, "sides", None) or reader.labels.known())
            return ShardSummary(
                self.title, labels, width, kind, reading.columns(self.title), reading.settings(), several
            )

    def describe(self) -> FirstExamples:
        """Read its first examples like the training does, and describe them."""
        self._check_exists()
        reading = DataReader([self.title], replace(self.options, threads=1))
        with closing(cast(Generator[Any], reading.batches())) as batches:
            reading.describe(next(batches))
        return FirstExamples(reading.description or {}, reading.notes, reading.doubts)

    def learn(self, model: OnlineClassifier, data: Pairs | None) -> bool:
        training = internals.build_file_trainer(model, self._open_reader(model), positive=self.positive)
        with reserve_work_arrays():
            for _ in training.learn_pass():
                pass
        return self.positive is None or bool(training.saw_positive_label())

    def iter_encoded(self, model: OnlineClassifier, data: Pairs | None) -> Iterator[tuple[Rows, Any]]:
        yield from internals.iter_encoded_files(model, self._open_reader(model))

    def _open_reader(self, model: OnlineClassifier) -> DataReader:
        """Return a reader of the file, by default with one thread: other shards use the other processors."""
        self._check_exists()
        reading = DataReader([self.title], replace(self.options, threads=self.options.threads or 1))
        state = internals.state_of(model)
        if state is not None and state.reading is not None:
            before = {
                k: v for k, v in state.reading.items() if k not in ("feature_map", "feature_map_bits", "encoding")
            }
            reading.format = formats.get_format_class(before.pop("format")).from_settings(before) if before else None
            reading.format_from_this_run = True
            if state.names is not None and reading.format is not None and reading.format.bits_used == 0:
                reading.names = state.names.copy()
        return reading

    def dictionary_format(self) -> dict[str, Any] | None:
        """Return the settings of the format if its names can have a dictionary; None if they are hashed or absent."""
        self._check_exists()
        reading = DataReader([self.title], replace(self.options, threads=1, hashes_names=False))
        with closing(cast(Generator[Any], reading.batches())) as batches:
            next(batches)
        settled = reading.format
        return settled.settings() if settled is not None and settled.bits_used == 0 else None

    def names(self, settings: dict[str, Any]) -> list[str] | None:
        """Return the names of all features in order of first occurrence; None if a dictionary would be too large."""
        self._check_exists()
        reading = DataReader([self.title], replace(self.options, threads=self.options.threads or 1, hashes_names=False))
        known = dict(settings)
        reading.format = formats.get_format_class(known.pop("format")).from_settings(known)
        reading.format_from_this_run = True
        try:
            for _ in reading.batches():
                pass
        except TooManyNamesError:
            return None
        return [] if reading.names is None else list(reading.names.columns)

    def _check_exists(self) -> None:
        if not is_builtin(self.title) and not Path(self.title).is_file():
            raise InputError(
                f"{self.title}: the file does not exist on this worker. Every worker must find all shards under the"
                " same names."
            )


@dataclass(frozen=True)
class BatchShard:
    """A shard of batches (X, y), which are passed as `data`."""

    name: str

    def digest(self, data: Pairs | None) -> dict[str, Any]:
        from novikoff.certificates.data_source import ArraySource

        with self._error_context():
            return {"batches": [ArraySource(X, y).describe()["arrays"] for X, y in self._pairs(data)]}

    def mark(self, data: Pairs | None) -> dict[str, Any]:
        return self.digest(data)

    def fingerprint(self) -> Fingerprint | None:
        return None

    def summarize(self, model: OnlineClassifier, data: Pairs | None, *, all_labels: bool) -> ShardSummary:
        labels: dict[Any, None] = {}
        found: list[validation.ValidatedBatch] = []
        with self._error_context():
            for X, y in self._pairs(data):
                found.append(validation.validate_batch(X))
                labels |= dict.fromkeys(find_distinct(validation.validate_y(y, found[-1].examples)))
        widths = sorted({batch.features for batch in found})
        if len(widths) > 1:
            raise InputError(
                f"{self.name}: all batches must have the same number of features, got {widths[0]} and {widths[-1]}."
            )
        first = found[0]
        return ShardSummary(
            self.name, tuple(labels), first.features, first.rows.values.dtype.name, first.names, None, several=False
        )

    def learn(self, model: OnlineClassifier, data: Pairs | None) -> bool:
        if internals.state_of(model) is not None:
            internals.state_of(model).label_order = LabelOrder(warns=False)  # the caller warns, for all shards
        with self._error_context():
            for X, y in self._pairs(data):
                model.partial_fit(X, y)
        return True

    def iter_encoded(self, model: OnlineClassifier, data: Pairs | None) -> Iterator[tuple[Rows, Any]]:
        with self._error_context():
            for X, y in self._pairs(data):
                yield from internals.iter_encoded_arrays(model, X, y)

    def _pairs(self, data: Pairs | None) -> Pairs:
        if isinstance(data, tuple) and len(data) == 2 and not isinstance(data[0], tuple):
            data = [data]
        if (
            not isinstance(data, tuple | list)
            or not data
            or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in data)
        ):
            raise InputError(f"must be batches (X, y) of rows and their labels, got {_describe_type(data)}.")
        return data

    def _error_context(self) -> Any:
        return _ShardErrorContext(self.name)


def _describe_type(data: Any) -> str:
    name = type(data).__name__
    return f"a {name} of {type(data[0]).__name__}" if isinstance(data, tuple | list) and len(data) else f"a {name}"


class _ShardErrorContext:
    """Adds the name of the shard to error messages."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, NovikoffError | TypeError):
            raise InputError(f"{self.name}: {problem}") from None


def find_changed_options(options: ReadOptions) -> dict[str, Any]:
    """Return the reading options that differ from the default and affect the result."""
    unsaid = asdict(ReadOptions())
    changed_options = {name: value for name, value in asdict(options).items() if value != unsaid[name]}
    return {
        name: value
        for name, value in changed_options.items()
        if name not in ("threads", "block", "cache", "keep_names")
    }
