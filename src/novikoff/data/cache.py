"""The binary cache of a parsed file, stored beside it as `data.svm.novikoff-cache`. Later passes and runs read it.

    header     magic, length, JSON: format number, the file's size and time of change, how it was read
    records    some batches each: eight words (rows, terms, features, width, lines, flags, checksum, magic), then arrays
    trailer    JSON: labels by key, bad lines by reason, used slots; its length, its checksum, magic

A cache is written to a temporary file and renamed when it is complete. A cache that is truncated or damaged, has
another format number, or belongs to another state of the file or other options, is ignored and written again.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from novikoff._compiled.buffers import uint64
from novikoff._compiled.jit import JIT_DISABLED, compiled_read_only
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import fold_multiply, load_word
from novikoff.data.formats.base import ParsedBlock
from novikoff.data.names.hashing import K0, K1
from novikoff.data.rows import Dense, Rows, Sparse
from novikoff.errors import InputError
from novikoff.part_files import lock_file, name_part, remove_stale_parts

FORMAT_VERSION = 2
CACHE_SUFFIX = ".novikoff-cache"
MAGIC = b"novikoff"
RECORD_MAGIC = int.from_bytes(b"examples", "little")
HEAD_WORDS = 8
RECORD_BYTES = 1 << 22  # approximate size of a record
TRAILER_END_BYTES = 24  # length of the trailer, its checksum, magic
HAS_WEIGHTS, HAS_GROUPS, HAS_VALUES, HAS_NUMBERS = 1, 2, 4, 8
_K0: Any = uint64(K0)
_K1: Any = uint64(K1)


def _checksum(content: NDArray[np.uint8]) -> Any:
    a, b, c = _K0, _K1, _K0 ^ _K1
    d: Any = np.uint64(len(content))
    for k in range(0, len(content) - 63, 64):
        a = fold_multiply(load_word(content, k) ^ _K0, load_word(content, k + 8) ^ a)
        b = fold_multiply(load_word(content, k + 16) ^ _K1, load_word(content, k + 24) ^ b)
        c = fold_multiply(load_word(content, k + 32) ^ _K0, load_word(content, k + 40) ^ c)
        d = fold_multiply(load_word(content, k + 48) ^ _K1, load_word(content, k + 56) ^ d)
    return fold_multiply(a ^ c, b ^ d ^ _K1)


def _plain_checksum(content: Any) -> Any:
    words = np.frombuffer(bytes(content), np.uint64).tolist()
    lanes = [K0, K1, K0 ^ K1, len(content)]
    for k in range(0, len(words), 8):
        for lane in range(4):
            first, second = words[k + 2 * lane], words[k + 2 * lane + 1]
            lanes[lane] = fold_multiply(first ^ (K0, K1)[lane & 1], second ^ lanes[lane])
    return np.uint64(fold_multiply(lanes[0] ^ lanes[2], lanes[1] ^ lanes[3] ^ K1))


checksum = compiled_read_only(_plain_checksum if JIT_DISABLED else _checksum)
"""Checksum of bytes whose number is a multiple of 64. It detects damage, not manipulation."""


class CacheKey(NamedTuple):
    """State of a file and of the options, which a cache must match."""

    size: int
    changed: list[int]
    """Times of the last change of content and of metadata, and the inode."""
    reading: str
    sources: str
    """Digest of the parsers' source code."""

    @classmethod
    def from_status(cls, status: os.stat_result, settings: dict[str, Any]) -> CacheKey:
        changed = [status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        return cls(status.st_size, changed, json.dumps(settings, sort_keys=True), source_digest())


@functools.cache
def source_digest() -> str:
    """Return a digest of the package's reading code: another version may read files differently."""
    total = 0
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        total = zlib.crc32(path.read_bytes(), total)
    return f"{total:08x}"


def cache_path(title: str) -> Path:
    return Path(title + CACHE_SUFFIX)


class _BatchArrays(NamedTuple):
    """Copies of the arrays of a batch; those that it does not need are empty."""

    keys: NDArray[np.uint64]
    line_of: NDArray[np.int64]
    weights: NDArray[np.float64]
    groups: NDArray[np.int64]
    lengths: NDArray[np.int64]
    indices: NDArray[np.uint32]
    values: NDArray[np.float32]
    features: int
    lines: int
    width: int
    numbers: bool

    @classmethod
    def from_block(cls, rows: Rows, parsed: ParsedBlock, features: int) -> _BatchArrays:
        terms = len(parsed.keys) * rows.width if isinstance(rows, Dense) else int(rows.starts[-1])
        return cls(
            keys=parsed.keys.copy(),
            line_of=parsed.line_of.copy(),
            weights=parsed.weights.copy(),
            groups=np.zeros(0, np.int64) if parsed.groups is None else parsed.groups.copy(),
            lengths=np.zeros(0, np.int64) if isinstance(rows, Dense) else np.diff(rows.starts),
            indices=np.zeros(0, np.uint32) if isinstance(rows, Dense) else rows.indices[:terms].copy(),
            values=rows.values[:terms].copy(),
            features=features,
            lines=parsed.lines,
            width=rows.width if isinstance(rows, Dense) else 0,
            numbers=parsed.numbers is not None,
        )

    def shape(self) -> tuple[Any, ...]:
        """Return the layout: pieces with equal layouts can share a record."""
        return bool(len(self.weights)), bool(len(self.groups)), self.width, self.numbers

    def size(self) -> int:
        return sum(getattr(array, "nbytes", 0) for array in self)


def _concatenate(pieces: list[_BatchArrays]) -> _BatchArrays:
    lines = np.cumsum([0, *(piece.lines for piece in pieces)]).tolist()
    moved = [piece._replace(line_of=piece.line_of + before) for piece, before in zip(pieces, lines, strict=False)]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(piece, name) for piece in moved]) for name in _BatchArrays._fields[:7]
    }
    return pieces[0]._replace(features=max(piece.features for piece in pieces), lines=lines[-1], **arrays)


