"""Erasure: the data of one client, one prediction or one request leave the journal of a folder that is not served.

An entry that is erased keeps its position without a body, so that model files and later entries stay where they are;
the digests of all later entries are computed again. Before that every model of the stream is written to its file: what
it has learned stays in its weights. A certificate of such a stream can't be made or verified any more.
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
from novikoff.server.models.registry import House
from novikoff.server.models.served_model import Served
from novikoff.server.ops import clock
from novikoff.server.ops.limits import Limits
from novikoff.server.storage import attribution, checkpoint
from novikoff.server.storage.backup import remove_unfinished
from novikoff.server.storage.journal import FILE, Prediction, answer_of, chained, pack, pack_kept, unpack
from novikoff.server.storage.recovery import locked, opened

TOKEN_ID = re.compile("[0-9a-f]{8}")
CHUNK = 1_000
"""Entries that are read at once."""
WHOLE = None
"""Stands for all lines of an entry."""
Place = tuple[int, int]
"""Stream and position of an entry."""


class Subject(NamedTuple):
    """Whose data is erased; one of these."""

    client: str | None = None
    """The id of a token."""
    prediction: str | None = None
    """The id of a prediction."""
    key: str | None = None
    """The idempotency key of a request."""


@dataclass
class Found:
    """Where the data of a subject is."""

    lines: dict[Place, set[int] | None] = field(default_factory=dict)
    """Entries with the numbers of their lines, or all of them."""
    predictions: set[str] = field(default_factory=set)
    keys: set[tuple[int, str]] = field(default_factory=set)

    def add(self, place: Place, line: int | None) -> None:
        known = self.lines.get(place, set())
        self.lines[place] = WHOLE if line is WHOLE or known is WHOLE else known | {line}


@dataclass
class Report:
    entries: int = 0
    examples: int = 0
    waiting: int = 0
    """Predictions that waited for their labels."""
    answers: int = 0
    """Labels of predictions that were remembered."""
    streams: set[int] = field(default_factory=set)
    unattributed: int = 0
    """Entries of which no client is recorded."""

    @property
    def is_empty(self) -> bool:
        return not (self.examples or self.waiting or self.answers)


def erase(folder: Path, subject: Subject, limits: Limits | None = None) -> Report:
    """Erase the data of a subject from a data folder or a backup; InputError where that is not possible.

    Unfinished backups beside the folder are removed: they have copies of a journal.
    """
    if not (folder / FILE).is_file():
        raise InputError(f"{folder}: has no journal: it is neither a data folder nor a backup.")
    if active := remove_unfinished(folder.absolute().parent):
        raise InputError(f"{active[0]}: a backup is being written: erase when it is complete, and name it by --backup.")
    lock = locked(folder)
    try:
        house = opened(folder, limits or Limits())
        try:
            return _erase(house, subject)
        finally:
            house.journal.close()
    finally:
        os.close(lock)


def _erase(house: House, subject: Subject) -> Report:
    on, report = house.journal.connection, Report()
    found = _find(house, subject)
    if subject.client is not None:
        query = "SELECT (SELECT count(*) FROM entries) - (SELECT count(*) FROM sources WHERE client IS NOT NULL)"
        report.unattributed = on.execute(query).fetchone()[0]
    affected = {stream for stream, _ in found.lines}
    for served in house.models.values():
        if served.stream in affected:
            _write_file(house, served)
    on.execute("PRAGMA secure_delete = ON")
    with house.journal.transaction():
        for stream in sorted(affected):
            _rewrite(house, stream, found, report)
        _erase_kept(house, found, subject.client, report)
        for name in found.predictions:
            report.answers += on.execute("DELETE FROM answers WHERE id = ?", (name,)).rowcount
        on.executemany("DELETE FROM keys WHERE stream = ? AND key = ?", sorted(found.keys))
    on.execute("VACUUM")  # no copy stays in free pages
    on.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    for served in house.models.values():
        if served.stream in affected:  # an earlier file and the shorter journal would make another model
            checkpoint.remove(house.folder, served.id, keep=1)
    return report


# --- Finding ---


def _find(house: House, subject: Subject) -> Found:
    found, on = Found(), house.journal.connection
    if subject.prediction is not None:
        if house.ids.stream_of(subject.prediction) is None:
            raise InputError(f"{subject.prediction!r} is not the id of a prediction that this folder has made.")
        found.predictions.add(subject.prediction)
        query, value = "SELECT id, stream, position, line FROM labelled WHERE id = ?", subject.prediction
    elif subject.client is not None:
        if not TOKEN_ID.fullmatch(subject.client):
            raise InputError(
                f"{subject.client!r} must be the id of a token, 8 hexadecimal digits, as `novikoff serve token --list`"
                " shows it."
            )
        _find_entries(on, "client", subject.client, found)
        query, value = "SELECT id, stream, position, line FROM labelled WHERE client = ?", subject.client
    elif subject.key is not None:
        _find_entries(on, "key", subject.key, found)
        found.keys |= {(stream, subject.key) for stream in house.streams}
        return found
    else:
        raise InputError("Nothing is named that could be erased.")
    for name, stream, position, line in on.execute(query, (value,)):
        found.predictions.add(name)
        found.add((stream, position), line)
    return found


def _find_entries(on: sqlite3.Connection, column: str, value: str, found: Found) -> None:
    query = f"SELECT stream, position, key FROM sources WHERE {column} = ?"  # noqa: S608 - a name of ours
    for stream, position, key in on.execute(query, (value,)):
        found.add((stream, position), WHOLE)
        if key is not None:
            found.keys.add((stream, key))
    for stream, position in list(found.lines):
        names = on.execute("SELECT id FROM labelled WHERE stream = ? AND position = ?", (stream, position))
        found.predictions |= {name for (name,) in names}


# --- Erasing ---


def _write_file(house: House, served: Served) -> None:
    """Write a model to its file as it is now: it can't be made again from a journal with gaps."""
    if served.broken is not None:
        raise InputError(
            f"{served.name!r} can't be written to its file before its examples are erased: {served.broken} Give it more"
            " memory (--max-model-memory), or delete it first."
        )
    if not served.has_learned or served.checkpoint == served.position:
        return
    checkpoint.write(house.folder, served.id, served.position, to_bytes(served.learner))
    with house.journal.transaction():
        house.journal.set_model(served.id, checkpoint=served.position, refused=served.refused)
    served.checkpoint = served.position


