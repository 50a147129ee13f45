"""A copy of a folder, also while it is served: the journal by SQLite's own backup, then the files that it names.

A copy is made in a `.part` folder, which is locked until it takes its place. One that a killed process left behind has
examples in it, too: the next backup into the same folder removes it, and so does an erasure.
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
"""Names of folders with unfinished backups; earlier versions wrote eight digits."""


def create_backup(folder: Path, to: Path) -> None:
    """Makes `to`, a folder that can be served. It is there when it is complete, or not at all."""
    if not (folder / journal.JOURNAL_FILE).is_file():
        raise InputError(f"{folder}: has no journal: it is not a folder that was served.")
    if to.exists():
        raise InputError(f"{to}: exists already: name a folder that does not.")
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
            raise InputError(f"{folder}: models were written faster than they could be copied: try again.")
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(folder / auth.AUTH_FILE, unfinished / auth.AUTH_FILE)
        for path in [*unfinished.rglob("*"), unfinished]:
            path.chmod(0o700 if path.is_dir() else 0o600)  # the examples, and the key that signs ids
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
    """Remove the backups in a folder that killed processes left unfinished; return those that are being written now."""
    active = []
    for path in folder.iterdir():
        if UNFINISHED_PATTERN.fullmatch(path.name) and path.is_dir() and not path.is_symlink() and _is_backup(path):
            with contextlib.suppress(FileNotFoundError):  # it has taken its place, or another process removes it
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
    """Return whether a folder has the content of a backup. An empty one may not be locked yet, unless it is old."""
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
        source.backup(copy, pages=-1)  # in one step: it would begin anew whenever something is written
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, whole in itself


def _copy_checkpoints(folder: Path, to: Path) -> bool:
    """The file of each model that the copied journal names; False where one was replaced meanwhile."""
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