class CacheWriter:
    """Writes batches to a temporary file, which `close` turns into the cache."""

    def __init__(self, title: str, stamp: CacheKey) -> None:
        self.path, self.title, self.stamp = cache_path(title), title, stamp
        self.temporary = name_part(self.path)
        self.labels: dict[int, Any] = {}
        self.gathered: list[_BatchArrays] = []
        self.size = 0
        try:
            self.file = open(self.temporary, "xb", buffering=0)  # noqa: SIM115 - closed in close or drop
        except OSError as problem:
            raise InputError(f"{self.path}: can't be written ({problem.strerror}): leave out --cache.") from None
        lock_file(self.file.fileno())
        header = json.dumps({"format": FORMAT_VERSION, **stamp._asdict()}).encode()
        self._write(MAGIC + len(header).to_bytes(8, "little") + header)

    def _write(self, content: Any) -> None:
        try:
            view = memoryview(content).cast("B")
            while len(view):
                view = view[self.file.write(view) :]
        except OSError as problem:
            self.drop()
            raise InputError(f"{self.path}: can't be written ({problem.strerror}): leave out --cache.") from None

    def add(self, rows: Rows, parsed: ParsedBlock, features: int) -> None:
        """Add a batch. Batches are combined: few large records are faster to read than many small ones."""
        piece = _BatchArrays.from_block(rows, parsed, features)
        if self.gathered and piece.shape() != self.gathered[0].shape():
            self._write_record()
        self.gathered.append(piece)
        self.size += piece.size()
        self._note_labels(parsed)
        if self.size >= RECORD_BYTES:
            self._write_record()

    def _write_record(self) -> None:
        if not self.gathered:
            return
        whole = _concatenate(self.gathered)
        flags = (
            HAS_WEIGHTS * bool(len(whole.weights)) | HAS_GROUPS * bool(len(whole.groups)) | HAS_NUMBERS * whole.numbers
        )
        flags |= HAS_VALUES * (not (whole.values == 1.0).all())
        arrays: list[NDArray[Any]] = [whole.keys, whole.line_of, whole.weights, whole.groups]
        if not whole.width:
            arrays += [np.concatenate([[0], np.cumsum(whole.lengths)]), whole.indices]
        arrays += [whole.values] if flags & HAS_VALUES else []
        body = b"".join(a.tobytes() + bytes(-a.nbytes % 8) for a in arrays)
        body += bytes(-len(body) % 64)
        count, terms = len(whole.keys), len(whole.values)
        head = np.array([count, terms, whole.features, whole.width, whole.lines, flags, 0, RECORD_MAGIC], np.uint64)
        head[6] = _checksum_record(head, np.frombuffer(body, np.uint8))
        self._write(head.tobytes() + body)
        self.gathered, self.size = [], 0

    def _note_labels(self, parsed: ParsedBlock) -> None:
        if parsed.numbers is not None:
            return
        for key in set(np.unique(parsed.keys).tolist()) - set(self.labels):
            self.labels[key] = parsed.label(int(np.flatnonzero(parsed.keys == key)[0]))

    def close(self, bad: dict[str, int], used: NDArray[np.uint64]) -> None:
        """Complete the cache and move it to its place, unless the file has changed meanwhile."""
        self._write_record()
        import base64

        about = {"labels": list(self.labels.items()), "bad": bad, "used": base64.b64encode(used.tobytes()).decode()}
        trailer = json.dumps(about).encode()
        end = len(trailer).to_bytes(8, "little") + int(_checksum_text(trailer)).to_bytes(8, "little") + MAGIC
        self._write(trailer + end)
        os.fsync(self.file.fileno())
        self.file.close()
        if CacheKey.from_status(os.stat(self.title), json.loads(self.stamp.reading)) == self.stamp:
            os.replace(self.temporary, self.path)
        else:
            self.drop()

    def drop(self) -> None:
        self.file.close()
        with contextlib.suppress(OSError):
            self.temporary.unlink()


