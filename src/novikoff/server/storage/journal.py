"""The journal: all acknowledged examples in an SQLite database, in the order in which they are learned.

A stream contains the examples of a champion and its challengers. Its entries are numbered from 1. An entry is one or
more lines {"features": …, "label": …}. Its digest covers the digest of the entry before it, so that changed, lost or
inserted entries are detected. Entries, idempotency keys and labels of predictions are written in one transaction. The
database uses a write-ahead log with full sync (`PRAGMA synchronous = FULL` in journal_opening.py): committed data
survives a power loss.

While the server runs, only the writer's thread uses the connection. Start-up, shutdown and erasure use it without
that thread. Readers open their own connections (`open_read_only`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from novikoff.errors import InputError
from novikoff.server.storage import attribution, wal_check
from novikoff.server.storage.attribution import LabelledLine

JOURNAL_FILE = "journal.sqlite"
MIN_COMPRESSED_BYTES = 1 << 10  # shorter bodies are not compressed: it saves little
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"  # start of a zstd frame, which can't be the start of a JSON line
FIRST_DIGEST = bytes(16)
MAX_GROUP_BYTES = 8 << 20
MAX_GROUP_JOBS = 4096
MAX_RESOLVED_BYTES = 1 << 18
MAX_RESOLVED_JOBS = 64
"""Number of jobs resolved before the loop polls its sockets again: the tasks they wake take about 2 ms."""


class JournalEntry(NamedTuple):
    position: int
    body: bytes


class StoredPrediction(NamedTuple):
    """A pending prediction in the journal."""

    id: str
    time: float
    features: bytes
    """JSON."""
    client: str | None = None
    """Id of the token that requested it."""


class IdempotencyRecord(NamedTuple):
    """The use of an idempotency key."""

    lines: int
    digest: bytes
    """Digest of these lines."""
    time: float


class LearnEntry(NamedTuple):
    """Everything that is written in one transaction when examples are learned."""

    stream: int
    body: bytes
    """Lines of JSON, one for each example."""
    lines: int
    time: float
    predictions: list[StoredPrediction]
    """Earlier predictions that are not in the journal yet."""
    answers: list[tuple[str, int, float, str]]
    """Predictions that the examples label: id, stream, time and label as JSON."""
    key: tuple[str, IdempotencyRecord] | None
    """The idempotency key of the request, with its record."""
    client: str | None
    """Id of the token that sent the examples."""
    labelled: dict[str, LabelledLine]
    """Lines of late labels in the entry, by the ids of predictions."""

    def write(self, journal: Journal) -> tuple[int, int | None]:
        """Write the entry; return its position and the row of its predictions."""
        position = journal.add(self.stream, self.body, self.lines, self.time)
        key = None if self.key is None else self.key[0]
        journal.record_source(self.stream, position, self.client, key, self.labelled)
        row = journal.keep(self.stream, self.predictions)
        journal.answer(self.answers)
        if self.key is not None:
            journal.remember_key(self.stream, self.key[0], *self.key[1])
        return position, row


class NewModel(NamedTuple):
    name: str
    stream: int | None
    """None for a new stream."""
    role: str
    learner: str
    settings: str
    created: float
    own: bool


class DiskFull(Exception):
    """There is not enough disk space to write."""

    learned: int | None = None
    """Number of examples of the same request that were learned before the error."""


class JobChain:
    """A sequence of jobs that stops at the first failure."""

    error: Exception | None = None


class StreamDeleted(Exception):
    """The stream was deleted."""


class JournalDamaged(InputError):
    """The journal is damaged, so the server does not start."""


class Journal:
    """The database; `journal_opening.open_journal` opens it. Only one thread at a time may use it."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self.connection = path, connection
        self.cut: list[str] = []
        """Messages about data that was truncated because it was damaged at the very end."""
        self.last: dict[int, tuple[int, bytes]] = {}
        """Position and digest of the last entry of each stream."""

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        before = self.last.copy()
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.connection.execute("COMMIT")
        except BaseException:
            self.last = before
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("ROLLBACK")
            raise

    def attempt(self, action: Callable[[Journal], Any]) -> Any:
        """Call `action` in a savepoint. Return its result, or its exception after rolling it back.

        An SQLite error is raised and rolls back the whole transaction.
        """
        before = self.last.copy()
        self.connection.execute("SAVEPOINT attempt")
        try:
            answer = action(self)
        except sqlite3.Error:
            raise
        except Exception as problem:
            self.last, answer = before, problem
            self.connection.execute("ROLLBACK TO attempt")
        self.connection.execute("RELEASE attempt")
        return answer

    def meta(self, name: str) -> Any:
        row = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    # --- Within a transaction ---

    def add(self, stream: int, body: bytes, lines: int, now: float) -> int:
        """Append an entry; return its position."""
        if stream not in self.last:
            raise StreamDeleted
        position, digest = self.last[stream]
        packed = compress_body(body)
        position, digest = position + 1, chain_digest(digest, position + 1, packed)
        row = (stream, position, now, lines, packed, digest)
        self.connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", row)
        self.last[stream] = position, digest
        return position

    def record_source(
        self, stream: int, position: int, client: str | None, key: str | None, labelled: dict[str, LabelledLine]
    ) -> None:
        """Record the client of an entry and of its late labels, as far as known; see attribution.py."""
        if client is not None or key is not None:
            row = stream, position, client, key
            self.connection.execute("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?)", row)
        if labelled:
            rows = [(name, stream, position, line, asked) for name, (line, asked) in labelled.items()]
            self.connection.executemany("INSERT OR REPLACE INTO labelled VALUES (?, ?, ?, ?, ?)", rows)

    def remember_key(self, stream: int, key: str, lines: int, digest: bytes, now: float) -> None:
        self.connection.execute("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?)", (stream, key, lines, digest, now))

    def keep(self, stream: int, kept: list[StoredPrediction]) -> int | None:
        """Write predictions as one row; return its number. A row for each would cost more than the prediction."""
        if not kept:
            return None
        number = self.connection.execute(
            "INSERT INTO kept VALUES (NULL, ?, ?)", (stream, pack_predictions(kept))
        ).lastrowid
        assert number is not None  # noqa: S101 - an INSERT has one
        attribution.record_clients(self.connection, number, [prediction.client for prediction in kept])
        return number

    def kept(self) -> Iterator[tuple[int, int, list[StoredPrediction]]]:
        """Yield the number, stream and predictions of each row."""
        for number, stream, body in self.connection.execute("SELECT number, stream, body FROM kept ORDER BY number"):
            parts = [line.split(b" ", 2) for line in decompress_body(body).split(b"\n")]
            clients = attribution.read_clients(self.connection, number, len(parts))
            yield (
                number,
                stream,
                [
                    StoredPrediction(name.decode(), float(moment), text, client)
                    for (name, moment, text), client in zip(parts, clients, strict=True)
                ],
            )

    def remove_predictions(self, numbers: list[int]) -> None:
        self.connection.executemany("DELETE FROM kept WHERE number = ?", [(number,) for number in numbers])
        attribution.forget_clients(self.connection, numbers)

    def answer(self, answers: list[tuple[str, int, float, str]]) -> None:
        """Record labelled predictions, whose features are in the entry.

        Each label is stored until the prediction would have expired, so that none is learned twice.
        """
        self.connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", answers)

    def remove_answers(self, ids: list[str]) -> None:
        self.connection.executemany("DELETE FROM answers WHERE id = ?", [(name,) for name in ids])

    def forget_answers(self, before: float) -> None:
        self.connection.execute("DELETE FROM answers WHERE time < ?", (before,))

    def forget_keys(self, stream: int, keys: list[str]) -> None:
        self.connection.executemany("DELETE FROM keys WHERE stream = ? AND key = ?", [(stream, key) for key in keys])

    def add_model(self, model: NewModel) -> tuple[int, int, int]:
        """Add a model; return its number, its stream, and the position after which it learns."""
        stream = self._new_stream() if model.stream is None else model.stream
        joined = self.last[stream][0]
        number = self.connection.execute(
            "INSERT INTO models VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, 0, NULL)",
            (model.name, stream, model.role, model.learner, model.settings, model.created, model.own, joined),
        ).lastrowid
        assert number is not None  # noqa: S101 - an INSERT has one
        self._seal(number)
        return number, stream, joined

    def champion(self, stream: int) -> int | None:
        """Return the number of the current champion: an earlier job of the queue may have changed it."""
        row = self.connection.execute(
            "SELECT id FROM models WHERE stream = ? AND role = 'champion'", (stream,)
        ).fetchone()
        return None if row is None else int(row[0])

    def members(self, stream: int) -> list[int]:
        return [n for (n,) in self.connection.execute("SELECT id FROM models WHERE stream = ? ORDER BY id", (stream,))]

    def remove_model(self, model: int, stream: int) -> None:
        """Remove a model, and its stream if it was the last model in it."""
        self.connection.execute("DELETE FROM models WHERE id = ?", (model,))
        attribution.forget_model(self.connection, model)
        if self.connection.execute("SELECT count(*) FROM models WHERE stream = ?", (stream,)).fetchone()[0] == 0:
            self.remove_stream(stream)

    def set_model(self, model: int, **columns: Any) -> None:
        for column, value in columns.items():  # column names are constants, never user input
            self.connection.execute(f"UPDATE models SET {column} = ? WHERE id = ?", (value, model))  # noqa: S608
        self._seal(model)

    def _seal(self, model: int) -> None:
        """Update the digest of a row of the table of models, which the digests of entries do not cover."""
        row = self.connection.execute("SELECT * FROM models WHERE id = ?", (model,)).fetchone()
        if row is not None:
            self.connection.execute("UPDATE models SET seal = ? WHERE id = ?", (seal_digest(row), model))

    def models(self) -> list[tuple[Any, ...]]:
        """Return the verified rows of the table of models."""
        rows = self.connection.execute("SELECT * FROM models ORDER BY id").fetchall()
        for row in rows:
            if row[-1] != seal_digest(row):
                raise damaged_error(self.path, f"the digest of the model {row[1]!r} does not match")
        return [row[:-1] for row in rows]

    def _new_stream(self) -> int:
        stream = self.connection.execute("INSERT INTO streams (first, before) VALUES (1, ?)", (FIRST_DIGEST,)).lastrowid
        assert stream is not None  # noqa: S101 - an INSERT has one
        self.last[stream] = 0, FIRST_DIGEST
        return stream

    def remove_stream(self, stream: int) -> None:
        for table, column in (
            ("entries", "stream"),
            ("keys", "stream"),
            ("kept", "stream"),
            ("answers", "stream"),
            ("streams", "id"),
        ):
            self.connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (stream,))  # noqa: S608 - no input
        attribution.forget_stream(self.connection, stream)
        self.last.pop(stream, None)

    def oldest(self, stream: int) -> float | None:
        """Return the time of the first entry of a stream."""
        row = self.connection.execute(
            "SELECT time FROM entries WHERE stream = ? ORDER BY position LIMIT 1", (stream,)
        ).fetchone()
        return None if row is None else float(row[0])

    def drop(self, stream: int, upto: int, most: int) -> int:
        """Drop at most `most` entries up to a position; return the number of dropped entries."""
        rows = self.connection.execute(
            "SELECT position, digest FROM entries WHERE stream = ? AND position <= ? ORDER BY position LIMIT ?",
            (stream, upto, most),
        ).fetchall()
        if rows:
            position, digest = rows[-1]
            self.connection.execute("DELETE FROM entries WHERE stream = ? AND position <= ?", (stream, position))
            self.connection.execute(
                "UPDATE streams SET first = ?, before = ? WHERE id = ?", (position + 1, digest, stream)
            )
            attribution.forget_entries(self.connection, stream, position)
        return len(rows)

    def drop_older(self, stream: int, before: float, upto: int, most: int) -> int:
        """Drop at most `most` entries from the start of a stream that are older than a given time."""
        row = self.connection.execute(
            "SELECT position FROM entries WHERE stream = ? AND position <= ? AND time >= ? ORDER BY position LIMIT 1",
            (stream, upto, before),
        ).fetchone()
        return self.drop(stream, upto if row is None else row[0] - 1, most)

    # --- Outside of transactions ---

    def retain_by_age(self, now: float) -> None:
        """Prepare for dropping entries by age: overwrite deleted data, and move times in the future to now.

        After the clock was set back, entries from the future would be kept for too long.
        """
        self.connection.execute("PRAGMA secure_delete = ON")
        with self.transaction():
            self.connection.execute("UPDATE entries SET time = ? WHERE time > ?", (now, now))

    def release_pages(self, pages: int = 256) -> None:
        """Return some free pages to the file system."""
        self.connection.execute(f"PRAGMA incremental_vacuum({pages:d})").fetchall()

    def size(self) -> int:
        return sum(path.stat().st_size for path in (self.path, wal_check.wal_path(self.path)) if path.exists())

    def close(self) -> None:
        self.connection.close()


