"""Recovery: open a data folder and restore each model from its file and the journal entries after it.

Before that, journal_opening.py verifies the journal, and wal_check.py its write-ahead log. The models are
byte-identical to those of a server that was never stopped.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from novikoff.base.internals import estimate_memory
from novikoff.errors import InputError
from novikoff.memory_limit import Growth
from novikoff.model_factory import DEFAULT_LEARNER
from novikoff.server.models.model_stream import ModelStream
from novikoff.server.models.pending_predictions import LabelledPrediction
from novikoff.server.models.registry import ModelRegistry
from novikoff.server.models.served_model import CHALLENGER, CHAMPION, ComparisonBaseline, ServedModel, create_learner
from novikoff.server.models.validation import RequestError
from novikoff.server.ops import clock
from novikoff.server.ops.limits import MEMORY_SLACK_DIVISOR, Limits
from novikoff.server.storage import attribution, checkpoint
from novikoff.server.storage.journal import JOURNAL_FILE, IdempotencyRecord, Journal, iter_entries
from novikoff.server.storage.journal_opening import open_journal

LOCK_FILE = "lock"
MEASURE_INTERVAL_ENTRIES = 256
"""Number of replayed entries between measurements of the memory of all models."""


class ModelRow(NamedTuple):
    """A row of the journal's table of models."""

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


def open_registry(folder: Path, limits: Limits) -> ModelRegistry:
    """Restore all acknowledged data of a folder; raise InputError if that is not possible."""
    prepare_folder(folder)
    registry = ModelRegistry(folder, limits, open_journal(folder))
    if limits.retain_days:
        registry.journal.retain_by_age(clock.now())
    registry.said += [f"journal truncated: {text}." for text in registry.journal.cut]
    connection = registry.journal.connection
    first = dict(connection.execute("SELECT id, first FROM streams").fetchall())
    for row in map(ModelRow._make, registry.journal.models()):
        registry.add(_restore_model(registry, row, first[row.stream]))
    _repair_champions(registry)
    checkpoint.remove_orphans(folder, {served.id for served in registry.models.values()})
    _replay(registry)
    _restore_predictions(registry)
    return registry


def _repair_champions(registry: ModelRegistry) -> None:
    for stream in registry.streams.values():
        champions = [served for served in stream.members if served.role == CHAMPION]
        if len(champions) != 1:
            for served in stream.members:
                served.role = CHAMPION if served is (champions or stream.members)[0] else CHALLENGER
            registry.said.append(
                f"stream repaired: it had {len(champions)} champions; {stream.champion.name!r} is its champion now."
            )


def prepare_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / checkpoint.CHECKPOINT_FOLDER).mkdir(exist_ok=True, mode=0o700)
        _make_private(folder)
    except OSError as problem:
        raise InputError(f"{folder}: can't be used as a data folder: {problem.strerror}.") from None


def _make_private(folder: Path) -> None:
    """Remove access of other users to files, which a plain copy or a backup by an earlier version may have."""
    for path in [
        folder / checkpoint.CHECKPOINT_FOLDER,
        *folder.glob(f"{JOURNAL_FILE}*"),
        *(folder / checkpoint.CHECKPOINT_FOLDER).iterdir(),
    ]:
        # A running server may have replaced the file. The mode of another user's file can't be changed.
        with contextlib.suppress(FileNotFoundError, PermissionError):
            mode = path.stat().st_mode
            if mode & 0o077:
                path.chmod(mode & 0o700)


def lock_folder(folder: Path) -> int:
    """Lock the folder against other servers, and return the file descriptor that holds the lock."""
    number = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(number)
        raise InputError(f"{folder}: the folder is in use by another server. Stop it, or use another folder.") from None
    return number


def _restore_model(registry: ModelRegistry, row: ModelRow, first: int) -> ServedModel:
    served = _find_too_large(registry, row)
    return _load_model(registry, row, first) if served is None else served


def _find_too_large(registry: ModelRegistry, row: ModelRow) -> ServedModel | None:
    """Return a stopped placeholder if the file of a model exceeds the memory limit, else None.

    The file is not loaded, and it and the journal stay unchanged.
    """
    positions = checkpoint.list_positions(registry.folder, row.id)
    size = checkpoint.checkpoint_path(registry.folder, row.id, positions[0]).stat().st_size if positions else 0
    allowed = _compute_allowed_bytes(registry, None)
    if size <= allowed:
        return None
    try:
        learner = create_learner(row.learner, json.loads(row.settings))
    except RequestError:  # settings that only uploaded files can have
        learner = create_learner(DEFAULT_LEARNER, {})
    served = ServedModel(row.name, learner, registry.limits, created=row.created, role=row.role)
    served.id, served.stream, served.joined, served.position = row.id, row.stream, row.joined, positions[0]
    served.own, served.checkpoint = bool(row.own), row.checkpoint
    served.past = None if row.past is None else ComparisonBaseline(*json.loads(row.past))
    served.quarantine(size, allowed)
    return served


