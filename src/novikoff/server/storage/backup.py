"""Backups of a data folder, also of a running server: the journal by SQLite's backup API, then its model files.

A backup is written to a `.part` folder, which is locked until it is renamed. If the process is killed, that folder
stays, and contains examples. The next backup into the same parent folder removes it, and so does an erasure.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
from pathlib import Path

from novikoff.errors import InputError
from novikoff.part_files import is_old, lock_file, name_part
from novikoff.server.http import auth
from novikoff.server.storage import checkpoint, journal

MAX_ATTEMPTS = 10
UNFINISHED_PATTERN = re.compile(r"\..+\.([0-9a-f]{8}|[0-9a-f]{12})\.part")
"""Names of folders with unfinished backups; earlier versions used eight digits."""


def create_backup(folder: Path, to: Path) -> None:
    """Create the folder `to` as a backup that can be served. It appears only when it is complete."""
    if not (folder / journal.JOURNAL_FILE).is_file():
        raise InputError(f"{folder}: the folder has no journal, so it is not a data folder of a server.")
    if to.exists():
        raise InputError(f"{to}: the folder already exists. Name a new one.")
    unfinished, lock = name_part(to), None
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        remove_unfinished(to.parent)
        unfinished.mkdir(mode=0o700)
        lock = os.open(unfinished, os.O_RDONLY)
        lock_file(lock)
        (unfinished / checkpoint.CHECKPOINT_FOLDER).mkdir(mode=0o700)
        for _ in range(MAX_ATTEMPTS):
            _copy_journal(folder, unfinished)
            if _copy_checkpoints(folder, unfinished):
                break
        else:
            raise InputError(f"{folder}: models were saved faster than they could be copied. Try again.")
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(folder / auth.AUTH_FILE, unfinished / auth.AUTH_FILE)
        for path in [*unfinished.rglob("*"), unfinished]:
            path.chmod(0o700 if path.is_dir() else 0o600)  # examples and the key for ids are private
            _fsync_path(path)
        os.rename(unfinished, to)
        _fsync_path(to.parent)
    except sqlite3.Error as problem:
        raise InputError(f"{folder}: the journal can't be copied: {problem}.") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_unfinished(folder: Path) -> list[Path]:
    """Remove unfinished backups of killed processes from a folder; return those that are being written."""
    active = []
    for path in folder.iterdir():
        if UNFINISHED_PATTERN.fullmatch(path.name) and path.is_dir() and not path.is_symlink() and _is_backup(path):
            with contextlib.suppress(FileNotFoundError):  # renamed, or removed by another process
                lock = os.open(path, os.O_RDONLY)
                try:
                    if lock_file(lock):
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        active.append(path)
                finally:
                    os.close(lock)
    return active


def _is_backup(path: Path) -> bool:
    """Return whether a folder has the content of a backup. An empty folder counts only if it is old: a new one may not
    be locked yet."""
    with contextlib.suppress(OSError):
        names = os.listdir(path)
        known = {checkpoint.CHECKPOINT_FOLDER, auth.AUTH_FILE}
        is_ours = all(name in known or name.startswith(journal.JOURNAL_FILE) for name in names)
        return is_ours and (bool(names) or is_old(path.stat()))
    return False


def _copy_journal(folder: Path, to: Path) -> None:
    (to / journal.JOURNAL_FILE).unlink(missing_ok=True)
    os.close(os.open(to / journal.JOURNAL_FILE, os.O_CREAT | os.O_EXCL, 0o600))
    with (
        journal.open_read_only(folder) as source,
        contextlib.closing(sqlite3.connect(to / journal.JOURNAL_FILE)) as copy,
    ):
        source.backup(copy, pages=-1)  # in one step: SQLite restarts a backup in steps after each write
        copy.execute("PRAGMA journal_mode = DELETE")  # a single file without a write-ahead log


def _copy_checkpoints(folder: Path, to: Path) -> bool:
    """Copy the model files that the copied journal names. Return False if one was replaced in the meantime."""
    with contextlib.closing(sqlite3.connect(to / journal.JOURNAL_FILE)) as copy:
        named = copy.execute("SELECT id, checkpoint FROM models WHERE checkpoint IS NOT NULL").fetchall()
    for model, position in named:
        source = checkpoint.checkpoint_path(folder, model, position)
        try:
            shutil.copy2(source, checkpoint.checkpoint_path(to, model, position))
        except FileNotFoundError:
            return False
    return True


def _fsync_path(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