class CacheDamagedError(Exception):
    """A damaged cache: the file itself must be read."""


class RecordBuffer:
    """Buffers for one record."""

    def __init__(self) -> None:
        self.head = np.zeros(HEAD_WORDS, np.uint64)
        self.body = np.zeros(0, np.uint8)
        self.ones = np.zeros(0, np.float32)


class CacheReader:
    """Reader of a cache that matches its file."""

    def __init__(self, file: Any, start: int, stop: int, about: dict[str, Any]) -> None:
        self.file, self.at, self.stop = file, start, stop
        status = os.fstat(file.fileno())
        self.state = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        """Identity and state of the cache file."""
        self.labels = dict(about["labels"])
        self.bad: dict[str, int] = about["bad"]
        import base64

        self.used = np.frombuffer(base64.b64decode(about["used"]), np.uint64)
        file.seek(start)

    def take(self, place: RecordBuffer) -> bool:
        """Read the next record; return False at the end."""
        if self.at >= self.stop:
            return False
        self._read(place.head.data.cast("B"))
        size = _count_body_bytes(place.head)
        if int(place.head[7]) != RECORD_MAGIC or self.at + size > self.stop:
            raise CacheDamagedError
        if len(place.body) < size:
            place.body = np.zeros(size * 5 // 4 + 64, np.uint8)
        self._read(place.body.data[:size])
        return True

    def _read(self, buffer: memoryview) -> None:
        self.at += len(buffer)
        while len(buffer):
            count = self.file.readinto(buffer)
            if not count:
                raise CacheDamagedError
            buffer = buffer[count:]

    def parse_record(self, place: RecordBuffer, *, known: bool = False) -> ParsedBlock:
        """Return the examples of a record; `known` skips the check of its checksum."""
        count, terms, features, width, lines, flags, stored_checksum, _ = (int(n) for n in place.head)
        body = place.body[: _count_body_bytes(place.head)]
        if not known and _checksum_record(place.head, body) != stored_checksum:
            raise CacheDamagedError
        at = 0

        def array(dtype: Any, length: int) -> NDArray[Any]:
            nonlocal at
            begin, size = at, length * np.dtype(dtype).itemsize
            at += size + -size % 8
            return body[begin : begin + size].view(dtype)

        keys, line_of = array(np.uint64, count), array(np.int64, count)
        weights = array(np.float64, count) if flags & HAS_WEIGHTS else np.zeros(0)
        groups = array(np.int64, count) if flags & HAS_GROUPS else None
        starts = array(np.int64, 0 if width else count + 1)
        indices = array(np.uint32, 0 if width else terms)
        values = array(np.float32, terms) if flags & HAS_VALUES else self._get_ones(place, terms)
        numbers = keys.view(np.float64) if flags & HAS_NUMBERS else None
        return ParsedBlock(
            rows=Dense(values, width) if width else Sparse(starts, indices, values),
            keys=keys,
            label=self._label(keys, numbers),
            weights=weights,
            line_of=line_of,
            lines=lines,
            features=features,
            problems=[],
            hashes=np.zeros(0, np.uint64),
            spans=np.zeros((0, 4), np.int64),
            numbers=numbers,
            groups=groups,
        )

    def _get_ones(self, place: RecordBuffer, terms: int) -> NDArray[np.float32]:
        if len(place.ones) < terms:
            place.ones = np.ones(terms * 5 // 4 + 64, np.float32)
        return place.ones[:terms]

    def _label(self, keys: NDArray[np.uint64], numbers: Any) -> Any:
        from novikoff.data.formats.base import build_number_decoder

        return (lambda i: self.labels[int(keys[i])]) if numbers is None else build_number_decoder(keys)


def _checksum_record(head: NDArray[np.uint64], body: NDArray[np.uint8]) -> int:
    """Return the checksum of a record; it covers the head with the body's checksum in the checksum field."""
    start = head.copy()
    start[6] = checksum(body)
    return int(checksum(start.view(np.uint8)))


def _checksum_text(text: bytes) -> int:
    return int(checksum(np.frombuffer(text + bytes(-len(text) % 64), np.uint8).copy()))


def _count_body_bytes(head: NDArray[np.uint64]) -> int:
    """Return the size of a record's arrays in bytes."""
    count, terms, width, flags = (int(head[k]) for k in (0, 1, 3, 5))
    if max(count, terms) > 1 << 40:
        raise CacheDamagedError
    size = 8 * count * (2 + bool(flags & HAS_WEIGHTS) + bool(flags & HAS_GROUPS))
    rounded = 4 * terms + -4 * terms % 8
    size += (0 if width else 8 * (count + 1) + rounded) + (rounded if flags & HAS_VALUES else 0)
    return size + -size % 64


@contextlib.contextmanager
def open_cache(title: str, stamp: CacheKey, *, lenient: bool) -> Iterator[CacheReader | None]:
    """Open the cache of a file, if it is complete and matches the file; else yield None.

    `lenient` allows caches from which bad lines were left out. Temporary files of killed processes are removed here,
    not in `CacheWriter`: one that is too new to remove now is found when the complete cache is read.
    """
    remove_stale_parts(cache_path(title))
    try:
        file = open(cache_path(title), "rb", buffering=0)  # noqa: SIM115 - closed below
    except OSError:
        yield None
        return
    with file:
        cache = _open_if_valid(file, stamp)
        yield cache if cache is not None and (lenient or not cache.bad) else None


def _open_if_valid(file: Any, stamp: CacheKey) -> CacheReader | None:
    try:
        first = file.read(16)
        size = int.from_bytes(first[8:16], "little")
        whole = file.seek(0, os.SEEK_END)
        if first[:8] != MAGIC or size > 1 << 24:
            return None
        file.seek(16)
        header = json.loads(file.read(size))
        file.seek(whole - TRAILER_END_BYTES)
        last = file.read(TRAILER_END_BYTES)
        length, stored_checksum = int.from_bytes(last[:8], "little"), int.from_bytes(last[8:16], "little")
        stop = whole - TRAILER_END_BYTES - length
        if last[16:] != MAGIC or stop < 16 + size or header != {"format": FORMAT_VERSION, **stamp._asdict()}:
            return None
        file.seek(stop)
        trailer = file.read(length)
        return (
            CacheReader(file, 16 + size, stop, json.loads(trailer))
            if _checksum_text(trailer) == stored_checksum
            else None
        )
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