def _compute_allowed_bytes(registry: ModelRegistry, served: ServedModel | None) -> int:
    """Return the memory limit of a model in bytes while the folder is opened.

    Other models count without their spare capacity, which depends on the order in which they grew.
    """
    limits = registry.limits
    others = sum(_measure_bytes(other) for other in registry.models.values() if other is not served)
    allowed = min(limits.max_model_bytes, limits.max_server_bytes - others)
    return max(0, allowed + limits.max_model_bytes // MEMORY_SLACK_DIVISOR)


def _measure_bytes(served: ServedModel) -> int:
    return int(estimate_memory(served.learner, Growth())) if served.has_learned else 0


def _load_model(registry: ModelRegistry, row: ModelRow, first: int) -> ServedModel:
    learner, position, problems = checkpoint.load_latest(registry.folder, row.id, registry.journal.last[row.stream][0])
    registry.said += [f"{problem} An earlier file and the journal are used instead." for problem in problems]
    from_file = learner is not None
    if not from_file and row.own:
        learner, position = create_learner(row.learner, json.loads(row.settings)), row.joined
    if learner is None or position + 1 < first:
        raise InputError(
            f"{registry.folder}: the model {row.name!r} can't be restored: its files are damaged or missing, and the"
            " journal does not have its first examples. Restore the last backup of the folder."
        )
    served = ServedModel(row.name, learner, registry.limits, created=row.created, role=row.role)
    served.id, served.stream, served.joined, served.position = row.id, row.stream, row.joined, position
    served.own = bool(row.own)
    served.past = None if row.past is None else ComparisonBaseline(*json.loads(row.past))
    served.checkpoint = position if from_file else None
    # Examples that are refused again during the replay of the journal are counted then.
    served.refused = row.refused if position == row.checkpoint else 0
    return served


def _replay(registry: ModelRegistry) -> None:
    for stream in registry.streams.values():
        behind = min(served.position for served in stream.members)
        refused: dict[int, Collection[int]] = {}
        for number, (position, body) in enumerate(iter_entries(registry.journal.connection, stream.id, behind)):
            if number % MEASURE_INTERVAL_ENTRIES == 0:
                stream.allowed = {served.name: _compute_allowed_bytes(registry, served) for served in stream.members}
            with contextlib.suppress(RequestError):  # a stopped model: its message is reported below
                outcome = stream.apply(position, body)
                if outcome.left_out and _was_champion(stream):
                    refused[position] = outcome.left_out.keys()
        stream.allowed = {}
        if refused:
            _forget_refused(registry.journal, stream.id, refused)
        registry.said += [served.broken for served in stream.members if served.broken is not None]


def _was_champion(stream: ModelStream) -> bool:
    """Return whether the present champion certainly was the champion when the last replayed entry was learned.

    An earlier champion may have learned an example that this one refuses.
    """
    champion = stream.champion
    alone = len(stream.members) == 1
    return alone or champion.past is None or champion.ledger.examples > champion.past.examples


def _forget_refused(journal: Journal, stream: int, refused: Mapping[int, Collection[int]]) -> None:
    """Delete the keys and late labels of refused examples: the server may have ended before it deleted them.

    They are durable with their entry, before the models refuse it. `refused` has indices of examples by positions.
    """
    keys = attribution.find_keys_of_refused(journal.connection, stream, refused)
    ids = attribution.find_refused_labels(journal.connection, stream, refused)
    if keys or ids:
        # A full disk must not prevent the start of the server.
        with contextlib.suppress(sqlite3.OperationalError), journal.transaction():
            journal.forget_keys(stream, keys)
            journal.remove_answers(ids)


def _restore_predictions(registry: ModelRegistry) -> None:
    connection = registry.journal.connection
    for name, number, moment, label in connection.execute("SELECT id, stream, time, label FROM answers ORDER BY time"):
        if number in registry.streams:
            registry.streams[number].waiting.answered[name] = LabelledPrediction(moment, json.loads(label))
    for row, number, kept in registry.journal.kept():
        if number in registry.streams:
            registry.streams[number].restore(row, kept)
    for stream in registry.streams.values():
        stream.waiting.trim(clock.now())
    for number, key, lines, digest, moment in connection.execute(
        "SELECT stream, key, lines, digest, time FROM keys ORDER BY time"
    ):
        if number in registry.streams:
            registry.streams[number].keys[key] = IdempotencyRecord(lines, digest, min(moment, clock.now()))