class WriteJob(NamedTuple):
    write: Callable[[Journal], Any]
    done: asyncio.Future[Any]
    """Gets the result of `write` when it is durable, or the exception because of which it was rolled back."""
    size: int
    """In bytes; 0 for jobs that are done even if the disk is full."""
    chain: JobChain


class JournalWriter(threading.Thread):
    """The thread that writes all waiting jobs in one transaction (group commit).

    While the disk syncs one group, the next group is collected: many clients share the cost of a sync, and a single
    client has no extra delay. Futures are resolved on the event loop's thread in the order of submission, which is the
    journal's order.
    """

    def __init__(self, journal: Journal, loop: asyncio.AbstractEventLoop, spare: int) -> None:
        """Create the thread. `spare` is the number of bytes that stay free on the disk."""
        super().__init__(name="novikoff-journal", daemon=True)
        self.journal, self.loop, self.spare = journal, loop, spare
        self.folder = str(journal.path.parent)
        self._waiting: deque[WriteJob] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self.failed = False
        """Whether the last group could not be written."""
        self._written: deque[tuple[WriteJob, Any]] = deque()

    def append(self, entry: LearnEntry, chain: JobChain | None = None) -> asyncio.Future[tuple[int, int | None]]:
        """Append an entry; the future gets its position and the row of its predictions."""
        return self.submit(entry.write, len(entry.body) + 1, chain)

    def submit(
        self, write: Callable[[Journal], Any], size: int = 0, chain: JobChain | None = None
    ) -> asyncio.Future[Any]:
        """Call `write` in the next transaction."""
        job = WriteJob(write, self.loop.create_future(), size, chain or JobChain())
        with self._wake:
            self._waiting.append(job)
            self._wake.notify()
        return job.done

    def run(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._stopping)
                group = self._next_group()
            if not group:
                return
            self._write(group)

    def _next_group(self) -> list[WriteJob]:
        group: list[WriteJob] = []
        size, waiting = 0, self._waiting
        while waiting and len(group) < MAX_GROUP_JOBS and (not group or size + waiting[0].size <= MAX_GROUP_BYTES):
            group.append(waiting.popleft())
            size += group[-1].size
        return group

    def _write(self, group: list[WriteJob]) -> None:
        results: list[Any]
        needs_space = sum(job.size for job in group) > 0
        try:
            full = self._disk_full() if needs_space else None
            with self.journal.transaction():
                results = [self._perform(job, full) for job in group]
        except Exception as problem:  # a failed write of SQLite is treated like a full disk
            error = DiskFull(str(problem)) if isinstance(problem, sqlite3.OperationalError) else problem
            results = [error] * len(group)
            for job in group:
                job.chain.error = job.chain.error or error
        if needs_space:
            self.failed = any(isinstance(result, DiskFull) for result in results)
        self.loop.call_soon_threadsafe(self._begin_resolving, list(zip(group, results, strict=True)))

    def _perform(self, job: WriteJob, full: DiskFull | None) -> Any:
        """Return the result of a job, or the exception that prevented it."""
        result = job.chain.error or (full if job.size else None) or self.journal.attempt(job.write)
        if isinstance(result, Exception):
            job.chain.error = result
        return result

    def _begin_resolving(self, written: list[tuple[WriteJob, Any]]) -> None:
        self._written.extend(written)
        if len(self._written) == len(written):  # otherwise _resolve is already running
            self._resolve()

    def _resolve(self) -> None:
        """Resolve futures in order, some at a time, so that other requests are handled in between."""
        jobs = size = 0
        while self._written and jobs < MAX_RESOLVED_JOBS and size < MAX_RESOLVED_BYTES:
            job, result = self._written.popleft()
            jobs, size = jobs + 1, size + job.size
            if job.done.done():  # cancelled
                continue
            if isinstance(result, Exception):
                job.done.set_exception(result)
                job.done.exception()  # mark it as retrieved: the waiting request may be gone
            else:
                job.done.set_result(result)
        if self._written:
            self.loop.call_later(0, self._resolve)

    @property
    def full(self) -> bool:
        """Whether the journal can't be written because the disk is full."""
        return self.failed or self._disk_full() is not None

    def _disk_full(self) -> DiskFull | None:
        try:
            stats = os.statvfs(self.folder)
        except OSError as problem:
            return DiskFull(f"the data folder can't be accessed: {problem.strerror}")
        free = stats.f_bavail * stats.f_frsize
        return None if free > self.spare else DiskFull(f"{free >> 20} MiB are free on the disk of the data folder")

    def stop(self) -> None:
        """Write all waiting jobs, then end the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self.join()


def open_read_only(folder: Path) -> contextlib.closing[sqlite3.Connection]:
    """Return a read-only connection for another thread or process. Only one thread at a time may use it."""
    uri = f"{(folder / JOURNAL_FILE).absolute().as_uri()}?mode=ro"
    return contextlib.closing(
        sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10.0, check_same_thread=False)
    )


def iter_entries(connection: sqlite3.Connection, stream: int, after: int = 0) -> Iterator[JournalEntry]:
    """Yield the entries of a stream after a position, in order, and verify their digests."""
    position, digest = after, None
    rows = connection.execute(
        "SELECT position, body, digest FROM entries WHERE stream = ? AND position > ? ORDER BY position",
        (stream, after),
    )
    for position, body, stored in rows:
        if digest is not None and chain_digest(digest, position, body) != stored:
            raise JournalDamaged(f"entry {position} of stream {stream} of the journal is damaged. Restore a backup.")
        digest = stored
        if body:  # an erased entry has no body
            yield JournalEntry(position, decompress_body(body))


def find_answer(connection: sqlite3.Connection, name: str) -> tuple[float, str] | None:
    """Return the time of a prediction and its label as JSON, or None if it was not labelled."""
    row = connection.execute("SELECT time, label FROM answers WHERE id = ?", (name,)).fetchone()
    return None if row is None else (float(row[0]), str(row[1]))


def chain_digest(before: bytes, position: int, packed: bytes) -> bytes:
    """Return the digest of an entry, given the digest of the entry before it."""
    return blake2b(position.to_bytes(8, "big") + packed, key=before, digest_size=16).digest()


def seal_digest(row: tuple[Any, ...]) -> bytes:
    """Return the digest of all columns except the last."""
    return blake2b(repr(row[:-1]).encode(), digest_size=16).digest()


def pack_predictions(kept: list[StoredPrediction]) -> bytes:
    """Return predictions as the body of a row of the table `kept`."""
    lines = (b"%b %r %b" % (prediction.id.encode(), prediction.time, prediction.features) for prediction in kept)
    return compress_body(b"\n".join(lines))


def compress_body(body: bytes) -> bytes:
    if len(body) < MIN_COMPRESSED_BYTES:
        return body
    import zstandard

    return zstandard.ZstdCompressor(level=1).compress(body)


def decompress_body(body: bytes) -> bytes:
    if not body.startswith(ZSTD_MAGIC):
        return body
    import zstandard

    return zstandard.ZstdDecompressor().decompress(body)


def damaged_error(path: Path, what: str) -> JournalDamaged:
    return JournalDamaged(
        f"{path}: the journal is damaged: {what}. No data was changed, and the server was not started. Restore the last"
        f" backup of the folder (see `novikoff serve backup`), or move {path.name} and its -wal file away for analysis"
        " and start with an empty folder."
    )
