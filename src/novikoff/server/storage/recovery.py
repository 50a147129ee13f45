"""Opening a folder: each model is what its file says plus the journal's entries after it, the same as if the server had
never stopped."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
from typing import NamedTuple

from novikoff.errors import InputError
from novikoff.memory_limit import Growth
from novikoff.meta.default_learner import DEFAULT_LEARNER
from novikoff.server.models.pending_predictions import Answer
from novikoff.server.models.registry import House
from novikoff.server.models.served_model import CHALLENGER, CHAMPION, Past, Served, made
from novikoff.server.models.validation import Refused
from novikoff.server.ops import clock
from novikoff.server.ops.limits import SLACK, Limits
from novikoff.server.storage import checkpoint
from novikoff.server.storage.journal import FILE, Key, entries
from novikoff.server.storage.journal_check import open_journal

LOCK = "lock"
MEASURED_ENTRIES = 256
"""Entries of the journal that are replayed between two looks at the memory of all models."""


class Row(NamedTuple):
    """A model as the journal knows it."""

    id: int
    name: str
    stream: int
    role: str
    learner: str
    settings: str
    created: float
    own: int
    joined: int
    past: str | None
    checkpoint: int | None
    refused: int


def opened(folder: Path, limits: Limits) -> House:
    """All models as they were acknowledged; InputError with what to do where that can't be had."""
    prepare(folder)
    house = House(folder, limits, open_journal(folder))
    if limits.retain_days:
        house.journal.retain_by_age(clock.now())
    house.said += [f"{text}: it was cut off." for text in house.journal.cut]
    on = house.journal.connection
    first = dict(on.execute("SELECT id, first FROM streams").fetchall())
    for row in map(Row._make, house.journal.models()):
        house.add(_restored(house, row, first[row.stream]))
    _one_champion_each(house)
    checkpoint.sweep(folder, {served.id for served in house.models.values()})
    _replay(house)
    _restore_predictions(house)
    return house


def _one_champion_each(house: House) -> None:
    for stream in house.streams.values():
        champions = [served for served in stream.members if served.role == CHAMPION]
        if len(champions) != 1:
            for served in stream.members:
                served.role = CHAMPION if served is (champions or stream.members)[0] else CHALLENGER
            house.said.append(f"{stream.champion.name!r} is the champion of its stream now: there was not just one.")


def prepare(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / checkpoint.FOLDER).mkdir(exist_ok=True, mode=0o700)
        _make_private(folder)
    except OSError as problem:
        raise InputError(f"{folder}: can't be made a folder for data: {problem.strerror}.") from None


def _make_private(folder: Path) -> None:
    """Files that others could read, from a backup by an earlier version or a plain copy, become their owner's alone."""
    for path in [folder / checkpoint.FOLDER, *folder.glob(f"{FILE}*"), *(folder / checkpoint.FOLDER).iterdir()]:
        # A running server may just have replaced the file; another user's file is that user's to protect.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            mode = path.stat().st_mode
            if mode & 0o077:
                path.chmod(mode & 0o700)


def locked(folder: Path) -> int:
    """The folder is one server's alone, as long as the number that is returned is not closed."""
    number = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        raise InputError(f"{folder}: another server works with this folder: stop it first, or name another.") from None
    return number


def _restored(house: House, row: Row, first: int) -> Served:
    served = _too_large(house, row)
    return _loaded(house, row, first) if served is None else served


def _too_large(house: House, row: Row) -> Served | None:
    """A model whose file is larger than what it may take is not loaded. It stands in its place without having learned,
    and is stopped: its file and the journal stay as they are."""
    positions = checkpoint.positions(house.folder, row.id)
    size = checkpoint.path_of(house.folder, row.id, positions[0]).stat().st_size if positions else 0
    allowed = _allowed(house, None)
    if size <= allowed:
        return None
    try:
        learner = made(row.learner, json.loads(row.settings))
    except Refused:  # settings of a kind that only files have
        learner = made(DEFAULT_LEARNER, {})
    served = Served(row.name, learner, house.limits, created=row.created, role=row.role)
    served.id, served.stream, served.joined, served.position = row.id, row.stream, row.joined, positions[0]
    served.own, served.checkpoint = bool(row.own), row.checkpoint
    served.past = None if row.past is None else Past(*json.loads(row.past))
    served.quarantine(size, allowed)
    return served


def _allowed(house: House, served: Served | None) -> int:
    """Return how many bytes a model may take while the folder is opened. Others count without their spare room, which
    depends on the order in which they grew."""
    limits = house.limits
    others = sum(_needed(other) for other in house.models.values() if other is not served)
    allowed = min(limits.max_model_bytes, limits.max_server_bytes - others)
    return max(0, allowed + limits.max_model_bytes // SLACK)


def _needed(served: Served) -> int:
    return int(served.learner._memory_needed(Growth())) if served.has_learned else 0


def _loaded(house: House, row: Row, first: int) -> Served:
    learner, position, problems = checkpoint.latest(house.folder, row.id, house.journal.last[row.stream][0])
    house.said += [f"{problem} What came before it was taken, and the journal." for problem in problems]
    from_file = learner is not None
    if not from_file and row.own:
        learner, position = made(row.learner, json.loads(row.settings)), row.joined
    if learner is None or position + 1 < first:
        raise InputError(
            f"{house.folder}: the model {row.name!r} can't be made again: its files are damaged or missing, and the"
            " journal does not have its first examples. Restore the last backup of the folder."
        )
    served = Served(row.name, learner, house.limits, created=row.created, role=row.role)
    served.id, served.stream, served.joined, served.position = row.id, row.stream, row.joined, position
    served.own = bool(row.own)
    served.past = None if row.past is None else Past(*json.loads(row.past))
    served.checkpoint = position if from_file else None
    # Those that are refused again when the journal is replayed are counted then.
    served.refused = row.refused if position == row.checkpoint else 0
    return served


def _replay(house: House) -> None:
    for stream in house.streams.values():
        behind = min(served.position for served in stream.members)
        for number, (position, body) in enumerate(entries(house.journal.connection, stream.id, behind)):
            if number % MEASURED_ENTRIES == 0:
                stream.allowed = {served.name: _allowed(house, served) for served in stream.members}
            with contextlib.suppress(Refused):  # of a model that can't go on: it says so itself
                stream.apply(position, body)
        stream.allowed = {}
        house.said += [served.broken for served in stream.members if served.broken is not None]


def _restore_predictions(house: House) -> None:
    on = house.journal.connection
    for name, number, moment, label in on.execute("SELECT id, stream, time, label FROM answers ORDER BY time"):
        if number in house.streams:
            house.streams[number].waiting.answered[name] = Answer(moment, json.loads(label))
    for row, number, kept in house.journal.kept():
        if number in house.streams:
            house.streams[number].restore(row, kept)
    for stream in house.streams.values():
        stream.waiting.trim(clock.now())
    for number, key, lines, digest, moment in on.execute(
        "SELECT stream, key, lines, digest, time FROM keys ORDER BY time"
    ):
        if number in house.streams:
            house.streams[number].keys[key] = Key(lines, digest, min(moment, clock.now()))