def _rewrite(house: House, stream: int, found: Found, report: Report) -> None:
    """Write the entries of a stream without the lines that were found, and all later digests."""
    on = house.journal.connection
    places = sorted(position for number, position in found.lines if number == stream)
    first, digest = on.execute("SELECT first, before FROM streams WHERE id = ?", (stream,)).fetchone()
    position, erased = places[0] - 1, Counter[str]()
    if position >= first:
        row = on.execute("SELECT digest FROM entries WHERE stream = ? AND position = ?", (stream, position))
        digest = row.fetchone()[0]
    while rows := on.execute(
        "SELECT position, lines, body FROM entries WHERE stream = ? AND position > ? ORDER BY position LIMIT ?",
        (stream, position, CHUNK),
    ).fetchall():
        for position, lines, body in rows:
            if (stream, position) in found.lines:
                kept, gone = _without(unpack(body), found.lines[stream, position])
                erased["entries"] += gone > 0
                erased["examples"] += gone
                body, lines = pack(kept), max(0, lines - gone)  # noqa: PLW2901 - what is written
            digest = chained(digest, position, body)
            on.execute(
                "UPDATE entries SET lines = ?, body = ?, digest = ? WHERE stream = ? AND position = ?",
                (lines, body, digest, stream, position),
            )
    house.journal.last[stream] = position, digest
    _forget_sources(on, stream, found)
    if erased["entries"]:
        attribution.record_erasure(on, stream, places[-1], clock.now(), erased["entries"], erased["examples"])
        report.streams.add(stream)
    report.entries += erased["entries"]
    report.examples += erased["examples"]


def _without(body: bytes, lines: set[int] | None) -> tuple[bytes, int]:
    """Return the body without these lines, and how many were taken out."""
    pieces = [line for line in body.split(b"\n") if line.strip()]
    kept = [] if lines is WHOLE else [line for k, line in enumerate(pieces) if k not in lines]
    return b"".join(line + b"\n" for line in kept), len(pieces) - len(kept)


def _forget_sources(on: sqlite3.Connection, stream: int, found: Found) -> None:
    """Forget who sent what is erased. Lines that stay in an entry move up, and so do the places of their labels."""
    for (number, position), lines in found.lines.items():
        if number != stream:
            continue
        if lines is WHOLE:
            on.execute("DELETE FROM labelled WHERE stream = ? AND position = ?", (stream, position))
            on.execute("DELETE FROM sources WHERE stream = ? AND position = ?", (stream, position))
            continue
        for line in sorted(lines, reverse=True):
            place = (stream, position, line)
            on.execute("DELETE FROM labelled WHERE stream = ? AND position = ? AND line = ?", place)
            on.execute("UPDATE labelled SET line = line - 1 WHERE stream = ? AND position = ? AND line > ?", place)


def _erase_kept(house: House, found: Found, client: str | None, report: Report) -> None:
    """Erase predictions that wait for their labels."""
    on = house.journal.connection
    for number, stream, kept in list(house.journal.kept()):
        stay = [one for one in kept if not _is_subject(one, found.predictions, client)]
        if len(stay) == len(kept):
            continue
        gone = {one.id for one in kept} - {one.id for one in stay}
        report.waiting += sum(answer_of(on, name) is None for name in gone)  # a row stays until all are labelled
        found.predictions |= gone
        house.journal.drop_kept([number])
        if stay:
            on.execute("INSERT INTO kept VALUES (?, ?, ?)", (number, stream, pack_kept(stay)))
            attribution.record_kept(on, number, [one.client for one in stay])


def _is_subject(one: Prediction, names: Iterable[str], client: str | None) -> bool:
    return one.id in names or (client is not None and one.client == client)
