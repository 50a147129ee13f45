"""Erasure: delete the data of one client, prediction or request from the journal of a stopped server or a backup.

An erased entry keeps its position without a body, so that model files and later entries keep their positions. The
digests of all later entries are computed again. Before that, every model of the stream is saved to its file, so its
weights keep what it has learned. Certificates of such a stream can't be created or verified any more.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from novikoff.errors import InputError
from novikoff.model_file import to_bytes
from novikoff.server.models.registry import ModelRegistry
from novikoff.server.models.served_model import ServedModel
from novikoff.server.ops import clock
from novikoff.server.ops.limits import Limits
from novikoff.server.storage import attribution, checkpoint
from novikoff.server.storage.backup import remove_unfinished
from novikoff.server.storage.journal import (
    JOURNAL_FILE,
    StoredPrediction,
    chain_digest,
    compress_body,
    decompress_body,
    find_answer,
    pack_predictions,
)
from novikoff.server.storage.recovery import lock_folder, open_registry

TOKEN_ID_PATTERN = re.compile("[0-9a-f]{8}")
CHUNK_ENTRIES = 1_000
"""Number of entries read at once."""
ALL_LINES = None
"""Stands for all lines of an entry."""
EntryPlace = tuple[int, int]
"""Stream and position of an entry."""


class ErasureSubject(NamedTuple):
    """The subject whose data is erased; exactly one field is set."""

    client: str | None = None
    """Id of a token."""
    prediction: str | None = None
    """Id of a prediction."""
    key: str | None = None
    """Idempotency key of a request."""


@dataclass
class SubjectData:
    """The data of a subject in the journal."""

    lines: dict[EntryPlace, set[int] | None] = field(default_factory=dict)
    """The line indices in each entry, or ALL_LINES."""
    predictions: set[str] = field(default_factory=set)
    keys: set[tuple[int, str]] = field(default_factory=set)

    def add(self, place: EntryPlace, line: int | None) -> None:
        known = self.lines.get(place, set())
        self.lines[place] = ALL_LINES if line is ALL_LINES or known is ALL_LINES else known | {line}


@dataclass
class ErasureReport:
    """Numbers of erased items."""

    entries: int = 0
    examples: int = 0
    waiting: int = 0
    """Pending predictions."""
    answers: int = 0
    """Stored labels of predictions."""
    streams: set[int] = field(default_factory=set)
    unattributed: int = 0
    """Entries of the journal without a recorded client."""

    @property
    def is_empty(self) -> bool:
        return not (self.examples or self.waiting or self.answers)


def erase(folder: Path, subject: ErasureSubject, limits: Limits | None = None) -> ErasureReport:
    """Erase the data of a subject from a data folder or a backup; raise InputError if that is not possible.

    Unfinished backups beside the folder are removed, because they contain copies of a journal.
    """
    if not (folder / JOURNAL_FILE).is_file():
        raise InputError(f"{folder}: the folder has no journal, so it is neither a data folder nor a backup.")
    if active := remove_unfinished(folder.absolute().parent):
        raise InputError(
            f"{active[0]}: a backup is being written. Wait until it is complete, and include it with --backup."
        )
    lock = lock_folder(folder)
    try:
        registry = open_registry(folder, limits or Limits())
        try:
            return _erase(registry, subject)
        finally:
            registry.journal.close()
    finally:
        os.close(lock)


def _erase(registry: ModelRegistry, subject: ErasureSubject) -> ErasureReport:
    connection, report = registry.journal.connection, ErasureReport()
    found = _find_data(registry, subject)
    if subject.client is not None:
        query = "SELECT (SELECT count(*) FROM entries) - (SELECT count(*) FROM sources WHERE client IS NOT NULL)"
        report.unattributed = connection.execute(query).fetchone()[0]
    affected = {stream for stream, _ in found.lines}
    for served in registry.models.values():
        if served.stream in affected:
            _write_checkpoint(registry, served)
    connection.execute("PRAGMA secure_delete = ON")
    with registry.journal.transaction():
        for stream in sorted(affected):
            _rewrite_stream(registry, stream, found, report)
        _erase_predictions(registry, found, subject.client, report)
        for name in found.predictions:
            report.answers += connection.execute("DELETE FROM answers WHERE id = ?", (name,)).rowcount
        connection.executemany("DELETE FROM keys WHERE stream = ? AND key = ?", sorted(found.keys))
    connection.execute("VACUUM")  # leaves no copies in free pages
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    for served in registry.models.values():
        if served.stream in affected:  # replaying the changed journal from an earlier file would give another model
            checkpoint.remove(registry.folder, served.id, keep=1)
    return report


# --- Finding ---


def _find_data(registry: ModelRegistry, subject: ErasureSubject) -> SubjectData:
    found, connection = SubjectData(), registry.journal.connection
    if subject.prediction is not None:
        if registry.ids.parse_stream(subject.prediction) is None:
            raise InputError(f"{subject.prediction!r} is not the id of a prediction from this data folder.")
        found.predictions.add(subject.prediction)
        query, value = "SELECT id, stream, position, line FROM labelled WHERE id = ?", subject.prediction
    elif subject.client is not None:
        if not TOKEN_ID_PATTERN.fullmatch(subject.client):
            raise InputError(
                f"{subject.client!r} must be the id of a token, 8 hexadecimal digits, as `novikoff serve token --list`"
                " shows it."
            )
        _find_entries(connection, "client", subject.client, found)
        query, value = "SELECT id, stream, position, line FROM labelled WHERE client = ?", subject.client
    elif subject.key is not None:
        _find_entries(connection, "key", subject.key, found)
        found.keys |= {(stream, subject.key) for stream in registry.streams}
        return found
    else:
        raise InputError("Name what to erase: a client, a prediction or a key.")
    for name, stream, position, line in connection.execute(query, (value,)):
        found.predictions.add(name)
        found.add((stream, position), line)
    return found


def _find_entries(connection: sqlite3.Connection, column: str, value: str, found: SubjectData) -> None:
    query = f"SELECT stream, position, key FROM sources WHERE {column} = ?"  # noqa: S608 - a name of ours
    for stream, position, key in connection.execute(query, (value,)):
        found.add((stream, position), ALL_LINES)
        if key is not None:
            found.keys.add((stream, key))
    for stream, position in list(found.lines):
        names = connection.execute("SELECT id FROM labelled WHERE stream = ? AND position = ?", (stream, position))
        found.predictions |= {name for (name,) in names}


# --- Erasing ---


def _write_checkpoint(registry: ModelRegistry, served: ServedModel) -> None:
    """Save the current model to its file, because it can't be rebuilt from a journal with gaps."""
    if served.broken is not None:
        raise InputError(
            f"{served.name!r} can't be saved, which is necessary before its examples are erased: {served.broken} Allow"
            " more memory (--max-model-memory), or delete the model first."
        )
    if not served.has_learned or served.checkpoint == served.position:
        return
    checkpoint.write(registry.folder, served.id, served.position, to_bytes(served.learner))
    with registry.journal.transaction():
        registry.journal.set_model(served.id, checkpoint=served.position, refused=served.refused)
    served.checkpoint = served.position


