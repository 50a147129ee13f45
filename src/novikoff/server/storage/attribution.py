"""Attribution of journal entries to clients: the token that sent an entry, its idempotency key, and late labels.

Attribution has tables of its own, so that earlier versions can still read and write the journal. An entry without a row
was written by an earlier version, or without a token and a key. Network addresses are not recorded.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import NamedTuple

CURRENT_CLIENT: ContextVar[str | None] = ContextVar("novikoff_client", default=None)
"""The id of the token of the current request; None without tokens. The journal records it with each entry."""

ATTRIBUTION_TABLES = {
    "sources": """(
        stream INTEGER NOT NULL, position INTEGER NOT NULL, client TEXT, key TEXT, PRIMARY KEY (stream, position)
    ) WITHOUT ROWID""",
    "labelled": """(
        id TEXT NOT NULL, stream INTEGER NOT NULL, position INTEGER NOT NULL, line INTEGER NOT NULL, client TEXT,
        PRIMARY KEY (id, position)
    ) WITHOUT ROWID""",
    "kept_clients": "(number INTEGER PRIMARY KEY, clients TEXT NOT NULL)",
    "erasures": """(
        stream INTEGER NOT NULL, last INTEGER NOT NULL, time REAL NOT NULL, entries INTEGER NOT NULL,
        examples INTEGER NOT NULL
    )""",
    "model_origins": "(model INTEGER PRIMARY KEY, version TEXT NOT NULL, time REAL NOT NULL, sha256 TEXT)",
}


class LabelledLine(NamedTuple):
    """The line of a late label in its entry, and the client that requested the prediction."""

    line: int
    """Index of the example in the entry, from 0."""
    client: str | None


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables that the journal does not have yet."""
    known = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for name, columns in ATTRIBUTION_TABLES.items():
        if name not in known:
            connection.execute(f"CREATE TABLE {name} {columns}")
    if "sources" not in known:
        connection.execute("CREATE INDEX labelled_entry ON labelled (stream, position)")


def record_clients(connection: sqlite3.Connection, number: int, clients: Sequence[str | None]) -> None:
    """Record the clients that requested the predictions of a row, in order."""
    if any(client is not None for client in clients):
        connection.execute("INSERT OR REPLACE INTO kept_clients VALUES (?, ?)", (number, json.dumps(clients)))


def read_clients(connection: sqlite3.Connection, number: int, count: int) -> list[str | None]:
    """Return the client that requested each prediction of a row, or None if it is not known."""
    row = connection.execute("SELECT clients FROM kept_clients WHERE number = ?", (number,)).fetchone()
    found = [] if row is None else json.loads(row[0])
    return found if len(found) == count else [None] * count


def forget_clients(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    connection.executemany("DELETE FROM kept_clients WHERE number = ?", [(number,) for number in numbers])


def forget_entries(connection: sqlite3.Connection, stream: int, upto: int) -> None:
    """Delete the attribution of entries that were dropped from the journal."""
    for table in ("sources", "labelled"):
        connection.execute(f"DELETE FROM {table} WHERE stream = ? AND position <= ?", (stream, upto))  # noqa: S608 - no input


def forget_entry(connection: sqlite3.Connection, stream: int, position: int) -> None:
    """Delete the attribution of a truncated last entry, whose position will be used again."""
    for table in ("sources", "labelled"):
        connection.execute(f"DELETE FROM {table} WHERE stream = ? AND position = ?", (stream, position))  # noqa: S608 - no input


def forget_stream(connection: sqlite3.Connection, stream: int) -> None:
    for table in ("sources", "labelled", "erasures"):
        connection.execute(f"DELETE FROM {table} WHERE stream = ?", (stream,))  # noqa: S608 - no input


def find_keys_of_refused(connection: sqlite3.Connection, stream: int, refused: Collection[int]) -> list[str]:
    """Return the keys of single examples whose latest entries are at these positions.

    The key of a stream of lines is not among them: its record counts the lines that need not be sent again.
    """
    query = """
        SELECT keys.key, used.last FROM keys JOIN (
            SELECT key, max(position) AS last FROM sources WHERE stream = ? AND position >= ? GROUP BY key
        ) AS used ON used.key = keys.key WHERE keys.stream = ? AND keys.lines = 1
    """
    rows = connection.execute(query, (stream, min(refused), stream))
    return [key for key, last in rows if last in refused]


def find_refused_labels(
    connection: sqlite3.Connection, stream: int, refused: Mapping[int, Collection[int]]
) -> list[str]:
    """Return the ids of predictions whose latest labels are in these lines, given by positions of entries."""
    rows = connection.execute(  # line is that of the greatest position: SQLite's rule for a query with max()
        "SELECT id, line, max(position) FROM labelled WHERE stream = ? AND position >= ? GROUP BY id",
        (stream, min(refused)),
    )
    return [name for name, line, last in rows if line in refused.get(last, ())]


def record_erasure(
    connection: sqlite3.Connection, stream: int, last: int, time: float, entries: int, examples: int
) -> None:
    connection.execute("INSERT INTO erasures VALUES (?, ?, ?, ?, ?)", (stream, last, time, entries, examples))


def was_erased_after(connection: sqlite3.Connection, stream: int, position: int) -> bool:
    """Return whether examples of entries after a position were erased."""
    if connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'erasures'").fetchone()[0] == 0:
        return False
    row = connection.execute("SELECT max(last) FROM erasures WHERE stream = ?", (stream,)).fetchone()
    return row[0] is not None and row[0] > position


def record_model(connection: sqlite3.Connection, model: int, version: str, time: float, sha256: str | None) -> None:
    """Record which version created a model, when, and the digest of the file that was uploaded."""
    connection.execute("INSERT OR REPLACE INTO model_origins VALUES (?, ?, ?, ?)", (model, version, time, sha256))


def forget_model(connection: sqlite3.Connection, model: int) -> None:
    connection.execute("DELETE FROM model_origins WHERE model = ?", (model,))
