"""Files, pipes and compressed files as blocks of whole records, or as spans of a file for parsers to read.

A block is a reused buffer, so that memory does not grow with the file. The text behind the last whole record of a block
is carried over to the next one.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import stat
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

from novikoff._compiled import buffers
from novikoff._compiled.lazy_numpy import NDArray, np
from novikoff._compiled.simd.byte_scan import PADDING_BYTES
from novikoff.errors import InputError, import_optional

BLOCK_BYTES = 1 << 20
NEWLINE = 10
COMPRESSED_CHUNK_BYTES = 1 << 17
MAX_RECORD_BYTES = 1 << 24
"""16 MiB: longer lines are refused."""
MIN_SPAN_BYTES = 1 << 20
MIN_REMAINING_SPANS = 4  # a span is at most this fraction of the rest of the file
PROBE_BYTES = 1 << 12  # most lines end within this
MAX_EXCERPT_BYTES = 40
UTF8_BOM = b"\xef\xbb\xbf"
COMPRESSION_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2"}
COMPRESSION_SUFFIXES = (".gz", ".zst", ".zstd", ".xz", ".bz2")


class TextBlock:
    """Some records: text[PADDING_BYTES:stop], with PADDING_BYTES bytes of padding on both sides."""

    def __init__(self, size: int = BLOCK_BYTES) -> None:
        self.text: NDArray[np.uint8] = buffers.zeros(PADDING_BYTES + size + 1 + PADDING_BYTES, "uint8")
        self.stop = PADDING_BYTES
        self.text_bytes_read = 0
        """Number of bytes of text."""
        self.title = ""

    @property
    def size(self) -> int:
        return len(self.text) - 2 * PADDING_BYTES - 1

    def grow(self) -> None:
        larger = buffers.zeros(PADDING_BYTES + 2 * self.size + 1 + PADDING_BYTES, "uint8")
        larger[: len(self.text)] = self.text
        self.text = larger

    def set_end(self, end: int, title: str) -> None:
        """Mark the text as filled up to `end`."""
        self.text[end : end + PADDING_BYTES] = 0
        self.stop, self.text_bytes_read, self.title = end, end - PADDING_BYTES, title

    def decode(self, start: int, stop: int) -> str:
        return decode_text(self.text[start:stop].tobytes())


def decode_text(text: bytes) -> str:
    """Decode text for messages and names; invalid bytes become \\x.., so that different texts stay different."""
    return text.decode("utf-8", "backslashreplace")


class FileSpan(NamedTuple):
    """Some whole lines of a regular file."""

    feed: TextSource
    number: int
    """The file descriptor."""
    start: int
    stop: int
    most: int
    """Usual upper limit of the spans of this file, in bytes."""

    def fill(self, block: TextBlock) -> None:
        """Read the span into a block."""
        size = self.stop - self.start
        while block.size < size:
            block.grow()
        n_read = 0
        while n_read < size:
            room = block.text.data[PADDING_BYTES + n_read : PADDING_BYTES + size]
            n_read += self.feed.read_at(self.start + n_read, room)
        end = PADDING_BYTES + size
        if block.text[end - 1] != NEWLINE:  # the end of the file is the end of a record
            block.text[end] = NEWLINE
            end += 1
        block.set_end(end, self.feed.title)

    def decode(self, start: int, stop: int) -> str:
        return decode_text(self.feed._read_chunk(start, stop - start))


class TextSource:
    """The records of one file, block by block."""

    def __init__(
        self,
        title: str,
        file: Any,
        *,
        size: int | None,
        waits: int | None,
        status: os.stat_result | None = None,
        descriptor: int | None = None,
    ) -> None:
        self.title, self.file = title, file
        self.descriptor = descriptor
        """The file descriptor of a compressed or transcoded regular file."""
        self.fraction: float | None = None
        """The fraction that has been read, where a format or a cache knows it."""
        self.status = status
        """Set for regular files."""
        self.tail: Any = buffers.zeros(0, "uint8")
        self.size, self.waits = size, waits
        """The number of bytes of the file, where known; the file descriptor of a pipe, to poll it."""
        self.taken = 0

    def fraction_read(self) -> float | None:
        """Return the fraction of the file's bytes that has been read: of the compressed ones of a compressed file; None
        for pipes."""
        if self.fraction is not None or self.status is None:
            return self.fraction
        position = self.taken if self.descriptor is None else os.lseek(self.descriptor, 0, os.SEEK_CUR)
        return min(1.0, position / max(1, self.status.st_size))

    def head(self, size: int = BLOCK_BYTES) -> bytes:
        """Return the first bytes, whole lines if possible, without consuming them."""
        if self.size is not None:
            return self._peek(size)
        content = self.tail.tobytes()
        while len(content) < size:
            chunk = bytearray(size - len(content))
            count = self._read(chunk)
            content += memoryview(chunk)[:count]
            if count == 0 or b"\n" in content:
                break
        self.tail = buffers.frombuffer(content, "uint8")
        return content

    def _peek(self, size: int) -> bytes:
        """Return the first bytes of a regular file: all of them, or whole lines."""
        content = b""
        try:
            while chunk := os.pread(self.file.fileno(), size - len(content), self.file.tell() + len(content)):
                content = content + chunk if content else chunk
        except OSError as problem:
            self._raise_unreadable(problem)
        return content if len(content) < size else content[: content.rfind(b"\n") + 1] or content

    def skip(self, count: int) -> None:
        """Skip the first bytes of `head`."""
        if self.size is not None:
            self.taken += count
            self.file.seek(count, os.SEEK_CUR)
        self.tail = self.tail[count:]

    def fill(self, block: TextBlock, find_last_record_end: Callable[[NDArray[np.uint8], int, int], int]) -> bool:
        """Read the next records into a block; return False at the end of the file."""
        at = PADDING_BYTES
        while True:
            at, ended = self._more(block, at)
            if ended:  # the end of the file is the end of a record
                if at > PADDING_BYTES and block.text[at - 1] != NEWLINE:
                    block.text[at] = NEWLINE
                    at += 1
                end = at
                break
            end = find_last_record_end(block.text, PADDING_BYTES, at)
            if end > PADDING_BYTES:
                break
            if at == PADDING_BYTES + block.size:
                self._grow_block(block)
        self.tail = buffers.concatenate([block.text[end:at], self.tail])
        block.set_end(end, self.title)
        return end > PADDING_BYTES

    def spans(self, size: int) -> Iterator[FileSpan]:
        """Yield the lines of a regular file in spans of up to about `size` bytes, which the parsers' threads read.

        Spans are short at first, so that learning begins early, and short at the end, so that all threads finish
        together.
        """
        assert self.status is not None  # noqa: S101 - regular files have one
        fd, start, file_size = self.file.fileno(), self.file.tell(), self.status.st_size
        least = step = min(size, MIN_SPAN_BYTES)
        while True:
            stop = start + max(least, min(step, (file_size - start) // MIN_REMAINING_SPANS))
            step = min(2 * step, size)
            if stop >= file_size:
                file_size = max(file_size, os.fstat(fd).st_size)  # the file may have grown
            stop = file_size if stop >= file_size else self._line_end(start, stop, file_size)
            if start >= stop:
                return
            ended = (
                stop >= file_size and self._read_chunk(stop - 1, 1) != b"\n"
            )  # text appended later would continue this line
            self.taken = stop
            yield FileSpan(self, fd, start, stop, size)
            if ended:
                return
            start = stop

    def _line_end(self, start: int, stop: int, file_size: int) -> int:
        """Return the first end of a line at or after `stop`, which is above `start`."""
        place, end = stop - 1, 0
        while not end and place - stop < MAX_RECORD_BYTES:
            if place >= file_size:
                file_size = end = max(file_size, os.fstat(self.file.fileno()).st_size)
                if place >= end:
                    break
            chunk = self._read_chunk(place, PROBE_BYTES)
            end = place + chunk.find(b"\n") + 1 if b"\n" in chunk else 0
            place += len(chunk)
        if not end or end - start > MAX_RECORD_BYTES:
            begin = start + self._read_chunk(start, stop - start).rfind(b"\n", 0, -1) + 1
            if not end or end - begin > MAX_RECORD_BYTES:
                self._raise_too_long(decode_text(self._read_chunk(begin, MAX_EXCERPT_BYTES)))
        return end

    def _read_chunk(self, start: int, size: int) -> bytes:
        """Read up to `size` bytes of a regular file with one system call."""
        room = bytearray(size)
        return bytes(room[: self.read_at(start, room)])

    def read_at(self, start: int, room: Any) -> int:
        """Read bytes of a regular file that must exist; return their number."""
        try:
            count = os.preadv(self.file.fileno(), [room], start)
        except OSError as problem:
            self._raise_unreadable(problem)
        if count == 0:
            self._raise_truncated()
        return count

    def _more(self, block: TextBlock, at: int) -> tuple[int, bool]:
        """Fill the block from `at` on, blocking only for the first bytes; return the new end, and if the file ended."""
        room = PADDING_BYTES + block.size
        left = min(len(self.tail), room - at)
        block.text[at : at + left] = self.tail[:left]
        self.tail = self.tail[left:]
        some = left > 0
        at += left
        while at < room and (not some or self._has_ready_bytes()):
            count = self._read(block.text.data[at:room])
            if count == 0:
                return at, True
            some = True
            at += count
        return at, False

    def _grow_block(self, block: TextBlock) -> None:
        if block.size >= MAX_RECORD_BYTES:
            self._raise_too_long(block.decode(PADDING_BYTES, PADDING_BYTES + MAX_EXCERPT_BYTES))
        block.grow()

    def _raise_too_long(self, begin: str) -> NoReturn:
        raise InputError(
            f"{self.title}: has a line longer than {MAX_RECORD_BYTES >> 20} MiB, beginning with {begin!r}: is it the"
            " right file, with one example per line?"
        )

    def _has_ready_bytes(self) -> bool:
        """Return whether bytes can be read without waiting: always from a file, never known of a compressed pipe."""
        if self.status is not None:
            return True
        return self.waits is not None and bool(select.select([self.waits], [], [], 0)[0])

    def _read(self, room: Any) -> int:
        try:
            count = self.file.readinto(room)
        except (EOFError, OSError) as problem:
            self._raise_unreadable(problem)
        except Exception as problem:
            if not is_decompression_error(problem):
                raise
            self._raise_unreadable(problem)
        self.taken += count
        if count == 0 and self.size is not None and self.taken < self.size:
            self._raise_truncated()
        return count

    def _raise_truncated(self) -> NoReturn:
        raise InputError(f"{self.title}: was truncated while it was read.")

    def _raise_unreadable(self, problem: Exception) -> NoReturn:
        reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        raise InputError(f"{self.title}: can't be read to its end: {reason}.") from None


def is_decompression_error(problem: Exception) -> bool:
    """Return whether an error comes from a decompression library, which may not be imported."""
    kind = type(problem)
    return kind.__name__ in ("ZstdError", "LZMAError") or (kind.__module__, kind.__name__) == ("zlib", "error")


@contextlib.contextmanager
def open_source(title: str, encoding: str | None = None) -> Iterator[TextSource]:
    """Open a file, or standard input for `-`; decompress it where its first bytes say so, and convert it to UTF-8."""
    with contextlib.ExitStack() as stack:
        shown = "standard input" if title == "-" else title
        raw: Any = _open_standard_input() if title == "-" else stack.enter_context(open(title, "rb", buffering=0))
        fd = _get_file_descriptor(raw)
        if fd is not None:
            os.set_blocking(fd, True)
        status = None if fd is None else os.fstat(fd)
        regular = status if status is not None and stat.S_ISREG(status.st_mode) and title != "-" else None
        kind, first, skipped = _detect_compression(raw, shown)
        file: Any = _PeekableFile(first, raw)
        if kind is not None or encoding is not None:
            if kind is not None:
                file = stack.enter_context(contextlib.closing(_open_decompressor(kind, file)))
            if encoding is not None:
                file = _TranscodedFile(file, encoding, shown)
            descriptor = None if regular is None else fd
            yield TextSource(shown, file, size=None, waits=None, status=regular, descriptor=descriptor)
            return
        if regular is not None:
            raw.seek(skipped)
            yield TextSource(shown, raw, size=regular.st_size - skipped, waits=None, status=regular)
            return
        waits = fd if not (status is not None and stat.S_ISREG(status.st_mode)) else None
        yield TextSource(shown, file, size=None, waits=waits)


def _get_file_descriptor(file: Any) -> int | None:
    """Return the file descriptor of an open file, if it has one."""
    try:
        return int(file.fileno())
    except (OSError, AttributeError, ValueError):
        return None


def _open_standard_input() -> Any:
    if sys.stdin is None:
        raise InputError("standard input is closed: there is nothing to read.")
    return getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)


class _PeekableFile:
    """A file with its first bytes put back after they were inspected."""

    def __init__(self, first: bytes, file: Any) -> None:
        self.first, self.file = first, file

    def readinto(self, room: Any) -> int:
        if self.first:
            count = min(len(self.first), len(room))
            room[:count] = self.first[:count]
            self.first = self.first[count:]
            return count
        return int(self.file.readinto(room))

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            first, self.first = self.first, b""
            return first + bytes(self.file.read() or b"")
        room = bytearray(size)
        return bytes(room[: self.readinto(room)])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    @property
    def closed(self) -> bool:
        return False

    def close(self) -> None:
        """Do nothing: the caller that opened the file closes it."""


def _detect_compression(file: Any, title: str) -> tuple[str | None, bytes, int]:
    """Return the compression of a file (None for none), its first bytes, and the number of bytes before them."""
    first = b""
    try:
        while len(first) < 6:
            chunk = file.read(6 - len(first))
            if not chunk:
                break
            first += chunk
            if not any(magic.startswith(first[: len(magic)]) for magic in (*COMPRESSION_MAGIC, UTF8_BOM)):
                break
    except OSError as problem:
        raise InputError(f"{title}: can't be read: {problem.strerror}.") from None
    for magic, kind in COMPRESSION_MAGIC.items():
        if first.startswith(magic):
            return kind, first, 0
    plain = first.removeprefix(UTF8_BOM)
    return None, plain, len(first) - len(plain)


def _open_decompressor(kind: str, file: Any) -> Any:
    if kind == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=file)
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(file)
    if kind == "bzip2":
        import bz2

        return bz2.BZ2File(file)
    return _ZstdFile(file)


class _TranscodedFile:
    """UTF-8 text from a file in another encoding."""

    def __init__(self, file: Any, encoding: str, title: str) -> None:
        self.file, self.encoding, self.title = file, encoding, title
        self.decoder = codecs.getincrementaldecoder(encoding)()
        self.ready, self.ended = memoryview(b""), False

    def readinto(self, room: Any) -> int:
        while not self.ready and not self.ended:
            chunk = bytearray(COMPRESSED_CHUNK_BYTES)
            count = int(self.file.readinto(chunk))
            self.ended = count == 0
            try:
                text = self.decoder.decode(bytes(chunk[:count]), self.ended)
            except UnicodeDecodeError as problem:
                raise InputError(f"{self.title}: is not {self.encoding} text: {problem.reason}.") from None
            self.ready = memoryview(text.encode())
        count = min(len(self.ready), len(room))
        room[:count] = self.ready[:count]
        self.ready = self.ready[count:]
        return count


class _ZstdFile:
    """Concatenated zstd frames. Unlike the library's own reader, it detects truncated archives."""

    def __init__(self, file: Any) -> None:
        zstandard = import_optional("zstandard", "zstd", "A file compressed by zstd")
        self.file, self.tool = file, zstandard.ZstdDecompressor()
        self.frame: Any = None
        self.packed, self.ready = b"", memoryview(b"")

    def readinto(self, room: Any) -> int:
        while not len(self.ready):
            self.packed = self.packed or self.file.read(COMPRESSED_CHUNK_BYTES)
            if not self.packed:
                if self.frame is not None:
                    raise EOFError("the archive ends before its end was marked")
                return 0
            self.frame = self.frame or self.tool.decompressobj()
            self.ready = memoryview(self.frame.decompress(self.packed))
            self.packed = self.frame.unused_data
            if self.frame.eof:
                self.frame = None
        count = min(len(room), len(self.ready))
        room[:count] = self.ready[:count]
        self.ready = self.ready[count:]
        return count

    def close(self) -> None:
        """Do nothing: the caller that opened the file closes it."""


def get_uncompressed_suffix(title: str) -> str:
    """Return the suffix of a file name, without that of compression."""
    name, suffix = os.path.splitext(title)
    return (os.path.splitext(name)[1] if suffix.lower() in COMPRESSION_SUFFIXES else suffix).lower()


def find_last_line_end(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return the position after the last newline; `start` where there is none."""
    while stop > start:
        low = max(start, stop - 4096)
        found = text[low:stop].tobytes().rfind(b"\n")
        if found >= 0:
            return low + found + 1
        stop = low
    return start
