"""Temporary `.part` files: written beside their destination, locked while open, renamed when complete.

A killed process leaves its file behind, but not the lock. The next process that writes the destination removes it.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

STALE_SECONDS = 600
"""Age after which a temporary file that no process has locked is removed."""


def name_part(path: Path) -> Path:
    """Return a new name for the temporary file of a file, in the same folder."""
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}.part")


def remove_stale_parts(path: Path) -> None:
    """Remove temporary files that killed processes have left beside this file.

    Locked files are kept, and so are new ones, whose process may not have locked them yet.
    """
    ours = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{12}}\.part")
    with contextlib.suppress(OSError):
        for name in filter(ours.fullmatch, os.listdir(path.parent)):
            with contextlib.suppress(OSError):
                _remove_if_stale(path.with_name(name))


def _remove_if_stale(part: Path) -> None:
    with open(part, "rb") as file:
        if is_old(os.fstat(file.fileno())) and lock_file(file.fileno()):
            part.unlink()


def is_old(status: os.stat_result) -> bool:
    """Return whether a file has been unchanged for longer than a process needs to lock it."""
    return time.time() - status.st_mtime > STALE_SECONDS


def lock_file(number: int) -> bool:
    """Lock an open file or folder until it is closed; return False if another process has locked it.

    On file systems without locks, every call succeeds.
    """
    try:
        import fcntl

        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return True
    return True
