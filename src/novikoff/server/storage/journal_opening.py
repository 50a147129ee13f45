"""Opening a journal: create its tables, and verify every entry.

A partially written tail (power loss) is truncated, and `Journal.cut` describes it. Damage anywhere else is an error.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from pathlib import Path

from novikoff.errors import InputError
from novikoff.server.storage import attribution, wal_check
from novikoff.server.storage.journal import JOURNAL_FILE, Journal, chain_digest, damaged_error

JOURNAL_FORMAT = 2
MAX_FULL_CHECK_BYTES = 1 << 30
"""Size up to which a journal is verified completely; of a larger one, only the entries that models need."""
JOURNAL_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE streams (id INTEGER PRIMARY KEY AUTOINCREMENT, first INTEGER NOT NULL, before BLOB NOT NULL);
CREATE TABLE models (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, stream INTEGER NOT NULL, role TEXT NOT NULL,
    learner TEXT NOT NULL, settings TEXT NOT NULL, created REAL NOT NULL, own INTEGER NOT NULL, joined INTEGER NOT NULL,
    past TEXT, checkpoint INTEGER, refused INTEGER NOT NULL, seal BLOB
);
CREATE TABLE entries (
    stream INTEGER NOT NULL, position INTEGER NOT NULL, time REAL NOT NULL, lines INTEGER NOT NULL, body BLOB NOT NULL,
    digest BLOB NOT NULL
);
CREATE UNIQUE INDEX entry ON entries (stream, position);
CREATE TABLE keys (
    stream INTEGER NOT NULL, key TEXT NOT NULL, lines INTEGER NOT NULL, digest BLOB NOT NULL, time REAL NOT NULL,
    PRIMARY KEY (stream, key)
) WITHOUT ROWID;
CREATE TABLE kept (number INTEGER PRIMARY KEY AUTOINCREMENT, stream INTEGER NOT NULL, body BLOB NOT NULL);
CREATE TABLE answers (id TEXT PRIMARY KEY, stream INTEGER NOT NULL, time REAL NOT NULL, label TEXT NOT NULL)
    WITHOUT ROWID;
"""


def open_journal(folder: Path) -> Journal:
    """Return the journal of a folder; raise JournalDamaged if it is damaged."""
    path = folder / JOURNAL_FILE
    log = wal_check.check_wal(path)
    if log.damaged_middle:
        raise damaged_error(path, "its write-ahead log is damaged before valid entries")
    journal = Journal(path, _connect(path))
    if log.cut:
        journal.cut.append(f"the last {log.cut:,} bytes of the write-ahead log are an unfinished transaction")
    try:
        _prepare_database(journal)
        _verify_entries(journal)
    except sqlite3.DatabaseError as problem:
        raise damaged_error(path, str(problem)) from None
    return journal


def _connect(path: Path) -> sqlite3.Connection:
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.close(number)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10.0)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as problem:
        raise damaged_error(path, str(problem)) from None
    return connection


def _prepare_database(journal: Journal) -> None:
    connection = journal.connection
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA page_size = 8192")
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise InputError(f"{journal.path}: the file system does not support a write-ahead log (SQLite uses {mode!r}).")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA wal_autocheckpoint = 4096")
    if connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone()[0] == 0:
        with journal.transaction():
            for statement in JOURNAL_SCHEMA.split(";"):
                connection.execute(statement)
            values = [("format", JOURNAL_FORMAT), ("id key", secrets.token_bytes(32))]
            connection.executemany("INSERT INTO meta VALUES (?, ?)", values)
    found = journal.meta("format")
    if found != JOURNAL_FORMAT:
        raise InputError(
            f"{journal.path}: the journal has format {found}, but this novikoff reads {JOURNAL_FORMAT}: update it."
        )
    if connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'model_origins'").fetchone()[0] == 0:
        with journal.transaction():
            attribution.create_tables(connection)


def _verify_entries(journal: Journal) -> None:
    """Verify the digest of every entry. Truncate a damaged last entry; raise JournalDamaged for any other."""
    small = journal.path.stat().st_size <= MAX_FULL_CHECK_BYTES
    if small and (word := journal.connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise damaged_error(journal.path, word)
    for stream, first, before in journal.connection.execute("SELECT id, first, before FROM streams").fetchall():
        journal.last[stream] = first - 1, before
        since = first
        if not small and (known := _find_unsaved_position(journal, stream)) > first:
            since = known
            journal.last[stream] = since - 1, _read_digest(journal, stream, since - 1)
        _verify_chain(journal, stream, since)


def _verify_chain(journal: Journal, stream: int, since: int) -> None:
    count, digest = journal.last[stream]
    most = journal.connection.execute("SELECT max(position) FROM entries WHERE stream = ?", (stream,)).fetchone()[0]
    rows = journal.connection.execute(
        "SELECT position, body, digest FROM entries WHERE stream = ? AND position >= ? ORDER BY position",
        (stream, since),
    )
    for position, body, stored in rows:
        good = position == count + 1 and isinstance(body, bytes) and chain_digest(digest, position, body) == stored
        if not good and position != most:
            raise damaged_error(
                journal.path, f"entry {count + 1} of stream {stream} is damaged, but later entries are valid"
            )
        if not good:
            rows.close()
            _truncate_last(journal, stream, position)
            return
        count, digest = position, stored
        journal.last[stream] = count, digest


def _truncate_last(journal: Journal, stream: int, position: int) -> None:
    with journal.transaction():
        journal.connection.execute("DELETE FROM entries WHERE stream = ? AND position = ?", (stream, position))
        attribution.forget_entry(journal.connection, stream, position)
    journal.cut.append(f"entry {position}, the last one of stream {stream}, was damaged")


def _find_unsaved_position(journal: Journal, stream: int) -> int:
    found = journal.connection.execute("SELECT min(coalesce(checkpoint, 0)) FROM models WHERE stream = ?", (stream,))
    return int(found.fetchone()[0] or 0) + 1


def _read_digest(journal: Journal, stream: int, position: int) -> bytes:
    row = journal.connection.execute(
        "SELECT digest FROM entries WHERE stream = ? AND position = ?", (stream, position)
    ).fetchone()
    if row is None:
        raise damaged_error(journal.path, f"entry {position} of stream {stream} is missing")
    return bytes(row[0])
