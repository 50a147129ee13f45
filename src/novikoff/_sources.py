"""The digest of all sources: what was compiled from them is kept under it, so that an edit anywhere is noticed.

Reading some hundred files takes longer than learning a small one. The digest is therefore kept, beside what the system
knows of each file: name, size, number, and when it was changed last. It is asked for again as soon as any of that is
another. A file that changed a moment ago could change once more without looking different: then nothing is kept.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:  # the same function without OpenSSL, which takes longer to load than there is to do here
        from _sha256 import sha256
    except ImportError:
        from hashlib import sha256

__all__ = ["DIGITS", "PREFIX", "digest", "sha256"]

DIGITS = 20
PREFIX = ".sources-"
SETTLED = 2 * 10**9  # nanoseconds: much more than the smallest difference between two times of files
Status = tuple[str, int, int, int, int]


def digest(root: str, home: str | None = None) -> str:
    """Of every Python file in a folder, names and contents; `home` is a private folder to keep it in."""
    files = sorted(_files(root))
    if home is None:
        return _read(root, files)
    state = sha256(repr((root, files)).encode()).hexdigest()
    kept = os.path.join(home, PREFIX + sha256(root.encode()).hexdigest()[:DIGITS])
    with contextlib.suppress(OSError, ValueError), open(kept, "rb") as file:
        of, found = file.read().decode().split()
        if of == state and len(found) == DIGITS:
            return found
    found = _read(root, files)
    if max((max(changed, touched) for _, changed, touched, _, _ in files), default=0) < time.time_ns() - SETTLED:
        _keep(kept, f"{state} {found}\n".encode())
    return found


def _files(root: str, inside: str = "") -> Iterator[Status]:
    with os.scandir(os.path.join(root, inside)) as entries:
        for entry in entries:
            name = f"{inside}{entry.name}"
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield name, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _files(root, f"{name}/")


def _read(root: str, files: list[Status]) -> str:
    total = sha256()
    for name, *_ in files:
        with open(os.path.join(root, name), "rb") as file:
            content = file.read()
        total.update(f"{name} {len(content)}\n".encode() + content)
    return total.hexdigest()[:DIGITS]


def _keep(path: str, content: bytes) -> None:
    """Written beside its place, then renamed: another process sees all of it or nothing."""
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(temporary, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:  # it only takes longer without
        with contextlib.suppress(OSError):
            os.unlink(temporary)