def _rewrite_stream(registry: ModelRegistry, stream: int, found: SubjectData, report: ErasureReport) -> None:
    """Rewrite the entries of a stream without the found lines, and the digests of all later entries."""
    connection = registry.journal.connection
    places = sorted(position for number, position in found.lines if number == stream)
    first, digest = connection.execute("SELECT first, before FROM streams WHERE id = ?", (stream,)).fetchone()
    position, erased = places[0] - 1, Counter[str]()
    if position >= first:
        row = connection.execute("SELECT digest FROM entries WHERE stream = ? AND position = ?", (stream, position))
        digest = row.fetchone()[0]
    while rows := connection.execute(
        "SELECT position, lines, body FROM entries WHERE stream = ? AND position > ? ORDER BY position LIMIT ?",
        (stream, position, CHUNK_ENTRIES),
    ).fetchall():
        for position, lines, body in rows:
            if (stream, position) in found.lines:
                kept, gone = _remove_lines(decompress_body(body), found.lines[stream, position])
                erased["entries"] += gone > 0
                erased["examples"] += gone
                body, lines = compress_body(kept), max(0, lines - gone)  # noqa: PLW2901 - what is written
            digest = chain_digest(digest, position, body)
            connection.execute(
                "UPDATE entries SET lines = ?, body = ?, digest = ? WHERE stream = ? AND position = ?",
                (lines, body, digest, stream, position),
            )
    registry.journal.last[stream] = position, digest
    _forget_sources(connection, stream, found)
    if erased["entries"]:
        attribution.record_erasure(connection, stream, places[-1], clock.now(), erased["entries"], erased["examples"])
        report.streams.add(stream)
    report.entries += erased["entries"]
    report.examples += erased["examples"]


def _remove_lines(body: bytes, lines: set[int] | None) -> tuple[bytes, int]:
    """Return the body without these lines, and the number of removed lines."""
    pieces = [line for line in body.split(b"\n") if line.strip()]
    kept = [] if lines is ALL_LINES else [line for k, line in enumerate(pieces) if k not in lines]
    return b"".join(line + b"\n" for line in kept), len(pieces) - len(kept)


def _forget_sources(connection: sqlite3.Connection, stream: int, found: SubjectData) -> None:
    """Delete the attribution of erased lines, and renumber the remaining lines of their entries."""
    for (number, position), lines in found.lines.items():
        if number != stream:
            continue
        if lines is ALL_LINES:
            connection.execute("DELETE FROM labelled WHERE stream = ? AND position = ?", (stream, position))
            connection.execute("DELETE FROM sources WHERE stream = ? AND position = ?", (stream, position))
            continue
        for line in sorted(lines, reverse=True):
            place = (stream, position, line)
            connection.execute("DELETE FROM labelled WHERE stream = ? AND position = ? AND line = ?", place)
            connection.execute(
                "UPDATE labelled SET line = line - 1 WHERE stream = ? AND position = ? AND line > ?", place
            )


def _erase_predictions(registry: ModelRegistry, found: SubjectData, client: str | None, report: ErasureReport) -> None:
    """Erase pending predictions."""
    connection = registry.journal.connection
    for number, stream, kept in list(registry.journal.kept()):
        stay = [prediction for prediction in kept if not _is_subject(prediction, found.predictions, client)]
        if len(stay) == len(kept):
            continue
        gone = {prediction.id for prediction in kept} - {prediction.id for prediction in stay}
        # a row stays until all of its predictions are labelled
        report.waiting += sum(find_answer(connection, name) is None for name in gone)
        found.predictions |= gone
        registry.journal.remove_predictions([number])
        if stay:
            connection.execute("INSERT INTO kept VALUES (?, ?, ?)", (number, stream, pack_predictions(stay)))
            attribution.record_clients(connection, number, [prediction.client for prediction in stay])


def _is_subject(prediction: StoredPrediction, names: Iterable[str], client: str | None) -> bool:
    return prediction.id in names or (client is not None and prediction.client == client)
